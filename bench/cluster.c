/* Rows 2, 9 to 12, 22 and 23 through the public interface, with real systems:
 * one measurement of one row.
 *
 * usage: cluster ROW [ARGUMENTS]     prints "name value" lines; see `rows`
 * below
 *
 * What is measured runs in an actor; the entities count, and answer when they
 * are asked to. Where two nodes are needed the other one is a process of its
 * own: it hosts all shards, this one is a proxy. One lane for each node, this
 * process on processor 1 and the other on processor 0, unless a row says
 * otherwise. Everything is closed loop: a bounded number of messages is under
 * way. bench/run measures the limit programs and the peers in turns with this.
 */
#define _GNU_SOURCE
#include <sherd/sherd.h>

#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { COUNT = 1, ANSWER, ANSWERED, GO, WHERE };

#define BODY_SIZE 100
#define NODES_MAX 16
#define SAMPLES_MAX 1000000

static const struct sherd_bytes nothing;
static const uint8_t body_bytes[BODY_SIZE] = {1};
static const struct sherd_bytes body = {body_bytes, BODY_SIZE};
static volatile uint64_t sum;
static sem_t finished;

/* What the actor of a row is to do, and what it found. One row at a time. */
static struct {
    uint32_t entities;
    uint32_t window;
    uint64_t messages;
    double rate;     /* millions a second */
    double cpu_rate; /* the same by this process's processor time */
    double writes;   /* a message */
    double micros[SAMPLES_MAX];
    uint32_t sample_count;
} work;

/* ---- time, processors, figures ---- */

