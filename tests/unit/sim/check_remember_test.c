/* Tests check_remember with correct histories and broken rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "journal/book.h"
#include "journal/record.h"
#include "sim/check/check_remember.h"
#include "judged.h"

#define SHARD 4

static const struct sherd_entity_type types[] = {
    { .name = "Plain" },
    { .name = "Kept", .remember = 1 },
};
static struct check_safety safety;
static struct check_remember *check;
static struct disk_backend_observer told;
static uint64_t seq;

static int begin(void **state)
{
    (void)state;
    judge();
    memset(&safety, 0, sizeof safety);
    seq = 0;
    check = check_remember_new(verdict, types, 2);
    check_remember_safety(check, &safety);
    told = check_remember_observer(check);
    return 0;
}

static int end(void **state)
{
    (void)state;
    check_remember_free(check);
    verdict_free(verdict);
    return 0;
}

static void put_ids(struct buf *payload, const char *ids)
{
    buf_put_varint(payload, strlen(ids));
    for (; *ids; ids++) {
        buf_put_u8(payload, 1);
        buf_put_u8(payload, (uint8_t)*ids);
    }
}

/* Commits one record; each letter is an id. */
static void store(const char *name, bool is_base, const char *starts,
                  const char *stops, enum backend_result result)
{
    struct slice id = slice_text(name);
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    struct buf payload = { 0 };
    struct buf bytes = { 0 };
    struct record record = { .event_type = 0 };
    struct backend_entity entity = { .result = result };
    struct backend_record stored = { .seq = ++seq };

    buf_put_u8(&payload, 1);
    buf_put_u8(&payload, is_base);
    put_ids(&payload, starts);
    put_ids(&payload, stops);
    record.payload = buf_slice(&payload);
    record_encode(&bytes, record_key(id), seq, &record);
    entity.id = backend_put(request, id);
    stored.bytes = backend_put(request, buf_slice(&bytes));
    vec_push(&request->entities, entity);
    vec_push(&request->records, stored);
    told.committed(told.user, NULL, &request, 1);
    journal_request_free(request);
    buf_fini(&payload);
    buf_fini(&bytes);
}

static void kept(bool is_base, const char *starts, const char *stops)
{
    store("|Kept|4", is_base, starts, stops, BACKEND_DONE);
}

static void tell(uint32_t node, enum probe_kind kind, uint16_t type,
                 const char *id)
{
    const struct probe probe = { .kind = kind,
                                 .type = type,
                                 .shard = SHARD,
                                 .bytes = slice_text(id) };

    check_remember_probe(check, node, &probe);
}

static void starts(uint32_t node, const char *id)
{
    tell(node, PROBE_ENTITY_STARTED, 1, id);
}

static void stops(uint32_t node, const char *id)
{
    tell(node, PROBE_ENTITY_STOPPED, 1, id);
}

static void expect_quiet(const char *missing)
{
    char text[VERDICT_TEXT_MAX] = "";

    assert_int_equal(check_remember_agrees(check, text, sizeof text), !missing);
    if (missing)
        assert_string_equal(text, missing);
}

static void a_stored_entity_lives(void **state)
{
    (void)state;
    kept(true, "ab", "");
    starts(0, "a");
    starts(0, "b");
    expect_quiet(NULL);
    kept(false, "c", "");
    starts(0, "c");
    stops(0, "a");
    kept(false, "", "a");
    expect_quiet(NULL);
    check_remember_node_ended(check, 0);
    expect_quiet("b of Kept, shard 4, is stored, and does not live");
    starts(1, "b");
    starts(1, "c");
    expect_quiet(NULL);
    expect_only(NULL);
}

static void a_start_before_it_is_stored_is_found(void **state)
{
    (void)state;
    kept(true, "a", "");
    starts(0, "b");
    expect_only("remembered-entities");
}

static void a_forgotten_entity_that_starts_is_found(void **state)
{
    (void)state;
    kept(true, "a", "");
    kept(false, "", "a");
    starts(0, "a");
    expect_only("remembered-entities");
}

