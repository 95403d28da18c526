/* Parses a text with one character of look-ahead, recursively for objects and lists up to a depth
 * limit.
 * The grammar is the HOCON specification of lightbend/config. include.c has its includes. */
#include "config/parse.h"

#include <string.h>

#include "base/check.h"
#include "config/parser.h"

static struct node *parse_value(struct parser *parser, uint32_t depth);
static bool parse_members(struct parser *parser, struct node *object,
                          uint32_t depth, struct place opened);

static bool check_depth(struct parser *parser, uint32_t depth)
{
    if (depth <= CONFIG_DEPTH_MAX)
        return true;
    return config_problem_set(
        parser->scan.problem, scan_here(&parser->scan),
        "sections and lists nest deeper than %d; flatten them",
        CONFIG_DEPTH_MAX);
}

/* In an included text, a reference means its path below the include's place first. Returns that
 * path; null: there is no such place, or no key can be that deep. */
static const struct path *path_below(struct parser *parser,
                                     const struct path *path)
{
    const struct path *scope = &parser->scope;
    struct path *below;

    if (!scope->count || scope->count + path->count > CONFIG_DEPTH_MAX)
        return NULL;
    below = tree_alloc(parser->scan.tree, sizeof *below);
    *below = *scope;
    for (uint32_t i = 0; i < path->count; i++)
        below->names[below->count++] = path->names[i];
    return below;
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
    node->below = path_below(parser, path);
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

/* Skips blanks with at most one comma. Returns whether there was a comma or the end of a line, which
 * separate members and items. */
static bool skip_separator(struct scan *scan)
{
    bool found = false;

    for (;;) {
        scan_line(scan);
        if (scan_peek(scan) == ',') {
            scan_step(scan);
            return true;
        }
        if (scan_peek(scan) != '\n')
            return found;
        scan_step(scan);
        found = true;
    }
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
        if (!item || !scan_has_room(&parser->scan))
            return NULL;
        tree_add_item(parser->scan.tree, array, item);
        if (!skip_separator(&parser->scan) &&
            scan_peek(&parser->scan) != ']' && !scan_at_end(&parser->scan)) {
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

static void refuse_sign(struct parser *parser, struct place place)
{
    char sign = scan_at_end(&parser->scan) ? ' ' : *parser->scan.at;

    if (sign >= 0 && sign < ' ')
        (void)config_problem_set(
            parser->scan.problem, place,
            "the byte 0x%02x cannot stand in a bare value; remove it",
            (unsigned)sign);
    else
        (void)config_problem_set(
            parser->scan.problem, place,
            "the sign %c cannot stand in a bare value; put the value in "
            "quotes, or end what stands before it: is a value, a comma or a "
            "bracket missing?",
            sign);
}

/* Reads a bare word up to the next character that ends it. */
static struct node *read_bare(struct parser *parser)
{
    struct place place = scan_here(&parser->scan);
    const char *begin = parser->scan.at;

    while (scan_is_bare(&parser->scan))
        if (!scan_word(&parser->scan))
            return NULL;
    if (parser->scan.at == begin) {
        refuse_sign(parser, place);
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

/* Refuses texts, lists and sections beside each other. A reference can be any of them, and a section
 * can stand for a list. */
static bool check_kinds(struct parser *parser, const struct node *join)
{
    struct node *left = NULL;

    for (struct item *item = join->items; item; item = item->next) {
        struct node *right = item->node;

        if (right->blank)
            continue;
        if (left && left->kind != NODE_REFERENCE &&
            right->kind != NODE_REFERENCE && left->kind != right->kind &&
            (right->kind != NODE_ARRAY ||
             tree_list_of(parser->scan.tree, left)->kind != NODE_ARRAY) &&
            (left->kind != NODE_ARRAY ||
             tree_list_of(parser->scan.tree, right)->kind != NODE_ARRAY))
            return config_problem_set(
                parser->scan.problem, right->place,
                "cannot join a text, a list and a section with each other; "
                "separate them");
        left = right;
    }
    return true;
}

static struct node *join_texts(struct parser *parser, const struct node *join)
{
    struct buf buf = {0};
    struct node *text;
    bool quoted = false;

    for (struct item *item = join->items; item; item = item->next) {
        buf_put(&buf, item->node->text, item->node->size);
        quoted |= item->node->quoted;
    }
    text = tree_new_text(parser->scan.tree, join->place, (const char *)buf.data,
                         buf.size, quoted);
    buf_fini(&buf);
    return text;
}

/* Moves what is in a list or section to the end of another one. */
static void move(struct parser *parser, struct node *to,
                 const struct node *from)
{
    for (struct item *at = from->items; at; at = at->next)
        tree_add_item(parser->scan.tree, to, at->node);
    for (struct field *at = from->fields; at; at = at->next)
        tree_put(parser->scan.tree, to, at->name, at->place, at->value);
}

/* Joins lists, and sections, that stand beside each other. A reference keeps those around it apart. */
static struct node *join_neighbours(struct parser *parser, struct node *join)
{
    struct item *last = join->items; /* never a space */

    for (struct item *item = last->next; item; item = item->next) {
        enum node_kind kind = item->node->kind;

        if (item->node->blank)
            continue;
        if (kind == last->node->kind &&
            (kind == NODE_ARRAY || kind == NODE_OBJECT)) {
            move(parser, last->node, item->node);
            last->next = item->next;
        } else {
            last = item;
        }
    }
    return join->items->next ? join : join->items->node;
}

/* Joins parts of one kind into one value, unless a reference is among them. */
static struct node *fold(struct parser *parser, struct node *join)
{
    bool is_text = true;

    if (!join->items->next)
        return join->items->node;
    for (struct item *item = join->items; item; item = item->next)
        is_text &= item->node->kind == NODE_TEXT;
    if (is_text)
        return join_texts(parser, join);
    return check_kinds(parser, join) ? join_neighbours(parser, join) : NULL;
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
        if (!part || !scan_has_room(&parser->scan))
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

/* Reads = and a value, : and a value, += and an item, or a section. */
static struct node *read_assigned(struct parser *parser, uint32_t depth,
                                  const char *name)
{
    struct node *value;
    struct node *added = NULL;

    scan_blank(&parser->scan);
    if (scan_peek(&parser->scan) == '{')
        return read_object(parser, depth + 1);
    if (scan_starts(&parser->scan, "+=")) {
        added = tree_new_node(parser->scan.tree, NODE_APPEND,
                              scan_here(&parser->scan));
        scan_steps(&parser->scan, 2);
    } else if (scan_peek(&parser->scan) == '=' ||
               scan_peek(&parser->scan) == ':') {
        scan_step(&parser->scan);
    } else {
        (void)config_problem_set(parser->scan.problem,
                                 scan_here(&parser->scan),
                                 "expected =, : or { after the key %.100s",
                                 name);
        return NULL;
    }
    scan_blank(&parser->scan);
    value = parse_value(parser, depth);
    if (value && added)
        tree_add_item(parser->scan.tree, added, value);
    return value && added ? added : value;
}

static bool parse_member(struct parser *parser, struct node *object,
                         uint32_t depth)
{
    struct place place = scan_here(&parser->scan);
    uint32_t outer = parser->here.count;
    struct path path;
    struct node *value;

    if (!scan_path(&parser->scan, &path) ||
        !check_depth(parser, depth + path.count - 1))
        return false;
    if (object == parser->root)
        parser->scan.prefix = tree_unify_path(&path);
    place.prefix = parser->scan.prefix;
    for (uint32_t i = 0; i < path.count && outer + i < CONFIG_DEPTH_MAX; i++)
        parser->here.names[parser->here.count++] = path.names[i];
    value = read_assigned(parser, depth + path.count - 1,
                          path.names[path.count - 1]);
    parser->here.count = outer;
    if (!value)
        return false;
    if (value->kind == NODE_APPEND)
        value->place = place;
    tree_put_path(parser->scan.tree, object, &path, place, value);
    return scan_has_room(&parser->scan);
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
        if (include_starts(parser) ? !include_read(parser, object, depth)
                                   : !parse_member(parser, object, depth))
            return false;
        if (!skip_separator(&parser->scan) && !scan_at_end(&parser->scan) &&
            scan_peek(&parser->scan) != '}')
            return config_problem_set(parser->scan.problem, scan_here(&parser->scan),
                                      "expected the end of the line or a comma "
                                      "after the value");
    }
}

/* Reads a whole text, with or without braces around it, into an object. */
static bool read_root(struct parser *parser, struct node *object,
                      uint32_t depth)
{
    struct place opened;

    scan_blank(&parser->scan);
    if (scan_peek(&parser->scan) != '{')
        return parse_members(parser, object, depth, (struct place){0});
    opened = scan_here(&parser->scan);
    scan_step(&parser->scan);
    if (!parse_members(parser, object, depth, opened))
        return false;
    scan_blank(&parser->scan);
    if (!scan_at_end(&parser->scan))
        return config_problem_set(parser->scan.problem,
                                  scan_here(&parser->scan),
                                  "nothing may follow the last }");
    return true;
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
        .read_root = read_root,
    };
}

bool config_parse_text(struct tree *tree, const struct parse_options *options,
                       struct slice text, const char *source,
                       struct config_problem *problem)
{
    struct parser parser = parser_of(
        tree, options, text, tree_text(tree, source, strlen(source)), problem);

    if (text.size > CONFIG_SIZE_MAX)
        return config_problem_set(problem, scan_here(&parser.scan),
                                  "%zu bytes; at most %d", text.size,
                                  CONFIG_SIZE_MAX);
    if (!config_check_utf8(text, parser.scan.source, problem))
        return false;
    if (properties_is_name(source))
        return properties_read(&parser, tree->root, 1, text,
                               scan_here(&parser.scan));
    if (scan_starts(&parser.scan, "\xef\xbb\xbf")) {
        parser.scan.at += 3;
        parser.scan.line_start = parser.scan.at;
    }
    return read_root(&parser, tree->root, 1);
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
