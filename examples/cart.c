/* Keeps a shopping cart in an N/R/W store without locks, and merges siblings: values that several
 * nodes wrote at the same time.
 *
 *   cart PORT [HOST:PORT] ITEM...   joins the cluster of HOST:PORT, or founds one. Puts the items
 *                                   into the cart, and prints the cart whenever it changes, until
 *                                   SIGINT or SIGTERM */
#include <sherd/sherd.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK = 1, FOUND, WRITTEN };
enum { CART_MAX = 1000 };

static char **items; /* the cart gets these; the last one is null */
static struct sherd_ref store;
static struct sherd_system *node;

struct cart {
    char text[CART_MAX];    /* the items, sorted, with a blank after each */
    char printed[CART_MAX]; /* the text that was printed last */
};

/* Inserts an item at its place in the sorted text. Ignores an item that is in the cart, or that
 * does not fit. */
static void add(char *cart, const char *item, size_t size)
{
    char *at = cart;

    while (*at && strncmp(at, item, size) < 0)
        at = strchr(at, ' ') + 1;
    if ((!strncmp(at, item, size) && at[size] == ' ') ||
        strlen(cart) + size + 2 > CART_MAX)
        return;
    memmove(at + size + 1, at, strlen(at) + 1);
    memcpy(at, item, size);
    at[size] = ' ';
}

/* Makes the cart the union of all siblings and of this node's items. Writes the cart back if it
 * differs from the stored value, or if there was not exactly one. The context of the read tells the
 * store which siblings the new value replaces. */
static void merge(struct sherd_ctx *ctx, struct cart *cart, const struct sherd_msg *msg)
{
    struct sherd_bytes value, found = { "", 0 };
    size_t at = 0;
    int siblings = 0;

    cart->text[0] = 0;
    for (; sherd_store_next(msg, &at, &value); siblings++) {
        const char *text = value.data, *end = text + value.size, *blank;

        found = value;
        for (; (blank = memchr(text, ' ', (size_t)(end - text))) != NULL; text = blank + 1)
            add(cart->text, text, (size_t)(blank - text));
    }
    for (char **item = items; *item; item++)
        add(cart->text, *item, strlen(*item));
    if (strcmp(cart->text, cart->printed) != 0)
        printf("cart: %s\n", strcpy(cart->printed, cart->text));
    fflush(stdout);
    value = (struct sherd_bytes){ cart->text, strlen(cart->text) };
    if ((siblings != 1 || found.size != value.size || memcmp(found.data, value.data, value.size) != 0) &&
        sherd_store_put(ctx, store, "cart", sherd_store_context(msg), value, NULL, WRITTEN))
        fprintf(stderr, "cart: the store refuses the value\n");
}

/* [store] */
static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    const struct sherd_store_settings settings = { .name = "carts", .replicas = 3, .read = 2, .write = 2 };

    if (msg->kind == SHERD_STARTED && sherd_store_open(ctx, &settings, &store))
        return SHERD_STOP;
    if (msg->kind == SHERD_TIMER && sherd_store_get(ctx, store, "cart", NULL, FOUND))
        return SHERD_STOP;
    if (msg->kind == SHERD_ANSWER && msg->tag == FOUND &&
        (msg->msg == SHERD_STORE_FOUND || msg->msg == SHERD_STORE_NOT_FOUND))
        merge(ctx, self, msg); /* after any other answer, such as too few nodes, it reads again */
    if (msg->kind == SHERD_STARTED || msg->tag == FOUND)
        sherd_timer(ctx, LOOK, 300);
    return SHERD_CONTINUE;
}
/* [store end] */

static void on_signal(int number)
{
    (void)number;
    sherd_leave(node);
}

static void handle_signals(void (*handler)(int))
{
    /* sigaction cannot fail for these two signals. */
    (void)sigaction(SIGINT, &(struct sigaction){ .sa_handler = handler }, NULL);
    (void)sigaction(SIGTERM, &(struct sigaction){ .sa_handler = handler }, NULL);
}

int main(int argc, char **argv)
{
    static const struct sherd_behavior shopper = { .name = "shopper", .state_size = sizeof(struct cart), .receive = receive };
    int joins = argc > 2 && strchr(argv[2], ':') != NULL;
    const char *seeds[] = { joins ? argv[2] : NULL, NULL };
    struct sherd_options options = { .log_level = SHERD_LOG_WARNING, .alone = !joins, .seed_nodes = joins ? seeds : NULL };
    unsigned long port = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
    int help = argc > 1 && !strcmp(argv[1], "--help");

    if (!port || port > UINT16_MAX) {
        fprintf(help ? stdout : stderr, "usage: cart PORT [HOST:PORT] ITEM...\n");
        return help ? 0 : 2;
    }
    options.port = (uint16_t)port;
    items = argv + (joins ? 3 : 2);
    if (sherd_open(&node, &options))
        return 1;
    int error = sherd_start(node);
    if (!error)
        error = sherd_system_spawn(node, &shopper, (struct sherd_bytes){ NULL, 0 }, NULL);
    if (!error) {
        handle_signals(on_signal);
        error = sherd_wait(node);
        handle_signals(SIG_DFL);
    }
    sherd_close(node);
    return error != 0;
}
