/* Adds values to those of a key that this node cannot merge, and drops those that others contain. */
#include "ddata/opaque.h"

#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "base/sort.h"
#include "ddata/message.h"

struct origin *origin_new(const struct node_id *node, enum origin_way way)
{
    struct origin *origin = mem_alloc(sizeof *origin);

    origin->node = *node;
    origin->way = way;
    return origin;
}

struct origin *origin_own(const struct node_id *self)
{
    struct origin *origin = origin_new(self, ORIGIN_STATE);

    origin->is_own = origin->has_own = origin->is_acknowledged = true;
    return origin;
}

void origin_free(struct origin *origin)
{
    if (!origin)
        return;
    vec_fini(&origin->shown);
    mem_free(origin);
}

struct origin *origin_copy(const struct origin *origin)
{
    struct origin *copy = mem_alloc(sizeof *copy);

    *copy = *origin;
    memset(&copy->shown, 0, sizeof copy->shown);
    for (uint32_t i = 0; i < origin->shown.count; i++)
        vec_push(&copy->shown, origin->shown.items[i]);
    return copy;
}

void origin_show(struct origin *origin, uint64_t uid, int64_t version)
{
    struct sibling_shown shown = { uid, version };

    for (uint32_t i = origin->shown.count; i-- > 0;)
        if (origin->shown.items[i].uid == uid)
            vec_remove(&origin->shown, i);
    if (origin->shown.count >= SIBLING_SHOWN_MAX)
        vec_remove(&origin->shown, 0);
    vec_push(&origin->shown, shown);
}

uint32_t opaque_count(const struct envelope *envelope)
{
    return 1 + envelope->siblings.count;
}

const struct envelope *opaque_look(const struct envelope *envelope,
                                   uint32_t index)
{
    return index
               ? &envelope->siblings.items[envelope->siblings.count - index]
               : envelope;
}

struct envelope *opaque_at(struct envelope *envelope, uint32_t index)
{
    return (struct envelope *)(uintptr_t)opaque_look(envelope, index);
}

uint64_t opaque_size(const struct envelope *envelope)
{
    uint64_t size = 0;

    for (uint32_t i = 0; i < opaque_count(envelope); i++)
        size += opaque_look(envelope, i)->origin->size;
    return size;
}

struct envelope *opaque_base(struct envelope *envelope)
{
    for (uint32_t i = 0; envelope->origin && i < opaque_count(envelope); i++)
        if (opaque_at(envelope, i)->origin->has_own)
            return opaque_at(envelope, i);
    return envelope;
}

bool opaque_is_needed(const struct envelope *envelope,
                      const struct envelope *other)
{
    return envelope->origin || dd_find_opaque(envelope->value) ||
           dd_find_opaque(other->value);
}

/* ---- containment ---- */

static bool is_of(const struct envelope *value, const struct envelope *other)
{
    return node_equal(&value->origin->node, &other->origin->node);
}

static bool is_older_write(const struct envelope *value,
                           const struct envelope *than)
{
    return is_of(value, than) && value->origin->number &&
           value->origin->number < than->origin->number;
}

/* A replicator that lost its state and begins again has fewer versions. */
static bool is_older_state(const struct envelope *value,
                           const struct envelope *than)
{
    enum versions_order order = versions_compare(&value->versions, &than->versions);

    return is_of(value, than) && value->origin->way != ORIGIN_RELAYED &&
           (order == VERSIONS_SAME || order == VERSIONS_BEFORE);
}

/* Reads prove nothing, because their answers may be overtaken. */
static bool is_shown(const struct envelope *value, const struct envelope *to)
{
    const struct origin *origin = to->origin;

    if (!origin->confirms || (origin->way != ORIGIN_STATE && origin->way != ORIGIN_WRITE))
        return false;
    for (uint32_t i = 0; i < value->origin->shown.count; i++)
        if (value->origin->shown.items[i].uid == origin->node.uid &&
            value->origin->shown.items[i].version == origin->confirms)
            return true;
    return false;
}

/* True if the new value contains the one that is here. */
static bool contains(const struct envelope *fresh, const struct envelope *here)
{
    if (is_shown(here, fresh) || is_older_write(here, fresh))
        return true;
    if (fresh->origin->way == ORIGIN_STATE)
        return is_older_state(here, fresh);
    return fresh->origin->way == ORIGIN_READ &&
           here->origin->way == ORIGIN_READ && is_of(here, fresh);
}

