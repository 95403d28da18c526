/* A system: this process's node of the cluster (or one of several). Opened, given its entity types, run, closed.
 *
 * Threads: one for control and one for each lane, and those of the pool for jobs, started by sherd_start. Each function says from which threads it may be
 * called. Bodies and texts are copied. The configuration is the reference one of the seeds (HOCON). */
#ifndef SHERD_SYSTEM_H
#define SHERD_SYSTEM_H

#include <sherd/actor.h>
#include <sherd/cluster.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sherd_system;

/* One line of the log; module and line lent. Called from the library's threads, one call at a time for each system. */
typedef void (*sherd_log_function)(void *user, enum sherd_log_level level,
                                   const char *module, const char *line);

#define SHERD_PORT_ANY 65535 /* as options.port: let the operating system choose */

#define SHERD_FORMAT_BYTES 4 /* serializers that every JVM node has: array of bytes, text in UTF-8; manifest "" */
#define SHERD_FORMAT_TEXT 20

/* How actors of JVM nodes write and read the messages of one number: their serializer, its manifest, and as the body the bytes that
 * it makes. Without one it is serializer 7300, manifest "m" and the number. Among nodes of this library nothing changes. */
struct sherd_format {
    uint32_t msg;
    int32_t serializer; /* 4, 18 to 21, 31 to 35, or above 40 */
    const char *manifest; /* "" for none */
};

/* Zero means the default everywhere; a field that is set wins over the environment, and that over the configuration.
 * Copied by sherd_open. */
struct sherd_options {
    const char *name; /* the cluster's name; default "ClusterSystem" */
    const char *host; /* this node's canonical host; default "127.0.0.1" */
    uint16_t port;    /* its port; default 25520 */
    const char *const *seed_nodes; /* "host:port" or full addresses, ended by null */
    int alone; /* 1: join itself: a cluster of one, which others can join */
    const char *const *roles; /* ended by null */
    const char *data_center; /* that this node is in; default "default" */
    uint32_t lanes;           /* threads that run actors, 1 to 64; default: processors */
    const char *config_file;  /* a HOCON file; unknown keys are errors */
    const char *config_text;  /* the same as text; read after the file */
    const struct sherd_format *formats; /* each number, and each serializer with its manifest, once */
    uint32_t format_count;    /* at most 64 */
    const char *journal;      /* "sqlite:PATH" or "memory", which other processes do not share; persistent types need one of them */
    sherd_log_function log;   /* default: logfmt on standard error */
    void *log_user;
    /* The least important level that is written; 0: as configured (info). */
    enum sherd_log_level log_level;
    /* Files in PEM: this node's certificate, followed by those up to its CA; its key, without a password; the CAs that sign
     * certificates of nodes. With a certificate all nodes of the cluster talk by TLS (transport tls-tcp), each proves who it is,
     * and a certificate must have an alternative name (DNS or IP) for the host of its node. Changed files are read again, see
     * remote.tls.reload-after. Without TLS a host that is not of this machine alone is refused: remote.allow-plain. */
    const char *certificate, *key, *ca;
};

