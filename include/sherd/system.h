/* Opens, runs and ends a system: this process's node of the cluster. A process
 * may have several.
 *
 * The usual order is sherd_open, sherd_entity_register for each type, and
 * sherd_run, which returns at the end of the node; then sherd_close. The
 * library copies every struct, text and body that it is given. The name and the
 * functions in sherd_behavior and sherd_job are not copied: they must stay
 * valid.
 * The system lives from sherd_open to sherd_close.
 * Guides: docs/guide/first-cluster.md, docs/guide/configuration.md,
 * docs/guide/production.md.
 *
 * Threads. sherd_start makes one thread for control, one for each lane, and the
 * pool for jobs (sherd/job.h). With one lane, control and the lane share a
 * thread. "Any thread" includes these, so also receive and jobs. A "thread of
 * the program" is one that the library did not make. */
#ifndef SHERD_SYSTEM_H
#define SHERD_SYSTEM_H

#include <sherd/actor.h>
#include <sherd/cluster.h>
#include <sherd/extractor.h>
#include <sherd/passivation.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sherd_system;
struct sherd_allocation_strategy; /* sherd/allocation.h */

/* ---- options ---- */

/* Receives the lines of the log. module and line: lent, line without its end.
 * Threads: it is called from the library's threads, and from any thread that
 * calls a function with the system. A system makes one call at a time. The
 * function must not use that system, and must be quick: a lane waits. */
typedef void (*sherd_log_function)(void *user, enum sherd_log_level level,
                                   const char *module, const char *line);

/* How messages with one number look to JVM nodes. Without an entry they have
 * serializer 7300 and the manifest "m" and the number. The body is the bytes
 * that the serializer makes. Nodes of this library always get the number. */
struct sherd_format {
    uint32_t msg;         /* the number of the message */
    int32_t serializer;   /* 4, 18 to 21, 31 to 35, or above 40 */
    const char *manifest; /* "" for none */
};

/* Serializers that every JVM node has. Their manifest is "". */
#define SHERD_FORMAT_BYTES 4 /* an array of bytes */
#define SHERD_FORMAT_TEXT 20 /* a text in UTF-8 */

/* As options.port: the operating system chooses a free port. */
#define SHERD_PORT_ANY 65535

/* The options of a node. Zero means the default everywhere. A field that is set
 * wins over the environment, and the environment over the configuration. */
struct sherd_options {
    /* The cluster's name; default "ClusterSystem". */
    const char *name;
    /* The host that other nodes reach this node by; default "127.0.0.1".
     * Letters, digits and -._:[]%; JVM nodes cannot answer a host with an
     * underscore. "<getHostAddress>" is an address of this machine's name,
     * "<getHostName>" the name, as in Akka. */
    const char *host;
    /* Its port; default 25520. */
    uint16_t port;
    /* Nodes to join: "host:port" or full addresses, ended by null. */
    const char *const *seed_nodes;
    /* 1: the node founds a cluster of its own, which others can join. With seed
     * nodes it has no effect, and the node logs a warning. */
    int alone;
    /* The node's roles, ended by null; default none. */
    const char *const *roles;
    /* The data center of the node; default "default". */
    const char *data_center;
    /* Threads that run actors, 1 to 64; default: one for each processor. */
    uint32_t lanes;
    /* The path of a HOCON file. An unknown key in it is an error. A FIFO is
     * read to its end, but a file that it includes must be a regular file. */
    const char *config_file;
    /* HOCON as a text. It is read after the file. */
    const char *config_text;
    /* Each number once, and each serializer with its manifest once. */
    const struct sherd_format *formats;
    /* Entries of formats, at most 64. */
    uint32_t format_count;
    /* The journal: it stores entities' events. Persistent types need one.
     * "sqlite:PATH": a file on a local disk, which the processes of one host
     * may share. An entity that moves to another host does not find its events
     * there: host a persistent type on nodes of one host. The loss of the disk
     * loses the events.
     * "postgres:URL": a PostgreSQL database, for nodes on any hosts. It needs
     * sherd_postgres_register (sherd/postgres.h).
     * "NAME:PLACE": a back end that the program registered (sherd/backend.h).
     * "memory": for tests. Nodes of one process share it, those of others are
     * refused; the events are lost when the process ends. */
    const char *journal;
    /* Receives the lines of the log; default: logfmt on standard error. */
    sherd_log_function log;
    /* The first argument of log. */
    void *log_user;
    /* Less severe lines are not written; 0: as configured (info). */
    enum sherd_log_level log_level;
    /* Paths of PEM files: this node's certificate, followed by those up to its
     * CA; its key, without a password; the CAs of all nodes. With a certificate
     * all nodes talk by TLS, and each proves its identity. A certificate needs
     * an alternative name (DNS or IP) for its node's host. Changed files are
     * read again (remote.tls.reload-after). Without TLS, the host must be an
     * address of this machine alone, unless remote.allow-plain is on. */
    const char *certificate, *key, *ca;
};

