/* Tests the driver's limits for unknown nodes and for many callers. */
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
#include "host/dns_lookup.h"
#include "host/system.h"

#define HOUR_MS (60 * 60 * 1000)

/* ---- a listener alone, in this thread's loop ---- */

struct place {
    uv_loop_t loop;
    struct listener *listener;
    struct dns_lookups *lookups;
    size_t first; /* seen by decide last */
    bool takes; /* any first bytes are accepted */
};

static enum node_accept decide(void *owner, struct slice first,
                                     uint32_t *machine, const char **why)
{
    struct place *place = owner;

    (void)why;
    *machine = 0;
    place->first = first.size;
    return place->takes ? NODE_ACCEPT : NODE_MORE;
}

static void give(void *owner, uint32_t machine, struct accepted *accepted)
{
    const struct place *place = owner;

    (void)machine;
    assert_true(place->takes);
    accepted_free(accepted);
}

static void say_nothing(void *owner, enum trace_level level, const char *text)
{
    (void)owner;
    (void)level;
    (void)text;
}

static void place_open_with(struct place *place,
                            const struct listener_limits *limits)
{
    struct listener_owner owner = { place, decide, give, say_nothing,
                                    NULL, *limits, dns_lookups_new() };
    char error[256];

    memset(place, 0, sizeof *place);
    place->lookups = owner.lookups;
    assert_int_equal(uv_loop_init(&place->loop), 0);
    assert_int_equal(listener_open(&place->listener, "127.0.0.1", 0, error,
                                   sizeof error),
                     0);
    listener_start(place->listener, &place->loop, &owner);
}

/* No connection times out, even on a stalled machine. */
static void place_open(struct place *place)
{
    place_open_with(place,
                    &(struct listener_limits){ .preamble_ms = HOUR_MS,
                                               .frame_ms = HOUR_MS });
}

static void place_close(struct place *place)
{
    listener_stop(place->listener);
    (void)uv_run(&place->loop, UV_RUN_DEFAULT);
    listener_free(place->listener);
    assert_int_equal(uv_loop_close(&place->loop), 0);
    dns_lookups_close(place->lookups);
}

/* Connects from 127.0.0.host, an address of its own. */
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

/* Runs the loop; true if the peer has closed. */
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

static void becomes_known(struct place *place, uint32_t host)
{
    uint64_t before = listener_counters(place->listener).accepted;
    int fd = call_from(listener_port(place->listener), host);

    assert_int_equal(send(fd, "AKKA\1", 5, MSG_NOSIGNAL), 5);
    place->takes = true;
    for (int i = 0; i < 1000 && listener_counters(place->listener).accepted == before; i++)
        (void)uv_run(&place->loop, UV_RUN_NOWAIT);
    place->takes = false;
    assert_int_equal(listener_counters(place->listener).accepted, before + 1);
    close(fd);
}

/* Connects, and begins to speak: nobody displaces it. */
static int speak_from(struct place *place, uint32_t host)
{
    int fd = call_from(listener_port(place->listener), host);
    size_t before = place->first = 0;

    assert_int_equal(send(fd, "A", 1, MSG_NOSIGNAL), 1);
    for (int i = 0; i < 1000 && place->first == before; i++)
        (void)uv_run(&place->loop, UV_RUN_NOWAIT);
    assert_int_equal(place->first, 1);
    return fd;
}

/* Connects up to the limit, a number from each host; one more is refused. */
static void fills(struct place *place, int *fds, uint32_t from, uint32_t to, uint32_t host)
{
    uint64_t refused = listener_counters(place->listener).refused;
    uint16_t port = listener_port(place->listener);
    int more;

    for (uint32_t i = from; i < to; i++)
        fds[i] = speak_from(place, host + (i - from) / ACCEPT_WAITING_EACH_MAX);
    assert_false(is_hung_up(place, fds[to - 1]));
    assert_int_equal(listener_counters(place->listener).refused, refused);
    more = call_from(port, host + (to - from) / ACCEPT_WAITING_EACH_MAX);
    assert_true(is_hung_up(place, more));
    assert_int_equal(listener_counters(place->listener).refused, refused + 1);
    close(more);
}

