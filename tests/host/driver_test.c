/* Tests the driver with real threads and sockets and a fake node: mail, connections, partial
 * writes, orders of closing, limits, ends. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "base/limits.h"
#include "fake_node.h"
#include "host/thread.h"
#include "journal/backend.h"
#include "kept_log.h"

static int set_up(void **state)
{
    (void)state;
    memset(&fake_hooks, 0, sizeof fake_hooks);
    atomic_store(&fake_tells_freed, 0);
    forget_log();
    return 0;
}

static struct sherd_options options_for(uint32_t lanes)
{
    return (struct sherd_options){ .port = SHERD_PORT_ANY,
                                   .lanes = lanes,
                                   /* The time is long, as threads may wait for a processor. */
                                   .config_text = "sherd.remote.unauthenticated.timeout = 60s",
                                   .log = keep_line };
}

static struct sherd_system *open_system(uint32_t lanes)
{
    struct sherd_options options = options_for(lanes);
    struct sherd_system *system;

    assert_int_equal(sherd_open(&system, &options), 0);
    return system;
}

/* Waits for other threads, at most 20 s. */
static void wait_until(bool (*holds)(void *), void *argument)
{
    for (int i = 0; i < 20000 && !holds(argument); i++)
        uv_sleep(1);
    assert_true(holds(argument));
}

static bool is_logged(void *text)
{
    return was_logged(text);
}

static bool is_one(void *number)
{
    return atomic_load((_Atomic int *)number) != 0;
}

/* ---- mail ---- */

/* Every machine sends MAILS to every other one, checks the order of each sender, and reports to
 * control when it has all. */
#define MAILS 200000u
#define MAIL_DONE UINT64_MAX

enum { SENT, DONE, FROM }; /* a machine's numbers; FROM + sender: next expected */

static bool exchange_turn(struct machine *machine)
{
    uint64_t *sent = &machine->numbers[SENT];

    for (uint32_t i = 0; i < 3000 && *sent < MAILS; i++, (*sent)++) {
        for (uint32_t to = 0; to <= machine->node->lanes; to++) {
            struct mail mail = { { FAKE_MAIL, machine->index, *sent } };

            if (to != machine->index)
                fake_send(machine, to, &mail);
        }
    }
    return *sent < MAILS;
}

static void exchange_mail(struct machine *machine, const struct mail *mail)
{
    uint32_t lanes = machine->node->lanes;
    uint64_t *next = &machine->numbers[FROM + mail->words[1]];
    struct mail done = { { FAKE_MAIL, machine->index, MAIL_DONE } };

    if (mail->words[2] == MAIL_DONE) {
        if (++machine->numbers[DONE] == lanes + 1)
            fake_end(machine, 0);
        return;
    }
    check(mail->words[2] == *next);
    if (++*next < MAILS)
        return;
    for (uint32_t from = 0; from <= lanes; from++) {
        if (from != machine->index && machine->numbers[FROM + from] < MAILS)
            return;
    }
    if (machine->index == 0)
        exchange_mail(machine, &done);
    else
        fake_send(machine, 0, &done);
}

static void mail_keeps_its_order(void **state)
{
    (void)state;
    fake_hooks.turn = exchange_turn;
    fake_hooks.mail = exchange_mail;
    for (uint32_t lanes = 1; lanes <= 4; lanes += 3) {
        struct sherd_system *system = open_system(lanes);

        assert_int_equal(sherd_start(system), 0);
        assert_int_equal(sherd_wait(system), 0);
        sherd_close(system);
    }
}

/* One mail goes back and forth, so each receiver may have to be woken. */
#define ROUNDS 20000u

static void bounce_start(struct machine *machine)
{
    struct mail mail = { { FAKE_MAIL, 1, 0 } };

    if (machine->index == 1)
        fake_send(machine, 2, &mail);
}

static void bounce_mail(struct machine *machine, const struct mail *mail)
{
    struct mail next = { { FAKE_MAIL, machine->index, mail->words[2] + 1 } };

    if (machine->index == 0)
        fake_end(machine, 0);
    else if (mail->words[2] == ROUNDS)
        fake_send(machine, 0, mail);
    else
        fake_send(machine, 3 - machine->index, &next);
}

static void no_wake_up_is_lost(void **state)
{
    static const char *const modes[] = { "sherd.poll = frugal",
                                         "sherd.poll = latency" };
    (void)state;
    fake_hooks.start = bounce_start;
    fake_hooks.mail = bounce_mail;
    for (int i = 0; i < 2; i++) {
        struct sherd_options options = options_for(2);
        struct sherd_system *system;

        options.config_text = modes[i];
        assert_int_equal(sherd_open(&system, &options), 0);
        assert_int_equal(sherd_start(system), 0);
        assert_int_equal(sherd_wait(system), 0);
        assert_true(system->polls == (i == 1));
        sherd_close(system);
    }
}

