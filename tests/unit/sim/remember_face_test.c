/* Tests remembered-entities under drawn faults: nodes crash, pause, leave and are cut off, and
 * disks fail.
 *
 * Afterwards every remembered entity that has answered runs again, once, without a message. A
 * passivated one does not, once its stop is stored. Then all nodes crash and restart, and the same
 * holds. Entities that end when idle stay remembered, too. */
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
#define IDLE_MS 4000
#define NODES 4

enum { HELLO = 1, LEAVE, END, FAIL };

/* State of one simulation: reports of the entities, and what was asked of them. */
static struct {
    int running[IDS];
    uint32_t starts[IDS]; /* since all nodes crashed */
    bool has_answered[IDS];
    bool may_leave[IDS]; /* told to passivate; gets no more messages */
    bool has_left[IDS];  /* told so without faults, and its stop is stored */
} seen;

/* Counts over one test's seeds. */
struct course {
    bool ends_idle;
    uint32_t answered;
    uint32_t left;
    uint32_t back; /* after all nodes had crashed */
};

struct entity {
    uint32_t number; /* number in its id, from 1 */
};

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct entity *entity = self;
    const char *id = sherd_id(ctx).data;

    if (msg->kind == SHERD_STARTED) {
        entity->number = 1 + (uint32_t)atoi(id + 1);
        seen.running[entity->number - 1]++;
        seen.starts[entity->number - 1]++;
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

static bool say(struct sherd_sim *sim, uint32_t node, uint32_t number,
                uint32_t msg)
{
    struct sherd_bytes nothing = { NULL, 0 };
    struct sherd_sim_answer answer;
    char id[16];

    (void)snprintf(id, sizeof id, "e%u", number);
    if (sherd_sim_entity_ask(sim, node, "Kept", id, msg, nothing, 3000,
                             &answer))
        return false; /* the node is dead */
    seen.has_answered[number] |= answer.reason == SHERD_REASON_NONE;
    seen.may_leave[number] |= msg == LEAVE;
    return answer.reason == SHERD_REASON_NONE;
}

/* Faults start and end meanwhile. */
static void work(struct sherd_sim *sim, uint64_t seed)
{
    for (uint32_t i = 0; i < 300; i++) {
        uint32_t number = (i * 7 + (uint32_t)seed) % IDS;
        uint32_t msg = i % 17 == 3   ? END
                       : i % 23 == 5 ? FAIL
                       : i % 29 == 7 ? LEAVE
                                     : HELLO;

        if (!seen.may_leave[number])
            (void)say(sim, i % NODES, number, msg); /* some nodes are dead */
        sherd_sim_run(sim, 200);
    }
}

/* Checks an entity some time after all faults. Returns null if it is where it should be. */
static const char *wrong(const struct course *course, uint32_t number,
                         bool all_crashed)
{
    bool is_sure = seen.has_answered[number] && !seen.may_leave[number];

    if (seen.running[number] > 1)
        return "runs more than once";
    if (seen.has_left[number] &&
        (seen.running[number] || (all_crashed && seen.starts[number])))
        return "has left, and is back";
    if (is_sure && !course->ends_idle && !seen.running[number])
        return "has answered, and does not run";
    if (is_sure && all_crashed && !seen.starts[number])
        return "has answered, and has not started again";
    return NULL;
}

static int judge(const struct course *course, bool all_crashed)
{
    for (uint32_t i = 0; i < IDS; i++) {
        const char *what = wrong(course, i, all_crashed);

        if (what)
            return fprintf(stderr, "e%u %s, all_crashed=%d\n", i, what,
                           all_crashed);
    }
    return 0;
}

/* Passivates some entities without faults, so their stops are stored. */
static int let_leave(struct sherd_sim *sim)
{
    for (uint32_t i = 2; i < IDS; i += 5) {
        if (!say(sim, i % NODES, i, LEAVE))
            return fprintf(stderr, "e%u does not answer\n", i);
        seen.has_left[i] = true;
    }
    sherd_sim_run(sim, 10000);
    return 0;
}

static int crash_all(struct sherd_sim *sim)
{
    for (uint32_t i = 0; i < NODES; i++)
        if (sherd_sim_crash(sim, i))
            return -1;
    memset(seen.starts, 0, sizeof seen.starts);
    for (uint32_t i = 0; i < NODES; i++)
        if (sherd_sim_start(sim, i))
            return -1;
    if (sherd_sim_heal(sim, 600000))
        return -1;
    sherd_sim_run(sim, 120000);
    return 0;
}

static int test(struct sherd_sim *sim, void *arg)
{
    struct course *course = arg;
    uint32_t answered = 0;

    memset(&seen, 0, sizeof seen);
    work(sim, sherd_sim_seed(sim));
    if (sherd_sim_heal(sim, 600000))
        return -1;
    sherd_sim_run(sim, 120000); /* time for repeated attempts and restarts */
    if (judge(course, false) || let_leave(sim) || judge(course, false) ||
        crash_all(sim) || judge(course, true))
        return -1;
    for (uint32_t i = 0; i < IDS; i++) {
        answered += seen.has_answered[i];
        course->left += seen.has_left[i];
        course->back += seen.starts[i] > 0;
    }
    if (answered < IDS / 2)
        return -1; /* too few to show anything */
    course->answered += answered;
    return 0;
}

static void run(const struct sherd_entity_type *type, bool in_data)
{
    struct sherd_sim_options options = { .nodes = NODES,
                                         .types = type,
                                         .type_count = 1,
                                         .faults = SHERD_SIM_ALL };
    struct course course = { .ends_idle = type->idle_ms != 0 };

    options.remember_in_data = in_data;
    assert_int_equal(
        sherd_sim_seeds(&options, 1, SEEDS, test, &course), 0);
    assert_true(course.answered > SEEDS * IDS / 2);
    assert_int_equal(course.left, SEEDS * IDS / 5);
    assert_true(course.back > SEEDS * IDS / 2);
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

static void plain_entities_restart_after_faults(void **state)
{
    struct sherd_entity_type type = type_of(false);

    (void)state;
    run(&type, false);
}

static void persistent_entities_restart_after_faults(void **state)
{
    struct sherd_entity_type type = type_of(true);

    (void)state;
    run(&type, false);
}

static void entities_in_distributed_data_restart_after_faults(void **state)
{
    struct sherd_entity_type type = type_of(false);

    (void)state;
    run(&type, true);
}

/* Passivation forgets an entity, idleness does not. */
static void idle_entities_restart_after_faults(void **state)
{
    struct sherd_entity_type type = type_of(false);

    (void)state;
    type.idle_ms = IDLE_MS;
    run(&type, false);
    run(&type, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_entities_restart_after_faults),
        cmocka_unit_test(persistent_entities_restart_after_faults),
        cmocka_unit_test(entities_in_distributed_data_restart_after_faults),
        cmocka_unit_test(idle_entities_restart_after_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
