/* Checks what a member sends after it took over the part of a removed one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/timers.h"
#include "ddata/replicator_inside.h"
#include "lone.h"

static const struct node_id ghost = { { "ghost", 9 }, 9 };
static const struct replicator_settings pruning = { .gossip_off = true,
                                                    .pruning_interval_ms =
                                                        1000 };

static const struct consistency to_both = { .level = CONSISTENCY_ALL,
                                            .timeout_ms = 1000 };

static void receive_write(struct lone *lone, struct envelope *envelope)
{
    struct message_entry entry = { .key = slice_text("C") };
    struct message write = { .kind = MESSAGE_WRITE,
                             .entries = &entry,
                             .count = 1,
                             .from = lone->peer };
    struct buf bytes = { 0 };

    envelope_encode(&bytes, envelope, NULL, ENVELOPE_WHOLE);
    entry.bytes = buf_slice(&bytes);
    lone_receive(lone, &write);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    buf_fini(&bytes);
    envelope_fini(envelope);
}

/* Receives the value, given, with a marker that this node takes over the removed one's share and
 * that all have seen. */
static void receive_marked(struct lone *lone, struct dd_value *value)
{
    struct envelope envelope = { .value = value };

    envelope_prune_begin(&envelope, &ghost, &lone->identity.node);
    (void)pruning_see_all(&envelope.pruning, &lone->peer.address);
    receive_write(lone, &envelope);
}

static struct envelope next_delta(struct lone *lone)
{
    struct envelope envelope = { 0 };
    struct message message;

    assert_true(lone_next(lone, &message));
    assert_int_equal(message.kind, MESSAGE_DELTAS);
    assert_true(envelope_decode(message.entries[0].bytes, &envelope));
    message_fini(&message);
    return envelope;
}

static struct dd_value *counter_of(const struct node_id *node, uint64_t amount)
{
    struct dd_value *value = dd_new(DD_GCOUNTER);

    dd_gcounter_add(value, node, amount);
    return value;
}

/* The marker deletes the removed node's share at the receiver. */
static void a_delta_older_than_a_pruning_has_the_share_taken_over(void **state)
{
    struct lone *lone = lone_new(&pruning);
    struct envelope delta;
    (void)state;

    receive_marked(lone, counter_of(&ghost, 3));
    replicator_step(lone->replicator, 900 * MS, &lone->outbox);
    lone_update(lone, slice_text("C"), counter_of(&lone->identity.node, 1),
                &local);
    replicator_step(lone->replicator, 1100 * MS, &lone->outbox);
    assert_int_equal(lone_counters(lone)->pruned, 1);
    replicator_step(lone->replicator, 1300 * MS, &lone->outbox);
    delta = next_delta(lone);
    assert_int_equal(delta.pruning.marks.count, 1);
    assert_int_equal(dd_gcounter_get(delta.value).low, 4);
    envelope_fini(&delta);
    lone_free(lone);
}

static struct dd_value *counted_both_ways(const struct node_id *node,
                                          int64_t up, int64_t down)
{
    struct dd_value *value = dd_new(DD_PNCOUNTER);

    dd_pncounter_add(value, node, up);
    dd_pncounter_add(value, node, -down);
    return value;
}

/* A decrement alone lacks the increments that were taken over. */
static void a_delta_of_one_half_has_both_shares_taken_over(void **state)
{
    struct lone *lone = lone_new(&pruning);
    struct envelope plain = { .value = counted_both_ways(&lone->peer, 2, 0) };
    struct envelope delta;
    (void)state;

    receive_marked(lone, counted_both_ways(&ghost, 30, 5));
    replicator_step(lone->replicator, 1100 * MS, &lone->outbox);
    assert_int_equal(lone_counters(lone)->pruned, 1);
    receive_write(lone, &plain);
    lone_update(lone, slice_text("C"),
                counted_both_ways(&lone->identity.node, 0, 6), &local);
    replicator_step(lone->replicator, 1600 * MS, &lone->outbox);
    delta = next_delta(lone);
    assert_int_equal(delta.pruning.marks.count, 1);
    assert_int_equal(dd_pncounter_get(delta.value).size.low, 24);
    envelope_fini(&delta);
    lone_free(lone);
}

/* Also a delta that is sent at once with a write. */
static void a_write_has_the_share_taken_over(void **state)
{
    struct lone *lone = lone_new(&pruning);
    struct envelope delta = { 0 };
    struct message message;
    (void)state;

    receive_marked(lone, counted_both_ways(&ghost, 30, 5));
    replicator_step(lone->replicator, 1100 * MS, &lone->outbox);
    lone_update(lone, slice_text("C"),
                counted_both_ways(&lone->identity.node, 0, 6), &to_both);
    assert_true(lone_next(lone, &message));
    assert_int_equal(message.kind, MESSAGE_WRITE);
    assert_true(envelope_decode(message.entries[0].bytes, &delta));
    assert_int_equal(delta.pruning.marks.count, 1);
    assert_int_equal(dd_pncounter_get(delta.value).size.low, 24);
    message_fini(&message);
    envelope_fini(&delta);
    lone_free(lone);
}

