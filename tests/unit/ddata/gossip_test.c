/* Checks gossip: sent statuses, answers to statuses, and dropped messages; and pruning on several
 * replicas. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/gzip.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/rng.h"
#include "base/trace.h"
#include "cluster.h"
#include "ddata/envelope.h"
#include "lone.h"

static void put_keys(struct cluster *c, uint32_t index, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char key[16];

        snprintf(key, sizeof key, "key-%u", (unsigned)i);
        (void)do_count(c, index, key, i + 1, local);
    }
}

static void statuses_are_sent_in_chunks(void **state)
{
    struct replicator_settings settings = { .max_delta_elements = 5,
                                            .deltas_off = true };
    struct lone *lone = lone_new(&settings);
    uint32_t seen[24] = { 0 };
    uint32_t last = UINT32_MAX;
    uint32_t keys = 0;
    struct message status;
    (void)state;

    for (uint32_t i = 0; i < 122; i++) {
        char key[16];

        snprintf(key, sizeof key, "key-%u", (unsigned)i);
        lone_put(lone, slice_text(key));
    }
    for (uint32_t round = 1; round <= 12; round++) {
        uint32_t count = 0;

        replicator_step(lone->replicator, round * 2 * SECOND, &lone->outbox);
        while (lone_next(lone, &status)) {
            assert_int_equal(status.kind, MESSAGE_STATUS);
            assert_int_equal(status.chunks, 24);
            assert_true(last == UINT32_MAX ||
                        status.chunk == (last + 1) % 24);
            last = status.chunk;
            seen[last]++;
            keys += status.count;
            for (uint32_t i = 0; i < status.count; i++) {
                int32_t rest = hash_java(status.entries[i].key) % 24;

                assert_int_equal(rest < 0 ? -rest : rest, last);
                assert_int_equal(status.entries[i].bytes.size, 20);
            }
            assert_int_equal(status.to_uid, 77);
            assert_int_equal(status.from_uid, 5);
            message_fini(&status);
            count++;
        }
        assert_int_equal(count, REPLICATOR_STATUSES_MAX);
    }
    for (uint32_t i = 0; i < 24; i++)
        assert_int_equal(seen[i], 5);
    assert_int_equal(keys, 5 * 122);
    lone_free(lone);
}

/* Sends what differs or is missing there as gossip; asks for what is missing here. */
static void a_status_is_answered(void **state)
{
    static const uint8_t not_found[1] = { 0xff };
    struct replicator_settings settings = { .deltas_off = true };
    struct lone *lone = lone_new(&settings);
    struct message_entry entries[] = {
        { slice_text("different"), slice_text("01234567890123456789"), 0, 0, 0 },
        { slice_text("theirs"), slice_text("01234567890123456789"), 0, 0, 0 },
        { slice_text("nobodys"), slice_of(not_found, 1), 0, 0, 0 },
    };
    struct message status = { .kind = MESSAGE_STATUS,
                              .entries = entries,
                              .count = 3,
                              .chunks = 1,
                              .has_to_uid = true,
                              .to_uid = 5,
                              .has_from_uid = true,
                              .from_uid = 77 };
    struct message answer;
    (void)state;

    lone_put(lone, slice_text("different"));
    lone_put(lone, slice_text("mine"));
    lone_receive(lone, &status);
    assert_true(lone_next(lone, &answer));
    assert_int_equal(answer.kind, MESSAGE_GOSSIP);
    assert_true(answer.send_back);
    assert_int_equal(answer.count, 2);
    assert_int_equal(answer.to_uid, 77);
    message_fini(&answer);
    assert_true(lone_next(lone, &answer));
    assert_int_equal(answer.kind, MESSAGE_STATUS);
    assert_int_equal(answer.count, 1);
    assert_true(slice_is(answer.entries[0].key, "theirs"));
    assert_true(slice_equal(answer.entries[0].bytes, slice_of(not_found, 1)));
    message_fini(&answer);
    assert_false(lone_next(lone, &answer));
    /* For another incarnation. */
    status.to_uid = 6;
    lone_receive(lone, &status);
    assert_false(lone_next(lone, &answer));
    assert_int_equal(replicator_counters(lone->replicator)->other_uid, 1);
    lone_free(lone);
}

#define TURN_KEYS 12u
#define TURN_ROUND 5u

