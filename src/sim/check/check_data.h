/* Checks distributed data: compares what clients read and hear of keys with a model of all writes.
 *
 *   value-integrity  a value holds only what was written
 *   no-lost-update   a client reads its own writes. A read from R of N members sees a write on W of
 *                    them if W + R > N and the members stay. The values that a client sees of a key
 *                    do not go back. In the quiet phase a write is present while a node lives that
 *                    must have it, and removed elements stay removed
 *
 * A replica that hears of no use of an expiring key forgets it (check_data_forgotten). It need not
 * show its older value, but keeps later writes. An acknowledged write stays visible while fewer
 * replicas forgot the key than acknowledged it. In the quiet phase the unused key is absent. If
 * disks have the key, a node that starts after a replica forgot it may restore a removed member's
 * count. Its pruning mark is forgotten, so such a count has no bounds.
 *
 * The calls of a client are in order, at its own node. Only one client adds an element, and the
 * element is the number of a write. A map is judged only by what its merges promise. */
#ifndef SHERD_SIM_CHECK_DATA_H
#define SHERD_SIM_CHECK_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/ddata.h>

struct verdict;
struct check_data;
struct check_safety;

#define CHECK_DATA_ALL INT64_MIN /* in a removal: every element */
#define CHECK_DATA_GROUPS 4      /* keys of a map: element e is under e modulo that */
/* in a removal: every element under that key of a map */
#define CHECK_DATA_GROUP(group) (-1 - (int64_t)(group))

enum check_data_act {
    CHECK_DATA_ADD,    /* an element; for a register or LWW_MAP a value that others may replace */
    CHECK_DATA_REMOVE, /* an element, CHECK_DATA_ALL or a CHECK_DATA_GROUP */
    CHECK_DATA_COUNT,  /* amount */
    CHECK_DATA_ON,
    CHECK_DATA_DELETE
};

struct check_data_write {
    uint32_t key;
    uint32_t node;
    uint32_t client; /* its calls are in order; never used again */
    enum check_data_act act;
    int64_t element; /* for a COUNT in a map: its key is this modulo CHECK_DATA_GROUPS */
    int64_t amount;
    uint32_t replicas; /* needed for its acknowledgement, with its own */
    uint64_t signature; /* of the members that counted */
};

enum check_data_end {
    CHECK_DATA_DONE,     /* on as many replicas as asked for */
    CHECK_DATA_DOUBTFUL, /* its own replica has it; others may */
    CHECK_DATA_REFUSED   /* it changed nothing */
};

struct check_data_read {
    uint32_t key;
    uint32_t node;
    uint32_t client;
    uint64_t begun;    /* check_data_time at the call */
    uint64_t epoch;    /* check_data_epoch at the call */
    /* replicas asked, with its own; 0: a notice, which may be older than the newest write */
    uint32_t replicas;
    uint32_t members;  /* number of all members; 0: unknown */
    uint64_t signature; /* of the members */
};

/* Elements are sorted. */
struct check_data_value {
    bool is_deleted;
    bool is_on;
    int64_t count;
    uint32_t size;
    const int64_t *elements; /* lent */
};

struct check_data *check_data_new(struct verdict *verdict); /* lent for life */
void check_data_free(struct check_data *check);
/* Sets which nodes are outside (facts.h), lent for life; null: none. Their writes may be pruned
 * while they live: these bind no node, and take the entries of others under the same map key with
 * them. */
void check_data_safety(struct check_data *check,
                       const struct check_safety *safety);
/* A new key's number, from 0. */
uint32_t check_data_key(struct check_data *check, enum sherd_data_type type);
enum sherd_data_type check_data_type(const struct check_data *check,
                                     uint32_t key);
void check_data_expires(struct check_data *check, uint32_t key); /* replicas may forget it */
void check_data_stored(struct check_data *check, uint32_t key); /* each node has it on its disk */

/* ---- facts ---- */

void check_data_node_started(struct check_data *check, uint32_t node);
void check_data_node_ended(struct check_data *check, uint32_t node);
/* Whether a leader inside, which does not see this incarnation as a member, prunes it. Its writes
 * then count like those of nodes outside. */
void check_data_node_pruned(struct check_data *check, uint32_t node,
                            bool is_pruned);
/* The node's replica has dropped the key, because it heard of no use for its time to live. */
void check_data_forgotten(struct check_data *check, uint32_t node,
                          uint32_t key);
bool check_data_has_forgotten(const struct check_data *check, uint32_t node,
                              uint32_t key); /* at least once */
/* A node sees another membership. From here on the same number of replicas may mean other
 * members. */
void check_data_members_changed(struct check_data *check);
uint64_t check_data_epoch(const struct check_data *check);
/* counts facts: later ones have higher numbers */
uint64_t check_data_time(struct check_data *check);

/* Returns its number, from 1. Element 0 of an ADD means this. */
uint64_t check_data_begun(struct check_data *check,
                          const struct check_data_write *write);
void check_data_ended(struct check_data *check, uint64_t number,
                      enum check_data_end end);
/* value null: the key is absent. */
void check_data_seen(struct check_data *check,
                     const struct check_data_read *read,
                     const struct check_data_value *value);
/* In the quiet phase: the value on all replicas. */
void check_data_settled(struct check_data *check, uint32_t key,
                        const struct check_data_value *value);

/* ---- questions ---- */

/* Incarnations that ended since it began. */
uint64_t check_data_ends_since(const struct check_data *check,
                               uint64_t number);
/* Whether each of its replicas has the write: members that stayed acknowledged it, and no removal
 * is known. */
bool check_data_is_firm(const struct check_data *check, uint64_t number);

/* Whether each disk that has the write keeps it: firm, in a G_SET that no client deletes, and known
 * inside. */
bool check_data_must_stay(const struct check_data *check, uint64_t number);

struct check_data_counts {
    uint64_t writes, acknowledged, doubtful, refused;
    uint64_t reads;
    uint64_t quorums; /* writes that a read had to see because W + R > N */
};
struct check_data_counts check_data_counts(const struct check_data *check);

#endif
