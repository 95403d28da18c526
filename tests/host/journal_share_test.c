/* Tests several processes on one journal file: each gets its share, a stopped one is fenced, and a
 * killed one loses nothing durable.
 *
 * usage: journal_share_test WRITER [SECONDS]   (WRITER: path of journal_writer) */
#define _GNU_SOURCE
#include "backends.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/backend_holder.h"
#include "host/backend_sqlite.h"

#define PROCESSES 4

static const char *program;
static const char *seconds = "20";

struct child {
    pid_t pid;
    FILE *out;
};

static struct child start(const char *path, const char *name, const char *term,
                          const char *duration, const char *events,
                          const char *mode)
{
    struct child child;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child.pid = fork();
    assert_true(child.pid >= 0);
    if (child.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with the test */
        dup2(ends[1], 1);
        execl(program, program, path, name, term, duration, events, mode,
              (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    child.out = fdopen(ends[0], "r");
    return child;
}

static void finish(struct child *child)
{
    int status;

    fclose(child->out);
    assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
}

static void wait_ms(long ms)
{
    struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&time, NULL);
}

struct place {
    char folder[200];
    char path[220];
};

static int place_make(void **state)
{
    struct place *place = mem_alloc(sizeof *place);

    folder_make(place->folder, sizeof place->folder);
    snprintf(place->path, sizeof place->path, "%s/journal.db", place->folder);
    *state = place;
    return 0;
}

static int place_drop(void **state)
{
    struct place *place = *state;

    folder_drop(place->folder);
    mem_free(place);
    return 0;
}

static void *open_store(const struct place *place, enum backend_mode mode,
                        uint32_t lock_wait_ms)
{
    struct backend_options options = { .path = place->path,
                                     .cluster = "test",
                                     .lock_wait_ms = lock_wait_ms };
    char error[BACKEND_ERROR_MAX] = "";
    void *store = backend_sqlite.open(&options, mode, error);

    assert_string_equal(error, "");
    return store;
}

/* Number of an entity's records; checks gaps and checksums. */
static uint64_t count_records(void *reader, const char *id)
{
    uint64_t next = 1;

    for (bool more = true; more;) {
        struct journal_request *request =
            journal_request_replay(slice_text(id), next, 10000, 1 << 24);

        backend_sqlite.read(reader, &request, 1);
        assert_int_equal(request->result, BACKEND_DONE);
        for (uint32_t i = 0; i < request->records.count; i++) {
            const struct backend_record *stored = &request->records.items[i];
            struct record record;

            assert_true(stored->seq == next);
            next++;
            assert_null(record_decode(backend_slice(request, stored->bytes),
                                      record_key(slice_text(id)), stored->seq,
                                      &record));
        }
        more = request->more;
        journal_request_free(request);
    }
    return next - 1;
}

static void every_process_gets_a_share_of_the_writes(void **state)
{
    struct place *place = *state;
    struct child children[PROCESSES];
    unsigned long long events[PROCESSES];
    unsigned long long total = 0;
    unsigned long long least = ~0ULL;
    void *reader;

    backend_sqlite.close(open_store(place, BACKEND_WRITER, 0));
    for (int i = 0; i < PROCESSES; i++) {
        char name[8];

        snprintf(name, sizeof name, "p%d", i);
        children[i] = start(place->path, name, "1", seconds, "10", "share");
    }
    for (int i = 0; i < PROCESSES; i++) {
        unsigned commits;
        double p50, p99, max;

        assert_int_equal(
            fscanf(children[i].out,
                   "events %llu commits %u p50_us %lf p99_us %lf max_us %lf",
                   &events[i], &commits, &p50, &p99, &max),
            5);
        printf("process %d: %llu events, %u commits, wait p50 %.0f us, "
               "p99 %.0f us, max %.0f us\n",
               i, events[i], commits, p50, p99, max);
        finish(&children[i]);
        total += events[i];
        least = events[i] < least ? events[i] : least;
    }
    printf("total %llu events, slowest has %.1f %% of %.1f %%\n", total,
           100.0 * (double)least / (double)total, 100.0 / PROCESSES);
    assert_true(least * PROCESSES * 2 >= total);
    reader = open_store(place, BACKEND_READER, 0);
    for (int i = 0; i < PROCESSES; i++) {
        uint64_t stored = 0;

        for (int k = 0; k < 8; k++) {
            char id[32];

            snprintf(id, sizeof id, "T|p%d-%d", i, k);
            stored += count_records(reader, id);
        }
        assert_true(stored == events[i]);
    }
    backend_sqlite.close(reader);
}

/* Raises the fence of shard z and writes once. Returns the earlier number of records; -1: that
 * process kept the file locked. */
static int64_t take_over(struct place *place, uint64_t term, pid_t holder)
{
    struct fence fence = { term, 1 };
    struct journal_request *request =
        journal_request_claim(slice_text("T"), slice_text("z"), fence);
    void *writer = open_store(place, BACKEND_WRITER, 300);
    void *reader = open_store(place, BACKEND_READER, 0);
    int64_t before = -1;
    char expected[60];

    backend_sqlite.write(writer, &request, 1);
    if (request->result == BACKEND_DONE) {
        journal_request_free(request);
        before = (int64_t)count_records(reader, "T|z-0");
        request = append_new("z", fence, "T|z-0", (uint64_t)before + 1, "n");
        backend_sqlite.write(writer, &request, 1);
        assert_int_equal(request->entities.items[0].result, BACKEND_DONE);
    } else {
        assert_int_equal(request->result, BACKEND_FAILED);
        snprintf(expected, sizeof expected, ": process %d has the write lock",
                 (int)holder);
        assert_non_null(strstr(request->error, expected));
    }
    journal_request_free(request);
    backend_sqlite.close(reader);
    backend_sqlite.close(writer);
    return before;
}

static void a_stopped_process_is_fenced(void **state)
{
    struct place *place = *state;
    struct child child = start(place->path, "z", "1", "0", "1", "pause");
    char line[200];
    void *reader;
    int status;

    assert_non_null(fgets(line, sizeof line, child.out));
    assert_string_equal(line, "ready\n");
    assert_int_equal(waitpid(child.pid, &status, WUNTRACED), child.pid);
    assert_true(WIFSTOPPED(status));
    assert_true(take_over(place, 2, 0) == 1);
    kill(child.pid, SIGCONT);
    assert_non_null(fgets(line, sizeof line, child.out));
    assert_non_null(strstr(line, "failed fenced"));
    assert_non_null(fgets(line, sizeof line, child.out));
    assert_non_null(strstr(line, "fenced durable"));
    finish(&child);
    reader = open_store(place, BACKEND_READER, 0);
    assert_stored(&backend_sqlite, reader, "T|z-0", "an");
    backend_sqlite.close(reader);
}

/* Stops the process anywhere. If it holds the file's lock then, others get a clear error after
 * their wait, and it is stopped again elsewhere. */
static void a_process_stopped_during_a_write_is_fenced(void **state)
{
    struct place *place = *state;
    struct child child = start(place->path, "z", "1", "60", "1", "tell");
    unsigned long long durable = 0;
    unsigned long long told = 0;
    int64_t before = -1;
    char line[200] = "";
    void *reader;
    int locked = -1;

    for (int i = 0; i < 20; i++)
        assert_non_null(fgets(line, sizeof line, child.out));
    while (before < 0) {
        locked++;
        assert_true(locked < 50);
        kill(child.pid, SIGCONT);
        wait_ms(20 + locked);
        kill(child.pid, SIGSTOP);
        before = take_over(place, 2, child.pid);
    }
    kill(child.pid, SIGCONT);
    do {
        if (sscanf(line, "durable %llu", &told) == 1)
            durable = told;
    } while (fgets(line, sizeof line, child.out) &&
             strcmp(line, "fenced\n") != 0);
    assert_string_equal(line, "fenced\n");
    printf("fenced after %llu events, of which %llu told; locked %d times\n",
           (unsigned long long)before, durable, locked);
    finish(&child);
    reader = open_store(place, BACKEND_READER, 0);
    assert_true(count_records(reader, "T|z-0") == (uint64_t)before + 1);
    assert_true(durable <= (unsigned long long)before);
    backend_sqlite.close(reader);
}

/* The number of drawn tickets: the first number of FILE-turn. */
static uint64_t tickets(const struct place *place)
{
    char name[240];
    uint64_t drawn = 0;
    int file;

    snprintf(name, sizeof name, "%s-turn", place->path);
    file = open(name, O_RDONLY | O_CLOEXEC);
    assert_true(file >= 0);
    assert_int_equal(read(file, &drawn, sizeof drawn), sizeof drawn);
    close(file);
    return drawn;
}

/* Waiting processes that passed the stopped one are not named. */
static void a_stopped_holder_is_named(void **state)
{
    struct place *place = *state;
    struct child holder = start(place->path, "z", "1", "0", "1", "hold");
    struct fence fence = { 1, 1 };
    struct journal_request *request;
    struct child waiting;
    char expected[40];
    char line[200];
    uint64_t drawn;
    void *writer;
    int status;

    assert_non_null(fgets(line, sizeof line, holder.out));
    assert_string_equal(line, "ready\n");
    assert_int_equal(waitpid(holder.pid, &status, WUNTRACED), holder.pid);
    assert_true(WIFSTOPPED(status));
    drawn = tickets(place);
    waiting = start(place->path, "w", "1", "0", "1", "tell");
    while (tickets(place) < drawn + 2) /* the file is open, and it writes */
        wait_ms(1);
    wait_ms(100); /* passes the holder */
    writer = open_store(place, BACKEND_WRITER, 300);
    request = append_new("y", fence, "T|y", 1, "a");
    backend_sqlite.write(writer, &request, 1);
    assert_int_equal(request->result, BACKEND_FAILED);
    snprintf(expected, sizeof expected, ": process %d ", (int)holder.pid);
    printf("%s\n", request->error);
    assert_non_null(strstr(request->error, expected));
    assert_true(backend_holder(place->path) == (uint32_t)holder.pid);
    journal_request_free(request);
    backend_sqlite.close(writer);
    kill(holder.pid, SIGCONT);
    assert_non_null(fgets(line, sizeof line, holder.out));
    assert_string_equal(line, "durable 2\n");
    finish(&holder);
    kill(waiting.pid, SIGKILL);
    finish(&waiting);
    assert_true(backend_holder(place->path) == 0);
}

static void a_killed_process_loses_nothing(void **state)
{
    struct place *place = *state;

    for (int round = 0; round < 5; round++) {
        unsigned long long durable = 0;
        unsigned long long told;
        char term[8];
        struct child child;
        uint64_t earlier = 0;
        char line[100];
        void *reader;

        if (round > 0) {
            reader = open_store(place, BACKEND_READER, 0);
            earlier = count_records(reader, "T|z-0");
            backend_sqlite.close(reader);
        }
        snprintf(term, sizeof term, "%d", round + 1);
        child = start(place->path, "z", term, "60", "3", "tell");
        while (durable < 300 && fgets(line, sizeof line, child.out))
            if (sscanf(line, "durable %llu", &told) == 1)
                durable = told;
        kill(child.pid, SIGKILL);
        while (fgets(line, sizeof line, child.out))
            if (strchr(line, '\n') &&
                sscanf(line, "durable %llu", &told) == 1)
                durable = told;
        finish(&child);
        reader = open_store(place, BACKEND_READER, 0);
        assert_true(count_records(reader, "T|z-0") >= earlier + durable);
        backend_sqlite.close(reader);
    }
    assert_true(take_over(place, 100, 0) >= 1500);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stopped_process_is_fenced,
                                        place_make, place_drop),
        cmocka_unit_test_setup_teardown(
            a_process_stopped_during_a_write_is_fenced, place_make, place_drop),
        cmocka_unit_test_setup_teardown(a_stopped_holder_is_named, place_make,
                                        place_drop),
        cmocka_unit_test_setup_teardown(a_killed_process_loses_nothing,
                                        place_make, place_drop),
        cmocka_unit_test_setup_teardown(every_process_gets_a_share_of_the_writes,
                                        place_make, place_drop),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: journal_share_test WRITER [SECONDS]\n");
        return 2;
    }
    program = argv[1];
    if (argc > 2)
        seconds = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