/* Counts the keys of an answer. False: more than allowed. */
static bool note_answer(struct lone *lone, uint32_t seen[TURN_KEYS])
{
    struct message answer;
    uint32_t count = 0;

    while (lone_next(lone, &answer)) {
        for (uint32_t i = 0; i < answer.count; i++) {
            assert_int_equal(answer.entries[i].key.size, 1);
            seen[answer.entries[i].key.data[0] - 'a']++;
        }
        count += answer.count;
        message_fini(&answer);
    }
    return count == TURN_ROUND;
}

/* Values stay different, because they do not merge or the peer has no room. There are more than an
 * answer may have, or a slow link carries; each is sent in turn. */
static void each_differing_key_is_sent_in_turn(void **state)
{
    static const char names[] = "abcdefghijkl";
    struct replicator_settings settings = { .deltas_off = true,
                                            .gossip_off = true,
                                            .max_delta_elements = TURN_ROUND };
    struct message_entry entries[TURN_KEYS];
    struct message status = { .kind = MESSAGE_STATUS,
                              .entries = entries,
                              .chunks = 1,
                              .has_to_uid = true,
                              .to_uid = 5,
                              .has_from_uid = true,
                              .from_uid = 77 };
    (void)state;

    for (uint32_t named = 0; named <= TURN_KEYS; named += TURN_KEYS / 2) {
        struct lone *lone = lone_new(&settings);
        uint32_t seen[TURN_KEYS] = { 0 };

        for (uint32_t i = 0; i < TURN_KEYS; i++) {
            entries[i] = (struct message_entry){
                .key = slice_of((const uint8_t *)names + i, 1),
                .bytes = slice_text("01234567890123456789"),
            };
            lone_put(lone, entries[i].key);
        }
        status.count = named;
        for (uint32_t round = 0; round < 60; round++) {
            lone_receive(lone, &status);
            assert_true(note_answer(lone, seen));
        }
        for (uint32_t i = 0; i < TURN_KEYS; i++)
            assert_in_range(seen[i], 10, 40);
        lone_free(lone);
    }
}

/* Adds elements of 100 bytes that do not compress, and lets a status be made. */
static void grow(struct lone *lone, struct rng *rng, uint32_t count,
                 uint64_t now)
{
    struct dd_value *value = dd_new(DD_GSET);
    struct message status;
    char text[101] = "";

    for (uint32_t i = 0; i < count; i++) {
        struct dd_element element = dd_text(text);

        for (size_t j = 0; j < sizeof text - 1; j++)
            text[j] = (char)('!' + rng_below(rng, 90));
        element.text = slice_text(text);
        dd_gset_add(value, &element);
    }
    lone_update(lone, slice_text("large"), value, &local);
    replicator_step(lone->replicator, now, &lone->outbox);
    while (lone_next(lone, &status))
        message_fini(&status);
}

static bool says(struct lone *lone, enum trace_level level, const char *text)
{
    struct trace_line line;

    return trace_next(lone->trace, &line) && line.level == level &&
           strstr(line.text, text) && strstr(line.text, "key=large");
}

/* log-data-size-exceeding: at that size, after each tenth of growth, and as a warning near the
 * largest message. */
static void a_large_value_is_logged(void **state)
{
    struct replicator_settings settings = { .deltas_off = true,
                                            .frame_size = 48 * 1024 };
    struct trace_line line;
    struct lone *lone = lone_new(&settings);
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    grow(lone, &rng, 90, 2 * SECOND); /* the default is 10 KiB */
    assert_false(trace_next(lone->trace, &line));
    grow(lone, &rng, 30, 4 * SECOND);
    assert_true(says(lone, TRACE_INFO, "value is large"));
    grow(lone, &rng, 5, 6 * SECOND);
    assert_false(trace_next(lone->trace, &line));
    grow(lone, &rng, 40, 8 * SECOND);
    assert_true(says(lone, TRACE_INFO, "value is large"));
    grow(lone, &rng, 220, 10 * SECOND);
    assert_true(says(lone, TRACE_WARNING, "nearly as large"));
    lone_free(lone);
    settings.logged_size = UINT64_MAX; /* off */
    lone = lone_new(&settings);
    grow(lone, &rng, 270, 2 * SECOND);
    assert_false(trace_next(lone->trace, &line));
    lone_free(lone);
}

