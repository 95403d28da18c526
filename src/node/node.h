/* Declares a node: one control machine and N lane machines, built from the cores, run by a driver
 * (host/ or sim/).
 *
 * A machine is single-threaded. The driver passes inputs with the time, gives it a turn, and
 * carries out its requests. Machine 0 is control, 1..lanes are the lanes. After node_new, machines
 * share only constant settings and exchange mail, which the driver carries.
 *
 *  inputs   machine_mail, machine_accepted, machine_bytes, machine_connected, ... machine_stored
 *  then     machine_turn(now, wall)          timers, cores, actors
 *  outputs  machine_next_request, machine_outgoing + machine_sent (mail), machine_pending +
 *           machine_wrote (bytes), trace. */
#ifndef SHERD_NODE_NODE_H
#define SHERD_NODE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/manage.h>
#include <sherd/sherd.h>

#include "actor/passivation/strategy.h"
#include "actor/services.h"
#include "base/address.h"
#include "base/bytes.h"
#include "base/figures.h"
#include "base/limits.h"
#include "base/outbox.h"
#include "base/probe.h"
#include "base/trace.h"
#include "ddata/replicator.h"
#include "lease/request.h"
#include "resolver/resolver.h"
#include "shard/allocation.h"
#include "shard/remember.h"

struct node;
struct machine;
struct journal_request; /* journal/backend.h */
struct job; /* actor/job.h */
struct durable_request; /* ddata/durable.h */

/* Nodes of the cluster that a driver has found: in an order that all nodes share, none twice, at
 * most MEMBER_SEEDS_MAX. One object on the heap. */
struct seed_list {
    uint32_t count; /* 0: the search failed */
    struct address addresses[];
};

/* A section of akka.cluster.sharding.passivation, which types may choose by name. */
struct passivation_strategy {
    const char *name;
    uint64_t idle_after; /* ns; UINT64_MAX: never */
    uint64_t interval;   /* between two looks for idle entities; 0: an eighth of the time */
    uint32_t active_entity_limit; /* of a region; 0: none */
    uint64_t active_byte_limit;   /* likewise */
    struct passivation_settings choice; /* no policy: there are no limits */
};

/* A setting of the configuration, as looks show it. */
struct node_setting {
    const char *key;    /* lent for the node's life, as the others */
    const char *value;
    const char *source; /* a file, a variable, or the caller */
};

/* The settings of a node. node_new copies texts and arrays. Durations in ns; 0 = Akka's default. */
struct node_settings {
    /* For looks: iterates over the settings of the configuration, from *at = 0. Null: none can be seen.
     * Called by control. */
    bool (*next_setting)(const void *configuration, uint32_t *at, struct node_setting *setting);
    const void *configuration;
    uint32_t timeline_max; /* decisions that looks show; 0: TIMELINE_MAX */
    struct identity identity; /* protocol, system, canonical address, uid (random, not 0) */
    const struct address *seed_nodes;
    uint32_t seed_node_count;
    bool finds_seeds; /* by DRIVER_SEEDS, instead of seed_nodes */
    bool founds_never; /* finds_seeds: it founds no cluster */
    uint32_t required_seeds; /* finds_seeds: so many must be found before it founds a cluster */
    /* finds_seeds: see member_settings; a margin of 0 is none */
    uint64_t stable_margin, find_interval, find_backoff;
    bool alone; /* joins itself if there are no seed nodes */
    const char *const *roles;
    uint32_t role_count;
    const char *data_center; /* null or blank: "default" */
    const char *app_version;
    /* written into the journal at first use; another cluster's journal is refused. Default: the
     * system's name */
    const char *cluster_id;
    const char *join_config; /* configuration that a join compares, as text */
    /* Identity of the journal (journal/backend.h), which all nodes of the data center must have; null:
     * not compared. At most STORE_ID_MAX - 1 bytes, hexadecimal digits and '-'. */
    const char *store_id;
    const char *store_name; /* the journal in log lines, as "sqlite /var/lib/a.db"; may be null */
    uint32_t lanes;
    uint64_t seed; /* of all random streams */
    uint64_t now;  /* monotonic ns at creation */
    enum trace_level trace_level;
    bool probes; /* leave facts for checkers */
    struct service_defaults services; /* singletons and daemons of actors; zero: Akka's */
    const struct sherd_entity_type *types;
    uint32_t type_count;
    uint32_t late_types_max; /* types that node_prepare_type may add */
    const struct sherd_format *formats; /* of messages between actors here and on JVM nodes */
    uint32_t format_count;              /* at most FORMATS_MAX */
    uint64_t (*clock)(void); /* monotonic ns, to report slow handlers; null in simulation */
    uint64_t slow_handler;   /* from this duration on; UINT64_MAX: none */

