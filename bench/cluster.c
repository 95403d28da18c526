/* Measures whole nodes through the public interface: rows 2, 3 (two lanes), 9 to 12, 22 and 23. One
 * run makes one measurement of one row.
 *
 * usage: cluster ROW [ARGUMENTS]     prints "name value" lines; see `rows` below
 *
 * An actor measures. The entities count messages, and answer on request. If a row needs two nodes,
 * the other node is in a second process: it owns all shards, and this node is a proxy. Each node
 * has one lane, this process runs on processor 1 and the other on processor 0, unless a row says
 * otherwise. The number of messages underway is limited. bench/run runs this program, the limit
 * programs and the peers in turns. */
#define _GNU_SOURCE
#include "systems.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BODY_SIZE 100
#define SAMPLES_MAX 1000000

static const struct sherd_bytes nothing;
static const uint8_t body_bytes[BODY_SIZE] = {1};
static const struct sherd_bytes body = {body_bytes, BODY_SIZE};

/* The task of the row's actor, and its results. */
static struct {
    uint32_t entities;
    uint32_t window;
    uint64_t messages;
    double rate;     /* million messages in a second */
    double cpu_rate; /* the same by this process's processor time */
    double writes;   /* writes for each message */
    double micros[SAMPLES_MAX];
    uint32_t sample_count;
} work;

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return a < b ? -1 : a > b;
}

static double percentile(double part)
{
    qsort(work.micros, work.sample_count, sizeof work.micros[0], compare);
    return work.micros[(uint32_t)(part * (work.sample_count - 1))];
}

/* ---- rows 10 and 11: tells to entities; the window underway has two halves ---- */

struct producer {
    int warm; /* 2: the entities run, and the measurement begins */
    uint64_t sent;
    uint64_t wanted;
    uint32_t credit; /* halves that may be sent */
    uint64_t random;
    uint64_t began_at, cpu_began_at, writes_before;
};

static void send_half(struct sherd_ctx *ctx, struct producer *producer)
{
    uint32_t half = work.window / 2;
    char id[32];

    producer->credit--;
    for (uint32_t i = 0; i < half; i++) {
        uint64_t number = producer->warm ? bench_random_next(&producer->random) >> 11
                                         : producer->sent;

        bench_id_put(id, 1 + (uint32_t)(number % work.entities));
        sherd_entity_tell(ctx, "User", id, i + 1 == half ? ANSWER : COUNT,
                          body);
        producer->sent++;
    }
}

static void begin_telling(struct sherd_ctx *ctx, struct producer *producer)
{
    producer->sent = 0;
    producer->credit = 2;
    producer->writes_before = bench_socket_writes();
    producer->cpu_began_at = bench_cpu_ns();
    producer->began_at = bench_now_ns();
    while (producer->credit && producer->sent < producer->wanted)
        send_half(ctx, producer);
}

static enum sherd_next on_producer(struct sherd_ctx *ctx, void *self,
                                   const struct sherd_msg *msg)
{
    struct producer *producer = self;

    if (msg->kind == SHERD_STARTED) {
        producer->random = 88172645463325252u;
        producer->wanted = work.entities;
        begin_telling(ctx, producer);
        return SHERD_CONTINUE;
    }
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    producer->credit++;
    if (producer->sent < producer->wanted) {
        send_half(ctx, producer);
        return SHERD_CONTINUE;
    }
    if (producer->credit < 2)
        return SHERD_CONTINUE;
    if (producer->warm < 2) { /* the first tenth is not measured */
        producer->wanted = producer->warm ? work.messages : work.messages / 10;
        producer->warm++;
        begin_telling(ctx, producer);
        return SHERD_CONTINUE;
    }
    work.rate =
        (double)producer->sent / (double)(bench_now_ns() - producer->began_at) * 1e3;
    work.cpu_rate = (double)producer->sent /
                    (double)(bench_cpu_ns() - producer->cpu_began_at) * 1e3;
    work.writes =
        (double)(bench_socket_writes() - producer->writes_before) / (double)producer->sent;
    bench_finish();
    return SHERD_STOP;
}

