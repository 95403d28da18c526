/* Tests check_cluster_events with correct and wrong histories: a lane sends events, and the test
 * drops, doubles or changes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "actor/actors.h"
#include "actor/cluster.h"
#include "actor/message.h"
#include "base/check.h"
#include "base/bytes.h"
#include "base/timers.h"
#include "sim/check/check_cluster_events.h"
#include "sim/workload/workload_follow.h"
#include "sim/world/world.h"

#include "judged.h"

#define SELF 's'

static struct {
    struct actors *actors;
    struct check_cluster_events *check;
    struct follower *follower;
    struct sherd_ref actor;
    uint64_t at;
    uint32_t events; /* of the next call */
    enum sherd_cluster_first first;
    bool is_leaving; /* this call unsubscribes */
    bool is_secret;  /* the checker does not hear of it */
    uint32_t drops;  /* so many of the next messages are not heard */
    bool doubles;    /* each is heard twice */
} lab;

static void call(struct sherd_ctx *ctx)
{
    if (lab.is_leaving) {
        sherd_cluster_unsubscribe(ctx, lab.events);
        check_cluster_events_unsubscribed(lab.follower, lab.events);
        return;
    }
    assert_int_equal(sherd_cluster_subscribe(ctx, lab.events, lab.first), 0);
    if (!lab.is_secret)
        check_cluster_events_subscribed(lab.follower, lab.events, lab.first);
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE)
        call(ctx);
    if (msg->kind != SHERD_CLUSTER)
        return SHERD_CONTINUE;
    if (lab.drops) {
        lab.drops--;
        return SHERD_CONTINUE;
    }
    check_cluster_events_heard(lab.follower, msg);
    if (lab.doubles)
        check_cluster_events_heard(lab.follower, msg);
    return SHERD_CONTINUE;
}

static void run(void)
{
    static const struct cluster_change in_step = { .kind = CLUSTER_IN_STEP };
    struct actors_news news;

    for (int i = 0; i < 4; i++) {
        (void)actors_run(lab.actors, lab.at += MS, 0, 1000);
        while (actors_next_news(lab.actors, &news))
            if (news.kind == ACTORS_REQUEST_CLUSTER)
                actors_cluster(lab.actors, &in_step);
    }
}

static void give(enum cluster_change_kind kind, char letter,
                 enum sherd_member_status status, const char *texts,
                 size_t size)
{
    struct cluster_change *change = mem_alloc(sizeof *change + size);
    char host[2] = { letter, 0 };

    change->kind = kind;
    change->member.status = status;
    if (letter) {
        change->member.node.uid = (uint64_t)letter;
        assert_true(address_set(&change->member.node.address, host, 1, 1));
    }
    change->member.up_number = status == SHERD_UP ? (uint32_t)letter : 0;
    change->member.is_self = letter == SELF;
    change->member.texts_size = (uint32_t)size;
    memcpy(change->texts, texts, size);
    actors_cluster(lab.actors, change);
    mem_free(change);
    run();
}

static void member(char letter, enum sherd_member_status status)
{
    static const char texts[] = "1\0east\0front\0"; /* and the end's */

    give(CLUSTER_MEMBER, letter, status, texts, sizeof texts);
}

static void far_member(char letter)
{
    static const char texts[] = "1\0west\0";

    give(CLUSTER_MEMBER, letter, SHERD_UP, texts, sizeof texts);
}

static void removed(char letter, enum sherd_member_status previous)
{
    give(CLUSTER_REMOVED, letter, previous, "", 0);
}

static void say(enum cluster_change_kind kind, char letter)
{
    give(kind, letter, SHERD_DOWN, "", 0);
}

static void role_leader(char letter, const char *role)
{
    give(CLUSTER_ROLE_LEADER, letter, SHERD_UP, role, strlen(role) + 1);
}

static void center(enum cluster_change_kind kind, const char *name)
{
    give(kind, 0, SHERD_UP, name, strlen(name) + 1);
}

static void order(uint32_t events)
{
    struct message *message = actors_message(lab.actors, slice_of(NULL, 0));

    lab.events = events;
    message->to = lab.actor;
    message->msg = 1;
    actors_deliver(lab.actors, message);
    run();
}

static void leave(uint32_t events)
{
    lab.is_leaving = true;
    order(events);
    lab.is_leaving = false;
}

static void begin(bool is_small)
{
    static const struct sherd_behavior behavior = { .name = "follower",
                                                    .receive = receive };
    const struct actors_settings settings = { .lanes = 1,
                                              .node = SELF,
                                              .now = SECOND };

    judge();
    memset(&lab, 0, sizeof lab);
    lab.at = SECOND;
    lab.actors = actors_new(&settings);
    lab.check = check_cluster_events_new(verdict);
    lab.follower = check_cluster_events_begun(lab.check, 3, SELF, is_small);
    lab.actor = actors_spawn(lab.actors, &behavior, slice_of(NULL, 0));
    run();
}

