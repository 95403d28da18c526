/* A node: one control machine and N lane machines, wired from the cores, run by a driver.
 *
 * A machine is single-threaded: the driver calls it from one thread at a time, tells it what happened and what time it is,
 * then gives it a turn, and carries out what it wants. Machine 0 is control, 1..lanes are the lanes. Machines share nothing
 * after node_new but constant settings; they talk by mail, which the driver carries. Two drivers: host/ and sim/.
 *
 *   inputs   machine_mail, machine_accepted, machine_bytes, machine_connected, ... machine_stored
 *   then     machine_turn(now, wall)          timers, cores, actors
 *   outputs  machine_next_want, machine_outgoing + machine_sent (mail), machine_pending + machine_wrote (bytes), trace */
#ifndef SHERD_NODE_NODE_H
#define SHERD_NODE_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/sherd.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "base/outbox.h"
#include "base/probe.h"
#include "base/trace.h"
#include "ddata/replicator.h"
#include "resolver/resolver.h"
#include "shard/remember.h"

struct node;
struct machine;
struct journal_request; /* journal/backend.h */
struct lease_request; /* lease/request.h */
struct job; /* actor/job.h */
struct durable_request; /* ddata/durable.h */

/* Where nodes of the cluster may be, as a driver has found out: in the order that all nodes see, none twice, at most
 * MEMBER_SEEDS_MAX. One object from the heap. */
struct seed_list {
    uint32_t count; /* 0: it could not be found out */
    struct address addresses[];
};

/* Everything a node is told at birth. Texts and arrays are copied by node_new. Durations in ns, 0 = the reference default. */
struct node_settings {
    struct identity identity; /* protocol, system, canonical address, uid (random, not 0) */
    const struct address *seed_nodes;
    uint32_t seed_node_count;
    bool finds_seeds; /* they are asked for by WANT_SEEDS; none are given above */
    bool founds_never; /* finds_seeds: founds no cluster */
    uint32_t required_seeds; /* finds_seeds: so many are found before a cluster is founded */
    uint64_t stable_margin, find_interval, find_backoff; /* finds_seeds: see member_settings; a margin of 0 is none */
    bool alone; /* join itself when there are no seed nodes */
    const char *const *roles;
    uint32_t role_count;
    const char *data_center; /* null or blank: "default" */
    const char *app_version;
    const char *cluster_id; /* written into the journal at first use; another cluster's journal is refused. Default: the system's name */
    const char *join_config; /* text of the configuration that a join is checked with (wire 5.3) */
    uint32_t lanes;
    uint64_t seed; /* of every random stream */
    uint64_t now;  /* monotonic ns at birth */
    enum trace_level trace_level;
    bool probes; /* leave facts for checkers: machine_next_probe */
    const struct sherd_entity_type *types;
    uint32_t type_count;
    const struct sherd_format *formats; /* of messages between actors here and on JVM nodes */
    uint32_t format_count;              /* at most FORMATS_MAX */
    uint64_t (*clock)(void); /* monotonic ns for reporting slow handlers; null in simulation */
    uint64_t slow_handler;   /* of which duration on they are; UINT64_MAX: none is */

    /* akka.cluster.distributed-data */
    struct replicator_settings data;
    const char *data_name; /* of the replicator; null: the reference's */
    const char *data_role; /* only members with it have replicas; null or empty: all */
    const char *const *durable_keys; /* kept by WANT_DURABLE; exact, or with a "*" at the end all that begin so */
    uint32_t durable_key_count;
    const struct replicator_expiry *data_expiries; /* copied */
    uint32_t data_expiry_count;

    /* akka.cluster */
    const char *const *minimum_roles; /* roles with a minimum of members, and that minimum */
    const uint32_t *role_minimums;
    uint32_t role_minimum_count;
    bool accept_incompatible; /* join although the configuration differs */
    bool log_info_off; /* membership is traced as debugging, but for what goes wrong */
    bool log_verbose; /* unless that: each member's changes are traced as information, not as debugging */
    uint64_t join_give_up; /* no cluster found in this time: the node ends with SHERD_EJOIN; 0 = never */
    uint64_t tombstone_ttl;
    double different_view_probability;
    uint32_t different_view_reduce, heartbeat_samples_max;
    uint64_t publish_stats_interval; /* 0: the log has no lines on gossip */
    uint64_t gossip_interval, leader_actions_interval, heartbeat_interval, acceptable_heartbeat_pause, min_std_deviation,
        first_heartbeat_estimate, unreachable_reaper_interval, seed_node_timeout, retry_unsuccessful_join_after, weakly_up_after,
        periodic_initial_delay;
    bool weakly_up_off;
    double phi_threshold;
    uint32_t monitored_by_nr_of_members, min_nr_of_members;
    uint32_t cross_connections; /* multi-data-center: see member_settings */
    double cross_gossip_probability;
    uint64_t cross_heartbeat_interval, cross_heartbeat_expected, cross_heartbeat_pause;

