/* Shares feature flags and a counter between all nodes, as distributed data.
 *
 *   flags                               founds a cluster of one node, switches one flag on, counts
 *                                       one visit, and leaves
 *   flags PORT [HOST:PORT] [FLAG...]    joins the cluster of HOST:PORT, or founds one. Switches
 *                                       these flags on, counts one visit, and prints every change,
 *                                       until SIGINT or SIGTERM */
#include <sherd/sherd.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SWITCHED = 1, COUNTED, FLAGS, VISITS };

static struct sherd_system *node;
static char **wanted; /* the flags to switch on; the last one is null */
static int stays;     /* whether the node runs until a signal */
static int has_begun;

/* An update is answered after a majority of the members has stored it, or after 3 s. */
static const struct sherd_consistency majority = { SHERD_MAJORITY, 0, 3000 };

/* Runs once this node is up. Earlier, this node knows no other member, so it alone would be the
 * majority. */
/* [write] */
static void begin(struct sherd_ctx *ctx)
{
    struct sherd_change visit = { .verb = SHERD_COUNT, .amount = 1 };

    has_begun = 1;
    for (char **flag = wanted; *flag; flag++) {
        struct sherd_change on = { .verb = SHERD_ADD,
                                   .item = sherd_text(*flag) };

        sherd_data_update(ctx, "flags", SHERD_OR_SET, &on, 1, &majority,
                          SWITCHED);
    }
    sherd_data_update(ctx, "visits", SHERD_PN_COUNTER, &visit, 1, &majority,
                      COUNTED);
    if (sherd_data_subscribe(ctx, "flags", FLAGS) ||
        sherd_data_subscribe(ctx, "visits", VISITS))
        fprintf(stderr, "flags: too many subscriptions\n");
}
/* [write end] */

/* [read] */
static void print(const struct sherd_msg *msg)
{
    struct sherd_value *value = sherd_data_value(msg);
    struct sherd_item item;
    uint32_t at = 0;

    if (value && msg->tag == VISITS) {
        printf("visits: %lld\n", (long long)sherd_value_count(value, NULL));
    } else if (value) {
        printf("flags:");
        while (sherd_value_next(value, &at, &item))
            printf(" %.*s", (int)item.text.size, (const char *)item.text.data);
        printf("\n");
    }
    fflush(stdout);
    sherd_value_free(value);
}
/* [read end] */

static void look_for_self(struct sherd_ctx *ctx, const struct sherd_msg *msg)
{
    struct sherd_cluster_event event;
    size_t at = 0;

    while (sherd_cluster_next(msg, &at, &event))
        if (event.member.self && !has_begun)
            begin(ctx);
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED &&
        sherd_cluster_subscribe(ctx, SHERD_EVENT(SHERD_MEMBER_UP),
                                SHERD_EVENTS_FIRST))
        return SHERD_FAIL;
    if (msg->kind == SHERD_CLUSTER)
        look_for_self(ctx, msg);
    if (msg->kind != SHERD_DATA)
        return SHERD_CONTINUE;
    if (msg->msg == SHERD_DATA_CHANGED)
        print(msg);
    else if (msg->msg != SHERD_DATA_UPDATED)
        printf("%s: not updated, answer %u\n", sherd_data_key(msg), msg->msg);
    if (msg->msg == SHERD_DATA_CHANGED && msg->tag == VISITS && !stays)
        sherd_leave(node);
    return SHERD_CONTINUE;
}

static void on_signal(int number)
{
    (void)number;
    sherd_leave(node);
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
    static const struct sherd_behavior behavior = { .name = "flags",
                                                    .receive = receive };
    int error = sherd_open(&node, options);

    if (error)
        return error;
    error = sherd_start(node);
    if (!error)
        error = sherd_system_spawn(node, &behavior,
                                   (struct sherd_bytes){ NULL, 0 }, NULL);
    if (!error) {
        handle_signals(on_signal);
        error = sherd_wait(node);
        handle_signals(SIG_DFL);
    }
    sherd_close(node);
    return error;
}

/* Returns the port, or 0 if the text is not a port. */
static uint16_t read_port(const char *text)
{
    char *end;
    unsigned long port = strtoul(text, &end, 10);

    return text[0] == '-' || *end || port > UINT16_MAX ? 0 : (uint16_t)port;
}

int main(int argc, char **argv)
{
    static char *first[] = { (char *)"dark-mode", NULL };
    const char *seeds[] = { argc > 2 ? argv[2] : NULL, NULL };
    int joins = argc > 2 && strchr(argv[2], ':') != NULL;
    struct sherd_options options = { .log_level = SHERD_LOG_WARNING, .port = SHERD_PORT_ANY };
    int help = argc > 1 && !strcmp(argv[1], "--help");
    int error;

    stays = argc > 1;
    if (stays)
        options.port = read_port(argv[1]);
    if (help || !options.port) {
        fprintf(help ? stdout : stderr,
                "usage: flags [PORT [HOST:PORT] [FLAG...]]\n");
        return help ? 0 : 2;
    }
    options.alone = !joins;
    options.seed_nodes = joins ? seeds : NULL;
    wanted = stays ? argv + (joins ? 3 : 2) : first;
    error = run(&options);
    if (error)
        fprintf(stderr, "flags: %s\n", sherd_strerror(error));
    return error != 0;
}
