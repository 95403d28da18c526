/* Tests the memory of a world: pieces of every size keep their content, and are used again. */
#include "sim/world/heap.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

#define PIECES 3000

struct pending_item {
    uint8_t *memory;
    size_t size;
    uint8_t mark;
};

static size_t drawn_size(struct rng *rng)
{
    return 1 + rng_below(rng, UINT64_C(1) << (1 + rng_below(rng, 18)));
}

static void hold(struct pending_item *held, size_t size, uint8_t mark)
{
    held->memory = heap_alloc(size);
    assert_non_null(held->memory);
    assert_int_equal((uintptr_t)held->memory % 16, 0);
    held->size = size;
    held->mark = mark;
    memset(held->memory, mark, size);
}

static void assert_kept(const struct pending_item *held, size_t size)
{
    for (size_t i = 0; i < size; i++)
        assert_int_equal(held->memory[i], held->mark);
}

static void resize(struct pending_item *held, size_t size)
{
    held->memory = heap_resize(held->memory, size);
    assert_non_null(held->memory);
    assert_kept(held, size < held->size ? size : held->size);
    held->size = size;
    memset(held->memory, held->mark, size);
}

static void pieces_keep_what_was_written(void **state)
{
    static struct pending_item held[PIECES];
    struct rng rng;

    (void)state;
    rng_init(&rng, 7);
    for (uint32_t i = 0; i < 60000; i++) {
        struct pending_item *one = &held[rng_below(&rng, PIECES)];
        bool is_ahead = i % 100 > 50; /* with long intervals without it */
        size_t size = drawn_size(&rng);

        if (is_ahead)
            heap_ahead();
        if (!one->memory) {
            hold(one, size, (uint8_t)i);
        } else if (rng_below(&rng, 3)) {
            assert_kept(one, one->size);
            heap_free(one->memory);
            one->memory = NULL;
        } else {
            resize(one, size);
        }
    }
    for (uint32_t i = 0; i < PIECES; i++) {
        if (held[i].memory)
            assert_kept(&held[i], held[i].size);
        heap_free(held[i].memory);
        held[i].memory = NULL;
    }
}

static void every_size_has_room_for_itself(void **state)
{
    static struct pending_item held[2];

    (void)state;
    for (size_t size = 1; size <= 70000; size += size < 2000 ? 1 : 37) {
        hold(&held[0], size, 1);
        hold(&held[1], size, 2);
        assert_kept(&held[0], size);
        assert_kept(&held[1], size);
        heap_free(held[0].memory);
        heap_free(held[1].memory);
    }
}

static void pieces_in_use_are_counted(void **state)
{
    size_t before = heap_used();
    void *small = heap_alloc(40), *large = heap_alloc(5000);
    size_t both = heap_used();

    (void)state;
    heap_free(small);
    heap_free(large);
    assert_int_equal(heap_used(), before);
    if (both != before) /* a sanitizer's memory is not counted */
        assert_in_range(both - before, 5040, 6000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_keep_what_was_written),
        cmocka_unit_test(every_size_has_room_for_itself),
        cmocka_unit_test(pieces_in_use_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
