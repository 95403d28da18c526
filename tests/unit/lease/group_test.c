/* Tests bound leases in the table, a node's group of leases, and many nodes at one table with clocks
 * of different speed: two never hold one lease. */
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
#include "lease/group.h"

#define TTL (120 * SECOND)

/* ---- the table ---- */

static enum lease_answer begin(struct lease_book *book, uint64_t now, const char *name,
                               uint64_t *token)
{
    struct lease_request request = { .verb = LEASE_BEGIN, .ttl = TTL };

    (void)snprintf(request.name, sizeof request.name, "%s", name);
    (void)snprintf(request.owner, sizeof request.owner, "owner of %s", name);
    lease_book_do(book, now, &request);
    *token = request.token;
    return request.answer;
}

static enum lease_answer renew(struct lease_book *book, uint64_t now, const char *name,
                               uint64_t token, enum lease_verb verb)
{
    struct lease_request request = { .verb = verb, .ttl = TTL, .token = token };

    (void)snprintf(request.name, sizeof request.name, "%s", name);
    (void)snprintf(request.owner, sizeof request.owner, "owner of %s", name);
    lease_book_do(book, now, &request);
    return request.answer;
}

static enum lease_answer bind_as(struct lease_book *book, uint64_t now, const char *session,
                                 uint64_t token, bool is_given_up)
{
    struct lease_request *request = lease_request_new(1);
    enum lease_answer answer;

    request->verb = LEASE_BIND;
    request->token = token;
    (void)snprintf(request->name, sizeof request->name, "%s", session);
    (void)snprintf(request->bound[0].name, sizeof request->bound[0].name, "shard");
    request->bound[0].is_given_up = is_given_up;
    lease_book_do(book, now, request);
    answer = request->bound[0].answer;
    mem_free(request);
    return answer;
}

static void a_bound_lease_has_one_session_at_a_time(void **state)
{
    struct lease_book book = { .entries = { .count = 0 } };
    uint64_t a, b;

    (void)state;
    (void)begin(&book, 0, "A", &a);
    (void)begin(&book, 0, "B", &b);
    assert_int_equal(bind_as(&book, 1, "A", a, false), LEASE_GRANTED);
    assert_string_equal(lease_book_holder(&book, 1, slice_text("shard")), "A");
    assert_int_equal(bind_as(&book, 2, "B", b, false), LEASE_REFUSED);
    assert_int_equal(bind_as(&book, 3, "B", b, true), LEASE_GRANTED); /* nothing to give up */
    assert_int_equal(bind_as(&book, 4, "B", b, false), LEASE_REFUSED);
    assert_int_equal(bind_as(&book, 5, "A", a, false), LEASE_GRANTED);
    assert_int_equal(bind_as(&book, 6, "A", a, true), LEASE_GRANTED);
    assert_int_equal(bind_as(&book, 7, "B", b, false), LEASE_GRANTED);
    lease_book_fini(&book);
}

static void a_bound_lease_ends_with_its_session(void **state)
{
    struct lease_book book = { .entries = { .count = 0 } };
    uint64_t a, b;

    (void)state;
    (void)begin(&book, 0, "A", &a);
    (void)begin(&book, SECOND, "B", &b);
    assert_int_equal(bind_as(&book, 1, "A", a, false), LEASE_GRANTED);
    assert_int_equal(bind_as(&book, TTL - 1, "B", b, false), LEASE_REFUSED);
    assert_int_equal(renew(&book, TTL - 1, "A", a, LEASE_TAKE), LEASE_GRANTED);
    assert_int_equal(renew(&book, TTL - 1, "B", b, LEASE_TAKE), LEASE_GRANTED);
    assert_int_equal(bind_as(&book, 2 * TTL - 2, "B", b, false), LEASE_REFUSED);
    assert_null(lease_book_holder(&book, 2 * TTL - 1, slice_text("shard")));
    assert_int_equal(bind_as(&book, 2 * TTL - 1, "B", b, false), LEASE_GRANTED);
    lease_book_fini(&book);
}

