/* Tests when the resolver decides: after stability, as leader, when unstable, and with a lease. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/timers.h"
#include "resolver/resolver.h"

#define COUNT 5

/* This node is the first. Members are letters in the order of their addresses. */
struct scene {
    struct kept_member members[COUNT];
    struct side_record records[COUNT * COUNT];
    struct resolver_view view;
    struct resolver_settings settings;
    struct resolver *resolver;
    struct trace *trace;
    uint64_t now;
    char said[64]; /* news so far: "B" is downed, '?' acquire, '!' release */
};

static int set(void **state)
{
    struct scene *scene = mem_alloc(sizeof *scene);

    for (int i = 0; i < COUNT; i++) {
        scene->members[i] = (struct kept_member){
            .uid = 1 + (uint64_t)i,
            .address = address_keep(&(struct address){
                .host = { (char)('A' + i) }, .port = 2550 }),
            .is_copied = true,
            .up_number = 1 + i,
            .status = MEMBER_UP,
            .has_role = true,
            .reachable = true,
        };
    }
    scene->view.side.members = scene->members;
    scene->view.side.records = scene->records;
    scene->view.side.member_count = COUNT;
    scene->view.is_leader = true;
    scene->settings.stable_after = 20 * SECOND;
    scene->settings.unstable_after = 15 * SECOND;
    scene->settings.release_after = 40 * SECOND;
    scene->settings.strategy.minority_delay = 2 * SECOND;
    scene->now = 100 * SECOND;
    scene->trace = trace_new(TRACE_DEBUG);
    *state = scene;
    return 0;
}

static int unset(void **state)
{
    struct scene *scene = *state;

    resolver_free(scene->resolver);
    for (int i = 0; i < COUNT; i++)
        kept_member_fini(&scene->members[i]);
    trace_free(scene->trace);
    mem_free(scene);
    return 0;
}

static void listen(struct scene *scene)
{
    struct resolver_news news;
    size_t size = strlen(scene->said);

    while (resolver_next_news(scene->resolver, &news)) {
        if (news.kind == RESOLVER_NEWS_UNSTABLE)
            continue;
        scene->said[size++] = news.kind == RESOLVER_NEWS_DOWN
                                  ? news.node.address.host[0]
                              : news.kind == RESOLVER_NEWS_ACQUIRE ? '?'
                                                                   : '!';
        scene->said[size] = 0;
    }
}

static void see(struct scene *scene)
{
    const struct node_id self = kept_member_node(&scene->members[0]);

    if (!scene->resolver)
        scene->resolver =
            resolver_new(&self, &scene->settings,
                         scene->trace, scene->now);
    resolver_see(scene->resolver, scene->now, &scene->view);
    listen(scene);
}

static void run(struct scene *scene, uint64_t ms)
{
    uint64_t until = scene->now + ms * MS;

    while (resolver_deadline(scene->resolver) <= until) {
        scene->now = resolver_deadline(scene->resolver);
        resolver_see(scene->resolver, scene->now, &scene->view);
        resolver_step(scene->resolver, scene->now);
        listen(scene);
        assert_true(resolver_deadline(scene->resolver) > scene->now);
    }
    scene->now = until;
}

static void record(struct scene *scene, const char *observers,
                   const char *subjects)
{
    for (size_t i = 0; observers[i]; i++) {
        uint32_t subject = (uint32_t)(subjects[i] - 'A');

        scene->records[scene->view.side.record_count++] =
            (struct side_record){ (uint32_t)(observers[i] - 'A'), subject };
        if (subject)
            scene->members[subject].reachable = false;
    }
    see(scene);
}

static void mend(struct scene *scene)
{
    scene->view.side.record_count = 0;
    for (int i = 0; i < COUNT; i++)
        scene->members[i].reachable = true;
    see(scene);
}

static void remove_last(struct scene *scene)
{
    scene->view.side.member_count--;
    scene->view.side.record_count = 0;
    see(scene);
}

static void the_leader_downs_members_after_the_stable_time_SBR073_SBR080(
    void **state)
{
    struct scene *scene = *state;

    see(scene);
    assert_true(resolver_deadline(scene->resolver) == NEVER);
    record(scene, "AC", "BD");
    run(scene, 19900);
    assert_string_equal(scene->said, "");
    run(scene, 1200);
    assert_string_equal(scene->said, "BD");
    assert_int_equal(resolver_counters(scene->resolver)->downed, 2);
}

