/* Counts the members that a node sees. */
#ifndef SHERD_TESTS_MEMBERS_H
#define SHERD_TESTS_MEMBERS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sherd/sherd.h>

static inline uint32_t member_count(struct sherd_system *system)
{
    struct sherd_status status;
    uint32_t count;

    assert_int_equal(sherd_get_status(system, &status), 0);
    count = status.member_count;
    sherd_status_free(&status);
    return count;
}

#endif
