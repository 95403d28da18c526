/* When the resolver decides: stable for long enough, as leader; when nothing holds; when a lease has to be got first. */
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

/* The node is the first; members are letters in the order of their addresses. */
struct scene {
    struct side_member members[COUNT];
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
        scene->members[i] = (struct side_member){
            .node = { .address = { .host = { (char)('A' + i) },
                                   .port = 2550 },
                      .uid = 1 + (uint64_t)i },
            .up_number = 1 + i,
            .status = PEER_UP,
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
    if (!scene->resolver)
        scene->resolver =
            resolver_new(&scene->members[0].node, &scene->settings,
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

static void downs_after_the_time(void **state)
{
    struct scene *scene = *state;

    see(scene);
    assert_true(resolver_deadline(scene->resolver) == NEVER);
    record(scene, "AC", "BD"); /* 080 */
    run(scene, 19900);
    assert_string_equal(scene->said, "");
    run(scene, 1200);
    assert_string_equal(scene->said, "BD");
    assert_int_equal(resolver_counters(scene->resolver)->downed, 2);
}

static void without_delay(void **state) /* 070 */
{
    struct scene *scene = *state;

    scene->settings.stable_after = 0;
    see(scene);
    record(scene, "A", "B");
    run(scene, 1000);
    assert_string_equal(scene->said, "B");
}

static void only_the_leader(void **state) /* 071, 072 */
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

static void leadership_counts_at_the_end(void **state) /* 074, 075 */
{
    struct scene *scene = *state;

    scene->view.is_leader = false;
    see(scene);
    record(scene, "A", "B");
    run(scene, 10000);
    scene->view.is_leader = true;
    run(scene, 9000);
    assert_string_equal(scene->said, "");
    scene->view.is_leader = false;
    run(scene, 10000);
    assert_string_equal(scene->said, "");
    scene->view.is_leader = true;
    run(scene, 1000);
    assert_string_equal(scene->said, "B");
}

static void not_before_it_is_up(void **state)
{
    struct scene *scene = *state;

    scene->members[0].status = PEER_JOINING;
    see(scene);
    record(scene, "A", "B");
    run(scene, 34000);
    assert_string_equal(scene->said, "");
    scene->members[0].status = PEER_WEAKLY_UP;
    run(scene, 1000);
    assert_string_equal(scene->said, "B");
}

static void healed_in_time(void **state) /* 077 */
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

static void removed_in_time(void **state) /* 078 */
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

static void already_down(void **state) /* 079 */
{
    struct scene *scene = *state;

    see(scene);
    scene->members[1].status = PEER_DOWN;
    record(scene, "A", "B");
    run(scene, 60000);
    assert_string_equal(scene->said, "");
}

static void a_change_starts_the_time_anew(void **state)
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

static void who_leaves_does_not(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "A", "B");
    run(scene, 15000);
    scene->members[3].status = PEER_LEAVING;
    scene->members[4].seen = true;
    see(scene);
    run(scene, 6000);
    assert_string_equal(scene->said, "B");
}

static void who_comes_up_does(void **state)
{
    struct scene *scene = *state;

    scene->members[4].status = PEER_JOINING;
    see(scene);
    record(scene, "A", "B");
    run(scene, 15000);
    scene->members[4].status = PEER_UP;
    see(scene);
    run(scene, 15000);
    assert_string_equal(scene->said, "");
    run(scene, 6000);
    assert_string_equal(scene->said, "B");
}

static void who_is_exiting_does(void **state)
{
    struct scene *scene = *state;

    scene->members[4].status = PEER_LEAVING;
    see(scene);
    record(scene, "A", "B");
    run(scene, 15000);
    scene->members[4].status = PEER_EXITING;
    see(scene);
    run(scene, 19000);
    assert_string_equal(scene->said, "");
    run(scene, 2000);
    assert_string_equal(scene->said, "B");
}

static void itself_last(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "AAA", "CDE");
    run(scene, 22000);
    assert_string_equal(scene->said, "BA");
}

static void indirectly_connected(void **state) /* 087 */
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "AB", "BA");
    run(scene, 22000);
    assert_string_equal(scene->said, "BA");
}