/* Unknown nodes up to their limit, known peers up to the rest. */
static void waiting_connections_are_bounded(void **state)
{
    static int fds[ACCEPT_WAITING_MAX];
    struct place place;
    struct rlimit files;
    (void)state;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max < 2048 ? files.rlim_max : 2048;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    place_open(&place);
    for (uint32_t host = 200; host < 203; host++)
        becomes_known(&place, host);
    fills(&place, fds, 0, ACCEPT_STRANGERS_MAX, 1);
    fills(&place, fds, ACCEPT_STRANGERS_MAX, ACCEPT_WAITING_MAX, 200);
    /* One closes: there is room for one. */
    close(fds[0]);
    for (int i = 0; i < 20; i++)
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
    fds[0] = call_from(listener_port(place.listener), 100);
    assert_false(is_hung_up(&place, fds[0]));
    for (uint32_t i = 0; i < ACCEPT_WAITING_MAX; i++)
        close(fds[i]);
    place_close(&place);
}

static int silent_from(struct place *place, uint32_t host)
{
    int fd = call_from(listener_port(place->listener), host);

    (void)uv_run(&place->loop, UV_RUN_NOWAIT);
    return fd;
}

/* As after a restart of a member, while others hold connections from its address. */
static void silent_connections_keep_no_peer_out(void **state)
{
    int fds[ACCEPT_WAITING_EACH_MAX], fd;
    struct place place;
    (void)state;

    place_open(&place);
    becomes_known(&place, 9);
    fds[0] = speak_from(&place, 9);
    for (uint32_t i = 1; i < ACCEPT_WAITING_EACH_MAX; i++)
        fds[i] = silent_from(&place, 9);
    fd = speak_from(&place, 9);
    assert_true(is_hung_up(&place, fds[1])); /* the oldest that is silent */
    assert_false(is_hung_up(&place, fds[0]));
    assert_false(is_hung_up(&place, fds[2]));
    assert_false(is_hung_up(&place, fd));
    assert_int_equal(listener_counters(place.listener).refused, 1);
    becomes_known(&place, 9); /* and it gets through */
    close(fd);
    for (uint32_t i = 0; i < ACCEPT_WAITING_EACH_MAX; i++)
        close(fds[i]);
    place_close(&place);
}

static void silent_strangers_displace_no_peer(void **state)
{
    struct place place;
    int peer, stranger, later, last;
    (void)state;

    place_open_with(&place, &(struct listener_limits){ .waiting_max = 2,
                                                       .strangers_max = 1,
                                                       .preamble_ms = HOUR_MS,
                                                       .frame_ms = HOUR_MS });
    becomes_known(&place, 9);
    peer = silent_from(&place, 9);
    stranger = silent_from(&place, 1);
    later = silent_from(&place, 2);
    assert_true(is_hung_up(&place, stranger));
    assert_false(is_hung_up(&place, peer));
    last = silent_from(&place, 9);
    assert_true(is_hung_up(&place, peer)); /* of the same rank, and older */
    assert_false(is_hung_up(&place, last));
    close(peer);
    close(stranger);
    close(later);
    close(last);
    place_close(&place);
}

/* The loop did not read them yet. */
static void a_connection_with_unread_bytes_is_not_silent(void **state)
{
    struct place place;
    int first, second, third;
    (void)state;

    place_open_with(&place, &(struct listener_limits){ .waiting_each_max = 2,
                                                       .preamble_ms = HOUR_MS,
                                                       .frame_ms = HOUR_MS });
    first = call_from(listener_port(place.listener), 1);
    assert_int_equal(send(first, "A", 1, MSG_NOSIGNAL), 1);
    second = call_from(listener_port(place.listener), 1);
    third = call_from(listener_port(place.listener), 1);
    assert_true(is_hung_up(&place, second));
    assert_false(is_hung_up(&place, first));
    assert_false(is_hung_up(&place, third));
    close(first);
    close(second);
    close(third);
    place_close(&place);
}

/* A single byte must not save a connection for the whole time. */
static void slow_connections_make_room_after_a_part_of_their_time(void **state)
{
    const struct listener_limits limits = { .waiting_each_max = 1,
                                            .preamble_ms = 2500,
                                            .frame_ms = HOUR_MS };
    uint64_t began = uv_hrtime();
    struct place place;
    int slow, next;
    (void)state;

    place_open_with(&place, &limits);
    slow = speak_from(&place, 1);
    assert_int_equal(send(slow, "KKA\1", 4, MSG_NOSIGNAL), 4); /* no time limit now */
    assert_false(is_hung_up(&place, slow));
    next = call_from(listener_port(place.listener), 1);
    while (is_hung_up(&place, next) && uv_hrtime() - began < 30000000000u) {
        close(next); /* it came too early */
        next = call_from(listener_port(place.listener), 1);
    }
    assert_true(is_hung_up(&place, slow));
    assert_false(is_hung_up(&place, next));
    close(slow);
    close(next);
    place_close(&place);
}

