/* Scans the characters of a text: positions, blanks and comments, quoted texts, names of keys. */
#include "config/scan.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"

struct place scan_here(const struct scan *scan)
{
    return (struct place){scan->source, scan->line,
                          (uint32_t)(scan->at - scan->line_start) + 1,
                          scan->prefix};
}

bool scan_at_end(const struct scan *scan)
{
    return scan->at == scan->end;
}

char scan_peek(const struct scan *scan)
{
    return scan->at < scan->end ? *scan->at : '\0';
}

bool scan_starts(const struct scan *scan, const char *text)
{
    size_t size = strlen(text);

    return (size_t)(scan->end - scan->at) >= size &&
           memcmp(scan->at, text, size) == 0;
}

/* Advances by one character; only this function counts lines. */
void scan_step(struct scan *scan)
{
    if (*scan->at++ == '\n') {
        scan->line++;
        scan->line_start = scan->at;
    }
}

void scan_steps(struct scan *scan, size_t count)
{
    while (count-- > 0)
        scan_step(scan);
}

void scan_spaces(struct scan *scan)
{
    size_t size;

    while ((size = space_size(scan->at, scan->end)) > 0)
        scan->at += size;
}

void scan_line(struct scan *scan)
{
    scan_spaces(scan);
    if (scan_peek(scan) == '#' || scan_starts(scan, "//"))
        while (!scan_at_end(scan) && *scan->at != '\n')
            scan_step(scan);
}

void scan_blank(struct scan *scan)
{
    for (;;) {
        scan_line(scan);
        if (scan_peek(scan) != '\n')
            return;
        scan_step(scan);
    }
}

bool scan_has_room(const struct scan *scan)
{
    if (!tree_is_full(scan->tree))
        return true;
    return config_problem_set(scan->problem, scan_here(scan),
                              "more than %d keys, %d values or %d bytes; "
                              "use fewer",
                              CONFIG_KEYS_MAX, CONFIG_NODES_MAX,
                              CONFIG_MEMORY_MAX);
}

bool scan_is_bare(const struct scan *scan)
{
    char c = scan_peek(scan);

    return !scan_at_end(scan) && c != '\0' && c != '\n' &&
           !space_size(scan->at, scan->end) &&
           !strchr("$\"{}[]:=,+#`^?!@*&\\", c) && !scan_starts(scan, "//");
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    return at;
}

/* Is all of it a number with an exponent? */
static bool has_exponent(const char *at, const char *end)
{
    const char *begin;
    const char *whole;

    at += at < end && *at == '-';
    begin = at;
    whole = at = skip_digits(at, end);
    if (at < end && *at == '.') {
        at = skip_digits(at + 1, end);
        if (whole == begin && at == whole + 1)
            return false;
    } else if (whole == begin) {
        return false;
    }
    if (at == end || (*at != 'e' && *at != 'E'))
        return false;
    at++;
    at += at < end && (*at == '+' || *at == '-');
    return at < end && skip_digits(at, end) == end;
}

/* As in HOCON's tokens, a word that begins like a number takes all signs of numbers. */
static bool skip_number(struct scan *scan)
{
    struct place place = scan_here(scan);
    const char *begin = scan->at;
    const char *end = begin;

    while (end < scan->end && *end && strchr("0123456789eE+-.", *end))
        end++;
    scan->at = end;
    if (memchr(begin, '+', (size_t)(end - begin)) && !has_exponent(begin, end))
        return config_problem_set(scan->problem, place,
                                  "\"%.*s\" is not a number; a text with + "
                                  "needs quotes",
                                  end - begin > 60 ? 60 : (int)(end - begin),
                                  begin);
    return true;
}

/* Do the words end here that are words whatever follows them? */
static bool is_whole_word(const char *begin, const char *at)
{
    size_t size = (size_t)(at - begin);

    return (size == 4 && (memcmp(begin, "true", 4) == 0 ||
                          memcmp(begin, "null", 4) == 0)) ||
           (size == 5 && memcmp(begin, "false", 5) == 0);
}

bool scan_word(struct scan *scan)
{
    const char *begin = scan->at;

    if ((*begin >= '0' && *begin <= '9') || *begin == '-')
        return skip_number(scan);
    while (scan_is_bare(scan) && !is_whole_word(begin, scan->at))
        scan->at++;
    return true;
}

static bool read_hex(struct scan *scan, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        char c = scan_peek(scan);
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A') + 10
                                                : 16;

        if (digit == 16)
            return config_problem_set(scan->problem, scan_here(scan),
                                      "\\u wants four hexadecimal digits");
        *code = *code * 16 + digit;
        scan_step(scan);
    }
    return true;
}

void scan_put_utf8(struct buf *buf, uint32_t code)
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

/* Starts after "\u". */
static bool read_unicode(struct scan *scan, struct buf *buf)
{
    struct place place = scan_here(scan);
    uint32_t code;
    uint32_t low;

    if (!read_hex(scan, &code))
        return false;
    if (code >= 0xd800 && code < 0xdc00 && scan_starts(scan, "\\u")) {
        scan_steps(scan, 2);
        if (!read_hex(scan, &low))
            return false;
        if (low >= 0xdc00 && low < 0xe000)
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code == 0)
        return config_problem_set(scan->problem, place,
                                  "\\u0000 cannot stand in a text; remove it");
    if (code >= 0xd800 && code < 0xe000)
        return config_problem_set(scan->problem, place,
                                  "\\u%04x is half of a character; write both "
                                  "halves", code);
    scan_put_utf8(buf, code);
    return true;
}

