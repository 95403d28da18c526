/* How many rounds of gossip membership takes: cores alone in virtual time, without sockets, links or types, so that thousands fit into
 * one process. bench/scale --rounds runs it beside its limit (limits/gossip.c).
 *
 * usage: rounds NODES SEED PAUSE_MS [SLOW BLOCKED_MS RUNNING_MS MINUTES still|cut]
 *
 * Prints "name value" lines; PAUSE_MS is acceptable-heartbeat-pause, all else the reference's: gossip and heartbeats each second, so
 * that seconds are rounds. start: all start at once, the first three are the seeds; until each sees all up. crash_first, crash_all:
 * one stands still; until somebody takes it for unreachable, and until all do. change_first, change_all: one is told to leave, while
 * the leader does nothing; until somebody knows that all have seen it, and until all know that.
 *
 * With more arguments: so many nodes stand still again and again (slow.h), and nobody is downed. fine_told, slow_told: how often one took one of the
 * others, or of those, for unreachable; fine_failed: somebody did, after nobody did; fine_downed: of those, somebody for 20 s, so that a
 * resolver might down it. limits/swim.c says the same of SWIM. */
#include "limits/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/rng.h"
#include "base/timers.h"
#include "member/member.h"
#include "slow.h"

#define SEEDS 3
#define PORT 2551
#define NODES_MAX 5000 /* of one gossip */
#define WALL_MS UINT64_C(1700000000000)
#define WAY_MIN (50 * MS / 1000) /* of a message */
#define WAY_SPREAD MS
#define LOOK (20 * MS)
#define PATIENCE (200 * SECOND)
#define STILL_MS 60000 /* between two of the leader's looks where it shall do nothing */

enum kind { STEP, ARRIVAL };

struct place {
    struct cluster *cluster;
    struct identity identity;
    struct member *member;
    uint64_t *met; /* a bit for each node that it has spoken with */
    uint64_t due;  /* its step */
    uint32_t generation; /* of the timer for that */
    bool is_dead;
};

struct message {
    uint32_t from, to;
    int32_t serializer;
    struct buf bytes; /* sender, recipient, manifest, payload */
    size_t sizes[4];
};

struct cluster {
    struct rng rng;
    struct timers timers;
    struct place *places;
    struct outbox outbox;
    struct address seeds[SEEDS];
    uint64_t now;
    uint32_t count;
    uint32_t differed; /* who is asked first whether all agree */
    const struct slow *slow; /* null: nobody is */
    struct doubts doubts;
};

/* ---- messages ---- */

static uint32_t index_of(const struct node_id *node)
{
    return (uint32_t)node->address.port - PORT;
}

static void meet(struct place *place, uint32_t other)
{
    place->met[other / 64] |= UINT64_C(1) << other % 64;
}

/* As after a handshake. */
static enum peer_form form_of(const void *user, const struct node_id *node)
{
    const struct place *place = user;
    uint32_t other = index_of(node);

    return place->met[other / 64] >> other % 64 & 1 ? PEER_BRIEF
                                                    : PEER_UNKNOWN;
}

static uint64_t wall_ms(const struct cluster *cluster)
{
    return WALL_MS + cluster->now / MS;
}

static void send(struct cluster *cluster, uint32_t from,
                 const struct outbound *out)
{
    struct message *message = mem_alloc(sizeof *message);
    uint64_t leaves = cluster->slow
                          ? slow_until(cluster->slow, from, cluster->now)
                          : cluster->now;
    const struct slice parts[4] = { out->sender, out->recipient, out->manifest,
                                    out->payload };

    message->from = from;
    message->to = index_of(&out->to);
    message->serializer = out->serializer;
    for (uint32_t i = 0; i < 4; i++) {
        buf_put_slice(&message->bytes, parts[i]);
        message->sizes[i] = parts[i].size;
    }
    timers_put(&cluster->timers,
               leaves + WAY_MIN + rng_below(&cluster->rng, WAY_SPREAD),
               ARRIVAL, (uint64_t)(uintptr_t)message, 0);
}

static void free_message(struct message *message)
{
    buf_fini(&message->bytes);
    mem_free(message);
}

