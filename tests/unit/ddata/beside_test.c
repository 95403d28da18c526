/* Checks how a replicator handles values that only JVM members can merge: what it answers, sends,
 * stores, logs and counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "ddata/replicator_inside.h"
#include "lone.h"
#include "world.h"

#define KEY "k"
#define WRITER CLUSTER_PATH "/$b#7"

static const struct replicator_settings quiet = { .gossip_off = true };

/* ---- messages ---- */

static struct dd_value *custom_of(const char *text)
{
    struct dd_value *value;

    check(dd_decode((struct dd_other){ .serializer = 99,
                                       .manifest = slice_text("N"),
                                       .bytes = slice_text(text) },
                    &value) == DD_OK);
    return value;
}

static void receive(struct lone *lone, const struct node_id *from,
                    const char *sender, const struct message *message)
{
    struct buf payload = { 0 };

    message_put(&payload, message);
    replicator_receive(lone->replicator, 0,
                       &(struct inbound){
                           .from = *from,
                           .sender = slice_text(sender),
                           .recipient = slice_text(CLUSTER_PATH),
                           .manifest = slice_text(message_manifest(message->kind)),
                           .payload = buf_slice(&payload),
                           .serializer = REPLICATOR_SERIALIZER,
                       },
                       &lone->outbox);
    buf_fini(&payload);
}

/* An envelope in a message of this kind; its value is given. */
static void send_envelope(struct lone *lone, const struct node_id *from,
                          const char *sender, enum message_kind kind,
                          struct envelope *envelope)
{
    struct buf bytes = { 0 };
    struct message_entry entry = { .key = slice_text(KEY), .from = 1, .to = 1 };

    envelope_encode(&bytes, envelope, NULL, ENVELOPE_WHOLE);
    entry.bytes = buf_slice(&bytes);
    receive(lone, from, sender,
            &(struct message){ .kind = kind,
                               .entries = &entry,
                               .count = 1,
                               .from = *from,
                               .reply = true });
    envelope_fini(envelope);
    buf_fini(&bytes);
}

static void send_value(struct lone *lone, const struct node_id *from,
                       const char *sender, enum message_kind kind,
                       const char *text)
{
    struct envelope envelope = { .value = custom_of(text) };

    send_envelope(lone, from, sender, kind, &envelope);
}

static struct node_id second_peer(struct lone *lone)
{
    struct node_id node = lone->peer;

    check(address_set(&node.address, "10.0.0.9", 8, 2559));
    node.uid = 99;
    lone_tell(lone, &node, MEMBER_UP, true);
    return node;
}

/* Two values, of two members. */
static struct node_id two_values(struct lone *lone)
{
    struct node_id other = second_peer(lone);

    send_value(lone, &lone->peer, WRITER, MESSAGE_WRITE, "one");
    send_value(lone, &other, WRITER, MESSAGE_WRITE, "two");
    return other;
}

static void drain(struct lone *lone)
{
    while (lone_next_kind(lone) != MESSAGE_UNKNOWN)
        ;
}

/* The text of a custom value in an envelope. */
static const char *text_of(struct slice bytes)
{
    static char text[64];
    struct envelope envelope = { 0 };
    struct buf unused = { 0 };
    struct dd_other other;

    check(envelope_decode(bytes, &envelope));
    other = dd_encode(envelope.value, &unused);
    (void)snprintf(text, sizeof text, "%.*s", (int)other.bytes.size,
                   (const char *)other.bytes.data);
    envelope_fini(&envelope);
    return text;
}

static uint32_t count_at_lone(const struct lone *lone)
{
    uint32_t count = 0;

    while (replicator_look_at(lone->replicator, slice_text(KEY), count))
        count++;
    return count;
}

static bool has(const struct lone *lone, const char *text)
{
    struct dd_value *value = custom_of(text);
    bool found = false;

    for (uint32_t i = 0; i < count_at_lone(lone); i++)
        found |= dd_equal(value, replicator_look_at(lone->replicator, slice_text(KEY), i));
    dd_free(value);
    return found;
}

