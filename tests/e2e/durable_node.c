/* Runs a node with the durable key "kept". Adds items to the key, several at a time, and prints
 * each acknowledged item.
 *
 *   durable_node PORT DIRECTORY LEVEL [HOST:PORT]
 *
 * LEVEL is local or majority. The node joins the cluster of HOST:PORT, or founds one.
 *
 * Prints "has ITEM..." when the value changes, "done ITEM" for an acknowledgement, and "late ITEM"
 * for another answer. It begins to add items when it reads a line from its input. */
#include <sherd/sherd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AT_A_TIME = 4 };

#define HAS UINT32_MAX /* tag of the subscription */

static struct sherd_system *node;
static struct sherd_consistency consistency = { SHERD_LOCAL, 0, 10000 };
static unsigned port;
static uint32_t last;

static const char *item_text(uint32_t number)
{
    static char text[32];

    (void)snprintf(text, sizeof text, "%u-%u", port, number); /* fits */
    return text;
}

static void add_next(struct sherd_ctx *ctx)
{
    struct sherd_change change = { .verb = SHERD_ADD };

    last++;
    change.item = sherd_text(item_text(last));
    sherd_data_update(ctx, "kept", SHERD_OR_SET, &change, 1, &consistency,
                      last);
}

static void print_value(const struct sherd_msg *msg)
{
    struct sherd_value *value = sherd_data_value(msg);
    struct sherd_item item;
    uint32_t at = 0;

    printf("has");
    while (value && sherd_value_next(value, &at, &item))
        printf(" %.*s", (int)item.text.size, (const char *)item.text.data);
    printf("\n");
    sherd_value_free(value);
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED) {
        if (sherd_data_subscribe(ctx, "kept", HAS))
            abort();
        for (int i = 0; msg->body.size && i < AT_A_TIME; i++)
            add_next(ctx);
    }
    if (msg->kind == SHERD_DATA && msg->msg == SHERD_DATA_CHANGED) {
        print_value(msg);
    } else if (msg->kind == SHERD_DATA) {
        printf("%s %s\n", msg->msg == SHERD_DATA_UPDATED ? "done" : "late",
               item_text(msg->tag));
        add_next(ctx);
    }
    fflush(stdout);
    return SHERD_CONTINUE;
}

static int run(const struct sherd_options *options)
{
    static const struct sherd_behavior behavior = { .name = "keeper",
                                                    .receive = receive };
    char line[16];
    int error = sherd_open(&node, options);

    if (!error)
        error = sherd_start(node);
    if (!error)
        error = sherd_system_spawn(node, &behavior,
                                   (struct sherd_bytes){ NULL, 0 }, NULL);
    while (!error && fgets(line, sizeof line, stdin))
        error = sherd_system_spawn(node, &behavior,
                                   (struct sherd_bytes){ "go", 2 }, NULL);
    if (!error)
        error = sherd_wait(node);
    sherd_close(node);
    return error;
}

int main(int argc, char **argv)
{
    const char *seeds[] = { argc > 4 ? argv[4] : NULL, NULL };
    struct sherd_options options = { .log_level = SHERD_LOG_WARNING };
    char config[512];
    int error;

    if (argc < 4)
        return 2;
    port = (unsigned)atoi(argv[1]);
    options.port = (uint16_t)port;
    options.alone = argc == 4;
    options.seed_nodes = argc > 4 ? seeds : NULL;
    if (!strcmp(argv[3], "majority"))
        consistency.level = SHERD_MAJORITY;
    (void)snprintf(config, sizeof config,
                   "akka.cluster.distributed-data.durable { keys = [\"kept\"]\n"
                   " lmdb.dir = \"%s\" }",
                   argv[2]); /* sherd_open refuses a text that was cut off */
    options.config_text = config;
    error = run(&options);
    if (error)
        fprintf(stderr, "durable_node: %s\n", sherd_strerror(error));
    return error != 0;
}
