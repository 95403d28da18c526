/* Tests one core at b:2552 with a peer at c:2552: its news, their order, and the receivers of its
 * gossip. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "base/timers.h"
#include "member/wire.h"
#include "values.h"

static const struct identity own_identity = {
    .protocol = "akka",
    .system = "sys",
    .node = { { "b", 2552 }, 2 },
};

struct fixture {
    struct member *member;
    struct outbox outbox;
    struct gossip gossip; /* c's */
    uint64_t now;
};

static void put(struct fixture *fixture, const char *manifest,
                const struct buf *payload)
{
    struct inbound inbound = {
        .from = test_mail('c'),
        .sender = slice_text(MEMBER_DAEMON_PATH "#1"),
        .recipient = slice_text(MEMBER_DAEMON_PATH),
        .manifest = slice_text(manifest),
        .payload = buf_slice(payload),
        .serializer = MEMBER_SERIALIZER,
    };

    member_receive(fixture->member, fixture->now, 0, &inbound,
                   &fixture->outbox);
}

/* c joins and takes the gossip of its Welcome. */
static void join(struct fixture *fixture)
{
    struct node_id node = test_mail('c');
    struct profile *profile =
        profile_new(&own_identity, &node, NULL, 0, "0.0.0");
    struct buf payload = { 0 };
    struct gossip none = { 0 };
    struct outbound out;
    struct node_id from;
    bool found = false;

    wire_put_join(&own_identity, &payload, profile);
    put(fixture, "J", &payload);
    gossip_fini(&fixture->gossip);
    while (outbox_next(&fixture->outbox, &out))
        if (slice_is(out.manifest, "W"))
            found = wire_get_welcome(&own_identity, out.payload, &none, &from,
                                     &fixture->gossip) == WIRE_OK;
    assert_true(found);
    buf_fini(&payload);
    profile_drop(profile);
}

/* c sends its gossip as a new version that only it, or all others, have seen. */
static void put_told(struct fixture *fixture, bool all)
{
    struct node_id c = test_mail('c');
    struct buf packed = { 0 };
    struct buf payload = { 0 };

    clock_increment(&fixture->gossip.clock,
                    &gossip_find(&fixture->gossip, &c)->profile->key);
    gossip_clear_seen(&fixture->gossip);
    for (uint32_t i = 0; i < fixture->gossip.members.count; i++)
        fixture->gossip.members.items[i].seen = all;
    gossip_find(&fixture->gossip, &c)->seen = true;
    wire_put_gossip(&own_identity, &packed, &fixture->gossip);
    wire_put_envelope(&own_identity, &payload, &c, &own_identity.node,
                      buf_slice(&packed));
    put(fixture, "GE", &payload);
    buf_fini(&packed);
    buf_fini(&payload);
}

/* The same, without a look at what is sent. */
static void told_seen_by(struct fixture *fixture, bool all)
{
    uint64_t before = member_counters(fixture->member)->gossip_received;
    struct outbound out;

    put_told(fixture, all);
    assert_int_equal(member_counters(fixture->member)->gossip_received,
                     before + 1);
    while (outbox_next(&fixture->outbox, &out))
        continue;
}

static void reported_by_peer(struct fixture *fixture)
{
    told_seen_by(fixture, false);
}

static const char *host(const struct node_id *node)
{
    return node->address.host[0] ? node->address.host : "nobody";
}

/* All news since the last call: "c up" a status, "-c down" removed, "!c" unreachable, "?c"
 * reachable, and words. */
static void expect_news(struct fixture *fixture, const char *expected)
{
    struct buf text = { 0 };
    struct member_news news;

    while (member_next_news(fixture->member, &news)) {
        if (text.size)
            buf_put_text(&text, ", ");
        if (news.kind == MEMBER_NEWS_REMOVED)
            buf_put_text(&text, "-");
        else if (news.kind == MEMBER_NEWS_UNREACHABLE)
            buf_put_text(&text, "!");
        else if (news.kind == MEMBER_NEWS_REACHABLE)
            buf_put_text(&text, "?");
        else if (news.kind != MEMBER_NEWS_MEMBER)
            buf_put_text(&text, member_news_text(news.kind));
        if (news.kind == MEMBER_NEWS_LEADER ||
            news.kind == MEMBER_NEWS_ROLE_LEADER)
            buf_put_text(&text, " ");
        if (news.kind == MEMBER_NEWS_ROLE_LEADER) {
            buf_put_text(&text, news.detail);
            buf_put_text(&text, " ");
        }
        if (news.kind == MEMBER_NEWS_CENTER_UNREACHABLE ||
            news.kind == MEMBER_NEWS_CENTER_REACHABLE) {
            buf_put_text(&text, " ");
            buf_put_text(&text, news.detail);
        } else if (news.kind <= MEMBER_NEWS_ROLE_LEADER &&
                   news.kind != MEMBER_NEWS_WELCOME)
            buf_put_text(&text, host(&news.node));
        if (news.kind == MEMBER_NEWS_MEMBER) {
            buf_put_text(&text, " ");
            buf_put_text(&text, member_status_text(news.view->status));
        }
        if (news.kind == MEMBER_NEWS_REMOVED ||
            news.kind == MEMBER_NEWS_SELF_STOPPED) {
            buf_put_text(&text, " ");
            buf_put_text(&text, member_status_text(news.previous));
        }
    }
    buf_put_u8(&text, 0);
    assert_string_equal((const char *)text.data, expected);
    buf_fini(&text);
}

static void found_with(struct fixture *fixture,
                       const struct member_settings *settings)
{
    fixture->now = SECOND;
    fixture->member = member_new(&own_identity, settings, 1, NULL);
    assert_true(member_join(fixture->member, fixture->now, 0,
                            &own_identity.node.address, &fixture->outbox));
    expect_news(fixture, "welcome, b up, leader b, self-up");
    join(fixture);
    expect_news(fixture, "c joining");
}

static void fini(struct fixture *fixture)
{
    member_free(fixture->member);
    outbox_fini(&fixture->outbox);
    gossip_fini(&fixture->gossip);
}

static void set(struct fixture *fixture, char content, enum member_status status,
                int32_t up_number)
{
    struct node_id node = test_mail(content);
    struct gossip_member *member = gossip_find(&fixture->gossip, &node);

    if (member) {
        member->status = status;
        member->up_number = up_number;
    } else {
        (void)test_add(&fixture->gossip, content, status, up_number, false);
    }
}

/* c observes the member. */
static void observe(struct fixture *fixture, char content, enum reach status)
{
    struct node_id observer = test_mail('c');
    struct node_id subject = test_mail(content);

    (void)reachability_change(&fixture->gossip.reachability,
                              gossip_find(&fixture->gossip, &observer)->profile,
                              gossip_find(&fixture->gossip, &subject)->profile,
                              status);
}

