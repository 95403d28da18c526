/* Runs the Counter of Akka's sharding documentation: an entity that counts, answers with its value,
 * passivates on request, and receives a stop message before it ends.
 *
 *   counter    one node, without configuration
 *
 * A message names an entity by its type and id. The first message starts the entity, on the node
 * that owns its shard. */
#include <sherd/sherd.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { INCREMENT = 1, GET_VALUE, IDLE, GOODBYE_COUNTER, VALUE };

struct counter {
    uint32_t value;
};

static enum sherd_next counter_receive(struct sherd_ctx *ctx, void *self,
                                       const struct sherd_msg *msg)
{
    struct counter *counter = self;

    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    switch (msg->msg) {
    case INCREMENT:
        counter->value++;
        return SHERD_CONTINUE;
    case GET_VALUE:
        sherd_reply(ctx, VALUE,
                    (struct sherd_bytes){ &counter->value,
                                          sizeof counter->value });
        return SHERD_CONTINUE;
    case IDLE:
        sherd_passivate(ctx); /* the entity then receives GOODBYE_COUNTER */
        return SHERD_CONTINUE;
    case GOODBYE_COUNTER:
        printf("%s says goodbye at %" PRIu32 "\n",
               (const char *)sherd_id(ctx).data, counter->value);
        return SHERD_STOP;
    default:
        return SHERD_CONTINUE;
    }
}

/* An actor that is not sharded: it sends messages to the entity and prints the answer. */
static enum sherd_next user_receive(struct sherd_ctx *ctx, void *self,
                                    const struct sherd_msg *msg)
{
    const struct sherd_bytes nothing = { NULL, 0 };
    struct sherd_system **system = self;
    uint32_t value = 0;

    switch (msg->kind) {
    case SHERD_STARTED:
        memcpy(system, msg->body.data, sizeof *system);
        for (int i = 0; i < 3; i++)
            sherd_entity_tell(ctx, "Counter", "counter-1", INCREMENT, nothing);
        sherd_entity_ask(ctx, "Counter", "counter-1", GET_VALUE, nothing, 1,
                         10000);
        return SHERD_CONTINUE;
    case SHERD_ANSWER:
        memcpy(&value, msg->body.data, sizeof value);
        printf("counter-1 is at %" PRIu32 "\n", value);
        sherd_entity_tell(ctx, "Counter", "counter-1", IDLE, nothing);
        sherd_leave(*system);
        return SHERD_STOP;
    case SHERD_NO_ANSWER:
        printf("no answer: %s, %s\n", sherd_reason_text(msg->reason),
               sherd_stage_text(msg->stage));
        sherd_halt(*system);
        return SHERD_STOP;
    default:
        return SHERD_CONTINUE;
    }
}

int main(int argc, char **argv)
{
    const struct sherd_options options = { .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .log_level = SHERD_LOG_WARNING };
    const struct sherd_entity_type counter = {
        .name = "Counter",
        .behavior = { .name = "counter",
                      .state_size = sizeof(struct counter),
                      .receive = counter_receive },
        .stop_msg = GOODBYE_COUNTER,
    };
    const struct sherd_behavior user = { .name = "user",
                                         .state_size = sizeof(void *),
                                         .receive = user_receive };
    struct sherd_system *system = NULL;
    int error;

    if (argc > 1) {
        int help = !strcmp(argv[1], "--help");

        fprintf(help ? stdout : stderr, "usage: counter\n");
        return help ? 0 : 2;
    }
    error = sherd_open(&system, &options);
    if (!error)
        error = sherd_entity_register(system, &counter);
    if (!error)
        error = sherd_start(system);
    if (!error)
        error = sherd_system_spawn(
            system, &user,
            (struct sherd_bytes){ &system, sizeof system }, NULL);
    if (!error)
        error = sherd_wait(system);
    if (error)
        fprintf(stderr, "counter: %s\n", sherd_strerror(error));
    sherd_close(system);
    return error != 0;
}
