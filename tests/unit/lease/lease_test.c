/* Tests the lease table and the holder, and many holders at one table with clocks of different
 * speed: two never consider the lease theirs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/rng.h"
#include "base/timers.h"
#include "lease/book.h"
#include "lease/lease.h"

#define TTL (120 * SECOND)

/* ---- the table ---- */

static struct lease_request ask(struct lease_book *book, uint64_t now,
                                enum lease_verb verb, const char *owner)
{
    struct lease_request request = { .verb = verb, .name = "L", .ttl = TTL };

    (void)snprintf(request.owner, sizeof request.owner, "%s", owner);
    lease_book_do(book, now, &request);
    return request;
}

static void a_lease_has_one_owner_at_a_time(void **state)
{
    struct lease_book book = { .entries = { .count = 0 } };

    (void)state;
    assert_int_equal(ask(&book, 0, LEASE_TAKE, "a").token, 1);
    assert_int_equal(ask(&book, 1, LEASE_TAKE, "b").answer, LEASE_REFUSED);
    assert_int_equal(ask(&book, 2, LEASE_GIVE_UP, "b").answer, LEASE_GRANTED);
    assert_int_equal(ask(&book, 3, LEASE_TAKE, "b").answer, LEASE_REFUSED);
    assert_int_equal(ask(&book, 4, LEASE_TAKE, "a").token, 1);
    assert_int_equal(ask(&book, 5, LEASE_GIVE_UP, "a").answer, LEASE_GRANTED);
    assert_int_equal(ask(&book, 6, LEASE_TAKE, "b").token, 2);
    lease_book_fini(&book);
}

/* A name is one lease for all that ask, and another name is another lease. */
static void leases_are_apart_by_their_names_LSE007_LSE008(void **state)
{
    struct lease_book book = { .entries = { .count = 0 } };
    struct lease_request request = { .verb = LEASE_TAKE, .name = "M", .ttl = TTL };

    (void)state;
    assert_int_equal(ask(&book, 0, LEASE_TAKE, "a").token, 1);
    assert_int_equal(ask(&book, 0, LEASE_TAKE, "a").token, 1);
    (void)snprintf(request.owner, sizeof request.owner, "b");
    lease_book_do(&book, 0, &request);
    assert_int_equal(request.answer, LEASE_GRANTED);
    assert_int_equal(ask(&book, 0, LEASE_TAKE, "b").answer, LEASE_REFUSED);
    assert_int_equal(book.entries.count, 2);
    lease_book_fini(&book);
}

static void a_lease_expires_without_renewal(void **state)
{
    struct lease_book book = { .entries = { .count = 0 } };

    (void)state;
    (void)ask(&book, 0, LEASE_TAKE, "a");
    (void)ask(&book, SECOND, LEASE_TAKE, "a"); /* a renewal */
    assert_int_equal(ask(&book, TTL, LEASE_TAKE, "b").answer, LEASE_REFUSED);
    assert_int_equal(ask(&book, TTL + SECOND, LEASE_TAKE, "b").token, 2);
    assert_int_equal(ask(&book, TTL + SECOND, LEASE_TAKE, "a").answer,
                     LEASE_REFUSED);
    lease_book_fini(&book);
}

static void a_full_table_refuses_leases(void **state)
{
    struct lease_book book = { .entries = { .count = 0 } };
    struct lease_request request = { .verb = LEASE_TAKE, .owner = "a",
                                     .ttl = TTL };

    (void)state;
    for (int i = 0; i <= LEASES_MAX; i++) {
        (void)snprintf(request.name, sizeof request.name, "l%d", i);
        request.token = 0;
        lease_book_do(&book, 0, &request);
        assert_int_equal(request.answer,
                         i < LEASES_MAX ? LEASE_GRANTED : LEASE_REFUSED);
    }
    lease_book_fini(&book);
}

/* ---- the holder ---- */

