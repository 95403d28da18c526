/* Does slow work in a job: an entity counts primes on a thread of the pool, and answers other
 * messages during the count.
 *
 *   primes [BELOW]
 *
 * In the entity's handler, the count would block every entity of the lane. */
#include <sherd/sherd.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1, HELLO, COUNTED, BUSY }; /* messages */
enum { PRIMES = 1 };                      /* the tag of its jobs */

static struct sherd_system *node;
static const struct sherd_bytes nothing;

/* The input and the result of a job. Only the job uses this memory while it runs. */
struct primes {
    uint32_t below; /* 0 after the count: there was no memory for it */
    uint32_t count;
};

static void count_primes(void *arg)
{
    struct primes *primes = arg;
    char *composite = calloc(primes->below, 1);

    for (uint64_t i = 2; composite && i < primes->below; i++) {
        if (composite[i])
            continue;
        primes->count++;
        for (uint64_t j = i * i; j < primes->below; j += i)
            composite[j] = 1;
    }
    if (!composite)
        primes->below = 0;
    free(composite);
}

static void start_counting(struct sherd_ctx *ctx, struct sherd_bytes body)
{
    static const struct sherd_job job = { "primes", count_primes, free };
    struct primes *primes = calloc(1, sizeof *primes);

    if (primes)
        memcpy(&primes->below, body.data, sizeof primes->below);
    /* sherd_job_start takes primes over, also when it returns an error. */
    if (!primes || sherd_job_start(ctx, &job, primes, PRIMES))
        sherd_reply(ctx, BUSY, nothing);
}

static enum sherd_next mathematician(struct sherd_ctx *ctx, void *self,
                                     const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE && msg->msg == COUNT)
        start_counting(ctx, msg->body); /* the reply follows with SHERD_JOB */
    if (msg->kind == SHERD_MESSAGE && msg->msg == HELLO)
        sherd_reply(ctx, HELLO, nothing);
    if (msg->kind == SHERD_JOB) {
        const struct primes *primes = sherd_job_arg(msg);

        sherd_reply(ctx, COUNTED,
                    (struct sherd_bytes){ primes, sizeof *primes });
    }
    return SHERD_CONTINUE;
}

static void print(const struct sherd_msg *msg)
{
    struct primes primes;

    if (msg->kind == SHERD_NO_ANSWER) {
        printf("no answer: %s\n", sherd_reason_text(msg->reason));
    } else if (msg->msg == COUNTED) {
        memcpy(&primes, msg->body.data, sizeof primes);
        printf("%lu primes below %lu\n", (unsigned long)primes.count,
               (unsigned long)primes.below);
    } else {
        printf("%s\n", msg->msg == HELLO ? "hello" : "too busy");
    }
}

/* An actor that asks for the count, and right away for a greeting. */
static enum sherd_next user(struct sherd_ctx *ctx, void *self,
                            const struct sherd_msg *msg)
{
    int *answers = self;

    if (msg->kind == SHERD_STARTED) {
        sherd_entity_ask(ctx, "Mathematician", "eratosthenes", COUNT,
                         msg->body, 1, 600000);
        sherd_entity_ask(ctx, "Mathematician", "eratosthenes", HELLO, nothing,
                         2, 600000);
    } else if (msg->kind == SHERD_ANSWER || msg->kind == SHERD_NO_ANSWER) {
        print(msg);
        if (++*answers == 2)
            sherd_leave(node);
    }
    return SHERD_CONTINUE;
}

int main(int argc, char **argv)
{
    const struct sherd_options options = { .alone = 1,
                                           .port = SHERD_PORT_ANY,
                                           .log_level = SHERD_LOG_WARNING };
    const struct sherd_entity_type type = {
        .name = "Mathematician",
        .behavior = { .name = "mathematician", .receive = mathematician } };
    const struct sherd_behavior asker = { .name = "user",
                                          .state_size = sizeof(int),
                                          .receive = user };
    char *end = NULL;
    unsigned long given = argc > 1 ? strtoul(argv[1], &end, 10) : 10000000;
    uint32_t below = (uint32_t)given;
    int error;

    if (argc > 2 || (end && (*end || !given || given > 1000000000))) {
        int help = argc == 2 && !strcmp(argv[1], "--help");

        fprintf(help ? stdout : stderr, "usage: primes [BELOW]\n");
        return help ? 0 : 2;
    }
    if (sherd_open(&node, &options) || sherd_entity_register(node, &type) ||
        sherd_start(node) ||
        sherd_system_spawn(node, &asker,
                           (struct sherd_bytes){ &below, sizeof below }, NULL))
        return 1;
    error = sherd_wait(node);
    sherd_close(node);
    return error != 0;
}
