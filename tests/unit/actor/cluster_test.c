/* Checks how actors receive the cluster: states, ordered changes, event sets, the end, limits. */
#include "lab.h"

#include "actor/cluster.h"
#include "base/check.h"

static struct node_id node(char letter)
{
    struct node_id id = { .uid = (uint64_t)letter };
    char host[2] = { letter, 0 };

    assert_true(address_set(&id.address, host, 1, 1));
    return id;
}

/* texts: as the change's kind needs. */
static void change_with(enum cluster_change_kind kind, char letter,
                        enum sherd_member_status status, const char *texts,
                        size_t size)
{
    struct cluster_change *change = mem_alloc(sizeof *change + size);

    lab.in_step |= kind == CLUSTER_IN_STEP;
    change->kind = kind;
    if (letter)
        change->member.node = node(letter);
    change->member.status = status;
    change->member.up_number = status == SHERD_UP ? 1 : 0;
    change->member.is_self = letter == 's';
    change->member.texts_size = (uint32_t)size;
    memcpy(change->texts, texts, size);
    actors_cluster(lab.actors, change);
    mem_free(change);
}

static void change(enum cluster_change_kind kind, char letter)
{
    change_with(kind, letter, SHERD_DOWN, "", 0);
}

static void member(char letter, enum sherd_member_status status)
{
    static const char texts[] = "1.2\0east\0back\0front\0"; /* plus the final zero byte */

    change_with(CLUSTER_MEMBER, letter, status, texts, sizeof texts);
}

static void role_leader(char letter, const char *role)
{
    change_with(CLUSTER_ROLE_LEADER, letter, SHERD_UP, role, strlen(role) + 1);
}

static bool wanted(void)
{
    struct actors_news news;
    bool found = false;

    while (actors_next_news(lab.actors, &news))
        found |= news.kind == ACTORS_REQUEST_CLUSTER;
    return found;
}

static void the_state_comes_first_then_each_change_MEM015_MEM064(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ORDER(a, { DO_SUBSCRIBE, SHERD_EVENTS_ALL });
    (void)actors_run(lab.actors, lab.now, 0, 100);
    assert_true(wanted());
    member('s', SHERD_UP); /* before the view is in step: no event */
    member('c', SHERD_JOINING);
    change(CLUSTER_UNREACHABLE, 'c');
    change(CLUSTER_LEADER, 's');
    role_leader('s', "front");
    lab_run();
    lab_expect("a+ a.1 ");
    change(CLUSTER_IN_STEP, 0);
    lab_run();
    lab_expect("a[{c:1? joined}{s:1= up}{c:1? unreachable}{s:1= leader}"
               "{s:1= role leader front}] ");
    member('b', SHERD_WEAKLY_UP);
    member('b', SHERD_WEAKLY_UP); /* no news */
    change(CLUSTER_REACHABLE, 'c');
    change(CLUSTER_REACHABLE, 'c');
    change(CLUSTER_LEADER, 'b');
    change(CLUSTER_LEADER, 'b');
    role_leader(0, "front");
    change(CLUSTER_REMOVED, 'c');
    change(CLUSTER_REMOVED, 'c');
    lab_run();
    lab_expect("a~{b:1 weakly up} a~{c:1 reachable} a~{b:1 leader} "
               "a~{ role leader front} a~{c:1 removed} ");
    assert_false(wanted());
}

/* These letters have seen the version. */
static void seen_by(const char *letters, const char *all)
{
    struct cluster_seen entries[8];
    size_t count = 0;

    for (const char *at = all; *at; at++)
        entries[count++] =
            (struct cluster_seen){ .uid = (uint64_t)*at,
                                   .seen = strchr(letters, *at) != NULL };
    change_with(CLUSTER_SEEN, 0, SHERD_UP, (const char *)entries,
                count * sizeof *entries);
}

