/* Tests that a turn that does not end is reported, and a silent connection closed, both at once, as
 * each takes seconds. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

#include "base/limits.h"
#include "base/timers.h"
#include "fake_node.h"
#include "host/system.h"

static _Atomic int stalls, late, given_up;

static void look_at_line(void *user, enum sherd_log_level level,
                         const char *module, const char *line)
{
    (void)user;
    (void)level;
    (void)module;
    if (strstr(line, "has not ended a turn") && strstr(line, "lane=1"))
        atomic_fetch_add(&stalls, 1);
    if (strstr(line, "sent no first frame in time"))
        atomic_fetch_add(&late, 1);
}

static bool stall(struct machine *machine)
{
    /* Control wakes each second, as with gossip. */
    if (machine->index == 0)
        machine->deadline = machine->now + 1000000000ull;
    for (int i = 0; machine->index == 2 && i < 20000; i++) {
        if (atomic_load(&stalls) && atomic_load(&late) &&
            atomic_load(&given_up))
            break;
        uv_sleep(1);
    }
    return false;
}

static void long_turns_and_silent_connections_are_noticed(void **state)
{
    struct sherd_options options = { .port = SHERD_PORT_ANY,
                                     .lanes = 2,
                                     .log = look_at_line };
    struct sockaddr_in to = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int silent = socket(AF_INET, SOCK_STREAM, 0);
    struct sherd_system *system;
    struct sherd_status status;
    char byte;

    (void)state;
    fake_hooks.turn = stall;
    assert_int_equal(sherd_open(&system, &options), 0);
    to.sin_port = htons(sherd_port(system));
    assert_int_equal(connect(silent, (struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(send(silent, "AKKA", 4, MSG_NOSIGNAL), 4);
    assert_int_equal(sherd_start(system), 0);
    /* Lane 1 does not answer; its part returns after the call timed out. */
    assert_int_equal(sherd_get_status(system, &status), SHERD_ETIME);
    atomic_store(&given_up, 1);
    assert_true(recv(silent, &byte, 1, 0) <= 0);
    close(silent);
    /* A standstill of the whole process resets a lane's time. */
    for (int i = 0; i < 20000 && !(atomic_load(&late) && atomic_load(&stalls)); i++)
        uv_sleep(1);
    assert_int_equal(atomic_load(&late), 1);
    assert_int_equal(atomic_load(&stalls), 1);
    sherd_close(system);
}

static _Atomic int leaves, ends;

static void look_for_the_end(void *user, enum sherd_log_level level,
                             const char *module, const char *line)
{
    (void)user;
    (void)level;
    (void)module;
    if (strstr(line, "blocks: the node ends") && strstr(line, "lane=0"))
        atomic_fetch_add(&ends, 1);
}

static void leave_never(struct machine *machine)
{
    (void)machine;
    atomic_fetch_add(&leaves, 1);
}

static bool stall_to_the_end(struct machine *machine)
{
    if (machine->index == 0)
        machine->deadline = machine->now + 1000000000ull;
    while (machine->index == 1 && !atomic_load(&ends))
        uv_sleep(1);
    return false;
}

static void a_node_with_a_blocked_lane_does_not_stay(void **state)
{
    struct sherd_options options = {
        .port = SHERD_PORT_ANY,
        .lanes = 2,
        .config_text = "sherd.stalled-lane.leave-after = 1 s", /* at least 5 */
        .log = look_for_the_end,
    };
    struct sherd_system *system;

    (void)state;
    fake_hooks.turn = stall_to_the_end;
    fake_hooks.leave = leave_never;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    assert_int_equal(sherd_wait(system), SHERD_ESTALLED);
    assert_int_equal(atomic_load(&leaves), 1);
    assert_int_equal(atomic_load(&ends), 1);
    sherd_close(system);
    memset(&fake_hooks, 0, sizeof fake_hooks);
}

/* ---- the process stands still ---- */

static _Atomic bool stood_still;
static struct sherd_system *standing;
static int tell_stopper; /* pipe: a byte tells that the call has begun */

static bool is_called(void)
{
    bool called;

    uv_mutex_lock(&standing->mutex);
    called = standing->call_count > 0;
    uv_mutex_unlock(&standing->mutex);
    return called;
}

/* The lane's turn lasts from before the call until a while after the standstill. The times that it compares have no gap between them:
 * the process may be stopped at any instruction. */
static bool stand_still(struct machine *machine)
{
    uint64_t before;

    if (machine->index != 1)
        return false;
    for (int i = 0; i < 20000 && !is_called(); i++)
        uv_sleep(1);
    before = uv_hrtime();
    if (!atomic_load(&stood_still))
        assert_int_equal(write(tell_stopper, "", 1), 1);
    for (int i = 0; i < 20000 && !atomic_load(&stood_still); i++) {
        uint64_t now;

        uv_sleep(1);
        now = uv_hrtime();
        if (now - before >= STATUS_WAIT_MS * MS) {
            uv_sleep(100);
            atomic_store(&stood_still, true);
        }
        before = now;
    }
    return false;
}

/* A process that stops this one, on request, for longer than a call waits. */
static pid_t stop_me(const int begins[2])
{
    pid_t me = getpid(), pid = fork();
    char byte;

    if (pid)
        return pid;
    (void)close(begins[1]);
    if (read(begins[0], &byte, 1) == 1 && getppid() == me) {
        (void)kill(me, SIGSTOP);
        uv_sleep(STATUS_WAIT_MS + 1000); /* the standstill under test */
        (void)kill(me, SIGCONT);
    }
    _exit(0);
}

static void a_suspended_process_does_not_time_out_a_call(void **state)
{
    struct sherd_options options = { .port = SHERD_PORT_ANY, .lanes = 1, .log = look_at_line };
    struct sherd_status status;
    int ended, begins[2];
    pid_t pid;
    (void)state;

    assert_int_equal(pipe(begins), 0);
    pid = stop_me(begins);
    assert_true(pid > 0);
    tell_stopper = begins[1];
    memset(&fake_hooks, 0, sizeof fake_hooks);
    fake_hooks.turn = stand_still;
    assert_int_equal(sherd_open(&standing, &options), 0);
    assert_int_equal(sherd_start(standing), 0);
    assert_int_equal(sherd_get_status(standing, &status), 0);
    assert_true(atomic_load(&stood_still));
    sherd_status_free(&status);
    sherd_close(standing);
    memset(&fake_hooks, 0, sizeof fake_hooks);
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    close(begins[0]);
    close(begins[1]);
}

/* ---- the health check ---- */

static _Atomic bool holds;

static void say_ready(struct machine *machine)
{
    if (machine->index == 0)
        vec_push(&machine->wants,
                 ((struct driver_request){ .kind = DRIVER_READY, .is_ready = true }));
}

static bool wait_while_it_holds(struct machine *machine)
{
    if (machine->index == 0)
        machine->deadline = machine->now + MS;
    for (int i = 0; machine->index == 0 && i < 20000 && atomic_load(&holds); i++)
        uv_sleep(1);
    return false;
}

static bool becomes_ready(struct sherd_system *system, int ready)
{
    for (int i = 0; i < 20000 && sherd_is_ready(system) != ready; i++)
        uv_sleep(1);
    return sherd_is_ready(system) == ready;
}

/* The regions' thread does not end its turn in the check's time. */
static void a_node_whose_regions_are_late_is_not_ready_SHD005(void **state)
{
    struct sherd_options options = {
        .port = SHERD_PORT_ANY,
        .lanes = 1,
        .log = look_at_line,
        .config_text = "akka.cluster.sharding.healthcheck { names = [E], timeout = 50 ms }",
    };
    struct sherd_system *system;
    (void)state;

    memset(&fake_hooks, 0, sizeof fake_hooks);
    fake_hooks.start = say_ready;
    fake_hooks.turn = wait_while_it_holds;
    assert_int_equal(sherd_open(&system, &options), 0);
    assert_int_equal(sherd_start(system), 0);
    assert_true(becomes_ready(system, 1));
    atomic_store(&holds, true);
    assert_true(becomes_ready(system, 0));
    atomic_store(&holds, false);
    assert_true(becomes_ready(system, 1));
    sherd_close(system);
    memset(&fake_hooks, 0, sizeof fake_hooks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_with_a_blocked_lane_does_not_stay),
        cmocka_unit_test(long_turns_and_silent_connections_are_noticed),
        cmocka_unit_test(a_suspended_process_does_not_time_out_a_call),
        cmocka_unit_test(a_node_whose_regions_are_late_is_not_ready_SHD005),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
