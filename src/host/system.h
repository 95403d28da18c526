/* Declares a system's state, which its threads share. All of it is constant from sherd_start to
 * sherd_close, atomic, or under the mutex.
 *
 * Order of shutdown: system_end; threads leave their loops and close sockets; join; close pool and
 * journal; free pending work; free the node. */
#ifndef SHERD_HOST_SYSTEM_H
#define SHERD_HOST_SYSTEM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uv.h>

#include "base/check.h"
#include "host/fork_watch.h"
#include "host/listener.h"
#include "host/reserved_refs.h"
#include "host/ring.h"
#include "host/settings.h"
#include "host/backend_thread.h"
#include "node/node.h"

struct log;
struct pool;
struct thread;
struct status_call;
struct client_port;

enum system_state {
    SYSTEM_OPEN,    /* without threads */
    SYSTEM_RUNNING, /* until system_end */
    SYSTEM_ENDED
};

/* Events of this node's membership; each at most once. */
enum system_event {
    SYSTEM_UP,
    SYSTEM_REMOVED, /* the node was removed, or has ended */
    SYSTEM_EVENTS
};

struct callback {
    void (*call)(void *user);
    void *user;
};

struct callback_list {
    struct callback *items;
    uint32_t count, capacity;
};

struct sherd_system {
    struct settings settings;
    VEC(struct sherd_entity_type) types; /* owns names and roles */
    struct log *log;
    char name[ADDRESS_TEXT_MAX]; /* "host:port" for the log; "" if not known yet */
    struct tls *tls; /* null: plain connections */
    struct listener *listener;
    uint16_t port;
    struct backend_client *store;
    _Atomic bool store_lost; /* the journal was deleted or replaced: nothing is stored any more */
    _Atomic bool store_fails; /* the journal accepts no writes, as on a full disk */
    bool needs_store; /* a type that this node hosts has events in the journal */
    struct backend_identity store_id;
    char *store_name; /* the journal in log lines */
    struct leases *leases[LEASE_PROVIDER_COUNT]; /* null: nothing uses the provider */
    _Atomic uint32_t leases_broken; /* bits of uses: a lease's file was changed, and there is no other yet */
    _Atomic uint32_t leases_due; /* likewise: held leases lost with their files; control is not told yet */
    struct pool *pool; /* null until sherd_start */
    struct durable *durable; /* null: no durable keys */
    _Atomic bool durable_fails; /* keys are not loaded, or their last write failed */
    _Atomic bool durable_lost; /* their files were deleted or replaced: nothing is stored any more */
    _Atomic uint64_t durable_failures; /* failed writes of acknowledged changes */
    bool durable_is_behind; /* the last write-behind failed; the durable file's thread */
    struct discovery *discovery; /* null: seed nodes are configured */
    struct dns_lookups *lookups; /* for names */
    uint64_t fenced_said_at; /* the journal's writer thread */
    struct node *node;

    uint32_t machine_count;
    uint32_t thread_count;
    struct thread *threads;
    _Atomic(struct ring *) *rings; /* [from * machine_count + to]; null until used */
    bool polls; /* threads poll before they sleep */
    /* threads await a fast journal awake, as its writer does; it needs a processor, too */
    bool polls_store;
    struct reserved_refs refs; /* of the first lane */
    _Atomic uint32_t conn_count;
    _Atomic bool ready; /* control: the node is up and does not leave */
    _Atomic bool was_ready; /* it was once */
    /* control's struct node_readiness, for health checks */
    _Atomic bool is_member, is_leaving, has_types;
    _Atomic int member_status; /* enum sherd_member_status */
    struct manage *manage; /* null: no management module */
    _Atomic bool stopping; /* the threads leave their loops */
    _Atomic bool leaving;
    _Atomic bool leave_due; /* control has not been told yet */
    _Atomic uint32_t leave_from; /* enum sherd_phase; written before leave_due */
    _Atomic int state;     /* enum system_state */
    uint32_t mark; /* of the process that opened it: fork_watch_mark */
    _Atomic bool has_refused_child; /* in a forked child; the reason is logged */
    _Atomic bool has_threads; /* they can be woken; set before the first one runs */

