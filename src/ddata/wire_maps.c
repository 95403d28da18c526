/* Encodes and decodes maps and their deltas. */
#include "ddata/wire_parts.h"

/* An actor reference as a key: text in the set of keys, an opaque object beside its value. */
#define REF_SERIALIZER 16
#define REF_MANIFEST "G"

struct entry {
    struct dd_element key;
    struct slice value;
    bool has_key;
    bool has_value;
};

static bool get_other_key(struct reading *reading, struct slice bytes,
                          struct dd_element *key)
{
    struct dd_other other;
    struct cursor cursor;
    struct proto_field field;

    if (!get_other(reading, bytes, &other))
        return false;
    *key = get_element_other(other);
    if (other.serializer != REF_SERIALIZER ||
        !slice_is(other.manifest, REF_MANIFEST))
        return true;
    cursor = cursor_of(other.bytes);
    if (!proto_next(&cursor, &field) || field.number != 1 ||
        field.type != PROTO_BYTES || cursor_left(&cursor) ||
        !get_text(reading, field.bytes, key))
        return reading_fails(reading);
    key->kind = DD_REF;
    return true;
}

static bool get_entry(struct reading *reading, struct slice bytes,
                      struct entry *entry)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;

    *entry = (struct entry){ 0 };
    while (proto_next(&cursor, &field)) {
        bool is_number = field.type == PROTO_VARINT;
        bool is_bytes = field.type == PROTO_BYTES;

        if (field.number == 2 && is_bytes) {
            entry->value = field.bytes;
            entry->has_value = true;
            continue;
        }
        if (field.number == 1 && is_bytes) {
            if (!get_text(reading, field.bytes, &entry->key))
                return false;
        } else if ((field.number == 3 || field.number == 4) && is_number) {
            entry->key = (struct dd_element){
                .kind = field.number == 3 ? DD_INT : DD_LONG,
                .number = proto_sint(field.value),
            };
            if (field.number == 3)
                entry->key.number = (int32_t)entry->key.number;
        } else if (field.number == 5 && is_bytes) {
            if (!get_other_key(reading, field.bytes, &entry->key))
                return false;
        } else {
            continue;
        }
        if (entry->has_key)
            return reading_fails(reading); /* a second key */
        entry->has_key = true;
    }
    return reading_ends(reading, &cursor) &&
           (entry->has_key || reading_fails(reading));
}

static void put_key_before(struct buf *buf, const struct dd_element *key)
{
    if (key->kind == DD_TEXT)
        proto_put_bytes(buf, 1, key->text);
}

static void put_key_behind(struct buf *buf, const struct dd_element *key)
{
    struct buf ref = { 0 };
    struct dd_other other = { key->serializer, key->manifest, key->text };

    if (key->kind == DD_INT)
        proto_put_varint(buf, 3, proto_zigzag(key->number));
    if (key->kind == DD_LONG)
        proto_put_varint(buf, 4, proto_zigzag(key->number));
    if (key->kind == DD_REF) {
        proto_put_bytes(&ref, 1, key->text);
        other = (struct dd_other){ REF_SERIALIZER, slice_text(REF_MANIFEST),
                                   buf_slice(&ref) };
    }
    if (key->kind == DD_REF || key->kind == DD_OTHER)
        put_other(buf, 5, other);
    buf_fini(&ref);
}

/* Appends without a search for the key; the value is given. */
static bool push_item(struct reading *reading, struct elements *items,
                      const struct dd_element *key, struct dd_value *value)
{
    struct ormap_item *item;

    if (!reading_spends(reading, sizeof *item + element_size(key) +
                                     2 * sizeof(void *))) {
        dd_free(value);
        return false;
    }
    item = element_new(key, sizeof *item);
    item->value = value;
    vec_push(&items->list, &item->element);
    return true;
}

static void drop_item(struct element *element)
{
    dd_free(((struct ormap_item *)element)->value);
    mem_free(element);
}

/* True if a map may contain the value. */
static bool is_state(const struct dd_value *value)
{
    return !dd_is_delta(value) && value->kind != DD_DELETED;
}

static bool get_any(struct reading *reading, struct slice bytes,
                    struct dd_value **value)
{
    struct dd_other other;

