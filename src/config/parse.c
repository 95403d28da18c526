/* Parses a text with one character of look-ahead, recursively for objects and lists up to a depth
 * limit.
 * The grammar is the HOCON specification of lightbend/config without classpath and url includes. */
#include "config/parse.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "config/scan.h"

struct parser {
    struct scan scan;
    const struct parse_options *options;
    struct node *root; /* prefixes have one name only in whole paths */
    uint32_t include_depth;
};

static struct node *parse_value(struct parser *parser, uint32_t depth);
static bool parse_members(struct parser *parser, struct node *object,
                          uint32_t depth, struct place opened);

static bool check_room(struct parser *parser)
{
    if (!tree_is_full(parser->scan.tree))
        return true;
    return config_problem_set(parser->scan.problem, scan_here(&parser->scan),
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
        parser->scan.problem, scan_here(&parser->scan),
        "sections and lists nest deeper than %d; flatten them",
        CONFIG_DEPTH_MAX);
}

/* Starts at "${". */
static struct node *read_reference(struct parser *parser)
{
    struct place place = scan_here(&parser->scan);
    struct node *node = tree_new_node(parser->scan.tree, NODE_REFERENCE, place);
    struct path *path = tree_alloc(parser->scan.tree, sizeof *path);
    const char *begin;

    scan_steps(&parser->scan, 2);
    if (scan_peek(&parser->scan) == '?') {
        node->optional = true;
        scan_step(&parser->scan);
    }
    scan_spaces(&parser->scan);
    begin = parser->scan.at;
    if (!scan_path(&parser->scan, path))
        return NULL;
    node->size = (size_t)(parser->scan.at - begin);
    node->text = tree_text(parser->scan.tree, begin, node->size);
    node->path = path;
    (void)tree_unify_path(path); /* node->text keeps the name as written */
    scan_spaces(&parser->scan);
    if (scan_peek(&parser->scan) != '}') {
        (void)config_problem_set(parser->scan.problem, place,
                                 "this ${ is not closed; end it with }");
        return NULL;
    }
    scan_step(&parser->scan);
    return node;
}

static struct node *read_array(struct parser *parser, uint32_t depth)
{
    struct place opened = scan_here(&parser->scan);
    struct node *array = tree_new_node(parser->scan.tree, NODE_ARRAY, opened);
    struct node *item;

    if (!check_depth(parser, depth))
        return NULL;
    scan_step(&parser->scan);
    for (;;) {
        scan_blank(&parser->scan);
        if (scan_peek(&parser->scan) == ']') {
            scan_step(&parser->scan);
            return array;
        }
        if (scan_at_end(&parser->scan)) {
            (void)config_problem_set(
                parser->scan.problem, opened,
                "this [ is not closed; end the list with ]");
            return NULL;
        }
        item = parse_value(parser, depth);
        if (!item || !check_room(parser))
            return NULL;
        tree_add_item(parser->scan.tree, array, item);
        scan_line(&parser->scan);
        if (scan_peek(&parser->scan) == ',') {
            scan_step(&parser->scan);
        } else if (scan_peek(&parser->scan) != '\n' &&
                   scan_peek(&parser->scan) != ']') {
            (void)config_problem_set(
                parser->scan.problem, scan_here(&parser->scan),
                "expected , or ] in the list that was opened "
                "at line %u",
                (unsigned)opened.line);
            return NULL;
        }
    }
}

static struct node *read_object(struct parser *parser, uint32_t depth)
{
    struct place opened = scan_here(&parser->scan);
    struct node *object = tree_new_node(parser->scan.tree, NODE_OBJECT, opened);

    if (!check_depth(parser, depth))
        return NULL;
    scan_step(&parser->scan);
    return parse_members(parser, object, depth, opened) ? object : NULL;
}

/* Reads a bare word up to the next character that ends it. */
static struct node *read_bare(struct parser *parser)
{
    struct place place = scan_here(&parser->scan);
    const char *begin = parser->scan.at;

