/* Implements figures.h. */
#define _GNU_SOURCE
#include "host/figures.h"

#include "base/check.h"
#include "host/inbox.h"
#include "host/status.h"
#include "host/thread.h"
#include "host/tls.h"

/* The last part of a machine. */
struct figures_part {
    bool is_asked; /* a question is on its way */
    bool is_known;
    struct sherd_status status;
    struct machine_figures figures;
};

/* ---- questions ---- */

void figures_returned(struct thread *thread, uint32_t index, struct status_part *part)
{
    struct sherd_system *system = thread->system;
    struct figures_part *kept = &system->figures[part->machine];
    struct status_part old;

    part->figures.busy_ns = thread->counters.busy_ns[index];
    if (part->machine == 0)
        part->figures.turns = thread->counters.turn_times;
    if (index + 1 == thread->count)
        part->figures.commits = thread->counters.commits;
    uv_mutex_lock(&system->mutex);
    old.status = kept->status;
    old.figures = kept->figures;
    *kept = (struct figures_part){ .is_known = true, .status = part->status, .figures = part->figures };
    uv_cond_broadcast(&system->changed);
    uv_mutex_unlock(&system->mutex);
    sherd_status_free(&old.status);
    mem_free(old.figures.types);
    mem_free(part);
}

void figures_free(struct sherd_system *system)
{
    for (uint32_t i = 0; system->figures && i < system->machine_count; i++) {
        sherd_status_free(&system->figures[i].status);
        mem_free(system->figures[i].figures.types);
    }
    mem_free(system->figures);
    system->figures = NULL;
}

/* Under the mutex. */
static void ask_machines(struct sherd_system *system)
{
    if (!system->figures)
        system->figures = mem_alloc(system->machine_count * sizeof *system->figures);
    for (uint32_t i = 0; i < system->machine_count; i++) {
        struct status_part *part;
        struct mail mail;

        if (system->figures[i].is_asked)
            continue;
        part = mem_alloc(sizeof *part);
        part->machine = i;
        part->wants_figures = true;
        system->figures[i].is_asked = true;
        mail = node_mail_status(part);
        inbox_put_command(&system_thread(system, i)->inbox, i, &mail);
        thread_wake(system_thread(system, i));
    }
}

static bool is_waiting(const struct sherd_system *system)
{
    for (uint32_t i = 0; i < system->machine_count; i++)
        if (system->figures[i].is_asked)
            return true;
    return false;
}

/* ---- the sum ---- */

static void add_types(struct machine_figures *sum, const struct machine_figures *part)
{
    if (sum->type_count < part->type_count) {
        struct type_figures *types = mem_alloc(part->type_count * sizeof *types);

        for (uint32_t i = 0; i < sum->type_count; i++)
            types[i] = sum->types[i];
        mem_free(sum->types);
        sum->types = types;
        sum->type_count = part->type_count;
    }
    for (uint32_t i = 0; i < part->type_count; i++) {
        struct type_figures *to = &sum->types[i];
        const struct type_figures *from = &part->types[i];

        for (int state = 0; state < FIGURES_SHARD_STATE_COUNT; state++)
            to->shards[state] += from->shards[state];
        to->unplaced += from->unplaced;
        to->handoffs += from->handoffs;
        to->registered += from->registered;
        to->coordinates += from->coordinates;
        to->starts += from->starts;
        for (int stop = 0; stop < FIGURES_STOP_COUNT; stop++)
            to->stops[stop] += from->stops[stop];
        histogram_join(&to->handlers, &from->handlers);
        to->buffer_ratio = from->buffer_ratio > to->buffer_ratio ? from->buffer_ratio : to->buffer_ratio;
    }
}

static void add_machine(struct machine_figures *sum, const struct machine_figures *part)
{
    add_types(sum, part);
    sum->sent += part->sent;
    sum->arrived += part->arrived;
    sum->left += part->left;
    sum->waiting += part->waiting;
    sum->buffered += part->buffered;
    sum->held += part->held;
    sum->message_bytes += part->message_bytes;
    sum->entity_bytes += part->entity_bytes;
    sum->handlers_failed += part->handlers_failed;
    sum->asks += part->asks;
    sum->looks_refused += part->looks_refused;
    for (int stage = 0; stage < SHERD_STAGE_COUNT; stage++)
        sum->asks_late[stage] += part->asks_late[stage];
    histogram_join(&sum->commits, &part->commits);
    histogram_join(&sum->turns, &part->turns);
    for (int event = 0; event < FIGURES_EVENT_COUNT; event++)
        sum->events[event] += part->events[event];
    sum->has_resolver |= part->has_resolver;
    sum->decided += part->decided;
    sum->unstable += part->unstable;
    sum->reversed += part->reversed;
    sum->is_leader |= part->is_leader;
    sum->phi = part->phi > sum->phi ? part->phi : sum->phi;
}

/* Under the mutex. */
static void join_parts(struct sherd_system *system, struct sherd_figures *to)
{
    uint64_t now = uv_hrtime();

    to->has_control = system->figures[0].is_known;
    to->has_lanes = true;
    to->machine_count = system->machine_count;
    to->busy_ns = mem_alloc(system->machine_count * sizeof *to->busy_ns);
    for (uint32_t i = 0; i < system->machine_count; i++) {
        if (i && !system->figures[i].is_known)
            to->has_lanes = false;
        status_join(&to->status, &system->figures[i].status);
        add_machine(&to->sums, &system->figures[i].figures);
        to->busy_ns[i] = system->figures[i].figures.busy_ns;
    }
    status_add_driver(system, &to->status);
    to->certificate_expires = system->tls ? tls_expires_at(system->tls) : 0;
    to->durable_fails = atomic_load(&system->durable_fails);
    to->thread_count = system->thread_count;
    to->stalled_ms = mem_alloc(system->thread_count * sizeof *to->stalled_ms);
    for (uint32_t i = 0; i < system->thread_count; i++) {
        uint64_t began = atomic_load_explicit(&system->threads[i].turn_began_at, memory_order_relaxed);

        to->stalled_ms[i] = began && now > began ? (now - began) / 1000000 : 0;
    }
}

int figures_ask(void *node, uint32_t timeout_ms, struct sherd_figures **figures)
{
    struct sherd_system *system = node;
    uint64_t end = uv_hrtime() + (uint64_t)timeout_ms * 1000000;
    uint64_t now;

    if (system_state_of(system) != SYSTEM_RUNNING)
        return SHERD_ESTATE;
    *figures = mem_alloc(sizeof **figures);
    uv_mutex_lock(&system->mutex);
    ask_machines(system);
    while (is_waiting(system) && (now = uv_hrtime()) < end && system_state_of(system) == SYSTEM_RUNNING)
        (void)uv_cond_timedwait(&system->changed, &system->mutex, end - now); /* the loop checks again */
    join_parts(system, *figures);
    uv_mutex_unlock(&system->mutex);
    return 0;
}

void figures_end(struct sherd_figures *figures)
{
    if (!figures)
        return;
    sherd_status_free(&figures->status);
    mem_free(figures->sums.types);
    mem_free(figures->stalled_ms);
    mem_free(figures->busy_ns);
    mem_free(figures);
}
