/* Reads replicated values for users. */
#include "ddata/face.h"

#include <string.h>

#include "base/check.h"
#include "ddata/element.h"
#include "ddata/item.h"

struct sherd_value {
    struct dd_value *value;
};

void face_put_value(struct buf *body, const struct dd_value *value)
{
    struct buf room = { 0 };
    struct dd_other other = dd_encode(value, &room);

    buf_put_u32(body, (uint32_t)other.serializer);
    buf_put_u16(body, (uint16_t)other.manifest.size);
    buf_put_u32(body, (uint32_t)other.bytes.size);
    buf_put_slice(body, other.manifest);
    buf_put_slice(body, other.bytes);
    buf_fini(&room);
}

void face_put_body(struct buf *body, struct slice key,
                   const struct dd_value *value)
{
    buf_put_slice(body, key);
    buf_put_u8(body, 0);
    if (value)
        face_put_value(body, value);
}

#define KEYS_AT (1 + sizeof(uint32_t)) /* first key in a body of keys */

void face_begin_keys(struct buf *body)
{
    buf_put_u8(body, 0);
    buf_put_u32(body, 0);
}

void face_put_key(struct buf *body, struct slice key)
{
    if (!key.size || key.size > SHERD_DATA_KEY_MAX || !text_is_valid(key) ||
        memchr(key.data, 0, key.size))
        return;
    buf_put_slice(body, key);
    buf_put_u8(body, 0);
}

void face_end_keys(struct buf *body, uint32_t next)
{
    struct buf place = { 0 };

    buf_put_u32(&place, next);
    memcpy(body->data + 1, place.data, place.size);
    buf_fini(&place);
}

static bool has_keys(const struct sherd_msg *msg)
{
    return msg->kind == SHERD_DATA && msg->msg == SHERD_DATA_KEYS &&
           msg->body.size >= KEYS_AT;
}

SHERD_API const char *sherd_data_next_key(const struct sherd_msg *msg,
                                          uint32_t *at)
{
    const char *key;

    if (!has_keys(msg) || KEYS_AT + *at >= msg->body.size)
        return NULL;
    key = (const char *)msg->body.data + KEYS_AT + *at;
    *at += (uint32_t)strlen(key) + 1;
    return key;
}

SHERD_API uint32_t sherd_data_more_keys(const struct sherd_msg *msg)
{
    struct cursor cursor = cursor_of(slice_of(msg->body.data, msg->body.size));

    if (!has_keys(msg))
        return 0;
    (void)cursor_u8(&cursor); /* no key */
    return cursor_u32(&cursor);
}

SHERD_API const char *sherd_data_key(const struct sherd_msg *msg)
{
    return msg->kind == SHERD_DATA ? msg->body.data : "";
}

/* Given. Null: users have no name for the type. */
static struct sherd_value *shown(struct dd_value *value)
{
    struct sherd_value *shown = mem_alloc(sizeof *shown);

    shown->value = value;
    if ((int)sherd_value_type(shown) == 0) {
        sherd_value_free(shown);
        shown = NULL;
    }
    return shown;
}

/* at: bytes of the values before it. */
SHERD_API struct sherd_value *
sherd_data_next_value(const struct sherd_msg *msg, uint32_t *at)
{
    size_t behind = strlen(sherd_data_key(msg)) + 1 + *at;
    struct dd_value *value;
    struct dd_other other;
    struct cursor cursor;
    uint16_t manifest_size;
    uint32_t size;

    if (msg->kind != SHERD_DATA || msg->msg == SHERD_DATA_KEYS ||
        msg->body.size <= behind)
        return NULL;
    cursor = cursor_of(slice_of((const uint8_t *)msg->body.data + behind,
                                msg->body.size - behind));
    other.serializer = (int32_t)cursor_u32(&cursor);
    manifest_size = cursor_u16(&cursor);
    size = cursor_u32(&cursor);
    other.manifest = cursor_slice(&cursor, manifest_size);
    other.bytes = cursor_slice(&cursor, size);
    *at += (uint32_t)(msg->body.size - behind - cursor_left(&cursor));
    return dd_decode(other, &value) == DD_OK ? shown(value) : NULL;
}

SHERD_API struct sherd_value *sherd_data_value(const struct sherd_msg *msg)
{
    uint32_t at = 0;

    return sherd_data_next_value(msg, &at);
}

SHERD_API void sherd_value_free(struct sherd_value *value)
{
    if (!value)
        return;
    dd_free(value->value);
    mem_free(value);
}

SHERD_API enum sherd_data_type sherd_value_type(const struct sherd_value *value)
{
    switch (dd_kind_of(value->value)) {
    case DD_FLAG:
        return SHERD_FLAG;
    case DD_GCOUNTER:
        return SHERD_G_COUNTER;
    case DD_PNCOUNTER:
        return SHERD_PN_COUNTER;
    case DD_GSET:
        return SHERD_G_SET;
    case DD_ORSET:
        return SHERD_OR_SET;
    case DD_REGISTER:
        return SHERD_LWW_REGISTER;
    case DD_LWWMAP:
        return SHERD_LWW_MAP;
    case DD_PNCOUNTERMAP:
        return SHERD_PN_COUNTER_MAP;
    case DD_MULTIMAP:
        return dd_multimap_has_deltas(value->value) ? SHERD_OR_MULTIMAP_DELTAS
                                                    : SHERD_OR_MULTIMAP;
    case DD_ORMAP:
        return SHERD_OR_MAP;
    case DD_OPAQUE:
        return SHERD_CUSTOM;
    case DD_DELETED:
    case DD_VERSIONS:
    case DD_ORSET_DELTA:
    case DD_ORMAP_DELTA:
        break;
    }
    return (enum sherd_data_type)0;
}