/* An entity type. Copied by sherd_entity_register; zero means the default. */
struct sherd_entity_type {
    /* 1 to SHERD_TYPE_MAX bytes, without a |: the first one in a persistence id, NAME|ENTITY, ends the name. Entities' ids are free. */
    const char *name;
    struct sherd_behavior behavior;
    /* Hosted only on nodes with this role, elsewhere the node is a proxy; default as configured (all nodes). No JVM node of the
     * cluster may have the role: a node of this library that is the younger one leaves with SHERD_EJOIN, an older one logs it. */
    const char *role;
    uint32_t shards;  /* 1 to 10,000, the same on all nodes; default number-of-shards (1000) */
    uint32_t stop_msg; /* sent as a SHERD_MESSAGE before hand-off and passivation: the entity returns SHERD_STOP when it is ready.
                          0: it gets SHERD_STOPPING and ends after it. When a shard moves, an entity that has not ended after 25 s is
                          ended; what it has not read may end as SHERD_REASON_HANDED_OFF */
    /* Passivated after this long without a message that was sent to its type and id: as in the reference, what comes by its ref, from
     * itself, as an answer or from a timer does not keep it. Open asks and jobs do. Default 120,000; UINT64_MAX: never. */
    uint64_t idle_ms;
    uint32_t mailbox_max; /* messages waiting for one entity; default 10,000 */
    uint32_t rebalance_absolute_limit; /* > 0: the newer allocation algorithm; default as configured (0) */
    double rebalance_relative_limit;   /* of all shards; default as configured (0.1) */
    int proxy; /* 1: never host this type here */
    /* 1: its entities are remembered: that one exists is stored, in the journal or in distributed data, before its first message is
     * delivered, and until it has called sherd_passivate it starts again with its shard: after a move, a crash, and a restart of all
     * nodes. One that ends without that starts again after entity-restart-backoff, or with the next message. The same on all nodes.
     * Remembered entities are not passivated for idleness, unless idle_ms is set here: then those that are idle end and stay
     * remembered. In distributed data an id is a text, UTF-8: an entity with another one is not started, and what was sent to it is
     * not delivered. -1: not remembered; 0: as configured, which is off. */
    int remember;
    const char *data_center; /* whose shards are meant; default this node's own, which hosts them. Another one: this node only sends
                                there, to NAME@DATA_CENTER as the type of a tell or an ask. A name may be registered once for each
                                data center; what entities of one id do in two of them is theirs to agree on */
};

/* Checks options, configuration and the files of TLS, binds the port and opens the journal; no thread runs yet. On success
 * *system is the caller's, to be closed. SHERD_EINVAL, SHERD_ECONFIG (also: a certificate or key that cannot be used, an address
 * that others reach without TLS), SHERD_EADDRESS, SHERD_ESTORE, SHERD_ESYSTEM; the log says what and where. */
SHERD_API SHERD_MUST_USE int sherd_open(struct sherd_system **system,
                                        const struct sherd_options *options);
/* Between sherd_open and sherd_start. SHERD_EINVAL, SHERD_ESTATE. SHERD_EEXIST also when something of the type would have the path
 * or name of another type's on any node, as Akka's actors would: a type's region is called NAME, its proxies NAMEProxy, its coordinator
 * NAMECoordinator, a proxy to another data center NAME-DATA_CENTER (and NAME@DATA_CENTER in a tell); sharding's replicator is called
 * replicator, or ROLEReplicator. The log names both types. */
SHERD_API SHERD_MUST_USE int
sherd_entity_register(struct sherd_system *system,
                      const struct sherd_entity_type *type);
/* Starts the threads and joins the cluster. SHERD_ESTATE, SHERD_ESYSTEM. */
SHERD_API SHERD_MUST_USE int sherd_start(struct sherd_system *system);
/* Blocks until the node has left, was downed, or sherd_halt was called. 0 after a graceful end or a halt; SHERD_EDOWN,
 * SHERD_EJOIN; SHERD_ETIME when it was not seen exiting in time, so that the others will miss it; SHERD_ESTALLED when a handler blocks a
 * lane for so long that the node gives up. Any thread that is not the library's. */
SHERD_API int sherd_wait(struct sherd_system *system);
/* sherd_start, then SIGINT and SIGTERM mean sherd_leave, then sherd_wait. One system of a process at a time. */
SHERD_API int sherd_run(struct sherd_system *system);
/* Begins a graceful end: shards are handed off, then the node leaves the cluster. Any thread, also in receive; once sherd_start has
 * returned, and until sherd_close, also a signal's handler. */
SHERD_API void sherd_leave(struct sherd_system *system);
/* Ends at once, without leaving; what is not durable is lost. Any thread, but no signal's handler. */
SHERD_API void sherd_halt(struct sherd_system *system);
/* Halts if needed, joins the threads, frees everything. Jobs that wait are freed; those that run are waited for, for pool.close-timeout
 * (10 s): then the log names them, and each is freed when its function returns, even after this call. Null is fine. Not from a thread
 * of the library, nor from a job. */
