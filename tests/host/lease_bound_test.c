/* Tests bound leases in files and in a real etcd: one session at a time, whatever happens to servers
 * and answers. Prints how long a thousand take. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/timers.h"
#include "etcd_server.h"
#include "host/lease_etcd.h"
#include "host/lease_file.h"
#include "host/lease_provider.h"

#define TTL (60 * SECOND)
#define PATIENCE (20 * SECOND)
#define MANY 1000

static struct etcd_server etcd;
static struct lease_etcd *keeper; /* null: files */
static char directory[64];
static uint64_t passed; /* ns, on the clock of files */

/* The files of one session, as its provider knows them. */
struct process {
    struct lease_file file;
    struct lease_bound_files bound;
};

static struct process processes[8];
static uint32_t process_count;

static int start_files(void **state)
{
    (void)state;
    keeper = NULL;
    passed = 0;
    (void)snprintf(directory, sizeof directory, "/tmp/sherd-leases-XXXXXX");
    return mkdtemp(directory) ? 0 : -1;
}

static int end_files(void **state)
{
    char command[128];

    (void)state;
    while (process_count) {
        struct process *process = &processes[--process_count];

        lease_file_forget(&process->file);
        lease_bound_files_fini(&process->bound);
        *process = (struct process){ .file = { .path = "" } };
    }
    (void)snprintf(command, sizeof command, "rm -r %s", directory);
    return system(command);
}

static struct lease_etcd *open_etcd(int port, uint64_t patience)
{
    char url[64], error[256] = "";
    const char *list[] = { url };
    struct etcd_options options = { .endpoints = list, .endpoint_count = 1, .prefix = "/test/",
                                    .request_timeout = 2 * SECOND, .patience = patience };
    struct lease_etcd *opened;

    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    if (lease_etcd_open(&opened, &options, error, sizeof error) != 0)
        fail_msg("%s", error);
    return opened;
}

static int start_etcd(void **state)
{
    (void)state;
    etcd_server_init(&etcd);
    etcd_server_start(&etcd);
    keeper = open_etcd(etcd.port, PATIENCE);
    return lease_etcd_look(keeper) ? 0 : -1;
}

static int end_etcd(void **state)
{
    (void)state;
    lease_etcd_close(keeper);
    etcd_server_fini(&etcd);
    return 0;
}

/* ---- requests ---- */

struct session {
    char name[32];
    char owner[32];
    uint64_t token;
    struct process *process; /* files */
};

static uint64_t clock_now(void)
{
    return uv_hrtime() + passed;
}

static void ask(const struct session *session, struct lease_request *request)
{
    struct process *process = session->process;
    uint64_t now = clock_now();

    if (keeper) {
        (void)lease_etcd_do(keeper, request);
        lease_etcd_tidy(keeper);
    } else if (request->verb == LEASE_BIND) {
        lease_bound_files_do(&process->bound, &process->file, directory, now, request);
    } else {
        lease_file_do(&process->file, directory, now, request);
        lease_bound_files_session(&process->bound, now, request);
    }
}

static enum lease_answer ask_session(struct session *session, enum lease_verb verb, uint64_t ttl)
{
    struct lease_request *request = lease_request_new(0);
    enum lease_answer answer;

    request->verb = verb;
    request->ttl = ttl;
    request->token = verb == LEASE_BEGIN ? 0 : session->token;
    (void)snprintf(request->name, sizeof request->name, "%s", session->name);
    (void)snprintf(request->owner, sizeof request->owner, "%s", session->owner);
    ask(session, request);
    answer = request->answer;
    if (verb == LEASE_BEGIN && answer == LEASE_GRANTED)
        session->token = request->token;
    mem_free(request);
    return answer;
}

static struct session begin(const char *name)
{
    struct session session = { .token = 0 };

    assert_true(process_count < 8);
    session.process = &processes[process_count];
    process_count += !keeper;
    (void)snprintf(session.name, sizeof session.name, "S-node-%s", name);
    (void)snprintf(session.owner, sizeof session.owner, "%s", name);
    assert_int_equal(ask_session(&session, LEASE_BEGIN, TTL), LEASE_GRANTED);
    assert_true(session.token > 0);
    return session;
}

static struct lease_request *request_of(const struct session *session, uint32_t count)
{
    struct lease_request *request = lease_request_new(count);

    request->verb = LEASE_BIND;
    request->token = session->token;
    (void)snprintf(request->name, sizeof request->name, "%s", session->name);
    return request;
}

