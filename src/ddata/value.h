/* A replicated value: what distributed data keeps under a key, sends and merges (behaviour 13.9; bytes: wire 6.3,
 * serializer 11).
 *
 * One type for all kinds, so that a replicator need not know them: whole states, the deltas that changes leave
 * behind, and foreign types, which are kept as bytes. A value is owned by whoever made it, and changed in place;
 * nothing in it is shared with another value, so a copy may go to another thread. Merges are commutative,
 * associative and idempotent, except where it is said; they are pure: time is an argument, and the versions that a
 * process draws are the caller's (struct dd_writer).
 *
 * The bytes of a value that was decoded are kept and come out of dd_encode unchanged until its state really
 * differs: a JVM encodes equal states in its own order, digests are over bytes, and digests that differ are
 * gossiped for ever (wire 6.4). A merge that ends in the other side's state takes over the other side's bytes. What
 * has no such bytes is encoded in one order: equal states, equal bytes. */
#ifndef SHERD_DDATA_VALUE_H
#define SHERD_DDATA_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/vec.h"

#define DD_SERIALIZER 11 /* of all kinds but DD_OPAQUE */

enum dd_kind {
    DD_DELETED,     /* wins over everything; it is the key that was deleted */
    DD_FLAG,        /* off, then on for ever */
    DD_GCOUNTER,    /* grows */
    DD_PNCOUNTER,   /* grows and shrinks */
    DD_GSET,        /* elements are only added */
    DD_ORSET,       /* elements come and go; an add wins over a remove at the same time */
    DD_REGISTER,    /* one value, the last writer wins */
    DD_ORMAP,       /* keys as in DD_ORSET, to values of any kind that is a state */
    DD_LWWMAP,      /* to DD_REGISTER */
    DD_PNCOUNTERMAP, /* to DD_PNCOUNTER */
    DD_MULTIMAP,    /* to DD_ORSET */
    DD_VERSIONS,    /* a version vector */
    DD_OPAQUE,      /* bytes of a serializer or a manifest that is unknown here: can be kept and sent, not merged */
    DD_ORSET_DELTA, /* changes of a DD_ORSET, in order. Deltas of counters and of DD_GSET are of their own kind */
    DD_ORMAP_DELTA  /* changes of any of the maps */
};

struct dd_value;

/* Who changes a value. One for each process: a version must never be drawn twice under one uid. Not for two threads. */
struct dd_writer {
    struct node_id node;
    int64_t versions; /* drawn so far; the first is 1. All values of the process draw from here: in one they jump */
};

/* A serialized thing of any type, as it stands in the messages (`OtherMessage`). Lent. */
struct dd_other {
    int32_t serializer;
    struct slice manifest; /* UTF-8; empty when there is none */
    struct slice bytes;
};

/* An element of a set, a key of a map, lent. Two of different kinds are different: 1 is neither 1L nor "1". (A JVM takes
 * 1 and 1L for one: they should not be mixed.) Texts must be UTF-8: others refuse a value with one that is not. */
enum dd_element_kind {
    DD_TEXT,  /* UTF-8 */
    DD_INT,   /* 32 bit */
    DD_LONG,  /* 64 bit */
    DD_OTHER, /* any other type; equal when serializer, manifest and bytes are */
    DD_REF    /* an actor's ref as text */
};
struct dd_element {
    enum dd_element_kind kind;
    int64_t number;         /* of INT and LONG */
    struct slice text;      /* of TEXT and REF; the bytes of OTHER */
    int32_t serializer;     /* of OTHER */
    struct slice manifest;  /* of OTHER */
};

static inline struct dd_element dd_text(const char *text)
{
    return (struct dd_element){ .kind = DD_TEXT, .text = slice_text(text) };
}

static inline struct dd_element dd_long(int64_t number)
{
    return (struct dd_element){ .kind = DD_LONG, .number = number };
}

