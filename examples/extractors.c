/* Groups the carts of a shop by tenant: an extractor finds the cart in a message to the region, and
 * names the shard after the tenant. So all carts of a tenant live and move together. */
#include <sherd/sherd.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ADD = 1, OTHER };

struct cart {
    int articles;
};

/* A message ADD is a text, "TENANT/CART ARTICLE". */
static int cart_of(void *user, struct sherd_extracted *message)
{
    const char *text = message->body.data;
    const char *end = text ? memchr(text, ' ', message->body.size) : NULL;

    (void)user;
    if (message->msg != ADD || !end || end - text > SHERD_ID_MAX)
        return 0;
    memcpy(message->id, text, (size_t)(end - text));
    message->id[end - text] = 0;
    message->body.size -= (size_t)(end + 1 - text); /* the cart gets the article alone */
    message->body.data = end + 1;
    return 1;
}

/* The id alone decides: a start of a cart has no message. */
static int tenant_of(void *user, const struct sherd_extracted *message,
                     char shard[SHERD_SHARD_MAX + 1])
{
    size_t size = strcspn(message->id, "/");

    (void)user;
    memcpy(shard, message->id, size); /* an id is no longer than a shard's */
    shard[size] = 0;
    return 1;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct cart *cart = self;
    char text[400];

    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    cart->articles++;
    snprintf(text, sizeof text, "%.*s is article %d of cart %s in shard %s", (int)msg->body.size,
             (const char *)msg->body.data, cart->articles, (const char *)sherd_id(ctx).data,
             sherd_shard_id(ctx));
    sherd_reply(ctx, ADD, (struct sherd_bytes){ text, strlen(text) });
    return SHERD_CONTINUE;
}

static struct sherd_system *start(void)
{
    const struct sherd_options options = { .port = SHERD_PORT_ANY,
                                           .alone = 1,
                                           .log_level = SHERD_LOG_WARNING };
    const struct sherd_extractor extractor = { .entity = cart_of, .shard = tenant_of };
    const struct sherd_entity_type carts = {
        .name = "Cart",
        .shards = 100, /* at most so many tenants */
        .extractor = &extractor,
        .behavior = { .name = "cart", .state_size = sizeof(struct cart), .receive = receive },
    };
    struct sherd_system *system;

    if (sherd_open(&system, &options))
        return NULL;
    if (sherd_entity_register(system, &carts) || sherd_start(system)) {
        sherd_close(system);
        return NULL;
    }
    while (!sherd_is_ready(system))
        nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    return system;
}

/* Asks, and prints how it ends. Returns 0 if there is an answer. */
static int ask(struct sherd_client *client, struct sherd_request request)
{
    struct sherd_completion done;
    int failed;

    request.timeout_ms = 10000;
    if (sherd_client_ask(client, &request, NULL) || sherd_client_poll(client, &done, 1, -1) != 1)
        return 1;
    failed = done.status != SHERD_CLIENT_ANSWERED;
    if (failed)
        printf("%s: %s\n", sherd_client_status_text(done.status), sherd_reason_text(done.reason));
    else
        printf("%.*s\n", (int)done.body.size, (const char *)done.body.data);
    sherd_completions_free(&done, 1);
    return failed;
}

static int tell_cart(struct sherd_client *client, uint32_t msg, const char *text)
{
    return ask(client, (struct sherd_request){ .region = "Cart",
                                               .msg = msg,
                                               .body = { text, strlen(text) } });
}

int main(void)
{
    struct sherd_system *system = start();
    struct sherd_client *client = NULL;
    struct sherd_entity_ref cart;
    int failed = !system || sherd_client_open(&client, system, NULL);

    if (!failed) {
        failed = tell_cart(client, ADD, "acme/17 anvil") || tell_cart(client, ADD, "acme/17 rope") ||
                 tell_cart(client, ADD, "globex/4 pump");
        failed |= !tell_cart(client, OTHER, "acme/17 what"); /* the extractor refuses it */
    }
    if (!failed && !sherd_entity_ref_make(&cart, "Cart", "acme/18", NULL)) {
        printf("started in shard ");
        failed = ask(client, (struct sherd_request){ .entity = &cart, .start = 1 });
    }
    (void)sherd_client_close(client);
    sherd_close(system);
    return failed;
}
