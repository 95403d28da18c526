/* The limit of a singleton manager's memory of removed members. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/timers.h"
#include "singleton/singleton_state.h"

static struct node_id node_of(uint32_t n)
{
    struct node_id node = { .address = { .port = 2550 }, .uid = 100 + n };

    snprintf(node.address.host, sizeof node.address.host, "n%u", (unsigned)n);
    return node;
}

/* A ring: the oldest is forgotten. */
static void so_many_removed_members_are_remembered(void **state)
{
    struct identity identity = { "akka", "S", node_of(0) };
    struct singleton *singleton = singleton_new(
        &(struct singleton_options){ .identity = &identity,
                                     .path = "/system/s", .seed = 1 },
        SECOND);
    struct node_id node;
    (void)state;

    for (uint32_t n = 1; n <= SINGLETON_REMOVED_MAX; n++) {
        node = node_of(n);
        singleton_remember_removed(singleton, &node);
    }
    node = node_of(1);
    assert_true(singleton_is_removed(singleton, &node));
    assert_int_equal(singleton_counters(singleton)->forgotten, 0);
    node = node_of(SINGLETON_REMOVED_MAX + 1);
    singleton_remember_removed(singleton, &node);
    assert_int_equal(singleton_counters(singleton)->forgotten, 1);
    assert_true(singleton_is_removed(singleton, &node));
    node = node_of(1);
    assert_false(singleton_is_removed(singleton, &node));
    node = node_of(2);
    assert_true(singleton_is_removed(singleton, &node));
    singleton_free(singleton);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_removed_members_are_remembered),
    };

    return cmocka_run_group_tests_name("singleton_limits", tests, NULL, NULL);
}
