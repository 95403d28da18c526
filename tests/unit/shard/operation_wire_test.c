/* Tests the messages of operations: what is written is read, and each limit refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/address_text.h"
#include "shard/operation_wire.h"

static struct operation_request a_move(void)
{
    struct operation_request request = {
        .kind = SHERD_MOVE_SHARD,
        .id = slice_text("op-1"),
        .type = slice_text("Cart"),
        .shard = slice_text("17"),
        .by = slice_text("ops"),
        .reason = slice_text("hot"),
        .within_ms = 30000,
        .hold_ms = 600000,
        .is_dry_run = true,
    };

    assert_true(address_read(slice_text("n1:2550"), &request.node));
    return request;
}

static bool reads(const struct operation_request *request)
{
    struct operation_request again;
    struct buf buf = { 0 };
    bool is_read;

    operation_request_put(&buf, request);
    is_read = operation_request_read(buf_slice(&buf), &again);
    buf_fini(&buf);
    return is_read;
}

static void a_request_is_read_as_it_was_written(void **state)
{
    const struct operation_request request = a_move();
    struct operation_request again;
    struct buf buf = { 0 };
    (void)state;

    operation_request_put(&buf, &request);
    assert_true(operation_request_read(buf_slice(&buf), &again));
    assert_int_equal(again.kind, SHERD_MOVE_SHARD);
    assert_true(slice_is(again.id, "op-1") && slice_is(again.type, "Cart"));
    assert_true(slice_is(again.shard, "17") && slice_is(again.by, "ops"));
    assert_true(slice_is(again.reason, "hot"));
    assert_string_equal(again.node.host, "n1");
    assert_int_equal(again.node.port, 2550);
    assert_int_equal(again.within_ms, 30000);
    assert_int_equal(again.hold_ms, 600000);
    assert_true(again.is_dry_run);
    buf_fini(&buf);
}

static void a_request_beyond_a_limit_is_refused(void **state)
{
    static const char text[400] = "";
    struct operation_request request = a_move();
    (void)state;

    assert_true(reads(&request));
    request.within_ms = OPERATION_WITHIN_MAX_MS + 1;
    assert_false(reads(&request));
    request = a_move();
    request.hold_ms = OPERATION_HOLD_MAX_MS + 1;
    assert_false(reads(&request));
    request = a_move();
    request.by = slice_of(text, OPERATION_BY_MAX + 1);
    assert_false(reads(&request));
    request = a_move();
    request.reason = slice_of(text, OPERATION_REASON_MAX + 1);
    assert_false(reads(&request));
    request = a_move();
    request.type = slice_of(text, OPERATION_NAME_MAX + 1);
    assert_false(reads(&request));
    request = a_move();
    request.shard = slice_of(text, OPERATION_NAME_MAX + 1);
    assert_false(reads(&request));
    request = a_move();
    request.id = slice_text("no spaces");
    assert_false(reads(&request));
    request = a_move();
    request.node.port = 0;
    assert_false(reads(&request));
    request.kind = SHERD_CORDON;
    assert_true(reads(&request));
    request.kind = SHERD_OPERATION_KIND_COUNT;
    assert_false(reads(&request));
}

static void a_report_is_read_as_it_was_written(void **state)
{
    const struct operation_progress progress = {
        .id = slice_text("op-1"), .state = SHERD_OPERATION_DONE, .code = SHERD_OPERATION_HANDOFF,
        .text = slice_text("why"), .term = 7, .stall_us = 41000,
    };
    static const char text[OPERATION_TEXT_MAX + 1] = "";
    struct operation_progress again;
    struct buf buf = { 0 };
    (void)state;

    operation_progress_put(&buf, &progress);
    assert_true(operation_progress_read(buf_slice(&buf), &again));
    assert_true(slice_is(again.id, "op-1") && slice_is(again.text, "why"));
    assert_int_equal(again.state, SHERD_OPERATION_DONE);
    assert_int_equal(again.code, SHERD_OPERATION_HANDOFF);
    assert_int_equal(again.term, 7);
    assert_int_equal(again.stall_us, 41000);
    buf_clear(&buf);
    operation_progress_put(&buf, &(struct operation_progress){
                                     .id = progress.id,
                                     .text = slice_of(text, OPERATION_TEXT_MAX + 1) });
    assert_false(operation_progress_read(buf_slice(&buf), &again));
    buf_fini(&buf);
}

static void a_code_of_a_newer_node_is_unknown(void **state)
{
    const struct operation_progress progress = {
        .id = slice_text("op-1"), .state = SHERD_OPERATION_FAILED,
        .code = (enum sherd_operation_code)99,
    };
    struct operation_progress again;
    struct buf buf = { 0 };
    (void)state;

    operation_progress_put(&buf, &progress);
    assert_true(operation_progress_read(buf_slice(&buf), &again));
    assert_int_equal(again.code, SHERD_OPERATION_STRANGE);
    buf_fini(&buf);
}

static void every_kind_state_and_code_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(sherd_operation_kind_text(SHERD_MOVE_SHARD), "move");
    assert_string_equal(sherd_operation_state_text(SHERD_OPERATION_DONE), "done");
    assert_string_equal(sherd_operation_code_text(SHERD_OPERATION_NO_HOME), "no-home");
    assert_string_equal(sherd_operation_kind_text(SHERD_OPERATION_KIND_COUNT), "unknown");
    assert_string_equal(sherd_operation_state_text(SHERD_OPERATION_STATE_COUNT), "unknown");
    assert_string_equal(sherd_operation_code_text(SHERD_OPERATION_CODE_COUNT), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_read_as_it_was_written),
        cmocka_unit_test(a_request_beyond_a_limit_is_refused),
        cmocka_unit_test(a_report_is_read_as_it_was_written),
        cmocka_unit_test(a_code_of_a_newer_node_is_unknown),
        cmocka_unit_test(every_kind_state_and_code_has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