/* It is requested for each state; changes do not carry it. */
static void a_state_names_the_members_that_have_seen_it(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    member('b', SHERD_UP);
    member('c', SHERD_UP);
    member('d', SHERD_UP);
    seen_by("bd", "bcd");
    change(CLUSTER_IN_STEP, 0);
    ORDER(a, { DO_SUBSCRIBE, SHERD_EVENTS_ALL });
    lab_run();
    lab_expect("a+ a.1 a[{b:1! up}{c:1 up}{d:1! up}] ");
    lab.in_step = false;
    ORDER(a, { DO_SUBSCRIBE, SHERD_EVENTS_ALL });
    (void)actors_run(lab.actors, lab.now, 0, 100);
    assert_true(wanted());
    member('b', SHERD_LEAVING); /* it receives changes meanwhile */
    seen_by("c", "acde"); /* the lane's knowledge may be older or newer */
    change(CLUSTER_IN_STEP, 0);
    lab_run();
    lab_expect("a.1 a~{b:1 left} a[{b:1 left}{c:1! up}{d:1 up}] ");
    seen_by("bcd", "bcd");
    member('d', SHERD_LEAVING);
    lab_run();
    lab_expect("a~{d:1 left} ");
    assert_false(wanted());
}

/* A subscriber that waits for its first state receives no change before it. */
static void a_change_never_precedes_the_state(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct sherd_ref b;
    (void)state;

    change(CLUSTER_IN_STEP, 0);
    ORDER(a, { DO_SUBSCRIBE, SHERD_EVENTS_ALL });
    lab_run();
    lab.in_step = false;
    b = lab_spawn("b");
    ORDER(b, { DO_SUBSCRIBE, SHERD_EVENTS_ALL });
    (void)actors_run(lab.actors, lab.now, 0, 100);
    member('c', SHERD_UP);
    change(CLUSTER_IN_STEP, 0);
    member('d', SHERD_UP);
    lab_run();
    lab_expect("a+ a.1 a[] b+ b.1 a~{c:1 up} a~{d:1 up} "
               "b[{c:1 up}] b~{d:1 up} ");
}

static void every_status_has_its_event(void **state)
{
    static const enum sherd_member_status statuses[] = {
        SHERD_JOINING, SHERD_WEAKLY_UP, SHERD_UP,
        SHERD_PREPARING_FOR_SHUTDOWN, SHERD_READY_FOR_SHUTDOWN,
        SHERD_LEAVING, SHERD_EXITING, SHERD_DOWN
    };
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    change(CLUSTER_IN_STEP, 0);
    ORDER(a, { DO_SUBSCRIBE, SHERD_EVENTS_MEMBERS });
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        member('b', statuses[i]);
        if (i == 0)
            lab_run();
    }
    lab_run();
    lab_expect("a+ a.1 a[{b:1 joined}] a~{b:1 weakly up} a~{b:1 up} "
               "a~{b:1 preparing for shutdown} a~{b:1 ready for shutdown} "
               "a~{b:1 left} a~{b:1 exited} a~{b:1 downed} ");
}

/* Also in the state only events of the set; removed ones stop. */
static void only_events_of_the_set_arrive_MEM018_MEM065(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    change(CLUSTER_IN_STEP, 0);
    member('s', SHERD_UP);
    member('c', SHERD_LEAVING);
    change(CLUSTER_UNREACHABLE, 'c');
    ORDER(a, { DO_SUBSCRIBE,
               SHERD_EVENT(SHERD_MEMBER_UP) | SHERD_EVENTS_REACHABILITY,
               SHERD_EVENTS_FIRST });
    lab_run();
    lab_expect("a+ a.1 a~{s:1= up} a~{c:1? unreachable} ");
    change(CLUSTER_LEADER, 's');
    member('c', SHERD_EXITING);
    member('d', SHERD_UP);
    ORDER(a, { DO_UNSUBSCRIBE, SHERD_EVENTS_MEMBERS });
    lab_run();
    lab_expect("a~{d:1 up} a.1 ");
    member('e', SHERD_UP);
    change(CLUSTER_REACHABLE, 'c');
    ORDER(a, { DO_UNSUBSCRIBE, SHERD_EVENTS_ALL });
    lab_run();
    lab_expect("a~{c:1 reachable} a.1 ");
    assert_int_equal(lab_status().subscribers, 0);
    change(CLUSTER_UNREACHABLE, 'd');
    lab_run();
    lab_expect("");
}

static void an_invalid_event_set_is_refused(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    ORDER(a, { DO_SUBSCRIBE, 0, 0, (uint64_t)SHERD_EINVAL },
          { DO_SUBSCRIBE, SHERD_EVENTS_ALL + 1, 0, (uint64_t)SHERD_EINVAL },
          { DO_SUBSCRIBE, SHERD_EVENTS_ALL, 2, (uint64_t)SHERD_EINVAL });
    lab_run();
    lab_expect("a+ a.1 ");
    assert_false(wanted());
}

