/* Keeps the baskets of sessions in distributed data, under keys that expire.
 *
 *   sessions
 *
 * A key expires when no member has used it for two seconds. A member that uses an expired key again
 * within some minutes finds its old items (docs/guide/replicated-data.md explains why). So a new
 * session takes a new key. */
#include <sherd/sherd.h>

#include <stdio.h>
#include <string.h>

enum { PUT = 1, OLD, FRESH };

static struct sherd_system *node;
static int has_expired, is_done;

static void put(struct sherd_ctx *ctx, const char *session, const char *text)
{
    struct sherd_change add = { .verb = SHERD_ADD, .item = sherd_text(text) };

    sherd_data_update(ctx, session, SHERD_OR_SET, &add, 1, NULL, PUT);
}

static void print(const struct sherd_msg *msg)
{
    struct sherd_value *value = sherd_data_value(msg);
    struct sherd_item item;
    uint32_t at = 0;

    printf("%s:", sherd_data_key(msg));
    while (value && sherd_value_next(value, &at, &item))
        printf(" %.*s", (int)item.text.size, (const char *)item.text.data);
    printf("\n");
    sherd_value_free(value);
}

static int follow(struct sherd_ctx *ctx)
{
    return sherd_data_subscribe(ctx, "session-1", OLD) ||
           sherd_data_subscribe(ctx, "session-2", FRESH);
}

static void on_data(struct sherd_ctx *ctx, const struct sherd_msg *msg)
{
    int is_old = msg->tag == OLD;

    if (msg->msg == SHERD_DATA_EXPIRED) {
        printf("%s: expired\n", sherd_data_key(msg));
        has_expired = 1;
        put(ctx, sherd_data_key(msg), "pear"); /* the apple comes back, too */
    } else if (msg->msg == SHERD_DATA_CHANGED) {
        print(msg);
        if (!is_old)
            sherd_leave(node);
        else if (has_expired)
            put(ctx, "session-2", "pear"); /* a new key has only the pear */
        is_done = !is_old;
    } else if (msg->msg != SHERD_DATA_UPDATED) {
        printf("%s: not updated, answer %u\n", sherd_data_key(msg), msg->msg);
    }
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_STARTED) {
        if (follow(ctx))
            return SHERD_FAIL;
        put(ctx, "session-1", "apple");
    } else if (msg->kind == SHERD_DATA && !is_done) {
        on_data(ctx, msg);
    }
    return SHERD_CONTINUE;
}

int main(int argc, char **argv)
{
    static const struct sherd_behavior behavior = { .name = "sessions",
                                                    .receive = receive };
    const struct sherd_options options = {
        .alone = 1,
        .port = SHERD_PORT_ANY,
        .log_level = SHERD_LOG_WARNING,
        /* In production, expire a key only after much more time than any
         * partition lasts. */
        .config_text =
            "akka.cluster.distributed-data {\n"
            "  gossip-interval = 200 ms\n"
            "  expire-keys-after-inactivity { \"session-*\" = 2 s }\n"
            "}\n",
    };
    int error;

    if (argc > 1) {
        int help = !strcmp(argv[1], "--help");

        fprintf(help ? stdout : stderr, "usage: sessions\n");
        return help ? 0 : 2;
    }
    error = sherd_open(&node, &options);
    if (!error)
        error = sherd_start(node);
    if (!error)
        error = sherd_system_spawn(node, &behavior,
                                   (struct sherd_bytes){ NULL, 0 }, NULL);
    if (!error)
        error = sherd_wait(node);
    sherd_close(node);
    if (error)
        fprintf(stderr, "sessions: %s\n", sherd_strerror(error));
    return error != 0;
}