struct scene {
    struct lease *lease;
    struct lease_request *away;
    uint64_t now;
    char said[32]; /* A acquired, a not; R released, r not; L lost */
};

static void listen(struct scene *scene)
{
    struct lease_request *request;
    enum lease_news news;

    while (lease_next_news(scene->lease, &news))
        (void)snprintf(scene->said + strlen(scene->said), 2, "%c",
                       "AaRrL"[news]);
    if (lease_next_request(scene->lease, &request)) {
        assert_null(scene->away);
        scene->away = request;
    }
}

static int set(void **state)
{
    struct lease_options options = { .name = "L", .owner = "a" };
    struct scene *scene = mem_alloc(sizeof *scene);

    scene->lease = lease_new(&options);
    scene->now = SECOND;
    *state = scene;
    return 0;
}

static int unset(void **state)
{
    struct scene *scene = *state;

    lease_free(scene->lease);
    mem_free(scene->away);
    mem_free(scene);
    return 0;
}

static void run(struct scene *scene, uint64_t time)
{
    uint64_t until = scene->now + time;

    while (lease_deadline(scene->lease) <= until) {
        scene->now = lease_deadline(scene->lease);
        lease_step(scene->lease, scene->now);
        listen(scene);
    }
    scene->now = until;
}

static void answer(struct scene *scene, enum lease_verb verb,
                   enum lease_answer is)
{
    struct lease_request *request = scene->away;

    assert_non_null(request);
    assert_int_equal(request->verb, verb);
    scene->away = NULL;
    request->answer = is;
    request->token = 7;
    lease_answered(scene->lease, scene->now, request);
    listen(scene);
}

static void acquire(struct scene *scene)
{
    lease_acquire(scene->lease, scene->now);
    listen(scene);
}

/* Its requests name the provider, the lease, the owner and the time; its own times follow the options. */
static void each_lease_has_its_own_options_LSE005(void **state)
{
    static const struct lease_options options[2] = {
        { .name = "a", .owner = "owner1", .ttl = 100 * SECOND, .interval = SECOND,
          .patience = 2 * SECOND, .provider = LEASE_PROVIDER_FILE },
        { .name = "b", .owner = "owner2", .ttl = 120 * SECOND, .interval = 3 * SECOND,
          .patience = 4 * SECOND, .provider = LEASE_PROVIDER_ETCD },
    };
    struct lease *leases[2] = { lease_new(&options[0]), lease_new(&options[1]) };
    (void)state;

    for (int i = 0; i < 2; i++) {
        struct lease_request *request;

        lease_acquire(leases[i], SECOND);
        assert_true(lease_next_request(leases[i], &request));
        assert_int_equal(request->provider, options[i].provider);
        assert_string_equal(request->name, options[i].name);
        assert_string_equal(request->owner, options[i].owner);
        assert_true(request->ttl == options[i].ttl);
        assert_true(lease_deadline(leases[i]) == SECOND + options[i].patience);
        request->answer = LEASE_GRANTED;
        request->token = 1;
        lease_answered(leases[i], SECOND, request);
        assert_true(lease_until(leases[i]) > SECOND);
        assert_true(lease_deadline(leases[i]) == SECOND + options[i].interval);
    }
    for (int i = 0; i < 2; i++)
        lease_free(leases[i]);
}

static void a_granted_lease_is_held_while_it_is_renewed(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    assert_false(lease_is_held(scene->lease, scene->now));
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    assert_string_equal(scene->said, "A");
    assert_int_equal(lease_token(scene->lease), 7);
    for (int i = 0; i < 20; i++) {
        run(scene, 12 * SECOND);
        answer(scene, LEASE_TAKE, LEASE_GRANTED);
        assert_true(lease_is_held(scene->lease, scene->now));
    }
    lease_release(scene->lease, scene->now);
    assert_false(lease_is_held(scene->lease, scene->now));
    listen(scene);
    answer(scene, LEASE_GIVE_UP, LEASE_GRANTED);
    assert_string_equal(scene->said, "AR");
    assert_true(lease_deadline(scene->lease) == NEVER);
}

