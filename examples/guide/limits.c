/* Limits the active entities of a type: at most ten, later two. */
#include <sherd/sherd.h>

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { VISIT = 1, VISITS = 30 };
static const struct sherd_bytes nothing;
static atomic_int active, visits;

static enum sherd_next room(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    if (msg->kind == SHERD_STARTED)
        active++;
    if (msg->kind == SHERD_MESSAGE)
        visits++;
    if (msg->kind == SHERD_STOPPING)
        active--;
    return SHERD_CONTINUE;
}

/* Waits up to 10 s until at most that many rooms are active. */
static int wait_for(int wanted, int most)
{
    for (int i = 0; i < 1000; i++) {
        if (visits == wanted && active <= most)
            return 0;
        nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000 * 1000 }, NULL);
    }
    fprintf(stderr, "limits: %d rooms are active, not %d\n", active, most);
    return 1;
}

static int visit(struct sherd_system *system)
{
    char id[16];
    int error = 0;

    for (int i = 0; i < VISITS && !error; i++) {
        (void)snprintf(id, sizeof id, "room-%d", i);
        error = sherd_system_entity_tell(system, "Room", id, VISIT, nothing);
    }
    return error;
}

int main(void)
{
    const struct sherd_options options = { .alone = 1, .port = SHERD_PORT_ANY,
                                           .journal = "memory" };
    /* [type] */
    const struct sherd_passivation strategy = {
        .strategy = "default-strategy", /* begins with the numbers of this section */
        .replacement = { .policy = SHERD_LEAST_FREQUENTLY_USED, .dynamic_aging = 1 }
    };
    const struct sherd_entity_type type = {
        .name = "Room", .behavior = { .name = "room", .receive = room }, .shards = 1,
        .passivation = &strategy, .active_entity_limit = 10
    };
    /* [type end] */
    struct sherd_system *system;
    int wrong = 1, error = sherd_open(&system, &options);

    if (!error)
        error = sherd_entity_register(system, &type);
    if (!error)
        error = sherd_start(system);
    if (!error)
        error = visit(system);
    if (!error)
        wrong = wait_for(VISITS, 10);
    if (!error && !wrong) {
        /* [change] */
        error = sherd_set_active_limit(system, "Room", 2, 0); /* 0: no limit of bytes */
        /* [change end] */
        if (!error)
            wrong = wait_for(VISITS, 2);
        sherd_leave(system);
        if (!error)
            error = sherd_wait(system);
    }
    if (error)
        fprintf(stderr, "limits: %s\n", sherd_strerror(error));
    sherd_close(system);
    return error || wrong;
}