static void row_tell_here(char **arguments)
{
    struct sherd_system *system;

    work.entities = (uint32_t)atoi(arguments[0]);
    work.window = (uint32_t)atoi(arguments[1]);
    work.messages = (uint64_t)atoll(arguments[2]);
    bench_pin(0, 0);
    system = bench_open_node(0, 1, NULL, 0, 100);
    bench_wait_members(system, 1);
    bench_run_actor(system, "producer", sizeof(struct producer), on_producer);
    printf("rate %.4f\n", work.rate);
    printf("cpu_rate %.4f\n", work.cpu_rate);
    printf("undelivered %llu\n", (unsigned long long)bench_undelivered(system));
    sherd_close(system);
}

static void row_tell_there(char **arguments)
{
    struct other other = bench_start_other(0, 1, NULL, 100);
    struct sherd_system *system;

    work.entities = (uint32_t)atoi(arguments[0]);
    work.window = (uint32_t)atoi(arguments[1]);
    work.messages = (uint64_t)atoll(arguments[2]);
    bench_pin(1, 1);
    system = bench_open_node(bench_port_of(&other), 1, NULL, 1, 100);
    bench_wait_members(system, 2);
    bench_run_actor(system, "producer", sizeof(struct producer), on_producer);
    printf("rate %.4f\n", work.rate);
    printf("messages_a_write %.1f\n", 1 / work.writes);
    printf("undelivered %llu\n", (unsigned long long)bench_undelivered(system));
    sherd_close(system);
    /* This includes the receiver's start, which is little compared with many messages. */
    printf("receiver_ns %.1f\n",
           bench_end_other(&other) / (double)(work.messages + work.messages / 10));
}

/* ---- row 9: the first message to each of many entities, and its answer ---- */

struct starter {
    uint64_t sent;
    uint64_t answered;
    uint64_t began_at, cpu_began_at;
};

static void start_next(struct sherd_ctx *ctx, struct starter *starter)
{
    char id[32];

    bench_id_put(id, 1 + (uint32_t)starter->sent++);
    sherd_entity_tell(ctx, "User", id, ANSWER, nothing);
}

static enum sherd_next on_starter(struct sherd_ctx *ctx, void *self,
                                  const struct sherd_msg *msg)
{
    struct starter *starter = self;

    if (msg->kind == SHERD_STARTED) {
        starter->began_at = bench_now_ns();
        starter->cpu_began_at = bench_cpu_ns();
        for (uint32_t i = 0; i < work.window; i++)
            start_next(ctx, starter);
        return SHERD_CONTINUE;
    }
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    starter->answered++;
    if (starter->answered == 2000) { /* all shards are allocated */
        starter->began_at = bench_now_ns();
        starter->cpu_began_at = bench_cpu_ns();
    }
    if (starter->sent < work.entities)
        start_next(ctx, starter);
    if (starter->answered < work.entities)
        return SHERD_CONTINUE;
    work.rate =
        (work.entities - 2000) / (double)(bench_now_ns() - starter->began_at) * 1e3;
    work.cpu_rate = (work.entities - 2000) /
                    (double)(bench_cpu_ns() - starter->cpu_began_at) * 1e3;
    bench_finish();
    return SHERD_STOP;
}

static void row_start_here(char **arguments)
{
    struct sherd_system *system;

    work.entities = (uint32_t)atoi(arguments[0]);
    work.window = 1000;
    bench_pin(0, 0);
    system = bench_open_node(0, 1, NULL, 0, 100);
    bench_wait_members(system, 1);
    bench_run_actor(system, "starter", sizeof(struct starter), on_starter);
    printf("rate %.4f\n", work.rate);
    printf("cpu_rate %.4f\n", work.cpu_rate);
    sherd_close(system);
}

static void row_start_there(char **arguments)
{
    struct other other = bench_start_other(0, 1, NULL, 100);
    struct sherd_system *system;

    work.entities = (uint32_t)atoi(arguments[0]);
    work.window = 1000;
    bench_pin(1, 1);
    system = bench_open_node(bench_port_of(&other), 1, NULL, 1, 100);
    bench_wait_members(system, 2);
    bench_run_actor(system, "starter", sizeof(struct starter), on_starter);
    printf("rate %.4f\n", work.rate);
    sherd_close(system);
    (void)bench_end_other(&other);
}

/* ---- row 12: asks over the network, one at a time; row 22: the first ask of each shard ---- */

struct asker {
    uint32_t asked;
    uint64_t asked_at;
};

