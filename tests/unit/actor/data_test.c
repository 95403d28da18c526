/* Checks a lane's part of distributed data: subscribers of keys, and calls that wait for
 * durability. */
#include "lab.h"

#include <sherd/ddata.h>

enum { TYPE = 5, TAG = 9 };

static uint32_t changes; /* received */
static uint32_t refusals;

static enum sherd_next follow(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED)
        assert_int_equal(sherd_data_subscribe(ctx, "k", TAG), 0);
    if (msg->kind == SHERD_DATA && msg->msg == SHERD_DATA_CHANGED) {
        assert_int_equal(msg->tag, TAG);
        changes++;
    }
    refusals += msg->kind == SHERD_DATA && msg->msg == SHERD_DATA_REFUSED &&
                msg->tag == TAG;
    return SHERD_CONTINUE;
}

static void add_followers(void)
{
    struct sherd_entity_type type = {
        .name = "F",
        .behavior = { .name = "follower", .receive = follow },
        .shards = 10,
        .mailbox_max = 2
    };

    actors_add_type(lab.actors, TYPE, &type);
    for (int32_t i = 0; i < 10; i++)
        actors_shard_start(lab.actors, TYPE, i);
    changes = 0;
}

/* Takes the next news, which is for key "k"; returns its actor. */
static uint64_t expect_news(enum actors_news_kind kind, bool is_first)
{
    struct actors_news news;

    assert_true(actors_next_news(lab.actors, &news));
    assert_int_equal(news.kind, kind);
    assert_true(slice_is(news.key, "k"));
    if (kind == ACTORS_FOLLOW_KEY) {
        assert_int_equal(news.values.follow.is_first, is_first);
        assert_int_equal(news.values.follow.tag, TAG);
    }
    return news.actor;
}

static void run_alone(void)
{
    (void)actors_run(lab.actors, lab.now, 0, 1000);
}

static void change(void)
{
    actors_data_changed(lab.actors, "k", SHERD_DATA_CHANGED, slice_of("k", 2));
}

static void a_lane_subscribes_to_a_key_once(void **state)
{
    uint64_t first, second;

    (void)state;
    add_followers();
    lab_entity_order(TYPE, "x", NULL, 0);
    run_alone();
    first = expect_news(ACTORS_FOLLOW_KEY, true);
    lab_entity_order(TYPE, "y", NULL, 0);
    run_alone();
    second = expect_news(ACTORS_FOLLOW_KEY, false);
    assert_true(first != second);
    change();
    run_alone();
    assert_int_equal(changes, 2);
    actors_data(lab.actors, second, SHERD_DATA_CHANGED, TAG, slice_of("k", 2));
    run_alone();
    assert_int_equal(changes, 3);
    /* Ended subscribers are dropped with the next change; the last one takes the key with it. */
    for (int32_t i = 0; i < 10; i++)
        actors_shard_stop(lab.actors, TYPE, i, NEVER);
    run_alone();
    change();
    for (struct actors_news news = { .kind = ACTORS_FORGET };
         news.kind != ACTORS_UNFOLLOW_KEY;)
        assert_true(actors_next_news(lab.actors, &news));
}

/* A full mailbox misses a change: the actor later gets the present value. */
static void a_missed_change_is_requested_again(void **state)
{
    (void)state;
    add_followers();
    lab_entity_order(TYPE, "x", NULL, 0);
    run_alone();
    (void)expect_news(ACTORS_FOLLOW_KEY, true);
    for (int i = 0; i < 5; i++)
        change();
    assert_int_equal(lab_status().data_missed, 1);
    run_alone();
    assert_int_equal(changes, 2);
    (void)expect_news(ACTORS_FOLLOW_KEY, false);
    change();
    run_alone();
    assert_int_equal(changes, 3);
}

/* A refused subscriber is notified once and dropped: the next one is the first again. */
static void a_refused_subscriber_is_dropped(void **state)
{
    uint64_t second;

    (void)state;
    refusals = 0;
    add_followers();
    lab_entity_order(TYPE, "x", NULL, 0);
    run_alone();
    (void)expect_news(ACTORS_FOLLOW_KEY, true);
    lab_entity_order(TYPE, "y", NULL, 0);
    run_alone();
    second = expect_news(ACTORS_FOLLOW_KEY, false);
    actors_data_refused(lab.actors, second, "other");
    actors_data_refused(lab.actors, second, "k");
    run_alone();
    assert_int_equal(refusals, 1);
    change();
    run_alone();
    assert_int_equal(changes, 1);
    actors_data_refused(lab.actors, 0, "k");
    run_alone();
    assert_int_equal(refusals, 2);
    assert_int_equal(lab_status().subscribers_refused, 2);
    (void)expect_news(ACTORS_UNFOLLOW_KEY, false);
    change();
    run_alone();
    assert_int_equal(changes, 1);
    lab_entity_order(TYPE, "z", NULL, 0);
    run_alone();
    (void)expect_news(ACTORS_FOLLOW_KEY, true);
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_lane_subscribes_to_a_key_once),
        TEST(a_refused_subscriber_is_dropped),
        TEST(a_missed_change_is_requested_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
