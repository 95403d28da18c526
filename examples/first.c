/* Counts clicks in an entity whose events are stored. Run it twice.
 *   first [sqlite:PATH] */
#include <sherd/sherd.h>

#include <stdio.h>
#include <string.h>

enum { CLICK = 1, CLICKS };
static struct sherd_system *node;
static const struct sherd_bytes nothing;

/* Changes the entity's state: when an event is stored, and in recovery. */
static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)event; /* a click has no data */
    *(int *)self += type == CLICK;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    if (msg->kind == SHERD_MESSAGE && msg->msg == CLICK) {
        sherd_persist(ctx, CLICK, nothing);
        /* The reply leaves after the event is durable. */
        sherd_reply(ctx, CLICKS, (struct sherd_bytes){ self, sizeof(int) });
    }
    return SHERD_CONTINUE;
}

/* An actor that asks the entity, on whichever node the entity runs. */
static enum sherd_next user(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED) {
        sherd_entity_ask(ctx, "Counter", "clicks", CLICK, nothing, 1, 5000);
        return SHERD_CONTINUE;
    }
    if (msg->kind == SHERD_ANSWER)
        printf("clicks: %d\n", *(const int *)msg->body.data);
    else
        printf("no answer: %s\n", sherd_reason_text(msg->reason));
    sherd_leave(node);
    return SHERD_STOP;
}

int main(int argc, char **argv)
{
    struct sherd_options options = {
        .alone = 1, /* or .seed_nodes, to join a cluster */
        .journal = argc > 1 ? argv[1] : "sqlite:first.db",
        .log_level = SHERD_LOG_WARNING,
    };
    struct sherd_entity_type counter = {
        .name = "Counter",
        .behavior = { "counter", sizeof(int), receive, apply, NULL, 0 } };
    struct sherd_behavior asker = { "user", 0, user, NULL, NULL, 0 };

    if (argc > 2 || (argc > 1 && argv[1][0] == '-')) {
        int help = !strcmp(argv[1], "--help");
        fprintf(help ? stdout : stderr, "usage: first [sqlite:PATH]\n");
        return help ? 0 : 2;
    }
    if (sherd_open(&node, &options) || sherd_entity_register(node, &counter) ||
        sherd_start(node) || sherd_system_spawn(node, &asker, nothing, NULL))
        return 1;
    int error = sherd_wait(node);
    sherd_close(node);
    return error != 0;
}
