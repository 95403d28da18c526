/* Checks single duties of a replicator, one message or tick at a time: targets of writes and reads,
 * accepted deltas, answers to statuses, pruning markers, stored entries. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"
#include "ddata/replicator_inside.h"
#include "lone.h"

static const struct replicator_settings quiet = { .gossip_off = true };

/* The envelope's bytes; its parts are spent. */
static struct buf bytes_of(struct envelope *envelope)
{
    struct buf bytes = { 0 };

    envelope_encode(&bytes, envelope, NULL, ENVELOPE_WHOLE);
    envelope_fini(envelope);
    return bytes;
}

static struct dd_value *counter_of(const struct node_id *node, uint64_t amount)
{
    struct dd_value *value = dd_new(DD_GCOUNTER);

    dd_gcounter_add(value, node, amount);
    return value;
}

static void receive_entry(struct lone *lone, enum message_kind kind,
                          const char *key, struct envelope *envelope,
                          int64_t from, int64_t to)
{
    struct buf bytes = bytes_of(envelope);
    struct message_entry entry = { slice_text(key), buf_slice(&bytes), from,
                                   to, 0 };

    lone_receive(lone, &(struct message){ .kind = kind,
                                          .entries = &entry,
                                          .count = 1,
                                          .from = lone->peer,
                                          .reply = true,
                                          .send_back = true });
    buf_fini(&bytes);
}

/* Sent messages of that kind. */
static uint32_t sent(struct lone *lone, enum message_kind kind)
{
    uint32_t count = 0;
    enum message_kind next;

    while ((next = lone_next_kind(lone)) != MESSAGE_UNKNOWN)
        count += next == kind;
    return count;
}

static bool is_last_answer(struct lone *lone, enum replicator_answer answer)
{
    struct replicator_news news;
    bool is_it = false;

    while (replicator_next_news(lone->replicator, &news))
        is_it = news.kind == REPLICATOR_NEWS_ANSWER && news.answer == answer;
    return is_it;
}

static void only_members_that_were_up_are_asked(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct node_id weak = { { "weak", 1 }, 1 };
    struct node_id joining = { { "joining", 1 }, 1 };
    struct node_id leaving = { { "leaving", 1 }, 1 };
    struct consistency all = to_all(1000);
    (void)state;

    lone_tell(lone, &weak, MEMBER_WEAKLY_UP, true);
    lone_tell(lone, &joining, MEMBER_JOINING, true);
    replicator_get(lone->replicator, 0, 1, slice_text("A"), &all,
                   &lone->outbox);
    assert_int_equal(sent(lone, MESSAGE_READ), 1);
    assert_int_equal(replicator_count(lone->replicator), 2);
    /* This node became known when it left. */
    lone_tell(lone, &leaving, MEMBER_LEAVING, true);
    replicator_get(lone->replicator, 0, 2, slice_text("A"), &all,
                   &lone->outbox);
    assert_int_equal(sent(lone, MESSAGE_READ), 2);
    lone_free(lone);
}

static void a_majority_has_a_minimum(void **state)
{
    struct cluster *c = cluster_of(51, 6);
    struct consistency capped = { CONSISTENCY_MAJORITY, 0, 5, 1000 };
    (void)state;

    (void)do_count(c, 0, "A", 1, capped);
    assert_int_equal(c->sent_of['I'], 4);
    cluster_free(c);
}

/* A replica that did not acknowledge a delta gets the whole value without refusing it. */
static void lost_deltas_are_sent_whole(void **state)
{
    struct cluster *c = cluster_of(52, 3);
    uint64_t token;
    (void)state;

    c->dropped = 'Q';
    token = do_add(c, 0, "S", "a", to_all(1000));
    cluster_run(c, 190 * MS);
    assert_int_equal(c->sent_of['I'], 0);
    cluster_run(c, 30 * MS);
    assert_int_equal(c->sent_of['I'], 2);
    assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    cluster_free(c);
}

static void ordered_deltas_go_to_the_same_replicas(void **state)
{
    struct cluster *c = cluster_of(53, 7);
    (void)state;

    for (uint32_t i = 0; i < 10; i++) {
        char name[4] = { 'e', (char)('0' + i), 0 };
        uint64_t token = do_add(c, 0, "S", name, to_majority(1000));

        cluster_run(c, 15 * MS);
        assert_true(is_answered(c, 0, token, REPLICATOR_SUCCESS));
    }
    assert_int_equal(counters_at(c, 0)->full_resends, 0);
    assert_int_equal(c->sent_of['Q'], 30);
    cluster_free(c);
}