static void ask_next(struct sherd_ctx *ctx, struct asker *asker)
{
    char id[32];

    bench_id_put(id, 1 + asker->asked % work.entities);
    asker->asked++;
    asker->asked_at = bench_now_ns();
    sherd_entity_ask(ctx, "User", id, ANSWER, body, 0, 10000);
}

static enum sherd_next on_asker(struct sherd_ctx *ctx, void *self,
                                const struct sherd_msg *msg)
{
    struct asker *asker = self;
    uint64_t warm = work.messages / 10 + work.entities;

    if (msg->kind == SHERD_NO_ANSWER)
        fprintf(stderr, "no answer: %s\n", sherd_reason_text(msg->reason));
    if (msg->kind == SHERD_ANSWER && asker->asked > warm)
        work.micros[work.sample_count++] =
            (double)(bench_now_ns() - asker->asked_at) / 1e3;
    if (work.sample_count == work.messages) {
        bench_finish();
        return SHERD_STOP;
    }
    ask_next(ctx, asker);
    return SHERD_CONTINUE;
}

static void row_ask_there(char **arguments)
{
    const char *config = bench_poll_config(arguments[0]);
    struct other other = bench_start_other(0, 0, config, 100);
    struct sherd_system *system;

    work.entities = 1000;
    work.messages = (uint64_t)atoll(arguments[1]);
    bench_pin(1, 1);
    system = bench_open_node(bench_port_of(&other), 0, config, 1, 100);
    bench_wait_members(system, 2);
    bench_run_actor(system, "asker", sizeof(struct asker), on_asker);
    printf("p50 %.2f\n", percentile(0.5));
    printf("p99 %.2f\n", percentile(0.99));
    sherd_close(system);
    (void)bench_end_other(&other);
}

/* Chooses ids of entities in different shards (by Java's String.hashCode). */
#define SHARDS_MAX 1100
static char shard_ids[SHARDS_MAX][32];

static void find_ids(uint32_t shards)
{
    static char taken[SHARDS_MAX];
    uint32_t found = 0;

    for (uint32_t number = 0; found < shards; number++) {
        uint32_t hash = 0;
        char id[32];
        int64_t shard;

        bench_id_put(id, number);
        for (const char *at = id; *at; at++)
            hash = 31 * hash + (uint8_t)*at;
        shard = llabs((int64_t)(int32_t)hash) % shards;
        if (taken[shard])
            continue;
        taken[shard] = 1;
        memcpy(shard_ids[found++], id, sizeof id);
    }
}

/* Asks a tenth of the shards one after the other, then all others at once. */
struct allocator {
    uint32_t asked, answered;
    uint64_t asked_at;
};

static void ask_shard(struct sherd_ctx *ctx, struct allocator *allocator)
{
    sherd_entity_ask(ctx, "User", shard_ids[allocator->asked++], ANSWER, body,
                     0, 20000);
}

static enum sherd_next on_allocator(struct sherd_ctx *ctx, void *self,
                                    const struct sherd_msg *msg)
{
    struct allocator *allocator = self;

    if (msg->kind == SHERD_NO_ANSWER)
        fprintf(stderr, "no answer: %s\n", sherd_reason_text(msg->reason));
    if (msg->kind == SHERD_ANSWER) {
        allocator->answered++;
        if (allocator->answered > 1 && allocator->answered <= 100)
            work.micros[work.sample_count++] =
                (double)(bench_now_ns() - allocator->asked_at) / 1e3;
    }
    if (allocator->answered == SHARDS_MAX) {
        work.rate = (double)(bench_now_ns() - allocator->asked_at) / 1e6;
        bench_finish();
        return SHERD_STOP;
    }
    if (allocator->asked == allocator->answered) {
        allocator->asked_at = bench_now_ns();
        do
            ask_shard(ctx, allocator);
        while (allocator->asked > 100 && allocator->asked < SHARDS_MAX);
    }
    return SHERD_CONTINUE;
}

static void row_allocate(char **arguments)
{
    int there = strcmp(arguments[0], "there") == 0;
    struct other other = {0};
    struct sherd_system *system;

    find_ids(SHARDS_MAX);
    if (there)
        other = bench_start_other(0, 1, NULL, SHARDS_MAX);
    bench_pin(1, 1);
    system = bench_open_node(there ? bench_port_of(&other) : 0, 1, NULL, there, SHARDS_MAX);
    bench_wait_members(system, there ? 2 : 1);
    bench_run_actor(system, "allocator", sizeof(struct allocator), on_allocator);
    printf("one_us %.2f\n", percentile(0.5));
    printf("burst_ms %.3f\n", work.rate);
    sherd_close(system);
    if (there)
        (void)bench_end_other(&other);
}