/* The oldest known address is dropped, the others stay. */
static void known_addresses_are_bounded(void **state)
{
    static int fds[ACCEPT_STRANGERS_MAX];
    struct place place;
    uint16_t port;
    int fd;
    (void)state;

    place_open(&place);
    port = listener_port(place.listener);
    for (uint32_t host = 0; host <= ACCEPT_KNOWN_MAX; host++)
        becomes_known(&place, 1000 + host);
    fills(&place, fds, 0, ACCEPT_STRANGERS_MAX, 1);
    fd = call_from(port, 1001);
    assert_false(is_hung_up(&place, fd));
    close(fd);
    fd = call_from(port, 1000 + ACCEPT_KNOWN_MAX);
    assert_false(is_hung_up(&place, fd));
    close(fd);
    fd = call_from(port, 1000);
    assert_true(is_hung_up(&place, fd));
    close(fd);
    for (uint32_t i = 0; i < ACCEPT_STRANGERS_MAX; i++)
        close(fds[i]);
    place_close(&place);
}

/* Tells whether this host connects while unknown nodes that speak fill their limit. */
static bool comes_through(struct place *place, uint32_t host)
{
    int fd = call_from(listener_port(place->listener), host);
    bool comes = !is_hung_up(place, fd);

    close(fd);
    for (int i = 0; i < 20; i++)
        (void)uv_run(&place->loop, UV_RUN_NOWAIT);
    return comes;
}

/* Expected nodes by address and name; only other expected nodes displace them. */
static void expected_peers_pass_when_the_limit_is_full(void **state)
{
    const struct address nodes[] = { { .host = "127.0.0.200" }, { .host = "localhost" }, { .host = "no such name" },
                                     { .host = "127.0.0.201" } };
    static int fds[ACCEPT_STRANGERS_MAX];
    struct place place;
    (void)state;

    place_open(&place);
    fills(&place, fds, 0, ACCEPT_STRANGERS_MAX, 2);
    assert_false(comes_through(&place, 200));
    listener_expect(place.listener, nodes, 3);
    assert_true(comes_through(&place, 200));
    assert_false(comes_through(&place, 201));
    for (int i = 0; i < 5000 && !comes_through(&place, 1); i++)
        uv_sleep(1); /* its name is looked up */
    assert_true(comes_through(&place, 1));
    for (uint32_t i = 0; i < ACCEPT_STRANGERS_MAX; i++)
        close(fds[i]);
    for (uint32_t host = 0; host <= ACCEPT_KNOWN_MAX; host++)
        becomes_known(&place, 1000 + host);
    fills(&place, fds, 0, ACCEPT_STRANGERS_MAX, 2);
    assert_true(comes_through(&place, 200));
    listener_expect(place.listener, nodes + 1, 3);
    assert_false(comes_through(&place, 200));
    assert_true(comes_through(&place, 201));
    assert_true(comes_through(&place, 1)); /* earlier addresses stay */
    for (uint32_t i = 0; i < ACCEPT_STRANGERS_MAX; i++)
        close(fds[i]);
    place_close(&place);
}

/* Bytes of an unknown node are kept up to the limit. */
static void bytes_of_an_unknown_node_are_bounded(void **state)
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

static void the_mail_of_a_ring_is_bounded(void **state)
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

static void ignore_line(void *user, enum sherd_log_level level,
                        const char *module, const char *line)
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

