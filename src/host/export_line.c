/* Encodes and decodes the lines of an exported journal. */
#include "host/export_line.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "host/etcd_reply.h"

#define BASE64 "_base64"

static const char *const kinds[EXPORT_KINDS] = {
    [EXPORT_JOURNAL] = "journal", [EXPORT_TERM] = "term", [EXPORT_FENCE] = "fence",
    [EXPORT_EVENT] = "event",     [EXPORT_SNAPSHOT] = "snapshot", [EXPORT_END] = "end",
};

#define IN(kind) (1u << (kind))

static const struct {
    const char *name;
    unsigned in; /* the kinds that have it */
} texts[EXPORT_TEXTS] = {
    [EXPORT_CLUSTER] = { "cluster", IN(EXPORT_JOURNAL) },
    [EXPORT_STORE] = { "store", IN(EXPORT_JOURNAL) },
    [EXPORT_TYPE] = { "type", IN(EXPORT_TERM) | IN(EXPORT_FENCE) },
    [EXPORT_SHARD] = { "shard", IN(EXPORT_FENCE) },
    [EXPORT_ID] = { "id", IN(EXPORT_EVENT) | IN(EXPORT_SNAPSHOT) },
    [EXPORT_RECORD] = { "record", IN(EXPORT_EVENT) | IN(EXPORT_SNAPSHOT) }, /* always in base64 */
}, numbers[EXPORT_NUMBERS] = {
    [EXPORT_FORMAT] = { "version", IN(EXPORT_JOURNAL) },
    [EXPORT_OF_TERM] = { "term", IN(EXPORT_TERM) | IN(EXPORT_FENCE) },
    [EXPORT_OF_EPOCH] = { "epoch", IN(EXPORT_FENCE) },
    [EXPORT_SEQ] = { "seq", IN(EXPORT_EVENT) | IN(EXPORT_SNAPSHOT) },
    [EXPORT_ENTITIES] = { "entities", IN(EXPORT_END) },
    [EXPORT_EVENTS] = { "events", IN(EXPORT_END) },
    [EXPORT_SNAPSHOTS] = { "snapshots", IN(EXPORT_END) },
};

static void put_quoted(struct buf *buf, struct slice text)
{
    buf_put_u8(buf, '"');
    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];
        char escape[8];

        if (byte == '"' || byte == '\\') {
            buf_put_u8(buf, '\\');
            buf_put_u8(buf, byte);
        } else if (byte < 0x20 || byte == 0x7f) {
            (void)snprintf(escape, sizeof escape, "\\u%04x", byte); /* fits */
            buf_put_text(buf, escape);
        } else if (byte == 0xc2 && i + 1 < text.size && text.data[i + 1] < 0xa0) {
            /* a terminal may obey U+0080 to U+009F */
            (void)snprintf(escape, sizeof escape, "\\u%04x", text.data[++i]); /* fits */
            buf_put_text(buf, escape);
        } else {
            buf_put_u8(buf, byte);
        }
    }
    buf_put_u8(buf, '"');
}

void export_put_text(struct buf *buf, const char *name, struct slice text)
{
    bool is_text = text_is_valid(text);

    buf_put_u8(buf, '"');
    buf_put_text(buf, name);
    buf_put_text(buf, is_text ? "\":" : BASE64 "\":\"");
    if (is_text) {
        put_quoted(buf, text);
    } else {
        etcd_put_base64(buf, text);
        buf_put_u8(buf, '"');
    }
}

void export_encode(struct buf *buf, const struct export_line *line)
{
    char number[64];

    buf_put_text(buf, "{\"line\":\"");
    buf_put_text(buf, kinds[line->kind]);
    buf_put_u8(buf, '"');
    for (int i = 0; i < EXPORT_NUMBERS; i++)
        if (numbers[i].in & IN(line->kind)) {
            (void)snprintf(number, sizeof number, ",\"%s\":%" PRIu64, numbers[i].name,
                           line->numbers[i]); /* fits */
            buf_put_text(buf, number);
        }
    for (int i = 0; i < EXPORT_TEXTS; i++) {
        if (!(texts[i].in & IN(line->kind)))
            continue;
        buf_put_u8(buf, ',');
        if (i == EXPORT_RECORD) {
            buf_put_text(buf, "\"record\":\"");
            etcd_put_base64(buf, line->texts[i]);
            buf_put_u8(buf, '"');
        } else {
            export_put_text(buf, texts[i].name, line->texts[i]);
        }
    }
    buf_put_text(buf, "}\n");
}

/* ---- reading ---- */

/* The field's value, under one of its two names. */
static const char *read_text(const json_t *object, int which, struct export_line *line, size_t *fields)
{
    char name[32];
    const json_t *value = json_object_get(object, texts[which].name);
    struct buf *owned = &line->owned[which];
    bool is_base64 = which == EXPORT_RECORD;

    if (!value && !is_base64) {
        (void)snprintf(name, sizeof name, "%s" BASE64, texts[which].name); /* fits */
        value = json_object_get(object, name);
        is_base64 = true;
    }
    if (!json_is_string(value))
        return "a text is missing";
    if (is_base64 && strlen(json_string_value(value)) != json_string_length(value))
        return "a text is no base64";
    if (!is_base64)
        buf_put(owned, json_string_value(value), json_string_length(value));
    else if (!etcd_get_base64(owned, json_string_value(value)))
        return "a text is no base64";
    if (is_base64 && which != EXPORT_RECORD && text_is_valid(buf_slice(owned)))
        return "base64 of a text that is UTF-8"; /* one line has one encoding */
    line->texts[which] = buf_slice(owned);
    (*fields)++;
    return NULL;
}

static const char *read_number(const json_t *object, int which, struct export_line *line, size_t *fields)
{
    const json_t *value = json_object_get(object, numbers[which].name);

    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return "a number is missing, or negative";
    line->numbers[which] = (uint64_t)json_integer_value(value);
    (*fields)++;
    return NULL;
}

static const char *read_object(const json_t *object, struct export_line *line)
{
    const char *kind = json_string_value(json_object_get(object, "line"));
    const char *defect = NULL;
    size_t fields = 1;
    int at = 0;

    while (kind && at < EXPORT_KINDS && strcmp(kind, kinds[at]) != 0)
        at++;
    if (!kind || at == EXPORT_KINDS)
        return "\"line\" has an unknown value";
    line->kind = (enum export_kind)at;
    for (int i = 0; i < EXPORT_TEXTS && !defect; i++)
        if (texts[i].in & IN(at))
            defect = read_text(object, i, line, &fields);
    for (int i = 0; i < EXPORT_NUMBERS && !defect; i++)
        if (numbers[i].in & IN(at))
            defect = read_number(object, i, line, &fields);
    if (!defect && fields != json_object_size(object))
        defect = "an unknown field";
    return defect;
}

const char *export_decode(struct slice bytes, struct export_line *line)
{
    const char *defect = "no JSON object";
    json_t *root;

    for (int i = 0; i < EXPORT_TEXTS; i++) {
        buf_clear(&line->owned[i]);
        line->texts[i] = (struct slice){ 0 };
    }
    if (bytes.size > EXPORT_LINE_MAX)
        return "too long";
    root = json_loadb((const char *)bytes.data, bytes.size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                      NULL);
    if (json_is_object(root))
        defect = read_object(root, line);
    json_decref(root);
    return defect;
}

void export_fini(struct export_line *line)
{
    for (int i = 0; i < EXPORT_TEXTS; i++)
        buf_fini(&line->owned[i]);
}
