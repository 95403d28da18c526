/* Asks entities from threads of the program, in the ways that docs/guide/clients.md shows. */
/* [run] */
#include <sherd/sherd.h>

#include <poll.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADD = 1, TOTAL, NAME, SILENT };

static const struct sherd_bytes nothing;

static void check(int error)
{
    if (!error)
        return;
    fprintf(stderr, "clients: %s\n", sherd_strerror(error));
    exit(1);
}

static enum sherd_next cart(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    uint32_t *items = self;

    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == ADD) {
        ++*items;
        sherd_reply(ctx, TOTAL, (struct sherd_bytes){ items, sizeof *items });
    } else if (msg->msg == NAME) {
        /* [self] */
        struct sherd_entity_ref ref;
        char text[SHERD_ENTITY_REF_TEXT_MAX];

        if (sherd_entity_ref_self(ctx, &ref) == 0) {
            int size = sherd_entity_ref_text(&ref, text, sizeof text);

            sherd_reply(ctx, NAME, (struct sherd_bytes){ text, (size_t)size });
        }
        /* [self end] */
    }
    return SHERD_CONTINUE;
}

/* Asks the entity whose reference is in the body of its first message. */
static enum sherd_next courier(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE) {
        /* [parse] */
        struct sherd_entity_ref ref;

        if (sherd_entity_ref_parse(&ref, msg->body) == 0)
            sherd_entity_ref_tell(ctx, &ref, ADD, (struct sherd_bytes){ NULL, 0 });
        /* [parse end] */
        sherd_reply(ctx, ADD, nothing);
    }
    return SHERD_CONTINUE;
}

static void use(const struct sherd_completion *done)
{
    uint32_t total = 0;

    if (done->status == SHERD_CLIENT_ANSWERED && done->msg == TOTAL)
        memcpy(&total, done->body.data, sizeof total);
    printf("%s: %s %u\n", (const char *)done->user, sherd_client_status_text(done->status), total);
}

/* ---- one after the other ---- */

static void ask_once(struct sherd_system *system)
{
    /* [ask] */
    struct sherd_client *client;
    struct sherd_entity_ref cart;
    struct sherd_request request = { .entity = &cart, .msg = ADD, .timeout_ms = 5000, .user = "alice" };
    struct sherd_completion done;
    uint64_t id;

    check(sherd_client_open(&client, system, NULL));
    check(sherd_entity_ref_make(&cart, "cart", "alice", NULL));
    check(sherd_client_ask(client, &request, &id));
    if (sherd_client_poll(client, &done, 1, -1) == 1) {
        use(&done);
        sherd_completions_free(&done, 1);
    }
    sherd_client_close(client);
    /* [ask end] */
}

/* ---- an event loop ---- */

static void loop(struct sherd_client *client, int left)
{
    /* [loop] */
    struct pollfd fds[] = { { .fd = sherd_client_fd(client), .events = POLLIN } };

    while (left > 0 && poll(fds, 1, -1) > 0) {
        struct sherd_completion done[16];
        uint32_t count = sherd_client_poll(client, done, 16, 0);

        for (uint32_t i = 0; i < count; i++)
            use(&done[i]);
        sherd_completions_free(done, count);
        left -= (int)count;
    }
    /* [loop end] */
}

static void ask_many(struct sherd_system *system)
{
    struct sherd_client *client;
    struct sherd_entity_ref ref;
    struct sherd_request request = { .entity = &ref, .timeout_ms = 5000, .user = "many" };
    char name[16];
    uint64_t id;

    check(sherd_client_open(&client, system, NULL));
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "customer-%d", i);
        check(sherd_entity_ref_make(&ref, "cart", name, NULL));
        request.msg = i ? ADD : SILENT;
        check(sherd_client_ask(client, &request, i ? NULL : &id));
    }
    /* [cancel] */
    if (sherd_client_cancel(client, id) != 0)
        printf("it has ended already\n");
    /* [cancel end] */
    loop(client, 3);
    sherd_client_close(client);
}

/* ---- callbacks ---- */

static void on_done(void *user, const struct sherd_completion *completion)
{
    use(completion);
    sem_post(user);
}

static void ask_with_callback(struct sherd_system *system)
{
    struct sherd_client *client;
    struct sherd_entity_ref cart;
    sem_t ended;

    sem_init(&ended, 0, 0);
    check(sherd_entity_ref_make(&cart, "cart", "bob", NULL));
    /* [callback] */
    struct sherd_client_options options = { .waits_until_up = 1, .done = on_done, .done_user = &ended };

    check(sherd_client_open(&client, system, &options));
    /* [callback end] */
    check(sherd_client_ask(
        client,
        &(struct sherd_request){ .entity = &cart, .msg = ADD, .timeout_ms = 5000, .user = "bob" },
        NULL));
    while (sem_wait(&ended) != 0)
        ;
    sherd_client_close(client);
    sem_destroy(&ended);
}

/* ---- actors ---- */

static void ask_actor(struct sherd_system *system)
{
    static const struct sherd_behavior behavior = { .name = "courier", .receive = courier };
    struct sherd_client *client;
    struct sherd_completion done;
    struct sherd_request request = { .msg = ADD, .timeout_ms = 5000, .user = "courier" };

    check(sherd_client_open(&client, system, NULL));
    request.body = (struct sherd_bytes){ "cart/alice", 10 };
    /* [actor] */
    check(sherd_system_spawn(system, &behavior, nothing, &request.actor));
    check(sherd_client_ask(client, &request, NULL));
    /* [actor end] */
    if (sherd_client_poll(client, &done, 1, -1) == 1) {
        use(&done);
        sherd_completions_free(&done, 1);
    }
    /* [stop] */
    struct sherd_completion last[16];
    uint32_t count;

    sherd_client_stop(client);
    while ((count = sherd_client_poll(client, last, 16, 0)) > 0) {
        for (uint32_t i = 0; i < count; i++)
            use(&last[i]);
        sherd_completions_free(last, count);
    }
    sherd_client_close(client);
    /* [stop end] */
}

static void ask_for_name(struct sherd_system *system)
{
    struct sherd_client *client;
    struct sherd_entity_ref ref;
    struct sherd_completion done;

    check(sherd_client_open(&client, system, NULL));
    check(sherd_entity_ref_make(&ref, "cart", "alice", NULL));
    check(sherd_client_ask(
        client, &(struct sherd_request){ .entity = &ref, .msg = NAME, .timeout_ms = 5000 }, NULL));
    if (sherd_client_poll(client, &done, 1, -1) == 1) {
        printf("%.*s\n", (int)done.body.size, (const char *)done.body.data);
        sherd_completions_free(&done, 1);
    }
    sherd_client_close(client);
}

int main(void)
{
    const struct sherd_options options = { .alone = 1, .port = SHERD_PORT_ANY, .log_level = SHERD_LOG_WARNING };
    const struct sherd_entity_type type = {
        .name = "cart",
        .behavior = { .name = "cart", .state_size = sizeof(uint32_t), .receive = cart }
    };
    struct sherd_system *system;

    check(sherd_open(&system, &options));
    check(sherd_entity_register(system, &type));
    check(sherd_start(system));
    ask_with_callback(system); /* it waits until the node is up */
    while (!sherd_is_ready(system))
        poll(NULL, 0, 10);
    ask_once(system);
    ask_many(system);
    ask_actor(system);
    ask_for_name(system);
    sherd_close(system);
    return 0;
}