/* A gossip of registers with gzip inside has their bytes unchanged; others are compressed. */
static void compressed_values_are_not_compressed_again(void **state)
{
    struct replicator_settings settings = { .deltas_off = true };
    struct lone *lone = lone_new(&settings);
    struct message status = { .kind = MESSAGE_STATUS,
                              .chunks = 1,
                              .has_to_uid = true,
                              .to_uid = 5 };
    struct buf bytes = { 0 };
    struct buf inner = { 0 };
    struct outbound out;
    (void)state;

    for (uint32_t i = 0; i < 200; i++)
        buf_put_u32(&bytes, i);
    gzip_deflate(&inner, buf_slice(&bytes));
    for (int is_packed = 1; is_packed >= 0; is_packed--) {
        struct dd_other held = {
            4, { 0 }, is_packed ? buf_slice(&inner) : buf_slice(&bytes)
        };

        lone_update(lone, slice_text("k"),
                    dd_register_new(&lone->identity.node, held, 2 - is_packed,
                                    DD_CLOCK_LAST),
                    &local);
        lone_receive(lone, &status);
        assert_true(outbox_next(&lone->outbox, &out));
        assert_true(slice_is(out.manifest, "N"));
        assert_int_equal(memmem(out.payload.data, out.payload.size,
                                held.bytes.data, held.bytes.size) != NULL,
                         is_packed);
        assert_false(outbox_next(&lone->outbox, &out));
    }
    buf_fini(&bytes);
    buf_fini(&inner);
    lone_free(lone);
}

static void equal_replicas_send_no_values(void **state)
{
    struct cluster *c = cluster_of(31, 3);
    uint64_t gossips;
    (void)state;

    put_keys(c, 0, 20);
    (void)do_add(c, 1, "S", "a", local);
    (void)do_add(c, 2, "S", "b", local);
    cluster_run(c, 20 * SECOND);
    assert_true(cluster_is_same(c));
    gossips = c->sent_of['N'];
    cluster_run(c, 60 * SECOND);
    assert_int_equal(c->sent_of['N'], gossips);
    assert_true(c->sent_of['M'] > 80);
    cluster_free(c);
}

/* Each is below the limit. */
static void large_gossips_are_split(void **state)
{
    struct cluster *c = cluster_new(32);
    (void)state;

    c->settings.frame_size = 16 * 1024;
    c->settings.deltas_off = true;
    (void)cluster_add(c);
    for (uint32_t i = 0; i < 60; i++) {
        char key[16];
        char text[1001];
        struct dd_value *value = dd_new(DD_GSET);
        struct dd_element element = { .kind = DD_TEXT };

        snprintf(key, sizeof key, "key-%u", (unsigned)i);
        for (uint32_t k = 0; k < 1000; k++)
            text[k] = (char)('a' + rng_below(&c->rng, 26));
        text[1000] = 0;
        element.text = slice_text(text);
        dd_gset_add(value, &element);
        (void)do_put(c, 0, key, value, local);
    }
    (void)cluster_add(c);
    cluster_run(c, 6 * SECOND);
    assert_true(cluster_is_same(c));
    assert_true(c->sent_of['N'] >= 4);
    assert_int_equal(counters_at(c, 0)->unsent, 0);
    cluster_free(c);
}

static void messages_of_unknown_nodes_are_dropped(void **state)
{
    struct replicator_settings settings = { .gossip_off = true };
    struct lone *lone = lone_new(&settings);
    struct message_entry entry = { slice_text("k"), { NULL, 0 }, 1, 1, 0 };
    struct message read = { .kind = MESSAGE_READ,
                            .entries = &entry,
                            .count = 1,
                            .from = { { "stranger", 1 }, 8 } };
    struct message answer;
    (void)state;

    lone_receive(lone, &read);
    assert_false(lone_next(lone, &answer));
    assert_int_equal(replicator_counters(lone->replicator)->strangers, 1);
    read.from = lone->peer;
    lone_receive(lone, &read);
    assert_true(lone_next(lone, &answer));
    assert_int_equal(answer.kind, MESSAGE_READ_RESULT);
    assert_int_equal(answer.count, 0);
    message_fini(&answer);
    /* A joining member is known; a removed one is not. */
    read.from = (struct node_id){ { "new", 1 }, 8 };
    replicator_peer(lone->replicator, 0,
                    &(struct member_info){ .node = read.from,
                                    .up_number = INT32_MAX,
                                    .status = MEMBER_JOINING,
                                    .reachable = true,
                                    .has_role = true });
    lone_receive(lone, &read);
    assert_true(lone_next(lone, &answer));
    message_fini(&answer);
    replicator_peer_removed(lone->replicator, 0, &read.from);
    lone_receive(lone, &read);
    assert_false(lone_next(lone, &answer));
    assert_int_equal(replicator_counters(lone->replicator)->strangers, 2);
    lone_free(lone);
}