static void a_refused_lease_is_not_requested_again(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    answer(scene, LEASE_TAKE, LEASE_REFUSED);
    assert_string_equal(scene->said, "a");
    assert_true(lease_deadline(scene->lease) == NEVER);
}

/* It may have been taken, so it is released. */
static void an_unknown_result_does_not_acquire_the_lease(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    answer(scene, LEASE_TAKE, LEASE_UNKNOWN);
    assert_string_equal(scene->said, "a");
    answer(scene, LEASE_GIVE_UP, LEASE_GRANTED);
    assert_string_equal(scene->said, "a");
}

static void a_late_grant_is_released(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    run(scene, 6 * SECOND);
    assert_string_equal(scene->said, "a");
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    assert_false(lease_is_held(scene->lease, scene->now));
    answer(scene, LEASE_GIVE_UP, LEASE_GRANTED);
    assert_string_equal(scene->said, "a");
}

/* A grant counts only after its answer, from the time of its request. */
static void a_grant_counts_from_its_request(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    run(scene, 4 * SECOND);
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    run(scene, 8 * SECOND);
    assert_non_null(scene->away); /* the renewal, without an answer */
    run(scene, 105 * SECOND - 13 * SECOND);
    assert_true(lease_is_held(scene->lease, scene->now));
    run(scene, SECOND);
    assert_false(lease_is_held(scene->lease, scene->now));
    assert_string_equal(scene->said, "AL");
}

static void a_lease_is_held_after_a_failed_renewal(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    run(scene, 12 * SECOND);
    for (int i = 0; i < 30; i++) {
        answer(scene, LEASE_TAKE, LEASE_UNKNOWN);
        assert_true(lease_is_held(scene->lease, scene->now));
        run(scene, SECOND);
    }
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    assert_string_equal(scene->said, "A");
    run(scene, 12 * SECOND);
    answer(scene, LEASE_TAKE, LEASE_REFUSED);
    assert_false(lease_is_held(scene->lease, scene->now));
    assert_string_equal(scene->said, "AL");
}

static void a_forgotten_lease_is_lost_at_once(void **state)
{
    struct scene *scene = *state;

    lease_forgotten(scene->lease, scene->now); /* it was never held */
    listen(scene);
    assert_string_equal(scene->said, "");
    acquire(scene);
    lease_forgotten(scene->lease, scene->now); /* the answer says more */
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    run(scene, 12 * SECOND);
    assert_non_null(scene->away); /* a renewal */
    lease_forgotten(scene->lease, scene->now);
    listen(scene);
    assert_string_equal(scene->said, "AL");
    assert_false(lease_is_held(scene->lease, scene->now));
    answer(scene, LEASE_TAKE, LEASE_GRANTED); /* does not count any more */
    assert_false(lease_is_held(scene->lease, scene->now));
    answer(scene, LEASE_GIVE_UP, LEASE_GRANTED);
    run(scene, 200 * SECOND);
    assert_string_equal(scene->said, "AL");
    acquire(scene);
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    assert_string_equal(scene->said, "ALA");
}

static void a_release_during_a_request_releases_a_late_grant(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    lease_release(scene->lease, scene->now);
    listen(scene);
    assert_string_equal(scene->said, "a");
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    answer(scene, LEASE_GIVE_UP, LEASE_UNKNOWN);
    assert_string_equal(scene->said, "ar");
    assert_false(lease_is_held(scene->lease, scene->now));
}

static void acquiring_again_uses_the_answer_that_is_due(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    run(scene, 6 * SECOND);
    acquire(scene); /* the first answer, which is still due, serves */
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    assert_string_equal(scene->said, "aA");
    acquire(scene);
    assert_string_equal(scene->said, "aAA");
}

