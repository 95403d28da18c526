/* Measures distributed data of whole nodes through the public interface, and the same merges alone:
 * row 24 of bench/run. One run makes one measurement:
 *
 *   ddata local KEYS UPDATES            local updates of counters on one node, 200 underway
 *   ddata map KEYS UPDATES              its limit: a map, a copy of the counter, an addition,
 *                                       a merge
 *   ddata majority WINDOW KEYS UPDATES  updates at level majority on three nodes in this process,
 *                                       over TCP
 *   ddata bytes deltas|full ELEMENTS    bytes on the sockets of three nodes for one update of a set
 *                                       with this number of elements
 *   ddata heal KEYS BYTES               time after a partition until three nodes have the same
 *                                       values; both sides have changed all keys */
#define _DEFAULT_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sherd/ddata.h>

#include "base/check.h"
#include "base/map.h"
#include "ddata/value.h"
#include "systems.h"

#define LOCAL_WINDOW 200
#define WINDOW_MAX 10000
#define NODES 3
#define PATIENCE_MS 600000

/* The task of the run's actor. */
static struct {
    struct sherd_consistency consistency;
    uint32_t keys;
    uint32_t window;
    uint64_t updates;
    uint64_t failed;
    double *micros; /* duration of each update */
    uint64_t began_at, cpu_began_at;
} work;

struct writer {
    uint64_t begun, ended;
};

static uint64_t at_of[WINDOW_MAX]; /* start of the update with this tag */

