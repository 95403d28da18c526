/* Copies values before it merges them, and only reads replicas. */
#include "sim/check/check_replica.h"

#include <stdio.h>

#include "base/check.h"
#include "ddata/message.h"
#include "sim/world/verdict.h"

/* ---- value-integrity ---- */

static struct dd_value *merged(const struct dd_value *left,
                               const struct dd_value *right)
{
    struct dd_value *value = dd_copy(left);

    (void)dd_merge(value, right); /* it stays unchanged if the types differ */
    return value;
}

/* Compares bytes and meaning: equal states have equal bytes. */
static bool is_same(const struct dd_value *left, const struct dd_value *right)
{
    struct buf left_room = { 0 }, right_room = { 0 };
    struct dd_other a = dd_encode(left, &left_room);
    struct dd_other b = dd_encode(right, &right_room);
    bool same = a.serializer == b.serializer &&
                slice_equal(a.manifest, b.manifest) &&
                slice_equal(a.bytes, b.bytes) && dd_equal(left, right);

    buf_fini(&left_room);
    buf_fini(&right_room);
    return same;
}

static void expect_same(struct verdict *verdict, uint32_t node,
                        const char *law, struct dd_value *left,
                        struct dd_value *right)
{
    if (!left || !right || !is_same(left, right))
        violation(verdict, "value-integrity", node, "of values of kind %d: %s",
                  left ? (int)dd_kind_of(left) : -1, law);
    dd_free(left);
    dd_free(right);
}

static struct dd_value *decoded(const struct dd_value *value)
{
    struct buf room = { 0 };
    struct dd_value *copy = NULL;

    (void)dd_decode(dd_encode(value, &room), &copy); /* null if it is unreadable */
    buf_fini(&room);
    return copy;
}

/* Merges of maps promise less after a key was removed. */
static bool is_map(enum dd_kind kind)
{
    return kind == DD_ORMAP || kind == DD_LWWMAP || kind == DD_PNCOUNTERMAP ||
           kind == DD_MULTIMAP;
}

/* Merges of maps are not associative, nor with a deletion on one side. */
static bool is_associative(const struct dd_value *const values[3])
{
    for (int i = 0; i < 3; i++) {
        enum dd_kind kind = dd_kind_of(values[i]);

        if (kind != dd_kind_of(values[0]) || is_map(kind))
            return false;
    }
    return true;
}

void check_replica_laws(struct verdict *verdict, uint32_t node,
                        const struct dd_value *const values[3])
{
    struct dd_value *first, *last;

    for (int i = 0; i < 3; i++) {
        if (!values[i])
            return;
        expect_same(verdict, node, "an encoded value is decoded to another",
                    dd_copy(values[i]), decoded(values[i]));
        expect_same(verdict, node, "a value merged with itself is another",
                    dd_copy(values[i]), merged(values[i], values[i]));
    }
    expect_same(verdict, node, "two merged depend on which is first",
                merged(values[0], values[1]), merged(values[1], values[0]));
    if (!is_associative(values))
        return;
    first = merged(values[0], values[1]);
    last = merged(values[1], values[2]);
    expect_same(verdict, node, "three merged depend on the order",
                merged(first, values[2]), merged(values[0], last));
    dd_free(first);
    dd_free(last);
}

/* ---- no-lost-update ---- */

/* A replica has all that is stored. A deleted value has. */
static bool has_all(struct slice mine, struct envelope *stored)
{
    struct envelope whole = { 0 };
    enum envelope_merged merged = ENVELOPE_SAME;

    if (!mine.size || (stored->value && is_map(dd_kind_of(stored->value))))
        return true;
    if (!envelope_decode(mine, &whole))
        return false;
    merged = envelope_merge(&whole, stored, 0);
    envelope_fini(&whole);
    return merged == ENVELOPE_SAME || merged == ENVELOPE_MARKED;
}

void check_replica_disk(struct verdict *verdict,
                        const struct check_replica *replica, struct slice key,
                        struct slice bytes)
{
    struct envelope stored = { 0 };
    struct buf mine = { 0 };

