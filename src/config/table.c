/* Lists the keys that have a meaning here, with their defaults.
 * Akka's keys have the defaults of the reference.conf of its modules actor, remote, cluster,
 * cluster-tools, distributed-data, cluster-sharding and persistence, 2.6.21. known.c has Akka's
 * other keys.
 *
 * YES: the key has an effect. NOT_YET: it is known and checked, and has none; a node lists those
 * that are set. */
#include "config/table.h"
#include "config/table_journal.h"
#include "config/table_management.h"

#include <stddef.h>

#define YES true
#define NOT_YET false
#define ANY_MAX INT64_MAX

#define SWITCH(key, value, effect, about) { key, ROW_BOOL, value, NULL, 0, 0, effect, about },
#define COUNT(key, value, words, min, max, effect, about) \
    { key, ROW_INT, value, words, min, max, effect, about },
#define NUMBER(key, value, words, min, max, effect, about) \
    { key, ROW_NUMBER, value, words, min, max, effect, about },
#define TIME(key, value, words, effect, about) { key, ROW_DURATION, value, words, 0, 0, effect, about },
/* A time that must not be zero. */
#define SPAN(key, value, words, effect, about) \
    { key, ROW_DURATION, value, words, 1, 0, effect, about },
/* A time counted in whole milliseconds; less than one would be zero. */
#define SPAN_MS(key, value, words, effect, about) \
    { key, ROW_DURATION, value, words, 1000000, 0, effect, about },
#define SIZE(key, value, words, effect, about) { key, ROW_SIZE, value, words, 0, 0, effect, about },
#define TEXT(key, value, effect, about) { key, ROW_TEXT, value, NULL, 0, 0, effect, about },
#define CHOICE(key, value, words, effect, about) { key, ROW_CHOICE, value, words, 0, 0, effect, about },
#define LIST(key, value, effect, about) { key, ROW_LIST, value, NULL, 0, 0, effect, about },
#define IGNORED(key) { key, ROW_ANY, "null", NULL, 0, 0, NOT_YET, KNOWN_FOREIGN },
/* The keys of the other section may stand below it; below an empty one no key may. */
#define SAME(at, other) \
    { at ".**", ROW_ANY, "null", other, 0, 0, NOT_YET, KNOWN_FOREIGN },
#define EMPTY(at) SAME(at, "")

#define LEVELS "error|warning|info|debug|off"
#define OFF "off|none"

/* Log lines have these names as module: tools/states compares them. */
#define MODULE(name, about) \
    CHOICE("log." name, "$log.level", LEVELS, YES, about)

/* A phase of the graceful shutdown. */
#define PHASE(name, before, about)                                          \
    TIME("coordinated-shutdown.phases." name ".timeout",                    \
         "$coordinated-shutdown.default-phase-timeout", NULL, YES, about)   \
    SWITCH("coordinated-shutdown.phases." name ".enabled", "on", YES,       \
           "off: the phase is skipped; refused for phases that the cluster waits for") \
    SWITCH("coordinated-shutdown.phases." name ".recover", "on", YES,       \
           "off: shutdown stops at a late task; refused from the hand-off of shards on") \
    LIST("coordinated-shutdown.phases." name ".depends-on", "[" before "]", YES, \
         "the order of phases is fixed; another value is refused")

/* A singleton's settings; sharding's take the values of the general ones. */
#define SINGLETON(at, role, retry, retries, lease, lease_retry, role_about)     \
    TEXT(at ".role", role, YES, role_about)                                     \
    SPAN_MS(at ".hand-over-retry-interval", retry, NULL, YES, "asks the previous oldest again after this time") \
    COUNT(at ".min-number-of-hand-over-retries", retries, NULL, 1, 100000, YES, \
          "asks at least this often before it starts over")                     \
    TEXT(at ".use-lease", lease, YES, "lease that a node holds while it runs a singleton or coordinator: `etcd`, `file`, " \
         "`memory`; empty: none")                                               \
    SPAN_MS(at ".lease-retry-interval", lease_retry, NULL, YES,                 \
         "tries to get the lease again after this time")

