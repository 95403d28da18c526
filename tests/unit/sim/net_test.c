/* Tests the connections of a world and the faults of its network. */
#include "small_world.h"

static struct world *world_of(uint64_t seed, uint32_t count,
                              struct traffic **traffic,
                              struct world_settings settings)
{
    struct world *world;

    settings.seed = seed;
    settings.keep_lines = true;
    world = world_new(&settings);
    *traffic = traffic_of(world);
    begin_nodes(world, count);
    return world;
}

static void end(struct world *world, struct traffic *traffic)
{
    world_free(world);
    mem_free(traffic);
}

static void a_cut_path_keeps_bytes_until_it_heals(void **state)
{
    struct traffic *traffic;
    struct world *world =
        world_of(1, 2, &traffic, (struct world_settings){ 0 });
    uint64_t arrived;

    (void)state;
    net_cut(world, 0, 1, NET_BOTH, true);
    world_run(world, SECOND);
    arrived = traffic->arrived[0][1];
    world_run(world, 2 * SECOND);
    assert_int_equal(traffic->arrived[0][1], arrived);
    assert_true(traffic->written[0][1] > arrived);
    net_cut(world, 0, 1, NET_BOTH, false);
    world_run(world, 100 * MS);
    assert_true(traffic->arrived[0][1] > arrived);
    assert_int_equal(traffic->lost[0][1], 0);
    end(world, traffic);
}

/* Bytes arrive without acknowledgements, so the writer fills the connection and stops. */
static void a_cut_way_back_fills_the_connection(void **state)
{
    struct traffic *traffic;
    struct world *world = world_of(
        2, 2, &traffic, (struct world_settings){ .pipe_size = 1024 });
    uint64_t written;

    (void)state;
    net_cut(world, 1, 0, NET_BOTH, true);
    world_run(world, 30 * SECOND);
    written = traffic->written[0][1];
    world_run(world, 10 * SECOND);
    assert_int_equal(traffic->written[0][1], written);
    assert_int_equal(traffic->arrived[0][1], written);
    net_cut(world, 1, 0, NET_BOTH, false);
    assert_true(world_until(world, world_all_up, NULL, 30 * SECOND));
    assert_true(traffic->written[0][1] > written);
    end(world, traffic);
}

/* Otherwise bytes in flight would break into pieces and all arrive with the slowest. */
static void a_full_connection_is_not_filled_byte_by_byte(void **state)
{
    struct traffic *traffic;
    struct world *world = world_of(
        10, 2, &traffic, (struct world_settings){ .pipe_size = 256 });
    uint64_t written;
    uint64_t pieces;

    (void)state;
    net_delay(world, NET_ALL, NET_ALL, SECOND, 4 * SECOND);
    world_run(world, 100 * SECOND);
    written = traffic->written[0][1] + traffic->written[1][0];
    pieces = traffic->pieces;
    world_run(world, 100 * SECOND);
    written = traffic->written[0][1] + traffic->written[1][0] - written;
    pieces = traffic->pieces - pieces;
    assert_true(pieces > 100);
    assert_true(written > 96 * pieces);
    end(world, traffic);
}

static void a_cut_may_stop_one_stream_only(void **state)
{
    struct traffic *traffic;
    struct world *world =
        world_of(3, 2, &traffic, (struct world_settings){ 0 });

    (void)state;
    net_cut(world, 0, 1, NET_ORDINARY, true);
    net_cut(world, 1, 0, NET_ORDINARY, true);
    world_run(world, 60 * SECOND);
    assert_true(world_all_up(world, NULL));
    net_cut(world, 0, 1, NET_CONTROL, true);
    assert_true(world_until(world, is_missed, &(struct pair){ 1, 0 },
                            30 * SECOND));
    end(world, traffic);
}

