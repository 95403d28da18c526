/* Contexts as bytes: only what a broker writes is one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "kvstore/request.h"

/* The clock behind its hash, as a context of the key "k". */
static bool is_context(struct slice clock)
{
    struct buf hashed = { 0 }, context = { 0 };
    struct history history = { 0 };
    bool is_one;

    buf_put_u8(&hashed, 1);
    buf_put_slice(&hashed, slice_text("k"));
    buf_put_slice(&hashed, clock);
    buf_put_u64(&context, hash_bytes(buf_slice(&hashed)));
    buf_put_slice(&context, clock);
    is_one = context_get(slice_text("k"), buf_slice(&context), &history);
    history_fini(&history);
    buf_fini(&context);
    buf_fini(&hashed);
    return is_one;
}

static void a_context_is_as_it_is_written(void **state)
{
    static const uint8_t empty[] = { 0 };
    static const uint8_t written[] = { 1, 7, 0, 0, 0, 0, 0, 0, 0, 2, 3, 4 };
    static const uint8_t longer[] = { 1, 7, 0,    0, 0, 0, 0,
                                      0, 0, 0x82, 0, 3, 4 };
    static const uint8_t rest[] = { 1, 7, 0, 0, 0, 0, 0, 0, 0, 2, 3, 4, 5 };

    (void)state;
    assert_true(is_context(slice_of(written, sizeof written)));
    assert_false(is_context(slice_of(longer, sizeof longer))); /* 2 as two bytes */
    assert_false(is_context(slice_of(rest, sizeof rest)));
    assert_false(is_context(slice_of(empty, sizeof empty))); /* that is no bytes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_context_is_as_it_is_written),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
