/* Tests check_peers with peers that may be forgotten or replaced, and with others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/member_info.h"
#include "base/timers.h"
#include "sim/check/check_peers.h"
#include "judged.h"

#define STRANGER 99

static struct check_peers *check;

/* n0 is 10, n1 is 20 and then 21. */
static void begin(void)
{
    judge();
    check = check_peers_new(verdict);
    check_peers_node_started(check, 0, 10);
    check_peers_node_started(check, 1, 20);
    check_peers_node_started(check, 1, 21);
}

static void end(const char *invariant, const char *text)
{
    expect_only(invariant);
    if (invariant)
        assert_non_null(strstr(verdict_find(verdict, invariant)->text, text));
    check_peers_free(check);
    verdict_free(verdict);
}

static void tell(uint32_t by, uint64_t at, enum probe_kind kind, uint64_t uid,
                 uint64_t first)
{
    const struct probe probe = { .kind = (uint8_t)kind,
                                 .node = { { "n", 1 }, uid },
                                 .first = first };

    check_peers_probe(check, at, by, &probe);
}

static void strangers_may_be_forgotten(void **state)
{
    (void)state;
    begin();
    tell(0, 1, PROBE_PEER_FORGOTTEN, STRANGER, 0);
    tell(1, 1, PROBE_PEER_ANSWERED, STRANGER, 0);
    tell(1, 1, PROBE_MEMBER_SEEN, STRANGER, MEMBER_UP);
    tell(0, 5 * SECOND, PROBE_PEER_FORGOTTEN, STRANGER, 0); /* n1's facts are its own */
    tell(0, 5 * SECOND, PROBE_MEMBER_SEEN, 20, MEMBER_UP);
    tell(0, 5 * SECOND + 1, PROBE_PEER_FORGOTTEN, 20, 0); /* its parts do not know yet */
    assert_int_equal(check_peers_forgotten(check), 3);
    end(NULL, NULL);
}

static void a_restarted_node_has_forgotten_all(void **state)
{
    (void)state;
    begin();
    tell(0, 1, PROBE_PEER_ANSWERED, 20, 0);
    check_peers_node_started(check, 0, 11);
    tell(0, 5 * SECOND, PROBE_PEER_FORGOTTEN, 20, 0);
    end(NULL, NULL);
}

static void a_forgotten_peer_that_answered_is_found(void **state)
{
    (void)state;
    begin();
    tell(0, 1, PROBE_PEER_ANSWERED, 20, 0);
    tell(0, 2, PROBE_PEER_FORGOTTEN, 20, 0);
    end("peers-stay", "is forgotten, and it answered");
}

static void a_forgotten_member_is_found(void **state)
{
    (void)state;
    begin();
    tell(0, 1, PROBE_MEMBER_SEEN, 20, MEMBER_JOINING);
    tell(0, SECOND, PROBE_MEMBER_SEEN, 20, MEMBER_UP);
    tell(0, SECOND, PROBE_PEER_FORGOTTEN, 20, 0);
    expect_only(NULL);
    tell(0, SECOND + 1, PROBE_PEER_FORGOTTEN, 20, 0);
    end("peers-stay", "is forgotten, and it is a member");
}

static void a_removed_member_may_be_forgotten(void **state)
{
    (void)state;
    begin();
    tell(0, 1, PROBE_MEMBER_SEEN, 20, MEMBER_UP);
    tell(0, SECOND, PROBE_MEMBER_SEEN, 20, MEMBER_REMOVED);
    tell(0, 5 * SECOND, PROBE_PEER_FORGOTTEN, 20, 0);
    end(NULL, NULL);
}

static void a_restarted_node_may_replace_an_earlier_incarnation(void **state)
{
    (void)state;
    begin();
    tell(0, 1, PROBE_PEER_ANSWERED, 20, 0);
    tell(0, 2, PROBE_PEER_REPLACED, 20, 21);
    tell(0, 3, PROBE_PEER_FORGOTTEN, 20, 0);
    end(NULL, NULL);
}

static void a_stranger_in_the_place_of_a_peer_is_found(void **state)
{
    (void)state;
    begin();
    tell(0, 1, PROBE_PEER_ANSWERED, 21, 0);
    tell(0, 2, PROBE_PEER_REPLACED, 21, STRANGER);
    end("peers-stay", "is replaced by uid 99, which no node has");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_may_be_forgotten),
        cmocka_unit_test(a_restarted_node_has_forgotten_all),
        cmocka_unit_test(a_forgotten_peer_that_answered_is_found),
        cmocka_unit_test(a_forgotten_member_is_found),
        cmocka_unit_test(a_removed_member_may_be_forgotten),
        cmocka_unit_test(a_restarted_node_may_replace_an_earlier_incarnation),
        cmocka_unit_test(a_stranger_in_the_place_of_a_peer_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
