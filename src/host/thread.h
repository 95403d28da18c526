/* Runs one thread of a system: its loop polls sockets, takes mail, gives its machines a turn, and
 * carries out their requests. Thread 0 runs control, thread i lane i; with one lane both share
 * thread 0.
 *
 * A thread without work sleeps until a socket, mail or a deadline. A giver wakes it once, and only
 * if it sleeps. If the system allows it and there was work recently, it polls for THREAD_POLL_NS
 * first, or THREAD_POLL_STORE_NS for a fast journal's answer.
 *
 * Called by host/system.c. */
#ifndef SHERD_HOST_THREAD_H
#define SHERD_HOST_THREAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "host/inbox.h"
#include "host/socket.h"
#include "host/system.h"

#define THREAD_MACHINES_MAX 2 /* control and a lane */

struct thread_counters {
    uint64_t turns;
    uint64_t sleeps;
    uint64_t wakes;      /* of other threads */
    uint64_t mail_sent;  /* to other threads */
    uint64_t rings_full; /* failed puts into full rings */
    uint64_t busy_ns[THREAD_MACHINES_MAX]; /* in turns of its machines */
    struct histogram turn_times; /* of control */
    struct histogram commits;    /* appends of the journal, from the request to its result */
};

/* Steps taken against a turn that does not end. */
struct stall {
    uint64_t turn;  /* when it began */
    uint64_t since; /* counted from here */
    uint32_t steps;
};

struct thread {
    struct sherd_system *system;
    uint32_t index;
    uint32_t first; /* machine */
    uint32_t count; /* machines */
    struct machine *machines[THREAD_MACHINES_MAX];
    struct sockets sockets[THREAD_MACHINES_MAX];
    uint8_t *buffer; /* SOCKET_READ_SIZE bytes, for all sockets */
    uv_thread_t id;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t alarm; /* machines' deadline during sleep */
    struct inbox inbox;
    bool running; /* created, not joined yet */
    bool closed;  /* its loop has no handles */

    /* The thread's own. */
    uint64_t now;
    uint64_t turned_at;  /* the end of the last turn */
    uint64_t sockets_at; /* last check of the sockets */
    uint64_t worked_at;  /* last work */
    uint64_t poll_until;
    uint64_t asked_at;   /* begin of the oldest pending journal request; 0: none */
    uint64_t backend_took; /* ns of the last answer of the journal; 0: none */
    uint64_t watched_at; /* control's last check of other threads */
    bool looked;         /* sockets were checked since the last pass */
    bool mail_only;      /* the last work came from mail */
    bool more;           /* a machine has more to do */
    struct stall stalls[LANES_MAX + 1]; /* control's, by thread */
    uint64_t trace_lost[THREAD_MACHINES_MAX]; /* lines that were reported */
    struct thread_counters counters;

    _Alignas(64) _Atomic uint32_t sleeping;
    _Alignas(64) _Atomic uint64_t turn_began_at; /* 0: not in a turn */
};

/* The thread that a machine runs on. */
static inline struct thread *system_thread(struct sherd_system *system,
                                           uint32_t machine)
{
    return &system->threads[system->thread_count == 1 ? 0 : machine];
}

/* Creates the loop, but no thread. 0, or -1 if no descriptors are left. */
int thread_init(struct thread *thread, struct sherd_system *system,
                uint32_t index);
int thread_start(struct thread *thread); /* 0, or -1 */
/* After the system was told to stop: waits for the thread's end. May be repeated. */
void thread_join(struct thread *thread);
/* After all threads were joined and the journal was closed. */
void thread_fini(struct thread *thread);

/* Tells whether its turn lasts longer than so many ns. Any thread. */
static inline bool thread_is_stalled(const struct thread *thread, uint64_t now, uint64_t limit)
{
    uint64_t began = atomic_load_explicit(&thread->turn_began_at, memory_order_relaxed);

    return began && now >= began + limit;
}

/* Wakes it if it sleeps. Any thread, after publishing what it must see. */
void thread_wake(struct thread *thread);

#endif
