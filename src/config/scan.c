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

bool scan_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

void scan_spaces(struct scan *scan)
{
    while (!scan_at_end(scan) && scan_is_space(*scan->at))
        scan_step(scan);
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

bool scan_is_bare(const struct scan *scan)
{
    char c = scan_peek(scan);

    return !scan_at_end(scan) && c != '\0' && c != '\n' && !scan_is_space(c) &&
           !strchr("$\"{}[]:=,+#`^?!@*&\\", c) && !scan_starts(scan, "//");
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
    if (code == 0 || (code >= 0xd800 && code < 0xe000))
        return config_problem_set(scan->problem, place,
                                  "\\u%04x is half of a character; write both "
                                  "halves", code);
    put_utf8(buf, code);
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

/* Reads one name of a key: bare up to a dot, or quoted. */
static bool read_name(struct scan *scan, struct path *path)
{
    struct place place = scan_here(scan);
    struct buf buf = {0};
    bool quoted = false;
    bool good = true;

    while (good) {
        if (scan_peek(scan) == '"') {
            quoted = true;
            good = scan_quoted(scan, &buf);
        } else if (scan_is_bare(scan) && scan_peek(scan) != '.') {
            buf_put_u8(&buf, (uint8_t)scan_peek(scan));
            scan_step(scan);
        } else {
            break;
        }
        if (buf.size > CONFIG_VALUE_SIZE_MAX)
            good = config_problem_set(scan->problem, place,
                                      "a name is too long");
    }
    if (good && !buf.size && !quoted)
        good = config_problem_set(
            scan->problem, scan_here(scan),
            "expected a key, found %s%.1s%s; a name with other "
            "signs than letters, digits, - and _ needs quotes",
            scan_at_end(scan) ? "the end" : "\"", scan_at_end(scan) ? "" : scan->at,
            scan_at_end(scan) ? "" : "\"");
    if (good && path->count == CONFIG_DEPTH_MAX)
        good =
            config_problem_set(scan->problem, place,
                               "a key of more than %d names", CONFIG_DEPTH_MAX);
    if (good)
        path->names[path->count++] =
            tree_text(scan->tree, (const char *)buf.data, buf.size);
    buf_fini(&buf);
    return good;
}

bool scan_path(struct scan *scan, struct path *path)
{
    path->count = 0;
    for (;;) {
        if (!read_name(scan, path))
            return false;
        if (scan_peek(scan) != '.')
            return true;
        scan_step(scan);
    }
}
