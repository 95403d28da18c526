/* Tests the steps of a store, with a link that answers what the test says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "postgres/store.h"

#define OWN 42 /* the writer's number */

/* The only row of an answer. */
struct answer {
    struct pg_cell cells[PG_CLAIM_CELLS];
    uint32_t count;
};

static void close_nothing(struct pg_link *link)
{
    (void)link;
}

static uint32_t rows_of(const struct pg_call *call)
{
    (void)call;
    return 1;
}

static bool read_row(const struct pg_call *call, uint32_t row, struct pg_cell *cells, uint32_t count)
{
    const struct answer *answer = call->result;

    assert_int_equal(row, 0);
    memcpy(cells, answer->cells, count * sizeof *cells);
    return count == answer->count;
}

static void clear_nothing(struct pg_call *calls, uint32_t count)
{
    (void)calls;
    (void)count;
}

static const char *label_of(const struct pg_link *link)
{
    (void)link;
    return "host=test";
}

static const struct pg_link_ops ops = { close_nothing, rows_of, read_row, clear_nothing, label_of };

static void log_nothing(void *user, enum sherd_backend_level level, const char *line)
{
    (void)user;
    (void)level;
    (void)line;
}

struct test {
    struct pg_link link;
    struct pg_store store;
    struct sherd_backend_request request;
    struct sherd_backend_request *list[1];
    const struct pg_step *step;
};

/* As a former connection left it. */
static void know(struct pg_known *known)
{
    struct buf key = { 0 };

    known->generation = 5;
    known->position = 9;
    pg_know_shard(known, pg_shard_key(&key, slice_text("T"), slice_text("s")),
                  (struct pg_known_shard){ .id = 7, .fence = { 1, 2 }, .last = 9 });
    pg_know_entity(known, slice_text("T|e"), (struct pg_known_entity){ 100, 3, { 1, 2 } });
    buf_fini(&key);
}

/* Starts the request, and connects. */
static void begin(struct test *test, enum sherd_backend_verb verb)
{
    const struct pg_settings settings = { .is_writer = true, .group_ms = 1000, .claim = OWN, .log = log_nothing };
    const struct pg_outcome connected = { .is_good = true, .is_open = true, .text = "", .timeline = "" };

    test->link.ops = &ops;
    pg_store_init(&test->store, &test->link, &settings);
    know(&test->store.known);
    test->request.verb = verb;
    test->list[0] = &test->request;
    pg_store_begin(&test->store, test->list, 1, 1);
    test->step = pg_store_next(&test->store, 1, NULL);
    assert_int_equal(test->step->kind, PG_STEP_CONNECT);
    test->step = pg_store_next(&test->store, 1, &connected);
}

/* The answer to the step's only call. */
static void give(struct test *test, struct answer *answer)
{
    const struct pg_outcome ran = { .is_good = true, .is_open = true, .text = "", .timeline = "" };

    assert_int_equal(test->step->kind, PG_STEP_RUN);
    assert_int_equal(test->step->count, 1);
    test->step->calls[0].class = PG_NONE;
    test->step->calls[0].result = answer;
    test->step = pg_store_next(&test->store, 1, &ran);
}

/* The store may have gone back between two connections, so that another claim has the same generation. */
static void a_generation_counts_within_one_connection_only(void **state)
{
    struct sherd_backend_shard shard = { .type = { "T", 1 }, .shard = { "s", 1 }, .fence = { 1, 2 } };
    struct sherd_backend_entity entity = { .id = { "T|e", 3 } };
    const struct sherd_backend_record record = { .seq = 4, .bytes = { "r", 1 } };
    struct test test = { .request = { .shards = &shard, .shard_count = 1, .entities = &entity,
                                      .entity_count = 1, .records = &record, .record_count = 1 } };
    (void)state;

    begin(&test, SHERD_BACKEND_APPEND);
    assert_int_equal(test.step->kind, PG_STEP_RUN);
    assert_int_equal(test.step->count, 4);
    assert_int_equal(test.step->calls[0].which, PG_BEGIN);
    assert_int_equal(test.step->calls[1].which, PG_RENEW);
    pg_store_fini(&test.store);
}

/* A claim at the same time made the shard's row, which the statement cannot see. */
static void a_claim_that_wrote_nothing_runs_again_unless_the_stored_fence_is_higher(void **state)
{
    static const uint8_t zero[8], terms[2][8] = { { 0, 0, 0, 0, 0, 0, 0, 1 }, { 0, 0, 0, 0, 0, 0, 0, 2 } };
    const struct pg_cell none = { .data = zero, .size = 8 }, null = { .size = -1 };
    (void)state;

    for (uint32_t higher = 0; higher < 2; higher++) {
        struct answer unwritten = { .cells = { none, none, none, null, null, null, none, null, null },
                                    .count = PG_CLAIM_CELLS };
        struct answer stored = { .cells = { { .data = terms[higher], .size = 8 }, { .data = terms[0], .size = 8 } },
                                 .count = 2 };
        struct test test = { .request = { .type = { "T", 1 }, .shard = { "s", 1 }, .fence = { 1, 2 } } };

        begin(&test, SHERD_BACKEND_CLAIM);
        assert_int_equal(test.step->calls[0].which, PG_CLAIM);
        give(&test, &unwritten);
        assert_int_equal(test.step->calls[0].which, PG_SHARD);
        give(&test, &stored);
        if (higher) {
            assert_null(test.step);
            assert_int_equal(test.request.result, SHERD_BACKEND_FENCED);
        } else {
            assert_non_null(test.step);
            assert_int_equal(test.step->calls[0].which, PG_CLAIM);
        }
        pg_store_fini(&test.store);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_generation_counts_within_one_connection_only),
        cmocka_unit_test(a_claim_that_wrote_nothing_runs_again_unless_the_stored_fence_is_higher),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