static uint64_t now_of(clockid_t clock)
{
    struct timespec at;

    clock_gettime(clock, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

static uint64_t now_ns(void)
{
    return now_of(CLOCK_MONOTONIC);
}

static uint64_t cpu_ns(void)
{
    return now_of(CLOCK_PROCESS_CPUTIME_ID);
}

static void pin(int first, int last)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    for (int i = first; i <= last; i++)
        CPU_SET(i, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        perror("sched_setaffinity"); /* the figures are less steady, no more */
}

static void fail(const char *what, int error)
{
    fprintf(stderr, "cluster: %s: %s\n", what, sherd_strerror(error));
    exit(1);
}

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

static uint64_t random_next(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* "user-123": what the limit programs use too, without printf's cost. */
static void id_put(char *id, uint32_t number)
{
    char digits[12];
    int count = 0;

    memcpy(id, "user-", 5);
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    for (int i = 0; i < count; i++)
        id[5 + i] = digits[count - 1 - i];
    id[5 + count] = 0;
}

/* Stands in for libc's, so that the writes of the library on sockets are
 * counted. */
static uint64_t sends;

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
    sends++;
    return syscall(SYS_sendto, fd, bytes, size, flags, NULL, 0);
}

/* ---- systems ---- */

static enum sherd_next on_entity(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    struct sherd_ref own;

    (void)self;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    switch (msg->msg) {
    case WHERE:
        own = sherd_self(ctx);
        sherd_reply(ctx, WHERE, (struct sherd_bytes){&own, sizeof own});
        break;
    case GO: /* ping-pong */
        sherd_reply(ctx, GO, msg->body);
        break;
    case ANSWER:
        sherd_reply(ctx, ANSWERED, nothing);
        break;
    default:
        sum += ((const uint8_t *)msg->body.data)[3];
        break;
    }
    return SHERD_CONTINUE;
}

static struct sherd_system *open_node(uint16_t seed, uint32_t lanes,
                                      const char *config, int proxy,
                                      uint32_t shards)
{
    static char seed_text[32];
    const char *seeds[] = {seed_text, NULL};
    const struct sherd_options options = {
        .port = SHERD_PORT_ANY,
        .alone = seed == 0,
        .seed_nodes = seed ? seeds : NULL,
        .lanes = lanes,
        .config_text = config,
        .log_level = 1,
    };
    const struct sherd_entity_type type = {
        .name = "User",
        .behavior = {.name = "user", .receive = on_entity},
        .shards = shards,
        .proxy = proxy,
    };
    struct sherd_system *system = NULL;
    int error;

    snprintf(seed_text, sizeof seed_text, "127.0.0.1:%u", (unsigned)seed);
    error = sherd_open(&system, &options);
    if (!error)
        error = sherd_entity_register(system, &type);
    if (!error)
        error = sherd_start(system);
    if (error)
        fail("cannot start", error);
    return system;
}

/* Until this node and so many in all are up. */
static void wait_members(struct sherd_system *system, uint32_t wanted)
{
    for (;;) {
        struct sherd_status status;
        uint32_t up = 0;
        int error = sherd_get_status(system, &status);

        if (error)
            fail("no status", error);
        for (uint32_t i = 0; i < status.member_count; i++)
            up += status.members[i].status == SHERD_UP;
        sherd_status_free(&status);
        if (up >= wanted)
            return;
        usleep(5000);
    }
}

/* auto, latency or frugal. */
static const char *poll_config(const char *poll)
{
    static char text[64];

    snprintf(text, sizeof text, "sherd.poll = %s", poll);
    return text;
}

static uint64_t undelivered(struct sherd_system *system)
{
    struct sherd_status status;
    uint64_t count = 0;

    if (sherd_get_status(system, &status) != 0)
        return 0;
    for (int i = 0; i < SHERD_REASON_COUNT; i++)
        count += status.undelivered[i];
    sherd_status_free(&status);
    return count;
}

/* The other process: it hosts, and ends with this one. */
struct other {
    pid_t process;
    int port_in;
    int end_out;
};

static void serve(int processor, uint32_t lanes, const char *config,
                  uint32_t shards, int port_out, int end_in)
{
    struct sherd_system *system;
    uint16_t port;
    char byte;

    pin(processor, processor);
    system = open_node(0, lanes, config, 0, shards);
    wait_members(system, 1);
    port = sherd_port(system);
    if (write(port_out, &port, sizeof port) == sizeof port)
        while (read(end_in, &byte, 1) > 0)
            ;
    sherd_close(system);
    _exit(0);
}

static struct other start_other(int processor, uint32_t lanes,
                                const char *config, uint32_t shards)
{
    struct other other;
    int port[2], end[2];

    if (pipe(port) != 0 || pipe(end) != 0)
        exit(1);
    other.process = fork();
    if (other.process == 0) {
        close(port[0]);
        close(end[1]);
        serve(processor, lanes, config, shards, port[1], end[0]);
    }
    close(port[1]);
    close(end[0]);
    other.port_in = port[0];
    other.end_out = end[1];
    return other;
}

static uint16_t port_of(const struct other *other)
{
    uint16_t port = 0;

    if (read(other->port_in, &port, sizeof port) != sizeof port)
        exit(1);
    return port;
}

static void end_other(const struct other *other)
{
    close(other->end_out);
    waitpid(other->process, NULL, 0);
}

/* Runs one actor until it posts `finished`. */
static void run_actor(struct sherd_system *system, const char *name,
                      size_t state_size,
                      enum sherd_next (*receive)(struct sherd_ctx *, void *,
                                                 const struct sherd_msg *))
{
    const struct sherd_behavior behavior = {
        .name = name,
        .state_size = state_size,
        .receive = receive,
    };
    static struct sherd_behavior kept[8]; /* must outlive the actor */
    static int kept_count;
    int error;

    kept[kept_count] = behavior;
    error = sherd_system_spawn(system, &kept[kept_count++], nothing);
    if (error)
        fail("cannot spawn", error);
    while (sem_wait(&finished) != 0)
        ;
}

/* ---- rows 10 and 11: tells to entities, a window under way in two halves ----
 */

struct producer {
    int warm; /* the entities run */
    uint64_t sent;
    uint64_t wanted;
    uint32_t credit; /* halves that may be sent */
    uint64_t random;
    uint64_t began_at, cpu_began_at, sends_before;
};

static void send_half(struct sherd_ctx *ctx, struct producer *producer)
{
    uint32_t half = work.window / 2;
    char id[32];

    producer->credit--;
    for (uint32_t i = 0; i < half; i++) {
        uint64_t number = producer->warm ? random_next(&producer->random) >> 11
                                         : producer->sent;

        id_put(id, 1 + (uint32_t)(number % work.entities));
        sherd_entity_tell(ctx, "User", id, i + 1 == half ? ANSWER : COUNT,
                          body);
        producer->sent++;
    }
}

static void begin_telling(struct sherd_ctx *ctx, struct producer *producer)
{
    producer->sent = 0;
    producer->credit = 2;
    producer->sends_before = sends;
    producer->cpu_began_at = cpu_ns();
    producer->began_at = now_ns();
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
    if (producer->warm < 2) { /* a tenth unmeasured */
        producer->wanted = producer->warm ? work.messages : work.messages / 10;
        producer->warm++;
        begin_telling(ctx, producer);
        return SHERD_CONTINUE;
    }
    work.rate =
        (double)producer->sent / (double)(now_ns() - producer->began_at) * 1e3;
    work.cpu_rate = (double)producer->sent /
                    (double)(cpu_ns() - producer->cpu_began_at) * 1e3;
    work.writes =
        (double)(sends - producer->sends_before) / (double)producer->sent;
    sem_post(&finished);
    return SHERD_STOP;
}

static void row_tell_here(char **arguments)
{
    struct sherd_system *system;

    work.entities = (uint32_t)atoi(arguments[0]);
    work.window = (uint32_t)atoi(arguments[1]);
    work.messages = (uint64_t)atoll(arguments[2]);
    pin(0, 0);
    system = open_node(0, 1, NULL, 0, 100);
    wait_members(system, 1);
    run_actor(system, "producer", sizeof(struct producer), on_producer);
    printf("rate %.4f\n", work.rate);
    printf("cpu_rate %.4f\n", work.cpu_rate);
    printf("undelivered %llu\n", (unsigned long long)undelivered(system));
    sherd_close(system);
}

static void row_tell_there(char **arguments)
{
    struct other other = start_other(0, 1, NULL, 100);
    struct sherd_system *system;

    work.entities = (uint32_t)atoi(arguments[0]);
    work.window = (uint32_t)atoi(arguments[1]);
    work.messages = (uint64_t)atoll(arguments[2]);
    pin(1, 1);
    system = open_node(port_of(&other), 1, NULL, 1, 100);
    wait_members(system, 2);
    run_actor(system, "producer", sizeof(struct producer), on_producer);
    printf("rate %.4f\n", work.rate);
    printf("messages_a_write %.1f\n", 1 / work.writes);
    printf("undelivered %llu\n", (unsigned long long)undelivered(system));
    sherd_close(system);
    end_other(&other);
}

/* ---- row 9: the first message of many entities, each answered ---- */

struct starter {
    uint64_t sent;
    uint64_t answered;
    uint64_t began_at, cpu_began_at;
};

static void start_next(struct sherd_ctx *ctx, struct starter *starter)
{
    char id[32];

    id_put(id, 1 + (uint32_t)starter->sent++);
    sherd_entity_tell(ctx, "User", id, ANSWER, nothing);
}

static enum sherd_next on_starter(struct sherd_ctx *ctx, void *self,
                                  const struct sherd_msg *msg)
{
    struct starter *starter = self;

    if (msg->kind == SHERD_STARTED) {
        starter->began_at = now_ns();
        starter->cpu_began_at = cpu_ns();
        for (uint32_t i = 0; i < work.window; i++)
            start_next(ctx, starter);
        return SHERD_CONTINUE;
    }
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    starter->answered++;
    if (starter->answered == 2000) { /* the shards are allocated by now */
        starter->began_at = now_ns();
        starter->cpu_began_at = cpu_ns();
    }
    if (starter->sent < work.entities)
        start_next(ctx, starter);
    if (starter->answered < work.entities)
        return SHERD_CONTINUE;
    work.rate =
        (work.entities - 2000) / (double)(now_ns() - starter->began_at) * 1e3;
    work.cpu_rate = (work.entities - 2000) /
                    (double)(cpu_ns() - starter->cpu_began_at) * 1e3;
    sem_post(&finished);
    return SHERD_STOP;
}

static void row_start_here(char **arguments)
{
    struct sherd_system *system;

    work.entities = (uint32_t)atoi(arguments[0]);
    work.window = 1000;
    pin(0, 0);
    system = open_node(0, 1, NULL, 0, 100);
    wait_members(system, 1);
    run_actor(system, "starter", sizeof(struct starter), on_starter);
    printf("rate %.4f\n", work.rate);
    printf("cpu_rate %.4f\n", work.cpu_rate);
    sherd_close(system);
}

static void row_start_there(char **arguments)
{
    struct other other = start_other(0, 1, NULL, 100);
    struct sherd_system *system;

    work.entities = (uint32_t)atoi(arguments[0]);
    work.window = 1000;
    pin(1, 1);
    system = open_node(port_of(&other), 1, NULL, 1, 100);
    wait_members(system, 2);
    run_actor(system, "starter", sizeof(struct starter), on_starter);
    printf("rate %.4f\n", work.rate);
    sherd_close(system);
    end_other(&other);
}

/* ---- row 12: asks over the network, one at a time; row 22: the first one of
 * each shard ---- */

struct asker {
    uint32_t asked;
    uint64_t asked_at;
};

static void ask_next(struct sherd_ctx *ctx, struct asker *asker)
{
    char id[32];

    id_put(id, 1 + asker->asked % work.entities);
    asker->asked++;
    asker->asked_at = now_ns();
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
            (double)(now_ns() - asker->asked_at) / 1e3;
    if (work.sample_count == work.messages) {
        sem_post(&finished);
        return SHERD_STOP;
    }
    ask_next(ctx, asker);
    return SHERD_CONTINUE;
}

static void row_ask_there(char **arguments)
{
    const char *config = poll_config(arguments[0]);
    struct other other = start_other(0, 0, config, 100);
    struct sherd_system *system;

    work.entities = 1000;
    work.messages = (uint64_t)atoll(arguments[1]);
    pin(1, 1);
    system = open_node(port_of(&other), 0, config, 1, 100);
    wait_members(system, 2);
    run_actor(system, "asker", sizeof(struct asker), on_asker);
    printf("p50 %.2f\n", percentile(0.5));
    printf("p99 %.2f\n", percentile(0.99));
    sherd_close(system);
    end_other(&other);
}

/* Ids of entities in different shards, by Java's String.hashCode as everywhere
 * in sharding. */
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

        id_put(id, number);
        for (const char *at = id; *at; at++)
            hash = 31 * hash + (uint8_t)*at;
        shard = llabs((int64_t)(int32_t)hash) % shards;
        if (taken[shard])
            continue;
        taken[shard] = 1;
        memcpy(shard_ids[found++], id, sizeof id);
    }
}