static void a_delay_of_zero_decides_at_once_SBR070(void **state)
{
    struct scene *scene = *state;

    scene->settings.stable_after = 0;
    see(scene);
    record(scene, "A", "B");
    run(scene, 1000);
    assert_string_equal(scene->said, "B");
}

static void only_the_leader_decides_SBR071_SBR072(void **state)
{
    struct scene *scene = *state;

    scene->view.is_leader = false;
    see(scene);
    record(scene, "A", "B");
    run(scene, 30000);
    assert_string_equal(scene->said, "");
    scene->view.is_leader = true;
    run(scene, 1000);
    assert_string_equal(scene->said, "B");
}

static void a_node_that_becomes_the_leader_decides_after_the_wait_SBR074(
    void **state)
{
    struct scene *scene = *state;

    scene->view.is_leader = false;
    see(scene);
    record(scene, "A", "B");
    run(scene, 10000);
    scene->view.is_leader = true;
    run(scene, 9000);
    assert_string_equal(scene->said, "");
    run(scene, 2000);
    assert_string_equal(scene->said, "B");
}

static void a_node_that_is_no_leader_any_more_decides_nothing_SBR075(
    void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "A", "B");
    run(scene, 19000);
    scene->view.is_leader = false;
    run(scene, 10000);
    assert_string_equal(scene->said, "");
    scene->view.is_leader = true;
    run(scene, 1000);
    assert_string_equal(scene->said, "B");
}

static void the_side_of_the_oldest_downs_the_other_SBR081(void **state)
{
    struct scene *scene = *state;

    scene->settings.strategy.kind = STRATEGY_KEEP_OLDEST;
    see(scene);
    record(scene, "AAE", "BCD");
    run(scene, 22000);
    assert_string_equal(scene->said, "BCD");
}

static void a_pair_is_downed_with_a_crashed_member_SBR088(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "ABD", "BAC");
    run(scene, 22000);
    assert_string_equal(scene->said, "BCA");
}

static void a_pair_is_downed_with_the_other_side_SBR089(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "BCAA", "CBDE");
    run(scene, 22000);
    assert_string_equal(scene->said, "BCDE");
}

static void a_node_downs_no_member_before_it_is_up(void **state)
{
    struct scene *scene = *state;

    scene->members[0].status = MEMBER_JOINING;
    see(scene);
    record(scene, "A", "B");
    run(scene, 34000);
    assert_string_equal(scene->said, "");
    scene->members[0].status = MEMBER_WEAKLY_UP;
    run(scene, 1000);
    assert_string_equal(scene->said, "B");
}

static void a_partition_that_heals_in_time_downs_no_member_SBR077(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "A", "B");
    run(scene, 15000);
    mend(scene);
    run(scene, 60000);
    assert_string_equal(scene->said, "");
    assert_true(resolver_deadline(scene->resolver) == NEVER);
}

static void a_member_removed_in_time_is_not_downed_SBR078(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "A", "E");
    run(scene, 15000);
    remove_last(scene);
    run(scene, 60000);
    assert_string_equal(scene->said, "");
    assert_true(resolver_deadline(scene->resolver) == NEVER);
}

static void a_downed_member_is_not_downed_again_SBR079(void **state)
{
    struct scene *scene = *state;

    see(scene);
    scene->members[1].status = MEMBER_DOWN;
    record(scene, "A", "B");
    run(scene, 60000);
    assert_string_equal(scene->said, "");
}

static void a_change_restarts_the_wait(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "A", "B");
    run(scene, 15000);
    record(scene, "A", "C");
    run(scene, 15000);
    assert_string_equal(scene->said, "");
    run(scene, 6000);
    assert_string_equal(scene->said, "BC");
}

static void a_leaving_member_does_not_restart_the_wait(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "A", "B");
    run(scene, 15000);
    scene->members[3].status = MEMBER_LEAVING;
    scene->members[4].seen = true;
    see(scene);
    run(scene, 6000);
    assert_string_equal(scene->said, "B");
}

static void a_member_that_becomes_up_restarts_the_wait(void **state)
{
    struct scene *scene = *state;

    scene->members[4].status = MEMBER_JOINING;
    see(scene);
    record(scene, "A", "B");
    run(scene, 15000);
    scene->members[4].status = MEMBER_UP;
    see(scene);
    run(scene, 15000);
    assert_string_equal(scene->said, "");
    run(scene, 6000);
    assert_string_equal(scene->said, "B");
}