static void each_dropped_message_is_counted(void **state)
{
    struct cluster *c = cluster_of(33, 2);
    const struct replicator_counters *counters = counters_at(c, 0);
    struct slice none = { NULL, 0 };
    (void)state;

    cluster_inject(c, 1, 0, CLUSTER_PATH, "A", none);
    assert_int_equal(counters->clients, 1);
    cluster_inject(c, 1, 0, CLUSTER_PATH, "Z", none);
    assert_int_equal(counters->unknown, 1);
    cluster_inject(c, 1, 0, CLUSTER_PATH, "I", slice_text("\x7f"));
    assert_int_equal(counters->malformed, 1);
    cluster_inject(c, 1, 0, CLUSTER_PATH, "J", none);
    cluster_inject(c, 1, 0, CLUSTER_PATH "/$zzzz", "J", none);
    cluster_inject(c, 1, 0, CLUSTER_PATH "/a", "L", none);
    assert_int_equal(counters->late, 3);
    cluster_free(c);
}

/* Other keys belong to a durable store. Each message is counted; the log has the first. */
static void a_key_that_is_not_utf8_is_dropped(void **state)
{
    static const char flag[] = "\x0a\x09\x0a\x02\x08\x01\x10\x0b\x22\x01" "D";
    static const char *const keys[] = { "\xfe" "dur", "\xff" "role" "\xff" "dur",
                                        "dur\xff" };
    struct lone *lone =
        lone_with(&(struct replicator_settings){ .gossip_off = true }, true);
    struct replicator_news news;
    struct trace_line line;
    (void)state;

    replicator_loaded(lone->replicator, 0, true, &lone->outbox);
    for (int i = 0; i < 3; i++) {
        struct message_entry part = {
            .key = slice_text(keys[i]),
            .bytes = slice_of(flag, sizeof flag - 1),
        };
        struct message write = { .kind = MESSAGE_WRITE,
                                 .from = lone->peer,
                                 .entries = &part,
                                 .count = 1 };

        lone_receive(lone, &write);
        assert_null(replicator_look(lone->replicator, part.key));
        assert_int_equal(lone_counters(lone)->malformed, i + 1);
        assert_int_equal(lone_next_kind(lone), MESSAGE_UNKNOWN);
        assert_false(replicator_next_news(lone->replicator, &news));
    }
    assert_true(trace_next(lone->trace, &line));
    assert_int_equal(line.level, TRACE_WARNING);
    assert_non_null(strstr(line.text, "unreadable message of a member"));
    assert_false(trace_next(lone->trace, &line));
    lone_free(lone);
}

/* Other kinds of answers, and answers of replicas that were not asked, have no effect. */
static void only_asked_replicas_count_as_answers(void **state)
{
    struct cluster *c = cluster_of(34, 3);
    uint64_t token;
    (void)state;

    c->nodes[1].side = 1;
    cluster_peer(c, 0, 2, MEMBER_WEAKLY_UP, true); /* still asked, because it was up */
    token = do_count(c, 0, "A", 1, to_all(1000));
    cluster_inject(c, 1, 0, CLUSTER_PATH "/$a", "L", slice_of(NULL, 0));
    assert_int_equal(counters_at(c, 0)->late, 1);
    cluster_inject(c, 0, 0, CLUSTER_PATH "/$a", "J", slice_of(NULL, 0));
    assert_int_equal(counters_at(c, 0)->not_asked, 1);
    assert_null(answer_of(c, 0, token));
    cluster_free(c);
}

/* The value, given, is received in a write, and refused. */
static void refuse(struct lone *lone, struct slice key, struct dd_value *value)
{
    struct envelope envelope = { .value = value };
    struct buf bytes = { 0 };
    struct message_entry part = { .key = key };
    struct message write = { .kind = MESSAGE_WRITE,
                             .entries = &part,
                             .count = 1,
                             .from = lone->peer };

    envelope_encode(&bytes, &envelope, NULL, ENVELOPE_WHOLE);
    part.bytes = buf_slice(&bytes);
    lone_receive(lone, &write);
    assert_int_equal(lone_next_kind(lone), MESSAGE_WRITE_NACK);
    buf_fini(&bytes);
    envelope_fini(&envelope);
}

static struct dd_value *set_of(char letter, size_t size)
{
    struct dd_value *set = dd_new(DD_GSET);
    char text[1000];
    struct dd_element element = { .kind = DD_TEXT,
                                  .text = slice_of(text, size) };