static void remove_member(struct fixture *fixture, char content)
{
    struct node_id node = test_mail(content);

    assert_true(gossip_remove(&fixture->gossip, &node, 1000));
}

/* New and changed members by address, then the leader; nothing twice. */
static void new_members_are_reported_once_MEM009_MEM021_MEM022(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'a', MEMBER_JOINING, UP_NUMBER_NONE);
    set(&fixture, 'c', MEMBER_UP, 2);
    set(&fixture, 'd', MEMBER_UP, 3);
    reported_by_peer(&fixture);
    expect_news(&fixture, "a joining, c up, d up");
    reported_by_peer(&fixture); /* a newer version without a change of members */
    expect_news(&fixture, "");
    fini(&fixture);
}

static void changes_are_reported_in_order_MEM010_MEM023_MEM029_MEM030(
    void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'd', MEMBER_JOINING, UP_NUMBER_NONE);
    set(&fixture, 'e', MEMBER_UP, 3);
    reported_by_peer(&fixture);
    expect_news(&fixture, "d joining, e up");
    set(&fixture, 'd', MEMBER_UP, 4);
    set(&fixture, 'e', MEMBER_LEAVING, 3);
    set(&fixture, 'f', MEMBER_JOINING, UP_NUMBER_NONE);
    reported_by_peer(&fixture);
    expect_news(&fixture, "d up, e leaving, f joining");
    set(&fixture, 'e', MEMBER_EXITING, 3);
    set(&fixture, 'f', MEMBER_UP, 5);
    reported_by_peer(&fixture);
    expect_news(&fixture, "e exiting, f up");
    set(&fixture, 'd', MEMBER_DOWN, 4);
    reported_by_peer(&fixture);
    expect_news(&fixture, "d down");
    remove_member(&fixture, 'e');
    remove_member(&fixture, 'd');
    reported_by_peer(&fixture);
    expect_news(&fixture, "-d down, -e exiting");
    fini(&fixture);
}

static void a_new_leader_is_reported_last_MEM011_MEM013_MEM033(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'a', MEMBER_JOINING, UP_NUMBER_NONE);
    reported_by_peer(&fixture);
    expect_news(&fixture, "a joining");
    set(&fixture, 'a', MEMBER_UP, 2);
    set(&fixture, 'c', MEMBER_UP, 3);
    reported_by_peer(&fixture);
    expect_news(&fixture, "a up, c up, leader a");
    set(&fixture, 'c', MEMBER_DOWN, 3); /* the leader is the same */
    reported_by_peer(&fixture);
    expect_news(&fixture, "c down");
    remove_member(&fixture, 'a');
    reported_by_peer(&fixture);
    expect_news(&fixture, "-a up, leader b");
    set(&fixture, 'b', MEMBER_LEAVING, 1);
    reported_by_peer(&fixture);
    expect_news(&fixture, "b leaving");
    fini(&fixture);
}

static void a_new_incarnation_comes_after_the_end_of_the_old_MEM035(
    void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    struct profile *again = test_profile("a", 2552, 11, NULL);
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'a', MEMBER_UP, 2);
    reported_by_peer(&fixture);
    expect_news(&fixture, "a up, leader a");
    remove_member(&fixture, 'a');
    (void)gossip_add(&fixture.gossip, again, MEMBER_UP, 3);
    reported_by_peer(&fixture);
    expect_news(&fixture, "-a up, a up, leader a");
    profile_drop(again);
    fini(&fixture);
}

/* Only changes are reported, and none of this node. */
static void only_changed_reachability_is_reported_MEM024(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'a', MEMBER_UP, 2);
    set(&fixture, 'd', MEMBER_UP, 3);
    set(&fixture, 'e', MEMBER_UP, 4);
    reported_by_peer(&fixture);
    expect_news(&fixture, "a up, d up, e up, leader a");
    observe(&fixture, 'd', UNREACHABLE);
    observe(&fixture, 'e', UNREACHABLE);
    reported_by_peer(&fixture);
    expect_news(&fixture, "!d, !e");
    observe(&fixture, 'a', UNREACHABLE);
    observe(&fixture, 'b', UNREACHABLE);
    reported_by_peer(&fixture);
    expect_news(&fixture, "!a, leader b");
    observe(&fixture, 'd', REACHABLE);
    observe(&fixture, 'a', REACHABLE);
    set(&fixture, 'e', MEMBER_DOWN, 4);
    reported_by_peer(&fixture);
    expect_news(&fixture, "e down, ?a, ?d, leader a");
    remove_member(&fixture, 'e');
    reported_by_peer(&fixture);
    expect_news(&fixture, "-e down");
    fini(&fixture);
}

/* The leader among the members with the role, reported only on request; also the loss of the last
 * one. */
static void leaders_of_roles_are_reported_MEM014(void **state)
{
    static const char *const roles[] = { "back" };
    struct member_settings settings = { .roles = roles, .role_count = 1 };
    struct fixture fixture = { 0 };
    struct profile *a = test_profile("a", 2552, 1, "front");
    struct profile *d = test_profile("d", 2552, 4, "front");
    const struct member_view *leader;
    const char *role;
    (void)state;

    found_with(&fixture, &settings);
    (void)gossip_add(&fixture.gossip, a, MEMBER_JOINING, UP_NUMBER_NONE);
    (void)gossip_add(&fixture.gossip, d, MEMBER_UP, 2);
    reported_by_peer(&fixture);
    expect_news(&fixture, "a joining, d up");
    member_follow_roles(fixture.member);
    expect_news(&fixture, "role-leader back b, role-leader front d");
    set(&fixture, 'a', MEMBER_UP, 3);
    reported_by_peer(&fixture);
    expect_news(&fixture, "a up, leader a, role-leader front a");
    observe(&fixture, 'a', UNREACHABLE);
    reported_by_peer(&fixture);
    expect_news(&fixture, "!a, leader b, role-leader front d");
    set(&fixture, 'd', MEMBER_DOWN, 2);
    reported_by_peer(&fixture);
    expect_news(&fixture, "d down, role-leader front nobody");
    assert_true(member_role_at(fixture.member, 0, &role, &leader));
    assert_string_equal(role, "back");
    assert_string_equal(leader->profile->address->host, "b");
    reported_by_peer(&fixture); /* no leader, so it is not kept */
    expect_news(&fixture, "");
    assert_false(member_role_at(fixture.member, 1, &role, &leader));
    profile_drop(a);
    profile_drop(d);
    fini(&fixture);
}

