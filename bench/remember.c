/* Measures how long a node with many remembered entities needs after a restart until all entities
 * run without a message.
 *
 *   remember ENTITIES FILE [all|paced|constant] [persist] [moved]
 *
 * FILE is a new journal. With persist, each entity has one event of 100 bytes and recovers it
 * before it runs. With moved, the second start has one shard less, so that nearly all entities are
 * in other shards than before. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "systems.h"

#define SHARDS 100
#define UNDER_WAY_MAX 4000

static uint8_t event[100];
static uint32_t entities;

static void apply(void *self, uint32_t type, struct sherd_bytes bytes)
{
    (void)type;
    (void)bytes;
    ++*(uint32_t *)self;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->body.size)
        sherd_persist(ctx, 1, msg->body);
    sherd_reply(ctx, msg->msg, (struct sherd_bytes){NULL, 0});
    return SHERD_CONTINUE;
}

/* Sends one message to each entity. */
struct driver {
    uint32_t sent, answered;
};

static int persists;

static enum sherd_next on_driver(struct sherd_ctx *ctx, void *self,
                                 const struct sherd_msg *msg)
{
    struct driver *driver = self;
    char id[32];

    driver->answered += msg->kind == SHERD_MESSAGE;
    for (; driver->sent < entities &&
           driver->sent - driver->answered < UNDER_WAY_MAX;
         driver->sent++) {
        bench_id_put(id, driver->sent);
        sherd_entity_tell(ctx, "Kept", id, 1,
                          (struct sherd_bytes){event, persists ? sizeof event : 0});
    }
    if (driver->answered == entities)
        bench_finish();
    return SHERD_CONTINUE;
}

static struct sherd_system *open_kept(const char *file, const char *strategy,
                                      uint32_t shards)
{
    static char journal[500];
    static char config[200];
    const struct sherd_options options = {
        .port = SHERD_PORT_ANY,
        .alone = 1,
        .journal = journal,
        .config_text = config,
        .log_level = SHERD_LOG_ERROR,
    };
    const struct sherd_entity_type type = {
        .name = "Kept",
        .behavior = {.name = "kept",
                     .state_size = sizeof(uint32_t),
                     .receive = receive,
                     .apply = persists ? apply : NULL},
        .shards = shards,
        .remember = 1,
    };

    /* the open fails if it was cut off */
    (void)snprintf(journal, sizeof journal, "sqlite:%s", file);
    (void)snprintf(config, sizeof config,
                   "akka.cluster.sharding.entity-recovery-strategy = %s",
                   strategy);
    return bench_open_system(&options, &type);
}

static uint64_t running(struct sherd_system *system)
{
    struct sherd_status status;
    uint64_t count = 0;

    if (sherd_get_status(system, &status) == 0) {
        count = status.types[0].entities_here;
        sherd_status_free(&status);
    }
    return count;
}

/* Prints the usage and returns the exit status. */
static int tell_usage(int help)
{
    (void)fprintf(
        help ? stdout : stderr,
        "usage: remember ENTITIES NEW-FILE [all|paced|constant] [persist] "
        "[moved]\n");
    return help ? 0 : 2;
}

static int has_word(int argc, char **argv, const char *word)
{
    for (int i = 4; i < argc; i++)
        if (strcmp(argv[i], word) == 0)
            return 1;
    return 0;
}

static int are_usable(int argc, char **argv)
{
    if (argc < 3 || argc > 6 || atoi(argv[1]) <= 0 ||
        access(argv[2], F_OK) == 0)
        return 0;
    if (argc > 3 && strcmp(argv[3], "all") != 0 &&
        strcmp(argv[3], "paced") != 0 && strcmp(argv[3], "constant") != 0)
        return 0;
    return argc <= 4 + has_word(argc, argv, "persist") +
                       has_word(argc, argv, "moved");
}

int main(int argc, char **argv)
{
    const char *strategy = argc > 3 ? argv[3] : "all";
    struct sherd_system *system;
    struct rusage usage;
    uint64_t began;
    uint32_t shards = SHARDS;

    if (!are_usable(argc, argv))
        return tell_usage(argc == 2 && strcmp(argv[1], "--help") == 0);
    entities = (uint32_t)atoi(argv[1]);
    persists = has_word(argc, argv, "persist");
    system = open_kept(argv[2], strategy, shards);
    bench_wait_members(system, 1);
    began = bench_now_ns();
    bench_run_actor(system, "driver", sizeof(struct driver), on_driver);
    printf("first messages of %u entities: %.2f s\n", entities,
           (double)(bench_now_ns() - began) / 1e9);
    sherd_close(system);
    shards -= (uint32_t)has_word(argc, argv, "moved");
    began = bench_now_ns();
    system = open_kept(argv[2], strategy, shards);
    while (running(system) < entities)
        usleep(2000);
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("restart with %u shards, strategy %s: all entities run after %.2f s, peak memory of the process %ld MiB\n",
           shards, strategy, (double)(bench_now_ns() - began) / 1e9, usage.ru_maxrss / 1024);
    sherd_close(system);
    return 0;
}