    /* akka.cluster.distributed-data */
    struct replicator_settings data;
    const char *data_name; /* of the replicator; null: Akka's */
    const char *data_role; /* only its members have replicas; null or empty: all */
    const char *const *durable_keys; /* exact, or with a final "*" all that begin so */
    uint32_t durable_key_count;
    const struct replicator_expiry *data_expiries; /* copied */
    uint32_t data_expiry_count;

    /* akka.cluster */
    const char *const *minimum_roles; /* roles, and their minimums of members */
    const uint32_t *role_minimums;
    uint32_t role_minimum_count;
    bool accept_incompatible; /* joins although the configuration differs */
    bool log_info_off; /* membership logs at debug, except for failures */
    bool log_verbose; /* otherwise: each member's changes at info, not debug */
    uint64_t join_give_up; /* without a cluster by then, ends with SHERD_EJOIN; 0 = never */
    uint64_t tombstone_ttl;
    double different_view_probability;
    uint32_t different_view_reduce, heartbeat_samples_max;
    uint64_t publish_stats_interval; /* 0: no log lines on gossip */
    uint64_t gossip_interval, leader_actions_interval, heartbeat_interval, acceptable_heartbeat_pause, min_std_deviation,
        first_heartbeat_estimate, unreachable_reaper_interval, seed_node_timeout, retry_unsuccessful_join_after, weakly_up_after,
        periodic_initial_delay;
    bool weakly_up_off;
    double phi_threshold;
    uint32_t monitored_by_nr_of_members, min_nr_of_members;
    uint32_t cross_connections; /* data centers: see member_settings */
    double cross_gossip_probability;
    uint64_t cross_heartbeat_interval, cross_heartbeat_expected, cross_heartbeat_pause;

    bool resolves;
    struct resolver_settings resolver;
    const char *resolver_role; /* only its members count; null: all */
    const char *lease_name; /* of lease-majority; null or blank: "<system>-akka-sbr" */
    enum lease_provider_kind lease_provider; /* of lease-majority */
    uint64_t lease_ttl, lease_interval, lease_patience; /* 0: the defaults of lease/lease.h */
    /* frames of a departed member are accepted for so long; 0: DEPARTED_MS */
    uint64_t quarantine_removed_after;
    /* from the removal of a downed node to a start of its work elsewhere */
    uint64_t down_removal_margin;

    /* akka.cluster.sharding */
    bool verbose_sharding; /* logs each message to an entity at debug */
    uint64_t coordinator_backoff; /* longest pause after failed reads and writes of a coordinator's state; 0: Akka's */
    const char *guardian; /* akka.cluster.sharding.guardian-name; null: Akka's */
    /* Only members with this role, too, run coordinators, the same on all nodes; null or blank: all that
     * host the type. */
    const char *coordinator_role;
    uint64_t coordinator_retry; /* akka.cluster.sharding.coordinator-singleton; 0: Akka's */
    uint32_t coordinator_retries;
    const char *sharding_role; /* of types without one; null or blank: every node hosts them */
#define BUFFER_NONE UINT32_MAX /* buffer_size: no message waits */
    uint32_t number_of_shards, buffer_size, rebalance_absolute_limit, rebalance_threshold, max_simultaneous_rebalance;
    enum allocation_kind allocation; /* of types that do not say; not ALLOCATION_CUSTOM */
    uint32_t hashing_limit; /* consistent hashing: shards that move in one round; 0: all */
    double load_bound; /* consistent hashing: of a region, in averages; below 1: none */
    uint64_t locations_timeout; /* of a read of external locations; 0: Akka's */
    double rebalance_relative_limit; /* 0: Akka's */
#define RELATIVE_NONE (-1.0) /* zero: one shard */
    struct replicator_settings sharding_data; /* max_delta_elements 0: all as in Akka */
    /* replicas of a coordinator's state beyond a majority; 0: Akka's */
    uint32_t state_write_plus, state_read_plus;
#define STATE_NONE (UINT32_MAX - 1) /* a majority alone */
#define STATE_ALL UINT32_MAX
    uint32_t state_majority_min; /* minimum of that majority; 0: Akka's */
    uint64_t waiting_for_state_timeout, updating_state_timeout;
    uint64_t retry_interval, handoff_timeout, shard_start_timeout, rebalance_interval, passivate_idle_after, shutdown_region_timeout;
    uint64_t region_query_timeout; /* 0: Akka's 3 s */