static _Atomic int gate;   /* 1: a turn waits */
static _Atomic int inside; /* a turn waits */

static bool wait_at_gate(struct machine *machine)
{
    if (machine->index != 1)
        return false;
    while (atomic_load(&gate)) {
        atomic_store(&inside, 1);
        uv_sleep(1);
    }
    return false;
}

static _Atomic int told;

static void count_told(struct machine *machine, const struct mail *mail)
{
    (void)machine;
    if (mail->words[0] == FAKE_TELL)
        atomic_fetch_add(&told, 1);
}

static bool all_told(void *count)
{
    return atomic_load(&told) == *(int *)count;
}

static void a_full_inbox_refuses_mail(void **state)
{
    static char body[SHERD_BODY_MAX];
    struct sherd_ref to = { 0, 1 };
    struct sherd_bytes none = { NULL, 0 }, large = { body, sizeof body };
    int by_size = (int)(INBOX_BYTES_MAX / SHERD_BODY_MAX);
    struct sherd_system *system;
    int count = INBOX_MAIL_MAX;

    (void)state;
    fake_hooks.turn = wait_at_gate;
    fake_hooks.mail = count_told;
    atomic_store(&gate, 1);
    atomic_store(&inside, 0);
    atomic_store(&told, 0);
    system = open_system(2);
    assert_int_equal(sherd_system_tell(system, to, 1, none), SHERD_ESTATE);
    assert_int_equal(sherd_start(system), 0);
    wait_until(is_one, &inside);
    for (int i = 0; i < INBOX_MAIL_MAX; i++)
        assert_int_equal(sherd_system_tell(system, to, 1, none), 0);
    assert_int_equal(sherd_system_tell(system, to, 1, none), SHERD_EFULL);
    assert_int_equal(fake_tells_freed, 1);
    atomic_store(&gate, 0);
    wait_until(all_told, &count);
    atomic_store(&inside, 0);
    atomic_store(&gate, 1);
    assert_int_equal(sherd_system_tell(system, to, 1, none), 0);
    wait_until(is_one, &inside);
    for (int i = 0; i < by_size; i++)
        assert_int_equal(sherd_system_tell(system, to, 1, large), 0);
    assert_int_equal(sherd_system_tell(system, to, 1, large), SHERD_EFULL);
    assert_int_equal(fake_tells_freed, 2);
    atomic_store(&gate, 0);
    count += 1 + by_size;
    wait_until(all_told, &count);
    sherd_close(system);
    assert_int_equal(fake_tells_freed, 2);
}

/* ---- links and connections ---- */

static uint16_t peer_port; /* of the listening system */
static struct sherd_system *peer;

#define STREAM_SIZE (24u * 1024 * 1024) /* more than two sockets hold */
enum { GOT, ECHOED };

static bool is_peer(const struct machine *machine)
{
    return machine->node->port == peer_port;
}

static uint8_t stream_byte(uint64_t at)
{
    return (uint8_t)(at * 31 + (at >> 12));
}

static uint16_t other_port; /* of the connecting system */

static void echo_start(struct machine *machine)
{
    if (machine->index != 1)
        return;
    if (is_peer(machine))
        fake_connect(machine, 1, "localhost", other_port);
    else
        fake_connect(machine, 1, "127.0.0.1", peer_port);
}

static void echo_connected(struct machine *machine, uint64_t link)
{
    static uint8_t part[65536];
    uint8_t hello[FAKE_HELLO_SIZE];

    fake_hello(hello, is_peer(machine) ? 2 : 1); /* lane 2 gets the echo, lane 1 the stream */
    fake_write(machine, link, hello, sizeof hello);
    for (uint64_t at = 0; !is_peer(machine) && at < STREAM_SIZE;
         at += sizeof part) {
        for (uint64_t i = 0; i < sizeof part; i++)
            part[i] = stream_byte(at + i);
        fake_write(machine, link, part, sizeof part);
    }
}

static void echo_bytes(struct machine *machine, uint64_t conn,
                       struct slice bytes)
{
    uint64_t *got = &machine->numbers[GOT];