/* It has the role of this node, and the lowest address. */
static void leaders_elsewhere_lead_no_role_here_MEM037(void **state)
{
    static const char *const roles[] = { "back" };
    const char *far_roles[] = { "back", "dc-two" };
    struct member_settings settings = { .roles = roles, .role_count = 1 };
    struct node_id node = test_node("0", 2552, 24);
    struct profile *far = profile_new(&own_identity, &node, far_roles, 2, "0.0.0");
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    member_follow_roles(fixture.member);
    expect_news(&fixture, "role-leader back b");
    (void)gossip_add(&fixture.gossip, far, MEMBER_UP, 1);
    reported_by_peer(&fixture);
    expect_news(&fixture, "0 up");
    profile_drop(far);
    fini(&fixture);
}

static void a_downed_member_has_not_seen_the_version_MEM114(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    struct node_id c = test_mail('c'), d = test_mail('d');
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 2);
    set(&fixture, 'd', MEMBER_UP, 3);
    told_seen_by(&fixture, true);
    expect_news(&fixture, "c up, d up");
    assert_true(member_find(fixture.member, &c)->seen);
    assert_true(member_down(fixture.member, fixture.now, &c.address,
                            &fixture.outbox));
    expect_news(&fixture, "c down");
    assert_int_equal(member_find(fixture.member, &c)->status, MEMBER_DOWN);
    assert_false(member_find(fixture.member, &c)->seen);
    assert_int_equal(member_find(fixture.member, &d)->status, MEMBER_UP);
    fini(&fixture);
}

/* All changes of one gossip: removals, members, unreachable, reachable, data centers, leader,
 * leaders of roles. */
static void all_news_of_one_change_come_in_order(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    struct profile *a = test_profile("a", 2552, 1, "front");
    struct profile *d = test_profile("d", 2552, 4, "front");
    struct profile *x = test_profile("x", 2552, 24, "dc-two");
    struct profile *y = test_profile("y", 2552, 25, "dc-three");
    (void)state;

    found_with(&fixture, &settings);
    member_follow_roles(fixture.member);
    (void)gossip_add(&fixture.gossip, a, MEMBER_JOINING, UP_NUMBER_NONE);
    (void)gossip_add(&fixture.gossip, d, MEMBER_UP, 3);
    set(&fixture, 'c', MEMBER_UP, 2);
    set(&fixture, 'e', MEMBER_UP, 4);
    set(&fixture, 'f', MEMBER_UP, 5);
    set(&fixture, 'h', MEMBER_DOWN, 6);
    (void)gossip_add(&fixture.gossip, x, MEMBER_UP, 1);
    (void)gossip_add(&fixture.gossip, y, MEMBER_UP, 1);
    observe(&fixture, 'e', UNREACHABLE);
    observe(&fixture, 'x', UNREACHABLE);
    reported_by_peer(&fixture);
    expect_news(&fixture,
                "a joining, c up, d up, e up, f up, h down, x up, y up, !e, "
                "data-center-unreachable two, role-leader front d");
    set(&fixture, 'a', MEMBER_UP, 7);
    set(&fixture, 'g', MEMBER_JOINING, UP_NUMBER_NONE);
    observe(&fixture, 'e', REACHABLE);
    observe(&fixture, 'f', UNREACHABLE);
    observe(&fixture, 'x', REACHABLE);
    observe(&fixture, 'y', UNREACHABLE);
    remove_member(&fixture, 'h');
    reported_by_peer(&fixture);
    expect_news(&fixture,
                "-h down, a up, g joining, !f, ?e, "
                "data-center-unreachable three, data-center-reachable two, "
                "leader a, role-leader front a");
    profile_drop(a);
    profile_drop(d);
    profile_drop(x);
    profile_drop(y);
    fini(&fixture);
}

/* Steps until there is news. */
static void step_until_news(struct fixture *fixture)
{
    while (!member_has_news(fixture->member)) {
        fixture->now = member_deadline(fixture->member);
        member_step(fixture->member, fixture->now, 0, &fixture->outbox);
    }
}

/* The leader sees the silence when it may act at last. A caller that wants each change gets
 * both. */
static void a_member_is_unreachable_before_it_is_removed(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    member_follow_roles(fixture.member);
    set(&fixture, 'c', MEMBER_DOWN, 2);
    reported_by_peer(&fixture);
    expect_news(&fixture, "c down");
    step_until_news(&fixture);
    expect_news(&fixture, "!c");
    assert_true(member_deadline(fixture.member) <= fixture.now);
    step_until_news(&fixture);
    expect_news(&fixture, "-c down");
    fini(&fixture);
}

static void its_own_end_is_the_last_news(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'b', MEMBER_DOWN, 1);
    reported_by_peer(&fixture);
    expect_news(&fixture, "b down, leader c, self-stopped down");
    assert_true(member_is_stopped(fixture.member));
    assert_int_equal(member_self(fixture.member)->status, MEMBER_DOWN);
    member_step(fixture.member, fixture.now + SECOND, 0, &fixture.outbox);
    expect_news(&fixture, "");
    fini(&fixture);
}

static void refused_by(struct fixture *fixture, char content)
{
    struct node_id node = test_mail(content);

    member_refused(fixture->member, fixture->now, &node);
}

/* c, d, e, f are members; f is unreachable. */
static void with_four(struct fixture *fixture)
{
    static const struct member_settings settings = { 0 };
    struct node_id f = test_mail('f');

    found_with(fixture, &settings);
    for (char content = 'c'; content <= 'f'; content++)
        set(fixture, content, MEMBER_UP, content);
    reported_by_peer(fixture);
    member_quarantined(fixture->member, fixture->now, &f);
    expect_news(fixture, "c up, d up, e up, f up, !f");
}

/* A sick node must not end others. More than half of the reachable members are right. */
static void one_report_does_not_stop_a_node(void **state)
{
    struct fixture fixture = { 0 };
    (void)state;

    with_four(&fixture);
    refused_by(&fixture, 'c');
    refused_by(&fixture, 'c');
    refused_by(&fixture, 'x'); /* not a member */
    refused_by(&fixture, 'y');
    expect_news(&fixture, "");
    assert_false(member_is_stopped(fixture.member));
    refused_by(&fixture, 'd'); /* two of c, d, e */
    expect_news(&fixture, "self-stopped up");
    assert_true(member_is_stopped(fixture.member));
    fini(&fixture);
}

