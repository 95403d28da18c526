/* Tests look-ups of names: parallel, shared, cached, bounded, and left behind. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/limits.h"
#include "host/dns_lookup.h"
#include "slow_names.h"

struct place {
    uv_loop_t loop;
    struct dns_lookups *lookups;
    struct asker *asker;
    uint32_t told, known, failed;
    struct found *last;
};

static int make_place(void **state)
{
    struct place *place = mem_alloc(sizeof *place);

    assert_int_equal(uv_loop_init(&place->loop), 0);
    place->lookups = dns_lookups_new();
    place->asker = asker_new(place->lookups, &place->loop);
    atomic_store(&asked, 0);
    atomic_store(&is_let_go, false);
    *state = place;
    return 0;
}

static void close_loop(struct place *place)
{
    asker_free(place->asker);
    assert_int_equal(uv_run(&place->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&place->loop), 0);
}

static void wait_for(atomic_uint *number, uint32_t value)
{
    while (atomic_load(number) != value) /* ends by ctest's time-out */
        uv_sleep(1);
}

static int free_place(void **state)
{
    struct place *place = *state;

    close_loop(place);
    dns_lookups_close(place->lookups);
    atomic_store(&is_let_go, true);
    wait_for(&waiting, 0);
    mem_free(place->last);
    mem_free(place);
    return 0;
}

static void done(void *context, struct found *found)
{
    struct place *place = context;

    place->told++;
    place->known += found->count > 0;
    place->failed += found->why[0] != 0;
    mem_free(place->last);
    place->last = found;
}

static struct dns_lookup *start(struct place *place, const char *host)
{
    return dns_lookup_start(place->asker, host, done, place);
}

static void wait_for_told(struct place *place, uint32_t count)
{
    while (place->told < count)
        (void)uv_run(&place->loop, UV_RUN_ONCE);
    assert_int_equal(place->told, count);
}

/* Runs only what is due now. */
static void run_due(struct place *place)
{
    (void)uv_run(&place->loop, UV_RUN_NOWAIT);
}

static void start_slow(struct place *place, uint32_t from, uint32_t to)
{
    char host[32];

    for (uint32_t i = from; i < to; i++) {
        (void)snprintf(host, sizeof host, "slow%u.example", (unsigned)i);
        (void)start(place, host);
    }
}

static void numeric_addresses_need_no_look_up(void **state)
{
    static const char *const names[] = { "", "127.0.0.1.example", "localhost", ":" };
    struct found *four = dns_lookup_number("127.0.0.1");
    struct found *six = dns_lookup_number("::1");
    struct found *in_brackets = dns_lookup_number("[::1]"); /* as in refs */

    (void)state;
    assert_int_equal(four->count, 1);
    assert_int_equal(four->addresses[0].any.sa_family, AF_INET);
    assert_int_equal(ntohl(four->addresses[0].v4.sin_addr.s_addr), INADDR_LOOPBACK);
    assert_int_equal(six->count, 1);
    assert_int_equal(six->addresses[0].any.sa_family, AF_INET6);
    assert_memory_equal(&six->addresses[0].v6.sin6_addr, &in6addr_loopback, 16);
    assert_non_null(in_brackets);
    assert_int_equal(in_brackets->count, 1);
    assert_memory_equal(&in_brackets->addresses[0].v6.sin6_addr, &in6addr_loopback, 16);
    mem_free(four);
    mem_free(six);
    mem_free(in_brackets);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_null(dns_lookup_number(names[i]));
    assert_int_equal(atomic_load(&asked), 0);
}

static void the_loop_delivers_an_answer_and_it_is_cached(void **state)
{
    struct place *place = *state;

    for (uint32_t i = 1; i <= 3; i++) {
        (void)start(place, "fast.example");
        assert_int_equal(place->told, i - 1);
        wait_for_told(place, i);
        assert_int_equal(place->known, i);
        assert_int_equal(place->last->count, 1);
        assert_int_equal(place->last->addresses[0].v4.sin_port, 0);
    }
    assert_int_equal(atomic_load(&asked), 1);
    for (uint32_t i = 1; i <= 3; i++) {
        (void)start(place, "nobody.example");
        wait_for_told(place, 3 + i);
        assert_int_equal(place->failed, i);
        assert_int_equal(place->last->count, 0);
        assert_string_equal(place->last->why, gai_strerror(EAI_NONAME));
    }
    assert_int_equal(atomic_load(&asked), 2);
}

static void a_name_is_asked_for_again_after_a_while(void **state)
{
    struct place *place = *state;
    uint64_t began_at = uv_hrtime();

    for (uint32_t told = 1; atomic_load(&asked) < 2; told++) { /* ends by ctest's time-out */
        (void)start(place, "nobody.example");
        wait_for_told(place, told);
        uv_sleep(20);
    }
    assert_true(uv_hrtime() - began_at >= DNS_LOOKUP_FAILED_KEPT_MS * UINT64_C(1000000));
}

static void concurrent_requests_share_a_look_up(void **state)
{
    struct place *place = *state;
    struct asker *other = asker_new(place->lookups, &place->loop);

    for (uint32_t i = 0; i < 10; i++)
        (void)dns_lookup_start(i % 2 ? other : place->asker, "slow.example", done,
                           place);
    wait_for(&waiting, 1);
    (void)start(place, "slow.example");
    run_due(place);
    assert_int_equal(place->told, 0);
    atomic_store(&is_let_go, true);
    wait_for_told(place, 11);
    assert_int_equal(place->known, 11);
    assert_int_equal(atomic_load(&asked), 1);
    asker_free(other);
}