    uint64_t passivate_interval; /* between two looks for idle entities; 0: an eighth of the time */
    /* limits of a region's active entities and their bytes, for types that do not say; 0: none */
    uint32_t active_entity_limit;
    uint64_t active_byte_limit;
    struct passivation_settings passivation; /* no policy: that of the strategy "default-strategy" */
    const struct passivation_strategy *strategies; /* lent; by name, for types that choose one */
    uint32_t strategy_count;

    /* of types that do not say, and of all coordinators; NONE: no leases */
    enum lease_provider_kind shard_lease, coordinator_lease;
    enum lease_provider_kind singleton_lease; /* as services.singleton_lease; only the driver reads it */
    uint64_t shard_lease_retry, coordinator_lease_retry;

    bool remember_entities; /* of types that do not say */
    bool remembers_in_data; /* in distributed data, not in the journal */
    /* of sharding's data, while a type remembers there; as durable_keys */
    const char *const *shard_durable_keys;
    uint32_t shard_durable_key_count;
    struct remember_options remember; /* without options of one type */
    uint64_t remembered_kept; /* journal: a shard's records before its newest base that stay */
    uint64_t entity_restart_backoff;

    /* akka.coordinated-shutdown; 0: 5 s for tasks, the node's own for its steps */
    uint64_t phase_timeouts[SHERD_PHASE_COUNT];
    bool phases_off[SHERD_PHASE_COUNT]; /* skipped: tasks, and handing off shards */
    bool tasks_unless_downed; /* a downed node runs no tasks */
    /* a late task stops the shutdown; only before shards are handed off */
    bool phases_fatal[SHERD_PHASE_COUNT];

    /* types that must be registered before the node is ready, once; lent */
    const char *const *checked_types;
    uint32_t checked_type_count;
    uint64_t checked_for; /* ns after the node was up; then they are not awaited any more; 0: always */

    uint32_t recoveries_max; /* at a time, shared out to the lanes; 0: RECOVERIES_NODE */
    uint32_t long_replay; /* a recovery of so many events is reported; 0: LONG_REPLAY_EVENTS */
    uint32_t snapshot_max; /* bytes of an image; 0: JOURNAL_SNAPSHOT_SIZE_MAX */
#define LONG_REPLAY_NONE UINT32_MAX
    /* sherd.delivery; 0: as in struct delivery_settings */
    uint64_t delivery_repeat, delivery_repeat_max;
    uint64_t delivery_give_up, delivery_forget;
    uint32_t commands_max;
    uint64_t commands_age;
    bool terms_by_clock; /* journal in memory: the wall clock replaces former terms */

    /* akka.remote.artery */
    /* bytes of a frame from an unknown sender; 0: INLET_UNKNOWN_SIZE_MAX. At most FRAME_SIZE_MAX */
    uint32_t unknown_size_max;
    uint64_t preamble_within, handshake_within; /* of an accepted connection */
    uint32_t outbound_queue, outbound_control_queue;
    uint32_t strangers_max; /* 0: STRANGERS_MAX */
    const char *const *large_destinations; /* see node/machine/large.h; at most LARGE_DESTINATIONS_MAX */
    uint32_t large_destination_count;
    uint32_t large_frame_size; /* bytes; 0: FRAME_LARGE_SIZE */
    uint32_t outbound_large_queue; /* 0: LINK_LARGE_FRAMES */
};