SHERD_API void sherd_close(struct sherd_system *system);

/* Membership commands; any thread after sherd_start. address: "host:port" or a full address. SHERD_EINVAL when it is malformed or
 * of another protocol or system, which the log says; SHERD_ESTATE. What cannot be done when the node comes to it is logged alone.
 * sherd_join: a node without seed nodes joins the cluster of the node at that address, and asks until it is taken in; the own
 * address founds a cluster. A node that is alone in its cluster and has no entity types leaves it and joins the other one, as the
 * same incarnation; events tell that it is joining again. Of two that join each other one takes in the other; three and more
 * that do so in a ring stay outside until one of them is told otherwise. A warning says each 10 s that nobody has taken the node in. The
 * configurations are not compared.
 * Otherwise it is refused, and the log says so. With others in its cluster: they would have to move at the same moment. With entity
 * types (proxies, too): its coordinator has given their shards homes by the terms and the store of this cluster, the other one's by
 * its own, and an entity would run twice until one of the two has let go. Such a node is closed and started anew, not alone, and
 * joins then; what its entities have persisted it finds there if that cluster uses the same journal.
 * sherd_leave_member: the member at that address, of either kind, is told to leave, and ends gracefully as by its own sherd_leave; with
 * the own address it is that.
 * sherd_down: declares the member at that address dead, whether it is or not. The others remove it when all of them that are reached know,
 * and what ran there starts elsewhere; the node itself, if it hears of it, ends with SHERD_EDOWN. The own address is fine. That there
 * is no such member is only said by the log. */
SHERD_API SHERD_MUST_USE int sherd_join(struct sherd_system *system,
                                        const char *address);
SHERD_API SHERD_MUST_USE int sherd_leave_member(struct sherd_system *system,
                                                const char *address);
SHERD_API SHERD_MUST_USE int sherd_down(struct sherd_system *system,
                                        const char *address);

/* Tells a function, once, that this node is up, or that it is no member any more: it left, was downed or removed, or has ended
 * otherwise, also without having been one. When that has happened already it is called in this call; else on a thread of the library,
 * which does nothing else meanwhile (it must return soon), or in sherd_halt or sherd_close. It must not wait for the node, nor close
 * it. A node that was removed still ends: sherd_wait returns when it has. Any thread, also before sherd_start. SHERD_EINVAL: no function;
 * SHERD_EFULL: more than 64. Actors hear of the same by sherd/cluster.h. */
SHERD_API SHERD_MUST_USE int sherd_on_up(struct sherd_system *system,
                                         void (*call)(void *user), void *user);
SHERD_API SHERD_MUST_USE int sherd_on_removed(struct sherd_system *system,
                                              void (*call)(void *user),
                                              void *user);

/* Tells the whole cluster to prepare for its end: every member that is up becomes preparing, then ready for shutdown (events of
 * sherd/cluster.h); nobody joins any more, no shard and no singleton moves. When all are ready, nodes may be told to leave in any
 * order, at the same time, without handing off. There is no way back. SHERD_ESTATE; any thread after sherd_start. */
SHERD_API SHERD_MUST_USE int
sherd_prepare_shutdown(struct sherd_system *system);

/* From outside actors; any thread after sherd_start. SHERD_EFULL when the inbox is at its limit, SHERD_ESTATE. */
SHERD_API SHERD_MUST_USE int
sherd_system_spawn(struct sherd_system *system,
                   const struct sherd_behavior *behavior,
                   struct sherd_bytes init); /* on the first lane; `init` is the body of its SHERD_STARTED */
SHERD_API SHERD_MUST_USE int sherd_system_tell(struct sherd_system *system,
                                               struct sherd_ref to,
                                               uint32_t msg,
                                               struct sherd_bytes body);
SHERD_API SHERD_MUST_USE int
sherd_system_entity_tell(struct sherd_system *system, const char *type,
                         const char *id, uint32_t msg, struct sherd_bytes body);

