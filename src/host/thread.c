/* Runs a thread's loop. A pass: sockets, mail, inbox, turns, requests, writes, outgoing mail, log
 * lines. Then it repeats, polls or sleeps. */
#define _GNU_SOURCE
#include "host/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "base/limits.h"
#include "host/client.h"
#include "host/durable.h"
#include "host/discovery.h"
#include "host/figures.h"
#include "host/lease_provider.h"
#include "host/log.h"
#include "host/looks.h"
#include "host/operations.h"
#include "host/pool.h"
#include "host/relax.h"
#include "host/region_calls.h"
#include "host/status.h"
#include "host/type_calls.h"
#include "journal/backend.h"

#define MS_NS 1000000ull
#define SECOND_NS (1000 * MS_NS)
#define NEVER_AT UINT64_MAX

/* ---- waking ---- */

static void wake_other(struct thread *thread, struct thread *other)
{
    if (atomic_load_explicit(&other->sleeping, memory_order_seq_cst) == 0)
        return;
    thread->counters.wakes++;
    thread_wake(other);
}

static void on_wake(uv_async_t *wake)
{
    (void)wake; /* the loop checks everything afterwards */
}

/* Ends the sleep; the next turn does what is due. libuv before 1.45 runs timers before it polls,
 * and would then poll without a time limit. */
static void on_alarm(uv_timer_t *alarm)
{
    uv_stop(alarm->loop);
}