static void a_start_that_a_server_lost_is_not_judged_until_the_next_one(void **state)
{
    struct book *empty = book_new("c");

    (void)state;
    kept(true, "a", "");
    told.rewound(told.user, empty);
    book_free(empty);
    starts(0, "a");
    expect_quiet(NULL);
    expect_only(NULL);
    seq = 0;
    kept(true, "", "");
    expect_quiet("a of Kept, shard 4, is alive, and not stored");
    starts(0, "b");
    expect_only("remembered-entities");
}

static void a_failed_write_stores_no_start(void **state)
{
    (void)state;
    store("|Kept|4", true, "a", "", BACKEND_FAILED);
    starts(0, "a");
    expect_only("remembered-entities");
}

static void a_base_without_an_id_is_found(void **state)
{
    (void)state;
    kept(true, "ab", "");
    starts(0, "a");
    starts(0, "b");
    kept(true, "a", "");
    expect_quiet("b of Kept, shard 4, is alive, and not stored");
}

static void a_base_is_of_its_shard_alone(void **state)
{
    (void)state;
    kept(true, "a", "");
    starts(0, "a");
    seq = 0;
    store("|Kept|-4", true, "b", "", BACKEND_DONE);
    starts(0, "b");
    expect_quiet(NULL);
    expect_only(NULL);
}

/* A start is stored in the new shard, then removed from the old one. A base of the old one may come
 * between. */
static void with_other_shards_entities_are_stored_where_they_belong(void **state)
{
    char name[16], missing[64];
    uint32_t shards = 5;
    (void)state;

    while (hash_shard(slice_text("a"), shards) == SHARD)
        shards++;
    (void)snprintf(name, sizeof name, "|Kept|%d",
                   hash_shard(slice_text("a"), shards));
    (void)snprintf(missing, sizeof missing,
                   "a of Kept, shard %d, is stored, and does not live",
                   hash_shard(slice_text("a"), shards));
    kept(true, "a", "");
    check_remember_shards(check, shards);
    expect_quiet("a of Kept, shard 4, is stored in a shard to which it does "
                 "not belong any more");
    seq = 0;
    store(name, false, "a", "", BACKEND_DONE);
    seq = 1;
    kept(true, "a", "");
    expect_quiet(missing);
    kept(false, "", "a");
    expect_quiet(missing); /* in the new one */
    expect_only(NULL);
    starts(0, "a"); /* in the old one */
    expect_only("remembered-entities");
}

static void a_node_outside_may_start_a_forgotten_entity(void **state)
{
    (void)state;
    safety.outside[3] = true;
    starts(3, "a");
    expect_only(NULL);
}

static void other_types_and_events_are_ignored(void **state)
{
    (void)state;
    tell(0, PROBE_ENTITY_STARTED, 0, "a");
    store("|Plain|4", true, "a", "", BACKEND_DONE);
    seq = 0;
    store("Kept|x", true, "a", "", BACKEND_DONE);
    expect_quiet(NULL);
    expect_only(NULL);
    assert_int_equal(check_remember_counts(check).records, 0);
}

/* ---- in distributed data ---- */

#define NODES 3

/* ids in each node's replica, a letter each; null: it is down */
static const char *replicas[NODES];
static const char *disks[NODES]; /* the same for their disks */
static uint32_t shall;      /* replicas that a write needs */
static uint64_t signature;  /* of the members that count */

static uint32_t nodes(void *user)
{
    (void)user;
    return NODES;
}

static bool is_there(void *user, uint32_t node)
{
    (void)user;
    return replicas[node] != NULL;
}

static bool has(void *user, uint32_t node, uint32_t type, int32_t shard,
                struct slice id)
{
    (void)user;
    assert_int_equal(type, 1);
    assert_int_equal(shard, SHARD);
    return replicas[node] && strchr(replicas[node], id.data[0]);
}

