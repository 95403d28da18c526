/* Implements params.h. */
#include "mgmt/params.h"

#include "base/url.h"

void params_fini(struct params *params)
{
    buf_fini(&params->text);
    params->count = 0;
}

void target_fini(struct target *target)
{
    buf_fini(&target->text);
    params_fini(&target->query);
    target->count = 0;
}

static struct slice take_until(struct slice *rest, uint8_t end, bool *is_last)
{
    const uint8_t *at = rest->size ? memchr(rest->data, end, rest->size) : NULL;
    struct slice part = slice_of(rest->data, at ? (size_t)(at - rest->data) : rest->size);
    size_t size = part.size + (at != NULL);

    *is_last = !at;
    *rest = slice_of(rest->data + size, rest->size - size);
    return part;
}

/* A decoded part must be text without control bytes. */
static bool is_plain(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < ' ' || text.data[i] == 127)
            return false;
    return text_is_valid(text);
}

/* Decodes into the buffer, which has the room already. A plus stays in a path. */
static bool decode(struct buf *buf, struct slice encoded, bool is_path, struct slice *decoded)
{
    size_t start = buf->size;
    struct slice rest = encoded;
    bool is_last = !encoded.size;
    bool is_good = true;

    while (is_good && !is_last) {
        struct slice part = is_path ? take_until(&rest, '+', &is_last) : rest;

        is_last |= !is_path;
        is_good = url_take(buf, part);
        if (is_path && !is_last)
            buf_put_u8(buf, '+');
    }
    *decoded = slice_of(buf->data + start, buf->size - start);
    return is_good && decoded->size <= MGMT_PARAM_SIZE_MAX && is_plain(*decoded);
}

bool params_read(struct params *params, struct slice query)
{
    bool is_last = !query.size;

    buf_clear(&params->text);
    params->count = 0;
    /* Decoded text is never longer, so the slices stay where they are. */
    (void)buf_reserve(&params->text, query.size + 1);
    while (!is_last) {
        struct slice pair = take_until(&query, '&', &is_last);
        struct param *param = &params->items[params->count];
        struct slice name;
        bool is_name_alone;

        if (!pair.size)
            continue;
        if (params->count == MGMT_PARAMS_MAX)
            return false;
        name = take_until(&pair, '=', &is_name_alone);
        if (!decode(&params->text, name, false, &param->name) ||
            !decode(&params->text, pair, false, &param->value))
            return false;
        params->count++;
    }
    return true;
}

struct slice params_find(const struct params *params, const char *name)
{
    for (uint32_t i = 0; i < params->count; i++)
        if (slice_is(params->items[i].name, name))
            return params->items[i].value;
    return slice_of(NULL, 0);
}

/* ---- forms ---- */

static bool begins(struct slice text, const char *lower_case)
{
    size_t size = strlen(lower_case);

    if (text.size < size)
        return false;
    for (size_t i = 0; i < size; i++) {
        uint8_t byte = text.data[i];

        if ((byte >= 'A' && byte <= 'Z' ? byte + 32 : byte) != lower_case[i])
            return false;
    }
    return true;
}

/* Finds text in a slice; data is null if it is not there. */
static struct slice find(struct slice in, const char *text)
{
    size_t size = strlen(text);

    for (size_t i = 0; i + size <= in.size; i++)
        if (!memcmp(in.data + i, text, size))
            return slice_of(in.data + i, in.size - i);
    return slice_of(NULL, 0);
}

/* Returns the text of `name="..."` or `name=...` after a key that ends with the equals sign. */
static struct slice quoted(struct slice in, const char *key)
{
    struct slice rest = find(in, key);
    size_t skip = strlen(key);
    size_t size = 0;
    bool has_quote;

    if (!rest.data)
        return rest;
    has_quote = rest.size > skip && rest.data[skip] == '"';
    skip += has_quote;
    rest = slice_of(rest.data + skip, rest.size - skip);
    while (size < rest.size && rest.data[size] != '"' &&
           (has_quote || (rest.data[size] != ';' && rest.data[size] != '\r' && rest.data[size] != ' ')))
        size++;
    return slice_of(rest.data, size);
}

/* `--BOUNDARY CRLF headers CRLF CRLF value CRLF --BOUNDARY--` */
static bool read_multipart(struct params *params, struct slice type, struct slice body)
{
    struct slice boundary = quoted(type, "boundary=");
    struct slice name, value, end;
    char mark[80];

    if (!boundary.size || boundary.size > 70)
        return false;
    memcpy(mark, "\r\n--", 4);
    memcpy(mark + 4, boundary.data, boundary.size);
    mark[4 + boundary.size] = '\0';
    if (body.size < boundary.size + 4 || memcmp(body.data, mark + 2, boundary.size + 2) != 0)
        return false;
    value = find(body, "\r\n\r\n");
    if (!value.data)
        return false;
    name = quoted(slice_of(body.data, body.size - value.size), " name=");
    value = slice_of(value.data + 4, value.size - 4);
    end = find(value, mark);
    if (!end.data || !name.size || !find(end, "--\r\n").data)
        return false;
    value.size -= end.size;
    if (value.size > MGMT_PARAM_SIZE_MAX || name.size > MGMT_PARAM_SIZE_MAX || !is_plain(value) ||
        !is_plain(name) || end.size > boundary.size + 8)
        return false;
    (void)buf_reserve(&params->text, name.size + value.size + 1);
    buf_put_slice(&params->text, name);
    buf_put_slice(&params->text, value);
    params->items[0].name = slice_of(params->text.data, name.size);
    params->items[0].value = slice_of(params->text.data + name.size, value.size);
    params->count = 1;
    return true;
}

bool params_read_form(struct params *params, struct slice type, struct slice body)
{
    buf_clear(&params->text);
    params->count = 0;
    if (begins(type, "application/x-www-form-urlencoded"))
        return params_read(params, body);
    if (begins(type, "multipart/form-data"))
        return read_multipart(params, type, body);
    return true;
}

/* ---- targets ---- */

bool target_read(struct target *target, struct slice text)
{
    struct slice query = text;
    struct slice rest;
    bool has_no_query, is_last = false;

    buf_clear(&target->text);
    target->count = 0;
    target->path = take_until(&query, '?', &has_no_query);
    if (!target->path.size || target->path.data[0] != '/')
        return false;
    (void)buf_reserve(&target->text, target->path.size + 1);
    rest = slice_of(target->path.data + 1, target->path.size - 1);
    while (!is_last) {
        struct slice part;

        if (target->count == MGMT_SEGMENTS_MAX)
            return false;
        target->starts[target->count] = (size_t)(rest.data - target->path.data);
        part = take_until(&rest, '/', &is_last);
        if (!decode(&target->text, part, true, &target->segments[target->count++]))
            return false;
    }
    return params_read(&target->query, query);
}

void target_put_rest(const struct target *target, uint32_t from, struct buf *rest)
{
    for (uint32_t i = from; i < target->count; i++) {
        if (i > from)
            buf_put_u8(rest, '/');
        buf_put_slice(rest, target->segments[i]);
    }
}

struct slice target_raw_rest(const struct target *target, uint32_t from)
{
    size_t start = from < target->count ? target->starts[from] : target->path.size;

    return slice_of(target->path.data + start, target->path.size - start);
}
