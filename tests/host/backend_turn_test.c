/* Tests that writers of a journal take turns in the order of their tickets. A slow writer may be
 * passed, and turn_passed tells it, so nothing depends on the machine's speed. */
#define _GNU_SOURCE
#include "backends.h"

#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <time.h>

#include "base/limits.h"
#include "host/backend_sqlite_inside.h"
#include "host/backend_sqlite.h"

#define THREADS 4
#define TURNS 100 /* of each writer */

struct place {
    char folder[200];
    char path[220];
    char turn[230];
};

static void wait_us(long us)
{
    struct timespec time = { 0, us * 1000 };

    nanosleep(&time, NULL);
}

static void place_make(struct place *place)
{
    folder_make(place->folder, sizeof place->folder);
    snprintf(place->path, sizeof place->path, "%s/journal.db", place->folder);
    snprintf(place->turn, sizeof place->turn, "%s-turn", place->path);
}

static struct turn *open_turn(const struct place *place)
{
    char error[BACKEND_ERROR_MAX] = "";
    struct turn *turn = turn_open(place->turn, true, error);

    assert_string_equal(error, "");
    return turn;
}

static void *open_writer(const struct place *place, uint32_t lock_wait_ms)
{
    struct backend_options options = { .path = place->path,
                                     .cluster = "test",
                                     .lock_wait_ms = lock_wait_ms };
    char error[BACKEND_ERROR_MAX] = "";
    void *store = backend_sqlite.open(&options, BACKEND_WRITER, error);

    assert_string_equal(error, "");
    return store;
}

/* ---- order ---- */

struct entry {
    uint64_t ticket;
    uint64_t passed;
    uint64_t begin; /* increases with time */
    uint64_t end;
};

struct taker {
    pthread_t thread;
    struct turn *turn;
    void *store;
    _Atomic uint64_t *clock;
    struct entry entries[TURNS];
};

/* A turn that was not passed ends before a later one begins. */
static void assert_in_order(const struct taker *takers)
{
    static struct entry all[THREADS * TURNS];
    uint32_t passed = 0;

    for (int i = 0; i < THREADS; i++)
        memcpy(&all[i * TURNS], takers[i].entries, sizeof takers[i].entries);
    for (int i = 0; i < THREADS * TURNS; i++) {
        for (int k = 0; k < THREADS * TURNS; k++) {
            if (i == k)
                continue;
            assert_true(all[i].ticket != all[k].ticket);
            if (all[i].ticket > all[k].ticket || all[i].end < all[k].begin)
                continue;
            assert_true(all[i].ticket < all[k].passed);
            passed++;
        }
    }
    if (passed)
        printf("%u times somebody late was passed\n", passed);
}

static void *take_turns(void *argument)
{
    struct taker *taker = argument;

    for (int i = 0; i < TURNS; i++) {
        struct entry *entry = &taker->entries[i];

        turn_take(taker->turn);
        entry->ticket = turn_ticket(taker->turn);
        entry->passed = turn_passed(taker->turn);
        entry->begin = atomic_fetch_add(taker->clock, 1);
        wait_us(20);
        entry->end = atomic_fetch_add(taker->clock, 1);
        turn_give(taker->turn);
    }
    return NULL;
}