static enum lease_answer bind_one(const struct session *session, const char *name,
                                  bool is_given_up)
{
    struct lease_request *request = request_of(session, 1);
    enum lease_answer answer;

    (void)snprintf(request->bound[0].name, sizeof request->bound[0].name, "%s", name);
    request->bound[0].is_given_up = is_given_up;
    ask(session, request);
    answer = request->bound[0].answer;
    assert_int_equal(request->answer == LEASE_UNKNOWN, answer == LEASE_UNKNOWN);
    mem_free(request);
    return answer;
}

/* ---- for both providers ---- */

static void a_bound_lease_has_one_session_at_a_time(void **state)
{
    struct session a = begin("a:1"), b = begin("b:1");

    (void)state;
    assert_int_equal(bind_one(&a, "S-shard-T x-1", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&a, "S-shard-T x-1", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&b, "S-shard-T x-1", false), LEASE_REFUSED);
    assert_int_equal(bind_one(&b, "S-shard-T x-1", true), LEASE_GRANTED); /* nothing happens */
    assert_int_equal(bind_one(&b, "S-shard-T x-2", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&b, "S-shard-T x-1", false), LEASE_REFUSED);
    assert_int_equal(bind_one(&a, "S-shard-T x-1", true), LEASE_GRANTED);
    assert_int_equal(bind_one(&a, "S-shard-T x-1", true), LEASE_GRANTED);
    assert_int_equal(bind_one(&b, "S-shard-T x-1", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&a, "S-shard-T x-1", false), LEASE_REFUSED);
}

static void bound_leases_end_with_their_session(void **state)
{
    struct session a = begin("a:1"), b = begin("b:1");

    (void)state;
    assert_int_equal(bind_one(&a, "L", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&a, "M", false), LEASE_GRANTED);
    assert_int_equal(ask_session(&a, LEASE_TAKE, TTL), LEASE_GRANTED);
    assert_int_equal(bind_one(&b, "L", false), LEASE_REFUSED);
    assert_int_equal(ask_session(&a, LEASE_GIVE_UP, TTL), LEASE_GRANTED);
    assert_int_equal(bind_one(&b, "L", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&b, "M", false), LEASE_GRANTED);
    assert_int_equal(ask_session(&a, LEASE_TAKE, TTL), LEASE_REFUSED);
}

/* A restarted node begins another session at once, and its former leases are free. */
static void a_session_that_begins_again_frees_its_leases(void **state)
{
    struct session a = begin("a:1"), b = begin("b:1"), next;

    (void)state;
    assert_int_equal(bind_one(&a, "L", false), LEASE_GRANTED);
    next = begin("a:1");
    assert_true(next.token > a.token);
    assert_int_equal(ask_session(&a, LEASE_TAKE, TTL), LEASE_REFUSED);
    assert_int_equal(ask_session(&a, LEASE_GIVE_UP, TTL), LEASE_GRANTED);
    assert_int_equal(ask_session(&next, LEASE_TAKE, TTL), LEASE_GRANTED);
    assert_int_equal(bind_one(&b, "L", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&next, "L", false), LEASE_REFUSED);
}

/* Its leases would belong to nobody. The answer is unknown, because the node does not know of the end. */
static void a_session_that_ended_takes_nothing(void **state)
{
    struct session a = begin("a:1"), b = begin("b:1");
    struct session ended = a;

    (void)state;
    assert_int_equal(bind_one(&a, "L", false), LEASE_GRANTED);
    assert_int_equal(ask_session(&a, LEASE_GIVE_UP, TTL), LEASE_GRANTED);
    assert_int_equal(bind_one(&ended, "L", false), LEASE_UNKNOWN);
    assert_int_equal(bind_one(&ended, "M", false), LEASE_UNKNOWN);
    assert_int_equal(bind_one(&b, "L", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&b, "M", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&ended, "M", true), LEASE_UNKNOWN);
    a = begin("a:1");
    assert_int_equal(bind_one(&ended, "N", false), LEASE_UNKNOWN);
    assert_int_equal(bind_one(&a, "L", false), LEASE_REFUSED);
    assert_int_equal(bind_one(&a, "M", false), LEASE_REFUSED);
    assert_int_equal(bind_one(&a, "N", false), LEASE_GRANTED);
}