/* Starts after the backslash. */
static bool read_escape(struct scan *scan, struct buf *buf)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";
    char c = scan_peek(scan);
    const char *found = c ? strchr(from, c) : NULL;

    if (c == 'u') {
        scan_step(scan);
        return read_unicode(scan, buf);
    }
    if (!found)
        return config_problem_set(
            scan->problem, scan_here(scan),
            "unknown escape \\%c; a backslash is written \\\\", c ? c : ' ');
    buf_put_u8(buf, (uint8_t)to[found - from]);
    scan_step(scan);
    return true;
}

static bool read_triple(struct scan *scan, struct buf *buf)
{
    struct place place = scan_here(scan);

    scan_steps(scan, 3);
    while (!scan_starts(scan, "\"\"\"") || scan_starts(scan, "\"\"\"\"")) {
        if (scan_at_end(scan) || scan_peek(scan) == '\0')
            return config_problem_set(
                scan->problem, place,
                "\"\"\" is not closed; end it with \"\"\"");
        buf_put_u8(buf, (uint8_t)scan_peek(scan));
        scan_step(scan);
        if (buf->size > CONFIG_VALUE_SIZE_MAX)
            return config_problem_set(scan->problem, place,
                                      "a text longer than %d bytes",
                                      CONFIG_VALUE_SIZE_MAX);
    }
    scan_steps(scan, 3);
    return true;
}

bool scan_quoted(struct scan *scan, struct buf *buf)
{
    struct place place = scan_here(scan);
    char c;

    if (scan_starts(scan, "\"\"\""))
        return read_triple(scan, buf);
    scan_step(scan);
    while ((c = scan_peek(scan)) != '"') {
        if (scan_at_end(scan) || c == '\n' || c == '\0')
            return config_problem_set(
                scan->problem, place,
                "this quoted text does not end on its line; "
                "close it, or use \"\"\" for several lines");
        if ((unsigned char)c < ' ')
            return config_problem_set(
                scan->problem, scan_here(scan),
                "the control character 0x%02x in a quoted text; write "
                "\\u%04x, or %s",
                (unsigned)c, (unsigned)c,
                c == '\t' ? "\\t" : "use \"\"\"");
        scan_step(scan);
        if (c != '\\')
            buf_put_u8(buf, (uint8_t)c);
        else if (!read_escape(scan, buf))
            return false;
        if (buf->size > CONFIG_VALUE_SIZE_MAX)
            return config_problem_set(scan->problem, place,
                                      "a text longer than %d bytes",
                                      CONFIG_VALUE_SIZE_MAX);
    }
    scan_step(scan);
    return true;
}

/* Ends the current name of a path. */
static bool add_name(struct scan *scan, struct path *path, struct buf *name,
                     bool *quoted)
{
    if (!name->size && !*quoted)
        return config_problem_set(
            scan->problem, scan_here(scan),
            "expected a key, found %s%.1s%s; a name with other "
            "signs than letters, digits, - and _ needs quotes",
            scan_at_end(scan) ? "the end" : "\"",
            scan_at_end(scan) ? "" : scan->at, scan_at_end(scan) ? "" : "\"");
    if (path->count == CONFIG_DEPTH_MAX)
        return config_problem_set(scan->problem, scan_here(scan),
                                  "a key of more than %d names",
                                  CONFIG_DEPTH_MAX);
    path->names[path->count++] =
        tree_text(scan->tree, (const char *)name->data, name->size);
    buf_clear(name);
    *quoted = false;
    return true;
}

/* Adds a word to the path, which its dots divide. */
static bool add_word(struct scan *scan, struct path *path, struct buf *name,
                     bool *quoted)
{
    struct scan ahead = *scan;

    if (!scan_word(&ahead))
        return false;
    while (scan->at < ahead.at) {
        if (*scan->at == '.' && !add_name(scan, path, name, quoted))
            return false;
        if (*scan->at != '.')
            buf_put_u8(name, (uint8_t)*scan->at);
        scan->at++;
    }
    return true;
}

bool scan_path(struct scan *scan, struct path *path)
{
    struct buf name = {0};
    bool quoted = false;
    bool good = true;
    bool begun = false;

    path->count = 0;
    while (good) {
        struct scan ahead = *scan;

        scan_spaces(&ahead);
        if (scan_peek(&ahead) != '"' && !scan_is_bare(&ahead))
            break;
        if (begun) /* spaces count between two parts only */
            buf_put(&name, scan->at, (size_t)(ahead.at - scan->at));
        scan->at = ahead.at;
        begun = true;
        if (scan_peek(scan) == '"') {
            good = scan_quoted(scan, &name);
            quoted |= !name.size;
        } else {
            good = add_word(scan, path, &name, &quoted);
        }
        if (name.size > CONFIG_VALUE_SIZE_MAX)
            good = config_problem_set(scan->problem, scan_here(scan),
                                      "a name is too long");
    }
    good = good && add_name(scan, path, &name, &quoted);
    buf_fini(&name);
    return good;
}