static void a_member_that_becomes_exiting_restarts_the_wait(void **state)
{
    struct scene *scene = *state;

    scene->members[4].status = MEMBER_LEAVING;
    see(scene);
    record(scene, "A", "B");
    run(scene, 15000);
    scene->members[4].status = MEMBER_EXITING;
    see(scene);
    run(scene, 19000);
    assert_string_equal(scene->said, "");
    run(scene, 2000);
    assert_string_equal(scene->said, "B");
}

static void a_node_downs_itself_last(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "AAA", "CDE");
    run(scene, 22000);
    assert_string_equal(scene->said, "BA");
}

static void indirectly_connected_members_are_downed_SBR087(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "AB", "BA");
    run(scene, 22000);
    assert_string_equal(scene->said, "BA");
}

static void exiting_members_are_not_downed_SBR091(void **state)
{
    struct scene *scene = *state;

    scene->members[3].status = MEMBER_EXITING;
    see(scene);
    record(scene, "AABC", "DEED");
    run(scene, 22000);
    assert_string_equal(scene->said, "E");
}

/* Even if it was unreachable already. */
static void a_member_that_becomes_down_restarts_the_wait(void **state)
{
    struct scene *scene = *state;

    record(scene, "AA", "DE");
    run(scene, 15 * 1000);
    scene->members[3].status = MEMBER_DOWN;
    see(scene);
    run(scene, 19 * 1000);
    assert_string_equal(scene->said, "");
    run(scene, 3 * 1000);
    assert_string_equal(scene->said, "E");
}

static void an_unstable_membership_downs_all_members_SBR094(void **state)
{
    struct scene *scene = *state;

    scene->view.is_leader = false; /* each node does */
    see(scene);
    record(scene, "A", "E");
    for (int i = 0; i < 6; i++) {
        run(scene, 5000);
        assert_string_equal(scene->said, "");
        scene->members[1].reachable = !scene->members[1].reachable;
        see(scene);
    }
    run(scene, 6500); /* more than 20 s and 15 s since the first */
    assert_string_equal(scene->said, "BCDEA");
    assert_int_equal(resolver_counters(scene->resolver)->unstable, 1);
}

/* E becomes unreachable and reachable for more than 35 s. doubts: in this time B observes this node
 * as unreachable. */
static void be_unstable(struct scene *scene, bool doubts)
{
    record(scene, "A", "E");
    for (int i = 0; i < 6; i++) {
        if (doubts && i == 2)
            record(scene, "B", "A");
        else
            scene->view.side.record_count = 1;
        run(scene, 5000);
        assert_string_equal(scene->said, "");
        scene->members[1].reachable = !scene->members[1].reachable;
        see(scene);
    }
    run(scene, 6500);
}

/* Akka's resolver downs all others, too, which may all have seen a stable cluster. */
static void a_suspected_node_downs_itself_alone(void **state)
{
    struct scene *scene = *state;

    scene->view.is_leader = false;
    see(scene);
    be_unstable(scene, true);
    assert_string_equal(scene->said, "A");
    assert_int_equal(resolver_counters(scene->resolver)->unstable, 1);
}

static void a_suspected_node_that_exits_downs_no_member(void **state)
{
    struct scene *scene = *state;

    scene->members[0].status = MEMBER_EXITING;
    see(scene);
    be_unstable(scene, true);
    assert_string_equal(scene->said, "");
    assert_int_equal(resolver_counters(scene->resolver)->unstable, 1);
}

static void a_past_suspicion_is_forgotten(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "AB", "EA");
    run(scene, 5000);
    mend(scene);
    be_unstable(scene, false);
    assert_string_equal(scene->said, "BCDEA");
}

static void instability_downs_no_member_when_off(void **state)
{
    struct scene *scene = *state;

    scene->settings.unstable_after = 0;
    see(scene);
    record(scene, "A", "E");
    for (int i = 0; i < 20; i++) {
        run(scene, 5000);
        scene->members[1].reachable = !scene->members[1].reachable;
        see(scene);
    }
    assert_string_equal(scene->said, "");
    run(scene, 21000);
    assert_string_equal(scene->said, "E");
}

static void healed_changes_do_not_count(void **state)
{
    struct scene *scene = *state;

    see(scene);
    for (int i = 0; i < 10; i++) {
        record(scene, "A", "E");
        run(scene, 10000);
        mend(scene);
        run(scene, 1000);
    }
    assert_string_equal(scene->said, "");
}