/* A count. A node's share of a counter stays below 2^112, where it stops: so the sum over 65,536 nodes has 128
 * bits. Decoding refuses a larger one: it takes 2^49 additions of the largest number that the reference's counter
 * adds at a time. */
#define DD_NATURAL_BITS 112
struct dd_natural {
    uint64_t high;
    uint64_t low;
};
struct dd_integer {
    bool negative;
    struct dd_natural size;
};

struct dd_nodes {
    VEC(struct node_id) items; /* sorted, each once */
};

/* Life. Only kinds that are states: a DD_MULTIMAP without value deltas (see dd_multimap_new), an empty DD_REGISTER
 * is not possible (see dd_register_new). */
struct dd_value *dd_new(enum dd_kind kind);
void dd_free(struct dd_value *value); /* null is fine */
struct dd_value *dd_copy(const struct dd_value *value); /* with its pending delta and kept bytes */
enum dd_kind dd_kind_of(const struct dd_value *value);
/* The same state; neither pending deltas nor kept bytes count. */
bool dd_equal(const struct dd_value *left, const struct dd_value *right);

/* Merging. */
enum dd_merged {
    DD_UNCHANGED,
    DD_CHANGED,
    DD_MISMATCH,   /* the types differ, here or inside of maps (or one multi-map is with value deltas, one without) */
    DD_UNMERGEABLE /* two DD_OPAQUE that differ, here or inside of maps: nobody here knows which of them is newer.
                      Whoever only passes on may replace the one by the other, but must not confirm that it is
                      stored: what comes later may be older */
};
/* Merges the other one, which is only read, into the value. When it fails the value stays as it is. A pending delta
 * is dropped. With DD_DELETED on either side the value becomes DD_DELETED. For two deltas of one kind it is not a
 * merge but a sequence: the other one follows; both come from one node.
 *
 * Of maps whose keys are removed the values' merges are not associative, as in the reference: a value whose key was
 * removed may or may not join another that comes under the same key. Keys are, and whoever exchanges states until they
 * are the same ends with the same. */
enum dd_merged dd_merge(struct dd_value *value, const struct dd_value *other);
/* Applies a delta to a state; the same words. Those that need causal delivery must come in their writer's order
 * without gaps. */
enum dd_merged dd_merge_delta(struct dd_value *value,
                              const struct dd_value *delta);

/* Deltas. A change leaves one in the value, and further ones add to it, until it is taken. */
bool dd_has_deltas(enum dd_kind kind); /* a kind whose changes leave deltas: counters, sets, maps */
/* The pending delta, given; the value has none then. Null: none. A DD_PNCOUNTER always has one, perhaps empty, as
 * in the reference. */
struct dd_value *dd_take_delta(struct dd_value *value);
void dd_reset_delta(struct dd_value *value);
/* Is it only a delta, which has to be applied to dd_zero() to be a state? Those are the ones that need causal
 * delivery. */
bool dd_is_delta(const struct dd_value *value);
bool dd_needs_causal_delivery(const struct dd_value *delta);
uint32_t dd_delta_size(const struct dd_value *delta); /* how many single changes; 1 for those that are states */
struct dd_value *dd_zero(const struct dd_value *delta); /* the empty state that the delta can be applied to; given */

/* Pruning of removed nodes (behaviour 13.8). Counters, DD_ORSET, maps and DD_VERSIONS have something of a node;
 * others never. */
void dd_add_modified_by(const struct dd_value *value, struct dd_nodes *nodes); /* adds what is not there yet */
void dd_nodes_add(struct dd_nodes *nodes, const struct node_id *node);
bool dd_needs_pruning(const struct dd_value *value,
                      const struct node_id *removed);
/* Collapses what is of the removed node into the writer's node. True when anything changed. It leaves a delta like
 * any other change, which should be taken and sent (or a gap left in its place): the next delta of this node alone
 * would say that all of its versions up to it were seen, and the elements that were collapsed would go where they
 * are not seen yet. */
