/* Tests leases in a real etcd: one owner at a time, whatever server and network do. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>
#include <unistd.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/timers.h"
#include "compete.h"
#include "etcd_server.h"
#include "host/lease_etcd.h"
#include "host/lease_provider.h"

#define TTL (60 * SECOND)
#define PATIENCE (20 * SECOND) /* for expected results on a busy machine */
#define SHORT (400 * MS) /* for results that do not come */

static struct etcd_server etcd;

static int start(void **state)
{
    (void)state;
    etcd_server_init(&etcd);
    etcd_server_start(&etcd);
    return 0;
}

static int end(void **state)
{
    (void)state;
    etcd_server_fini(&etcd);
    return 0;
}

/* ---- lease providers ---- */

#define URLS_MAX 3

struct where {
    char urls[URLS_MAX][64];
    const char *list[URLS_MAX];
    struct etcd_options options;
};

static void at(struct where *where, const int *ports, uint32_t count)
{
    memset(where, 0, sizeof *where);
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(where->urls[i], sizeof where->urls[i],
                       "%s://127.0.0.1:%d", etcd.tls ? "https" : "http",
                       ports[i]);
        where->list[i] = where->urls[i];
    }
    where->options = (struct etcd_options){ .endpoints = where->list,
                                            .endpoint_count = count,
                                            .prefix = "/test/",
                                            .request_timeout = 2 * SECOND,
                                            .patience = PATIENCE };
}

static struct lease_etcd *open_where(const struct where *where)
{
    struct lease_etcd *keeper;
    char error[256] = "";

    if (lease_etcd_open(&keeper, &where->options, error, sizeof error) != 0)
        fail_msg("%s", error);
    return keeper;
}

static struct lease_etcd *keeper_at(int port, uint64_t patience)
{
    struct where where;

    at(&where, &port, 1);
    where.options.patience = patience;
    return open_where(&where);
}

static struct lease_request ask_for(struct lease_etcd *keeper, uint64_t ttl,
                                    enum lease_verb verb, const char *owner)
{
    struct lease_request request = { .verb = verb, .ttl = ttl,
                                     .name = "L" };
    bool known;

    (void)snprintf(request.owner, sizeof request.owner, "%s", owner);
    known = lease_etcd_do(keeper, &request);
    assert_int_equal(known, request.answer != LEASE_UNKNOWN);
    lease_etcd_tidy(keeper);
    return request;
}

static struct lease_request ask(struct lease_etcd *keeper,
                                enum lease_verb verb, const char *owner)
{
    return ask_for(keeper, TTL, verb, owner);
}

static uint64_t granted(struct lease_etcd *keeper, const char *owner)
{
    struct lease_request request = ask(keeper, LEASE_TAKE, owner);

    if (request.answer != LEASE_GRANTED)
        fail_msg("%d: %s", request.answer, lease_etcd_why(keeper));
    assert_true(request.token > 0);
    return request.token;
}

/* Repeats until the reason appears, as early tries on a busy machine may time out. */
static void unknown_because(struct lease_etcd *keeper, const char *why)
{
    uint64_t until = uv_hrtime() + PATIENCE;

    do
        assert_int_equal(ask(keeper, LEASE_TAKE, "a:1").answer, LEASE_UNKNOWN);
    while (!strstr(lease_etcd_why(keeper), why) && uv_hrtime() < until);
    if (!strstr(lease_etcd_why(keeper), why))
        fail_msg("%s, not %s", lease_etcd_why(keeper), why);
}

/* ---- a healthy server ---- */

