/* Encodes and decodes envelopes by hand. After many removals they are mostly addresses that saw
 * markers, and protobuf-c would build a tree of messages from them for each gossip. */
#include "base/check.h"
#include "base/vec.h"
#include "ddata/message.h"
#include "ddata/opaque.h"
#include "ddata/wire_parts.h"

/* From 1000 on fields of this library. */
enum { DATA = 1, PRUNING = 2, VERSIONS = 3, ORIGIN = 1000, SIBLING = 1001 };
/* Fields of an origin; the last two are only stored. */
enum { ORIGIN_NODE = 1, ORIGIN_NUMBER = 2, ORIGIN_HOW = 3, ORIGIN_ACKNOWLEDGED = 4 };
/* Fields of a marker, with SEEN_FIELD. */
enum { REMOVED = 1, OWNER = 2, PERFORMED = 3, OBSOLETE_AT = 5 };
/* Fields of a node and its address. */
enum { NODE_ADDRESS = 1, ADDRESS_HOST = 1, ADDRESS_PORT = 2 };

enum envelope_form envelope_form_of(const struct dd_value *delta)
{
    return dd_needs_causal_delivery(delta) ? ENVELOPE_STORED : ENVELOPE_DELTA;
}

static void put_mark(struct buf *buf, const struct pruning_mark *mark)
{
    /* Akka writes this owner where none is needed, because the field is required. */
    static const struct node_id akka = { { "c", PRUNING_PORT_AKKA }, 1 };
    static const struct node_id pekko = { { "c", PRUNING_PORT_PEKKO }, 1 };
    const struct node_id *nobody = mark->is_pekko ? &pekko : &akka;
    size_t start = proto_open(buf, PRUNING);

    put_node(buf, REMOVED, &mark->removed);
    put_node(buf, OWNER, mark->is_performed ? nobody : &mark->owner);
    proto_put_varint(buf, PERFORMED, mark->is_performed);
    buf_put_slice(buf, buf_slice(&mark->seen.bytes));
    if (mark->is_performed)
        proto_put_varint(buf, OBSOLETE_AT, proto_zigzag(mark->obsolete_at));
    proto_close(buf, start);
}

static bool has_mark(enum envelope_form form, const struct pruning_mark *mark)
{
    return !(form == ENVELOPE_STORED && !mark->is_performed) &&
           !(form == ENVELOPE_DELTA && !mark->is_own);
}

/* A member's own state names no origin. */
static void put_origin(struct buf *buf, const struct origin *origin,
                       enum envelope_form form)
{
    size_t start;

    if (!origin || (form == ENVELOPE_WHOLE && origin->is_own))
        return;
    start = proto_open(buf, ORIGIN);
    put_node(buf, ORIGIN_NODE, &origin->node);
    if (origin->number)
        proto_put_varint(buf, ORIGIN_NUMBER, origin->number);
    if (form == ENVELOPE_STORED) {
        proto_put_varint(buf, ORIGIN_HOW, origin->way);
        proto_put_varint(buf, ORIGIN_ACKNOWLEDGED, origin->is_acknowledged);
    }
    proto_close(buf, start);
}

static void put_versions(struct buf *buf, const struct versions *versions)
{
    size_t start;

    if (!versions->items.count)
        return;
    start = proto_open(buf, VERSIONS);
    for (uint32_t i = 0; i < versions->items.count; i++)
        put_version(buf, &versions->items.items[i].node,
                    versions->items.items[i].version);
    proto_close(buf, start);
}

void envelope_encode(struct buf *buf, const struct envelope *envelope,
                     const struct dd_value *value, enum envelope_form form)
{
    struct buf bytes = { 0 };
    size_t start;

    put_other(buf, DATA,
              dd_encode(value ? value : envelope->value, &bytes));
    buf_fini(&bytes);
    for (uint32_t i = 0; i < envelope->pruning.marks.count; i++)
        if (has_mark(form, &envelope->pruning.marks.items[i]))
            put_mark(buf, &envelope->pruning.marks.items[i]);
    if (form == ENVELOPE_WHOLE)
        put_versions(buf, &envelope->versions);
    if (form == ENVELOPE_WHOLE || form == ENVELOPE_STORED)
        put_origin(buf, envelope->origin, form);
    for (uint32_t i = 0; form == ENVELOPE_STORED && i < envelope->siblings.count; i++) {
        start = proto_open(buf, SIBLING);
        envelope_encode(buf, &envelope->siblings.items[i], NULL, form);
        proto_close(buf, start);
    }
}