/* Returns null, with a text in error (size bytes), if a setting is not valid. */
struct node *node_new(const struct node_settings *settings, char *error,
                      size_t size);
/* Ends the node: releases entities, and ends waiting messages as SHERD_REASON_SHUTTING_DOWN.
 * Before, the driver delivers all mail (machine_mail). After it, only statuses, probes, trace and
 * node_free are allowed. */
void node_close(struct node *node);
/* Whether a key is durable, so that the node uses DRIVER_DURABLE. */
bool node_is_durable(const struct node *node);
/* Closes the node, too; its mail and requests must have been freed or returned. */
void node_free(struct node *node);
struct machine *node_machine(struct node *node, uint32_t index); /* lent; index 0..lanes */
/* Chooses the machine for an accepted connection by its first bytes: the preamble and a handshake.
 * The driver looks at them without taking them (MSG_PEEK). Connections of one sending lane of a
 * peer go to one machine, so order holds over a reconnect; those of its control go to control.
 * Constant: any thread. */
enum node_accept {
    NODE_ACCEPT,  /* call machine_accepted, then pass all bytes from the first on */
    NODE_MORE,
    NODE_REFUSE   /* *why is the reason */
};
enum node_accept node_accepts(const struct node *node, struct slice peeked,
                              uint32_t *machine, const char **why);

/* ---- mail ---- */

/* 64 bytes, opaque to the driver and copied by it. The holder owns what it points to. */
struct mail {
    uint64_t words[8];
};

/* Returns the mail for machine `to`: an array, lent until the next call on this machine. The driver
 * takes some from the front, reports how many, and keeps their order. */
uint32_t machine_outgoing(struct machine *machine, uint32_t to,
                          const struct mail **mail);
void machine_sent(struct machine *machine, uint32_t to, uint32_t count);
/* Takes mail in the order in which its sender sent it. */
void machine_mail(struct machine *machine, uint64_t now,
                  const struct mail *mail, uint32_t count);
void mail_free(struct mail *mail); /* at shutdown: frees what undeliverable mail points to */

/* An actor for node_mail_spawn. All of it is lent, except functions and the behavior's name. */
struct node_spawn {
    const struct sherd_behavior *behavior;
    const char *name; /* null: none */
    struct sherd_bytes init;
    struct sherd_ref ref; /* by machine_reserve of the receiver; nobody: the lane makes one */
    /* Called with init if the actor never starts, on any thread; null: nothing. */
    void (*unstarted)(struct sherd_bytes init);
};

/* Any thread may make this mail, for the inbox of any lane. False: no actor may have that name. */
bool node_mail_spawn(const struct node_spawn *spawn, struct mail *mail);
bool node_mail_tell(const struct node *node, struct sherd_ref to, uint32_t msg,
                    struct sherd_bytes body, struct mail *mail,
                    uint32_t *to_machine); /* false: too large or nobody */
/* Wakes an actor of this node that acts for threads of the program (actors_wake). Its callers limit
 * the number of wakes. */
struct mail node_mail_wake(struct sherd_ref actor, uint32_t *to_machine);
/* How a client's requests reach their receiver. Constant: any thread. */
struct node_receiver {
    const char *type; /* the name for sends, lent for the node's life; null: to an actor */
    uint32_t lane;    /* where they start: the same for all requests to it */
};

/* Finds it for an entity. False: no such type for that data center. */
bool node_entity_receiver(const struct node *node,
                          const struct sherd_entity_ref *ref,
                          struct node_receiver *receiver);
/* Finds the entity of a message to the region of a type, as tells name the type. is_handled false: the
 * extractor does not handle it. False: no such type. */
bool node_region_receiver(const struct node *node, const char *type,
                          struct sherd_extracted *message,
                          struct node_receiver *receiver, bool *is_handled);
struct node_receiver node_actor_receiver(const struct node *node,
                                         struct sherd_ref actor);
