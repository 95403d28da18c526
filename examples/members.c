/* Joins a cluster and prints every cluster event, until SIGINT (Ctrl-C) or SIGTERM.
 *
 *   members HOST:PORT [SEED...]    for example: members 127.0.0.1:25521 127.0.0.1:25520
 *                                  Without a seed it founds a cluster. */
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
    (void)fflush(stdout); /* so that the reader of a pipe sees the line now */
    return SHERD_CONTINUE;
}

static struct sherd_system *system_here;

static void on_signal(int number)
{
    (void)number;
    sherd_leave(system_here);
}

static void handle_signals(void (*handler)(int))
{
    struct sigaction action = { .sa_handler = handler };

    (void)sigaction(SIGINT, &action, NULL); /* cannot fail for these signals */
    (void)sigaction(SIGTERM, &action, NULL);
}

/* Starts the node and waits until it has left the cluster. */
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
                                   (struct sherd_bytes){ NULL, 0 }, NULL);
    if (error == 0) {
        handle_signals(on_signal);
        error = sherd_wait(system_here);
        handle_signals(SIG_DFL);
    }
    sherd_close(system_here);
    return error;
}

/* Reads HOST:PORT into the options. Returns 0 if the text has another form. */
static int read_address(struct sherd_options *options, char *text)
{
    char *colon = strrchr(text, ':');
    char *end = text;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;

    if (text[0] == '-' || !colon || *end || port < 1 || port > UINT16_MAX)
        return 0;
    *colon = 0;
    options->host = text;
    options->port = (uint16_t)port;
    return 1;
}

int main(int argc, char **argv)
{
    struct sherd_options options = { .log_level = SHERD_LOG_WARNING };
    int help = argc > 1 && !strcmp(argv[1], "--help");
    int error;

    if (help || argc < 2 || !read_address(&options, argv[1])) {
        fprintf(help ? stdout : stderr,
                "usage: members HOST:PORT [SEED...]\n");
        return help ? 0 : 2;
    }
    options.alone = argc == 2;
    options.seed_nodes = argc > 2 ? (const char *const *)(argv + 2) : NULL;
    error = run(&options);
    if (error != 0)
        fprintf(stderr, "members: %s\n", sherd_strerror(error));
    return error != 0;
}