    (void)conn;
    for (size_t i = 0; i < bytes.size; i++, (*got)++) {
        if (*got >= FAKE_HELLO_SIZE)
            check(bytes.data[i] == stream_byte(*got - FAKE_HELLO_SIZE));
    }
    if (is_peer(machine)) {
        size_t skip = *got - bytes.size < FAKE_HELLO_SIZE
                          ? FAKE_HELLO_SIZE - (size_t)(*got - bytes.size)
                          : 0;

        if (skip < bytes.size)
            fake_write(machine, 1, bytes.data + skip, bytes.size - skip);
    } else if (*got == FAKE_HELLO_SIZE + STREAM_SIZE) {
        struct mail mail = { { FAKE_MAIL } };

        fake_send(machine, 0, &mail);
    }
}

static void end_by_mail(struct machine *machine, const struct mail *mail)
{
    if (mail->words[0] == FAKE_MAIL && machine->index == 0)
        fake_end(machine, 0);
}

/* The stream starts when the peer's link back is open. */
static void echo_ready(struct machine *machine, uint64_t link)
{
    echo_connected(machine, link);
    if (is_peer(machine))
        atomic_store(&inside, 1);
}

static _Atomic int partial; /* the kernel took less than was given */

static void echo_wrote(struct machine *machine, uint64_t link, size_t size)
{
    if (size < 128 * 1024 && machine->links[link].out.size > 0)
        atomic_store(&partial, 1);
}

/* Reads only when the sender is stuck, or had time to get stuck. */
static void echo_accepted(struct machine *machine, uint64_t conn)
{
    (void)conn;
    for (int i = 0; i < 300 && is_peer(machine) && !atomic_load(&partial); i++)
        uv_sleep(1);
}

static void a_stream_comes_back_whole(void **state)
{
    struct sherd_system *system;

    (void)state;
    fake_hooks.start = echo_start;
    fake_hooks.connected = echo_ready;
    fake_hooks.bytes = echo_bytes;
    fake_hooks.accepted = echo_accepted;
    fake_hooks.wrote = echo_wrote;
    atomic_store(&partial, 0);
    fake_hooks.mail = end_by_mail;
    atomic_store(&inside, 0);
    system = open_system(2);
    peer = open_system(2);
    peer_port = sherd_port(peer);
    other_port = sherd_port(system);
    assert_true(peer_port != 0 && peer_port != other_port);
    assert_int_equal(sherd_start(peer), 0);
    wait_until(is_one, &inside); /* the kernel accepts before the other system starts */
    assert_int_equal(sherd_start(system), 0);
    assert_int_equal(sherd_wait(system), 0);
    for (uint32_t i = 0; i < system->thread_count; i++)
        thread_join(&system->threads[i]);
    assert_true(system->threads[1].sockets[0].counters.blocked > 0);
    sherd_close(system);
    sherd_close(peer);
}

/* Events of one link, as letters. */
static char happened[64];
static uv_mutex_t happened_mutex;

static void happens(const char *what)
{
    uv_mutex_lock(&happened_mutex);
    strncat(happened, what, sizeof happened - strlen(happened) - 1);
    uv_mutex_unlock(&happened_mutex);
}

static bool has_happened(void *what)
{
    bool equal;

    uv_mutex_lock(&happened_mutex);
    equal = strcmp(happened, what) == 0;
    uv_mutex_unlock(&happened_mutex);
    return equal;
}

static void hello_on_link(struct machine *machine, uint64_t link)
{
    uint8_t hello[FAKE_HELLO_SIZE];

    happens("c");
    fake_hello(hello, 1);
    fake_write(machine, link, hello, sizeof hello);
}

static void connect_at_start(struct machine *machine)
{
    if (machine->index == 1 && !is_peer(machine))
        fake_connect(machine, 1, "127.0.0.1", peer_port);
}

static void link_failed(struct machine *machine, uint64_t link, const char *why)
{
    (void)machine;
    (void)link;
    assert_true(why[0]);
    happens("f");
}

static void conn_closed(struct machine *machine, uint64_t conn)
{
    (void)machine;
    (void)conn;
    happens("d");
}

static void close_conn_on_bytes(struct machine *machine, uint64_t conn,
                                struct slice bytes)
{
    (void)bytes;
    happens("b");
    fake_close_conn(machine, conn);
}

static void close_link_on_wrote(struct machine *machine, uint64_t link,
                                size_t size)
{
    (void)size;
    fake_close_link(machine, link);
}

static void close_link_at_start(struct machine *machine)
{
    connect_at_start(machine);
    if (machine->index == 1 && !is_peer(machine))
        fake_close_link(machine, 1);
    else if (machine->index == 1)
        happens("s");
}

/* Opens two systems, connects the first to the second, and expects exactly these events. */
static void play(const char *wanted)
{
    struct sherd_system *system = open_system(2);

    happened[0] = 0;
    peer = open_system(2);
    peer_port = sherd_port(peer);
    other_port = sherd_port(system);
    assert_int_equal(sherd_start(peer), 0);
    assert_int_equal(sherd_start(system), 0);
    for (int i = 0; i < 20000 && !has_happened((void *)(uintptr_t)wanted); i++)
        uv_sleep(1);
    assert_string_equal(happened, wanted);
    sherd_close(system);
    sherd_close(peer);
}

