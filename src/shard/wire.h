/* Every message of cluster sharding, read and written: Akka's (serializer 13; wire 7.3) and those that only nodes of this
 * library understand (serializer 7300). Used by coordinator and region alike.
 *
 * Rules that both sides keep (architecture 5 and 6):
 * - A fence (term, epoch) stands for one allocation of one shard. A higher fence wins. ShardHome and HostShard with a lower
 *   fence than the receiver knows for the shard are stale: counted and dropped. (0, 0) is a JVM's: it has no fences.
 * - ShardHome(s, other region) with a higher fence than that under which the receiver hosts s: the receiver lost s. It stops
 *   the shard as after a refused write, takes the new home, and sends what waits there.
 * - HostShard(s) with the fence held: host it, start it if it does not run, cancel a hand-off of it; answer ShardStarted with
 *   that fence. With a higher one: what runs is stale; claim the new fence, then the same.
 * - A hand-off does not change the fence: BeginHandOff, HandOff and all answers carry the current home's fence and the number
 *   of this attempt, which grows, also over terms. BeginHandOffAck, ShardStopped, hand-off failed and markers repeat both; a
 *   message of another attempt is stale. After a failed attempt ShardHome names the old home with its old fence again, and
 *   the region that held messages since BeginHandOff lets them go there.
 * - A region that is registered takes HostShard, BeginHandOff and HandOff only from that coordinator; their fence may have an
 *   older term than its own, that of the allocation. A RegisterAck of a lower term is stale; one of a higher term makes the
 *   region forget the fences of shards that it does not host: the earlier coordinator's last ones may be unknown to this one.
 *   Whatever a region comes to host or to lose otherwise than by the coordinator that it is registered with, it reports by
 *   another registration.
 * - A region that shuts down under a coordinator with terms stops when that allows it. When it hosts nothing and nothing waits,
 *   GracefulShutdownReq asks with a number; D answers it once no shard's home is there, and none will be. HostShard goes the
 *   same way, so none crosses the answer. GracefulShutdownReq without a number takes the question back.
 * - A region query (Q) comes from a coordinator and goes to SHARDING_PATH: a node that has a region of the type registers it
 *   at once with the sender, else it answers "no such region" (N). A proxy alone is no region. */
#ifndef SHERD_SHARD_WIRE_H
#define SHERD_SHARD_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/fence.h"
#include "base/outbox.h"

#define SHARDING_SERIALIZER 13
#define SHARDING_OWN_SERIALIZER 7300 /* sent only to nodes of this library */
#define SHARDING_PATH "/system/sharding"

/* name, serializer, manifest, text; then which fields of struct shard_message it has */
#define SHARD_MESSAGES(X)                                                      \
    /* ref, lanes, hosted, report, number_of_shards, persists, fence.term (of the coordinator before), stored_term; region -> coordinator */ \
    X(SHARD_REGISTER, 13, "BA", "register")                                    \
    X(SHARD_REGISTER_PROXY, 13, "BB", "register-proxy") /* the same without hosted and persists */ \
    X(SHARD_REGISTER_ACK, 13, "BC", "register-ack") /* ref (coordinator), fence.term */ \
    X(SHARD_GET_HOME, 13, "BD", "get-shard-home") /* shard */                  \
    X(SHARD_HOME, 13, "BE", "shard-home") /* shard, ref (region), fence */     \
    X(SHARD_HOMES, 13, "BN", "shard-homes") /* homes */                        \
    X(SHARD_HOST, 13, "BF", "host-shard") /* shard, fence */                   \
    X(SHARD_HOST_STARTED, 13, "BG", "shard-started") /* shard, fence */        \
    X(SHARD_BEGIN_HAND_OFF, 13, "BH", "begin-hand-off") /* shard, fence, attempt, ref (of the home) */ \
    X(SHARD_BEGIN_HAND_OFF_ACK, 13, "BI", "begin-hand-off-ack") /* shard, fence, attempt */ \
    X(SHARD_HAND_OFF, 13, "BJ", "hand-off") /* shard, fence, attempt, owing */ \
    X(SHARD_HOST_STOPPED, 13, "BK", "shard-stopped") /* shard, fence, attempt */ \
    X(SHARD_GRACEFUL_SHUTDOWN, 13, "BL", "graceful-shutdown-req") /* ref (region), idle */ \
    X(SHARD_REGION_STOPPED, 13, "BM", "region-stopped") /* ref (region) */     \
    X(SHARD_GET_SHARD_STATS, 13, "DA", "get-shard-stats") /* nothing */        \
    X(SHARD_SHARD_STATS, 13, "DB", "shard-stats") /* shard, count */           \
    X(SHARD_GET_REGION_STATS, 13, "DC", "get-shard-region-stats") /* nothing */ \
    X(SHARD_REGION_STATS, 13, "DD", "shard-region-stats") /* stats, failed */  \
    X(SHARD_GET_CLUSTER_STATS, 13, "DE", "get-cluster-sharding-stats") /* timeout_ns */ \
    X(SHARD_CLUSTER_STATS, 13, "DF", "cluster-sharding-stats") /* regions, stats; no failed */ \
    X(SHARD_GET_CURRENT_REGIONS, 13, "DG", "get-current-regions") /* nothing */ \
    X(SHARD_CURRENT_REGIONS, 13, "DH", "current-regions") /* regions */        \
    X(SHARD_START_ENTITY, 13, "EA", "start-entity") /* entity */               \
    X(SHARD_START_ENTITY_ACK, 13, "EB", "start-entity-ack") /* entity, shard */ \
    X(SHARD_GET_SHARD_STATE, 13, "FA", "get-current-shard-state") /* nothing */ \
    X(SHARD_SHARD_STATE, 13, "FB", "current-shard-state") /* entities, all of one shard; shard */ \
    X(SHARD_GET_REGION_STATE, 13, "FC", "get-shard-region-state") /* nothing */ \
    X(SHARD_REGION_STATE, 13, "FE", "shard-region-state") /* entities, grouped by shard; failed */ \
    X(SHARD_QUERY, 7300, "Q", "region-query") /* type, fence.term */           \
    X(SHARD_NO_REGION, 7300, "N", "no-such-region") /* type */                 \
    X(SHARD_REFUSED, 7300, "R", "registration-refused") /* reason; coordinator -> region */ \
    X(SHARD_DISMISSED, 7300, "D", "region-dismissed") /* fence.term, idle; coordinator -> region */ \
    X(SHARD_HAND_OFF_FAILED, 7300, "X", "hand-off-failed") /* shard, fence, attempt, reason; owner -> coordinator */ \
    X(SHARD_MARKER, 7300, "F", "flush-marker") /* type, shard, fence, attempt, uid, lane; each lane -> owner */