/* ---- row 2: ping-pong between two lanes of one node ---- */

struct pinger {
    uint32_t looked;
    struct sherd_ref peer;
    uint64_t left;
    uint64_t began_at;
    int same;
};

static int same_lane; /* whether the pair stays on one lane */

static void look(struct sherd_ctx *ctx, struct pinger *pinger)
{
    char id[32];

    bench_id_put(id, ++pinger->looked);
    sherd_entity_tell(ctx, "User", id, WHERE, nothing);
}

static enum sherd_next on_pinger(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    struct pinger *pinger = self;
    uint64_t value = 1;

    if (msg->kind == SHERD_STARTED) {
        look(ctx, pinger);
        return SHERD_CONTINUE;
    }
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == WHERE) {
        memcpy(&pinger->peer, msg->body.data, sizeof pinger->peer);
        /* The highest byte of an actor's number is its lane. */
        if ((pinger->peer.actor >> 56 == sherd_self(ctx).actor >> 56) !=
            (same_lane != 0)) {
            look(ctx, pinger);
            return SHERD_CONTINUE;
        }
        pinger->left = work.messages;
        pinger->began_at = bench_now_ns();
    }
    if (pinger->left == 0) {
        work.rate = (double)work.messages * 2 /
                    (double)(bench_now_ns() - pinger->began_at) * 1e3;
        bench_finish();
        return SHERD_STOP;
    }
    pinger->left--;
    sherd_tell(ctx, pinger->peer, GO,
               (struct sherd_bytes){&value, sizeof value});
    return SHERD_CONTINUE;
}

static void row_lanes(char **arguments)
{
    const char *config = bench_poll_config(arguments[1]);
    uint32_t lanes = (uint32_t)atoi(arguments[2]);
    struct sherd_system *system;

    same_lane = strcmp(arguments[0], "same") == 0;
    work.messages = (uint64_t)atoll(arguments[3]);
    bench_pin(0, 1);
    system = bench_open_node(0, lanes, config, 0, 100);
    bench_wait_members(system, 1);
    bench_pin_lanes();
    bench_run_actor(system, "pinger", sizeof(struct pinger), on_pinger);
    printf("rate %.4f\n", work.rate);
    sherd_close(system);
}

/* ---- row 3: four producers on one lane, their consumer on the other ---- */

#define PRODUCERS 4

struct sink {
    uint32_t looked;
    uint32_t found;
    struct sherd_ref producers[PRODUCERS];
    int warm;
    uint64_t wanted, ordered, got;
    uint64_t began_at;
};

static void look_for_producer(struct sherd_ctx *ctx, struct sink *sink)
{
    char id[32];

    bench_id_put(id, ++sink->looked);
    sherd_entity_tell(ctx, "User", id, WHERE, nothing);
}

static void order(struct sherd_ctx *ctx, struct sink *sink,
                  struct sherd_ref producer)
{
    if (sink->ordered == sink->wanted)
        return;
    sink->ordered += FEED_COUNT;
    sherd_tell(ctx, producer, FEED, nothing);
}

static void begin_fan_in(struct sherd_ctx *ctx, struct sink *sink,
                         uint64_t wanted)
{
    sink->wanted = wanted / FEED_COUNT * FEED_COUNT;
    sink->ordered = 0;
    sink->got = 0;
    sink->began_at = bench_now_ns();
    for (int i = 0; i < PRODUCERS; i++)
        order(ctx, sink, sink->producers[i]);
}

/* Takes the reference of an entity. */
static void on_found(struct sherd_ctx *ctx, struct sink *sink,
                     struct sherd_bytes where)
{
    struct sherd_ref *producer = &sink->producers[sink->found];

    memcpy(producer, where.data, sizeof *producer);
    if (producer->actor >> 56 != sherd_self(ctx).actor >> 56)
        sink->found++;
    if (sink->found < PRODUCERS)
        look_for_producer(ctx, sink);
    else
        begin_fan_in(ctx, sink, work.messages / 10); /* not measured */
}

