/* Implements sherd_get_status: asks every machine by mail, waits, and joins the parts. */
#define _GNU_SOURCE
#include "host/status.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "host/manage.h"
#include "host/thread.h"
#include "host/tls.h"
#include "node/recoveries.h"

/* A region is part of control, so control's turn answers the health check. */
static uint64_t control_limit(const struct sherd_system *system)
{
    uint64_t limit = system->settings.health_timeout;

    return system->settings.checked_types.count && limit < STALLED_NS ? limit : STALLED_NS;
}

static bool storage_fails(const struct sherd_system *system)
{
    return atomic_load(&system->durable_fails) || atomic_load(&system->durable_lost) ||
           atomic_load(&system->leases_broken) ||
           (system->needs_store &&
            (atomic_load(&system->store_lost) || atomic_load(&system->store_fails)));
}

int sherd_is_ready(struct sherd_system *system)
{
    uint64_t now = uv_hrtime();

    if (!atomic_load(&system->ready) || /* and so are its threads */
        atomic_load(&system->leaving) || storage_fails(system) ||
        (system->tls && !tls_is_usable(system->tls)) ||
        system_state_of(system) != SYSTEM_RUNNING)
        return 0;
    for (uint32_t i = 0; i < system->thread_count; i++)
        if (thread_is_stalled(&system->threads[i], now,
                              i ? STALLED_NS : control_limit(system)))
            return 0;
    return 1;
}

void manage_health(void *node, uint32_t wanted, struct sherd_health *health)
{
    struct sherd_system *system = node;
    uint64_t now = uv_hrtime();
    uint64_t most = 2 * (system->settings.stalled_leave_after > STALLED_NS ? system->settings.stalled_leave_after
                                                                           : STALLED_NS);
    bool runs = system_state_of(system) == SYSTEM_RUNNING;

    *health = (struct sherd_health){ .alive = runs };
    health->status = atomic_load(&system->is_member)
                         ? (enum sherd_member_status)atomic_load(&system->member_status)
                         : SHERD_REMOVED;
    health->started = atomic_load(&system->was_ready);
    health->unready = (runs ? 0 : SHERD_UNREADY_ENDED) |
                      (wanted >> health->status & 1 ? 0 : SHERD_UNREADY_MEMBER) |
                      (atomic_load(&system->leaving) || atomic_load(&system->is_leaving) ? SHERD_UNREADY_LEAVING : 0) |
                      (storage_fails(system) ? SHERD_UNREADY_STORAGE : 0) |
                      (system->tls && !tls_is_usable(system->tls) ? SHERD_UNREADY_TLS : 0) |
                      (atomic_load(&system->has_types) ? 0 : SHERD_UNREADY_SHARDING);
    for (uint32_t i = 0; runs && i < system->thread_count; i++) {
        if (thread_is_stalled(&system->threads[i], now, i ? STALLED_NS : control_limit(system)))
            health->unready |= SHERD_UNREADY_LANES;
        if (system->settings.stalled_leave_after < UINT64_MAX / 4 &&
            thread_is_stalled(&system->threads[i], now, most))
            health->alive = 0;
    }
}

static void join_types(struct sherd_status *status,
                       const struct sherd_status *part)
{
    for (uint32_t i = 0; i < part->type_count; i++) {
        const struct sherd_type_status *from = &part->types[i];
        struct sherd_type_status *to = NULL;

        for (uint32_t j = 0; j < status->type_count && !to; j++) {
            if (strcmp(status->types[j].name, from->name) == 0)
                to = &status->types[j];
        }
        if (!to) {
            status->types =
                mem_resize(status->types,
                           (status->type_count + 1) * sizeof *status->types);
            status->types[status->type_count++] = *from;
            continue;
        }
        if (!to->coordinator[0])
            memcpy(to->coordinator, from->coordinator, sizeof to->coordinator);
        to->shards_here += from->shards_here;
        to->entities_here += from->entities_here;
        to->waiting += from->waiting;
    }
}

void status_join(struct sherd_status *status, const struct sherd_status *part)
{
    if (part->member_count > 0) {
        status->members = mem_resize(
            status->members, (status->member_count + part->member_count) *
                                 sizeof *status->members);
        memcpy(status->members + status->member_count, part->members,
               part->member_count * sizeof *part->members);
        status->member_count += part->member_count;
    }
    join_types(status, part);
    if (part->damaged_key_count) { /* only control has it */
        status->damaged_keys =
            mem_copy(part->damaged_keys, part->damaged_key_count *
                                             sizeof *part->damaged_keys);
        status->damaged_key_count = part->damaged_key_count;
    }
    if (part->replica_count) { /* likewise */
        status->replicas = mem_copy(part->replicas, part->replica_count *
                                                        sizeof *part->replicas);
        status->replica_count = part->replica_count;
    }
    for (int i = 0; i < SHERD_REASON_COUNT; i++)
        status->undelivered[i] += part->undelivered[i];
    for (int i = 0; i < SHERD_COUNTER_COUNT; i++)
        status->counters[i] += part->counters[i];
    status->delivered += part->delivered;
    status->held_max += part->held_max; /* each region's own limit, never less than the node's */
    status->held_total += part->held_total;
    if (part->held_ms_max > status->held_ms_max)
        status->held_ms_max = part->held_ms_max;
    status->fenced += part->fenced;
    recoveries_add(&status->recoveries, &part->recoveries);
    snapshots_add(&status->snapshots, &part->snapshots);
    deliveries_add(&status->deliveries, &part->deliveries);
    status->events += part->events;
    status->jobs += part->jobs;
    status->jobs_open += part->jobs_open;
    status->up |= part->up;
}