static void a_lease_has_one_owner_at_a_time(void **state)
{
    struct lease_etcd *keeper = keeper_at(etcd.port, PATIENCE);
    uint64_t token = granted(keeper, "a:1");

    (void)state;
    assert_int_equal(ask(keeper, LEASE_TAKE, "b:1").answer, LEASE_REFUSED);
    assert_int_equal(ask(keeper, LEASE_GIVE_UP, "b:1").answer, LEASE_GRANTED);
    assert_true(granted(keeper, "a:1") == token);
    assert_int_equal(ask(keeper, LEASE_TAKE, "b:1").answer, LEASE_REFUSED);
    assert_int_equal(ask(keeper, LEASE_GIVE_UP, "a:1").answer, LEASE_GRANTED);
    assert_true(granted(keeper, "b:1") > token);
    assert_int_equal(ask(keeper, LEASE_TAKE, "a:1").answer, LEASE_REFUSED);
    lease_etcd_close(keeper);
}

/* After a holder's kill, another owner gets the lease after its time, not earlier. */
static void a_lease_without_renewal_expires(void **state)
{
    struct lease_etcd *keeper = keeper_at(etcd.port, PATIENCE);
    uint64_t began, token, ended;
    struct lease_request request;

    (void)state;
    token = granted(keeper, "warm:1"); /* the server is up */
    assert_int_equal(ask(keeper, LEASE_GIVE_UP, "warm:1").answer, LEASE_GRANTED);
    began = uv_hrtime();
    request = ask_for(keeper, 2 * SECOND, LEASE_TAKE, "dead:1");
    assert_int_equal(request.answer, LEASE_GRANTED);
    token = request.token;
    do {
        request = ask_for(keeper, 2 * SECOND, LEASE_TAKE, "b:1");
        ended = uv_hrtime();
        assert_int_not_equal(request.answer, LEASE_UNKNOWN);
    } while (request.answer == LEASE_REFUSED && ended < began + 30 * SECOND);
    assert_int_equal(request.answer, LEASE_GRANTED);
    assert_true(request.token > token);
    assert_true(ended >= began + 2 * SECOND);
    lease_etcd_close(keeper);
}

/* The last renewal's time counts, not the first one's. */
static void renewals_keep_a_lease(void **state)
{
    struct lease_etcd *keeper = keeper_at(etcd.port, PATIENCE);
    uint64_t token = granted(keeper, "a:1");
    uint64_t began = uv_hrtime();

    (void)state;
    while (uv_hrtime() < began + 5 * SECOND) {
        struct lease_request request =
            ask_for(keeper, 2 * SECOND, LEASE_TAKE, "a:1");

        assert_int_equal(request.answer, LEASE_GRANTED);
        assert_true(request.token == token);
        assert_int_equal(ask_for(keeper, 2 * SECOND, LEASE_TAKE, "b:1").answer,
                         LEASE_REFUSED);
        uv_sleep(200);
    }
    lease_etcd_close(keeper);
}

/* Number of etcd leases; unused ones were revoked. */
static size_t leases_there(void)
{
    struct where where;
    struct etcd_calls *calls;
    struct slice body;
    char error[256];
    json_t *root;
    size_t count;

    at(&where, &etcd.port, 1);
    assert_int_equal(etcd_calls_open(&calls, &where.options, error, sizeof error), 0);
    assert_int_equal(etcd_call(calls, uv_hrtime() + PATIENCE, "/v3/lease/leases",
                               "{}", &body), ETCD_DONE);
    root = json_loadb((const char *)body.data, body.size, 0, NULL);
    count = json_array_size(json_object_get(root, "leases"));
    json_decref(root);
    etcd_calls_close(calls);
    return count;
}

static void a_released_lease_leaves_nothing_on_the_server(void **state)
{
    struct lease_etcd *keeper = keeper_at(etcd.port, PATIENCE);

    (void)state;
    for (int i = 0; i < 10; i++) {
        (void)granted(keeper, "a:1");
        assert_int_equal(ask(keeper, LEASE_TAKE, "b:1").answer, LEASE_REFUSED);
    }
    assert_int_equal(leases_there(), 1);
    assert_int_equal(ask(keeper, LEASE_GIVE_UP, "a:1").answer, LEASE_GRANTED);
    assert_int_equal(leases_there(), 0);
    lease_etcd_close(keeper);
}