static void connections_close_in_all_orders(void **state)
{
    (void)state;
    fake_hooks.start = connect_at_start;
    fake_hooks.connected = hello_on_link;
    fake_hooks.failed = link_failed;
    fake_hooks.closed = conn_closed;
    fake_hooks.bytes = close_conn_on_bytes; /* the acceptor closes */
    play("cbf");
    fake_hooks.bytes = NULL;
    fake_hooks.wrote = close_link_on_wrote; /* the connector closes */
    play("cd");
    fake_hooks.bytes = close_conn_on_bytes; /* both close, so neither hears of it */
    play("cb");
    fake_hooks.start = close_link_at_start; /* before it is open */
    play("s");
}

static void connect_to_nobody(struct machine *machine)
{
    if (machine->index == 1) {
        fake_connect(machine, 1, "127.0.0.1", peer_port);
        fake_connect(machine, 2, "no-such-host.invalid", 1);
    }
}

static void a_failed_connect_is_reported(void **state)
{
    struct sherd_system *system = open_system(2);
    struct sherd_system *gone = open_system(1);

    (void)state;
    peer_port = sherd_port(gone);
    sherd_close(gone);
    fake_hooks.start = connect_to_nobody;
    fake_hooks.connected = hello_on_link;
    fake_hooks.failed = link_failed;
    happened[0] = 0;
    assert_int_equal(sherd_start(system), 0);
    wait_until(has_happened, (void *)"ff");
    sherd_close(system);
}

/* Repeats a broken link many times. */
static _Atomic int times;

static void again(struct machine *machine, uint64_t link, const char *why)
{
    (void)why;
    if (atomic_fetch_add(&times, 1) < 200)
        fake_connect(machine, link, "127.0.0.1", peer_port);
}

static bool often(void *unused)
{
    (void)unused;
    return atomic_load(&times) > 200;
}

static void hello_quietly(struct machine *machine, uint64_t link)
{
    uint8_t hello[FAKE_HELLO_SIZE];

    fake_hello(hello, (uint32_t)(atomic_load(&times) % 3));
    fake_write(machine, link, hello, sizeof hello);
}

static void close_quietly(struct machine *machine, uint64_t conn,
                          struct slice bytes)
{
    (void)bytes;
    fake_close_conn(machine, conn);
}

static bool has_no_conns(void *system)
{
    return atomic_load(&((struct sherd_system *)system)->conn_count) == 0;
}

static void closed_links_are_opened_again(void **state)
{
    struct sherd_system *system = open_system(2);

    (void)state;
    peer = open_system(2);
    peer_port = sherd_port(peer);
    fake_hooks.start = connect_at_start;
    fake_hooks.connected = hello_quietly;
    fake_hooks.bytes = close_quietly;
    fake_hooks.failed = again;
    atomic_store(&times, 0);
    assert_int_equal(sherd_start(peer), 0);
    assert_int_equal(sherd_start(system), 0);
    wait_until(often, NULL);
    wait_until(has_no_conns, peer);
    sherd_close(system);
    sherd_close(peer);
}

/* ---- unknown nodes ---- */

static int call(uint16_t port)
{
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_port = htons(port),
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

static void assert_hung_up(int fd)
{
    char byte;

    assert_true(recv(fd, &byte, 1, 0) <= 0);
    close(fd);
}

static void invalid_connections_are_refused(void **state)
{
    struct sherd_system *system = open_system(1);
    int silent[ACCEPT_WAITING_EACH_MAX], fd;
    uint8_t hello[FAKE_HELLO_SIZE];

    (void)state;
    fake_hooks.accepted = NULL;
    assert_int_equal(sherd_start(system), 0);
    fd = call(sherd_port(system));
    assert_int_equal(send(fd, "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL), 18);
    assert_hung_up(fd);
    wait_until(is_logged, (void *)"not our magic");
    fd = call(sherd_port(system));
    fake_hello(hello, 7);
    assert_int_equal(send(fd, hello, 3, MSG_NOSIGNAL), 3);
    assert_int_equal(send(fd, hello + 3, sizeof hello - 3, MSG_NOSIGNAL), 6);
    assert_hung_up(fd); /* there is no machine 7 */
    for (int i = 0; i < ACCEPT_WAITING_EACH_MAX; i++)
        silent[i] = call(sherd_port(system));
    fd = call(sherd_port(system));
    assert_hung_up(silent[0]);
    silent[0] = fd;
    for (int i = 0; i < ACCEPT_WAITING_EACH_MAX; i++)
        close(silent[i]);
    sherd_close(system);
}

static int call_from(uint16_t port, uint32_t host)
{
    struct sockaddr_in from = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000000u + host) };
    struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

struct caller {
    uint16_t port;
    uint32_t host;
};

/* Its connection stays open for a while. */
static bool is_taken(void *argument)
{
    const struct caller *caller = argument;
    const struct timeval while_ = { .tv_usec = 200000 };
    int fd = call_from(caller->port, caller->host);
    char byte;
    bool taken;

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &while_, sizeof while_), 0);
    taken = recv(fd, &byte, 1, 0) < 0;
    close(fd);
    return taken;
}