/* An unreachable member that speaks counts. A downed or removed one does not. */
static void reachable_members_and_those_that_reported_are_counted(void **state)
{
    struct fixture fixture = { 0 };
    (void)state;

    with_four(&fixture);
    refused_by(&fixture, 'f');
    refused_by(&fixture, 'e'); /* two of c, d, e, f */
    expect_news(&fixture, "");
    join(&fixture); /* c gets what this node has seen */
    set(&fixture, 'e', MEMBER_DOWN, 'e');
    reported_by_peer(&fixture); /* one of c, d, f */
    expect_news(&fixture, "e down");
    fixture.now = member_deadline(fixture.member) + 2 * SECOND;
    member_step(fixture.member, fixture.now, 0, &fixture.outbox);
    assert_false(member_is_stopped(fixture.member));
    refused_by(&fixture, 'd'); /* d, f of c, d, f */
    assert_true(member_is_stopped(fixture.member));
    fini(&fixture);
}

static uint32_t seen_by(const struct fixture *fixture)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < member_count(fixture->member); i++)
        count += member_at(fixture->member, i)->seen;
    return count;
}

/* Otherwise a leader would consider an unknown change converged. */
static void its_own_change_is_seen_by_no_other_node(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    struct address d = test_mail('d').address;
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 'c');
    set(&fixture, 'd', MEMBER_UP, 'd');
    reported_by_peer(&fixture);
    assert_int_equal(seen_by(&fixture), 2); /* itself and c */
    assert_true(member_leave(fixture.member, fixture.now, &d, &fixture.outbox));
    assert_int_equal(seen_by(&fixture), 1);
    fini(&fixture);
}

/* Its gossip after one arrived. */
static void answer_to(struct fixture *fixture, struct gossip *answer)
{
    struct node_id c = test_mail('c');
    struct buf packed = { 0 }, payload = { 0 };
    struct outbound out;
    struct node_id from, to;
    struct gossip none = { 0 };
    bool found = false;

    while (outbox_next(&fixture->outbox, &out))
        continue;
    wire_put_gossip(&own_identity, &packed, &fixture->gossip);
    wire_put_envelope(&own_identity, &payload, &c, &own_identity.node,
                      buf_slice(&packed));
    put(fixture, "GE", &payload);
    buf_clear(&packed);
    while (outbox_next(&fixture->outbox, &out))
        if (slice_is(out.manifest, "GE"))
            found = wire_get_envelope(&own_identity, out.payload, &from, &to,
                                      &packed) == WIRE_OK &&
                    wire_get_gossip(&own_identity, buf_slice(&packed), &none,
                                    answer) == WIRE_OK;
    assert_true(found);
    buf_fini(&packed);
    buf_fini(&payload);
}

/* c lacks d and has no tombstone for it: c removed it, or was suspended while it came and went. The
 * merge removes d and counts, because another order of merges gives another version. */
static void a_merge_that_removes_is_a_change(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    struct gossip answer = { 0 };
    struct node_id c = test_mail('c'), d = test_mail('d');
    struct clock_key keys[2];
    int64_t counts[2];
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 2);
    set(&fixture, 'd', MEMBER_UP, 3);
    reported_by_peer(&fixture);
    expect_news(&fixture, "c up, d up");
    keys[0] = gossip_find(&fixture.gossip, &own_identity.node)->profile->key;
    keys[1] = gossip_find(&fixture.gossip, &c)->profile->key;
    counts[0] = clock_get(&fixture.gossip.clock, &keys[0]);
    assert_true(member_down(fixture.member, fixture.now, &d.address,
                            &fixture.outbox));
    expect_news(&fixture, "d down");
    assert_true(gossip_remove(&fixture.gossip, &d, 1));
    (void)gossip_prune_tombstones(&fixture.gossip, 10, 1);
    clock_increment(&fixture.gossip.clock, &keys[1]);
    counts[1] = clock_get(&fixture.gossip.clock, &keys[1]);
    answer_to(&fixture, &answer);
    expect_news(&fixture, "-d down");
    assert_int_equal(answer.members.count, 2);
    assert_true(gossip_is_tombstoned(&answer, &d));
    assert_int_equal(clock_get(&answer.clock, &keys[0]), counts[0] + 2);
    assert_int_equal(clock_get(&answer.clock, &keys[1]), counts[1]);
    gossip_fini(&answer);
    fini(&fixture);
}

struct rounds {
    uint32_t gossips[8]; /* by letter */
    uint32_t statuses[8];
};

/* A minute of rounds of a node with members c, d, e, f: c has seen the gossip, e is unreachable. */
static struct rounds rounds_with(uint32_t different_view_percent)
{
    struct member_settings settings = {
        .different_view_percent = different_view_percent,
        .heartbeat_pause_ms = 3600000, /* no member answers here */
    };
    struct fixture fixture = { 0 };
    struct rounds rounds = { 0 };
    struct node_id e = test_mail('e');
    struct outbound out;

    found_with(&fixture, &settings);
    for (char content = 'c'; content <= 'f'; content++)
        set(&fixture, content, MEMBER_UP, content);
    reported_by_peer(&fixture);
    member_quarantined(fixture.member, fixture.now, &e);
    expect_news(&fixture, "c up, d up, e up, f up, !e");
    join(&fixture); /* c gets that, and reports it as seen */
    reported_by_peer(&fixture);
    while (fixture.now < 60 * SECOND) {
        fixture.now = member_deadline(fixture.member);
        member_step(fixture.member, fixture.now, 0, &fixture.outbox);
        while (outbox_next(&fixture.outbox, &out)) {
            int at = out.to.address.host[0] - 'a';

            rounds.gossips[at] += slice_is(out.manifest, "GE");
            rounds.statuses[at] += slice_is(out.manifest, "GS");
        }
    }
    fini(&fixture);
    return rounds;
}

static void members_that_have_not_seen_the_version_get_gossip_first_MEM119(
    void **state)
{
    struct rounds rounds = rounds_with(100);
    (void)state;

    assert_in_range(rounds.gossips['d' - 'a'], 10, 1000);
    assert_in_range(rounds.gossips['f' - 'a'], 10, 1000);
    assert_int_equal(rounds.gossips['c' - 'a'] + rounds.statuses['c' - 'a'], 0);
    assert_int_equal(rounds.gossips['e' - 'a'] + rounds.statuses['e' - 'a'], 0);
    assert_int_equal(rounds.gossips['b' - 'a'] + rounds.statuses['b' - 'a'], 0);
}

static void without_preference_all_reachable_members_get_gossip_MEM120_MEM121_OLD005(
    void **state)
{
    struct rounds rounds = rounds_with(1);
    (void)state;

    assert_in_range(rounds.gossips['d' - 'a'], 10, 1000);
    assert_in_range(rounds.gossips['f' - 'a'], 10, 1000);
    assert_in_range(rounds.statuses['c' - 'a'], 10, 1000); /* it has seen the version */
    assert_int_equal(rounds.gossips['c' - 'a'], 0);
    assert_int_equal(rounds.gossips['e' - 'a'] + rounds.statuses['e' - 'a'], 0);
}