/* Whether a body is small enough; to: for an actor. */
bool node_takes_body(const struct node *node,
                     const struct node_receiver *receiver, struct sherd_ref to,
                     size_t size);
/* The name is the one that tells use. */
bool node_has_type(const struct node *node, const char *type);
bool node_mail_entity_tell(const struct node *node, const char *type,
                           const char *id, uint32_t msg,
                           struct sherd_bytes body, struct mail *mail,
                           uint32_t *to_machine); /* false: unknown type, empty id, too large */
enum node_command {
    NODE_LEAVE,
    NODE_JOIN,
    NODE_LEAVE_MEMBER, /* the one at the address */
    NODE_DOWN,
    NODE_PREPARE_SHUTDOWN, /* of the whole cluster */
};
/* For machine 0; address: null for PREPARE_SHUTDOWN; not for LEAVE. */
struct mail node_mail_command(enum node_command command,
                              const struct address *address);

/* For machine 0: changes the limits of a region of this node; 0: none. False: unknown type. */
bool node_mail_active_limit(const struct node *node, const char *type,
                            uint32_t entities, uint64_t bytes, struct mail *mail);

/* For machine 0: a later answer to a coordinator here. region: the choice's address, or null. At
 * most ALLOCATION_MOVES_MAX shards. */
struct sherd_allocation_choice;
struct mail node_mail_allocation(const struct sherd_allocation_choice *choice,
                                 const struct address *region);

/* For machine 0: begins with that phase, at the latest cluster-leave. */
struct mail node_mail_leave(enum sherd_phase from);

/* The node fills the fields of its machine, and returns it by DRIVER_STATUS. */
struct status_part {
    uint32_t machine;
    bool is_brief; /* from the caller: no list of members */
    struct sherd_status status; /* arrays malloc'ed; free with sherd_status_free */
    bool wants_figures;         /* from the caller */
    struct machine_figures figures; /* if they are wanted */
    void *driver;               /* the driver's own */
};
struct mail node_mail_status(struct status_part *part); /* given until DRIVER_STATUS returns it */

/* A program's question about a type's regions. */
enum node_query {
    NODE_REGION_STATE, /* this node's, with the ids of entities */
    NODE_REGION_STATS,
    NODE_CLUSTER_STATS,
    NODE_REGIONS,
    NODE_VIEW /* of the membership, with no type: node_mail_view */
};
struct query_part {
    enum node_query query;
    uint64_t timeout; /* ns; 0: the settings' */
    int result;       /* 0, or SHERD_E...; then regions is empty */
    struct sherd_regions regions; /* regions.memory is of mem_alloc */
    struct sherd_cluster_view view; /* of NODE_VIEW; likewise */
    void *driver;     /* the driver's own */
};
uint64_t node_query_timeout(const struct node_settings *settings, enum node_query kind); /* ns */
/* For machine 0; given until DRIVER_QUERY returns it. False: unknown type. */
bool node_mail_query(const struct node *node, const char *type, struct query_part *part,
                     struct mail *mail);
/* The same for a view. */
struct mail node_mail_view(struct query_part *part);
void query_part_free(struct query_part *part); /* with its answer; null is fine */

/* For machine 0: a look of a program, given until DRIVER_LOOK returns it (node/mail/look_call.h). */
struct look_call;
struct mail node_mail_look(struct look_call *call);
/* For machine 0: ends it early. A look that has ended is ignored. */
struct mail node_mail_look_cancel(uint64_t number);

/* For machine 0: an operation of a program, given until DRIVER_OPERATE returns it
 * (node/mail/operate_call.h). */
struct operate_call;
struct mail node_mail_operate(struct operate_call *call);

/* Prepares a type for a node that runs: gives it a place, which is used once node_mail_type_call adds
 * it. The caller has checked it (entity_type.h), and makes one such pair of calls at a time, whose
 * mail keeps their order. At most late_types_max. Returns its index. */