/* Reachability that changes before a member is up causes no instability. Akka's list of unreachable
 * members has only members that were up (KeepMajority of akka-cluster 2.6.21). */
static void members_never_up_cause_no_instability(void **state)
{
    struct scene *scene = *state;

    scene->members[3].status = MEMBER_JOINING;
    scene->members[4].status = MEMBER_WEAKLY_UP;
    see(scene);
    record(scene, "A", "D");
    for (int i = 0; i < 15; i++) {
        run(scene, 4000);
        scene->members[4].reachable = !scene->members[4].reachable;
        see(scene);
    }
    assert_string_equal(scene->said, "");
    assert_int_equal(resolver_counters(scene->resolver)->unstable, 0);
    scene->members[3].status = MEMBER_UP;
    for (int i = 0; i < 10; i++) {
        run(scene, 4000);
        scene->members[4].reachable = !scene->members[4].reachable;
        see(scene);
    }
    assert_int_equal(resolver_counters(scene->resolver)->unstable, 1);
}

static void too_many_members_are_logged_SBR082(void **state)
{
    struct scene *scene = *state;
    struct trace_line line;
    int warned = 0;

    scene->settings.strategy = (struct strategy){
        .kind = STRATEGY_STATIC_QUORUM, .quorum_size = 2
    };
    see(scene);
    see(scene);
    while (trace_next(scene->trace, &line))
        warned += line.level == TRACE_WARNING;
    assert_int_equal(warned, 1);
    record(scene, "A", "B");
    run(scene, 22000);
    assert_string_equal(scene->said, "BCDEA");
}

static void by_lease(struct scene *scene, const char *observers,
                     const char *subjects)
{
    scene->settings.strategy.kind = STRATEGY_LEASE_MAJORITY;
    see(scene);
    record(scene, observers, subjects);
}

static void acquired(struct scene *scene, bool held)
{
    scene->view.holds_lease = held;
    resolver_acquired(scene->resolver, scene->now, held);
    listen(scene);
}

static void the_side_with_the_lease_downs_the_other_SBR096(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    assert_int_equal(resolver_phase(scene->resolver), RESOLVER_WATCHING);
    run(scene, 21000);
    assert_string_equal(scene->said, "?");
    assert_int_equal(resolver_phase(scene->resolver), RESOLVER_ASKING);
    run(scene, 60000); /* ticks wait */
    assert_string_equal(scene->said, "?");
    acquired(scene, true);
    assert_int_equal(resolver_phase(scene->resolver), RESOLVER_WATCHING);
    assert_string_equal(scene->said, "?DE");
    scene->members[3].status = scene->members[4].status = MEMBER_DOWN;
    see(scene);
    /* Kept until both are removed, plus release-after. */
    run(scene, 50000);
    remove_last(scene);
    remove_last(scene);
    run(scene, 39000);
    assert_string_equal(scene->said, "?DE");
    run(scene, 2000);
    assert_string_equal(scene->said, "?DE!");
    run(scene, 5000);
    assert_string_equal(scene->said, "?DE!");
    resolver_released(scene->resolver, scene->now, false);
    run(scene, 1000);
    assert_string_equal(scene->said, "?DE!!");
    resolver_released(scene->resolver, scene->now, true);
    assert_true(resolver_deadline(scene->resolver) == NEVER);
    assert_int_equal(resolver_phase(scene->resolver), RESOLVER_CALM);
}

/* In a merge ready for shutdown wins over down: the member is downed again, and removed once. */
static void a_lease_is_released_although_a_member_was_downed_twice(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    run(scene, 21000);
    acquired(scene, true);
    assert_string_equal(scene->said, "?DE");
    scene->members[3].status = MEMBER_DOWN;
    scene->members[4].status = MEMBER_READY_FOR_SHUTDOWN;
    see(scene);
    run(scene, 21000);
    assert_string_equal(scene->said, "?DEE");
    scene->members[4].status = MEMBER_DOWN;
    see(scene);
    remove_last(scene);
    remove_last(scene);
    run(scene, 41000);
    assert_string_equal(scene->said, "?DEE!");
}

static void a_refused_lease_downs_this_side_SBR097(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    run(scene, 21000);
    acquired(scene, false);
    assert_string_equal(scene->said, "?BCA");
    assert_int_equal(resolver_counters(scene->resolver)->reversed, 1);
}