    bool resolves; /* the split brain resolver is on */
    struct resolver_settings resolver;
    const char *resolver_role; /* only members with it count; null: all */
    const char *lease_name; /* of lease-majority; null or blank: "<system>-akka-sbr" */
    uint64_t lease_ttl, lease_interval, lease_patience; /* 0: the defaults of lease/lease.h */
    uint64_t quarantine_removed_after; /* who left by itself is heard for so long; 0: PARTED_MS */
    uint64_t down_removal_margin; /* from the removal of a node that was downed to what ran there starting elsewhere */

    /* akka.cluster.sharding */
    const char *sharding_role; /* of types that name none; null or blank: every node hosts them */
    uint32_t number_of_shards, buffer_size, rebalance_absolute_limit, rebalance_threshold, max_simultaneous_rebalance;
    double rebalance_relative_limit; /* 0: the reference's */
#define RELATIVE_NONE (-1.0) /* a share of none, which is one shard */
    struct replicator_settings sharding_data; /* of what it keeps; max_delta_elements 0: the reference's, all of them */
    uint32_t state_write_plus, state_read_plus; /* replicas of a coordinator's state beyond a majority; 0: the reference's */
#define STATE_NONE (UINT32_MAX - 1) /* a majority */
#define STATE_ALL UINT32_MAX
    uint32_t state_majority_min; /* of which at least so many; 0: the reference's */
    uint64_t waiting_for_state_timeout, updating_state_timeout;
    uint64_t retry_interval, handoff_timeout, shard_start_timeout, rebalance_interval, passivate_idle_after, shutdown_region_timeout;

    bool remember_entities; /* of types that do not say */
    bool remembers_in_data; /* they are kept in distributed data, not in the journal */
    const char *const *shard_durable_keys; /* of sharding's data, kept by WANT_DURABLE while a type remembers there; as durable_keys */
    uint32_t shard_durable_key_count;
    struct remember_options remember; /* without what is of one type */
    uint64_t remembered_kept; /* in the journal: records of a shard's before its newest base that are not deleted */
    uint64_t entity_restart_backoff;

    uint64_t phase_timeouts[SHERD_PHASE_COUNT]; /* akka.coordinated-shutdown; 0: 5 s for tasks of actors, the node's own for its steps */
    bool phases_off[SHERD_PHASE_COUNT]; /* left out; of those with tasks of actors, and of handing shards off */
    bool tasks_unless_downed; /* a node that is downed ends without tasks of actors */
    bool phases_fatal[SHERD_PHASE_COUNT]; /* the graceful end stops where a task is late; of those before shards are handed off */

    bool terms_by_clock; /* the journal ends with the process (memory): the wall clock stands for former terms */

    /* artery */
    uint32_t unknown_size_max; /* bytes of a frame from who is not accepted yet; 0: INLET_UNKNOWN_SIZE_MAX. No more than FRAME_SIZE_MAX */
    uint64_t preamble_within, handshake_within; /* of an accepted connection */
    uint32_t outbound_queue, outbound_control_queue;
    const char *const *large_destinations; /* see node/large.h; at most LARGE_DESTINATIONS_MAX */
    uint32_t large_destination_count;
    uint32_t large_frame_size; /* bytes of a frame on the large stream; 0: FRAME_LARGE_SIZE */
    uint32_t outbound_large_queue; /* 0: LINK_LARGE_FRAMES */
};

/* Builds the machines. Returns null with a text in error (size bytes) when a setting is not valid. */
struct node *node_new(const struct node_settings *settings, char *error,
                      size_t size);
/* The end of the node as far as it can be seen from outside: entities are released, every message that still waits ends as
 * SHERD_REASON_SHUTTING_DOWN. The driver has handed over the mail under way (machine_mail); after it only statuses are asked,
 * probes and trace drained, and node_free called. */
void node_close(struct node *node);
/* Is a key of it durable? Then it wants WANT_DURABLE. */
bool node_is_durable(const struct node *node);
void node_free(struct node *node); /* closes it, frees its machines; every mail and request of it must have been freed or returned */
struct machine *node_machine(struct node *node, uint32_t index); /* lent; index 0..lanes */
/* Which machine shall own an accepted connection, from its first bytes, which the driver looks at without taking them
 * (MSG_PEEK): the preamble and the first frame, a handshake. Connections of one sending lane of a peer come to one machine, so
 * that order holds over a reconnect; those of a peer's control to control. Constant: any thread. */