/* ---- a node's life ---- */

/* Opens a node: checks the options, the configuration and the files of TLS,
 * binds the port and opens the journal. Threads run from sherd_start on; those
 * for durable keys, leases and seed nodes that are looked up, from here on.
 *
 * Fork, or call daemon(3), before. In a child that is forked after this call,
 * every function gives SHERD_ESTATE or does nothing, sherd_close too: sockets,
 * files and locks are the parent's. The first refusal is logged. The child can
 * open a node of its own, but no journal in files.
 *
 * Paths are relative to the folder at this call. A standard descriptor (0 to 2)
 * that is closed is opened on /dev/null, here and later, so that no file of the
 * node gets its number. Do not close descriptors that the library opened. The
 * library's threads block SIGXFSZ: too large a file is an error.
 *
 * system: gets the system, to be closed by sherd_close; null on failure.
 * options: copied; null for defaults.
 * Result: 0, SHERD_EINVAL, SHERD_ECONFIG (also a certificate that cannot be
 * used, or an address that others reach without TLS), SHERD_EADDRESS,
 * SHERD_ESTORE, SHERD_ESYSTEM. The log says what is wrong and where.
 * Threads: threads of the program. */
SHERD_API SHERD_MUST_USE int sherd_open(struct sherd_system **system,
                                        const struct sherd_options *options);

/* An entity type. Zero means the default. */
struct sherd_entity_type {
    /* The name, 1 to SHERD_TYPE_MAX bytes of UTF-8, without a '|': it ends the
     * name in a persistence id, NAME|ENTITY. Required. */
    const char *name;
    /* The definition of its entities. A proxy needs no receive. */
    struct sherd_behavior behavior;
    /* Only nodes with this role host the type; others are proxies. Default: as
     * configured (all nodes). No JVM node of the cluster may have the role. If
     * a JVM node that joined earlier has it, this node leaves with
     * SHERD_EJOIN. */
    const char *role;
    /* 1 to 20,000, the same on all nodes; default: as configured
     * (akka.cluster.sharding.number-of-shards, 1000). If the extractor names
     * shards: how many there can be. */
    uint32_t shards;
    /* How messages find their entity and its shard, the same on all nodes
     * (sherd/extractor.h). Copied. Default: the sender names the entity, and
     * its shard is Akka's hash of the id. */
    const struct sherd_extractor *extractor;
    /* Sent as a SHERD_MESSAGE in place of every SHERD_STOPPING; the entity
     * returns SHERD_STOP when it is ready. 0: it gets SHERD_STOPPING and ends.
     * When a shard moves, an entity has until 5 s before
     * akka.cluster.sharding.handoff-timeout to end: 55 s by default, at least
     * 1 s. Then it is ended, and its unread messages may end as
     * SHERD_REASON_HANDED_OFF. */
    uint32_t stop_msg;
    /* Milliseconds after which an idle entity is passivated; default: as
     * configured (120,000); UINT64_MAX: never. Only messages to its type and id
     * count, as in Akka: not those to its ref, its timers and its answers. An
     * entity with open asks or jobs is not idle. */
    uint64_t idle_ms;
    /* The strategy of passivation (sherd/passivation.h). Copied. Default: as
     * configured (akka.cluster.sharding.passivation). idle_ms and the next two
     * fields win over its numbers. Remembered entities have no strategy. */
    const struct sherd_passivation *passivation;
    /* The active entities of the type on this node: when there are more, the
     * strategy chooses which are passivated (default-strategy, if the type's
     * has no replacement policy). Default: as the strategy says (no limit). See
     * sherd_set_active_limit. */
    uint32_t active_entity_limit;
    /* The same in bytes. */
    uint64_t active_byte_limit;
    /* Messages that may wait for one entity; default 10,000. */
    uint32_t mailbox_max;
    /* Above 0: the newer allocation algorithm, which moves at most so many
     * shards at a time; default: as configured (0). */
    uint32_t rebalance_absolute_limit;
    /* The same as a part of all shards, 0 to 1; default: as configured, 0.1. */
    double rebalance_relative_limit;
    /* 1: this node never hosts the type, it only sends to it. */
    int proxy;
    /* 1: its entities are remembered, -1: they are not, 0: as configured (off).
     * The same on all nodes. See "Remembered entities" below. */
    int remember;
    /* The data center that hosts the shards; default: this node's own. With
     * another one this node only sends there, to NAME@DATA_CENTER. A name may
     * be registered once for each data center. Each has entities of its own:
     * those with the same id know nothing of each other. */
    const char *data_center;
    /* The allocation strategy, the same on all nodes: "least-shard",
     * "consistent-hashing", "external" or "custom" (sherd/allocation.h);
     * default: as configured (cluster.sharding.allocation-strategy), or custom
     * if `strategy` is set. */
    const char *allocation;
    /* For "custom": the strategy of the program. Its functions and what `user`
     * points to must stay valid until sherd_close returns. */
    const struct sherd_allocation_strategy *strategy;
    /* Each shard runs only while its node holds the shard's lease at this
     * provider: "etcd", "file", "memory", or "" for none. Default (null): as
     * configured (cluster.sharding.use-lease; none). The same on all nodes.
     * Guide: docs/guide/leases.md. */
    const char *use_lease;
    /* Milliseconds until a lease that this node could not get is asked for
     * again; default: as configured (5,000). */
    uint64_t lease_retry_ms;
    /* The versions of the type's events (sherd/actor.h), at most 256, each type
     * of event once. Copied; the functions must stay valid until sherd_close
     * returns. */
    const struct sherd_upcast *upcasts;
    uint32_t upcast_count; /* entries of upcasts */
    /* Snapshots of an entity that the journal keeps, at most 100; default 2. */
    uint32_t keep_snapshots;
    /* 1: after a snapshot is stored, the events up to the oldest kept one are
     * deleted, once that was read back and is good. Never the last event, and
     * nothing before keep_snapshots are stored. 0: all events stay. */
    int delete_events;
    /* With delete_events: so many events before that snapshot stay, too. */
    uint64_t keep_events;
};

