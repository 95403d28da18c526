/* Spreads workers over the cluster. Each of them runs all the time, on one node.
 *
 *   daemons HOST:PORT COUNT [SEED...]   for example: daemons 127.0.0.1:25521 4 127.0.0.1:25520
 *                                       Without a seed it founds a cluster. Ends at Ctrl-C.
 *
 * The node that starts last decides how many workers there are: it changes their number to COUNT.
 * A worker here only says that it starts and ends; a real one would read its part of a queue. */
#include <sherd/sherd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *own_address;
static uint32_t wanted;

static enum sherd_next worker_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct sherd_daemon *place = self;

    if (msg->kind == SHERD_STARTED) {
        (void)sherd_daemon(ctx, place); /* 1: it is a daemon */
        printf("starts %u revision %u %s\n", place->number, place->revision,
               own_address);
    } else if (msg->kind == SHERD_STOPPING) {
        printf("ends %u revision %u %s\n", place->number, place->revision,
               own_address);
    }
    (void)fflush(stdout); /* so that the reader of a pipe sees the line now */
    return SHERD_CONTINUE;
}

/* [daemons] */
/* The same on all nodes; `count` holds until the first change. */
static const struct sherd_daemons workers = {
    .name = "workers",
    .count = 1,
    .behavior = { .name = "worker",
                  .state_size = sizeof(struct sherd_daemon),
                  .receive = worker_receive },
    .keep_alive_ms = 1000,
};
/* [daemons end] */

/* Opens the daemons on this node, and changes their number. Its state is their reference. */
static enum sherd_next manager_receive(struct sherd_ctx *ctx, void *self,
                                       const struct sherd_msg *msg)
{
    struct sherd_ref *ref = self;

    switch (msg->kind) {
    case SHERD_STARTED:
        if (sherd_daemons_open(ctx, &workers, ref) != 0)
            return SHERD_FAIL;
        break;
    case SHERD_ANSWER:
        if (msg->msg == SHERD_DAEMONS_CHANGED) {
            printf("changed %u\n", wanted);
            (void)fflush(stdout);
            return SHERD_CONTINUE;
        }
        sherd_timer(ctx, 0, 500); /* another change is being made */
        return SHERD_CONTINUE;
    case SHERD_NO_ANSWER:
    case SHERD_TIMER:
        break;
    default:
        return SHERD_CONTINUE;
    }
    sherd_daemons_set_count(ctx, *ref, wanted, 0, 10000);
    return SHERD_CONTINUE;
}

static void on_up(void *user)
{
    static const struct sherd_behavior manager = {
        .name = "manager",
        .state_size = sizeof(struct sherd_ref),
        .receive = manager_receive,
    };

    if (sherd_system_spawn(user, &manager, (struct sherd_bytes){ NULL, 0 }, NULL) != 0)
        sherd_leave(user);
}

/* Reads HOST:PORT into the options. Returns 0 if the text has another form. */
static int read_address(struct sherd_options *options, char *host, char *text)
{
    char *colon = strrchr(text, ':');
    char *end = text;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;

    if (text[0] == '-' || !colon || *end || port < 1 || port > UINT16_MAX ||
        colon - text > 255)
        return 0;
    memcpy(host, text, (size_t)(colon - text));
    options->host = host;
    options->port = (uint16_t)port;
    return 1;
}

static int run(const struct sherd_options *options)
{
    struct sherd_system *system;
    struct sherd_daemons_type type;
    int error = sherd_open(&system, options);

    if (error == 0)
        error = sherd_daemons_type(&workers, &type);
    if (error == 0)
        error = sherd_entity_register(system, &type.type);
    if (error == 0)
        error = sherd_on_up(system, on_up, system);
    if (error == 0)
        error = sherd_run(system);
    sherd_close(system);
    return error;
}

int main(int argc, char **argv)
{
    struct sherd_options options = { .log_level = SHERD_LOG_WARNING };
    char host[256] = "";
    int help = argc > 1 && !strcmp(argv[1], "--help");
    int error;

    wanted = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 0;
    if (help || !wanted || wanted > SHERD_DAEMONS_COUNT_MAX ||
        !read_address(&options, host, argv[1])) {
        fprintf(help ? stdout : stderr,
                "usage: daemons HOST:PORT COUNT [SEED...]\n");
        return help ? 0 : 2;
    }
    own_address = argv[1];
    options.alone = argc == 3;
    options.seed_nodes = argc > 3 ? (const char *const *)(argv + 3) : NULL;
    error = run(&options);
    if (error != 0)
        fprintf(stderr, "daemons: %s\n", sherd_strerror(error));
    return error != 0;
}
