/* Tests a coordinator's strategies of this library: consistent hashing and external locations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "scene.h"
#include "shard/allocation_ring.h"

#define counter(scene, name) (coordinator_counters((scene)->coordinator)->name)
#define INTERVAL 10000 /* ms between two rebalances */

static const struct coordinator_settings hashing = {
    .allocation = ALLOCATION_CONSISTENT_HASHING, .number_of_shards = 100
};
static const struct coordinator_settings external = {
    .allocation = ALLOCATION_EXTERNAL, .number_of_shards = 100
};

/* The node that follows a shard on the ring of the first `count` nodes. */
static int ring_node(int count, const char *shard)
{
    struct allocation_ring ring = { 0 };
    struct slice names[10];
    char texts[10][40];
    uint32_t found;

    for (int n = 0; n < count; n++) {
        snprintf(texts[n], sizeof texts[n], "akka://S@n%d:2550", n);
        names[n] = slice_text(texts[n]);
    }
    allocation_ring_make(&ring, names, (uint32_t)count);
    found = allocation_ring_find(&ring, slice_text(shard));
    allocation_ring_fini(&ring);
    return (int)found;
}

static char *number(char text[12], int shard)
{
    snprintf(text, 12, "%d", shard);
    return text;
}

static void ask_for(struct scene *scene, int n, int shards)
{
    char text[12];

    for (int i = 0; i < shards; i++)
        asks(scene, n, number(text, i));
    play(scene);
}

/* Counts the shards that are not where the ring of `count` nodes has them. */
static int misplaced(const struct scene *scene, int count, int shards)
{
    char text[12];
    int found = 0;

    for (int i = 0; i < shards; i++)
        found += home_of(scene, number(text, i)) != ring_node(count, text);
    return found;
}

/* A node with a region joins. */
static void comes(struct scene *scene, int n)
{
    peer_up(scene, n);
    registers(scene, n);
    play(scene);
}

static void next_round(struct scene *scene)
{
    passes(scene, INTERVAL);
    play(scene);
}

/* ---- consistent hashing ---- */

static void a_shard_goes_to_its_node_on_the_ring(void **state)
{
    struct scene *scene = scene_with(5, &hashing);
    (void)state;

    ask_for(scene, 3, 50);
    assert_int_equal(misplaced(scene, 5, 50), 0);
    next_round(scene);
    assert_int_equal(counter(scene, moves), 0);
    scene_free(scene);
}

static void a_new_node_takes_only_its_shards(void **state)
{
    struct scene *scene = scene_with(4, &hashing);
    int wrong;
    (void)state;

    ask_for(scene, 0, 50);
    comes(scene, 4);
    wrong = misplaced(scene, 5, 50);
    assert_in_range(wrong, 1, 20);
    next_round(scene);
    assert_int_equal(misplaced(scene, 5, 50), 0);
    assert_int_equal(counter(scene, moves), wrong);
    scene_free(scene);
}

static void a_round_moves_at_most_the_limit_of_hashing(void **state)
{
    struct coordinator_settings settings = hashing;
    struct scene *scene;
    (void)state;

    settings.hashing_limit = 2;
    scene = scene_with(4, &settings);
    ask_for(scene, 0, 50);
    comes(scene, 4);
    next_round(scene);
    assert_int_equal(counter(scene, moves), 2);
    next_round(scene);
    assert_int_equal(counter(scene, moves), 4);
    scene_free(scene);
}

/* Pekko's three cases. */
static void hashing_waits_for_calm_PKO013_PKO014(void **state)
{
    struct scene *scene = scene_with(4, &hashing);
    (void)state;

    ask_for(scene, 0, 50);
    comes(scene, 4);
    peer_is(scene, 2, MEMBER_UP, true, false);
    next_round(scene);
    assert_int_equal(counter(scene, moves), 0);
    peer_up(scene, 2);
    peer_is(scene, 5, MEMBER_JOINING, true, true);
    next_round(scene);
    assert_int_equal(counter(scene, moves), 0);
    peer_is(scene, 5, MEMBER_WEAKLY_UP, true, true);
    next_round(scene);
    assert_int_equal(counter(scene, moves), 0);
    peer_removed(scene, 5);
    next_round(scene);
    assert_int_equal(misplaced(scene, 5, 50), 0);
    scene_free(scene);
}

static void version_is(struct scene *scene, int n, int64_t version)
{
    struct member_info peer = { .node = node_of(n),
                                .up_number = n + 1,
                                .status = MEMBER_UP,
                                .reachable = true,
                                .has_role = true };

    peer.version.numbers[0] = version;
    coordinator_peer(scene->coordinator, scene->now, &peer, &scene->outbox);
    scene_drain(scene);
}

