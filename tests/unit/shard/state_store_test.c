/* Tests a coordinator's state in distributed data: nothing is announced before it is stored, and
 * the next coordinator continues from there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/gzip.h"
#include "base/limits.h"
#include "scene.h"
#include "shard/stored.h"

#define counter(scene, name) (coordinator_counters((scene)->coordinator)->name)

static void tells(struct scene *scene, bool is_good)
{
    scene_answer(scene, is_good);
    scene_drain(scene);
}

/* The coordinator's node crashes; another begins. */
static void takes_over(struct scene *scene, int count)
{
    bool is_held = scene->is_held;

    scene_coordinator(scene, NULL);
    scene->is_held = true; /* like the node, which passes all members first */
    for (int n = 0; n < count; n++)
        peer_up(scene, n);
    scene->is_held = is_held;
    if (!is_held)
        tells(scene, true);
    forget_sent(scene);
}

static void stops(struct scene *scene)
{
    coordinator_stop(scene->coordinator, scene->now, &scene->outbox);
    scene_drain(scene);
}

static void nothing_is_announced_before_it_is_stored(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    scene->is_held = true;
    asks(scene, 0, "1");
    assert_int_equal(scene->request.kind, COORDINATOR_REQUEST_WRITE);
    assert_true(scene->wanted_state.size && scene->wanted_fences.size);
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(scene->sent.count, 0);
    asks(scene, 1, "1");
    passes(scene, 4000);
    assert_int_equal(sent_count(scene, SHARD_HOME, ANY_NODE), 0);
    assert_int_equal(sent_count(scene, SHARD_HOST, ANY_NODE), 0);
    tells(scene, true);
    assert_int_equal(scene->sent.items[0].kind, SHARD_HOST);
    assert_int_equal(sent_count(scene, SHARD_HOME, 0), 1);
    assert_int_equal(sent_count(scene, SHARD_HOME, 1), 1);
    scene_free(scene);
}

static void changes_during_a_write_go_into_the_next_one(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    uint32_t writes;
    (void)state;

    scene->is_held = true;
    writes = scene->writes;
    asks(scene, 0, "1");
    for (int i = 2; i < 50; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    assert_int_equal(scene->writes, writes + 1);
    tells(scene, true);
    assert_int_equal(sent_count(scene, SHARD_HOME, 0), 1);
    assert_int_equal(scene->writes, writes + 2);
    tells(scene, true);
    assert_int_equal(sent_count(scene, SHARD_HOME, 0), 49);
    assert_int_equal(scene->writes, writes + 2);
    scene_free(scene);
}

static void known_homes_are_announced_while_a_write_is_repeated(
    void **state)
{
    struct scene *scene = scene_with(2, NULL);
    uint64_t timeout;
    (void)state;

    asks(scene, 0, "1");
    play(scene);
    forget_sent(scene);
    scene->is_held = true;
    asks(scene, 0, "2");
    assert_int_equal(scene->request.timeout_ms, 1000);
    for (int i = 1; i <= 7; i++) {
        uint64_t pause = i < 7 ? 100u << (i - 1) : 5000; /* ms */
        uint32_t writes = scene->writes;

        timeout = scene->request.timeout_ms;
        tells(scene, false);
        assert_int_equal(counter(scene, failed_writes), i);
        assert_int_equal(scene->writes, writes);
        asks(scene, 1, "1");
        assert_int_equal(sent_count(scene, SHARD_HOME, 1), i);
        passes(scene, pause - 1);
        assert_int_equal(scene->writes, writes);
        passes(scene, 1);
        assert_int_equal(scene->writes, writes + 1);
        assert_true(scene->request.timeout_ms >= timeout);
    }
    assert_int_equal(scene->request.timeout_ms, 5000);
    assert_int_equal(sent_count(scene, SHARD_HOST, ANY_NODE), 0);
    tells(scene, true);
    assert_int_equal(sent_count(scene, SHARD_HOST, 1), 1);
    assert_int_equal(sent_count(scene, SHARD_HOME, 0), 1);
    scene_free(scene);
}

/* akka.cluster.sharding.coordinator-failure-backoff */
static void the_pause_after_failures_has_a_limit(void **state)
{
    const struct coordinator_settings settings = { .failure_backoff_ms = 300 };
    struct scene *scene = scene_with(2, &settings);
    (void)state;

    asks(scene, 0, "1");
    play(scene);
    scene->is_held = true;
    asks(scene, 0, "2");
    for (int i = 1; i <= 5; i++) {
        uint64_t pause = i < 3 ? 100u << (i - 1) : 300; /* ms */
        uint32_t writes = scene->writes;

        tells(scene, false);
        passes(scene, pause - 1);
        assert_int_equal(scene->writes, writes);
        passes(scene, 1);
        assert_int_equal(scene->writes, writes + 1);
    }
    scene_free(scene);
}

static void a_region_is_acknowledged_when_it_is_stored(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    (void)state;

    peer_up(scene, 1);
    scene->is_held = true;
    registers(scene, 1);
    registers(scene, 1);
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, 1), 0);
    assert_int_equal(scene->wanted_fences.size, 0);
    tells(scene, true);
    assert_int_equal(sent_count(scene, SHARD_REGISTER_ACK, 1), 1);
    scene_free(scene);
}

