/* The limits of the driver: what strangers and many callers can make it keep. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "base/limits.h"
#include "fake_node.h"
#include "host/listener.h"
#include "host/system.h"

/* ---- a listener alone, in this thread's loop ---- */

struct place {
    uv_loop_t loop;
    struct listener *listener;
    size_t first; /* bytes that decide saw last */
};

static enum node_accept never_enough(void *owner, struct slice first,
                                     uint32_t *machine, const char **why)
{
    struct place *place = owner;

    (void)machine;
    (void)why;
    place->first = first.size;
    return NODE_MORE;
}

static void give(void *owner, uint32_t machine, struct accepted *accepted)
{
    (void)owner;
    (void)machine;
    (void)accepted;
    fail();
}

static void say_nothing(void *owner, enum trace_level level, const char *text)
{
    (void)owner;
    (void)level;
    (void)text;
}

static void place_open(struct place *place)
{
    struct listener_owner owner = { place, never_enough, give, say_nothing,
                                    NULL };
    char error[256];

    memset(place, 0, sizeof *place);
    assert_int_equal(uv_loop_init(&place->loop), 0);
    assert_int_equal(listener_open(&place->listener, "127.0.0.1", 0, error,
                                   sizeof error),
                     0);
    listener_start(place->listener, &place->loop, &owner);
}

static void place_close(struct place *place)
{
    listener_stop(place->listener);
    (void)uv_run(&place->loop, UV_RUN_DEFAULT);
    listener_free(place->listener);
    assert_int_equal(uv_loop_close(&place->loop), 0);
}

