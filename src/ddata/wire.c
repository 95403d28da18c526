/* Encodes and decodes values, except sets and maps. */
#include "ddata/wire_parts.h"

#include "base/gzip.h"

/* Manifest, kind, the change of a single delta (0: none), compressed. In the order of the kinds. */
static const struct form {
    const char *manifest;
    enum dd_kind kind;
    uint8_t change; /* + 1 */
    bool is_packed;
} forms[] = {
    { "A", DD_DELETED, 0, false },
    { "D", DD_FLAG, 0, false },
    { "F", DD_GCOUNTER, 0, false },
    { "G", DD_PNCOUNTER, 0, false },
    { "B", DD_GSET, 0, false },
    { "C", DD_ORSET, 0, true },
    { "E", DD_REGISTER, 0, false },
    { "H", DD_ORMAP, 0, true },
    { "I", DD_LWWMAP, 0, true },
    { "J", DD_PNCOUNTERMAP, 0, true },
    { "K", DD_MULTIMAP, 0, true },
    { "L", DD_VERSIONS, 0, false },
    { "Cg", DD_ORSET_DELTA, 0, false },
    { "Ca", DD_ORSET_DELTA, ORSET_ADD + 1, false },
    { "Cr", DD_ORSET_DELTA, ORSET_REMOVE + 1, false },
    { "Cf", DD_ORSET_DELTA, ORSET_FULL + 1, false },
    { "Hg", DD_ORMAP_DELTA, 0, false },
    { "Ha", DD_ORMAP_DELTA, ORMAP_PUT + 1, false },
    { "Hr", DD_ORMAP_DELTA, ORMAP_REMOVE + 1, false },
    { "Hk", DD_ORMAP_DELTA, ORMAP_REMOVE_KEY + 1, false },
    { "Hu", DD_ORMAP_DELTA, ORMAP_UPDATE + 1, false },
};
#define FORM_COUNT (sizeof forms / sizeof forms[0])

bool reading_fails(struct reading *reading)
{
    if (reading->verdict == DD_OK)
        reading->verdict = DD_MALFORMED;
    return false;
}

bool reading_exceeds(struct reading *reading)
{
    if (reading->verdict == DD_OK)
        reading->verdict = DD_TOO_LARGE;
    return false;
}

bool reading_spends(struct reading *reading, size_t size)
{
    if (reading->memory_left < size)
        return reading_exceeds(reading);
    reading->memory_left -= size;
    return true;
}

bool reading_ends(struct reading *reading, const struct cursor *cursor)
{
    return cursor->failed ? reading_fails(reading) : reading->verdict == DD_OK;
}

void put_node(struct buf *buf, uint32_t number, const struct node_id *node)
{
    size_t start = proto_open(buf, number);
    size_t address = proto_open(buf, 1);

    proto_put_bytes(buf, 1, slice_text(node->address.host));
    proto_put_varint(buf, 2, node->address.port);
    proto_close(buf, address);
    proto_put_fixed32(buf, 2, (uint32_t)node->uid);
    proto_put_fixed32(buf, 3, (uint32_t)(node->uid >> 32));
    proto_close(buf, start);
}

static bool get_address(struct reading *reading, struct slice bytes,
                        struct address *address)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    struct slice host = { 0 };
    uint64_t port = 0;

    while (proto_next(&cursor, &field)) {
        if (field.number == 1 && field.type == PROTO_BYTES)
            host = field.bytes;
        else if (field.number == 2 && field.type == PROTO_VARINT)
            port = field.value;
    }
    if (!reading_ends(reading, &cursor) || port > UINT16_MAX ||
        !address_set(address, (const char *)host.data, host.size,
                     (uint32_t)port))
        return reading_fails(reading);
    return true;
}