/* A configured or discovered seed node connects although unknown nodes use their whole limit. */
static void seed_nodes_pass_when_unknown_nodes_fill_the_limit(void **state)
{
    struct sherd_options options = options_for(1);
    struct seed_list *found = mem_alloc(sizeof *found + sizeof found->addresses[0]);
    struct sherd_system *system;
    struct caller seed = { .host = 200 }, other = { .host = 201 };
    int silent;

    (void)state;
    options.config_text = "sherd.remote.unauthenticated { timeout = 60s, connections = 4, reserved-for-peers = 3 }\n"
                          "sherd.cluster.seed-nodes = [\"127.0.0.200:1\"]";
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    seed.port = other.port = sherd_port(system);
    silent = call_from(seed.port, 1);
    assert_int_equal(send(silent, "A", 1, MSG_NOSIGNAL), 1);
    assert_hung_up(call_from(seed.port, 2));
    assert_true(is_taken(&seed));
    assert_false(is_taken(&other));
    found->count = 1;
    (void)snprintf(found->addresses[0].host, sizeof found->addresses[0].host, "127.0.0.201");
    inbox_put_found(&system_thread(system, 0)->inbox, found);
    thread_wake(system_thread(system, 0));
    wait_until(is_taken, &other);
    close(silent);
    sherd_close(system);
}

/* ---- opening, ends ---- */

static void a_port_in_use_is_named(void **state)
{
    struct sherd_system *system = open_system(1), *second = NULL;
    struct sherd_options options = options_for(1);
    char text[64];

    (void)state;
    options.port = sherd_port(system);
    assert_int_equal(sherd_open(&second, &options), SHERD_EADDRESS);
    assert_null(second);
    (void)snprintf(text, sizeof text, "cannot listen on 127.0.0.1:%u",
                   (unsigned)options.port);
    assert_true(was_logged(text));
    assert_true(was_logged("in use\" key=remote.artery.canonical.port "
                           "source=options line=0"));
    (void)snprintf(text, sizeof text, "akka.remote.artery.bind.port = %u",
                   (unsigned)options.port);
    options.port = SHERD_PORT_ANY;
    options.config_text = text;
    assert_int_equal(sherd_open(&second, &options), SHERD_EADDRESS);
    assert_true(was_logged("in use\" key=akka.remote.artery.bind.port "
                           "source=config_text line=1"));
    options.config_text = NULL;
    options.host = "192.0.2.1"; /* RFC 5737: not assigned */
    assert_int_equal(sherd_open(&second, &options), SHERD_EADDRESS);
    sherd_close(system);
}

static void too_few_descriptors_are_refused(void **state)
{
    struct sherd_options options = options_for(2);
    struct sherd_system *system;
    struct rlimit old, low;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    low = old;
    low.rlim_cur = DESCRIPTORS_MIN;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    assert_int_equal(sherd_open(&system, &options), SHERD_ESYSTEM);
    assert_true(was_logged("limit on open files is too low"));
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
}

