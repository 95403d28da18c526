/* Defines the parts of values. Private to the types; other code sees value.h. */
#ifndef SHERD_DDATA_INSIDE_H
#define SHERD_DDATA_INSIDE_H

#include "base/check.h"
#include "ddata/element.h"
#include "ddata/natural.h"
#include "ddata/orset.h"
#include "ddata/value.h"
#include "ddata/versions.h"

/* Each node's share, above 0. Sorted. */
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

/* value is null where only the key is named */
struct ormap_item {
    struct element element;
    struct dd_value *value;
};

/* Every key has a value. A value without a key is a tombstone, which only multi-maps with value
 * deltas have: a cleared DD_ORSET whose dots later additions may refer to. */
struct ormap {
    struct orset keys;
    struct elements items; /* struct ormap_item */
};

enum orset_change {
    ORSET_ADD = 0, /* wire values */
    ORSET_REMOVE = 1,
    ORSET_FULL = 2
};
struct orset_op {
    enum orset_change change;
    struct orset set;
};
struct orset_ops {
    VEC(struct orset_op) list;
    bool is_group; /* several, or encoded like several */
};

enum ormap_change {
    ORMAP_PUT = 0, /* wire values */
    ORMAP_REMOVE = 1,
    ORMAP_REMOVE_KEY = 2, /* the value stays as a tombstone */
    ORMAP_UPDATE = 3
};
enum map_tag { /* wire values */
    TAG_ORMAP = 0,
    TAG_PNCOUNTERMAP = 1,
    TAG_MULTIMAP = 2,
    TAG_MULTIMAP_WITH_DELTAS = 3,
    TAG_LWWMAP = 4
};
struct ormap_op {
    enum ormap_change change;
    enum map_tag tag;
    struct orset set;      /* an add or remove of keys */
    /* struct ormap_item: one value for PUT, values or deltas for UPDATE, one without value for
     * REMOVE_KEY */
    struct elements items;
};
struct ormap_ops {
    VEC(struct ormap_op) list;
    bool is_group;
};

struct dd_value {
    enum dd_kind kind;
    bool is_on;               /* DD_FLAG: switched on; DD_MULTIMAP: with value deltas */
    struct dd_value *delta;   /* pending; null if there is none */
    struct other *kept;       /* received bytes; null: encode again */
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

/* Drops the kept bytes: the state has changed. */
void value_touch(struct dd_value *value);
struct dd_value *value_new(enum dd_kind kind);
bool value_is_map(enum dd_kind kind);
/* The pending delta, created if needed. */
struct dd_value *value_pending(struct dd_value *value, enum dd_kind kind);
/* Merge in place: on failure the value can only be freed. Neither is DD_DELETED. */
enum dd_merged value_merge(struct dd_value *value,
                           const struct dd_value *other);
enum dd_merged value_merge_delta(struct dd_value *value,
                                 const struct dd_value *delta);
enum dd_merged merged_of(bool changed);

/* Called by the switches in value.c. */
void counter_fini(struct counter *counter);
void counter_copy(struct counter *copy, const struct counter *counter);
bool counter_equal(const struct counter *left, const struct counter *right);
bool counter_merge(struct counter *counter, const struct counter *other);
void counter_add_nodes(const struct counter *counter, struct dd_nodes *nodes);
bool counter_has(const struct counter *counter, const struct node_id *node);
bool counter_drop(struct counter *counter, const struct node_id *node);
/* Drops the other nodes' shares; false: there were none. */
bool counter_leave(struct counter *counter, const struct node_id *node);
/* After shares were pushed unsorted; false: a node occurs twice. */
bool counter_sort(struct counter *counter);
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
/* The set is given. */
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
/* The value is given; replaces a present one. */
void ormap_items_put(struct elements *items, const struct dd_element *key,
                   struct dd_value *value);
void ormap_items_drop(struct elements *items, const struct dd_element *key);
void ormap_items_fini(struct elements *items);
void ormap_items_copy(struct elements *copy, const struct elements *items);
bool ormap_items_equal(const struct elements *left, const struct elements *right);
struct ormap_item *ormap_item_at(const struct elements *items, uint32_t index);
/* Multi-maps with value deltas keep the values of removed keys. */
bool ormap_retains(const struct dd_value *map);
enum map_tag ormap_tag_of(const struct dd_value *map);
enum dd_kind ormap_kind_of(enum map_tag tag, bool *with_deltas);
/* The kind of all values in this type of map; false: any. */
bool ormap_value_kind(enum map_tag tag, enum dd_kind *kind);
/* Removes empty tombstones; true if it removed any. */
bool ormap_drop_tombstones(struct ormap *map);

void ormap_ops_fini(struct ormap_ops *ops);
void ormap_ops_copy(struct ormap_ops *copy, const struct ormap_ops *ops);
bool ormap_ops_equal(const struct ormap_ops *left,
                     const struct ormap_ops *right);
enum dd_merged ormap_ops_append(struct ormap_ops *ops,
                                const struct ormap_ops *next);
enum dd_merged ormap_ops_push(struct ormap_ops *ops,
                              struct ormap_op *op); /* appends a change made by this node; given */
void ormap_op_fini(struct ormap_op *op);

#endif