/* A lease of a node that died is free only after a time. */
static void downed_members_need_no_lease(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    scene->members[3].status = scene->members[4].status = MEMBER_DOWN;
    see(scene);
    run(scene, 60000);
    assert_string_equal(scene->said, "");
    scene->members[3].status = MEMBER_UP;
    see(scene);
    run(scene, 21000);
    assert_string_equal(scene->said, "?");
}

/* It would keep the other side from the lease. */
static void downing_all_needs_no_lease(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    run(scene, 15900);
    scene->members[2].reachable = false;
    see(scene);
    run(scene, 19000);
    assert_string_equal(scene->said, "");
    run(scene, 2000); /* stable, and unstable for too long, at one tick */
    assert_string_equal(scene->said, "BCDEA");
}

static void a_minority_waits_before_it_requests_the_lease(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "AAA", "CDE");
    run(scene, 20900);
    assert_string_equal(scene->said, "");
    run(scene, 1000);
    assert_string_equal(scene->said, "");
    run(scene, 200);
    assert_string_equal(scene->said, "?");
    acquired(scene, false);
    assert_string_equal(scene->said, "?BA");
}

static void a_pair_needs_the_lease_SBR098(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "BC", "CB");
    run(scene, 21000);
    assert_string_equal(scene->said, "?");
    acquired(scene, true);
    assert_string_equal(scene->said, "?BC");
}

static void a_held_lease_is_not_requested_again(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    scene->view.holds_lease = true;
    run(scene, 21000);
    assert_string_equal(scene->said, "DE");
}

/* The lease of an earlier decision would soon be released, but the other side must still find it
 * taken. */
static void a_held_lease_is_kept_for_a_later_decision(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "A", "E");
    run(scene, 21000);
    acquired(scene, true);
    assert_string_equal(scene->said, "?E");
    remove_last(scene); /* from here on kept for 40 s */
    run(scene, 18500);
    scene->records[scene->view.side.record_count++] = (struct side_record){ 0, 3 };
    scene->members[3].reachable = false;
    see(scene);
    run(scene, 21000); /* decided half a second before the release */
    assert_string_equal(scene->said, "?ED");
    scene->members[3].status = MEMBER_DOWN;
    see(scene);
    run(scene, 10000);
    remove_last(scene);
    run(scene, 39000);
    assert_string_equal(scene->said, "?ED");
    run(scene, 2000);
    assert_string_equal(scene->said, "?ED!");
}

/* No member is downed any more: a downed one that stays does not keep the lease for ever. */
static void a_lease_is_not_kept_for_members_downed_elsewhere(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "A", "E");
    run(scene, 21000);
    acquired(scene, true);
    remove_last(scene);
    scene->members[3].status = MEMBER_DOWN; /* by another node */
    scene->members[3].reachable = false;
    see(scene);
    run(scene, 41000);
    assert_string_equal(scene->said, "?E!");
}

/* The first release may never be answered: a new request replaced it at a slow provider. */
static void a_lease_is_released_although_a_release_was_lost(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "A", "E");
    run(scene, 21000);
    acquired(scene, true);
    remove_last(scene);
    run(scene, 20500);
    record(scene, "A", "D");
    run(scene, 20000);
    assert_string_equal(scene->said, "?E!");
    scene->view.holds_lease = false;
    run(scene, 1000);
    assert_string_equal(scene->said, "?E!?");
    acquired(scene, true);
    assert_string_equal(scene->said, "?E!?D");
    remove_last(scene);
    run(scene, 42000);
    assert_string_equal(scene->said, "?E!?D!");
}

static void changes_during_the_wait_count_afterwards(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "A", "E");
    run(scene, 21000);
    record(scene, "A", "D"); /* ignored */
    acquired(scene, true);
    assert_string_equal(scene->said, "?E");
    run(scene, 19000);
    assert_string_equal(scene->said, "?E");
    run(scene, 3000); /* held, so not requested again */
    assert_string_equal(scene->said, "?EDE");
}