uint32_t node_prepare_type(struct node *node, const struct sherd_entity_type *type);
enum type_call {
    TYPE_ADD,        /* returned when actors and threads can use the type */
    TYPE_STOP_REGION /* shuts its region down; returned when the region has stopped */
};
struct type_part {
    enum type_call call;
    uint32_t type; /* index */
    int result;    /* 0, or SHERD_ESTATE: the node shuts down */
    void *driver;  /* the driver's own */
};
/* For machine 0; given until DRIVER_TYPE returns it. */
struct mail node_mail_type_call(struct type_part *part);
/* Returns the index of a type that can be used, or ACTOR_TYPES_MAX. */
uint32_t node_type_index(const struct node *node, const char *type);

/* ---- a machine's inputs ---- */

/* Comes before all other inputs. */
void machine_start(struct machine *machine, uint64_t now, int64_t wall_ms);

struct arrival {
    uint64_t conn;  /* of the driver, not 0, unique within the machine */
    /* its rank among the node's connections, from 1; later ones are higher; 0: not known */
    uint64_t order;
    const char *remote; /* for the log; copied */
};

/* The connection's bytes follow, from the preamble on. */
void machine_accepted(struct machine *machine, uint64_t now,
                      const struct arrival *arrival);
/* Called before the first bytes: the peer has proved its identity. Then only nodes at hosts that
 * the proof covers may use the connection: another's handshake closes it, and other frames of
 * others are refused. `covers` is called within machine_bytes; proof is lent until the connection
 * is closed. */
struct voucher {
    bool (*covers)(const void *proof, const char *host);
    const void *proof;
};
void machine_vouched(struct machine *machine, uint64_t conn,
                     const struct voucher *voucher); /* copied */
void machine_bytes(struct machine *machine, uint64_t now, uint64_t conn,
                   struct slice bytes); /* lent */
void machine_conn_closed(struct machine *machine, uint64_t now, uint64_t conn);
/* Returns where a machine keeps an accepted connection; valid until machine_conn_closed, or until
 * its DRIVER_CLOSE_CONN. It is for a driver with too many nodes for a cache, which carries out
 * requests before it passes bytes. It prefetches this memory, and then calls machine_bytes_at. */
struct inlet_slot;
struct inlet_slot *machine_place(const struct machine *machine, uint64_t conn);
/* Prefetches memory for a turn, or for bytes and the turn after them. Each step uses the one
 * before: call it with 0 to MACHINE_FETCH_STEPS - 1, some time apart. */
#define MACHINE_FETCH_STEPS 4
void machine_fetch(const struct machine *machine, uint32_t step);
void machine_fetch_place(const struct inlet_slot *place, uint32_t step);
void machine_bytes_at(struct machine *machine, uint64_t now,
                      struct inlet_slot *place, struct slice bytes);

/* Reports the result of DRIVER_CONNECT, or the break of an open link. `why`: a short text. */
void machine_connected(struct machine *machine, uint64_t now, uint64_t link);
void machine_failed(struct machine *machine, uint64_t now, uint64_t link,
                    const char *why);

/* Returns bytes to write on an open link, lent until the next call on this machine; false if there
 * are none. */
bool machine_pending(struct machine *machine, uint64_t link,
                     struct slice *bytes);
void machine_wrote(struct machine *machine, uint64_t now, uint64_t link,
                   size_t size);

/* Takes a finished journal request, given. */
void machine_stored(struct machine *machine, uint64_t now,
                    struct journal_request *request);

/* Takes an answered lease request, given. Control only. */
void machine_leased(struct machine *machine, uint64_t now,
                    struct lease_request *request);

/* The provider has lost the lease of this node, and what is bound to it. Control only. */
void machine_lease_forgotten(struct machine *machine, uint64_t now,
                             enum lease_provider_kind provider, enum lease_use use);

/* Takes a finished request of durable keys, given. Control only. */
void machine_durable(struct machine *machine, uint64_t now,
                     struct durable_request *request);

/* Takes the result of DRIVER_SEEDS, given. Control only. */
void machine_found(struct machine *machine, uint64_t now,
                   struct seed_list *list);

/* Takes a job after its function, given. For the machine that it names. */
void machine_job_done(struct machine *machine, uint64_t now, struct job *job);