static enum sherd_next on_sink(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct sink *sink = self;

    if (msg->kind == SHERD_STARTED)
        look_for_producer(ctx, sink);
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == WHERE) {
        on_found(ctx, sink, msg->body);
        return SHERD_CONTINUE;
    }
    if (msg->msg == FEED)
        order(ctx, sink, msg->sender);
    if (++sink->got < sink->wanted)
        return SHERD_CONTINUE;
    if (!sink->warm++) {
        begin_fan_in(ctx, sink, work.messages);
        return SHERD_CONTINUE;
    }
    work.rate =
        (double)sink->got / (double)(bench_now_ns() - sink->began_at) * 1e3;
    bench_finish();
    return SHERD_STOP;
}

static void row_fan_in(char **arguments)
{
    struct sherd_system *system;

    work.messages = (uint64_t)atoll(arguments[1]);
    bench_pin(0, 1);
    system = bench_open_node(0, 2, bench_poll_config(arguments[0]), 0, 100);
    bench_wait_members(system, 1);
    bench_pin_lanes();
    bench_run_actor(system, "sink", sizeof(struct sink), on_sink);
    printf("rate %.4f\n", work.rate);
    printf("undelivered %llu\n", (unsigned long long)bench_undelivered(system));
    sherd_close(system);
}

/* ---- row 23: the cost of an idle node ---- */

/* Runs nodes that are only members of the cluster, in another process. */
static void idle_nodes(int port_in, uint32_t nodes)
{
    uint16_t port = 0;
    char byte;

    if (read(port_in, &port, sizeof port) == sizeof port) {
        for (uint32_t i = 0; i < nodes; i++)
            (void)bench_open_node(port, 1, NULL, 1, 100); /* the node ends with the process */
        while (read(port_in, &byte, 1) > 0)
            ;
    }
    _exit(0);
}

static void row_idle(char **arguments)
{
    uint32_t nodes = (uint32_t)atoi(arguments[1]);
    double seconds = atof(arguments[2]);
    struct sherd_system *system;
    uint64_t began_at, cpu_began_at;
    uint16_t port;
    int ends[2];
    pid_t process;

    if (pipe(ends) != 0)
        exit(1);
    process = fork();
    if (process == 0) {
        close(ends[1]);
        idle_nodes(ends[0], nodes - 1);
    }
    close(ends[0]);
    work.entities = (uint32_t)atoi(arguments[0]);
    work.window = 1000;
    system = bench_open_node(0, 0, NULL, 0, 100);
    bench_wait_members(system, 1);
    port = sherd_port(system);
    if (write(ends[1], &port, sizeof port) != sizeof port)
        exit(1);
    bench_wait_members(system, nodes);
    bench_run_actor(system, "starter", sizeof(struct starter), on_starter);
    sleep(2);
    began_at = bench_now_ns();
    cpu_began_at = bench_cpu_ns();
    usleep((useconds_t)(seconds * 1e6));
    printf("cpu_percent %.3f\n", (double)(bench_cpu_ns() - cpu_began_at) * 100 /
                                     (double)(bench_now_ns() - began_at));
    sherd_close(system);
    close(ends[1]);
    waitpid(process, NULL, 0);
}

/* ---- all rows ---- */

static const struct row {
    const char *name;
    int arguments;
    const char *text;
    void (*run)(char **arguments);
} rows[] = {
    {"lanes", 4, "same|split auto|latency|frugal LANES MESSAGES", row_lanes},
    {"fan-in", 2, "auto|latency|frugal MESSAGES", row_fan_in},
    {"start-here", 1, "ENTITIES", row_start_here},
    {"start-there", 1, "ENTITIES", row_start_there},
    {"tell-here", 3, "ENTITIES WINDOW MESSAGES", row_tell_here},
    {"tell-there", 3, "ENTITIES WINDOW MESSAGES", row_tell_there},
    {"ask-there", 2, "auto|latency|frugal ASKS", row_ask_there},
    {"allocate", 1, "here|there", row_allocate},
    {"idle", 3, "ENTITIES NODES SECONDS", row_idle},
};

int main(int argc, char **argv)
{
    int help = argc == 2 && strcmp(argv[1], "--help") == 0;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (argc > 1 && strcmp(argv[1], rows[i].name) == 0 &&
            argc == 2 + rows[i].arguments) {
            rows[i].run(argv + 2);
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        fprintf(help ? stdout : stderr, "usage: cluster %s %s\n", rows[i].name,
                rows[i].text);
    return help ? 0 : 2;
}
