/* Parses replies of etcd's JSON gateway. */
#include "host/etcd_reply.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

/* The caller frees it. Refuses duplicate keys, of which readers use the first or the last. */
static json_t *read_object(struct slice body)
{
    json_t *root = json_loadb((const char *)body.data, body.size,
                              JSON_REJECT_DUPLICATES, NULL);

    if (root && !json_is_object(root)) {
        json_decref(root);
        return NULL;
    }
    return root;
}

static bool get_number(const json_t *object, const char *name, uint64_t *number)
{
    const char *text = json_string_value(json_object_get(object, name));
    uint64_t value = 0;

    if (!text || !*text)
        return false;
    for (; *text; text++) {
        unsigned digit = (unsigned)(unsigned char)*text - '0';

        if (digit > 9 || value > ((uint64_t)INT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *number = value;
    return value > 0;
}

static bool get_text(const json_t *object, const char *name, char *out,
                     size_t size)
{
    const char *text = json_string_value(json_object_get(object, name));

    if (!text || strlen(text) >= size)
        return false;
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static bool get_revision(const json_t *root, uint64_t *revision)
{
    return get_number(json_object_get(root, "header"), "revision", revision);
}

static bool get_key(const json_t *entry, const char *key, struct etcd_key *out)
{
    const char *name = json_string_value(json_object_get(entry, "key"));

    out->found = true;
    if (!name || strcmp(name, key) != 0 ||
        !get_number(entry, "create_revision", &out->create_revision) ||
        !get_number(entry, "mod_revision", &out->mod_revision))
        return false;
    if (json_object_get(entry, "lease") &&
        !get_number(entry, "lease", &out->lease))
        return false;
    /* The gateway omits an empty value. */
    return !json_object_get(entry, "value") ||
           get_text(entry, "value", out->value, sizeof out->value);
}

/* Reads the keys of a range that has one or none. */
static bool get_range(const json_t *range, const char *key, uint64_t revision,
                      struct etcd_key *out)
{
    const json_t *entries = json_object_get(range, "kvs");
    bool good = false;

    memset(out, 0, sizeof *out);
    if (!entries)
        good = !json_object_get(range, "count");
    else if (json_array_size(entries) == 1)
        good = get_key(json_array_get(entries, 0), key, out) &&
               out->mod_revision <= revision;
    if (!good)
        memset(out, 0, sizeof *out);
    return good;
}

bool etcd_read_range(struct slice body, const char *key, struct etcd_key *out)
{
    json_t *root = read_object(body);
    uint64_t revision;
    bool good = get_revision(root, &revision) && get_range(root, key, revision, out);

    if (!good)
        memset(out, 0, sizeof *out);
    json_decref(root);
    return good;
}

bool etcd_read_ranges(struct slice body, const char *const *keys, uint32_t count,
                      struct etcd_key *out)
{
    json_t *root = read_object(body);
    const json_t *responses = json_object_get(root, "responses");
    uint64_t revision;
    bool good = get_revision(root, &revision) && json_is_true(json_object_get(root, "succeeded")) &&
                json_array_size(responses) == count;

    for (uint32_t i = 0; good && i < count; i++) {
        const json_t *range = json_object_get(json_array_get(responses, i), "response_range");

        good = json_is_object(range) && get_range(range, keys[i], revision, &out[i]);
    }
    if (!good)
        memset(out, 0, count * sizeof *out);
    json_decref(root);
    return good;
}

bool etcd_read_grant(struct slice body, uint64_t *lease, uint64_t *ttl_s)
{
    json_t *root = read_object(body);
    uint64_t revision;
    bool good = get_revision(root, &revision) &&
                get_number(root, "ID", lease) &&
                get_number(root, "TTL", ttl_s);

    json_decref(root);
    return good;
}

bool etcd_read_txn(struct slice body, bool *succeeded, uint64_t *revision)
{
    json_t *root = read_object(body);
    const json_t *word = json_object_get(root, "succeeded");
    bool good = get_revision(root, revision) && (!word || json_is_boolean(word));

    *succeeded = good && json_is_true(word);
    json_decref(root);
    return good;
}

bool etcd_read_token(struct slice body, char token[ETCD_TOKEN_MAX])
{
    json_t *root = read_object(body);
    bool good = get_text(root, "token", token, ETCD_TOKEN_MAX) && token[0];

    for (const char *at = token; good && *at; at++)
        good = *at > ' ' && *at < 0x7f; /* it goes into a header line */
    json_decref(root);
    return good;
}

void etcd_read_error(struct slice body, char *text, size_t size)
{
    json_t *root = read_object(body);
    const char *message = json_string_value(json_object_get(root, "message"));

    if (!message)
        message = json_string_value(json_object_get(root, "error"));
    (void)snprintf(text, size, "%s", message ? message : ""); /* may be cut */
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
        else if (*text == '"')
            *text = '\''; /* it is quoted in the log */
    }
    json_decref(root);
}

void etcd_put_base64(struct buf *buf, struct slice bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t left = bytes.size - i;
        uint32_t bits = (uint32_t)bytes.data[i] << 16;

        if (left > 1)
            bits |= (uint32_t)bytes.data[i + 1] << 8;
        if (left > 2)
            bits |= bytes.data[i + 2];
        buf_put_u8(buf, (uint8_t)digits[bits >> 18]);
        buf_put_u8(buf, (uint8_t)digits[bits >> 12 & 63]);
        buf_put_u8(buf, (uint8_t)(left > 1 ? digits[bits >> 6 & 63] : '='));
        buf_put_u8(buf, (uint8_t)(left > 2 ? digits[bits & 63] : '='));
    }
}

static int digit_of(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    return letter == '+' ? 62 : letter == '/' ? 63 : -1;
}

bool etcd_get_base64(struct buf *buf, const char *text)
{
    size_t size = strlen(text), before = buf->size;
    size_t padding = 0;

    while (padding < 2 && padding < size && text[size - 1 - padding] == '=')
        padding++;
    if (size % 4)
        return false;
    for (size_t i = 0; i < size; i += 4) {
        uint32_t bits = 0;
        size_t bytes = i + 4 == size ? 3 - padding : 3;

        for (size_t k = 0; k < 4; k++) {
            int digit = k > bytes ? 0 : digit_of(text[i + k]);

            if (digit < 0) {
                buf->size = before;
                return false;
            }
            bits = bits << 6 | (uint32_t)digit;
        }
        for (size_t k = 0; k < bytes; k++)
            buf_put_u8(buf, (uint8_t)(bits >> (16 - 8 * k)));
    }
    return true;
}
