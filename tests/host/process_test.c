/* Tests a node in processes that are set up unusually: forked after sherd_open, without standard
 * descriptors, with blocked signals, with many entity types. Each test runs in processes of its
 * own. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <sherd/sherd.h>

#define PATIENCE 60 /* s of a process; then it gets SIGALRM */

/* In a process without cmocka: its exit status is the line that failed, from 1 to 255. */
#define must(condition)                                                        \
    do {                                                                       \
        if (!(condition))                                                      \
            _exit(__LINE__ & 0xff ? __LINE__ & 0xff : 1);                      \
    } while (0)

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE)
        sherd_persist(ctx, 1, msg->body);
    return SHERD_CONTINUE;
}

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)self;
    (void)type;
    (void)event;
}

static char logged[4096];

static void keep(void *user, enum sherd_log_level level, const char *module,
                 const char *line)
{
    size_t size = strlen(logged);

    (void)user;
    (void)level;
    (void)module;
    (void)snprintf(logged + size, sizeof logged - size, "%s\n", line);
}

static struct sherd_system *open_node(const char *journal, bool keeps)
{
    const struct sherd_options options = { .port = SHERD_PORT_ANY,
                                           .alone = 1,
                                           .lanes = 1,
                                           .journal = journal,
                                           .log = keeps ? keep : NULL,
                                           .log_level = keeps ? SHERD_LOG_ERROR
                                                              : SHERD_LOG_DEBUG };
    const struct sherd_entity_type type = {
        .name = "T",
        .behavior = { .name = "t", .state_size = 8, .receive = receive,
                      .apply = journal ? apply : NULL },
    };
    struct sherd_system *system;

    must(sherd_open(&system, &options) == 0);
    must(sherd_entity_register(system, &type) == 0);
    return system;
}

static void doze(void)
{
    const struct timespec time = { .tv_nsec = 10000000 };

    (void)nanosleep(&time, NULL);
}

static void await_ready(struct sherd_system *system)
{
    while (!sherd_is_ready(system)) /* ended by SIGALRM */
        doze();
}

/* Runs `act` in a child. Returns its wait status. */
static int status_of(void (*act)(void))
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        (void)alarm(PATIENCE);
        act();
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return status;
}

static void assert_good(void (*act)(void))
{
    int status = status_of(act);

    if (status)
        print_message("wait status %x: signal %d, or line %d modulo 256\n",
                      (unsigned)status, WTERMSIG(status), WEXITSTATUS(status));
    assert_int_equal(status, 0);
}

/* ---- forks ---- */

static struct sherd_system *of_parent;

static void start_of_another_process(void)
{
    logged[0] = 0;
    must(sherd_start(of_parent) == SHERD_ESTATE);
    must(strstr(logged, "the process was forked after sherd_open") != NULL);
    must(strstr(logged, "before sherd_open") != NULL);
    must(sherd_run(of_parent) == SHERD_ESTATE);
    sherd_close(of_parent);
}

static void fork_before_the_start(void)
{
    of_parent = open_node("memory", true);
    must(status_of(start_of_another_process) == 0);
    must(sherd_start(of_parent) == 0); /* here it still works */
    await_ready(of_parent);
    sherd_leave(of_parent);
    must(sherd_wait(of_parent) == 0);
    sherd_close(of_parent);
}

static void a_forked_child_cannot_start_its_parents_node(void **state)
{
    (void)state;
    assert_good(fork_before_the_start);
}

static void nothing(void *user)
{
    (void)user;
}

static void every_call_of_another_process(void)
{
    const struct sherd_behavior behavior = { .name = "b", .receive = receive };
    const struct sherd_bytes none = { NULL, 0 };
    struct sherd_status status;

    sherd_leave(of_parent);
    sherd_halt(of_parent);
    must(sherd_wait(of_parent) == SHERD_ESTATE);
    must(!sherd_is_ready(of_parent));
    must(sherd_get_status(of_parent, &status) == SHERD_ESTATE);
    must(sherd_join(of_parent, "127.0.0.1:1") == SHERD_ESTATE);
    must(sherd_on_up(of_parent, nothing, NULL) == SHERD_ESTATE);
    must(sherd_system_spawn(of_parent, &behavior, none, NULL) == SHERD_ESTATE);
    must(sherd_system_entity_tell(of_parent, "T", "x", 1, none) ==
         SHERD_ESTATE);
    must(sherd_start(of_parent) == SHERD_ESTATE);
    sherd_close(of_parent);
}

static void fork_of_a_running_node(void)
{
    of_parent = open_node("memory", true);
    must(sherd_start(of_parent) == 0);
    await_ready(of_parent);
    must(status_of(every_call_of_another_process) == 0);
    must(sherd_is_ready(of_parent));
    must(sherd_system_entity_tell(of_parent, "T", "x", 1,
                                  (struct sherd_bytes){ NULL, 0 }) == 0);
    sherd_leave(of_parent);
    must(sherd_wait(of_parent) == 0);
    sherd_close(of_parent);
}

static void calls_of_a_forked_child_leave_the_node_alone(void **state)
{
    (void)state;
    assert_good(fork_of_a_running_node);
}