static int64_t version_beside(const struct lone *lone, struct slice bytes)
{
    struct envelope envelope = { 0 };
    int64_t version;

    check(envelope_decode(bytes, &envelope));
    version = versions_get(&envelope.versions, &lone->identity.node);
    envelope_fini(&envelope);
    return version;
}

/* ---- writes and reads ---- */

static void writes_are_acknowledged_and_kept_side_by_side(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct trace_line line;
    struct message message;
    struct node_id other;
    (void)state;

    other = two_values(lone);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    /* the writer is asked for its state, to get the other value */
    assert_true(lone_next(lone, &message));
    assert_int_equal(message.kind, MESSAGE_STATUS);
    assert_int_equal(message.to_uid, other.uid);
    assert_int_equal(message.count, 1);
    assert_int_equal(message.chunks, INT32_MAX);
    message_fini(&message);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    assert_true(has(lone, "one") && has(lone, "two"));
    assert_int_equal(lone_counters(lone)->siblings, 1);
    assert_int_equal(lone_counters(lone)->unmerged, 0);

    /* the log has the key and the reason, once */
    assert_true(trace_next(lone->trace, &line));
    assert_int_equal(line.level, TRACE_INFO);
    assert_non_null(strstr(line.text, "side by side"));
    assert_non_null(strstr(line.text, "key=\"k\""));
    assert_non_null(strstr(line.text, "serializer 99 with manifest 'N'"));
    assert_false(trace_next(lone->trace, &line));
    /* and the writer is asked once in a round */
    send_value(lone, &other, CLUSTER_PATH "/$c#7", MESSAGE_WRITE, "three");
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    assert_false(has(lone, "two"));
    lone_free(lone);
}

/* The reader merges the parts, which do not count, and then the answer. */
static void a_read_gets_all_values(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct message_entry entry = { .key = slice_text(KEY) };
    struct message message;
    struct outbound out;
    (void)state;

    (void)two_values(lone);
    drain(lone);
    receive(lone, &lone->peer, WRITER,
            &(struct message){ .kind = MESSAGE_READ, .entries = &entry, .count = 1, .from = lone->peer });
    for (int i = 0; i < 2; i++) {
        assert_true(outbox_next(&lone->outbox, &out));
        assert_int_equal(out.sender.size > 0, i == 1);
        assert_true(slice_is(out.recipient, WRITER));
        assert_true(message_get(message_kind_of(out.manifest), out.payload, &message));
        assert_int_equal(message.kind, MESSAGE_READ_RESULT);
        assert_string_equal(text_of(message.entries[0].bytes), i ? "two" : "one");
        message_fini(&message);
    }
    assert_false(outbox_next(&lone->outbox, &out));
    lone_free(lone);
}

/* This node's own read: a result without a sender is a part. */
static void a_read_ends_with_the_last_value_of_a_member(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct consistency all = to_all(1000);
    struct envelope envelope = { .value = custom_of("one") };
    struct buf bytes = { 0 }, payload = { 0 };
    struct message_entry entry = { 0 };
    struct replicator_news news;
    (void)state;

    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    entry.bytes = buf_slice(&bytes);
    message_put(&payload, &(struct message){ .kind = MESSAGE_READ_RESULT, .entries = &entry, .count = 1 });
    replicator_get(lone->replicator, 0, 1, slice_text(KEY), &all, &lone->outbox);
    for (int i = 0; i < 2; i++) {
        assert_false(replicator_next_news(lone->replicator, &news));
        replicator_receive(lone->replicator, 0,
                           &(struct inbound){
                               .from = lone->peer,
                               .sender = i ? slice_text(CLUSTER_PATH "#9") : slice_of(NULL, 0),
                               .recipient = slice_text(CLUSTER_PATH "/$a"),
                               .manifest = slice_text("L"),
                               .payload = buf_slice(&payload),
                               .serializer = REPLICATOR_SERIALIZER,
                           },
                           &lone->outbox);
    }
    assert_true(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.answer, REPLICATOR_SUCCESS);
    assert_ptr_equal(replicator_news_value(lone->replicator, &news, 0), news.value);
    assert_null(replicator_news_value(lone->replicator, &news, 1));
    envelope_fini(&envelope);
    buf_fini(&bytes);
    buf_fini(&payload);
    lone_free(lone);
}