static void a_decision_is_explained(void **state)
{
    struct scene *scene = *state;
    struct trace_line line;
    bool decided = false, members = false, observations = false;

    see(scene);
    record(scene, "AC", "BD");
    scene->members[4].seen = true;
    run(scene, 22000);
    while (trace_next(scene->trace, &line)) {
        if (strncmp(line.text, "decides ", 8) == 0) {
            assert_non_null(strstr(line.text,
                                   "decision=down-unreachable "
                                   "strategy=keep-majority members=5 "
                                   "counted=5 unreachable=2 indirect=0 "
                                   "changes=2 since_ms=20000 "
                                   "downs=B:2550,D:2550"));
            decided = true;
        }
        members |= strstr(line.text, "members=A:2550/u1,B:2550/u2-unreachable,"
                                     "C:2550/u3,D:2550/u4-unreachable,"
                                     "E:2550/u5-seen") != NULL;
        observations |=
            strstr(line.text, "observations=A:2550>B:2550,C:2550>D:2550") !=
            NULL;
    }
    assert_true(decided && members && observations);
}

/* All lines with this beginning, joined; each is a warning, like the decision. */
static void read_lines(struct trace *trace, char *text, size_t room)
{
    struct trace_line line;
    size_t used = 0;

    while (trace_next(trace, &line)) {
        if (!strstr(line.text, "decides ") &&
            strncmp(line.text, "it was decided from ", 20) != 0)
            continue;
        assert_int_equal(line.level, TRACE_WARNING);
        used += (size_t)snprintf(text + used, room - used, "%s,\n", line.text);
        assert_true(used < room);
    }
}

static uint32_t times(const char *text, const char *word)
{
    uint32_t count = 0;

    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        count++;
    return count;
}

#define MANY 60

/* With warnings only, and more words than a line takes: all are logged. */
static void a_decision_of_many_is_explained(void **state)
{
    static struct kept_member members[MANY];
    static struct side_record records[MANY];
    static char text[64 * 1024];
    struct resolver_settings settings = {
        .strategy = { .kind = STRATEGY_STATIC_QUORUM, .quorum_size = 31 },
        .stable_after = 20 * SECOND,
        .unstable_after = 15 * SECOND,
    };
    struct resolver_view view = { .side = { members, MANY, records, 20 },
                                  .is_leader = true };
    struct trace *trace = trace_new(TRACE_WARNING);
    struct resolver *resolver;
    struct node_id self;
    char word[200];

    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        struct address address = { .port = 2550 };

        (void)snprintf(address.host, sizeof address.host,
                       "a-node-with-a-rather-long-name-%02u", (unsigned)i);
        members[i].address = address_keep(&address);
        members[i].is_copied = true;
        members[i].uid = 1 + i;
        members[i].up_number = 1 + (int32_t)i;
        members[i].status = MEMBER_UP;
        members[i].has_role = i % 10 != 0;
        members[i].reachable = i < 40;
        records[i] = (struct side_record){ 0, 40 + i };
    }
    self = kept_member_node(&members[0]);
    resolver = resolver_new(&self, &settings, trace, SECOND);
    resolver_see(resolver, SECOND, &view);
    resolver_see(resolver, 22 * SECOND, &view);
    resolver_step(resolver, 22 * SECOND);
    read_lines(trace, text, sizeof text);
    assert_non_null(strstr(text, "decision=down-unreachable strategy=static-quorum quorum=31 members=60 counted=54 unreachable=20 "));
    for (uint32_t i = 0; i < MANY; i++) {
        const char *address = members[i].address->host;

        (void)snprintf(word, sizeof word, "%.60s:2550/u%u%s%s,", address,
                       (unsigned)i + 1, i < 40 ? "" : "-unreachable",
                       i % 10 ? "" : "-norole");
        assert_int_equal(times(text, word), 1);
        (void)snprintf(word, sizeof word, "%.60s:2550>%.60s:2550,",
                       members[0].address->host, address);
        assert_int_equal(times(text, word), i >= 40);
        (void)snprintf(word, sizeof word, "%.60s:2550", address);
        assert_int_equal(times(text, word),
                         i == 0 ? 21 : i < 40 ? 1 : 3); /* as downed, as a member, as observed */
    }
    resolver_free(resolver);
    trace_free(trace);
}

/* The outcome is an input of the decision. */
static void the_outcome_of_the_lease_is_logged(void **state)
{
    static char text[4096];
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    run(scene, 21000);
    read_lines(scene->trace, text, sizeof text);
    assert_non_null(strstr(text, "the lease decides decision=down-unreachable-by-lease delay_ms=0"));
    acquired(scene, false);
    read_lines(scene->trace, text, sizeof text);
    assert_non_null(strstr(text, "decides decision=down-reachable strategy=lease-majority lease=not-granted members=5 "));
}