/* Remembered entities. The existence of an entity is stored before its first
 * message is delivered: in distributed data, or in the journal
 * (cluster.sharding.remember-entities-store = eventsourced). Until it calls
 * sherd_passivate it starts again with its shard: after a move, a crash, and a
 * restart of all nodes. One that ends otherwise starts again after
 * entity-restart-backoff, or with its next message. Remembered entities are
 * not passivated for idleness unless idle_ms is set here: then idle ones end
 * and stay remembered. In distributed data an id must be UTF-8: an entity with
 * another id does not start. */

/* Registers an entity type. On a node that runs, it waits until actors and
 * threads can use the type. The first type with events in the journal, and the
 * first one of a role that remembers entities in distributed data, must be
 * registered before sherd_start.
 *
 * type: copied, with its texts. The behavior's name and functions must stay
 * valid until sherd_close returns.
 * Result: 0. SHERD_EINVAL: a field is wrong, or a persistent type has no
 * journal. SHERD_ESTORE: its lease provider cannot be used. SHERD_EEXIST:
 * another type has the name or one of the paths. SHERD_EFULL: it would be the
 * 257th type. SHERD_ESTATE: the node shuts down or has ended, or the type comes
 * too late, as above. SHERD_ETIME: a lane did not answer within 5 s; the type
 * follows when it does. The log explains all but SHERD_ETIME and a node that
 * ends.
 * A type NAME has the paths NAME, NAMEProxy, NAMECoordinator and
 * NAME-DATA_CENTER. Akka's replicators have the paths replicator and
 * ROLEReplicator.
 * Threads: before sherd_start the one that opened the system, then threads of
 * the program and jobs. Not in receive. */
SHERD_API SHERD_MUST_USE int
sherd_entity_register(struct sherd_system *system,
                      const struct sherd_entity_type *type);

/* Runs the node until it has ended: calls sherd_start, makes SIGINT and
 * SIGTERM mean sherd_leave, a second one sherd_halt, and then calls sherd_wait.
 * The calling thread takes both signals even if the program blocks or ignores
 * them; a child that it forks does not. Do not call sherd_start before. The
 * function of sherd_on_up may spawn actors. If NOTIFY_SOCKET is set, it tells
 * systemd when the node is ready, lives and leaves.
 *
 * Result: as sherd_start and sherd_wait; SHERD_ESTATE also if another system
 * of this process is in sherd_run. Then the signals' former handlers and mask
 * are back.
 * Threads: threads of the program. */
SHERD_API int sherd_run(struct sherd_system *system);

/* Starts the threads and joins the cluster. Does not wait for that: see
 * sherd_is_ready and sherd_on_up. Without seed nodes and without options.alone
 * the node waits for sherd_join.
 *
 * Result: 0, SHERD_ESTATE, SHERD_ESTORE, SHERD_ESYSTEM. After a failure only
 * sherd_close is left.
 * Threads: the one that opened the system. */
SHERD_API SHERD_MUST_USE int sherd_start(struct sherd_system *system);