static void exiting_are_left_alone(void **state) /* 091 */
{
    struct scene *scene = *state;

    scene->members[3].status = PEER_EXITING;
    see(scene);
    record(scene, "AABC", "DEED");
    run(scene, 22000);
    assert_string_equal(scene->said, "E");
}

/* Behaviour 8.3: also of one that was unreachable already. */
static void who_is_downed_meanwhile_begins_the_wait_anew(void **state)
{
    struct scene *scene = *state;

    record(scene, "AA", "DE");
    run(scene, 15 * 1000);
    scene->members[3].status = PEER_DOWN;
    see(scene);
    run(scene, 19 * 1000);
    assert_string_equal(scene->said, "");
    run(scene, 3 * 1000);
    assert_string_equal(scene->said, "E");
}

static void down_all_when_unstable(void **state) /* 093, 094 */
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

/* E comes and goes for longer than 35 s; doubts: some time in it B takes this node for unreachable. */
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

/* Not in the reference: there it downs all others, too, who may all have seen a calm picture. */
static void who_is_doubted_downs_itself_alone(void **state)
{
    struct scene *scene = *state;

    scene->view.is_leader = false;
    see(scene);
    be_unstable(scene, true);
    assert_string_equal(scene->said, "A");
    assert_int_equal(resolver_counters(scene->resolver)->unstable, 1);
}

static void who_is_doubted_and_goes_downs_nobody(void **state)
{
    struct scene *scene = *state;

    scene->members[0].status = PEER_EXITING;
    see(scene);
    be_unstable(scene, true);
    assert_string_equal(scene->said, "");
    assert_int_equal(resolver_counters(scene->resolver)->unstable, 1);
}

static void a_doubt_that_is_over_is_forgotten(void **state)
{
    struct scene *scene = *state;

    see(scene);
    record(scene, "AB", "EA");
    run(scene, 5000);
    mend(scene);
    be_unstable(scene, false);
    assert_string_equal(scene->said, "BCDEA");
}

static void not_when_that_is_off(void **state)
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

static void what_healed_is_not_counted(void **state)
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

/* Whose reachability comes and goes before they are up makes nothing unstable: the reference's list of who is unreachable has only
 * members that came up (KeepMajority of akka-cluster 2.6.21, asked with each status). */
static void who_never_came_up_makes_nothing_unstable(void **state)
{
    struct scene *scene = *state;

    scene->members[3].status = PEER_JOINING;
    scene->members[4].status = PEER_WEAKLY_UP;
    see(scene);
    record(scene, "A", "D");
    for (int i = 0; i < 15; i++) {
        run(scene, 4000);
        scene->members[4].reachable = !scene->members[4].reachable;
        see(scene);
    }
    assert_string_equal(scene->said, "");
    assert_int_equal(resolver_counters(scene->resolver)->unstable, 0);
    scene->members[3].status = PEER_UP;
    for (int i = 0; i < 10; i++) {
        run(scene, 4000);
        scene->members[4].reachable = !scene->members[4].reachable;
        see(scene);
    }
    assert_int_equal(resolver_counters(scene->resolver)->unstable, 1);
}

static void too_many_is_said(void **state) /* 082 */
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

static void a_lease_decides(void **state) /* 096 */
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
    scene->members[3].status = scene->members[4].status = PEER_DOWN;
    see(scene);
    /* It is kept until both are removed, and for release-after. */
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

/* Ready for shutdown goes before down where two change a member at a time (2.4): it is downed once more, and is removed once. */
static void a_lease_is_given_back_after_one_that_was_downed_twice(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    run(scene, 21000);
    acquired(scene, true);
    assert_string_equal(scene->said, "?DE");
    scene->members[3].status = PEER_DOWN;
    scene->members[4].status = PEER_READY_FOR_SHUTDOWN;
    see(scene);
    run(scene, 21000);
    assert_string_equal(scene->said, "?DEE");
    scene->members[4].status = PEER_DOWN;
    see(scene);
    remove_last(scene);
    remove_last(scene);
    run(scene, 41000);
    assert_string_equal(scene->said, "?DEE!");
}

