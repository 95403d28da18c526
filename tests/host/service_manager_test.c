/* Tests what a service manager is told: the lines, and the datagrams of a node in sherd_run. */
#define _GNU_SOURCE
#include "process.h"

#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "host/service_manager.h"

#define MS UINT64_C(1000000)

/* ---- lines ---- */

static const struct service_facts joining = { .is_alive = true, .unready = SHERD_UNREADY_MEMBER };
static const struct service_facts ready = { .is_alive = true, .is_ready = true };
static const struct service_facts leaving = { .is_alive = true, .leaves = true };

static void assert_told(struct service_notices *notices, const struct service_facts *facts,
                        uint64_t ms, const char *wanted)
{
    struct buf lines = { 0 };

    service_notice(notices, facts, ms * MS, &lines);
    buf_put_u8(&lines, 0);
    assert_string_equal((const char *)lines.data, wanted);
    buf_fini(&lines);
}

static void a_fact_gives_one_notice(void **state)
{
    struct service_notices notices = { 0 };

    (void)state;
    assert_told(&notices, &joining, 1000, "STATUS=not ready: the node is not up\n");
    assert_told(&notices, &joining, 5000, "");
    assert_told(&notices, &ready, 6000, "READY=1\nSTATUS=ready\n");
    assert_told(&notices, &ready, 9000, "");
    assert_told(&notices, &leaving, 10000,
                "STOPPING=1\nSTATUS=leaves the cluster\nEXTEND_TIMEOUT_USEC=15000000\n");
    assert_told(&notices, &leaving, 12000, "");
    assert_told(&notices, &leaving, 15000, "EXTEND_TIMEOUT_USEC=15000000\n");
    assert_told(&notices, &(struct service_facts){ .has_ended = true }, 30000, "");
}

static void a_status_changes_at_most_each_second(void **state)
{
    const struct service_facts blocked = {
        .is_alive = true, .unready = SHERD_UNREADY_LANES | SHERD_UNREADY_STORAGE
    };
    struct service_notices notices = { 0 };

    (void)state;
    assert_told(&notices, &ready, 1000, "READY=1\nSTATUS=ready\n");
    assert_told(&notices, &blocked, 1500, "");
    assert_told(&notices, &ready, 1900, "");
    assert_told(&notices, &blocked, 2000,
                "STATUS=not ready: a thread is blocked, the storage fails\n");
    assert_told(&notices, &ready, 3000, "STATUS=ready\n"); /* ready is said only once */
}

static void a_node_that_never_was_ready_stops_without_saying_so(void **state)
{
    struct service_notices notices = { 0 };

    (void)state;
    assert_told(&notices, &leaving, 1000,
                "STOPPING=1\nSTATUS=leaves the cluster\nEXTEND_TIMEOUT_USEC=15000000\n");
    assert_told(&notices, &leaving, 2000, "");
}

static void a_node_that_hangs_gives_no_sign_of_life(void **state)
{
    const struct service_facts hung = { .is_ready = true };
    struct service_notices notices = { .pulse = 500 * MS };

    (void)state;
    assert_told(&notices, &ready, 1000, "READY=1\nSTATUS=ready\nWATCHDOG=1\n");
    assert_told(&notices, &ready, 1499, "");
    assert_told(&notices, &ready, 1500, "WATCHDOG=1\n");
    assert_told(&notices, &hung, 9000, "");
    assert_told(&notices, &ready, 9001, "WATCHDOG=1\n");
}

/* ---- datagrams ---- */

static char heard[4096];

/* A socket; its address is that of an abstract name. */
static int socket_of(const char *name, struct sockaddr_un *address, socklen_t *size)
{
    size_t length = strlen(name);
    int made = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *address = (struct sockaddr_un){ .sun_family = AF_UNIX };
    must(made >= 0 && length < sizeof address->sun_path);
    memcpy(address->sun_path, name, length);
    address->sun_path[0] = 0;
    *size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return made;
}

/* The environment then has the name. */
static int listen_as(const char *name)
{
    struct sockaddr_un address;
    socklen_t size;
    int manager = socket_of(name, &address, &size);

    must(bind(manager, (const struct sockaddr *)&address, size) == 0);
    must(setenv("NOTIFY_SOCKET", name, 1) == 0);
    return manager;
}

static void fill(const char *name)
{
    struct sockaddr_un address;
    socklen_t size;
    int sender = socket_of(name, &address, &size);

    while (sendto(sender, "full\n", 5, 0, (const struct sockaddr *)&address, size) == 5)
        continue;
    (void)close(sender);
}

/* Reads until the text was heard, or SIGALRM ends the process. */
static void hear(int manager, const char *text)
{
    struct pollfd entry = { .fd = manager, .events = POLLIN };

    while (!strstr(heard, text)) {
        size_t size = strlen(heard);
        ssize_t more;

        must(poll(&entry, 1, -1) == 1);
        more = recv(manager, heard + size, sizeof heard - 1 - size, 0);
        must(more > 0);
        heard[size + (size_t)more] = 0;
    }
}

static void *run(void *system)
{
    must(sherd_run(system) == 0);
    return NULL;
}

