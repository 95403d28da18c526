/* Tests the management while lanes are blocked, and the limits of its connections and requests. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <uv.h>

#include <sherd/http.h>
#include <sherd/manage.h>
#include <sherd/sherd.h>

#include "base/limits.h"
#include "kept_log.h"

#define PATIENCE_MS 60000
#define BLOCK 1

static uv_sem_t blocked;
static atomic_bool may_go;

static enum sherd_next receive(struct sherd_ctx *ctx, void *entity, const struct sherd_msg *message)
{
    (void)ctx;
    (void)entity;
    if (message->kind == SHERD_MESSAGE && message->msg == BLOCK) {
        uv_sem_post(&blocked);
        while (!atomic_load(&may_go))
            uv_sleep(1);
    }
    return SHERD_CONTINUE;
}

static struct sherd_system *open_with(const char *config)
{
    const struct sherd_options options = {
        .name = "Manage", .alone = 1, .port = SHERD_PORT_ANY, .lanes = 1, .log = keep_line, .config_text = config,
    };
    struct sherd_system *system;

    assert_int_equal(sherd_open(&system, &options), 0);
    return system;
}

static struct sherd_system *start_with(const char *config)
{
    const struct sherd_entity_type type = {
        .name = "E", .behavior = { .name = "e", .receive = receive }, .shards = 4,
    };
    struct sherd_system *system = open_with(config);

    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_start(system), 0);
    for (int i = 0; i < PATIENCE_MS && !sherd_is_ready(system); i++)
        uv_sleep(1);
    assert_true(sherd_is_ready(system));
    return system;
}

static int connect_to(struct sherd_system *system)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval most = { 60, 0 };
    struct sherd_http_status status;
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(sherd_http_get_status(system, &status), 0);
    assert_true(status.socket[0]);
    memcpy(address.sun_path, status.socket, sizeof address.sun_path);
    assert_int_equal(connect(file, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most), 0);
    return file;
}

static void ask(int file, const char *path)
{
    char text[256];
    int size = snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", path);

    assert_int_equal(send(file, text, (size_t)size, MSG_NOSIGNAL), size);
}

/* Returns the status of the next answer; 0: the connection was closed. */
static int answer(int file, char *text, size_t size)
{
    ssize_t read = recv(file, text, size - 1, 0);

    if (read <= 0)
        return 0;
    text[read] = '\0';
    assert_true(strncmp(text, "HTTP/1.1 ", 9) == 0);
    return atoi(text + 9);
}

static int get(struct sherd_system *system, const char *path, char *text, size_t size)
{
    int file = connect_to(system);
    int status;

    ask(file, path);
    status = answer(file, text, size);
    close(file);
    return status;
}

static uint64_t counter(struct sherd_system *system, enum sherd_http_counter which)
{
    struct sherd_http_status status;

    assert_int_equal(sherd_http_get_status(system, &status), 0);
    return status.counters[which];
}

static void block(struct sherd_system *system)
{
    atomic_store(&may_go, false);
    assert_int_equal(sherd_system_entity_tell(system, "E", "e", BLOCK, (struct sherd_bytes){ NULL, 0 }), 0);
    uv_sem_wait(&blocked);
}

/* One lane, which also runs control. */
static void a_blocked_node_answers_all_the_same(void **state)
{
    struct sherd_system *system = start_with("");
    char before[2048], text[2048];
    uint64_t began;
    int status = 200;

    (void)state;
    assert_int_equal(get(system, "/cluster/members", before, sizeof before), 200);
    assert_int_equal(get(system, "/metrics", text, sizeof text), 200);
    block(system);
    began = uv_hrtime();
    assert_int_equal(get(system, "/alive", text, sizeof text), 200);
    assert_true(uv_hrtime() - began < 200 * 1000000ull);
    assert_int_equal(get(system, "/cluster/members", text, sizeof text), 200);
    assert_true(uv_hrtime() - began < 600 * 1000000ull);
    assert_string_equal(strstr(text, "\r\n\r\n"), strstr(before, "\r\n\r\n")); /* the view of before */
    for (int i = 0; i < PATIENCE_MS && status == 200; i++) {
        status = get(system, "/ready", text, sizeof text);
        uv_sleep(1);
    }
    assert_int_equal(status, 500);
    assert_non_null(strstr(text, "Not Healthy: Check [lanes] not ok"));
    assert_int_equal(get(system, "/alive", text, sizeof text), 200);
    assert_int_equal(get(system, "/cluster/shards/E", text, sizeof text), 504);
    began = uv_hrtime();
    assert_int_equal(get(system, "/metrics", text, sizeof text), 200);
    assert_true(uv_hrtime() - began < 600 * 1000000ull);
    assert_non_null(strstr(text, "\nsherd_node_ready 0\n"));
    atomic_store(&may_go, true);
    for (int i = 0; i < PATIENCE_MS && status != 200; i++) {
        status = get(system, "/ready", text, sizeof text);
        uv_sleep(1);
    }
    assert_int_equal(status, 200);
    assert_int_equal(get(system, "/cluster/shards/E", text, sizeof text), 200);
    assert_non_null(strstr(text, "\"numEntities\":1"));
    sherd_close(system);
}

