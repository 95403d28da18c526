/* Tests a program's commands to a running node about its membership, and its readiness. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include <sherd/sherd.h>

#include "kept_log.h"
#include "members.h"

#define PATIENCE_MS 60000

/* seed 0: it forms a cluster of its own. */
static struct sherd_system *start(uint16_t seed)
{
    char address[32];
    const char *seeds[] = { address, NULL };
    const struct sherd_options options = {
        .name = "Commands",
        .alone = !seed,
        .seed_nodes = seed ? seeds : NULL,
        .port = SHERD_PORT_ANY,
        .lanes = 1,
        .log = keep_line,
    };
    struct sherd_system *system;

    (void)snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)seed);
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_false(sherd_is_ready(system));
    assert_int_equal(sherd_start(system), 0);
    return system;
}

static bool becomes_ready(struct sherd_system *system, int ready)
{
    for (int i = 0; i < PATIENCE_MS && sherd_is_ready(system) != ready; i++)
        uv_sleep(1);
    return sherd_is_ready(system) == ready;
}

static void up_and_ready(void *user)
{
    struct sherd_system *const *system = user;

    assert_true(sherd_is_ready(*system));
}

static void a_node_is_ready_while_it_is_up_MEM057(void **state)
{
    struct sherd_system *system = start(0);
    struct sherd_status status;
    char address[32];

    (void)state;
    assert_int_equal(sherd_on_up(system, up_and_ready, &system), 0);
    assert_true(becomes_ready(system, 1));
    (void)snprintf(address, sizeof address, "127.0.0.1:%u",
                   (unsigned)sherd_port(system));
    assert_int_equal(sherd_get_status(system, &status), 0);
    assert_int_equal(status.member_count, 1);
    assert_string_equal(status.members[0].address, address);
    sherd_status_free(&status);
    assert_int_equal(sherd_prepare_shutdown(system), 0);
    assert_true(becomes_ready(system, 0));
    assert_int_equal(sherd_get_status(system, &status), 0);
    assert_false(status.up);
    sherd_status_free(&status);
    sherd_close(system);
}

/* No node listens at the address. */
static void a_node_that_left_is_not_ready(void **state)
{
    struct sherd_system *system = start(0);
    struct sherd_status status;

    (void)state;
    assert_true(becomes_ready(system, 1));
    assert_int_equal(sherd_join(system, "127.0.0.1:1"), 0);
    assert_true(becomes_ready(system, 0));
    assert_int_equal(sherd_get_status(system, &status), 0);
    assert_false(status.up);
    sherd_status_free(&status);
    sherd_close(system);
}

/* The leader commands the other node, then itself. */
static void a_command_makes_another_member_leave(void **state)
{
    struct sherd_system *first = start(0);
    struct sherd_system *second = start(sherd_port(first));
    char address[32];

    (void)state;
    assert_true(becomes_ready(second, 1));
    (void)snprintf(address, sizeof address, "127.0.0.1:%u",
                   (unsigned)sherd_port(second));
    assert_int_equal(sherd_leave_member(first, address), 0);
    assert_true(becomes_ready(second, 0));
    assert_int_equal(sherd_wait(second), 0); /* gracefully */
    assert_int_equal(sherd_leave_member(second, address), SHERD_ESTATE);
    sherd_close(second);
    for (int i = 0; i < PATIENCE_MS && member_count(first) > 1; i++)
        uv_sleep(1);
    assert_true(sherd_is_ready(first));
    assert_int_equal(sherd_leave_member(first, address), 0);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u",
                   (unsigned)sherd_port(first));
    assert_int_equal(sherd_leave_member(first, address), 0);
    assert_int_equal(sherd_wait(first), 0);
    assert_true(was_logged("leave ignored: the member does not exist"));
    sherd_close(first);
}

struct wrong {
    const char *address;
    const char *why;
};