    uv_mutex_t types_mutex; /* for `types`, and for adding them to the node */
    uv_mutex_t mutex;
    uv_cond_t changed; /* for what follows */
    int error;         /* result of sherd_wait */
    bool happened[SYSTEM_EVENTS];
    struct callback_list callbacks[SYSTEM_EVENTS]; /* callbacks */
    int signal_pipe;   /* of sherd_run; -1: none */
    bool is_up;                /* the node is a member with the status up */
    struct sherd_client *clients;
    uint32_t client_count;
    struct client_port *client_ports; /* of these and of closed ones, with an actor */
    struct status_call *calls; /* calls of sherd_get_status, also timed-out ones */
    uint32_t call_count;
    struct figures_part *figures; /* by machine, from the first question for metrics on */
    struct region_call *region_calls; /* calls of sherd/sharding.h, also timed-out ones */
    uint32_t region_call_count;
    struct look_state *looks; /* of sherd_look, until their `done` is called */
    uint32_t look_count;
    uint64_t look_number; /* of the last one */
    struct operation_state *operations; /* of sherd_operate, until their `done` is called */
    uint32_t operation_count;
    struct type_call_state *type_calls;
    uint32_t type_call_count;
};

/* The process was forked: threads and locks of the system are the parent's, so nothing of it may be
 * used here. */
static inline bool system_is_lost(const struct sherd_system *system)
{
    return fork_watch_is_child(system->mark);
}

/* system_log.c: logs once why calls in such a process are refused. */
enum system_state system_refuse_child(struct sherd_system *system);

static inline enum system_state system_state_of(struct sherd_system *system)
{
    check(system != NULL); /* a failed sherd_open returned none */
    return system_is_lost(system) ? system_refuse_child(system)
                                  : (enum system_state)atomic_load(&system->state);
}

/* False: threads that start later see what was stored before this call. */
static inline bool system_has_threads(struct sherd_system *system)
{
    return atomic_load_explicit(&system->has_threads, memory_order_seq_cst);
}

/* system_stores.c: 0 or an error; the log has the reason. */
int system_open_store(struct sherd_system *system);
int system_start_store(struct sherd_system *system); /* before the first request */
/* Tells the settings of the node which store it has, if its types need it. */
void system_compare_stores(struct sherd_system *system);

/* system_callbacks.c: calls the event's callbacks, once. Any thread, without the mutex. */
void system_tell(struct sherd_system *system, enum system_event event);
void system_callbacks_free(struct sherd_system *system);

/* Ends the system; the first call's error is sherd_wait's result. Any thread. */
void system_end(struct sherd_system *system, int error);

/* Opens the threads for jobs. 0 or SHERD_ESYSTEM. Close them after the system's threads, before the
 * inboxes. */
int system_pool_open(struct sherd_system *system);
void system_pool_close(struct sherd_system *system);

/* system_stores.c: opens the file of durable keys, if there are any. 0, or a logged SHERD_E...
 * code. Repeated once the node exists, as its types may have durable keys. */
int system_open_durable(struct sherd_system *system);

/* system_leases.c: opens the configured lease providers. 0, or a logged SHERD_E... code. */
int system_open_leases(struct sherd_system *system);
/* service_defaults.open_lease. */
bool system_open_lease(void *context, uint32_t provider);
/* Checks a type's leases, and opens its provider. Likewise. */
int system_lease_type(struct sherd_system *system, const struct sherd_entity_type *type);

/* Writes a log line; any thread. module must be a literal. */
void system_log(struct sherd_system *system, enum trace_level level,
                const char *module, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void system_log_open(struct sherd_system *system,
                     const struct sherd_options *options, bool configured);
/* Adds the node to log lines early, if options or configuration state its address; port 0 if it is
 * not bound yet. If the configuration is faulty, the host is that of the options, or the
 * default. */
void system_log_name_early(struct sherd_system *system,
                           const struct sherd_options *options);
/* Adds the node to log lines from now on. */
void system_log_name(struct sherd_system *system);
/* Logs keys that are set but have no effect. */
void system_log_ineffective(struct sherd_system *system);
/* Warns of one setting without effect. */
void system_log_setting(struct sherd_system *system, const struct config_setting *setting);
/* system_unused.c: warns of settings that are cut to a bound; of what a type's fields contradict, when it is registered; and of settings
 * that only types can use, when the node starts and no type does. */
void system_log_bounds(struct sherd_system *system);
void system_log_type(struct sherd_system *system, const struct sherd_entity_type *type);
void system_log_unused(struct sherd_system *system);

#endif
