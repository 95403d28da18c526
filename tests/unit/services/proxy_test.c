/* Tests the proxy of a singleton: which member it asks, and when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/timers.h"
#include "singleton/proxy.h"

static struct node_id node_of(uint32_t n)
{
    struct node_id node = { .address = { .port = 2550 }, .uid = 100 + n };

    (void)snprintf(node.address.host, sizeof node.address.host, "n%u", n);
    return node;
}

static void tell(struct proxy *proxy, uint32_t n, enum member_status status, int32_t up_number)
{
    const struct member_info peer = { .node = node_of(n),
                                      .up_number = up_number,
                                      .status = status,
                                      .has_role = true };

    proxy_peer(proxy, &peer);
}

/* Returns the member that the proxy asks now; -1: none. Other news are in the text. */
static int asked(struct proxy *proxy, char *text)
{
    enum proxy_news news;
    struct node_id node;
    int found = -1;

    *text = 0;
    while (proxy_next_news(proxy, &news)) {
        if (news == PROXY_NEWS_ASK && proxy_target(proxy, &node))
            found = (int)node.uid - 100;
        else
            *text++ = news == PROXY_NEWS_FOUND ? 'F' : 'L';
        *text = 0;
    }
    return found;
}

static void the_oldest_member_that_is_up_is_asked_until_it_answers(void **state)
{
    struct proxy *proxy = proxy_new(1000);
    struct node_id second = node_of(2), third = node_of(3);
    char text[16];

    (void)state;
    assert_int_equal(proxy_deadline(proxy), NEVER);
    tell(proxy, 1, MEMBER_JOINING, INT32_MAX);
    tell(proxy, 3, MEMBER_UP, 3);
    tell(proxy, 2, MEMBER_UP, 2);
    proxy_peers_done(proxy, 10 * SECOND);
    assert_int_equal(asked(proxy, text), 2);
    proxy_step(proxy, 10 * SECOND + 999 * MS);
    assert_int_equal(asked(proxy, text), -1);
    proxy_step(proxy, 11 * SECOND);
    assert_int_equal(asked(proxy, text), 2);
    proxy_found(proxy, &third); /* not asked */
    assert_int_equal(asked(proxy, text), -1);
    assert_string_equal(text, "");
    proxy_found(proxy, &second);
    proxy_found(proxy, &second); /* a second answer */
    assert_int_equal(asked(proxy, text), -1);
    assert_string_equal(text, "F");
    assert_int_equal(proxy_deadline(proxy), NEVER);
    proxy_free(proxy);
}

static void an_instance_that_ended_is_looked_for_after_the_interval(void **state)
{
    struct proxy *proxy = proxy_new(500);
    struct node_id first = node_of(1);
    char text[16];

    (void)state;
    tell(proxy, 1, MEMBER_UP, 1);
    proxy_peers_done(proxy, SECOND);
    proxy_found(proxy, &first);
    (void)asked(proxy, text);
    proxy_ended(proxy, 2 * SECOND);
    proxy_ended(proxy, 2 * SECOND);
    assert_int_equal(asked(proxy, text), -1);
    assert_string_equal(text, "L");
    assert_int_equal(proxy_deadline(proxy), 2 * SECOND + 500 * MS);
    proxy_step(proxy, 2 * SECOND + 500 * MS);
    assert_int_equal(asked(proxy, text), 1);
    proxy_free(proxy);
}

static void an_exiting_member_is_left_and_a_downed_one_is_asked_until_its_removal(void **state)
{
    struct proxy *proxy = proxy_new(1000);
    struct node_id first = node_of(1), second = node_of(2);
    char text[16];

    (void)state;
    for (uint32_t n = 1; n <= 3; n++)
        tell(proxy, n, MEMBER_UP, (int32_t)n);
    proxy_peers_done(proxy, SECOND);
    proxy_found(proxy, &first);
    tell(proxy, 1, MEMBER_LEAVING, 1);
    proxy_peers_done(proxy, SECOND);
    assert_int_equal(asked(proxy, text), 1);
    assert_string_equal(text, "F");
    tell(proxy, 1, MEMBER_EXITING, 1);
    proxy_peers_done(proxy, 2 * SECOND);
    assert_int_equal(asked(proxy, text), 2);
    assert_string_equal(text, "L");
    tell(proxy, 2, MEMBER_DOWN, 2);
    proxy_peers_done(proxy, 3 * SECOND);
    assert_int_equal(asked(proxy, text), -1);
    proxy_peer_removed(proxy, &second);
    proxy_peers_done(proxy, 4 * SECOND);
    assert_int_equal(asked(proxy, text), 3);
    proxy_peer_removed(proxy, &(struct node_id){ .uid = 103, .address = node_of(3).address });
    proxy_peers_done(proxy, 5 * SECOND);
    assert_int_equal(asked(proxy, text), -1);
    assert_int_equal(proxy_deadline(proxy), NEVER);
    proxy_free(proxy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_member_that_is_up_is_asked_until_it_answers),
        cmocka_unit_test(an_instance_that_ended_is_looked_for_after_the_interval),
        cmocka_unit_test(an_exiting_member_is_left_and_a_downed_one_is_asked_until_its_removal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
