/* Reads and writes the messages of cluster sharding: Akka's (serializer 13), and those between
 * nodes of this library (serializer 7300).
 *
 * docs/protocol/shard.md has the rules for fences, attempts, shutdown and queries. In addition:
 * - The fence (0, 0) is a JVM's.
 * - ShardHome naming another region, with a higher fence than the receiver's: it lost the shard. It
 *   stops it as after a refused write, and sends waiting messages to the new home.
 * - HostShard is answered with ShardStarted and the same fence.
 * - The fence of HostShard, BeginHandOff and HandOff may have an older term than the coordinator:
 *   that of the allocation.
 * - If a region comes to host or loses a shard without its coordinator's order, it reports that
 *   with another registration.
 * - HostShard uses the way of D, so none follows it. */
#ifndef SHERD_SHARD_WIRE_H
#define SHERD_SHARD_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/fence.h"
#include "base/outbox.h"
#include "base/proof.h"

#define SHARDING_SERIALIZER 13
#define SHARDING_OWN_SERIALIZER 7300 /* sent only to nodes of this library */
#define SHARDING_PATH "/system/sharding"

/* name, serializer, manifest, text; then its fields of struct shard_message */
#define SHARD_MESSAGES(X)                                                      \
    /* ref, lanes, hosted, report, number_of_shards, persists, stored_term,    \
     * cordon, fence.term (of the former coordinator); region -> coordinator */        \
    X(SHARD_REGISTER, 13, "BA", "register")                                    \
    X(SHARD_REGISTER_PROXY, 13, "BB", "register-proxy") /* the same without hosted and persists */ \
    X(SHARD_REGISTER_ACK, 13, "BC", "register-ack") /* ref (coordinator), fence.term, proof, cordon, is_alone */ \
    X(SHARD_GET_HOME, 13, "BD", "get-shard-home") /* shard */                  \
    X(SHARD_HOME, 13, "BE", "shard-home") /* shard, ref (region), fence */     \
    X(SHARD_HOMES, 13, "BN", "shard-homes") /* homes */                        \
    X(SHARD_HOST, 13, "BF", "host-shard") /* shard, fence, proof */                   \
    X(SHARD_HOST_STARTED, 13, "BG", "shard-started") /* shard, fence */        \
    /* shard, fence, attempt, ref (of the home) */                             \
    X(SHARD_BEGIN_HAND_OFF, 13, "BH", "begin-hand-off")                        \
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
    X(SHARD_CLUSTER_STATS, 13, "DF", "cluster-sharding-stats") /* addresses, stats */ \
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
    /* fence.term, idle; coordinator -> region */                              \
    X(SHARD_DISMISSED, 7300, "D", "region-dismissed")                          \
    /* shard, fence, attempt, reason; owner -> coordinator */                  \
    X(SHARD_HAND_OFF_FAILED, 7300, "X", "hand-off-failed")                     \
    /* type, shard, fence, attempt, uid, lane; each lane -> owner */           \
    X(SHARD_MARKER, 7300, "F", "flush-marker")

enum shard_message_kind {
#define X(name, serializer, manifest, text) name,
    SHARD_MESSAGES(X)
#undef X
};

/* Whether a node wants shards. A node of this library takes a higher level for CORDON_ON. */
enum cordon_level {
    CORDON_NOT,
    CORDON_ON,      /* none, while another node takes them */
    CORDON_DRAINING, /* likewise, and its own go to others */
    CORDON_LEVELS
};

/* A shard in a registration. */
struct shard_hosted {
    struct slice shard;
    struct fence fence;
};

/* A region or proxy that owes markers; in cluster queries a region (address only). */
struct shard_owing {
    struct slice ref;
    uint64_t uid;
    uint32_t lanes;
};

struct shard_home {
    struct slice region; /* its ref */
    struct slice shard;
    struct fence fence;
};

struct shard_count {
    struct slice key; /* shard id */
    int32_t value; /* entities; SHARD_CLUSTER_STATS: -1 for a shard that its region could not count */
    uint32_t region; /* SHARD_CLUSTER_STATS: index in addresses */
};

struct shard_entity {
    struct slice shard;
    struct slice entity; /* data null: none in this shard */
};

/* One message; fields that its kind lacks are zero. All fields are lent, in one that was read by
 * `memory` until shard_message_fini. */
struct shard_message {
    enum shard_message_kind kind;
    struct slice ref;
    struct slice shard;
    struct slice entity;
    struct slice type;
    struct slice reason;
    struct fence fence;
    struct proof proof;
    uint64_t attempt;
    uint64_t report;
    uint64_t stored_term;
    uint64_t idle; /* question's number, from 1; 0 = none */
    uint64_t uid;
    int64_t timeout_ns;
    uint32_t lanes; /* 0 = a JVM node */
    uint32_t lane;
    uint32_t number_of_shards; /* 0 = not given */
    int32_t count;
    bool persists;
    enum cordon_level cordon;
    bool is_alone; /* SHARD_REGISTER_ACK: no other region takes shards */
    const struct shard_hosted *hosted;
    uint32_t hosted_count;
    const struct shard_owing *owing;
    uint32_t owing_count;
    const struct shard_home *homes; /* neighbours of one region share a wire entry */
    uint32_t home_count;
    const struct shard_count *stats;
    uint32_t stat_count;
    const struct address *addresses;
    uint32_t address_count;
    const struct shard_entity *entities;
    uint32_t entity_count;
    const struct slice *failed; /* shard ids */
    uint32_t failed_count;
    void *memory; /* of a read message; else null */
};

int32_t shard_message_serializer(enum shard_message_kind kind);
const char *shard_message_manifest(enum shard_message_kind kind);
const char *shard_message_text(enum shard_message_kind kind);

/* Appends the payload. identity may be null except for answers to cluster queries. */
void shard_message_put(struct buf *buf, const struct shard_message *message,
                       const struct identity *identity);

/* Reads either serializer; payload lent for the call. False, with nothing to free: unknown
 * manifest, malformed payload, a shard id or ref that is empty or too long, or more than
 * SHARD_MESSAGE_MEMORY_MAX. */
bool shard_message_read(struct shard_message *message, int32_t serializer,
                        struct slice manifest, struct slice payload);
void shard_message_fini(struct shard_message *message);

/* sender: path on this node with "#uid". */
void shard_message_send(struct outbox *outbox, const struct node_id *to,
                        struct slice recipient, struct slice sender,
                        const struct shard_message *message,
                        const struct identity *identity);

/* Append a path without a zero byte; the type is encoded (base/url.h). guardian: akka.cluster.sharding
 * .guardian-name, here "sharding"; null means that. */
void guardian_path_put(struct buf *buf, const char *guardian); /* "/system/sharding" */
/* "/system/sharding/<enc>", and with "Proxy" */
void region_path_put(struct buf *buf, const char *guardian, const char *type);
void proxy_path_put(struct buf *buf, const char *guardian, const char *type);
/* "/system/sharding/<enc>-<enc>": in that center */
void far_proxy_path_put(struct buf *buf, const char *guardian, const char *type,
                        const char *center);
/* "/system/sharding/<enc>Coordinator" */
void coordinator_manager_path_put(struct buf *buf, const char *guardian, const char *type);
/* ".../<enc>Coordinator/singleton/coordinator" */
void coordinator_path_put(struct buf *buf, const char *guardian, const char *type);
/* "/system/sharding/<enc>Replicator"; without a role "/system/sharding/replicator". JVM nodes use
 * the same. */
void sharding_replicator_path_put(struct buf *buf, const char *guardian, const char *role);

#endif
