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

struct pair {
    const char *left, *right;
    enum versions_order order;
    const char *merged; /* null: not merged */
};

static void assert_order(const struct versions *a, const struct versions *b,
                         enum versions_order order)
{
    enum versions_order back = order == VERSIONS_BEFORE  ? VERSIONS_AFTER
                               : order == VERSIONS_AFTER ? VERSIONS_BEFORE
                                                         : order;

    assert_int_equal(versions_compare(a, b), order);
    assert_int_equal(versions_compare(b, a), back);
}

static void vectors_are_compared(void **state)
{
    const struct pair *pair = *state;
    struct versions a = of(pair->left);
    struct versions b = of(pair->right);

    assert_order(&a, &b, pair->order);
    versions_fini(&a);
    versions_fini(&b);
}

/* The order of both does not matter. */
static void vectors_are_merged(void **state)
{
    const struct pair *pair = *state;
    struct versions a = of(pair->left), b = of(pair->right);
    struct versions both = of(pair->left), merged = of(pair->merged);

    assert_order(&a, &b, pair->order);
    assert_int_equal(versions_merge(&both, &b),
                     versions_compare(&a, &merged) != VERSIONS_SAME);
    assert_order(&both, &merged, VERSIONS_SAME);
    assert_int_equal(versions_merge(&b, &a),
                     pair->order != VERSIONS_BEFORE);
    assert_order(&b, &merged, VERSIONS_SAME);
    assert_false(versions_merge(&both, &b));
    versions_fini(&a);
    versions_fini(&b);
    versions_fini(&both);
    versions_fini(&merged);
}

static void a_merged_vector_grows_beyond_both_DD150(void **state)
{
    struct dd_writer writer = writer_of('c');
    struct versions a = of("a2"), b = of("b1"), c = of("a2");
    (void)state;

    assert_true(versions_merge(&c, &b));
    versions_increment(&c, &writer);
    assert_order(&c, &a, VERSIONS_AFTER);
    assert_order(&c, &b, VERSIONS_AFTER);
    versions_fini(&a);
    versions_fini(&b);
    versions_fini(&c);
}

/* All vectors of a process share the versions, so those in one vector jump. */
static void versions_are_drawn_by_the_process_DD138(void **state)
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

#define PAIR(name, test, ...)                                                  \
    { #name, test, NULL, NULL, &(struct pair){ __VA_ARGS__ } }

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAIR(empty_vectors_are_the_same_DD136_DD137, vectors_are_compared, "",
             "", VERSIONS_SAME, NULL),
        PAIR(equal_vectors_are_the_same_DD139, vectors_are_compared, "a3 b2",
             "a3 b2", VERSIONS_SAME, NULL),
        PAIR(one_more_node_comes_after_DD140, vectors_are_compared, "a3 b2",
             "a3 b2 c4", VERSIONS_BEFORE, NULL),
        PAIR(other_nodes_are_concurrent_DD141, vectors_are_compared, "a1",
             "b1", VERSIONS_CONCURRENT, NULL),
        PAIR(some_other_nodes_are_concurrent_DD142, vectors_are_compared,
             "a3 b2", "a2 c3", VERSIONS_CONCURRENT, NULL),
        PAIR(more_nodes_and_versions_come_after_DD143, vectors_are_compared,
             "b2", "a1 b3 c4", VERSIONS_BEFORE, NULL),
        PAIR(a_node_or_a_version_more_is_concurrent_DD144,
             vectors_are_compared, "a1 b2", "a2", VERSIONS_CONCURRENT, NULL),
        PAIR(two_branches_are_concurrent_DD145, vectors_are_compared,
             "a1 b3 c4", "a1 b5", VERSIONS_CONCURRENT, NULL),
        PAIR(both_branches_merge_DD147, vectors_are_merged, "a1 b5",
             "a1 b3 c4", VERSIONS_CONCURRENT, "a1 b5 c4"),
        PAIR(disjoint_vectors_merge_DD148, vectors_are_merged, "d2",
             "a1 b3 c4", VERSIONS_CONCURRENT, "a1 b3 c4 d2"),
        PAIR(a_first_version_comes_after_none_DD149, vectors_are_merged, "a1",
             "", VERSIONS_AFTER, "a1"),
        PAIR(an_older_version_is_merged, vectors_are_merged, "a1", "a2",
             VERSIONS_BEFORE, "a2"),
        cmocka_unit_test(a_merged_vector_grows_beyond_both_DD150),
        cmocka_unit_test(versions_are_drawn_by_the_process_DD138),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
