/* Tests nodes at IPv6 addresses, which have brackets in refs and may be configured with or
 * without. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <sherd/sherd.h>
#include <uv.h>

#include "certificates.h"

#define WAITS 3000 /* of 10 ms */

/* keys null: without TLS. */
static struct sherd_system *start(const char *host, const char *seed, const struct keys *keys)
{
    const char *seeds[] = { seed, NULL };
    struct sherd_options options = {
        .name = "Six",
        .host = host,
        .certificate = keys ? keys->node_path : NULL,
        .key = keys ? keys->key_path : NULL,
        .ca = keys ? keys->ca_path : NULL,
        .port = SHERD_PORT_ANY,
        .alone = !seed,
        .seed_nodes = seed ? seeds : NULL,
        .log_level = SHERD_LOG_WARNING,
        .config_text = "akka.cluster { gossip-interval = 100 ms\n"
                       "leader-actions-interval = 100 ms\n"
                       "periodic-tasks-initial-delay = 100 ms }",
    };
    struct sherd_system *system;

    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    return system;
}

/* Members that are up, with brackets in their addresses. */
static uint32_t members_up(struct sherd_system *system)
{
    struct sherd_status status;
    uint32_t up = 0;

    assert_int_equal(sherd_get_status(system, &status), 0);
    for (uint32_t i = 0; i < status.member_count; i++) {
        assert_int_equal(strncmp(status.members[i].address, "[::1]:", 6), 0);
        up += status.members[i].status == SHERD_UP;
    }
    sherd_status_free(&status);
    return up;
}

static void wait_for(struct sherd_system *system, uint32_t count)
{
    for (int i = 0; i < WAITS && members_up(system) != count; i++)
        uv_sleep(10);
    assert_int_equal(members_up(system), count);
}

static void three_find_each_other(const struct keys *keys)
{
    struct sherd_system *systems[3];
    char seed[64];

    systems[0] = start("[::1]", NULL, keys);
    (void)snprintf(seed, sizeof seed, "[::1]:%u", (unsigned)sherd_port(systems[0]));
    systems[1] = start("::1", seed, keys);
    (void)snprintf(seed, sizeof seed, "::1:%u", (unsigned)sherd_port(systems[0]));
    systems[2] = start("[::1]", seed, keys);
    for (int i = 0; i < 3; i++)
        wait_for(systems[i], 3);
    for (int i = 0; i < 3; i++)
        sherd_close(systems[i]);
}

static void nodes_find_each_other_with_and_without_brackets(void **state)
{
    (void)state;
    three_find_each_other(NULL);
}

/* Each node verifies the dialled address, and the one that a peer claims. */
static void nodes_find_each_other_over_tls(void **state)
{
    const struct certificate_options six = { .names = "IP:::1" };
    struct keys keys;

    (void)state;
    keys_init(&keys);
    keys_replace(&keys, NULL, &six);
    three_find_each_other(&keys);
    keys_fini(&keys);
}

static void a_port_that_others_reach_is_not_plain(void **state)
{
    struct sherd_options options = { .name = "Six", .host = "[::]", .port = SHERD_PORT_ANY, .alone = 1, .log_level = SHERD_LOG_ERROR };
    struct sherd_system *system;

    (void)state;
    assert_int_equal(sherd_open(&system, &options), SHERD_ECONFIG);
    options.host = "::";
    assert_int_equal(sherd_open(&system, &options), SHERD_ECONFIG);
}

static int has_ipv6(void)
{
    struct sockaddr_in6 name = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
    int fd = socket(AF_INET6, SOCK_STREAM, 0);
    int good = fd >= 0 && bind(fd, (const struct sockaddr *)&name, sizeof name) == 0;

    if (fd >= 0)
        (void)close(fd); /* never connected */
    return good;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_find_each_other_with_and_without_brackets),
        cmocka_unit_test(nodes_find_each_other_over_tls),
        cmocka_unit_test(a_port_that_others_reach_is_not_plain),
    };

    if (!has_ipv6()) {
        print_message("no IPv6 on this host\n");
        return 77;
    }
    return cmocka_run_group_tests_name("ipv6", tests, NULL, NULL);
}
