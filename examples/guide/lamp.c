/* Shows settings in code, an ask that is repeated, and the counters of a node.   lamp [FILE.conf] */
/* [run] */
#include <sherd/sherd.h>

#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

enum { SWITCH_ON = 1, IS_ON };
static struct sherd_system *node;
static const struct sherd_bytes nothing;
static atomic_int lit; /* 1: the lamp has answered; -1: it has not, after all tries */

static enum sherd_next lamp(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    if (msg->kind == SHERD_MESSAGE && msg->msg == SWITCH_ON) {
        *(int *)self = 1;
        sherd_reply(ctx, IS_ON, nothing);
    }
    return SHERD_CONTINUE;
}

/* [retry] */
/* Switches a lamp on, in at most five tries. `self` counts them. */
static enum sherd_next user(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    int *tries = self;

    if (msg->kind == SHERD_ANSWER)
        lit = 1;
    if (msg->kind == SHERD_NO_ANSWER) /* `where` is the node that was asked */
        sherd_log(ctx, SHERD_LOG_WARNING, "lamp not switched on reason=%s stage=%s node=%s",
                  sherd_reason_text(msg->reason), sherd_stage_text(msg->stage), msg->where);
    if (msg->kind != SHERD_STARTED && msg->kind != SHERD_NO_ANSWER)
        return SHERD_STOP;
    if (++*tries > 5) {
        lit = -1;
        return SHERD_STOP;
    }
    sherd_entity_ask(ctx, "Lamp", "kitchen", SWITCH_ON, nothing, 0, 2000);
    return SHERD_CONTINUE;
}
/* [retry end] */

/* [watch] */
static void print_counters(void)
{
    struct sherd_status status;

    if (sherd_get_status(node, &status))
        return; /* a lane did not answer within 5 s, or the node has ended */
    for (int i = 1; i < SHERD_REASON_COUNT; i++)
        if (status.undelivered[i])
            printf("undelivered: %s: %llu\n", sherd_reason_text((enum sherd_reason)i),
                   (unsigned long long)status.undelivered[i]);
    for (int i = 0; i < SHERD_COUNTER_COUNT; i++)
        if (status.counters[i])
            printf("%s: %llu\n", sherd_counter_text((enum sherd_counter)i),
                   (unsigned long long)status.counters[i]);
    sherd_status_free(&status);
}
/* [watch end] */

int main(int argc, char **argv)
{
    const char *file = argc > 1 ? argv[1] : NULL;
    /* [options] */
    const struct sherd_options options = {
        .config_file = file,
        .config_text = "sherd.slow-handler.report-after = 50 ms", /* wins over the file */
        .alone = 1, .port = SHERD_PORT_ANY, /* win over file, text and environment */
    };
    /* [options end] */
    const struct sherd_entity_type type = {
        .name = "Lamp", .behavior = { .name = "lamp", .state_size = sizeof(int), .receive = lamp }
    };
    const struct sherd_behavior asker = { .name = "user", .state_size = sizeof(int), .receive = user };
    int error = sherd_open(&node, &options);

    if (!error)
        error = sherd_entity_register(node, &type);
    if (!error)
        error = sherd_start(node);
    if (!error)
        error = sherd_system_spawn(node, &asker, nothing, NULL);
    while (!error && !lit)
        nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000 * 1000 }, NULL);
    if (!error) {
        print_counters();
        sherd_leave(node);
        error = sherd_wait(node);
    }
    if (error)
        fprintf(stderr, "lamp: %s\n", sherd_strerror(error));
    sherd_close(node);
    return error || lit != 1;
}
