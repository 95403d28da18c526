/* Checks a lane's part of jobs: each ends once, for its own incarnation, and starts after its cause
 * is durable. */
#include "lab.h"

/* Starts the entity, recovered; then the log is empty. */
static void start(uint16_t type, const char *id)
{
    lab_entity_tell(type, id, 5);
    lab_run();
    lab_recover_all();
    lab_run();
    lab.log[0] = 0;
}

/* Actor `a` asks the entity, which starts a job. */
static struct sherd_ref ask(const char *type, const char *id)
{
    struct sherd_ref a = lab_spawn("a");
    struct order order = { DO_ENTITY_ASK, 63, 4, 60000 };

    strcpy(order.type, type);
    strcpy(order.id, id);
    lab_order(a, &order, 1);
    lab_run();
    lab.log[0] = 0;
    return a;
}

static void a_jobs_end_answers_the_asker(void **state)
{
    struct job *job;
    (void)state;

    (void)ask("A", "x");
    job = lab_job();
    assert_non_null(job);
    assert_int_equal(lab_status().jobs_open, 1);
    /* Meanwhile it handles messages. */
    lab_entity_tell(TYPE_A, "x", 5);
    lab_run();
    lab_expect("x.5 ");
    lab_job_done(job);
    lab_run();
    lab_expect("x*63:42 a=4:163 ");
    assert_int_equal(lab_status().jobs_open, 0);
    assert_int_equal(lab_status().jobs_heard, 1);
    assert_int_equal(lab.args, 0);
}

static void jobs_end_in_any_order(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct job *first, *second;
    (void)state;

    ORDER(a, { DO_JOB, .tag = 1, .ms = 10 }, { DO_JOB, .tag = 2, .ms = 20 });
    lab_run();
    lab.log[0] = 0;
    first = lab_job();
    second = lab_job();
    lab_job_done(second);
    lab_run();
    lab_job_done(first);
    lab_run();
    lab_expect("a*2:40 a*1:20 ");
}

static void a_jobs_end_gives_no_second_answer(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    /* 163 would answer the order, which has no sender. */
    ORDER(a, { DO_REPLY, 150 }, { DO_JOB, 163, 1 });
    lab_run();
    lab.log[0] = 0;
    lab_job_done(lab_job());
    lab_run();
    lab_expect("a*1:0 ");
    assert_int_equal(lab_status().replies_dropped, 2);
}

static void a_job_of_an_ended_actor_answers_only_the_asker(void **state)
{
    struct job *job;
    (void)state;

    (void)ask("A", "x");
    job = lab_job();
    lab_entity_tell(TYPE_A, "x", 60);
    lab_entity_tell(TYPE_A, "x", 5); /* another incarnation */
    lab_run();
    lab_expect("x.60 x+ x.5 ");
    assert_int_equal(lab_status().jobs_orphaned, 0); /* it runs */
    lab_job_done(job);
    lab_run();
    lab_expect("a!4:16:7 "); /* stopped; delivered, not answered */
    assert_int_equal(SHERD_REASON_STOPPED, 16);
    assert_int_equal(lab_status().jobs_orphaned, 1);
    assert_int_equal(lab_status().jobs_open, 0);
    assert_int_equal(lab.args, 0);
}

static void a_jobs_end_in_the_mailbox_ends_with_its_actor(void **state)
{
    struct job *job;
    (void)state;

    (void)ask("A", "x");
    job = lab_job();
    lab_entity_tell(TYPE_A, "x", 61);
    lab_job_done(job);
    lab_run();
    lab_expect("x.61 a!4:16:7 ");
    assert_int_equal(lab_status().jobs_orphaned, 1);
    assert_int_equal(lab.args, 0);
}

static void a_job_waits_until_its_cause_is_durable(void **state)
{
    struct job *job;
    (void)state;

    start(TYPE_P, "x");
    ENTITY_ORDER(TYPE_P, "x", { DO_JOB, .tag = 1, .ms = 1 },
                 { DO_PERSIST, 1, .ms = 3 }, { DO_JOB, .tag = 2, .ms = 2 });
    lab_run();
    job = lab_job();
    assert_int_equal(job->tag, 1);
    assert_null(lab_job());
    assert_int_equal(lab_status().held, 1);
    lab_job_done(job);
    lab_run();
    lab_expect("x.1 x*1:2 "); /* its notices need not be durable */
    actors_durable(lab.actors, 1);
    lab_run();
    job = lab_job();
    assert_int_equal(job->tag, 2);
    lab_job_done(job);
    lab_run();
    lab_expect("x*2:4 ");
}

static void a_job_whose_cause_is_not_stored_never_runs(void **state)
{
    uint64_t x;
    (void)state;

    lab_entity_tell(TYPE_P, "x", 5);
    lab_run();
    x = lab.wants[0];
    lab_recover_all();
    lab_run();
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 });
    (void)ask("P", "x");
    assert_int_equal(lab.args, 1);
    actors_store_failed(lab.actors, x, SHERD_REASON_NOT_STORED);
    lab_run();
    lab_expect("a!4:12:7 ");
    assert_int_equal(SHERD_REASON_NOT_STORED, 12);
    assert_null(lab_job());
    assert_int_equal(lab.args, 0);
    assert_int_equal(lab_status().jobs_orphaned, 1);
}