/* ---- changes ---- */

static struct envelope changed(const struct lone *lone, const char *text,
                               int64_t version)
{
    struct envelope envelope = { .value = custom_of(text) };

    versions_set(&envelope.versions, &lone->peer, version);
    return envelope;
}

/* Such a write may have only the change, which cannot be told from the whole. */
static void a_write_of_a_type_with_deltas_is_acknowledged_when_the_whole_has_come(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct envelope envelope = changed(lone, "change", 5);
    struct outbound out;
    (void)state;

    send_envelope(lone, &lone->peer, WRITER, MESSAGE_WRITE, &envelope);
    assert_int_equal(lone_next_kind(lone), MESSAGE_STATUS);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    assert_int_equal(count_at_lone(lone), 0);
    envelope = changed(lone, "old", 4); /* an earlier state is not enough */
    send_envelope(lone, &lone->peer, CLUSTER_PATH "#9", MESSAGE_GOSSIP, &envelope);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    envelope = changed(lone, "whole", 5);
    send_envelope(lone, &lone->peer, CLUSTER_PATH "#9", MESSAGE_GOSSIP, &envelope);
    assert_true(outbox_next(&lone->outbox, &out));
    assert_true(slice_is(out.manifest, "J"));
    assert_true(slice_is(out.recipient, WRITER));
    assert_false(outbox_next(&lone->outbox, &out));
    assert_true(has(lone, "whole") && count_at_lone(lone) == 1);
    assert_true(entry_find(lone->replicator, slice_text(KEY))->envelope.origin->is_acknowledged);
    lone_free(lone);
}

static void a_state_that_does_not_come_is_asked_for_again(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct envelope envelope = changed(lone, "change", 5);
    uint64_t now = 0;
    uint32_t asked = 0;
    (void)state;

    send_envelope(lone, &lone->peer, WRITER, MESSAGE_WRITE, &envelope);
    drain(lone);
    for (int i = 0; i < 40; i++) {
        now += 2 * SECOND;
        replicator_step(lone->replicator, now, &lone->outbox);
        asked += lone_next_kind(lone) == MESSAGE_STATUS;
    }
    assert_int_equal(asked, 14);
    assert_int_equal(lone_counters(lone)->pulls_lost, 1);
    /* nor is it asked for after its member is gone */
    envelope = changed(lone, "change", 6);
    send_envelope(lone, &lone->peer, WRITER, MESSAGE_WRITE, &envelope);
    drain(lone);
    replicator_peer_removed(lone->replicator, now, &lone->peer);
    for (int i = 0; i < 3; i++) {
        now += 2 * SECOND;
        replicator_step(lone->replicator, now, &lone->outbox);
    }
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    assert_int_equal(lone_counters(lone)->pulls_lost, 1);
    lone_free(lone);
}

static void writes_that_wait_for_the_whole_are_limited(void **state)
{
    struct lone *lone = lone_new(&quiet);
    (void)state;

    for (int i = 0; i <= REPLICATOR_PULLS_MAX; i++) {
        struct envelope envelope = changed(lone, "change", 5);

        send_envelope(lone, &lone->peer, WRITER, MESSAGE_WRITE, &envelope);
        drain(lone);
    }
    assert_int_equal(lone_counters(lone)->pulls_lost, 1);
    lone_free(lone);
}