/* One shard after the other up to a tenth, then all others at once. */
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
                (double)(now_ns() - allocator->asked_at) / 1e3;
    }
    if (allocator->answered == SHARDS_MAX) {
        work.rate = (double)(now_ns() - allocator->asked_at) / 1e6;
        sem_post(&finished);
        return SHERD_STOP;
    }
    if (allocator->asked == allocator->answered) {
        allocator->asked_at = now_ns();
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
        other = start_other(0, 1, NULL, SHARDS_MAX);
    pin(1, 1);
    system = open_node(there ? port_of(&other) : 0, 1, NULL, there, SHARDS_MAX);
    wait_members(system, there ? 2 : 1);
    run_actor(system, "allocator", sizeof(struct allocator), on_allocator);
    printf("one_us %.2f\n", percentile(0.5));
    printf("burst_ms %.3f\n", work.rate);
    sherd_close(system);
    if (there)
        end_other(&other);
}

/* ---- row 2: ping-pong between two lanes of one node ---- */

struct pinger {
    uint32_t looked;
    struct sherd_ref peer;
    uint64_t left;
    uint64_t began_at;
    int same;
};

static int same_lane; /* the pair stays on one lane */

static void look(struct sherd_ctx *ctx, struct pinger *pinger)
{
    char id[32];

    id_put(id, ++pinger->looked);
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
        pinger->began_at = now_ns();
    }
    if (pinger->left == 0) {
        work.rate = (double)work.messages * 2 /
                    (double)(now_ns() - pinger->began_at) * 1e3;
        sem_post(&finished);
        return SHERD_STOP;
    }
    pinger->left--;
    sherd_tell(ctx, pinger->peer, GO,
               (struct sherd_bytes){&value, sizeof value});
    return SHERD_CONTINUE;
}

