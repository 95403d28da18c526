/* Tests the ids of shards: numbers, and texts that several threads name at once. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <uv.h>

#include <sherd/extractor.h>

#include "base/limits.h"
#include "base/shard_names.h"

static struct slice name_of(struct shard_names *names, int32_t shard)
{
    static _Thread_local char text[SHARD_TEXT_MAX];

    return shard_name(names, shard, text);
}

static void numbers_are_their_decimal_text(void **state)
{
    int32_t shard;
    (void)state;

    assert_true(slice_is(name_of(NULL, -17), "-17"));
    assert_true(shard_number(NULL, slice_text("-17"), &shard));
    assert_int_equal(shard, -17);
    assert_false(shard_number(NULL, slice_text("017"), &shard));
}

static void each_text_has_one_number(void **state)
{
    struct shard_names *names = shard_names_new(3);
    int32_t shard;
    (void)state;

    assert_int_equal(shard_names_put(names, slice_text("b")), 0);
    assert_int_equal(shard_names_put(names, slice_text("a")), 1);
    assert_int_equal(shard_names_put(names, slice_text("b")), 0);
    assert_true(slice_is(name_of(names, 1), "a"));
    assert_true(slice_is(name_of(names, 2), ""));
    assert_true(slice_is(name_of(names, -1), ""));
    assert_true(slice_is(name_of(names, 3), ""));
    assert_true(shard_number(names, slice_text("-17"), &shard)); /* a text like others */
    assert_int_equal(shard, 2);
    assert_false(shard_number(names, slice_text("c"), &shard)); /* one too many */
    assert_int_equal(shard_names_put(names, slice_text("a")), 1);
    assert_int_equal(shard_names_count(names), 3);
    shard_names_free(names);
}

static void an_id_that_is_empty_too_long_or_no_text_has_no_number(void **state)
{
    struct shard_names *names = shard_names_new(3);
    char text[SHERD_SHARD_MAX + 1];
    (void)state;

    memset(text, 'x', sizeof text);
    assert_int_equal(shard_names_put(names, slice_text("")), SHARD_NONE);
    assert_int_equal(shard_names_put(names, slice_text("\xff")), SHARD_NONE);
    assert_int_equal(shard_names_put(names, slice_of(text, sizeof text)), SHARD_NONE);
    assert_int_equal(shard_names_put(names, slice_of(text, sizeof text - 1)), 0);
    shard_names_free(names);
}

#define THREADS 4
#define TEXTS 2000

struct thread {
    uv_thread_t id;
    struct shard_names *names;
    uint32_t step;
    int32_t numbers[TEXTS];
    bool is_wrong;
};

static void put_all(void *arg)
{
    struct thread *thread = arg;
    char text[32];

    for (uint32_t i = 0; i < TEXTS; i++) {
        uint32_t at = i * thread->step % TEXTS;
        struct slice name;

        name = slice_of(text, (size_t)snprintf(text, sizeof text, "shard %u", at));
        thread->numbers[at] = shard_names_put(thread->names, name);
        thread->is_wrong |= !slice_equal(name_of(thread->names, thread->numbers[at]), name);
    }
}

static void threads_agree_on_the_numbers(void **state)
{
    static const uint32_t steps[THREADS] = { 1, 3, 7, 1999 }; /* none divides TEXTS */
    static struct thread threads[THREADS];
    struct shard_names *names = shard_names_new(TEXTS);
    (void)state;

    for (uint32_t i = 0; i < THREADS; i++) {
        threads[i].names = names;
        threads[i].step = steps[i];
        assert_int_equal(uv_thread_create(&threads[i].id, put_all, &threads[i]), 0);
    }
    for (uint32_t i = 0; i < THREADS; i++)
        assert_int_equal(uv_thread_join(&threads[i].id), 0);
    assert_int_equal(shard_names_count(names), TEXTS);
    for (uint32_t i = 0; i < THREADS; i++) {
        assert_false(threads[i].is_wrong);
        assert_memory_equal(threads[i].numbers, threads[0].numbers, sizeof threads[i].numbers);
    }
    shard_names_free(names);
}

static void the_largest_table_holds_every_text(void **state)
{
    struct shard_names *names = shard_names_new(SHARDS_MAX);
    char text[32];
    (void)state;

    for (int32_t i = 0; i < SHARDS_MAX; i++) {
        (void)snprintf(text, sizeof text, "%d", (int)i);
        assert_int_equal(shard_names_put(names, slice_text(text)), i);
    }
    assert_int_equal(shard_names_put(names, slice_text("more")), SHARD_NONE);
    shard_names_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_their_decimal_text),
        cmocka_unit_test(each_text_has_one_number),
        cmocka_unit_test(an_id_that_is_empty_too_long_or_no_text_has_no_number),
        cmocka_unit_test(threads_agree_on_the_numbers),
        cmocka_unit_test(the_largest_table_holds_every_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
