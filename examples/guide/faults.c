/* Runs a node that asks an entity each second and gets no answer. docs/guide/finding-faults.md finds
 * out why, with the command sherd alone. SIGINT ends it.
 *
 *   faults misspelt|blocked|waiting|rejected */
#include <sherd/http.h>
#include <sherd/sherd.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { ADD = 1, ADDED };

static const char *fault;
static volatile sig_atomic_t is_over;
static int knows_event = 1; /* of this release of the program */

static void end(int number)
{
    (void)number;
    is_over = 1;
}

static void pause_ms(long ms)
{
    (void)nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static const char *apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)event;
    if (!knows_event)
        return "this release does not know the event 1";
    *(int *)self += type == ADD;
    return NULL;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    while (!is_over && strcmp(fault, "blocked") == 0)
        pause_ms(100); /* an endless loop, or a call that does not return */
    sherd_persist(ctx, ADD, (struct sherd_bytes){ 0 });
    sherd_reply(ctx, ADDED, (struct sherd_bytes){ self, sizeof(int) });
    return strcmp(fault, "rejected") == 0 ? SHERD_STOP : SHERD_CONTINUE;
}

static void ask(struct sherd_client *client)
{
    struct sherd_entity_ref cart;
    struct sherd_request request = { .entity = &cart, .msg = ADD, .timeout_ms = 1000 };
    struct sherd_completion done;
    const char *type = strcmp(fault, "misspelt") == 0 ? "Crat" : "Cart";
    int error = sherd_entity_ref_make(&cart, type, "cart-1", NULL);

    if (error == 0)
        error = sherd_client_ask(client, &request, NULL);
    if (error) {
        printf("%s/cart-1: %s\n", type, sherd_strerror(error));
        return;
    }
    if (sherd_client_poll(client, &done, 1, 3000) != 1) {
        printf("%s/cart-1: no answer\n", type);
        return;
    }
    printf("%s/cart-1: %s\n", type, sherd_client_status_text(done.status));
    knows_event = 0;
    sherd_completions_free(&done, 1);
}

static int run(struct sherd_system *node)
{
    struct sherd_client_options options = { 0 };
    struct sherd_client *client;
    struct sherd_entity_type cart = {
        .name = "Cart",
        .behavior = { .name = "cart", .state_size = sizeof(int), .receive = receive, .apply_checked = apply },
    };
    int error = sherd_entity_register(node, &cart);

    if (error == 0)
        error = sherd_start(node);
    if (error == 0)
        error = sherd_client_open(&client, node, &options);
    if (error)
        return error;
    while (!is_over) {
        ask(client);
        (void)fflush(stdout);
        pause_ms(1000);
    }
    return sherd_client_close(client);
}

int main(int count, char **arguments)
{
    struct sherd_options options = { .name = "Faults", .alone = 1, .lanes = 2, .journal = "memory", .log_level = SHERD_LOG_ERROR,
                                     .port = SHERD_PORT_ANY };
    struct sherd_system *node;
    int error;

    fault = count == 2 ? arguments[1] : "";
    if (strcmp(fault, "waiting") == 0)
        options.config_text = "sherd.cluster.min-nr-of-members = 3";
    else if (strcmp(fault, "misspelt") != 0 && strcmp(fault, "blocked") != 0 && strcmp(fault, "rejected") != 0) {
        (void)fputs("usage: faults misspelt|blocked|waiting|rejected\n", stderr);
        return 2;
    }
    (void)signal(SIGINT, end);
    (void)signal(SIGTERM, end);
    error = sherd_http_register();
    if (error == 0)
        error = sherd_open(&node, &options);
    if (error == 0) {
        error = run(node);
        sherd_close(node);
    }
    if (error)
        (void)fprintf(stderr, "faults: %s\n", sherd_strerror(error));
    return error != 0;
}