static struct dd_value *set_of(struct dd_writer *writer, const char *text)
{
    struct dd_value *set = dd_new(DD_ORSET);
    struct dd_element element = dd_text(text);

    dd_orset_add(set, writer, &element);
    return set;
}

/* A JVM takes all deltas that follow its version, also from a node that has pruned more. */
static void take_as_jvm(struct envelope *jvm, const struct message *message)
{
    for (uint32_t i = 0; i < message->count; i++) {
        const struct message_entry *part = &message->entries[i];
        struct envelope delta = { 0 };

        if (part->from >
            versions_get(&jvm->versions, &message->from) + 1)
            continue;
        assert_true(envelope_decode(part->bytes, &delta));
        versions_fini(&delta.versions);
        versions_set(&delta.versions, &message->from, part->to);
        assert_int_equal(envelope_merge(jvm, &delta, 0), ENVELOPE_CHANGED);
        envelope_fini(&delta);
    }
}

static bool has(const struct dd_value *set, const char *text)
{
    struct dd_element element = dd_text(text);

    return dd_set_has(set, &element);
}

/* The owner added the removed node's element again, and then another one. A receiver of the second
 * addition alone would consider the first seen and removed. So only replicas with the pruned state
 * get it. */
static void no_delta_alone_claims_that_elements_taken_over_were_seen(void **state)
{
    struct lone *lone = lone_new(&pruning);
    struct dd_writer writer = { .node = ghost };
    struct dd_value *set = set_of(&writer, "ghost's");
    struct envelope jvm = { .value = dd_copy(set) };
    struct envelope come = { .value = dd_copy(set) };
    struct envelope whole = { 0 };
    struct dd_element added = dd_text("added");
    struct buf bytes = { 0 };
    struct message message;
    (void)state;

    receive_marked(lone, set);
    replicator_step(lone->replicator, 1100 * MS, &lone->outbox);
    receive_write(lone, &come); /* as the peer has it: nothing new */
    set = dd_copy(replicator_look(lone->replicator, slice_text("C")));
    dd_orset_add(set, &lone->writer, &added);
    lone_update(lone, slice_text("C"), set, &local);
    replicator_step(lone->replicator, 1900 * MS, &lone->outbox);
    while (lone_next(lone, &message)) {
        if (message.kind == MESSAGE_DELTAS)
            take_as_jvm(&jvm, &message);
        message_fini(&message);
    }
    assert_true(replicator_bytes(lone->replicator, slice_text("C"), &bytes));
    assert_true(envelope_decode(buf_slice(&bytes), &whole));
    (void)envelope_merge(&jvm, &whole, 0);
    assert_true(has(jvm.value, "added"));
    assert_true(has(jvm.value, "ghost's"));
    buf_fini(&bytes);
    envelope_fini(&whole);
    envelope_fini(&jvm);
    lone_free(lone);
}

/* Also where it forgot how many deltas it made: otherwise others would consider later ones
 * repeats. */
static void elements_taken_over_have_the_next_delta_version(void **state)
{
    struct lone *lone = lone_new(&pruning);
    struct dd_writer gone = { .node = ghost };
    struct envelope known = { .value = set_of(&gone, "ghost's") };
    struct dd_element added = dd_text("added");
    struct message message;
    struct dd_value *set;
    (void)state;

    versions_set(&known.versions, &lone->identity.node, 5);
    envelope_prune_begin(&known, &ghost, &lone->identity.node);
    (void)pruning_see_all(&known.pruning, &lone->peer.address);
    receive_write(lone, &known);
    replicator_step(lone->replicator, 1100 * MS, &lone->outbox);
    assert_int_equal(lone_counters(lone)->pruned, 1);
    set = dd_copy(replicator_look(lone->replicator, slice_text("C")));
    dd_orset_add(set, &lone->writer, &added);
    lone_update(lone, slice_text("C"), set, &to_both);
    assert_true(lone_next(lone, &message));
    assert_int_equal(message.kind, MESSAGE_DELTAS);
    assert_int_equal(message.entries[0].from, 7);
    message_fini(&message);
    lone_free(lone);
}

/* Although nothing was added. */
static void subscribers_get_removed_parts(void **state)
{
    struct lone *lone = lone_new(&pruning);
    struct envelope counted = { .value = counter_of(&ghost, 3) };
    struct envelope taken_over = { .value = counter_of(&lone->peer, 3) };
    struct envelope marked = { .value = counter_of(&lone->peer, 3) };
    struct dd_writer peer = { .node = lone->peer };
    struct replicator_news news;
    uint32_t told = 0;
    (void)state;

    receive_write(lone, &counted);
    receive_write(lone, &taken_over);
    assert_true(replicator_subscribe(lone->replicator, 1, slice_text("C")));
    replicator_flush(lone->replicator);
    while (replicator_next_news(lone->replicator, &news))
        told++;
    assert_int_equal(told, 1);
    envelope_prune_begin(&marked, &ghost, &lone->peer);
    envelope_prune(&marked, &ghost, &peer, CLUSTER_WALL_MS + 1000000);
    receive_write(lone, &marked);
    replicator_flush(lone->replicator);
    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.kind, REPLICATOR_NEWS_CHANGED);
    assert_int_equal(dd_gcounter_get(news.value).low, 3);
    lone_free(lone);
}