static void hashing_waits_for_one_version_PKO012(void **state)
{
    struct scene *scene = scene_with(4, &hashing);
    (void)state;

    ask_for(scene, 0, 50);
    comes(scene, 4);
    version_is(scene, 4, 1);
    next_round(scene);
    assert_int_equal(counter(scene, moves), 0);
    for (int n = 0; n < 4; n++)
        version_is(scene, n, 1);
    next_round(scene);
    assert_int_equal(misplaced(scene, 5, 50), 0);
    scene_free(scene);
}

/* Else the rebalance would send its shards there, and the allocation elsewhere, in each round. */
static void a_leaving_region_has_no_place_on_the_ring(void **state)
{
    struct coordinator_settings settings = hashing;
    struct scene *scene;
    char ref[80];
    uint64_t moves;
    (void)state;

    settings.handoff_timeout_ms = 3600000;
    scene = scene_with(5, &settings);
    ask_for(scene, 0, 50);
    ref_of(ref, sizeof ref, 4, false);
    scene->is_silent[4] = true; /* its shards stay */
    say(scene, 4, (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN, .ref = slice_text(ref) });
    play(scene);
    moves = counter(scene, moves);
    next_round(scene);
    assert_int_equal(counter(scene, moves), moves);
    asks(scene, 0, "77");
    assert_int_equal(home_of(scene, "77"), ring_node(4, "77"));
    scene_free(scene);
}

static void a_bound_on_the_load_holds_for_all_shards(void **state)
{
    struct coordinator_settings settings = hashing;
    struct scene *scene;
    (void)state;

    settings.load_bound = 1.2;
    scene = scene_with(4, &settings);
    ask_for(scene, 0, 100);
    for (int n = 0; n < 4; n++)
        assert_in_range(shards_at(scene, n), 10, 30);
    comes(scene, 4);
    next_round(scene);
    for (int n = 0; n < 5; n++)
        assert_in_range(shards_at(scene, n), 4, 24);
    next_round(scene);
    play(scene);
    passes(scene, 1000);
    assert_int_equal(counter(scene, failed_moves), 0);
    scene_free(scene);
}

/* ---- external locations ---- */

static void locate(struct scene *scene, const char *shard, const char *address)
{
    coordinator_location(scene->coordinator, slice_text(shard), slice_text(address));
}

static void a_shard_goes_to_its_location(void **state)
{
    struct scene *scene = scene_with(3, &external);
    (void)state;

    locate(scene, "7", "akka://S@n2:2550");
    locate(scene, "8", "akka://S@n1:2550");
    asks(scene, 1, "7");
    asks(scene, 1, "8");
    assert_int_equal(home_of(scene, "7"), 2);
    assert_int_equal(home_of(scene, "8"), 1);
    scene_free(scene);
}

static void a_shard_without_a_location_goes_to_its_requester_SHD187(void **state)
{
    struct scene *scene = scene_with(3, &external);
    (void)state;

    for (int i = 0; i < 3; i++) {
        asks(scene, 2, i == 0 ? "1" : i == 1 ? "2" : "3");
    }
    assert_int_equal(shards_at(scene, 2), 3);
    locate(scene, "4", "akka://S@n9:2550"); /* no region there */
    asks(scene, 1, "4");
    assert_int_equal(home_of(scene, "4"), 1);
    scene_free(scene);
}

/* In Akka the proxy itself is chosen, so the shard has no home until another region asks. */
static void a_shard_that_a_proxy_asks_for_goes_to_the_emptiest_region(void **state)
{
    struct scene *scene = scene_with(3, &external);
    char ref[80];
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 1, "2");
    peer_is(scene, 3, MEMBER_UP, false, true);
    ref_of(ref, sizeof ref, 3, true);
    say_from(scene, 3, PROXY_PATH,
             (struct shard_message){ .kind = SHARD_REGISTER_PROXY, .ref = slice_text(ref),
                                     .lanes = 2, .report = 1 });
    say_from(scene, 3, PROXY_PATH,
             (struct shard_message){ .kind = SHARD_GET_HOME, .shard = slice_text("3") });
    assert_int_equal(home_of(scene, "3"), 2);
    scene_free(scene);
}

