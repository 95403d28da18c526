/* Invariant I8 under drawn faults: after nodes have crashed, paused, left and been cut off, with a disk that fails, every remembered entity
 * that has answered runs again, once, without a message; what was passivated does not, once its stop is stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sherd/sim.h>

#define IDS 60
#define SEEDS 6

enum { HELLO = 1, LEAVE, END, FAIL };

/* Of one simulation: what the entities say about themselves, and what was asked of them. */
static struct {
    int running[IDS];
    bool has_answered[IDS];
    bool may_leave[IDS]; /* told to passivate; nobody speaks to it any more */
} seen;

struct entity {
    uint32_t number; /* its id's, counted from 1 */
};

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct entity *entity = self;
    const char *id = sherd_id(ctx).data;

    if (msg->kind == SHERD_STARTED) {
        entity->number = 1 + (uint32_t)atoi(id + 1);
        seen.running[entity->number - 1]++;
    }
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == LEAVE)
        sherd_passivate(ctx);
    sherd_reply(ctx, msg->msg, msg->body);
    return msg->msg == END    ? SHERD_STOP
           : msg->msg == FAIL ? SHERD_FAIL
                              : SHERD_CONTINUE;
}

static void release(void *self)
{
    const struct entity *entity = self;

    if (entity->number)
        seen.running[entity->number - 1]--;
}

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)self;
    (void)type;
    (void)event;
}

static void say(struct sherd_sim *sim, uint32_t node, uint32_t number,
                uint32_t msg)
{
    struct sherd_bytes nothing = { NULL, 0 };
    struct sherd_sim_answer answer;
    char id[16];

    (void)snprintf(id, sizeof id, "e%u", number);
    if (sherd_sim_entity_ask(sim, node, "Kept", id, msg, nothing, 3000,
                             &answer))
        return; /* that node is dead */
    seen.has_answered[number] |= answer.reason == SHERD_REASON_NONE;
    seen.may_leave[number] |= msg == LEAVE;
}

/* Faults begin and end meanwhile. */
static void work(struct sherd_sim *sim, uint64_t seed)
{
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t number = (i * 7 + (uint32_t)seed) % IDS;
        uint32_t msg = i % 17 == 3   ? END
                       : i % 23 == 5 ? FAIL
                       : i % 29 == 7 ? LEAVE
                                     : HELLO;

        if (!seen.may_leave[number])
            say(sim, i % 4, number, msg);
        sherd_sim_run(sim, 200);
    }
}

static int test(struct sherd_sim *sim, void *arg)
{
    uint32_t answered = 0;

    memset(&seen, 0, sizeof seen);
    work(sim, sherd_sim_seed(sim));
    if (sherd_sim_heal(sim, 600000))
        return -1;
    sherd_sim_run(sim, 120000); /* what failed is tried again, who ended starts again */
    for (uint32_t i = 0; i < IDS; i++) {
        answered += seen.has_answered[i];
        if (seen.running[i] > 1 ||
            (!seen.running[i] && seen.has_answered[i] && !seen.may_leave[i]))
            return fprintf(stderr, "e%u runs %d times, answered=%d left=%d\n",
                           i, seen.running[i], seen.has_answered[i],
                           seen.may_leave[i]);
    }
    if (answered < IDS / 2)
        return -1; /* then it shows nothing */
    *(uint32_t *)arg += answered;
    return 0;
}

static void run(const struct sherd_entity_type *type, int in_data)
{
    struct sherd_sim_options options = { .nodes = 4,
                                         .types = type,
                                         .type_count = 1,
                                         .faults = SHERD_SIM_ALL };
    uint32_t answered = 0;

    options.remember_in_data = in_data;
    assert_int_equal(
        sherd_sim_seeds(&options, 1, SEEDS, test, &answered), 0);
    assert_true(answered > SEEDS * IDS / 2);
}

static struct sherd_entity_type type_of(bool persists)
{
    return (struct sherd_entity_type){
        .name = "Kept",
        .behavior = { .name = "kept",
                      .state_size = sizeof(struct entity),
                      .receive = receive,
                      .release = release,
                      .apply = persists ? apply : NULL },
        .remember = 1,
    };
}

static void plain_ones_are_back_after_faults(void **state)
{
    struct sherd_entity_type type = type_of(false);

    (void)state;
    run(&type, 0);
}

static void persistent_ones_are_back_after_faults(void **state)
{
    struct sherd_entity_type type = type_of(true);

    (void)state;
    run(&type, 0);
}

static void those_in_distributed_data_are_back_after_faults(void **state)
{
    struct sherd_entity_type type = type_of(false);

    (void)state;
    run(&type, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_ones_are_back_after_faults),
        cmocka_unit_test(persistent_ones_are_back_after_faults),
        cmocka_unit_test(those_in_distributed_data_are_back_after_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
