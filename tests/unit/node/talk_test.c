/* Tests actors and entities on different lanes and nodes: tells, asks, answers, watches, ends,
 * undeliverable messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "cast.h"

static void equal_seeds_give_equal_worlds(void **state)
{
    uint64_t digests[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world *world = cast_world(7, 3, 2);
        struct player player;

        player_spawn(&player, world, 1, 1);
        (void)player_asks(&player, "P", "a", STORE);
        world_run(world, SECOND);
        digests[i] = world_digest(world);
        world_free(world);
    }
    assert_true(digests[0] == digests[1]);
}

/* Every pair of lanes, on one node and on two. */
static void actors_ask_actors_ADJ087(void **state)
{
    struct world *world = cast_world(1, 2, 2);
    struct player players[4];

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        player_spawn(&players[i], world, i / 2, i % 2);
    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t j = 0; j < 4; j++) {
            if (i == j)
                continue;
            players[i].other = players[j].ref;
            assert_true(player_asks(&players[i], NULL, NULL, ECHO) ==
                        players[j].ref.node);
            assert_int_equal(player_last(&players[j])->kind, SHERD_MESSAGE);
            assert_true(player_last(&players[j])->sender.actor ==
                        players[i].ref.actor);
            assert_true(player_last(&players[j])->sender.node ==
                        players[i].ref.node);
        }
    }
    world_free(world);
}

static void entities_answer_everywhere_SHD133_SHT020_SHT021(void **state)
{
    struct world *world = cast_world(2, 3, 2);
    struct player players[6];
    bool seen[3] = { false, false, false };
    char id[8];

    (void)state;
    for (uint32_t i = 0; i < 6; i++)
        player_spawn(&players[i], world, i / 2, i % 2);
    for (uint32_t e = 0; e < 24; e++) {
        uint32_t home;

        (void)snprintf(id, sizeof id, "x%u", e);
        home = cast_home(&players[0], "E", id);
        seen[home] = true;
        for (uint32_t i = 1; i < 6; i++)
            assert_int_equal(cast_home(&players[i], "E", id), home);
        assert_int_equal(player_asks(&players[3], "E", id, COUNT), 7);
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    world_free(world);
}

static void a_forwarded_ask_is_answered_to_the_asker(void **state)
{
    struct world *world = cast_world(3, 2, 2);
    struct player asker;
    struct player last;

    (void)state;
    player_spawn(&asker, world, 0, 0);
    player_spawn(&last, world, 1, 1);
    cast.forward_to = last.ref;
    for (uint32_t node = 0; node < 2; node++) {
        const char *id = cast_id_at(&asker, "E", node);

        asker.count = last.count = 0;
        player_ask(&asker, "E", id, FORWARD, 1000);
        assert_non_null(player_hears(&last, SECOND));
        assert_int_equal(player_last(&last)->msg, FORWARD);
        assert_true(player_last(&last)->sender.actor == asker.ref.actor);
        assert_non_null(player_hears(&asker, 2 * SECOND)); /* no answer came */
        assert_int_equal(player_last(&asker)->reason, SHERD_REASON_TIMEOUT);
    }
    world_free(world);
}

static void watch_other(struct sherd_ctx *ctx, struct player *player)
{
    sherd_watch(ctx, player->other);
}

static void unwatch_other(struct sherd_ctx *ctx, struct player *player)
{
    sherd_unwatch(ctx, player->other);
}

static void stop_other(struct sherd_ctx *ctx, struct player *player)
{
    sherd_stop(ctx, player->other);
}

static void a_remote_watch_ends_once(void **state)
{
    struct world *world = cast_world(4, 2, 2);
    struct player watchers[2];
    struct player watched;

    (void)state;
    for (uint32_t i = 0; i < 2; i++)
        player_spawn(&watchers[i], world, i, 1);
    player_spawn(&watched, world, 1, 0);
    for (uint32_t i = 0; i < 2; i++) {
        watchers[i].other = watched.ref;
        player_do(&watchers[i], watch_other);
    }
    world_run(world, SECOND);
    assert_int_equal(watchers[0].count, 0);
    player_do(&watchers[0], stop_other); /* from another node */
    world_run(world, 3 * SECOND);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(watchers[i].count, 1);
        assert_int_equal(player_last(&watchers[i])->kind, SHERD_TERMINATED);
        assert_true(player_last(&watchers[i])->sender.actor ==
                    watched.ref.actor);
        assert_true(player_last(&watchers[i])->sender.node ==
                    watched.ref.node);
        player_do(&watchers[i], watch_other); /* it does not exist any more */
    }
    world_run(world, 3 * SECOND);
    assert_int_equal(watchers[0].count, 2);
    assert_int_equal(watchers[1].count, 2);
    assert_int_equal(player_last(&watchers[0])->kind, SHERD_TERMINATED);
    world_free(world);
}

