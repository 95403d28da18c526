/* The inside of a system: what its threads share. Everything here is constant
 * between sherd_start and sherd_close, an atomic, or under the mutex.
 *
 * Order of an end: stop (system_end), each thread leaves its loop and closes
 * its sockets, join, close the pool and the store, free what was under way, free
 * the node. */
#ifndef SHERD_HOST_SYSTEM_H
#define SHERD_HOST_SYSTEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/check.h"
#include "host/listener.h"
#include "host/ring.h"
#include "host/settings.h"
#include "host/backend_thread.h"
#include "node/node.h"

struct log;
struct pool;
struct thread;
struct status_call;

enum system_state {
    SYSTEM_OPEN,    /* no thread yet */
    SYSTEM_RUNNING, /* until system_end */
    SYSTEM_ENDED
};

/* Of the own membership; each happens once, if at all. */
enum system_event {
    SYSTEM_UP,
    SYSTEM_REMOVED, /* the node is out, or has ended */
    SYSTEM_EVENTS
};

struct told {
    void (*call)(void *user);
    void *user;
};

struct told_list {
    struct told *items;
    uint32_t count, capacity;
};

struct sherd_system {
    struct settings settings;
    VEC(struct sherd_entity_type) types; /* names and roles are ours */
    struct log *log;
    char name[ADDRESS_TEXT_MAX]; /* "host:port" for the log; "" until it is known */
    struct tls *tls; /* null: connections are plain */
    struct listener *listener;
    uint16_t port;
    struct backend_client *store;
    struct leases *leases; /* null: no node of this system asks for one */
    struct pool *pool; /* of jobs; null until sherd_start */
    struct durable *durable; /* null: no key of distributed data is durable */
    _Atomic bool durable_fails; /* durable keys are not loaded yet, or the last write of them failed */
    _Atomic uint64_t durable_failures; /* writes of them that failed after they were acknowledged */
    bool durable_is_behind; /* the last write-behind failed; of the store's thread */
    struct finder *finder; /* null: seed nodes are given */
    struct lookups *lookups; /* of names */
    uint64_t fenced_said_at; /* of the store's writer thread */
    struct node *node;

    uint32_t machine_count;
    uint32_t thread_count;
    struct thread *threads;
    _Atomic(struct ring *) *rings; /* [from * machine_count + to], null until first used */
    bool polls; /* threads poll before they sleep */
    bool polls_store; /* and wait awake for a quick store, as its writer does for them: it needs a processor too */
    _Atomic uint32_t conn_count;
    _Atomic bool ready; /* as control said: the node is up, and is not on its way out */
    _Atomic bool stopping; /* the threads leave their loops */
    _Atomic bool leaving;  /* sherd_leave was called */
    _Atomic bool leave_due; /* and control has not been told */
    _Atomic uint32_t leave_from; /* enum sherd_phase; before leave_due */
    _Atomic int state;     /* enum system_state */
    _Atomic bool has_threads; /* they can be woken; sherd_start sets it before the first of them runs */

    uv_mutex_t mutex;
    uv_cond_t changed; /* of what follows */
    int error;         /* what sherd_wait returns, once ended */
    bool happened[SYSTEM_EVENTS];
    struct told_list told[SYSTEM_EVENTS]; /* who is to be told */
    int signal_pipe;   /* sherd_run's, -1 = none */
    struct status_call *calls; /* sherd_get_status under way or given up */
    uint32_t call_count;
};

/* The thread that machine `index` runs on. */
struct thread *system_thread(struct sherd_system *system, uint32_t machine);

static inline enum system_state system_state_of(struct sherd_system *system)
{
    check(system != NULL); /* a failed sherd_open gave none */
    return (enum system_state)atomic_load(&system->state);
}

/* False: a thread that sherd_start makes now or later sees what was stored before this call. */
static inline bool system_has_threads(struct sherd_system *system)
{
    return atomic_load_explicit(&system->has_threads, memory_order_seq_cst);
}

/* Tells those who wait for it, the first time. Any thread, without the mutex. system_told.c */
void system_tell(struct sherd_system *system, enum system_event event);
void system_told_free(struct sherd_system *system);

/* Ends the system: the first call's error is what sherd_wait returns. Any
 * thread. */
void system_end(struct sherd_system *system, int error);

/* The threads for jobs; 0 or SHERD_ESYSTEM. Close after the system's threads have ended, before their inboxes do. */
int system_pool_open(struct sherd_system *system);
void system_pool_close(struct sherd_system *system);

/* system_durable.c: the store of durable keys, if there are any. 0, or a SHERD_E... code, which was logged. Again once the node is made: its
 * types may want one, too. */
int system_open_durable(struct sherd_system *system);

/* A line of the log; any thread. module must be a literal. */
void system_log(struct sherd_system *system, enum trace_level level,
                const char *module, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void system_log_open(struct sherd_system *system,
                     const struct sherd_options *options, bool configured);
/* Lines carry the node from here on if options or configuration say its
 * address, with port 0 when any will do and none is bound. Without a configuration,
 * since it is faulty, the host is that of the options or the default. */
void system_log_name_early(struct sherd_system *system,
                           const struct sherd_options *options);
/* From here on lines carry the node. */
void system_log_name(struct sherd_system *system);
/* Lists the keys that are set and have no effect. */
void system_log_ineffective(struct sherd_system *system);

#endif