static void deltas_are_refused_so_that_the_whole_comes(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct dd_writer writer = { .node = lone->peer };
    struct dd_element key = dd_text("x");
    struct envelope envelope = { .value = dd_new(DD_ORMAP) };
    struct dd_value *map = envelope.value;
    (void)state;

    /* of a map that contains such a value */
    check(dd_ormap_put(map, &writer, &key, custom_of("in")));
    envelope.value = dd_take_delta(map);
    send_envelope(lone, &lone->peer, WRITER, MESSAGE_DELTAS, &envelope);
    assert_int_equal(lone_next_kind(lone), MESSAGE_DELTA_NACK);
    assert_int_equal(count_at_lone(lone), 0);
    envelope.value = map;
    send_envelope(lone, &lone->peer, WRITER, MESSAGE_WRITE, &envelope);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    /* of another part of that map */
    map = dd_new(DD_ORMAP);
    key = dd_text("y");
    check(dd_ormap_put(map, &writer, &key, dd_new(DD_FLAG)));
    envelope.value = dd_take_delta(map);
    send_envelope(lone, &lone->peer, WRITER, MESSAGE_DELTAS, &envelope);
    assert_int_equal(lone_next_kind(lone), MESSAGE_DELTA_NACK);
    dd_free(map);
    /* of the type itself */
    send_value(lone, &lone->peer, WRITER, MESSAGE_DELTAS, "delta");
    assert_int_equal(lone_next_kind(lone), MESSAGE_DELTA_NACK);
    assert_int_equal(lone_counters(lone)->opaque_deltas, 3);
    assert_int_equal(lone_counters(lone)->delta_gaps, 0);
    lone_free(lone);
}

/* ---- gossip ---- */

static void send_status(struct lone *lone, const struct node_id *from, const char *digest)
{
    struct message_entry entry = { .key = slice_text(KEY), .bytes = slice_text(digest) };

    receive(lone, from, CLUSTER_PATH "#9",
            &(struct message){ .kind = MESSAGE_STATUS, .entries = &entry, .count = 1, .chunks = 1 });
}

/* The values for a member that lacks them: one after the other, each with a version of its own. */
static void gossip_sends_the_values_one_after_the_other(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct node_id other = two_values(lone);
    int64_t last = 0;
    struct message message;
    (void)state;

    send_value(lone, &lone->peer, CLUSTER_PATH "/$c#7", MESSAGE_WRITE, "three");
    drain(lone);
    send_status(lone, &other, "differs");
    /* "two" is its own */
    assert_true(lone_next(lone, &message));
    assert_int_equal(message.kind, MESSAGE_GOSSIP);
    assert_true(message.send_back);
    assert_int_equal(message.count, 1);
    assert_string_equal(text_of(message.entries[0].bytes), "three");
    last = version_beside(lone, message.entries[0].bytes);
    assert_true(last > 0);
    message_fini(&message);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);

    /* its answer contains that version, so "three" is in it */
    {
        struct envelope merged = { .value = custom_of("two and three") };

        versions_set(&merged.versions, &lone->identity.node, last);
        send_envelope(lone, &other, CLUSTER_PATH "#9", MESSAGE_GOSSIP, &merged);
    }
    assert_int_equal(count_at_lone(lone), 1);
    assert_true(has(lone, "two and three"));
    /* a single value is sent without a version */
    send_status(lone, &lone->peer, "differs");
    assert_true(lone_next(lone, &message));
    assert_int_equal(version_beside(lone, message.entries[0].bytes), last);
    message_fini(&message);
    lone_free(lone);
}

/* A member whose replicator began again gets its own earlier value back. */
static void gossip_sends_a_member_its_earlier_values(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct envelope envelope = changed(lone, "before", 5);
    struct message message;
    int64_t version;
    (void)state;

    send_envelope(lone, &lone->peer, CLUSTER_PATH "#9", MESSAGE_GOSSIP, &envelope);
    envelope = changed(lone, "after", 1);
    send_envelope(lone, &lone->peer, CLUSTER_PATH "#9", MESSAGE_GOSSIP, &envelope);
    assert_int_equal(count_at_lone(lone), 2);
    drain(lone);
    send_status(lone, &lone->peer, "differs");
    assert_true(lone_next(lone, &message));
    assert_string_equal(text_of(message.entries[0].bytes), "before");
    version = version_beside(lone, message.entries[0].bytes);
    message_fini(&message);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    envelope = changed(lone, "both", 5);
    versions_set(&envelope.versions, &lone->identity.node, version);
    send_envelope(lone, &lone->peer, CLUSTER_PATH "#9", MESSAGE_GOSSIP, &envelope);
    assert_int_equal(count_at_lone(lone), 1);
    lone_free(lone);
}