/* Blocks until the node has left the cluster, was downed, or sherd_halt was
 * called.
 *
 * Result: 0 after a graceful end or a halt. SHERD_EDOWN; SHERD_EJOIN;
 * SHERD_ESTALLED. SHERD_ETIME: the others did not see the node leave in time,
 * and will find it unreachable. SHERD_ESTORE: durable keys cannot be used.
 * SHERD_ESTATE: it was not started.
 * Threads: threads of the program, several at a time. */
SHERD_API int sherd_wait(struct sherd_system *system);

/* Begins a graceful end: the node hands off its shards, then leaves the cluster
 * (sherd/shutdown.h). Does not wait for that. Before sherd_start it is
 * sherd_halt; a second call does nothing.
 *
 * Threads: any. A signal's handler, too, once sherd_start has returned. */
SHERD_API void sherd_leave(struct sherd_system *system);

/* Ends the node at once, without leaving: actors get no SHERD_STOPPING, and
 * what is not durable is lost. The other members find the node unreachable.
 *
 * Threads: any, but no signal's handler. */
SHERD_API void sherd_halt(struct sherd_system *system);

/* Halts the node if it runs, joins the threads, and frees everything.
 *
 * system: null is fine. It is invalid when the call returns.
 * Jobs that wait are freed. Jobs that run are waited for, at most
 * pool.close-timeout (10 s). Then the log names them; each is freed when its
 * function returns, even after this call, and must not use the system any more.
 * Threads: one thread of the program. While it runs, no other may be in a call
 * with this system, or begin one, not even sherd_leave in a signal's handler.
 * So call sherd_halt, and end the other threads first: their sherd_wait returns
 * 0, and their other calls give SHERD_ESTATE. Actors may still call, and jobs
 * until pool.close-timeout. */
SHERD_API void sherd_close(struct sherd_system *system);

/* Returns 1 if the node should be given work, else 0. Does not wait. It is 1 if
 * - the node is up, and neither leaves nor joins another cluster,
 * - the types of akka.cluster.sharding.healthcheck.names have registered,
 * - each lane has ended a turn in the last 5 s,
 * - durable keys are loaded and stored without failure,
 * - the journal stores events, if a type on this node needs it,
 * - no file of the journal, of durable keys or of the lease was deleted,
 *   replaced or cut under the node, and its TLS files can be read.
 *
 * Threads: any. */
SHERD_API int sherd_is_ready(struct sherd_system *system);

/* Returns the port that this node listens on.
 * Threads: any. */
SHERD_API uint16_t sherd_port(const struct sherd_system *system);

/* Call a function once: when this node is up, and when it is no member any
 * more. It left, was downed or removed, or ended without having been a member.
 *
 * call: if that has happened already, the function runs before this call
 * returns. Else it runs on a thread of the library, or in sherd_halt or
 * sherd_close. It must return soon; it must not wait for the node or close it.
 * A node that was removed still ends: sherd_wait returns after that. user: its
 * argument.
 * Result: 0; SHERD_EINVAL: no function; SHERD_EFULL: more than 64 of a kind.
 * Threads: any, also before sherd_start. Actors use sherd/cluster.h. */
SHERD_API SHERD_MUST_USE int sherd_on_up(struct sherd_system *system,
                                         void (*call)(void *user), void *user);
SHERD_API SHERD_MUST_USE int sherd_on_removed(struct sherd_system *system,
                                              void (*call)(void *user),
                                              void *user);

/* ---- actors and entities, from outside ---- */

/* These calls send and return. A thread that needs an answer asks with a
 * client (sherd/client.h). */

/* Starts a plain actor on the first lane.
 *
 * behavior: copied. init: the body of its SHERD_STARTED, copied. ref: gets the
 * actor's reference, which is valid at once: tell it, ask it, send it. Null is
 * fine; on failure it is all zero.
 * Result: 0; SHERD_EINVAL: no receive, or init is above SHERD_BODY_MAX;
 * SHERD_EFULL; SHERD_ESTATE. If the lane then has too many actors or
 * behaviors, the log says so, and messages to the reference end as
 * SHERD_REASON_NO_SUCH_ACTOR.
 * Threads: any, from sherd_start on. The same holds for the next three.
 * Limits: 1,024 new actors, 16,384 calls or 64 MiB of bodies may wait for one
 * lane; then SHERD_EFULL. */
SHERD_API SHERD_MUST_USE int
sherd_system_spawn(struct sherd_system *system,
                   const struct sherd_behavior *behavior,
                   struct sherd_bytes init, struct sherd_ref *ref);

/* Starts a plain actor with a name on the first lane: see sherd_spawn_named,
 * which tells what happens if the name is taken.
 *
 * Result: as for sherd_system_spawn; SHERD_EINVAL also if the name is not
 * valid. */
SHERD_API SHERD_MUST_USE int
sherd_system_spawn_named(struct sherd_system *system, const char *name,
                         const struct sherd_behavior *behavior,
                         struct sherd_bytes init, struct sherd_ref *ref);