static bool is_kept(void *user, uint32_t node, uint32_t type, int32_t shard,
                    struct slice id)
{
    (void)user;
    assert_int_equal(type, 1);
    assert_int_equal(shard, SHARD);
    return strchr(disks[node], id.data[0]);
}

static uint32_t needed(void *user, uint32_t node, uint64_t *who)
{
    (void)user;
    (void)node;
    *who = signature;
    return shall;
}

static int begin_in_data(void **state)
{
    const struct remember_replicas looks = { .nodes = nodes,
                                             .is_there = is_there,
                                             .has = has,
                                             .is_kept = is_kept,
                                             .needed = needed };

    (void)begin(state);
    check_remember_in_data(check, &looks);
    replicas[0] = replicas[1] = replicas[2] = "";
    disks[0] = disks[1] = disks[2] = "";
    shall = NODES;
    signature = 1;
    return 0;
}

/* A record for each change, as in a write of several parts. */
static void write_of(uint32_t node, enum probe_kind kind, const char *started,
                     const char *stopped)
{
    struct buf records = { 0 };
    struct probe probe = { .kind = kind, .type = 1, .shard = SHARD };

    for (int i = 0; i < 2; i++) {
        buf_put_u8(&records, 1);
        buf_put_u8(&records, 0);
        put_ids(&records, i ? "" : started);
        put_ids(&records, i ? stopped : "");
    }
    probe.bytes = buf_slice(&records);
    check_remember_probe(check, node, &probe);
    buf_fini(&records);
}

static void sent(uint32_t node, const char *started, const char *stopped)
{
    write_of(node, PROBE_REMEMBER_SENT, started, stopped);
}

static void stored(uint32_t node, const char *started, const char *stopped)
{
    write_of(node, PROBE_REMEMBER_STORED, started, stopped);
}

static void all_have(const char *ids)
{
    replicas[0] = replicas[1] = replicas[2] = ids;
}

/* "a" is stored by node 0, and lives there. */
static void begin_with_a(void)
{
    sent(0, "a", "");
    all_have("a");
    stored(0, "a", "");
    starts(0, "a");
}

static void an_entity_on_all_replicas_lives(void **state)
{
    (void)state;
    begin_with_a();
    expect_quiet(NULL);
    sent(0, "b", "a");
    stops(0, "a");
    all_have("b");
    stored(0, "b", "a");
    starts(0, "b");
    expect_quiet(NULL);
    check_remember_restarts(check);
    check_remember_node_ended(check, 0);
    expect_quiet("b of Kept, shard 4, is stored, and does not live");
    starts(2, "b");
    expect_quiet(NULL);
    expect_only(NULL);
    assert_int_equal(check_remember_counts(check).records, 2);
}

static void a_write_on_too_few_replicas_is_not_stored(void **state)
{
    (void)state;
    sent(0, "a", "");
    replicas[0] = replicas[1] = "a";
    stored(0, "a", "");
    expect_only("remembered-entities");
}

/* Whether they suffice is known while the same members count. */
static void replicas_that_are_down_may_have_the_write(void **state)
{
    (void)state;
    sent(0, "a", "");
    replicas[0] = "a";
    replicas[1] = replicas[2] = NULL;
    stored(0, "a", "");
    sent(0, "b", "");
    replicas[0] = "ab";
    replicas[1] = replicas[2] = "a";
    signature = 2;
    stored(0, "b", "");
    expect_only(NULL);
}

static void a_start_that_its_replica_does_not_have_is_found(void **state)
{
    (void)state;
    sent(0, "a", "");
    starts(0, "a");
    expect_only("remembered-entities");
}

static void a_start_after_its_own_nodes_stop_is_found(void **state)
{
    (void)state;
    begin_with_a();
    sent(0, "", "a");
    stops(0, "a");
    all_have("");
    starts(0, "a");
    expect_only("remembered-entities");
}

