/* Checks clusters in which some replicas accept deltas as JVMs do, while members are removed and
 * pruned. Everything added, acknowledged and not removed is there at the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "cluster.h"
#include "ddata/message.h"
#include "ddata/replicator_inside.h"

#define SEEDS 20
#define ROUNDS 150
#define KEY_SIZE 8

enum sort { SET, REGISTERS, COUNTERS, SETS, SETS_DELTAS, MAP, SORT_COUNT };

/* An addition under the key of its sort. */
struct addition {
    enum sort sort;
    uint32_t node;
    uint64_t uid; /* of the node at that time */
    uint64_t token;
    bool is_acknowledged;
    bool is_removed; /* some node has removed it, perhaps */
};

struct run {
    struct cluster *cluster;
    struct addition additions[ROUNDS];
    uint32_t count;
};

/* ---- like a JVM ---- */

/* Not the first node: it leads, so it prunes. */
static bool is_jvm(uint32_t index)
{
    return index > 0;
}

/* The key's value with the delta, if it is the next one. A JVM does not check whether the sender
 * has pruned more. */
static bool take_next(const struct replicator *replicator,
                      const struct message *message,
                      const struct message_entry *part, struct buf *bytes)
{
    const struct entry *entry = entry_find(replicator, part->key);
    int64_t current =
        entry ? versions_get(&entry->envelope.versions, &message->from) : 0;
    struct envelope whole = { 0 };
    struct envelope delta = { 0 };

    if (current >= part->to || part->from > current + 1 ||
        replicas_is_removed(&replicator->replicas, &message->from) ||
        (entry && pruning_find(&entry->envelope.pruning, &message->from)))
        return false; /* answered and dropped as here */
    check(envelope_decode(part->bytes, &delta));
    if (!dd_needs_causal_delivery(delta.value)) {
        envelope_fini(&delta);
        return false; /* accepted as here */
    }
    versions_fini(&delta.versions);
    versions_set(&delta.versions, &message->from, part->to);
    if (entry) {
        envelope_copy(&whole, &entry->envelope);
        (void)envelope_merge(&whole, &delta, replicator->wall_ms);
        envelope_fini(&delta);
    } else {
        check(envelope_settle(&delta));
        whole = delta;
    }
    envelope_encode(bytes, &whole, NULL, ENVELOPE_WHOLE);
    envelope_fini(&whole);
    return true;
}

/* Each delta alone. An accepted one becomes a write of its result. */
static void deliver(struct cluster *c, uint32_t index,
                    const struct inbound *inbound)
{
    struct message message;

    if (!is_jvm(index) ||
        message_kind_of(inbound->manifest) != MESSAGE_DELTAS) {
        cluster_hand_over(c, index, inbound);
        return;
    }
    check(message_get(MESSAGE_DELTAS, inbound->payload, &message));
    for (uint32_t i = 0; i < message.count; i++) {
        struct message_entry part = message.entries[i];
        struct message one = message;
        struct inbound changed = *inbound;
        struct buf bytes = { 0 };
        struct buf payload = { 0 };

        one.entries = &part;
        one.count = 1;
        if (take_next(c->nodes[index].replicator, &message, &part, &bytes)) {
            one.kind = MESSAGE_WRITE;
            part.bytes = buf_slice(&bytes);
            if (!message.reply)
                changed.sender = slice_of(NULL, 0);
        }
        message_put(&payload, &one);
        changed.manifest = slice_text(message_manifest(one.kind));
        changed.payload = buf_slice(&payload);
        cluster_hand_over(c, index, &changed);
        buf_fini(&payload);
        buf_fini(&bytes);
    }
    message_fini(&message);
}

/* ---- changes ---- */

static struct dd_value *new_of(enum sort sort)
{
    static const enum dd_kind kinds[] = {
        [SET] = DD_ORSET, [REGISTERS] = DD_LWWMAP,
        [COUNTERS] = DD_PNCOUNTERMAP, [MAP] = DD_ORMAP,
    };

    return sort == SETS || sort == SETS_DELTAS
               ? dd_multimap_new(sort == SETS_DELTAS)
               : dd_new(kinds[sort]);
}

static struct dd_element name_of(const struct run *run,
                                 const struct addition *addition, char *text)
{
    snprintf(text, KEY_SIZE, "n%u", (unsigned)(addition - run->additions));
    return dd_text(text);
}

static void add_to(struct cluster *c, uint32_t index, struct dd_value *value,
                   enum sort sort, const struct dd_element *name)
{
    struct dd_writer *writer = &c->nodes[index].writer;
    struct dd_value *inside;

    switch (sort) {
    case SET:
        dd_orset_add(value, writer, name);
        break;
    case REGISTERS:
        dd_lwwmap_put(value, writer, name,
                      (struct dd_other){ .serializer = 20,
                                         .bytes = name->text },
                      (int64_t)(c->now / MS), DD_CLOCK_LAST);
        break;
    case COUNTERS:
        dd_countermap_add(value, writer, name, 1);
        break;
    case SETS:
    case SETS_DELTAS:
        dd_multimap_add(value, writer, name, name);
        break;
    case MAP:
        inside = dd_new(DD_ORSET);
        dd_orset_add(inside, writer, name);
        check(dd_ormap_put(value, writer, name, inside));
        break;
    case SORT_COUNT:
        check(!"a sort");
    }
}