static void a_term_is_stored_before_it_is_used(void **state)
{
    struct scene *scene = scene_new(NULL);
    (void)state;

    peer_up(scene, 0);
    registers(scene, 0);
    scene->is_held = true;
    give_term(scene, 7);
    assert_false(coordinator_is_active(scene->coordinator));
    assert_int_equal(scene->sent.count, 0);
    tells(scene, true);
    assert_true(coordinator_is_active(scene->coordinator));
    scene->is_held = false;
    takes_over(scene, 1);
    give_term(scene, 7);
    assert_false(coordinator_is_active(scene->coordinator));
    give_term(scene, 8);
    assert_true(coordinator_is_active(scene->coordinator));
    scene_free(scene);
}

static void the_next_coordinator_knows_the_homes(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    for (int i = 1; i <= 6; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    assert_int_equal(home_of(scene, "2"), 1);
    takes_over(scene, 3);
    assert_int_equal(counter(scene, loaded), 6);
    assert_int_equal(home_of(scene, "2"), 1);
    assert_int_equal(fence_of(scene, "2").term, 1);
    give_term(scene, 2);
    assert_int_equal(sent_count(scene, SHARD_HOST, ANY_NODE), 0);
    registers_one(scene, 1, "2", (struct fence){ 1, 1 });
    /* It reports one of its two shards. The other gets a new fence, as the store may have refused
     * the old one. */
    assert_int_equal(sent_count(scene, SHARD_HOST, 1), 1);
    assert_string_equal(sent_last(scene, SHARD_HOST, 1).shard, "5");
    assert_int_equal(sent_last(scene, SHARD_HOST, 1).fence.term, 2);
    assert_int_equal(fence_of(scene, "2").term, 1);
    assert_int_equal(home_of(scene, "5"), 1);
    assert_int_equal(counter(scene, adopted), 0);
    scene_free(scene);
}

static void a_home_that_is_not_stored_was_never_announced(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    asks(scene, 0, "1");
    scene->is_held = true;
    asks(scene, 0, "2");
    assert_int_equal(home_of(scene, "2"), 1);
    scene->is_held = false;
    takes_over(scene, 2); /* during the write */
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(home_of(scene, "2"), -1);
    /* Or it was stored without an answer: no region was told, so none has it. */
    scene_free(scene);
    scene = scene_with(2, NULL);
    asks(scene, 0, "1");
    scene->is_held = true;
    asks(scene, 0, "2");
    tells(scene, true);
    scene->is_held = false;
    takes_over(scene, 2);
    give_term(scene, 2);
    registers_one(scene, 0, "1", (struct fence){ 1, 1 });
    registers(scene, 1);
    assert_int_equal(home_of(scene, "2"), 1);
    assert_int_equal(sent_last(scene, SHARD_HOST, 1).fence.term, 2);
    scene_free(scene);
}

static void shards_of_a_removed_home_get_another(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    asks(scene, 0, "3");
    assert_int_equal(home_of(scene, "3"), 2);
    takes_over(scene, 2);
    assert_int_equal(home_of(scene, "3"), -1);
    give_term(scene, 2);
    registers_one(scene, 0, "1", (struct fence){ 1, 1 });
    registers_one(scene, 1, "2", (struct fence){ 1, 1 });
    assert_true(home_of(scene, "3") >= 0);
    assert_int_equal(fence_of(scene, "3").epoch, 2);
    scene_free(scene);
}

static void an_earlier_incarnation_of_a_region_loses_its_shards(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    assert_int_equal(home_of(scene, "2"), 1);
    takes_over(scene, 2);
    give_term(scene, 2);
    registers_one(scene, 0, "1", (struct fence){ 1, 1 });
    assert_int_equal(home_of(scene, "2"), 1);
    say(scene, 1, (struct shard_message){ .kind = SHARD_NO_REGION,
                                          .type = slice_text("T") });
    assert_int_equal(home_of(scene, "2"), 0);
    /* Another incarnation of the region comes before the state. */
    scene->is_held = true;
    takes_over(scene, 2);
    say(scene, 1, (struct shard_message){
                      .kind = SHARD_REGISTER,
                      .ref = slice_text("akka://S@n1:2550/system/sharding/T#9"),
                      .lanes = 2,
                      .report = 1 });
    scene->is_held = false;
    tells(scene, true);
    assert_int_equal(shards_at(scene, 1), 0);
    scene_free(scene);
}

static void a_report_is_compared_with_the_stored_fence(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    asks(scene, 0, "1"); /* 1.1 at n0 */
    asks(scene, 0, "2"); /* 1.1 at n1 */
    asks(scene, 0, "3"); /* 1.1 at n0 */
    scene->is_held = true;
    takes_over(scene, 2);
    registers_one(scene, 1, "1", (struct fence){ 1, 0 }); /* from long ago */
    registers_one(scene, 0, "2", (struct fence){ 1, 4 }); /* newer than the stored one */
    scene->is_held = false;
    tells(scene, true);
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(fence_of(scene, "1").epoch, 1);
    assert_int_equal(home_of(scene, "2"), 0);
    assert_int_equal(fence_of(scene, "2").epoch, 4);
    assert_int_equal(home_of(scene, "3"), 0);
    scene_free(scene);
}

/* A region reported a newer fence than the stored one, and went before the read. */
static void a_stored_home_older_than_a_report_is_not_loaded(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    asks(scene, 0, "1"); /* 1.1 at n0 */
    scene->is_held = true;
    takes_over(scene, 3);
    registers_one(scene, 2, "1", (struct fence){ 1, 4 });
    peer_removed(scene, 2);
    scene->is_held = false;
    tells(scene, true);
    assert_int_equal(home_of(scene, "1"), -1);
    give_term(scene, 2);
    registers(scene, 0);
    registers(scene, 1);
    assert_true(home_of(scene, "1") >= 0);
    assert_int_equal(fence_of(scene, "1").term, 2);
    assert_int_equal(fence_of(scene, "1").epoch, 5);
    scene_free(scene);
}

/* Another region had the shard later and is gone. The next home gets a fence above both. */
static void a_report_below_the_fence_of_a_removed_home_is_refused(
    void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    asks(scene, 0, "1");
    asks(scene, 0, "2");
    asks(scene, 0, "3"); /* at n2 */
    registers_one(scene, 2, "3", (struct fence){ 1, 5 });
    assert_int_equal(home_of(scene, "3"), 2);
    scene->is_held = true;
    takes_over(scene, 2);
    registers_one(scene, 1, "3", (struct fence){ 1, 2 });
    assert_int_equal(home_of(scene, "3"), 1);
    scene->is_held = false;
    tells(scene, true);
    assert_int_equal(home_of(scene, "3"), -1);
    give_term(scene, 2);
    registers(scene, 0);
    assert_true(home_of(scene, "3") >= 0);
    assert_int_equal(fence_of(scene, "3").term, 2);
    assert_int_equal(fence_of(scene, "3").epoch, 6);
    assert_int_equal(sent_last(scene, SHARD_HOME, 1).fence.epoch, 6);
    scene_free(scene);
}

/* The node returned at its address without the role. It is not asked, so it would never report. */
static void shards_of_a_home_without_the_role_get_another(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    asks(scene, 0, "1"); /* at n0 */
    asks(scene, 0, "2"); /* at n1 */
    scene_coordinator(scene, NULL);
    scene->is_held = true;
    peer_up(scene, 0);
    peer_is(scene, 1, MEMBER_UP, false, true);
    scene->is_held = false;
    tells(scene, true);
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(home_of(scene, "2"), -1);
    give_term(scene, 2);
    registers(scene, 0);
    assert_int_equal(home_of(scene, "2"), 0);
    scene_free(scene);
}

/* The stored home may be newer than the stored fence. Without a higher one it would get its
 * predecessor's fence. */
static void a_home_that_did_not_report_its_shard_gets_a_higher_fence(
    void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    asks(scene, 0, "1"); /* 1.1 at n0 */
    scene->is_held = true;
    takes_over(scene, 2);
    registers(scene, 0);
    registers(scene, 1);
    scene->is_held = false;
    tells(scene, true);
    assert_int_equal(home_of(scene, "1"), 0);
    give_term(scene, 2);
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    assert_int_equal(sent_last(scene, SHARD_HOST, 0).fence.term, 2);
    assert_int_equal(sent_last(scene, SHARD_HOST, 0).fence.epoch, 2);
    scene_free(scene);
}

static void a_failed_read_is_repeated(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    (void)state;

    asks(scene, 0, "1");
    scene->is_held = true;
    takes_over(scene, 1);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(scene->request.kind, COORDINATOR_REQUEST_READ);
        assert_int_equal(scene->request.timeout_ms, i == 1 ? 1000 : 2000);
        tells(scene, false);
        assert_int_equal(counter(scene, failed_reads), i);
        give_term(scene, 9);
        assert_false(coordinator_is_active(scene->coordinator));
        passes(scene, 1000);
    }
    scene->is_held = false;
    tells(scene, true);
    assert_int_equal(home_of(scene, "1"), 0);
    assert_true(has_news(scene, COORDINATOR_NEWS_NEEDS_TERM));
    scene_free(scene);
}