/* The last request, after the pending renewal, is for the rest of the time and an eighth. */
static void a_leaving_holder_renews_for_the_rest_of_its_time(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    run(scene, 12 * SECOND);
    lease_leave(scene->lease, scene->now, scene->now + 20 * SECOND);
    assert_false(lease_is_held(scene->lease, scene->now));
    run(scene, 4 * SECOND);
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    assert_non_null(scene->away);
    assert_true(scene->away->ttl == 18 * SECOND);
    assert_string_equal(scene->said, "A");
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    assert_string_equal(scene->said, "AR");
    assert_true(lease_deadline(scene->lease) == NEVER);
    assert_null(scene->away);
}

/* Without an answer it is not released early; it expires after the last grant. */
static void a_leaving_holder_without_an_answer_does_not_release(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    run(scene, 12 * SECOND);
    lease_leave(scene->lease, scene->now, scene->now + 20 * SECOND);
    run(scene, 6 * SECOND);
    assert_string_equal(scene->said, "Ar");
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    assert_null(scene->away);
    run(scene, 60 * SECOND);
    assert_null(scene->away);
}

static void a_leaving_holder_whose_time_is_over_releases(void **state)
{
    struct scene *scene = *state;

    lease_leave(scene->lease, scene->now, scene->now + SECOND);
    listen(scene);
    assert_null(scene->away); /* it was not held */
    acquire(scene);
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    lease_leave(scene->lease, scene->now, scene->now);
    listen(scene);
    answer(scene, LEASE_GIVE_UP, LEASE_GRANTED);
    assert_string_equal(scene->said, "AR");
}

/* ---- many ---- */

#define HOLDERS 4

struct holder {
    struct lease *lease;
    struct lease_request *away;
    uint64_t there_at; /* arrival at the provider */
    uint64_t back_at;  /* 0: not there yet */
    uint64_t rate;     /* speed of its clock, in ppm */
    uint64_t token;
    /* by its clock: it left the lease, and no other owner gets it before; 0: not left */
    uint64_t left_until;
};

struct table {
    struct rng rng;
    struct lease_book book;
    struct holder holders[HOLDERS];
    uint64_t now;
    uint64_t held; /* checks that found a holder */
    uint64_t left; /* times that a holder left it */
    uint64_t token;
};

/* Never 0, and never before: clocks differ at the start. */
static uint64_t clock_of(const struct table *table, int index)
{
    return (uint64_t)index * 77 * SECOND +
           table->now / 1000000 * table->holders[index].rate;
}

/* A tenth never arrives. For another tenth the answer is lost, so the driver reports an unknown
 * outcome. */
static void carry(struct table *table, int index)
{
    struct holder *holder = &table->holders[index];
    uint64_t fate = rng_below(&table->rng, 10);

    if (holder->away && !holder->back_at && holder->there_at <= table->now) {
        if (fate > 0)
            lease_book_do(&table->book, table->now * 105 / 100, holder->away);
        if (fate < 2)
            holder->away->answer = LEASE_UNKNOWN;
        holder->back_at =
            table->now + rng_below(&table->rng, 4 * SECOND) + 1;
    }
    if (holder->away && holder->back_at && holder->back_at <= table->now) {
        struct lease_request *request = holder->away;

        holder->away = NULL;
        lease_answered(holder->lease, clock_of(table, index), request);
    }
    if (!holder->away && lease_next_request(holder->lease, &holder->away)) {
        holder->back_at = 0;
        holder->there_at = table->now + rng_below(&table->rng, 8 * SECOND);
    }
}

static struct lease *new_holder(int index)
{
    char owner[8] = { (char)('a' + index) };
    struct lease_options options = { .name = "L",
                                     .owner = owner,
                                     .ttl = 20 * SECOND,
                                     .interval = 3 * SECOND };

    return lease_new(&options);
}

/* Some holders leave. Then the next incarnation begins at the same address, with the former one's
 * lease. */
