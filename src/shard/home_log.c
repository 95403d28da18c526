/* Logs where shards are allocated and moved. A cluster that starts, or loses a node, allocates
 * hundreds at once. A few have lines of their own. The others are counted, with one line for each
 * former node and destination. */
#include "shard/home_log.h"

#include <string.h>

#include "base/address.h"
#include "base/limits.h"
#include "base/line.h"

#define LINES_ALONE 4 /* in a query interval */
#define SUM_LINES 32  /* then one for the rest */

static const char *const causes[] = {
    [SHARD_CAUSE_MESSAGE] = "first-message",
    [SHARD_CAUSE_REMEMBERED] = "remembered-entities",
    [SHARD_CAUSE_REBALANCE] = "rebalance",
    [SHARD_CAUSE_SHUTDOWN] = "region-shutdown",
    [SHARD_CAUSE_STOPPED] = "region-stopped",
    [SHARD_CAUSE_RESTARTED] = "region-restarted",
    [SHARD_CAUSE_REMOVED] = "node-removed",
    [SHARD_CAUSE_CONTESTED] = "higher-fence",
};

static enum shard_cause cause_of(const struct shard *shard,
                                 enum probe_home why)
{
    switch (why) {
    case PROBE_HOME_STOPPED:
        return shard->home->is_shutting_down ? SHARD_CAUSE_SHUTDOWN
                                             : SHARD_CAUSE_REBALANCE;
    case PROBE_HOME_REGION_STOPPED:
        return SHARD_CAUSE_STOPPED;
    case PROBE_HOME_REGION_RENEWED:
        return SHARD_CAUSE_RESTARTED;
    case PROBE_HOME_NODE_REMOVED:
        return SHARD_CAUSE_REMOVED;
    default:
        return SHARD_CAUSE_CONTESTED;
    }
}

void home_log_ended(struct coordinator *coordinator, struct shard *shard,
                    enum probe_home why)
{
    char text[ADDRESS_TEXT_MAX];
    size_t size;

    if (!trace_on(coordinator->trace, TRACE_INFO))
        return;
    (void)address_text(&shard->home->node.address, text, sizeof text);
    size = strlen(text) + 1;
    mem_free(shard->former);
    shard->former = mem_alloc(sizeof *shard->former + size);
    shard->former->cause = cause_of(shard, why);
    memcpy(shard->former->address, text, size);
}

void home_log_handed_off(struct shard *shard, uint64_t duration)
{
    if (shard->former)
        shard->former->duration = duration;
}

static bool is_handed_off(enum shard_cause cause)
{
    return cause == SHARD_CAUSE_REBALANCE || cause == SHARD_CAUSE_SHUTDOWN;
}

/* from: null if the shard had no home. */
static const char *event_of(const struct home_sum *sum)
{
    if (!sum->from)
        return "allocated";
    if (strcmp(sum->from, sum->to))
        return "moved";
    return is_handed_off(sum->cause) ? "stays at its home after a hand-off"
                                     : "stays at its home";
}

/* Its lines are few, or at level debug, so the limit of repeated lines would only hide shards. */
static void put_line(const struct coordinator *coordinator,
                     enum trace_level level, const struct shard *shard,
                     const struct home_sum *sum)
{
    char end[160], duration[40] = "";

    if (sum->from && is_handed_off(sum->cause))
        line_format(duration, sizeof duration, "handoff_ms=%llu ",
                    (unsigned long long)(shard->former->duration / MS));
    line_format(end, sizeof end, "to=%s cause=%s %sterm=%llu epoch=%llu",
                sum->to, causes[sum->cause], duration,
                (unsigned long long)shard->fence.term,
                (unsigned long long)shard->fence.epoch);
    if (sum->from)
        trace_put_all(coordinator->trace, level, "coordinator",
                      "shard %s type=%s shard=%.*s from=%s %s", event_of(sum),
                      coordinator->type, (int)shard->id.size,
                      (const char *)shard->id.data, sum->from, end);
    else
        trace_put_all(coordinator->trace, level, "coordinator",
                      "shard %s type=%s shard=%.*s %s", event_of(sum),
                      coordinator->type, (int)shard->id.size,
                      (const char *)shard->id.data, end);
}

