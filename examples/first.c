/* Counts clicks in an entity whose events are stored. Run it twice.
 *   first [sqlite:PATH] */
#include <sherd/sherd.h>

#include <stdio.h>
#include <string.h>

enum { CLICK = 1, CLICKS };
static struct sherd_system *node;

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
        sherd_persist(ctx, CLICK, (struct sherd_bytes){ 0 });
        /* The reply leaves after the event is durable. */
        sherd_reply(ctx, CLICKS, (struct sherd_bytes){ self, sizeof(int) });
    }
    return SHERD_CONTINUE;
}

/* Asks the entity, on whichever node it runs, and waits for the answer. */
static int click(void)
{
    struct sherd_client_options options = { .waits_until_up = 1 };
    struct sherd_client *client;
    struct sherd_entity_ref clicks;
    struct sherd_request request = { .entity = &clicks, .msg = CLICK, .timeout_ms = 5000 };
    struct sherd_completion done;

    if (sherd_client_open(&client, node, &options) ||
        sherd_entity_ref_make(&clicks, "Counter", "clicks", NULL) ||
        sherd_client_ask(client, &request, NULL))
        return 1;
    sherd_client_poll(client, &done, 1, -1); /* each accepted request ends */
    if (done.status == SHERD_CLIENT_ANSWERED)
        printf("clicks: %d\n", *(const int *)done.body.data);
    else
        printf("no answer: %s\n", sherd_client_status_text(done.status));
    sherd_completions_free(&done, 1);
    return sherd_client_close(client);
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
        .behavior = { .name = "counter", .state_size = sizeof(int),
                      .receive = receive, .apply = apply } };

    if (argc > 2 || (argc > 1 && argv[1][0] == '-')) {
        int help = !strcmp(argv[1], "--help");
        fprintf(help ? stdout : stderr, "usage: first [sqlite:PATH]\n");
        return help ? 0 : 2;
    }
    if (sherd_open(&node, &options) || sherd_entity_register(node, &counter) ||
        sherd_start(node) || click())
        return 1;
    sherd_leave(node);
    int error = sherd_wait(node);
    sherd_close(node);
    return error != 0;
}