/* Its removal may come between the read and the start. */
static void an_entity_that_another_node_stopped_may_start(void **state)
{
    (void)state;
    begin_with_a();
    sent(1, "", "a");
    all_have("");
    starts(0, "a");
    expect_quiet("a of Kept, shard 4, is alive, and not stored"); /* it must be written again */
    all_have("a");
    expect_quiet(NULL);
    sent(0, "", "a");
    all_have("");
    check_remember_node_ended(check, 0); /* and the same for a former incarnation */
    starts(0, "a");
    expect_only(NULL);
}

/* Node 2 has the old start, and hears of the stop. The node that stopped it has started it again,
 * and is gone with that. */
static void an_entity_with_a_late_stop_may_have_started_again(void **state)
{
    (void)state;
    begin_with_a();
    sent(1, "", "a");
    sent(1, "a", "");
    replicas[0] = replicas[2] = "";
    replicas[1] = "a";
    starts(2, "a");
    expect_only(NULL);
    replicas[1] = "";
    starts(1, "a"); /* it has sent that start */
    expect_only("remembered-entities");
}

static void after_a_new_stored_start_no_stop_is_pending(void **state)
{
    (void)state;
    begin_with_a();
    sent(1, "", "a");
    sent(1, "a", "");
    stored(1, "a", "");
    all_have("");
    starts(2, "a");
    expect_only("remembered-entities");
}

static void replicas_that_differ_are_found(void **state)
{
    (void)state;
    begin_with_a();
    replicas[2] = "";
    expect_quiet("a of Kept, shard 4, is in some replicas, and not in others");
}

static void a_start_that_is_lost_is_found(void **state)
{
    (void)state;
    begin_with_a();
    check_remember_node_ended(check, 0);
    expect_quiet("a of Kept, shard 4, is stored, and does not live");
    all_have("");
    expect_quiet("a of Kept, shard 4, is started and never stopped, and not "
                 "stored");
    check_remember_lost(check);
    expect_quiet(NULL);
}

/* Node 0, the only member, dies. Node 2 is back, and was no member yet. */
static void an_entity_that_only_dead_nodes_had_may_be_lost(void **state)
{
    (void)state;
    shall = 1;
    sent(0, "ab", "");
    replicas[0] = "ab";
    replicas[1] = NULL;
    replicas[2] = "b";
    stored(0, "ab", "");
    starts(0, "a");
    starts(0, "b");
    replicas[0] = NULL;
    check_remember_node_ended(check, 0);
    starts(2, "b");
    expect_quiet(NULL);
    replicas[2] = "";
    expect_quiet("b of Kept, shard 4, is started and never stopped, and not "
                 "stored");
}

/* No replica can have it before that node is back. */
static void an_entity_on_a_dead_nodes_disk_comes_back(void **state)
{
    for (int i = 0; i < 2; i++) {
        shall = 1;
        sent(0, "a", "");
        replicas[0] = disks[0] = "a";
        replicas[1] = NULL;
        replicas[2] = "";
        stored(0, "a", "");
        starts(0, "a");
        replicas[0] = NULL;
        check_remember_node_ended(check, 0);
        check_remember_node_ended(check, 1); /* this changes nothing */
        expect_quiet(NULL);
        replicas[0] = "";
        expect_quiet("a of Kept, shard 4, is started and never stopped, and "
                     "not stored");
        replicas[0] = replicas[2] = "a";
        starts(0, "a");
        expect_quiet(NULL);
        check_remember_node_ended(check, 0);
        disks[0] = "";
        replicas[0] = NULL;
        replicas[2] = "";
        check_remember_node_ended(check, 2); /* no node has it any more */
        replicas[0] = "";
        expect_quiet(NULL);
        (void)state;
    }
}

/* If all replicas have it, it is stored. */
static void an_unconfirmed_start_may_be_stored_and_then_lives(void **state)
{
    (void)state;
    begin_with_a();
    sent(0, "b", "");
    sent(0, "", "a");
    check_remember_node_ended(check, 0);
    all_have("");
    expect_quiet(NULL);
    all_have("b");
    expect_quiet("b of Kept, shard 4, is stored, and does not live");
    starts(1, "b");
    expect_quiet(NULL);
    expect_only(NULL);
}