static struct dd_value *foreign_of(const char *text)
{
    struct dd_value *value;

    assert_int_equal(dd_decode((struct dd_other){ .serializer = 99,
                                                  .bytes = slice_text(text) },
                               &value),
                     DD_OK);
    return value;
}

/* The replicator cannot tell which is newer, so it keeps both. */
static void a_read_of_different_foreign_values_finds_both(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct consistency all = to_all(1000);
    struct envelope envelope = { .value = foreign_of("two") };
    struct buf bytes = bytes_of(&envelope);
    struct message_entry entry = { .bytes = buf_slice(&bytes) };
    (void)state;

    lone_update(lone, slice_text("F"), foreign_of("one"), &local);
    assert_true(is_last_answer(lone, REPLICATOR_SUCCESS));
    replicator_get(lone->replicator, 0, 2, slice_text("F"), &all,
                   &lone->outbox);
    lone_answer(lone, CLUSTER_PATH "/$a",
                &(struct message){ .kind = MESSAGE_READ_RESULT,
                                   .entries = &entry,
                                   .count = 1 });
    assert_true(is_last_answer(lone, REPLICATOR_SUCCESS));
    assert_non_null(replicator_look_at(lone->replicator, slice_text("F"), 1));
    lone_update(lone, slice_text("F"), foreign_of("three"), &local);
    assert_true(is_last_answer(lone, REPLICATOR_MODIFY_FAILURE));
    buf_fini(&bytes);
    lone_free(lone);
}

static struct envelope marked(struct lone *lone, const struct node_id *owner,
                              const struct node_id *removed, bool is_seen)
{
    struct envelope envelope = { .value = counter_of(removed, 3) };

    envelope_prune_begin(&envelope, removed, owner);
    if (is_seen)
        (void)pruning_see_all(&envelope.pruning, &lone->peer.address);
    return envelope;
}

static const struct node_id ghost = { { "ghost", 9 }, 9 };

/* The marker's owner learns which nodes saw it, even for an unknown key. */
static void pruning_markers_are_sent_back(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct envelope envelope = marked(lone, &lone->peer, &ghost, false);
    struct envelope again = { 0 };
    struct message gossip;
    (void)state;

    receive_entry(lone, MESSAGE_GOSSIP, "A", &envelope, 0, 0);
    assert_true(lone_next(lone, &gossip));
    assert_int_equal(gossip.kind, MESSAGE_GOSSIP);
    assert_false(gossip.send_back);
    assert_true(envelope_decode(gossip.entries[0].bytes, &again));
    assert_true(pruning_is_seen(pruning_find(&again.pruning, &ghost),
                                &lone->identity.node.address));
    message_fini(&gossip);
    envelope_fini(&again);
    /* Without markers the peer has everything. */
    envelope.value = counter_of(&lone->peer, 1);
    receive_entry(lone, MESSAGE_GOSSIP, "B", &envelope, 0, 0);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    lone_free(lone);
}

static void a_chunk_is_answered_with_its_own_keys(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct message status = { .kind = MESSAGE_STATUS, .chunks = 3, .chunk = 1 };
    struct message gossip;
    uint32_t expected = 0;
    (void)state;

    for (uint32_t i = 0; i < 30; i++) {
        char key[8];

        snprintf(key, sizeof key, "k%u", (unsigned)i);
        lone_put(lone, slice_text(key));
        expected += abs(hash_java(slice_text(key)) % 3) == 1;
    }
    lone_receive(lone, &status);
    assert_true(lone_next(lone, &gossip));
    assert_int_equal(gossip.count, expected);
    assert_false(gossip.send_back);
    message_fini(&gossip);
    assert_in_range(expected, 1, 29);
    lone_free(lone);
}

static struct dd_value *set_delta(struct lone *lone, struct dd_writer *writer,
                                  int64_t number)
{
    struct dd_value *set = dd_new(DD_ORSET);
    struct dd_element element = dd_long(number);
    struct dd_value *delta;
    (void)lone;

    dd_orset_add(set, writer, &element);
    delta = dd_take_delta(set);
    dd_free(set);
    return delta;
}