/* A provider for each process. */
static struct lease_etcd *own_keeper(void)
{
    static struct lease_etcd *keeper;

    if (!keeper)
        keeper = keeper_at(etcd.port, PATIENCE);
    return keeper;
}

static bool take(const char *owner)
{
    return ask(own_keeper(), LEASE_TAKE, owner).answer == LEASE_GRANTED;
}

static bool give_up(const char *owner)
{
    return ask(own_keeper(), LEASE_GIVE_UP, owner).answer == LEASE_GRANTED;
}

static void processes_exclude_each_other(void **state)
{
    (void)state;
    compete(etcd.directory, 15, take, give_up);
}

/* ---- failing servers and networks ---- */

static void a_restarted_server_keeps_its_leases(void **state)
{
    struct lease_etcd *keeper = keeper_at(etcd.port, PATIENCE);
    struct lease_etcd *hasty = keeper_at(etcd.port, SHORT);
    uint64_t token = granted(keeper, "a:1");

    (void)state;
    etcd_server_kill(&etcd);
    assert_int_equal(ask(hasty, LEASE_TAKE, "a:1").answer, LEASE_UNKNOWN);
    assert_int_equal(ask(hasty, LEASE_TAKE, "b:1").answer, LEASE_UNKNOWN);
    assert_int_equal(ask(hasty, LEASE_GIVE_UP, "a:1").answer, LEASE_UNKNOWN);
    assert_non_null(strstr(lease_etcd_why(hasty), "http://127.0.0.1:"));
    etcd_server_start(&etcd);
    assert_int_equal(ask(keeper, LEASE_TAKE, "b:1").answer, LEASE_REFUSED);
    assert_true(granted(keeper, "a:1") == token);
    lease_etcd_close(keeper);
    lease_etcd_close(hasty);
}

static void the_next_endpoint_is_asked(void **state)
{
    int ports[3];
    struct fake silent;
    struct where where;
    struct lease_etcd *keeper;
    int asked;

    (void)state;
    fake_start(&silent, FAKE_SILENT, 0);
    ports[0] = silent.port;
    ports[1] = free_port(); /* no server is there */
    ports[2] = etcd.port;
    at(&where, ports, 3);
    where.options.request_timeout = 500 * MS;
    keeper = open_where(&where);
    (void)granted(keeper, "a:1");
    asked = atomic_load(&silent.asked);
    assert_true(asked >= 1);
    for (int i = 0; i < 5; i++)
        (void)granted(keeper, "a:1");
    assert_int_equal(atomic_load(&silent.asked), asked); /* asks the endpoint that answered last */
    lease_etcd_close(keeper);
    fake_end(&silent);
}

static void a_too_long_answer_is_refused(void **state)
{
    static char text[ETCD_REPLY_MAX + 2];
    (void)state;

    memset(text, ' ', ETCD_REPLY_MAX + 1);
    memcpy(text, "{\"header\":{\"revision\":\"1\"}}", 27);
    for (int cut = 0; cut < 2; cut++) {
        struct fake fake;
        struct lease_etcd *keeper;

        text[ETCD_REPLY_MAX + 1 - cut] = 0;
        fake_start(&fake, FAKE_TEXT, 0);
        fake.text = text;
        keeper = keeper_at(fake.port, 2 * SECOND);
        assert_int_equal(lease_etcd_look(keeper), cut);
        assert_int_equal(strstr(lease_etcd_why(keeper), "too long") != NULL, !cut);
        lease_etcd_close(keeper);
        fake_end(&fake);
    }
}

