/* Describes how a process died while it ran a seed. */
#define _GNU_SOURCE
#include "sherd-sim.h"

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/check.h"
#include "sim/world/verdict.h"

static struct last_words *kept; /* of this process; global for the hook */

static void keep(const char *text)
{
    (void)snprintf(kept->text, sizeof kept->text, "%s", text);
}

void words_keep(struct last_words *words, uint64_t limit_s)
{
    const struct rlimit limit = { limit_s, limit_s };

    kept = words;
    check_set_hook(keep);
    if (limit_s)
        (void)setrlimit(RLIMIT_CPU, &limit); /* on failure a hang is not detected */
}

void words_line(const struct last_words *words, uint64_t seed, int status,
                char *line, size_t size)
{
    struct violation death = { .invariant = "crash",
                               .at = words->place.now,
                               .event = words->place.event,
                               .node = VERDICT_NO_NODE };

    if (words->place.now && words->place.node != WORLD_NO_NODE)
        death.node = words->place.node;
    if (!WIFSIGNALED(status))
        (void)snprintf(death.text, sizeof death.text, "ended with status %d",
                       WEXITSTATUS(status));
    else if (WTERMSIG(status) == SIGXCPU)
        (void)snprintf(death.text, sizeof death.text,
                       "hangs: its limit of processor time is reached");
    else
        (void)snprintf(death.text, sizeof death.text, "ended by signal %d: %.300s",
                       WTERMSIG(status),
                       *words->text ? words->text : "no failed check");
    (void)failure_line(seed, &death, line, size);
}

void different_line(const struct run_result *again, char *line, size_t size)
{
    struct violation different = { .invariant = "deterministic-run",
                                   .at = again->ended_at,
                                   .node = VERDICT_NO_NODE };

    (void)snprintf(different.text, sizeof different.text,
                   "two runs differ; the second has the digest %016llx",
                   (unsigned long long)again->digest);
    (void)failure_line(again->seed, &different, line, size);
}

void *shared_new(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    check(memory != MAP_FAILED);
    return memory;
}

void shared_free(void *memory, size_t size)
{
    (void)munmap(memory, size);
}