/* 1: the node is up, is not on its way out (whoever told it to leave, or the whole cluster to prepare for its end) nor into another
 * cluster, each of its lanes has ended a turn in the last 5 s, and durable keys of distributed data, if there are any, are loaded and
 * the disk took the last of them. 0: it should be given nothing to do. Does not wait for the node; any thread. */
SHERD_API int sherd_is_ready(struct sherd_system *system);
/* The port that this node listens on. Any thread. */
SHERD_API uint16_t sherd_port(const struct sherd_system *system);

struct sherd_member {
    char address[128]; /* "host:port" */
    uint64_t uid;
    enum sherd_member_status status;
    int reachable;
    int seen; /* it has seen the version of the membership that this node has; all have = they agree */
};

struct sherd_type_status {
    char name[SHERD_TYPE_MAX + 1];
    char coordinator[128];  /* "host:port", or "" when unknown */
    uint32_t shards_here;   /* hosted by this node */
    uint64_t entities_here; /* running on this node */
    uint64_t waiting;       /* messages held in this node's region */
};

/* A durable key of distributed data that this node had not whole on its disk when it started: lost, or with an earlier value than the
 * last. Users' keys are held (sherd/ddata.h), as long as `is_held` is not 0; sharding's own go on with what is left. */
struct sherd_damaged_key {
    char key[256]; /* cut */
    int is_lost;   /* 0: stale */
    int is_held;   /* calls are answered SHERD_DATA_HELD */
};

/* What came from elsewhere and was not taken in, and what limits refused. Not a fault of this node by itself: strangers, late
 * frames of removed nodes and full tables are expected, a number that keeps growing is worth a look at the log. */
#define SHERD_COUNTERS(X)                                                      \
    X(SHERD_CONNECTIONS_REFUSED, "connections refused") /* not of this protocol, not for this node, silent for too long, too many, without a good certificate */ \
    X(SHERD_CONNECTIONS_REVOKED, "connections revoked") /* open ones that were closed, as a list revoked the peer's certificate */ \
    X(SHERD_FRAMES_MALFORMED, "frames malformed") /* that are no envelopes */  \
    X(SHERD_FRAMES_REFUSED, "frames refused") /* of unknown, foreign, replaced and removed nodes */ \
    X(SHERD_MESSAGES_MALFORMED, "messages malformed") /* not to be read, or for nobody here */ \
    X(SHERD_GOSSIP_DROPPED, "gossip dropped") /* messages of membership: malformed, hostile, of strangers, too late */ \
    X(SHERD_GOSSIP_LEFT_OUT, "gossip left out") /* messages of membership that were not sent, since one waits for the same peer: it is slower than rounds come, or away. The next says more */ \
    X(SHERD_CHANGES_FOLDED, "changes folded") /* of members, of which actors that listen were told a later one alone: too much changed at once (sherd/cluster.h) */ \
    X(SHERD_PEERS_REFUSED, "peers refused") /* nodes without a name in the `where` of asks: there are too many */ \
    X(SHERD_ASKED_REFUSED, "asked refused") /* asks of which this node does not tell where they wait: too many */ \
    X(SHERD_WATCHES_REFUSED, "watches refused") /* of actors here, by JVM nodes: too many */ \
    X(SHERD_NAMES_FORGOTTEN, "names forgotten") /* of JVM actors, to whom nothing is answered any more: too many; each ask is one */ \
    X(SHERD_REMOVED_FORGOTTEN, "removed forgotten") /* downed nodes that are not told so when they come back: too many */ \
    X(SHERD_JOURNAL_LOG_KEPT, "journal log kept") /* tries to empty the journal's log beyond its limit, in vain: somebody reads the file without an end */ \
    X(SHERD_REPLIES_DROPPED, "replies dropped") /* a second answer to one message, or an answer to nobody */ \
    X(SHERD_JOBS_REFUSED, "jobs refused") /* too many are open: sherd_job_start */ \
    X(SHERD_JOBS_UNHEARD, "jobs unheard") /* their actors had ended, or their events were not stored */ \
    X(SHERD_HANDLERS_SLOW, "handlers slow") /* took longer than slow-handler.report-after; also many of one actor in a row */ \
    X(SHERD_DURABLE_LOST, "durable keys lost") /* of distributed data: their values were damaged on the disk, see damaged_keys */ \
    X(SHERD_DURABLE_STALE, "durable keys stale") /* as those, but an earlier value was found */ \
    X(SHERD_DURABLE_FAILED, "durable writes failed") /* tries to load or store durable keys, in vain: the disk is full or broken */ \
    X(SHERD_VALUES_UNMERGED, "values unmerged") /* of distributed data, as all that follow. Others' values that were not taken: of another type than here. Members differ; the log names the key */ \
    X(SHERD_VALUES_TOO_LARGE, "values too large") /* that were not taken, of updates (SHERD_DATA_TOO_LARGE) and of others: then members differ, and the log names the key */ \
    X(SHERD_VALUES_REFUSED, "values refused") /* of new keys: there are too many, or too many bytes in all */ \
    X(SHERD_VALUES_UNSENT, "values unsent") /* more than a message has room for; where that is a change, the whole value is tried next */ \
    X(SHERD_DELTAS_LOST, "deltas lost") /* changes that others were not told one by one, too many of one key: gossip brings the whole value */ \
    X(SHERD_VALUES_GOSSIP_DROPPED, "values gossip dropped") /* messages that compare values: too many waited; a later round repeats them */ \
    X(SHERD_VALUES_LEFT_OUT, "values left out") /* messages of values that were not sent, since some wait for the same peer behind much else: a later round repeats them */ \
    X(SHERD_REPLICAS_REFUSED, "replicas refused") /* times that a member was told of and is none of those that have replicas: too many */ \
    X(SHERD_REPLICAS_FORGOTTEN, "replicas forgotten") /* removed members of which values are not pruned before they are found in one: too many at once */