static void an_invalid_answer_is_no_grant(void **state)
{
    static const struct {
        enum fake_way way;
        const char *text;
    } rows[] = {
        { FAKE_TEXT, "" },
        { FAKE_TEXT, "<html>Welcome to the guest network</html>" },
        { FAKE_TEXT, "{}" },
        { FAKE_TEXT, "{\"succeeded\":true}" },
        /* An empty key, and a shorter time than requested. */
        { FAKE_TEXT, "{\"header\":{\"revision\":\"1\"},\"ID\":\"5\",\"TTL\":\"59\",\"succeeded\":true}" },
        { FAKE_FAULT, "" },
        { FAKE_HUGE, "" },
        { FAKE_CUT, "" },
        { FAKE_HANG_UP, "" },
        { FAKE_SILENT, "" },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fake fake;
        struct lease_etcd *keeper;

        fake_start(&fake, rows[i].way, 0);
        fake.text = rows[i].text;
        keeper = keeper_at(fake.port, SHORT);
        unknown_because(keeper, ": "); /* any reason */
        lease_etcd_close(keeper);
        fake_end(&fake);
    }
}

/* The server did it, but the reply is lost: the client reads again. */
static void a_lost_reply_is_read_again(void **state)
{
    struct lease_etcd *keeper;
    struct fake fake;
    uint64_t token;

    (void)state;
    fake_start(&fake, FAKE_LOSE_TXN, etcd.port);
    keeper = keeper_at(fake.port, PATIENCE);
    token = granted(keeper, "a:1");
    assert_int_equal(atomic_load(&fake.wrote), 1);
    assert_true(granted(keeper, "a:1") == token); /* so is a renewal */
    assert_int_equal(ask(keeper, LEASE_TAKE, "b:1").answer, LEASE_REFUSED);
    assert_int_equal(ask(keeper, LEASE_GIVE_UP, "a:1").answer, LEASE_GRANTED);
    assert_true(granted(keeper, "b:1") > token);
    lease_etcd_close(keeper);
    fake_end(&fake);
}

/* The client must not hold it, and others cannot get it. */
static void an_unknown_result_is_no_grant_and_no_release(void **state)
{
    struct lease_etcd *direct = keeper_at(etcd.port, PATIENCE);
    struct lease_etcd *keeper;
    struct fake fake;

    (void)state;
    assert_true(lease_etcd_look(direct));
    fake_start(&fake, FAKE_LOSE_ALL_AFTER_TXN, etcd.port);
    keeper = keeper_at(fake.port, 2 * SECOND);
    assert_int_equal(ask(keeper, LEASE_TAKE, "a:1").answer, LEASE_UNKNOWN);
    assert_true(atomic_load(&fake.wrote) >= 1);
    assert_int_equal(ask(direct, LEASE_TAKE, "b:1").answer, LEASE_REFUSED);
    /* An unknown renewal keeps the key. */
    (void)granted(direct, "a:1");
    assert_int_equal(ask(keeper, LEASE_TAKE, "a:1").answer, LEASE_UNKNOWN);
    assert_int_equal(ask(direct, LEASE_TAKE, "b:1").answer, LEASE_REFUSED);
    assert_int_equal(ask(direct, LEASE_GIVE_UP, "a:1").answer, LEASE_GRANTED);
    (void)granted(direct, "b:1");
    lease_etcd_close(keeper);
    lease_etcd_close(direct);
    fake_end(&fake);
}

static void take_nothing(void *context, struct lease_request *request)
{
    _Atomic int *answer = context;

    atomic_store(answer, request->answer);
    mem_free(request);
}

/* Closing does not wait for a time limit. */
static void closing_ends_a_waiting_request(void **state)
{
    static _Atomic int answer;
    struct lease_request *request = mem_alloc(sizeof *request);
    struct lease_provider_options options = { .done = take_nothing,
                                      .context = (void *)&answer };
    struct leases *leases;
    struct where where;
    struct fake fake;
    char error[256];
    uint64_t began;

    (void)state;
    fake_start(&fake, FAKE_SILENT, 0);
    at(&where, &fake.port, 1);
    where.options.request_timeout = 600 * SECOND;
    where.options.patience = 900 * SECOND;
    options.etcd = &where.options;
    assert_int_equal(lease_provider_open(&leases, &options, error, sizeof error), 0);
    request->ttl = TTL;
    lease_provider_submit(leases, request);
    while (!atomic_load(&fake.asked))
        uv_sleep(10);
    began = uv_hrtime();
    lease_provider_close(leases);
    assert_true(uv_hrtime() - began < 30 * SECOND);
    assert_int_equal(atomic_load(&answer), LEASE_UNKNOWN);
    fake_end(&fake);
}