static int compare(const void *left, const void *right)
{
    const double *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static double percentile(double part)
{
    qsort(work.micros, work.updates, sizeof *work.micros, compare);
    return work.micros[(uint64_t)(part * (double)(work.updates - 1))];
}

static size_t key_size; /* smallest number of bytes of a key */

/* Writes a key. The buffer has SHERD_DATA_KEY_MAX + 1 bytes. */
static void key_put(char *key, uint32_t number)
{
    size_t size;

    bench_id_put(key, number);
    for (size = strlen(key); size < key_size; size++)
        key[size] = '-';
    key[size] = 0;
}

static void begin_update(struct sherd_ctx *ctx, struct writer *writer,
                         uint32_t tag)
{
    const struct sherd_change change = { .verb = SHERD_COUNT, .amount = 1 };
    char key[SHERD_DATA_KEY_MAX + 1];

    key_put(key, (uint32_t)(writer->begun++ % work.keys));
    at_of[tag] = bench_now_ns();
    sherd_data_update(ctx, key, SHERD_G_COUNTER, &change, 1, &work.consistency,
                      tag);
}

static enum sherd_next on_writer(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    struct writer *writer = self;

    if (msg->kind == SHERD_STARTED) {
        work.began_at = bench_now_ns();
        work.cpu_began_at = bench_cpu_ns();
        while (writer->begun < work.window && writer->begun < work.updates)
            begin_update(ctx, writer, (uint32_t)writer->begun);
    }
    if (msg->kind != SHERD_DATA)
        return SHERD_CONTINUE;
    work.failed += msg->msg != SHERD_DATA_UPDATED;
    work.micros[writer->ended++] =
        (double)(bench_now_ns() - at_of[msg->tag]) / 1e3;
    if (writer->begun < work.updates)
        begin_update(ctx, writer, msg->tag); /* the tag is free again */
    if (writer->ended < work.updates)
        return SHERD_CONTINUE;
    bench_finish();
    return SHERD_STOP;
}

static void set_work(uint32_t window, uint32_t keys, uint64_t updates)
{
    work.window = window;
    work.keys = keys;
    work.updates = updates;
    work.failed = 0;
    free(work.micros);
    work.micros = calloc(updates, sizeof *work.micros);
    if (!work.micros)
        exit(1);
}

/* Runs updates, first without and then with measurement. */
static void write_all(struct sherd_system *system, uint32_t window,
                      uint32_t keys, uint64_t updates)
{
    set_work(window, keys, keys);
    bench_run_actor(system, "warmer", sizeof(struct writer), on_writer);
    set_work(window, keys, updates);
    bench_run_actor(system, "writer", sizeof(struct writer), on_writer);
    if (work.failed)
        fprintf(stderr, "%llu updates failed\n",
                (unsigned long long)work.failed);
    printf("rate %.4f\n",
           (double)updates * 1e3 / (double)(bench_now_ns() - work.began_at));
    printf("cpu_rate %.4f\n",
           (double)updates * 1e3 / (double)(bench_cpu_ns() - work.cpu_began_at));
    printf("p50 %.2f\n", percentile(0.5));
    printf("p99 %.2f\n", percentile(0.99));
}

static void row_local(char **arguments)
{
    struct sherd_system *system = bench_open_node(0, 1, NULL, 0, 10);

    bench_wait_members(system, 1);
    write_all(system, LOCAL_WINDOW, (uint32_t)atoi(arguments[0]),
              strtoull(arguments[1], NULL, 10));
    sherd_close(system);
}

static void row_map(char **arguments)
{
    uint32_t keys = (uint32_t)atoi(arguments[0]);
    uint64_t updates = strtoull(arguments[1], NULL, 10);
    const struct node_id node = { { "127.0.0.1", 25520 }, 1 };
    struct map map = { 0 };
    struct map_entry entry;
    uint64_t began_at;
    char key[32];

    for (uint32_t i = 0; i < keys; i++) {
        bench_id_put(key, i);
        (void)map_put(&map, slice_text(key), dd_new(DD_GCOUNTER)); /* the key is new */
    }
    began_at = bench_cpu_ns();
    for (uint64_t i = 0; i < updates; i++) {
        struct dd_value *value, *changed;

        bench_id_put(key, (uint32_t)(i % keys));
        value = map_get(&map, slice_text(key));
        changed = dd_copy(value);
        dd_gcounter_add(changed, &node, 1);
        if (dd_merge(value, changed) != DD_CHANGED)
            exit(1);
        dd_free(changed);
    }
    printf("cpu_rate %.4f\n",
           (double)updates * 1e3 / (double)(bench_cpu_ns() - began_at));
    for (uint32_t at = 0; map_next(&map, &at, &entry);)
        dd_free(entry.value);
    map_fini(&map);
}

/* ---- three nodes ---- */

static void open_three(struct sherd_system *systems[NODES], const char *config)
{
    systems[0] = bench_open_node(0, 1, config, 0, 10);
    bench_wait_members(systems[0], 1);
    for (int i = 1; i < NODES; i++)
        systems[i] = bench_open_node(sherd_port(systems[0]), 1, config, 0, 10);
    for (int i = 0; i < NODES; i++)
        bench_wait_members(systems[i], NODES);
}

static void close_three(struct sherd_system *systems[NODES])
{
    for (int i = NODES; i-- > 0;)
        sherd_close(systems[i]);
}

static void row_majority(char **arguments)
{
    uint32_t window = (uint32_t)atoi(arguments[0]);
    struct sherd_system *systems[NODES];

    work.consistency = (struct sherd_consistency){ SHERD_MAJORITY, 0, 10000 };
    if (!window || window > WINDOW_MAX)
        exit(2);
    open_three(systems, NULL);
    write_all(systems[0], window, (uint32_t)atoi(arguments[1]),
              strtoull(arguments[2], NULL, 10));
    close_three(systems);
}

/* ---- bytes ---- */

/* The time between two rounds of deltas is a fifth of the gossip interval, as by default. Both are
 * half of the default here. */
#define GOSSIP "1000ms"
#define ROUND_MS 1100 /* between two updates, so that mostly each is sent alone */
#define ROUNDS 15

static uint32_t elements; /* number in the set; each round adds one */

static void add_elements(struct sherd_ctx *ctx, uint32_t count)
{
    static struct sherd_change changes[1000];
    static char texts[1000][32];

    for (uint32_t i = 0; i < count; i++) {
        bench_id_put(texts[i], elements + i);
        changes[i] = (struct sherd_change){ .verb = SHERD_ADD,
                                            .item = sherd_text(texts[i]) };
    }
    elements += count;
    sherd_data_update(ctx, "set", SHERD_OR_SET, changes, count, NULL, 1);
}

static enum sherd_next on_filler(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED)
        for (uint32_t left = work.keys; left;) {
            uint32_t count = left < 1000 ? left : 1000;

            add_elements(ctx, count);
            left -= count;
        }
    if (msg->kind != SHERD_DATA || ++*(uint32_t *)self < (work.keys + 999) / 1000)
        return SHERD_CONTINUE;
    bench_finish();
    return SHERD_STOP;
}

static enum sherd_next on_adder(struct sherd_ctx *ctx, void *self,
                                const struct sherd_msg *msg)
{
    uint32_t *round = self;

    if (msg->kind == SHERD_STARTED || msg->kind == SHERD_TIMER) {
        if ((*round)++ == ROUNDS) {
            bench_finish();
            return SHERD_STOP;
        }
        add_elements(ctx, 1);
        sherd_timer(ctx, 1, ROUND_MS);
    }
    return SHERD_CONTINUE;
}