static void deltas_are_applied_in_order(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct dd_writer writer = { lone->peer, 0 };
    struct envelope envelope = { .value = set_delta(lone, &writer, 1) };
    (void)state;

    receive_entry(lone, MESSAGE_DELTAS, "S", &envelope, 1, 2);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    assert_int_equal(lone_counters(lone)->deltas_applied, 1);
    envelope.value = set_delta(lone, &writer, 2);
    receive_entry(lone, MESSAGE_DELTAS, "S", &envelope, 1, 2);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    assert_int_equal(lone_counters(lone)->deltas_repeated, 1);
    envelope.value = set_delta(lone, &writer, 3);
    receive_entry(lone, MESSAGE_DELTAS, "S", &envelope, 4, 4);
    assert_int_equal(lone_next_kind(lone), MESSAGE_DELTA_NACK);
    assert_int_equal(lone_counters(lone)->delta_gaps, 1);
    envelope.value = set_delta(lone, &writer, 4);
    receive_entry(lone, MESSAGE_DELTAS, "S", &envelope, 2, 3); /* overlaps */
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    assert_int_equal(
        dd_set_count(replicator_look(lone->replicator, slice_text("S"))), 2);
    /* The order of a counter's deltas does not matter. */
    envelope.value = counter_of(&lone->peer, 5);
    receive_entry(lone, MESSAGE_DELTAS, "C", &envelope, 9, 9);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    lone_free(lone);
}

static struct envelope pruned(const struct node_id *removed,
                              struct dd_value *value)
{
    struct envelope envelope = { .value = value };

    pruning_perform(pruning_put(&envelope.pruning, removed), INT64_MAX / 2);
    return envelope;
}

/* The marker would delete the removed node's part, and the delta lacks what was taken over. */
static void deltas_wait_for_pruning_done_elsewhere(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct dd_writer writer = { lone->peer, 0 };
    struct envelope envelope = pruned(&ghost, set_delta(lone, &writer, 1));
    (void)state;

    receive_entry(lone, MESSAGE_DELTAS, "S", &envelope, 1, 1);
    assert_int_equal(lone_next_kind(lone), MESSAGE_DELTA_NACK);
    assert_int_equal(lone_counters(lone)->delta_gaps, 1);
    envelope = pruned(&ghost, dd_new(DD_ORSET));
    receive_entry(lone, MESSAGE_WRITE, "S", &envelope, 0, 0);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    envelope = pruned(&ghost, set_delta(lone, &writer, 1));
    receive_entry(lone, MESSAGE_DELTAS, "S", &envelope, 1, 1);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    lone_free(lone);
}

/* A counter's delta looks like a whole value, so it has only markers of pruning by its writer. */
static void a_counter_delta_carries_only_own_markers(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct envelope envelope = pruned(&ghost, counter_of(&lone->peer, 5));
    struct envelope sent_one = { 0 };
    struct dd_value *value;
    struct message message;
    (void)state;

    receive_entry(lone, MESSAGE_WRITE, "C", &envelope, 0, 0);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    value = dd_new(DD_GCOUNTER);
    dd_gcounter_add(value, &lone->identity.node, 1);
    lone_update(lone, slice_text("C"), value, &local);
    replicator_step(lone->replicator, 400 * MS, &lone->outbox);
    assert_true(lone_next(lone, &message));
    assert_int_equal(message.kind, MESSAGE_DELTAS);
    assert_true(envelope_decode(message.entries[0].bytes, &sent_one));
    assert_int_equal(sent_one.pruning.marks.count, 0);
    message_fini(&message);
    envelope_fini(&sent_one);
    lone_free(lone);
}

static uint32_t marks_of(struct lone *lone, const char *key)
{
    struct envelope envelope = { 0 };
    struct buf bytes = { 0 };
    uint32_t count;

    assert_true(
        replicator_bytes(lone->replicator, slice_text(key), &bytes));
    assert_true(envelope_decode(buf_slice(&bytes), &envelope));
    count = envelope.pruning.marks.count;
    envelope_fini(&envelope);
    buf_fini(&bytes);
    return count;
}

/* An address that saw a marker has its sender's data of the removed node, which a delta does not
 * bring. */