/* Two nodes do not see each other, both see the third. */
static void a_cut_need_not_be_transitive(void **state)
{
    struct traffic *traffic;
    struct world *world =
        world_of(4, 3, &traffic, (struct world_settings){ 0 });
    uint64_t between;
    uint64_t to_third[2];

    (void)state;
    net_part(world, 0, 1, true);
    world_run(world, SECOND);
    between = traffic->arrived[0][1] + traffic->arrived[1][0];
    to_third[0] = traffic->arrived[0][2];
    to_third[1] = traffic->arrived[1][2];
    assert_true(world_until(world, is_missed, &(struct pair){ 0, 1 },
                            30 * SECOND));
    assert_true(sees(world, 0, 2));
    assert_true(sees(world, 1, 2));
    assert_int_equal(traffic->arrived[0][1] + traffic->arrived[1][0], between);
    assert_true(traffic->arrived[0][2] > to_third[0]);
    assert_true(traffic->arrived[1][2] > to_third[1]);
    net_part(world, 0, 1, false);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    end(world, traffic);
}

/* No end is told. The failure detector notices, and in the end the kernel gives up and the node
 * connects again. */
static void a_half_open_connection_is_noticed_by_its_silence(void **state)
{
    struct traffic *traffic;
    struct world *world = world_of(
        5, 2, &traffic, (struct world_settings){ .give_up = 20 * SECOND });

    (void)state;
    net_half_open(world, 0, 1);
    net_half_open(world, 1, 0);
    world_run(world, SECOND);
    assert_false(world_logged(world, 0, "connection lost"));
    assert_true(sees(world, 0, 1));
    assert_true(world_until(world, is_missed, &(struct pair){ 0, 1 },
                            15 * SECOND));
    assert_false(world_logged(world, 0, "connection lost"));
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    assert_true(world_logged(world, 0, "reason=\"timed out\""));
    assert_true(traffic->lost[0][1] > 0 && traffic->lost[1][0] > 0);
    end(world, traffic);
}

/* Heartbeats and gossip refused meanwhile are repeated. */
static void a_connection_that_hung_until_its_queue_was_full_heals(void **state)
{
    struct traffic *traffic;
    struct world *world = world_of(
        16, 0, &traffic, (struct world_settings){ .give_up = 100 * SECOND });

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings = world_node_settings(world, i, NULL, 0);

        settings.lanes = 1;
        settings.heartbeat_interval = 5 * MS;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    net_half_open(world, 0, 1);
    world_run(world, 90 * SECOND);
    assert_true(world_logged(world, 0, "control queue full"));
    assert_false(sees(world, 0, 1));
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    assert_true(sees(world, 0, 1));
    assert_true(sees(world, 1, 0));
    end(world, traffic);
}

static void a_reset_loses_bytes_in_flight(void **state)
{
    struct traffic *traffic;
    struct world *world =
        world_of(6, 2, &traffic, (struct world_settings){ 0 });
    uint64_t flying;

    (void)state;
    net_delay(world, 0, 1, 900 * MS, 1000 * MS);
    world_run(world, 3 * SECOND);
    flying = traffic->written[0][1] - traffic->arrived[0][1];
    assert_true(flying > 0);
    net_reset(world, 0, 1);
    world_run(world, 10 * MS);
    assert_true(world_logged(world, 0, "connection lost"));
    assert_true(world_logged(world, 1, "connection lost"));
    assert_int_equal(traffic->lost[0][1], flying);
    net_delay(world, 0, 1, MS, MS);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    end(world, traffic);
}

static void a_clogged_path_delivers_late(void **state)
{
    struct traffic *traffic;
    struct world *world =
        world_of(7, 2, &traffic, (struct world_settings){ 0 });
    uint64_t until = world_now(world) + 2 * SECOND;
    uint64_t arrived = traffic->arrived[0][1];

    (void)state;
    net_clog(world, 0, 1, until);
    world_run(world, until - world_now(world) - 1);
    assert_int_equal(traffic->arrived[0][1], arrived);
    world_run(world, 100 * MS);
    assert_true(traffic->arrived[0][1] > arrived);
    end(world, traffic);
}

