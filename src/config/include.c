/* Reads includes: their name, the files that it can mean, and their texts. */
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "config/parser.h"

/* How an include names its text. */
enum named {
    NAMED_BESIDE, /* "name": beside the including text */
    NAMED_FILE,   /* file("name"): as programs take names of files */
    NAMED_CLASS,  /* classpath("name"): there is no class path, so beside */
    NAMED_URL     /* url("file:name"); others are refused */
};

struct wanted {
    const char *name;
    const char *why; /* a file of that name cannot be read; null: there is none */
    enum named named;
    bool required;
    bool found;
    struct place place;
};

static const char *const endings[] = { ".conf", ".json", ".properties" };

bool include_starts(const struct parser *parser)
{
    struct scan ahead = parser->scan;

    if (!scan_starts(&ahead, "include"))
        return false;
    scan_steps(&ahead, 7);
    return !scan_is_bare(&ahead);
}

/* "name", file("name"), classpath("name") or url("name"), each of them also in required(...). */
static bool read_name(struct parser *parser, struct wanted *wanted)
{
    static const char *const kinds[] = { "", "file(", "classpath(", "url(" };
    struct scan *scan = &parser->scan;
    struct place place;
    struct buf name = {0};
    uint32_t open = 0;

    scan_blank(scan);
    place = scan_here(scan);
    if (scan_starts(scan, "required(")) {
        wanted->required = true;
        scan_steps(scan, 9);
        scan_blank(scan);
        open++;
    }
    for (uint32_t i = 1; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (wanted->named || !scan_starts(scan, kinds[i]))
            continue;
        wanted->named = (enum named)i;
        scan_steps(scan, strlen(kinds[i]));
        scan_blank(scan);
        open++;
    }
    if (scan_peek(scan) != '"')
        return config_problem_set(scan->problem, place,
                                  "include wants \"name\", file(\"name\") or "
                                  "required(\"name\"); a key of this name "
                                  "needs quotes");
    if (!scan_quoted(scan, &name)) {
        buf_fini(&name);
        return false;
    }
    wanted->name =
        tree_text(scan->tree, (const char *)name.data, name.size);
    buf_fini(&name);
    for (; open; open--) {
        scan_blank(scan);
        if (scan_peek(scan) != ')')
            return config_problem_set(
                scan->problem, scan_here(scan),
                "expected ) after the name of the include");
        scan_step(scan);
    }
    return true;
}

static bool include_text(struct parser *parser, struct node *object,
                         uint32_t depth, struct slice text, const char *label)
{
    struct parser inner = *parser;

    if (text.size > CONFIG_SIZE_MAX)
        return config_problem_set(
            parser->scan.problem, scan_here(&parser->scan),
            "the include %.100s has %zu bytes; at most %d", label, text.size,
            CONFIG_SIZE_MAX);
    if (!scan_has_room(&parser->scan) ||
        !config_check_utf8(text, label, parser->scan.problem))
        return false;
    /* A copy, because the next include may reuse the callback's memory. */
    inner.scan.at =
        tree_text(parser->scan.tree, (const char *)text.data, text.size);
    inner.scan.end = inner.scan.at + text.size;
    inner.scan.line_start = inner.scan.at;
    inner.scan.line = 1;
    inner.scan.source = label;
    inner.include_depth++;
    for (uint32_t i = 0; i < inner.here.count; i++)
        inner.scope.names[inner.scope.count++] = inner.here.names[i];
    inner.here.count = 0;
    if (properties_is_name(label))
        return properties_read(&inner, object, depth,
                               slice_of(inner.scan.at, text.size),
                               scan_here(&inner.scan));
    return inner.read_root(&inner, object, depth);
}

/* Returns an included text's name, relative to the source. */
static const char *label_of(struct parser *parser, const char *name,
                            const char *from)
{
    const char *slash = strrchr(from, '/');
    struct buf buf = {0};
    const char *label;

    if (slash && name[0] != '/')
        buf_put(&buf, from, (size_t)(slash - from) + 1);
    buf_put_text(&buf, name);
    label = tree_text(parser->scan.tree, (const char *)buf.data, buf.size);
    buf_fini(&buf);
    return label;
}

static const char *why_not(const struct wanted *wanted)
{
    return wanted->why ? wanted->why : "there is no such file";
}

/* Appends, so that the list has the order of the texts. */
static void add_missing(struct parser *parser, const char *label,
                        const struct wanted *wanted)
{
    struct missing **at = parser->options->missing;

    while (*at)
        at = &(*at)->next;
    *at = tree_alloc(parser->scan.tree, sizeof **at);
    (*at)->label = label;
    (*at)->why = why_not(wanted);
    (*at)->place = wanted->place;
}

/* Reads one file of the include. False: see found's problem. */
static bool read_file(struct parser *parser, struct node *object,
                      uint32_t depth, const char *name, const char *from,
                      struct wanted *wanted)
{
    const struct parse_options *options = parser->options;
    struct slice text = {0};

    if (!options->include(options->user, name, from, &text)) {
        if (text.size)
            wanted->why = tree_text(parser->scan.tree, (const char *)text.data,
                                    text.size);
        return true;
    }
    wanted->found = true;
    return include_text(parser, object, depth, text,
                        label_of(parser, name, from));
}