static void deltas_omit_the_addresses_that_saw_a_marker(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct dd_writer writer = { lone->peer, 0 };
    struct envelope envelope = { .value = set_delta(lone, &writer, 1) };
    struct envelope sent_one = { 0 };
    struct dd_value *value;
    struct message message;
    (void)state;

    envelope_prune_begin(&envelope, &ghost, &lone->identity.node);
    (void)pruning_see_all(&envelope.pruning, &lone->peer.address);
    receive_entry(lone, MESSAGE_DELTAS, "S", &envelope, 1, 1);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    assert_int_equal(marks_of(lone, "S"), 0);
    envelope = marked(lone, &lone->peer, &ghost, false);
    receive_entry(lone, MESSAGE_WRITE, "C", &envelope, 0, 0);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    assert_int_equal(marks_of(lone, "C"), 1);
    value = dd_new(DD_GCOUNTER);
    dd_gcounter_add(value, &lone->identity.node, 1);
    lone_update(lone, slice_text("C"), value, &local);
    replicator_step(lone->replicator, 400 * MS, &lone->outbox);
    assert_true(lone_next(lone, &message));
    assert_int_equal(message.kind, MESSAGE_DELTAS);
    assert_true(envelope_decode(message.entries[0].bytes, &sent_one));
    assert_int_equal(sent_one.pruning.marks.count, 0);
    message_fini(&message);
    envelope_fini(&sent_one);
    lone_free(lone);
}

/* This node has not heard of the removal yet. */
static void deltas_of_a_member_being_pruned_are_dropped(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct envelope envelope =
        marked(lone, &lone->identity.node, &lone->peer, false);
    (void)state;

    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    envelope.value = counter_of(&lone->peer, 5);
    receive_entry(lone, MESSAGE_DELTAS, "A", &envelope, 1, 1);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    assert_int_equal(lone_counters(lone)->removed, 1);
    lone_free(lone);
}

static void many_deltas_are_sent_in_several_messages(void **state)
{
    struct replicator_settings settings = { .gossip_off = true,
                                            .frame_size = 16 * 1024 };
    struct lone *lone = lone_new(&settings);
    char text[1001];
    struct dd_element element = { .kind = DD_TEXT };
    struct message message;
    uint32_t count = 0;
    uint32_t messages = 0;
    (void)state;

    memset(text, 'x', sizeof text - 1);
    text[1000] = 0;
    element.text = slice_text(text);
    for (uint32_t i = 0; i < 40; i++) {
        struct dd_value *value = dd_new(DD_GSET);
        char key[8];

        snprintf(key, sizeof key, "k%u", (unsigned)i);
        dd_gset_add(value, &element);
        lone_update(lone, slice_text(key), value, &local);
        assert_true(is_last_answer(lone, REPLICATOR_SUCCESS));
    }
    replicator_step(lone->replicator, 400 * MS, &lone->outbox);
    while (lone_next(lone, &message)) {
        assert_int_equal(message.kind, MESSAGE_DELTAS);
        count += message.count;
        messages++;
        message_fini(&message);
    }
    assert_int_equal(count, 40);
    assert_in_range(messages, 3, 5);
    assert_int_equal(lone_counters(lone)->unsent, 0);
    lone_free(lone);
}

static void unreachable_replicas_are_sent_no_deltas(void **state)
{
    struct lone *lone = lone_new(&quiet);
    (void)state;

    lone_tell(lone, &lone->peer, MEMBER_UP, false);
    lone_put(lone, slice_text("A"));
    replicator_step(lone->replicator, 400 * MS, &lone->outbox);
    assert_int_equal(sent(lone, MESSAGE_DELTAS), 0);
    lone_tell(lone, &lone->peer, MEMBER_UP, true);
    replicator_step(lone->replicator, 800 * MS, &lone->outbox);
    assert_int_equal(sent(lone, MESSAGE_DELTAS), 1);
    assert_non_null(lone->replicator->deltas.slots.items[0].address);
    replicator_peer_removed(lone->replicator, 0, &lone->peer);
    assert_null(lone->replicator->deltas.slots.items[0].address);
    lone_free(lone);
}

static const struct replicator_settings pruning = {
    .gossip_off = true, .pruning_interval_ms = 1000, .pruning_marker_ms = 5000,
    .durable_pruning_marker_ms = 50000
};