enum node_accept {
    NODE_ACCEPT,  /* *machine is set: machine_accepted, then all bytes from the first on */
    NODE_MORE,    /* not enough bytes yet */
    NODE_REFUSE   /* not a connection for us; *why says so */
};
enum node_accept node_accepts(const struct node *node, struct slice peeked,
                              uint32_t *machine, const char **why);

/* ---- mail ---- */

/* 64 bytes, opaque to the driver, copied by it. What it points to belongs to whoever holds the mail. */
struct mail {
    uint64_t words[8];
};

/* Mail waiting to be carried to machine `to`: an array, lent until the next call on this machine; the driver takes the first
 * ones it has room for and says how many. Order to one machine must be kept. */
uint32_t machine_outgoing(struct machine *machine, uint32_t to,
                          const struct mail **mail);
void machine_sent(struct machine *machine, uint32_t to, uint32_t count);
/* Hands over mail that arrived, in the order in which its sender sent it. */
void machine_mail(struct machine *machine, uint64_t now,
                  const struct mail *mail, uint32_t count);
void mail_free(struct mail *mail); /* frees what undeliverable mail points to (shutdown only) */

/* Mail from foreign threads: made there, given to one machine's inbox by the driver. Any thread. to_machine gets its index. */
struct mail node_mail_spawn(const struct node *node,
                            const struct sherd_behavior *behavior,
                            struct sherd_bytes init, uint32_t *to_machine);
bool node_mail_tell(const struct node *node, struct sherd_ref to, uint32_t msg,
                    struct sherd_bytes body, struct mail *mail,
                    uint32_t *to_machine); /* false: too large or nobody */
bool node_has_type(const struct node *node, const char *type); /* by the name that it is told by */
bool node_mail_entity_tell(const struct node *node, const char *type,
                           const char *id, uint32_t msg,
                           struct sherd_bytes body, struct mail *mail,
                           uint32_t *to_machine); /* false: unknown type, empty id, too large */
enum node_command {
    NODE_LEAVE,
    NODE_JOIN,
    NODE_LEAVE_MEMBER, /* the one at the address is told to leave */
    NODE_DOWN,
    NODE_PREPARE_SHUTDOWN, /* of the whole cluster */
};
struct mail node_mail_command(enum node_command command,
                              const struct address *address); /* for machine 0; address is null for PREPARE_SHUTDOWN; LEAVE by node_mail_leave */

struct mail node_mail_leave(enum sherd_phase from); /* for machine 0: leave, beginning with that phase, cluster-leave at the latest */

/* One machine's part of a status; the node fills the fields of the machine it is given to and returns it as WANT_STATUS. */
struct status_part {
    uint32_t machine;
    bool is_brief; /* set by who asks: the list of members is left out */
    struct sherd_status status; /* arrays malloc'ed; free with sherd_status_free */
    void *driver;               /* the driver's own */
};
struct mail node_mail_status(struct status_part *part); /* given until WANT_STATUS returns it */

/* ---- a machine's inputs ---- */

void machine_start(struct machine *machine, uint64_t now, int64_t wall_ms); /* once, before any other */

/* A connection that came to the node's port. */
struct arrival {
    uint64_t conn;  /* the driver's number, not 0, unique within the machine */
    uint64_t order; /* its place among all that came to the node, from 1: of one that came later a higher one; 0: not known */
    const char *remote; /* who it is from, for the log; copied */
};

/* It was accepted and given to this machine. Its bytes follow, from the preamble on. */
void machine_accepted(struct machine *machine, uint64_t now,
                      const struct arrival *arrival);
/* Between machine_accepted and the first bytes: the peer of this connection has proved who it is. Then nobody speaks on it but
 * nodes at hosts that the proof covers; a handshake from another closes it, other frames of others are refused. `covers` is
 * called on the machine's thread, within machine_bytes; proof is lent until the connection is closed. */
struct voucher {
    bool (*covers)(const void *proof, const char *host);
    const void *proof;
};
void machine_vouched(struct machine *machine, uint64_t conn,
                     const struct voucher *voucher); /* copied */
void machine_bytes(struct machine *machine, uint64_t now, uint64_t conn,
                   struct slice bytes); /* lent */
void machine_conn_closed(struct machine *machine, uint64_t now, uint64_t conn);
/* Where a machine keeps a connection that was accepted; valid until machine_conn_closed, or until the machine has closed it: then
 * WANT_CLOSE_CONN is among its wants. For a driver that does what is wanted before it gives more bytes, and that has so many nodes
 * that nothing of one stays in a cache: it has the memory fetched, and then gives the bytes there, as with machine_bytes. */