static void begin_told(void)
{
    begin(false);
    order(SHERD_EVENTS_ALL);
    member(SELF, SHERD_UP);
    member('b', SHERD_UP);
    member('c', SHERD_JOINING);
    say(CLUSTER_LEADER, 'b');
    role_leader('b', "front");
    expect_only(NULL);
}

static void end(const char *invariant)
{
    expect_only(invariant);
    check_cluster_events_free(lab.check);
    actors_close(lab.actors);
    actors_free(lab.actors);
    verdict_free(verdict);
}

/* The state that begin_told reported; freed with picture_fini. */
static struct picture told(void)
{
    struct picture picture = { .leader = 'b' };
    struct follow_member *member = picture_make_member(&picture, SELF);

    *member = (struct follow_member){ SELF, SHERD_UP, SELF, false };
    member = picture_make_member(&picture, 'c');
    *member = (struct follow_member){ 'c', SHERD_JOINING, 0, false };
    member = picture_make_member(&picture, 'b');
    *member = (struct follow_member){ 'b', SHERD_UP, 'b', false };
    picture_set_role_leader(&picture, "front", 'b');
    return picture;
}

static bool equals(const struct picture *held)
{
    char text[200];

    return check_cluster_events_equals(lab.follower, held, text, sizeof text);
}

static bool is_as_told(void)
{
    struct picture held = told();
    bool is_equal = equals(&held);

    picture_fini(&held);
    return is_equal;
}

/* ---- correct histories ---- */

static void a_correct_history_passes(void **state)
{
    (void)state;
    begin_told();
    assert_true(is_as_told());
    far_member('w');
    say(CLUSTER_UNREACHABLE, 'c');
    order(SHERD_EVENTS_ALL); /* the state again */
    say(CLUSTER_REACHABLE, 'c');
    member('c', SHERD_DOWN);
    center(CLUSTER_CENTER_UNREACHABLE, "west");
    order(SHERD_EVENTS_ALL);
    center(CLUSTER_CENTER_REACHABLE, "west");
    removed('c', SHERD_DOWN);
    say(CLUSTER_LEADER, SELF);
    say(CLUSTER_STOPPED, 0);
    assert_true(equals(&(struct picture){ .is_out = true }));
    order(SHERD_EVENTS_ALL);
    check_cluster_events_node_ended(lab.follower);
    assert_int_equal(check_cluster_events_counts(lab.check).again, 3);
    assert_int_equal(check_cluster_events_counts(lab.check).unasked, 0);
    end(NULL);
}

static void subsets_of_the_events_pass(void **state)
{
    (void)state;
    begin(false);
    lab.first = SHERD_EVENTS_FIRST;
    member(SELF, SHERD_UP);
    order(SHERD_EVENT(SHERD_LEADER_CHANGED) |
          SHERD_EVENT(SHERD_MEMBER_UNREACHABLE));
    member('b', SHERD_UP);
    say(CLUSTER_LEADER, 'b');
    say(CLUSTER_UNREACHABLE, 'b');
    say(CLUSTER_REACHABLE, 'b');
    say(CLUSTER_UNREACHABLE, 'b'); /* twice, because reachable is not in the set */
    lab.first = SHERD_STATE_FIRST;
    order(SHERD_EVENTS_ALL);
    say(CLUSTER_REACHABLE, 'b');
    leave(SHERD_EVENTS_MEMBERS);
    assert_false(check_cluster_events_is_complete(lab.follower));
    check_cluster_events_emptied(lab.follower);
    member('c', SHERD_UP);
    assert_true(equals(&(struct picture){ .leader = 'b' }));
    leave(SHERD_EVENTS_ALL);
    check_cluster_events_emptied(lab.follower);
    assert_false(check_cluster_events_is_subscribed(lab.follower));
    assert_true(is_as_told()); /* nothing is judged */
    order(SHERD_EVENTS_ALL);
    member('c', SHERD_LEAVING);
    end(NULL);
}

static void a_follower_with_a_small_mailbox_may_miss_changes(void **state)
{
    (void)state;
    begin(true);
    order(SHERD_EVENTS_ALL);
    member(SELF, SHERD_UP);
    member('b', SHERD_UP);
    lab.drops = 3;
    removed('b', SHERD_UP);
    member('c', SHERD_JOINING);
    member('c', SHERD_UP);
    lab.is_secret = true; /* as the lane does by itself */
    order(SHERD_EVENTS_ALL);
    assert_int_equal(check_cluster_events_counts(lab.check).unasked, 1);
    member('c', SHERD_LEAVING);
    check_cluster_events_node_ended(lab.follower); /* it may also miss the end */
    end(NULL);
}