/* All have seen it, and all are reachable. */
static void a_marker_is_performed_when_all_have_seen_it(void **state)
{
    struct lone *lone = lone_new(&pruning);
    struct envelope envelope =
        marked(lone, &lone->identity.node, &ghost, false);
    (void)state;

    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    replicator_step(lone->replicator, 1 * SECOND, &lone->outbox);
    assert_int_equal(lone_counters(lone)->pruned, 0);
    envelope = marked(lone, &lone->identity.node, &ghost, true);
    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    lone_tell(lone, &lone->peer, MEMBER_UP, false);
    replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
    assert_int_equal(lone_counters(lone)->pruned, 0);
    lone_tell(lone, &lone->peer, MEMBER_UP, true);
    replicator_step(lone->replicator, 3 * SECOND, &lone->outbox);
    assert_int_equal(lone_counters(lone)->pruned, 1);
    assert_false(dd_needs_pruning(
        replicator_look(lone->replicator, slice_text("A")), &ghost));
    lone_free(lone);
}

static const struct replicator_settings quick_pruning = {
    .gossip_off = true, .pruning_interval_ms = 1000,
    .pruning_dissemination_ms = 5000
};

static void step_seconds(struct lone *lone, uint64_t from, uint64_t to)
{
    for (uint64_t second = from; second <= to; second++)
        replicator_step(lone->replicator, second * SECOND, &lone->outbox);
}

/* A member's data may come before its news. */
static void a_member_found_in_data_before_its_news_is_not_pruned(void **state)
{
    struct envelope envelope = { .value = counter_of(&ghost, 3) };
    struct lone *lone = lone_new(&quick_pruning);
    (void)state;

    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    step_seconds(lone, 1, 4);
    assert_true(replicas_is_removed(&lone->replicator->replicas, &ghost));
    assert_true(replicator_prunes(lone->replicator, &ghost));
    lone_tell(lone, &ghost, MEMBER_JOINING, true);
    assert_false(replicator_prunes(lone->replicator, &ghost));
    assert_false(replicas_is_removed(&lone->replicator->replicas, &ghost));
    step_seconds(lone, 5, 20);
    assert_int_equal(marks_of(lone, "A"), 0);
    replicator_peer_removed(lone->replicator, 20 * SECOND, &ghost);
    step_seconds(lone, 21, 24);
    assert_int_equal(marks_of(lone, "A"), 0);
    step_seconds(lone, 25, 40);
    assert_int_equal(marks_of(lone, "A"), 1);
    lone_free(lone);
}

/* The marker is older than the news; the time counts from the removal. */
static void a_marker_waits_while_its_node_is_a_member(void **state)
{
    struct lone *lone = lone_new(&quick_pruning);
    struct envelope envelope =
        marked(lone, &lone->identity.node, &ghost, true);
    (void)state;

    (void)pruning_see_all(&envelope.pruning, &ghost.address);
    lone_tell(lone, &ghost, MEMBER_UP, true);
    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    step_seconds(lone, 1, 10);
    assert_int_equal(lone_counters(lone)->pruned, 0);
    replicator_peer_removed(lone->replicator, 10 * SECOND, &ghost);
    step_seconds(lone, 11, 14);
    assert_int_equal(lone_counters(lone)->pruned, 0);
    step_seconds(lone, 15, 20);
    assert_int_equal(lone_counters(lone)->pruned, 1);
    lone_free(lone);
}

/* Another marker would not win over the removed owner's, so the leader performs it. */
static void the_leader_performs_markers_of_removed_owners(void **state)
{
    const struct node_id owners[] = { { { "a", 2551 }, 4 },
                                      { { "me", 2551 }, 4 },
                                      { { "me", 2551 }, 6 } };
    (void)state;

    for (uint32_t i = 0; i < 3; i++) {
        struct lone *lone = lone_new(&quick_pruning);
        struct envelope envelope = marked(lone, &owners[i], &ghost, true);

        receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
        step_seconds(lone, 1, 5);
        assert_int_equal(lone_counters(lone)->pruned, 0);
        step_seconds(lone, 6, 10);
        assert_int_equal(lone_counters(lone)->pruned, 1);
        lone_free(lone);
    }
}