    check(size <= sizeof text);
    memset(text, letter, size);
    dd_gset_add(set, &element);
    return set;
}

static bool warns(struct lone *lone, const char *why, const char *key)
{
    struct trace_line line;

    return trace_next(lone->trace, &line) && line.level == TRACE_WARNING &&
           strstr(line.text, "value refused") &&
           strstr(line.text, why) && strstr(line.text, key);
}

/* Members differ permanently: logs each key once for each cause. */
static void a_refused_value_is_logged(void **state)
{
    struct replicator_settings settings = { .gossip_off = true,
                                            .entry_size_max = 1000 };
    struct lone *lone = lone_new(&settings);
    char key[REPLICATOR_KEY_SIZE_MAX + 1];
    struct trace_line line;
    (void)state;

    lone_put(lone, slice_text("number"));
    lone_put(lone, slice_text("other"));
    lone_update(lone, slice_text("set"), set_of('a', 600), &local);
    memset(key, 'k', sizeof key);
    for (int i = 0; i < 2; i++) {
        refuse(lone, slice_text("number"), dd_new(DD_FLAG));
        refuse(lone, slice_text("other"), dd_new(DD_FLAG));
        refuse(lone, slice_text("set"), set_of('b', 600));
        refuse(lone, slice_text("set"), dd_new(DD_FLAG));
        refuse(lone, slice_of(key, sizeof key), dd_new(DD_FLAG));
    }
    assert_true(warns(lone, "another type", "key=\"number\""));
    assert_true(warns(lone, "another type", "key=\"other\""));
    assert_true(warns(lone, "larger", "key=\"set\""));
    assert_true(warns(lone, "another type", "key=\"set\""));
    assert_true(warns(lone, "no room", "key=\"kkk"));
    assert_false(trace_next(lone->trace, &line));
    lone_free(lone);
}

static bool is_modified_by(const struct cluster *c, uint32_t index,
                           const char *key, const struct node_id *node)
{
    return dd_needs_pruning(value_at(c, index, key), node);
}

/* From the removal to the end of the marker. */
static void a_removed_member_is_pruned(void **state)
{
    struct cluster *c = cluster_new(35);
    struct node_id removed;
    uint64_t pruned;
    (void)state;

    c->settings.pruning_interval_ms = 10000;
    c->settings.pruning_dissemination_ms = 30000;
    c->settings.pruning_marker_ms = 100000;
    for (uint32_t n = 0; n < 4; n++)
        (void)cluster_add(c);
    for (uint32_t n = 0; n < 4; n++) {
        (void)do_count(c, n, "A", 10 + n, local);
        (void)do_add(c, n, "S", n % 2 ? "odd" : "even", local);
    }
    assert_true(cluster_converge(c, 20 * SECOND));
    removed = c->nodes[3].identity.node;
    cluster_remove(c, 3);
    cluster_run(c, 25 * SECOND);
    assert_true(is_modified_by(c, 0, "A", &removed));
    /* Pruning waits while a member is unreachable. */
    cluster_peer(c, 0, 2, MEMBER_UP, false);
    cluster_run(c, 60 * SECOND);
    assert_int_equal(counters_at(c, 0)->pruned, 0);
    cluster_peer(c, 0, 2, MEMBER_UP, true);
    cluster_run(c, 60 * SECOND);
    for (uint32_t n = 0; n < 3; n++) {
        assert_false(is_modified_by(c, n, "A", &removed));
        assert_false(is_modified_by(c, n, "S", &removed));
        assert_int_equal(count_at(c, n, "A"), 46);
        assert_int_equal(size_at(c, n, "S"), 2);
    }
    assert_true(cluster_is_same(c));
    assert_int_equal(counters_at(c, 0)->pruned, 2); /* leads: the lowest address */
    assert_int_equal(counters_at(c, 1)->pruned, 0);
    pruned = counters_at(c, 0)->pruned;
    cluster_run(c, 200 * SECOND);
    assert_int_equal(counters_at(c, 0)->pruned, pruned);
    (void)do_count(c, 0, "A", 4, local);
    assert_true(cluster_converge(c, 10 * SECOND));
    assert_int_equal(count_at(c, 2, "A"), 50);
    cluster_free(c);
}

/* A removal that has not seen this is concurrent, even if all replicas confirm it: as in Akka, the
 * addition wins. */