static void run_as_a_service(void)
{
    char name[64];
    int manager;
    pthread_t thread;
    struct sherd_system *system;

    (void)snprintf(name, sizeof name, "@sherd-service-%d", (int)getpid());
    manager = listen_as(name);
    must(setenv("WATCHDOG_USEC", "400000", 1) == 0);
    must(unsetenv("WATCHDOG_PID") == 0);
    system = open_node(NULL, true);
    must(pthread_create(&thread, NULL, run, system) == 0);
    hear(manager, "READY=1\n");
    must(sherd_is_ready(system));
    hear(manager, "STATUS=ready\n");
    must(!strstr(heard, "STOPPING=1"));
    heard[0] = 0;
    hear(manager, "WATCHDOG=1\n"); /* they go on */
    must(!strstr(heard, "READY=1"));
    must(kill(getpid(), SIGTERM) == 0);
    hear(manager, "STOPPING=1\n");
    must(pthread_join(thread, NULL) == 0);
    sherd_close(system);
    must(!logged[0]);
}

static void a_service_manager_hears_of_start_life_and_end(void **state)
{
    (void)state;
    assert_good(run_as_a_service);
}

/* Reads nothing until signs of life fill the socket: then the node's end comes all the same. */
static void run_with_a_full_socket(void)
{
    char name[64];
    int manager;
    pthread_t thread;
    struct sherd_system *system;

    (void)snprintf(name, sizeof name, "@sherd-service-%d", (int)getpid());
    manager = listen_as(name);
    must(setenv("WATCHDOG_USEC", "1", 1) == 0); /* one at each look */
    must(unsetenv("WATCHDOG_PID") == 0);
    fill(name);
    system = open_node(NULL, true);
    must(pthread_create(&thread, NULL, run, system) == 0);
    await_ready(system);
    hear(manager, "READY=1\n");
    fill(name);
    must(kill(getpid(), SIGTERM) == 0);
    hear(manager, "STOPPING=1\n");
    must(pthread_join(thread, NULL) == 0);
    sherd_close(system);
}

static void a_full_socket_delays_notices(void **state)
{
    (void)state;
    assert_good(run_with_a_full_socket);
}

static void *end_by_signal(void *argument)
{
    await_ready(argument);
    must(kill(getpid(), SIGTERM) == 0);
    return NULL;
}

/* The node runs all the same. */
static void run_with(const char *path)
{
    const struct sherd_options options = { .port = SHERD_PORT_ANY, .alone = 1, .lanes = 1,
                                           .log = keep, .log_level = SHERD_LOG_WARNING };
    struct sherd_system *system;
    pthread_t thread;

    must(setenv("NOTIFY_SOCKET", path, 1) == 0);
    must(sherd_open(&system, &options) == 0);
    must(pthread_create(&thread, NULL, end_by_signal, system) == 0);
    must(sherd_run(system) == 0);
    must(pthread_join(thread, NULL) == 0);
    sherd_close(system);
}

static void run_without_a_listener(void)
{
    run_with("/nonexistent/notify");
    must(strstr(logged, "msg=\"the service manager cannot be told of the node\" "
                        "NOTIFY_SOCKET=/nonexistent/notify reason=\"No such file or directory\""));
}

static void run_with_a_relative_path(void)
{
    run_with("notify");
    must(strstr(logged, "reason=\"it is no path of a socket, and has no @ before a name\""));
}

static void a_socket_that_cannot_be_used_is_named(void **state)
{
    (void)state;
    assert_good(run_without_a_listener);
    assert_good(run_with_a_relative_path);
}

static void run_with_the_watchdog_of_another_process(void)
{
    char name[64];
    int manager;
    pthread_t thread;
    struct sherd_system *system;

    (void)snprintf(name, sizeof name, "@sherd-service-%d", (int)getpid());
    manager = listen_as(name);
    must(setenv("WATCHDOG_USEC", "1000", 1) == 0);
    must(setenv("WATCHDOG_PID", "1", 1) == 0);
    system = open_node(NULL, true);
    must(pthread_create(&thread, NULL, end_by_signal, system) == 0);
    must(sherd_run(system) == 0);
    must(pthread_join(thread, NULL) == 0);
    hear(manager, "STOPPING=1\n");
    must(strstr(heard, "READY=1\n") && !strstr(heard, "WATCHDOG"));
    sherd_close(system);
}

static void another_process_gives_its_own_signs_of_life(void **state)
{
    (void)state;
    assert_good(run_with_the_watchdog_of_another_process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fact_gives_one_notice),
        cmocka_unit_test(a_status_changes_at_most_each_second),
        cmocka_unit_test(a_node_that_never_was_ready_stops_without_saying_so),
        cmocka_unit_test(a_node_that_hangs_gives_no_sign_of_life),
        cmocka_unit_test(a_service_manager_hears_of_start_life_and_end),
        cmocka_unit_test(a_full_socket_delays_notices),
        cmocka_unit_test(a_socket_that_cannot_be_used_is_named),
        cmocka_unit_test(another_process_gives_its_own_signs_of_life),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