/* That somebody is missed is counted of slow clusters. */
static void heard(struct cluster *cluster, uint32_t by,
                  const struct member_news *news)
{
    if (!cluster->doubts.since)
        return;
    if (news->kind == MEMBER_NEWS_UNREACHABLE)
        doubt_begins(&cluster->doubts, by, index_of(&news->node), cluster->now);
    else if (news->kind == MEMBER_NEWS_REACHABLE)
        doubt_ends(&cluster->doubts, by, index_of(&news->node), cluster->now);
}

/* After each call of a core. */
static void settle(struct cluster *cluster, uint32_t index)
{
    struct place *place = &cluster->places[index];
    struct member_news news;
    struct outbound out;
    uint64_t due;

    while (member_next_news(place->member, &news))
        heard(cluster, index, &news);
    while (outbox_next(&cluster->outbox, &out))
        send(cluster, index, &out);
    due = member_deadline(place->member);
    if (due == place->due)
        return;
    place->due = due;
    place->generation++;
    if (due != NEVER)
        timers_put(&cluster->timers, due, STEP, index, place->generation);
}

static void step(struct cluster *cluster, const struct timer *timer)
{
    struct place *place = &cluster->places[timer->id];

    if (timer->generation != place->generation || place->is_dead)
        return;
    place->due = NEVER;
    member_step(place->member, cluster->now, wall_ms(cluster),
                &cluster->outbox);
    settle(cluster, (uint32_t)timer->id);
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
    if (!to->is_dead) {
        meet(to, message->from);
        meet(from, message->to);
        member_receive(to->member, cluster->now, wall_ms(cluster), &inbound,
                       &cluster->outbox);
        settle(cluster, message->to);
    }
    free_message(message);
}

/* ---- the cluster ---- */

static struct address address_at(uint32_t index)
{
    struct address address;

    check(address_set(&address, "10.0.0.1", 8, PORT + index));
    return address;
}

static void open_place(struct cluster *cluster, uint32_t index,
                       struct member_settings settings)
{
    struct place *place = &cluster->places[index];

    place->cluster = cluster;
    place->due = NEVER;
    place->met = mem_alloc((cluster->count / 64 + 1) * sizeof *place->met);
    place->identity = (struct identity){
        .protocol = "akka",
        .system = "Rounds",
        .node = { address_at(index), rng_next(&cluster->rng) | 1 },
    };
    settings.seeds = cluster->seeds;
    settings.seed_count = cluster->count < SEEDS ? cluster->count : SEEDS;
    settings.form_of = form_of;
    settings.user = place;
    place->member = member_new(&place->identity, &settings,
                               rng_next(&cluster->rng), NULL);
}

static struct cluster *cluster_new(uint32_t count, uint64_t seed,
                                   const struct member_settings *settings)
{
    struct cluster *cluster = mem_alloc(sizeof *cluster);

    rng_init(&cluster->rng, seed);
    cluster->now = SECOND;
    cluster->count = count;
    cluster->places = mem_alloc(count * sizeof *cluster->places);
    for (uint32_t i = 0; i < SEEDS; i++)
        cluster->seeds[i] = address_at(i);
    for (uint32_t i = 0; i < count; i++)
        open_place(cluster, i, *settings);
    for (uint32_t i = 0; i < count; i++) {
        member_start(cluster->places[i].member, cluster->now, wall_ms(cluster),
                     &cluster->outbox);
        settle(cluster, i);
    }
    return cluster;
}

static void cluster_free(struct cluster *cluster)
{
    struct timer timer;

    while (timers_take(&cluster->timers, NEVER, &timer))
        if (timer.kind == ARRIVAL)
            free_message((struct message *)(uintptr_t)timer.id);
    for (uint32_t i = 0; i < cluster->count; i++) {
        member_free(cluster->places[i].member);
        mem_free(cluster->places[i].met);
    }
    mem_free(cluster->places);
    timers_fini(&cluster->timers);
    outbox_fini(&cluster->outbox);
    mem_free(cluster);
}

/* It comes when the node goes on, behind what came before. */
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

