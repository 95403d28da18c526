/* Starts two nodes in one process, registers an entity type while they run, prints which node hosts
 * which shards, and then moves all shards away from one node that stays a member. */
#include <sherd/sherd.h>

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { GREET = 1 };

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *entity, const struct sherd_msg *msg)
{
    (void)ctx;
    (void)entity;
    (void)msg;
    return SHERD_CONTINUE;
}

static const struct sherd_entity_type greeter = {
    .name = "Greeter",
    .behavior = { .name = "greeter", .receive = receive },
    .shards = 6,
};

/* port 0: the node founds the cluster, else it joins the node at that port. */
static struct sherd_system *start(uint16_t port)
{
    char seed[32];
    const char *seeds[] = { seed, NULL };
    const struct sherd_options options = {
        .port = SHERD_PORT_ANY,
        .alone = !port,
        .seed_nodes = port ? seeds : NULL,
        .log_level = SHERD_LOG_WARNING,
        .config_text = "akka.cluster.sharding.rebalance-interval = 200ms",
    };
    struct sherd_system *node;

    snprintf(seed, sizeof seed, "127.0.0.1:%u", (unsigned)port);
    if (sherd_open(&node, &options))
        return NULL;
    if (sherd_start(node)) {
        sherd_close(node);
        return NULL;
    }
    while (!sherd_is_ready(node))
        pause_ms(10);
    return node;
}

/* Returns how many of the regions have shards. */
static uint32_t print(struct sherd_system *node, int is_shown)
{
    struct sherd_regions found;
    uint32_t hosts = 0;

    if (sherd_get_cluster_stats(node, greeter.name, 0, &found))
        return 0; /* a region did not answer in time */
    for (uint32_t i = 0; i < found.region_count; i++) {
        hosts += found.regions[i].shard_count > 0;
        if (is_shown)
            printf("  a node with %" PRIu32 " shards\n", found.regions[i].shard_count);
    }
    sherd_regions_free(&found);
    return hosts;
}

static _Atomic int has_stopped;

static void stopped(void *user, int result)
{
    (void)user;
    has_stopped = result ? -1 : 1;
}

/* Wakes an entity in each shard until so many nodes host shards. */
static void spread(struct sherd_system *node, uint32_t hosts)
{
    char id[16];

    while (print(node, 0) != hosts) {
        for (int i = 0; i < 60; i++) {
            snprintf(id, sizeof id, "g%d", i);
            if (sherd_system_entity_tell(node, greeter.name, id, GREET, (struct sherd_bytes){ 0 }))
                return;
        }
        pause_ms(100);
    }
}

int main(void)
{
    struct sherd_system *first = start(0);
    struct sherd_system *second = first ? start(sherd_port(first)) : NULL;
    int failed = !second || sherd_entity_register(first, &greeter) ||
                 sherd_entity_register(second, &greeter);

    if (!failed) {
        spread(first, 2);
        printf("registered on two nodes that run:\n");
        print(first, 1);
        failed = sherd_region_shutdown(second, greeter.name, stopped, NULL);
    }
    if (!failed) {
        while (!has_stopped)
            pause_ms(10);
        spread(second, 1); /* the second node still sends */
        printf("after the shutdown of one region:\n");
        print(second, 1);
    }
    if (second) {
        sherd_leave(second);
        (void)sherd_wait(second);
    }
    sherd_close(second);
    sherd_close(first);
    return failed || has_stopped < 0;
}