struct inlet_slot;
struct inlet_slot *machine_place(const struct machine *machine, uint64_t conn);
/* Asks for the memory that a turn, or bytes there and the turn behind them, will need. A step needs what the step before it has asked for: to
 * be called with 0 to MACHINE_FETCH_STEPS - 1, some time apart. */
#define MACHINE_FETCH_STEPS 4
void machine_fetch(const struct machine *machine, uint32_t step);
void machine_fetch_place(const struct inlet_slot *place, uint32_t step);
void machine_bytes_at(struct machine *machine, uint64_t now,
                      struct inlet_slot *place, struct slice bytes);

/* What became of a WANT_CONNECT; and a link that was open and broke. `why` is a short text. */
void machine_connected(struct machine *machine, uint64_t now, uint64_t link);
void machine_failed(struct machine *machine, uint64_t now, uint64_t link,
                    const char *why);

/* Bytes that wait to be written on an open link; lent until the next call on this machine. False when there are none. */
bool machine_pending(struct machine *machine, uint64_t link,
                     struct slice *bytes);
void machine_wrote(struct machine *machine, uint64_t now, uint64_t link,
                   size_t size);

/* A store request that came back finished; given. */
void machine_stored(struct machine *machine, uint64_t now,
                    struct journal_request *request);

/* A lease request that came back answered; given. Control only. */
void machine_leased(struct machine *machine, uint64_t now,
                    struct lease_request *request);

/* A request of durable keys that came back done; given. Control only. */
void machine_durable(struct machine *machine, uint64_t now,
                     struct durable_request *request);

/* What came of a WANT_SEEDS; given. Control only. */
void machine_found(struct machine *machine, uint64_t now,
                   struct seed_list *list);

/* A job whose function has returned; given. To the machine that it names. */
void machine_job_done(struct machine *machine, uint64_t now, struct job *job);

/* Does everything that is due. True: there is more to do at once (actors are runnable); call again after looking at the
 * sockets. Bounded: about 200 us of work when handlers are short. */
bool machine_turn(struct machine *machine, uint64_t now, int64_t wall_ms);
uint64_t machine_deadline(const struct machine *machine); /* ns, NEVER if none */

struct member;

/* The membership of machine 0 as it is between two of its turns, lent until the next; null: the node is out, or ends. To be looked at by
 * checkers. */
const struct member *machine_membership(const struct machine *machine);
/* Distributed data of machine 0 as it is between two of its turns, lent until the next; null: not used yet. To be looked at by
 * checkers. */
const struct replicator *machine_data(const struct machine *machine);
/* The same of what sharding keeps of types without a role. */
const struct replicator *machine_shard_data(const struct machine *machine);

/* ---- a machine's outputs ---- */

enum want_kind {
    WANT_CONNECT,    /* link, address: open a TCP connection (time-out 5 s), then machine_connected or machine_failed */
    WANT_CLOSE_LINK, /* link: close it; no machine_failed follows */
    WANT_CLOSE_CONN, /* conn: close it; no machine_conn_closed follows */
    WANT_WRITE,      /* link: machine_pending has bytes; once until the driver has seen machine_pending return false */
    WANT_STORE,      /* request: given to the store, returned by machine_stored */
    WANT_LEASE,      /* lease: given to the keeper of leases, returned by machine_leased; at most one at a time */
    WANT_JOB,        /* job: given to the pool, which runs its function on a thread of its own, then machine_job_done; in any order */
    WANT_DURABLE,    /* durable: given to the store of durable keys, returned by machine_durable; at most one at a time, LOAD first */
    WANT_SEEDS,      /* look for nodes of the cluster, then machine_found; at most one at a time */
    WANT_STATUS,     /* part: given back */
    WANT_UP,         /* control: this node is up */
    WANT_READY,      /* control: is_ready; it was the opposite before, at first false */
    WANT_REMOVED,    /* control: this node is no member any more */
    WANT_END         /* control: the node has ended; error is 0 or a SHERD_E... code; the driver stops the machines */
};

/* What a kind does not speak of means nothing. */
struct want {
    enum want_kind kind;
    uint64_t link; /* the machine's number of an outgoing link, not 0 */
    uint64_t conn;
    struct address address;
    uint32_t stream; /* WANT_CONNECT: what the connection is for, as in its preamble: 1 control, 2 ordinary */
    struct journal_request *request;
    struct lease_request *lease;
    struct job *job;
    struct durable_request *durable;
    struct status_part *part;
    bool is_ready; /* the node is up, and is not on its way out */
    int error;
};

bool machine_next_want(struct machine *machine, struct want *want); /* in order; false when none is left */
struct trace *machine_trace(struct machine *machine); /* lent */
/* The next fact for checkers; its bytes are lent until the next call on the machine. False when none is left. */
bool machine_next_probe(struct machine *machine, struct probe *probe);

#endif
