"""Makes random configuration files: HOCON with includes, substitutions and Unicode's white space,
JSON and Java properties. One number makes one folder of files; main.conf is usually the first."""
import json
import os
import random

# White space of HOCON within a line, the usual ones more often.
SPACES = [" "] * 20 + ["\t", "  ", "\u00a0", "\u3000", "\u2028", "\u2029", "\u2007", "\u202f", "\u1680", "\u2003", "\u205f", "\ufeff", "\r",
          "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f"]
NAMES = ["a", "b", "c", "d", "e", "f1", "x-y", "under_score", "1", "07", "true", "null", "includes", "é", "z/w", "\"q\"", "\"x.y\"", "\"\"",
         "\"in\"c", "b c"]
WORDS = ["a", "bc", "12", "1.5", "-3", "1e5", "1e+5", "2.5E-3", "1.", ".5", "-", "1.2.3", "99999999999999999999", "true", "false", "null", "nullx",
         "falsetrue", "on", "x/y", "é", "ab;c", "<x>", "10s", "s(x)", "it's", "\u200b", "\u0085", "\U0001f600", "a\x01b"]
QUOTED = ["\"\"", "\" \"", "\"x\"", "\"a.b\"", "\"\\n\\t\\\\\\\"\\/\"", "\"\\u00e9\"", "\"${a}\"", "\"#\"", "\"null\"", "\"7\"", "\"\"\"raw \" ${a}\n two\"\"\"",
          "\"\"\"end\"\"\"\"\"", "\"\\ud83d\\ude00\"", "\"\u2028\""]
VARIABLES = {"HOME": "/home/x", "EMPTY": "", "AVAL": "env"}
NOISE = list("{}[]:=,+#\"$.?/ \n\t-e1a\\()&^!@*`") + ["${a}", "${?b}", "//", "\u00a0", "+=", "\"\"\"", "include ", "null", "\r\n"]