static void turns_follow_the_order_of_tickets(void **state)
{
    static struct taker takers[THREADS];
    _Atomic uint64_t clock = 0;
    struct place place;

    (void)state;
    place_make(&place);
    for (int i = 0; i < THREADS; i++) {
        takers[i].clock = &clock;
        takers[i].turn = open_turn(&place);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&takers[i].thread, NULL, take_turns,
                                        &takers[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
        turn_close(takers[i].turn);
    }
    assert_in_order(takers);
    folder_drop(place.folder);
}

/* A shard's epochs show the order of transactions. */
static void *claim_epochs(void *argument)
{
    struct taker *taker = argument;
    struct turn *turn = ((struct sqlite_store *)taker->store)->turn;

    for (int i = 0; i < TURNS; i++) {
        struct journal_request *request = journal_request_claim(
            slice_text("T"), slice_text("z"), (struct fence){ 0, 0 });

        request->next = true;
        backend_sqlite.write(taker->store, &request, 1);
        check(request->result == BACKEND_DONE);
        taker->entries[i] = (struct entry){ turn_ticket(turn),
                                            turn_passed(turn),
                                            request->fence.epoch,
                                            request->fence.epoch };
        journal_request_free(request);
    }
    return NULL;
}

static void commits_follow_the_order_of_tickets(void **state)
{
    static struct taker takers[THREADS];
    struct place place;

    (void)state;
    place_make(&place);
    for (int i = 0; i < THREADS; i++)
        takers[i].store = open_writer(&place, 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&takers[i].thread, NULL, claim_epochs,
                                        &takers[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        backend_sqlite.close(takers[i].store);
    assert_in_order(takers);
    folder_drop(place.folder);
}

/* ---- a lock that another program holds ---- */

/* A program without a turn, during a transaction; and a writer. */
struct gate {
    struct place place;
    sqlite3 *db;
    void *store;
    struct journal_request *request;
    pthread_t thread;
    _Atomic bool is_done;
};

static void run(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void *write_once(void *argument)
{
    struct gate *gate = argument;

    backend_sqlite.write(gate->store, &gate->request, 1);
    gate->is_done = true;
    return NULL;
}

/* The number of drawn tickets: the first number of FILE-turn. */
static uint64_t drawn(const struct gate *gate)
{
    int file = open(gate->place.turn, O_RDONLY | O_CLOEXEC);
    uint64_t count = 0;

    assert_true(file >= 0);
    assert_int_equal(read(file, &count, sizeof count), sizeof count);
    close(file);
    return count;
}

/* Waits until the writer has drawn its ticket. */
static void gate_shut(struct gate *gate)
{
    uint64_t before;

    gate->is_done = false;
    place_make(&gate->place);
    gate->store = open_writer(&gate->place, 10000);
    gate->request = append_new("z", (struct fence){ 1, 1 }, "T|z", 1, "a");
    assert_int_equal(sqlite3_open(gate->place.path, &gate->db), SQLITE_OK);
    run(gate->db, "BEGIN IMMEDIATE");
    before = drawn(gate);
    assert_int_equal(pthread_create(&gate->thread, NULL, write_once, gate), 0);
    for (int tries = 0; drawn(gate) == before; tries++) {
        assert_false(gate->is_done);
        assert_true(tries < 5000); /* it draws none */
        wait_us(1000);
    }
}

static void gate_open(struct gate *gate)
{
    run(gate->db, "UPDATE claims SET count = count + 1; COMMIT");
    assert_int_equal(pthread_join(gate->thread, NULL), 0);
    assert_string_equal(gate->request->error, "");
    assert_int_equal(gate->request->result, BACKEND_DONE);
    assert_int_equal(gate->request->entities.items[0].result, BACKEND_DONE);
    journal_request_free(gate->request);
    assert_int_equal(sqlite3_close(gate->db), SQLITE_OK);
    backend_sqlite.close(gate->store);
    folder_drop(gate->place.folder);
}

/* The next writer waits only as long as for a stalled one. */
static void a_writer_keeps_its_turn_until_it_commits(void **state)
{
    static struct gate gate;
    struct turn *turn;
    uint64_t start;

    (void)state;
    gate_shut(&gate);
    turn = open_turn(&gate.place);
    start = sqlite_now();
    turn_take(turn);
    assert_true(sqlite_now() - start >= TURN_STUCK_MS * UINT64_C(1000000));
    assert_true(turn_passed(turn) == turn_ticket(turn));
    turn_give(turn);
    turn_close(turn);
    gate_open(&gate);
}

/* It reads nothing before it has the lock, as that would be outdated. */
static void a_second_writer_waits_for_the_first(void **state)
{
    static struct gate gate;

    (void)state;
    gate_shut(&gate);
    for (int i = 0; i < 300 && !gate.is_done; i++)
        wait_us(1000);
    assert_false(gate.is_done);
    gate_open(&gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_follow_the_order_of_tickets),
        cmocka_unit_test(commits_follow_the_order_of_tickets),
        cmocka_unit_test(a_writer_keeps_its_turn_until_it_commits),
        cmocka_unit_test(a_second_writer_waits_for_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
