/* A lease from both sides: the keeper's table, the holder's machine, and many of those at one table with clocks that do not run
 * alike: never do two believe that they hold it. */
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

static void one_owner_at_a_time(void **state)
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

static void it_runs_out(void **state)
{
    struct lease_book book = { .entries = { .count = 0 } };

    (void)state;
    (void)ask(&book, 0, LEASE_TAKE, "a");
    (void)ask(&book, SECOND, LEASE_TAKE, "a"); /* renewed */
    assert_int_equal(ask(&book, TTL, LEASE_TAKE, "b").answer, LEASE_REFUSED);
    assert_int_equal(ask(&book, TTL + SECOND, LEASE_TAKE, "b").token, 2);
    assert_int_equal(ask(&book, TTL + SECOND, LEASE_TAKE, "a").answer,
                     LEASE_REFUSED);
    lease_book_fini(&book);
}

static void a_table_is_full(void **state)
{
    struct lease_book book = { .entries = { .count = 0 } };
    struct lease_request request = { .verb = LEASE_TAKE, .owner = "a",
                                     .ttl = TTL };

    (void)state;
    for (int i = 0; i <= LEASES_MAX; i++) {
        (void)snprintf(request.name, sizeof request.name, "l%d", i);
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

static void held_and_renewed(void **state)
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

static void refused(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    answer(scene, LEASE_TAKE, LEASE_REFUSED);
    assert_string_equal(scene->said, "a");
    assert_true(lease_deadline(scene->lease) == NEVER);
}

/* Nobody knows whether it was taken: it is given back. */
static void unknown_is_not_acquired(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    answer(scene, LEASE_TAKE, LEASE_UNKNOWN);
    assert_string_equal(scene->said, "a");
    answer(scene, LEASE_GIVE_UP, LEASE_GRANTED);
    assert_string_equal(scene->said, "a");
}

static void a_late_grant_is_given_back(void **state)
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

/* A grant counts only when its answer has come: not before, and from when it was asked for. */
static void a_grant_counts_from_the_question(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    run(scene, 4 * SECOND);
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    run(scene, 8 * SECOND);
    assert_non_null(scene->away); /* the renewal, which nobody answers */
    run(scene, 105 * SECOND - 13 * SECOND);
    assert_true(lease_is_held(scene->lease, scene->now));
    run(scene, SECOND);
    assert_false(lease_is_held(scene->lease, scene->now));
    assert_string_equal(scene->said, "AL");
}

static void a_renewal_may_fail(void **state)
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

static void released_while_asking(void **state)
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

static void asked_again_while_one_is_away(void **state)
{
    struct scene *scene = *state;

    acquire(scene);
    run(scene, 6 * SECOND);
    acquire(scene); /* the first is still away: its answer serves */
    answer(scene, LEASE_TAKE, LEASE_GRANTED);
    assert_string_equal(scene->said, "aA");
    acquire(scene);
    assert_string_equal(scene->said, "aAA");
}

/* Who ends and leaves it: the last question is for what is left of its time and an eighth, behind the renewal that is away. */
static void who_leaves_keeps_it_so_long(void **state)
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

/* Nobody knows: it is not given up before its time, and runs out as it was taken last. */
static void who_leaves_unheard_gives_nothing_up(void **state)
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

static void who_leaves_late_gives_it_up(void **state)
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
    uint64_t there_at; /* at the keeper */
    uint64_t back_at;  /* 0: not there yet */
    uint64_t rate;     /* of its clock, in ppm */
    uint64_t token;
    uint64_t left_until; /* by its clock: it has left the lease, and nobody else gets it before; 0: it has not */
};

struct table {
    struct rng rng;
    struct lease_book book;
    struct holder holders[HOLDERS];
    uint64_t now;
    uint64_t held; /* looks at which somebody held it */
    uint64_t left; /* times that somebody left it */
    uint64_t token;
};

/* Never 0, and never before: clocks start apart. */
static uint64_t clock_of(const struct table *table, int index)
{
    return (uint64_t)index * 77 * SECOND +
           table->now / 1000000 * table->holders[index].rate;
}

/* A tenth never arrives, another tenth is done and its answer is lost: the holder's driver says that nobody knows. */
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

/* Some leave while they hold it; when all is said another life begins at the same address, which has what its former one had. */
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

    /* Some sleep: what is due comes late, and lease_is_held is asked all the same. */
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

static void two_never_hold_it(void **state)
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
        cmocka_unit_test(one_owner_at_a_time),
        cmocka_unit_test(it_runs_out),
        cmocka_unit_test(a_table_is_full),
        TEST(held_and_renewed),
        TEST(refused),
        TEST(unknown_is_not_acquired),
        TEST(a_late_grant_is_given_back),
        TEST(a_grant_counts_from_the_question),
        TEST(a_renewal_may_fail),
        TEST(released_while_asking),
        TEST(asked_again_while_one_is_away),
        TEST(who_leaves_keeps_it_so_long),
        TEST(who_leaves_unheard_gives_nothing_up),
        TEST(who_leaves_late_gives_it_up),
        cmocka_unit_test(two_never_hold_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