/* A session that ended is not renewed, and an earlier one does not touch the next. */
static void a_session_is_renewed_by_its_token_only(void **state)
{
    struct lease_book book = { .entries = { .count = 0 } };
    uint64_t first, second, b;

    (void)state;
    (void)begin(&book, 0, "A", &first);
    (void)begin(&book, 0, "B", &b);
    assert_int_equal(bind_as(&book, 0, "A", first, false), LEASE_GRANTED);
    assert_int_equal(begin(&book, 1, "A", &second), LEASE_GRANTED);
    assert_true(second > first);
    assert_int_equal(renew(&book, 2, "A", first, LEASE_TAKE), LEASE_REFUSED);
    assert_int_equal(renew(&book, 2, "A", first, LEASE_GIVE_UP), LEASE_GRANTED);
    assert_int_equal(renew(&book, 2, "A", second, LEASE_TAKE), LEASE_GRANTED);
    assert_int_equal(bind_as(&book, 3, "B", b, false), LEASE_GRANTED);
    assert_int_equal(renew(&book, TTL + 2, "A", second, LEASE_TAKE), LEASE_REFUSED);
    lease_book_fini(&book);
}

static void a_full_table_refuses_bound_leases(void **state)
{
    struct lease_book book = { .entries = { .count = 0 } };
    struct lease_request *request = lease_request_new(1);

    (void)state;
    request->verb = LEASE_BIND;
    (void)begin(&book, 0, "A", &request->token);
    (void)snprintf(request->name, sizeof request->name, "A");
    for (int i = 0; i <= LEASES_BOUND_MAX; i++) {
        (void)snprintf(request->bound[0].name, sizeof request->bound[0].name, "s%d", i);
        lease_book_do(&book, 1, request);
        assert_int_equal(request->bound[0].answer,
                         i < LEASES_BOUND_MAX ? LEASE_GRANTED : LEASE_REFUSED);
    }
    mem_free(request);
    lease_book_fini(&book);
}

/* ---- a group ---- */

#define AWAY_MAX 2

struct scene {
    struct lease_group *group;
    struct lease_request *session; /* under way */
    struct lease_request *batch;
    uint64_t now;
    /* of key N: gN granted, dN denied, uN denied unknown, rN released, qN released unknown; E
     * extended; L lost */
    char said[256];
    uint64_t until;
};

static void listen(struct scene *scene)
{
    struct lease_request *request;
    struct lease_group_news news;

    while (lease_group_next_news(scene->group, &news)) {
        size_t used = strlen(scene->said);
        char word = "gdrEL"[news.kind];

        if (news.is_unknown)
            word = news.kind == LEASE_GROUP_DENIED ? 'u' : 'q';
        if (news.kind >= LEASE_GROUP_EXTENDED)
            (void)snprintf(scene->said + used, sizeof scene->said - used, "%c", word);
        else
            (void)snprintf(scene->said + used, sizeof scene->said - used, "%c%u", word,
                           (unsigned)news.key);
        if (news.kind == LEASE_GROUP_GRANTED || news.kind == LEASE_GROUP_EXTENDED)
            scene->until = news.until;
    }
    while (lease_group_next_request(scene->group, &request)) {
        struct lease_request **place =
            request->verb == LEASE_BIND ? &scene->batch : &scene->session;

        assert_null(*place);
        *place = request;
    }
}

static void says(struct scene *scene, const char *text)
{
    assert_string_equal(scene->said, text);
    scene->said[0] = 0;
}

static int set(void **state)
{
    struct lease_options options = { .name = "node", .owner = "a:1" };
    struct scene *scene = mem_alloc(sizeof *scene);

    scene->group = lease_group_new(&options);
    scene->now = SECOND;
    *state = scene;
    return 0;
}

static int unset(void **state)
{
    struct scene *scene = *state;

    lease_group_free(scene->group);
    mem_free(scene->session);
    mem_free(scene->batch);
    mem_free(scene);
    return 0;
}

static void run(struct scene *scene, uint64_t time)
{
    uint64_t until = scene->now + time;

    while (lease_group_deadline(scene->group) <= until) {
        scene->now = lease_group_deadline(scene->group);
        lease_group_step(scene->group, scene->now);
        listen(scene);
    }
    scene->now = until;
}

static void take(struct scene *scene, uint64_t key)
{
    char name[32];

    (void)snprintf(name, sizeof name, "shard-%u", (unsigned)key);
    lease_group_take(scene->group, scene->now, key, 1, slice_text(name));
    listen(scene);
}

static void give_up(struct scene *scene, uint64_t key)
{
    lease_group_give_up(scene->group, scene->now, key, 2);
    listen(scene);
}

