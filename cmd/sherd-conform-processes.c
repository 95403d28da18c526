/* Cases of sherd-conform on writers in processes of their own, which are killed or stopped at any point. */
#define _POSIX_C_SOURCE 200809L
#include "sherd-conform.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"

#define ROUNDS 6
#define WORDS_MAX 80
#define CLAIM_SECONDS 30
#define LOCK_WAIT_MS 300
#define EVENTS_MAX 1000000

extern char **environ;

/* ---- in the writer's process ---- */

int conform_write_for_ever(struct run *run, const char *place)
{
    const char *colon = strrchr(place, ':');
    const char *shard = colon ? colon + 1 : "s";
    enum backend_result result = BACKEND_DONE;

    (void)snprintf(run->type, sizeof run->type, "%.*s",
                   (int)(colon ? colon - place : (long)strlen(place)), place); /* fits */
    if (!conform_reopen(run)) {
        printf("not opened: %s\n", run->error);
        return 2;
    }
    if (conform_claim(run, run->writer, shard, one) != BACKEND_DONE) {
        puts("not claimed");
        return 1;
    }
    for (uint64_t seq = 1; seq < EVENTS_MAX && result == BACKEND_DONE; seq++) {
        bool again = false;

        do {
            struct journal_request *request = conform_append(run, shard, one, shard, seq, "a");

            request->again = again;
            result = conform_write(run, run->writer, request);
            again = result == BACKEND_UNKNOWN;
        } while (again);
        if (result == BACKEND_DONE)
            printf("%" PRIu64 "\n", seq);
        (void)fflush(stdout);
    }
    puts(result == BACKEND_FENCED ? "fenced" : "failed");
    conform_close(run);
    return result != BACKEND_FENCED;
}

/* ---- in the program ---- */

struct process {
    pid_t pid;     /* 0: it has ended */
    FILE *output;
    uint64_t done; /* events that it reported */
    char last[64]; /* line */
};

/* Reads lines up to so many reported events, or to the end. */
static void follow(struct process *process, uint64_t up_to)
{
    char line[sizeof process->last];

    while (process->done < up_to && fgets(line, sizeof line, process->output)) {
        line[strcspn(line, "\n")] = 0;
        memcpy(process->last, line, sizeof line);
        if (line[0] >= '0' && line[0] <= '9')
            process->done = strtoull(line, NULL, 10);
    }
}

/* Starts this program as a writer of a shard. */
static void start(struct run *run, struct process *process, const char *shard)
{
    char *words[WORDS_MAX];
    char option[] = CONFORM_WRITES;
    char place[sizeof run->type + 32];
    posix_spawn_file_actions_t actions;
    uint32_t count = 0;
    int ends[2];

    (void)snprintf(place, sizeof place, "%s:%s", run->type, shard); /* fits */
    while (count < run->word_count && count < WORDS_MAX - 3) {
        words[count] = run->words[count];
        count++;
    }
    words[count++] = option;
    words[count++] = place;
    words[count] = NULL;
    *process = (struct process){ 0 };
    check(pipe(ends) == 0 && posix_spawn_file_actions_init(&actions) == 0 &&
          posix_spawn_file_actions_adddup2(&actions, ends[1], 1) == 0 &&
          posix_spawn_file_actions_addclose(&actions, ends[0]) == 0);
    check(posix_spawn(&process->pid, "/proc/self/exe", &actions, NULL, words, environ) == 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]); /* only the process writes */
    process->output = fdopen(ends[0], "r");
    check(process->output != NULL);
}

static void end(struct process *process)
{
    (void)kill(process->pid, SIGKILL);
    while (waitpid(process->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    (void)fclose(process->output); /* only read */
}

/* Stored events of the entity, all of which are this letter. */
static uint64_t stored(struct run *run, const char *id)
{
    struct journal_request *found =
        conform_replay(run, run->reader, id, 1, EVENTS_MAX, CONFORM_ALL);
    uint64_t count = found->records.count;

    for (uint32_t i = 0; i < count; i++)
        if (found->records.items[i].seq != i + 1)
            count = 0;
    journal_request_free(found);
    return count;
}

static const char kept_all[] = "all events that the process reported must be stored, without a gap";

static void kill_one(struct run *run, struct process *process, const char *shard, int round)
{
    uint64_t count;

    follow(process, 5 + (uint64_t)round * 7);
    check(kill(process->pid, SIGKILL) == 0);
    follow(process, UINT64_MAX);
    MUST_TELL(run, process->done, process->last);
    MUST(run, conform_claim(run, run->writer, shard, two) == BACKEND_DONE);
    count = stored(run, shard);
    MUST_TELL(run, count >= process->done && count <= process->done + 1, kept_all);
    MUST(run, conform_put(run, run->writer, shard, two, shard, count + 1, "b") == BACKEND_DONE);
}

/* Claims the shard of a stopped process. A store with one lock names the process that has it, until it
 * goes on. */
static void take_over(struct run *run, struct process *process, const char *shard)
{
    double began = conform_seconds();
    enum backend_result result;

    result = conform_claim(run, run->writer, shard, two);
    MUST_TELL(run, conform_seconds() - began < CLAIM_SECONDS,
              "a claim of a stopped process's shard must end within 30 s");
    if (run->has_one_lock && result == BACKEND_FAILED) {
        check(kill(process->pid, SIGCONT) == 0);
        result = conform_claim(run, run->writer, shard, two);
    }
    MUST_TELL(run, result == BACKEND_DONE, "the shard of a stopped process must be claimed");
}

static void stop_one(struct run *run, struct process *process, const char *shard, int round)
{
    uint64_t count;

    follow(process, 5 + (uint64_t)round * 7);
    check(kill(process->pid, SIGSTOP) == 0);
    take_over(run, process, shard);
    if (run->failed)
        return;
    count = stored(run, shard);
    MUST(run, conform_put(run, run->writer, shard, two, shard, count + 1, "b") == BACKEND_DONE);
    MUST(run, conform_claim(run, run->other, "free", one) == BACKEND_DONE);
    check(kill(process->pid, SIGCONT) == 0);
    follow(process, UINT64_MAX);
    MUST_TELL(run, strcmp(process->last, "fenced") == 0,
              "the former owner must be fenced when it goes on");
    MUST_TELL(run, process->done <= count, kept_all);
    MUST_TELL(run, stored(run, shard) == count + 1, "nothing may be stored after the claim");
}

static void with_processes(struct run *run, void (*work)(struct run *run, struct process *process,
                                                         const char *shard, int round))
{
    if (run->is_memory) {
        run->skipped = "a journal in memory belongs to one process";
        return;
    }
    for (int round = 0; round < ROUNDS && !run->failed; round++) {
        struct process process;
        char shard[16];

        (void)snprintf(shard, sizeof shard, "s%d", round); /* fits */
        start(run, &process, shard);
        work(run, &process, shard, round);
        end(&process);
    }
}

static void killed_writer(struct run *run)
{
    with_processes(run, kill_one);
}

static void stalled_writer(struct run *run)
{
    uint32_t wait = run->options.lock_wait_ms;

    run->options.lock_wait_ms = LOCK_WAIT_MS;
    if (run->is_memory || conform_reopen(run))
        with_processes(run, stop_one);
    else
        run->failed = run->error;
    run->options.lock_wait_ms = wait;
}

const struct conform_case conform_processes[] = {
    { "killed-writer", killed_writer },
    { "stalled-writer", stalled_writer },
    { NULL, NULL },
};