    if (!replica->replicator || !replicator_count(replica->replicator))
        return; /* it is not loaded yet */
    if (replicator_look_at(replica->replicator, key, 1))
        return; /* the workload looks for elements on disks */
    if (!replicator_bytes(replica->replicator, key, &mine) ||
        !envelope_decode(bytes, &stored) || !has_all(buf_slice(&mine), &stored))
        violation(verdict, "no-lost-update", replica->index,
                  "key %.*s is not what its disk has, and more",
                  (int)key.size, (const char *)key.data);
    envelope_fini(&stored);
    buf_fini(&mine);
}

bool check_replica_stores(struct slice bytes, const struct dd_element *element)
{
    struct envelope stored = { 0 };
    bool found = envelope_decode(bytes, &stored) && stored.value &&
                 dd_kind_of(stored.value) == DD_ORSET &&
                 dd_set_has(stored.value, element);

    envelope_fini(&stored);
    return found;
}

/* ---- pruned-stays-pruned ---- */

static const struct dd_value *value_of(const struct check_replica *replica,
                                       struct slice key)
{
    return replica->replicator ? replicator_look(replica->replicator, key)
                               : NULL;
}

void check_replica_marks(struct verdict *verdict,
                         const struct check_replica *replica, struct slice key)
{
    const struct dd_value *value = value_of(replica, key);
    const struct node_id *node;

    for (uint32_t at = 0;
         value && (node = replicator_next_pruned(replica->replicator, key, &at));)
        if (!node_equal(node, &replica->node) &&
            dd_needs_pruning(value, node))
            violation(verdict, "pruned-stays-pruned", replica->index,
                      "key %.*s is pruned from %s uid %llu, which is in it",
                      (int)key.size, (const char *)key.data,
                      node->address.host, (unsigned long long)node->uid);
}

static bool is_member(const struct check_replica *replicas, uint32_t count,
                      const struct node_id *node)
{
    for (uint32_t i = 0; i < count; i++)
        if (node_equal(&replicas[i].node, node))
            return true;
    return false;
}

bool check_replica_clean(const struct check_replica *replicas, uint32_t count,
                         struct slice key, char *text, size_t size)
{
    bool is_clean = true;

    for (uint32_t i = 0; i < count && is_clean; i++) {
        const struct dd_value *value = value_of(&replicas[i], key);
        struct dd_nodes nodes = { 0 };

        if (value)
            dd_add_modified_by(value, &nodes);
        for (uint32_t k = 0; k < nodes.items.count && is_clean; k++) {
            const struct node_id *node = &nodes.items.items[k];

            is_clean = is_member(replicas, count, node) ||
                       !dd_needs_pruning(value, node);
            if (!is_clean)
                (void)snprintf(text, size,
                               "n%u: key %.*s has something of %s uid %llu, which is no member",
                               replicas[i].index, (int)key.size,
                               (const char *)key.data, node->address.host,
                               (unsigned long long)node->uid); /* cut at size */
        }
        vec_fini(&nodes.items);
    }
    return is_clean;
}

/* ---- replica-convergence ---- */

bool check_replica_equal(const struct check_replica *replicas, uint32_t count,
                         struct slice key, char *text, size_t size)
{
    struct buf first = { 0 };
    bool is_there = false;
    bool is_equal = true;

    for (uint32_t i = 0; i < count && is_equal; i++) {
        const struct replicator *replicator = replicas[i].replicator;
        struct buf bytes = { 0 };
        bool has = replicator && replicator_bytes(replicator, key, &bytes);

        if (!i) {
            is_there = has;
            buf_put_slice(&first, buf_slice(&bytes));
        }
        is_equal = has == is_there &&
                   slice_equal(buf_slice(&bytes), buf_slice(&first));
        if (!is_equal)
            (void)snprintf(text, size,
                           "key %.*s is %s%zu bytes at n%u and %s%zu at n%u",
                           (int)key.size, (const char *)key.data,
                           is_there ? "" : "not there, ", first.size,
                           replicas[0].index, has ? "" : "not there, ",
                           bytes.size, replicas[i].index); /* cut at size */
        buf_fini(&bytes);
    }
    buf_fini(&first);
    return is_equal;
}
