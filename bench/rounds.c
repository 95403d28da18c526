/* Measures how many rounds of gossip membership needs. The membership cores run alone in virtual
 * time, without sockets and entity types, so that thousands fit into one process. bench/scale
 * --rounds runs it beside its limit (limits/gossip.c).
 *
 * usage: rounds NODES SEED PAUSE_MS [SLOW BLOCKED_MS RUNNING_MS MINUTES still|cut
 *                                    [down|patient [lowest]]]
 *
 * PAUSE_MS is acceptable-heartbeat-pause. All other settings are Akka's defaults: gossip and
 * heartbeats every second, so that seconds are rounds. Prints "name value" lines, in seconds:
 *
 *   start         all nodes start at once, with three seed nodes; until each sees all up
 *   crash_first   one node stops; until one node sees it as unreachable
 *   crash_all     the same; until all nodes do
 *   change_first  one node is told to leave, and the leader does nothing; until one node knows that
 *                 all have seen this
 *   change_all    the same; until all nodes know it
 *
 * With more arguments, SLOW nodes are blocked again and again (slow.h), and no node is downed.
 * Names begin with slow_ for these nodes and with fine_ for the others:
 *
 *   fine_told     times that one node saw one as unreachable
 *   fine_failed   times that at least one node saw one as unreachable
 *   fine_downed   such times in which one node did so for 20 s, so that a resolver may down it
 *
 * limits/swim.c prints the same for SWIM.
 *
 * down: each node has a split brain resolver (judge.h). patient: the same, with
 * down-all-when-unstable off. lowest: the slow nodes have the lowest addresses, so that one of them
 * is the leader. A node that learns that it is down or removed ends, and starts at once with a new
 * uid, as a node in SWIM refutes its death:
 *
 *   fine_ended      incarnations that ended
 *   fine_by_slow... such ends that the resolver of a slow node (fine node, the node itself, none)
 *                   decided first
 *   fine_decisions  times that such a node downed others
 *   fine_unstable   such times by down-all-when-unstable */
#include "limits/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/map.h"
#include "base/rng.h"
#include "base/timers.h"
#include "judge.h"
#include "member/member.h"
#include "slow.h"

#define SEEDS 3
#define PORT 2551
#define NODES_MAX 5000 /* members in one gossip */
#define WALL_MS UINT64_C(1700000000000)
#define WAY_MIN (50 * MS / 1000) /* shortest time of a message underway */
#define WAY_SPREAD MS
#define LOOK (20 * MS)
#define PATIENCE (200 * SECOND)
#define NO_SERIALIZER (-1)
#define STILL_MS 60000 /* leader-actions-interval in which the leader does nothing */

enum kind { STEP, ARRIVAL };

/* The kind of node that decided on the end of an incarnation: an index of counts. */
enum judges { BY_FINE, BY_SLOW, BY_ITSELF, BY_NOBODY, JUDGES };

struct place {
    struct cluster *cluster;
    struct identity identity;
    struct member *member;
    uint64_t *met; /* a bit for each node with which it exchanged messages */
    uint64_t due;  /* time of its next step */
    uint32_t generation; /* generation of the timer for this step */
    bool is_dead;
    struct judge judge; /* its resolver, if nodes have one */
    enum judges decided; /* the node that first downed it */
    struct map removed; /* uid of a downed incarnation -> place */
    uint64_t told_at; /* time of its last notice to a removed node */
};

struct message {
    uint32_t from, to; /* indexes of places */
    uint64_t from_uid;
    uint64_t to_uid; /* 0: any incarnation */
    int32_t serializer; /* NO_SERIALIZER: a notice that the recipient was removed */
    struct buf bytes; /* sender, recipient, manifest, payload */
    size_t sizes[4];
};

/* Counts of runs with resolvers. Index 1 is for slow nodes, 0 for the others. */
struct ends {
    uint64_t by[2][JUDGES]; /* incarnations that ended, by the node that decided */
    uint64_t decisions[2];  /* decisions of these nodes to down others */
    uint64_t unstable[2];   /* such decisions by down-all-when-unstable */
};