/* ---- users ---- */

static void call(struct etcd_calls *calls, const char *path, const char *json)
{
    struct slice body;

    if (etcd_call(calls, uv_hrtime() + PATIENCE, path, json, &body) != ETCD_DONE)
        fail_msg("%s: %s", path, etcd_call_why(calls));
}

static struct etcd_calls *open_calls(struct where *where)
{
    struct etcd_calls *calls;
    char error[256];

    where->options.request_timeout = PATIENCE / 2; /* passwords take the server time */
    if (etcd_calls_open(&calls, &where->options, error, sizeof error) != 0)
        fail_msg("%s", error);
    return calls;
}

/* From now on only root has access. */
static void ask_for_users(struct where *where)
{
    struct lease_etcd *keeper = keeper_at(etcd.port, PATIENCE);
    struct etcd_calls *calls;

    assert_true(lease_etcd_look(keeper));
    lease_etcd_close(keeper);
    at(where, &etcd.port, 1);
    calls = open_calls(where);
    call(calls, "/v3/auth/user/add", "{\"name\":\"root\",\"password\":\"s\\\"3\"}");
    call(calls, "/v3/auth/role/add", "{\"name\":\"root\"}");
    call(calls, "/v3/auth/user/grant", "{\"user\":\"root\",\"role\":\"root\"}");
    call(calls, "/v3/auth/enable", "{}");
    etcd_calls_close(calls);
}

static void a_provider_signs_in_as_its_user(void **state)
{
    struct lease_etcd *keeper;
    struct where where;
    uint64_t token;

    (void)state;
    ask_for_users(&where);
    keeper = keeper_at(etcd.port, SHORT);
    assert_int_equal(ask(keeper, LEASE_TAKE, "a:1").answer, LEASE_UNKNOWN);
    lease_etcd_close(keeper);
    where.options.user = "root";
    where.options.password = "wrong";
    where.options.patience = 2 * SECOND;
    keeper = open_where(&where);
    unknown_because(keeper, "authentication failed");
    lease_etcd_close(keeper);
    where.options.password = "s\"3";
    where.options.patience = PATIENCE;
    keeper = open_where(&where);
    token = granted(keeper, "a:1");
    etcd_server_kill(&etcd); /* it forgets sign-ins */
    etcd_server_start(&etcd);
    assert_true(granted(keeper, "a:1") == token);
    lease_etcd_close(keeper);
}

static int start_signing(void **state)
{
    char command[512];

    (void)state;
    etcd_server_init(&etcd);
    etcd.signs = true;
    (void)snprintf(command, sizeof command,
                   "openssl genrsa -out %s/token.key 2048 2>/dev/null && "
                   "openssl rsa -in %s/token.key -pubout -out %s/token.pub 2>/dev/null",
                   etcd.directory, etcd.directory, etcd.directory);
    if (system(command) != 0)
        return -1;
    etcd_server_start(&etcd);
    return 0;
}

/* A signed token is bound to a state of the users. After a change the server answers it with "bad
 * request". */
static void users_sign_in_again_when_users_change(void **state)
{
    struct lease_etcd *keeper;
    struct etcd_calls *calls;
    struct where where;
    uint64_t token;

    (void)state;
    ask_for_users(&where);
    where.options.user = "root";
    where.options.password = "s\"3";
    keeper = open_where(&where);
    token = granted(keeper, "a:1");
    calls = open_calls(&where);
    call(calls, "/v3/auth/user/add", "{\"name\":\"other\",\"password\":\"x\"}");
    etcd_calls_close(calls);
    assert_true(granted(keeper, "a:1") == token);
    lease_etcd_close(keeper);
}