/* Neither an ended actor nor its slot's next one receives events. */
static void a_subscription_ends_with_its_actor(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    change(CLUSTER_IN_STEP, 0);
    ORDER(a, { DO_SUBSCRIBE, SHERD_EVENTS_ALL }, { DO_SELF_STOP });
    lab_run();
    (void)lab_spawn("b");
    member('s', SHERD_UP);
    lab_run();
    lab_expect("a+ a.1 b+ ");
    assert_int_equal(lab_status().subscribers, 0);
    assert_int_equal(lab_status().undelivered_total, 0);
}

/* A node that has left reports every member as removed. */
static void the_end_reports_all_members_removed_MEM020(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    change(CLUSTER_IN_STEP, 0);
    member('s', SHERD_EXITING);
    member('b', SHERD_UP);
    change(CLUSTER_LEADER, 'b');
    role_leader('b', "front");
    change_with(CLUSTER_CENTER_UNREACHABLE, 0, SHERD_UP, "west", 5);
    ORDER(a, { DO_SUBSCRIBE, SHERD_EVENTS_ALL });
    lab_run();
    lab_expect("a+ a.1 a[{b:1 up}{s:1= exited}{ data center unreachable}"
               "{b:1 leader}{b:1 role leader front}] ");
    change(CLUSTER_STOPPED, 0);
    change(CLUSTER_STOPPED, 0);
    lab_run();
    lab_expect("a~{ shutting down} a~{b:1 removed} a~{s:1= removed} "
               "a~{ data center reachable} "
               "a~{ leader} a~{ role leader front} ");
    member('c', SHERD_UP); /* too late */
    change(CLUSTER_LEADER, 'c');
    ORDER(a, { DO_SUBSCRIBE, SHERD_EVENTS_ALL });
    lab_run();
    lab_expect("a.1 a[{ shutting down}] ");
}

/* In its first handler. */
static void subscribe(struct sherd_ctx *ctx, const struct sherd_msg *msg,
                      enum sherd_cluster_first first)
{
    if (msg->kind == SHERD_STARTED)
        assert_int_equal(
            sherd_cluster_subscribe(ctx, SHERD_EVENTS_ALL, first), 0);
}

/* Roles come and go: only those with a leader are kept. */
static void a_role_without_a_leader_is_forgotten(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    change(CLUSTER_IN_STEP, 0);
    ORDER(a, { DO_SUBSCRIBE, SHERD_EVENTS_ALL });
    lab_run();
    member('b', SHERD_UP);
    role_leader('b', "front");
    role_leader('b', "back");
    assert_int_equal(lab_status().cluster_roles, 2);
    role_leader(0, "front");
    role_leader(0, "front");
    assert_int_equal(lab_status().cluster_roles, 1);
    lab_run();
    lab_expect("a+ a.1 a[] a~{b:1 up} a~{b:1 role leader front} "
               "a~{b:1 role leader back} a~{ role leader front} ");
    change(CLUSTER_STOPPED, 0);
    assert_int_equal(lab_status().cluster_roles, 0);
}

/* All fields of a member arrived. */
static bool seen_all;

static enum sherd_next look(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg)
{
    struct sherd_cluster_event event;
    size_t at = 0;

    (void)self;
    subscribe(ctx, msg, SHERD_EVENTS_FIRST);
    while (sherd_cluster_next(msg, &at, &event)) {
        assert_string_equal(event.member.address, "b:1");
        assert_true(event.member.uid == 'b');
        assert_string_equal(event.member.app_version, "1.2");
        assert_string_equal(event.member.data_center, "east");
        assert_true(sherd_cluster_has_role(&event.member, "front"));
        assert_true(sherd_cluster_has_role(&event.member, "back"));
        assert_false(sherd_cluster_has_role(&event.member, "east"));
        assert_false(sherd_cluster_has_role(&event.member, ""));
        if (event.kind != SHERD_MEMBER_REMOVED) {
            assert_int_equal(event.member.status, SHERD_UP);
            assert_int_equal(event.member.up_number, 1);
            continue;
        }
        assert_int_equal(event.member.status, SHERD_REMOVED);
        assert_int_equal(event.previous, SHERD_DOWN);
        seen_all = true;
    }
    return SHERD_CONTINUE;
}