/* Uid 0 means any incarnation, so no node has it. */
static bool get_life(struct slice bytes, struct node_id *node)
{
    struct reading reading = { .verdict = DD_OK };

    return get_node(&reading, bytes, node) && node->uid;
}

/* Sorted, as Akka writes them: sorting here would take quadratic time. */
static bool get_seen(struct slice bytes, struct seen *seen)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    struct slice host = { 0 };
    uint64_t port = 0;

    while (proto_next(&cursor, &field)) {
        if (field.number == ADDRESS_HOST && field.type == PROTO_BYTES)
            host = field.bytes;
        else if (field.number == ADDRESS_PORT && field.type == PROTO_VARINT)
            port = field.value;
    }
    return !cursor.failed && seen->count < REPLICATOR_MEMBERS_MAX &&
           seen_append(seen, host, port);
}

static bool last_field(struct slice bytes, uint32_t number,
                       enum proto_type type, struct proto_field *found)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    bool is_there = false;

    while (proto_next(&cursor, &field)) {
        if (field.number != number || field.type != type)
            continue;
        *found = field;
        is_there = true;
    }
    return is_there && !cursor.failed;
}

/* The owner of a performed marker shows only whether the cluster is Pekko's. */
static bool is_pekko(struct slice owner, bool *is_one)
{
    struct proto_field address, port;

    if (!last_field(owner, NODE_ADDRESS, PROTO_BYTES, &address) ||
        !last_field(address.bytes, ADDRESS_PORT, PROTO_VARINT, &port))
        return false;
    *is_one = port.value == PRUNING_PORT_PEKKO;
    return true;
}

struct mark_fields {
    struct slice removed, owner;
    struct seen seen;
    int64_t obsolete_at;
    bool has_performed, is_performed;
};

static bool get_fields(struct slice bytes, struct mark_fields *fields)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    bool is_good = true;

    fields->obsolete_at = INT64_MAX; /* old versions do not state it */
    while (is_good && proto_next(&cursor, &field)) {
        if (field.number == REMOVED && field.type == PROTO_BYTES) {
            fields->removed = field.bytes;
        } else if (field.number == OWNER && field.type == PROTO_BYTES) {
            fields->owner = field.bytes;
        } else if (field.number == PERFORMED && field.type == PROTO_VARINT) {
            fields->has_performed = true;
            fields->is_performed = field.value != 0;
        } else if (field.number == OBSOLETE_AT && field.type == PROTO_VARINT) {
            fields->obsolete_at = proto_sint(field.value);
        } else if (field.number == SEEN_FIELD && field.type == PROTO_BYTES) {
            is_good = get_seen(field.bytes, &fields->seen);
        }
    }
    return is_good && !cursor.failed && fields->has_performed;
}

static bool get_mark(struct slice bytes, struct pruning *pruning)
{
    struct mark_fields fields = { .obsolete_at = 0 };
    struct node_id removed;
    struct pruning_mark *mark;
    bool is_good = pruning->marks.count < REPLICATOR_PRUNING_MAX &&
                   get_fields(bytes, &fields) &&
                   get_life(fields.removed, &removed);

    if (!is_good) {
        seen_fini(&fields.seen);
        return false;
    }
    mark = pruning_put(pruning, &removed);
    mark->seen = fields.seen;
    if (!fields.is_performed)
        return get_life(fields.owner, &mark->owner);
    pruning_perform(mark, fields.obsolete_at);
    return is_pekko(fields.owner, &mark->is_pekko);
}

static bool follows(const struct versions *versions,
                    const struct version *version)
{
    uint32_t count = versions->items.count;

    return !count || node_compare(&versions->items.items[count - 1].node,
                                  &version->node) < 0;
}