struct cluster {
    struct rng rng;
    struct timers timers;
    struct place *places;
    struct outbox outbox;
    struct address seeds[SEEDS];
    uint64_t now;
    uint32_t count;
    uint32_t differed; /* the node that is checked first for agreement */
    const struct slow *slow; /* null: no node is slow */
    struct doubts doubts;
    struct member_settings settings;
    bool has_judges, is_patient;
    bool is_reversed; /* whether the last place has the lowest address */
    struct ends ends;
};

/* ---- messages ---- */

/* Converts the index of a place to the offset of its port, and back. */
static uint32_t turned(const struct cluster *cluster, uint32_t index)
{
    return cluster->is_reversed ? cluster->count - 1 - index : index;
}

static uint32_t index_of(const struct cluster *cluster,
                         const struct node_id *node)
{
    return turned(cluster, (uint32_t)node->address.port - PORT);
}

static bool is_slow(const struct cluster *cluster, uint32_t index)
{
    return cluster->slow && slow_is(cluster->slow, index);
}

static void meet(struct place *place, uint32_t other)
{
    place->met[other / 64] |= UINT64_C(1) << other % 64;
}

/* Returns the form of messages to a peer, as after a handshake. */
static enum peer_form form_of(const void *user, const struct node_id *node)
{
    const struct place *place = user;
    uint32_t other = index_of(place->cluster, node);

    return place->met[other / 64] >> other % 64 & 1 ? PEER_GOSSIP_DIGEST
                                                    : PEER_UNKNOWN;
}

static uint64_t wall_ms(const struct cluster *cluster)
{
    return WALL_MS + cluster->now / MS;
}

static void post(struct cluster *cluster, struct message *message)
{
    uint64_t leaves = cluster->slow ? slow_until(cluster->slow, message->from,
                                                 cluster->now)
                                    : cluster->now;

    message->from_uid = cluster->places[message->from].identity.node.uid;
    timers_put(&cluster->timers,
               leaves + WAY_MIN + rng_below(&cluster->rng, WAY_SPREAD),
               ARRIVAL, (uint64_t)(uintptr_t)message, 0);
}

static void send(struct cluster *cluster, uint32_t from,
                 const struct outbound *out)
{
    struct message *message = mem_alloc(sizeof *message);
    const struct slice parts[4] = { out->sender, out->recipient, out->manifest,
                                    out->payload };

    message->from = from;
    message->to = index_of(cluster, &out->to);
    message->to_uid = out->to.uid;
    message->serializer = out->serializer;
    for (uint32_t i = 0; i < 4; i++) {
        buf_put_slice(&message->bytes, parts[i]);
        message->sizes[i] = parts[i].size;
    }
    post(cluster, message);
}

static void free_message(struct message *message)
{
    buf_fini(&message->bytes);
    mem_free(message);
}

/* Handles a member's news. Counts suspicions if there are slow nodes. */
static void heard(struct cluster *cluster, uint32_t by,
                  const struct member_news *news)
{
    uint32_t about = index_of(cluster, &news->node);

    if (news->kind == MEMBER_NEWS_REMOVED && news->previous == MEMBER_DOWN)
        (void)map_put(&cluster->places[by].removed,
                      map_u64(&news->node.uid), &cluster->places[about]);
    if (!cluster->doubts.since)
        return;
    if (news->kind == MEMBER_NEWS_UNREACHABLE)
        doubt_begins(&cluster->doubts, by, about, cluster->now);
    else if (news->kind == MEMBER_NEWS_REACHABLE ||
             news->kind == MEMBER_NEWS_REMOVED)
        doubt_ends(&cluster->doubts, by, about, cluster->now);
}

static void open_place(struct cluster *cluster, uint32_t index);
static void close_place(struct cluster *cluster, uint32_t index);
static void settle(struct cluster *cluster, uint32_t index);

/* Ends a downed node and starts a new incarnation at once. */
static void start_again(struct cluster *cluster, uint32_t index)
{
    struct place *place = &cluster->places[index];

    cluster->ends.by[is_slow(cluster, index)][place->decided]++;
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (cluster->doubts.since)
            doubt_ends(&cluster->doubts, index, i, cluster->now);
        cluster->places[i].met[index / 64] &= ~(UINT64_C(1) << index % 64);
    }
    close_place(cluster, index);
    open_place(cluster, index);
    member_start(place->member, cluster->now, wall_ms(cluster),
                 &cluster->outbox);
    settle(cluster, index);
}

