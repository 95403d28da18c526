/* Implements a table with a row for each broken invariant. */
#include "sim/world/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

struct verdict {
    uint64_t seed;
    const uint64_t *now;
    const uint64_t *events; /* null: unknown */
    verdict_listener *listener; /* null: none */
    void *user;
    uint32_t count;
    struct violation violations[VERDICT_INVARIANTS_MAX];
};

struct verdict *verdict_new(uint64_t seed, const uint64_t *now)
{
    struct verdict *verdict = mem_alloc(sizeof *verdict);

    verdict->seed = seed;
    verdict->now = now;
    return verdict;
}

void verdict_counts_events(struct verdict *verdict, const uint64_t *events)
{
    verdict->events = events;
}

void verdict_listens(struct verdict *verdict, verdict_listener *listener,
                     void *user)
{
    verdict->listener = listener;
    verdict->user = user;
}

void verdict_free(struct verdict *verdict)
{
    mem_free(verdict);
}

static struct violation *find(const struct verdict *verdict,
                              const char *invariant)
{
    for (uint32_t i = 0; i < verdict->count; i++)
        if (strcmp(verdict->violations[i].invariant, invariant) == 0)
            return (struct violation *)&verdict->violations[i];
    return NULL;
}

void violation(struct verdict *verdict, const char *invariant, uint32_t node,
               const char *format, ...)
{
    struct violation *row = find(verdict, invariant);
    va_list arguments;

    if (row) {
        row->count++;
        return;
    }
    check(verdict->count < VERDICT_INVARIANTS_MAX);
    row = &verdict->violations[verdict->count++];
    row->invariant = invariant;
    row->at = *verdict->now;
    row->event = verdict->events ? *verdict->events : 0;
    row->node = node;
    row->count = 1;
    va_start(arguments, format);
    (void)vsnprintf(row->text, sizeof row->text, format,
                    arguments); /* may be cut */
    va_end(arguments);
    if (verdict->listener)
        verdict->listener(verdict->user, row);
}

uint32_t verdict_count(const struct verdict *verdict)
{
    return verdict->count;
}

const struct violation *verdict_at(const struct verdict *verdict,
                                   uint32_t index)
{
    check(index < verdict->count);
    return &verdict->violations[index];
}

const struct violation *verdict_find(const struct verdict *verdict,
                                     const char *invariant)
{
    return find(verdict, invariant);
}

char *verdict_line(const struct verdict *verdict,
                   const struct violation *violation, char *line, size_t size)
{
    return failure_line(verdict->seed, violation, line, size);
}

char *failure_line(uint64_t seed, const struct violation *violation,
                   char *line, size_t size)
{
    uint64_t tenths = violation->at / 100000000;
    char node[24] = "-", event[40] = "";

    if (violation->node != VERDICT_NO_NODE)
        (void)snprintf(node, sizeof node, "%" PRIu32, violation->node);
    if (violation->event)
        (void)snprintf(event, sizeof event, " event=%" PRIu64,
                       violation->event);
    (void)snprintf(line, size,
                   "FAIL seed=%" PRIu64 " inv=%s t=%" PRIu64 "h%02" PRIu64
                   "m%02" PRIu64 ".%" PRIu64 "s%s node=%s : %s",
                   seed, violation->invariant, tenths / 36000,
                   tenths / 600 % 60, tenths / 10 % 60, tenths % 10, event,
                   node, violation->text); /* may be cut */
    return line;
}