bool dd_prune(struct dd_value *value, const struct node_id *removed,
              struct dd_writer *into);
/* Drops what is of the removed node: it was collapsed elsewhere. True when anything changed. */
bool dd_cleanup(struct dd_value *value, const struct node_id *removed);

/* Bytes. */
enum dd_verdict {
    DD_OK,
    DD_MALFORMED, /* not what its manifest says, or it breaks a rule */
    DD_TOO_LARGE  /* more than DDATA_... in base/limits.h; nothing was allocated beyond */
};
/* Its serializer, manifest and bytes: lent from the value or from the buffer (which is cleared), until one of them
 * changes. */
struct dd_other dd_encode(const struct dd_value *value, struct buf *buf);
bool dd_deflates(const struct dd_value *value); /* dd_encode does */
/* The memory that dd_decode would need for it, at least, with its texts counted fourfold, so that what is packed well counts, too. Up to
 * DDATA_WEIGHT_MAX it can be decoded; beyond, it must be tried. */
uint64_t dd_weight(const struct dd_value *value);
/* Whether nearly all of its bytes are gzip, or begin so: another deflation would find nothing. */
bool dd_is_packed(const struct dd_value *value);
/* Makes a value of a copy of the bytes: an unknown serializer or manifest makes a DD_OPAQUE. Null in *value unless
 * DD_OK. */
enum dd_verdict dd_decode(struct dd_other other, struct dd_value **value);

/* DD_FLAG */
bool dd_flag(const struct dd_value *value);
void dd_flag_switch_on(struct dd_value *value);

/* DD_GCOUNTER and DD_PNCOUNTER */
void dd_gcounter_add(struct dd_value *value, const struct node_id *node,
                     uint64_t amount); /* 0 changes nothing */
struct dd_natural dd_gcounter_get(const struct dd_value *value);
void dd_pncounter_add(struct dd_value *value, const struct node_id *node,
                      int64_t amount);
struct dd_integer dd_pncounter_get(const struct dd_value *value);
/* What that node has counted, up and down, as a delta; null for any other kind. */
struct dd_value *dd_counted_by(const struct dd_value *value,
                               const struct node_id *node);
/* Of a counter, and of those in a map, leaves what that node has counted, and takes away the others'. False: they had nothing in it. */
bool dd_leave_count(struct dd_value *value, const struct node_id *node);

/* DD_GSET and DD_ORSET */
void dd_gset_add(struct dd_value *value, const struct dd_element *element);
void dd_orset_add(struct dd_value *value, struct dd_writer *writer,
                  const struct dd_element *element);
/* Also of an element that is not there: that leaves a delta too. */
void dd_orset_remove(struct dd_value *value, const struct dd_writer *writer,
                     const struct dd_element *element);
void dd_orset_clear(struct dd_value *value);
bool dd_set_has(const struct dd_value *value, const struct dd_element *element);
uint32_t dd_set_count(const struct dd_value *value);
/* What changes add to a set's or map's bytes, at most: once, for its writer's node and what holds a set; for each item of a set
 * beside its text; for each key of a map beside its texts, whose value may name the writer's node, too. */
#define DD_SET_NODE_SIZE 512
#define DD_SET_ITEM_SIZE 64
#define DD_MAP_ITEM_SIZE (DD_SET_NODE_SIZE + 2 * DD_SET_ITEM_SIZE)
/* Of a set or map and what changes have made of it, of a map those that only add or put: are the marks the same, so is the state. */
struct dd_mark {
    uint32_t count;
    uint32_t nodes;
    uint64_t versions;
};
struct dd_mark dd_mark(const struct dd_value *value);
static inline bool dd_mark_equal(struct dd_mark before, struct dd_mark after)
{
    return before.count == after.count && before.nodes == after.nodes &&
           before.versions == after.versions;
}
/* Start with *at = 0. In the order of the encoding; lent until the value changes. */
bool dd_set_next(const struct dd_value *value, uint32_t *at,
                 struct dd_element *element);

