/* Lets a customer take an order twice and pay a merchant for it once.
 *   payments */
/* [run] */
#include <sherd/sherd.h>

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { PAY = 1, PAID, ACCEPTED }; /* messages */
enum { SPENT = 1, EARNED };       /* events */
static const struct sherd_bytes price = { "25", 2 };
static atomic_int payments; /* handled by the merchant */

/* [customer] */
static enum sherd_next customer(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE && msg->msg == PAY) {
        /* [once] */
        if (sherd_once(ctx, msg->body) != SHERD_ONCE_NEW) /* the body is the order's id */
            return SHERD_CONTINUE; /* the library has repeated the reply */
        /* [once end] */
        sherd_persist(ctx, SPENT, price);
        sherd_deliver(ctx, "Merchant", "m7", PAID, price, 0);
        sherd_reply(ctx, ACCEPTED, msg->body);
    }
    return SHERD_CONTINUE;
}
/* [customer end] */

/* [merchant] */
static enum sherd_next merchant(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE && msg->msg == PAID) {
        sherd_persist(ctx, EARNED, msg->body);
        payments++;
    }
    return SHERD_CONTINUE;
}
/* [merchant end] */

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)self;
    (void)type;
    (void)event;
}

static const struct sherd_entity_type types[] = {
    { .name = "Customer", .behavior = { .name = "customer", .receive = customer, .apply = apply },
      .remember = 1 },
    { .name = "Merchant", .behavior = { .name = "merchant", .receive = merchant, .apply = apply } },
};

/* Asks alice to pay for that order. Returns 0 if she accepts. */
static int pay(struct sherd_client *client, const char *order)
{
    struct sherd_entity_ref alice;
    struct sherd_request request = { .entity = &alice, .msg = PAY, .timeout_ms = 10000,
                                     .body = { order, strlen(order) } };
    struct sherd_completion done;
    int error = sherd_entity_ref_make(&alice, "Customer", "alice", NULL);

    if (!error)
        error = sherd_client_ask(client, &request, NULL);
    if (error)
        return error;
    sherd_client_poll(client, &done, 1, -1); /* each accepted request ends */
    error = done.status != SHERD_CLIENT_ANSWERED || done.msg != ACCEPTED;
    sherd_completions_free(&done, 1);
    return error;
}

int main(void)
{
    const struct sherd_options options = { .alone = 1, .port = SHERD_PORT_ANY,
                                           .journal = "memory" };
    const struct sherd_client_options waits = { .waits_until_up = 1 };
    struct sherd_client *client;
    struct sherd_system *node;
    int error = sherd_open(&node, &options) || sherd_entity_register(node, &types[0]) ||
                sherd_entity_register(node, &types[1]) || sherd_start(node) ||
                sherd_client_open(&client, node, &waits);

    if (error)
        return 1;
    error = pay(client, "order 1") || pay(client, "order 1") || pay(client, "order 2");
    for (int i = 0; i < 1000 && payments < 2; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 10 * 1000 * 1000 }, NULL);
    printf("%d payments\n", payments);
    error = error || payments != 2;
    error = sherd_client_close(client) || error;
    sherd_leave(node);
    error = sherd_wait(node) || error;
    sherd_close(node);
    return error;
}