static void time_outs_grow_up_to_the_setting(void **state)
{
    const struct coordinator_settings settings = {
        .waiting_for_state_timeout_ms = 300,
        .updating_state_timeout_ms = 1700,
    };
    struct scene *scene = scene_unread(&settings);
    (void)state;

    scene->is_held = true;
    peer_up(scene, 0);
    assert_int_equal(scene->request.kind, COORDINATOR_REQUEST_READ);
    assert_int_equal(scene->request.timeout_ms, 300);
    tells(scene, true);
    give_term(scene, 1);
    assert_int_equal(scene->request.kind, COORDINATOR_REQUEST_WRITE);
    assert_int_equal(scene->request.timeout_ms, 1000);
    tells(scene, false);
    passes(scene, 1000);
    assert_int_equal(scene->request.timeout_ms, 1700);
    scene_free(scene);
}

/* The request waits for a node that will not answer. */
static void a_removed_member_is_not_waited_for(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    uint64_t ticket;
    uint32_t writes;
    (void)state;

    scene->is_held = true;
    asks(scene, 0, "1");
    ticket = scene->request.ticket;
    writes = scene->writes;
    peer_removed(scene, 2);
    assert_int_equal(scene->writes, writes + 1);
    assert_true(scene->request.ticket > ticket);
    coordinator_written(scene->coordinator, scene->now, ticket, true,
                        &scene->outbox);
    scene_drain(scene);
    assert_int_equal(counter(scene, stale), 1);
    assert_int_equal(scene->sent.count, 0);
    tells(scene, true);
    assert_int_equal(sent_count(scene, SHARD_HOST, ANY_NODE), 1);
    scene_free(scene);
}