static void markers_of_other_members_are_left_to_them(void **state)
{
    const struct node_id owner = { { "a", 2551 }, 4 };
    struct lone *lone = lone_new(&quick_pruning);
    struct envelope envelope;
    (void)state;

    lone_tell(lone, &owner, MEMBER_EXITING, true); /* does not lead */
    assert_true(replicas_leads(&lone->replicator->replicas));
    envelope = marked(lone, &owner, &ghost, true);
    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    step_seconds(lone, 1, 30);
    assert_int_equal(lone_counters(lone)->pruned, 0);
    replicator_peer_removed(lone->replicator, 30 * SECOND, &owner);
    step_seconds(lone, 31, 34);
    assert_int_equal(lone_counters(lone)->pruned, 0);
    step_seconds(lone, 35, 40);
    assert_int_equal(lone_counters(lone)->pruned, 1);
    lone_free(lone);
}

static void an_obsolete_marker_and_its_member_are_forgotten(void **state)
{
    struct lone *lone = lone_new(&pruning);
    struct envelope envelope = marked(lone, &lone->identity.node, &ghost, true);
    const struct replicas *replicas = &lone->replicator->replicas;
    const struct entry *entry;
    (void)state;

    replicas_note_found(&lone->replicator->replicas, &ghost);
    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    replicator_step(lone->replicator, 1 * SECOND, &lone->outbox);
    entry = entry_find(lone->replicator, slice_text("A"));
    assert_int_equal(entry->envelope.pruning.marks.count, 1);
    assert_true(replicas_is_removed(replicas, &ghost));
    replicator_wall(lone->replicator, CLUSTER_WALL_MS + 5000);
    replicator_step(lone->replicator, 2 * SECOND, &lone->outbox);
    assert_int_equal(entry->envelope.pruning.marks.count, 0);
    assert_false(replicas_is_removed(replicas, &ghost));
    lone_free(lone);
}

static void pruning_of_a_durable_key_is_stored(void **state)
{
    struct lone *lone = lone_with(&pruning, true);
    struct envelope envelope = marked(lone, &lone->identity.node, &ghost, true);
    struct envelope again = { 0 };
    struct replicator_news news;
    (void)state;

    replicator_loaded(lone->replicator, 0, true, &lone->outbox);
    receive_entry(lone, MESSAGE_WRITE, "durable", &envelope, 0, 0);
    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.kind, REPLICATOR_NEWS_STORE);
    assert_true(envelope_decode(news.bytes, &again));
    assert_int_equal(again.pruning.marks.count, 0); /* not performed */
    envelope_fini(&again);
    assert_false(replicator_next_news(lone->replicator, &news));
    replicator_step(lone->replicator, 1 * SECOND, &lone->outbox);
    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.kind, REPLICATOR_NEWS_STORE);
    assert_int_equal(news.ticket, 0);
    assert_true(envelope_decode(news.bytes, &again));
    assert_int_equal(again.pruning.marks.items[0].obsolete_at,
                     CLUSTER_WALL_MS + 50000);
    envelope_fini(&again);
    lone_free(lone);
}

/* Its stored form would differ. */
static void an_entry_changed_by_loading_is_stored_again(void **state)
{
    struct lone *lone = lone_with(&quiet, true);
    struct envelope envelope = { .value = counter_of(&lone->peer, 3) };
    struct replicator_news news;
    struct buf bytes;
    (void)state;

    versions_set(&envelope.versions, &lone->peer, 3);
    bytes = bytes_of(&envelope);
    replicator_load(lone->replicator, 0, slice_text("durable"),
                    buf_slice(&bytes));
    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.kind, REPLICATOR_NEWS_STORE);
    buf_clear(&bytes);
    buf_put_slice(&bytes, news.bytes);
    assert_false(replicator_next_news(lone->replicator, &news));
    replicator_load(lone->replicator, 0, slice_text("durable"),
                    buf_slice(&bytes));
    assert_false(replicator_next_news(lone->replicator, &news));
    buf_fini(&bytes);
    lone_free(lone);
}

static void messages_are_dropped_during_loading(void **state)
{
    struct lone *lone = lone_with(&quiet, true);
    struct envelope envelope = { .value = counter_of(&lone->peer, 3) };
    (void)state;

    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    assert_int_equal(lone_counters(lone)->loading, 1);
    assert_null(replicator_look(lone->replicator, slice_text("A")));
    lone_free(lone);
}