static void key_of(enum sort sort, char *key)
{
    snprintf(key, KEY_SIZE, "k%u", (unsigned)sort);
}

static bool is_there(const struct run *run, uint32_t index,
                     const struct addition *addition)
{
    char key[KEY_SIZE];
    char text[KEY_SIZE];
    struct dd_element name = name_of(run, addition, text);
    const struct dd_value *value;

    key_of(addition->sort, key);
    value = value_at(run->cluster, index, key);
    if (!value)
        return false;
    return addition->sort == SET ? dd_set_has(value, &name)
                                 : dd_map_get(value, &name) != NULL;
}

static struct consistency some_level(struct cluster *c)
{
    switch (rng_below(&c->rng, 4)) {
    case 0:
        return to_majority(500);
    case 1:
        return to_all(500);
    default:
        return local;
    }
}

/* Adds something, or removes something present. */
static void change(struct run *run, uint32_t index, struct addition *addition,
                   bool is_new)
{
    struct cluster *c = run->cluster;
    const struct dd_value *current;
    struct dd_value *value;
    struct dd_element name;
    uint64_t token;
    char key[KEY_SIZE];
    char text[KEY_SIZE];

    key_of(addition->sort, key);
    name = name_of(run, addition, text);
    current = value_at(c, index, key);
    value = current ? dd_copy(current) : new_of(addition->sort);
    if (is_new)
        add_to(c, index, value, addition->sort, &name);
    else if (addition->sort == SET)
        dd_orset_remove(value, &c->nodes[index].writer, &name);
    else
        dd_map_remove(value, &c->nodes[index].writer, &name);
    token = do_put(c, index, key, value, some_level(c));
    addition->is_removed |= !is_new;
    if (is_new)
        addition->token = token;
}

static void act(struct run *run)
{
    struct cluster *c = run->cluster;
    uint32_t index = (uint32_t)rng_below(&c->rng, c->count);

    if (rng_below(&c->rng, 4) == 0 && run->count) {
        struct addition *old =
            &run->additions[rng_below(&c->rng, run->count)];

        if (is_there(run, index, old))
            change(run, index, old, false);
    } else {
        struct addition *addition = &run->additions[run->count++];

        addition->sort = (enum sort)rng_below(&c->rng, SORT_COUNT);
        addition->node = index;
        addition->uid = c->nodes[index].identity.node.uid;
        change(run, index, addition, true);
    }
}

/* Before the node goes. */
static void note_answers(struct run *run)
{
    struct cluster *c = run->cluster;

    for (uint32_t i = 0; i < run->count; i++) {
        struct addition *addition = &run->additions[i];

        if (c->nodes[addition->node].identity.node.uid == addition->uid &&
            is_answered(c, addition->node, addition->token,
                        REPLICATOR_SUCCESS))
            addition->is_acknowledged = true;
    }
}

static void disturb(struct run *run)
{
    struct cluster *c = run->cluster;

    switch (rng_below(&c->rng, 6)) {
    case 0:
        cluster_split(c, 1 + (uint32_t)rng_below(&c->rng, c->count - 1));
        break;
    case 1:
        c->loss_percent = (uint32_t)rng_below(&c->rng, 30);
        break;
    case 2:
    case 3:
        cluster_heal(c);
        note_answers(run);
        cluster_restart(c, (uint32_t)rng_below(&c->rng, c->count));
        break;
    default:
        cluster_heal(c);
        cluster_run(c, rng_below(&c->rng, 20) * SECOND);
        break;
    }
}

static void run_seed(uint64_t seed)
{
    /* a restarted node has what it alone acknowledged */
    static const char *const durable[] = { "k*" };
    struct run run = { .cluster = cluster_new(seed) };
    struct cluster *c = run.cluster;

    c->deliver = deliver;
    c->durable_keys = durable;
    c->durable_key_count = 1;
    c->settings.pruning_interval_ms = 1000;
    c->settings.pruning_dissemination_ms = 5000;
    for (uint32_t n = 0; n < 3 + seed % 3; n++)
        (void)cluster_add(c);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        act(&run);
        if (rng_below(&c->rng, 12) == 0)
            disturb(&run);
        cluster_run(c, rng_below(&c->rng, 400) * MS);
    }
    c->loss_percent = 0;
    cluster_heal(c);
    cluster_run(c, 60 * SECOND);
    if (!cluster_converge(c, 60 * SECOND))
        fail_msg("seed %u does not converge", (unsigned)seed);
    note_answers(&run);
    for (uint32_t i = 0; i < run.count; i++)
        if (run.additions[i].is_acknowledged && !run.additions[i].is_removed &&
            !is_there(&run, 0, &run.additions[i]))
            fail_msg("seed %u: n%u is gone from k%u", (unsigned)seed,
                     (unsigned)i, (unsigned)run.additions[i].sort);
    cluster_free(c);
}

static void nothing_is_lost_with_jvms_that_take_each_next_delta(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run_seed(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_with_jvms_that_take_each_next_delta),
    };

    return cmocka_run_group_tests_name("ddata_jvm", tests, NULL, NULL);
}