static uint64_t deadline(const struct place *place)
{
    uint64_t due = member_deadline(place->member);
    uint64_t judged = NEVER;

    if (place->cluster->has_judges)
        judged = judge_deadline(&place->judge, place->member);
    return judged < due ? judged : due;
}

/* Collects the news, messages and deadline of a core. Runs after each call of it. */
static void settle(struct cluster *cluster, uint32_t index)
{
    struct place *place = &cluster->places[index];
    struct member_news news;
    struct outbound out;
    bool is_told = false;
    uint64_t due;

    while (member_next_news(place->member, &news)) {
        heard(cluster, index, &news);
        is_told = true;
    }
    if (is_told && cluster->has_judges)
        judge_see(&place->judge, place->member, cluster->now);
    while (outbox_next(&cluster->outbox, &out))
        send(cluster, index, &out);
    if (member_is_stopped(place->member) && cluster->has_judges) {
        start_again(cluster, index);
        return;
    }
    due = deadline(place);
    if (due == place->due)
        return;
    place->due = due;
    place->generation++;
    if (due != NEVER)
        timers_put(&cluster->timers, due, STEP, index, place->generation);
}

/* Counts a decision. For each incarnation, the first decision counts. */
static void decided(struct cluster *cluster, uint32_t by,
                    const struct judgement *judgement)
{
    bool by_slow = is_slow(cluster, by);

    cluster->ends.decisions[by_slow]++;
    cluster->ends.unstable[by_slow] += judgement->is_unstable;
    for (uint32_t i = 0; i < judgement->downed.count; i++) {
        const struct node_id *node = &judgement->downed.items[i];
        uint32_t index = index_of(cluster, node);
        struct place *place = &cluster->places[index];

        if (place->identity.node.uid == node->uid &&
            place->decided == BY_NOBODY)
            place->decided = index == by ? BY_ITSELF
                             : by_slow   ? BY_SLOW
                                         : BY_FINE;
    }
}

static void step_judge(struct cluster *cluster, uint32_t index)
{
    struct place *place = &cluster->places[index];
    struct judgement judgement = { .is_unstable = false };

    if (judge_step(&place->judge, place->member, cluster->now,
                   &cluster->outbox, &judgement))
        decided(cluster, index, &judgement);
    vec_fini(&judgement.downed);
}

static void step(struct cluster *cluster, const struct timer *timer)
{
    struct place *place = &cluster->places[timer->id];

    if (timer->generation != place->generation || place->is_dead)
        return;
    place->due = NEVER;
    member_step(place->member, cluster->now, wall_ms(cluster),
                &cluster->outbox);
    if (cluster->has_judges)
        step_judge(cluster, (uint32_t)timer->id);
    settle(cluster, (uint32_t)timer->id);
}

/* Sends a notice to a removed node that still sends, as node/control/removed_notice.c does. */
static void tell_removed(struct cluster *cluster, struct place *by,
                         const struct message *of)
{
    struct message *message;

    if (cluster->now < by->told_at + SECOND || of->serializer == NO_SERIALIZER)
        return;
    by->told_at = cluster->now;
    message = mem_alloc(sizeof *message);
    message->from = of->to;
    message->to = of->from;
    message->to_uid = of->from_uid;
    message->serializer = NO_SERIALIZER;
    post(cluster, message);
}

/* Returns whether a message is to or from an incarnation that has ended or was removed. Connections
 * belong to an incarnation. */
static bool is_late(struct cluster *cluster, const struct message *message)
{
    struct place *to = &cluster->places[message->to];
    const struct place *from = &cluster->places[message->from];

    if (to->is_dead || message->from_uid != from->identity.node.uid ||
        (message->to_uid && message->to_uid != to->identity.node.uid))
        return true;
    if (!map_get(&to->removed, map_u64(&message->from_uid)))
        return false;
    tell_removed(cluster, to, message);
    return true;
}