static void wrong_settings_are_refused(void **state)
{
    struct sherd_options options = options_for(1);
    struct sherd_system *system;

    (void)state;
    options.config_text = "akka.cluster.gosip-interval = 1 s";
    assert_int_equal(sherd_open(&system, &options), SHERD_ECONFIG);
    assert_true(was_logged("gosip-interval"));
    options = options_for(65);
    assert_int_equal(sherd_open(&system, &options), SHERD_EINVAL);
    options = options_for(1);
    options.journal = "paper";
    assert_int_equal(sherd_open(&system, &options), SHERD_EINVAL);
    assert_true(was_logged("module=config node=127.0.0.1:0 msg=\"options.journal"));
    options = options_for(1);
    options.config_file = "/no/such/file.conf";
    assert_int_equal(sherd_open(&system, &options), SHERD_ECONFIG);
    assert_true(was_logged("/no/such/file.conf"));
    options = options_for(1);
    options.journal = "sqlite:/no/such/folder/journal.db";
    assert_int_equal(sherd_open(&system, &options), SHERD_ESTORE);
    options = options_for(1);
    options.config_text = "akka.remote.artery.bind.hostname = nowhere.invalid";
    assert_int_equal(sherd_open(&system, &options), SHERD_EADDRESS);
    assert_true(was_logged("cannot listen on nowhere.invalid:"));
    assert_true(was_logged("key=akka.remote.artery.bind.hostname source=config_text"));
    options.config_text = "akka.cluster.jmx.enabled = off\n"
                          "include \"no-such.conf\"\n"
                          "akka.actor.serializers.mine = x\n"
                          "akka.cluster.debug.verbose-gossip-logging = on\n"
                          "akka.cluster.debug.verbose-heartbeat-logging = off";
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_true(was_logged("an include cannot be read and is left out\" "
                           "file=no-such.conf why=\"there is no such file\" source=config_text line=2"));
    assert_true(was_logged("has no effect\" key=akka.cluster."
                           "debug.verbose-gossip-logging why="));
    assert_true(was_logged(
        "set to their defaults and have no effect\" keys=akka.cluster.debug."
        "verbose-heartbeat-logging"));
    assert_true(was_logged("of the JVM have no effect here\" keys=akka.cluster.jmx."
                           "enabled,akka.actor.serializers.mine"));
    assert_false(was_logged("the limit of the passivation strategy"));
    sherd_close(system);
    options.config_text =
        "akka.cluster.sharding.passivation { strategy = default-strategy\n"
        "default-strategy.replacement.policy = none }";
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_true(was_logged(
        "the limit of the passivation strategy in use has no effect: its "
        "replacement policy is none\" key=cluster.sharding.passivation."
        "default-strategy.active-entity-limit"));
    sherd_close(system);
}

/* A short time is logged, a just sufficient one is not. */
static void a_too_short_lease_is_reported(void **state)
{
#define BY_LEASE                                                                \
    "akka.cluster { downing-provider-class = "                                  \
    "akka.cluster.sbr.SplitBrainResolverProvider\n"                             \
    "split-brain-resolver { active-strategy = lease-majority\n"                 \
    "lease-majority { lease-implementation = memory\n"
    struct sherd_options options = options_for(1);
    struct sherd_system *system;

    (void)state;
    options.config_text = BY_LEASE "release-after = 22s } } }";
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_false(was_logged("lease released too early"));
    sherd_close(system);
    options.config_text = BY_LEASE "release-after = 21999ms } } }";
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_true(was_logged("level=warning module=config"));
    assert_true(was_logged("key=cluster.split-brain-resolver.lease-majority."
                           "release-after ms=21999 needs_ms=22000"));
    sherd_close(system);
#undef BY_LEASE
}

static void apply_nothing(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)self;
    (void)type;
    (void)event;
}

static void invalid_types_are_refused_SHT025(void **state)
{
    struct sherd_entity_type type = { .name = "T", .proxy = 1 };
    struct sherd_entity_type bad = { .name = "", .proxy = 1 };
    struct sherd_entity_type many = { .name = "M", .proxy = 1, .shards = 20001 };
    struct sherd_system *system = open_system(1);

    (void)state;
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_entity_register(system, &type), SHERD_EEXIST);
    type.data_center = "default"; /* the own one, explicitly */
    assert_int_equal(sherd_entity_register(system, &type), SHERD_EEXIST);
    type.data_center = "west";
    assert_int_equal(sherd_entity_register(system, &type), 0);
    assert_int_equal(sherd_entity_register(system, &type), SHERD_EEXIST);
    type.data_center = "";
    assert_int_equal(sherd_entity_register(system, &type), SHERD_EINVAL);
    assert_int_equal(sherd_entity_register(system, &bad), SHERD_EINVAL);
    assert_int_equal(sherd_entity_register(system, &many), SHERD_EINVAL);
    bad.name = "T|U"; /* its entity "x" would have the persistence id of T's "U|x" */
    assert_int_equal(sherd_entity_register(system, &bad), SHERD_EINVAL);
    bad.name = "TProxy";
    assert_int_equal(sherd_entity_register(system, &bad), SHERD_EEXIST);
    assert_true(was_logged(
        "rename one of them\" type=TProxy other=T both=/system/sharding/TProxy"));
    bad.name = "replicator";
    assert_int_equal(sherd_entity_register(system, &bad), SHERD_EEXIST);
    assert_true(was_logged("rename it\" type=replicator both=/system/sharding/"));
    assert_true(was_logged("type=T|U why=\"the name has a |"));
    bad.name = "Kept";
    bad.behavior.apply = apply_nothing; /* needs a journal where it is hosted */
    assert_int_equal(sherd_entity_register(system, &bad), 0);
    assert_int_equal(sherd_start(system), 0);
    assert_int_equal(sherd_entity_register(system, &many), SHERD_EINVAL);
    assert_int_equal(sherd_start(system), SHERD_ESTATE);
    assert_int_equal(sherd_system_entity_tell(system, "X", "1", 1,
                                              (struct sherd_bytes){ 0 }),
                     SHERD_ENOTYPE);
    assert_int_equal(sherd_system_entity_tell(system, "T", "", 1,
                                              (struct sherd_bytes){ 0 }),
                     SHERD_EINVAL);
    assert_int_equal(sherd_down(system, "nonsense"), SHERD_EINVAL);
    sherd_close(system);
}