/* The caller gets only SHERD_EINVAL. */
static void an_invalid_address_is_logged_MEM060_SGT043(void **state)
{
    static const struct wrong wrongs[] = {
        { "pekko://Commands@127.0.0.1:1", "another protocol" },
        { "akka://Other@127.0.0.1:1", "another system" },
        { "Other@127.0.0.1:1", "another system" },
        { "foo", "no address" },
    };
    static const struct {
        int (*call)(struct sherd_system *system, const char *address);
        const char *name;
    } calls[] = { { sherd_join, "join" },
                  { sherd_down, "down" },
                  { sherd_leave_member, "leave" } };
    struct sherd_system *system = start(0);
    char line[256];

    (void)state;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (size_t k = 0; k < sizeof wrongs / sizeof *wrongs; k++) {
            forget_log();
            assert_int_equal(calls[i].call(system, wrongs[k].address),
                             SHERD_EINVAL);
            (void)snprintf(line, sizeof line,
                           "msg=\"%s ignored: %s\" "
                           "expected=akka://Commands@HOST:PORT address=%s\n",
                           calls[i].name, wrongs[k].why,
                           wrongs[k].address);
            assert_true(was_logged(line));
        }
    }
    assert_int_equal(sherd_join(system, NULL), SHERD_EINVAL);
    assert_int_equal(sherd_join(system, "fake_hostname?!?:2551"), SHERD_EINVAL);
    sherd_close(system);
}

static enum sherd_next ignore(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)ctx;
    (void)self;
    (void)msg;
    return SHERD_CONTINUE;
}

/* The text of SHERD_EINVAL refers to the log. */
static void an_invalid_name_of_an_actor_is_logged(void **state)
{
    static const char *const names[] = { "", "a/b", "a b", "a%20b", "$a", "*", "\xc3\xa9" };
    const struct sherd_behavior behavior = { .name = "b", .receive = ignore };
    struct sherd_system *system = start(0);
    (void)state;

    assert_true(becomes_ready(system, 1));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        forget_log();
        assert_int_equal(sherd_system_spawn_named(system, names[i], &behavior,
                                                  (struct sherd_bytes){ 0 }, NULL),
                         SHERD_EINVAL);
        assert_true(was_logged("an actor's name is not valid"));
    }
    sherd_halt(system);
    sherd_close(system);
}

static int listen_to(uint16_t *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof address;
    int file = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(file, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(file, 8), 0);
    assert_int_equal(getsockname(file, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return file;
}

/* The event loop has one number for every end of a connection: a bad file descriptor. */
static void a_connection_that_breaks_is_logged_with_its_reason(void **state)
{
    const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
    struct sherd_system *system;
    uint16_t port;
    int listener = listen_to(&port);
    (void)state;

    forget_log();
    system = start(port);
    for (int i = 0; i < 2; i++) {
        int file = accept(listener, NULL, NULL);

        assert_true(file >= 0);
        uv_sleep(200); /* the node has sent its first bytes, which nobody reads */
        assert_int_equal(setsockopt(file, SOL_SOCKET, SO_LINGER, &reset, sizeof reset), 0);
        assert_int_equal(close(file), 0);
    }
    for (int i = 0; i < PATIENCE_MS && !was_logged("handshake not answered"); i++)
        uv_sleep(1);
    assert_true(was_logged("reason=\"link: Connection reset by peer\""));
    assert_true(was_logged("if its own address is written in another way"));
    assert_false(was_logged("descriptor"));
    sherd_halt(system);
    sherd_close(system);
    assert_int_equal(close(listener), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_invalid_name_of_an_actor_is_logged),
        cmocka_unit_test(a_connection_that_breaks_is_logged_with_its_reason),
        cmocka_unit_test(a_node_is_ready_while_it_is_up_MEM057),
        cmocka_unit_test(a_node_that_left_is_not_ready),
        cmocka_unit_test(a_command_makes_another_member_leave),
        cmocka_unit_test(an_invalid_address_is_logged_MEM060_SGT043),
    };

    if (uv_mutex_init(&log_mutex))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