/* From both sides of a merge. */
static void versions_of_pruned_members_are_dropped(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct envelope envelope = { .value = counter_of(&ghost, 3) };
    const struct entry *entry;
    (void)state;

    versions_set(&envelope.versions, &ghost, 3);
    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    entry = entry_find(lone->replicator, slice_text("A"));
    assert_int_equal(versions_get(&entry->envelope.versions, &ghost), 3);
    envelope = marked(lone, &lone->peer, &ghost, false);
    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    assert_int_equal(versions_get(&entry->envelope.versions, &ghost), 0);
    envelope.value = counter_of(&ghost, 4);
    versions_set(&envelope.versions, &ghost, 4);
    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    assert_int_equal(versions_get(&entry->envelope.versions, &ghost), 0);
    lone_free(lone);
}

static void an_ended_replicator_only_answers_commands(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct envelope envelope = { .value = counter_of(&lone->peer, 3) };
    const struct dd_value *current;
    (void)state;

    replicator_store_lost(lone->replicator);
    receive_entry(lone, MESSAGE_WRITE, "A", &envelope, 0, 0);
    assert_int_equal(lone_counters(lone)->ended, 1);
    replicator_step(lone->replicator, 10 * SECOND, &lone->outbox);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    assert_int_equal(replicator_deadline(lone->replicator), NEVER);
    assert_int_equal(replicator_update_begin(lone->replicator, 0, 1,
                                             slice_text("A"), &current,
                                             &lone->outbox),
                     REPLICATOR_ANSWERED);
    assert_true(is_last_answer(lone, REPLICATOR_STOPPED));
    assert_false(replicator_subscribe(lone->replicator, 1, slice_text("A")));
    assert_true(replicator_view(lone->replicator).has_ended);
    lone_free(lone);
}

static void the_key_of_news_can_be_passed_back(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct replicator_news news;
    char key[200];
    (void)state;

    memset(key, 'k', sizeof key);
    lone_put(lone, slice_of(key, sizeof key));
    replicator_get(lone->replicator, 0, 1, slice_of(key, sizeof key), &local,
                   &lone->outbox);
    for (uint32_t i = 0; i < 20; i++) {
        assert_true(replicator_next_news(lone->replicator, &news));
        assert_int_equal(news.answer, REPLICATOR_SUCCESS);
        replicator_get(lone->replicator, 0, 1, news.key, &local,
                       &lone->outbox);
    }
    assert_true(replicator_next_news(lone->replicator, &news));
    assert_memory_equal(news.key.data, key, sizeof key);
    assert_false(replicator_next_news(lone->replicator, &news));
    lone_free(lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_members_that_were_up_are_asked),
        cmocka_unit_test(a_majority_has_a_minimum),
        cmocka_unit_test(lost_deltas_are_sent_whole),
        cmocka_unit_test(ordered_deltas_go_to_the_same_replicas),
        cmocka_unit_test(a_read_of_different_foreign_values_finds_both),
        cmocka_unit_test(pruning_markers_are_sent_back),
        cmocka_unit_test(a_chunk_is_answered_with_its_own_keys),
        cmocka_unit_test(deltas_are_applied_in_order),
        cmocka_unit_test(deltas_wait_for_pruning_done_elsewhere),
        cmocka_unit_test(a_counter_delta_carries_only_own_markers),
        cmocka_unit_test(deltas_omit_the_addresses_that_saw_a_marker),
        cmocka_unit_test(deltas_of_a_member_being_pruned_are_dropped),
        cmocka_unit_test(many_deltas_are_sent_in_several_messages),
        cmocka_unit_test(unreachable_replicas_are_sent_no_deltas),
        cmocka_unit_test(a_marker_is_performed_when_all_have_seen_it),
        cmocka_unit_test(an_obsolete_marker_and_its_member_are_forgotten),
        cmocka_unit_test(a_member_found_in_data_before_its_news_is_not_pruned),
        cmocka_unit_test(a_marker_waits_while_its_node_is_a_member),
        cmocka_unit_test(the_leader_performs_markers_of_removed_owners),
        cmocka_unit_test(markers_of_other_members_are_left_to_them),
        cmocka_unit_test(pruning_of_a_durable_key_is_stored),
        cmocka_unit_test(an_entry_changed_by_loading_is_stored_again),
        cmocka_unit_test(messages_are_dropped_during_loading),
        cmocka_unit_test(versions_of_pruned_members_are_dropped),
        cmocka_unit_test(an_ended_replicator_only_answers_commands),
        cmocka_unit_test(the_key_of_news_can_be_passed_back),
    };

    return cmocka_run_group_tests_name("ddata_duties", tests, NULL, NULL);
}