static void an_invalid_log_level_is_reported(void **state)
{
    struct sherd_options options = options_for(1);
    struct sherd_system *system;

    (void)state;
    options.log_level = (enum sherd_log_level)-1;
    assert_int_equal(sherd_open(&system, &options), SHERD_EINVAL);
    assert_true(was_logged("options.log_level is -1; it must be from 0 to 4"));
}

static void a_status_joins_all_machines(void **state)
{
    struct sherd_system *system = open_system(3);
    struct sherd_status status;

    (void)state;
    assert_int_equal(sherd_get_status(system, &status), SHERD_ESTATE);
    assert_int_equal(sherd_start(system), 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(sherd_get_status(system, &status), 0);
        assert_int_equal(status.delivered, 10 + 11 + 12 + 13);
        assert_int_equal(status.member_count, 1);
        assert_int_equal(status.up, 1);
        assert_int_equal(status.type_count, 1);
        assert_int_equal(status.types[0].shards_here, 3);
        assert_string_equal(status.types[0].coordinator, "c:1");
        sherd_status_free(&status);
    }
    sherd_halt(system);
    assert_int_equal(sherd_wait(system), 0);
    assert_int_equal(sherd_get_status(system, &status), SHERD_ESTATE);
    sherd_close(system);
}

static void leave_with_an_error(struct machine *machine)
{
    fake_end(machine, SHERD_EDOWN);
}

static void a_system_ends_from_every_state(void **state)
{
    struct sherd_system *system;

    (void)state;
    sherd_close(NULL);
    system = open_system(2);
    assert_int_equal(sherd_wait(system), SHERD_ESTATE);
    sherd_close(system); /* never started */
    system = open_system(2);
    assert_int_equal(sherd_start(system), 0);
    sherd_close(system); /* running */
    fake_hooks.leave = leave_with_an_error;
    for (int i = 0; i < 20; i++) {
        system = open_system(2);
        assert_int_equal(sherd_start(system), 0);
        sherd_leave(system);
        sherd_leave(system);
        assert_int_equal(sherd_wait(system), SHERD_EDOWN);
        sherd_halt(system); /* too late: the first reason stays */
        assert_int_equal(sherd_wait(system), SHERD_EDOWN);
        sherd_close(system);
    }
}

static void raise_signal(struct machine *machine)
{
    if (machine->index == 0)
        check(kill(getpid(), SIGTERM) == 0);
}

/* ThreadSanitizer delays handlers, and loses a signal that comes during the creation of threads: in
 * one of 300 runs it neither pends nor was handled. */
#if defined __has_feature
#if __has_feature(thread_sanitizer)
#define SIGNALS_GET_LOST true
#endif
#endif
#ifndef SIGNALS_GET_LOST
#define SIGNALS_GET_LOST false
#endif

static void a_signal_makes_the_node_leave(void **state)
{
    struct sherd_system *system;

    (void)state;
    if (SIGNALS_GET_LOST)
        skip();
    system = open_system(2);
    fake_hooks.start = raise_signal;
    fake_hooks.leave = leave_with_an_error;
    assert_int_equal(sherd_run(system), SHERD_EDOWN);
    sherd_close(system);
}

/* ---- stores ---- */

static void take_a_term(struct machine *machine)
{
    struct driver_request request = { .kind = DRIVER_STORE };

    request.journal = journal_request_take_term(slice_text("T"), 0);
    request.journal->machine = machine->index;
    request.journal->tag = 100 + machine->index;
    vec_push(&machine->wants, request);
}

static void term_taken(struct machine *machine, struct journal_request *request)
{
    struct mail mail = { { FAKE_MAIL } };

    check(request->machine == machine->index);
    check(request->tag == 100 + machine->index);
    check(request->result == BACKEND_DONE);
    journal_request_free(request);
    if (machine->index > 0)
        fake_send(machine, 0, &mail);
}