/* ---- items ---- */

SHERD_API struct sherd_item sherd_text(const char *text)
{
    return (struct sherd_item){ .kind = SHERD_ITEM_TEXT,
                                .text = { text, strlen(text) } };
}

SHERD_API struct sherd_item sherd_long(int64_t number)
{
    return (struct sherd_item){ .kind = SHERD_ITEM_LONG, .number = number };
}

/* ---- reading ---- */

static bool is_set(const struct dd_value *value)
{
    return dd_kind_of(value) == DD_GSET || dd_kind_of(value) == DD_ORSET;
}

static bool is_map(const struct dd_value *value)
{
    return dd_kind_of(value) == DD_LWWMAP ||
           dd_kind_of(value) == DD_PNCOUNTERMAP ||
           dd_kind_of(value) == DD_MULTIMAP || dd_kind_of(value) == DD_ORMAP;
}

/* Null: nothing of this kind. */
static const struct dd_value *find(const struct sherd_value *value,
                                   const struct sherd_item *key,
                                   enum dd_kind kind)
{
    const struct dd_value *found = NULL;
    struct dd_element element;

    if (is_map(value->value) && item_to_key(key, &element))
        found = dd_map_get(value->value, &element);
    return found && dd_kind_of(found) == kind ? found : NULL;
}

SHERD_API int sherd_value_flag(const struct sherd_value *value)
{
    return dd_kind_of(value->value) == DD_FLAG && dd_flag(value->value);
}

static int64_t bounded(struct dd_integer integer)
{
    bool beyond = integer.size.high || integer.size.low > INT64_MAX;

    if (integer.negative)
        return beyond ? INT64_MIN : -(int64_t)integer.size.low;
    return beyond ? INT64_MAX : (int64_t)integer.size.low;
}

SHERD_API int64_t sherd_value_count(const struct sherd_value *value,
                                    const struct sherd_item *item)
{
    const struct dd_value *counter = value->value;
    struct dd_integer integer = { .negative = false };

    if (item)
        counter = find(value, item, DD_PNCOUNTER);
    if (counter && dd_kind_of(counter) == DD_PNCOUNTER)
        integer = dd_pncounter_get(counter);
    else if (counter && dd_kind_of(counter) == DD_GCOUNTER)
        integer.size = dd_gcounter_get(counter);
    return bounded(integer);
}

SHERD_API uint32_t sherd_value_size(const struct sherd_value *value)
{
    if (is_set(value->value))
        return dd_set_count(value->value);
    return is_map(value->value) ? dd_map_count(value->value) : 0;
}

SHERD_API int sherd_value_has(const struct sherd_value *value,
                              const struct sherd_item *item)
{
    struct dd_element element;

    if (!item_to_key(item, &element))
        return 0;
    if (is_set(value->value))
        return dd_set_has(value->value, &element);
    return is_map(value->value) && dd_map_get(value->value, &element) != NULL;
}

SHERD_API int sherd_value_get(const struct sherd_value *value,
                              const struct sherd_item *key,
                              struct sherd_item *item)
{
    const struct dd_value *found = value->value;

    if (key)
        found = find(value, key, DD_REGISTER);
    if (!found || dd_kind_of(found) != DD_REGISTER)
        return 0;
    *item = item_of_other(dd_register_get(found));
    return 1;
}

SHERD_API int sherd_value_custom(const struct sherd_value *value,
                                 struct sherd_item *item)
{
    struct buf unused = { 0 };
    struct dd_other other;

    if (dd_kind_of(value->value) != DD_OPAQUE)
        return 0;
    other = dd_encode(value->value, &unused);
    *item = (struct sherd_item){
        .kind = SHERD_ITEM_OTHER,
        .text = { other.bytes.data, other.bytes.size },
        .serializer = other.serializer,
        .manifest = { other.manifest.data, other.manifest.size },
    };
    return 1;
}

SHERD_API struct sherd_value *
sherd_value_inside(const struct sherd_value *value,
                   const struct sherd_item *key)
{
    const struct dd_value *found = NULL;
    struct dd_element element;

    if (dd_kind_of(value->value) == DD_ORMAP && item_to_key(key, &element))
        found = dd_map_get(value->value, &element);
    return found ? shown(dd_copy(found)) : NULL;
}

static int next_of_set(const struct dd_value *set, uint32_t *at,
                       struct sherd_item *item)
{
    struct dd_element element;

    if (!dd_set_next(set, at, &element))
        return 0;
    *item = item_of_element(&element);
    return 1;
}

SHERD_API int sherd_value_next(const struct sherd_value *value, uint32_t *at,
                               struct sherd_item *item)
{
    const struct dd_value *ignored;
    struct dd_element element;

    if (is_set(value->value))
        return next_of_set(value->value, at, item);
    if (!is_map(value->value) ||
        !dd_map_next(value->value, at, &element, &ignored))
        return 0;
    *item = item_of_element(&element);
    return 1;
}

SHERD_API int sherd_value_next_of(const struct sherd_value *value,
                                  const struct sherd_item *key, uint32_t *at,
                                  struct sherd_item *item)
{
    const struct dd_value *set = find(value, key, DD_ORSET);

    return set ? next_of_set(set, at, item) : 0;
}