static void a_member_event_has_all_fields(void **state)
{
    static const struct sherd_behavior looker = { .name = "looker",
                                                  .receive = look };
    (void)state;

    seen_all = false;
    change(CLUSTER_IN_STEP, 0);
    (void)actors_spawn(lab.actors, &looker, slice_of(NULL, 0));
    lab_run();
    member('b', SHERD_UP);
    change(CLUSTER_REMOVED, 'b');
    lab_run();
    assert_true(seen_all);
}

static uint32_t parts, members_reported;

static enum sherd_next count(struct sherd_ctx *ctx, void *self,
                             const struct sherd_msg *msg)
{
    struct sherd_cluster_event event;
    size_t at = 0;

    (void)self;
    subscribe(ctx, msg, SHERD_STATE_FIRST);
    if (msg->kind == SHERD_CLUSTER) {
        parts++;
        assert_true(msg->body.size <= SHERD_BODY_MAX);
        assert_int_equal(msg->msg, parts < 3 ? SHERD_CLUSTER_STATE
                                             : SHERD_CLUSTER_STATE_END);
    }
    while (sherd_cluster_next(msg, &at, &event))
        members_reported++;
    return SHERD_CONTINUE;
}

/* 5,000 members exceed one message. */
static void a_large_state_comes_in_parts(void **state)
{
    static const struct sherd_behavior counter = { .name = "counter",
                                                   .receive = count };
    static const char texts[] = "1.2.3-something\0east\0back\0front\0";
    struct cluster_change *added = mem_alloc(sizeof *added + sizeof texts);
    (void)state;

    parts = members_reported = 0;
    memcpy(added->texts, texts, sizeof texts);
    added->member.texts_size = sizeof texts;
    for (uint32_t i = 1; i <= 5000; i++) {
        assert_true(address_set(&added->member.node.address, "node.of.this.cluster",
                                20, i));
        added->member.node.uid = i;
        actors_cluster(lab.actors, added);
    }
    mem_free(added);
    change(CLUSTER_IN_STEP, 0);
    (void)actors_spawn(lab.actors, &counter, slice_of(NULL, 0));
    lab_run();
    assert_int_equal(parts, 3);
    assert_int_equal(members_reported, 5000);
}

/* Its mailbox was full: the state replaces the missed changes. */
static void missed_changes_are_replaced_by_the_state(void **state)
{
    struct sherd_entity_type small = { .name = "L",
                                       .behavior = puppet,
                                       .shards = 10,
                                       .mailbox_max = 2 };
    struct order orders[] = { { DO_SUBSCRIBE, SHERD_EVENTS_ALL } };
    (void)state;

    actors_add_type(lab.actors, 4, &small);
    for (int32_t i = 0; i < 10; i++)
        actors_shard_start(lab.actors, 4, i);
    change(CLUSTER_IN_STEP, 0);
    lab_entity_order(4, "x", orders, 1);
    lab_run();
    lab_expect("x+ x.1 x[] ");
    member('s', SHERD_JOINING);
    member('s', SHERD_UP);
    member('b', SHERD_UP); /* no room */
    change(CLUSTER_LEADER, 'b');
    assert_int_equal(lab_status().cluster_missed, 2);
    lab_run();
    lab_expect("x~{s:1= joined} x~{s:1= up} "
               "x[{b:1 up}{s:1= up}{b:1 leader}] ");
    member('c', SHERD_UP);
    lab_run();
    lab_expect("x~{c:1 up} ");
}

/* A state as events fills the mailbox; the rest is missed like changes. */
static void a_state_as_events_stops_at_a_full_mailbox(void **state)
{
    struct sherd_entity_type small = { .name = "L",
                                       .behavior = puppet,
                                       .shards = 10,
                                       .mailbox_max = 3 };
    struct order orders[] = { { DO_SUBSCRIBE, SHERD_EVENTS_ALL,
                                SHERD_EVENTS_FIRST } };
    (void)state;

    actors_add_type(lab.actors, 4, &small);
    for (int32_t i = 0; i < 10; i++)
        actors_shard_start(lab.actors, 4, i);
    change(CLUSTER_IN_STEP, 0);
    for (char letter = 'b'; letter <= 'h'; letter++)
        member(letter, SHERD_UP);
    change(CLUSTER_LEADER, 'b');
    lab_entity_order(4, "x", orders, 1);
    lab_run();
    lab_expect("x+ x.1 x~{b:1 up} x~{c:1 up} x~{d:1 up} "
               "x[{b:1 up}{c:1 up}{d:1 up}{e:1 up}{f:1 up}{g:1 up}{h:1 up}"
               "{b:1 leader}] ");
    assert_int_equal(lab_status().cluster_missed, 5);
    member('i', SHERD_UP);
    lab_run();
    lab_expect("x~{i:1 up} ");
}

