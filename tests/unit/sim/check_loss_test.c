/* Tests check_loss with owners that notice a loss, and with one that does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "journal/book.h"
#include "judged.h"
#include "sim/check/check_loss.h"

static struct check_loss *loss;
static struct disk_backend_observer told;

static void begin(void)
{
    judge();
    loss = check_loss_new(verdict);
    told = check_loss_observer(loss);
}

static void end(void)
{
    check_loss_free(loss);
    verdict_free(verdict);
}

static struct journal_request *ask(uint32_t node, uint64_t seq)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    struct backend_shard shard = { .fence = { 1, 1 } };
    struct backend_entity entity = { .shard = 0 };
    struct backend_record record = { .entity = 0, .seq = seq };

    shard.type = backend_put(request, slice_text("T"));
    shard.shard = backend_put(request, slice_text("s"));
    vec_push(&request->shards, shard);
    entity.id = backend_put(request, slice_text("T|a"));
    vec_push(&request->entities, entity);
    record.bytes = backend_put(request, slice_text("event"));
    vec_push(&request->records, record);
    told.asked(told.user, node, request);
    return request;
}

static void answer_with(uint32_t node, struct journal_request *request, enum backend_result result,
                        const char *error)
{
    backend_settle(request, result, error);
    told.answered(told.user, node, request);
    journal_request_free(request);
}

static void answer(uint32_t node, struct journal_request *request, enum backend_result result)
{
    answer_with(node, request, result, result == BACKEND_FENCED ? "the server lost events" : "");
}

/* A server takes over without any event. */
static void lose_all(void)
{
    struct book *empty = book_new("c");

    told.rewound(told.user, empty);
    book_free(empty);
}

static void an_owner_that_goes_on_is_a_violation(void **state)
{
    (void)state;
    begin();
    answer(0, ask(0, 1), BACKEND_DONE);
    lose_all();
    expect_only(NULL);
    answer(0, ask(0, 2), BACKEND_DONE);
    expect_only("loss-detected");
    end();
}

static void an_owner_that_is_refused_has_noticed(void **state)
{
    (void)state;
    begin();
    answer(0, ask(0, 1), BACKEND_DONE);
    lose_all();
    answer(0, ask(0, 2), BACKEND_FENCED);
    assert_int_equal(check_loss_counts(loss).lost, 1);
    assert_int_equal(check_loss_counts(loss).noticed, 1);
    answer(0, ask(0, 1), BACKEND_DONE); /* after a new claim */
    expect_only(NULL);
    end();
}

static void a_refusal_must_name_the_loss(void **state)
{
    (void)state;
    begin();
    answer(0, ask(0, 1), BACKEND_DONE);
    answer(0, ask(0, 2), BACKEND_DONE);
    lose_all();
    answer(1, ask(1, 1), BACKEND_DONE); /* the next owner; one event is missing still */
    expect_only(NULL);
    answer_with(0, ask(0, 3), BACKEND_FENCED, "");
    expect_only("loss-detected");
    end();
}

static void a_refusal_proves_nothing_once_another_node_wrote_as_much(void **state)
{
    (void)state;
    begin();
    answer(0, ask(0, 1), BACKEND_DONE);
    lose_all();
    answer(1, ask(1, 1), BACKEND_DONE);
    answer_with(0, ask(0, 2), BACKEND_FENCED, "");
    expect_only(NULL);
    end();
}

static void a_claim_and_the_end_of_a_node_forget_its_events(void **state)
{
    struct journal_request *claim =
        journal_request_claim(slice_text("T"), slice_text("s"), (struct fence){ 1, 2 });

    (void)state;
    begin();
    answer(0, ask(0, 1), BACKEND_DONE);
    answer(1, ask(1, 2), BACKEND_DONE);
    lose_all();
    told.asked(told.user, 0, claim);
    answer(0, claim, BACKEND_DONE);
    answer(0, ask(0, 1), BACKEND_DONE);
    told.node_gone(told.user, 1);
    answer(1, ask(1, 2), BACKEND_DONE);
    expect_only(NULL);
    end();
}

static void an_append_of_before_the_loss_proves_nothing(void **state)
{
    struct journal_request *request;

    (void)state;
    begin();
    answer(0, ask(0, 1), BACKEND_DONE);
    request = ask(0, 2);
    lose_all();
    answer(0, request, BACKEND_DONE); /* it was written before */
    expect_only(NULL);
    end();
}

static void an_event_that_was_lost_on_its_way_must_be_noticed_too(void **state)
{
    struct journal_request *request;

    (void)state;
    begin();
    request = ask(0, 1);
    lose_all();
    answer(0, request, BACKEND_DONE);
    lose_all(); /* it is not lost twice */
    expect_only(NULL);
    answer(0, ask(0, 2), BACKEND_DONE);
    expect_only("loss-detected");
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_owner_that_goes_on_is_a_violation),
        cmocka_unit_test(an_owner_that_is_refused_has_noticed),
        cmocka_unit_test(a_refusal_must_name_the_loss),
        cmocka_unit_test(a_refusal_proves_nothing_once_another_node_wrote_as_much),
        cmocka_unit_test(a_claim_and_the_end_of_a_node_forget_its_events),
        cmocka_unit_test(an_append_of_before_the_loss_proves_nothing),
        cmocka_unit_test(an_event_that_was_lost_on_its_way_must_be_noticed_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