static void ask(struct sherd_system *system, struct status_call *call)
{
    for (uint32_t i = 0; i < system->machine_count; i++) {
        struct status_part *part = mem_alloc(sizeof *part);
        struct thread *thread = system_thread(system, i);
        struct mail mail;

        part->machine = i;
        part->driver = call;
        mail = node_mail_status(part);
        inbox_put_command(&thread->inbox, i, &mail);
        thread_wake(thread);
    }
}

static void add_store(struct sherd_status *status, struct backend_client *store)
{
    struct backend_damaged_part *parts;
    struct backend_counters counters;
    uint64_t count;

    backend_client_counters(store, &counters);
    status->counters[SHERD_JOURNAL_LOG_KEPT] += counters.log_tries;
    count = backend_client_damage(store, NULL, 0);
    status->counters[SHERD_JOURNAL_DAMAGED] += count;
    if (!count)
        return;
    parts = mem_alloc(STATUS_DAMAGED_MAX * sizeof *parts);
    count = backend_client_damage(store, parts, STATUS_DAMAGED_MAX);
    count = count < STATUS_DAMAGED_MAX ? count : STATUS_DAMAGED_MAX;
    status->damaged_parts = mem_alloc(count * sizeof *status->damaged_parts);
    status->damaged_part_count = (uint32_t)count;
    for (uint64_t i = 0; i < count; i++) {
        struct sherd_damaged_part *to = &status->damaged_parts[i];

        (void)snprintf(to->name, sizeof to->name, "%s", parts[i].name); /* of that size */
        (void)snprintf(to->why, sizeof to->why, "%s", parts[i].why);
    }
    mem_free(parts);
}

/* Connections without a machine. */
static void add_listener(struct sherd_status *status,
                         const struct listener *listener)
{
    struct listener_counters counters = listener_counters(listener);

    status->counters[SHERD_CONNECTIONS_REFUSED] +=
        counters.refused + counters.late;
}

void status_add_driver(struct sherd_system *system, struct sherd_status *status)
{
    add_listener(status, system->listener);
    status->plain = !system->tls && !listener_is_loopback(system->listener);
    add_store(status, system->store);
    status->counters[SHERD_DURABLE_FAILED] +=
        atomic_load(&system->durable_failures);
    if (system->tls)
        status->counters[SHERD_CONNECTIONS_REVOKED] += tls_revoked(system->tls);
}

void status_wait(struct sherd_system *system, const uint32_t *waiting,
                 uint64_t left)
{
    while (*waiting > 0 && left > 0 &&
           atomic_load(&system->state) == SYSTEM_RUNNING) {
        uint64_t part = left < SECOND ? left : SECOND;
        uint64_t began = uv_hrtime();
        uint64_t took;

        (void)uv_cond_timedwait(&system->changed, &system->mutex, part); /* the loop checks again */
        took = uv_hrtime() - began;
        left -= took < part ? took : part;
    }
}

int sherd_get_status(struct sherd_system *system, struct sherd_status *status)
{
    struct status_call *call;
    bool complete;

    check(system != NULL && status != NULL);
    memset(status, 0, sizeof *status);
    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    call = mem_alloc(sizeof *call +
                     system->machine_count * sizeof call->parts[0]);
    call->part_count = system->machine_count;
    call->waiting = system->machine_count;
    uv_mutex_lock(&system->mutex);
    if (system->call_count >= STATUS_CALLS_MAX) {
        uv_mutex_unlock(&system->mutex);
        mem_free(call);
        return SHERD_EFULL;
    }
    call->next = system->calls;
    system->calls = call;
    system->call_count++;
    uv_mutex_unlock(&system->mutex);
    ask(system, call);

    uv_mutex_lock(&system->mutex);
    status_wait(system, &call->waiting, STATUS_WAIT_MS * MS);
    complete = call->waiting == 0;
    if (complete) {
        for (uint32_t i = 0; i < call->part_count; i++)
            status_join(status, &call->parts[i]);
        status_add_driver(system, status);
        status_call_end(system, call);
    } else {
        call->abandoned = true;
    }
    uv_mutex_unlock(&system->mutex);
    if (complete)
        return 0;
    return atomic_load(&system->state) == SYSTEM_RUNNING ? SHERD_ETIME
                                                         : SHERD_ESTATE;
}
