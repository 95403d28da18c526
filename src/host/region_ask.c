/* Implements sherd/sharding.h: asks control by mail, and waits. */
#define _GNU_SOURCE
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "host/region_calls.h"
#include "host/status.h"
#include "host/thread.h"

#define ANSWER_MORE (2 * SECOND) /* control keeps the time-out; this is for its answer */

/* Null at the limit. */
static struct region_call *new_call(struct sherd_system *system)
{
    struct region_call *call = NULL;

    uv_mutex_lock(&system->mutex);
    if (system->region_call_count < REGION_CALLS_MAX) {
        call = mem_alloc(sizeof *call);
        call->waiting = 1;
        call->next = system->region_calls;
        system->region_calls = call;
        system->region_call_count++;
    }
    uv_mutex_unlock(&system->mutex);
    return call;
}

/* Exactly one of regions and view is not null. */
static int finish(struct sherd_system *system, struct region_call *call, uint64_t timeout,
                  struct sherd_regions *regions, struct sherd_cluster_view *view)
{
    int result;

    uv_mutex_lock(&system->mutex);
    status_wait(system, &call->waiting, timeout);
    if (!call->waiting) {
        result = call->result;
        if (regions) {
            *regions = call->regions;
            call->regions = (struct sherd_regions){ 0 };
        } else {
            *view = call->view;
            call->view = (struct sherd_cluster_view){ 0 };
        }
        region_call_end(system, call);
    } else {
        call->abandoned = true;
        result = atomic_load(&system->state) == SYSTEM_RUNNING ? SHERD_ETIME : SHERD_ESTATE;
    }
    uv_mutex_unlock(&system->mutex);
    return result;
}

static struct query_part *new_part(enum node_query query, uint64_t timeout,
                                   struct region_call *call)
{
    struct query_part *part = mem_alloc(sizeof *part);

    part->query = query;
    part->timeout = timeout;
    part->driver = call;
    return part;
}

static void post(struct sherd_system *system, const struct mail *mail)
{
    inbox_put_command(&system_thread(system, 0)->inbox, 0, mail);
    thread_wake(system_thread(system, 0));
}

static int ask(struct sherd_system *system, enum node_query query, const char *type,
               uint32_t timeout_ms, struct sherd_regions *regions)
{
    uint64_t timeout = timeout_ms * MS;
    struct region_call *call;
    struct query_part *part;
    struct mail mail;

    if (!system || !regions)
        return SHERD_EINVAL;
    memset(regions, 0, sizeof *regions);
    if (!type || timeout > QUERY_TIME_MAX)
        return SHERD_EINVAL;
    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    if (!node_has_type(system->node, type))
        return SHERD_ENOTYPE;
    call = new_call(system);
    if (!call)
        return SHERD_EFULL;
    if (!timeout)
        timeout = node_query_timeout(&system->settings.node, query);
    part = new_part(query, timeout, call);
    check(node_mail_query(system->node, type, part, &mail));
    post(system, &mail);
    return finish(system, call, timeout + ANSWER_MORE, regions, NULL);
}

int region_calls_view(struct sherd_system *system, uint32_t timeout_ms,
                      struct sherd_cluster_view *view)
{
    struct region_call *call;
    struct mail mail;

    memset(view, 0, sizeof *view);
    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    call = new_call(system);
    if (!call)
        return SHERD_EFULL;
    mail = node_mail_view(new_part(NODE_VIEW, timeout_ms * MS, call));
    post(system, &mail);
    return finish(system, call, timeout_ms * MS, NULL, view);
}

int sherd_get_region_state(struct sherd_system *system, const char *type,
                           uint32_t timeout_ms, struct sherd_regions *regions)
{
    return ask(system, NODE_REGION_STATE, type, timeout_ms, regions);
}

int sherd_get_region_stats(struct sherd_system *system, const char *type,
                           uint32_t timeout_ms, struct sherd_regions *regions)
{
    return ask(system, NODE_REGION_STATS, type, timeout_ms, regions);
}

int sherd_get_cluster_stats(struct sherd_system *system, const char *type,
                            uint32_t timeout_ms, struct sherd_regions *regions)
{
    return ask(system, NODE_CLUSTER_STATS, type, timeout_ms, regions);
}

int sherd_get_regions(struct sherd_system *system, const char *type,
                      uint32_t timeout_ms, struct sherd_regions *regions)
{
    return ask(system, NODE_REGIONS, type, timeout_ms, regions);
}
