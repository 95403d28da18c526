/* Starts real nodes for the benchmarks; see systems.h. */
#define _GNU_SOURCE
#include "systems.h"

#include <dirent.h>
#include <pthread.h>
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

static const struct sherd_bytes nothing;
static volatile uint64_t sum;
static sem_t finished;

/* ---- clocks, processors, ids ---- */

static uint64_t now_of(clockid_t clock)
{
    struct timespec at;

    clock_gettime(clock, &at);
    return (uint64_t)at.tv_sec * 1000000000u + (uint64_t)at.tv_nsec;
}

uint64_t bench_now_ns(void)
{
    return now_of(CLOCK_MONOTONIC);
}

uint64_t bench_cpu_ns(void)
{
    return now_of(CLOCK_PROCESS_CPUTIME_ID);
}

void bench_pin(int first, int last)
{
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    for (int i = first; i <= last; i++)
        CPU_SET(i, &cpus);
    if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        perror("sched_setaffinity"); /* not fatal: the figures are less steady */
}

/* Reads the lane's number from the name of a thread. Linux has this name in a file; the folder's
 * name is the thread's id. */
static int is_lane(const char *task, unsigned *lane)
{
    char path[300];
    FILE *file;
    int found = 0;

    snprintf(path, sizeof path, "/proc/self/task/%s/comm", task);
    file = fopen(path, "r");
    if (file) {
        found = fscanf(file, "sherd-lane-%u", lane) == 1;
        fclose(file);
    }
    return found;
}

void bench_pin_lanes(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    unsigned lane;

    while (tasks && (task = readdir(tasks))) {
        cpu_set_t cpus;

        if (!is_lane(task->d_name, &lane))
            continue;
        CPU_ZERO(&cpus);
        CPU_SET(lane - 1, &cpus);
        if (sched_setaffinity(atoi(task->d_name), sizeof cpus, &cpus) != 0)
            perror("sched_setaffinity");
    }
    if (tasks)
        closedir(tasks);
}

void bench_fail(const char *what, int error)
{
    fprintf(stderr, "bench: %s: %s\n", what, sherd_strerror(error));
    exit(1);
}

/* The limit programs use the same ids. printf would be too slow. */
void bench_id_put(char *id, uint32_t number)
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

uint64_t bench_random_next(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

/* Replaces libc's send, to count the library's writes on sockets and their bytes. */
static uint64_t writes;
static _Atomic uint64_t written;

ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
    ssize_t sent = syscall(SYS_sendto, fd, bytes, size, flags, NULL, 0);

    writes++;
    if (sent > 0)
        written += (uint64_t)sent;
    return sent;
}

uint64_t bench_socket_writes(void)
{
    return writes;
}

uint64_t bench_socket_bytes(void)
{
    return written;
}

/* ---- a node ---- */

static void feed(struct sherd_ctx *ctx, struct sherd_ref to)
{
    uint64_t value = 1;

    for (int i = 1; i <= FEED_COUNT; i++)
        sherd_tell(ctx, to, i == FEED_COUNT ? FEED : COUNT,
                   (struct sherd_bytes){&value, sizeof value});
}

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
    case FEED: /* fan-in */
        feed(ctx, msg->sender);
        break;
    default:
        sum += ((const uint8_t *)msg->body.data)[3];
        break;
    }
    return SHERD_CONTINUE;
}

struct sherd_system *bench_open_system(const struct sherd_options *options,
                                       const struct sherd_entity_type *type)
{
    struct sherd_system *system = NULL;
    int error = sherd_open(&system, options);

    if (!error)
        error = sherd_entity_register(system, type);
    if (!error)
        error = sherd_start(system);
    if (error)
        bench_fail("cannot start", error);
    return system;
}

struct sherd_system *bench_open_node(uint16_t seed, uint32_t lanes,
                                     const char *config, int proxy, uint32_t shards)
{
    static char seed_text[32];
    const char *seeds[] = {seed_text, NULL};
    const struct sherd_options options = {
        .port = SHERD_PORT_ANY,
        .alone = seed == 0,
        .seed_nodes = seed ? seeds : NULL,
        .lanes = lanes,
        .config_text = config,
        .log_level = SHERD_LOG_ERROR,
    };
    const struct sherd_entity_type type = {
        .name = "User",
        .behavior = {.name = "user", .receive = on_entity},
        .shards = shards,
        .proxy = proxy,
    };

    snprintf(seed_text, sizeof seed_text, "127.0.0.1:%u", (unsigned)seed);
    return bench_open_system(&options, &type);
}

void bench_wait_members(struct sherd_system *system, uint32_t wanted)
{
    for (;;) {
        struct sherd_status status;
        uint32_t up = 0;
        int error = sherd_get_status(system, &status);

        if (error)
            bench_fail("no status", error);
        for (uint32_t i = 0; i < status.member_count; i++)
            up += status.members[i].status == SHERD_UP;
        sherd_status_free(&status);
        if (up >= wanted)
            return;
        usleep(5000);
    }
}

const char *bench_poll_config(const char *poll)
{
    static char text[64];

    snprintf(text, sizeof text, "sherd.poll = %s", poll);
    return text;
}

uint64_t bench_undelivered(struct sherd_system *system)
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

/* ---- the other process ---- */

static void serve(int processor, uint32_t lanes, const char *config,
                  uint32_t shards, int port_out, int end_in)
{
    struct sherd_system *system;
    uint16_t port;
    char byte;

    bench_pin(processor, processor);
    system = bench_open_node(0, lanes, config, 0, shards);
    bench_wait_members(system, 1);
    port = sherd_port(system);
    if (write(port_out, &port, sizeof port) == sizeof port)
        while (read(end_in, &byte, 1) > 0)
            ;
    sherd_close(system);
    _exit(0);
}

struct other bench_start_other(int processor, uint32_t lanes,
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

uint16_t bench_port_of(const struct other *other)
{
    uint16_t port = 0;

    if (read(other->port_in, &port, sizeof port) != sizeof port)
        exit(1);
    return port;
}

static double ns_of(struct timeval time)
{
    return (double)time.tv_sec * 1e9 + (double)time.tv_usec * 1e3;
}

double bench_end_other(const struct other *other)
{
    struct rusage used = {0};

    close(other->end_out);
    (void)wait4(other->process, NULL, 0, &used); /* cannot fail: it is our child */
    return ns_of(used.ru_utime) + ns_of(used.ru_stime);
}

static void make_finished(void)
{
    sem_init(&finished, 0, 0);
}

void bench_finish(void)
{
    sem_post(&finished);
}

void bench_run_actor(struct sherd_system *system, const char *name,
                     size_t state_size,
                     enum sherd_next (*receive)(struct sherd_ctx *, void *,
                                                const struct sherd_msg *))
{
    const struct sherd_behavior behavior = {
        .name = name,
        .state_size = state_size,
        .receive = receive,
    };
    struct sherd_behavior *kept = malloc(sizeof *kept);
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    int error;

    pthread_once(&once, make_finished);
    if (!kept)
        exit(1);
    *kept = behavior; /* it must outlive the actor, and is never freed */
    error = sherd_system_spawn(system, kept, nothing, NULL);
    if (error)
        bench_fail("cannot spawn", error);
    while (sem_wait(&finished) != 0)
        ;
}