static void arrive(struct cluster *cluster, struct message *message)
{
    struct place *to = &cluster->places[message->to];
    struct place *from = &cluster->places[message->from];
    const uint8_t *at = message->bytes.data;
    struct inbound inbound = {
        .from = from->identity.node,
        .serializer = message->serializer,
    };

    inbound.sender = slice_of(at, message->sizes[0]);
    inbound.recipient = slice_of(at += message->sizes[0], message->sizes[1]);
    inbound.manifest = slice_of(at += message->sizes[1], message->sizes[2]);
    inbound.payload = slice_of(at += message->sizes[2], message->sizes[3]);
    if (is_late(cluster, message)) {
        free_message(message);
        return;
    }
    meet(to, message->from);
    meet(from, message->to);
    if (message->serializer == NO_SERIALIZER)
        member_refused(to->member, cluster->now, &from->identity.node);
    else
        member_receive(to->member, cluster->now, wall_ms(cluster), &inbound,
                       &cluster->outbox);
    settle(cluster, message->to);
    free_message(message);
}

/* ---- the cluster ---- */

static struct address address_at(const struct cluster *cluster, uint32_t index)
{
    struct address address;

    check(address_set(&address, "10.0.0.1", 8,
                      (uint16_t)(PORT + turned(cluster, index))));
    return address;
}

static void open_place(struct cluster *cluster, uint32_t index)
{
    struct place *place = &cluster->places[index];
    struct member_settings settings = cluster->settings;

    place->cluster = cluster;
    place->due = NEVER;
    place->generation++;
    place->decided = BY_NOBODY;
    place->met = mem_alloc((cluster->count / 64 + 1) * sizeof *place->met);
    place->identity = (struct identity){
        .protocol = "akka",
        .system = "Rounds",
        .node = { address_at(cluster, index), rng_next(&cluster->rng) | 1 },
    };
    settings.seeds = cluster->seeds;
    settings.seed_count = cluster->count < SEEDS ? cluster->count : SEEDS;
    settings.form_of = form_of;
    settings.user = place;
    place->member = member_new(&place->identity, &settings,
                               rng_next(&cluster->rng), NULL);
    if (cluster->has_judges)
        judge_open(&place->judge, &place->identity.node, cluster->is_patient,
                   cluster->now);
}

static void close_place(struct cluster *cluster, uint32_t index)
{
    struct place *place = &cluster->places[index];

    member_free(place->member);
    judge_close(&place->judge);
    map_fini(&place->removed);
    mem_free(place->met);
}

static struct cluster *cluster_new(uint32_t count, uint64_t seed)
{
    struct cluster *cluster = mem_alloc(sizeof *cluster);

    rng_init(&cluster->rng, seed);
    cluster->now = SECOND;
    cluster->count = count;
    cluster->places = mem_alloc(count * sizeof *cluster->places);
    return cluster;
}

static void cluster_start(struct cluster *cluster)
{
    for (uint32_t i = 0; i < SEEDS; i++)
        cluster->seeds[i] = address_at(cluster, i);
    for (uint32_t i = 0; i < cluster->count; i++)
        open_place(cluster, i);
    for (uint32_t i = 0; i < cluster->count; i++) {
        member_start(cluster->places[i].member, cluster->now, wall_ms(cluster),
                     &cluster->outbox);
        settle(cluster, i);
    }
}

static void cluster_free(struct cluster *cluster)
{
    struct timer timer;

    while (timers_take(&cluster->timers, NEVER, &timer))
        if (timer.kind == ARRIVAL)
            free_message((struct message *)(uintptr_t)timer.id);
    for (uint32_t i = 0; i < cluster->count; i++)
        close_place(cluster, i);
    mem_free(cluster->places);
    timers_fini(&cluster->timers);
    outbox_fini(&cluster->outbox);
    mem_free(cluster);
}

/* Delays an event of a blocked node until the node runs again. The order of events stays. */
static bool is_held(struct cluster *cluster, const struct timer *timer)
{
    uint32_t node = timer->kind == STEP
                        ? (uint32_t)timer->id
                        : ((struct message *)(uintptr_t)timer->id)->to;
    uint64_t until;

    if (!cluster->slow || (cluster->slow->is_cut && timer->kind == STEP))
        return false;
    until = slow_until(cluster->slow, node, cluster->now);
    if (until > cluster->now)
        timers_put(&cluster->timers, until, timer->kind, timer->id,
                   timer->generation);
    return until > cluster->now;
}