/* Send a message to an actor or an entity, without a sender. Messages from one
 * thread to one receiver arrive in order.
 *
 * The parameters are as for sherd_tell and sherd_entity_tell.
 * Result: 0: it was sent; SHERD_EINVAL: the body is too large, the ref is
 * nobody, the id is empty or too long; SHERD_ENOTYPE; SHERD_EFULL;
 * SHERD_ESTATE. */
SHERD_API SHERD_MUST_USE int sherd_system_tell(struct sherd_system *system,
                                               struct sherd_ref to,
                                               uint32_t msg,
                                               struct sherd_bytes body);
SHERD_API SHERD_MUST_USE int
sherd_system_entity_tell(struct sherd_system *system, const char *type,
                         const char *id, uint32_t msg, struct sherd_bytes body);

/* Changes the limits of the active entities of a type on this node.
 *
 * type: its name. entities, bytes: as active_entity_limit and
 * active_byte_limit; 0: no limit.
 * Each limit is divided equally among the shards that the node owns, without
 * the remainder. If there are more shards than `entities`, every entity stops
 * after its messages, and a warning says so. A shard with more than its part
 * passivates entities at once: each gets its stop message after the messages
 * that it has, even with open asks or jobs. The limits count entities from
 * their start until they begin to stop. Messages that arrive during the stop
 * start the next incarnation.
 *
 * Bytes are the entity's state_size, what it reports by sherd_entity_bytes, and
 * the bodies of the messages in its mailbox. Its slot (64 bytes), its rank (12
 * bytes), timers, watches and effects that wait are not counted. The entity
 * that was used last stays, even if it alone is above the limit.
 * Limits have no effect on types that remember their entities.
 *
 * Result: 0; SHERD_EINVAL: no such type; SHERD_EFULL; SHERD_ESTATE.
 * Threads: threads of the program. */
SHERD_API SHERD_MUST_USE int
sherd_set_active_limit(struct sherd_system *system, const char *type,
                       uint32_t entities, uint64_t bytes);

/* ---- membership ---- */

/* How long a failover takes. By default no member downs a dead node
 * (akka.cluster.downing-provider-class is empty). Its shards stay away until an
 * operator calls sherd_down, and then start without a margin.
 *
 * With the split brain resolver and its defaults it takes about 47 s. The other
 * members find a dead node unreachable after 3.5 to 5.5 s (heartbeat-interval
 * and acceptable-heartbeat-pause of akka.cluster.failure-detector). The
 * resolver downs it after its stable-after (20 s). Its shards start elsewhere
 * after down-removal-margin (20 s, as stable-after). Gossip, rounding of these
 * times and the start of the shards take about 2 s more.
 *
 * Other members keep the homes of the shards and all distributed data. The
 * node's mailboxes, timers and open asks are lost, and the state of entities
 * that are not persistent. Guides: docs/guide/shutdown.md (downing),
 * docs/guide/concepts.md (crashes). */

/* Commands of an operator. They return at once; if the node can no longer
 * carry out the command, it only logs that.
 *
 * address: "host:port" or a full address.
 * Result: 0; SHERD_EINVAL: it is no address of this protocol and system, which
 * the log says; SHERD_EFULL; SHERD_ESTATE.
 * Threads: any, from sherd_start on. */

/* Joins the cluster of the node at the address. With this node's own address,
 * founds a new cluster. Asks until the cluster has accepted this node; until
 * then a warning every 10 s says so.
 *
 * A node that is alone in its cluster and has no entity types leaves that one
 * and joins the other, as the same incarnation. Every other node is refused,
 * and the log says so. The members of its cluster would have to move at the
 * same moment, or its entities could run in both clusters. Close it and start
 * it anew, not alone. It finds its events if the other cluster uses the same
 * journal.
 * If two nodes join each other, one takes in the other; three or more in a ring
 * stay outside. The configurations are not compared. */
SHERD_API SHERD_MUST_USE int sherd_join(struct sherd_system *system,
                                        const char *address);

/* Makes the member at the address leave: it ends gracefully, as by its own
 * sherd_leave. It may be a JVM node, or this node. */
SHERD_API SHERD_MUST_USE int sherd_leave_member(struct sherd_system *system,
                                                const char *address);

/* Declares the member at the address dead, even if it is not. The members that
 * can be reached remove it once they all know. Its entities start elsewhere.
 * The node itself, if it learns of it, ends with SHERD_EDOWN. It may be this
 * node. Only the log says that there is no such member. */
SHERD_API SHERD_MUST_USE int sherd_down(struct sherd_system *system,
                                        const char *address);

