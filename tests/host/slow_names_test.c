/* Tests seed nodes whose names DNS does not answer: they delay no other seed node, cause no second
 * cluster, and do not delay the end. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <sherd/sherd.h>
#include <uv.h>

#include "kept_log.h"
#include "members.h"
#include "slow_names.h"

#define SLOW 20 /* names: more than threads of libuv's pool or processors */
#define PATIENCE_MS 20000 /* for a fast name */

static struct sherd_system *start_one(const char *host, uint16_t port,
                                      const char **seeds)
{
    struct sherd_options options = {
        .host = host,
        .port = port,
        .seed_nodes = seeds,
        .alone = !seeds,
        .lanes = 2,
        .log = keep_line,
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

static void wait_for_members(struct sherd_system *system, uint32_t count)
{
    for (int i = 0; i < PATIENCE_MS / 10 && member_count(system) < count; i++)
        uv_sleep(10);
    assert_int_equal(member_count(system), count);
}

/* A recently free port: the first seed is in its own list. */
static uint16_t free_port(void)
{
    struct sherd_options options = { .host = "127.0.0.1", .port = SHERD_PORT_ANY, .alone = 1 };
    struct sherd_system *system;
    uint16_t port;

    assert_int_equal(sherd_open(&system, &options), 0);
    port = sherd_port(system);
    sherd_close(system);
    return port;
}

/* The last seed lives, earlier ones have slow names. The first one is the node itself or another
 * slow name. */
static void join_behind_slow_names(bool is_first)
{
    struct sherd_system *living = start_one("fast.example", SHERD_PORT_ANY, NULL);
    uint16_t port = free_port();
    char texts[SLOW + 2][64];
    const char *seeds[SLOW + 3] = { 0 };
    struct sherd_system *joining;

    atomic_store(&is_let_go, false);
    for (unsigned i = 0; i < SLOW + 2; i++) {
        (void)snprintf(texts[i], sizeof texts[i], "slow%u.example:%u", i,
                       (unsigned)port);
        seeds[i] = texts[i];
    }
    if (is_first)
        (void)snprintf(texts[0], sizeof texts[0], "127.0.0.1:%u",
                       (unsigned)port);
    (void)snprintf(texts[SLOW + 1], sizeof texts[0], "fast.example:%u",
                   (unsigned)sherd_port(living));
    joining = start_one("127.0.0.1", port, seeds);
    wait_for_members(joining, 2);
    wait_for_members(living, 2); /* a node that forms its own cluster stays alone */

    assert_true(atomic_load(&waiting) > 0);
    sherd_close(joining);
    assert_true(atomic_load(&waiting) > 0); /* no thread waited for them */
    sherd_close(living);
    atomic_store(&is_let_go, true);
    while (atomic_load(&waiting) > 0)
        uv_sleep(10);
}

static void a_node_joins_behind_names_without_an_answer(void **state)
{
    (void)state;
    join_behind_slow_names(false);
}

static void the_first_seed_joins_behind_names_without_an_answer(void **state)
{
    (void)state;
    join_behind_slow_names(true);
}

/* Each attempt ends before its name's answer, which the next attempt uses without another
 * look-up. */
static void an_answer_that_comes_late_is_not_lost(void **state)
{
    struct sherd_system *living, *joining;
    char text[64];
    const char *seeds[] = { text, NULL };
    uint64_t let_go_at;

    (void)state;
    atomic_store(&is_let_go, true);
    living = start_one("slow.example", SHERD_PORT_ANY, NULL); /* binds to it */
    wait_for_members(living, 1);
    atomic_store(&is_let_go, false);
    atomic_store(&asked, 0);
    (void)snprintf(text, sizeof text, "slow.example:%u",
                   (unsigned)sherd_port(living));
    joining = start_one("127.0.0.1", SHERD_PORT_ANY, seeds);
    for (int i = 0; i < PATIENCE_MS / 10 && !was_logged("no answer in time"); i++)
        uv_sleep(10);
    assert_true(was_logged("look up: no answer in time"));
    assert_int_equal(member_count(joining), 0);
    let_go_at = uv_hrtime();
    atomic_store(&is_let_go, true);
    wait_for_members(joining, 2);
    /* later the name may be looked up again */
    if (uv_hrtime() - let_go_at < DNS_LOOKUP_KEPT_MS * UINT64_C(1000000))
        assert_int_equal(atomic_load(&asked), 1);
    sherd_close(joining);
    sherd_close(living);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_joins_behind_names_without_an_answer),
        cmocka_unit_test(the_first_seed_joins_behind_names_without_an_answer),
        cmocka_unit_test(an_answer_that_comes_late_is_not_lost),
    };

    assert_int_equal(uv_mutex_init(&log_mutex), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