static void an_actor_that_unwatches_gets_no_notice(void **state)
{
    struct world *world = cast_world(5, 2, 2);
    struct player watcher;
    struct player watched;

    (void)state;
    player_spawn(&watcher, world, 0, 1);
    player_spawn(&watched, world, 1, 0);
    watcher.other = watched.ref;
    player_do(&watcher, watch_other);
    world_run(world, SECOND);
    player_do(&watcher, unwatch_other);
    world_run(world, SECOND);
    world_tell(world, 1, watched.ref, STOP, (struct sherd_bytes){ NULL, 0 });
    world_run(world, 5 * SECOND);
    assert_int_equal(watcher.count, 0);
    world_free(world);
}

static void a_removed_node_terminates_the_watched_MEM263(void **state)
{
    struct world *world = cast_world(6, 3, 2);
    struct player watcher;
    struct player watched;

    (void)state;
    player_spawn(&watcher, world, 0, 1);
    player_spawn(&watched, world, 2, 0);
    watcher.other = watched.ref;
    player_do(&watcher, watch_other);
    world_run(world, SECOND);
    world_crash(world, 2);
    world_run(world, SECOND);
    assert_int_equal(watcher.count, 0);
    world_down(world, 0, 2);
    world_run(world, 20 * SECOND);
    assert_int_equal(watcher.count, 1);
    assert_int_equal(player_last(&watcher)->kind, SHERD_TERMINATED);
    watcher.count = 0;
    player_do(&watcher, watch_other);
    world_run(world, SECOND);
    assert_int_equal(watcher.count, 1); /* at once: the node is gone */
    watcher.count = 0;
    player_tell(&watcher, NULL, NULL, ECHO);
    world_run(world, SECOND);
    assert_int_equal(watcher.count, 1);
    assert_int_equal(player_last(&watcher)->kind, SHERD_UNDELIVERED);
    assert_int_equal(player_last(&watcher)->reason, SHERD_REASON_NODE_GONE);
    world_free(world);
}

static void say_last_words(struct sherd_ctx *ctx, struct player *player)
{
    for (int i = 0; i < 30; i++)
        sherd_tell(ctx, player->other, SILENT,
                   (struct sherd_bytes){ NULL, 0 });
}

static void the_notice_of_the_end_comes_after_the_last_messages_MEM006(
    void **state)
{
    struct world *world = cast_world(16, 3, 2);
    struct player watcher;
    struct player watched;
    uint32_t leaver = 2;

    (void)state;
    player_spawn(&watcher, world, 0, 1);
    player_spawn(&watched, world, leaver, 1);
    watcher.other = watched.ref;
    watched.other = watcher.ref;
    player_do(&watcher, watch_other);
    world_run(world, SECOND);
    world_leave(world, leaver);
    player_do(&watched, say_last_words);
    assert_true(world_until(world, world_node_ended, &leaver, 60 * SECOND));
    world_run(world, 20 * SECOND);
    assert_int_equal(watcher.count, 31);
    for (uint32_t i = 0; i < 30; i++)
        assert_int_equal(watcher.heard[i].kind, SHERD_MESSAGE);
    assert_int_equal(player_last(&watcher)->kind, SHERD_TERMINATED);
    world_free(world);
}

static void an_ask_ends_with_its_node(void **state)
{
    struct world *world = cast_world(8, 3, 1);
    struct player asker;
    const struct heard *heard;
    const char *id;

    (void)state;
    player_spawn(&asker, world, 0, 0);
    id = cast_id_at(&asker, "E", 2);
    asker.count = 0;
    player_ask(&asker, "E", id, SILENT, 60000);
    world_run(world, SECOND);
    world_crash(world, 2);
    world_down(world, 0, 2);
    heard = player_hears(&asker, 30 * SECOND);
    assert_non_null(heard);
    assert_int_equal(heard->kind, SHERD_NO_ANSWER);
    assert_int_equal(heard->reason, SHERD_REASON_NODE_GONE);
    assert_string_equal(heard->where, "n2:2551");
    world_free(world);
}

static void undeliverable_messages_come_back_from_another_node(void **state)
{
    struct world *world = cast_world(9, 2, 2);
    struct player asker;
    struct player gone;
    const struct heard *heard;

    (void)state;
    player_spawn(&asker, world, 0, 1);
    player_spawn(&gone, world, 1, 0);
    world_tell(world, 1, gone.ref, STOP, (struct sherd_bytes){ NULL, 0 });
    world_run(world, SECOND);
    asker.other = gone.ref;
    player_tell(&asker, NULL, NULL, COUNT);
    heard = player_hears(&asker, SECOND);
    assert_non_null(heard);
    assert_int_equal(heard->kind, SHERD_UNDELIVERED);
    assert_int_equal(heard->reason, SHERD_REASON_NO_SUCH_ACTOR);
    assert_int_equal(heard->msg, COUNT);
    asker.count = 0;
    player_ask(&asker, NULL, NULL, COUNT, 5000);
    heard = player_hears(&asker, SECOND);
    assert_non_null(heard);
    assert_int_equal(heard->kind, SHERD_NO_ANSWER);
    assert_int_equal(heard->reason, SHERD_REASON_NO_SUCH_ACTOR);
    assert_int_equal(heard->tag, asker.tag);
    world_free(world);
}