/* Two members that cannot merge the values would answer each other for ever. */
static void a_gossip_is_answered_with_all_values_once_in_a_round(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct node_id other = two_values(lone);
    struct envelope envelope = { .value = custom_of("three") };
    struct buf bytes = { 0 };
    struct message_entry entry = { .key = slice_text(KEY) };
    struct message gossip = { .kind = MESSAGE_GOSSIP, .entries = &entry, .count = 1, .send_back = true };
    (void)state;

    drain(lone);
    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    entry.bytes = buf_slice(&bytes);
    receive(lone, &other, CLUSTER_PATH "#9", &gossip);
    assert_int_equal(lone_next_kind(lone), MESSAGE_GOSSIP);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    receive(lone, &other, CLUSTER_PATH "#9", &gossip);
    assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
    replicator_step(lone->replicator, 3 * SECOND, &lone->outbox);
    receive(lone, &other, CLUSTER_PATH "#9", &gossip);
    assert_int_equal(lone_next_kind(lone), MESSAGE_GOSSIP);
    envelope_fini(&envelope);
    buf_fini(&bytes);
    lone_free(lone);
}

/* A replica adds itself to a marker together with its data: all of it. */
static void a_marker_is_seen_when_one_value_is_left(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct node_id other = two_values(lone), removed = node_of('r');
    const struct entry *entry = entry_find(lone->replicator, slice_text(KEY));
    (void)state;

    for (int64_t i = 0; i < 2; i++) {
        struct envelope envelope = { .value = custom_of(i ? "all" : "three") };
        const struct pruning_mark *mark;

        pruning_put(&envelope.pruning, &removed)->owner = other;
        if (i)
            versions_set(&envelope.versions, &lone->identity.node, entry->log.version);
        send_envelope(lone, &other, CLUSTER_PATH "#9", MESSAGE_GOSSIP, &envelope);
        mark = pruning_find(&entry->envelope.pruning, &removed);
        assert_int_equal(count_at_lone(lone), i ? 1 : 2);
        assert_int_equal(pruning_is_seen(mark, &lone->identity.node.address), i);
        drain(lone);
        send_status(lone, &other, "differs"); /* "one" is shown to the other member */
        drain(lone);
    }
    lone_free(lone);
}

/* ---- this node's changes ---- */

static void send_map(struct lone *lone, const struct node_id *from,
                     const char *custom, const char *name, uint64_t number)
{
    struct envelope envelope = { .value = dd_new(DD_ORMAP) };
    struct dd_writer writer = { .node = *from, .versions = (int64_t)number * 10 };
    struct dd_element key = dd_text("custom"), flag = dd_text(name);
    char sender[64];

    if (custom)
        check(dd_ormap_put(envelope.value, &writer, &key, custom_of(custom)));
    check(dd_ormap_put(envelope.value, &writer, &flag, dd_new(DD_FLAG)));
    (void)snprintf(sender, sizeof sender, CLUSTER_PATH "/$%c#7", (char)('a' + number));
    send_envelope(lone, from, sender, MESSAGE_WRITE, &envelope);
}

/* Puts a flag into the map as a program does. */
static void put_flag(struct lone *lone, const char *name, enum replicator_answer answer)
{
    const struct dd_value *current = NULL;
    struct dd_element flag = dd_text(name);
    struct replicator_news news;
    struct dd_value *value;

    check(replicator_update_begin(lone->replicator, 0, 1, slice_text(KEY), &current,
                                  &lone->outbox) == REPLICATOR_MODIFY);
    value = dd_copy(current);
    check(dd_ormap_put(value, &lone->writer, &flag, dd_new(DD_FLAG)));
    replicator_update_made(lone->replicator, 0, 1, slice_text(KEY), current, value, &local,
                           &lone->outbox);
    check(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.answer, answer);
}

