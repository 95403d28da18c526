/* The parser: one character of look-ahead, recursive for objects and lists,
 * with its depth bounded.
 *
 * Grammar: the HOCON specification of lightbend/config, without classpath and
 * url includes. */
#include "config/parse.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"

struct parser {
    struct tree *tree;
    const struct parse_options *options;
    const char *at;
    const char *end;
    const char *line_start;
    uint32_t line;
    const char *source; /* the tree's copy */
    struct node *root; /* where paths are whole, so that prefixes are unified */
    const char *prefix; /* of the member of the root that is being read */
    uint32_t include_depth;
    struct config_problem *problem;
};

static struct node *parse_value(struct parser *parser, uint32_t depth);
static bool parse_members(struct parser *parser, struct node *object,
                          uint32_t depth, struct place opened);

static struct place here(const struct parser *parser)
{
    return (struct place){parser->source, parser->line,
                          (uint32_t)(parser->at - parser->line_start) + 1,
                          parser->prefix};
}

static bool at_end(const struct parser *parser)
{
    return parser->at == parser->end;
}

static char peek(const struct parser *parser)
{
    return parser->at < parser->end ? *parser->at : '\0';
}

static bool starts(const struct parser *parser, const char *text)
{
    size_t size = strlen(text);

    return (size_t)(parser->end - parser->at) >= size &&
           memcmp(parser->at, text, size) == 0;
}

/* One character further; lines are counted here and nowhere else. */
static void step(struct parser *parser)
{
    if (*parser->at++ == '\n') {
        parser->line++;
        parser->line_start = parser->at;
    }
}

static void steps(struct parser *parser, size_t count)
{
    while (count-- > 0)
        step(parser);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static void skip_spaces(struct parser *parser)
{
    while (!at_end(parser) && is_space(*parser->at))
        step(parser);
}

/* Spaces and a comment, up to the end of the line. */
static void skip_line(struct parser *parser)
{
    skip_spaces(parser);
    if (peek(parser) == '#' || starts(parser, "//"))
        while (!at_end(parser) && *parser->at != '\n')
            step(parser);
}

static void skip_blank(struct parser *parser)
{
    for (;;) {
        skip_line(parser);
        if (peek(parser) != '\n')
            return;
        step(parser);
    }
}

static bool check_room(struct parser *parser)
{
    if (!tree_is_full(parser->tree))
        return true;
    return config_problem_set(parser->problem, here(parser),
                              "more than %d keys, %d values or %d bytes; "
                              "use fewer",
                              CONFIG_KEYS_MAX, CONFIG_NODES_MAX,
                              CONFIG_MEMORY_MAX);
}

static bool check_depth(struct parser *parser, uint32_t depth)
{
    if (depth <= CONFIG_DEPTH_MAX)
        return true;
    return config_problem_set(
        parser->problem, here(parser),
        "sections and lists nest deeper than %d; flatten them",
        CONFIG_DEPTH_MAX);
}

/* May stand in a bare word, beside the start of a comment. */
static bool is_bare(const struct parser *parser)
{
    char c = peek(parser);

    return !at_end(parser) && c != '\0' && c != '\n' && !is_space(c) &&
           !strchr("$\"{}[]:=,+#`^?!@*&\\", c) && !starts(parser, "//");
}

static bool read_hex(struct parser *parser, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        char c = peek(parser);
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;

        if (digit == 16)
            return config_problem_set(parser->problem, here(parser),
                                      "\\u wants four hexadecimal digits");
        *code = *code * 16 + digit;
        step(parser);
    }
    return true;
}