static void a_lease_that_is_refused(void **state) /* 097 */
{
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    run(scene, 21000);
    acquired(scene, false);
    assert_string_equal(scene->said, "?BCA");
    assert_int_equal(resolver_counters(scene->resolver)->reversed, 1);
}

/* The lease of who died with it is free after a while only. */
static void nobody_asks_for_a_lease_to_down_who_is_down(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    scene->members[3].status = scene->members[4].status = PEER_DOWN;
    see(scene);
    run(scene, 60000);
    assert_string_equal(scene->said, "");
    scene->members[3].status = PEER_UP;
    see(scene);
    run(scene, 21000);
    assert_string_equal(scene->said, "?");
}

/* It would be refused to the other side, for as long as it lasts. */
static void who_downs_all_asks_for_no_lease(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    run(scene, 15900);
    scene->members[2].reachable = false;
    see(scene);
    run(scene, 19000);
    assert_string_equal(scene->said, "");
    run(scene, 2000); /* at one tick it is stable, and was unstable for too long */
    assert_string_equal(scene->said, "BCDEA");
}

static void a_minority_waits(void **state) /* 061 */
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

static void a_pair_needs_the_lease(void **state) /* 098 */
{
    struct scene *scene = *state;

    by_lease(scene, "BC", "CB");
    run(scene, 21000);
    assert_string_equal(scene->said, "?");
    acquired(scene, true);
    assert_string_equal(scene->said, "?BC");
}

static void a_lease_still_held(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    scene->view.holds_lease = true;
    run(scene, 21000);
    assert_string_equal(scene->said, "DE");
}

/* What it was taken for first is over, and it would be given back soon: the other side must find it taken all the same. */
static void a_lease_still_held_is_kept_anew(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "A", "E");
    run(scene, 21000);
    acquired(scene, true);
    assert_string_equal(scene->said, "?E");
    remove_last(scene); /* from here on it is kept for 40 s */
    run(scene, 18500);
    scene->records[scene->view.side.record_count++] = (struct side_record){ 0, 3 };
    scene->members[3].reachable = false;
    see(scene);
    run(scene, 21000); /* decided half a second before it would be given back */
    assert_string_equal(scene->said, "?ED");
    scene->members[3].status = PEER_DOWN;
    see(scene);
    run(scene, 10000);
    remove_last(scene);
    run(scene, 39000);
    assert_string_equal(scene->said, "?ED");
    run(scene, 2000);
    assert_string_equal(scene->said, "?ED!");
}

/* Nobody is downed any more: it is not kept for ever because somebody who is down stays. */
static void a_lease_is_not_kept_for_who_is_down(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "A", "E");
    run(scene, 21000);
    acquired(scene, true);
    remove_last(scene);
    scene->members[3].status = PEER_DOWN; /* by somebody else */
    scene->members[3].reachable = false;
    see(scene);
    run(scene, 41000);
    assert_string_equal(scene->said, "?E!");
}

/* The answer to the first release may never come: the keeper was slow, and the new question took its place. */
static void a_lease_is_given_back_after_one_that_was_overtaken(void **state)
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