static bool has_flag(const struct lone *lone, uint32_t index, const char *name)
{
    struct dd_element flag = dd_text(name);
    const struct dd_value *map = replicator_look_at(lone->replicator, slice_text(KEY), index);

    return map && dd_map_get(map, &flag);
}

static void a_change_of_a_map_continues_this_nodes_value(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct node_id other = second_peer(lone);
    (void)state;

    send_map(lone, &lone->peer, "one", "a", 1);
    put_flag(lone, "own1", REPLICATOR_SUCCESS);
    assert_int_equal(count_at_lone(lone), 1); /* it contains the other's */
    assert_true(has_flag(lone, 0, "a") && has_flag(lone, 0, "own1"));
    send_map(lone, &other, "two", "b", 1);
    put_flag(lone, "own2", REPLICATOR_SUCCESS);
    assert_int_equal(count_at_lone(lone), 2);
    assert_true(has_flag(lone, 0, "own1") && has_flag(lone, 0, "own2"));
    assert_false(has_flag(lone, 0, "b"));
    assert_true(has_flag(lone, 1, "b"));
    lone_free(lone);
}

/* A write sends the value with this node's changes, also when others came later. */
static void a_write_of_a_map_contains_the_change(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct node_id other = second_peer(lone);
    struct consistency two = to_count(2, 5000);
    struct message message;
    struct envelope sent = { 0 };
    struct dd_element own = dd_text("own");
    const struct dd_value *current = NULL;
    struct dd_value *value;
    (void)state;

    send_map(lone, &lone->peer, "one", "a", 1);
    drain(lone);
    check(replicator_update_begin(lone->replicator, 0, 1, slice_text(KEY), &current,
                                  &lone->outbox) == REPLICATOR_MODIFY);
    value = dd_copy(current);
    check(dd_ormap_put(value, &lone->writer, &own, dd_new(DD_FLAG)));
    replicator_update_made(lone->replicator, 0, 1, slice_text(KEY), current, value, &two,
                           &lone->outbox);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE);
    send_map(lone, &other, "two", "b", 1);
    drain(lone);
    replicator_step(lone->replicator, 1 * SECOND, &lone->outbox); /* the second round of members */
    assert_true(lone_next(lone, &message));
    assert_int_equal(message.kind, MESSAGE_WRITE);
    assert_true(envelope_decode(message.entries[0].bytes, &sent));
    assert_non_null(dd_map_get(sent.value, &own));
    assert_null(sent.origin);
    envelope_fini(&sent);
    message_fini(&message);
    lone_free(lone);
}

static void a_custom_value_cannot_be_changed_here(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct replicator_news news;
    (void)state;

    (void)two_values(lone);
    lone_update(lone, slice_text(KEY), custom_of("three"), &local);
    check(replicator_next_news(lone->replicator, &news));
    assert_int_equal(news.answer, REPLICATOR_MODIFY_FAILURE);
    assert_int_equal(count_at_lone(lone), 2);
    lone_free(lone);
}

