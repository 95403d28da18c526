/* Says in the log where shards are allocated and moved. A cluster that starts, or loses a node, allocates hundreds at once: a few
 * have lines of their own, the others are counted. */
#include "shard/home_log.h"

#include "base/address.h"
#include "base/limits.h"

#define LINES_ALONE 4 /* that are not of hand-offs, in a query interval */

static const char *const causes[] = {
    [SHARD_CAUSE_MESSAGE] = "first-message",
    [SHARD_CAUSE_REMEMBERED] = "remembered-entities",
    [SHARD_CAUSE_REBALANCE] = "rebalance",
    [SHARD_CAUSE_SHUTDOWN] = "region-shutdown",
    [SHARD_CAUSE_STOPPED] = "region-stopped",
    [SHARD_CAUSE_RESTARTED] = "region-restarted",
    [SHARD_CAUSE_REMOVED] = "node-removed",
    [SHARD_CAUSE_CONTESTED] = "higher-fence",
    [SHARD_CAUSE_SEVERAL] = "several",
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

    if (!trace_on(coordinator->trace, TRACE_INFO))
        return;
    mem_free(shard->former);
    shard->former =
        mem_text(address_text(&shard->home->node.address, text, sizeof text));
    shard->cause = cause_of(shard, why);
}

static void put_line(const struct coordinator *coordinator,
                     enum trace_level level, const struct shard *shard,
                     enum shard_cause cause)
{
    char to[ADDRESS_TEXT_MAX];

    if (shard->former)
        trace_put(coordinator->trace, level, "coordinator",
                  "shard moved type=%s shard=%.*s from=%s to=%s cause=%s "
                  "term=%llu epoch=%llu",
                  coordinator->type, (int)shard->id.size,
                  (const char *)shard->id.data, shard->former,
                  address_text(&shard->home->node.address, to, sizeof to),
                  causes[cause], (unsigned long long)shard->fence.term,
                  (unsigned long long)shard->fence.epoch);
    else
        trace_put(coordinator->trace, level, "coordinator",
                  "shard allocated type=%s shard=%.*s to=%s cause=%s "
                  "term=%llu epoch=%llu",
                  coordinator->type, (int)shard->id.size,
                  (const char *)shard->id.data,
                  address_text(&shard->home->node.address, to, sizeof to),
                  causes[cause], (unsigned long long)shard->fence.term,
                  (unsigned long long)shard->fence.epoch);
}

/* A hand-off: each has lines of its own already. */
static bool is_handed_off(enum shard_cause cause)
{
    return cause == SHARD_CAUSE_REBALANCE || cause == SHARD_CAUSE_SHUTDOWN;
}

void home_log_allocated(struct coordinator *coordinator, struct shard *shard,
                        bool many)
{
    struct home_log *log = &coordinator->home_log;
    enum shard_cause cause =
        shard->former          ? shard->cause
        : shard->waiting.count ? SHARD_CAUSE_MESSAGE
                               : SHARD_CAUSE_REMEMBERED;

    if (!trace_on(coordinator->trace, TRACE_INFO))
        return;
    if (is_handed_off(cause) ||
        (!many && log->lines < LINES_ALONE)) {
        log->lines += !is_handed_off(cause);
        put_line(coordinator, TRACE_INFO, shard, cause);
    } else {
        log->cause = !log->summed || log->cause == cause ? cause
                                                         : SHARD_CAUSE_SEVERAL;
        log->summed++;
        put_line(coordinator, TRACE_DEBUG, shard, cause);
    }
    mem_free(shard->former);
    shard->former = NULL;
}

void home_log_flush(struct coordinator *coordinator)
{
    struct home_log *log = &coordinator->home_log;

    if (log->summed)
        trace_put(coordinator->trace, TRACE_INFO, "coordinator",
                  "more shards allocated type=%s count=%u cause=%s "
                  "hint=\"each has its own line at level debug\"",
                  coordinator->type, log->summed, causes[log->cause]);
    log->summed = 0;
}

void home_log_handing_off(const struct coordinator *coordinator,
                          const struct handoff *handoff)
{
    const struct shard *shard = handoff->shard;
    char from[ADDRESS_TEXT_MAX];

    trace_put(coordinator->trace, TRACE_INFO, "coordinator",
              "hand-off started type=%s shard=%.*s from=%s cause=%s "
              "attempt=%llu",
              coordinator->type, (int)shard->id.size,
              (const char *)shard->id.data,
              address_text(&shard->home->node.address, from, sizeof from),
              causes[cause_of(shard, PROBE_HOME_STOPPED)],
              (unsigned long long)handoff->attempt);
}

void home_log_handed_off(const struct coordinator *coordinator, uint64_t now,
                         const struct handoff *handoff)
{
    const struct shard *shard = handoff->shard;
    char from[ADDRESS_TEXT_MAX];

    trace_put(coordinator->trace, TRACE_INFO, "coordinator",
              "hand-off finished type=%s shard=%.*s from=%s attempt=%llu "
              "ms=%llu",
              coordinator->type, (int)shard->id.size,
              (const char *)shard->id.data,
              address_text(&shard->home->node.address, from, sizeof from),
              (unsigned long long)handoff->attempt,
              (unsigned long long)((now - handoff->began_at) / MS));
}
