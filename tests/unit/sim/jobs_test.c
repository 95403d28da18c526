/* Tests jobs of entities in the simulator: they take drawn times, equal in every run, and all are
 * released when their node ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include <sherd/sherd.h>
#include <sherd/sim.h>

enum { SQUARE = 1, PING, SQUARED, PONG };

static const struct sherd_bytes nothing;
static uint32_t args; /* created and not released */
static uint32_t pings_meanwhile; /* handled while a job of the entity was open */

/* ---- an entity that computes squares in jobs ---- */

struct squarer {
    uint32_t open;
    uint64_t stored;
};

static void square(void *arg)
{
    uint64_t *number = arg;

    *number *= *number;
}

static void release(void *arg)
{
    args--;
    free(arg);
}

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct squarer *squarer = self;

    (void)event;
    squarer->stored += type;
}

static void start(struct sherd_ctx *ctx, struct squarer *squarer, uint64_t number)
{
    const struct sherd_job job = { "square", square, release };
    uint64_t *arg = malloc(sizeof *arg);

    *arg = number;
    args++;
    sherd_persist(ctx, 1, nothing); /* the job waits for it */
    squarer->open += sherd_job_start(ctx, &job, arg, (uint32_t)number) == 0;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct squarer *squarer = self;

    if (msg->kind == SHERD_MESSAGE && msg->msg == PING) {
        pings_meanwhile += squarer->open > 0;
        sherd_reply(ctx, PONG, nothing);
    }
    if (msg->kind == SHERD_MESSAGE && msg->msg == SQUARE)
        start(ctx, squarer, *(const uint8_t *)msg->body.data);
    if (msg->kind == SHERD_JOB) {
        const uint64_t *number = sherd_job_arg(msg);

        assert_int_equal(*number, (uint64_t)msg->tag * msg->tag);
        assert_true(squarer->open > 0);
        squarer->open--;
        sherd_reply(ctx, SQUARED,
                    (struct sherd_bytes){ number, sizeof *number });
    }
    return SHERD_CONTINUE;
}

static struct sherd_sim *opened(uint64_t seed, uint32_t faults)
{
    static const struct sherd_entity_type type = {
        .name = "Squarer",
        .behavior = { .name = "squarer",
                      .state_size = sizeof(struct squarer),
                      .receive = receive,
                      .apply = apply },
    };
    const struct sherd_sim_options options = {
        .seed = seed, .types = &type, .type_count = 1, .faults = faults
    };
    struct sherd_sim *sim;

    assert_int_equal(sherd_sim_open(&sim, &options), 0);
    return sim;
}

/* ---- tests ---- */

static struct sherd_sim_answer squared(struct sherd_sim *sim, uint8_t number)
{
    struct sherd_sim_answer answer;

    assert_int_equal(sherd_sim_entity_ask(sim, 0, "Squarer", "x", SQUARE,
                                          (struct sherd_bytes){ &number, 1 },
                                          10000, &answer),
                     0);
    return answer;
}

static uint64_t one_run(uint64_t seed)
{
    struct sherd_sim *sim = opened(seed, 0);
    uint64_t digest;
    uint8_t number = 9;

    for (uint8_t i = 1; i < 10; i++) {
        struct sherd_sim_answer answer = squared(sim, i);
        uint64_t square_of_it;

        assert_int_equal(answer.reason, SHERD_REASON_NONE);
        memcpy(&square_of_it, answer.body.data, sizeof square_of_it);
        assert_int_equal(square_of_it, i * i);
    }
    pings_meanwhile = 0;
    for (int i = 0; i < 20; i++) {
        struct sherd_sim_answer answer;

        assert_int_equal(sherd_sim_entity_tell(
                             sim, 1, "Squarer", "x", SQUARE,
                             (struct sherd_bytes){ &number, 1 }),
                         0);
        assert_int_equal(sherd_sim_entity_ask(sim, 1, "Squarer", "x", PING,
                                              nothing, 5000, &answer),
                         0);
        assert_int_equal(answer.msg, PONG);
    }
    assert_true(pings_meanwhile > 0);
    sherd_sim_run(sim, 10000);
    assert_int_equal(args, 0); /* all are released */
    digest = sherd_sim_digest(sim);
    sherd_sim_close(sim);
    return digest;
}

static void equal_seeds_give_equal_runs(void **state)
{
    uint64_t digest = one_run(7);

    (void)state;
    assert_true(one_run(7) == digest);
    assert_true(one_run(8) != digest);
}

/* Jobs are open when a node crashes or pauses, and when the simulation ends. */
static void jobs_are_released_when_their_node_ends(void **state)
{
    struct sherd_status status;
    struct sherd_sim *sim = opened(3, 0);
    uint8_t number = 3;

    (void)state;
    for (uint32_t node = 0; node < 3; node++) {
        for (int i = 0; i < 30; i++)
            assert_int_equal(sherd_sim_entity_tell(
                                 sim, (node + 1) % 3, "Squarer",
                                 (char[]){ (char)('a' + i), 0 }, SQUARE,
                                 (struct sherd_bytes){ &number, 1 }),
                             0);
        sherd_sim_run(sim, 15);
        assert_true(args > 0);
        assert_int_equal(sherd_sim_pause(sim, node, 1), 0);
        sherd_sim_run(sim, 500);
        if (node == 1)
            assert_int_equal(sherd_sim_pause(sim, node, 0), 0);
        else
            assert_int_equal(sherd_sim_crash(sim, node), 0);
        sherd_sim_run(sim, 500);
        assert_int_equal(sherd_sim_heal(sim, 600000), 0);
        sherd_sim_run(sim, 60000);
        assert_int_equal(args, 0);
    }
    for (uint32_t node = 0; node < 3; node++) {
        assert_int_equal(sherd_sim_status(sim, node, &status), 0);
        assert_int_equal(status.jobs_open, 0);
        sherd_status_free(&status);
    }
    sherd_sim_close(sim);
    assert_int_equal(args, 0);
}

static int under_faults(struct sherd_sim *sim, void *arg)
{
    uint32_t *answered = arg;

    for (uint8_t i = 1; i < 60; i++) {
        struct sherd_sim_answer answer;

        if (sherd_sim_entity_ask(sim, i % 3, "Squarer", "x", SQUARE,
                                 (struct sherd_bytes){ &i, 1 }, 3000, &answer) ==
                0 &&
            answer.reason == SHERD_REASON_NONE)
            ++*answered;
        sherd_sim_run(sim, 500);
    }
    if (sherd_sim_heal(sim, 600000))
        return 1;
    return squared(sim, 5).reason == SHERD_REASON_NONE ? 0 : 2;
}

static void jobs_continue_under_faults(void **state)
{
    uint32_t answered = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct sherd_sim *sim = opened(seed, SHERD_SIM_ALL);

        assert_int_equal(under_faults(sim, &answered), 0);
        assert_null(sherd_sim_violation(sim));
        sherd_sim_close(sim);
        assert_int_equal(args, 0);
    }
    assert_true(answered > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_seeds_give_equal_runs),
        cmocka_unit_test(jobs_are_released_when_their_node_ends),
        cmocka_unit_test(jobs_continue_under_faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