enum sherd_counter {
#define X(name, text) name,
    SHERD_COUNTERS(X)
#undef X
        SHERD_COUNTER_COUNT
};

SHERD_API const char *sherd_counter_text(enum sherd_counter counter); /* "frames refused"; a literal. Any thread */

/* A snapshot of this node's view. Its arrays are freed by sherd_status_free. */
struct sherd_status {
    struct sherd_member *members;
    uint32_t member_count;
    struct sherd_type_status *types;
    uint32_t type_count;
    /* Messages by reason since the start. A frame of messages that cannot be read counts as one with no handler, also when
     * counters has it. */
    uint64_t undelivered[SHERD_REASON_COUNT];
    uint64_t delivered;   /* messages handed to actors of this node */
    uint64_t held_max;    /* most messages that waited in this node's regions at one time */
    uint64_t held_total;  /* messages that had to wait in this node's regions */
    uint64_t held_ms_max; /* longest that a message waited there, ms */
    uint64_t fenced;      /* writes refused because a shard has a newer owner */
    uint64_t events;      /* events stored by this node */
    uint64_t jobs;        /* started by actors of this node */
    uint64_t jobs_open;   /* of them, those whose actor has not heard of their end yet */
    uint64_t counters[SHERD_COUNTER_COUNT]; /* since the start */
    int up;               /* this node is a member with status up; 0 once it has left a cluster of one for another cluster */
    int plain;            /* others reach its address, and connections are plain: remote.allow-plain */
    struct sherd_damaged_key *damaged_keys; /* the first 64 */
    uint32_t damaged_key_count;
};

/* Any thread that is not the library's, after sherd_start; waits for a turn of every lane (at most 5 s, else SHERD_ETIME; that the whole process stood still counts
 * for a second at most). */
SHERD_API SHERD_MUST_USE int sherd_get_status(struct sherd_system *system,
                                              struct sherd_status *status);
SHERD_API void sherd_status_free(struct sherd_status *status);

/* "0.1.0". Any thread. */
SHERD_API const char *sherd_version(void);

#ifdef __cplusplus
}
#endif

#endif