/* Members have some of this node's versions without the values that were sent with others. */
static void a_map_that_merges_again_leaves_a_gap_in_its_deltas(void **state)
{
    struct lone *lone = lone_new(&quiet);
    const struct entry *entry;
    int64_t shown;
    (void)state;

    send_map(lone, &lone->peer, "one", "a", 1);
    put_flag(lone, "own1", REPLICATOR_SUCCESS);
    entry = entry_find(lone->replicator, slice_text(KEY));
    assert_int_equal(entry->log.items.count, 0); /* no deltas meanwhile */
    send_map(lone, &lone->peer, "two", "b", 2);
    drain(lone);
    send_status(lone, &lone->peer, "differs");
    shown = entry->log.version;
    assert_true(shown > 0);
    {
        struct envelope merged = { .value = dd_new(DD_ORMAP) };
        struct dd_writer writer = { .node = lone->peer, .versions = 50 };
        struct dd_element flag = dd_text("b");

        check(dd_ormap_put(merged.value, &writer, &flag, dd_new(DD_FLAG)));
        versions_set(&merged.versions, &lone->identity.node, shown);
        send_envelope(lone, &lone->peer, CLUSTER_PATH "#9", MESSAGE_GOSSIP, &merged);
    }
    assert_int_equal(count_at_lone(lone), 1);
    assert_null(entry->envelope.origin);
    assert_int_equal(entry->log.version, shown + 1);
    assert_int_equal(entry->log.items.count, 1);
    assert_null(entry->log.items.items[0].value);
    put_flag(lone, "own2", REPLICATOR_SUCCESS);
    assert_int_equal(entry->log.version, shown + 2);
    assert_int_equal(versions_get(&entry->envelope.versions, &lone->identity.node), shown + 2);
    lone_free(lone);
}

/* ---- limits, disks ---- */

static void too_many_values_are_refused_with_a_reason(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct trace_line line;
    (void)state;

    for (int i = 0; i <= SIBLINGS_MAX; i++) {
        struct node_id node = second_peer(lone);
        char text[16];

        node.uid = 1000 + (uint64_t)i;
        lone_tell(lone, &node, MEMBER_UP, true);
        (void)snprintf(text, sizeof text, "%d", i);
        send_value(lone, &node, WRITER, MESSAGE_WRITE, text);
        assert_int_equal(lone_next_kind(lone), i < SIBLINGS_MAX ? MESSAGE_WRITE_ACK : MESSAGE_WRITE_NACK);
        drain(lone);
    }
    assert_int_equal(count_at_lone(lone), SIBLINGS_MAX);
    assert_int_equal(lone_counters(lone)->siblings_full, 1);
    assert_true(trace_next(lone->trace, &line));
    assert_true(trace_next(lone->trace, &line));
    assert_int_equal(line.level, TRACE_WARNING);
    assert_non_null(strstr(line.text, "too many values"));
    assert_non_null(strstr(line.text, "keep a JVM member running"));
    assert_non_null(strstr(line.text, "key=\"k\""));
    lone_free(lone);
}

/* The last request to the disk. */
static uint64_t stored(struct lone *lone, struct buf *bytes)
{
    struct replicator_news news;
    uint64_t ticket = 0;

    while (replicator_next_news(lone->replicator, &news)) {
        if (news.kind != REPLICATOR_NEWS_STORE)
            continue;
        ticket = news.ticket;
        buf_clear(bytes);
        buf_put_slice(bytes, news.bytes);
    }
    return ticket;
}

static void durable_keys_keep_all_values(void **state)
{
    struct lone *lone = lone_with(&quiet, true);
    struct buf bytes = { 0 };
    struct node_id other = second_peer(lone);
    struct envelope envelope = { .value = custom_of("one") };
    struct message_entry entry = { .key = slice_text("dur") };
    struct buf part = { 0 };
    (void)state;

    replicator_loaded(lone->replicator, 0, true, &lone->outbox);
    for (int i = 0; i < 2; i++) {
        struct message write = { .kind = MESSAGE_WRITE, .entries = &entry, .count = 1,
                                 .from = i ? other : lone->peer };

        buf_clear(&part);
        envelope_encode(&part, &envelope, NULL, ENVELOPE_WHOLE);
        entry.bytes = buf_slice(&part);
        receive(lone, &write.from, WRITER, &write);
        envelope_fini(&envelope);
        envelope.value = custom_of("two");
        assert_true(lone_next_kind(lone) != MESSAGE_WRITE_ACK); /* not before it is stored */
        replicator_stored(lone->replicator, 0, stored(lone, &bytes), true, &lone->outbox);
        assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
        drain(lone);
    }
    lone_free(lone);

    lone = lone_with(&quiet, true);
    replicator_load(lone->replicator, 0, slice_text("dur"), buf_slice(&bytes));
    replicator_loaded(lone->replicator, 0, true, &lone->outbox);
    assert_non_null(replicator_look_at(lone->replicator, slice_text("dur"), 1));
    assert_null(replicator_look_at(lone->replicator, slice_text("dur"), 2));
    assert_int_equal(lone_counters(lone)->unloaded, 0);
    assert_int_equal(stored(lone, &part), 0); /* read as it was written */
    lone_free(lone);
    envelope_fini(&envelope);
    buf_fini(&bytes);
    buf_fini(&part);
}