/* Distributed data, the users' or sharding's; d("...") names the key whose value is the default. */
#define DDATA(at, d, prefer, elements, keys, users)                              \
    TEXT(at ".name", d("name", "ddataReplicator"), users, DDATA_##users("name of the replicator actor", \
         "as in Akka: the replicator has the name of its role; see `guardian-name`")) \
    TEXT(at ".role", d("role", ""), users, DDATA_##users("only members with this role have replicas; empty: all", \
         "as in Akka: it has the role of the entity types; set `cluster.sharding.role`")) \
    SPAN_MS(at ".gossip-interval", d("gossip-interval", "2 s"), NULL, YES,       \
         "interval of gossip")                                                   \
    SPAN_MS(at ".notify-subscribers-interval",                                   \
         d("notify-subscribers-interval", "500 ms"), NULL, YES,                  \
         "interval at which subscribers get changes")                            \
    SIZE(at ".log-data-size-exceeding",                                          \
         d("log-data-size-exceeding", "10 KiB"), OFF, YES,                       \
         "logs values above this size, again after each growth by a tenth")      \
    COUNT(at ".max-delta-elements", elements, NULL, 1, 1000000, YES,             \
          "number of entries in one gossip message")                             \
    TEXT(at ".use-dispatcher", d("use-dispatcher", "akka.actor.internal-dispatcher"), NOT_YET, \
         "there are no dispatchers: replicators run on the control thread")                                                 \
    SPAN_MS(at ".pruning-interval", d("pruning-interval", "120 s"), OFF, YES,    \
         "interval of pruning the data of removed members")                      \
    SPAN_MS(at ".max-pruning-dissemination",                                     \
         d("max-pruning-dissemination", "300 s"), NULL, YES,                     \
         "time that the pruning of a member needs to reach all replicas")        \
    SPAN_MS(at ".pruning-marker-time-to-live",                                   \
         d("pruning-marker-time-to-live", "6 h"), NULL, YES,                     \
         "pruning markers are kept this long")                                   \
    TIME(at ".serializer-cache-time-to-live",                                    \
         d("serializer-cache-time-to-live", "10s"), NULL, NOT_YET,               \
         "values are kept as bytes, so nothing needs a cache")                                                 \
    SWITCH(at ".prefer-oldest", prefer, YES,                                     \
           "on: replicates to the oldest members first")                         \
    COUNT(at ".majority-min-cap", "5", NULL, 1, 100000, !(users), "a majority has at least this many members, or all " \
          "when there are fewer; of `cluster.sharding.distributed-data` only, calls name their own") \
    SWITCH(at ".delta-crdt.enabled", d("delta-crdt.enabled", "on"), YES,         \
           "on: sends deltas instead of whole values")                           \
    COUNT(at ".delta-crdt.max-delta-size", d("delta-crdt.max-delta-size", "50"), \
          NULL, 1, 1000000, YES, "a delta with more elements is sent as a whole value") \
    LIST(at ".durable.keys", keys, YES,                                          \
         "keys stored on disk; a final * makes a prefix")                        \
    SPAN_MS(at ".durable.pruning-marker-time-to-live",                           \
         d("durable.pruning-marker-time-to-live", "10 d"), NULL, YES,            \
         "pruning markers of durable keys are kept this long")                   \
    TEXT(at ".durable.store-actor-class",                                        \
         d("durable.store-actor-class", "akka.cluster.ddata.LmdbDurableStore"),  \
         YES, "only this class, which stands for the LMDB files of this library, or Pekko's") \
    TEXT(at ".durable.use-dispatcher", d("durable.use-dispatcher", "akka.cluster.distributed-data.durable.pinned-store"), \
         NOT_YET, "there are no dispatchers: a thread of its own writes durable keys") \
    { at ".durable.pinned-store.**", ROW_ANY, "null", "actor.default-dispatcher", 0, 0, NOT_YET, \
      "there are no dispatchers: a thread of its own writes durable keys" },     \
    TEXT(at ".durable.lmdb.dir", d("durable.lmdb.dir", "ddata"), users, DDATA_##users( \
         "directory of the files; a name that ends with `ddata` gets a suffix with system, replicator and port", ONE_FILE)) \
    SIZE(at ".durable.lmdb.map-size", d("durable.lmdb.map-size", "100 MiB"),     \
         NULL, users, DDATA_##users("initial size limit of the database, 1 MiB to 64 GiB", ONE_FILE)) \
    TIME(at ".durable.lmdb.write-behind-interval", d("durable.lmdb.write-behind-interval", "off"), OFF, \
         users, DDATA_##users("collects changes this long, then writes them", ONE_FILE))
#define DDATA_YES(users, sharding) users
#define DDATA_NOT_YET(users, sharding) sharding
#define ONE_FILE "one file has the durable keys of all replicators: set it in `cluster.distributed-data`"

#define DDATA_OWN(key, value) value
#define DDATA_GENERAL(key, value) "$cluster.distributed-data." key

/* A passivation strategy; p("...") names the key whose value is the default. */
#define STRATEGY(at, p)                                                          \
    TIME(at ".idle-entity.timeout", p("idle-entity.timeout", "none"), OFF, YES,  \
         "an entity without a message for this long is passivated")              \
    TIME(at ".idle-entity.interval", p("idle-entity.interval", "default"),       \
         "default", YES, "looks for idle entities this often")                   \
    SIZE(at ".active-byte-limit", p("active-byte-limit", "none"), OFF, YES,      \
         "most bytes of entities that a region keeps active")                    \
    COUNT(at ".active-entity-limit", p("active-entity-limit", "none"), OFF, 1,   \
          ANY_MAX, YES, "most entities that a region keeps active")          \
    CHOICE(at ".replacement.policy", p("replacement.policy", "none"),            \
           "least-recently-used|most-recently-used|least-frequently-used|" OFF,  \
           YES, "which entity goes when the limit is reached")               \
    COUNT(at ".replacement.least-recently-used.segmented.levels",                \
          p("replacement.least-recently-used.segmented.levels", "none"), OFF, 1, \
          64, YES, "segments of the recency list")                         \
    LIST(at ".replacement.least-recently-used.segmented.proportions",            \
         p("replacement.least-recently-used.segmented.proportions", "[]"),       \
         YES, "their shares; empty: equal")                                  \
    EMPTY(at ".replacement.most-recently-used")                                  \
    SWITCH(at ".replacement.least-frequently-used.dynamic-aging",                \
           p("replacement.least-frequently-used.dynamic-aging", "off"), YES, \
           "old frequencies count less")                                         \
    NUMBER(at ".admission.window.proportion",                                    \
           p("admission.window.proportion", "0.01"), NULL, 0, 1, YES,        \
           "share of the window at the start")                                   \
    NUMBER(at ".admission.window.minimum-proportion",                            \
           p("admission.window.minimum-proportion", "0.01"), NULL, 0, 1,         \
           YES, "its smallest share")                                        \
    NUMBER(at ".admission.window.maximum-proportion",                            \
           p("admission.window.maximum-proportion", "1.0"), NULL, 0, 1, YES, \
           "its largest share")                                                  \
    CHOICE(at ".admission.window.optimizer",                                     \
           p("admission.window.optimizer", "off"), "hill-climbing|" OFF,         \
           YES, "how the window's share adapts")                             \
    NUMBER(at ".admission.window.hill-climbing.adjust-multiplier",               \
           p("admission.window.hill-climbing.adjust-multiplier", "10.0"), NULL,  \
           0, ANY_MAX, YES, "accesses between two steps, by the limit")      \
    NUMBER(at ".admission.window.hill-climbing.initial-step",                    \
           p("admission.window.hill-climbing.initial-step", "0.0625"), NULL, 0,  \
           1, YES, "size of the first step")                                 \
    NUMBER(at ".admission.window.hill-climbing.restart-threshold",               \
           p("admission.window.hill-climbing.restart-threshold", "0.05"), NULL,  \
           0, 1, YES, "change of the hit rate that starts over")             \
    NUMBER(at ".admission.window.hill-climbing.step-decay",                      \
           p("admission.window.hill-climbing.step-decay", "0.98"), NULL, 0, 1,   \
           YES, "each step is smaller by this factor")                       \
    CHOICE(at ".admission.window.policy", p("admission.window.policy", "none"),  \
           "least-recently-used|most-recently-used|least-frequently-used|" OFF,  \
           YES, "which entity leaves the window")                            \
    COUNT(at ".admission.window.least-recently-used.segmented.levels",           \
          p("admission.window.least-recently-used.segmented.levels", "none"),    \
          OFF, 1, 64, YES, "segments of the window's recency list")        \
    LIST(at ".admission.window.least-recently-used.segmented.proportions",       \
         p("admission.window.least-recently-used.segmented.proportions", "[]"),  \
         YES, "their shares; empty: equal")                                  \
    EMPTY(at ".admission.window.most-recently-used")                             \
    SWITCH(at ".admission.window.least-frequently-used.dynamic-aging",           \
           p("admission.window.least-frequently-used.dynamic-aging", "off"),     \
           YES, "old frequencies count less")                                \
    CHOICE(at ".admission.filter", p("admission.filter", "none"),                \
           "frequency-sketch|" OFF, YES, "which entities may enter the main area")      \
    COUNT(at ".admission.frequency-sketch.depth",                                \
          p("admission.frequency-sketch.depth", "4"), NULL, 1, 16, YES,      \
          "hash functions of the sketch")                                        \
    COUNT(at ".admission.frequency-sketch.counter-bits",                         \
          p("admission.frequency-sketch.counter-bits", "4"), NULL, 2, 64,        \
          YES, "bits of one counter: 2, 4, 8, 16, 32 or 64")                 \
    NUMBER(at ".admission.frequency-sketch.width-multiplier",                    \
           p("admission.frequency-sketch.width-multiplier", "4"), NULL, 0,       \
           ANY_MAX, YES, "width of the sketch, by the limit")                \
    NUMBER(at ".admission.frequency-sketch.reset-multiplier",                    \
           p("admission.frequency-sketch.reset-multiplier", "10.0"), NULL, 0,    \
           ANY_MAX, YES, "accesses between two resets, by the limit")

#define STRATEGY_OWN(key, value) value
#define STRATEGY_GENERAL(key, value) \
    "$cluster.sharding.passivation.strategy-defaults." key

#define SHARDING "cluster.sharding."
#define DAEMONS "cluster.sharded-daemon-process."
#define LEAST SHARDING "least-shard-allocation-strategy."
#define HASHING SHARDING "consistent-hashing-allocation-strategy."
#define PASSIVATION SHARDING "passivation."
#define DETECTOR "cluster.failure-detector."
#define RESOLVER "cluster.split-brain-resolver."
#define ARTERY "remote.artery."
#define BOOTSTRAP "management.cluster.bootstrap."
#define DISCOVERY BOOTSTRAP "contact-point-discovery."
#define ADVANCED ARTERY "advanced."
#define SSL_ENGINE ARTERY "ssl.config-ssl-engine."
#define ROTATING ARTERY "ssl.rotating-keys-engine."
#define AKKA_TLS "/var/run/secrets/akka-tls/rotating-keys-engine/"

static const struct row rows[] = {
    /* Sherd's own */
    COUNT("lanes", "auto", "auto", 1, 64, YES,
          "number of lanes, the threads that run actors; `auto`: one for each processor")
    SPAN("stalled-lane.leave-after", "30 s", OFF, YES,
         "a node leaves when a handler blocks a lane for this long, and ends after twice this time; at least 5 s")
    SPAN("slow-handler.report-after", "100 ms", OFF, YES,
         "a handler, or a batch of 64 messages, that runs longer is logged and counted")
    COUNT("pool.threads", "4", NULL, 1, 1024, YES,
          "number of threads that run jobs")
    TIME("pool.close-timeout", "10 s", NULL, YES,
         "`sherd_close` waits this long for running jobs, then abandons them")
    CHOICE("poll", "auto", "auto|latency|frugal", YES,
           "threads poll before they sleep: `auto` with enough processors, `latency` always, `frugal` never")
    TEXT("journal.plugin", "memory", YES,
         "where events are stored: `memory`, `sqlite`, `postgres`, or a registered back end; not set: a type that persists events is refused")
    TEXT("journal.place", "", YES, "for a registered back end; in `options.journal` after the colon")
    TEXT("journal.sqlite.path", "sherd.db", YES, "file of the journal; processes on one host may share it")
    SPAN_MS("journal.sqlite.lock-timeout", "10 s", NULL, YES, "a write waits this long for another process's transaction, then it fails")
    SPAN_MS("journal.sqlite.check-interval", "24 h", OFF, YES, "the file is checked for damage at the start, and this long after each check")
    SIZE("journal.sqlite.check-rate", "8 MiB", NULL, YES, "bytes a second that a check reads; at least 64 KiB")
    SIZE("journal.sqlite.wal-size-max", "64 MiB", NULL, NOT_YET, "the write-ahead log is cut back above this")
    JOURNAL_ROWS
    SWITCH("journal.allow-different-stores", "off", YES,
           "on: nodes with different journals may form one cluster, and lose events when entities move; for tests")
    TEXT("journal.cluster-id", "", YES,
         "accepts only this cluster; empty: the system name, and @ with the data center unless it is `default`")
    TEXT("lease.directory", ".", YES, "directory of lease files, shared by the processes of one host")
    LIST("lease.etcd.endpoints", "[\"http://127.0.0.1:2379\"]", YES,
         "etcd servers, http or https, tried in order until one answers")
    TEXT("lease.etcd.prefix", "/sherd/leases/", YES,
         "prefix of the keys in etcd; the lease name follows it")
    TEXT("lease.etcd.user", "", YES, "user for etcd; empty: no authentication")
    TEXT("lease.etcd.password", "", YES, "password of this user")
    TEXT("lease.etcd.ca-file", "", YES,
         "CA certificates that verify etcd's certificate; empty: those of the system")
    TEXT("lease.etcd.cert-file", "", YES, "certificate shown to etcd; empty: none")
    TEXT("lease.etcd.key-file", "", YES, "key of this certificate")
    SPAN("lease.etcd.request-timeout", "1500 ms", NULL, YES,
         "time limit of one request to etcd; must be less than `lease-operation-timeout`")
    LIST("dns.servers", "[]", YES,
         "DNS servers, host or host:port; empty: those of the system")
    CHOICE("config.unknown-keys", "error", "error|warn", YES, "unknown keys in sections that a node reads are errors or warnings")
    CHOICE("log.level", "$loglevel", LEVELS, YES,
           "most detailed level that is written")
    CHOICE("log.format", "logfmt", "logfmt|json", YES, "format of a log line")
    MODULE("actor", "level of actors, entities and what they log themselves")
    MODULE("artery", "level of incoming connections")
    MODULE("association", "level of peers: quarantine, system messages")
    MODULE("config", "level of settings")
    MODULE("coordinator", "level of the coordinator of shards")
    MODULE("ddata", "level of distributed data")
    MODULE("host", "level of threads and the system around them")
        MODULE("journal", "level of the journal")
    MODULE("lease", "level of leases") MANAGEMENT_ROWS
    MODULE("link", "level of outgoing connections")
    MODULE("log", "level of lines about the log") MODULE("management", "level of the management by HTTP")
    MODULE("member", "level of membership")
    MODULE("node", "level of what belongs to no other module")
    MODULE("owned-shards", "level of the shards of this node")
    MODULE("region", "level of regions")
    MODULE("resolver", "level of the split brain resolver")
    MODULE("shard", "level of shards that end")
    MODULE("singleton", "level of singletons")
    MODULE("tls", "level of certificates and keys")
    TEXT("system-name", "ClusterSystem", YES, "name of the cluster, the same on all nodes; not set: that of the seed nodes")
    TEXT("protocol.name", "", YES, "protocol in addresses, `akka` or `pekko`; empty: see below")
    TEXT("protocol.magic", "AKKA", NOT_YET, "first bytes of every connection")
    TEXT("protocol.config-prefix", "", YES, "the name of the protocol; another value is refused")
    TEXT("remote.protocol-name", "", YES, "Pekko's name of `protocol.name`")

    /* Membership */
    LIST("cluster.seed-nodes", "[]", YES, "nodes to join at the start; the first one may found the cluster")
    TEXT("cluster.seed-nodes-file", "", YES, "file with a seed node on each line, read until the node has joined")
    SPAN_MS("cluster.seed-node-timeout", "5s", NULL, YES, "waits this long for a seed node's answer")
    SPAN_MS("cluster.retry-unsuccessful-join-after", "10s", OFF, YES, "waits this long before it tries to join again")
    SPAN_MS("cluster.shutdown-after-unsuccessful-join-seed-nodes", "off", OFF, YES,
         "the node ends when it could not join for this long")
    TIME("cluster.down-removal-margin", "off", OFF, YES,
         "waits this long after a member's removal before its shards and singletons start elsewhere, unless it left; `off`: "
         "`stable-after` with the resolver, else no wait")
    TEXT("cluster.downing-provider-class", "", YES,
         "`akka.cluster.sbr.SplitBrainResolverProvider`: the split brain resolver; empty: an operator downs "
         "unreachable members")
    TIME("cluster.quarantine-removed-node-after", "5s", NULL, YES,
         "frames of a member that left gracefully are accepted for this long")
    SPAN_MS("cluster.allow-weakly-up-members", "7s", "off|on", YES,
         "joining members become weakly up after this time without convergence")
    LIST("cluster.roles", "[]", YES, "roles of this node")
    SWITCH("cluster.run-coordinated-shutdown-when-down", "on", YES,
           "on: a downed node runs the shutdown tasks of its actors, too; it ends in any case")
    COUNT("cluster.role.*.min-nr-of-members", "1", NULL, 1, 100000, YES,
          "members with this role before the leader moves joining members to up, and regions before a type with this "
          "role allocates shards")
    TEXT("cluster.app-version", "0.0.0", YES,
         "version of the application, for rolling updates")
    COUNT("cluster.min-nr-of-members", "1", NULL, 1, 100000, YES,
          "members before the leader moves joining members to up, and regions before a type without a role allocates "
          "shards")
    SWITCH("cluster.log-info", "on", YES,
           "on: membership changes are logged at info; off: at debug, except problems")
    SWITCH("cluster.log-info-verbose", "off", YES,
           "on: every node logs each member's status changes at info; off: at debug")
    TIME("cluster.periodic-tasks-initial-delay", "1s", NULL, YES,
         "the first gossip, heartbeats and checks wait this long, and at least their own interval")
    SPAN_MS("cluster.gossip-interval", "1s", NULL, YES, "interval of gossip")
    TIME("cluster.gossip-time-to-live", "2s", NULL, NOT_YET,
         "none is kept here: it is read when it arrives")
    SPAN_MS("cluster.leader-actions-interval", "1s", NULL, YES, "longest time between actions of the leader")
    SPAN_MS("cluster.unreachable-nodes-reaper-interval", "1s", NULL, YES, "interval of reading the failure detector")
    SPAN_MS("cluster.publish-stats-interval", "off", OFF, YES, "interval of a log line with gossip statistics")
    IGNORED("cluster.use-dispatcher")
    NUMBER("cluster.gossip-different-view-probability", "0.8", NULL, 0, 1, YES,
           "probability that gossip goes to a node that has not seen the current state")
    COUNT("cluster.reduce-gossip-different-view-probability", "400", NULL, 1,
          100000, YES, "above this many members that probability is reduced")
    SPAN_MS("cluster.prune-gossip-tombstones-after", "24h", NULL, YES, "tombstones of removed members live this long")
    IGNORED(DETECTOR "implementation-class")
    SPAN_MS(DETECTOR "heartbeat-interval", "1 s", NULL, YES,
         "interval of heartbeats")
    NUMBER(DETECTOR "threshold", "8.0", NULL, 0, 1000, YES,
           "a member is unreachable when phi exceeds this value")
    COUNT(DETECTOR "max-sample-size", "1000", NULL, 1, 100000, YES,
          "number of heartbeat intervals kept as samples")
    SPAN_MS(DETECTOR "min-std-deviation", "100 ms", NULL, YES,
         "lower bound of the assumed standard deviation")
    TIME(DETECTOR "acceptable-heartbeat-pause", "3 s", NULL, YES,
         "a pause this long between heartbeats is normal")
    COUNT(DETECTOR "monitored-by-nr-of-members", "9", NULL, 1, 1000, YES,
          "number of members that monitor each member")
    SPAN_MS(DETECTOR "expected-response-after", "1 s", NULL, YES,
         "the first heartbeat is expected after this time")
    TEXT("cluster.multi-data-center.self-data-center", "default", YES,
         "data center of this node")
    COUNT("cluster.multi-data-center.cross-data-center-connections", "5", NULL,
          1, 1000, YES,
          "this many oldest members of each data center talk to other data centers")
    NUMBER("cluster.multi-data-center.cross-data-center-gossip-probability",
           "0.2", NULL, 0, 1, YES, "share of their gossip that goes to other data centers; limited to 0.95 when the "
                "data center has several members")
    IGNORED("cluster.multi-data-center.failure-detector.implementation-class")
    TIME("cluster.multi-data-center.failure-detector."
         "acceptable-heartbeat-pause", "10 s", NULL, YES,
         "a pause this long between heartbeats is normal")
    SPAN_MS("cluster.multi-data-center.failure-detector.heartbeat-interval", "3 s",
         NULL, YES, "interval of heartbeats")
    SPAN_MS("cluster.multi-data-center.failure-detector.expected-response-after",
         "1 s", NULL, YES, "the first heartbeat is expected after this time")
    SWITCH("cluster.debug.verbose-heartbeat-logging", "off", NOT_YET, "heartbeats are not logged: see `log.member`")
    SWITCH("cluster.debug.verbose-gossip-logging", "off", NOT_YET, "gossip is not logged: see `log.member`")
    SWITCH("cluster.configuration-compatibility-check.enforce-on-join", "on",
           YES, "on: a node whose cluster-wide settings differ may not join")

    /* Decisions about unreachable nodes */
    CHOICE(RESOLVER "active-strategy", "keep-majority",
           "keep-majority|static-quorum|keep-oldest|down-all|lease-majority",
           YES, "which side of a partition survives")
    SPAN(RESOLVER "stable-after", "20s", NULL, YES,
         "decides when membership and reachability did not change for this long")
    SPAN(RESOLVER "down-all-when-unstable", "on", "on|off", YES,
         "downs all members when nothing was stable for `stable-after` and this time; `on`: three quarters of "
         "`stable-after`, at least 4 s")
    COUNT(RESOLVER "static-quorum.quorum-size", "undefined", "undefined", 1,
          100000, YES, "least number of members of the side that survives")
    TEXT(RESOLVER "static-quorum.role", "", YES, "only members with this role count; empty: all")
    TEXT(RESOLVER "keep-majority.role", "", YES, "only members with this role count; empty: all")
    SWITCH(RESOLVER "keep-majority.joining-breaks-tie", "off", YES, "with a role: a joining member counts for the "
         "lowest address when both sides are equal")
    SWITCH(RESOLVER "keep-oldest.down-if-alone", "on", YES,
           "on: the oldest member is downed when it is alone on its side")
    TEXT(RESOLVER "keep-oldest.role", "", YES, "only members with this role count; empty: all")
    TEXT(RESOLVER "lease-majority.lease-implementation", "", YES,
         "where the lease is kept: `etcd`, `file` (one host) or `memory` (one process)")
    TEXT(RESOLVER "lease-majority.lease-name", "", YES, "lease name; empty: the system name and `-akka-sbr`")
    TIME(RESOLVER "lease-majority.acquire-lease-delay-for-minority", "2s", NULL,
         YES, "the smaller side asks for the lease this much later")
    TIME(RESOLVER "lease-majority.release-after", "40s", NULL, YES,
         "the winner releases the lease this long after the downed members are removed")
    TEXT(RESOLVER "lease-majority.role", "", YES, "only members with this role count; empty: all")

    /* Singletons */
    TEXT("cluster.singleton.singleton-name", "singleton", YES, "name of a singleton that the program does not name")
    SINGLETON("cluster.singleton", "", "1s", "15", "", "5s", "only members with this role; empty: all")
    TEXT("cluster.singleton-proxy.singleton-name", "$cluster.singleton.singleton-name", YES,
         "name of the singleton that a proxy without one looks for")
    TEXT("cluster.singleton-proxy.role", "", YES, "role of the members that run it; empty: all")
    SPAN_MS("cluster.singleton-proxy.singleton-identification-interval", "1s",
            NULL, YES, "looks for the singleton this often")
    COUNT("cluster.singleton-proxy.buffer-size", "1000", NULL, 0, 10000, YES,
          "messages that wait on a node while it knows no instance; 0: none")

    /* Distributed data */
    DDATA("cluster.distributed-data", DDATA_OWN, "off", "500", "[]", YES)
    TIME("cluster.distributed-data.expire-keys-after-inactivity.**", "off", OFF, YES,
         "a key (a final * makes a prefix) that no member used for this long is removed; see `sherd/ddata.h`")
    SIZE("cluster.distributed-data.max-data-size", "248 KiB", NULL, YES,
         "an update that makes a value larger than this is refused")

    /* Sharding */
    COUNT(SHARDING "number-of-shards", "1000", NULL, 1, 20000, YES,
          "number of shards of a type; the same on all nodes")
    TEXT(SHARDING "guardian-name", "sharding", YES, "name of the actor above all regions, in their paths; the same on all nodes")
    TEXT(SHARDING "role", "", YES, "only members with this role host entities; empty: all")
    SWITCH(SHARDING "remember-entities", "off", YES,
           "on: entities of types that do not set `remember` start again with their shard")
    CHOICE(SHARDING "remember-entities-store", "ddata", "ddata|eventsourced",
           YES, "where remembered entities are stored; `ddata`: distributed data; `eventsourced`: the journal")
    TIME(SHARDING "passivate-idle-entity-after", "null", OFF, YES,
         "deprecated form of the idle time-out; wins when it is set")
    TEXT(PASSIVATION "strategy", "default-idle-strategy", YES,
         "name of the strategy; `none` or `off`: no passivation")
    TIME(PASSIVATION "default-idle-strategy.idle-entity.timeout", "120s", OFF,
         YES, "an entity without a message for this long is passivated")
    COUNT(PASSIVATION "default-strategy.active-entity-limit", "100000", OFF, 1,
          ANY_MAX, YES, "most entities that a region keeps active")
    CHOICE(PASSIVATION "default-strategy.admission.window.policy",
           "least-recently-used",
           "least-recently-used|most-recently-used|least-frequently-used|" OFF,
           YES, "which entity leaves the window")
    CHOICE(PASSIVATION "default-strategy.admission.window.optimizer",
           "hill-climbing", "hill-climbing|" OFF, YES,
           "how the window's share adapts")
    CHOICE(PASSIVATION "default-strategy.admission.filter", "frequency-sketch",
           "frequency-sketch|" OFF, YES, "which entities may enter the main area")
    CHOICE(PASSIVATION "default-strategy.replacement.policy",
           "least-recently-used",
           "least-recently-used|most-recently-used|least-frequently-used|" OFF,
           YES, "which entity goes when the limit is reached")
    COUNT(PASSIVATION "default-strategy.replacement.least-recently-used.segmented.levels", "2", OFF, 1, 64, YES, "segments of the recency list")
    LIST(PASSIVATION "default-strategy.replacement.least-recently-used."
                     "segmented.proportions",
         "[0.2, 0.8]", YES, "their shares")
    STRATEGY(PASSIVATION "strategy-defaults", STRATEGY_OWN)
    STRATEGY(PASSIVATION "*", STRATEGY_GENERAL)
    SPAN_MS(SHARDING "coordinator-failure-backoff", "5 s", NULL, YES,
         "longest pause before a coordinator repeats a failed read or write of its state")
    SPAN(SHARDING "retry-interval", "2 s", NULL, YES,
         "a region repeats unanswered requests to the coordinator at this interval")
    COUNT(SHARDING "buffer-size", "100000", NULL, 0, 100000000, YES,
          "number of messages of a type that a node keeps while shard homes are unknown; 0: none, such messages are undelivered")
    SPAN_MS(SHARDING "handoff-timeout", "60 s", NULL, YES, "a hand-off that takes longer fails, and the shard stays")
    SPAN_MS(SHARDING "shard-start-timeout", "10 s", NULL, YES,
         "the coordinator repeats an unanswered order to host a shard after this time")
    TIME(SHARDING "shard-failure-backoff", "10 s", NULL, YES,
         "longest wait before a failed read or write of remembered entities is repeated")
    TIME(SHARDING "entity-restart-backoff", "10 s", NULL, YES,
         "a remembered entity that stopped starts again after this time")
    SPAN_MS(SHARDING "rebalance-interval", "10 s", NULL, YES, "interval of rebalancing")
    TEXT(SHARDING "journal-plugin-id", "", NOT_YET, "only of `state-store-mode = persistence`, which is refused; see `journal.plugin`")
    TEXT(SHARDING "snapshot-plugin-id", "", NOT_YET, "only of `state-store-mode = persistence`, which is refused; see `journal.plugin`")
    CHOICE(SHARDING "state-store-mode", "ddata", "ddata|persistence",
           YES, "where coordinators store their state; `persistence` is refused")
    COUNT(SHARDING "snapshot-after", "1000", NULL, 1, ANY_MAX, YES,
          "number of records of a shard's remembered entities between two complete ones")
    COUNT(SHARDING "keep-nr-of-batches", "2", NULL, 0, ANY_MAX, YES,
          "this many times `snapshot-after` records before the last complete one are kept")
    CHOICE(SHARDING "allocation-strategy", "least-shard", "least-shard|consistent-hashing|external", YES,
           "how shards get their nodes, for types that do not set `allocation`; the same on all nodes")
    COUNT(LEAST "rebalance-absolute-limit", "0", NULL, 0, 100000, YES,
          "above 0: the newer algorithm, which moves at most this many shards in one round")
    NUMBER(LEAST "rebalance-relative-limit", "0.1", NULL, 0, 1, YES,
           "the newer algorithm moves at most this share of all shards in one round, at least one")
    COUNT(LEAST "rebalance-threshold", "1", NULL, 1, 100000, YES,
          "older algorithm: allowed difference between the number of shards of two regions")
    COUNT(LEAST "max-simultaneous-rebalance", "3", NULL, 1, 100000, YES,
          "older algorithm: number of shards that move at the same time")
    COUNT(HASHING "rebalance-limit", "0", NULL, 0, 100000, YES,
          "at most this many shards move in one round; 0: all that are not at their node")
    NUMBER(HASHING "load-bound", "off", OFF, 1, 1000, YES,
           "no node gets more shards than this many times the average; others go to the next node on the ring")
    SPAN_MS(SHARDING "external-shard-allocation-strategy.client-timeout", "5s", NULL, YES,
            "`sherd_locations_get` waits this long for a majority")
    TIME(SHARDING "waiting-for-state-timeout", "2 s", NULL, YES,
         "time limit of one read of the coordinator's state, which is then repeated; a slower read of remembered "
         "entities is logged")
    TIME(SHARDING "updating-state-timeout", "5 s", NULL, YES,
         "time limit of one write of the coordinator's state, which is then repeated; a slower write of remembered "
         "entities is logged")
    TIME(SHARDING "shard-region-query-timeout", "3 s", NULL, YES,
         "shards of a region that do not answer a query in this time are reported as failed")
    CHOICE(SHARDING "entity-recovery-strategy", "all", "all|constant|paced",
           YES, "how fast remembered entities start: `all` at once, at a `constant` rate, or `paced` by the "
                "journal's answers")
    SPAN(SHARDING "entity-recovery-constant-rate-strategy.frequency", "100 ms",
         NULL, YES, "interval between two batches of a lane")
    COUNT(SHARDING "entity-recovery-constant-rate-strategy.number-of-entities",
          "5", NULL, 1, 1000000, YES, "number of entities in a batch")
    SPAN(SHARDING "entity-recovery-paced-strategy.latency-target", "20 ms",
         NULL, YES, "a slower read of the journal makes batches smaller, a faster one larger; use at least twice the "
              "time of a single read")
    COUNT(SHARDING "event-sourced-remember-entities-store."
                   "max-updates-per-write",
          "100", NULL, 1, 1000000, YES, "number of changes in one record")
    TEXT(SHARDING "coordinator-singleton.singleton-name", "$cluster.singleton.singleton-name", NOT_YET,
         "coordinators have the name \"singleton\", as in Akka; `guardian-name` changes their paths")
    SINGLETON(SHARDING "coordinator-singleton", "$cluster.singleton.role",
              "$cluster.singleton.hand-over-retry-interval",
              "$cluster.singleton.min-number-of-hand-over-retries",
              "$cluster.singleton.use-lease", "$cluster.singleton.lease-retry-interval",
              "with `coordinator-singleton-role-override = off`: role of the coordinators' nodes")
    SWITCH(SHARDING "coordinator-singleton-role-override", "on", YES,
           "on: coordinators run on all nodes that host the type; off: only on those of them with "
           "`coordinator-singleton.role`; the same on all nodes")
    COUNT(SHARDING "coordinator-state.write-majority-plus", "3", "all", 0,
          100000, YES, "the coordinator writes its state to a majority and this many more members")
    COUNT(SHARDING "coordinator-state.read-majority-plus", "5", "all", 0,
          100000, YES, "the coordinator reads its state from a majority and this many more members")
    DDATA(SHARDING "distributed-data", DDATA_GENERAL, "on", "5",
          "[\"shard-*\"]", NOT_YET)
    TEXT(SHARDING "use-dispatcher", "akka.actor.internal-dispatcher", NOT_YET,
         "there are no dispatchers: sharding runs on the control thread and on `lanes`")
    TEXT(SHARDING "use-lease", "", YES,
         "lease that each shard holds while it runs: `etcd`, `file`, `memory`; empty: none")
    SPAN_MS(SHARDING "lease-retry-interval", "5s", NULL, YES, "tries to get it again after this time")
    SWITCH(SHARDING "verbose-debug-logging", "off", YES,
           "on: each message to an entity is logged at debug, where it is routed and where it is handled")
    SWITCH(SHARDING "fail-on-invalid-entity-state-transition", "off", NOT_YET,
           "always on: an invalid state ends the process, which a supervisor starts again")
    LIST(SHARDING "healthcheck.names", "[]", YES,
         "entity types that must have registered with their coordinators before the node is ready")
    TIME(SHARDING "healthcheck.timeout", "5s", NULL, YES,
         "with names: the node is not ready while its regions have not worked for this time; at most 5 s")
    SPAN_MS(DAEMONS "keep-alive-interval", "10s", NULL, YES, "starts missing daemons this often")
    TEXT(DAEMONS "sharding.role", "$cluster.sharding.role", YES, "role of the nodes that run daemons which name none")
    TEXT(DAEMONS "sharding.use-lease", "$cluster.sharding.use-lease", YES, "lease that a daemon's shard holds while it runs")
    SPAN_MS(DAEMONS "sharding.lease-retry-interval", "$cluster.sharding.lease-retry-interval", NULL, YES,
            "tries to get it again after this time")
    COUNT(DAEMONS "sharding.least-shard-allocation-strategy.rebalance-absolute-limit",
          "$cluster.sharding.least-shard-allocation-strategy.rebalance-absolute-limit", NULL, 0, 100000, YES,
          "as in `cluster.sharding`, for daemons; 0: the value there")
    NUMBER(DAEMONS "sharding.least-shard-allocation-strategy.rebalance-relative-limit",
           "$cluster.sharding.least-shard-allocation-strategy.rebalance-relative-limit", NULL, 0, 1, YES,
           "as in `cluster.sharding`, for daemons; 0: the value there")

    /* Remoting */
    SWITCH(ARTERY "enabled", "on", NOT_YET, "always on")
    CHOICE(ARTERY "transport", "tcp", "tcp|tls-tcp", YES,
           "transport between nodes; `aeron-udp` is not supported")
    SWITCH("remote.allow-plain", "off", YES,
           "on: plain TCP is allowed on an address that other hosts reach")
    COUNT("remote.connections", "32768", NULL, 1, 1000000, YES,
          "accepted connections in total; a peer has up to two for each of its lanes, and one more")
    COUNT("remote.unauthenticated.connections", "256", NULL, 1, 1000000, YES,
          "accepted connections whose node is not known yet")
    COUNT("remote.unauthenticated.connections-of-one-address", "16", NULL, 1,
          1000000, YES, "the same from one address")
    COUNT("remote.unauthenticated.reserved-for-peers", "32", NULL, 0, 1000000,
          YES, "the part of them that only seed nodes and known peers can use")
    SPAN_MS("remote.unauthenticated.timeout", "5 s", NULL, YES,
         "time limit of the TLS handshake and the first five bytes")
    SPAN_MS("remote.unauthenticated.handshake-timeout", "5 s", NULL, YES,
         "time limit of the Artery handshake")
    SIZE("remote.unauthenticated.frame-size", "16 KiB", NULL, YES,
         "largest frame of an unknown sender, including its length")
    SIZE("remote.unauthenticated.tls-handshake-size", "16 KiB", NULL, YES,
         "bytes that a peer may send before its certificate is verified")
    TEXT("remote.tls.certificate", "$" ROTATING "cert-file", YES, "PEM file: certificate of this node, then those up to its CA")
    TEXT("remote.tls.key", "$" ROTATING "key-file", YES, "PEM file: key of this certificate, without a password")
    TEXT("remote.tls.ca", "$" ROTATING "ca-cert-file", YES, "PEM file: CAs that sign the certificates of nodes")
    TEXT("remote.tls.crl", "", YES, "PEM file: certificate revocation lists, one for each CA; empty: no check")
    LIST("remote.tls.pins", "[]", YES, "hexadecimal SHA-256 of public keys; a peer or its CA must have one")
    TEXT("remote.tls.pins-file", "", YES, "file with more pins, one on each line")
    TEXT("remote.tls.secret", "", YES, "file with a secret that each node must know; empty: none")
    TIME("remote.tls.reload-after", "$" ROTATING "ssl-context-cache-ttl", NULL,
         YES, "least interval at which changed TLS files are read again")
    TEXT(ROTATING "cert-file", AKKA_TLS "tls.crt", YES,
         "Akka's names of `remote.tls.certificate`, `key` and `ca`")
    TEXT(ROTATING "key-file", AKKA_TLS "tls.key", YES, "Akka's names of `remote.tls.certificate`, `key` and `ca`")
    TEXT(ROTATING "ca-cert-file", AKKA_TLS "ca.crt", YES, "Akka's names of `remote.tls.certificate`, `key` and `ca`")
    TIME(ROTATING "ssl-context-cache-ttl", "5m", NULL, YES,
         "Akka's name of `remote.tls.reload-after`")
    CHOICE(SSL_ENGINE "protocol", "TLSv1.3", "TLSv1.3|TLSv1.2", YES,
           "oldest TLS version that is accepted; the default of a JVM is TLSv1.2")
    LIST(SSL_ENGINE "enabled-algorithms",
         "[TLS_AES_256_GCM_SHA384, TLS_AES_128_GCM_SHA256, "
         "TLS_CHACHA20_POLY1305_SHA256, "
         "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "
         "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "
         "TLS_DHE_RSA_WITH_AES_256_GCM_SHA384]",
         YES, "cipher suites")
    SWITCH(SSL_ENGINE "require-mutual-authentication", "on", YES,
           "always on; `off` is refused")
    SWITCH(SSL_ENGINE "hostname-verification", "on", YES,
           "on: both sides verify that the certificate belongs to the peer's host")
    TEXT(ARTERY "canonical.hostname", "127.0.0.1", YES,
         "host under which other nodes reach this one")
    COUNT(ARTERY "canonical.port", "25520", NULL, 0, 65535, YES,
          "port under which other nodes reach this one; 0: chosen by the system")
    TEXT(ARTERY "bind.hostname", "", YES,
         "address to listen on; empty: the canonical host")
    COUNT(ARTERY "bind.port", "", "|", 0, 65535, YES,
          "port to listen on; empty: the canonical port")
    TIME(ARTERY "bind.bind-timeout", "3s", NULL, NOT_YET,
         "gives up listening after this time")
    LIST(ARTERY "large-message-destinations", "[]", YES,
         "paths of actors that get their messages on the large stream")
    SWITCH(ARTERY "untrusted-mode", "off", YES, "always off; `on` is refused: use mutual TLS")
    LIST(ARTERY "trusted-selection-paths", "[]", NOT_YET,
         "actors that may be selected in untrusted mode")
    SWITCH(ARTERY "log-received-messages", "off", NOT_YET, "logs every one")
    SWITCH(ARTERY "log-sent-messages", "off", NOT_YET, "logs every one")
    SIZE(ARTERY "log-frame-size-exceeding", "off", OFF, NOT_YET,
         "logs frames that are larger")
    SWITCH(ARTERY "propagate-harmless-quarantine-events", "off", NOT_YET,
           "tells the application of each quarantine")
    SIZE(ADVANCED "maximum-frame-size", "256 KiB", NULL, NOT_YET,
         "largest frame on the ordinary and control streams")
    COUNT(ADVANCED "buffer-pool-size", "128", NULL, 0, 1000000, NOT_YET,
          "of the JVM; accepted")
    SIZE(ADVANCED "maximum-large-frame-size", "2 MiB", NULL, YES,
         "largest frame on the large stream, 256 KiB to 16 MiB")
    COUNT(ADVANCED "large-buffer-pool-size", "32", NULL, 0, 1000000, NOT_YET,
          "of the JVM; accepted")
    SWITCH(ADVANCED "test-mode", "off", NOT_YET, "of the JVM; accepted")
    IGNORED(ADVANCED "use-dispatcher")
    IGNORED(ADVANCED "use-control-stream-dispatcher")
    COUNT(ADVANCED "inbound-lanes", "4", NULL, 1, 1000, NOT_YET,
          "of the JVM: lanes are set with sherd.lanes")
    COUNT(ADVANCED "outbound-lanes", "1", NULL, 1, 1000, NOT_YET,
          "of the JVM: lanes are set with sherd.lanes")
    COUNT(ADVANCED "outbound-message-queue-size", "3072", NULL, 1, 10000000,
          NOT_YET, "messages waiting for one ordinary link: always as many")
    COUNT(ADVANCED "outbound-control-queue-size", "20000", NULL, 1, 10000000,
          NOT_YET, "messages waiting for one control link: always as many")
    COUNT(ADVANCED "outbound-large-message-queue-size", "256", NULL, 1,
          10000000, YES, "number of messages that wait for one link of the large stream")
    COUNT(ADVANCED "system-message-buffer-size", "20000", NULL, 1, 10000000,
          NOT_YET, "system messages without acknowledgement")
    TIME(ADVANCED "system-message-resend-interval", "1 second", NULL, NOT_YET,
         "sends them again after this time")
    TIME(ADVANCED "handshake-timeout", "20 seconds", NULL, NOT_YET,
         "a link without a handshake is given up")
    TIME(ADVANCED "handshake-retry-interval", "1 second", NULL, NOT_YET,
         "asks for it again after this time")
    TIME(ADVANCED "inject-handshake-interval", "1 second", NULL, NOT_YET,
         "repeats the handshake before the next message after this time")
    TIME(ADVANCED "give-up-system-message-after", "6 hours", NULL, NOT_YET,
         "the peer is quarantined after this time")
    TIME(ADVANCED "stop-idle-outbound-after", "5 minutes", NULL, NOT_YET,
         "closes an unused link")
    TIME(ADVANCED "quarantine-idle-outbound-after", "6 hours", NULL, NOT_YET,
         "forgets an unused peer")
    TIME(ADVANCED "stop-quarantined-after-idle", "3 seconds", NULL, NOT_YET,
         "closes the links of a quarantined peer")
    TIME(ADVANCED "remove-quarantined-association-after", "1 h", NULL, NOT_YET,
         "forgets a quarantined peer")
    TIME(ADVANCED "shutdown-flush-timeout", "1 second", NULL, NOT_YET,
         "waits this long for what is being sent at the end")
    TIME(ADVANCED "shutdown-streams-timeout", "10 seconds", NULL, NOT_YET,
         "of the JVM; accepted")
    TIME(ADVANCED "death-watch-notification-flush-timeout", "3 seconds", NULL,
         NOT_YET, "waits this long before a notice of death")
    TIME(ADVANCED "inbound-restart-timeout", "5 seconds", NULL, NOT_YET,
         "counts failures of incoming links over this time")
    COUNT(ADVANCED "inbound-max-restarts", "5", NULL, 0, 100000, NOT_YET,
          "failures of incoming links in that time")
    TIME(ADVANCED "outbound-restart-backoff", "1 second", NULL, NOT_YET,
         "connects again after this time")
    TIME(ADVANCED "outbound-restart-timeout", "5 seconds", NULL, NOT_YET,
         "counts failures of outgoing links over this time")
    COUNT(ADVANCED "outbound-max-restarts", "5", NULL, 0, 100000, NOT_YET,
          "failures of outgoing links in that time")
    COUNT(ADVANCED "compression.actor-refs.max", "256", OFF, 0, 16384, NOT_YET,
          "entries of the table of actor references")
    TIME(ADVANCED "compression.actor-refs.advertisement-interval", "1 minute",
         NULL, NOT_YET, "advertised this often")
    COUNT(ADVANCED "compression.manifests.max", "256", OFF, 0, 16384, NOT_YET,
          "entries of the table of manifests")
    TIME(ADVANCED "compression.manifests.advertisement-interval", "1 minute",
         NULL, NOT_YET, "advertised this often")
    LIST(ADVANCED "instruments", "[]", NOT_YET, "of the JVM; accepted")
    TIME(ADVANCED "tcp.connection-timeout", "5 seconds", NULL, NOT_YET,
         "an attempt to connect is given up")
    TEXT(ADVANCED "tcp.outbound-client-hostname", "", NOT_YET,
         "address that outgoing connections use")
    TIME("remote.watch-failure-detector.heartbeat-interval", "1 s", NULL,
         NOT_YET, "heartbeats for watched actors")
    NUMBER("remote.watch-failure-detector.threshold", "10.0", NULL, 0, 1000,
           NOT_YET, "phi above this means gone")
    COUNT("remote.watch-failure-detector.max-sample-size", "200", NULL, 1,
          100000, NOT_YET, "number of heartbeat intervals kept as samples")
    TIME("remote.watch-failure-detector.min-std-deviation", "100 ms", NULL,
         NOT_YET, "lower bound of the assumed standard deviation")
    TIME("remote.watch-failure-detector.acceptable-heartbeat-pause", "10 s",
         NULL, NOT_YET, "a pause this long between heartbeats is normal")
    TIME("remote.watch-failure-detector.unreachable-nodes-reaper-interval",
         "1s", NULL, NOT_YET, "reads the detector this often")
    TIME("remote.watch-failure-detector.expected-response-after", "1 s", NULL,
         NOT_YET, "the first heartbeat is expected after this time")

    /* Persistence */
    COUNT("persistence.max-concurrent-recoveries", "50", NULL, 1, 1000000,
          NOT_YET, "entities that replay at a time")

    /* Further keys of Akka */
    CHOICE("loglevel", "info", LEVELS, YES,
           "Akka's name of `log.level`; `log.level` wins when both are set")
    COUNT("log-dead-letters", "10", "on|off", 0, ANY_MAX, NOT_YET,
          "logs this many undelivered messages")
    SWITCH("log-dead-letters-during-shutdown", "off", NOT_YET,
           "also while the node ends")
    TIME("log-dead-letters-suspend-duration", "5 minutes", "infinite", NOT_YET,
         "then is silent for this long")
    TEXT("actor.provider", "cluster", NOT_YET,
         "always cluster")
    TIME("coordinated-shutdown.default-phase-timeout", "5 s", NULL, YES,
         "time limit of a shutdown phase")
    PHASE("before-service-unbind", "", "time limit of what happens before new work is refused")
    PHASE("service-unbind", "before-service-unbind", "time limit of refusing new work")
    PHASE("service-requests-done", "service-unbind", "time limit of finishing accepted work")
    PHASE("service-stop", "service-requests-done", "time limit of stopping services")
    PHASE("before-cluster-shutdown", "service-stop", "time limit of what happens before shards are handed off")
    PHASE("cluster-sharding-shutdown-region", "before-cluster-shutdown",
          "time limit of handing off shards; 60 s unless it is set")
    PHASE("cluster-leave", "cluster-sharding-shutdown-region", "time limit of leaving; 60 s unless it is set")
    PHASE("cluster-exiting", "cluster-leave", "time limit of handing over singletons; 10 s unless it is set")
    PHASE("cluster-exiting-done", "cluster-exiting", "time limit of telling the other members; 10 s unless it is set")
    PHASE("cluster-shutdown", "cluster-exiting-done", "time limit of what happens after the node's removal")
    PHASE("before-actor-system-terminate", "cluster-shutdown", "time limit of what happens before actors stop")
    PHASE("actor-system-terminate", "before-actor-system-terminate", "time limit of stopping actors; 10 s unless it "
         "is set")
    SPAN("coordination.lease.heartbeat-timeout", "120s", NULL, YES,
         "a lease that is not renewed for this long is lost")
    SPAN("coordination.lease.heartbeat-interval", "12s", "|", YES,
         "interval of lease renewal; less than half of `heartbeat-timeout`; empty: a tenth of that, at least 5 s")
    SPAN("coordination.lease.lease-operation-timeout", "5s", NULL, YES,
         "time limit of an operation on a lease")
    SWITCH(BOOTSTRAP "new-cluster-enabled", "on", YES,
           "on: a node that finds no cluster may found one")
    TEXT(DISCOVERY "discovery-method", "akka.discovery", YES,
         "`akka-dns`: seed nodes are looked up by DNS unless they are given; any other method is refused")
    TEXT("discovery.method", "<method>", YES, "the same, if `discovery-method` is not set")
    TEXT(DISCOVERY "service-name", "<service-name>", YES,
         "name in DNS; when not set, the system name in lower case")
    TEXT(DISCOVERY "service-namespace", "<service-namespace>", YES,
         "appended to the name after a dot")
    TEXT(DISCOVERY "effective-name", "<effective-name>", YES,
         "replaces both")
    TEXT(DISCOVERY "port-name", "", YES,
         "looks up SRV records of _port-name._protocol.name; empty: looks up addresses")
    TEXT(DISCOVERY "protocol", "tcp", YES, "protocol of SRV records")
    COUNT(DISCOVERY "required-contact-point-nr", "2", NULL, 1, 128, YES,
          "number of nodes that must be found before a cluster is founded")
    TIME(DISCOVERY "stable-margin", "5 seconds", NULL, YES,
         "the nodes found must be the same for this long")
    SPAN_MS(DISCOVERY "interval", "1 second", NULL, YES,
         "interval of looking for seed nodes, in DNS or in the file")
    SPAN_MS(DISCOVERY "exponential-backoff-max", "15 seconds", NULL, YES,
         "the interval doubles up to this value while nothing is found")
    SPAN(DISCOVERY "resolve-timeout", "3 seconds", NULL, YES,
         "time limit of one DNS look-up")
    COUNT(BOOTSTRAP "contact-point.fallback-port", "own", "own|<fallback-port>", 1, 65535, YES,
          "port of nodes whose addresses are found; `own`: the port of this node")
};

uint32_t known_count(void)
{
    return (uint32_t)(sizeof rows / sizeof rows[0]) + rows_without_effect_count;
}

const struct row *known_row(uint32_t index)
{
    uint32_t here = (uint32_t)(sizeof rows / sizeof rows[0]);

    return index < here ? &rows[index] : &rows_without_effect[index - here];
}

uint32_t known_index(const struct row *row)
{
    uint32_t here = (uint32_t)(sizeof rows / sizeof rows[0]);

    return row >= rows && row < rows + here
               ? (uint32_t)(row - rows)
               : here + (uint32_t)(row - rows_without_effect);
}
