/* Reads Java properties: a key and a text on each line, as java.util.Properties defines it. */
#include <string.h>

#include "base/limits.h"
#include "config/parser.h"

/* The characters of one logical line: without the ends of continued lines and the blanks after
 * them. */
struct line {
    const char *at;
    const char *end;
    uint32_t number; /* of the last line that was begun */
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static bool is_end(char c)
{
    return c == '\n' || c == '\r';
}

bool properties_is_name(const char *name)
{
    static const char ending[] = ".properties";
    size_t size = strlen(name);
    size_t tail = sizeof ending - 1;

    return size > tail && strcmp(name + size - tail, ending) == 0;
}

static void skip_end(struct line *line)
{
    if (line->at < line->end && *line->at == '\r')
        line->at++;
    if (line->at < line->end && *line->at == '\n')
        line->at++;
    line->number++;
}

static void skip_blanks(struct line *line)
{
    while (line->at < line->end && is_blank(*line->at))
        line->at++;
}

/* Skips empty lines and comments. */
static void skip_to_key(struct line *line)
{
    for (;;) {
        skip_blanks(line);
        if (line->at < line->end && (*line->at == '#' || *line->at == '!'))
            while (line->at < line->end && !is_end(*line->at))
                line->at++;
        if (line->at == line->end || !is_end(*line->at))
            return;
        skip_end(line);
    }
}

/* Joins a line that ends with a backslash and the next one. */
static void skip_continued(struct line *line)
{
    while (line->end - line->at > 1 && *line->at == '\\' &&
           is_end(line->at[1])) {
        line->at++;
        skip_end(line);
        skip_blanks(line);
    }
}

/* Four hexadecimal digits; false if these are none. */
static bool read_unit(struct line *line, uint32_t *unit)
{
    *unit = 0;
    if (line->end - line->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = *line->at++;
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;

        if (digit == 16)
            return false;
        *unit = *unit * 16 + digit;
    }
    return true;
}

/* Starts after "\u". */
static bool read_code(struct line *line, uint32_t *code)
{
    uint32_t low;

    if (!read_unit(line, code))
        return false;
    if (*code >= 0xd800 && *code < 0xdc00 && line->end - line->at > 1 &&
        line->at[0] == '\\' && line->at[1] == 'u') {
        line->at += 2;
        if (!read_unit(line, &low) || low < 0xdc00 || low > 0xdfff)
            return false;
        *code = 0x10000 + ((*code - 0xd800) << 10) + (low - 0xdc00);
    }
    return *code != 0 && (*code < 0xd800 || *code > 0xdfff);
}

/* Starts at a backslash. */
static bool read_escape(struct line *line, struct buf *buf)
{
    static const char from[] = "fnrt";
    static const char to[] = "\f\n\r\t";
    const char *found;
    uint32_t code;
    char c;

    line->at++;
    if (line->at == line->end)
        return true;
    c = *line->at++;
    if (c == 'u') {
        if (!read_code(line, &code))
            return false;
        scan_put_utf8(buf, code);
        return true;
    }
    found = c ? strchr(from, c) : NULL;
    buf_put_u8(buf, (uint8_t)(found ? to[found - from] : c));
    return true;
}

/* Reads a key, up to its separator, or a value, up to the end of the line. */
static bool read_part(struct line *line, struct buf *buf, bool is_key)
{
    for (;;) {
        skip_continued(line);
        if (line->at == line->end || is_end(*line->at) ||
            (is_key && (is_blank(*line->at) || *line->at == '=' ||
                        *line->at == ':')))
            return true;
        if (*line->at == '\\') {
            if (!read_escape(line, buf))
                return false;
        } else {
            buf_put_u8(buf, (uint8_t)*line->at++);
        }
        if (buf->size > CONFIG_VALUE_SIZE_MAX)
            return false;
    }
}

static void skip_equals(struct line *line)
{
    skip_continued(line);
    skip_blanks(line);
    skip_continued(line);
    if (line->at < line->end && (*line->at == '=' || *line->at == ':')) {
        line->at++;
        skip_blanks(line);
    }
}

/* Unlike in HOCON, each dot divides, and names may be empty. */
static bool split(struct tree *tree, const struct buf *key, struct path *path)
{
    const char *at = key->size ? (const char *)key->data : "";
    const char *end = at + key->size;

    path->count = 0;
    for (;;) {
        const char *dot = memchr(at, '.', (size_t)(end - at));
        size_t size = (size_t)((dot ? dot : end) - at);

        if (path->count == CONFIG_DEPTH_MAX)
            return false;
        path->names[path->count++] = tree_text(tree, at, size);
        if (!dot)
            return true;
        at = dot + 1;
    }
}

/* An object wins over a text of the same name, whatever their order. */
static void put(struct tree *tree, struct node *object,
                const struct path *path, struct place place,
                struct node *value)
{
    tree->key_count++;
    for (uint32_t i = 0; i < path->count; i++) {
        struct field *field = tree_find(object, path->names[i]);
        bool is_last = i + 1 == path->count;

        if (field && field->value->kind == NODE_OBJECT) {
            object = field->value;
            continue;
        }
        tree_put(tree, object, path->names[i], place,
                 is_last ? value : tree_new_node(tree, NODE_OBJECT, place));
        if (!is_last)
            object = tree_find(object, path->names[i])->value;
    }
}

static bool read_line(struct parser *parser, struct line *line,
                      struct node *read, uint32_t depth, struct place place)
{
    struct tree *tree = parser->scan.tree;
    struct buf key = {0};
    struct buf value = {0};
    struct path path;
    bool good = read_part(line, &key, true);

    if (good) {
        skip_equals(line);
        good = read_part(line, &value, false);
    }
    if (!good) {
        (void)config_problem_set(parser->scan.problem, place,
                                 "a wrong \\u, or a key or value longer than "
                                 "%d bytes", CONFIG_VALUE_SIZE_MAX);
    } else if (!split(tree, &key, &path) ||
               depth + path.count - 1 > CONFIG_DEPTH_MAX) {
        good = config_problem_set(parser->scan.problem, place,
                                  "a key of more than %d names",
                                  CONFIG_DEPTH_MAX);
    } else {
        put(tree, read, &path, place,
            tree_new_text(tree, place, (const char *)value.data, value.size,
                          true));
    }
    buf_fini(&key);
    buf_fini(&value);
    return good && scan_has_room(&parser->scan);
}

bool properties_read(struct parser *parser, struct node *object,
                     uint32_t depth, struct slice text, struct place place)
{
    struct tree *tree = parser->scan.tree;
    struct node *read = tree_new_node(tree, NODE_OBJECT, place);
    const char *begin = text.size ? (const char *)text.data : "";
    struct line line = { begin, begin + text.size, 1 };

    for (skip_to_key(&line); line.at < line.end; skip_to_key(&line)) {
        place.line = line.number;
        if (!read_line(parser, &line, read, depth, place))
            return false;
    }
    for (struct field *field = read->fields; field; field = field->next) {
        struct path path = { { field->name }, 1 };

        place = field->place;
        if (object == parser->root) {
            place.prefix = tree_unify_path(&path);
            tree_set_prefix(field->value, place.prefix);
        }
        tree_put(tree, object, path.names[0], place, field->value);
    }
    return true;
}