static void a_shard_moves_to_its_location(void **state)
{
    struct scene *scene = scene_with(3, &external);
    (void)state;

    ask_for(scene, 0, 4);
    locate(scene, "1", "akka://S@n2:2550");
    locate(scene, "2", "akka://S@n0:2550");
    locate(scene, "3", "akka://S@n7:2550"); /* not there yet */
    locate(scene, "50", "akka://S@n1:2550"); /* not asked for yet */
    next_round(scene);
    assert_int_equal(counter(scene, moves), 1);
    assert_int_equal(home_of(scene, "1"), 2);
    assert_int_equal(home_of(scene, "2"), 0);
    assert_int_equal(home_of(scene, "3"), 0);
    comes(scene, 7);
    next_round(scene);
    assert_int_equal(counter(scene, moves), 2);
    assert_int_equal(home_of(scene, "3"), 7);
    asks(scene, 0, "50");
    assert_int_equal(home_of(scene, "50"), 1);
    scene_free(scene);
}

/* Unlike the other strategies, as in Akka; but not while a hand-off cannot end. */
static void a_location_waits_only_for_reachable_members(void **state)
{
    struct scene *scene = scene_with(3, &external);
    (void)state;

    ask_for(scene, 0, 2);
    locate(scene, "1", "akka://S@n2:2550");
    peer_is(scene, 1, MEMBER_UP, true, false);
    next_round(scene);
    assert_int_equal(counter(scene, moves), 0);
    version_is(scene, 1, 1);
    peer_is(scene, 4, MEMBER_JOINING, true, true);
    next_round(scene);
    assert_int_equal(home_of(scene, "1"), 2);
    scene_free(scene);
}

static void a_location_that_is_taken_back_moves_nothing(void **state)
{
    struct scene *scene = scene_with(3, &external);
    (void)state;

    ask_for(scene, 0, 2);
    locate(scene, "1", "akka://S@n2:2550");
    coordinator_locations_forget(scene->coordinator);
    next_round(scene);
    assert_int_equal(counter(scene, moves), 0);
    scene_free(scene);
}

static void a_location_at_a_leaving_region_moves_nothing(void **state)
{
    struct scene *scene = scene_with(3, &external);
    char ref[80];
    (void)state;

    ask_for(scene, 0, 2);
    ref_of(ref, sizeof ref, 2, false);
    say(scene, 2, (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN, .ref = slice_text(ref) });
    locate(scene, "1", "akka://S@n2:2550");
    next_round(scene);
    assert_int_equal(counter(scene, moves), 0);
    locate(scene, "5", "akka://S@n2:2550");
    asks(scene, 1, "5");
    assert_int_equal(home_of(scene, "5"), 1);
    scene_free(scene);
}

static void locations_of_other_systems_are_ignored(void **state)
{
    static const char *const rows[][2] = {
        { "1", "pekko://S@n1:2550" }, { "1", "akka://Other@n1:2550" }, { "1", "" },
        { "1", "akka://S@n1:99999" }, { "x", "akka://S@n1:2550" },     { "100", "akka://S@n1:2550" },
    };
    struct scene *scene = scene_with(3, &external);
    struct trace_line line;
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        locate(scene, rows[i][0], rows[i][1]);
        assert_true(trace_next(scene->trace, &line));
        assert_non_null(strstr(line.text, "location of a shard ignored type=T"));
    }
    assert_int_equal(counter(scene, locations_ignored), 6);
    asks(scene, 0, "1");
    assert_int_equal(home_of(scene, "1"), 0);
    scene_free(scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_goes_to_its_node_on_the_ring),
        cmocka_unit_test(a_new_node_takes_only_its_shards),
        cmocka_unit_test(a_round_moves_at_most_the_limit_of_hashing),
        cmocka_unit_test(hashing_waits_for_calm_PKO013_PKO014),
        cmocka_unit_test(hashing_waits_for_one_version_PKO012),
        cmocka_unit_test(a_leaving_region_has_no_place_on_the_ring),
        cmocka_unit_test(a_bound_on_the_load_holds_for_all_shards),
        cmocka_unit_test(a_shard_goes_to_its_location),
        cmocka_unit_test(a_shard_without_a_location_goes_to_its_requester_SHD187),
        cmocka_unit_test(a_shard_that_a_proxy_asks_for_goes_to_the_emptiest_region),
        cmocka_unit_test(a_shard_moves_to_its_location),
        cmocka_unit_test(a_location_waits_only_for_reachable_members),
        cmocka_unit_test(a_location_that_is_taken_back_moves_nothing),
        cmocka_unit_test(a_location_at_a_leaving_region_moves_nothing),
        cmocka_unit_test(locations_of_other_systems_are_ignored),
    };

    return cmocka_run_group_tests_name("strategy", tests, NULL, NULL);
}
