/* Numbers tickets: one desk in the cluster gives them out, and every node asks it.
 *
 *   singleton HOST:PORT [SEED...]   for example: singleton 127.0.0.1:25521 127.0.0.1:25520
 *                                   Without a seed it founds a cluster. Ends at Ctrl-C.
 *
 * The desk is a singleton: it runs on the oldest member. When that one leaves, the desk ends there
 * and starts on the next one. It begins again at ticket 1, because its state does not move. */
#include <sherd/sherd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICKET = 1, CLOSE };

static const char *own_address;

static void say(const char *what, unsigned number)
{
    printf("%s %u %s\n", what, number, own_address);
    (void)fflush(stdout); /* so that the reader of a pipe sees the line now */
}

/* [desk] */
/* The desk's state is the number of the last ticket. */
static enum sherd_next desk_receive(struct sherd_ctx *ctx, void *self,
                                    const struct sherd_msg *msg)
{
    unsigned *last = self;

    if (msg->kind == SHERD_STARTED)
        say("opens", *last);
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == CLOSE) { /* the desk's stop_msg */
        say("closes", *last);
        return SHERD_STOP;
    }
    ++*last;
    sherd_reply(ctx, TICKET, (struct sherd_bytes){ last, sizeof *last });
    return SHERD_CONTINUE;
}
/* [desk end] */

/* A visitor: its state is the reference of the desk, which stays valid when the desk moves. */
static enum sherd_next visitor_receive(struct sherd_ctx *ctx, void *self,
                                       const struct sherd_msg *msg)
{
    /* [open] */
    static const struct sherd_singleton desk = {
        .name = "desk",
        .behavior = { .name = "desk",
                      .state_size = sizeof(unsigned),
                      .receive = desk_receive },
        .stop_msg = CLOSE,
    };
    struct sherd_ref *ref = self;
    unsigned number;

    switch (msg->kind) {
    case SHERD_STARTED:
        if (sherd_singleton_open(ctx, &desk, ref) != 0)
            return SHERD_FAIL;
        sherd_timer(ctx, 0, 100);
        return SHERD_CONTINUE;
    case SHERD_TIMER:
        sherd_ask(ctx, *ref, TICKET, (struct sherd_bytes){ NULL, 0 }, 0, 2000);
        return SHERD_CONTINUE;
        /* [open end] */
    case SHERD_ANSWER:
        memcpy(&number, msg->body.data, sizeof number);
        say("ticket", number);
        sherd_timer(ctx, 0, 100);
        return SHERD_CONTINUE;
    case SHERD_NO_ANSWER: /* perhaps the desk is moving */
        sherd_timer(ctx, 0, 100);
        return SHERD_CONTINUE;
    default:
        return SHERD_CONTINUE;
    }
}

static void on_up(void *user)
{
    static const struct sherd_behavior visitor = {
        .name = "visitor",
        .state_size = sizeof(struct sherd_ref),
        .receive = visitor_receive,
    };

    if (sherd_system_spawn(user, &visitor, (struct sherd_bytes){ NULL, 0 }, NULL) != 0)
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

int main(int argc, char **argv)
{
    /* A killed node is downed after three seconds, if a majority is left. */
    struct sherd_options options = {
        .log_level = SHERD_LOG_WARNING,
        .config_text = "akka.cluster.downing-provider-class = "
                       "akka.cluster.sbr.SplitBrainResolverProvider\n"
                       "akka.cluster.split-brain-resolver.stable-after = 3s",
    };
    char host[256] = "";
    struct sherd_system *system;
    int help = argc > 1 && !strcmp(argv[1], "--help");
    int error;

    if (help || argc < 2 || !read_address(&options, host, argv[1])) {
        fprintf(help ? stdout : stderr,
                "usage: singleton HOST:PORT [SEED...]\n");
        return help ? 0 : 2;
    }
    own_address = argv[1];
    options.alone = argc == 2;
    options.seed_nodes = argc > 2 ? (const char *const *)(argv + 2) : NULL;
    error = sherd_open(&system, &options);
    if (error == 0)
        error = sherd_on_up(system, on_up, system);
    if (error == 0)
        error = sherd_run(system);
    sherd_close(system);
    if (error != 0)
        fprintf(stderr, "singleton: %s\n", sherd_strerror(error));
    return error != 0;
}