static void session(struct scene *scene, enum lease_verb verb, enum lease_answer answer,
                    uint64_t token)
{
    struct lease_request *request = scene->session;

    assert_non_null(request);
    assert_int_equal(request->verb, verb);
    request->answer = answer;
    request->token = token;
    scene->session = NULL;
    lease_group_answered(scene->group, scene->now, request);
    listen(scene);
}

static void batch(struct scene *scene, uint32_t count, enum lease_answer answer)
{
    struct lease_request *request = scene->batch;

    assert_non_null(request);
    assert_int_equal(request->count, count);
    lease_request_answer_all(request, answer);
    scene->batch = NULL;
    lease_group_answered(scene->group, scene->now, request);
    listen(scene);
}

/* With the session's token 7 and the lease of key 1. */
static void hold(struct scene *scene)
{
    take(scene, 1);
    session(scene, LEASE_BEGIN, LEASE_GRANTED, 7);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "g1");
}

static void a_lease_waits_for_the_session(void **state)
{
    struct scene *scene = *state;

    take(scene, 1);
    take(scene, 2);
    assert_null(scene->batch);
    session(scene, LEASE_BEGIN, LEASE_GRANTED, 7);
    assert_non_null(scene->batch);
    assert_string_equal(scene->batch->name, "node");
    assert_string_equal(scene->batch->bound[1].name, "shard-2");
    assert_true(scene->batch->token == 7);
    batch(scene, 2, LEASE_GRANTED);
    says(scene, "g1g2");
    assert_true(scene->until == SECOND + 105 * SECOND); /* seven eighths, from the request */
    assert_int_equal(lease_group_held(scene->group), 2);
}

static void one_renewal_keeps_all_leases(void **state)
{
    struct scene *scene = *state;

    hold(scene);
    take(scene, 2);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "g2");
    for (int i = 0; i < 20; i++) {
        run(scene, 12 * SECOND);
        assert_true(scene->session->token == 7);
        session(scene, LEASE_TAKE, LEASE_GRANTED, 7);
        says(scene, "E");
        assert_null(scene->batch);
        assert_true(scene->until == scene->now + 105 * SECOND);
    }
    assert_int_equal(lease_group_held(scene->group), 2);
}

static void a_thousand_leases_go_in_full_batches(void **state)
{
    struct scene *scene = *state;
    uint32_t batches = 0;

    for (uint64_t i = 0; i < 1000; i++)
        take(scene, i);
    session(scene, LEASE_BEGIN, LEASE_GRANTED, 7);
    while (scene->batch) {
        scene->said[0] = 0;
        batch(scene, scene->batch->count, LEASE_GRANTED);
        batches++;
    }
    assert_int_equal(lease_group_held(scene->group), 1000);
    assert_int_equal(batches, (1000 + LEASE_BIND_MAX - 1) / LEASE_BIND_MAX);
}

static void a_lease_of_another_node_is_denied(void **state)
{
    struct scene *scene = *state;

    hold(scene);
    take(scene, 2);
    batch(scene, 1, LEASE_REFUSED);
    says(scene, "d2");
    assert_int_equal(lease_group_held(scene->group), 1);
    take(scene, 2); /* the caller tries again */
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "g2");
}

static void without_a_session_leases_are_denied(void **state)
{
    struct scene *scene = *state;

    take(scene, 1);
    take(scene, 2);
    session(scene, LEASE_BEGIN, LEASE_UNKNOWN, 0);
    says(scene, "u1u2");
    session(scene, LEASE_GIVE_UP, LEASE_UNKNOWN, 0); /* it may have begun */
    take(scene, 1);
    session(scene, LEASE_BEGIN, LEASE_GRANTED, 8);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "g1");
}

/* Shards ask again and again while the provider is away, for days. */
static void denied_leases_leave_nothing_in_the_queue(void **state)
{
    struct scene *scene = *state;

    for (int i = 0; i < 100; i++) {
        for (uint64_t key = 0; key < 10; key++)
            take(scene, key);
        session(scene, LEASE_BEGIN, LEASE_UNKNOWN, 0);
        session(scene, LEASE_GIVE_UP, LEASE_UNKNOWN, 0); /* it may have begun */
        scene->said[0] = 0;
        assert_true(lease_group_queued(scene->group) <= 10);
    }
}