class Texts:
    def __init__(self, number):
        self.random = random.Random(number)
        self.includes = False
        self.top = 0  # the order of the member's name at the root

    def pick(self, items):
        return items[self.random.randrange(len(items))]

    def chance(self, share):
        return self.random.random() < share

    def space(self):
        return self.pick(SPACES) if self.chance(0.6) else ""

    def blank(self):
        """Space within a line, or lines with comments."""
        if self.chance(0.85):
            return self.space()
        return self.pick(["\n", "\n\n", " # note, { \"\n", "// x = 1\n", "\r\n"]) + self.space()

    def first(self, path):
        """The order of a path's first name."""
        return NAMES.index(path) if path in NAMES else max((NAMES.index(name) for name in NAMES if path.startswith(name + ".")), default=0)

    def path(self, names=3):
        parts = [self.pick(NAMES[:5]) if self.chance(0.8) else self.pick(NAMES) for _ in range(self.random.choice([1, 1, 1, 1, 2, names]))]
        return (" . " if self.chance(0.02) else ".").join(parts)

    def reference(self):
        # References go to later names only. A cycle ends at another place in lightbend/config, by the order of its tables.
        if self.chance(0.1) or self.top + 1 >= len(NAMES):
            name = self.pick(list(VARIABLES) + ["NONE"])
        else:
            later = NAMES[self.top + 1:]
            name = ".".join([self.pick(later[:3]) if self.chance(0.8) else self.pick(later)] + self.path().split(".")[1:])
        return "${" + ("?" if self.chance(0.98) else "") + (" " if self.chance(0.05) else "") + name + (" " if self.chance(0.05) else "") + "}"

    def scalar(self):
        if self.chance(0.002):
            return self.pick(["${", "+", "\"\t\"", "\"open", "1+2", "\"\\q\""])
        return self.pick(QUOTED) if self.chance(0.3) else self.pick(WORDS)

    def part(self, depth):
        kind = self.random.random()
        if kind < 0.12 and depth < 3:
            return self.list(depth + 1)
        if kind < 0.3 and depth < 3:
            return "{" + self.members(depth + 1, self.random.randrange(4)) + "}"
        if kind < 0.5:
            return self.reference()
        return self.scalar()

    def value(self, depth):
        count = self.random.choice([1, 1, 1, 1, 2, 2, 3])
        if count > 1 and self.chance(0.97):  # of one kind
            kind = self.pick([lambda: self.list(depth + 1), lambda: "{" + self.members(depth + 1, 2) + "}", self.scalar, self.scalar])
            parts = [self.reference() if self.chance(0.1) else kind() for _ in range(count)]
        else:
            parts = [self.part(depth) for _ in range(count)]
        return parts[0] + "".join(self.space() + part for part in parts[1:])

    def list(self, depth):
        text = "[" + self.blank()
        count = self.random.randrange(4)
        for index in range(count):
            if index:
                text += self.separator()
            text += self.value(depth)
        return text + (self.separator() if count and self.chance(0.1) else self.blank()) + "]"

    def separator(self):
        return self.space() + self.pick([",", ",", "\n", "\n", "\n,", ",\n", "\n\n , ", " # c\n", ", // c\n"]) + self.space()

    def include(self):
        if self.chance(0.02):
            return "include" + self.pick(["\"i1\"", " required(\"none\")", " i1", " = 1", " file (\"i1\")", " required (\"i1\")", " \"i1\" \"i2\""])
        # lightbend/config reads "x.properties" as HOCON, unlike "x" with that file; here both are properties.
        name = self.pick(["\"i1\"", "\"i1.conf\"", "\"i2.json\"", "\"i2\"", "\"i3\"", "\"i4\"", "\"none\"", "\"none.conf\"", "required(\"i4\")",
                          "required( \"i1.conf\" )"])
        return "include" + (self.space() or " ") + name

    def member(self, depth):
        if depth < 3 and self.chance(0.06) and self.includes:
            return self.include()
        key = self.path()
        if not depth:
            self.top = self.first(key)
        kind = self.random.random()
        if kind < 0.15:
            return key + self.blank() + "{" + self.members(depth + 1, self.random.randrange(4)) + "}"
        if kind < 0.25 and not depth:
            return key + self.space() + "=" + self.space() + "${" + self.pick(["", "?", "?", "?"]) + key + "}" + self.space() + (
                self.list(depth + 1) if self.chance(0.3) else self.reference() if self.chance(0.3) else self.scalar())
        sign = "+=" if kind < 0.31 and depth < 1 else self.pick(["=", "=", ":"])
        return key + self.blank() + sign + self.blank() + self.value(depth)

    def members(self, depth, count):
        text = self.blank()
        for index in range(count):
            if index:
                text += self.separator()
            text += self.member(depth)
        return text + (self.separator() if count and self.chance(0.2) else self.blank())

    def hocon(self, includes):
        self.includes = includes
        text = self.members(0, self.random.randrange(1, 7))
        if self.chance(0.2):
            text = self.blank() + "{" + text + "}" + self.blank()
        if self.chance(0.2):
            for _ in range(self.random.randrange(1, 3)):
                at = self.random.randrange(len(text) + 1)
                text = text[:at] + (self.pick(NOISE) if self.chance(0.7) else "") + text[at + self.random.randrange(2):]
        return ("\ufeff" if self.chance(0.02) else "") + text

    def json_value(self, depth):
        kind = self.random.random()
        if kind < 0.3 and depth < 3:
            return {self.pick(["a", "b", "c", "a.b", "1", "", "é", "${a}"]): self.json_value(depth + 1) for _ in range(self.random.randrange(4))}
        if kind < 0.45 and depth < 3:
            return [self.json_value(depth + 1) for _ in range(self.random.randrange(4))]
        return self.pick([1, -2, 1.5, 1e+20, True, False, None, "x", "a b", "${a}", "\n\"\\", "é\u2028", "\U0001f600"])

    def json(self):
        value = {self.pick(["a", "b", "c", "a.b"]): self.json_value(0) for _ in range(self.random.randrange(1, 4))}
        return json.dumps(value, ensure_ascii=self.chance(0.5), indent=self.pick([None, 1, "\t"]))

    def properties(self):
        lines = []
        for _ in range(self.random.randrange(1, 6)):
            key = self.pick(["a", "a.b", "a.b.c", "b.1", "b.0", "c..d", "sp\\ ace", "k\\u00e9", "col\\:on", "é", ".", "d"])
            value = self.pick(["x", "1", " spaced ", "", "${a}", "a\\\n   b", "t\\tn\\n", "\\u00e9", "= y", "\"q\"", "null", "x \\\\"])
            lines.append(self.pick(["", "  ", "\t"]) + key + self.pick(["=", " = ", ":", " ", " : "]) + value)
            if self.chance(0.2):
                lines.append(self.pick(["# c", "! c", "", "   "]))
        return self.pick(["\n", "\r\n"]).join(lines) + self.pick(["", "\n"])


def write(folder, number):
    """Writes the files of one number, and returns the name of the one to read."""
    texts = Texts(number)
    os.makedirs(folder, exist_ok=True)
    files = {"main.conf": texts.hocon(True), "i1.conf": texts.hocon(False), "i2.json": texts.json(), "i3.properties": texts.properties(),
             "i4.conf": texts.hocon(False), "i4.json": texts.json(), "i4.properties": texts.properties()}
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8", newline="") as file:
            file.write(text)
    return os.path.join(folder, texts.pick(["main.conf"] * 40 + ["i2.json", "i3.properties"]))