static void a_session_that_is_not_renewed_ends(void **state)
{
    struct session dead = begin("dead:1"), b = begin("b:1");
    uint64_t began = uv_hrtime();
    enum lease_answer answer;

    (void)state;
    assert_int_equal(bind_one(&dead, "L", false), LEASE_GRANTED);
    assert_int_equal(ask_session(&dead, LEASE_TAKE, 2 * SECOND), LEASE_GRANTED);
    do {
        answer = bind_one(&b, "L", false);
        assert_int_not_equal(answer, LEASE_UNKNOWN);
    } while (answer == LEASE_REFUSED && uv_hrtime() < began + 30 * SECOND);
    assert_int_equal(answer, LEASE_GRANTED);
    assert_true(uv_hrtime() >= began + 2 * SECOND);
    assert_int_equal(ask_session(&dead, LEASE_TAKE, TTL), LEASE_REFUSED);
}

/* Each lease of a batch has its own answer. */
static void one_refused_lease_does_not_refuse_the_others(void **state)
{
    struct session a = begin("a:1"), b = begin("b:1");
    struct lease_request *request = request_of(&b, LEASE_BIND_MAX);

    (void)state;
    assert_int_equal(bind_one(&a, "S-7", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&b, "S-8", false), LEASE_GRANTED);
    for (uint32_t i = 0; i < LEASE_BIND_MAX; i++) {
        (void)snprintf(request->bound[i].name, LEASE_TEXT_MAX, "S-%u", i);
        request->bound[i].is_given_up = i == 8;
    }
    ask(&b, request);
    assert_int_equal(request->answer, LEASE_GRANTED);
    for (uint32_t i = 0; i < LEASE_BIND_MAX; i++)
        assert_int_equal(request->bound[i].answer, i == 7 ? LEASE_REFUSED : LEASE_GRANTED);
    mem_free(request);
    assert_int_equal(bind_one(&a, "S-8", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&a, "S-9", false), LEASE_REFUSED);
}

static void many(const struct session *session, bool is_given_up, const char *what)
{
    uint64_t began = uv_hrtime();
    uint32_t batches = 0;

    for (uint32_t at = 0; at < MANY; at += LEASE_BIND_MAX) {
        uint32_t count = MANY - at < LEASE_BIND_MAX ? MANY - at : LEASE_BIND_MAX;
        struct lease_request *request = request_of(session, count);

        for (uint32_t i = 0; i < count; i++) {
            (void)snprintf(request->bound[i].name, LEASE_TEXT_MAX, "Airports-shard-airport-%u", at + i);
            request->bound[i].is_given_up = is_given_up;
        }
        ask(session, request);
        for (uint32_t i = 0; i < count; i++)
            assert_int_equal(request->bound[i].answer, LEASE_GRANTED);
        mem_free(request);
        batches++;
    }
    print_message("%d leases %s in %u batches: %llu ms\n", MANY, what, batches,
                  (unsigned long long)((uv_hrtime() - began) / MS));
}

static void a_thousand_leases_take_a_few_requests(void **state)
{
    struct session a = begin("a:1"), b = begin("b:1");
    uint64_t began;

    (void)state;
    many(&a, false, "taken");
    began = uv_hrtime();
    assert_int_equal(ask_session(&a, LEASE_TAKE, TTL), LEASE_GRANTED);
    print_message("all renewed in one request: %llu us\n",
                  (unsigned long long)((uv_hrtime() - began) / 1000));
    assert_int_equal(bind_one(&b, "Airports-shard-airport-999", false), LEASE_REFUSED);
    many(&a, true, "given up");
    many(&b, false, "taken by the next node");
    assert_int_equal(ask_session(&b, LEASE_GIVE_UP, TTL), LEASE_GRANTED);
    many(&a, false, "taken from an ended session");
}

/* ---- files ---- */

static const char *path_of(const char *name)
{
    static char path[128];

    (void)snprintf(path, sizeof path, "%s/%s.lease", directory, name);
    return path;
}