static void a_group_has_two_requests_under_way(void **state)
{
    struct scene *scene = *state;
    uint32_t count;

    hold(scene);
    for (uint64_t key = 2; key < 10; key++)
        take(scene, key);
    run(scene, 12 * SECOND);
    count = (scene->session != NULL) + (scene->batch != NULL); /* listen allows no more */
    assert_int_equal(1 + count * (LEASE_PROVIDER_COUNT - 1), LEASE_REQUESTS_MAX);
}

static void all_leases_are_lost_with_the_session(void **state)
{
    struct scene *scene = *state;

    hold(scene);
    take(scene, 2);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "g2");
    run(scene, 12 * SECOND);
    session(scene, LEASE_TAKE, LEASE_REFUSED, 0);
    says(scene, "L");
    assert_int_equal(lease_group_held(scene->group), 0);
    assert_int_equal(lease_group_until(scene->group), 0);
}

/* The session is not given up early: what ran under its leases may need the margin to end. */
static void leases_are_lost_when_their_time_is_over(void **state)
{
    struct scene *scene = *state;

    hold(scene);
    run(scene, 105 * SECOND - 1); /* the renewal has no answer */
    says(scene, "");
    run(scene, 1);
    says(scene, "L");
    session(scene, LEASE_TAKE, LEASE_UNKNOWN, 0);
    run(scene, 60 * SECOND);
    assert_null(scene->session);
}

/* The renewal of the lost session is still under way: its grant must not revive that session. */
static void a_lost_session_does_not_come_back(void **state)
{
    struct scene *scene = *state;

    hold(scene);
    run(scene, 105 * SECOND);
    says(scene, "L");
    take(scene, 1);
    session(scene, LEASE_TAKE, LEASE_GRANTED, 7);
    says(scene, "");
    assert_int_equal(lease_group_until(scene->group), 0);
    session(scene, LEASE_BEGIN, LEASE_GRANTED, 8);
    assert_true(scene->batch->token == 8);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "g1");
}

/* A grant for a session that ended meanwhile counts for nothing. */
static void a_grant_of_an_ended_session_is_taken_again(void **state)
{
    struct scene *scene = *state;
    struct lease_request *late;

    hold(scene);
    take(scene, 2);
    late = scene->batch;
    scene->batch = NULL;
    run(scene, 12 * SECOND);
    session(scene, LEASE_TAKE, LEASE_REFUSED, 0);
    says(scene, "L");
    session(scene, LEASE_BEGIN, LEASE_GRANTED, 8); /* key 2 still waits */
    scene->batch = late;
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "");
    assert_true(scene->batch->token == 8);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "g2");
}

static void a_released_lease_is_given_up_at_the_provider(void **state)
{
    struct scene *scene = *state;

    hold(scene);
    give_up(scene, 1);
    assert_true(scene->batch->bound[0].is_given_up);
    assert_int_equal(lease_group_held(scene->group), 0);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "r1");
    give_up(scene, 1);
    says(scene, "r1"); /* it is not there any more */
}

static void a_lease_that_is_given_up_while_it_waits_is_not_asked_for(void **state)
{
    struct scene *scene = *state;

    take(scene, 1);
    give_up(scene, 1);
    says(scene, "r1");
    session(scene, LEASE_BEGIN, LEASE_GRANTED, 7);
    assert_null(scene->batch);
}

static void a_lease_that_is_given_up_during_its_request_is_released(void **state)
{
    struct scene *scene = *state;

    take(scene, 1);
    session(scene, LEASE_BEGIN, LEASE_GRANTED, 7);
    give_up(scene, 1);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "");
    assert_true(scene->batch->bound[0].is_given_up);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "r1");
}

static void a_lease_that_is_taken_during_its_release_is_granted(void **state)
{
    struct scene *scene = *state;

    hold(scene);
    give_up(scene, 1);
    take(scene, 1);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "");
    assert_false(scene->batch->bound[0].is_given_up);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "g1");
}

/* Otherwise no other node could have it as long as this node lives. */
static void an_unknown_release_is_repeated(void **state)
{
    struct scene *scene = *state;

    hold(scene);
    give_up(scene, 1);
    batch(scene, 1, LEASE_UNKNOWN);
    says(scene, "q1");
    for (int i = 0; i < 3; i++) {
        assert_null(scene->batch);
        run(scene, SECOND);
        assert_true(scene->batch->bound[0].is_given_up);
        batch(scene, 1, i < 2 ? LEASE_UNKNOWN : LEASE_GRANTED);
    }
    says(scene, "");
    run(scene, 5 * SECOND);
    assert_null(scene->batch);
}

