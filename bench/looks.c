/* Measures looks (sherd/look.h) at a cluster of processes on this host: time and memory of each kind,
 * with all its pages.
 *
 *   looks NODES TYPES SHARDS ENTITIES
 *
 * NODES processes host TYPES entity types with SHARDS shards each, and ENTITIES entities in all. The
 * last process looks. Each line: the kind, its rows, pages and parts that are missing; the time of all
 * pages and of the slowest; the growth of this process's memory, and of the first node's, which
 * coordinates, at their peaks. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "systems.h"

#define NODES_MAX 64
#define TYPES_MAX 16
#define PAUSE_US 10000

static const struct sherd_bytes nothing;
static uint32_t node_count, type_count, shard_count, entity_count;
static pid_t children[NODES_MAX];
static int to_children[NODES_MAX];

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    (void)msg;
    return SHERD_CONTINUE;
}

static void name_type(char name[16], uint32_t type)
{
    snprintf(name, 16, "T%u", type);
}

/* ---- processes ---- */

static struct sherd_system *start_node(uint16_t seed)
{
    char address[32];
    const char *seeds[] = {address, NULL};
    const struct sherd_options options = {
        .name = "Looks",
        .alone = !seed,
        .seed_nodes = seed ? seeds : NULL,
        .port = SHERD_PORT_ANY,
        .lanes = 1,
        .log_level = SHERD_LOG_ERROR,
        .config_text = "akka.cluster.failure-detector.acceptable-heartbeat-pause = 60s\n"
                       "akka.cluster.sharding.passivate-idle-entity-after = off\n"
                       "akka.cluster.sharding.buffer-size = 10000000",
    };
    struct sherd_system *system;
    int error;

    snprintf(address, sizeof address, "127.0.0.1:%u", seed);
    if ((error = sherd_open(&system, &options)))
        bench_fail("open", error);
    for (uint32_t i = 0; i < type_count; i++) {
        char name[16];
        struct sherd_entity_type type = {
            .name = name,
            .behavior = {.name = "bench", .state_size = 8, .receive = receive},
            .shards = shard_count,
        };

        name_type(name, i);
        if ((error = sherd_entity_register(system, &type)))
            bench_fail("register", error);
    }
    if ((error = sherd_start(system)))
        bench_fail("start", error);
    return system;
}

static uint16_t start_child(uint32_t index, uint16_t seed)
{
    int down[2], up[2];
    uint16_t port = 0;
    char end;

    if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC))
        bench_fail("pipe", SHERD_ESYSTEM);
    children[index] = fork();
    if (!children[index]) {
        close(down[1]);
        for (uint32_t i = 0; i < index; i++)
            close(to_children[i]);
        port = sherd_port(start_node(seed));
        if (write(up[1], &port, sizeof port) == sizeof port)
            while (read(down[0], &end, 1) < 0)
                ;
        _exit(0);
    }
    close(down[0]);
    close(up[1]);
    to_children[index] = down[1];
    if (read(up[0], &port, sizeof port) != sizeof port)
        bench_fail("child", SHERD_ESYSTEM);
    close(up[0]);
    return port;
}

static void end_children(void)
{
    for (uint32_t i = 0; i + 1 < node_count; i++)
        close(to_children[i]);
    for (uint32_t i = 0; i + 1 < node_count; i++)
        waitpid(children[i], NULL, 0);
}

/* The peak of a process's memory in KiB since it was reset. */
static uint64_t peak_of(pid_t process)
{
    char path[64], line[128];
    uint64_t peak = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/status", (int)process);
    file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "VmHWM:", 6))
            peak = strtoull(line + 6, NULL, 10);
    if (file)
        fclose(file);
    return peak;
}

static uint64_t reset_peak(pid_t process)
{
    char path[64];
    int file;

    snprintf(path, sizeof path, "/proc/%d/clear_refs", (int)process);
    file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, "5", 1) != 1)
        bench_fail("clear_refs", SHERD_ESYSTEM);
    close(file);
    return peak_of(process);
}

/* ---- looks ---- */

static struct waiting {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int is_done, result;
    uint32_t rows, missing;
    uint64_t sum;   /* of a column */
    uint32_t column;
    uint8_t next[SHERD_LOOK_CURSOR_MAX];
    size_t next_size;
} waiting = {.mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void done(void *user, int result, const struct sherd_look_page *page)
{
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX];

    (void)user;
    pthread_mutex_lock(&waiting.mutex);
    waiting.result = result;
    waiting.rows = page ? page->row_count : 0;
    waiting.next_size = page ? page->next.size : 0;
    waiting.missing = 0;
    if (waiting.next_size)
        memcpy(waiting.next, page->next.data, page->next.size);
    for (uint32_t i = 0; page && i < page->part_count; i++)
        waiting.missing += page->parts[i].state != SHERD_LOOK_OK;
    for (uint32_t i = 0; sherd_look_row(page, i, values, NULL); i++)
        waiting.sum += values[waiting.column].number;
    waiting.is_done = 1;
    pthread_cond_signal(&waiting.changed);
    pthread_mutex_unlock(&waiting.mutex);
}

