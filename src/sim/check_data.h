/* Checks distributed data: compares the values that clients write, read and get in notices with a
 * model of all writes.
 *
 *   value-integrity  a value holds only what was written: no other element, count, flag or deletion
 *   no-lost-update   a client that wrote a value reads it again. A read from R of N members sees a
 *                    write that W of them have if W + R > N, as long as the members stay. The
 *                    values that one client sees of a key do not go back. In the quiet phase a
 *                    write is present while one of the nodes that must have it lives, and removed
 *                    elements stay removed
 *
 * A key may expire: a replica that hears of no use forgets it (check_data_forgotten), and need not
 * show its earlier value. An acknowledged write stays visible while fewer replicas have forgotten
 * the key than have acknowledged the write. The replica keeps later writes again. In the quiet
 * phase no client uses the key, so it is absent (no-lost-update). If the key is also on disks, a
 * node that starts after a replica forgot the key may restore the count of a removed member. The
 * pruning mark was forgotten with the key, so such a count has no bounds.
 *
 * Facts must arrive in the order in which they happened. The checker knows neither worlds nor
 * nodes. The calls of one client are made in order at its own node. Only one client adds an
 * element, and the element is the number of a write. A map is judged only by what merges of its
 * type promise. */
#ifndef SHERD_SIM_CHECK_DATA_H
#define SHERD_SIM_CHECK_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/ddata.h>

struct verdict;
struct check_data;
struct check_safety;

#define CHECK_DATA_ALL INT64_MIN /* in a removal: every element */
#define CHECK_DATA_GROUPS 4      /* keys of a map: element e stands under e modulo that */
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
    uint32_t client; /* its calls are in order; the caller never uses the number again */
    enum check_data_act act;
    int64_t element; /* for a COUNT in a map: it stands under this modulo CHECK_DATA_GROUPS */
    int64_t amount;
    uint32_t replicas; /* replicas that must have it before it is acknowledged, with its own */
    uint64_t signature; /* of the members that counted */
};

enum check_data_end {
    CHECK_DATA_DONE,     /* as many replicas have it as the call asked for */
    CHECK_DATA_DOUBTFUL, /* its own replica has it; others may */
    CHECK_DATA_REFUSED   /* it changed nothing */
};

/* A read, or a notice to a follower. */
struct check_data_read {
    uint32_t key;
    uint32_t node;
    uint32_t client;
    uint64_t begun;    /* check_data_time at the call */
    uint64_t epoch;    /* check_data_epoch at the call */
    /* replicas that were asked, with its own; 0: a notice, which may be older than the newest
     * write */
    uint32_t replicas;
    uint32_t members;  /* number of all members; 0: unknown */
    uint64_t signature; /* of the members */
};

/* The content of a value. Elements are sorted. */
struct check_data_value {
    bool is_deleted;
    bool is_on;
    int64_t count;
    uint32_t size;
    const int64_t *elements; /* lent */
};

struct check_data *check_data_new(struct verdict *verdict); /* lent for life */
void check_data_free(struct check_data *check);
/* Sets which nodes are outside (facts.h), lent for life; null: none ever is. The writes of a node
 * outside may be pruned while it lives. They bind no other node, and it need not read them again.
 * Under a key of a map they may take the entries of others with them. */
void check_data_safety(struct check_data *check,
                       const struct check_safety *safety);
/* Returns the number of a new, unused key, from 0. */
uint32_t check_data_key(struct check_data *check, enum sherd_data_type type);
enum sherd_data_type check_data_type(const struct check_data *check,
                                     uint32_t key);
void check_data_expires(struct check_data *check, uint32_t key); /* replicas may forget it */
void check_data_stored(struct check_data *check, uint32_t key); /* each node has it on its disk */

/* ---- facts ---- */

void check_data_node_started(struct check_data *check, uint32_t node);
void check_data_node_ended(struct check_data *check, uint32_t node);
/* Sets whether a leader inside, which does not see the node's incarnation as a member, prunes it
 * while it lives. Then its writes bind no other node, like those of nodes outside. */
void check_data_node_pruned(struct check_data *check, uint32_t node,
                            bool is_pruned);
/* The node's replica has dropped the key, because it heard of no use during the key's time to
 * live. */
void check_data_forgotten(struct check_data *check, uint32_t node,
                          uint32_t key);
bool check_data_has_forgotten(const struct check_data *check, uint32_t node,
                              uint32_t key); /* at least once */
/* A node sees a new member, or another status of one. From here on the same number of replicas may
 * mean other members. */
void check_data_members_changed(struct check_data *check);
uint64_t check_data_epoch(const struct check_data *check);
/* counts facts: later ones have higher numbers */
uint64_t check_data_time(struct check_data *check);

/* Returns the number of a write, from 1. Element 0 of an ADD means this number. */
uint64_t check_data_begun(struct check_data *check,
                          const struct check_data_write *write);
void check_data_ended(struct check_data *check, uint64_t number,
                      enum check_data_end end);
/* value null: the key is absent. */
void check_data_seen(struct check_data *check,
                     const struct check_data_read *read,
                     const struct check_data_value *value);
/* In the quiet phase: the value that all replicas of a key have. */
void check_data_settled(struct check_data *check, uint32_t key,
                        const struct check_data_value *value);

/* ---- questions ---- */

/* Number of incarnations that have ended since the write began. */
uint64_t check_data_ends_since(const struct check_data *check,
                               uint64_t number);
/* Whether each of its replicas has the write: it is acknowledged by members that stayed, and no
 * removal is known. */
bool check_data_is_firm(const struct check_data *check, uint64_t number);

/* Whether each disk that has the write keeps it: a G_SET that no client deletes, acknowledged by
 * members that stayed, and known inside. */
bool check_data_must_stay(const struct check_data *check, uint64_t number);

struct check_data_counts {
    uint64_t writes, acknowledged, doubtful, refused;
    uint64_t reads;
    uint64_t quorums; /* writes that a read had to see because W + R > N */
};
struct check_data_counts check_data_counts(const struct check_data *check);

#endif
