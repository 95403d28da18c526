/* One thread of a system: a loop that polls its sockets, takes mail, gives its
 * machines a turn and carries out what they want. Thread 0 runs control, thread
 * i lane i; with one lane control and the lane share thread 0.
 *
 * A thread sleeps when its machines have nothing due, until a socket, mail or
 * their deadline. Whoever gives it something wakes it once, and only if it
 * sleeps. It polls for THREAD_POLL_NS before it sleeps when the system may poll and
 * there was work shortly before; for a quick store's answer THREAD_POLL_STORE_NS.
 *
 * Who calls: host/system.c. */
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
    uint64_t wakes;      /* of other threads, by this one */
    uint64_t mail_sent;  /* to other threads */
    uint64_t rings_full; /* times that a ring had no room */
};

/* What was done about a turn that does not end. */
struct stall {
    uint64_t turn;  /* when it began */
    uint64_t since; /* from when it counts */
    uint32_t steps;
};

struct thread {
    struct sherd_system *system;
    uint32_t index;
    uint32_t first; /* machine */
    uint32_t count; /* of machines */
    struct machine *machines[THREAD_MACHINES_MAX];
    struct sockets sockets[THREAD_MACHINES_MAX];
    uint8_t *buffer; /* SOCKET_READ_SIZE bytes for the reads of all sockets */
    uv_thread_t id;
    uv_loop_t loop;
    uv_async_t wake;
    uv_timer_t alarm; /* the machines' deadline while asleep */
    struct inbox inbox;
    bool running; /* it was created and not yet joined */
    bool closed;  /* its loop has no handles any more */

    /* the thread's own */
    uint64_t now;
    uint64_t sockets_at; /* when the sockets were last looked at */
    uint64_t worked_at;  /* when there last was work */
    uint64_t poll_until;
    uint64_t asked_at;   /* when the store was asked for what has not come; 0: all has */
    uint64_t backend_took; /* ns that the last answer of the store took; 0: none came */
    uint64_t watched_at; /* control's: when it last looked at the others */
    bool looked;         /* the sockets were looked at since the last pass */
    bool mail_only;      /* the last work came from mail */
    bool more;           /* a machine has more to do at once */
    struct stall stalls[LANES_MAX + 1]; /* control's, by thread */
    uint64_t trace_lost[THREAD_MACHINES_MAX]; /* lines, those told */
    struct thread_counters counters;

    _Alignas(64) _Atomic uint32_t sleeping;
    _Alignas(64) _Atomic uint64_t turn_began_at; /* 0 = not in a turn */
};

/* Makes the loop; no thread yet. 0, or -1 when the system has no descriptors
 * left. */
int thread_init(struct thread *thread, struct sherd_system *system,
                uint32_t index);
int thread_start(struct thread *thread); /* 0, or -1 */
/* After the system was told to stop; waits until the thread has ended. Again is
 * fine. */
void thread_join(struct thread *thread);
/* After all threads were joined and the store is closed. */
void thread_fini(struct thread *thread);

/* Has a turn of it lasted too long? Any thread. */
bool thread_is_stalled(const struct thread *thread, uint64_t now);

/* Wakes it if it sleeps. Any thread; after what it shall see was published. */
void thread_wake(struct thread *thread);

#endif