/* ---- wrong histories ---- */

static void a_change_before_the_state_is_found(void **state)
{
    (void)state;
    begin(false);
    lab.drops = 1;
    order(SHERD_EVENTS_ALL);
    member(SELF, SHERD_UP);
    end("cluster-events");
}

static void a_change_that_is_heard_twice_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        begin_told();
        lab.doubles = true;
        if (i == 0)
            member('c', SHERD_UP);
        else if (i == 1)
            removed('c', SHERD_JOINING);
        else if (i == 2)
            say(CLUSTER_UNREACHABLE, 'c');
        else if (i == 3)
            say(CLUSTER_LEADER, 'c');
        else if (i == 4)
            role_leader('c', "front");
        else
            center(CLUSTER_CENTER_UNREACHABLE, "west");
        end("cluster-events");
    }
}

/* The next state, the membership or a later event shows it. */
static void a_change_that_is_not_heard_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        begin_told();
        lab.drops = 1;
        if (i == 0)
            member('c', SHERD_UP);
        else if (i == 1)
            removed('c', SHERD_JOINING);
        else if (i == 2)
            say(CLUSTER_UNREACHABLE, 'c');
        else if (i == 3)
            say(CLUSTER_LEADER, 'c');
        else
            center(CLUSTER_CENTER_UNREACHABLE, "west");
        expect_only(NULL);
        order(SHERD_EVENTS_ALL);
        end("cluster-events");
    }
    begin_told();
    lab.drops = 1;
    say(CLUSTER_UNREACHABLE, 'c');
    say(CLUSTER_REACHABLE, 'c');
    end("cluster-events");
}

static void an_impossible_event_is_found(void **state)
{
    (void)state;
    for (int i = 0; i < 8; i++) {
        begin_told();
        if (i == 0) {
            member('b', SHERD_JOINING);
        } else if (i == 1) {
            removed('c', SHERD_DOWN); /* it was joining */
        } else if (i == 2) {
            removed('c', SHERD_JOINING);
            member('c', SHERD_JOINING); /* again */
        } else if (i == 3) {
            say(CLUSTER_UNREACHABLE, SELF);
        } else if (i == 4) {
            far_member('w');
            say(CLUSTER_UNREACHABLE, 'w');
        } else if (i == 5) {
            center(CLUSTER_CENTER_UNREACHABLE, "east"); /* its own data center */
        } else if (i == 6) {
            role_leader('b', "back"); /* a role that it does not have */
        } else {
            lab.doubles = true; /* an event comes after the end */
            say(CLUSTER_STOPPED, 0);
        }
        end("cluster-events");
    }
}

static void an_unrequested_state_is_found(void **state)
{
    (void)state;
    begin_told();
    lab.is_secret = true;
    order(SHERD_EVENTS_ALL);
    end("cluster-events");
}

static void a_state_that_goes_back_is_found(void **state)
{
    (void)state;

    begin(true);
    order(SHERD_EVENTS_ALL);
    member('b', SHERD_UP);
    member('c', SHERD_UP);
    lab.drops = 1;
    removed('b', SHERD_UP);
    order(SHERD_EVENTS_ALL); /* b is gone */
    expect_only(NULL);
    member('b', SHERD_UP);
    end("cluster-events");
}

static void an_event_outside_the_set_is_found(void **state)
{
    (void)state;
    begin_told();
    check_cluster_events_unsubscribed(lab.follower, SHERD_EVENTS_MEMBERS);
    member('c', SHERD_WEAKLY_UP); /* it may have been in flight */
    expect_only(NULL);
    check_cluster_events_emptied(lab.follower);
    member('c', SHERD_UP);
    end("cluster-events");
}

static void an_event_without_a_subscription_is_found(void **state)
{
    (void)state;
    begin_told();
    check_cluster_events_unsubscribed(lab.follower, SHERD_EVENTS_ALL);
    check_cluster_events_emptied(lab.follower);
    lab.is_secret = true;
    order(SHERD_EVENTS_ALL);
    end("cluster-events");
}

static void the_membership_is_compared(void **state)
{
    (void)state;
    begin_told();
    assert_true(is_as_told());
    for (int i = 0; i < 9; i++) {
        struct picture held = told();
        struct follow_member *joining = picture_member(&held, 'c');

        held.is_out = i == 0;
        if (i == 1)
            picture_remove(&held, 'c');
        else if (i == 2)
            joining->status = SHERD_UP;
        else if (i == 3)
            joining->up_number = 1;
        else if (i == 4)
            joining->is_unreachable = true;
        else if (i == 5)
            joining->uid++;
        held.leader = i == 6 ? SELF : 'b';
        if (i == 7)
            picture_set_role_leader(&held, "back", 'b');
        if (i == 8)
            picture_set_center(&held, "west", true);
        assert_false(equals(&held));
        picture_fini(&held);
    }
    assert_int_equal(check_cluster_events_counts(lab.check).compared, 10);
    end(NULL);
}