/* A damaged key: what is left and what comes are together. */
static void a_damaged_key_keeps_all_values(void **state)
{
    struct lone *lone = lone_with(&quiet, true);
    struct envelope left = { .value = custom_of("left") };
    struct buf bytes = { 0 };
    struct message_entry entry = { .key = slice_text("dur") };
    struct node_id gone = node_of('g');
    (void)state;

    left.origin = origin_new(&gone, ORIGIN_WRITE);
    envelope_encode(&bytes, &left, NULL, ENVELOPE_STORED);
    replicator_hold(lone->replicator, 0, slice_text("dur"), buf_slice(&bytes));
    replicator_loaded(lone->replicator, 0, true, &lone->outbox);
    envelope_fini(&left);
    left.value = custom_of("came");
    buf_clear(&bytes);
    envelope_encode(&bytes, &left, NULL, ENVELOPE_WHOLE);
    entry.bytes = buf_slice(&bytes);
    receive(lone, &lone->peer, CLUSTER_PATH "#9",
            &(struct message){ .kind = MESSAGE_GOSSIP, .entries = &entry, .count = 1 });
    assert_false(replicator_is_held(lone->replicator, slice_text("dur")));
    assert_non_null(replicator_look_at(lone->replicator, slice_text("dur"), 1));
    envelope_fini(&left);
    buf_fini(&bytes);
    lone_free(lone);
}

static void a_deletion_drops_all_values(void **state)
{
    struct lone *lone = lone_new(&quiet);
    struct envelope deleted = { .value = dd_new(DD_DELETED) };
    (void)state;

    (void)two_values(lone);
    drain(lone);
    send_envelope(lone, &lone->peer, WRITER, MESSAGE_WRITE, &deleted);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    assert_int_equal(count_at_lone(lone), 0);
    send_value(lone, &lone->peer, WRITER, MESSAGE_WRITE, "late");
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_ACK);
    assert_int_equal(count_at_lone(lone), 0);
    lone_free(lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_are_acknowledged_and_kept_side_by_side),
        cmocka_unit_test(a_read_gets_all_values),
        cmocka_unit_test(a_read_ends_with_the_last_value_of_a_member),
        cmocka_unit_test(a_write_of_a_type_with_deltas_is_acknowledged_when_the_whole_has_come),
        cmocka_unit_test(a_state_that_does_not_come_is_asked_for_again),
        cmocka_unit_test(writes_that_wait_for_the_whole_are_limited),
        cmocka_unit_test(deltas_are_refused_so_that_the_whole_comes),
        cmocka_unit_test(gossip_sends_the_values_one_after_the_other),
        cmocka_unit_test(gossip_sends_a_member_its_earlier_values),
        cmocka_unit_test(a_gossip_is_answered_with_all_values_once_in_a_round),
        cmocka_unit_test(a_marker_is_seen_when_one_value_is_left),
        cmocka_unit_test(a_change_of_a_map_continues_this_nodes_value),
        cmocka_unit_test(a_write_of_a_map_contains_the_change),
        cmocka_unit_test(a_custom_value_cannot_be_changed_here),
        cmocka_unit_test(a_map_that_merges_again_leaves_a_gap_in_its_deltas),
        cmocka_unit_test(too_many_values_are_refused_with_a_reason),
        cmocka_unit_test(durable_keys_keep_all_values),
        cmocka_unit_test(a_damaged_key_keeps_all_values),
        cmocka_unit_test(a_deletion_drops_all_values),
    };

    return cmocka_run_group_tests_name("ddata_beside", tests, NULL, NULL);
}