static void leave(struct table *table, int index)
{
    struct holder *holder = &table->holders[index];
    uint64_t now = clock_of(table, index);

    if (holder->left_until) {
        if (!holder->away && lease_state(holder->lease) == LEASE_FREE &&
            now >= holder->left_until) {
            lease_free(holder->lease);
            holder->lease = new_holder(index);
            holder->left_until = 0;
        }
    } else if (lease_is_held(holder->lease, now) &&
               rng_below(&table->rng, 1000) == 0) {
        holder->left_until = now + SECOND + rng_below(&table->rng, 15 * SECOND);
        lease_leave(holder->lease, now, holder->left_until);
        table->left++;
    }
}

static void act(struct table *table, int index)
{
    struct lease *lease = table->holders[index].lease;
    uint64_t what = rng_below(&table->rng, 100);
    uint64_t now = clock_of(table, index);
    enum lease_news news;

    /* Some are suspended: steps come late, but lease_is_held is asked anyway. */
    if (what < 70)
        lease_step(lease, now);
    if (!table->holders[index].left_until) {
        if (what == 99 && !lease_is_held(lease, now))
            lease_acquire(lease, now);
        if (what == 98 && rng_below(&table->rng, 20) == 0)
            lease_release(lease, now);
    }
    while (lease_next_news(lease, &news))
        ;
}

static void judge(struct table *table)
{
    int held = 0;

    for (int i = 0; i < HOLDERS; i++) {
        struct holder *holder = &table->holders[i];

        if (!lease_is_held(holder->lease, clock_of(table, i)))
            continue;
        held++;
        for (int k = 0; k < HOLDERS; k++)
            assert_true(clock_of(table, k) >= table->holders[k].left_until);
        holder->token = lease_token(holder->lease);
        assert_true(holder->token >= table->token);
        table->token = holder->token;
    }
    assert_true(held <= 1);
    table->held += (uint64_t)held;
}

static void two_owners_never_hold_the_lease(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct table table = { .now = SECOND };

        rng_init(&table.rng, seed);
        for (int i = 0; i < HOLDERS; i++) {
            table.holders[i].lease = new_holder(i);
            table.holders[i].rate =
                950000 + rng_below(&table.rng, 100001);
        }
        for (int i = 0; i < 20000; i++) {
            table.now += 100 * MS;
            for (int k = 0; k < HOLDERS; k++) {
                carry(&table, k);
                act(&table, k);
                leave(&table, k);
                judge(&table);
            }
        }
        assert_true(table.held > 10000);
        assert_true(table.token > 10);
        assert_true(table.left > 0);

        for (int i = 0; i < HOLDERS; i++) {
            lease_free(table.holders[i].lease);
            mem_free(table.holders[i].away);
        }
        lease_book_fini(&table.book);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set, unset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lease_has_one_owner_at_a_time),
        cmocka_unit_test(leases_are_apart_by_their_names_LSE007_LSE008),
        cmocka_unit_test(a_lease_expires_without_renewal),
        cmocka_unit_test(a_full_table_refuses_leases),
        cmocka_unit_test(each_lease_has_its_own_options_LSE005),
        TEST(a_granted_lease_is_held_while_it_is_renewed),
        TEST(a_refused_lease_is_not_requested_again),
        TEST(an_unknown_result_does_not_acquire_the_lease),
        TEST(a_late_grant_is_released),
        TEST(a_grant_counts_from_its_request),
        TEST(a_lease_is_held_after_a_failed_renewal),
        TEST(a_forgotten_lease_is_lost_at_once),
        TEST(a_release_during_a_request_releases_a_late_grant),
        TEST(acquiring_again_uses_the_answer_that_is_due),
        TEST(a_leaving_holder_renews_for_the_rest_of_its_time),
        TEST(a_leaving_holder_without_an_answer_does_not_release),
        TEST(a_leaving_holder_whose_time_is_over_releases),
        cmocka_unit_test(two_owners_never_hold_the_lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