/* Prepares the whole cluster for its end. Every member that is up becomes
 * preparing, then ready for shutdown (sherd/cluster.h). From then on no node
 * joins, and no shard or singleton moves. When all are ready, they may be told
 * to leave, in any order, without hand-off. This cannot be undone.
 *
 * Result: 0, SHERD_EFULL, SHERD_ESTATE.
 * Threads: any, from sherd_start on. */
SHERD_API SHERD_MUST_USE int
sherd_prepare_shutdown(struct sherd_system *system);

/* ---- status ---- */

/* A member of the cluster, as this node sees it. */
struct sherd_member {
    char address[128];               /* "host:port" */
    uint64_t uid;                    /* of its incarnation */
    enum sherd_member_status status; /* its status */
    int reachable;                   /* 1: its heartbeats come */
    int seen; /* 1: it has this node's version of the membership */
};

/* An entity type on this node. */
struct sherd_type_status {
    char name[SHERD_TYPE_MAX + 1]; /* its name */
    char coordinator[128];         /* "host:port", or "" if unknown */
    uint32_t shards_here;          /* hosted by this node */
    uint64_t entities_here;        /* running on this node */
    uint64_t waiting;              /* messages held in this node's region */
};

/* A durable key of distributed data whose value was damaged on this node's disk
 * at the start. A key of the users is held (sherd/ddata.h); a key of sharding
 * goes on with what is left. */
struct sherd_damaged_key {
    char key[256]; /* its first 255 bytes */
    int is_lost;   /* 1: no value was left; 0: an earlier one was */
    int is_held;   /* 1: calls are answered SHERD_DATA_HELD */
};

/* A part of the journal's file that is damaged: an entity ("TYPE|ID"), a shard,
 * a table or a page. The journal refuses entities and shards that need it and
 * serves the rest. It is found when it is used, or by the check in background
 * (journal.sqlite.check-interval). */
struct sherd_damaged_part {
    char name[256]; /* its first 255 bytes */
    char why[200];  /* the file and what is wrong, for people */
};

/* A replica of distributed data on this node: of the program's own keys, of
 * sharding for each role, or of a JVM service, which this node only relays. */
struct sherd_replica_status {
    char path[256];   /* of its replicator, as JVM nodes name it */
    uint32_t keys;    /* number of keys, without deleted ones */
    uint32_t members; /* members with a replica; 0: it still loads */
    uint64_t bytes;   /* of all values as sent; at most 1 GiB */
    uint64_t pruned;  /* values from which a removed member was pruned */
};

/* Counters since the start: name, text. They count what this node did not
 * accept, did not send, or refused at a limit. Frames of nodes that are no
 * members, late frames of removed nodes and full tables are normal. If a number
 * keeps growing, look at the log. */