static bool get_versions(struct slice bytes, struct versions *versions)
{
    struct cursor cursor = cursor_of(bytes);
    struct reading reading = { .verdict = DD_OK };
    struct proto_field field;
    struct version version;

    while (proto_next(&cursor, &field)) {
        if (field.number != 1 || field.type != PROTO_BYTES)
            continue;
        if (versions->items.count >= REPLICATOR_MEMBERS_MAX ||
            !get_version(&reading, field.bytes, &version) ||
            !version.node.uid || version.version < 1 ||
            !follows(versions, &version))
            return false;
        vec_push(&versions->items, version);
    }
    return !cursor.failed;
}

/* The origin of the bytes. */
enum source { FROM_PEER, FROM_FILE, FROM_SIBLING };

static bool get_origin(struct slice bytes, enum source source,
                       struct envelope *envelope)
{
    struct cursor cursor = cursor_of(bytes);
    struct origin *origin = mem_alloc(sizeof *origin);
    struct proto_field field;
    uint64_t way = ORIGIN_RELAYED;
    bool has_node = false;

    while (proto_next(&cursor, &field)) {
        if (field.number == ORIGIN_NODE && field.type == PROTO_BYTES)
            has_node = get_life(field.bytes, &origin->node);
        else if (field.number == ORIGIN_NUMBER && field.type == PROTO_VARINT)
            origin->number = field.value;
        else if (field.number == ORIGIN_HOW && field.type == PROTO_VARINT)
            way = source == FROM_PEER ? way : field.value;
        else if (field.number == ORIGIN_ACKNOWLEDGED && field.type == PROTO_VARINT)
            origin->is_acknowledged = source != FROM_PEER && field.value;
    }
    origin_free(envelope->origin);
    envelope->origin = origin;
    origin->way = (enum origin_way)way;
    return has_node && !cursor.failed && way <= ORIGIN_RELAYED;
}

static bool get_sibling(struct slice bytes, struct envelope *envelope);

static bool get_field(const struct proto_field *field, enum source source,
                      struct envelope *envelope)
{
    switch (field->number) {
    case PRUNING:
        return get_mark(field->bytes, &envelope->pruning);
    case VERSIONS:
        return get_versions(field->bytes, &envelope->versions);
    case ORIGIN:
        return get_origin(field->bytes, source, envelope);
    case SIBLING:
        return source == FROM_PEER ||
               (source == FROM_FILE && get_sibling(field->bytes, envelope));
    default:
        return true;
    }
}

static bool get_envelope(struct slice bytes, enum source source,
                         struct envelope *envelope)
{
    struct cursor cursor = cursor_of(bytes);
    struct reading reading = { .verdict = DD_OK };
    struct proto_field field;
    struct slice data = { 0 };
    struct dd_other other;

    while (proto_next(&cursor, &field)) {
        if (field.type != PROTO_BYTES)
            continue;
        if (field.number == DATA)
            data = field.bytes;
        else if (!get_field(&field, source, envelope))
            return false;
    }
    if (cursor.failed || !get_other(&reading, data, &other) ||
        dd_decode(other, &envelope->value) != DD_OK)
        return false;
    if (envelope->origin)
        envelope->origin->size = bytes.size;
    return true;
}

/* Siblings have none, and an origin. */
static bool get_sibling(struct slice bytes, struct envelope *envelope)
{
    struct envelope sibling = { 0 };

    if (envelope->siblings.count >= SIBLINGS_MAX - 1 ||
        !get_envelope(bytes, FROM_SIBLING, &sibling) || !sibling.origin) {
        envelope_fini(&sibling);
        return false;
    }
    vec_push(&envelope->siblings, sibling);
    return true;
}

static bool decode(struct slice bytes, enum source source,
                   struct envelope *envelope)
{
    bool is_good = get_envelope(bytes, source, envelope);

    if (!is_good || (envelope->siblings.count && !envelope->origin)) {
        envelope_fini(envelope);
        return false;
    }
    for (uint32_t i = 0; i < envelope->siblings.count; i++)
        envelope->origin->size -= envelope->siblings.items[i].origin->size;
    return true;
}

bool envelope_decode(struct slice bytes, struct envelope *envelope)
{
    return decode(bytes, FROM_PEER, envelope);
}

bool envelope_decode_stored(struct slice bytes, struct envelope *envelope)
{
    return decode(bytes, FROM_FILE, envelope);
}