static void run(struct cluster *cluster, uint64_t end)
{
    struct timer timer;

    while (timers_take(&cluster->timers, end, &timer)) {
        cluster->now = timer.at > cluster->now ? timer.at : cluster->now;
        if (is_held(cluster, &timer))
            continue;
        if (timer.kind == ARRIVAL)
            arrive(cluster, (struct message *)(uintptr_t)timer.id);
        else
            step(cluster, &timer);
    }
    cluster->now = end;
}

/* ---- conditions ---- */

typedef bool holds(struct cluster *cluster, const struct member *member,
                   uint32_t about);

static bool sees_all_up(struct cluster *cluster, const struct member *member,
                        uint32_t about)
{
    (void)about;
    if (member_count(member) != cluster->count)
        return false;
    for (uint32_t i = 0; i < cluster->count; i++)
        if (member_at(member, i)->status != MEMBER_UP)
            return false;
    return true;
}

static const struct member_view *view_of(struct cluster *cluster,
                                         const struct member *member,
                                         uint32_t about)
{
    return member_find(member, &cluster->places[about].identity.node);
}

static bool misses(struct cluster *cluster, const struct member *member,
                   uint32_t about)
{
    const struct member_view *view = view_of(cluster, member, about);

    return !view || !view->reachable;
}

static bool knows_all_saw(struct cluster *cluster, const struct member *member,
                          uint32_t about)
{
    const struct member_view *view = view_of(cluster, member, about);

    return view && view->status == MEMBER_LEAVING &&
           member_is_converged(member);
}

static bool holds_for_one(struct cluster *cluster, holds *condition,
                          uint32_t about)
{
    for (uint32_t i = 0; i < cluster->count; i++)
        if (!cluster->places[i].is_dead &&
            condition(cluster, cluster->places[i].member, about))
            return true;
    return false;
}

static bool holds_for_all(struct cluster *cluster, holds *condition,
                          uint32_t about)
{
    for (uint32_t k = 0; k < cluster->count; k++) {
        uint32_t i = (cluster->differed + k) % cluster->count;

        if (cluster->places[i].is_dead ||
            condition(cluster, cluster->places[i].member, about))
            continue;
        cluster->differed = i;
        return false;
    }
    return true;
}

/* Runs until the condition holds for one node, or for all. Returns the seconds since `since`. */
static double wait_for(struct cluster *cluster, uint64_t since,
                       holds *condition, uint32_t about, bool all)
{
    uint64_t patience = cluster->now + PATIENCE;

    while (!(all ? holds_for_all : holds_for_one)(cluster, condition, about)) {
        if (cluster->now >= patience) {
            fprintf(stderr, "rounds: %u nodes did not agree in time\n",
                    cluster->count);
            exit(1);
        }
        run(cluster, cluster->now + LOOK);
    }
    return (double)(cluster->now - since) / SECOND;
}

/* ---- measurements ---- */

static void report(const char *name, double value)
{
    printf("%s %.3f\n", name, value);
    (void)fflush(stdout); /* a large cluster takes minutes */
}

/* Runs to a random time of a round. */
static void draw_time(struct cluster *cluster)
{
    run(cluster, cluster->now + 2 * SECOND + rng_below(&cluster->rng, SECOND));
}

static void start_and_crash(uint32_t count, uint64_t seed, uint32_t pause_ms)
{
    uint64_t cpu = bench_now(), since;
    struct cluster *cluster = cluster_new(count, seed);
    uint32_t dead = count - 1;

    cluster->settings.heartbeat_pause_ms = pause_ms;
    cluster_start(cluster);
    report("start", wait_for(cluster, SECOND, sees_all_up, 0, true));
    report("start_cpu_s", (double)(bench_now() - cpu) / SECOND);
    report("start_rss_mib", (double)bench_rss() / (1024 * 1024));
    run(cluster, cluster->now + 20 * SECOND); /* the detectors learn the intervals */
    draw_time(cluster);
    since = cluster->now;
    cluster->places[dead].is_dead = true;
    report("crash_first", wait_for(cluster, since, misses, dead, false));
    report("crash_all", wait_for(cluster, since, misses, dead, true));
    cluster_free(cluster);
}

/* Measures a change while the leader does nothing: it moves all nodes to up at its second action,
 * and the third is far away. */