static void what_came_while_waiting_counts_after(void **state)
{
    struct scene *scene = *state;

    by_lease(scene, "A", "E");
    run(scene, 21000);
    record(scene, "A", "D"); /* not looked at */
    acquired(scene, true);
    assert_string_equal(scene->said, "?E");
    run(scene, 19000);
    assert_string_equal(scene->said, "?E");
    run(scene, 3000); /* the lease is held: it is not asked for again */
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

/* All lines that begin so, one behind the other; each is a warning, as the decision is. */
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

/* Where a log has warnings only, and more words than a line takes: nothing of it is left out. */
static void a_decision_of_many_is_explained(void **state)
{
    static struct side_member members[MANY];
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
    char word[200];

    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        struct node_id *node = &members[i].node;

        (void)snprintf(node->address.host, sizeof node->address.host,
                       "a-node-with-a-rather-long-name-%02u", (unsigned)i);
        node->address.port = 2550;
        node->uid = 1 + i;
        members[i].up_number = 1 + (int32_t)i;
        members[i].status = PEER_UP;
        members[i].has_role = i % 10 != 0;
        members[i].reachable = i < 40;
        records[i] = (struct side_record){ 0, 40 + i };
    }
    resolver = resolver_new(&members[0].node, &settings, trace, SECOND);
    resolver_see(resolver, SECOND, &view);
    resolver_see(resolver, 22 * SECOND, &view);
    resolver_step(resolver, 22 * SECOND);
    read_lines(trace, text, sizeof text);
    assert_non_null(strstr(text, "decision=down-unreachable strategy=static-quorum quorum=31 members=60 counted=54 unreachable=20 "));
    for (uint32_t i = 0; i < MANY; i++) {
        const char *address = members[i].node.address.host;

        (void)snprintf(word, sizeof word, "%.60s:2550/u%u%s%s,", address,
                       (unsigned)i + 1, i < 40 ? "" : "-unreachable",
                       i % 10 ? "" : "-norole");
        assert_int_equal(times(text, word), 1);
        (void)snprintf(word, sizeof word, "%.60s:2550>%.60s:2550,",
                       members[0].node.address.host, address);
        assert_int_equal(times(text, word), i >= 40);
        (void)snprintf(word, sizeof word, "%.60s:2550", address);
        assert_int_equal(times(text, word),
                         i == 0 ? 21 : i < 40 ? 1 : 3); /* downed, a member, observed */
    }
    resolver_free(resolver);
    trace_free(trace);
}

/* Whether it was granted is one of the inputs. */
static void what_became_of_the_lease_is_said(void **state)
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

static void that_a_lease_was_granted_is_said(void **state)
{
    static char text[4096];
    struct scene *scene = *state;

    by_lease(scene, "AA", "DE");
    run(scene, 21000);
    acquired(scene, true);
    read_lines(scene->trace, text, sizeof text);
    assert_non_null(strstr(text, " strategy=lease-majority lease=granted members=5 "));
}

static void that_nothing_was_stable_is_said(void **state)
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

static void that_it_goes_alone_is_said(void **state)
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
        TEST(downs_after_the_time),
        TEST(without_delay),
        TEST(only_the_leader),
        TEST(leadership_counts_at_the_end),
        TEST(not_before_it_is_up),
        TEST(healed_in_time),
        TEST(removed_in_time),
        TEST(already_down),
        TEST(a_change_starts_the_time_anew),
        TEST(who_leaves_does_not),
        TEST(who_comes_up_does),
        TEST(who_is_exiting_does),
        TEST(itself_last),
        TEST(indirectly_connected),
        TEST(exiting_are_left_alone),
        TEST(who_is_downed_meanwhile_begins_the_wait_anew),
        TEST(down_all_when_unstable),
        TEST(who_is_doubted_downs_itself_alone),
        TEST(who_is_doubted_and_goes_downs_nobody),
        TEST(a_doubt_that_is_over_is_forgotten),
        TEST(who_never_came_up_makes_nothing_unstable),
        TEST(not_when_that_is_off),
        TEST(what_healed_is_not_counted),
        TEST(too_many_is_said),
        TEST(a_lease_decides),
        TEST(a_lease_is_given_back_after_one_that_was_downed_twice),
        TEST(a_lease_that_is_refused),
        TEST(nobody_asks_for_a_lease_to_down_who_is_down),
        TEST(who_downs_all_asks_for_no_lease),
        TEST(a_minority_waits),
        TEST(a_pair_needs_the_lease),
        TEST(a_lease_still_held),
        TEST(a_lease_still_held_is_kept_anew),
        TEST(a_lease_is_not_kept_for_who_is_down),
        TEST(a_lease_is_given_back_after_one_that_was_overtaken),
        TEST(what_came_while_waiting_counts_after),
        TEST(a_decision_is_explained),
        cmocka_unit_test(a_decision_of_many_is_explained),
        TEST(that_nothing_was_stable_is_said),
        TEST(that_it_goes_alone_is_said),
        TEST(what_became_of_the_lease_is_said),
        TEST(that_a_lease_was_granted_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