    return get_other(reading, bytes, &other) &&
           get_value(reading, other, value);
}

static bool get_map_entry(struct reading *reading, struct slice bytes,
                          struct dd_value *map)
{
    struct entry entry;
    struct dd_value *value = NULL;
    enum dd_kind kind;
    bool done;

    if (!get_entry(reading, bytes, &entry))
        return false;
    if (!entry.has_value)
        return reading_fails(reading);
    if (ormap_value_kind(ormap_tag_of(map), &kind)) {
        if (!reading_spends(reading, sizeof *value))
            return false;
        value = value_new(kind);
        done = get_state(reading, entry.value, value);
    } else {
        done = get_any(reading, entry.value, &value) &&
               (is_state(value) || reading_fails(reading));
    }
    if (!done) {
        dd_free(value);
        return false;
    }
    return push_item(reading, &map->is.map.items, &entry.key, value);
}

/* Every key must have a value. Drops values without a key unless they are tombstones. */
static bool match_keys(struct dd_value *value)
{
    struct ormap *map = &value->is.map;
    uint32_t kept = 0;
    uint32_t matched = 0;

    for (uint32_t i = 0; i < map->items.list.count; i++) {
        struct element *item = map->items.list.items[i];
        struct dd_element key = element_view(item);
        bool has_key = orset_has(&map->keys, &key);

        matched += has_key;
        if (has_key || ormap_retains(value))
            map->items.list.items[kept++] = item;
        else
            drop_item(item);
    }
    map->items.list.count = kept;
    return matched == orset_count(&map->keys);
}

bool get_map(struct reading *reading, struct slice bytes,
             struct dd_value *value)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    struct slice keys = { 0 };
    struct slice entry;
    bool has_keys = false;

    /* Reads the tag first: it decides which values are kept. */
    while (proto_next(&cursor, &field)) {
        if (field.number == 1 && field.type == PROTO_BYTES) {
            keys = field.bytes;
            has_keys = true;
        } else if (field.number == 3 && field.type == PROTO_VARINT &&
                   value->kind == DD_MULTIMAP) {
            value->is_on = field.value != 0;
        }
    }
    if (!reading_ends(reading, &cursor) || !has_keys)
        return reading_fails(reading);
    if (!get_orset(reading, keys, &value->is.map.keys))
        return false;
    cursor = cursor_of(bytes);
    while (proto_next(&cursor, &field)) {
        entry = field.bytes;
        if (field.number == 2 && field.type == PROTO_BYTES &&
            !get_map_entry(reading, entry, value))
            return false;
    }
    elements_sort(&value->is.map.items, drop_item);
    return match_keys(value) || reading_fails(reading);
}

void put_map(struct buf *buf, const struct dd_value *value)
{
    const struct ormap *map = &value->is.map;
    enum map_tag tag = ormap_tag_of(value);
    size_t start = proto_open(buf, 1);
    enum dd_kind kind;

    put_orset(buf, &map->keys);
    proto_close(buf, start);
    for (uint32_t i = 0; i < map->items.list.count; i++) {
        const struct ormap_item *item = ormap_item_at(&map->items, i);
        struct dd_element key = element_view(&item->element);

        start = proto_open(buf, 2);
        put_key_before(buf, &key);
        if (ormap_value_kind(tag, &kind)) {
            size_t state = proto_open(buf, 2);

            put_state(buf, item->value);
            proto_close(buf, state);
        } else {
            put_value(buf, 2, item->value);
        }
        put_key_behind(buf, &key);
        proto_close(buf, start);
    }
    if (ormap_retains(value))
        proto_put_varint(buf, 3, 1);
}

static bool get_op_item(struct reading *reading, struct slice bytes,
                        struct ormap_op *op)
{
    struct entry entry;
    struct dd_value *value = NULL;

    if (!get_entry(reading, bytes, &entry))
        return false;
    if (op->change != ORMAP_REMOVE_KEY) {
        if (!entry.has_value)
            return reading_fails(reading);
        if (!get_any(reading, entry.value, &value))
            return false;
    }
    return push_item(reading, &op->items, &entry.key, value);
}