bool get_node(struct reading *reading, struct slice bytes, struct node_id *node)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    struct slice address = { 0 };
    uint64_t low = 0;
    uint64_t high = 0;
    bool has_low = false;
    bool has_high = false;

    while (proto_next(&cursor, &field)) {
        if (field.number == 1 && field.type == PROTO_BYTES) {
            address = field.bytes;
        } else if (field.number == 2 && field.type == PROTO_FIXED32) {
            low = field.value;
            has_low = true;
        } else if (field.number == 3 && field.type == PROTO_FIXED32) {
            high = field.value;
            has_high = true;
        }
    }
    if (!reading_ends(reading, &cursor) || !has_low)
        return reading_fails(reading);
    if (!has_high && low >> 31)
        high = UINT32_MAX; /* the uid of an old node: a signed 32-bit number */
    node->uid = high << 32 | low;
    return get_address(reading, address, &node->address);
}

void put_other(struct buf *buf, uint32_t number, struct dd_other other)
{
    size_t start = proto_open(buf, number);

    proto_put_bytes(buf, 1, other.bytes);
    proto_put_varint(buf, 2, (uint64_t)(int64_t)other.serializer);
    if (other.manifest.size)
        proto_put_bytes(buf, 4, other.manifest);
    proto_close(buf, start);
}

bool get_other(struct reading *reading, struct slice bytes,
               struct dd_other *other)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    bool has_bytes = false;
    bool has_serializer = false;

    *other = (struct dd_other){ 0 };
    while (proto_next(&cursor, &field)) {
        if (field.number == 1 && field.type == PROTO_BYTES) {
            other->bytes = field.bytes;
            has_bytes = true;
        } else if (field.number == 2 && field.type == PROTO_VARINT) {
            other->serializer = (int32_t)(uint32_t)field.value;
            has_serializer = true;
        } else if (field.number == 4 && field.type == PROTO_BYTES) {
            other->manifest = field.bytes;
        }
    }
    if (!reading_ends(reading, &cursor) || !has_bytes || !has_serializer ||
        !text_is_valid(other->manifest))
        return reading_fails(reading);
    if (other->manifest.size > DDATA_MANIFEST_SIZE_MAX)
        return reading_exceeds(reading);
    return true;
}

void put_version(struct buf *buf, const struct node_id *node, int64_t version)
{
    size_t start = proto_open(buf, 1);

    put_node(buf, 1, node);
    proto_put_varint(buf, 2, (uint64_t)version);
    proto_close(buf, start);
}

bool get_version(struct reading *reading, struct slice bytes,
                 struct version *version)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    struct slice node = { 0 };

    version->version = -1;
    while (proto_next(&cursor, &field)) {
        if (field.number == 1 && field.type == PROTO_BYTES)
            node = field.bytes;
        else if (field.number == 2 && field.type == PROTO_VARINT)
            version->version = (int64_t)field.value;
    }
    if (!reading_ends(reading, &cursor) || version->version < 0)
        return reading_fails(reading);
    return get_node(reading, node, &version->node);
}

static void put_versions(struct buf *buf, const struct versions *versions)
{
    for (uint32_t i = 0; i < versions->items.count; i++)
        put_version(buf, &versions->items.items[i].node,
                    versions->items.items[i].version);
}

static bool get_versions(struct reading *reading, struct slice bytes,
                         struct versions *versions)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    struct version version;

    while (proto_next(&cursor, &field)) {
        if (field.number != 1 || field.type != PROTO_BYTES)
            continue;
        if (!reading_spends(reading, sizeof version) ||
            !get_version(reading, field.bytes, &version))
            return false;
        if (version.version)
            vec_push(&versions->items, version);
    }
    return reading_ends(reading, &cursor) &&
           (versions_sort(versions) || reading_fails(reading));
}

static void put_flag(struct buf *buf, bool is_on)
{
    proto_put_varint(buf, 1, is_on);
}

static bool get_flag(struct reading *reading, struct slice bytes, bool *is_on)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    bool found = false;

    while (proto_next(&cursor, &field)) {
        if (field.number != 1 || field.type != PROTO_VARINT)
            continue;
        found = true;
        *is_on = field.value != 0;
    }
    return reading_ends(reading, &cursor) &&
           (found || reading_fails(reading));
}

