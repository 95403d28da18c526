/* What a value is made of. Private to the types: others see value.h. */
#ifndef SHERD_DDATA_INSIDE_H
#define SHERD_DDATA_INSIDE_H

#include "base/check.h"
#include "ddata/element.h"
#include "ddata/natural.h"
#include "ddata/orset.h"
#include "ddata/value.h"
#include "ddata/versions.h"

/* Of each node its share, above 0. Sorted. */
struct share {
    struct node_id node;
    struct dd_natural amount;
};
struct counter {
    VEC(struct share) shares;
};

struct pncounter {
    struct counter up;
    struct counter down;
};

struct reg {
    struct node_id node;
    int64_t timestamp;
    struct other state;
};

/* A key's value; null in what names only the key. */
struct ormap_item {
    struct element element;
    struct dd_value *value;
};

/* Every key has a value. A value without its key is a tombstone, of a multi-map with value deltas only: a DD_ORSET
 * that was cleared, kept because what is added to it elsewhere may refer to what it was. */
struct ormap {
    struct orset keys;
    struct elements items; /* struct ormap_item */
};

enum orset_change {
    ORSET_ADD = 0, /* values of the wire */
    ORSET_REMOVE = 1,
    ORSET_FULL = 2
};
struct orset_op {
    enum orset_change change;
    struct orset set;
};
struct orset_ops {
    VEC(struct orset_op) list;
    bool is_group; /* several, or encoded as if */
};

enum ormap_change {
    ORMAP_PUT = 0, /* values of the wire */
    ORMAP_REMOVE = 1,
    ORMAP_REMOVE_KEY = 2, /* the value stays as a tombstone */
    ORMAP_UPDATE = 3
};
enum map_tag { /* of the wire: whose delta it is */
    TAG_ORMAP = 0,
    TAG_PNCOUNTERMAP = 1,
    TAG_MULTIMAP = 2,
    TAG_MULTIMAP_WITH_DELTAS = 3,
    TAG_LWWMAP = 4
};
struct ormap_op {
    enum ormap_change change;
    enum map_tag tag;
    struct orset set;      /* the change of the keys: an add, or a remove */
    struct elements items; /* struct ormap_item: PUT one value, UPDATE values or deltas, REMOVE_KEY one without value */
};
struct ormap_ops {
    VEC(struct ormap_op) list;
    bool is_group;
};

struct dd_value {
    enum dd_kind kind;
    bool is_on;               /* DD_FLAG: switched on; DD_MULTIMAP: with value deltas */
    struct dd_value *delta;   /* pending; null: none */
    struct other *kept;       /* as it was encoded when it came; null: encode anew */
    union {
        struct counter counter;
        struct pncounter pncounter;
        struct elements gset; /* struct element */
        struct orset orset;
        struct reg reg;
        struct ormap map;
        struct versions versions;
        struct other opaque;
        struct orset_ops orset_ops;
        struct ormap_ops ormap_ops;
    } is;
};

/* The state has changed: bytes that were kept no longer are its. */
void value_touch(struct dd_value *value);
struct dd_value *value_new(enum dd_kind kind); /* deltas too */
bool value_is_map(enum dd_kind kind);
/* The delta that is pending, made if there is none. */
struct dd_value *value_pending(struct dd_value *value, enum dd_kind kind);
/* Merges without care: after a failure the value may be anything that can be freed. Neither may be DD_DELETED. */
enum dd_merged value_merge(struct dd_value *value,
                           const struct dd_value *other);
enum dd_merged value_merge_delta(struct dd_value *value,
                                 const struct dd_value *delta);
enum dd_merged merged_of(bool changed);