/* True if the one that is here contains the new value, or will soon be replaced by one that
 * does. */
static bool is_known(const struct envelope *fresh, const struct envelope *here)
{
    if (fresh->origin->is_echo)
        return here->origin->has_own;
    return is_of(fresh, here) &&
           ((fresh->origin->number &&
             here->origin->number >= fresh->origin->number) ||
            fresh->origin->may_skip);
}

/* ---- changes ---- */

/* Values are moved into a list in order of arrival, and back. */
static void take_apart(struct envelope *envelope, envelope_list *values)
{
    struct envelope first = *envelope;

    *values = envelope->siblings;
    memset(&first.siblings, 0, sizeof first.siblings);
    vec_push(values, first);
    memset(envelope, 0, sizeof *envelope);
}

static void put_together(struct envelope *envelope, envelope_list *values)
{
    *envelope = values->items[--values->count];
    if (values->count)
        envelope->siblings = *values;
    else
        vec_fini(values);
}

/* Passes on what holds for the contained value, too. */
static void inherit(struct origin *origin, const struct origin *from)
{
    origin->has_own |= from->has_own;
    origin->is_acknowledged |= from->is_acknowledged;
}

static void drop(envelope_list *values, uint32_t index)
{
    struct envelope gone = values->items[index];

    vec_remove(values, index);
    envelope_fini(&gone);
}

static int find_same(const envelope_list *values, const struct envelope *fresh)
{
    for (uint32_t i = 0; i < values->count; i++)
        if (dd_equal(values->items[i].value, fresh->value))
            return (int)i;
    return -1;
}

/* Copies that their origins or other members have, and that nobody relies on. */
static bool may_go(const struct origin *origin)
{
    return !origin->is_acknowledged && !origin->has_own && !origin->number &&
           (origin->way == ORIGIN_RELAYED || origin->way == ORIGIN_READ);
}

typedef bool chosen[SIBLINGS_MAX + 1];

/* Chooses what goes for the fresh value: what it contains, and to make room others, the oldest
 * first. False: there is still no room. */
static bool choose(const envelope_list *values, const struct envelope *fresh,
                   bool is_new, chosen goes)
{
    uint64_t size = is_new ? fresh->origin->size : 0;
    uint32_t count = is_new;

    for (uint32_t i = 0; i < values->count; i++) {
        goes[i] = contains(fresh, &values->items[i]);
        size += goes[i] ? 0 : values->items[i].origin->size;
        count += !goes[i];
    }
    for (uint32_t i = 0; i < values->count; i++) {
        const struct origin *origin = values->items[i].origin;

        if (count <= SIBLINGS_MAX && size <= SIBLINGS_SIZE_MAX)
            break;
        if (goes[i] || !may_go(origin))
            continue;
        goes[i] = true;
        count--;
        size -= origin->size;
    }
    return count <= SIBLINGS_MAX && size <= SIBLINGS_SIZE_MAX;
}

/* The same value came again. Unless it was relayed, the one that is here takes over its origin with
 * its versions, which the origin's next state must have, and its bytes: a JVM encodes equal maps in
 * its own order. A relayed one may have versions that its origin never got. */
static bool meet(struct envelope *here, struct envelope *fresh, int64_t wall_ms)
{
    struct dd_value *value = here->value;
    struct versions versions = here->versions;
    struct pruning before = { 0 };
    bool is_changed;

    pruning_copy(&before, &here->pruning);
    pruning_merge(&here->pruning, &fresh->pruning, wall_ms);
    is_changed = !pruning_equal(&before, &here->pruning);
    pruning_fini(&before);
    inherit(fresh->origin, here->origin);
    if (fresh->origin->way == ORIGIN_RELAYED) {
        inherit(here->origin, fresh->origin);
        return is_changed;
    }
    for (uint32_t i = 0; i < here->origin->shown.count; i++)
        origin_show(fresh->origin, here->origin->shown.items[i].uid,
                    here->origin->shown.items[i].version);
    origin_free(here->origin);
    here->origin = fresh->origin;
    fresh->origin = NULL;
    here->value = fresh->value;
    fresh->value = value;
    here->versions = fresh->versions;
    fresh->versions = versions;
    return is_changed;
}