/* Many members change at once after a cut or a crash. Each change used to begin a whole write. */
static void members_that_change_at_once_begin_few_writes(void **state)
{
    struct scene *scene = scene_with(12, NULL);
    uint32_t writes;
    (void)state;

    for (int n = 2; n < 10; n++)
        peer_is(scene, n, MEMBER_UP, true, false);
    scene->is_held = true;
    asks(scene, 0, "1");
    writes = scene->writes;
    for (int n = 2; n < 10; n++)
        peer_up(scene, n);
    peer_removed(scene, 10);
    assert_int_equal(scene->writes, writes + 1); /* the first begins at once */
    passes(scene, 199);
    assert_int_equal(scene->writes, writes + 1);
    passes(scene, 1);
    assert_int_equal(scene->writes, writes + 2); /* one for all others */
    passes(scene, 900);
    assert_int_equal(scene->writes, writes + 2);
    tells(scene, true);
    assert_int_equal(sent_count(scene, SHARD_HOST, 0), 1);
    /* The write in progress already knows of them. */
    asks(scene, 0, "2");
    writes = scene->writes;
    peer_removed(scene, 11);
    peer_removed(scene, 9);
    assert_int_equal(scene->writes, writes + 1);
    tells(scene, true);
    asks(scene, 0, "3");
    assert_int_equal(scene->writes, writes + 2);
    passes(scene, 900);
    assert_int_equal(scene->writes, writes + 2);
    scene_free(scene);
}

static void no_region_is_dismissed_before_the_term_is_stored(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    char ref[80];
    (void)state;

    ref_of(ref, sizeof ref, 1, false);
    takes_over(scene, 2);
    registers(scene, 0);
    registers(scene, 1);
    scene->is_held = true;
    give_term(scene, 2);
    say(scene, 1,
        (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN,
                                .ref = slice_text(ref),
                                .idle = 1 });
    assert_int_equal(sent_count(scene, SHARD_DISMISSED, ANY_NODE), 0);
    tells(scene, true);
    say(scene, 1,
        (struct shard_message){ .kind = SHARD_GRACEFUL_SHUTDOWN,
                                .ref = slice_text(ref),
                                .idle = 1 });
    assert_int_equal(sent_last(scene, SHARD_DISMISSED, 1).fence.term, 2);
    scene_free(scene);
}

/* It got no order from this coordinator. */
static void a_stopping_coordinator_waits_for_no_home_that_has_not_registered(
    void **state)
{
    struct scene *scene = scene_with(3, NULL);
    (void)state;

    for (int i = 1; i <= 3; i++) {
        char id[8];

        snprintf(id, sizeof id, "%d", i);
        asks(scene, 0, id);
    }
    assert_int_equal(home_of(scene, "2"), 1);
    takes_over(scene, 3);
    give_term(scene, 2);
    peer_removed(scene, 0);
    assert_true(coordinator_is_active(scene->coordinator));
    stops(scene);
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    scene_free(scene);
}