static void an_entity_that_fails_answers_its_asker(void **state)
{
    struct world *world = cast_world(10, 2, 1);
    struct player asker;

    (void)state;
    player_spawn(&asker, world, 0, 0);
    for (uint32_t node = 0; node < 2; node++) {
        const char *id = cast_id_at(&asker, "E", node);

        asker.count = 0;
        player_ask(&asker, "E", id, FAIL, 5000);
        assert_non_null(player_hears(&asker, SECOND));
        assert_int_equal(player_last(&asker)->reason,
                         SHERD_REASON_HANDLER_FAILED);
        assert_int_equal(player_asks(&asker, "E", id, COUNT), 1);
    }
    world_free(world);
}

static void an_event_that_is_not_stored_is_not_answered(void **state)
{
    struct world *world = cast_world(11, 2, 1);
    struct player asker;

    (void)state;
    player_spawn(&asker, world, 0, 0);
    for (uint32_t node = 0; node < 2; node++) {
        const char *id = cast_id_at(&asker, "P", node);

        assert_int_equal(player_asks(&asker, "P", id, STORE), 1);
        disk_backend_refuse(world_backend(world), true);
        asker.count = 0;
        player_ask(&asker, "P", id, STORE, 5000);
        assert_non_null(player_hears(&asker, SECOND));
        assert_int_equal(player_last(&asker)->reason, SHERD_REASON_NOT_STORED);
        disk_backend_refuse(world_backend(world), false);
        world_run(world, SECOND);
        assert_int_equal(player_asks(&asker, "P", id, STORE), 2);
    }
    world_free(world);
}

static void tell_many(struct sherd_ctx *ctx, struct player *player)
{
    for (uint32_t i = 0; i < 10100; i++)
        sherd_entity_tell(ctx, player->type, player->id, SILENT,
                          (struct sherd_bytes){ NULL, 0 });
}

/* The store hangs, so the mailbox fills while the entity recovers. */
static void a_full_mailbox_on_another_node_is_reported(void **state)
{
    struct world *world = cast_world(12, 2, 1);
    struct player asker;
    struct sherd_status status;

    (void)state;
    player_spawn(&asker, world, 0, 0);
    asker.type = "P";
    asker.id = cast_id_at(&asker, "P", 1);
    player_tell(&asker, asker.type, asker.id, STOP);
    world_run(world, SECOND);
    disk_backend_hold(world_backend(world), true);
    asker.count = 0;
    player_do(&asker, tell_many);
    world_run(world, SECOND);
    assert_int_equal(asker.count, 100);
    assert_int_equal(player_last(&asker)->reason, SHERD_REASON_MAILBOX_FULL);
    status = world_status(world, 1);
    assert_int_equal(status.undelivered[SHERD_REASON_MAILBOX_FULL], 100);
    world_status_fini(&status);
    disk_backend_hold(world_backend(world), false);
    world_run(world, SECOND);
    assert_int_equal(player_asks(&asker, "P", asker.id, COUNT), 10001);
    world_free(world);
}

/* Messages during a passivation start the next incarnation. */
static void passivation_loses_nothing(void **state)
{
    struct world *world = cast_world(13, 2, 2);
    struct player asker;
    const char *id;
    uint64_t given = 0;

    (void)state;
    player_spawn(&asker, world, 0, 0);
    for (uint32_t node = 0; node < 2; node++) {
        id = cast_id_at(&asker, "E", node);
        (void)player_asks(&asker, "E", id, PASSIVATE);
        given = 0;
        for (int i = 0; i < 100; i++) {
            uint64_t count;

            player_tell(&asker, "E", id, i % 3 ? SILENT : QUIET);
            asker.count = 0;
            count = player_asks(&asker, "E", id, COUNT);
            given = count > given ? count : given;
            assert_true(count >= 1);
        }
        assert_true(given < 20); /* it did end in between */
    }
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_seeds_give_equal_worlds),
        cmocka_unit_test(actors_ask_actors_ADJ087),
        cmocka_unit_test(entities_answer_everywhere_SHD133_SHT020_SHT021),
        cmocka_unit_test(a_forwarded_ask_is_answered_to_the_asker),
        cmocka_unit_test(a_remote_watch_ends_once),
        cmocka_unit_test(an_actor_that_unwatches_gets_no_notice),
        cmocka_unit_test(a_removed_node_terminates_the_watched_MEM263),
        cmocka_unit_test(
            the_notice_of_the_end_comes_after_the_last_messages_MEM006),
        cmocka_unit_test(an_ask_ends_with_its_node),
        cmocka_unit_test(undeliverable_messages_come_back_from_another_node),
        cmocka_unit_test(an_entity_that_fails_answers_its_asker),
        cmocka_unit_test(an_event_that_is_not_stored_is_not_answered),
        cmocka_unit_test(a_full_mailbox_on_another_node_is_reported),
        cmocka_unit_test(passivation_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
