/* Controls pumps, each from one node only, with leases in files:   pumps PORT [HOST:PORT OF A MEMBER]
 * Other nodes of this host run in the same folder, whose files they share. */
/* [run: 65535] */
#include <sherd/sherd.h>

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SWITCH_ON = 1, PUMPS = 20 };
static const struct sherd_bytes nothing;
static atomic_int running;

/* [pump] */
/* Talks to a device that must never have two controllers. */
static enum sherd_next pump(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    int *is_on = self;

    (void)ctx;
    if (msg->kind == SHERD_MESSAGE && msg->msg == SWITCH_ON && !*is_on) {
        *is_on = 1; /* this node has the lease of the pump's shard */
        running++;
    }
    return SHERD_CONTINUE;
}

/* The lease was lost, or the pump ends for another reason: nothing can be sent any more. */
static void disconnect(void *self)
{
    running -= *(int *)self;
}
/* [pump end] */

static int switch_on(struct sherd_system *system)
{
    char id[16];
    int error = 0;

    for (int i = 0; i < PUMPS && !error; i++) {
        (void)snprintf(id, sizeof id, "pump-%d", i);
        error = sherd_system_entity_tell(system, "Pump", id, SWITCH_ON, nothing);
    }
    return error;
}

int main(int argc, char **argv)
{
    const char *seeds[] = { argc > 2 ? argv[2] : NULL, NULL };
    /* [open] */
    const struct sherd_options options = {
        .port = (uint16_t)(argc > 1 ? atoi(argv[1]) : 2551),
        .alone = argc < 3,
        .seed_nodes = seeds,
        .config_text = "akka.cluster.sharding.coordinator-singleton.use-lease = file\n"
                       "sherd.lease.directory = \".\"",
    };
    const struct sherd_entity_type type = {
        .name = "Pump",
        .behavior = { .name = "pump", .state_size = sizeof(int), .receive = pump,
                      .release = disconnect },
        .shards = 20,
        .use_lease = "file", /* default: akka.cluster.sharding.use-lease */
    };
    /* [open end] */
    struct sherd_system *system;
    int error = sherd_open(&system, &options);

    if (!error)
        error = sherd_entity_register(system, &type); /* the log says what is wrong */
    if (!error)
        error = sherd_start(system);
    if (!error)
        error = switch_on(system);
    for (int i = 0; i < 3000 && !error && running < PUMPS; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000 * 1000 }, NULL);
    printf("%d pumps run here\n", running);
    if (!error && argc < 3 && running < PUMPS)
        error = SHERD_ETIME;
    if (system)
        sherd_leave(system);
    if (!error)
        error = sherd_wait(system);
    if (error)
        fprintf(stderr, "pumps: %s\n", sherd_strerror(error));
    if (system)
        sherd_close(system);
    return error != 0;
}