/* Members that confirmed a write may be leaving, and the next coordinator asks no exiting one. */
static void the_last_write_goes_to_all_members_that_stay(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    uint32_t writes;
    (void)state;

    assert_false(scene->request.to_all);
    peer_removed(scene, 0);
    writes = scene->writes;
    scene->is_held = true;
    stops(scene);
    assert_int_equal(scene->writes, writes + 1);
    assert_true(scene->request.to_all);
    assert_true(scene->wanted_state.size && scene->wanted_fences.size);
    assert_true(scene->request.timeout_ms <= 1000);
    assert_false(has_news(scene, COORDINATOR_NEWS_STOPPED));
    tells(scene, true);
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    assert_int_equal(scene->writes, writes + 1);
    scene_free(scene);
}

/* A majority of the members that are not exiting gets it. */
static void the_last_write_in_a_large_cluster_goes_to_a_majority(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    for (int n = 2; n <= 101; n++)
        peer_up(scene, n);
    peer_removed(scene, 0);
    stops(scene);
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    assert_false(scene->request.to_all);
    assert_true(scene->wanted_state.size && scene->wanted_fences.size);
    scene_free(scene);
}

/* The last write is tried once, after the one in progress. Silent members do not delay it, and
 * changing members do not restart it. */
static void a_failed_last_write_does_not_delay_the_end(void **state)
{
    struct scene *scene = scene_with(3, NULL);
    uint32_t writes;
    (void)state;

    scene->is_held = true;
    peer_removed(scene, 0);
    writes = scene->writes;
    stops(scene);
    assert_false(scene->request.to_all);
    tells(scene, false);
    assert_int_equal(scene->writes, writes + 1);
    assert_true(scene->request.to_all);
    peer_removed(scene, 2);
    assert_int_equal(scene->writes, writes + 1);
    assert_false(has_news(scene, COORDINATOR_NEWS_STOPPED));
    tells(scene, false);
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    assert_int_equal(scene->writes, writes + 1);
    scene_free(scene);
}

/* A write without any answer does not delay it either. */
static void a_last_write_without_an_answer_ends_in_time(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    peer_removed(scene, 0);
    scene->is_held = true;
    stops(scene);
    passes(scene, 2999);
    assert_false(has_news(scene, COORDINATOR_NEWS_STOPPED));
    passes(scene, 1);
    assert_true(has_news(scene, COORDINATOR_NEWS_STOPPED));
    scene_free(scene);
}

static void finds(struct scene *scene, uint64_t term, struct fence fence)
{
    struct buf bytes = { 0 }, fences = { 0 };

    stored_term_put(&bytes, (struct proof){ term, 0 });
    stored_fence_put(&bytes, slice_text("1"), fence);
    gzip_deflate(&fences, buf_slice(&bytes));
    coordinator_other_state(scene->coordinator, scene->now, buf_slice(&fences),
                        &scene->outbox);
    buf_fini(&bytes);
    buf_fini(&fences);
    scene_drain(scene);
}

static uint64_t wanted_term(struct scene *scene)
{
    struct coordinator_news news;
    uint64_t term = 0;

    while (coordinator_next_news(scene->coordinator, &news))
        term = news.kind == COORDINATOR_NEWS_NEEDS_TERM ? news.term : term;
    return term;
}

static void a_value_of_another_coordinator_is_outbid(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    asks(scene, 0, "1");
    play(scene);
    (void)wanted_term(scene);
    forget_sent(scene);
    finds(scene, 8, (struct fence){ 9, 4 });
    assert_int_equal(counter(scene, overwritten), 1);
    assert_int_equal(wanted_term(scene), 9);
    assert_false(coordinator_is_active(scene->coordinator));
    assert_true(scene->wanted_state.size && scene->wanted_fences.size);
    assert_int_equal(scene->sent.count, 0);
    give_term(scene, 10);
    assert_true(coordinator_is_active(scene->coordinator));
    assert_int_equal(fence_of(scene, "1").term, 10);
    assert_int_equal(sent_last(scene, SHARD_HOST, 0).fence.term, 10);
    assert_int_equal(sent_count(scene, SHARD_HOME, 1), 1);
    /* Two clocks made one term. */
    finds(scene, 10, (struct fence){ 1, 1 });
    assert_true(coordinator_is_active(scene->coordinator));
    passes(scene, 10000);
    assert_int_equal(wanted_term(scene), 11);
    scene_free(scene);
}