static int64_t wall_ms(void)
{
    struct timespec at;

    check(clock_gettime(CLOCK_REALTIME, &at) == 0);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* ---- inputs ---- */

static struct ring *ring_between(struct sherd_system *system, uint32_t from,
                                 uint32_t to)
{
    return atomic_load_explicit(
        &system->rings[from * system->machine_count + to],
        memory_order_acquire);
}

/* Takes mail from one machine's rings. True: there was some. */
static bool take_mail(struct thread *thread, uint32_t index)
{
    struct sherd_system *system = thread->system;
    uint32_t to = thread->first + index;
    bool any = false;

    for (uint32_t from = 0; from < system->machine_count; from++) {
        struct ring *ring = ring_between(system, from, to);
        const struct mail *mail;
        uint32_t count;

        /* A ring's mail may be in two parts. */
        for (int i = 0; ring && i < 2; i++) {
            count = ring_waiting(ring, &mail);
            if (count == 0)
                break;
            machine_mail(thread->machines[index], thread->now, mail, count);
            if (ring_taken(ring, count))
                wake_other(thread, system_thread(system, from));
            any = true;
        }
    }
    return any;
}

/* sherd_leave was called. Read before the inbox, so that what was given before that call is taken
 * first. */
static bool is_to_leave(struct thread *thread)
{
    _Atomic bool *due = &thread->system->leave_due;

    return thread->index == 0 &&
           atomic_load_explicit(due, memory_order_seq_cst);
}

static void leave(struct thread *thread)
{
    struct mail mail = node_mail_leave(
        (enum sherd_phase)atomic_load(&thread->system->leave_from));

    atomic_store(&thread->system->leave_due, false);
    machine_mail(thread->machines[0], thread->now, &mail, 1);
}

/* Leases were lost with their files. */
static bool is_to_forget(struct thread *thread)
{
    _Atomic uint32_t *due = &thread->system->leases_due;

    return thread->index == 0 &&
           atomic_load_explicit(due, memory_order_seq_cst);
}

static bool forget_leases(struct thread *thread)
{
    uint32_t uses = 0;

    if (is_to_forget(thread))
        uses = atomic_exchange(&thread->system->leases_due, 0);
    for (int i = 0; i < LEASE_USE_COUNT; i++)
        if (uses & 1u << i)
            machine_lease_forgotten(thread->machines[0], thread->now, LEASE_PROVIDER_FILE,
                                    (enum lease_use)i);
    return uses;
}

/* An empty result does not replace the earlier nodes. */
static void expect(struct thread *thread, const struct seed_list *list)
{
    if (list->count > 0)
        listener_expect(thread->system->listener, list->addresses, list->count);
}

static bool take_inbox(struct thread *thread)
{
    struct inbox_item item;
    bool leaves = is_to_leave(thread);
    bool any = forget_leases(thread) || leaves;

    while (inbox_next(&thread->inbox, &item)) {
        uint32_t index = item.machine - thread->first;

        check(index < thread->count);
        any = true;
        switch (item.kind) {
        case INBOX_MAIL:
            machine_mail(thread->machines[index], thread->now, &item.is.mail,
                         1);
            break;
        case INBOX_ACCEPTED:
            sockets_adopt(&thread->sockets[index], thread->now,
                          item.is.accepted);
            break;
        case INBOX_STORED:
            if (thread->asked_at)
                thread->backend_took = thread->now - thread->asked_at;
            thread->asked_at = 0;
            if (item.is.request->verb == BACKEND_APPEND)
                histogram_add(&thread->counters.commits, thread->now - item.is.request->sent_at);
            machine_stored(thread->machines[index], thread->now,
                           item.is.request);
            break;
        case INBOX_LEASED:
            machine_leased(thread->machines[index], thread->now,
                           item.is.lease);
            break;
        case INBOX_DURABLE:
            machine_durable(thread->machines[index], thread->now,
                            item.is.durable);
            break;
        case INBOX_FOUND:
            expect(thread, item.is.seeds);
            machine_found(thread->machines[index], thread->now,
                          item.is.seeds);
            break;
        case INBOX_JOB:
            machine_job_done(thread->machines[index], thread->now,
                             item.is.job);
            break;
        }
    }
    if (leaves)
        leave(thread);
    return any;
}

/* ---- outputs ---- */

static void keep_readiness(struct sherd_system *system, const struct driver_request *request)
{
    atomic_store(&system->ready, request->is_ready);
    atomic_store(&system->member_status, (int)request->readiness.status);
    atomic_store(&system->is_member, request->readiness.is_member);
    atomic_store(&system->is_leaving, request->readiness.is_leaving);
    atomic_store(&system->has_types, request->readiness.has_types);
    if (!request->is_ready)
        return;
    atomic_store(&system->was_ready, true);
    clients_up(system, true); /* while it leaves, it is still up */
}

static void return_part(struct thread *thread, uint32_t index, struct status_part *part)
{
    if (part->wants_figures)
        figures_returned(thread, index, part);
    else
        status_returned(thread->system, part);
}

/* flat: one case for each kind */
static bool carry_out(struct thread *thread, uint32_t index)
{
    struct sherd_system *system = thread->system;
    struct sockets *sockets = &thread->sockets[index];
    struct driver_request request;
    bool any = false;

    while (machine_next_request(thread->machines[index], &request)) {
        any = true;
        switch (request.kind) {
        case DRIVER_CONNECT:
            sockets_connect(sockets, request.link, &request.address);
            break;
        case DRIVER_CLOSE_LINK:
            sockets_close_link(sockets, request.link);
            break;
        case DRIVER_CLOSE_CONN:
            sockets_close_conn(sockets, request.conn);
            break;
        case DRIVER_WRITE:
            sockets_request_write(sockets, request.link);
            break;
        case DRIVER_STORE:
            if (!thread->asked_at)
                thread->asked_at = thread->now;
            request.journal->sent_at = thread->now;
            backend_submit(system->store, request.journal);
            break;
        case DRIVER_LEASE:
            lease_provider_submit(system->leases[request.lease->provider], request.lease);
            break;
        case DRIVER_JOB:
            pool_submit(system->pool, request.job);
            break;
        case DRIVER_DURABLE:
            durable_submit(system->durable, request.durable);
            break;
        case DRIVER_SEEDS:
            discovery_look(system->discovery);
            break;
        case DRIVER_STATUS:
            return_part(thread, index, request.part);
            break;
        case DRIVER_TYPE:
            type_call_returned(system, request.type);
            break;
        case DRIVER_QUERY:
            region_call_returned(system, request.query);
            break;
        case DRIVER_LOOK:
            looks_returned(system, request.look);
            break;
        case DRIVER_OPERATE:
            operations_returned(system, request.operate);
            break;
        case DRIVER_UP:
            system_tell(system, SYSTEM_UP);
            break;
        case DRIVER_READY:
            keep_readiness(system, &request);
            break;
        case DRIVER_REMOVED:
            clients_up(system, false);
            system_tell(system, SYSTEM_REMOVED);
            break;
        case DRIVER_END:
            system_end(system, request.error);
            break;
        }
    }
    return any;
}

/* Handles results of the sockets' callbacks. */
static bool take_sockets(struct thread *thread)
{
    bool any = false;

    for (uint32_t i = 0; i < thread->count; i++) {
        struct sockets *sockets = &thread->sockets[i];

        any |= sockets->worked;
        sockets->worked = false;
        if (sockets->due) {
            any |= carry_out(thread, i);
            sockets_tell(sockets, thread->now);
        }
    }
    return any;
}

/* The ring between two machines; created on first use. */
static struct ring *need_ring(struct sherd_system *system, uint32_t from,
                              uint32_t to)
{
    struct ring *ring = ring_between(system, from, to);

    if (!ring) {
        ring = ring_new();
        atomic_store_explicit(
            &system->rings[from * system->machine_count + to], ring,
            memory_order_seq_cst);
    }
    return ring;
}

/* Delivers mail between two machines of this thread directly. */
static bool send_inside(struct thread *thread, uint32_t index, uint32_t to)
{
    const struct mail *mail;
    uint32_t count =
        machine_outgoing(thread->machines[index], to, &mail);

    if (count == 0)
        return false;
    machine_mail(thread->machines[to - thread->first], thread->now, mail,
                 count);
    machine_sent(thread->machines[index], to, count);
    thread->more = true;
    return true;
}

static bool send_outside(struct thread *thread, uint32_t index, uint32_t to)
{
    struct sherd_system *system = thread->system;
    struct machine *machine = thread->machines[index];
    const struct mail *mail;
    uint32_t count = machine_outgoing(machine, to, &mail);
    uint32_t sent = 0;
    struct ring *ring;

    if (count == 0)
        return false;
    ring = need_ring(system, thread->first + index, to);
    sent = ring_push(ring, mail, count);
    if (sent < count) {
        thread->counters.rings_full++;
        if (!ring_full(ring)) /* the receiver has made room */
            sent += ring_push(ring, mail + sent, count - sent);
    }
    if (sent == 0)
        return false;
    machine_sent(machine, to, sent);
    thread->counters.mail_sent += sent;
    wake_other(thread, system_thread(system, to));
    return true;
}

static bool send_mail(struct thread *thread, uint32_t index)
{
    uint32_t machine_count = thread->system->machine_count;
    bool any = false;

    for (uint32_t to = 0; to < machine_count; to++) {
        if (to - thread->first < thread->count)
            any |= send_inside(thread, index, to);
        else
            any |= send_outside(thread, index, to);
    }
    return any;
}

static void write_log(struct thread *thread, uint32_t index)
{
    struct trace *trace = machine_trace(thread->machines[index]);

    if (trace)
        log_drain(thread->system->log, trace, thread->system->name,
                  &thread->trace_lost[index]);
}

/* ---- stalled threads, watched by control ---- */

/* Time of the next step: report, leave or end. */
static uint64_t next_step(const struct sherd_system *system,
                          const struct stall *stall)
{
    uint64_t after = system->settings.stalled_leave_after;

    if (stall->steps == 0)
        return stall->since + STALLED_NS;
    if (stall->steps > 2 || after > NEVER_AT / 4)
        return NEVER_AT;
    return stall->since +
           stall->steps * (after > STALLED_NS ? after : STALLED_NS);
}

/* Control sends the heartbeats, so other nodes would not notice a blocked lane. */
static void take_step(struct sherd_system *system, struct stall *stall,
                      uint32_t lane, uint64_t now)
{
    static const char *const words[] = { "", ": the node leaves",
                                         ": the node ends, it could not leave" };

    system_log(system, TRACE_ERROR, "host",
               "a lane has not ended a turn: a handler blocks%s lane=%u "
               "seconds=%u hint=\"move slow work to a job; when the handler "
               "returns, the line 'handler took long' names its actor\"",
               words[stall->steps], (unsigned)lane - 1,
               (unsigned)((now - stall->turn) / SECOND_NS));
    if (stall->steps == 0)
        machine_lane_stalled(system->threads[0].machines[0], now, lane - 1, stall->turn);
    if (stall->steps == 1)
        sherd_leave(system);
    else if (stall->steps == 2)
        system_end(system, SHERD_ESTALLED);
    stall->steps++;
}

/* Returns when the next step for a running turn is due. */
static uint64_t watch_others(struct thread *thread)
{
    struct sherd_system *system = thread->system;
    uint64_t next = NEVER_AT;
    bool slept;

    if (thread->index != 0)
        return NEVER_AT;
    if (discovery_watch(system->discovery))
        next = thread->now + STALLED_NS;
    /* Probably the whole process stood still, which is not the lane's fault. */
    slept = thread->now - thread->watched_at > 2 * STALLED_NS;
    thread->watched_at = thread->now;
    for (uint32_t i = 1; i < system->thread_count; i++) {
        struct stall *stall = &thread->stalls[i];
        uint64_t began = atomic_load_explicit(
            &system->threads[i].turn_began_at, memory_order_relaxed);

        if (began != stall->turn && stall->steps > 0) {
            machine_lane_stalled(thread->machines[0], thread->now, i - 1, 0);
            stall->steps = 0;
        }
        if (began == 0)
            continue;
        if (began != stall->turn)
            *stall = (struct stall){ .turn = began, .since = began };
        if (slept)
            stall->since = thread->now;
        while (next_step(system, stall) <= thread->now)
            take_step(system, stall, i, thread->now);
        if (next_step(system, stall) < next)
            next = next_step(system, stall);
        if (thread->now + STALLED_NS < next)
            next = thread->now + STALLED_NS; /* otherwise it would look like a pause */
    }
    return next;
}

/* ---- sleeping ---- */

static uint64_t next_deadline(const struct thread *thread)
{
    uint64_t at = NEVER_AT;

    for (uint32_t i = 0; i < thread->count; i++) {
        uint64_t deadline = machine_deadline(thread->machines[i]);

        at = deadline < at ? deadline : at;
        if (thread->sockets[i].watch_at < at)
            at = thread->sockets[i].watch_at;
    }
    return at;
}

/* Tells whether another thread gave mail, or made room. */
static bool has_mail(struct thread *thread)
{
    struct sherd_system *system = thread->system;
    const struct mail *mail;

    if (!inbox_is_empty(&thread->inbox) || is_to_leave(thread) ||
        is_to_forget(thread) ||
        atomic_load_explicit(&system->stopping, memory_order_seq_cst))
        return true;
    for (uint32_t own = thread->first; own < thread->first + thread->count;
         own++) {
        struct machine *machine = thread->machines[own - thread->first];

        for (uint32_t other = 0; other < system->machine_count; other++) {
            struct ring *in = ring_between(system, other, own);
            struct ring *out = ring_between(system, own, other);

            if (in && !ring_empty(in))
                return true;
            if (out && machine_outgoing(machine, other, &mail) > 0 &&
                !ring_full(out))
                return true;
        }
    }
    return false;
}

/* Whole ms of libuv's clock, never early. */
static void set_alarm(struct thread *thread, uint64_t deadline)
{
    uint64_t at, now;

    if (deadline == NEVER_AT) {
        (void)uv_timer_stop(&thread->alarm); /* a stopped timer is allowed */
        return;
    }
    uv_update_time(&thread->loop);
    now = uv_now(&thread->loop);
    at = deadline / MS_NS + (deadline % MS_NS != 0);
    check(uv_timer_start(&thread->alarm, on_alarm, at > now ? at - now : 0,
                         0) == 0);
}

static void sleep_until(struct thread *thread, uint64_t deadline)
{
    atomic_store_explicit(&thread->sleeping, 1, memory_order_seq_cst);
    if (!has_mail(thread)) {
        set_alarm(thread, deadline);
        thread->counters.sleeps++;
        (void)uv_run(&thread->loop, UV_RUN_ONCE); /* its result is not needed */
        thread->sockets_at = uv_hrtime();
        thread->looked = true;
    }
    atomic_store_explicit(&thread->sleeping, 0, memory_order_seq_cst);
}

/* Waking takes longer than a fast disk's sync. */
static bool awaits_store(const struct thread *thread)
{
    return thread->asked_at && thread->system->polls_store &&
           thread->backend_took < THREAD_POLL_STORE_NS &&
           thread->now - thread->asked_at < THREAD_POLL_STORE_NS;
}

/* For a pass without work: polls for a while, or sleeps. */
static void rest(struct thread *thread)
{
    uint64_t deadline;

    if (thread->now < thread->poll_until || awaits_store(thread)) {
        relax();
        return;
    }
    deadline = watch_others(thread);
    if (next_deadline(thread) < deadline)
        deadline = next_deadline(thread);
    if (deadline > thread->now)
        sleep_until(thread, deadline);
}

static void note_work(struct thread *thread)
{
    /* After a long pause, one piece of work does not justify polling. */
    if (thread->system->polls &&
        thread->now - thread->worked_at < THREAD_POLL_ACTIVE_NS)
        thread->poll_until = thread->now + THREAD_POLL_NS;
    thread->worked_at = thread->now;
}

/* ---- the loop ---- */

static void poll_sockets(struct thread *thread)
{
    uint64_t wait = thread->mail_only ? THREAD_POLL_SOCKETS_NS : 0;

    if (thread->looked || thread->now - thread->sockets_at < wait) {
        thread->looked = false; /* the sleep has just ended */
        return;
    }
    (void)uv_run(&thread->loop, UV_RUN_NOWAIT); /* its result is not needed */
    thread->sockets_at = thread->now;
    thread->now = uv_hrtime();
}

/* Both machines of a thread have their turns after one reading of the clock. */
static void note_turn(struct thread *thread, uint32_t index)
{
    uint64_t began = thread->turned_at > thread->now ? thread->turned_at : thread->now;
    uint64_t took;

    thread->turned_at = uv_hrtime();
    took = thread->turned_at - began;
    thread->counters.busy_ns[index] += took;
    if (thread->first + index == 0)
        histogram_add(&thread->counters.turn_times, took);
}

static void turn(struct thread *thread, uint32_t index)
{
    /* Relaxed: control only checks whether it is unchanged for seconds. */
    atomic_store_explicit(&thread->turn_began_at, thread->now,
                          memory_order_relaxed);
    thread->counters.turns++;
    if (machine_turn(thread->machines[index], thread->now, wall_ms()))
        thread->more = true;
    note_turn(thread, index);
    if (thread->first + index == 1)
        reserved_refs_fill(&thread->system->refs, thread->machines[index]);
    atomic_store_explicit(&thread->turn_began_at, 0, memory_order_relaxed);
}

static void pass(struct thread *thread)
{
    bool from_sockets, from_mail = false, due, worked;

    thread->now = uv_hrtime();
    /* limits memory: writes come before further reads */
    for (uint32_t i = 0; i < thread->count; i++)
        if (thread->now >= thread->sockets[i].watch_at)
            sockets_watch(&thread->sockets[i], thread->now);
    poll_sockets(thread);
    from_sockets = take_sockets(thread);
    for (uint32_t i = 0; i < thread->count; i++)
        from_mail |= take_mail(thread, i);
    if (take_inbox(thread))
        from_sockets = true; /* it may have first bytes */
    due = thread->more || from_mail || from_sockets;
    thread->more = false;
    worked = due;
    for (uint32_t i = 0; i < thread->count; i++) {
        if (due || machine_deadline(thread->machines[i]) <= thread->now)
            turn(thread, i);
        worked |= carry_out(thread, i);
    }
    for (uint32_t i = 0; i < thread->count; i++)
        sockets_flush(&thread->sockets[i], thread->now);
    for (uint32_t i = 0; i < thread->count; i++) {
        worked |= send_mail(thread, i);
        write_log(thread, i);
    }
    if (from_mail || from_sockets)
        thread->mail_only = !from_sockets;
    if (thread->index == 0 && thread->now - thread->watched_at > SECOND_NS)
        (void)watch_others(thread); /* in case control never sleeps */
    if (worked)
        note_work(thread);
    if (!worked && !thread->more && !thread->sockets[0].worked &&
        !thread->sockets[thread->count - 1].worked)
        rest(thread);
}

static void close_handles(struct thread *thread)
{
    if (thread->index == 0)
        listener_stop(thread->system->listener);
    for (uint32_t i = 0; i < thread->count; i++)
        sockets_fini(&thread->sockets[i]);
    uv_close((uv_handle_t *)&thread->wake, NULL);
    uv_close((uv_handle_t *)&thread->alarm, NULL);
    (void)uv_run(&thread->loop, UV_RUN_DEFAULT); /* until the last close callback */
}

static enum node_accept decide(void *owner, struct slice first,
                               uint32_t *machine, const char **why)
{
    struct thread *thread = owner;

    if (atomic_load_explicit(&thread->system->conn_count,
                             memory_order_relaxed) >=
        thread->system->settings.connections_max) {
        *why = "too many connections";
        return NODE_REFUSE;
    }
    return node_accepts(thread->system->node, first, machine, why);
}

static void give(void *owner, uint32_t machine, struct accepted *accepted)
{
    struct thread *thread = owner;
    struct thread *target = system_thread(thread->system, machine);

    (void)atomic_fetch_add_explicit(&thread->system->conn_count, 1,
                                    memory_order_relaxed);
    inbox_put_accepted(&target->inbox, machine, accepted);
    if (target != thread)
        wake_other(thread, target);
}

static void log_text(void *owner, enum trace_level level, const char *text)
{
    struct thread *thread = owner;

    system_log(thread->system, level, "host", "%s", text);
}

/* Configured nodes; discovered ones replace them. */
static void listen_for(struct thread *thread, const struct listener_owner *owner)
{
    struct sherd_system *system = thread->system;

    listener_start(system->listener, &thread->loop, owner);
    listener_expect(system->listener, system->settings.seeds.items,
                    system->settings.seeds.count);
}

static void thread_main(void *argument)
{
    struct thread *thread = argument;
    struct sherd_system *system = thread->system;
    struct listener_owner owner = { thread, decide, give, log_text,
                                    system->tls,
                                    system->settings.strangers,
                                    system->lookups };
    char name[16] = "sherd-control";

    if (thread->index > 0)
        (void)snprintf(name, sizeof name, "sherd-lane-%u",
                       (unsigned)thread->index % 1000);
    (void)pthread_setname_np(pthread_self(), name); /* only for debugging */
    thread->now = uv_hrtime();
    for (uint32_t i = 0; i < thread->count; i++)
        machine_start(thread->machines[i], thread->now, wall_ms());
    if (thread->index == 0)
        listen_for(thread, &owner);
    thread->more = true;
    while (!atomic_load_explicit(&system->stopping, memory_order_relaxed))
        pass(thread);
    for (uint32_t i = 0; i < thread->count; i++) {
        (void)carry_out(thread, i); /* requests own what they name */
        write_log(thread, i);
    }
    close_handles(thread);
}

/* ---- creation and end ---- */

int thread_init(struct thread *thread, struct sherd_system *system,
                uint32_t index)
{
    memset(thread, 0, sizeof *thread);
    thread->system = system;
    thread->index = index;
    thread->first = index;
    thread->count =
        system->thread_count == 1 ? system->machine_count : 1;
    check(thread->count <= THREAD_MACHINES_MAX);
    if (uv_loop_init(&thread->loop) != 0)
        return -1;
    if (uv_async_init(&thread->loop, &thread->wake, on_wake) != 0) {
        check(uv_loop_close(&thread->loop) == 0);
        return -1;
    }
    check(uv_timer_init(&thread->loop, &thread->alarm) == 0);
    inbox_init(&thread->inbox);
    thread->buffer = mem_alloc(SOCKET_READ_SIZE);
    for (uint32_t i = 0; i < thread->count; i++) {
        thread->machines[i] = node_machine(system->node, thread->first + i);
        sockets_init(&thread->sockets[i], &thread->loop, thread->machines[i],
                     thread->buffer, &system->conn_count, system->tls,
                     system->lookups);
    }
    return 0;
}

int thread_start(struct thread *thread)
{
    int fault = uv_thread_create(&thread->id, thread_main, thread);

    thread->running = fault == 0;
    errno = -fault;
    return fault;
}

void thread_join(struct thread *thread)
{
    if (thread->running) {
        check(uv_thread_join(&thread->id) == 0);
    } else if (!thread->closed) {
        uv_close((uv_handle_t *)&thread->wake, NULL);
        uv_close((uv_handle_t *)&thread->alarm, NULL);
        (void)uv_run(&thread->loop, UV_RUN_DEFAULT); /* until the last close callback */
    }
    thread->running = false;
    thread->closed = true;
}

void thread_fini(struct thread *thread)
{
    check(uv_loop_close(&thread->loop) == 0);
    inbox_fini(&thread->inbox);
    mem_free(thread->buffer);
}