/* A member of a cluster led by b, the youngest. Up numbers follow the letters. */
struct exiter {
    char content;
    const char *roles[3];
    bool leaves;
};

static void expect_told(const struct exiter *members, const char *expected)
{
    static const struct member_settings settings = {
        .gossip_interval_ms = 3600000, /* only the leader's own messages */
        .heartbeat_pause_ms = 3600000,
        .waits_for_rounds = true,
    };
    struct fixture fixture = { 0 };
    struct outbound out;
    char told['z' - 'a' + 1] = "";
    char text[sizeof told] = "";

    found_with(&fixture, &settings);
    set(&fixture, 'b', MEMBER_UP, 'z');
    for (const struct exiter *at = members; at->content; at++) {
        struct node_id node = test_mail(at->content);
        uint32_t count = at->roles[0] ? at->roles[1] ? 2 : 1 : 0;
        struct profile *profile =
            profile_new(&own_identity, &node, at->roles, count, "0.0.0");

        if (!gossip_find(&fixture.gossip, &node))
            (void)gossip_add(&fixture.gossip, profile, MEMBER_UP, 0);
        set(&fixture, at->content, at->leaves ? MEMBER_LEAVING : MEMBER_UP,
            at->content);
        profile_drop(profile);
    }
    told_seen_by(&fixture, true);
    while (fixture.now < 4 * SECOND) {
        fixture.now = member_deadline(fixture.member);
        member_step(fixture.member, fixture.now, 0, &fixture.outbox);
        while (outbox_next(&fixture.outbox, &out))
            if (slice_is(out.manifest, "GE"))
                told[out.to.address.host[0] - 'a']++;
    }
    for (size_t i = 0, at = 0; i < sizeof told; i++)
        if (told[i])
            text[at++] = (char)('a' + i);
    assert_string_equal(text, expected);
    fini(&fixture);
}

/* Receivers in this data center: the two oldest, and the two oldest of each role that loses a
 * member. */
static void the_oldest_are_notified_of_exiting_members(void **state)
{
    static const struct exiter roles[] = {
        { 'c', { NULL }, false },          { 'd', { NULL }, false },
        { 'e', { NULL }, false },          { 'f', { NULL }, false },
        { 'g', { "role1", "role2" }, true }, { 'h', { "role1", "role3" }, true },
        { 'i', { "role1" }, false },       { 'j', { "role1" }, false },
        { 'k', { "role2" }, false },       { 0, { NULL }, false }
    };
    static const struct exiter plain[] = { { 'c', { NULL }, true },
                                           { 'd', { NULL }, false },
                                           { 'e', { NULL }, false },
                                           { 'f', { NULL }, false },
                                           { 0, { NULL }, false } };
    static const struct exiter apart[] = { { 'c', { NULL }, false },
                                           { 'd', { "dc-west" }, false },
                                           { 'e', { NULL }, false },
                                           { 'f', { NULL }, true },
                                           { 0, { NULL }, false } };
    (void)state;

    expect_told(roles, "cdghk");
    expect_told(plain, "cd");
    expect_told(apart, "ce");
}

/* Counts messages of that manifest to the node; discards all others. */
static uint32_t sent(struct fixture *fixture, const char *manifest, char content)
{
    struct node_id to = test_mail(content);
    struct outbound out;
    uint32_t count = 0;

    while (outbox_next(&fixture->outbox, &out))
        count += slice_is(out.manifest, manifest) && node_equal(&out.to, &to);
    return count;
}

/* Gossips and statuses of ten seconds. */
static uint32_t rounds_of_ten_seconds(struct fixture *fixture)
{
    uint64_t end = fixture->now + 10 * SECOND;
    struct outbound out;
    uint32_t count = 0;

    while (member_deadline(fixture->member) <= end) {
        fixture->now = member_deadline(fixture->member);
        member_step(fixture->member, fixture->now, 0, &fixture->outbox);
        while (outbox_next(&fixture->outbox, &out))
            count += slice_is(out.manifest, "GE") ||
                     slice_is(out.manifest, "GS");
    }
    fixture->now = end;
    return count;
}

/* Three rounds in an interval while fewer than half have seen the version. */
static void a_version_seen_by_few_spreads_faster(void **state)
{
    static const struct member_settings settings = {
        .heartbeat_pause_ms = 3600000
    };
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    for (char content = 'c'; content <= 'h'; content++)
        set(&fixture, content, MEMBER_UP, content);
    reported_by_peer(&fixture); /* two of seven */
    assert_in_range(rounds_of_ten_seconds(&fixture), 27, 31);
    told_seen_by(&fixture, true);
    (void)rounds_of_ten_seconds(&fixture);
    assert_in_range(rounds_of_ten_seconds(&fixture), 9, 11);
    fini(&fixture);
}

/* A status asks for a newer gossip, because JVM nodes know nothing else. */
static void a_newer_status_is_answered_by_a_status(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    struct node_id c = test_mail('c');
    uint8_t digest[SEEN_DIGEST_SIZE];
    struct buf payload = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 2);
    told_seen_by(&fixture, true);
    (void)sent(&fixture, "GS", 'c');
    wire_seen_digest(&own_identity, &fixture.gossip, digest);
    wire_put_status(&own_identity, &payload, &c, &fixture.gossip, digest);
    put(&fixture, "GS", &payload);
    assert_int_equal(sent(&fixture, "GS", 'c'), 0); /* both have the same */
    clock_increment(&fixture.gossip.clock,
                    &gossip_find(&fixture.gossip, &c)->profile->key);
    buf_clear(&payload);
    wire_put_status(&own_identity, &payload, &c, &fixture.gossip, digest);
    put(&fixture, "GS", &payload);
    assert_int_equal(sent(&fixture, "GS", 'c'), 1);
    buf_fini(&payload);
    fini(&fixture);
}

/* A newer peer is asked for its gossip, an older one gets it, and an equal one gets nothing. */
static void a_status_is_answered_by_what_one_side_lacks_SEED021(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    struct node_id c = test_mail('c'), d = test_mail('d');
    struct gossip answer = { 0 };
    uint8_t digest[SEEN_DIGEST_SIZE];
    struct buf statuses[3] = { { 0 }, { 0 }, { 0 } }; /* older, equal, newer */
    static const uint32_t gossips[] = { 1, 0, 0 }, asked[] = { 0, 0, 1 };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 2);
    set(&fixture, 'd', MEMBER_UP, 3);
    for (uint32_t i = 0; i < 3; i++) {
        if (i < 2)
            told_seen_by(&fixture, true);
        else
            clock_increment(&fixture.gossip.clock,
                            &gossip_find(&fixture.gossip, &c)->profile->key);
        wire_seen_digest(&own_identity, &fixture.gossip, digest);
        wire_put_status(&own_identity, &statuses[i], &c, &fixture.gossip,
                        digest);
    }
    for (uint32_t i = 0; i < 3; i++) {
        put(&fixture, "GS", &statuses[i]);
        assert_int_equal(sent(&fixture, "GE", 'c'), gossips[i]);
        put(&fixture, "GS", &statuses[i]);
        assert_int_equal(sent(&fixture, "GS", 'c'), asked[i]);
        buf_fini(&statuses[i]);
    }
    /* c sends its version after a change here: it gets both changes. */
    assert_true(member_down(fixture.member, fixture.now, &d.address,
                            &fixture.outbox));
    set(&fixture, 'e', MEMBER_JOINING, UP_NUMBER_NONE);
    answer_to(&fixture, &answer);
    assert_int_equal(gossip_find(&answer, &d)->status, MEMBER_DOWN);
    assert_int_equal(answer.members.count, 4);
    gossip_fini(&answer);
    fini(&fixture);
}