static void page(struct sherd_system *system, enum sherd_look_kind kind,
                 const struct sherd_look_options *options)
{
    int error;

    waiting.is_done = 0;
    if ((error = sherd_look(system, kind, options, done, NULL, NULL)))
        bench_fail("look", error);
    pthread_mutex_lock(&waiting.mutex);
    while (!waiting.is_done)
        pthread_cond_wait(&waiting.changed, &waiting.mutex);
    pthread_mutex_unlock(&waiting.mutex);
    if (waiting.result)
        bench_fail("page", waiting.result);
}

static void measure(struct sherd_system *system, enum sherd_look_kind kind,
                    struct sherd_look_options options)
{
    uint64_t here = reset_peak(getpid()), there = reset_peak(children[0]);
    uint64_t begin = bench_now_ns(), slowest = 0;
    uint64_t rows = 0, missing = 0, pages = 0;
    char name[64];

    options.count = options.order ? SHERD_LOOK_ROWS_MAX / 2 : SHERD_LOOK_ROWS_MAX;
    options.timeout_ms = 30000;
    do {
        uint64_t before = bench_now_ns();

        page(system, kind, &options);
        options.cursor = (struct sherd_bytes){waiting.next, waiting.next_size};
        rows += waiting.rows;
        missing += waiting.missing;
        pages++;
        if (bench_now_ns() - before > slowest)
            slowest = bench_now_ns() - before;
    } while (waiting.next_size);
    snprintf(name, sizeof name, "%s%s%s", sherd_look_kind_text(kind), options.order ? " by " : "",
             options.order ? options.order : "");
    printf("%-22s %9llu %7llu %8llu %10.1f %10.1f %10lld %10lld\n", name, (unsigned long long)rows,
           (unsigned long long)pages, (unsigned long long)missing,
           (double)(bench_now_ns() - begin) / 1e6, (double)slowest / 1e6,
           (long long)(peak_of(getpid()) - here), (long long)(peak_of(children[0]) - there));
    fflush(stdout);
}

static void measure_all(struct sherd_system *system)
{
    static const struct sherd_look_options all;

    printf("%-22s %9s %7s %8s %10s %10s %10s %10s\n", "look", "rows", "pages", "missing", "ms",
           "page ms", "KiB here", "KiB there");
    for (uint32_t kind = 0; kind < SHERD_LOOK_KIND_COUNT; kind++) {
        struct sherd_look_options options = all;

        if (kind == SHERD_LOOK_ENTITY) {
            options.type = "T0";
            options.entity = "e0";
        }
        measure(system, (enum sherd_look_kind)kind, options);
    }
    measure(system, SHERD_LOOK_SHARDS, (struct sherd_look_options){.order = "entities"});
    measure(system, SHERD_LOOK_ENTITIES, (struct sherd_look_options){.order = "mailbox"});
    measure(system, SHERD_LOOK_ENTITIES, (struct sherd_look_options){.order = "idleMs"});
}

/* ---- entities ---- */

static uint64_t entities_seen(struct sherd_system *system)
{
    uint32_t count;
    const struct sherd_look_column *columns = sherd_look_columns(SHERD_LOOK_TYPES, &count);

    waiting.column = 0;
    while (strcmp(columns[waiting.column].name, "entities"))
        waiting.column++;
    waiting.sum = 0;
    page(system, SHERD_LOOK_TYPES,
         &(struct sherd_look_options){.count = SHERD_LOOK_ROWS_MAX, .timeout_ms = 30000});
    return waiting.sum;
}

static void start_entities(struct sherd_system *system)
{
    for (uint32_t i = 0; i < entity_count; i++) {
        char name[16], id[16];
        int error;

        name_type(name, i % type_count);
        snprintf(id, sizeof id, "e%u", i / type_count);
        while ((error = sherd_system_entity_tell(system, name, id, COUNT, nothing)) == SHERD_EFULL)
            usleep(PAUSE_US);
        if (error)
            bench_fail("tell", error);
    }
    while (entities_seen(system) < entity_count)
        usleep(10 * PAUSE_US);
}

int main(int argc, char **argv)
{
    struct sherd_system *system;
    uint64_t begin = bench_now_ns();
    uint16_t seed;

    if (argc != 5) {
        fprintf(stderr, "usage: looks NODES TYPES SHARDS ENTITIES\n");
        return 2;
    }
    node_count = (uint32_t)strtoul(argv[1], NULL, 10);
    type_count = (uint32_t)strtoul(argv[2], NULL, 10);
    shard_count = (uint32_t)strtoul(argv[3], NULL, 10);
    entity_count = (uint32_t)strtoul(argv[4], NULL, 10);
    if (node_count < 2 || node_count > NODES_MAX || !type_count || type_count > TYPES_MAX)
        bench_fail("2 to 64 nodes, 1 to 16 types", SHERD_EINVAL);
    seed = start_child(0, 0);
    for (uint32_t i = 1; i + 1 < node_count; i++)
        start_child(i, seed);
    system = start_node(seed);
    bench_wait_members(system, node_count);
    start_entities(system);
    printf("%u nodes, %u shards, %u entities, ready after %.1f s\n", node_count,
           type_count * shard_count, entity_count, (double)(bench_now_ns() - begin) / 1e9);
    measure_all(system);
    sherd_close(system);
    end_children();
    return 0;
}