/* Calls from 127.0.0.host: each is an address of its own. */
static int call_from(uint16_t port, uint32_t host)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_in from = { .sin_family = AF_INET,
                                .sin_addr.s_addr = htonl(0x7f000000u + host) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Whether the other side has closed; the loop runs in between. */
static bool is_hung_up(struct place *place, int fd)
{
    char byte;

    for (int i = 0; i < 20; i++) {
        (void)uv_run(&place->loop, UV_RUN_NOWAIT);
        if (recv(fd, &byte, 1, MSG_DONTWAIT) == 0)
            return true;
    }
    return false;
}

static void so_many_may_say_nothing(void **state)
{
    static int fds[ACCEPT_WAITING_MAX + 1];
    struct place place;
    struct rlimit files;
    uint16_t port;
    (void)state;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max < 2048 ? files.rlim_max : 2048;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    place_open(&place);
    port = listener_port(place.listener);
    for (uint32_t i = 0; i < ACCEPT_WAITING_MAX; i++) {
        fds[i] = call_from(port, 1 + i / ACCEPT_WAITING_EACH_MAX);
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
    }
    assert_false(is_hung_up(&place, fds[ACCEPT_WAITING_MAX - 1]));
    assert_int_equal(listener_counters(place.listener).refused, 0);
    fds[ACCEPT_WAITING_MAX] = call_from(port, 200);
    assert_true(is_hung_up(&place, fds[ACCEPT_WAITING_MAX]));
    assert_int_equal(listener_counters(place.listener).refused, 1);
    /* One less, and there is room for one. */
    close(fds[0]);
    close(fds[ACCEPT_WAITING_MAX]);
    for (int i = 0; i < 20; i++)
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
    fds[0] = call_from(port, 200);
    assert_false(is_hung_up(&place, fds[0]));
    assert_int_equal(listener_counters(place.listener).refused, 1);
    for (uint32_t i = 0; i < ACCEPT_WAITING_MAX; i++)
        close(fds[i]);
    place_close(&place);
}

/* A stranger's bytes are kept up to the limit, not beyond. */
static void so_many_bytes_of_a_stranger_are_kept(void **state)
{
    static uint8_t bytes[ACCEPT_BYTES_MAX + 1];
    struct place place;
    int fd;
    (void)state;

    place_open(&place);
    fd = call_from(listener_port(place.listener), 1);
    assert_int_equal(send(fd, bytes, ACCEPT_BYTES_MAX - 1, MSG_NOSIGNAL),
                     ACCEPT_BYTES_MAX - 1);
    for (int i = 0; i < 1000 && place.first < ACCEPT_BYTES_MAX - 1; i++)
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
    assert_int_equal(place.first, ACCEPT_BYTES_MAX - 1);
    assert_false(is_hung_up(&place, fd));
    assert_int_equal(send(fd, bytes, 1, MSG_NOSIGNAL), 1);
    assert_true(is_hung_up(&place, fd));
    assert_int_equal(place.first, ACCEPT_BYTES_MAX);
    assert_int_equal(listener_counters(place.listener).refused, 1);
    close(fd);
    place_close(&place);
}

/* ---- a ring alone ---- */

static void a_ring_takes_so_many_mails(void **state)
{
    static struct mail mails[RING_MAIL_MAX + 1];
    struct ring *ring = ring_new();
    const struct mail *mail;
    uint32_t count;
    (void)state;

    assert_int_equal(ring_push(ring, mails, RING_MAIL_MAX + 1), RING_MAIL_MAX);
    assert_int_equal(ring_push(ring, mails, 1), 0);
    assert_true(ring_full(ring));
    while ((count = ring_waiting(ring, &mail)) > 0)
        (void)ring_taken(ring, count);
    assert_true(ring_empty(ring));
    ring_free(ring);
}

/* ---- a whole driver ---- */

static _Atomic int accepted_count;
static _Atomic bool held;

static void count_accepted(struct machine *machine, uint64_t conn)
{
    (void)machine;
    (void)conn;
    atomic_fetch_add(&accepted_count, 1);
}

static bool hold(struct machine *machine)
{
    while (machine->index == 1 && atomic_load(&held))
        uv_sleep(1);
    return false;
}

static int set_up(void **state)
{
    (void)state;
    memset(&fake_hooks, 0, sizeof fake_hooks);
    return 0;
}

static void ignore_line(void *user, int level, const char *module,
                        const char *line)
{
    (void)user;
    (void)level;
    (void)module;
    (void)line;
}

static struct sherd_system *start(uint32_t lanes)
{
    struct sherd_options options = { .port = SHERD_PORT_ANY,
                                     .lanes = lanes,
                                     .log = ignore_line };
    struct sherd_system *system;

    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    return system;
}

static int say_hello(struct sherd_system *system)
{
    uint8_t hello[FAKE_HELLO_SIZE];
    int fd = call_from(sherd_port(system), 1);

    fake_hello(hello, 1);
    assert_int_equal(send(fd, hello, sizeof hello, MSG_NOSIGNAL),
                     sizeof hello);
    return fd;
}

/* As if all but one of the allowed connections were there. */
static void connections_are_bounded(void **state)
{
    struct sherd_system *system;
    int first, second;
    char byte;
    (void)state;

    fake_hooks.accepted = count_accepted;
    system = start(1);
    atomic_fetch_add(&system->conn_count, CONNECTIONS_MAX - 1);
    first = say_hello(system);
    for (int i = 0; i < 20000 && !atomic_load(&accepted_count); i++)
        uv_sleep(1);
    assert_int_equal(atomic_load(&accepted_count), 1);
    assert_int_equal(atomic_load(&system->conn_count), CONNECTIONS_MAX);
    second = say_hello(system);
    assert_true(recv(second, &byte, 1, 0) <= 0);
    assert_int_equal(atomic_load(&accepted_count), 1);
    assert_int_equal(atomic_load(&system->conn_count), CONNECTIONS_MAX);
    assert_int_equal(listener_counters(system->listener).refused, 1);
    close(first);
    close(second);
    atomic_fetch_sub(&system->conn_count, CONNECTIONS_MAX - 1);
    sherd_close(system);
}

static void ask(void *argument)
{
    struct sherd_status status;

    assert_int_equal(sherd_get_status(argument, &status), 0);
    sherd_status_free(&status);
}

static uint32_t calls(struct sherd_system *system)
{
    uint32_t count;

    uv_mutex_lock(&system->mutex);
    count = system->call_count;
    uv_mutex_unlock(&system->mutex);
    return count;
}

static void calls_for_a_status_are_bounded(void **state)
{
    struct sherd_system *system;
    uv_thread_t threads[STATUS_CALLS_MAX];
    struct sherd_status status;
    (void)state;

    fake_hooks.turn = hold;
    atomic_store(&held, true);
    system = start(1);
    for (int i = 0; i < STATUS_CALLS_MAX; i++)
        assert_int_equal(uv_thread_create(&threads[i], ask, system), 0);
    for (int i = 0; i < 20000 && calls(system) < STATUS_CALLS_MAX; i++)
        uv_sleep(1);
    assert_int_equal(calls(system), STATUS_CALLS_MAX);
    assert_int_equal(sherd_get_status(system, &status), SHERD_EFULL);
    atomic_store(&held, false);
    for (int i = 0; i < STATUS_CALLS_MAX; i++)
        assert_int_equal(uv_thread_join(&threads[i]), 0);
    assert_int_equal(calls(system), 0);
    assert_int_equal(sherd_get_status(system, &status), 0);
    sherd_status_free(&status);
    sherd_close(system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(so_many_may_say_nothing),
        cmocka_unit_test(so_many_bytes_of_a_stranger_are_kept),
        cmocka_unit_test(a_ring_takes_so_many_mails),
        cmocka_unit_test_setup(connections_are_bounded, set_up),
        cmocka_unit_test_setup(calls_for_a_status_are_bounded, set_up),
    };

    return cmocka_run_group_tests_name("host_limits", tests, NULL, NULL);
}