static void put_utf8(struct buf *buf, uint32_t code)
{
    if (code < 0x80) {
        buf_put_u8(buf, (uint8_t)code);
    } else if (code < 0x800) {
        buf_put_u8(buf, (uint8_t)(0xc0 | code >> 6));
        buf_put_u8(buf, (uint8_t)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        buf_put_u8(buf, (uint8_t)(0xe0 | code >> 12));
        buf_put_u8(buf, (uint8_t)(0x80 | (code >> 6 & 0x3f)));
        buf_put_u8(buf, (uint8_t)(0x80 | (code & 0x3f)));
    } else {
        buf_put_u8(buf, (uint8_t)(0xf0 | code >> 18));
        buf_put_u8(buf, (uint8_t)(0x80 | (code >> 12 & 0x3f)));
        buf_put_u8(buf, (uint8_t)(0x80 | (code >> 6 & 0x3f)));
        buf_put_u8(buf, (uint8_t)(0x80 | (code & 0x3f)));
    }
}

/* After "\u". */
static bool read_unicode(struct parser *parser, struct buf *buf)
{
    struct place place = here(parser);
    uint32_t code;
    uint32_t low;

    if (!read_hex(parser, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00 && starts(parser, "\\u")) {
        steps(parser, 2);
        if (!read_hex(parser, &low))
            return false;
        if (low >= 0xdc00 && low < 0xe000)
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code == 0 || (code >= 0xd800 && code < 0xe000))
        return config_problem_set(parser->problem, place,
                                  "\\u%04x is no character of its own", code);
    put_utf8(buf, code);
    return true;
}

/* After the backslash. */
static bool read_escape(struct parser *parser, struct buf *buf)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    char c = peek(parser);
    const char *found = c ? strchr(from, c) : NULL;

    if (c == 'u') {
        step(parser);
        return read_unicode(parser, buf);
    }
    if (!found)
        return config_problem_set(
            parser->problem, here(parser),
            "unknown escape \\%c; a backslash is written \\\\", c ? c : ' ');
    buf_put_u8(buf, (uint8_t)to[found - from]);
    step(parser);
    return true;
}

static bool read_triple(struct parser *parser, struct buf *buf)
{
    struct place place = here(parser);

    steps(parser, 3);
    while (!starts(parser, "\"\"\"") || starts(parser, "\"\"\"\"")) {
        if (at_end(parser) || peek(parser) == '\0')
            return config_problem_set(
                parser->problem, place,
                "\"\"\" is not closed; end it with \"\"\"");
        buf_put_u8(buf, (uint8_t)peek(parser));
        step(parser);
        if (buf->size > CONFIG_VALUE_SIZE_MAX)
            return config_problem_set(parser->problem, place,
                                      "a text longer than %d bytes",
                                      CONFIG_VALUE_SIZE_MAX);
    }
    steps(parser, 3);
    return true;
}

/* At a quotation mark. Appends to buf. */
static bool read_quoted(struct parser *parser, struct buf *buf)
{
    struct place place = here(parser);
    char c;

    if (starts(parser, "\"\"\""))
        return read_triple(parser, buf);
    step(parser);
    while ((c = peek(parser)) != '"') {
        if (at_end(parser) || c == '\n' || c == '\0')
            return config_problem_set(
                parser->problem, place,
                "this quoted text does not end on its line; "
                "close it, or use \"\"\" for several lines");
        step(parser);
        if (c != '\\')
            buf_put_u8(buf, (uint8_t)c);
        else if (!read_escape(parser, buf))
            return false;
        if (buf->size > CONFIG_VALUE_SIZE_MAX)
            return config_problem_set(parser->problem, place,
                                      "a text longer than %d bytes",
                                      CONFIG_VALUE_SIZE_MAX);
    }
    step(parser);
    return true;
}

/* One name of a key: bare up to a dot, or quoted. */
static bool read_name(struct parser *parser, struct path *path)
{
    struct place place = here(parser);
    struct buf buf = {0};
    bool quoted = false;
    bool good = true;

    while (good) {
        if (peek(parser) == '"') {
            quoted = true;
            good = read_quoted(parser, &buf);
        } else if (is_bare(parser) && peek(parser) != '.') {
            buf_put_u8(&buf, (uint8_t)peek(parser));
            step(parser);
        } else {
            break;
        }
        if (buf.size > CONFIG_VALUE_SIZE_MAX)
            good = config_problem_set(parser->problem, place,
                                      "a name is too long");
    }
    if (good && !buf.size && !quoted)
        good = config_problem_set(
            parser->problem, here(parser),
            "expected a key, found %s%.1s%s; a name with other "
            "signs than letters, digits, - and _ needs quotes",
            at_end(parser) ? "the end" : "\"", at_end(parser) ? "" : parser->at,
            at_end(parser) ? "" : "\"");
    if (good && path->count == CONFIG_DEPTH_MAX)
        good =
            config_problem_set(parser->problem, place,
                               "a key of more than %d names", CONFIG_DEPTH_MAX);
    if (good)
        path->names[path->count++] =
            tree_text(parser->tree, (const char *)buf.data, buf.size);
    buf_fini(&buf);
    return good;
}

/* Names with dots between them. */
static bool read_path(struct parser *parser, struct path *path)
{
    path->count = 0;
    for (;;) {
        if (!read_name(parser, path))
            return false;
        if (peek(parser) != '.')
            return true;
        step(parser);
    }
}

/* At "${". */
static struct node *read_reference(struct parser *parser)
{
    struct place place = here(parser);
    struct node *node = tree_new_node(parser->tree, NODE_REFERENCE, place);
    struct path *path = tree_alloc(parser->tree, sizeof *path);
    const char *begin;

    steps(parser, 2);
    if (peek(parser) == '?') {
        node->optional = true;
        step(parser);
    }
    skip_spaces(parser);
    begin = parser->at;
    if (!read_path(parser, path))
        return NULL;
    node->size = (size_t)(parser->at - begin);
    node->text = tree_text(parser->tree, begin, node->size);
    node->path = path;
    (void)tree_unify_path(path); /* the text names it as it was written */
    skip_spaces(parser);
    if (peek(parser) != '}') {
        (void)config_problem_set(parser->problem, place,
                                 "this ${ is not closed; end it with }");
        return NULL;
    }
    step(parser);
    return node;
}

static struct node *read_array(struct parser *parser, uint32_t depth)
{
    struct place opened = here(parser);
    struct node *array = tree_new_node(parser->tree, NODE_ARRAY, opened);
    struct node *item;

    if (!check_depth(parser, depth))
        return NULL;
    step(parser);
    for (;;) {
        skip_blank(parser);
        if (peek(parser) == ']') {
            step(parser);
            return array;
        }
        if (at_end(parser)) {
            (void)config_problem_set(
                parser->problem, opened,
                "this [ is not closed; end the list with ]");
            return NULL;
        }
        item = parse_value(parser, depth);
        if (!item || !check_room(parser))
            return NULL;
        tree_add_item(parser->tree, array, item);
        skip_line(parser);
        if (peek(parser) == ',') {
            step(parser);
        } else if (peek(parser) != '\n' && peek(parser) != ']') {
            (void)config_problem_set(
                parser->problem, here(parser),
                "expected , or ] in the list that was opened "
                "at line %u",
                (unsigned)opened.line);
            return NULL;
        }
    }
}

static struct node *read_object(struct parser *parser, uint32_t depth)
{
    struct place opened = here(parser);
    struct node *object = tree_new_node(parser->tree, NODE_OBJECT, opened);

    if (!check_depth(parser, depth))
        return NULL;
    step(parser);
    return parse_members(parser, object, depth, opened) ? object : NULL;
}

/* A bare word, up to the next sign that ends it. */
static struct node *read_bare(struct parser *parser)
{
    struct place place = here(parser);
    const char *begin = parser->at;

    while (is_bare(parser))
        step(parser);
    if (parser->at == begin) {
        (void)config_problem_set(
            parser->problem, place,
            "the sign %.1s cannot stand in a bare value; put "
            "the value in quotes, or end what stands before it: is a value, "
            "a comma or a bracket missing?",
            at_end(parser) ? " " : parser->at);
        return NULL;
    }
    if (parser->at - begin > CONFIG_VALUE_SIZE_MAX) {
        (void)config_problem_set(parser->problem, place,
                                 "a value longer than %d bytes",
                                 CONFIG_VALUE_SIZE_MAX);
        return NULL;
    }
    return tree_new_text(parser->tree, place, begin,
                         (size_t)(parser->at - begin), false);
}

static struct node *read_part(struct parser *parser, uint32_t depth)
{
    struct place place = here(parser);
    struct node *node = NULL;
    struct buf buf = {0};

    if (peek(parser) == '{')
        return read_object(parser, depth + 1);
    if (peek(parser) == '[')
        return read_array(parser, depth + 1);
    if (starts(parser, "${"))
        return read_reference(parser);
    if (peek(parser) != '"')
        return read_bare(parser);
    if (read_quoted(parser, &buf))
        node = tree_new_text(parser->tree, place, (const char *)buf.data,
                             buf.size, true);
    buf_fini(&buf);
    return node;
}

/* One value out of parts that are all texts; or the join as it is. */
static struct node *fold(struct parser *parser, struct node *join)
{
    struct buf buf = {0};
    struct node *text;
    bool quoted = false;

    if (!join->items->next)
        return join->items->node;
    for (struct item *item = join->items; item; item = item->next)
        if (item->node->kind != NODE_TEXT)
            return join;
    for (struct item *item = join->items; item; item = item->next) {
        buf_put(&buf, item->node->text, item->node->size);
        quoted |= item->node->quoted;
    }
    text = tree_new_text(parser->tree, join->place, (const char *)buf.data,
                         buf.size, quoted);
    buf_fini(&buf);
    return text;
}

/* Parts beside each other, up to the end of the line or of what is around. */
static struct node *parse_value(struct parser *parser, uint32_t depth)
{
    struct node *join = tree_new_node(parser->tree, NODE_JOIN, here(parser));
    size_t size = 0;

    for (;;) {
        const char *gap = parser->at;
        struct place place = here(parser);
        struct node *part;
        char c;

        skip_spaces(parser);
        c = peek(parser);
        if (at_end(parser) || (c && strchr("\n,}]#", c)) ||
            starts(parser, "//"))
            break;
        if (join->items && parser->at > gap) {
            part = tree_new_text(parser->tree, place, gap,
                                 (size_t)(parser->at - gap), false);
            part->blank = true;
            size += part->size;
            tree_add_item(parser->tree, join, part);
        }
        part = read_part(parser, depth);
        if (!part || !check_room(parser))
            return NULL;
        tree_add_item(parser->tree, join, part);
        size += part->kind == NODE_TEXT ? part->size : 0;
        if (size > CONFIG_VALUE_SIZE_MAX) {
            (void)config_problem_set(parser->problem, place,
                                     "a value longer than %d bytes",
                                     CONFIG_VALUE_SIZE_MAX);
            return NULL;
        }
    }
    if (!join->items) {
        (void)config_problem_set(parser->problem, here(parser),
                                 "expected a value; an empty text is \"\"");
        return NULL;
    }
    return fold(parser, join);
}

/* At the name of an include: "name", file("name"), required("name"),
 * required(file("name")). */
static bool read_include_name(struct parser *parser, struct buf *name,
                              bool *required)
{
    struct place place = here(parser);
    uint32_t open = 0;

    for (;;) {
        skip_spaces(parser);
        if (starts(parser, "required(")) {
            *required = true;
            steps(parser, 9);
        } else if (starts(parser, "file(")) {
            steps(parser, 5);
        } else {
            break;
        }
        open++;
    }
    if (peek(parser) != '"' || open > 2)
        return config_problem_set(parser->problem, place,
                                  "include wants \"name\", file(\"name\") or "
                                  "required(\"name\")");
    if (!read_quoted(parser, name))
        return false;
    for (; open; open--) {
        skip_spaces(parser);
        if (peek(parser) != ')')
            return config_problem_set(
                parser->problem, here(parser),
                "expected ) after the name of the include");
        step(parser);
    }
    return true;
}

/* The included text into the object where the include stands. */
static bool include_text(struct parser *parser, struct node *object,
                         uint32_t depth, struct slice text, const char *label)
{
    struct parser inner = *parser;

    if (text.size > CONFIG_SIZE_MAX)
        return config_problem_set(parser->problem, here(parser),
                                  "the include %.100s has %zu bytes; at most %d",
                                  label, text.size, CONFIG_SIZE_MAX);
    if (!check_room(parser) || !config_check_utf8(text, label, parser->problem))
        return false;
    /* A copy: the giver's memory is needed for the includes inside. */
    inner.at = tree_text(parser->tree, (const char *)text.data, text.size);
    inner.end = inner.at + text.size;
    inner.line_start = inner.at;
    inner.line = 1;
    inner.source = label;
    inner.include_depth++;
    return parse_members(&inner, object, depth, (struct place){0});
}

/* The name of an included text: beside the text that includes it. */
static const char *include_label(struct parser *parser, struct slice name)
{
    const char *slash = strrchr(parser->source, '/');
    struct buf buf = {0};
    const char *label;

    if (slash && (!name.size || name.data[0] != '/'))
        buf_put(&buf, parser->source, (size_t)(slash - parser->source) + 1);
    buf_put_slice(&buf, name);
    label = tree_text(parser->tree, (const char *)buf.data, buf.size);
    buf_fini(&buf);
    return label;
}

/* At the end, so that they are told in the order of the texts. */
static void add_missing(struct parser *parser, const char *label,
                        struct place place)
{
    struct missing **at = parser->options->missing;

    while (*at)
        at = &(*at)->next;
    *at = tree_alloc(parser->tree, sizeof **at);
    (*at)->label = label;
    (*at)->place = place;
}

static bool parse_include(struct parser *parser, struct node *object,
                          uint32_t depth)
{
    const struct parse_options *options = parser->options;
    struct place place = here(parser);
    struct buf name = {0};
    struct slice text = {0};
    bool required = false;
    const char *copy;
    const char *label;

    steps(parser, 7);
    if (!read_include_name(parser, &name, &required)) {
        buf_fini(&name);
        return false;
    }
    copy = tree_text(parser->tree, (const char *)name.data, name.size);
    label = include_label(parser, buf_slice(&name));
    buf_fini(&name);
    if (!options || !options->include)
        return config_problem_set(parser->problem, place,
                                  "includes are not allowed here; write the "
                                  "settings into this text");
    if (parser->include_depth == CONFIG_INCLUDE_DEPTH_MAX)
        return config_problem_set(parser->problem, place,
                                  "includes nest deeper than %d; does %.100s "
                                  "include itself?",
                                  CONFIG_INCLUDE_DEPTH_MAX, copy);
    if (++*options->include_count > CONFIG_INCLUDES_MAX)
        return config_problem_set(parser->problem, place,
                                  "more than %d includes", CONFIG_INCLUDES_MAX);
    if (options->include(options->user, copy, parser->source, &text))
        return include_text(parser, object, depth, text, label);
    if (required)
        return config_problem_set(parser->problem, place,
                                  "cannot read the include %.200s", label);
    add_missing(parser, label, place);
    return true;
}

static bool at_include(struct parser *parser)
{
    struct parser ahead = *parser;

    if (!starts(parser, "include") || parser->end - parser->at < 8 ||
        !is_space(parser->at[7]))
        return false;
    steps(&ahead, 7);
    skip_spaces(&ahead);
    return peek(&ahead) == '"' || starts(&ahead, "file(") ||
           starts(&ahead, "required(") || starts(&ahead, "url(") ||
           starts(&ahead, "classpath(");
}

/* key = value, key : value, key += value, key { ... } */
static bool parse_member(struct parser *parser, struct node *object,
                         uint32_t depth)
{
    struct place place = here(parser);
    struct path path;
    struct node *value;
    bool append = false;

    if (!read_path(parser, &path) ||
        !check_depth(parser, depth + path.count - 1))
        return false;
    if (object == parser->root)
        parser->prefix = tree_unify_path(&path);
    place.prefix = parser->prefix;
    skip_spaces(parser);
    if (starts(parser, "+=")) {
        append = true;
        steps(parser, 2);
    } else if (peek(parser) == '=' || peek(parser) == ':') {
        step(parser);
    } else if (peek(parser) != '{') {
        return config_problem_set(parser->problem, here(parser),
                                  "expected =, : or { after the key %.100s",
                                  path.names[path.count - 1]);
    }
    skip_blank(parser);
    value = parse_value(parser, depth + path.count - 1);
    if (!value)
        return false;
    if (append) {
        struct node *added = tree_new_node(parser->tree, NODE_APPEND, place);

        tree_add_item(parser->tree, added, value);
        value = added;
    }
    tree_put_path(parser->tree, object, &path, place, value);
    return check_room(parser);
}

/* Up to the closing brace, or to the end of the text where none was opened
 * (opened.line is 0). */
static bool parse_members(struct parser *parser, struct node *object,
                          uint32_t depth, struct place opened)
{
    for (;;) {
        skip_blank(parser);
        if (at_end(parser)) {
            if (opened.line)
                return config_problem_set(
                    parser->problem, opened,
                    "this { is not closed; end it with }");
            return true;
        }
        if (peek(parser) == '}') {
            if (!opened.line)
                return config_problem_set(parser->problem, here(parser),
                                          "a } without its {; remove it");
            step(parser);
            return true;
        }
        if (at_include(parser) ? !parse_include(parser, object, depth)
                               : !parse_member(parser, object, depth))
            return false;
        skip_line(parser);
        if (peek(parser) == ',')
            step(parser);
        else if (!at_end(parser) && peek(parser) != '\n' && peek(parser) != '}')
            return config_problem_set(parser->problem, here(parser),
                                      "expected the end of the line or a comma "
                                      "after the value");
    }
}

static struct parser parser_of(struct tree *tree,
                               const struct parse_options *options,
                               struct slice text, const char *source,
                               struct config_problem *problem)
{
    const char *begin = text.size ? (const char *)text.data : "";

    return (struct parser){
        .tree = tree,
        .options = options,
        .at = begin,
        .end = begin + text.size,
        .line_start = begin,
        .line = 1,
        .source = source,
        .root = tree->root,
        .problem = problem,
    };
}

bool config_parse_text(struct tree *tree, const struct parse_options *options,
                       struct slice text, const char *source,
                       struct config_problem *problem)
{
    struct parser parser = parser_of(
        tree, options, text, tree_text(tree, source, strlen(source)), problem);
    struct place opened;

    if (text.size > CONFIG_SIZE_MAX)
        return config_problem_set(problem, here(&parser),
                                  "%zu bytes; at most %d", text.size,
                                  CONFIG_SIZE_MAX);
    if (!config_check_utf8(text, parser.source, problem))
        return false;
    if (starts(&parser, "\xef\xbb\xbf")) {
        parser.at += 3;
        parser.line_start = parser.at;
    }
    skip_blank(&parser);
    if (peek(&parser) != '{')
        return parse_members(&parser, tree->root, 1, (struct place){0});
    opened = here(&parser);
    step(&parser);
    if (!parse_members(&parser, tree->root, 1, opened))
        return false;
    skip_blank(&parser);
    if (!at_end(&parser))
        return config_problem_set(problem, here(&parser),
                                  "nothing may follow the last }");
    return true;
}

struct node *config_parse_list(struct tree *tree, struct slice text,
                               struct place place,
                               struct config_problem *problem)
{
    struct parser parser = parser_of(tree, NULL, text, place.source, problem);
    struct node *list;

    skip_blank(&parser);
    if (text.size > CONFIG_VALUE_SIZE_MAX || peek(&parser) != '[') {
        (void)config_problem_set(problem, place, "expected a list: [a, b]");
        return NULL;
    }
    list = read_array(&parser, 1);
    if (list)
        skip_blank(&parser);
    if (list && !at_end(&parser)) {
        (void)config_problem_set(problem, place,
                                 "nothing may follow the last ]");
        return NULL;
    }
    return list;
}