static void put_file(const char *text)
{
    FILE *file;
    const char *path = path_of("L");

    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_bound_lease_of_an_earlier_boot_is_free(void **state)
{
    struct session a = begin("a:1");

    (void)state;
    put_file("bound 01234567-other-boot S-node-z:1 41\n");
    assert_int_equal(bind_one(&a, "L", false), LEASE_GRANTED);
}

/* The lease of lease-majority, or a diary. */
static void another_file_is_not_overwritten(void **state)
{
    struct session a = begin("a:1");

    (void)state;
    put_file("01234567-other-boot z:1 18446744073709551615 41\n");
    assert_int_equal(bind_one(&a, "L", false), LEASE_UNKNOWN);
    put_file("my diary\n");
    assert_int_equal(bind_one(&a, "L", false), LEASE_UNKNOWN);
}

#define SESSION_FILE "S-node-a%3a1"

static void delete_file(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static void copy_file(const char *path)
{
    char command[300];

    (void)snprintf(command, sizeof command, "cp %s %s.copy && mv %s.copy %s", path, path, path, path);
    assert_int_equal(system(command), 0);
}

static void cut_file(const char *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

/* It is often made with the number of the deleted file. */
static void make_file_anew(const char *path)
{
    delete_file(path);
    put_file("bound 01234567-other-boot S-node-z:1 41\n");
    assert_int_equal(truncate(path, LEASE_FILE_SIZE), 0);
}

/* The node may not have noticed yet that its session is gone. */
static void leases_of_a_session_without_a_file_are_free_after_a_while(void **state)
{
    static void (*const changes[])(const char *) = { delete_file, cut_file };

    for (size_t i = 0; i < 2; i++) {
        struct session a = begin("a:1"), b = begin("b:1");

        assert_int_equal(bind_one(&a, "L", false), LEASE_GRANTED);
        changes[i](path_of(SESSION_FILE));
        assert_int_equal(bind_one(&a, "M", false), LEASE_UNKNOWN);
        assert_int_equal(ask_session(&a, LEASE_TAKE, TTL), LEASE_REFUSED);
        assert_int_equal(bind_one(&b, "L", false), LEASE_REFUSED);
        passed += LEASE_SETTLE_MS * MS - 100 * MS;
        assert_int_equal(bind_one(&b, "L", false), LEASE_REFUSED);
        assert_int_equal(ask_session(&a, LEASE_TAKE, TTL), LEASE_REFUSED);
        passed += 100 * MS;
        assert_int_equal(bind_one(&b, "L", false), LEASE_GRANTED);
        (void)end_files(state);
        (void)start_files(state);
    }
}

static void a_changed_file_of_a_held_lease_is_found(void **state)
{
    static const struct {
        void (*make)(const char *path);
        const char *what;
    } changes[] = { { delete_file, "deleted" },
                    { copy_file, "replaced" },
                    { cut_file, "cut" },
                    { make_file_anew, "" } };

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct session a = begin("a:1");
        struct lease_bound_files *bound = &a.process->bound;
        const char *what;

        assert_int_equal(bind_one(&a, "K", false), LEASE_GRANTED);
        assert_int_equal(bind_one(&a, "L", false), LEASE_GRANTED);
        assert_null(lease_bound_files_look(bound, clock_now()));
        changes[i].make(path_of("L"));
        what = lease_bound_files_look(bound, clock_now());
        assert_non_null(what);
        assert_non_null(strstr(what, changes[i].what));
        assert_string_equal(bound->path, path_of("L"));
        assert_null(lease_bound_files_look(bound, clock_now())); /* none is held any more */
        (void)end_files(state);
        (void)start_files(state);
    }
}

/* Others may change files of leases that are not held here. */
static void only_files_of_held_leases_are_watched(void **state)
{
    struct session a = begin("a:1"), b = begin("b:1");
    struct lease_bound_files *bound = &a.process->bound;
    (void)state;

    assert_int_equal(bind_one(&a, "L", false), LEASE_GRANTED);
    assert_int_equal(bind_one(&a, "L", true), LEASE_GRANTED);
    assert_int_equal(bind_one(&b, "L", false), LEASE_GRANTED);
    assert_null(lease_bound_files_look(bound, clock_now())); /* given up */
    assert_int_equal(bind_one(&a, "M", false), LEASE_GRANTED);
    passed += TTL;
    assert_int_equal(ask_session(&b, LEASE_BEGIN, TTL), LEASE_GRANTED);
    assert_int_equal(bind_one(&b, "M", false), LEASE_GRANTED);
    assert_null(lease_bound_files_look(bound, clock_now())); /* its time was over */
    assert_int_equal(ask_session(&a, LEASE_BEGIN, TTL), LEASE_GRANTED);
    assert_int_equal(bind_one(&a, "N", false), LEASE_GRANTED);
    assert_int_equal(ask_session(&a, LEASE_GIVE_UP, TTL), LEASE_GRANTED);
    delete_file(path_of("N"));
    assert_null(lease_bound_files_look(bound, clock_now())); /* the session ended */
}

/* ---- etcd ---- */

static void a_restarted_server_keeps_bound_leases(void **state)
{
    struct session a = begin("a:1"), b = begin("b:1");
    struct lease_etcd *patient = keeper;

    (void)state;
    assert_int_equal(bind_one(&a, "L", false), LEASE_GRANTED);
    etcd_server_kill(&etcd);
    keeper = open_etcd(etcd.port, 400 * MS);
    assert_int_equal(bind_one(&b, "L", false), LEASE_UNKNOWN);
    assert_int_equal(ask_session(&a, LEASE_TAKE, TTL), LEASE_UNKNOWN);
    lease_etcd_close(keeper);
    keeper = patient;
    etcd_server_start(&etcd);
    assert_int_equal(bind_one(&b, "L", false), LEASE_REFUSED);
    assert_int_equal(ask_session(&a, LEASE_TAKE, TTL), LEASE_GRANTED);
    assert_int_equal(bind_one(&a, "L", false), LEASE_GRANTED);
}

/* The server did it, but the reply is lost: the client reads again. */
static void a_lost_reply_is_read_again(void **state)
{
    struct session a = begin("a:1"), b = begin("b:1");
    struct lease_etcd *direct = keeper;
    struct fake fake;

    (void)state;
    fake_start(&fake, FAKE_LOSE_PUT, etcd.port);
    keeper = open_etcd(fake.port, PATIENCE);
    assert_int_equal(bind_one(&a, "L", false), LEASE_GRANTED);
    a = begin("a:1"); /* a lost reply about a session */
    assert_int_equal(bind_one(&a, "L", false), LEASE_GRANTED);
    lease_etcd_close(keeper);
    fake_end(&fake);
    keeper = direct;
    assert_int_equal(bind_one(&b, "L", false), LEASE_REFUSED);
    assert_int_equal(ask_session(&a, LEASE_TAKE, TTL), LEASE_GRANTED);
}

static void an_invalid_answer_is_no_grant(void **state)
{
    static const char *const texts[] = {
        "{}",
        "{\"header\":{\"revision\":\"1\"},\"succeeded\":true}",
        "{\"header\":{\"revision\":\"1\"},\"succeeded\":true,\"responses\":[{\"response_put\":{}}]}",
    };
    struct session a = { "S-node-a:1", "a:1", 7, NULL };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct fake fake;

        fake_start(&fake, FAKE_TEXT, 0);
        fake.text = texts[i];
        keeper = open_etcd(fake.port, 400 * MS);
        assert_int_equal(bind_one(&a, "L", false), LEASE_UNKNOWN);
        lease_etcd_close(keeper);
        fake_end(&fake);
    }
    keeper = NULL;
}

#define FILES(name) { "files: " #name, name, start_files, end_files, NULL }
#define IN_ETCD(name) { "etcd: " #name, name, start_etcd, end_etcd, NULL }

int main(int count, char **arguments)
{
    const struct CMUnitTest files[] = {
        FILES(a_bound_lease_has_one_session_at_a_time),
        FILES(bound_leases_end_with_their_session),
        FILES(a_session_that_begins_again_frees_its_leases),
        FILES(a_session_that_ended_takes_nothing),
        FILES(a_session_that_is_not_renewed_ends),
        FILES(one_refused_lease_does_not_refuse_the_others),
        FILES(a_thousand_leases_take_a_few_requests),
        FILES(a_bound_lease_of_an_earlier_boot_is_free),
        FILES(another_file_is_not_overwritten),
        FILES(leases_of_a_session_without_a_file_are_free_after_a_while),
        FILES(a_changed_file_of_a_held_lease_is_found),
        FILES(only_files_of_held_leases_are_watched),
    };
    const struct CMUnitTest servers[] = {
        IN_ETCD(a_bound_lease_has_one_session_at_a_time),
        IN_ETCD(bound_leases_end_with_their_session),
        IN_ETCD(a_session_that_begins_again_frees_its_leases),
        IN_ETCD(a_session_that_ended_takes_nothing),
        IN_ETCD(a_session_that_is_not_renewed_ends),
        IN_ETCD(one_refused_lease_does_not_refuse_the_others),
        IN_ETCD(a_thousand_leases_take_a_few_requests),
        IN_ETCD(a_restarted_server_keeps_bound_leases),
        IN_ETCD(a_lost_reply_is_read_again),
        cmocka_unit_test(an_invalid_answer_is_no_grant),
    };

    if (count < 2)
        return cmocka_run_group_tests(files, NULL, NULL);
    etcd_program = arguments[1];
    return cmocka_run_group_tests(servers, NULL, NULL);
}