static int start_tls(void **state)
{
    char command[512];

    (void)state;
    etcd_server_init(&etcd);
    etcd.tls = true;
    (void)snprintf(command, sizeof command,
                   "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
                   "-subj /CN=etcd -addext subjectAltName=IP:127.0.0.1 -keyout %s/server.key "
                   "-out %s/server.crt 2>/dev/null",
                   etcd.directory, etcd.directory);
    if (system(command) != 0)
        return -1;
    etcd_server_start(&etcd);
    return 0;
}

static void servers_must_show_a_valid_certificate(void **state)
{
    struct where where;
    struct lease_etcd *keeper;
    char path[128], error[256];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/server.crt", etcd.directory);
    at(&where, &etcd.port, 1);
    where.options.ca_file = path;
    keeper = open_where(&where);
    (void)granted(keeper, "a:1");
    lease_etcd_close(keeper);
    where.options.ca_file = NULL;
    where.options.patience = SECOND;
    keeper = open_where(&where);
    unknown_because(keeper, "certificate");
    lease_etcd_close(keeper);
    where.options.ca_file = "/nowhere/ca.pem";
    assert_int_equal(lease_etcd_open(&keeper, &where.options, error, sizeof error), -1);
    assert_non_null(strstr(error, "/nowhere/ca.pem"));
}

/* limit: ETCD_PREFIX_MAX */
static void invalid_endpoints_are_refused(void **state)
{
    static const char *const urls[] = {
        "", "127.0.0.1 2379", "ftp://127.0.0.1:2379", "http://127.0.0.1:2379/x",
        "http://u@127.0.0.1:2379", "http://", "file:///etc/passwd",
    };
    char prefix[ETCD_PREFIX_MAX + 2], error[256];
    struct etcd_options options = { .endpoint_count = 1 };
    struct lease_etcd *keeper;
    const char *good = "http://[::1]:2379/";

    (void)state;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        options.endpoints = &urls[i];
        if (lease_etcd_open(&keeper, &options, error, sizeof error) == 0)
            fail_msg("taken: %s", urls[i]);
    }
    options.endpoints = &good;
    memset(prefix, 'p', sizeof prefix);
    prefix[ETCD_PREFIX_MAX + 1] = 0;
    options.prefix = prefix;
    assert_int_equal(lease_etcd_open(&keeper, &options, error, sizeof error), -1);
    prefix[ETCD_PREFIX_MAX] = 0;
    assert_int_equal(lease_etcd_open(&keeper, &options, error, sizeof error), 0);
    lease_etcd_close(keeper);
    options.endpoint_count = 0;
    assert_int_equal(lease_etcd_open(&keeper, &options, error, sizeof error), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        TEST(a_lease_has_one_owner_at_a_time),
        TEST(a_lease_without_renewal_expires),
        TEST(renewals_keep_a_lease),
        TEST(a_released_lease_leaves_nothing_on_the_server),
        TEST(processes_exclude_each_other),
        TEST(a_restarted_server_keeps_its_leases),
        TEST(the_next_endpoint_is_asked),
        cmocka_unit_test(a_too_long_answer_is_refused),
        cmocka_unit_test(an_invalid_answer_is_no_grant),
        TEST(a_lost_reply_is_read_again),
        TEST(an_unknown_result_is_no_grant_and_no_release),
        cmocka_unit_test(closing_ends_a_waiting_request),
        TEST(a_provider_signs_in_as_its_user),
        cmocka_unit_test_setup_teardown(users_sign_in_again_when_users_change, start_signing, end),
        cmocka_unit_test_setup_teardown(servers_must_show_a_valid_certificate, start_tls, end),
        cmocka_unit_test(invalid_endpoints_are_refused),
    };

    if (count != 2) {
        (void)fprintf(stderr, "usage: etcd_test ETCD\n");
        return 2;
    }
    etcd_program = arguments[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