static void row_bytes(char **arguments)
{
    int has_deltas = strcmp(arguments[0], "deltas") == 0;
    struct sherd_system *systems[NODES];
    uint64_t before, idle;
    char config[200];

    work.keys = (uint32_t)atoi(arguments[1]);
    snprintf(config, sizeof config,
             "akka.cluster.distributed-data.gossip-interval = " GOSSIP "\n"
             "akka.cluster.distributed-data.delta-crdt.enabled = %s",
             has_deltas ? "on" : "off");
    open_three(systems, config);
    bench_run_actor(systems[0], "filler", sizeof(uint32_t), on_filler);
    usleep(3000 * 1000); /* until all nodes have the set and nothing is sent */
    before = bench_socket_bytes();
    usleep(ROUNDS * ROUND_MS * 1000);
    idle = bench_socket_bytes() - before;
    before = bench_socket_bytes();
    bench_run_actor(systems[0], "adder", sizeof(uint32_t), on_adder);
    printf("bytes %.0f\n",
           ((double)(bench_socket_bytes() - before) - (double)idle) / ROUNDS);
    printf("idle_bytes %.0f\n", (double)idle / ROUNDS);
    close_three(systems);
}

/* ---- a heal ---- */

#define LOOK_MS 20
#define FILES_MAX 1024 /* largest number of open files of this process */

/* The nodes that this process cannot reach during the partition. */
static struct {
    atomic_int is_cut;
    atomic_int refused; /* connections that were refused */
    uint16_t ports[2];
    int count;
} far;

static int is_far(const struct sockaddr *address)
{
    const struct sockaddr_in *in = (const struct sockaddr_in *)(const void *)address;

    for (int i = 0; address->sa_family == AF_INET && i < far.count; i++)
        if (ntohs(in->sin_port) == far.ports[i])
            return 1;
    return 0;
}

/* Replaces libc's connect. It refuses connections to the other side during the partition. */
__attribute__((visibility("default"))) int connect(int file, const struct sockaddr *address, socklen_t size)
{
    if (atomic_load(&far.is_cut) && is_far(address)) {
        atomic_fetch_add(&far.refused, 1);
        errno = ECONNREFUSED;
        return -1;
    }
    return (int)syscall(SYS_connect, file, address, size);
}

/* Begins the partition: shuts this process's connections to the other side down. The other side
 * does the same. */
static void cut_off(void)
{
    atomic_store(&far.is_cut, 1);
    for (int file = 0; file < FILES_MAX; file++) {
        struct sockaddr_in address = { 0 };
        socklen_t size = sizeof address;

        if (getpeername(file, (struct sockaddr *)&address, &size) == 0 &&
            is_far((struct sockaddr *)&address))
            (void)shutdown(file, SHUT_RDWR); /* fails if the connection has ended */
    }
}

/* Each side adds one to every counter. So a node that counts 2 has the changes of both sides. */
static int sides; /* expected value of every counter */

static int is_whole(const struct sherd_msg *msg)
{
    struct sherd_value *value = msg->msg == SHERD_DATA_FOUND ? sherd_data_value(msg) : NULL;
    int is = value && sherd_value_count(value, NULL) == sides;

    sherd_value_free(value);
    return is;
}

/* Reads one key after the other, each until its counter has the expected value. */
static enum sherd_next on_looker(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    const struct sherd_consistency local = { SHERD_LOCAL, 0, 0 };
    uint32_t *seen = self;
    char key[SHERD_DATA_KEY_MAX + 1];

    if (msg->kind == SHERD_STOPPING)
        return SHERD_CONTINUE;
    if (msg->kind == SHERD_DATA && !is_whole(msg)) {
        sherd_timer(ctx, 1, LOOK_MS);
        return SHERD_CONTINUE;
    }
    if (msg->kind == SHERD_DATA && ++*seen == work.keys) {
        bench_finish();
        return SHERD_STOP;
    }
    key_put(key, *seen);
    sherd_data_get(ctx, key, &local, 1);
    return SHERD_CONTINUE;
}

/* Waits until the node sees this number of members as unreachable. */
static void wait_unreachable(struct sherd_system *system, uint32_t wanted)
{
    for (uint32_t count = ~wanted; count != wanted; usleep(10000)) {
        struct sherd_status status;

        count = 0;
        if (sherd_get_status(system, &status) != 0)
            continue;
        for (uint32_t i = 0; i < status.member_count; i++)
            count += !status.members[i].reachable;
        sherd_status_free(&status);
    }
}

