/* Tests contexts as bytes: only a broker's exact encoding is accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "kvstore/request.h"

/* Puts the clock after its hash, as a context of the key "k". */
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

static void only_the_exact_encoding_of_a_context_is_accepted(void **state)
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
    assert_false(is_context(slice_of(empty, sizeof empty))); /* an empty context is no bytes */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_exact_encoding_of_a_context_is_accepted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
