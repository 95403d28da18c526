/* Helps tests of a node in a process of its own: must(), a node with one type, its log and folder.
 * Each file that includes it has its own copy. */
#ifndef SHERD_TESTS_PROCESS_H
#define SHERD_TESTS_PROCESS_H

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

static inline enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE)
        sherd_persist(ctx, 1, msg->body);
    return SHERD_CONTINUE;
}

static inline void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    (void)self;
    (void)type;
    (void)event;
}

static char logged[4096];

static inline void keep(void *user, enum sherd_log_level level, const char *module,
                 const char *line)
{
    size_t size = strlen(logged);

    (void)user;
    (void)level;
    (void)module;
    (void)snprintf(logged + size, sizeof logged - size, "%s\n", line);
}

static inline struct sherd_system *open_node(const char *journal, bool keeps)
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

static inline void doze(void)
{
    const struct timespec time = { .tv_nsec = 10000000 };

    (void)nanosleep(&time, NULL);
}

static inline void await_ready(struct sherd_system *system)
{
    while (!sherd_is_ready(system)) /* ended by SIGALRM */
        doze();
}

static inline uint64_t events_of(struct sherd_system *system)
{
    struct sherd_status status;
    uint64_t events;

    must(sherd_get_status(system, &status) == 0);
    events = status.events;
    sherd_status_free(&status);
    return events;
}

static inline void tell(struct sherd_system *system)
{
    must(sherd_system_entity_tell(system, "T", "x", 1,
                                  (struct sherd_bytes){ NULL, 0 }) == 0);
}

static inline void store_an_event(struct sherd_system *system)
{
    uint64_t before = events_of(system);

    tell(system);
    while (events_of(system) == before) /* ended by SIGALRM */
        doze();
}

static inline void end_node(struct sherd_system *system)
{
    sherd_leave(system);
    must(sherd_wait(system) == 0);
    sherd_close(system);
}

static inline bool has_logged(const char *text)
{
    return strstr(logged, text) != NULL;
}

static inline bool waits_for_log(const char *text)
{
    for (int i = 0; i < 1000 && !has_logged(text); i++)
        doze();
    return has_logged(text);
}

static char folder[] = "/tmp/sherd-process-XXXXXX";
static char journal_path[64];

static inline void make_folder(void)
{
    memcpy(folder + sizeof folder - 7, "XXXXXX", 6);
    assert_non_null(mkdtemp(folder));
    (void)snprintf(journal_path, sizeof journal_path, "sqlite:%s/j.db", folder);
}

static inline void remove_folder(void)
{
    static const char *const ends[] = { "", "-wal", "-shm", "-turn" };
    char name[100];

    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        (void)snprintf(name, sizeof name, "%s/j.db%s", folder, ends[i]);
        (void)unlink(name);
    }
    assert_int_equal(rmdir(folder), 0);
}

/* Runs `act` in a child. Returns its wait status. */
static inline int status_of(void (*act)(void))
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

static inline void assert_good(void (*act)(void))
{
    int status = status_of(act);

    if (status)
        print_message("wait status %x: signal %d, or line %d modulo 256\n",
                      (unsigned)status, WTERMSIG(status), WEXITSTATUS(status));
    assert_int_equal(status, 0);
}

#endif