/* DD_REGISTER. now_ms: the wall clock, an argument. A clock makes the new timestamp out of it and the last one (0
 * at first). */
enum dd_clock {
    DD_CLOCK_LAST, /* max(now, last + 1): the last writer wins */
    DD_CLOCK_FIRST /* min(-now, last - 1): the first writer wins */
};
struct dd_value *dd_register_new(const struct node_id *node,
                                 struct dd_other state, int64_t now_ms,
                                 enum dd_clock clock);
void dd_register_set(struct dd_value *value, const struct node_id *node,
                     struct dd_other state, int64_t now_ms,
                     enum dd_clock clock);
struct dd_other dd_register_get(const struct dd_value *value); /* lent until the value changes */
int64_t dd_register_timestamp(const struct dd_value *value);
const struct node_id *dd_register_node(const struct dd_value *value);

/* Maps, all four. What dd_map_get and dd_map_next give is lent until the map changes; a multi-map's tombstones are
 * not there. */
const struct dd_value *dd_map_get(const struct dd_value *map,
                                  const struct dd_element *key); /* null when absent */
uint32_t dd_map_count(const struct dd_value *map);
bool dd_map_next(const struct dd_value *map, uint32_t *at,
                 struct dd_element *key, const struct dd_value **value); /* start with *at = 0 */
/* DD_LWWMAP, DD_PNCOUNTERMAP, DD_MULTIMAP and DD_ORMAP. An update at the same time elsewhere wins over it. */
void dd_map_remove(struct dd_value *map, struct dd_writer *writer,
                   const struct dd_element *key);

/* DD_ORMAP. The value is given. False, with nothing changed: it is to replace a DD_ORSET, whose history would be
 * lost. */
bool dd_ormap_put(struct dd_value *map, struct dd_writer *writer,
                  const struct dd_element *key, struct dd_value *value);
/* Puts, without that check, what a copy of dd_map_get's value was changed into; given. */
void dd_ormap_update(struct dd_value *map, struct dd_writer *writer,
                     const struct dd_element *key, struct dd_value *value);
/* DD_LWWMAP */
void dd_lwwmap_put(struct dd_value *map, struct dd_writer *writer,
                   const struct dd_element *key, struct dd_other state,
                   int64_t now_ms, enum dd_clock clock);
/* DD_PNCOUNTERMAP */
void dd_countermap_add(struct dd_value *map, struct dd_writer *writer,
                       const struct dd_element *key, int64_t amount);
/* DD_MULTIMAP. With value deltas a binding that is added to a large set travels alone; the two sorts do not merge. */
struct dd_value *dd_multimap_new(bool with_value_deltas);
bool dd_multimap_has_deltas(const struct dd_value *map);
void dd_multimap_put(struct dd_value *map, struct dd_writer *writer,
                     const struct dd_element *key,
                     const struct dd_element *elements,
                     uint32_t count); /* exactly these, with the history of those that were there */
void dd_multimap_add(struct dd_value *map, struct dd_writer *writer,
                     const struct dd_element *key,
                     const struct dd_element *element);
void dd_multimap_remove(struct dd_value *map, struct dd_writer *writer,
                        const struct dd_element *key,
                        const struct dd_element *element); /* the last one takes the key with it */
void dd_multimap_replace(struct dd_value *map, struct dd_writer *writer,
                         const struct dd_element *key,
                         const struct dd_element *old,
                         const struct dd_element *element); /* nothing when they are equal */

/* DD_VERSIONS */
void dd_versions_increment(struct dd_value *value, struct dd_writer *writer); /* a new version for the writer's node */
int64_t dd_versions_get(const struct dd_value *value,
                        const struct node_id *node); /* 0 when absent */

#endif
