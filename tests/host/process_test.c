/* Tests a node in processes that are set up unusually: forked after sherd_open, without standard
 * descriptors, with blocked signals, with many entity types. Each test runs in processes of its
 * own. */
#define _GNU_SOURCE
#include "process.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

/* ---- threads ---- */

static uint32_t threads_of_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    uint32_t count = 0;

    must(tasks != NULL);
    while (readdir(tasks))
        count++;
    (void)closedir(tasks);
    return count - 2; /* . and .. */
}

static void open_without_threads(void)
{
    const char *journals[] = { NULL, "memory", journal_path };
    uint32_t before = threads_of_process();

    for (size_t i = 0; i < sizeof journals / sizeof *journals; i++) {
        struct sherd_system *system = open_node(journals[i], true);

        must(threads_of_process() == before);
        must(sherd_start(system) == 0);
        must(threads_of_process() > before);
        await_ready(system);
        end_node(system);
    }
}

static void no_thread_runs_before_the_start(void **state)
{
    (void)state;
    make_folder();
    assert_good(open_without_threads);
    remove_folder();
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

static void first_call_of_another_process(void)
{
    const struct sherd_entity_type type = {
        .name = "U", .behavior = { .name = "u", .receive = receive },
    };

    logged[0] = 0;
    must(sherd_entity_register(of_parent, &type) == SHERD_ESTATE);
    must(has_logged("the process was forked after sherd_open"));
    logged[0] = 0;
    must(sherd_entity_register(of_parent, &type) == SHERD_ESTATE);
    must(!has_logged("forked")); /* once */
}

static void fork_before_the_types(void)
{
    of_parent = open_node("memory", true);
    must(status_of(first_call_of_another_process) == 0);
    sherd_close(of_parent);
}

static void the_first_call_of_a_forked_child_logs_why_it_is_refused(void **state)
{
    (void)state;
    assert_good(fork_before_the_types);
}

static void journal_of_another_process(void)
{
    const struct sherd_options options = { .port = SHERD_PORT_ANY,
                                           .alone = 1,
                                           .journal = journal_path,
                                           .log = keep };
    struct sherd_system *system;

    logged[0] = 0;
    must(sherd_open(&system, &options) == SHERD_ESTORE);
    must(has_logged("was forked from one that has a journal open"));
}

static void fork_beside_a_journal(void)
{
    struct sherd_system *system = open_node(journal_path, true);

    must(sherd_start(system) == 0);
    await_ready(system);
    store_an_event(system);
    must(status_of(journal_of_another_process) == 0);
    store_an_event(system);
    end_node(system);
}

/* SQLite would take the parent's locks for its own. */
static void a_forked_child_cannot_open_its_parents_journal(void **state)
{
    (void)state;
    make_folder();
    assert_good(fork_beside_a_journal);
    remove_folder();
}

static void memory_of_another_process(void)
{
    struct sherd_system *system = open_node("memory", true);

    must(sherd_start(system) == 0);
    await_ready(system);
    store_an_event(system);
    end_node(system);
}

static void fork_beside_memory(void)
{
    struct sherd_system *system = open_node("memory", true);

    must(sherd_start(system) == 0);
    await_ready(system);
    store_an_event(system);
    must(status_of(memory_of_another_process) == 0);
    end_node(system);
}

static void a_forked_child_has_a_journal_in_memory_of_its_own(void **state)
{
    (void)state;
    assert_good(fork_beside_memory);
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

static void *run_another(void *argument)
{
    return (void *)(intptr_t)sherd_run(argument);
}

static void run_two_nodes(void)
{
    struct sherd_system *first = open_node(NULL, true);
    struct sherd_system *second = open_node(NULL, true);
    pthread_t thread;
    void *result;

    must(pthread_create(&thread, NULL, run_another, first) == 0);
    await_ready(first);
    must(sherd_run(second) == SHERD_ESTATE);
    must(has_logged("another node of this process is in sherd_run"));
    must(sherd_start(second) == 0); /* it can be used all the same */
    await_ready(second);
    end_node(second);
    must(kill(getpid(), SIGTERM) == 0);
    must(pthread_join(thread, &result) == 0 && !result);
    sherd_close(first);
}

static void a_second_sherd_run_says_why_it_is_refused(void **state)
{
    (void)state;
    assert_good(run_two_nodes);
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
    char name[100];
    (void)state;

    make_folder();
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        closed_set = sets[i];
        journal = NULL;
        assert_good(run_without_descriptors);
        journal = journal_path;
        assert_good(run_without_descriptors);
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        (void)snprintf(name, sizeof name, "%s%s",
                       journal_path + strlen("sqlite:"), ends[i]);
        assert_false(has_text(name, "level="));
    }
    remove_folder();
}

static void connect_to(int file, uint16_t port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons(port),
                                   .sin_addr = { htonl(INADDR_LOOPBACK) } };

    must(connect(file, (struct sockaddr *)&address, sizeof address) == 0);
}

static void close_while_the_node_runs(void)
{
    struct sherd_system *system = open_node(NULL, true);
    int file = socket(AF_INET, SOCK_STREAM, 0);

    must(sherd_start(system) == 0);
    await_ready(system);
    close_standard(7);
    connect_to(file, sherd_port(system));
    while (fcntl(2, F_GETFD) < 0) /* ended by SIGALRM */
        doze();
    for (int i = 0; i < 3; i++)
        must(is_null_device(i));
    (void)close(file);
    end_node(system);
}

/* The log would write into a connection with the number of standard error. */
static void no_connection_gets_the_number_of_a_closed_descriptor(void **state)
{
    (void)state;
    assert_good(close_while_the_node_runs);
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
        cmocka_unit_test(no_thread_runs_before_the_start),
        cmocka_unit_test(a_forked_child_cannot_start_its_parents_node),
        cmocka_unit_test(calls_of_a_forked_child_leave_the_node_alone),
        cmocka_unit_test(the_first_call_of_a_forked_child_logs_why_it_is_refused),
        cmocka_unit_test(a_forked_child_cannot_open_its_parents_journal),
        cmocka_unit_test(a_forked_child_has_a_journal_in_memory_of_its_own),
        cmocka_unit_test(a_signal_to_a_child_ends_only_the_child),
        cmocka_unit_test(a_blocked_sigterm_ends_the_node),
        cmocka_unit_test(a_sigterm_that_is_pending_ends_the_node),
        cmocka_unit_test(a_second_sherd_run_says_why_it_is_refused),
        cmocka_unit_test(closed_descriptors_become_the_null_device),
        cmocka_unit_test(no_connection_gets_the_number_of_a_closed_descriptor),
        cmocka_unit_test(the_257th_entity_type_is_refused),
    };

    return cmocka_run_group_tests_name("process", tests, NULL, NULL);
}