static void an_unknown_take_is_denied_and_may_be_given_up(void **state)
{
    struct scene *scene = *state;

    hold(scene);
    take(scene, 2);
    batch(scene, 1, LEASE_UNKNOWN);
    says(scene, "u2");
    give_up(scene, 2);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "r2");
}

static void a_node_that_ends_releases_the_session(void **state)
{
    struct scene *scene = *state;

    hold(scene);
    lease_group_end(scene->group, scene->now);
    listen(scene);
    says(scene, "L");
    assert_true(lease_group_ends(scene->group));
    assert_true(scene->session->token == 7);
    take(scene, 2);
    says(scene, "u2");
    session(scene, LEASE_GIVE_UP, LEASE_GRANTED, 7);
    assert_false(lease_group_ends(scene->group));
    assert_true(lease_group_deadline(scene->group) == NEVER);
}

/* The session's time is over, and no step came yet: the loss is told before the new grant. */
static void a_loss_comes_before_the_next_grant(void **state)
{
    struct scene *scene = *state;

    hold(scene);
    scene->now += 105 * SECOND;
    take(scene, 1);
    says(scene, "L");
    session(scene, LEASE_BEGIN, LEASE_GRANTED, 8);
    batch(scene, 1, LEASE_GRANTED);
    says(scene, "g1");
}

/* ---- many nodes ---- */

#define NODES 4
#define SHARDS 6

struct away {
    struct lease_request *request;
    uint64_t there_at;
    uint64_t back_at; /* 0: not there yet */
};

struct node {
    struct lease_group *group;
    struct away away[AWAY_MAX];
    uint64_t rate; /* speed of its clock, in ppm */
    uint64_t until;
    bool wants[SHARDS];
    bool holds[SHARDS]; /* by its news */
};

struct table {
    struct rng rng;
    struct lease_book book;
    struct node nodes[NODES];
    uint64_t now;
    uint64_t held;
    uint64_t lost;
    uint64_t moved;
    int last[SHARDS];
};

static uint64_t clock_of(const struct table *table, int index)
{
    return (uint64_t)index * 77 * SECOND + table->now / 1000000 * table->nodes[index].rate;
}

static void hear(struct table *table, int index)
{
    struct node *node = &table->nodes[index];
    struct lease_group_news news;

    while (lease_group_next_news(node->group, &news)) {
        switch (news.kind) {
        case LEASE_GROUP_GRANTED:
            node->holds[news.key] = true;
            node->until = news.until;
            break;
        case LEASE_GROUP_EXTENDED:
            node->until = news.until;
            break;
        case LEASE_GROUP_LOST:
            memset(node->holds, 0, sizeof node->holds);
            memset(node->wants, 0, sizeof node->wants);
            table->lost++;
            break;
        case LEASE_GROUP_DENIED:
            node->wants[news.key] = false;
            break;
        case LEASE_GROUP_RELEASED:
            break;
        }
    }
}

/* A tenth never arrives. For another tenth the answer is lost. */
static void carry(struct table *table, int index)
{
    struct node *node = &table->nodes[index];

    for (int i = 0; i < AWAY_MAX; i++) {
        struct away *away = &node->away[i];
        uint64_t fate = rng_below(&table->rng, 10);

        if (away->request && !away->back_at && away->there_at <= table->now) {
            if (fate > 0)
                lease_book_do(&table->book, table->now * 105 / 100, away->request);
            if (fate < 2)
                lease_request_answer_all(away->request, LEASE_UNKNOWN);
            away->back_at = table->now + rng_below(&table->rng, 4 * SECOND) + 1;
        }
        if (away->request && away->back_at && away->back_at <= table->now) {
            struct lease_request *request = away->request;

            away->request = NULL;
            lease_group_answered(node->group, clock_of(table, index), request);
        }
        if (!away->request && lease_group_next_request(node->group, &away->request)) {
            away->back_at = 0;
            away->there_at = table->now + rng_below(&table->rng, 8 * SECOND);
        }
    }
    hear(table, index);
}

