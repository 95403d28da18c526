/* Who is in the cluster, as it changes: joins and prints every event until it is told to end (Ctrl-C).
 *
 *   members HOST:PORT [SEED...]    e.g. members 127.0.0.1:25521 127.0.0.1:25520; without seeds a cluster of its own */
#include <sherd/sherd.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum sherd_next listen(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    struct sherd_cluster_event event;
    size_t at = 0;

    (void)self;
    if (msg->kind == SHERD_STARTED &&
        sherd_cluster_subscribe(ctx, SHERD_EVENTS_ALL, SHERD_EVENTS_FIRST) != 0)
        return SHERD_FAIL;
    while (sherd_cluster_next(msg, &at, &event))
        printf("%s %s%s%s\n",
               event.member.address[0] ? event.member.address : "nobody",
               sherd_cluster_event_text(event.kind), event.role[0] ? " " : "",
               event.role);
    (void)fflush(stdout); /* a pipe's reader shall see it at once */
    return SHERD_CONTINUE;
}

static struct sherd_system *system_here;

static void on_signal(int number)
{
    (void)number;
    sherd_leave(system_here);
}

static void obey(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler };

    (void)sigaction(SIGINT, &action, NULL); /* it cannot fail for these two */
    (void)sigaction(SIGTERM, &action, NULL);
}

/* Runs until the node has left. */
static int run(const struct sherd_options *options)
{
    static const struct sherd_behavior listener = { .name = "listener",
                                                    .receive = listen };
    int error = sherd_open(&system_here, options);

    if (error != 0)
        return error;
    error = sherd_start(system_here);
    if (error == 0)
        error = sherd_system_spawn(system_here, &listener,
                                   (struct sherd_bytes){ NULL, 0 });
    if (error == 0) {
        obey(on_signal);
        error = sherd_wait(system_here);
        obey(SIG_DFL);
    }
    sherd_close(system_here);
    return error;
}

int main(int argc, char **argv)
{
    struct sherd_options options = { .log_level = 1 };
    char *colon;
    int error;

    if (argc < 2 || !(colon = strrchr(argv[1], ':'))) {
        fprintf(stderr, "usage: members HOST:PORT [SEED...]\n");
        return 2;
    }
    *colon = 0;
    options.host = argv[1];
    options.port = (uint16_t)strtoul(colon + 1, NULL, 10);
    options.alone = argc == 2;
    options.seed_nodes = argc > 2 ? (const char *const *)(argv + 2) : NULL;
    error = run(&options);
    if (error != 0)
        fprintf(stderr, "members: %s\n", sherd_strerror(error));
    return error != 0;
}