/* A state without members cannot report that the node has left: before its welcome a node has the
 * same. */
static void a_missed_end_is_sent_later(void **state)
{
    struct sherd_entity_type small = { .name = "L",
                                       .behavior = puppet,
                                       .shards = 10,
                                       .mailbox_max = 2 };
    struct order orders[] = { { DO_SUBSCRIBE, SHERD_EVENTS_ALL } };
    struct sherd_ref late;
    (void)state;

    actors_add_type(lab.actors, 4, &small);
    for (int32_t i = 0; i < 10; i++)
        actors_shard_start(lab.actors, 4, i);
    change(CLUSTER_IN_STEP, 0);
    lab_entity_order(4, "x", orders, 1);
    lab_run();
    lab_expect("x+ x.1 x[] ");
    member('s', SHERD_UP);
    change(CLUSTER_LEADER, 's');
    change(CLUSTER_STOPPED, 0); /* no room */
    (void)actors_run(lab.actors, lab.now, 0, 100);
    assert_false(wanted()); /* control is not asked any more */
    lab_run();
    lab_expect("x~{s:1= up} x~{s:1= leader} x[{ shutting down}] ");
    late = lab_spawn("a");
    ORDER(late, { DO_SUBSCRIBE, SHERD_EVENTS_ALL });
    lab_run();
    lab_expect("a+ a.1 a[{ shutting down}] ");
    late = lab_spawn("b");
    ORDER(late, { DO_SUBSCRIBE, SHERD_EVENTS_ALL, SHERD_EVENTS_FIRST });
    lab_run();
    lab_expect("b+ b.1 b~{ shutting down} ");
}

static void the_number_of_subscribers_is_limited(void **state)
{
    struct sherd_ref first = lab_spawn("a");
    struct sherd_ref late = lab_spawn("a");
    (void)state;

    lab.quiet = true;
    ORDER(first, { DO_SUBSCRIBE, SHERD_EVENTS_ALL });
    for (uint32_t i = 1; i < CLUSTER_SUBSCRIBERS_MAX; i++)
        ORDER(lab_spawn("a"), { DO_SUBSCRIBE, SHERD_EVENTS_ALL });
    lab_run();
    assert_int_equal(lab_status().subscribers, CLUSTER_SUBSCRIBERS_MAX);
    assert_int_equal(lab_status().subscribers_refused, 0);
    ORDER(late,
          { DO_SUBSCRIBE, SHERD_EVENTS_ALL, 0, (uint64_t)SHERD_EFULL });
    lab_run();
    assert_int_equal(lab_status().subscribers_refused, 1);
    ORDER(first, { DO_SELF_STOP });
    lab_run();
    ORDER(late, { DO_SUBSCRIBE, SHERD_EVENTS_ALL }); /* in its place */
    lab_run();
    assert_int_equal(lab_status().subscribers, CLUSTER_SUBSCRIBERS_MAX);
    assert_int_equal(lab_status().subscribers_refused, 1);
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(the_state_comes_first_then_each_change_MEM015_MEM064),
        TEST(a_state_names_the_members_that_have_seen_it),
        TEST(a_change_never_precedes_the_state),
        TEST(every_status_has_its_event),
        TEST(only_events_of_the_set_arrive_MEM018_MEM065),
        TEST(an_invalid_event_set_is_refused),
        TEST(a_subscription_ends_with_its_actor),
        TEST(the_end_reports_all_members_removed_MEM020),
        TEST(a_role_without_a_leader_is_forgotten),
        TEST(a_member_event_has_all_fields),
        TEST(a_large_state_comes_in_parts),
        TEST(missed_changes_are_replaced_by_the_state),
        TEST(a_state_as_events_stops_at_a_full_mailbox),
        TEST(a_missed_end_is_sent_later),
        TEST(the_number_of_subscribers_is_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