static void an_entity_with_a_job_is_not_idle(void **state)
{
    struct job *job;
    (void)state;

    start(TYPE_IDLE, "x");
    ENTITY_ORDER(TYPE_IDLE, "x", { DO_JOB, .tag = 1 });
    lab_run();
    job = lab_job();
    for (int i = 0; i < 20; i++)
        lab_advance(1000);
    lab_expect("x.1 ");
    lab_job_done(job);
    lab_run();
    lab_advance(200);
    lab_expect("x*1:0 "); /* nor at once when the job returns */
    for (int i = 0; i < 20; i++)
        lab_advance(1000);
    lab_expect("x- ");
}

static void a_stopping_actor_still_receives_its_jobs_end(void **state)
{
    struct job *job;
    (void)state;

    start(TYPE_S, "x");
    ENTITY_ORDER(TYPE_S, "x", { DO_JOB, .tag = 1, .ms = 4 },
                 { DO_PASSIVATE, 0 });
    lab_run();
    job = lab_job();
    lab_job_done(job);
    lab_run();
    lab_expect("x.1 x.99 x*1:8 ");
}

static void the_number_of_open_jobs_is_limited(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    struct job *jobs[ACTOR_JOBS_MAX];
    (void)state;

    lab.quiet = true;
    for (uint32_t i = 0; i < ACTOR_JOBS_MAX; i++) {
        ORDER(a, { DO_JOB, .tag = i });
        lab_run();
        jobs[i] = lab_job();
        assert_non_null(jobs[i]);
    }
    assert_int_equal(lab.refused, 0);
    ORDER(a, { DO_JOB, .tag = 1 });
    lab_run();
    assert_int_equal(lab.refused, 1);
    assert_int_equal(lab_status().jobs_refused, 1);
    assert_int_equal(lab.args, ACTOR_JOBS_MAX); /* its argument was released */
    assert_null(lab_job());
    lab_job_done(jobs[0]);
    lab_run();
    ORDER(a, { DO_JOB, .tag = 1 });
    lab_run();
    assert_int_equal(lab.refused, 1);
    lab_job_done(lab_job());
    for (uint32_t i = 1; i < ACTOR_JOBS_MAX; i++)
        lab_job_done(jobs[i]);
    lab_run();
    assert_int_equal(lab_status().jobs_heard, ACTOR_JOBS_MAX + 1);
    assert_int_equal(lab.args, 0);
}

/* In a mailbox, held, and on its way out: the teardown looks for leaks. */
static void jobs_under_way_are_released_at_shutdown(void **state)
{
    struct sherd_ref a = lab_spawn("a");
    (void)state;

    start(TYPE_P, "x");
    ENTITY_ORDER(TYPE_P, "x", { DO_PERSIST, 1, .ms = 3 }, { DO_JOB, 0 });
    ORDER(a, { DO_JOB, 0 }, { DO_JOB, 0 });
    lab_run();
    ORDER(a, { DO_JOB, 0 });
    actors_run(lab.actors, lab.now, 0, 1);
    actors_job_done(lab.actors, lab_job());
    assert_int_equal(lab.args, 4);
}

static void run_nothing(void *arg)
{
    (void)arg;
}

static enum sherd_next try_it(struct sherd_ctx *ctx, void *self,
                              const struct sherd_msg *msg)
{
    const struct sherd_job none = { "none", NULL, NULL };
    const struct sherd_job bare = { NULL, run_nothing, NULL };

    (void)self;
    if (msg->kind == SHERD_STARTED) {
        assert_int_equal(sherd_job_start(ctx, &none, NULL, 1), SHERD_EINVAL);
        assert_int_equal(sherd_job_start(ctx, NULL, NULL, 1), SHERD_EINVAL);
        assert_int_equal(sherd_job_start(ctx, &bare, NULL, 1), 0);
        assert_null(sherd_job_arg(msg));
    }
    lab.received += msg->kind == SHERD_JOB;
    return SHERD_CONTINUE;
}

static void a_job_needs_only_a_function(void **state)
{
    const struct sherd_behavior behavior = { .receive = try_it };
    (void)state;

    (void)actors_spawn(lab.actors, &behavior, (struct slice){ 0 });
    lab_run();
    lab_job_done(lab_job());
    lab_run();
    assert_int_equal(lab.received, 1);
    assert_int_equal(lab_status().jobs, 1);
    assert_int_equal(lab_status().jobs_refused, 0);
}

int main(void)
{
#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_jobs_end_answers_the_asker),
        TEST(jobs_end_in_any_order),
        TEST(a_jobs_end_gives_no_second_answer),
        TEST(a_job_of_an_ended_actor_answers_only_the_asker),
        TEST(a_jobs_end_in_the_mailbox_ends_with_its_actor),
        TEST(a_job_waits_until_its_cause_is_durable),
        TEST(a_job_whose_cause_is_not_stored_never_runs),
        TEST(an_entity_with_a_job_is_not_idle),
        TEST(a_stopping_actor_still_receives_its_jobs_end),
        TEST(the_number_of_open_jobs_is_limited),
        TEST(jobs_under_way_are_released_at_shutdown),
        TEST(a_job_needs_only_a_function),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