static void put_counter(struct buf *buf, const struct counter *counter)
{
    for (uint32_t i = 0; i < counter->shares.count; i++) {
        const struct share *share = &counter->shares.items[i];
        uint8_t bytes[NATURAL_SIZE_MAX];
        size_t size = natural_put(share->amount, bytes);
        size_t start = proto_open(buf, 1);

        put_node(buf, 1, &share->node);
        proto_put_bytes(buf, 2, slice_of(bytes, size));
        proto_close(buf, start);
    }
}

static bool get_share(struct reading *reading, struct slice bytes,
                      struct counter *counter)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    struct slice node = { 0 };
    struct slice amount = { 0 };
    struct share share;
    enum dd_verdict verdict;

    while (proto_next(&cursor, &field)) {
        if (field.number == 1 && field.type == PROTO_BYTES)
            node = field.bytes;
        else if (field.number == 2 && field.type == PROTO_BYTES)
            amount = field.bytes;
    }
    if (!reading_ends(reading, &cursor) ||
        !get_node(reading, node, &share.node) ||
        !reading_spends(reading, sizeof share))
        return false;
    verdict = natural_get(amount, &share.amount);
    if (verdict == DD_TOO_LARGE)
        return reading_exceeds(reading);
    if (verdict != DD_OK)
        return reading_fails(reading);
    if (!natural_is_zero(share.amount))
        vec_push(&counter->shares, share);
    return true;
}

static bool get_counter(struct reading *reading, struct slice bytes,
                        struct counter *counter)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;

    while (proto_next(&cursor, &field))
        if (field.number == 1 && field.type == PROTO_BYTES &&
            !get_share(reading, field.bytes, counter))
            return false;
    return reading_ends(reading, &cursor) &&
           (counter_sort(counter) || reading_fails(reading));
}

static void put_pncounter(struct buf *buf, const struct pncounter *counter)
{
    size_t start = proto_open(buf, 1);

    put_counter(buf, &counter->up);
    proto_close(buf, start);
    start = proto_open(buf, 2);
    put_counter(buf, &counter->down);
    proto_close(buf, start);
}

static bool get_pncounter(struct reading *reading, struct slice bytes,
                          struct pncounter *counter)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    bool has_up = false;
    bool has_down = false;

    while (proto_next(&cursor, &field)) {
        struct counter *one =
            field.number == 1 ? &counter->up : &counter->down;

        if (field.number > 2 || field.type != PROTO_BYTES)
            continue;
        if (field.number == 1 ? has_up : has_down)
            return reading_fails(reading);
        if (!get_counter(reading, field.bytes, one))
            return false;
        has_up = has_up || field.number == 1;
        has_down = has_down || field.number == 2;
    }
    return reading_ends(reading, &cursor) &&
           ((has_up && has_down) || reading_fails(reading));
}

static void put_reg(struct buf *buf, const struct reg *reg)
{
    proto_put_varint(buf, 1, proto_zigzag(reg->timestamp));
    put_node(buf, 2, &reg->node);
    put_other(buf, 3, other_view(&reg->state));
}

static bool get_reg(struct reading *reading, struct slice bytes,
                    struct reg *reg)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    struct slice node = { 0 };
    struct slice state = { 0 };
    struct dd_other other;
    bool has_timestamp = false;

    while (proto_next(&cursor, &field)) {
        if (field.number == 1 && field.type == PROTO_VARINT) {
            reg->timestamp = proto_sint(field.value);
            has_timestamp = true;
        } else if (field.number == 2 && field.type == PROTO_BYTES) {
            node = field.bytes;
        } else if (field.number == 3 && field.type == PROTO_BYTES) {
            state = field.bytes;
        }
    }
    if (!reading_ends(reading, &cursor) || !has_timestamp)
        return reading_fails(reading);
    if (!get_node(reading, node, &reg->node) ||
        !get_other(reading, state, &other) ||
        !reading_spends(reading, other.bytes.size + other.manifest.size))
        return false;
    other_set(&reg->state, other);
    return true;
}