/* Includes bytes that the clog held before its end was moved. */
static void a_clog_that_ends_early_holds_nothing_back(void **state)
{
    struct traffic *traffic;
    struct world *world =
        world_of(7, 2, &traffic, (struct world_settings){ 0 });
    uint64_t arrived = traffic->arrived[0][1];

    (void)state;
    net_clog(world, 0, 1, world_now(world) + 3600 * SECOND);
    world_run(world, 2 * SECOND);
    assert_int_equal(traffic->arrived[0][1], arrived);
    net_clog(world, 0, 1, world_now(world));
    world_run(world, 100 * MS);
    assert_true(traffic->arrived[0][1] > arrived);
    end(world, traffic);
}

/* Its kernel gives it up, as after a cut. */
static void a_connection_does_not_outlive_a_long_clog(void **state)
{
    struct traffic *traffic;
    struct world *world = world_of(
        9, 2, &traffic, (struct world_settings){ .give_up = 20 * SECOND });

    (void)state;
    net_clog(world, 0, 1, world_now(world) + 40 * SECOND);
    world_run(world, 30 * SECOND);
    assert_true(world_logged(world, 0, "reason=\"timed out\""));
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    end(world, traffic);
}

static uint64_t pieces_of(bool byte_mode)
{
    struct traffic *traffic;
    struct world *world = world_of(
        8, 3, &traffic, (struct world_settings){ .byte_mode = byte_mode });
    uint32_t used = 0;
    uint64_t pieces;

    world_run(world, 30 * SECOND);
    assert_true(world_all_up(world, NULL));
    pieces = traffic->pieces;
    for (uint32_t i = 0; i < 3; i++)
        world_pause(world, i, true); /* nothing new is sent */
    world_run(world, SECOND);
    for (uint32_t i = 0; i < 3; i++)
        world_crash_as(world, i, WORLD_KILLED);
    for (uint32_t i = 0; i < PIPES; i++) {
        const struct seen *seen = &traffic->pipes[i];

        assert_int_equal(seen->written, seen->arrived + seen->lost);
        if (seen->lost || !seen->written)
            continue;
        assert_true(seen->written_hash == seen->arrived_hash);
        used++;
    }
    assert_true(used > 0);
    end(world, traffic);
    return pieces;
}

/* Pieces are cut anywhere. The same bytes arrive, and nodes understand them. */
static void byte_mode_delivers_the_same(void **state)
{
    uint64_t whole = pieces_of(false);

    (void)state;
    assert_true(pieces_of(true) * 4 > whole * 5);
}

static void calls_are_refused_or_not_answered(void **state)
{
    struct world_settings settings = { .seed = 9, .keep_lines = true };
    struct world *world = world_new(&settings);

    (void)state;
    begin_node(world, 0);
    world_run(world, 5 * SECOND);
    net_refuse(world, 0, true);
    begin_node(world, 1);
    world_run(world, 2 * SECOND);
    assert_true(world_logged(world, 1, "reason=\"connection refused\""));
    net_refuse(world, 0, false);
    net_black_hole(world, 0, true);
    begin_node(world, 2);
    world_run(world, 20 * SECOND);
    assert_true(world_logged(world, 2, "reason=\"time"));
    assert_false(world_node(world, 1)->is_up);
    assert_false(world_node(world, 2)->is_up);
    net_black_hole(world, 0, false);
    net_slow_accept(world, 0, 3 * SECOND);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_free(world);
}

/* Returns the time until a second node is up when the first accepts connections so slowly. */
static uint64_t arrives_in(uint64_t slowly)
{
    struct world_settings settings = { .seed = 9 };
    struct world *world = world_new(&settings);
    uint64_t begin;

    begin_node(world, 0);
    world_run(world, 5 * SECOND);
    begin = world_now(world);
    net_slow_accept(world, 0, slowly);
    begin_node(world, 1);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    begin = world_now(world) - begin;
    world_free(world);
    return begin;
}