enum shard_message_kind {
#define X(name, serializer, manifest, text) name,
    SHARD_MESSAGES(X)
#undef X
};

/* A shard of a registration. */
struct shard_hosted {
    struct slice shard;
    struct fence fence;
};

/* A region or proxy whose every lane owes a marker, or a region of the two cluster queries (then only the address). */
struct shard_owing {
    struct slice ref;
    uint64_t uid;
    uint32_t lanes;
};

struct shard_home {
    struct slice region; /* ref */
    struct slice shard;
    struct fence fence;
};

struct shard_count {
    struct slice key; /* shard id; SHARD_CLUSTER_STATS too */
    int32_t value;
    uint32_t region; /* SHARD_CLUSTER_STATS: index in addresses */
};

struct shard_entity {
    struct slice shard;
    struct slice entity; /* absent (data null) where a shard without entities is listed */
};

/* One message; see SHARD_MESSAGES for which fields a kind has; the others are zero. To write one, fill in the fields: all is
 * lent. Of one that was read, everything is lent by `memory` until shard_message_fini. */
struct shard_message {
    enum shard_message_kind kind;
    struct slice ref;
    struct slice shard;
    struct slice entity;
    struct slice type;
    struct slice reason;
    struct fence fence;
    uint64_t attempt;
    uint64_t report;
    uint64_t stored_term;
    uint64_t idle; /* number of the question, from 1; 0 = none */
    uint64_t uid;
    int64_t timeout_ns;
    uint32_t lanes; /* 0 = a JVM node */
    uint32_t lane;
    uint32_t number_of_shards; /* 0 = not told */
    int32_t count;
    bool persists;
    const struct shard_hosted *hosted;
    uint32_t hosted_count;
    const struct shard_owing *owing;
    uint32_t owing_count;
    const struct shard_home *homes; /* neighbours of one region share an entry on the wire */
    uint32_t home_count;
    const struct shard_count *stats;
    uint32_t stat_count;
    const struct address *addresses;
    uint32_t address_count;
    const struct shard_entity *entities;
    uint32_t entity_count;
    const struct slice *failed; /* shard ids */
    uint32_t failed_count;
    void *memory; /* of a message that was read; null otherwise */
};

int32_t shard_message_serializer(enum shard_message_kind kind);
const char *shard_message_manifest(enum shard_message_kind kind); /* a literal */
const char *shard_message_text(enum shard_message_kind kind); /* for logs; a literal */

/* Appends the payload of the message to buf. identity is needed by the two cluster queries' answers only, else null. */
void shard_message_put(struct buf *buf, const struct shard_message *message,
                       const struct identity *identity);

/* Reads a message of either serializer; the payload is lent for the call only. False when the manifest is unknown, the payload
 * is malformed, a shard id or a ref is empty or above its limit, or it would need more than SHARD_MESSAGE_MEMORY_MAX; then
 * there is nothing to free. */
bool shard_message_read(struct shard_message *message, int32_t serializer,
                        struct slice manifest, struct slice payload);
void shard_message_fini(struct shard_message *message); /* of a message that was read */

/* Writes and queues a message. sender: path on this node with its "#uid". */
void shard_message_send(struct outbox *outbox, const struct node_id *to,
                        struct slice recipient, struct slice sender,
                        const struct shard_message *message,
                        const struct identity *identity);

/* Paths inside a node (wire 7.1), appended without a zero byte; the type is encoded as base/url.h says. */
void region_path_put(struct buf *buf, const char *type);      /* "/system/sharding/<enc>" */
void proxy_path_put(struct buf *buf, const char *type);       /* "/system/sharding/<enc>Proxy" */
void far_proxy_path_put(struct buf *buf, const char *type,
                        const char *center); /* "/system/sharding/<enc>-<enc>": to the type's shards in that data center */
void coordinator_manager_path_put(struct buf *buf, const char *type); /* "/system/sharding/<enc>Coordinator" */
void coordinator_path_put(struct buf *buf, const char *type); /* ".../<enc>Coordinator/singleton/coordinator" */
/* "/system/sharding/<enc>Replicator", "/system/sharding/replicator" without a role: where JVM nodes keep what sharding remembers (wire 6.1). */
void sharding_replicator_path_put(struct buf *buf, const char *role);

#endif