static void *end_by_signals(void *argument)
{
    struct sherd_system *system = argument;
    int status;
    pid_t child;

    await_ready(system);
    child = fork();
    if (child == 0) {
        (void)alarm(PATIENCE);
        for (;;)
            (void)pause();
    }
    must(kill(child, SIGTERM) == 0);
    must(waitpid(child, &status, 0) == child);
    must(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    must(sherd_is_ready(system));
    must(kill(getpid(), SIGTERM) == 0);
    return NULL;
}

static void signals_to_a_child_and_to_the_node(void)
{
    struct sherd_system *system = open_node(NULL, true);
    pthread_t thread;

    must(pthread_create(&thread, NULL, end_by_signals, system) == 0);
    must(sherd_run(system) == 0);
    must(pthread_join(thread, NULL) == 0);
    sherd_close(system);
}

static void a_signal_to_a_child_ends_only_the_child(void **state)
{
    (void)state;
    assert_good(signals_to_a_child_and_to_the_node);
}

/* ---- signals ---- */

static void *end_by_signal(void *argument)
{
    await_ready(argument);
    must(kill(getpid(), SIGTERM) == 0);
    return NULL;
}

static void run_with_blocked_signals(void)
{
    struct sherd_system *system = open_node(NULL, true);
    pthread_t thread;
    sigset_t all, mask;

    (void)sigfillset(&all);
    (void)sigdelset(&all, SIGALRM);
    must(pthread_sigmask(SIG_BLOCK, &all, NULL) == 0);
    must(pthread_create(&thread, NULL, end_by_signal, system) == 0);
    must(sherd_run(system) == 0);
    must(pthread_join(thread, NULL) == 0);
    must(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
    must(sigismember(&mask, SIGTERM) == 1); /* as before */
    sherd_close(system);
}

static void a_blocked_sigterm_ends_the_node(void **state)
{
    (void)state;
    assert_good(run_with_blocked_signals);
}

static void run_with_a_pending_signal(void)
{
    struct sherd_system *system;
    sigset_t term;

    (void)sigemptyset(&term);
    (void)sigaddset(&term, SIGTERM);
    must(pthread_sigmask(SIG_BLOCK, &term, NULL) == 0);
    system = open_node(NULL, true);
    must(kill(getpid(), SIGTERM) == 0);
    must(sherd_run(system) == 0);
    sherd_close(system);
}

static void a_sigterm_that_is_pending_ends_the_node(void **state)
{
    (void)state;
    assert_good(run_with_a_pending_signal);
}

/* ---- standard descriptors ---- */

static void close_standard(int set)
{
    for (int i = 0; i < 3; i++)
        if (set >> i & 1)
            (void)close(i);
}

static bool is_null_device(int descriptor)
{
    struct stat about;

    return fstat(descriptor, &about) == 0 && S_ISCHR(about.st_mode) &&
           major(about.st_rdev) == 1 && minor(about.st_rdev) == 3;
}

static int closed_set; /* bits of the closed descriptors */
static const char *journal;
static char folder[] = "/tmp/sherd-process-XXXXXX";

static void run_without_descriptors(void)
{
    struct sherd_system *system;

    close_standard(closed_set);
    system = open_node(journal, false);
    for (int i = 0; i < 3; i++)
        must(!(closed_set >> i & 1) || is_null_device(i));
    close_standard(closed_set);
    must(sherd_start(system) == 0);
    for (int i = 0; i < 3; i++)
        must(!(closed_set >> i & 1) || is_null_device(i));
    await_ready(system);
    sherd_leave(system);
    must(sherd_wait(system) == 0);
    sherd_close(system);
}

static bool has_text(const char *path, const char *text)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (!file)
        return false;
    size = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    return memmem(bytes, size, text, strlen(text)) != NULL;
}

static void closed_descriptors_become_the_null_device(void **state)
{
    static const int sets[] = { 6, 5, 7 };
    static const char *const ends[] = { "", "-wal", "-shm", "-turn" };
    char path[80], name[100];
    (void)state;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "sqlite:%s/j.db", folder);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        closed_set = sets[i];
        journal = NULL;
        assert_good(run_without_descriptors);
        journal = path;
        assert_good(run_without_descriptors);
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path + strlen("sqlite:"),
                       ends[i]);
        assert_false(has_text(name, "level="));
        (void)unlink(name);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* ---- entity types ---- */

static void run_with_all_types(void)
{
    struct sherd_system *system = open_node(NULL, true);
    struct sherd_status status;
    char name[16];
    struct sherd_entity_type type = {
        .name = name,
        .shards = 10,
        .behavior = { .name = "t", .receive = receive },
    };

    for (int i = 1; i < 256; i++) { /* open_node has the first */
        (void)snprintf(name, sizeof name, "T%d", i);
        must(sherd_entity_register(system, &type) == 0);
    }
    (void)snprintf(name, sizeof name, "T256");
    must(sherd_entity_register(system, &type) == SHERD_EFULL);
    must(strstr(logged, "too many entity types") != NULL);
    must(sherd_start(system) == 0);
    await_ready(system);
    must(sherd_system_entity_tell(system, "T255", "x", 1,
                                  (struct sherd_bytes){ NULL, 0 }) == 0);
    must(sherd_get_status(system, &status) == 0);
    must(status.type_count == 256);
    sherd_status_free(&status);
    sherd_leave(system);
    must(sherd_wait(system) == 0);
    sherd_close(system);
}

static void the_257th_entity_type_is_refused(void **state)
{
    (void)state;
    assert_good(run_with_all_types);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forked_child_cannot_start_its_parents_node),
        cmocka_unit_test(calls_of_a_forked_child_leave_the_node_alone),
        cmocka_unit_test(a_signal_to_a_child_ends_only_the_child),
        cmocka_unit_test(a_blocked_sigterm_ends_the_node),
        cmocka_unit_test(a_sigterm_that_is_pending_ends_the_node),
        cmocka_unit_test(closed_descriptors_become_the_null_device),
        cmocka_unit_test(the_257th_entity_type_is_refused),
    };

    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
