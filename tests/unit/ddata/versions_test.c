/* Checks Akka's cases of version vectors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/check.h"
#include "ddata/versions.h"
#include "world.h"

/* A vector from a text: "a1 b7". */
static struct versions of(const char *text)
{
    struct versions versions = { 0 };

    for (; *text; text += text[2] ? 3 : 2) {
        struct node_id node = node_of(text[0]);

        versions_set(&versions, &node, text[1] - '0');
    }
    return versions;
}

static void compare(const char *left, const char *right,
                    enum versions_order order)
{
    struct versions a = of(left);
    struct versions b = of(right);
    enum versions_order back = order == VERSIONS_BEFORE  ? VERSIONS_AFTER
                               : order == VERSIONS_AFTER ? VERSIONS_BEFORE
                                                         : order;

    assert_int_equal(versions_compare(&a, &b), order);
    assert_int_equal(versions_compare(&b, &a), back);
    versions_fini(&a);
    versions_fini(&b);
}

static void vectors_are_compared(void **state)
{
    (void)state;
    compare("", "", VERSIONS_SAME);
    compare("a1 b2", "a1 b2", VERSIONS_SAME);
    compare("", "a1", VERSIONS_BEFORE);
    compare("a1", "a1 b1", VERSIONS_BEFORE);
    compare("a1", "a2", VERSIONS_BEFORE);
    compare("b1", "a1 b1", VERSIONS_BEFORE);
    compare("a1", "b1", VERSIONS_CONCURRENT);
    compare("a2 b1", "a1 b2", VERSIONS_CONCURRENT);
    compare("a1 b1", "a1 c1", VERSIONS_CONCURRENT);
    compare("a1 b2 c1", "a1 b1 d1", VERSIONS_CONCURRENT);
}

static void vectors_are_merged(void **state)
{
    static const char *const rows[][3] = {
        { "a1 b2", "b1 c3", "a1 b2 c3" },
        { "a1 b2", "c3 d4", "a1 b2 c3 d4" },
        { "", "a1", "a1" },
        { "a2", "a1", "a2" },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct versions a = of(rows[i][0]);
        struct versions b = of(rows[i][1]);
        struct versions merged = of(rows[i][2]);
        struct versions copy = { 0 };

        versions_copy(&copy, &a);
        assert_int_equal(versions_merge(&a, &b),
                         versions_compare(&copy, &merged) != VERSIONS_SAME);
        assert_int_equal(versions_compare(&a, &merged), VERSIONS_SAME);
        assert_true(versions_merge(&b, &copy) || i == 2);
        assert_int_equal(versions_compare(&b, &merged), VERSIONS_SAME);
        assert_false(versions_merge(&a, &b));
        versions_fini(&a);
        versions_fini(&b);
        versions_fini(&merged);
        versions_fini(&copy);
    }
}

/* All vectors of a process share the versions, so those in one vector jump. */
static void versions_are_drawn_by_the_process(void **state)
{
    struct dd_writer writer = writer_of('b');
    struct node_id a = node_of('a');
    struct versions one = of("a1");
    struct versions two = { 0 };
    (void)state;

    versions_increment(&one, &writer);
    versions_increment(&two, &writer);
    versions_increment(&one, &writer);
    assert_int_equal(versions_get(&one, &writer.node), 3);
    assert_int_equal(versions_get(&two, &writer.node), 2);
    assert_int_equal(versions_get(&one, &a), 1);
    assert_int_equal(versions_get(&two, &a), 0);
    assert_true(versions_prune(&one, &a, &writer));
    assert_int_equal(versions_get(&one, &a), 0);
    assert_int_equal(versions_get(&one, &writer.node), 4);
    assert_false(versions_prune(&one, &a, &writer));
    assert_true(versions_drop(&one, &writer.node));
    assert_int_equal(one.items.count, 0);
    versions_fini(&one);
    versions_fini(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_are_compared),
        cmocka_unit_test(vectors_are_merged),
        cmocka_unit_test(versions_are_drawn_by_the_process),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