/* How many requests the workers have taken already depends on their speed. */
static void requests_above_the_limit_are_refused(void **state)
{
    struct sherd_system *system = start_with("");
    int files[HTTPD_WORKERS_MAX + HTTPD_WORK_MAX + 1];
    int count = (int)(sizeof files / sizeof files[0]);
    char text[2048];
    int refused = 0;

    (void)state;
    block(system);
    for (int i = 0; i < count; i++) {
        files[i] = connect_to(system);
        ask(files[i], "/cluster/shards/E");
    }
    for (int i = 0; i < PATIENCE_MS && !counter(system, SHERD_HTTP_BUSY); i++)
        uv_sleep(1);
    assert_true(counter(system, SHERD_HTTP_BUSY) > 0);
    atomic_store(&may_go, true);
    for (int i = 0; i < count; i++) {
        int status = answer(files[i], text, sizeof text);

        assert_true(status == 200 || status == 503 || status == 504);
        if (status == 503)
            assert_non_null(strstr(text, "Retry-After: 1"));
        refused += status == 503;
        close(files[i]);
    }
    assert_in_range(refused, 1, HTTPD_WORKERS_MAX + 1);
    sherd_close(system);
}

/* An IPv4 address of this host that is not loopback; false: there is none. */
static bool find_address(char text[INET_ADDRSTRLEN])
{
    struct ifaddrs *all, *at;
    bool found = false;

    assert_int_equal(getifaddrs(&all), 0);
    for (at = all; at && !found; at = at->ifa_next)
        if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET && !(at->ifa_flags & IFF_LOOPBACK))
            found = inet_ntop(AF_INET, &((struct sockaddr_in *)(void *)at->ifa_addr)->sin_addr, text,
                              INET_ADDRSTRLEN) != NULL;
    freeifaddrs(all);
    return found;
}

static void one_address_has_few_connections(void **state)
{
    char address[INET_ADDRSTRLEN], config[256], text[8];
    struct sockaddr_in to = { .sin_family = AF_INET };
    int files[HTTPD_CONNECTIONS_EACH_MAX + 1];
    struct timeval most = { 60, 0 };
    struct sherd_http_status status;
    struct sherd_system *system;

    (void)state;
    if (!find_address(address))
        skip();
    (void)snprintf(config, sizeof config,
                   "sherd.management.http { hostname = \"%s\", port = 0, open-read = on }", address);
    system = start_with(config);
    assert_int_equal(sherd_http_get_status(system, &status), 0);
    to.sin_port = htons((uint16_t)atoi(strrchr(status.url, ':') + 1));
    assert_int_equal(inet_pton(AF_INET, address, &to.sin_addr), 1);
    for (int i = 0; i <= HTTPD_CONNECTIONS_EACH_MAX; i++) {
        files[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(connect(files[i], (struct sockaddr *)&to, sizeof to), 0);
        assert_int_equal(setsockopt(files[i], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most), 0);
    }
    assert_true(recv(files[HTTPD_CONNECTIONS_EACH_MAX], text, sizeof text, 0) <= 0);
    assert_int_equal(counter(system, SHERD_HTTP_CROWDED), 1);
    for (int i = 0; i <= HTTPD_CONNECTIONS_EACH_MAX; i++)
        close(files[i]);
    sherd_close(system);
}

static void a_process_serves_a_limited_number_of_systems(void **state)
{
    struct sherd_system *systems[HTTPD_SYSTEMS_MAX], *one_more = NULL;
    const struct sherd_options options = { .alone = 1, .port = SHERD_PORT_ANY, .log = keep_line };
    struct sherd_http_status status;

    (void)state;
    for (int i = 0; i < HTTPD_SYSTEMS_MAX; i++)
        systems[i] = open_with("");
    assert_int_equal(sherd_open(&one_more, &options), SHERD_EFULL);
    assert_null(one_more);
    for (int i = 0; i < HTTPD_SYSTEMS_MAX; i++)
        sherd_close(systems[i]);
    assert_int_equal(sherd_http_get_status(systems[0], &status), SHERD_ESTATE);
}

/* Sends text to the port, and returns the status of the answer; 0: closed. */
static int send_to_port(const struct sherd_http_status *status, const char *text)
{
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                              .sin_port = htons((uint16_t)atoi(strrchr(status->url, ':') + 1)) };
    struct timeval most = { 60, 0 };
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char read[2048];
    int result;

    assert_int_equal(connect(file, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most), 0);
    assert_true(send(file, text, strlen(text), MSG_NOSIGNAL) > 0);
    result = answer(file, read, sizeof read);
    close(file);
    return result;
}