static void put_sum(const struct coordinator *coordinator,
                    const struct home_sum *sum)
{
    if (sum->from)
        trace_put_all(coordinator->trace, TRACE_INFO, "coordinator",
                      "shards %s type=%s count=%u from=%s to=%s cause=%s",
                      strcmp(sum->from, sum->to) ? "moved" : "stay at their home",
                      coordinator->type, sum->count, sum->from, sum->to,
                      causes[sum->cause]);
    else
        trace_put_all(coordinator->trace, TRACE_INFO, "coordinator",
                      "shards allocated type=%s count=%u to=%s cause=%s",
                      coordinator->type, sum->count, sum->to,
                      causes[sum->cause]);
}

/* Null: there is none. */
static struct home_sum *find(const struct home_log *log,
                             const struct home_sum *like)
{
    for (uint32_t i = 0; i < log->sums.count; i++) {
        struct home_sum *sum = &log->sums.items[i];

        if (sum->cause == like->cause && strcmp(sum->to, like->to) == 0 &&
            !sum->from == !like->from &&
            (!sum->from || strcmp(sum->from, like->from) == 0))
            return sum;
    }
    return NULL;
}

static void add(struct home_log *log, const struct home_sum *like)
{
    struct home_sum *sum = find(log, like);

    if (sum) {
        sum->count++;
    } else if (log->sums.count == SUM_LINES) {
        log->rest++;
    } else {
        struct home_sum fresh = { .cause = like->cause, .count = 1 };

        fresh.to = mem_text(like->to);
        fresh.from = like->from ? mem_text(like->from) : NULL;
        vec_push(&log->sums, fresh);
    }
}

void home_log_allocated(struct coordinator *coordinator, struct shard *shard,
                        bool many)
{
    struct home_log *log = &coordinator->home_log;
    char to[ADDRESS_TEXT_MAX];
    struct home_sum sum = { .to = to };

    if (!trace_on(coordinator->trace, TRACE_INFO))
        return;
    (void)address_text(&shard->home->node.address, to, sizeof to);
    sum.from = shard->former ? shard->former->address : NULL;
    sum.cause = shard->former          ? shard->former->cause
                : shard->waiting.count ? SHARD_CAUSE_MESSAGE
                                       : SHARD_CAUSE_REMEMBERED;
    if (!many && log->lines < LINES_ALONE) {
        log->lines++;
        put_line(coordinator, TRACE_INFO, shard, &sum);
    } else {
        add(log, &sum);
        put_line(coordinator, TRACE_DEBUG, shard, &sum);
    }
    mem_free(shard->former);
    shard->former = NULL;
}

static void clear(struct home_log *log)
{
    for (uint32_t i = 0; i < log->sums.count; i++) {
        mem_free(log->sums.items[i].from);
        mem_free(log->sums.items[i].to);
    }
    log->sums.count = log->rest = 0;
}

void home_log_flush(struct coordinator *coordinator)
{
    struct home_log *log = &coordinator->home_log;

    for (uint32_t i = 0; i < log->sums.count; i++)
        put_sum(coordinator, &log->sums.items[i]);
    if (log->rest)
        trace_put_all(coordinator->trace, TRACE_INFO, "coordinator",
                      "shards allocated or moved, too many nodes for lines of "
                      "their own type=%s count=%u "
                      "hint=\"each has its own line at level debug\"",
                      coordinator->type, log->rest);
    clear(log);
}

void home_log_placed(struct coordinator *coordinator)
{
    struct home_log *log = &coordinator->home_log;

    if (log->lines >= LINES_ALONE)
        return;
    log->lines += log->sums.count;
    home_log_flush(coordinator);
}

void home_log_fini(struct home_log *log)
{
    clear(log);
    vec_fini(&log->sums);
}

void home_log_handing_off(const struct coordinator *coordinator,
                          const struct handoff *handoff)
{
    const struct shard *shard = handoff->shard;
    char from[ADDRESS_TEXT_MAX];

    trace_put(coordinator->trace, TRACE_DEBUG, "coordinator",
              "hand-off started type=%s shard=%.*s from=%s cause=%s "
              "attempt=%llu",
              coordinator->type, (int)shard->id.size,
              (const char *)shard->id.data,
              address_text(&shard->home->node.address, from, sizeof from),
              causes[cause_of(shard, PROBE_HOME_STOPPED)],
              (unsigned long long)handoff->attempt);
}