    while (scan_is_bare(&parser->scan))
        scan_step(&parser->scan);
    if (parser->scan.at == begin) {
        (void)config_problem_set(
            parser->scan.problem, place,
            "the sign %.1s cannot stand in a bare value; put "
            "the value in quotes, or end what stands before it: is a value, "
            "a comma or a bracket missing?",
            scan_at_end(&parser->scan) ? " " : parser->scan.at);
        return NULL;
    }
    if (parser->scan.at - begin > CONFIG_VALUE_SIZE_MAX) {
        (void)config_problem_set(parser->scan.problem, place,
                                 "a value longer than %d bytes",
                                 CONFIG_VALUE_SIZE_MAX);
        return NULL;
    }
    return tree_new_text(parser->scan.tree, place, begin,
                         (size_t)(parser->scan.at - begin), false);
}

static struct node *read_part(struct parser *parser, uint32_t depth)
{
    struct place place = scan_here(&parser->scan);
    struct node *node = NULL;
    struct buf buf = {0};

    if (scan_peek(&parser->scan) == '{')
        return read_object(parser, depth + 1);
    if (scan_peek(&parser->scan) == '[')
        return read_array(parser, depth + 1);
    if (scan_starts(&parser->scan, "${"))
        return read_reference(parser);
    if (scan_peek(&parser->scan) != '"')
        return read_bare(parser);
    if (scan_quoted(&parser->scan, &buf))
        node = tree_new_text(parser->scan.tree, place, (const char *)buf.data,
                             buf.size, true);
    buf_fini(&buf);
    return node;
}

/* Joins parts that are all texts into one value. */
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
    text = tree_new_text(parser->scan.tree, join->place, (const char *)buf.data,
                         buf.size, quoted);
    buf_fini(&buf);
    return text;
}

/* Reads adjacent parts up to the end of the line or of the enclosing value. */
static struct node *parse_value(struct parser *parser, uint32_t depth)
{
    struct node *join = tree_new_node(parser->scan.tree, NODE_JOIN,
                                      scan_here(&parser->scan));
    size_t size = 0;

    for (;;) {
        const char *gap = parser->scan.at;
        struct place place = scan_here(&parser->scan);
        struct node *part;
        char c;

        scan_spaces(&parser->scan);
        c = scan_peek(&parser->scan);
        if (scan_at_end(&parser->scan) || (c && strchr("\n,}]#", c)) ||
            scan_starts(&parser->scan, "//"))
            break;
        if (join->items && parser->scan.at > gap) {
            part = tree_new_text(parser->scan.tree, place, gap,
                                 (size_t)(parser->scan.at - gap), false);
            part->blank = true;
            size += part->size;
            tree_add_item(parser->scan.tree, join, part);
        }
        part = read_part(parser, depth);
        if (!part || !check_room(parser))
            return NULL;
        tree_add_item(parser->scan.tree, join, part);
        size += part->kind == NODE_TEXT ? part->size : 0;
        if (size > CONFIG_VALUE_SIZE_MAX) {
            (void)config_problem_set(parser->scan.problem, place,
                                     "a value longer than %d bytes",
                                     CONFIG_VALUE_SIZE_MAX);
            return NULL;
        }
    }
    if (!join->items) {
        (void)config_problem_set(parser->scan.problem, scan_here(&parser->scan),
                                 "expected a value; an empty text is \"\"");
        return NULL;
    }
    return fold(parser, join);
}