/* A lane has not ended a turn for long, which began at `since`; 0: it goes on. Control only. */
void machine_lane_stalled(struct machine *machine, uint64_t now, uint32_t lane, uint64_t since);

/* Reserves the ref of an actor that a thread of the program will spawn (node_mail_spawn). The
 * result is nobody if the lane is at a limit, and for control. */
struct sherd_ref machine_reserve(struct machine *machine);

/* Does everything that is due. True: more can be done at once; call it again after a look at the
 * sockets. Bounded: about 200 us if handlers are short. */
bool machine_turn(struct machine *machine, uint64_t now, int64_t wall_ms);
uint64_t machine_deadline(const struct machine *machine); /* ns, NEVER if none */

struct member;

/* For checkers: returns machine 0's membership between two turns, lent until the next; null: the
 * node is out, or ends. */
const struct member *machine_membership(const struct machine *machine);
/* For checkers: returns machine 0's distributed data between two turns, lent until the next; null:
 * not used yet. */
const struct replicator *machine_data(const struct machine *machine);
/* Likewise returns sharding's data of types without a role. */
const struct replicator *machine_shard_data(const struct machine *machine);

/* ---- a machine's outputs ---- */

enum driver_request_kind {
    /* link, address: open TCP (time-out 5 s), then machine_connected or machine_failed */
    DRIVER_CONNECT,
    DRIVER_CLOSE_LINK, /* link: close it; no machine_failed follows */
    DRIVER_CLOSE_CONN, /* conn: close it; no machine_conn_closed follows */
    DRIVER_WRITE,      /* link: machine_pending has bytes; once until that has returned false */
    DRIVER_STORE,      /* journal: to the journal's backend, then machine_stored */
    /* lease: to its lease provider, then machine_leased; at most LEASE_REQUESTS_MAX at a time */
    DRIVER_LEASE,
    DRIVER_JOB,        /* job: to a thread of the pool, then machine_job_done; in any order */
    /* durable: to the file of durable keys, then machine_durable; one at a time, LOAD first */
    DRIVER_DURABLE,
    DRIVER_SEEDS,      /* find nodes of the cluster, then machine_found; at most one at a time */
    DRIVER_STATUS,     /* part: given back */
    DRIVER_QUERY,      /* query: given back, control only */
    DRIVER_TYPE,       /* type: given back, control only */
    DRIVER_LOOK,       /* look: given back with its page, control only */
    DRIVER_OPERATE,    /* operate: given back as it ended, control only */
    DRIVER_UP,         /* control: the node is up */
    DRIVER_READY,      /* control: is_ready or readiness has changed; at first false */
    DRIVER_REMOVED,    /* control: the node is no member any more */
    /* control: the node has ended; error: 0 or SHERD_E...; the driver stops the machines */
    DRIVER_END
};

/* The parts of a node's readiness. Zero is that of a node that starts. */
struct node_readiness {
    bool is_member;   /* it has a status of its own: */
    enum sherd_member_status status;
    bool is_leaving;  /* it shuts down, or the whole cluster does */
    bool has_types;   /* the checked types are registered */
};

/* A request to the driver. Fields that its kind does not name mean nothing. */
struct driver_request {
    enum driver_request_kind kind;
    uint64_t link; /* an outgoing link, not 0 */
    uint64_t conn;
    struct address address;
    uint32_t stream; /* of DRIVER_CONNECT, as in the preamble: 1 control, 2 ordinary */
    struct journal_request *journal;
    struct lease_request *lease;
    struct job *job;
    struct durable_request *durable;
    struct status_part *part;
    struct query_part *query;
    struct type_part *type;
    struct look_call *look;
    struct operate_call *operate;
    bool is_ready; /* up, and not leaving */
    struct node_readiness readiness; /* of DRIVER_READY */
    int error;
};

/* Returns requests in order; false: none is left. */
bool machine_next_request(struct machine *machine, struct driver_request *request);
struct trace *machine_trace(struct machine *machine); /* lent */
/* The probe's bytes are lent until the next call on the machine. False: none is left. */
bool machine_next_probe(struct machine *machine, struct probe *probe);

#endif
