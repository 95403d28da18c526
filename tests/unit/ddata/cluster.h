/* Runs several replicators in one process under virtual time. Messages take a random time, may be
 * lost, and do not cross a partition. Each node has a durable store that answers at once, late,
 * badly or never. */
#ifndef TESTS_DDATA_CLUSTER_H
#define TESTS_DDATA_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/timers.h"
#include "base/vec.h"
#include "ddata/replicator.h"

#define CLUSTER_NODES_MAX 12
#define CLUSTER_WALL_MS INT64_C(1700000000000) /* wall clock at time 0 */
#define CLUSTER_PATH "/system/ddataReplicator"

enum store_mood { STORE_GOOD, STORE_BAD, STORE_SILENT };

struct answered {
    uint64_t token;
    enum replicator_answer answer;
    struct dd_value *value; /* a copy; null if none */
    uint64_t at;
};

struct told {
    uint64_t token;
    enum replicator_news_kind kind;
    char key[32];
    struct dd_value *value; /* a copy */
};

struct stored {
    char key[32];
    struct buf bytes;
    uint32_t writes;
};

struct flying {
    uint32_t from;
    uint64_t from_uid;
    uint32_t to;
    uint64_t to_uid;
    struct buf bytes; /* sender, recipient, manifest, payload */
    size_t sizes[4];
};

struct replica_node {
    struct identity identity;
    struct dd_writer writer;
    struct replicator *replicator;
    VEC(struct answered) answered;
    VEC(struct told) told;
    VEC(struct stored) store; /* outlives the replicator */
    VEC(uint64_t) modify;     /* updates that may begin */
    enum store_mood mood;
    uint32_t side; /* of a partition */
    int32_t up_number;
    bool has_ended;
};

struct cluster {
    struct rng rng;
    uint64_t now;
    uint64_t token; /* last one given */
    struct replica_node nodes[CLUSTER_NODES_MAX];
    uint32_t count;
    struct timers arrivals;
    VEC(struct flying *) flying; /* by timer id; null: arrived */
    uint32_t loss_percent;
    uint64_t sent;
    uint64_t sent_of[128]; /* by the manifest's letter, including lost ones */
    struct replicator_settings settings; /* of nodes added from now on */
    const char *const *durable_keys;
    uint32_t durable_key_count;
    const struct replicator_expiry *expiries;
    uint32_t expiry_count;
    char dropped; /* messages of this manifest are lost */
    bool is_ordered; /* messages of one node to another arrive in order, as in a connection */
    uint64_t last_arrival[CLUSTER_NODES_MAX][CLUSTER_NODES_MAX]; /* from, to */
    /* Receives what others send to a node, and passes it on; null: cluster_hand_over. */
    void (*deliver)(struct cluster *cluster, uint32_t index,
                    const struct inbound *inbound);
};

extern const struct consistency local;
struct consistency to_count(uint32_t count, uint64_t timeout_ms);
struct consistency to_majority(uint64_t timeout_ms);
struct consistency to_all(uint64_t timeout_ms);

struct cluster *cluster_new(uint64_t seed);
void cluster_free(struct cluster *cluster);
/* Adds a node that is up; all nodes learn of each other. Returns its index. */
uint32_t cluster_add(struct cluster *cluster);
struct cluster *cluster_of(uint64_t seed, uint32_t count);
/* Creates a node's replicator again, with its stored entries. */
void cluster_restart(struct cluster *cluster, uint32_t index);
void cluster_peer(struct cluster *cluster, uint32_t index, uint32_t of,
                  enum member_status status, bool is_reachable); /* reports one node to another */
/* From the membership of all others. */
void cluster_remove(struct cluster *cluster, uint32_t index);
/* The first ones from the rest. */
void cluster_split(struct cluster *cluster, uint32_t first_count);
void cluster_heal(struct cluster *cluster);
void cluster_run(struct cluster *cluster, uint64_t duration);
/* Runs until all living nodes have the same values; false if that takes longer. */
bool cluster_converge(struct cluster *cluster, uint64_t limit);
bool cluster_is_same(struct cluster *cluster);
/* Passes a message to a node's replicator. */
void cluster_hand_over(struct cluster *cluster, uint32_t index,
                       const struct inbound *inbound);
/* Passes a message as if `from` had sent it. */
void cluster_inject(struct cluster *cluster, uint32_t from, uint32_t to,
                    const char *recipient, const char *manifest,
                    struct slice payload);

/* Commands; each returns its token. */
uint64_t do_get(struct cluster *cluster, uint32_t index, const char *key,
                struct consistency consistency);
uint64_t do_delete(struct cluster *cluster, uint32_t index, const char *key,
                   struct consistency consistency);
uint64_t do_put(struct cluster *cluster, uint32_t index, const char *key,
                struct dd_value *value, struct consistency consistency);
uint64_t do_count(struct cluster *cluster, uint32_t index, const char *key,
                  uint64_t amount, struct consistency consistency);
uint64_t do_add(struct cluster *cluster, uint32_t index, const char *key,
                const char *element, struct consistency consistency);
uint64_t do_remove(struct cluster *cluster, uint32_t index, const char *key,
                   const char *element, struct consistency consistency);
/* A change of the present value, or of a new one of that kind. */
typedef void change_value(struct dd_value *value, struct dd_writer *writer,
                          uint32_t number);
uint64_t do_change(struct cluster *cluster, uint32_t index, const char *key,
                   enum dd_kind kind, change_value *change, uint32_t number,
                   struct consistency consistency);
/* The result of a command; null before its end. */
const struct answered *answer_of(const struct cluster *cluster,
                                 uint32_t index, uint64_t token);
bool is_answered(const struct cluster *cluster, uint32_t index, uint64_t token,
                 enum replicator_answer answer);

const struct dd_value *value_at(const struct cluster *cluster, uint32_t index,
                                const char *key);
uint64_t count_at(const struct cluster *cluster, uint32_t index,
                  const char *key); /* 0 if absent */
bool has_at(const struct cluster *cluster, uint32_t index, const char *key,
            const char *element);
uint32_t size_at(const struct cluster *cluster, uint32_t index,
                 const char *key); /* of a set */
const struct replicator_counters *counters_at(const struct cluster *cluster,
                                              uint32_t index);

#endif