/* Waits until the node has the additions of this number of sides under all keys. */
static void wait_whole(struct sherd_system *system, int many)
{
    sides = many;
    bench_run_actor(system, "looker", sizeof(uint32_t), on_looker);
}

static void expect(int done)
{
    if (!done)
        exit(1);
}

static void heal(void)
{
    expect(atomic_load(&far.refused)); /* otherwise there was no partition */
    atomic_store(&far.is_cut, 0);
}

/* Adds one to every key on a node of this side. */
static void write_keys(struct sherd_system *system)
{
    set_work(LOCAL_WINDOW, work.keys, work.keys);
    bench_run_actor(system, "writer", sizeof(struct writer), on_writer);
    expect(!work.failed);
}

/* Runs the side with one node. It writes its port, reads the ports of the others, begins the
 * partition, writes all keys and reports this. When it reads the word to heal, it ends the
 * partition, and reports the time when it has all changes. */
_Noreturn static void be_far(int in, int out)
{
    struct sherd_system *system = bench_open_node(0, 1, NULL, 0, 10);
    uint16_t port = sherd_port(system);
    uint64_t at = 0;
    char word;

    bench_wait_members(system, 1);
    expect(write(out, &port, sizeof port) == sizeof port);
    expect(read(in, far.ports, sizeof far.ports) == sizeof far.ports);
    far.count = 2;
    bench_wait_members(system, NODES);
    cut_off();
    wait_unreachable(system, 2);
    write_keys(system);
    expect(write(out, &at, sizeof at) == sizeof at);
    expect(read(in, &word, 1) == 1);
    heal();
    wait_whole(system, 2);
    at = bench_now_ns();
    expect(write(out, &at, sizeof at) == sizeof at);
    pause();
    _exit(0);
}

static void row_heal(char **arguments)
{
    struct sherd_system *systems[2];
    uint64_t healed_at, here, there;
    uint16_t ports[2];
    int in[2], out[2];
    pid_t child;

    work.keys = (uint32_t)atoi(arguments[0]);
    key_size = (size_t)atoi(arguments[1]);
    expect(key_size <= SHERD_DATA_KEY_MAX && pipe(in) == 0 && pipe(out) == 0);
    child = fork();
    if (child == 0)
        be_far(in[0], out[1]);
    close(out[1]);
    expect(child > 0 && read(out[0], far.ports, sizeof far.ports[0]) == sizeof far.ports[0]);
    far.count = 1;
    for (int i = 0; i < 2; i++) {
        systems[i] = bench_open_node(far.ports[0], 1, NULL, 0, 10);
        ports[i] = sherd_port(systems[i]);
    }
    for (int i = 0; i < 2; i++)
        bench_wait_members(systems[i], NODES);
    usleep(500 * 1000); /* until the other process knows, too */
    expect(write(in[1], ports, sizeof ports) == sizeof ports);
    cut_off();
    for (int i = 0; i < 2; i++)
        wait_unreachable(systems[i], 1);
    write_keys(systems[0]);
    expect(read(out[0], &there, sizeof there) == sizeof there);
    wait_whole(systems[1], 1);
    healed_at = bench_now_ns();
    heal();
    expect(write(in[1], "h", 1) == 1);
    for (int i = 0; i < 2; i++)
        wait_whole(systems[i], 2);
    here = bench_now_ns();
    expect(read(out[0], &there, sizeof there) == sizeof there);
    printf("heal_s %.3f\n", (double)((here > there ? here : there) - healed_at) / 1e9);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    for (int i = 2; i-- > 0;)
        sherd_close(systems[i]);
}

/* ---- all rows ---- */

static const struct row {
    const char *name;
    int arguments;
    const char *text;
    void (*run)(char **arguments);
} rows[] = {
    { "local", 2, "KEYS UPDATES", row_local },
    { "map", 2, "KEYS UPDATES", row_map },
    { "majority", 3, "WINDOW KEYS UPDATES", row_majority },
    { "bytes", 2, "deltas|full ELEMENTS", row_bytes },
    { "heal", 2, "KEYS BYTES", row_heal },
};

int main(int argc, char **argv)
{
    int help = argc == 2 && strcmp(argv[1], "--help") == 0;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (argc == 2 + rows[i].arguments &&
            strcmp(argv[1], rows[i].name) == 0 &&
            atoi(argv[argc - 1]) > 0) {
            rows[i].run(argv + 2);
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        fprintf(help ? stdout : stderr, "usage: ddata %s %s\n", rows[i].name,
                rows[i].text);
    return help ? 0 : 2;
}
