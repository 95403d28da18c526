/* Implements head.h. */
#include "mgmt/head.h"

#include "base/limits.h"

#define BAD_REQUEST 400
#define TOO_LARGE 413
#define URI_TOO_LONG 414
#define EXPECTATION_FAILED 417
#define HEADERS_TOO_LARGE 431
#define NOT_IMPLEMENTED 501
#define VERSION 505

/* The headers' facts about a request. */
struct facts {
    bool is_1_1;
    uint32_t headers, hosts, lengths;
    size_t body;
};

static bool is_token(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || (byte && strchr("!#$%&'*+-.^_`|~", byte));
}

/* Visible bytes, spaces, tabs and those above 127. */
static bool is_value(uint8_t byte)
{
    return byte == '\t' || (byte >= ' ' && byte != 127);
}

static uint8_t lower(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + 32) : byte;
}

static bool is_name(struct slice name, const char *lower_case)
{
    if (name.size != strlen(lower_case))
        return false;
    for (size_t i = 0; i < name.size; i++)
        if (lower(name.data[i]) != (uint8_t)lower_case[i])
            return false;
    return true;
}

/* Takes a line with its CR LF off the front. 0: there is one; else the status, or 1: no end yet. */
static unsigned take_line(struct slice *rest, struct slice *line, size_t most, unsigned too_long)
{
    for (size_t i = 0; i < rest->size; i++) {
        uint8_t byte = rest->data[i];

        if (byte == '\n')
            return BAD_REQUEST;
        if (byte == '\r') {
            if (i > most)
                return too_long;
            if (i + 1 == rest->size)
                return 1;
            if (rest->data[i + 1] != '\n')
                return BAD_REQUEST;
            *line = slice_of(rest->data, i);
            *rest = slice_of(rest->data + i + 2, rest->size - i - 2);
            return 0;
        }
        if (!is_value(byte))
            return BAD_REQUEST;
        if (i >= most)
            return too_long;
    }
    return 1;
}

static struct slice take_word(struct slice *rest, uint8_t end)
{
    const uint8_t *at = rest->size ? memchr(rest->data, end, rest->size) : NULL;
    size_t size = at ? (size_t)(at - rest->data) : rest->size;
    struct slice word = slice_of(rest->data, size);

    size += at != NULL;
    *rest = slice_of(rest->data + size, rest->size - size);
    return word;
}

static bool is_method(struct slice method)
{
    static const char *const known[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH" };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (slice_is(method, known[i]))
            return true;
    return false;
}

static unsigned look_line(struct slice line, struct facts *facts)
{
    struct slice rest = line;
    struct slice method = take_word(&rest, ' ');
    struct slice target = take_word(&rest, ' ');
    bool is_http = rest.size == 8 && !memcmp(rest.data, "HTTP/", 5);

    if (!method.size || !target.size || !is_http)
        return BAD_REQUEST;
    for (size_t i = 0; i < method.size; i++)
        if (!is_token(method.data[i]))
            return BAD_REQUEST;
    facts->is_1_1 = slice_is(rest, "HTTP/1.1");
    if (!facts->is_1_1 && !slice_is(rest, "HTTP/1.0"))
        return VERSION;
    if (!is_method(method))
        return NOT_IMPLEMENTED;
    if (target.data[0] != '/')
        return BAD_REQUEST;
    for (size_t i = 0; i < target.size; i++)
        if (target.data[i] < '!' || target.data[i] > '~' || target.data[i] == '#')
            return BAD_REQUEST;
    return 0;
}

static struct slice trimmed(struct slice text)
{
    while (text.size && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = slice_of(text.data + 1, text.size - 1);
    while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

static unsigned look_length(struct slice value, struct facts *facts)
{
    if (!value.size || facts->lengths++)
        return BAD_REQUEST;
    for (size_t i = 0; i < value.size; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return BAD_REQUEST;
        if (facts->body <= MGMT_BODY_MAX)
            facts->body = facts->body * 10 + (size_t)(value.data[i] - '0');
    }
    return facts->body > MGMT_BODY_MAX ? TOO_LARGE : 0;
}

static unsigned look_header(struct slice line, struct facts *facts)
{
    struct slice value = line;
    struct slice name = take_word(&value, ':');

    if (++facts->headers > MGMT_HEADERS_MAX)
        return HEADERS_TOO_LARGE;
    if (!name.size || name.size == line.size)
        return BAD_REQUEST;
    for (size_t i = 0; i < name.size; i++)
        if (!is_token(name.data[i]))
            return BAD_REQUEST;
    value = trimmed(value);
    if (is_name(name, "transfer-encoding"))
        return NOT_IMPLEMENTED;
    if (is_name(name, "expect"))
        return EXPECTATION_FAILED;
    if (is_name(name, "content-length"))
        return look_length(value, facts);
    if (is_name(name, "host") && (facts->hosts++ || !value.size))
        return BAD_REQUEST;
    return 0;
}

static struct head refused(unsigned status)
{
    return (struct head){ .state = HEAD_REFUSED, .status = status };
}

/* Without an end of the line so far. */
static struct head more(struct slice bytes)
{
    return bytes.size > MGMT_HEAD_MAX ? refused(HEADERS_TOO_LARGE)
                                      : (struct head){ .state = HEAD_MORE };
}

struct head head_look(struct slice bytes)
{
    struct facts facts = { 0 };
    struct slice rest = bytes;
    struct slice line;
    unsigned status = take_line(&rest, &line, MGMT_LINE_MAX, URI_TOO_LONG);
    size_t size;

    if (status == 1)
        return more(bytes);
    if (!status)
        status = look_line(line, &facts);
    while (!status) {
        status = take_line(&rest, &line, MGMT_HEADER_MAX, HEADERS_TOO_LARGE);
        if (status == 1)
            return more(bytes);
        if (status || !line.size)
            break;
        status = look_header(line, &facts);
    }
    if (!status && facts.is_1_1 && !facts.hosts)
        status = BAD_REQUEST;
    size = bytes.size - rest.size;
    if (!status && size > MGMT_HEAD_MAX)
        status = HEADERS_TOO_LARGE;
    if (status)
        return refused(status);
    if (rest.size < facts.body)
        return (struct head){ .state = HEAD_MORE, .has_head = true };
    return (struct head){ .state = HEAD_WHOLE, .size = size + facts.body, .has_head = true };
}