void put_state(struct buf *buf, const struct dd_value *value)
{
    switch (value->kind) {
    case DD_DELETED:
    case DD_OPAQUE:
        break;
    case DD_FLAG:
        put_flag(buf, value->is_on);
        break;
    case DD_GCOUNTER:
        put_counter(buf, &value->is.counter);
        break;
    case DD_PNCOUNTER:
        put_pncounter(buf, &value->is.pncounter);
        break;
    case DD_GSET:
        put_gset(buf, &value->is.gset);
        break;
    case DD_ORSET:
        put_orset(buf, &value->is.orset);
        break;
    case DD_REGISTER:
        put_reg(buf, &value->is.reg);
        break;
    case DD_ORMAP:
    case DD_LWWMAP:
    case DD_PNCOUNTERMAP:
    case DD_MULTIMAP:
        put_map(buf, value);
        break;
    case DD_VERSIONS:
        put_versions(buf, &value->is.versions);
        break;
    case DD_ORSET_DELTA:
        put_orset_ops(buf, &value->is.orset_ops);
        break;
    case DD_ORMAP_DELTA:
        put_ormap_ops(buf, &value->is.ormap_ops);
        break;
    }
}

bool get_state(struct reading *reading, struct slice bytes,
               struct dd_value *value)
{
    switch (value->kind) {
    case DD_DELETED:
    case DD_OPAQUE:
        break;
    case DD_FLAG:
        return get_flag(reading, bytes, &value->is_on);
    case DD_GCOUNTER:
        return get_counter(reading, bytes, &value->is.counter);
    case DD_PNCOUNTER:
        return get_pncounter(reading, bytes, &value->is.pncounter);
    case DD_GSET:
        return get_gset(reading, bytes, &value->is.gset);
    case DD_ORSET:
        return get_orset(reading, bytes, &value->is.orset);
    case DD_REGISTER:
        return get_reg(reading, bytes, &value->is.reg);
    case DD_ORMAP:
    case DD_LWWMAP:
    case DD_PNCOUNTERMAP:
    case DD_MULTIMAP:
        return get_map(reading, bytes, value);
    case DD_VERSIONS:
        return get_versions(reading, bytes, &value->is.versions);
    case DD_ORSET_DELTA:
        return get_orset_ops(reading, bytes, &value->is.orset_ops);
    case DD_ORMAP_DELTA:
        return get_ormap_ops(reading, bytes, &value->is.ormap_ops);
    }
    return true;
}

static const struct form *form_of(const struct dd_value *value)
{
    uint8_t change = 0;

    if (value->kind == DD_ORSET_DELTA && !value->is.orset_ops.is_group &&
        value->is.orset_ops.list.count == 1)
        change = (uint8_t)(value->is.orset_ops.list.items[0].change + 1);
    if (value->kind == DD_ORMAP_DELTA && !value->is.ormap_ops.is_group &&
        value->is.ormap_ops.list.count == 1)
        change = (uint8_t)(value->is.ormap_ops.list.items[0].change + 1);
    for (size_t i = 0; i < FORM_COUNT; i++)
        if (forms[i].kind == value->kind && forms[i].change == change)
            return &forms[i];
    check(!"a value without a form");
    return NULL;
}

/* A single delta of a set is encoded as its set. */
static void put_alone(struct buf *buf, const struct form *form,
                      const struct dd_value *value)
{
    if (form->kind == DD_ORSET_DELTA && form->change)
        put_orset(buf, &value->is.orset_ops.list.items[0].set);
    else
        put_state(buf, value);
}

struct dd_other dd_encode(const struct dd_value *value, struct buf *buf)
{
    const struct form *form;

    buf_clear(buf);
    if (value->kind == DD_OPAQUE)
        return other_view(&value->is.opaque);
    if (value->kept)
        return other_view(value->kept);
    form = form_of(value);
    if (form->is_packed) {
        struct buf bytes = { 0 };

        put_alone(&bytes, form, value);
        gzip_deflate(buf, buf_slice(&bytes));
        buf_fini(&bytes);
    } else {
        put_alone(buf, form, value);
    }
    return (struct dd_other){ DD_SERIALIZER, slice_text(form->manifest),
                              buf_slice(buf) };
}

