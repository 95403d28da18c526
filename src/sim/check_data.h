/* The checker of distributed data: what is written, read and told of keys, against a model of all writes.
 *
 *   value-integrity  a value has nothing that nobody wrote: no element, no count, no flag, no deletion
 *   no-lost-update  who wrote it reads it again; a write that W of N members have is seen by a read of R of them when W + R > N, as long as
 *        the members stay; what one client is told of a key does not go back; in the quiet a write is there as long as one of
 *        those lives that must have it, and what was removed stays removed
 *
 * A key may expire: then a replica that did not hear of its use forgets it (check_data_forgotten). What it had then it need not show any more,
 * and what was acknowledged is there as long as fewer have forgotten it than have acknowledged it; what is written to it later it has again. In the
 * quiet, where nobody uses it, it is not there (no-lost-update). If it is on disks, too, who starts after somebody has forgotten it may bring back what a
 * removed member had counted, and that it was pruned is forgotten: such a count has no bounds any more.
 *
 * Fed with facts in the order in which they happen; it knows neither worlds nor nodes. The calls of one client are made in order
 * at its own node. An element is added by one client alone, and is the number of a write. Of maps only those things are judged
 * that their merges promise: see check_data_type. */
#ifndef SHERD_SIM_CHECK_DATA_H
#define SHERD_SIM_CHECK_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/ddata.h>

struct verdict;
struct check_data;
struct check_safety;

#define CHECK_DATA_ALL INT64_MIN /* of a removal: every element */
#define CHECK_DATA_GROUPS 4      /* keys of a map: element e stands under e modulo that */
#define CHECK_DATA_GROUP(group) (-1 - (int64_t)(group)) /* of a removal: every element under that key of a map */

enum check_data_act {
    CHECK_DATA_ADD,    /* an element; of a register or LWW_MAP: a value that others may replace */
    CHECK_DATA_REMOVE, /* an element, CHECK_DATA_ALL or a CHECK_DATA_GROUP */
    CHECK_DATA_COUNT,  /* amount */
    CHECK_DATA_ON,
    CHECK_DATA_DELETE
};

struct check_data_write {
    uint32_t key;
    uint32_t node;
    uint32_t client; /* whose calls are in order; ours alone: never used again */
    enum check_data_act act;
    int64_t element; /* of a COUNT in a map: it stands under this modulo CHECK_DATA_GROUPS */
    int64_t amount;
    uint32_t replicas; /* that must have it before it is acknowledged, the own one among them */
    uint64_t signature; /* of the members that counted */
};

enum check_data_end {
    CHECK_DATA_DONE,     /* as many have it as it asked for */
    CHECK_DATA_DOUBTFUL, /* the own replica has it; who else is not known */
    CHECK_DATA_REFUSED   /* nothing was changed */
};

/* A read, or what a follower is told. */
struct check_data_read {
    uint32_t key;
    uint32_t node;
    uint32_t client;
    uint64_t begun;    /* check_data_time when it was asked for */
    uint64_t epoch;    /* check_data_epoch by then */
    uint32_t replicas; /* that were asked, the own one among them; 0: a notice, which may be older than what was written since */
    uint32_t members;  /* of how many; 0: not known */
    uint64_t signature; /* of them */
};

/* What a value shows. Elements are sorted. */
struct check_data_value {
    bool is_deleted;
    bool is_on;
    int64_t count;
    uint32_t size;
    const int64_t *elements; /* lent */
};

struct check_data *check_data_new(struct verdict *verdict); /* lent for life */
void check_data_free(struct check_data *check);
/* Which nodes are outside (facts.h), lent for life; null: none ever is. What one of them writes may be pruned while it lives: it
 * binds nobody, and it need not read it again. Under a key of a map it takes with it what others had put there. */
void check_data_safety(struct check_data *check,
                       const struct check_safety *safety);
/* A key that nobody has used: its number, from 0 on. */
uint32_t check_data_key(struct check_data *check, enum sherd_data_type type);
enum sherd_data_type check_data_type(const struct check_data *check,
                                     uint32_t key);
void check_data_expires(struct check_data *check, uint32_t key); /* it may be forgotten */
void check_data_stored(struct check_data *check, uint32_t key); /* each node has it on its disk */

/* ---- facts ---- */

void check_data_node_started(struct check_data *check, uint32_t node);
void check_data_node_ended(struct check_data *check, uint32_t node);
/* Is its life pruned while it lives, by who leads inside and does not see it as a member? Until told otherwise. What it writes binds nobody, as
 * what those outside write. */
void check_data_node_pruned(struct check_data *check, uint32_t node,
                            bool is_pruned);
/* Its replica has the key no more: it has heard of no use of it for as long as it lasts. */
void check_data_forgotten(struct check_data *check, uint32_t node,
                          uint32_t key);
bool check_data_has_forgotten(const struct check_data *check, uint32_t node,
                              uint32_t key); /* once, at least */
/* Some node sees a new member, or another status of one: what counted so many replicas may count others from here on. */
void check_data_members_changed(struct check_data *check);
uint64_t check_data_epoch(const struct check_data *check);
uint64_t check_data_time(struct check_data *check); /* counts facts: later ones have higher numbers */

/* The number of a write, from 1 on. Element 0 of an ADD means this number. */
uint64_t check_data_begun(struct check_data *check,
                          const struct check_data_write *write);
void check_data_ended(struct check_data *check, uint64_t number,
                      enum check_data_end end);
/* value null: the key is not there. */
void check_data_seen(struct check_data *check,
                     const struct check_data_read *read,
                     const struct check_data_value *value);
/* In the quiet: what all replicas of a key have. */
void check_data_settled(struct check_data *check, uint32_t key,
                        const struct check_data_value *value);

/* ---- questions ---- */

/* So many lives have ended since it began. */
uint64_t check_data_ends_since(const struct check_data *check,
                               uint64_t number);
/* Is it acknowledged, by members that have stayed, and is nothing known of its removal? Then each of its replicas has it. */
bool check_data_is_firm(const struct check_data *check, uint64_t number);

/* Is it acknowledged, by members that stayed, of a type whose elements stay for ever, and known inside? Then each disk that has it keeps it:
 * a G_SET that nobody deletes. */
bool check_data_must_stay(const struct check_data *check, uint64_t number);

struct check_data_counts {
    uint64_t writes, acknowledged, doubtful, refused;
    uint64_t reads;
    uint64_t quorums; /* writes that a read had to see because of their numbers */
};
struct check_data_counts check_data_counts(const struct check_data *check);

#endif