static void change(uint32_t count, uint64_t seed)
{
    struct cluster *cluster = cluster_new(count, seed);
    uint32_t leaves = count - 1;
    struct address address = address_at(cluster, leaves);
    uint64_t since;

    cluster->settings.leader_interval_ms = STILL_MS;
    cluster_start(cluster);
    (void)wait_for(cluster, SECOND, sees_all_up, 0, true);
    draw_time(cluster);
    since = cluster->now;
    check(member_leave(cluster->places[count / 2].member, since, &address,
                       &cluster->outbox));
    settle(cluster, count / 2);
    report("change_first",
           wait_for(cluster, since, knows_all_saw, leaves, false));
    report("change_all", wait_for(cluster, since, knows_all_saw, leaves, true));
    cluster_free(cluster);
}

static void report_ends(const struct ends *ends)
{
    static const char *const by[JUDGES] = { "fine", "slow", "itself",
                                            "nobody" };

    for (int i = 0; i < 2; i++) {
        const char *name = i ? "slow" : "fine";
        uint64_t ended = 0;

        for (int k = 0; k < JUDGES; k++)
            ended += ends->by[i][k];
        printf("%s_ended %llu\n", name, (unsigned long long)ended);
        for (int k = 0; k < JUDGES; k++)
            printf("%s_by_%s %llu\n", name, by[k],
                   (unsigned long long)ends->by[i][k]);
        printf("%s_decisions %llu\n%s_unstable %llu\n", name,
               (unsigned long long)ends->decisions[i], name,
               (unsigned long long)ends->unstable[i]);
    }
}

static void be_slow(struct cluster *cluster, const struct slow *slow,
                    uint64_t length)
{
    cluster_start(cluster);
    (void)wait_for(cluster, SECOND, sees_all_up, 0, true);
    run(cluster, cluster->now + 20 * SECOND);
    cluster->slow = slow;
    doubts_open(&cluster->doubts, slow);
    run(cluster, cluster->now + length);
    doubts_end(&cluster->doubts, cluster->now);
    doubts_print(&cluster->doubts);
    doubts_close(&cluster->doubts);
    cluster->doubts.since = NULL;
    if (cluster->has_judges)
        report_ends(&cluster->ends);
}

/* Reads the arguments about resolvers and addresses. Returns false if a word is wrong. */
static bool read_how(struct cluster *cluster, int count, char **words)
{
    cluster->has_judges = count > 0;
    cluster->is_patient = count > 0 && strcmp(words[0], "patient") == 0;
    cluster->is_reversed = count > 1;
    return (count < 1 || cluster->is_patient || !strcmp(words[0], "down")) &&
           (count < 2 || !strcmp(words[1], "lowest"));
}

static bool slow_cluster(uint32_t count, int argc, char **argv)
{
    struct cluster *cluster;
    struct slow slow;
    uint64_t length;
    bool good;

    if (!slow_read(&slow, count, argv + 4, &length))
        return false;
    cluster = cluster_new(count, strtoull(argv[2], NULL, 10));
    cluster->settings.heartbeat_pause_ms = (uint32_t)strtoul(argv[3], NULL, 10);
    good = read_how(cluster, argc - 9, argv + 9);
    if (good)
        be_slow(cluster, &slow, length);
    cluster_free(cluster);
    return good;
}

int main(int argc, char **argv)
{
    bool is_right = argc == 4 || (argc >= 9 && argc <= 11);
    unsigned long count = is_right ? strtoul(argv[1], NULL, 10) : 0;
    int help = argc > 1 && !strcmp(argv[1], "--help");

    if (count <= SEEDS || count > NODES_MAX ||
        (argc > 4 && !slow_cluster((uint32_t)count, argc, argv))) {
        fprintf(help ? stdout : stderr,
                "usage: rounds NODES SEED PAUSE_MS [" SLOW_USAGE
                " [down|patient [lowest]]]\n");
        return help ? 0 : 2;
    }
    if (argc > 4)
        return 0;
    start_and_crash((uint32_t)count, strtoull(argv[2], NULL, 10),
                    (uint32_t)strtoul(argv[3], NULL, 10));
    change((uint32_t)count, strtoull(argv[2], NULL, 10));
    return 0;
}