static void a_restart_that_loses_or_restores_an_entity_is_found(void **state)
{
    (void)state;
    begin_with_a();
    sent(0, "b", "");
    sent(0, "", "b");
    check_remember_restarts(check);
    all_have("");
    expect_quiet("a of Kept, shard 4, is not there after the restart, and was "
                 "before");
    all_have("ab");
    starts(1, "b");
    expect_quiet("b of Kept, shard 4, is there after the restart, and was not "
                 "before");
    sent(1, "b", ""); /* it was requested again */
    expect_quiet(NULL);
}

static void a_live_entity_that_a_sound_world_lacks_is_found(void **state)
{
    (void)state;
    begin_with_a();
    check_remember_restarts(check);
    sent(0, "", "a");
    all_have("");
    expect_quiet("a of Kept, shard 4, is alive, and not stored");
    stops(0, "a");
    expect_quiet(NULL);
    expect_only(NULL);
}

/* Node 0 is cut off, and sends a stop that no replica takes. Its disk comes back when "a" lives
 * elsewhere. */
static void a_stop_of_an_ended_incarnation_removes_no_live_entity(void **state)
{
    (void)state;
    begin_with_a();
    safety.outside[0] = true;
    sent(0, "", "a");
    stops(0, "a");
    replicas[0] = NULL;
    starts(1, "a");
    check_remember_node_ended(check, 0);
    safety.outside[0] = false;
    expect_quiet(NULL);
    all_have("");
    expect_quiet("a of Kept, shard 4, is alive, and not stored");
    check_remember_lost(check);
    expect_quiet("a of Kept, shard 4, is alive, and not stored");
    expect_only(NULL);
}

/* Node 1 had written its start before the stop, and has died since. */
static void a_stop_from_outside_is_not_for_a_later_start(void **state)
{
    (void)state;
    begin_with_a();
    safety.outside[0] = true;
    sent(1, "a", "");
    stored(1, "a", "");
    starts(1, "a");
    sent(0, "", "a");
    stops(0, "a");
    check_remember_node_ended(check, 0);
    check_remember_node_ended(check, 1);
    expect_quiet("a of Kept, shard 4, is stored, and does not live");
    expect_only(NULL);
}

#define DATA(name) cmocka_unit_test_setup_teardown(name, begin_in_data, end)
#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_stored_entity_lives),
        CASE(a_start_before_it_is_stored_is_found),
        CASE(a_forgotten_entity_that_starts_is_found),
        CASE(a_failed_write_stores_no_start),
        CASE(a_start_that_a_server_lost_is_not_judged_until_the_next_one),
        CASE(a_base_without_an_id_is_found),
        CASE(a_base_is_of_its_shard_alone),
        CASE(with_other_shards_entities_are_stored_where_they_belong),
        CASE(a_node_outside_may_start_a_forgotten_entity),
        CASE(other_types_and_events_are_ignored),
        DATA(an_entity_on_all_replicas_lives),
        DATA(a_write_on_too_few_replicas_is_not_stored),
        DATA(replicas_that_are_down_may_have_the_write),
        DATA(a_start_that_its_replica_does_not_have_is_found),
        DATA(a_start_after_its_own_nodes_stop_is_found),
        DATA(an_entity_that_another_node_stopped_may_start),
        DATA(an_entity_with_a_late_stop_may_have_started_again),
        DATA(after_a_new_stored_start_no_stop_is_pending),
        DATA(replicas_that_differ_are_found),
        DATA(an_entity_on_a_dead_nodes_disk_comes_back),
        DATA(a_start_that_is_lost_is_found),
        DATA(an_entity_that_only_dead_nodes_had_may_be_lost),
        DATA(an_unconfirmed_start_may_be_stored_and_then_lives),
        DATA(a_restart_that_loses_or_restores_an_entity_is_found),
        DATA(a_live_entity_that_a_sound_world_lacks_is_found),
        DATA(a_stop_of_an_ended_incarnation_removes_no_live_entity),
        DATA(a_stop_from_outside_is_not_for_a_later_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
