/* Runs a node whose entities, and the instance of a singleton, write down when they start, handle a
 * message, and end.
 *
 *   leased_node PORT SEEDS EVENTS
 *
 * SEEDS is HOST:PORT,HOST:PORT,... in the same order for all nodes. Each node sends a message to all
 * entities of the type "Pump" every 50 ms. The instance, "desk", sends one to itself as often. EVENTS is a file that all nodes of a host append lines to:
 * "NS PORT ID WHAT", with the monotonic clock; WHAT is "start", "run" or "end". Prints the log.
 * SIGTERM means a graceful end. */
#define _GNU_SOURCE
#include <sherd/sherd.h>
#include <sherd/singleton.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SEEDS_MAX = 16, PUMPS = 32, SHARDS = 16, INTERVAL_NS = 50 * 1000 * 1000 };
enum { RUN = 1 };

static struct sherd_system *node;
static const struct sherd_bytes nothing;
static int events;
static int port;

struct pump {
    char id[16];
};

static void write_down(const struct pump *pump, const char *what)
{
    struct timespec now;
    char line[80];
    int size;

    clock_gettime(CLOCK_MONOTONIC, &now);
    size = snprintf(line, sizeof line, "%lld%09ld %d %s %s\n", (long long)now.tv_sec, now.tv_nsec, port,
                    pump->id, what);
    if (write(events, line, (size_t)size) != size)
        abort(); /* the test would miss it */
}

static enum sherd_next pump(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct pump *pump = self;

    if (msg->kind == SHERD_STARTED) {
        struct sherd_bytes id = sherd_id(ctx);

        (void)snprintf(pump->id, sizeof pump->id, "%.*s", (int)id.size, (const char *)id.data);
        write_down(pump, "start");
    } else if (msg->kind == SHERD_MESSAGE) {
        write_down(pump, "run");
    }
    return SHERD_CONTINUE;
}

static void release(void *self)
{
    write_down(self, "end");
}

static enum sherd_next desk(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct pump *pump = self;

    if (msg->kind == SHERD_STARTED) {
        (void)snprintf(pump->id, sizeof pump->id, "desk");
        write_down(pump, "start");
    } else if (msg->kind == SHERD_TIMER) {
        write_down(pump, "run");
    }
    sherd_timer(ctx, 1, INTERVAL_NS / 1000000);
    return SHERD_CONTINUE;
}

/* Opens the singleton. */
static enum sherd_next opener(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    const struct sherd_singleton singleton = {
        .name = "desk",
        .behavior = { .name = "desk", .state_size = sizeof(struct pump), .receive = desk,
                      .release = release },
    };
    struct sherd_ref ref;

    (void)self;
    if (msg->kind == SHERD_STARTED && sherd_singleton_open(ctx, &singleton, &ref))
        abort();
    return SHERD_CONTINUE;
}

static void *tell_all(void *argument)
{
    (void)argument;
    for (;;) {
        for (int i = 0; i < PUMPS; i++) {
            char id[16];

            (void)snprintf(id, sizeof id, "pump-%d", i);
            if (sherd_system_entity_tell(node, "Pump", id, RUN, nothing))
                break; /* the node has ended */
        }
        nanosleep(&(struct timespec){ .tv_nsec = INTERVAL_NS }, NULL);
    }
    return NULL;
}

/* No thread may use a node that has not started. */
static void begin_to_tell(void *argument)
{
    static const struct sherd_behavior behavior = { .name = "opener", .receive = opener };
    pthread_t teller;

    if (sherd_system_spawn(node, &behavior, nothing, NULL) != 0 ||
        pthread_create(&teller, NULL, tell_all, argument) != 0)
        abort();
}

static void split(char *text, const char **seeds)
{
    int count = 0;

    for (char *one = strtok(text, ","); one && count < SEEDS_MAX; one = strtok(NULL, ","))
        seeds[count++] = one;
    seeds[count] = NULL;
}

int main(int argc, char **argv)
{
    const char *seeds[SEEDS_MAX + 1] = { NULL };
    const struct sherd_entity_type type = {
        .name = "Pump",
        .behavior = { .name = "pump", .state_size = sizeof(struct pump), .receive = pump,
                      .release = release },
        .shards = SHARDS,
    };
    struct sherd_options options = { .seed_nodes = seeds };
    int error;

    if (argc != 4) {
        fprintf(stderr, "usage: leased_node PORT SEEDS EVENTS\n");
        return 2;
    }
    port = atoi(argv[1]);
    options.port = (uint16_t)port;
    split(argv[2], seeds);
    events = open(argv[3], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    error = events < 0 ? SHERD_ESYSTEM : sherd_open(&node, &options);
    if (!error)
        error = sherd_entity_register(node, &type);
    if (!error)
        error = sherd_on_up(node, begin_to_tell, NULL);
    if (!error)
        error = sherd_run(node);
    if (error)
        fprintf(stderr, "leased_node: %s\n", sherd_strerror(error));
    return error != 0; /* the process ends, and with it the teller */
}