#define SHERD_COUNTERS(X)                                                      \
    /* Incoming connections with another protocol, for another node, silent    \
     * for too long, without a good certificate, or too many. */               \
    X(SHERD_CONNECTIONS_REFUSED, "connections refused")                        \
    /* Open connections closed because the certificate was revoked. */         \
    X(SHERD_CONNECTIONS_REVOKED, "connections revoked")                        \
    /* Frames that are no envelopes. */                                        \
    X(SHERD_FRAMES_MALFORMED, "frames malformed")                              \
    /* Frames of nodes that are unknown, replaced, removed, or of another      \
     * cluster. */                                                             \
    X(SHERD_FRAMES_REFUSED, "frames refused")                                  \
    /* Messages that cannot be read. */                                        \
    X(SHERD_MESSAGES_MALFORMED, "messages malformed")                          \
    /* The next six: messages of JVM nodes for services that this node does    \
     * not have. They are normal beside such nodes. The mediator of            \
     * distributed publish-subscribe: */                                       \
    X(SHERD_PUBSUB_IGNORED, "pub-sub messages ignored")                        \
    /* The cluster metrics. */                                                 \
    X(SHERD_METRICS_IGNORED, "cluster metrics ignored")                        \
    /* The receptionist of cluster clients. */                                 \
    X(SHERD_CLIENTS_IGNORED, "cluster client messages ignored")                \
    /* Managers of singletons. */                                              \
    X(SHERD_SINGLETONS_IGNORED, "singleton messages ignored")                  \
    /* Regions and coordinators of types that this node does not have, and     \
     * queries about regions of which too many are open. */                    \
    X(SHERD_SHARDING_IGNORED, "sharding messages ignored")                     \
    /* Replicators at other paths than this node's. */                         \
    X(SHERD_REPLICATORS_IGNORED, "replicator messages ignored")                \
    /* Membership messages that are malformed, break a rule, are too late, or  \
     * come from nodes that are no members. */                                 \
    X(SHERD_GOSSIP_DROPPED, "gossip dropped")                                  \
    /* Membership messages not sent because one waits for the same peer. The   \
     * peer is slow or away; the next message says more. */                    \
    X(SHERD_GOSSIP_LEFT_OUT, "gossip left out")                                \
    /* Changes of members of which subscribers got only the outcome, because   \
     * too much changed at once (sherd/cluster.h). */                          \
    X(SHERD_CHANGES_MERGED, "changes merged")                                  \
    /* Nodes that `where` of an ask cannot name: there are too many. */        \
    X(SHERD_PEERS_REFUSED, "peers refused")                                    \
    /* Asks from elsewhere whose stage this node does not report: too many. */ \
    X(SHERD_ASKED_REFUSED, "asked refused")                                    \
    /* Watches of actors here by JVM nodes: too many. */                       \
    X(SHERD_WATCHES_REFUSED, "watches refused")                                \
    /* JVM actors that can no longer be answered: too many. An ask is one. */  \
    X(SHERD_NAMES_FORGOTTEN, "names forgotten")                                \
    /* Actors not started: the name was taken, or too many actors have one. */ \
    X(SHERD_ACTOR_NAMES_REFUSED, "actor names refused")                        \
    /* Downed nodes that are not told so when they come back: too many. */     \
    X(SHERD_REMOVED_FORGOTTEN, "removed forgotten")                            \
    /* Nodes that never answered at their address, and made room for others.   \
     * A program that floods the port with handshakes causes this. */          \
    X(SHERD_STRANGERS_FORGOTTEN, "strangers forgotten")                        \
    /* Failed tries to shorten the journal's log, which is above its limit: a  \
     * process reads the file without an end. */                               \
    X(SHERD_JOURNAL_LOG_KEPT, "journal log kept")                              \
    /* Damaged parts of the journal: see damaged_parts. */                     \
    X(SHERD_JOURNAL_DAMAGED, "journal parts damaged")                          \
    /* Second answers to one message, and answers to nobody: sherd_reply. */   \
    X(SHERD_REPLIES_DROPPED, "replies dropped")                                \
    /* Jobs refused because too many are open: sherd_job_start. */             \
    X(SHERD_JOBS_REFUSED, "jobs refused")                                      \
    /* Jobs whose actor had ended, or whose events were not stored. */         \
    X(SHERD_JOBS_ORPHANED, "jobs orphaned")                                    \
    /* Handlers that took longer than sherd.slow-handler.report-after. Many    \
     * quick ones of one actor in a row count, too. */                         \
    X(SHERD_HANDLERS_SLOW, "handlers slow")                                    \
    /* Durable keys whose value was lost on the disk: see damaged_keys. */     \
    X(SHERD_DURABLE_LOST, "durable keys lost")                                 \
    /* Durable keys of which only an earlier value was found. */               \
    X(SHERD_DURABLE_STALE, "durable keys stale")                               \
    /* Failed tries to load or store durable keys: a full or broken disk. */   \
    X(SHERD_DURABLE_FAILED, "durable writes failed")                           \
    /* The rest is about distributed data. Values of others not taken: their   \
     * type differs. Members differ, too; the log names the key. */            \
    X(SHERD_VALUES_UNMERGED, "values unmerged")                                \
    /* Values of JVM programs' own types kept beside others of the key, until  \
     * a JVM member merges them; the log names the key. */                     \
    X(SHERD_VALUES_BESIDE, "values beside others")                             \
    /* Values too large: of updates (SHERD_DATA_TOO_LARGE), and of others;     \
     * then members differ, and the log names the key. */                      \
    X(SHERD_VALUES_TOO_LARGE, "values too large")                              \
    /* Values of new keys: too many keys, or too many bytes in all. Or values  \
     * of a custom type: too many beside others; the log names the key. */     \
    X(SHERD_VALUES_REFUSED, "values refused")                                  \
    /* Values above a message's size. After a change the whole is tried. */    \
    X(SHERD_VALUES_UNSENT, "values unsent")                                    \
    /* Changes that were not sent one by one because one key had too many:     \
     * gossip brings the whole value. */                                       \
    X(SHERD_DELTAS_LOST, "deltas lost")                                        \
    /* Messages that compare values: too many waited. A later one repeats. */  \
    X(SHERD_VALUES_GOSSIP_DROPPED, "values gossip dropped")                    \
    /* Values not sent because others wait for the same slow peer. A later     \
     * round repeats them. */                                                  \
    X(SHERD_VALUES_LEFT_OUT, "values left out")                                \
    /* Members that get no replica, counted each time one is told of: too      \
     * many. */                                                                \
    X(SHERD_REPLICAS_REFUSED, "replicas refused")                              \
    /* Removed members whose values are pruned only when one is found: too     \
     * many at once. */                                                        \
    X(SHERD_REPLICAS_FORGOTTEN, "replicas forgotten")