/* Connections are slow, so other data centers get only what they ask for. */
static void other_data_centers_get_the_status_first(void **state)
{
    static const struct member_settings settings = {
        .heartbeat_pause_ms = 3600000,
        .cross_heartbeat_pause_ms = 3600000,
        .cross_gossip_percent = 100,
    };
    struct profile *x = test_profile("x", 2552, 24, "dc-two");
    struct fixture fixture = { 0 };
    uint32_t statuses = 0;
    struct outbound out;
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 2);
    (void)gossip_add(&fixture.gossip, x, MEMBER_UP, 1);
    reported_by_peer(&fixture);
    while (fixture.now < 30 * SECOND) {
        fixture.now = member_deadline(fixture.member);
        member_step(fixture.member, fixture.now, 0, &fixture.outbox);
        while (outbox_next(&fixture.outbox, &out)) {
            if (!profile_is(x, &out.to))
                continue;
            assert_false(slice_is(out.manifest, "GE"));
            statuses += slice_is(out.manifest, "GS");
        }
    }
    assert_in_range(statuses, 10, 100);
    profile_drop(x);
    fini(&fixture);
}

/* It waits until the other downed members have seen it, for at most four leader intervals. */
static void a_downed_node_waits_for_other_downed_nodes_up_to_a_limit(void **state)
{
    static const struct member_settings settings = {
        .heartbeat_pause_ms = 3600000 /* d is silent and counts as reachable */
    };
    struct fixture fixture = { 0 };
    uint64_t began;
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 2);
    set(&fixture, 'd', MEMBER_UP, 3);
    reported_by_peer(&fixture);
    set(&fixture, 'b', MEMBER_DOWN, 1);
    set(&fixture, 'd', MEMBER_DOWN, 3);
    reported_by_peer(&fixture);
    began = fixture.now;
    while (!member_is_stopped(fixture.member) &&
           fixture.now < began + 60 * SECOND) {
        fixture.now = member_deadline(fixture.member);
        member_step(fixture.member, fixture.now, 0, &fixture.outbox);
    }
    assert_in_range(fixture.now - began, 3 * SECOND, 5 * SECOND);
    fini(&fixture);
}

static void exiting(struct fixture *fixture)
{
    static const struct member_settings settings = { 0 };

    found_with(fixture, &settings);
    set(fixture, 'a', MEMBER_UP, 4);
    set(fixture, 'c', MEMBER_UP, 2);
    set(fixture, 'd', MEMBER_UP, 3);
    set(fixture, 'b', MEMBER_LEAVING, 1);
    reported_by_peer(fixture);
    set(fixture, 'b', MEMBER_EXITING, 1);
    reported_by_peer(fixture);
    assert_int_equal(member_self(fixture->member)->status, MEMBER_EXITING);
}

/* The leader may be leaving, too. */
static void an_exiting_node_confirms_to_the_leader_and_the_next(void **state)
{
    struct fixture fixture = { 0 };
    struct outbound out;
    char told[8] = "";
    size_t count = 0;
    (void)state;

    exiting(&fixture);
    member_exiting_done(fixture.member, fixture.now, &fixture.outbox);
    while (outbox_next(&fixture.outbox, &out))
        if (slice_is(out.manifest, "EC"))
            told[count++] = out.to.address.host[0];
    assert_string_equal(told, "ac");
    fini(&fixture);
}

/* It ends now, so the messages must not wait for a round. */
static void an_exiting_node_notifies_five_members_MEM126(void **state)
{
    struct fixture fixture = { 0 };
    struct outbound out;
    bool told[256] = { false };
    uint32_t count = 0;
    (void)state;

    exiting(&fixture);
    for (char content = 'e'; content <= 'j'; content++)
        set(&fixture, content, MEMBER_UP, content);
    reported_by_peer(&fixture);
    member_exiting_done(fixture.member, fixture.now, &fixture.outbox);
    while (outbox_next(&fixture.outbox, &out)) {
        uint8_t content = (uint8_t)out.to.address.host[0];

        if (!slice_is(out.manifest, "GE"))
            continue;
        assert_false(told[content]);
        told[content] = true;
        count++;
    }
    assert_int_equal(count, 5);
    fini(&fixture);
}

/* Observations by downed members count for that, too. */
static void observations_by_downed_members_count_for_removal(void **state)
{
    static const struct member_settings settings = {
        .heartbeat_pause_ms = 3600000
    };
    struct fixture fixture = { 0 };
    struct node_id c = test_mail('c');
    struct node_id e = test_mail('e');
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_DOWN, 2);
    set(&fixture, 'e', MEMBER_DOWN, 3);
    observe(&fixture, 'e', UNREACHABLE);
    reported_by_peer(&fixture);
    assert_non_null(member_find(fixture.member, &e));
    while (fixture.now < 5 * SECOND) {
        fixture.now = member_deadline(fixture.member);
        member_step(fixture.member, fixture.now, 0, &fixture.outbox);
    }
    assert_null(member_find(fixture.member, &e));
    assert_non_null(member_find(fixture.member, &c));
    fini(&fixture);
}

/* No member here monitors it. */
static void an_exiting_member_elsewhere_is_removed_at_once(void **state)
{
    static const struct member_settings settings = {
        .heartbeat_pause_ms = 3600000,
        .cross_heartbeat_pause_ms = 3600000,
    };
    struct profile *x = test_profile("x", 2552, 24, "dc-two");
    struct profile *y = test_profile("y", 2552, 25, "dc-two");
    struct fixture fixture = { 0 };
    struct node_id d = test_mail('d');
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 2);
    set(&fixture, 'd', MEMBER_EXITING, 3);
    (void)gossip_add(&fixture.gossip, x, MEMBER_EXITING, 1);
    (void)gossip_add(&fixture.gossip, y, MEMBER_DOWN, 2);
    told_seen_by(&fixture, true);
    assert_non_null(member_find(fixture.member, PROFILE_NODE(x)));
    assert_non_null(member_find(fixture.member, PROFILE_NODE(y)));
    while (fixture.now < 5 * SECOND) {
        fixture.now = member_deadline(fixture.member);
        member_step(fixture.member, fixture.now, 0, &fixture.outbox);
    }
    assert_null(member_find(fixture.member, PROFILE_NODE(x)));
    assert_null(member_find(fixture.member, PROFILE_NODE(y)));
    assert_non_null(member_find(fixture.member, &d)); /* has not confirmed */
    profile_drop(x);
    profile_drop(y);
    fini(&fixture);
}