static void row_lanes(char **arguments)
{
    const char *config = poll_config(arguments[1]);
    uint32_t lanes = (uint32_t)atoi(arguments[2]);
    struct sherd_system *system;

    same_lane = strcmp(arguments[0], "same") == 0;
    work.messages = (uint64_t)atoll(arguments[3]);
    pin(0, 1);
    system = open_node(0, lanes, config, 0, 100);
    wait_members(system, 1);
    run_actor(system, "pinger", sizeof(struct pinger), on_pinger);
    printf("rate %.4f\n", work.rate);
    sherd_close(system);
}

/* ---- row 23: what a node costs that has nothing to do ---- */

/* Nodes that only belong to the cluster, in another process. */
static void idle_nodes(int port_in, uint32_t nodes)
{
    uint16_t port = 0;
    char byte;

    if (read(port_in, &port, sizeof port) == sizeof port) {
        for (uint32_t i = 0; i < nodes; i++)
            (void)open_node(port, 1, NULL, 1, 100); /* ends with the process */
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
    system = open_node(0, 0, NULL, 0, 100);
    wait_members(system, 1);
    port = sherd_port(system);
    if (write(ends[1], &port, sizeof port) != sizeof port)
        exit(1);
    wait_members(system, nodes);
    run_actor(system, "starter", sizeof(struct starter), on_starter);
    sleep(2);
    began_at = now_ns();
    cpu_began_at = cpu_ns();
    usleep((useconds_t)(seconds * 1e6));
    printf("cpu_percent %.3f\n", (double)(cpu_ns() - cpu_began_at) * 100 /
                                     (double)(now_ns() - began_at));
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
    sem_init(&finished, 0, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (argc > 1 && strcmp(argv[1], rows[i].name) == 0 &&
            argc == 2 + rows[i].arguments) {
            rows[i].run(argv + 2);
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        fprintf(stderr, "usage: cluster %s %s\n", rows[i].name, rows[i].text);
    return 2;
}