bool dd_deflates(const struct dd_value *value)
{
    return value->kind != DD_OPAQUE && !value->kept &&
           form_of(value)->is_packed;
}

bool dd_is_packed(const struct dd_value *value)
{
    if (value->kind == DD_OPAQUE)
        return gzip_is(other_view(&value->is.opaque).bytes);
    if (value->kind == DD_REGISTER)
        return gzip_is(dd_register_get(value).bytes);
    return form_of(value)->is_packed;
}

void dd_hide_type(struct dd_value **value)
{
    struct dd_value *hidden = value_new(DD_OPAQUE);
    struct buf bytes = { 0 };

    other_set(&hidden->is.opaque, dd_encode(*value, &bytes));
    buf_fini(&bytes);
    dd_free(*value);
    *value = hidden;
}

void put_value(struct buf *buf, uint32_t number, const struct dd_value *value)
{
    struct buf bytes = { 0 };

    put_other(buf, number, dd_encode(value, &bytes));
    buf_fini(&bytes);
}

static bool get_form(struct reading *reading, const struct form *form,
                     struct slice bytes, struct dd_value *value)
{
    struct ormap_ops *ops = &value->is.ormap_ops;
    struct buf inflated = { 0 };
    bool is_large;
    bool done;

    if (form->is_packed) {
        done = gzip_inflate(&inflated, bytes, DDATA_INFLATE_SIZE_MAX,
                            &is_large);
        if (!done && is_large)
            reading_exceeds(reading);
        else if (!done)
            reading_fails(reading);
        done = done && get_state(reading, buf_slice(&inflated), value);
        buf_fini(&inflated);
        return done;
    }
    if (form->kind == DD_ORSET_DELTA && form->change)
        return get_orset_op(reading, bytes,
                            (enum orset_change)(form->change - 1),
                            &value->is.orset_ops);
    if (!get_state(reading, bytes, value))
        return false;
    if (form->kind != DD_ORMAP_DELTA || !form->change)
        return true;
    if (ops->list.count != 1 || ops->list.items[0].change + 1 != form->change)
        return reading_fails(reading);
    ops->is_group = false;
    return true;
}

bool get_value(struct reading *reading, struct dd_other other,
               struct dd_value **value)
{
    const struct form *form = NULL;
    struct dd_value *made;
    bool done = true;

    *value = NULL;
    for (size_t i = 0; i < FORM_COUNT && !form; i++)
        if (slice_is(other.manifest, forms[i].manifest))
            form = &forms[i];
    if (other.serializer != DD_SERIALIZER)
        form = NULL;
    if (!reading_spends(reading, sizeof *made + other.manifest.size +
                                     (form ? 0 : other.bytes.size)))
        return false;
    if (++reading->depth > DDATA_DEPTH_MAX)
        return reading_exceeds(reading);
    made = value_new(form ? form->kind : DD_OPAQUE);
    if (form)
        done = get_form(reading, form, other.bytes, made);
    else
        other_set(&made->is.opaque, other);
    reading->depth--;
    if (done)
        *value = made;
    else
        dd_free(made);
    return done;
}

enum dd_verdict dd_decode(struct dd_other other, struct dd_value **value)
{
    struct reading reading = { .memory_left = DDATA_MEMORY_MAX };

    *value = NULL;
    if (other.manifest.size > DDATA_MANIFEST_SIZE_MAX ||
        other.bytes.size > DDATA_INFLATE_SIZE_MAX)
        return DD_TOO_LARGE;
    if (!text_is_valid(other.manifest))
        return DD_MALFORMED;
    if (!get_value(&reading, other, value)) {
        check(reading.verdict != DD_OK);
        return reading.verdict;
    }
    if ((*value)->kind != DD_OPAQUE) {
        (*value)->kept = mem_alloc(sizeof *(*value)->kept);
        other_set((*value)->kept, other);
    }
    return DD_OK;
}