static void a_silent_name_delays_no_other(void **state)
{
    struct place *place = *state;

    start_slow(place, 0, DNS_LOOKUP_THREADS_MAX - 1);
    (void)start(place, "fast.example");
    wait_for_told(place, 1);
    assert_int_equal(place->known, 1);
    wait_for(&waiting, DNS_LOOKUP_THREADS_MAX - 1);
    atomic_store(&is_let_go, true);
    wait_for_told(place, DNS_LOOKUP_THREADS_MAX);
}

static void names_without_a_thread_wait_in_line(void **state)
{
    struct place *place = *state;

    start_slow(place, 0, DNS_LOOKUP_THREADS_MAX + 20);
    (void)start(place, "fast.example");
    wait_for(&waiting, DNS_LOOKUP_THREADS_MAX);
    assert_int_equal(atomic_load(&asked), DNS_LOOKUP_THREADS_MAX);
    run_due(place);
    assert_int_equal(place->told, 0);
    atomic_store(&is_let_go, true);
    wait_for_told(place, DNS_LOOKUP_THREADS_MAX + 21);
    assert_int_equal(place->known, DNS_LOOKUP_THREADS_MAX + 21);
    assert_int_equal(atomic_load(&asked), DNS_LOOKUP_THREADS_MAX + 21);
}

static void too_many_names_are_refused(void **state)
{
    struct place *place = *state;

    start_slow(place, 0, DNS_LOOKUP_NAMES_MAX);
    run_due(place);
    assert_int_equal(place->told, 0);
    (void)start(place, "fast.example");
    (void)start(place, "slow0.example"); /* a known name */
    wait_for_told(place, 1);
    assert_int_equal(place->failed, 1);
    atomic_store(&is_let_go, true);
    wait_for_told(place, DNS_LOOKUP_NAMES_MAX + 2);
    assert_int_equal(place->failed, 1);
    /* Known names make room. */
    (void)start(place, "fast.example");
    wait_for_told(place, DNS_LOOKUP_NAMES_MAX + 3);
    assert_int_equal(place->failed, 1);
}

static void addresses_of_a_name_are_bounded(void **state)
{
    struct place *place = *state;

    (void)start(place, "many.example");
    wait_for_told(place, 1);
    assert_int_equal(place->last->count, DNS_LOOKUP_ADDRESSES_MAX);
    /* the last one, of 127.0.0.1, is dropped */
    for (uint32_t i = 0; i < DNS_LOOKUP_ADDRESSES_MAX; i++)
        assert_int_equal(ntohl(place->last->addresses[i].v4.sin_addr.s_addr),
                         INADDR_LOOPBACK + 1);
}

static void a_cancelled_look_up_still_caches_its_answer(void **state)
{
    struct place *place = *state;
    struct dns_lookup *given_up = start(place, "slow.example");
    struct dns_lookup *another = start(place, "slow.example");

    wait_for(&waiting, 1);
    dns_lookup_cancel(given_up);
    dns_lookup_cancel(another);
    dns_lookup_cancel(NULL);
    atomic_store(&is_let_go, true);
    (void)start(place, "slow.example");
    wait_for_told(place, 1);
    assert_int_equal(atomic_load(&asked), 1);
    /* Also one whose answer is on its way. */
    given_up = start(place, "slow.example");
    another = start(place, "slow.example");
    dns_lookup_cancel(given_up);
    wait_for_told(place, 2);
    run_due(place);
    assert_int_equal(place->told, 2);
    (void)another;
}

/* The threads use nothing of the closed table's owner. */
static void closing_does_not_wait_for_look_ups(void **state)
{
    struct place *place = *state;
    struct dns_lookup *lookups[DNS_LOOKUP_THREADS_MAX + 1];
    char host[32];

    for (uint32_t i = 0; i <= DNS_LOOKUP_THREADS_MAX; i++) {
        (void)snprintf(host, sizeof host, "slow%u.example", (unsigned)i);
        lookups[i] = start(place, host);
    }
    wait_for(&waiting, DNS_LOOKUP_THREADS_MAX);
    for (uint32_t i = 0; i <= DNS_LOOKUP_THREADS_MAX; i++)
        dns_lookup_cancel(lookups[i]);
    close_loop(place);
    dns_lookups_close(place->lookups);
    assert_int_equal(atomic_load(&waiting), DNS_LOOKUP_THREADS_MAX);
    mem_free(place);
    atomic_store(&is_let_go, true);
    wait_for(&waiting, 0);
    /* waiting names were not looked up */
    assert_int_equal(atomic_load(&asked), DNS_LOOKUP_THREADS_MAX);
}

#define AT_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, free_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AT_PLACE(numeric_addresses_need_no_look_up),
        AT_PLACE(the_loop_delivers_an_answer_and_it_is_cached),
        AT_PLACE(a_name_is_asked_for_again_after_a_while),
        AT_PLACE(concurrent_requests_share_a_look_up),
        AT_PLACE(a_silent_name_delays_no_other),
        AT_PLACE(names_without_a_thread_wait_in_line),
        AT_PLACE(too_many_names_are_refused),
        AT_PLACE(addresses_of_a_name_are_bounded),
        AT_PLACE(a_cancelled_look_up_still_caches_its_answer),
        cmocka_unit_test_setup(closing_does_not_wait_for_look_ups, make_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
