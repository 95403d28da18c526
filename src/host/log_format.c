/* Formats log lines. logfmt: key=value, quoted if needed. JSON: one object, all values texts. */
#include "host/log_format.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"


static bool is_key_sign(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/* Size of the key, or 0 if no key=value begins here. */
static size_t key_size(const char *text)
{
    size_t size = 0;

    while (is_key_sign(text[size]))
        size++;
    return size && text[size] == '=' ? size : 0;
}

size_t log_words(const char *text)
{
    size_t at = 0;

    while (text[at] && !key_size(text + at)) {
        while (text[at] && text[at] != ' ')
            at++;
        while (text[at] == ' ')
            at++;
    }
    while (at && text[at - 1] == ' ')
        at--;
    return at;
}

/* Reads a key and its value, up to a space or closing quote. Returns what follows; null at the
 * end. */
static const char *next_pair(const char *text, struct slice *key,
                             struct slice *value, bool *quoted)
{
    const char *begin;
    size_t size;

    *quoted = false;

    while (*text == ' ')
        text++;
    if (!*text)
        return NULL;
    size = key_size(text);
    *key = slice_of(text, size);
    text += size + (size > 0);
    begin = text;
    if (size && *text == '"') {
        const char *close = text + 1;

        while (*close && *close != '"')
            close += *close == '\\' && close[1] ? 2 : 1;
        if (*close && (close[1] == ' ' || !close[1])) {
            *value = slice_of(text + 1, (size_t)(close - text - 1));
            *quoted = true;
            return close + 1;
        }
    }
    while (*text && *text != ' ')
        text++;
    *value = slice_of(begin, (size_t)(text - begin));
    return text;
}

static void put_time(struct buf *out, int64_t time_ms)
{
    int64_t days = time_ms / 86400000;
    int64_t rest = time_ms % 86400000;
    int64_t era;
    unsigned day;
    unsigned year;
    unsigned month;
    char text[40];

    /* "chrono-Compatible Low-Level Date Algorithms" by Howard Hinnant: days to civil, after
     * 1970. */
    days += 719468;
    era = days / 146097;
    day = (unsigned)(days - era * 146097);
    year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    day -= 365 * year + year / 4 - year / 100;
    month = (5 * day + 2) / 153;
    day -= (153 * month + 2) / 5;
    month = month < 10 ? month + 3 : month - 9;
    year += (unsigned)era * 400 + (month <= 2);
    (void)snprintf(text, sizeof text, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
                   year % 10000, month, day + 1, (unsigned)(rest / 3600000),
                   (unsigned)(rest / 60000 % 60), (unsigned)(rest / 1000 % 60),
                   (unsigned)(rest % 1000));
    buf_put_text(out, text);
}

/* Bytes of the first UTF-8 character, or 0. */
static size_t utf8_size(struct slice text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    uint8_t first = text.data[0];
    size_t size = first < 0x80   ? 1
                  : first < 0xc2 ? 0
                  : first < 0xe0 ? 2
                  : first < 0xf0 ? 3
                  : first < 0xf5 ? 4
                                 : 0;
    uint32_t code = size == 1 ? first : first & (0x7fu >> size);

    if (size > text.size)
        return 0;
    for (size_t i = 1; i < size; i++) {
        if ((text.data[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (text.data[i] & 0x3f);
    }
    if (code < least[size] || code > 0x10ffff ||
        (code >= 0xd800 && code < 0xe000))
        return 0;
    return size;
}

/* Bytes of an escape of base/line.h at the beginning, or 0. */
static size_t escape_size(struct slice text)
{
    if (text.size < 2 || text.data[0] != '\\')
        return 0;
    if (memchr("\"\\n", text.data[1], 3))
        return 2;
    if (text.data[1] != 'u' || text.size < 6)
        return 0;
    for (size_t i = 2; i < 6; i++)
        if (!isxdigit(text.data[i]))
            return 0;
    return 6;
}

/* Escapes what quotes cannot hold. `escaped`: the text may have escapes already. */
static void put_inside(struct buf *out, struct slice text, bool json,
                       bool escaped)
{
    char code[8];

    while (text.size) {
        uint8_t c = text.data[0];
        size_t size = json ? utf8_size(text) : 1;

        if (escaped && escape_size(text)) {
            size = escape_size(text);
            buf_put(out, text.data, size);
        } else if (c == '"' || c == '\\') {
            buf_put_u8(out, '\\');
            buf_put_u8(out, c);
        } else if (c == '\n') {
            buf_put_text(out, "\\n");
        } else if (c < ' ' || c == 0x7f) {
            (void)snprintf(code, sizeof code, "\\u%04x", (unsigned)c);
            buf_put_text(out, code);
        } else if (size) {
            buf_put(out, text.data, size);
        } else {
            buf_put_text(out, "\xef\xbf\xbd");
        }
        size = size ? size : 1;
        text = slice_of(text.data + size, text.size - size);
    }
}

static bool is_bare(struct slice value)
{
    for (size_t i = 0; i < value.size; i++)
        if (value.data[i] <= ' ' || value.data[i] == '"' ||
            value.data[i] == '=' || value.data[i] == '\\' ||
            value.data[i] == 0x7f)
            return false;
    return value.size > 0;
}

/* Cuts the line to its limit, between characters, with room for `closing` more bytes. */
static bool cut(struct buf *out, size_t begin, size_t closing)
{
    size_t most = begin + LOG_LINE_MAX - 1 - closing;

    if (out->size <= most)
        return false;
    out->size = most;
    while (out->size > begin && (out->data[out->size] & 0xc0) == 0x80)
        out->size--;
    return true;
}

/* Counts the key in the line before `end`, the end of a pair, with the line's own keys. Words
 * without a key count as "more". */
static uint32_t times_before(const struct log_line *line, const char *pairs,
                             const char *end, struct slice key)
{
    static const char *const own[] = {"time", "level", "module", "node", "msg"};
    uint32_t times = 0;
    struct slice other;
    struct slice value;
    bool quoted;

    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        times += slice_equal(slice_text(own[i]), key);
    if (slice_equal(slice_text("node"), key) && !(line->node && line->node[0]))
        times--;
    while (pairs < end && (pairs = next_pair(pairs, &other, &value, &quoted))) {
        if (!other.size)
            other = slice_text("more");
        times += slice_equal(other, key);
    }
    return times;
}

/* Numbers a repeated key; keys of texts have no such sign. */
static void put_times(struct buf *out, uint32_t before)
{
    char text[16];

    if (!before)
        return;
    (void)snprintf(text, sizeof text, "#%u", before + 1);
    buf_put_text(out, text);
}

static void put_text_pair(struct buf *out, struct slice key, uint32_t before,
                          struct slice value, bool escaped)
{
    buf_put_u8(out, ' ');
    buf_put_slice(out, key);
    put_times(out, before);
    if (key.size)
        buf_put_u8(out, '=');
    if (is_bare(value)) {
        buf_put_slice(out, value);
        return;
    }
    buf_put_u8(out, '"');
    put_inside(out, value, false, escaped);
    buf_put_u8(out, '"');
}

void log_format_text(struct buf *out, const struct log_line *line)
{
    size_t begin = out->size;
    size_t words = log_words(line->text);
    const char *pairs = line->text + words;
    const char *rest;
    const char *at;
    struct slice key;
    struct slice value;
    uint32_t before;
    bool quoted;

    buf_put_text(out, "time=");
    put_time(out, line->time_ms);
    put_text_pair(out, slice_text("level"), 0,
                  slice_text(trace_level_text((int)line->level)), false);
    put_text_pair(out, slice_text("module"), 0, slice_text(line->module),
                  false);
    if (line->node && line->node[0])
        put_text_pair(out, slice_text("node"), 0, slice_text(line->node),
                      false);
    put_text_pair(out, slice_text("msg"), 0, slice_of(line->text, words),
                  false);
    for (at = pairs; (rest = next_pair(at, &key, &value, &quoted)); at = rest) {
        before = key.size ? times_before(line, pairs, at, key) : 0;
        put_text_pair(out, key, before, value, quoted);
    }
    (void)cut(out, begin, 0); /* a cut line is still useful */
}

static void put_json_pair(struct buf *out, struct slice key, uint32_t before,
                          struct slice value, bool escaped)
{
    buf_put_text(out, ",\"");
    put_inside(out, key, true, false);
    put_times(out, before);
    buf_put_text(out, "\":\"");
    put_inside(out, value, true, escaped);
    buf_put_u8(out, '"');
}

void log_format_json(struct buf *out, const struct log_line *line)
{
    size_t begin = out->size;
    size_t words = log_words(line->text);
    const char *pairs = line->text + words;
    const char *rest;
    const char *at;
    size_t whole;
    struct slice key;
    struct slice value;
    bool quoted;

    buf_put_text(out, "{\"time\":\"");
    put_time(out, line->time_ms);
    buf_put_u8(out, '"');
    put_json_pair(out, slice_text("level"), 0,
                  slice_text(trace_level_text((int)line->level)), false);
    put_json_pair(out, slice_text("module"), 0, slice_text(line->module),
                  false);
    if (line->node && line->node[0])
        put_json_pair(out, slice_text("node"), 0, slice_text(line->node),
                      false);
    whole = out->size;
    put_json_pair(out, slice_text("msg"), 0, slice_of(line->text, words),
                  false);
    if (cut(out, begin, 2))
        out->size =
            whole; /* an object must stay whole, so words are omitted */
    for (at = pairs; (rest = next_pair(at, &key, &value, &quoted)); at = rest) {
        if (!key.size)
            key = slice_text("more");
        whole = out->size;
        put_json_pair(out, key, times_before(line, pairs, at, key), value,
                      quoted);
        if (cut(out, begin, 2))
            out->size = whole;
    }
    buf_put_u8(out, '}');
}