/* Otherwise it would differ from others for ever. */
static void an_obsolete_marker_is_in_no_digest(void **state)
{
    struct lone *lone = lone_new(&pruning);
    uint8_t before[DIGEST_SIZE], after[DIGEST_SIZE];
    struct entry *entry;
    (void)state;

    receive_marked(lone, counter_of(&ghost, 3));
    replicator_step(lone->replicator, 1100 * MS, &lone->outbox);
    entry = entry_find(lone->replicator, slice_text("C"));
    memcpy(before, entry_digest(lone->replicator, entry).data, DIGEST_SIZE);
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + 7 * INT64_C(3600000));
    replicator_step(lone->replicator, 2200 * MS, &lone->outbox);
    assert_int_equal(entry->envelope.pruning.marks.count, 0);
    memcpy(after, entry_digest(lone->replicator, entry).data, DIGEST_SIZE);
    assert_memory_not_equal(before, after, DIGEST_SIZE);
    lone_free(lone);
}

#define MANY 5000 /* keys: more than a step checks */

/* All counters contain a share of a removed member; there is no other node. */
static struct lone *alone_with_many(void)
{
    struct lone *lone = lone_new(
        &(struct replicator_settings){ .gossip_off = true,
                                       .gossip_interval_ms = 200,
                                       .pruning_interval_ms = 1000,
                                       .pruning_dissemination_ms = 500 });
    char key[16];

    lone_tell(lone, &ghost, MEMBER_UP, true);
    for (uint32_t i = 0; i < MANY; i++) {
        (void)snprintf(key, sizeof key, "%u", i);
        lone_update(lone, slice_text(key), counter_of(&ghost, 1), &local);
    }
    replicator_peer_removed(lone->replicator, 0, &ghost);
    replicator_peer_removed(lone->replicator, 0, &lone->peer);
    for (uint64_t ms = 300; ms < 1000; ms += 300)
        replicator_step(lone->replicator, ms * MS, &lone->outbox);
    assert_int_equal(lone_counters(lone)->pruned, 0);
    return lone;
}

/* A step of control must be short; the next is due at once. */
static void many_keys_are_pruned_in_several_steps(void **state)
{
    struct lone *lone = alone_with_many();
    uint64_t now = 1100 * MS, before = 0;
    uint32_t steps = 0;
    (void)state;

    do {
        assert_true(steps == 0 || replicator_deadline(lone->replicator) == 0);
        replicator_step(lone->replicator, now++, &lone->outbox);
        assert_in_range(lone_counters(lone)->pruned, before + 1, before + MANY / 4);
        before = lone_counters(lone)->pruned;
        steps++;
    } while (before < MANY);
    assert_in_range(steps, 4, MANY / 20);
    lone_free(lone);
}

/* Also if it becomes unreachable between two steps. */
static void an_unreachable_member_stops_pruning(void **state)
{
    struct lone *lone = alone_with_many();
    uint64_t before;
    (void)state;

    replicator_step(lone->replicator, 1100 * MS, &lone->outbox);
    before = lone_counters(lone)->pruned;
    assert_in_range(before, 1, MANY - 1);
    lone_tell(lone, &lone->peer, MEMBER_JOINING, false); /* its answer is not awaited */
    for (uint64_t i = 1; i < MANY; i++)
        replicator_step(lone->replicator, 1100 * MS + i, &lone->outbox);
    assert_int_equal(lone_counters(lone)->pruned, before);
    assert_true(replicator_deadline(lone->replicator) > 1101 * MS);
    replicator_peer_removed(lone->replicator, 1200 * MS, &lone->peer);
    for (uint64_t i = 1; i < MANY; i++)
        replicator_step(lone->replicator, 2100 * MS + i, &lone->outbox);
    assert_int_equal(lone_counters(lone)->pruned, MANY);
    lone_free(lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_delta_older_than_a_pruning_has_the_share_taken_over),
        cmocka_unit_test(a_delta_of_one_half_has_both_shares_taken_over),
        cmocka_unit_test(a_write_has_the_share_taken_over),
        cmocka_unit_test(no_delta_alone_claims_that_elements_taken_over_were_seen),
        cmocka_unit_test(elements_taken_over_have_the_next_delta_version),
        cmocka_unit_test(subscribers_get_removed_parts),
        cmocka_unit_test(an_obsolete_marker_is_in_no_digest),
        cmocka_unit_test(many_keys_are_pruned_in_several_steps),
        cmocka_unit_test(an_unreachable_member_stops_pruning),
    };

    return cmocka_run_group_tests_name("ddata_prune", tests, NULL, NULL);
}