/* Counts messages of that manifest to all nodes. */
static uint32_t sent_to_all(struct fixture *fixture, const char *manifest)
{
    struct outbound out;
    uint32_t count = 0;

    while (outbox_next(&fixture->outbox, &out))
        count += slice_is(out.manifest, manifest);
    return count;
}

/* A terminated member says nothing about the connection. */
static void a_terminated_member_makes_no_data_center_unreachable(void **state)
{
    static const struct member_settings settings = {
        .heartbeat_pause_ms = 3600000,
        .cross_heartbeat_pause_ms = 3600000,
    };
    struct profile *x = test_profile("x", 2552, 24, "dc-two");
    struct profile *y = test_profile("y", 2552, 25, "dc-two");
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 2);
    (void)gossip_add(&fixture.gossip, x, MEMBER_UP, 1);
    (void)gossip_add(&fixture.gossip, y, MEMBER_UP, 2);
    reported_by_peer(&fixture);
    expect_news(&fixture, "c up, x up, y up");
    observe(&fixture, 'x', TERMINATED);
    reported_by_peer(&fixture);
    expect_news(&fixture, "");
    observe(&fixture, 'y', UNREACHABLE);
    reported_by_peer(&fixture);
    expect_news(&fixture, "data-center-unreachable two");
    profile_drop(x);
    profile_drop(y);
    fini(&fixture);
}

/* These are its last messages. */
static void a_downed_node_notifies_five_members_at_once(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    for (char content = 'c'; content <= 'i'; content++)
        set(&fixture, content, MEMBER_UP, content);
    reported_by_peer(&fixture);
    set(&fixture, 'b', MEMBER_DOWN, 1);
    put_told(&fixture, false);
    assert_true(member_is_stopped(fixture.member));
    assert_int_equal(sent_to_all(&fixture, "GE"), 5);
    fini(&fixture);
}

/* At once, not in the next round. */
static void full_shutdown_is_announced_at_once(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 2);
    reported_by_peer(&fixture);
    assert_true(member_prepare_shutdown(fixture.member, fixture.now,
                                        &fixture.outbox));
    assert_int_equal(sent_to_all(&fixture, "GE"), 1);
    fini(&fixture);
}

/* It does not mark versions as seen, so it does not ask for one. */
static void an_exiting_node_answers_no_newer_gossip(void **state)
{
    struct fixture fixture = { 0 };
    (void)state;

    exiting(&fixture);
    set(&fixture, 'e', MEMBER_UP, 5);
    put_told(&fixture, false);
    assert_int_equal(sent_to_all(&fixture, "GE"), 0);
    assert_false(member_self(fixture.member)->seen);
    fini(&fixture);
    fixture = (struct fixture){ 0 };
    found_with(&fixture, &(struct member_settings){ 0 });
    set(&fixture, 'e', MEMBER_UP, 5);
    put_told(&fixture, false);
    assert_int_equal(sent_to_all(&fixture, "GE"), 1);
    assert_true(member_self(fixture.member)->seen);
    fini(&fixture);
}

/* Its own change would be undone by others' in a merge. */
static void a_leaving_node_asks_the_leader_during_full_shutdown(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'a', MEMBER_UP, 2);
    set(&fixture, 'c', MEMBER_UP, 3);
    reported_by_peer(&fixture);
    assert_true(member_prepare_shutdown(fixture.member, fixture.now,
                                        &fixture.outbox));
    assert_true(member_leave(fixture.member, fixture.now,
                             &own_identity.node.address, &fixture.outbox));
    assert_int_equal(member_self(fixture.member)->status,
                     MEMBER_PREPARING_FOR_SHUTDOWN);
    assert_int_equal(sent(&fixture, "L", 'a'), 1);
    fini(&fixture);

    fixture = (struct fixture){ 0 };
    found_with(&fixture, &settings); /* now it leads */
    assert_true(member_prepare_shutdown(fixture.member, fixture.now,
                                        &fixture.outbox));
    assert_true(member_leave(fixture.member, fixture.now,
                             &own_identity.node.address, &fixture.outbox));
    assert_int_equal(member_self(fixture.member)->status, MEMBER_LEAVING);
    fini(&fixture);
}

static void asked_to_join(struct fixture *fixture)
{
    struct buf payload = { 0 };

    wire_put_init_join(&own_identity, &payload, slice_text(""));
    put(fixture, "IJ", &payload);
    buf_fini(&payload);
}

/* Any answer restarts the wait. */
static void a_seed_that_refuses_is_not_asked_again_at_once(void **state)
{
    struct node_id c = test_mail('c');
    const struct identity theirs = { "akka", "sys", c };
    const struct address seeds[] = { c.address, test_mail('d').address };
    const struct member_settings settings = { .seeds = seeds,
                                              .seed_count = 2 };
    struct fixture fixture = { .now = SECOND };
    struct buf payload = { 0 };
    (void)state;

    fixture.member = member_new(&own_identity, &settings, 1, NULL);
    member_start(fixture.member, fixture.now, 0, &fixture.outbox);
    assert_true(member_deadline(fixture.member) == 6 * SECOND);
    assert_int_equal(sent_to_all(&fixture, "IJ"), 2);
    fixture.now = 4 * SECOND;
    wire_put_address(&own_identity, &payload, &c.address);
    put(&fixture, "IJN", &payload);
    assert_true(member_deadline(fixture.member) == 9 * SECOND);
    fixture.now = 9 * SECOND;
    member_step(fixture.member, fixture.now, 0, &fixture.outbox);
    assert_true(member_deadline(fixture.member) == 14 * SECOND);
    assert_int_equal(sent_to_all(&fixture, "IJ"), 2);
    for (uint32_t i = 0; i < 2; i++) { /* only the first acceptance counts */
        buf_clear(&payload);
        wire_put_init_join_ack(&theirs, &payload, CONFIG_UNCHECKED,
                               slice_text(""));
        put(&fixture, "IJA", &payload);
        assert_int_equal(sent_to_all(&fixture, "J"), i == 0);
    }
    buf_fini(&payload);
    fini(&fixture);
}