/* The fresh value is spent unless it is refused. */
static enum envelope_merged add(envelope_list *values, struct envelope *fresh,
                                int64_t wall_ms)
{
    int same = find_same(values, fresh);
    enum envelope_merged merged = ENVELOPE_SAME;
    chosen goes = { false };

    for (uint32_t i = 0; same < 0 && i < values->count; i++)
        if (is_known(fresh, &values->items[i])) {
            inherit(values->items[i].origin, fresh->origin);
            return ENVELOPE_SAME;
        }
    if (!choose(values, fresh, same < 0, goes))
        return ENVELOPE_FULL;
    for (uint32_t i = values->count; i-- > 0;) {
        if (!goes[i] || (int)i == same)
            continue;
        inherit(fresh->origin, values->items[i].origin);
        drop(values, i);
        same -= (int)i < same;
        merged = ENVELOPE_CHANGED;
    }
    if (same < 0) {
        vec_push(values, *fresh);
        memset(fresh, 0, sizeof *fresh);
        BOUNDED("values of a key side by side", values->count, SIBLINGS_MAX);
        return ENVELOPE_CHANGED;
    }
    if (meet(&values->items[same], fresh, wall_ms) && merged == ENVELOPE_SAME)
        merged = ENVELOPE_MARKED;
    return merged;
}

static enum envelope_merged worse(enum envelope_merged merged,
                                  enum envelope_merged other)
{
    if (merged == ENVELOPE_FULL || other == ENVELOPE_FULL)
        return ENVELOPE_FULL;
    if (merged == ENVELOPE_CHANGED || other == ENVELOPE_CHANGED)
        return ENVELOPE_CHANGED;
    return merged == ENVELOPE_MARKED ? merged : other;
}

enum envelope_merged opaque_merge(struct envelope *envelope,
                                  struct envelope *other, int64_t wall_ms)
{
    enum envelope_merged merged = ENVELOPE_SAME;
    envelope_list here, theirs;

    if (dd_kind_of(envelope->value) != dd_kind_of(other->value))
        return ENVELOPE_REFUSED;
    check(envelope->origin && other->origin);
    take_apart(envelope, &here);
    take_apart(other, &theirs);
    for (uint32_t i = 0; i < theirs.count; i++) {
        SOMETIMES("a value joins others that do not merge here", here.count > 1);
        merged = worse(merged, add(&here, &theirs.items[i], wall_ms));
        envelope_fini(&theirs.items[i]);
    }
    vec_fini(&theirs);
    put_together(envelope, &here);
    return merged;
}

void opaque_renew(struct envelope *envelope, struct envelope *base,
                  struct dd_value *value, struct origin *origin)
{
    uint32_t at = base == envelope
                      ? envelope->siblings.count
                      : (uint32_t)(base - envelope->siblings.items);
    envelope_list values;
    struct envelope renewed;

    take_apart(envelope, &values);
    renewed = values.items[at];
    vec_remove(&values, at);
    dd_free(renewed.value);
    origin_free(renewed.origin);
    renewed.value = value;
    renewed.origin = origin;
    vec_push(&values, renewed);
    put_together(envelope, &values);
}

static int bytes_order(const void *item, const void *key)
{
    const struct buf *left = item, *right = key;
    size_t size = left->size < right->size ? left->size : right->size;
    int order = memcmp(left->data, right->data, size);

    return order ? order : (left->size > right->size) - (left->size < right->size);
}

void opaque_bytes(const struct envelope *envelope, struct buf *bytes)
{
    VEC(struct buf) parts = { 0 };

    if (!envelope->siblings.count) {
        envelope_encode(bytes, envelope, NULL, ENVELOPE_PLAIN);
        return;
    }
    for (uint32_t i = 0; i < opaque_count(envelope); i++) {
        struct buf part = { 0 };

        envelope_encode(&part, opaque_look(envelope, i), NULL, ENVELOPE_PLAIN);
        vec_push(&parts, part);
    }
    sort_stable(parts.items, parts.count, sizeof *parts.items, bytes_order);
    for (uint32_t i = 0; i < parts.count; i++) {
        buf_put_slice(bytes, buf_slice(&parts.items[i]));
        buf_fini(&parts.items[i]);
    }
    vec_fini(&parts);
}

bool opaque_end(struct envelope *envelope)
{
    if (!envelope->origin || envelope->siblings.count ||
        dd_find_opaque(envelope->value))
        return false;
    origin_free(envelope->origin);
    envelope->origin = NULL;
    return true;
}