/* It is not reported again. */
static void an_early_value_of_another_coordinator_is_outbid_later(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    finds(scene, 8, (struct fence){ 8, 1 });
    give_term(scene, 9);
    passes(scene, 3000);
    (void)wanted_term(scene);
    finds(scene, 12, (struct fence){ 1, 1 });
    finds(scene, 20, (struct fence){ 1, 1 });
    finds(scene, 15, (struct fence){ 1, 1 });
    assert_true(coordinator_is_active(scene->coordinator));
    passes(scene, 6999);
    assert_int_equal(wanted_term(scene), 0);
    assert_true(coordinator_is_active(scene->coordinator));
    passes(scene, 1);
    assert_int_equal(wanted_term(scene), 20);
    assert_false(coordinator_is_active(scene->coordinator));
    give_term(scene, 21);
    assert_true(coordinator_is_active(scene->coordinator));
    assert_int_equal(counter(scene, outbids), 2);
    assert_int_equal(counter(scene, outbids_left), 0);
    passes(scene, 60000);
    assert_int_equal(wanted_term(scene), 0);
    scene_free(scene);
}

static void a_waiting_outbid_may_be_settled_before(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    (void)state;

    finds(scene, 8, (struct fence){ 8, 1 });
    give_term(scene, 9);
    finds(scene, 12, (struct fence){ 1, 1 });
    registers_one(scene, 0, "1", (struct fence){ 30, 1 });
    give_term(scene, 31);
    (void)wanted_term(scene);
    passes(scene, 10000);
    assert_int_equal(wanted_term(scene), 0);
    assert_true(coordinator_is_active(scene->coordinator));
    finds(scene, 32, (struct fence){ 1, 1 });
    give_term(scene, 33);
    finds(scene, 50, (struct fence){ 1, 1 });
    registers_one(scene, 0, "1", (struct fence){ 40, 1 });
    assert_false(coordinator_is_active(scene->coordinator));
    passes(scene, 20000);
    give_term(scene, 45); /* from a store without that term */
    assert_false(coordinator_is_active(scene->coordinator));
    give_term(scene, 51);
    assert_true(coordinator_is_active(scene->coordinator));
    scene_free(scene);
}

static void a_lower_value_of_another_coordinator_is_overwritten(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    uint32_t writes;
    (void)state;

    asks(scene, 0, "1");
    takes_over(scene, 2);
    coordinator_other_state(scene->coordinator, scene->now, slice_of(NULL, 0),
                        &scene->outbox);
    finds(scene, 3, (struct fence){ 3, 2 }); /* before it has a term */
    give_term(scene, 3);
    assert_false(coordinator_is_active(scene->coordinator));
    give_term(scene, 5);
    assert_true(coordinator_is_active(scene->coordinator));
    registers_one(scene, 0, "1", (struct fence){ 1, 1 });
    assert_int_equal(fence_of(scene, "1").term, 5); /* the store may have another coordinator's */
    writes = scene->writes;
    finds(scene, 4, (struct fence){ 4, 7 });
    assert_true(coordinator_is_active(scene->coordinator));
    assert_int_equal(fence_of(scene, "1").term, 5);
    assert_int_equal(scene->writes, writes + 1);
    assert_true(scene->wanted_state.size && scene->wanted_fences.size);
    coordinator_other_state(scene->coordinator, scene->now, slice_text("none"),
                        &scene->outbox);
    scene_drain(scene);
    assert_int_equal(scene->writes, writes + 2);
    assert_int_equal(counter(scene, malformed), 1);
    assert_int_equal(counter(scene, overwritten), 4);
    /* The next fence of a shard without a home is above it. */
    peer_removed(scene, 0);
    peer_removed(scene, 1);
    finds(scene, 4, (struct fence){ 5, 70 });
    peer_up(scene, 2);
    registers(scene, 2);
    asks(scene, 2, "1");
    (void)wanted_term(scene);
    give_term(scene, 7);
    assert_int_equal(home_of(scene, "1"), 2);
    assert_int_equal(fence_of(scene, "1").epoch, 71);
    scene_free(scene);
}

static void an_unreadable_state_is_rebuilt_from_reports(void **state)
{
    struct scene *scene = scene_with(1, NULL);
    struct trace_line line;
    bool is_said = false;
    (void)state;

    asks(scene, 0, "1");
    scene->state.size /= 2;
    takes_over(scene, 1);
    while (trace_next(scene->trace, &line))
        is_said |= line.level == TRACE_ERROR;
    assert_true(is_said);
    assert_int_equal(counter(scene, malformed), 1);
    peer_is(scene, 1, MEMBER_UP, true, false);
    give_term(scene, 2);
    registers_one(scene, 0, "1", (struct fence){ 1, 1 });
    assert_int_equal(home_of(scene, "1"), 0);
    assert_int_equal(counter(scene, adopted), 1);
    /* So all members are waited for. */
    asks(scene, 0, "2");
    for (int i = 0; i < 20; i++)
        passes(scene, 1000);
    assert_int_equal(home_of(scene, "2"), -1);
    peer_removed(scene, 1);
    assert_int_equal(home_of(scene, "2"), 0);
    scene_free(scene);
}