/* ---- what is waited for ---- */

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

/* Seconds from `since` until it holds for one, or for all. */
static double wait_for(struct cluster *cluster, uint64_t since,
                       holds *condition, uint32_t about, bool all)
{
    uint64_t patience = cluster->now + PATIENCE;

    while (!(all ? holds_for_all : holds_for_one)(cluster, condition, about)) {
        if (cluster->now >= patience) {
            fprintf(stderr, "rounds: no agreement of %u nodes\n",
                    cluster->count);
            exit(1);
        }
        run(cluster, cluster->now + LOOK);
    }
    return (double)(cluster->now - since) / SECOND;
}

/* ---- what is measured ---- */

static void report(const char *name, double value)
{
    printf("%s %.3f\n", name, value);
    (void)fflush(stdout); /* a large one takes minutes */
}

/* At any time of a round. */
static void draw_time(struct cluster *cluster)
{
    run(cluster, cluster->now + 2 * SECOND + rng_below(&cluster->rng, SECOND));
}

static void start_and_crash(uint32_t count, uint64_t seed, uint32_t pause_ms)
{
    const struct member_settings settings = { .heartbeat_pause_ms = pause_ms };
    uint64_t cpu = bench_now(), since;
    struct cluster *cluster = cluster_new(count, seed, &settings);
    uint32_t dead = count - 1;

    report("start", wait_for(cluster, SECOND, sees_all_up, 0, true));
    report("start_cpu_s", (double)(bench_now() - cpu) / SECOND);
    report("start_rss_mib", (double)bench_rss() / (1024 * 1024));
    run(cluster, cluster->now + 20 * SECOND); /* intervals are known */
    draw_time(cluster);
    since = cluster->now;
    cluster->places[dead].is_dead = true;
    report("crash_first", wait_for(cluster, since, misses, dead, false));
    report("crash_all", wait_for(cluster, since, misses, dead, true));
    cluster_free(cluster);
}

/* The leader moves all to up at its second look; the third is far. */
static void change(uint32_t count, uint64_t seed)
{
    const struct member_settings settings = { .leader_interval_ms = STILL_MS };
    struct cluster *cluster = cluster_new(count, seed, &settings);
    uint32_t leaves = count - 1;
    struct address address = address_at(leaves);
    uint64_t since;

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

static void be_slow(uint32_t count, uint64_t seed, uint32_t pause_ms,
                    const struct slow *slow, uint64_t length)
{
    const struct member_settings settings = { .heartbeat_pause_ms = pause_ms };
    struct cluster *cluster = cluster_new(count, seed, &settings);

    (void)wait_for(cluster, SECOND, sees_all_up, 0, true);
    run(cluster, cluster->now + 20 * SECOND);
    cluster->slow = slow;
    doubts_open(&cluster->doubts, slow);
    run(cluster, cluster->now + length);
    doubts_end(&cluster->doubts, cluster->now);
    doubts_print(&cluster->doubts);
    doubts_close(&cluster->doubts);
    cluster->doubts.since = NULL;
    cluster_free(cluster);
}

int main(int argc, char **argv)
{
    unsigned long count = argc == 4 || argc == 9 ? strtoul(argv[1], NULL, 10) : 0;
    int help = argc > 1 && !strcmp(argv[1], "--help");
    uint64_t length;
    struct slow slow;

    if (count <= SEEDS || count > NODES_MAX ||
        (argc == 9 && !slow_read(&slow, (uint32_t)count, argv + 4, &length))) {
        fprintf(help ? stdout : stderr,
                "usage: rounds NODES SEED PAUSE_MS [" SLOW_USAGE "]\n");
        return help ? 0 : 2;
    }
    if (argc == 9) {
        be_slow((uint32_t)count, strtoull(argv[2], NULL, 10),
                (uint32_t)strtoul(argv[3], NULL, 10), &slow, length);
        return 0;
    }
    start_and_crash((uint32_t)count, strtoull(argv[2], NULL, 10),
                    (uint32_t)strtoul(argv[3], NULL, 10));
    change((uint32_t)count, strtoull(argv[2], NULL, 10));
    return 0;
}