static void a_granted_lease_is_logged(void **state)
{
    static char text[4096];
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    run(scene, 21000);
    acquired(scene, true);
    read_lines(scene->trace, text, sizeof text);
    assert_non_null(strstr(text, " strategy=lease-majority lease=granted members=5 "));
}

static void instability_is_logged(void **state)
{
    static char text[4096];
    struct scene *scene = *state;

    see(scene);
    record(scene, "A", "E");
    for (int i = 0; i < 6; i++) {
        run(scene, 5000);
        scene->members[1].reachable = !scene->members[1].reachable;
        see(scene);
    }
    run(scene, 6500);
    assert_string_equal(scene->said, "BCDEA");
    read_lines(scene->trace, text, sizeof text);
    assert_non_null(strstr(text, "decides decision=down-all strategy=keep-majority reason=unstable members=5 counted=5 "));
    assert_non_null(strstr(text, " downs=A:2550,B:2550,C:2550,D:2550,E:2550,"));
    assert_non_null(strstr(text, "it was decided from members=A:2550/u1,"));
}

static void downing_itself_alone_is_logged(void **state)
{
    static char text[4096];
    struct scene *scene = *state;

    see(scene);
    be_unstable(scene, true);
    read_lines(scene->trace, text, sizeof text);
    assert_non_null(strstr(text, "decides decision=down-self strategy=keep-majority reason=unstable members=5 counted=5 "));
    assert_non_null(strstr(text, " downs=A:2550,\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set, unset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_leader_downs_members_after_the_stable_time_SBR073_SBR080),
        TEST(a_delay_of_zero_decides_at_once_SBR070),
        TEST(only_the_leader_decides_SBR071_SBR072),
        TEST(a_node_that_becomes_the_leader_decides_after_the_wait_SBR074),
        TEST(a_node_that_is_no_leader_any_more_decides_nothing_SBR075),
        TEST(the_side_of_the_oldest_downs_the_other_SBR081),
        TEST(a_pair_is_downed_with_a_crashed_member_SBR088),
        TEST(a_pair_is_downed_with_the_other_side_SBR089),
        TEST(a_node_downs_no_member_before_it_is_up),
        TEST(a_partition_that_heals_in_time_downs_no_member_SBR077),
        TEST(a_member_removed_in_time_is_not_downed_SBR078),
        TEST(a_downed_member_is_not_downed_again_SBR079),
        TEST(a_change_restarts_the_wait),
        TEST(a_leaving_member_does_not_restart_the_wait),
        TEST(a_member_that_becomes_up_restarts_the_wait),
        TEST(a_member_that_becomes_exiting_restarts_the_wait),
        TEST(a_node_downs_itself_last),
        TEST(indirectly_connected_members_are_downed_SBR087),
        TEST(exiting_members_are_not_downed_SBR091),
        TEST(a_member_that_becomes_down_restarts_the_wait),
        TEST(an_unstable_membership_downs_all_members_SBR094),
        TEST(a_suspected_node_downs_itself_alone),
        TEST(a_suspected_node_that_exits_downs_no_member),
        TEST(a_past_suspicion_is_forgotten),
        TEST(members_never_up_cause_no_instability),
        TEST(instability_downs_no_member_when_off),
        TEST(healed_changes_do_not_count),
        TEST(too_many_members_are_logged_SBR082),
        TEST(the_side_with_the_lease_downs_the_other_SBR096),
        TEST(a_lease_is_released_although_a_member_was_downed_twice),
        TEST(a_refused_lease_downs_this_side_SBR097),
        TEST(downed_members_need_no_lease),
        TEST(downing_all_needs_no_lease),
        TEST(a_minority_waits_before_it_requests_the_lease),
        TEST(a_pair_needs_the_lease_SBR098),
        TEST(a_held_lease_is_not_requested_again),
        TEST(a_held_lease_is_kept_for_a_later_decision),
        TEST(a_lease_is_not_kept_for_members_downed_elsewhere),
        TEST(a_lease_is_released_although_a_release_was_lost),
        TEST(changes_during_the_wait_count_afterwards),
        TEST(a_decision_is_explained),
        cmocka_unit_test(a_decision_of_many_is_explained),
        TEST(instability_is_logged),
        TEST(downing_itself_alone_is_logged),
        TEST(the_outcome_of_the_lease_is_logged),
        TEST(a_granted_lease_is_logged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