static void an_end_that_is_not_heard_is_found(void **state)
{
    (void)state;
    begin_told();
    check_cluster_events_node_ended(lab.follower);
    end("cluster-events");
    begin_told();
    lab.drops = 1;
    say(CLUSTER_STOPPED, 0); /* only the removals */
    check_cluster_events_node_ended(lab.follower);
    end("cluster-events");
    begin_told();
    say(CLUSTER_UNREACHABLE, 'c');
    lab.drops = 5;
    say(CLUSTER_STOPPED, 0);
    order(SHERD_EVENTS_ALL); /* the state says so, and differs */
    end("cluster-events");
}

/* ---- start values ---- */

static struct follow_fact fact; /* of all but SELF */

static bool known(void *user, uint64_t uid, struct follow_fact *found)
{
    static const char *const roles[] = { "front" };

    (void)user;
    *found = uid == SELF ? (struct follow_fact){ "s:1", "east", roles, 1 } : fact;
    return found->address != NULL;
}

static void hear_of_b(const char *address, const char *data_center,
                      const char *const *roles, uint32_t role_count)
{
    fact = (struct follow_fact){ address, data_center, roles, role_count };
    begin(false);
    check_cluster_events_facts(lab.check, known, NULL);
    order(SHERD_EVENTS_ALL);
    member(SELF, SHERD_UP);
    member('b', SHERD_UP);
}

static void a_member_with_a_wrong_identity_is_found(void **state)
{
    static const char *const roles[] = { "front", "back" };

    (void)state;
    hear_of_b("b:1", "east", roles, 1);
    end(NULL);
    hear_of_b("c:1", "east", roles, 1);
    end("cluster-events");
    hear_of_b("b:1", "west", roles, 1);
    end("cluster-events");
    hear_of_b("b:1", NULL, roles, 1);
    end("cluster-events");
    hear_of_b("b:1", "east", roles, 2); /* one role of them */
    end("cluster-events");
    hear_of_b("b:1", "east", roles, 0); /* one role more */
    end("cluster-events");
    hear_of_b(NULL, NULL, NULL, 0); /* it was never started */
    end("cluster-events");
}

static struct node_settings *settings_of(struct world *world, uint32_t node)
{
    return (struct node_settings *)(uintptr_t)&world_node(world, node)->settings;
}

/* The world says that the node with the first address has another role than at its start, so
 * another one leads that role. */
static void a_leader_that_does_not_follow_from_the_roles_is_found(void **state)
{
    static const char *const even[] = { "even" };
    static const char *const odd[] = { "odd" };
    const struct world_settings in = { .seed = 1 };
    const struct follow_load_settings what = { .most = 8, .nodes = 2 };
    struct world *world = world_new(&in);
    struct follow_load *load = follow_load_new(world, &what);
    char text[200];

    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct node_settings settings = world_node_settings(world, i, NULL, 0);

        settings.roles = even;
        settings.role_count = 1;
        world_start(world, i, &settings);
    }
    assert_true(world_until(world, world_all_up, NULL, 60 * SECOND));
    world_run(world, 120 * SECOND);
    while (!follow_load_agrees(load, true, text, sizeof text))
        world_run(world, SECOND);
    settings_of(world, 0)->roles = odd;
    assert_false(follow_load_agrees(load, true, text, sizeof text));
    settings_of(world, 0)->roles = even;
    assert_true(follow_load_agrees(load, true, text, sizeof text));
    world_free(world);
    follow_load_free(load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_correct_history_passes),
        cmocka_unit_test(subsets_of_the_events_pass),
        cmocka_unit_test(a_follower_with_a_small_mailbox_may_miss_changes),
        cmocka_unit_test(a_change_before_the_state_is_found),
        cmocka_unit_test(a_change_that_is_heard_twice_is_found),
        cmocka_unit_test(a_change_that_is_not_heard_is_found),
        cmocka_unit_test(an_impossible_event_is_found),
        cmocka_unit_test(an_unrequested_state_is_found),
        cmocka_unit_test(a_state_that_goes_back_is_found),
        cmocka_unit_test(an_event_outside_the_set_is_found),
        cmocka_unit_test(an_event_without_a_subscription_is_found),
        cmocka_unit_test(the_membership_is_compared),
        cmocka_unit_test(an_end_that_is_not_heard_is_found),
        cmocka_unit_test(a_member_with_a_wrong_identity_is_found),
        cmocka_unit_test(a_leader_that_does_not_follow_from_the_roles_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