/* "name", file("name"), required("name") or required(file("name")). */
static bool read_include_name(struct parser *parser, struct buf *name,
                              bool *required)
{
    struct place place = scan_here(&parser->scan);
    uint32_t open = 0;

    for (;;) {
        scan_spaces(&parser->scan);
        if (scan_starts(&parser->scan, "required(")) {
            *required = true;
            scan_steps(&parser->scan, 9);
        } else if (scan_starts(&parser->scan, "file(")) {
            scan_steps(&parser->scan, 5);
        } else {
            break;
        }
        open++;
    }
    if (scan_peek(&parser->scan) != '"' || open > 2)
        return config_problem_set(parser->scan.problem, place,
                                  "include wants \"name\", file(\"name\") or "
                                  "required(\"name\")");
    if (!scan_quoted(&parser->scan, name))
        return false;
    for (; open; open--) {
        scan_spaces(&parser->scan);
        if (scan_peek(&parser->scan) != ')')
            return config_problem_set(
                parser->scan.problem, scan_here(&parser->scan),
                "expected ) after the name of the include");
        scan_step(&parser->scan);
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
    if (!check_room(parser) ||
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
    return parse_members(&inner, object, depth, (struct place){0});
}

/* Returns an included text's name, relative to the including one. */
static const char *include_label(struct parser *parser, struct slice name)
{
    const char *slash = strrchr(parser->scan.source, '/');
    struct buf buf = {0};
    const char *label;

    if (slash && (!name.size || name.data[0] != '/'))
        buf_put(&buf, parser->scan.source,
                (size_t)(slash - parser->scan.source) + 1);
    buf_put_slice(&buf, name);
    label = tree_text(parser->scan.tree, (const char *)buf.data, buf.size);
    buf_fini(&buf);
    return label;
}

/* Appends, so that the list has the order of the texts. */
static void add_missing(struct parser *parser, const char *label,
                        struct place place)
{
    struct missing **at = parser->options->missing;

    while (*at)
        at = &(*at)->next;
    *at = tree_alloc(parser->scan.tree, sizeof **at);
    (*at)->label = label;
    (*at)->place = place;
}

static bool parse_include(struct parser *parser, struct node *object,
                          uint32_t depth)
{
    const struct parse_options *options = parser->options;
    struct place place = scan_here(&parser->scan);
    struct buf name = {0};
    struct slice text = {0};
    bool required = false;
    const char *copy;
    const char *label;

    scan_steps(&parser->scan, 7);
    if (!read_include_name(parser, &name, &required)) {
        buf_fini(&name);
        return false;
    }
    copy = tree_text(parser->scan.tree, (const char *)name.data, name.size);
    label = include_label(parser, buf_slice(&name));
    buf_fini(&name);
    if (!options || !options->include)
        return config_problem_set(parser->scan.problem, place,
                                  "includes are not allowed here; write the "
                                  "settings into this text");
    if (parser->include_depth == CONFIG_INCLUDE_DEPTH_MAX)
        return config_problem_set(parser->scan.problem, place,
                                  "includes nest deeper than %d; does %.100s "
                                  "include itself?",
                                  CONFIG_INCLUDE_DEPTH_MAX, copy);
    if (++*options->include_count > CONFIG_INCLUDES_MAX)
        return config_problem_set(parser->scan.problem, place,
                                  "more than %d includes", CONFIG_INCLUDES_MAX);
    if (options->include(options->user, copy, parser->scan.source, &text))
        return include_text(parser, object, depth, text, label);
    if (required)
        return config_problem_set(parser->scan.problem, place,
                                  "cannot read the include %.200s", label);
    add_missing(parser, label, place);
    return true;
}

static bool at_include(struct parser *parser)
{
    struct parser ahead = *parser;

    if (!scan_starts(&parser->scan, "include") ||
        parser->scan.end - parser->scan.at < 8 ||
        !scan_is_space(parser->scan.at[7]))
        return false;
    scan_steps(&ahead.scan, 7);
    scan_spaces(&ahead.scan);
    return scan_peek(&ahead.scan) == '"' || scan_starts(&ahead.scan, "file(") ||
           scan_starts(&ahead.scan, "required(") ||
           scan_starts(&ahead.scan, "url(") ||
           scan_starts(&ahead.scan, "classpath(");
}

/* key = value, key : value, key += value, key { ... } */
static bool parse_member(struct parser *parser, struct node *object,
                         uint32_t depth)
{
    struct place place = scan_here(&parser->scan);
    struct path path;
    struct node *value;
    bool append = false;

    if (!scan_path(&parser->scan, &path) ||
        !check_depth(parser, depth + path.count - 1))
        return false;
    if (object == parser->root)
        parser->scan.prefix = tree_unify_path(&path);
    place.prefix = parser->scan.prefix;
    scan_spaces(&parser->scan);
    if (scan_starts(&parser->scan, "+=")) {
        append = true;
        scan_steps(&parser->scan, 2);
    } else if (scan_peek(&parser->scan) == '=' ||
               scan_peek(&parser->scan) == ':') {
        scan_step(&parser->scan);
    } else if (scan_peek(&parser->scan) != '{') {
        return config_problem_set(parser->scan.problem, scan_here(&parser->scan),
                                  "expected =, : or { after the key %.100s",
                                  path.names[path.count - 1]);
    }
    scan_blank(&parser->scan);
    value = parse_value(parser, depth + path.count - 1);
    if (!value)
        return false;
    if (append) {
        struct node *added = tree_new_node(parser->scan.tree, NODE_APPEND, place);

        tree_add_item(parser->scan.tree, added, value);
        value = added;
    }
    tree_put_path(parser->scan.tree, object, &path, place, value);
    return check_room(parser);
}

/* Reads up to the closing brace, or to the end of the text if none was opened (opened.line is
 * 0). */
static bool parse_members(struct parser *parser, struct node *object,
                          uint32_t depth, struct place opened)
{
    for (;;) {
        scan_blank(&parser->scan);
        if (scan_at_end(&parser->scan)) {
            if (opened.line)
                return config_problem_set(
                    parser->scan.problem, opened,
                    "this { is not closed; end it with }");
            return true;
        }
        if (scan_peek(&parser->scan) == '}') {
            if (!opened.line)
                return config_problem_set(parser->scan.problem, scan_here(&parser->scan),
                                          "a } without its {; remove it");
            scan_step(&parser->scan);
            return true;
        }
        if (at_include(parser) ? !parse_include(parser, object, depth)
                               : !parse_member(parser, object, depth))
            return false;
        scan_line(&parser->scan);
        if (scan_peek(&parser->scan) == ',')
            scan_step(&parser->scan);
        else if (!scan_at_end(&parser->scan) &&
                 scan_peek(&parser->scan) != '\n' &&
                 scan_peek(&parser->scan) != '}')
            return config_problem_set(parser->scan.problem, scan_here(&parser->scan),
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
        .scan = { .tree = tree,
                  .at = begin,
                  .end = begin + text.size,
                  .line_start = begin,
                  .line = 1,
                  .source = source,
                  .problem = problem },
        .options = options,
        .root = tree->root,
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
        return config_problem_set(problem, scan_here(&parser.scan),
                                  "%zu bytes; at most %d", text.size,
                                  CONFIG_SIZE_MAX);
    if (!config_check_utf8(text, parser.scan.source, problem))
        return false;
    if (scan_starts(&parser.scan, "\xef\xbb\xbf")) {
        parser.scan.at += 3;
        parser.scan.line_start = parser.scan.at;
    }
    scan_blank(&parser.scan);
    if (scan_peek(&parser.scan) != '{')
        return parse_members(&parser, tree->root, 1, (struct place){0});
    opened = scan_here(&parser.scan);
    scan_step(&parser.scan);
    if (!parse_members(&parser, tree->root, 1, opened))
        return false;
    scan_blank(&parser.scan);
    if (!scan_at_end(&parser.scan))
        return config_problem_set(problem, scan_here(&parser.scan),
                                  "nothing may follow the last }");
    return true;
}

struct node *config_parse_list(struct tree *tree, struct slice text,
                               struct place place,
                               struct config_problem *problem)
{
    struct parser parser = parser_of(tree, NULL, text, place.source, problem);
    struct node *list;

    scan_blank(&parser.scan);
    if (text.size > CONFIG_VALUE_SIZE_MAX || scan_peek(&parser.scan) != '[') {
        (void)config_problem_set(problem, place, "expected a list: [a, b]");
        return NULL;
    }
    list = read_array(&parser, 1);
    if (list)
        scan_blank(&parser.scan);
    if (list && !scan_at_end(&parser.scan)) {
        (void)config_problem_set(problem, place,
                                 "nothing may follow the last ]");
        return NULL;
    }
    return list;
}