static void each_refusal_is_counted(void **state)
{
    static const struct {
        const char *text; /* %s is the own host */
        int status;
        enum sherd_http_counter counter;
    } rows[] = {
        { "GET / HTTP/1.1\r\nHost : %s\r\n\r\n", 400, SHERD_HTTP_MALFORMED },
        { "PUT / HTTP/1.1\r\nHost: %s\r\nContent-Length: 99999\r\n\r\n", 413, SHERD_HTTP_TOO_LARGE },
        { "GET /cluster/members HTTP/1.1\r\nHost: evil\r\n\r\n", 421, SHERD_HTTP_MISDIRECTED },
        { "DELETE /cluster/members/a HTTP/1.1\r\nHost: %s\r\nOrigin: http://evil\r\n\r\n", 403, SHERD_HTTP_CROSS_SITE },
        { "DELETE /cluster/members/a HTTP/1.1\r\nHost: %s\r\n\r\n", 401, SHERD_HTTP_UNAUTHORIZED },
        { "DELETE /cluster/members/a HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer x\r\n\r\n", 401, SHERD_HTTP_WRONG_TOKENS },
    };
    struct sherd_system *system =
        start_with("sherd.management.http { port = 0, route-providers-read-only = off, connections = 1 }");
    struct sherd_http_status status;
    char text[512];
    int file, other;

    (void)state;
    assert_int_equal(sherd_http_get_status(system, &status), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int got = 0;

        (void)snprintf(text, sizeof text, rows[i].text, strstr(status.url, "//") + 2);
        for (int tries = 0; tries < PATIENCE_MS && !got; tries++) /* the connection before it may linger */
            got = send_to_port(&status, text);
        assert_int_equal(got, rows[i].status);
        assert_true(counter(system, rows[i].counter) > 0);
    }
    file = connect_to(system);
    other = connect_to(system);
    assert_int_equal(answer(other, text, sizeof text), 0);
    assert_true(counter(system, SHERD_HTTP_CROWDED) > 0);
    assert_int_equal(answer(file, text, sizeof text), 0); /* it sends nothing for five seconds */
    assert_true(counter(system, SHERD_HTTP_LATE) > 0 || counter(system, SHERD_HTTP_CROWDED) > 1);
    close(file);
    close(other);
    sherd_close(system);
}

static int open_nothing(const struct sherd_node_access *access, void **manager)
{
    (void)access;
    (void)manager;
    return 0;
}

static int start_nothing(void *manager)
{
    (void)manager;
    return 0;
}

static void end_nothing(void *manager)
{
    (void)manager;
}

/* Before the module is registered. */
static void a_port_needs_the_module(void **state)
{
    const struct sherd_options options = { .alone = 1, .port = SHERD_PORT_ANY, .log = keep_line,
                                           .config_text = "pekko.management.http.port = 0" };
    struct sherd_manager other = { .version = SHERD_MANAGER_VERSION, .name = "other", .open = open_nothing,
                                   .start = start_nothing, .stop = end_nothing, .close = end_nothing };
    struct sherd_http_status status;
    struct sherd_system *system;

    (void)state;
    assert_int_equal(sherd_open(&system, &options), SHERD_ECONFIG);
    assert_true(was_logged("link libsherd-http and call sherd_http_register"));
    assert_int_equal(sherd_http_register(), 0);
    assert_int_equal(sherd_http_register(), 0);
    assert_int_equal(sherd_manager_register(&other), SHERD_EEXIST);
    other.version = 0;
    assert_int_equal(sherd_manager_register(&other), SHERD_EINVAL);
    assert_int_equal(sherd_manager_register(NULL), SHERD_EINVAL);
    assert_int_equal(sherd_http_get_status(NULL, &status), SHERD_EINVAL);
    assert_string_equal(sherd_http_counter_text(SHERD_HTTP_LATE), "requests too slow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_port_needs_the_module),
        cmocka_unit_test(a_blocked_node_answers_all_the_same),
        cmocka_unit_test(requests_above_the_limit_are_refused),
        cmocka_unit_test(each_refusal_is_counted),
        cmocka_unit_test(one_address_has_few_connections),
        cmocka_unit_test(a_process_serves_a_limited_number_of_systems),
    };
    char folder[] = "/tmp/sherd-manage-XXXXXX";
    int result;

    if (!mkdtemp(folder) || setenv("RUNTIME_DIRECTORY", folder, 1) != 0 || uv_sem_init(&blocked, 0) != 0 ||
        uv_mutex_init(&log_mutex) != 0)
        return 1;
    result = cmocka_run_group_tests(tests, NULL, NULL);
    uv_mutex_destroy(&log_mutex);
    uv_sem_destroy(&blocked);
    (void)rmdir(folder);
    return result;
}