static struct lease_group *make(int index)
{
    char name[8] = { (char)('A' + index) };
    struct lease_options options = { .name = name, .owner = name, .ttl = 20 * SECOND,
                                     .interval = 3 * SECOND };

    return lease_group_new(&options);
}

static void crash(struct table *table, int index)
{
    struct node *node = &table->nodes[index];

    for (int i = 0; i < AWAY_MAX; i++) {
        mem_free(node->away[i].request);
        node->away[i].request = NULL;
    }
    lease_group_free(node->group);
    node->group = make(index);
    memset(node->wants, 0, sizeof node->wants);
    memset(node->holds, 0, sizeof node->holds);
}

static void act(struct table *table, int index)
{
    struct node *node = &table->nodes[index];
    uint64_t shard = rng_below(&table->rng, SHARDS);
    uint64_t what = rng_below(&table->rng, 1000);
    uint64_t now = clock_of(table, index);
    char name[8] = { 's', (char)('0' + shard) };

    if (what < 700)
        lease_group_step(node->group, now); /* some are suspended */
    if (what < 20 && !node->wants[shard]) {
        node->wants[shard] = true;
        lease_group_take(node->group, now, shard, 1, slice_text(name));
    } else if (what < 30 && node->wants[shard]) {
        node->wants[shard] = node->holds[shard] = false;
        lease_group_give_up(node->group, now, shard, 2);
    } else if (what == 999 && rng_below(&table->rng, 5) == 0) {
        crash(table, index);
    }
    hear(table, index);
}

static void judge(struct table *table)
{
    for (int shard = 0; shard < SHARDS; shard++) {
        int held = 0;

        for (int i = 0; i < NODES; i++) {
            struct node *node = &table->nodes[i];

            if (!node->holds[shard] || clock_of(table, i) >= node->until)
                continue;
            held++;
            table->moved += table->last[shard] != i;
            table->last[shard] = i;
        }
        assert_true(held <= 1);
        table->held += (uint64_t)held;
    }
}

static void two_nodes_never_hold_one_lease(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct table table = { .now = SECOND };

        rng_init(&table.rng, seed);
        for (int i = 0; i < NODES; i++) {
            table.nodes[i].group = make(i);
            table.nodes[i].rate = 950000 + rng_below(&table.rng, 100001);
        }
        for (int i = 0; i < 20000; i++) {
            table.now += 100 * MS;
            for (int k = 0; k < NODES; k++) {
                carry(&table, k);
                act(&table, k);
                judge(&table);
            }
        }
        assert_true(table.held > 10000);
        assert_true(table.lost > 0);
        assert_true(table.moved > 20);
        for (int i = 0; i < NODES; i++) {
            for (int k = 0; k < AWAY_MAX; k++)
                mem_free(table.nodes[i].away[k].request);
            lease_group_free(table.nodes[i].group);
        }
        lease_book_fini(&table.book);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set, unset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_lease_has_one_session_at_a_time),
        cmocka_unit_test(a_bound_lease_ends_with_its_session),
        cmocka_unit_test(a_session_is_renewed_by_its_token_only),
        cmocka_unit_test(a_full_table_refuses_bound_leases),
        TEST(a_lease_waits_for_the_session),
        TEST(one_renewal_keeps_all_leases),
        TEST(a_thousand_leases_go_in_full_batches),
        TEST(a_lease_of_another_node_is_denied),
        TEST(without_a_session_leases_are_denied),
        TEST(denied_leases_leave_nothing_in_the_queue),
        TEST(a_group_has_two_requests_under_way),
        TEST(all_leases_are_lost_with_the_session),
        TEST(leases_are_lost_when_their_time_is_over),
        TEST(a_lost_session_does_not_come_back),
        TEST(a_grant_of_an_ended_session_is_taken_again),
        TEST(a_released_lease_is_given_up_at_the_provider),
        TEST(a_lease_that_is_given_up_while_it_waits_is_not_asked_for),
        TEST(a_lease_that_is_given_up_during_its_request_is_released),
        TEST(a_lease_that_is_taken_during_its_release_is_granted),
        TEST(an_unknown_release_is_repeated),
        TEST(an_unknown_take_is_denied_and_may_be_given_up),
        TEST(a_node_that_ends_releases_the_session),
        TEST(a_loss_comes_before_the_next_grant),
        cmocka_unit_test(two_nodes_never_hold_one_lease),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
