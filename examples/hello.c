/* Greets people through a persistent entity that stores their names. Akka's sharding
 * documentation calls this entity HelloWorld.
 *
 *   hello [PATH]    greets and prints. The events are in the SQLite journal at PATH (default:
 *                   hello.db), so the next run knows the same people. If the last folder of PATH
 *                   is missing, it is created.
 *
 * The entity changes its state only in hello_apply, which runs when an event is stored and again in
 * recovery. The entity's answer leaves after the event is durable. */
#include <sherd/sherd.h>

#include <stdio.h>
#include <string.h>

enum { GREET = 1, GREETING };
enum { GREETED = 1 };

#define PEOPLE_MAX 100
#define NAME_MAX 32

/* The entity's state: the people whom it has greeted. */
struct hello {
    char people[PEOPLE_MAX][NAME_MAX];
    int count;
};

static int knows(const struct hello *hello, struct sherd_bytes name)
{
    for (int i = 0; i < hello->count; i++)
        if (strlen(hello->people[i]) == name.size &&
            !memcmp(hello->people[i], name.data, name.size))
            return 1;
    return 0;
}

static void hello_apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct hello *hello = self;

    if (type == GREETED && hello->count < PEOPLE_MAX && event.size < NAME_MAX)
        memcpy(hello->people[hello->count++], event.data, event.size);
}

static enum sherd_next hello_receive(struct sherd_ctx *ctx, void *self,
                                     const struct sherd_msg *msg)
{
    struct hello *hello = self;

    if (msg->kind == SHERD_MESSAGE && msg->msg == GREET) {
        if (!knows(hello, msg->body))
            sherd_persist(ctx, GREETED, msg->body);
        sherd_reply(ctx, GREETING,
                    (struct sherd_bytes){ &hello->count, sizeof hello->count });
    }
    return SHERD_CONTINUE;
}

static const char *const names[] = { "Ada", "Grace", "Barbara", "Ada" };

static enum sherd_next user_receive(struct sherd_ctx *ctx, void *self,
                                    const struct sherd_msg *msg)
{
    struct sherd_system **system = self;
    int count = 0;

    if (msg->kind == SHERD_STARTED) {
        memcpy(system, msg->body.data, sizeof *system);
        for (uint32_t i = 0; i < 4; i++)
            sherd_entity_ask(
                ctx, "HelloWorld", "world", GREET,
                (struct sherd_bytes){ names[i], strlen(names[i]) }, i, 10000);
        return SHERD_CONTINUE;
    }
    if (msg->kind == SHERD_ANSWER) {
        memcpy(&count, msg->body.data, sizeof count);
        printf("Hello, %s! People known: %d\n", names[msg->tag], count);
    } else if (msg->kind == SHERD_NO_ANSWER) {
        printf("no answer for %s: %s, %s\n", names[msg->tag],
               sherd_reason_text(msg->reason), sherd_stage_text(msg->stage));
    } else {
        return SHERD_CONTINUE;
    }
    if (msg->tag == 3) /* the last: answers of one entity arrive in order */
        sherd_leave(*system);
    return SHERD_CONTINUE;
}

/* Returns -1 if the command line is valid: at most `most` words, and no option. Otherwise prints
 * the usage and returns the exit status. */
static int usage_status(int argc, char **argv, int most, const char *usage)
{
    int help = argc > 1 && !strcmp(argv[1], "--help");

    if (argc <= most && (argc < 2 || (argv[1][0] && argv[1][0] != '-')))
        return -1;
    fprintf(help ? stdout : stderr, "usage: %s\n", usage);
    return help ? 0 : 2;
}

int main(int argc, char **argv)
{
    char journal[4096];
    struct sherd_options options = { .alone = 1,
                                     .port = SHERD_PORT_ANY,
                                     .log_level = SHERD_LOG_WARNING };
    const struct sherd_entity_type hello = {
        .name = "HelloWorld",
        .behavior = { .name = "hello",
                      .state_size = sizeof(struct hello),
                      .receive = hello_receive,
                      .apply = hello_apply },
    };
    const struct sherd_behavior user = { .name = "user",
                                         .state_size = sizeof(void *),
                                         .receive = user_receive };
    struct sherd_system *system = NULL;
    int error = usage_status(argc, argv, 2, "hello [PATH]");

    if (error >= 0)
        return error;
    snprintf(journal, sizeof journal, "sqlite:%s",
             argc > 1 ? argv[1] : "hello.db");
    options.journal = journal;
    error = sherd_open(&system, &options);
    if (!error)
        error = sherd_entity_register(system, &hello);
    if (!error)
        error = sherd_start(system);
    if (!error)
        error = sherd_system_spawn(
            system, &user, (struct sherd_bytes){ &system, sizeof system }, NULL);
    if (!error)
        error = sherd_wait(system);
    if (error)
        fprintf(stderr, "hello: %s\n", sherd_strerror(error));
    sherd_close(system);
    return error != 0;
}