static void a_slow_accept_delays_a_join(void **state)
{
    uint64_t usual = arrives_in(0);

    (void)state;
    assert_in_range(usual, 0, 3 * SECOND);
    assert_in_range(arrives_in(4 * SECOND), 4 * SECOND, 60 * SECOND);
}

static void begin_alone(struct world *world, uint32_t index)
{
    struct node_settings settings = world_node_settings(world, index, NULL, 0);

    settings.lanes = 1;
    settings.seed_node_count = 0;
    world_start(world, index, &settings);
}

static bool is_reset(struct world *world, void *arg)
{
    (void)arg;
    return world_logged(world, 0, "reason=\"connection reset\"");
}

/* A dead machine sends nothing. After its restart it does not know its old connections. */
static void a_dark_machine_is_silent_until_it_is_back(void **state)
{
    struct traffic *traffic;
    struct world *world =
        world_of(10, 3, &traffic, (struct world_settings){ 0 });

    (void)state;
    world_crash_as(world, 2, WORLD_DARK);
    world_run(world, 3 * SECOND);
    assert_false(world_logged(world, 0, "connection lost"));
    begin_alone(world, 2); /* else the others close these connections first */
    assert_true(world_until(world, is_reset, NULL, 30 * SECOND));
    world_crash_as(world, 2, WORLD_KILLED);
    begin_node(world, 2);
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    assert_int_equal(traffic->started, 5);
    assert_int_equal(traffic->ended, 2);
    world_crash_as(world, 2, WORLD_KILLED);
    world_run(world, SECOND);
    assert_true(world_logged(world, 1, "connection refused") ||
                world_logged(world, 1, "connection reset"));
    end(world, traffic);
}

static void see_closed(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                       bool by_reader)
{
    (void)pipe;
    assert_int_equal(from, 0);
    assert_int_equal(to, 1);
    assert_false(by_reader);
    ++*(uint32_t *)user;
}

/* A downed node continues and does not read; the node that downed it closes the connection. Crashes
 * and resets are no closes. */
static void observers_hear_when_a_node_closes_a_connection(void **state)
{
    struct traffic *traffic;
    uint32_t closed = 0;
    const struct world_observer observer = { .user = &closed,
                                             .pipe_closed = see_closed };
    struct world *world =
        world_of(12, 3, &traffic, (struct world_settings){ 0 });

    (void)state;
    world_observe(world, &observer);
    (void)net_reset(world, 0, 1);
    world_crash_as(world, 2, WORLD_KILLED);
    world_run(world, 2 * SECOND);
    assert_int_equal(closed, 0);
    world_pause(world, 1, true);
    world_down(world, 0, 1);
    world_run(world, 60 * SECOND);
    assert_true(closed > 0);
    end(world, traffic);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_path_keeps_bytes_until_it_heals),
        cmocka_unit_test(a_cut_way_back_fills_the_connection),
        cmocka_unit_test(a_full_connection_is_not_filled_byte_by_byte),
        cmocka_unit_test(a_cut_may_stop_one_stream_only),
        cmocka_unit_test(a_cut_need_not_be_transitive),
        cmocka_unit_test(a_half_open_connection_is_noticed_by_its_silence),
        cmocka_unit_test(a_connection_that_hung_until_its_queue_was_full_heals),
        cmocka_unit_test(a_reset_loses_bytes_in_flight),
        cmocka_unit_test(a_clogged_path_delivers_late),
        cmocka_unit_test(a_clog_that_ends_early_holds_nothing_back),
        cmocka_unit_test(a_connection_does_not_outlive_a_long_clog),
        cmocka_unit_test(byte_mode_delivers_the_same),
        cmocka_unit_test(calls_are_refused_or_not_answered),
        cmocka_unit_test(a_slow_accept_delays_a_join),
        cmocka_unit_test(a_dark_machine_is_silent_until_it_is_back),
        cmocka_unit_test(observers_hear_when_a_node_closes_a_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
