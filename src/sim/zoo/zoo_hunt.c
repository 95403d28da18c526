/* Runs one child for each seed, which answers through a pipe.
 *
 * An answer is a line "INVARIANT TEXT" or "-", a line "met" or "never" about the bug's code, then
 * the marks. After a line "-" the caller's lines follow. */
#define _DEFAULT_SOURCE
#include "sim/zoo/zoo_hunt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "sim/run/child.h"

struct child {
    pid_t pid; /* 0: none */
    int fd;
    uint64_t seed;
    uint64_t until; /* ms */
    struct buf answer;
};

/* The end of a child. */
struct outcome {
    uint64_t seed;
    bool is_broken;
    bool is_hung;
    bool is_met; /* the bug's code was passed */
    struct hunt_finding finding;
    uint64_t cpu_us;
    struct buf answer; /* the caller's lines */
};

static uint64_t now_ms(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- in the child ---- */

static int answer_fd;

static void write_all(const void *data, size_t size)
{
    const uint8_t *at = data;

    while (size) {
        ssize_t written = write(answer_fd, at, size);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return; /* the parent has given up on this child */
        at += written;
        size -= (size_t)written;
    }
}

/* Sends the text of a failed check(). */
static void last_words(const char *text)
{
    write_all("check ", 6);
    write_all(text, strlen(text));
    write_all("\n", 1);
}

static _Noreturn void be_child(const struct hunt_options *options,
                               enum zoo_mutant mutant, uint64_t seed)
{
    struct rlimit none = { 0, 0 };
    struct hunt_finding finding = { "", "" };
    struct mark_list marks = { 0 };
    struct buf answer = { 0 };

    (void)setrlimit(RLIMIT_CORE, &none); /* without it, a core file remains */
    check_set_hook(last_words);
    zoo_choose(mutant);
    mark_take(&marks);
    mark_fini(&marks); /* excludes what the parent counted */
    if (options->run(options->arg, seed, &finding)) {
        for (char *at = finding.text; *at; at++)
            if (*at == '\n')
                *at = ' ';
        buf_put_text(&answer, finding.invariant);
        buf_put_text(&answer, " ");
        buf_put_text(&answer, finding.text);
    } else {
        buf_put_text(&answer, "-");
    }
    buf_put_text(&answer, zoo_passed() ? "\nmet\n" : "\nnever\n");
    mark_take(&marks);
    mark_write(&marks, &answer);
    if (options->leave) {
        buf_put_text(&answer, "-\n");
        options->leave(options->arg, &answer);
    }
    write_all(answer.data, answer.size);
    _exit(0);
}

/* ---- in the parent ---- */

static void start(struct child *child, const struct hunt_options *options,
                  enum zoo_mutant mutant, uint64_t seed)
{
    int ends[2];

    check(pipe(ends) == 0);
    *child = (struct child){ .fd = ends[0], .seed = seed };
    child->until = options->wall_ms ? now_ms() + options->wall_ms : UINT64_MAX;
    child->pid = child_fork();
    if (child->pid == 0) {
        (void)close(ends[0]);
        answer_fd = ends[1];
        be_child(options, mutant, seed);
    }
    (void)close(ends[1]);
}

static void read_first_line(struct outcome *outcome)
{
    struct buf *answer = &outcome->answer;
    const uint8_t *end = answer->size ? memchr(answer->data, '\n', answer->size)
                                      : NULL;
    const uint8_t *blank;
    size_t size;

    if (!end)
        return;
    size = (size_t)(end - answer->data);
    blank = memchr(answer->data, ' ', size);
    outcome->is_broken = blank != NULL; /* otherwise it is "-" */
    if (blank) {
        size_t name = (size_t)(blank - answer->data);
        size_t text = size - name - 1;

        (void)snprintf(outcome->finding.invariant, HUNT_INVARIANT_MAX, "%.*s",
                       (int)name, (const char *)answer->data);
        (void)snprintf(outcome->finding.text, HUNT_TEXT_MAX, "%.*s", (int)text,
                       (const char *)blank + 1);
    }
    buf_take(answer, size + 1);
    end = answer->size ? memchr(answer->data, '\n', answer->size) : NULL;
    if (!end)
        return; /* of check() */
    outcome->is_met = *answer->data == 'm';
    buf_take(answer, (size_t)(end - answer->data) + 1);
}

/* The child has closed its pipe, or its time is over. */
static struct outcome finish(struct child *child, bool hung)
{
    struct outcome outcome = { .seed = child->seed, .answer = child->answer };
    struct rusage usage;
    int status = 0;

    if (hung)
        (void)kill(child->pid, SIGKILL); /* not waited for yet, so the pid is ours */
    while (wait4(child->pid, &status, 0, &usage) < 0)
        check(errno == EINTR);
    (void)close(child->fd);
    outcome.cpu_us =
        (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
        (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
    read_first_line(&outcome);
    outcome.is_hung = hung;
    if (hung) {
        outcome.is_broken = false;
    } else if (!outcome.is_broken && (!WIFEXITED(status) || WEXITSTATUS(status))) {
        outcome.is_broken = true;
        (void)snprintf(outcome.finding.invariant, HUNT_INVARIANT_MAX, "crash");
        (void)snprintf(outcome.finding.text, HUNT_TEXT_MAX, "%s %d",
                       WIFSIGNALED(status) ? "signal" : "exit status",
                       WIFSIGNALED(status) ? WTERMSIG(status)
                                           : WEXITSTATUS(status));
    }
    *child = (struct child){ 0 };
    return outcome;
}

/* Reads what is available; true at the end of the answer. */
static bool read_some(struct child *child)
{
    uint8_t *room = buf_reserve(&child->answer, 16384);
    ssize_t size = read(child->fd, room, 16384);

    if (size > 0)
        child->answer.size += (size_t)size;
    return size == 0 || (size < 0 && errno != EINTR);
}

/* Waits until a child has ended. */
static struct outcome next_outcome(struct child *children, uint32_t count)
{
    for (;;) {
        struct pollfd fds[HUNT_JOBS_MAX];
        uint64_t now = now_ms();
        uint64_t until = UINT64_MAX;

        for (uint32_t i = 0; i < count; i++) {
            fds[i] = (struct pollfd){ children[i].pid ? children[i].fd : -1,
                                      POLLIN, 0 };
            if (!children[i].pid)
                continue;
            if (children[i].until <= now)
                return finish(&children[i], true);
            if (children[i].until < until)
                until = children[i].until;
        }
        if (poll(fds, count,
                 until == UINT64_MAX        ? -1
                 : until - now > 60 * 1000 ? 60 * 1000
                                            : (int)(until - now)) < 0)
            check(errno == EINTR);
        for (uint32_t i = 0; i < count; i++)
            if (children[i].pid && fds[i].revents && read_some(&children[i]))
                return finish(&children[i], false);
    }
}

/* Whether the seed breaks a rule without the bug, too. */
static bool is_spoiled(const struct hunt_options *options, uint64_t seed,
                       struct hunt_result *result)
{
    struct child child;
    struct outcome outcome;

    start(&child, options, ZOO_NONE, seed);
    outcome = next_outcome(&child, 1);
    result->cpu_us += outcome.cpu_us;
    buf_fini(&outcome.answer);
    if (outcome.is_broken && result->broken++ == 0)
        result->broken_seed = seed;
    return outcome.is_broken || outcome.is_hung;
}

void hunt(const struct hunt_options *options, enum zoo_mutant mutant,
          struct hunt_result *result)
{
    struct child children[HUNT_JOBS_MAX] = { { 0 } };
    uint32_t jobs = options->jobs ? options->jobs : 1;
    uint64_t end = options->seed + options->seeds_max;
    uint64_t next = options->seed;
    uint32_t running = 0;

    if (jobs > HUNT_JOBS_MAX)
        jobs = HUNT_JOBS_MAX;
    *result = (struct hunt_result){ .is_found = false };
    for (;;) {
        struct outcome outcome;

        for (uint32_t i = 0; i < jobs && next < end; i++) {
            if (children[i].pid)
                continue;
            start(&children[i], options, mutant, next++);
            result->seeds++;
            running++;
        }
        if (!running)
            break;
        outcome = next_outcome(children, jobs);
        running--;
        result->cpu_us += outcome.cpu_us;
        result->hung += outcome.is_hung;
        result->met += outcome.is_met;
        buf_fini(&outcome.answer);
        /* Earlier seeds still run, and may find it, too. The first in order counts. */
        if (!outcome.is_broken ||
            (result->is_found && outcome.seed > result->seed))
            continue;
        if (mutant != ZOO_NONE && is_spoiled(options, outcome.seed, result)) {
            result->spoiled++;
            continue;
        }
        result->is_found = true;
        result->seed = outcome.seed;
        result->finding = outcome.finding;
        end = next; /* no more are started */
    }
    if (result->is_found)
        result->seeds = result->seed - options->seed + 1;
}

/* Reads a child's marks and the caller's lines. */
static bool take_answer(const struct hunt_options *options,
                        struct slice answer, struct mark_list *marks)
{
    static const char line[] = "\n-\n";
    size_t size = sizeof line - 1;
    size_t end = 0;

    if (!options->take)
        return mark_merge(marks, answer);
    while (end + size <= answer.size &&
           memcmp(answer.data + end, line, size) != 0)
        end++;
    return end + size <= answer.size &&
           mark_merge(marks, slice_of(answer.data, end + 1)) &&
           options->take(options->arg, slice_of(answer.data + end + size,
                                                answer.size - end - size));
}

uint64_t hunt_marks(const struct hunt_options *options, struct mark_list *marks)
{
    struct child children[HUNT_JOBS_MAX] = { { 0 } };
    uint32_t jobs = options->jobs ? options->jobs : 1;
    uint64_t end = options->seed + options->seeds_max;
    uint64_t next = options->seed;
    uint64_t bad = 0;
    uint32_t running = 0;

    if (jobs > HUNT_JOBS_MAX)
        jobs = HUNT_JOBS_MAX;
    mark_take(marks); /* so that all are listed */
    for (;;) {
        struct outcome outcome;

        for (uint32_t i = 0; i < jobs && next < end; i++) {
            if (children[i].pid)
                continue;
            start(&children[i], options, ZOO_NONE, next++);
            running++;
        }
        if (!running)
            return bad;
        outcome = next_outcome(children, jobs);
        running--;
        bad += outcome.is_broken || outcome.is_hung ||
               !take_answer(options, buf_slice(&outcome.answer), marks);
        buf_fini(&outcome.answer);
    }
}