/* Joins again, as after a lost Welcome. */
static void joins_again(struct fixture *fixture)
{
    struct node_id node = test_mail('c');
    struct profile *profile =
        profile_new(&own_identity, &node, NULL, 0, "0.0.0");
    struct buf payload = { 0 };

    wire_put_join(&own_identity, &payload, profile);
    put(fixture, "J", &payload);
    buf_fini(&payload);
    profile_drop(profile);
}

static void an_exiting_node_accepts_no_joiner(void **state)
{
    static const struct member_settings settings = { 0 };
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    asked_to_join(&fixture);
    assert_int_equal(sent(&fixture, "IJA", 'c'), 1);
    joins_again(&fixture);
    assert_int_equal(sent(&fixture, "W", 'c'), 1);
    fini(&fixture);
    fixture = (struct fixture){ 0 };
    exiting(&fixture);
    asked_to_join(&fixture);
    assert_int_equal(sent(&fixture, "IJN", 'c'), 1);
    joins_again(&fixture);
    assert_int_equal(sent(&fixture, "W", 'c'), 0);
    fini(&fixture);
}

/* The process was restarted, so the old incarnation does not return. */
static void a_joining_incarnation_downs_the_old_one(void **state)
{
    static const struct member_settings settings = { 0 };
    struct profile *again = test_profile("c", 2552, 33, NULL);
    struct fixture fixture = { 0 };
    struct member_walk walk = { 0, 0 };
    struct member_observation observation;
    struct buf payload = { 0 };
    struct inbound inbound = {
        .from = profile_node(again),
        .sender = slice_text(MEMBER_DAEMON_PATH "#1"),
        .recipient = slice_text(MEMBER_DAEMON_PATH),
        .manifest = slice_text("J"),
        .serializer = MEMBER_SERIALIZER,
    };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 2);
    reported_by_peer(&fixture);
    expect_news(&fixture, "c up");
    wire_put_join(&own_identity, &payload, again);
    inbound.payload = buf_slice(&payload);
    member_receive(fixture.member, fixture.now, 0, &inbound, &fixture.outbox);
    expect_news(&fixture, "c down, !c");
    assert_true(member_next_observation(fixture.member, &walk, &observation));
    assert_true(observation.terminated);
    assert_true(profile_is(
        member_at(fixture.member, observation.observer)->profile,
        &own_identity.node));
    buf_fini(&payload);
    profile_drop(again);
    fini(&fixture);
}

/* Two incarnations joined through two members at once; this node has the address. */
static void another_incarnation_of_this_node_is_downed(void **state)
{
    static const struct member_settings settings = { 0 };
    struct profile *former = test_profile("b", 2552, 1, NULL);
    struct profile *later = test_profile("b", 2552, 3, NULL);
    struct fixture fixture = { 0 };
    (void)state;

    found_with(&fixture, &settings);
    set(&fixture, 'c', MEMBER_UP, 2);
    reported_by_peer(&fixture);
    expect_news(&fixture, "c up");
    (void)gossip_add(&fixture.gossip, former, MEMBER_UP, 3);
    (void)gossip_add(&fixture.gossip, later, MEMBER_JOINING, INT32_MAX);
    reported_by_peer(&fixture);
    assert_int_equal(member_find(fixture.member, PROFILE_NODE(former))->status,
                     MEMBER_DOWN);
    assert_int_equal(member_find(fixture.member, PROFILE_NODE(later))->status,
                     MEMBER_DOWN);
    assert_int_equal(member_find(fixture.member, &own_identity.node)->status,
                     MEMBER_UP);
    assert_false(member_is_stopped(fixture.member));
    profile_drop(former);
    profile_drop(later);
    fini(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_members_are_reported_once_MEM009_MEM021_MEM022),
        cmocka_unit_test(
            changes_are_reported_in_order_MEM010_MEM023_MEM029_MEM030),
        cmocka_unit_test(a_new_leader_is_reported_last_MEM011_MEM013_MEM033),
        cmocka_unit_test(leaders_elsewhere_lead_no_role_here_MEM037),
        cmocka_unit_test(a_downed_member_has_not_seen_the_version_MEM114),
        cmocka_unit_test(
            a_new_incarnation_comes_after_the_end_of_the_old_MEM035),
        cmocka_unit_test(only_changed_reachability_is_reported_MEM024),
        cmocka_unit_test(leaders_of_roles_are_reported_MEM014),
        cmocka_unit_test(all_news_of_one_change_come_in_order),
        cmocka_unit_test(one_report_does_not_stop_a_node),
        cmocka_unit_test(reachable_members_and_those_that_reported_are_counted),
        cmocka_unit_test(its_own_change_is_seen_by_no_other_node),
        cmocka_unit_test(a_merge_that_removes_is_a_change),
        cmocka_unit_test(a_member_is_unreachable_before_it_is_removed),
        cmocka_unit_test(its_own_end_is_the_last_news),
        cmocka_unit_test(
            members_that_have_not_seen_the_version_get_gossip_first_MEM119),
        cmocka_unit_test(
            without_preference_all_reachable_members_get_gossip_MEM120_MEM121_OLD005),
        cmocka_unit_test(the_oldest_are_notified_of_exiting_members),
        cmocka_unit_test(a_version_seen_by_few_spreads_faster),
        cmocka_unit_test(a_newer_status_is_answered_by_a_status),
        cmocka_unit_test(
            a_status_is_answered_by_what_one_side_lacks_SEED021),
        cmocka_unit_test(other_data_centers_get_the_status_first),
        cmocka_unit_test(a_downed_node_waits_for_other_downed_nodes_up_to_a_limit),
        cmocka_unit_test(an_exiting_node_confirms_to_the_leader_and_the_next),
        cmocka_unit_test(an_exiting_node_notifies_five_members_MEM126),
        cmocka_unit_test(observations_by_downed_members_count_for_removal),
        cmocka_unit_test(an_exiting_member_elsewhere_is_removed_at_once),
        cmocka_unit_test(a_terminated_member_makes_no_data_center_unreachable),
        cmocka_unit_test(a_downed_node_notifies_five_members_at_once),
        cmocka_unit_test(full_shutdown_is_announced_at_once),
        cmocka_unit_test(a_leaving_node_asks_the_leader_during_full_shutdown),
        cmocka_unit_test(an_exiting_node_answers_no_newer_gossip),
        cmocka_unit_test(a_seed_that_refuses_is_not_asked_again_at_once),
        cmocka_unit_test(an_exiting_node_accepts_no_joiner),
        cmocka_unit_test(a_joining_incarnation_downs_the_old_one),
        cmocka_unit_test(another_incarnation_of_this_node_is_downed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