static bool has_ending(const char *name)
{
    size_t size = strlen(name);

    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t tail = strlen(endings[i]);

        if (size >= tail && strcmp(name + size - tail, endings[i]) == 0)
            return true;
    }
    return false;
}

/* Without an ending, a name means the files with each ending: the one of HOCON wins over JSON, and
 * that over properties. A file with just this name serves if there is none of them. */
static bool read_files(struct parser *parser, struct node *object,
                       uint32_t depth, const char *name, const char *from,
                       struct wanted *wanted)
{
    if (!has_ending(name)) {
        for (size_t i = sizeof endings / sizeof endings[0]; i > 0; i--) {
            struct buf buf = {0};
            const char *whole;

            buf_put_text(&buf, name);
            buf_put_text(&buf, endings[i - 1]);
            whole = tree_text(parser->scan.tree, (const char *)buf.data,
                              buf.size);
            buf_fini(&buf);
            if (!read_file(parser, object, depth, whole, from, wanted))
                return false;
        }
        if (wanted->found)
            return true;
    }
    return read_file(parser, object, depth, name, from, wanted);
}

static int hex(char digit)
{
    const char *digits = "0123456789abcdef";
    const char *at = memchr(digits, digit >= 'A' && digit <= 'F'
                                        ? digit - 'A' + 'a'
                                        : digit, 16);

    return at ? (int)(at - digits) : -1;
}

/* Replaces %20 and the like in the path of a URL. */
static const char *decoded(struct parser *parser, const char *path)
{
    struct buf buf = {0};
    const char *text;

    for (; *path; path++) {
        int high = path[0] == '%' ? hex(path[1]) : -1;
        int low = high >= 0 ? hex(path[2]) : -1;

        if (low < 0 || (!high && !low)) {
            buf_put_u8(&buf, (uint8_t)*path);
            continue;
        }
        buf_put_u8(&buf, (uint8_t)(high * 16 + low));
        path += 2;
    }
    text = tree_text(parser->scan.tree, (const char *)buf.data, buf.size);
    buf_fini(&buf);
    return text;
}

/* Strips file: from a URL, and the first slash from the name of a class path. */
static bool read_url(struct parser *parser, struct wanted *wanted)
{
    size_t scheme = strspn(wanted->name, "abcdefghijklmnopqrstuvwxyz");
    bool is_url = scheme > 1 && wanted->name[scheme] == ':';

    if (wanted->named == NAMED_CLASS && wanted->name[0] == '/')
        wanted->name++;
    if (wanted->named == NAMED_CLASS || (!is_url && wanted->named != NAMED_URL))
        return true;
    if (strncmp(wanted->name, "file:", 5) != 0)
        return config_problem_set(
            parser->scan.problem, wanted->place,
            "the include \"%.200s\" is not a file, and nothing else is read; "
            "save it beside this file and include its name",
            wanted->name);
    wanted->name += 5;
    if (strncmp(wanted->name, "//localhost/", 12) == 0)
        wanted->name += 11;
    else if (strncmp(wanted->name, "//", 2) == 0)
        wanted->name += 2;
    wanted->name = decoded(parser, wanted->name);
    return true;
}

static bool read_wanted(struct parser *parser, struct node *object,
                        uint32_t depth, struct wanted *wanted)
{
    const char *source = parser->scan.source;

    /* As in lightbend/config, file() is relative to the working directory, not to the text. */
    if (wanted->named == NAMED_FILE && wanted->name[0] != '/' &&
        strchr(source, '/') &&
        !read_files(parser, object, depth, wanted->name, "", wanted))
        return false;
    if (!wanted->found &&
        !read_files(parser, object, depth, wanted->name, source, wanted))
        return false;
    if (!wanted->found && wanted->required)
        return config_problem_set(parser->scan.problem, wanted->place,
                                  "cannot read the include %.200s: %.200s",
                                  label_of(parser, wanted->name, source),
                                  why_not(wanted));
    if (!wanted->found)
        add_missing(parser, label_of(parser, wanted->name, source), wanted);
    return true;
}

bool include_read(struct parser *parser, struct node *object, uint32_t depth)
{
    const struct parse_options *options = parser->options;
    struct wanted wanted = { .place = scan_here(&parser->scan) };

    scan_steps(&parser->scan, 7);
    if (!read_name(parser, &wanted) || !read_url(parser, &wanted))
        return false;
    if (!options || !options->include)
        return config_problem_set(parser->scan.problem, wanted.place,
                                  "includes are not allowed here; write the "
                                  "settings into this text");
    if (parser->include_depth == CONFIG_INCLUDE_DEPTH_MAX)
        return config_problem_set(parser->scan.problem, wanted.place,
                                  "includes nest deeper than %d; does %.100s "
                                  "include itself?",
                                  CONFIG_INCLUDE_DEPTH_MAX, wanted.name);
    if (++*options->include_count > CONFIG_INCLUDES_MAX)
        return config_problem_set(parser->scan.problem, wanted.place,
                                  "more than %d includes", CONFIG_INCLUDES_MAX);
    return read_wanted(parser, object, depth, &wanted);
}