/* Fences and homes are two values. */
static void a_region_with_the_last_fence_has_the_shard(void **state)
{
    struct scene *scene = scene_with(2, NULL);
    struct fence fence;
    (void)state;

    play(scene);
    scene->state.size = 0;
    takes_over(scene, 2);
    finds(scene, 1, (struct fence){ 1, 5 });
    give_term(scene, 2);
    registers_one(scene, 1, "1", (struct fence){ 1, 5 });
    registers(scene, 0);
    assert_int_equal(home_of(scene, "1"), 1);
    assert_int_equal(sent_count(scene, SHARD_HOST, ANY_NODE), 0);
    asks(scene, 0, "1");
    fence = sent_last(scene, SHARD_HOME, 0).fence;
    assert_int_equal(fence.term, 1);
    assert_int_equal(fence.epoch, 5);
    scene_free(scene);
}

/* 64 regions or 256 shards in a part. */
static void assert_stored(const struct scene *scene, uint32_t regions,
                          uint32_t shards)
{
    struct stored stored;

    assert_true(stored_read(&stored, buf_slice(&scene->state),
                            buf_slice(&scene->fences)));
    assert_int_equal(stored.region_count, regions);
    assert_int_equal(stored.home_count, shards);
    assert_int_equal(stored.fence_count, shards);
    stored_fini(&stored);
}

static void each_region_and_shard_is_in_one_part(void **state)
{
    const int regions = 150, shards = 600;
    struct scene *scene = scene_with(regions, NULL);
    char id[8];
    (void)state;

    for (int i = 0; i < shards; i++) {
        (void)snprintf(id, sizeof id, "%d", i);
        asks(scene, i % regions, id);
    }
    assert_stored(scene, (uint32_t)regions, (uint32_t)shards);
    peer_removed(scene, 3);
    asks(scene, 0, "more");
    assert_stored(scene, (uint32_t)regions - 1, (uint32_t)shards + 1);
    scene_free(scene);
}

/* Removes the last region of a part that is not full, replaces it, then removes a part's only
 * region. */
static void regions_may_be_removed_in_any_order(void **state)
{
    struct scene *scene = scene_with(66, NULL);
    (void)state;

    asks(scene, 0, "1");
    assert_stored(scene, 66, 1);
    peer_removed(scene, 65);
    assert_stored(scene, 65, 1);
    peer_up(scene, 66);
    registers(scene, 66);
    assert_stored(scene, 66, 1);
    peer_removed(scene, 66);
    peer_removed(scene, 64);
    assert_stored(scene, 64, 1);
    peer_removed(scene, 63);
    assert_stored(scene, 63, 1);
    scene_free(scene);
}

/* A JVM's coordinator has no fences, and its regions report nothing. */
static void the_state_of_a_jvm_is_loaded(void **state)
{
    struct scene *scene = scene_unread(NULL);
    struct gzip_part part = { 0 }, sum = { 0 };
    struct node_id node = node_of(1);
    struct buf bytes = { 0 };
    char ref[80];
    (void)state;

    ref_of(ref, sizeof ref, 1, false);
    stored_home_put(&bytes, slice_text("1"), slice_text(ref));
    stored_home_put(&bytes, slice_text("1"), slice_text(ref)); /* twice */
    /* unknown region */
    stored_home_put(&bytes, slice_text("2"), slice_text("akka://S@n9:2550/x#1"));
    stored_region_put(&bytes, slice_text(ref), false);
    gzip_part_set(&part, buf_slice(&bytes));
    gzip_begin(&scene->state);
    gzip_join(&scene->state, &sum, &part);
    gzip_end(&scene->state, &sum);
    gzip_part_fini(&part);
    buf_fini(&bytes);
    scene->is_jvm[1] = true;
    scene->is_held = true;
    peer_up(scene, 0);
    peer_up(scene, 1);
    coordinator_peer_jvm(scene->coordinator, scene->now, &node,
                             &scene->outbox);
    scene->is_held = false;
    tells(scene, true);
    assert_int_equal(home_of(scene, "1"), 1);
    assert_int_equal(home_of(scene, "2"), -1);
    give_term(scene, 2);
    registers(scene, 1);
    assert_int_equal(sent_count(scene, SHARD_HOST, 1), 1);
    assert_string_equal(sent_last(scene, SHARD_HOST, 1).shard, "1");
    registers(scene, 0);
    assert_true(home_of(scene, "2") >= 0);
    scene_free(scene);
}

/* The coordinator crashes at each step of a hand-off. Announced homes stand, and the shard has one
 * home at the end. */