enum sherd_counter {
#define X(name, text) name,
    SHERD_COUNTERS(X)
#undef X
        SHERD_COUNTER_COUNT
};

/* Returns a counter's text, such as "frames refused": a constant.
 * Threads: any. */
SHERD_API const char *sherd_counter_text(enum sherd_counter counter);

/* The recoveries of entities on this node, and of the lists of remembered
 * entities in the journal. started = running + done + failed + stopped. */
struct sherd_recovery_status {
    uint64_t waiting; /* sherd.journal.max-concurrent-recoveries others run */
    uint64_t running; /* now */
    uint64_t started; /* since the start, as all that follow */
    uint64_t done;    /* all events were applied */
    uint64_t failed;  /* an event could not be read, or was rejected */
    uint64_t stopped; /* the shard left during the recovery */
    uint64_t events;  /* stored events that were read for them */
    uint64_t rejected; /* events that entities rejected, also new ones */
    /* recoveries with at least sherd.journal.long-replay-events events */
    uint64_t long_replays;
};

/* The snapshots of entities of this node since its start. */
struct sherd_snapshot_status {
    uint64_t taken;   /* images that are stored */
    uint64_t failed;  /* not taken or not stored, for any reason */
    uint64_t loaded;  /* recoveries that began with one */
    uint64_t refused; /* recoveries fell back to an older one, or to events */
    uint64_t deleted_events; /* events that kept snapshots replace */
};

/* The deliveries and commands of sherd/delivery.h, of the entities that ran on
 * this node since its start. */
struct sherd_delivery_status {
    uint64_t open;     /* now: sent, and their end is not known */
    uint64_t started;  /* by sherd_deliver */
    uint64_t refused;  /* by sherd_deliver: its result was 0 */
    uint64_t repeated; /* transmissions after the first one */
    uint64_t handled;  /* these three: their ends */
    uint64_t expired;
    uint64_t given_up;
    uint64_t received;       /* handled by receivers on this node */
    uint64_t received_again; /* repetitions of such */
    uint64_t commands;       /* new ones: sherd_once */
    uint64_t commands_again; /* repeated ones */
};

/* A snapshot of this node's view. sherd_status_free frees the arrays. */
struct sherd_status {
    struct sherd_member *members;    /* of the cluster */
    uint32_t member_count;           /* entries of members */
    struct sherd_type_status *types; /* of this node */
    uint32_t type_count;             /* entries of types */
    /* Messages by reason since the start. A frame of messages that cannot be
     * read counts as one, without a handler, and in counters. */
    uint64_t undelivered[SHERD_REASON_COUNT];
    uint64_t delivered;   /* messages given to actors of this node */
    uint64_t held_max;    /* most messages in this node's regions at a time */
    uint64_t held_total;  /* messages that had to wait in them */
    uint64_t held_ms_max; /* longest such wait, in ms */
    uint64_t fenced;      /* writes refused: a shard has a newer owner */
    uint64_t events;      /* events stored by this node */
    uint64_t jobs;        /* jobs started by actors of this node */
    uint64_t jobs_open;   /* jobs whose end the actor has not got */
    uint64_t counters[SHERD_COUNTER_COUNT]; /* by enum sherd_counter */
    int up;    /* 1: this node is a member with the status up */
    int plain; /* 1: others reach it, and not by TLS (remote.allow-plain) */
    struct sherd_damaged_key *damaged_keys; /* the first 64 */
    uint32_t damaged_key_count;             /* entries of damaged_keys */
    struct sherd_damaged_part *damaged_parts; /* of the journal, the first 64 */
    uint32_t damaged_part_count;              /* entries of damaged_parts */
    struct sherd_replica_status *replicas;  /* those in use */
    uint32_t replica_count;                 /* entries of replicas */
    struct sherd_recovery_status recoveries;
    struct sherd_snapshot_status snapshots;
    struct sherd_delivery_status deliveries;
};

/* Takes a snapshot of this node. Waits for a turn of every lane, at most 5 s. A
 * time in which the whole process was suspended counts as 1 s at most.
 *
 * status: filled; on failure there is nothing to free.
 * Result: 0; SHERD_ETIME: a lane did not answer; SHERD_EFULL: 64 calls are
 * waiting; SHERD_ESTATE.
 * Threads: threads of the program and jobs, from sherd_start on. Not in
 * receive. */
SHERD_API SHERD_MUST_USE int sherd_get_status(struct sherd_system *system,
                                              struct sherd_status *status);
/* Frees a snapshot's arrays and zeroes it. Null is fine.
 * Threads: any. */
SHERD_API void sherd_status_free(struct sherd_status *status);

/* Returns the library's version, "0.1.0".
 * Threads: any. */
SHERD_API const char *sherd_version(void);

#ifdef __cplusplus
}
#endif

#endif