static void end_after_all(struct machine *machine, const struct mail *mail)
{
    (void)mail;
    if (++machine->numbers[0] == machine->node->lanes)
        fake_end(machine, 0);
}

static void requests_come_back_to_their_machine(void **state)
{
    struct sherd_system *system;

    (void)state;
    fake_hooks.start = take_a_term;
    fake_hooks.stored = term_taken;
    fake_hooks.mail = end_after_all;
    system = open_system(3);
    assert_int_equal(sherd_start(system), 0);
    assert_int_equal(sherd_wait(system), 0);
    sherd_close(system);
    system = open_system(3); /* requests are pending at the end */
    assert_int_equal(sherd_start(system), 0);
    sherd_close(system);
}

/* ---- how many lanes ---- */

static _Atomic int lanes_started;

static void say_that_it_started(struct machine *machine)
{
    struct mail mail = { { FAKE_MAIL, machine->index, 0 } };

    if (machine->index == 0)
        return;
    atomic_fetch_add(&lanes_started, 1);
    fake_send(machine, 0, &mail);
}

/* One for each processor that it may use. */
static void assert_lanes(const cpu_set_t *processors)
{
    int wanted = CPU_COUNT(processors);
    struct sherd_system *system;

    assert_int_equal(sched_setaffinity(0, sizeof *processors, processors), 0);
    atomic_store(&lanes_started, 0);
    system = open_system(0);
    assert_int_equal(sherd_start(system), 0);
    assert_int_equal(sherd_wait(system), 0);
    sherd_close(system);
    assert_int_equal(atomic_load(&lanes_started),
                     wanted < LANES_MAX ? wanted : LANES_MAX);
}

static void a_system_has_a_lane_for_each_processor(void **state)
{
    cpu_set_t all, one;
    size_t first = 0;

    (void)state;
    fake_hooks.start = say_that_it_started;
    fake_hooks.mail = end_after_all;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(first, &all))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_lanes(&one);
    assert_lanes(&all); /* and restores these */
}

/* ---- quiet ---- */

static void an_idle_system_does_not_wake(void **state)
{
    struct sherd_options options = options_for(2);
    struct sherd_system *system;
    uint64_t sleeps = 0, turns = 0;

    (void)state;
    options.config_text = "sherd.poll = latency"; /* also in this mode */
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    uv_sleep(300);
    sherd_halt(system);
    assert_int_equal(sherd_wait(system), 0);
    for (uint32_t i = 0; i < system->thread_count; i++)
        thread_join(&system->threads[i]);
    for (uint32_t i = 0; i < system->thread_count; i++) {
        sleeps += system->threads[i].counters.sleeps;
        turns += system->threads[i].counters.turns;
    }
    assert_true(sleeps <= 6);
    assert_true(turns <= 6);
    sherd_close(system);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(mail_keeps_its_order, set_up),
        cmocka_unit_test_setup(no_wake_up_is_lost, set_up),
        cmocka_unit_test_setup(a_full_inbox_refuses_mail, set_up),
        cmocka_unit_test_setup(a_stream_comes_back_whole, set_up),
        cmocka_unit_test_setup(connections_close_in_all_orders, set_up),
        cmocka_unit_test_setup(a_failed_connect_is_reported, set_up),
        cmocka_unit_test_setup(closed_links_are_opened_again, set_up),
        cmocka_unit_test_setup(invalid_connections_are_refused, set_up),
        cmocka_unit_test_setup(seed_nodes_pass_when_unknown_nodes_fill_the_limit, set_up),
        cmocka_unit_test_setup(a_port_in_use_is_named, set_up),
        cmocka_unit_test_setup(too_few_descriptors_are_refused, set_up),
        cmocka_unit_test_setup(wrong_settings_are_refused, set_up),
        cmocka_unit_test_setup(a_too_short_lease_is_reported, set_up),
        cmocka_unit_test_setup(invalid_types_are_refused_SHT025, set_up),
        cmocka_unit_test_setup(an_invalid_log_level_is_reported, set_up),
        cmocka_unit_test_setup(a_status_joins_all_machines, set_up),
        cmocka_unit_test_setup(a_system_ends_from_every_state, set_up),
        cmocka_unit_test_setup(a_signal_makes_the_node_leave, set_up),
        cmocka_unit_test_setup(requests_come_back_to_their_machine, set_up),
        cmocka_unit_test_setup(a_system_has_a_lane_for_each_processor, set_up),
        cmocka_unit_test_setup(an_idle_system_does_not_wake, set_up),
    };

    uv_mutex_init(&log_mutex);
    uv_mutex_init(&happened_mutex);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
