/* Finds entities that ended without a stop notice, although they did not end by themselves and
 * their node goes on and logs no reason. The log line is seen up to a turn later, so the first such
 * entity is kept before it is judged. */
#include "base/timers.h"
#include "sim/workload/workload_inside.h"

#define EXCUSE_WAIT (5 * SECOND)

/* Beginnings of log lines that give a reason. */
static const char *const excuses[] = { "entities did not stop in time",
                                       "shard fenced, its entities stopped",
                                       "shard lost its lease, its entities stopped" };

static void judge(struct workload *workload, struct place *place)
{
    const struct untold *untold = &place->untold;

    if (!untold->at || workload_now(workload) < untold->at + EXCUSE_WAIT)
        return;
    workload_violation(workload, "stop-notice", place->index,
                       "k%u of %s, incarnation %u, was ended at_ms=%llu and not told before",
                       untold->id, workload_type_text(untold->type),
                       untold->incarnation,
                       (unsigned long long)(untold->at / MS));
    place->untold.at = 0;
}

void told_released(struct workload *workload, struct untold untold,
                   uint32_t node)
{
    struct place *place = workload->places.items[node];

    judge(workload, place);
    if (place->untold.at)
        return;
    untold.at = workload_now(workload);
    place->untold = untold;
}

void told_excuse(struct workload *workload, uint32_t node)
{
    workload->places.items[node]->untold.at = 0;
}

void workload_line(struct workload *workload, uint32_t node, const char *text)
{
    for (size_t i = 0; i < sizeof excuses / sizeof *excuses; i++)
        if (node < workload->places.count &&
            strncmp(text, excuses[i], strlen(excuses[i])) == 0)
            told_excuse(workload, node);
}

void told_drained(struct workload *workload)
{
    for (uint32_t i = 0; i < workload->places.count; i++)
        judge(workload, workload->places.items[i]);
}