static void a_coordinator_may_crash_in_every_step_of_a_hand_off(void **state)
{
    static const struct coordinator_settings eager = { .absolute_limit = 1000,
                                                       .relative_limit = 1.0 };
    (void)state;

    for (int step = 0; step < 5; step++) {
        struct scene *scene = scene_with(1, &eager);
        struct sent begin, stop;
        bool is_moved = step >= 4;

        asks(scene, 0, "1");
        asks(scene, 0, "2");
        play(scene);
        peer_up(scene, 1);
        registers(scene, 1);
        forget_sent(scene);
        passes(scene, 10000);
        assert_int_equal(sent_count(scene, SHARD_BEGIN_HAND_OFF, 0), 1);
        begin = sent_last(scene, SHARD_BEGIN_HAND_OFF, 0);
        if (step >= 1)
            answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
        begin.node = 1;
        if (step >= 2) {
            answers(scene, &begin, SHARD_BEGIN_HAND_OFF_ACK);
            stop = sent_last(scene, SHARD_HAND_OFF, 0);
        }
        if (step >= 3) {
            scene->is_held = step == 3; /* the new home is not stored */
            answers(scene, &stop, SHARD_HOST_STOPPED);
        }
        scene->is_held = false;
        takes_over(scene, 2);
        give_term(scene, 2);
        assert_int_equal(home_of(scene, begin.shard), is_moved ? 1 : 0);
        if (step < 3) {
            struct shard_hosted both[] = {
                { slice_text("1"), { 1, 1 } }, { slice_text("2"), { 1, 1 } }
            };

            registers_with(scene, 0, ++scene->report[0], both, 2);
        } else {
            registers_one(scene, 0, strcmp(begin.shard, "1") ? "1" : "2",
                          (struct fence){ 1, 1 });
        }
        registers(scene, 1);
        play(scene);
        assert_int_equal(home_of(scene, begin.shard), is_moved ? 1 : 0);
        if (step >= 3) /* hosted again */
            assert_int_equal(fence_of(scene, begin.shard).term, 2);
        else
            assert_int_equal(sent_count(scene, SHARD_HOST, ANY_NODE), 0);
        scene_free(scene);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_announced_before_it_is_stored),
        cmocka_unit_test(changes_during_a_write_go_into_the_next_one),
        cmocka_unit_test(
            known_homes_are_announced_while_a_write_is_repeated),
        cmocka_unit_test(the_pause_after_failures_has_a_limit),
        cmocka_unit_test(a_region_is_acknowledged_when_it_is_stored),
        cmocka_unit_test(a_term_is_stored_before_it_is_used),
        cmocka_unit_test(the_next_coordinator_knows_the_homes),
        cmocka_unit_test(a_home_that_is_not_stored_was_never_announced),
        cmocka_unit_test(shards_of_a_removed_home_get_another),
        cmocka_unit_test(an_earlier_incarnation_of_a_region_loses_its_shards),
        cmocka_unit_test(a_report_is_compared_with_the_stored_fence),
        cmocka_unit_test(
            a_stored_home_older_than_a_report_is_not_loaded),
        cmocka_unit_test(
            a_report_below_the_fence_of_a_removed_home_is_refused),
        cmocka_unit_test(shards_of_a_home_without_the_role_get_another),
        cmocka_unit_test(
            a_home_that_did_not_report_its_shard_gets_a_higher_fence),
        cmocka_unit_test(a_failed_read_is_repeated),
        cmocka_unit_test(time_outs_grow_up_to_the_setting),
        cmocka_unit_test(a_removed_member_is_not_waited_for),
        cmocka_unit_test(members_that_change_at_once_begin_few_writes),
        cmocka_unit_test(a_value_of_another_coordinator_is_outbid),
        cmocka_unit_test(
            an_early_value_of_another_coordinator_is_outbid_later),
        cmocka_unit_test(a_waiting_outbid_may_be_settled_before),
        cmocka_unit_test(a_lower_value_of_another_coordinator_is_overwritten),
        cmocka_unit_test(no_region_is_dismissed_before_the_term_is_stored),
        cmocka_unit_test(
            a_stopping_coordinator_waits_for_no_home_that_has_not_registered),
        cmocka_unit_test(the_last_write_goes_to_all_members_that_stay),
        cmocka_unit_test(
            the_last_write_in_a_large_cluster_goes_to_a_majority),
        cmocka_unit_test(a_failed_last_write_does_not_delay_the_end),
        cmocka_unit_test(a_last_write_without_an_answer_ends_in_time),
        cmocka_unit_test(an_unreadable_state_is_rebuilt_from_reports),
        cmocka_unit_test(a_region_with_the_last_fence_has_the_shard),
        cmocka_unit_test(each_region_and_shard_is_in_one_part),
        cmocka_unit_test(regions_may_be_removed_in_any_order),
        cmocka_unit_test(the_state_of_a_jvm_is_loaded),
        cmocka_unit_test(a_coordinator_may_crash_in_every_step_of_a_hand_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