/* Deltas only in updates, and only of the map's kind of values. */
static bool fits(const struct ormap_op *op, const struct dd_value *value)
{
    enum dd_kind wanted;
    struct dd_value *zero;
    bool is_it;

    if (!value)
        return op->change == ORMAP_REMOVE_KEY;
    if (value->kind == DD_DELETED ||
        (op->change == ORMAP_PUT && dd_is_delta(value)))
        return false;
    if (!ormap_value_kind(op->tag, &wanted))
        return true;
    if (!dd_is_delta(value))
        return value->kind == wanted;
    zero = dd_zero(value);
    is_it = zero->kind == wanted;
    dd_free(zero);
    return is_it;
}

/* Changes of keys and of values must name the same keys. */
static bool check_op(struct reading *reading, const struct ormap_op *op)
{
    uint32_t count = op->items.list.count;
    bool good = orset_count(&op->set) > 0;

    if (op->change == ORMAP_REMOVE)
        good = good && !count && orset_count(&op->set) == 1;
    else
        good = good && orset_count(&op->set) == count &&
               (op->change == ORMAP_UPDATE || count == 1);
    for (uint32_t i = 0; good && i < count; i++) {
        const struct ormap_item *item = ormap_item_at(&op->items, i);
        struct dd_element key = element_view(&item->element);

        good = orset_has(&op->set, &key) && fits(op, item->value);
    }
    return good || reading_fails(reading);
}

/* Without its items. */
static bool get_op_head(struct reading *reading, struct slice bytes,
                        struct ormap_op *op)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    struct slice set = { 0 };
    uint64_t change = UINT64_MAX;
    int64_t tag = -1;
    bool has_set = false;

    while (proto_next(&cursor, &field)) {
        if (field.number == 1 && field.type == PROTO_VARINT) {
            change = field.value;
        } else if (field.number == 2 && field.type == PROTO_BYTES) {
            set = field.bytes;
            has_set = true;
        } else if (field.number == 3 && field.type == PROTO_VARINT) {
            tag = proto_sint(field.value);
        }
    }
    if (!reading_ends(reading, &cursor) || change > ORMAP_UPDATE || !has_set ||
        tag < 0 || tag > TAG_LWWMAP)
        return reading_fails(reading);
    op->change = (enum ormap_change)change;
    op->tag = (enum map_tag)tag;
    return get_orset(reading, set, &op->set);
}

static bool get_op(struct reading *reading, struct slice bytes,
                   struct ormap_op *op)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;

    if (!get_op_head(reading, bytes, op))
        return false;
    while (proto_next(&cursor, &field))
        if (field.number == 4 && field.type == PROTO_BYTES &&
            !get_op_item(reading, field.bytes, op))
            return false;
    elements_sort(&op->items, drop_item);
    return check_op(reading, op);
}

bool get_ormap_ops(struct reading *reading, struct slice bytes,
                   struct ormap_ops *ops)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;

    ops->is_group = true;
    while (proto_next(&cursor, &field)) {
        struct ormap_op op = { 0 };

        if (field.number != 1 || field.type != PROTO_BYTES)
            continue;
        if (!reading_spends(reading, sizeof op))
            return false;
        vec_push(&ops->list, op);
        if (!get_op(reading, field.bytes,
                    &ops->list.items[ops->list.count - 1]))
            return false;
    }
    return reading_ends(reading, &cursor);
}

static void put_op(struct buf *buf, const struct ormap_op *op)
{
    size_t start;

    proto_put_varint(buf, 1, op->change);
    start = proto_open(buf, 2);
    put_orset(buf, &op->set);
    proto_close(buf, start);
    proto_put_varint(buf, 3, proto_zigzag(op->tag));
    for (uint32_t i = 0; i < op->items.list.count; i++) {
        const struct ormap_item *item = ormap_item_at(&op->items, i);
        struct dd_element key = element_view(&item->element);

        start = proto_open(buf, 4);
        put_key_before(buf, &key);
        if (item->value)
            put_value(buf, 2, item->value);
        put_key_behind(buf, &key);
        proto_close(buf, start);
    }
}

void put_ormap_ops(struct buf *buf, const struct ormap_ops *ops)
{
    for (uint32_t i = 0; i < ops->list.count; i++) {
        size_t start = proto_open(buf, 1);

        put_op(buf, &ops->list.items[i]);
        proto_close(buf, start);
    }
}