/* Settings replace the default limits. */
static void limits_of_unknown_nodes_follow_settings(void **state)
{
    const struct listener_limits limits = { .waiting_max = 4,
                                            .waiting_each_max = 2,
                                            .strangers_max = 3,
                                            .preamble_ms = 60000,
                                            .frame_ms = 60000,
                                            .frame_size_max = 100 };
    uint8_t bytes[117] = "AKKA\1";
    struct place place;
    uint16_t port;
    int fds[4], more;
    (void)state;

    place_open_with(&place, &limits);
    port = listener_port(place.listener);
    becomes_known(&place, 9);
    for (uint32_t i = 0; i < 3; i++) {
        fds[i] = speak_from(&place, 1 + i / 2);
        assert_false(is_hung_up(&place, fds[i]));
        more = i == 0 ? fds[i] : call_from(port, i == 1 ? 1 : 5);
        assert_true(i == 0 || is_hung_up(&place, more));
        if (i)
            close(more);
    }
    fds[3] = speak_from(&place, 9); /* it is known */
    assert_false(is_hung_up(&place, fds[3]));
    more = call_from(port, 9);
    assert_true(is_hung_up(&place, more));
    close(more);
    assert_int_equal(send(fds[0], bytes + 1, 114, MSG_NOSIGNAL), 114);
    assert_false(is_hung_up(&place, fds[0]));
    assert_int_equal(place.first, 115);
    assert_int_equal(send(fds[0], bytes, 1, MSG_NOSIGNAL), 1);
    assert_true(is_hung_up(&place, fds[0]));
    for (uint32_t i = 0; i < 4; i++)
        close(fds[i]);
    place_close(&place);
}

/* Two connect, and one sends its preamble. Only the silent or only the other one is closed. */
static void one_is_late(const struct listener_limits *limits, bool is_silent_one)
{
    uint64_t began = uv_hrtime();
    struct place place;
    int slow, silent;

    place_open_with(&place, limits);
    slow = call_from(listener_port(place.listener), 1);
    assert_int_equal(send(slow, "AKKA\1", 5, MSG_NOSIGNAL), 5);
    silent = call_from(listener_port(place.listener), 2);
    while (!listener_counters(place.listener).late &&
           uv_hrtime() - began < 30000000000u)
        (void)uv_run(&place.loop, UV_RUN_NOWAIT);
    assert_int_equal(is_hung_up(&place, silent), is_silent_one);
    assert_int_equal(is_hung_up(&place, slow), !is_silent_one);
    assert_int_equal(listener_counters(place.listener).late, 1);
    close(slow);
    close(silent);
    place_close(&place);
}

static void a_silent_connection_gets_the_configured_time(void **state)
{
    (void)state;
    one_is_late(&(struct listener_limits){ .preamble_ms = 500, .frame_ms = HOUR_MS }, true);
}

/* Counted from acceptance, not from the preamble; silent connections have another limit. */
static void a_connection_without_a_frame_gets_the_configured_time(void **state)
{
    (void)state;
    one_is_late(&(struct listener_limits){ .preamble_ms = HOUR_MS, .frame_ms = 1 }, false);
}

/* As if all but one allowed connection existed. */
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

/* Repeats calls that time out on a busy machine. */
static int ask_again(struct sherd_system *system, struct sherd_status *status)
{
    int error;

    do
        error = sherd_get_status(system, status);
    while (error == SHERD_ETIME);
    return error;
}

static void ask(void *argument)
{
    struct sherd_status status;

    assert_int_equal(ask_again(argument, &status), 0);
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

static void calls_for_status_are_bounded(void **state)
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
    assert_int_equal(ask_again(system, &status), SHERD_EFULL);
    atomic_store(&held, false);
    for (int i = 0; i < STATUS_CALLS_MAX; i++)
        assert_int_equal(uv_thread_join(&threads[i]), 0);
    assert_int_equal(calls(system), 0);
    assert_int_equal(ask_again(system, &status), 0);
    sherd_status_free(&status);
    sherd_close(system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waiting_connections_are_bounded),
        cmocka_unit_test(silent_connections_keep_no_peer_out),
        cmocka_unit_test(silent_strangers_displace_no_peer),
        cmocka_unit_test(a_connection_with_unread_bytes_is_not_silent),
        cmocka_unit_test(slow_connections_make_room_after_a_part_of_their_time),
        cmocka_unit_test(known_addresses_are_bounded),
        cmocka_unit_test(expected_peers_pass_when_the_limit_is_full),
        cmocka_unit_test(bytes_of_an_unknown_node_are_bounded),
        cmocka_unit_test(the_mail_of_a_ring_is_bounded),
        cmocka_unit_test(limits_of_unknown_nodes_follow_settings),
        cmocka_unit_test(a_silent_connection_gets_the_configured_time),
        cmocka_unit_test(a_connection_without_a_frame_gets_the_configured_time),
        cmocka_unit_test_setup(connections_are_bounded, set_up),
        cmocka_unit_test_setup(calls_for_status_are_bounded, set_up),
    };

    return cmocka_run_group_tests_name("host_limits", tests, NULL, NULL);
}