static void elements_taken_over_are_added_again(void **state)
{
    struct cluster *c = cluster_new(7);
    uint64_t token;
    (void)state;

    c->settings.pruning_interval_ms = 1000;
    c->settings.pruning_dissemination_ms = 5000;
    for (uint32_t n = 0; n < 4; n++)
        (void)cluster_add(c);
    (void)do_add(c, 3, "S", "e", local);
    assert_true(cluster_converge(c, 20 * SECOND));
    cluster_remove(c, 3);
    while (!counters_at(c, 0)->pruned) /* leads: the lowest address */
        cluster_run(c, 10 * MS);
    token = do_remove(c, 1, "S", "e", to_all(1000));
    cluster_run(c, 1 * SECOND);
    assert_true(is_answered(c, 1, token, REPLICATOR_SUCCESS));
    cluster_run(c, 60 * SECOND);
    for (uint32_t n = 0; n < 3; n++)
        assert_true(has_at(c, n, "S", "e"));
    token = do_remove(c, 1, "S", "e", to_all(1000)); /* it has seen the addition */
    assert_true(cluster_converge(c, 20 * SECOND));
    assert_int_equal(size_at(c, 0, "S"), 0);
    cluster_free(c);
}

/* Removed before all present members came. */
static void a_member_known_only_from_data_is_pruned(void **state)
{
    struct cluster *c = cluster_new(36);
    struct node_id ghost = { { "10.0.0.9", 7 }, 99 };
    struct dd_value *value = dd_new(DD_GCOUNTER);
    (void)state;

    c->settings.pruning_interval_ms = 10000;
    c->settings.pruning_dissemination_ms = 30000;
    (void)cluster_add(c);
    (void)cluster_add(c);
    dd_gcounter_add(value, &ghost, 5);
    (void)do_put(c, 0, "A", value, local);
    assert_true(is_modified_by(c, 0, "A", &ghost));
    cluster_run(c, 100 * SECOND);
    assert_false(is_modified_by(c, 0, "A", &ghost));
    assert_false(is_modified_by(c, 1, "A", &ghost));
    assert_int_equal(count_at(c, 1, "A"), 5);
    cluster_free(c);
}

static void late_deltas_of_removed_members_are_dropped(void **state)
{
    struct replicator_settings settings = { .gossip_off = true };
    struct lone *lone = lone_new(&settings);
    struct message_entry entry = {
        slice_text("k"), slice_of("\x0a\x09\x0a\x02\x08\x01\x10\x0b\x22\x01"
                                  "D",
                                  11),
        1, 1, 0
    };
    struct message deltas = { .kind = MESSAGE_DELTAS,
                              .entries = &entry,
                              .count = 1,
                              .from = lone->peer };
    (void)state;

    lone_receive(lone, &deltas);
    assert_int_equal(replicator_counters(lone->replicator)->deltas_applied,
                     1);
    replicator_peer_removed(lone->replicator, 0, &lone->peer);
    lone_receive(lone, &deltas);
    /* Dropped first because it is not a member. */
    assert_int_equal(replicator_counters(lone->replicator)->strangers, 1);
    replicator_peer(lone->replicator, 0,
                    &(struct member_info){ .node = lone->peer,
                                    .up_number = 1,
                                    .status = MEMBER_DOWN,
                                    .reachable = true,
                                    .has_role = true });
    lone_receive(lone, &deltas);
    assert_int_equal(replicator_counters(lone->replicator)->removed, 1);
    lone_free(lone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_are_sent_in_chunks),
        cmocka_unit_test(a_status_is_answered),
        cmocka_unit_test(each_differing_key_is_sent_in_turn),
        cmocka_unit_test(a_large_value_is_logged),
        cmocka_unit_test(compressed_values_are_not_compressed_again),
        cmocka_unit_test(equal_replicas_send_no_values),
        cmocka_unit_test(large_gossips_are_split),
        cmocka_unit_test(messages_of_unknown_nodes_are_dropped),
        cmocka_unit_test(each_dropped_message_is_counted),
        cmocka_unit_test(a_key_that_is_not_utf8_is_dropped),
        cmocka_unit_test(only_asked_replicas_count_as_answers),
        cmocka_unit_test(a_refused_value_is_logged),
        cmocka_unit_test(a_removed_member_is_pruned),
        cmocka_unit_test(elements_taken_over_are_added_again),
        cmocka_unit_test(a_member_known_only_from_data_is_pruned),
        cmocka_unit_test(late_deltas_of_removed_members_are_dropped),
    };

    return cmocka_run_group_tests_name("ddata_gossip", tests, NULL, NULL);
}