/* Each kind: what value.c's switches call. */
void counter_fini(struct counter *counter);
void counter_copy(struct counter *copy, const struct counter *counter);
bool counter_equal(const struct counter *left, const struct counter *right);
bool counter_merge(struct counter *counter, const struct counter *other);
void counter_add_nodes(const struct counter *counter, struct dd_nodes *nodes);
bool counter_has(const struct counter *counter, const struct node_id *node);
bool counter_drop(struct counter *counter, const struct node_id *node);
bool counter_leave(struct counter *counter, const struct node_id *node); /* all others are dropped; false: there were none */
bool counter_sort(struct counter *counter); /* of one that was filled from outside; false: a node stands twice */
bool counter_prune(struct dd_value *value, const struct node_id *removed,
                   const struct node_id *into);
bool pncounter_prune(struct dd_value *value, const struct node_id *removed,
                     const struct node_id *into);

void gset_fini(struct elements *set);
void gset_copy(struct elements *copy, const struct elements *set);
bool gset_equal(const struct elements *left, const struct elements *right);
bool gset_merge(struct elements *set, const struct elements *other);
void gset_sort(struct elements *set);

void reg_copy(struct reg *copy, const struct reg *reg);
bool reg_equal(const struct reg *left, const struct reg *right);
bool reg_merge(struct reg *reg, const struct reg *other);

void orset_ops_fini(struct orset_ops *ops);
void orset_ops_copy(struct orset_ops *copy, const struct orset_ops *ops);
bool orset_ops_equal(const struct orset_ops *left,
                     const struct orset_ops *right);
void orset_ops_append(struct orset_ops *ops, const struct orset_ops *next);
/* Appends one change; its set is given. */
void orset_ops_push(struct orset_ops *ops, enum orset_change change,
                    struct orset *set);
bool orset_apply(struct orset *set, const struct orset_ops *ops);
bool orset_value_prune(struct dd_value *value, const struct node_id *removed,
                       struct dd_writer *into);

void ormap_fini(struct ormap *map);
void ormap_copy(struct ormap *copy, const struct ormap *map);
bool ormap_equal(const struct ormap *left, const struct ormap *right);
enum dd_merged ormap_merge(struct dd_value *value, const struct dd_value *other);
enum dd_merged ormap_apply(struct dd_value *value,
                         const struct ormap_ops *ops);
void ormap_add_nodes(const struct ormap *map, struct dd_nodes *nodes);
bool ormap_needs_pruning(const struct ormap *map, const struct node_id *removed);
bool ormap_prune(struct dd_value *value, const struct node_id *removed,
               struct dd_writer *into);
bool ormap_cleanup(struct ormap *map, const struct node_id *removed);
bool ormap_leave_count(struct ormap *map, const struct node_id *node);
/* Inserts or replaces; the value is given. */
void ormap_items_put(struct elements *items, const struct dd_element *key,
                   struct dd_value *value);
void ormap_items_drop(struct elements *items, const struct dd_element *key); /* with its value; nothing when absent */
void ormap_items_fini(struct elements *items);
void ormap_items_copy(struct elements *copy, const struct elements *items);
bool ormap_items_equal(const struct elements *left, const struct elements *right);
struct ormap_item *ormap_item_at(const struct elements *items, uint32_t index);
/* A multi-map with value deltas keeps what is of removed keys. */
bool ormap_retains(const struct dd_value *map);
enum map_tag ormap_tag_of(const struct dd_value *map);
enum dd_kind ormap_kind_of(enum map_tag tag, bool *with_deltas);
/* The one kind of values that a sort of map has; false: any. */
bool ormap_value_kind(enum map_tag tag, enum dd_kind *kind);
bool ormap_drop_tombstones(struct ormap *map); /* those that are empty; true when there were any */

void ormap_ops_fini(struct ormap_ops *ops);
void ormap_ops_copy(struct ormap_ops *copy, const struct ormap_ops *ops);
bool ormap_ops_equal(const struct ormap_ops *left,
                     const struct ormap_ops *right);
enum dd_merged ormap_ops_append(struct ormap_ops *ops,
                                const struct ormap_ops *next);
enum dd_merged ormap_ops_push(struct ormap_ops *ops,
                              struct ormap_op *op); /* one that this node made; given */
void ormap_op_fini(struct ormap_op *op);

#endif
