/* Stores, changes, merges and encodes the values of distributed data (Akka's serializer 11).
 *
 * One type holds all kinds: states, the deltas that changes leave, and types of other serializers
 * as bytes. A value belongs to its creator and shares nothing with others, so a copy may go to
 * another thread. Merges are commutative, associative and idempotent, except where stated. They are
 * pure: the caller provides time, and the versions that a process draws (struct dd_writer).
 *
 * dd_encode returns the bytes of a decoded value unchanged until its state differs. A JVM encodes
 * equal states in its own order, digests cover bytes, and unequal digests are gossiped for ever. A
 * merge that ends in the other side's state takes over its bytes. Other values are encoded in one
 * order: equal states, equal bytes. */
#ifndef SHERD_DDATA_VALUE_H
#define SHERD_DDATA_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/vec.h"

#define DD_SERIALIZER 11 /* of all kinds except DD_OPAQUE */

enum dd_kind {
    DD_DELETED,     /* the key is deleted; wins over everything */
    DD_FLAG,        /* off, then on permanently */
    DD_GCOUNTER,    /* only grows */
    DD_PNCOUNTER,   /* grows and shrinks */
    DD_GSET,        /* elements are only added */
    DD_ORSET,       /* elements are added and removed; an add wins over a concurrent remove */
    DD_REGISTER,    /* one value; the last writer wins */
    DD_ORMAP,       /* keys as in DD_ORSET, values of any kind of state */
    DD_LWWMAP,      /* values: DD_REGISTER */
    DD_PNCOUNTERMAP, /* values: DD_PNCOUNTER */
    DD_MULTIMAP,    /* values: DD_ORSET */
    DD_VERSIONS,    /* a version vector */
    DD_OPAQUE,      /* unknown serializer or manifest: kept and sent as bytes, not merged */
    /* changes of a DD_ORSET, in order; deltas of counters and DD_GSET are of their own kind */
    DD_ORSET_DELTA,
    DD_ORMAP_DELTA  /* changes of a map, in order */
};

struct dd_value;

/* The author of changes. One for each process: a version must not be drawn twice for one uid. Not
 * thread-safe. */
struct dd_writer {
    struct node_id node;
    /* last one drawn, from 1; all values draw from it, so versions in one value jump */
    int64_t versions;
};

/* A serialized object, as in messages (`OtherMessage`). Lent. */
struct dd_other {
    int32_t serializer;
    struct slice manifest; /* UTF-8; empty if there is none */
    struct slice bytes;
};

/* An element of a set or key of a map, lent. Different kinds are different elements: 1 is neither
 * 1L nor "1". (A JVM considers 1 and 1L equal; do not mix them.) Texts must be UTF-8, or other
 * members refuse the value. */
enum dd_element_kind {
    DD_TEXT,  /* UTF-8 */
    DD_INT,   /* 32 bit */
    DD_LONG,  /* 64 bit */
    DD_OTHER, /* any other type; equal if serializer, manifest and bytes are */
    DD_REF    /* an actor reference as text */
};
struct dd_element {
    enum dd_element_kind kind;
    int64_t number;         /* INT and LONG */
    struct slice text;      /* TEXT and REF; the bytes of OTHER */
    int32_t serializer;     /* OTHER */
    struct slice manifest;  /* OTHER */
};

static inline struct dd_element dd_text(const char *text)
{
    return (struct dd_element){ .kind = DD_TEXT, .text = slice_text(text) };
}

static inline struct dd_element dd_long(int64_t number)
{
    return (struct dd_element){ .kind = DD_LONG, .number = number };
}

/* A count. A node's share of a counter stops below 2^112, so the sum over 65,536 nodes fits 128
 * bits. Decoding refuses larger shares, which take 2^49 of the largest additions of Akka's
 * counter. */
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

/* For tests: turns a value into a DD_OPAQUE of the same bytes, as if its type were unknown. */
void dd_hide_type(struct dd_value **value);

/* Lifetime. States only: a DD_MULTIMAP has no value deltas (see dd_multimap_new), and a DD_REGISTER
 * cannot be empty (see dd_register_new). */
struct dd_value *dd_new(enum dd_kind kind);
void dd_free(struct dd_value *value); /* null is fine */
struct dd_value *dd_copy(const struct dd_value *value); /* with pending delta and kept bytes */
enum dd_kind dd_kind_of(const struct dd_value *value);
/* The first DD_OPAQUE in a value or delta, perhaps the value itself; null: there is none. Lent. */
const struct dd_value *dd_find_opaque(const struct dd_value *value);
/* Compares states, not pending deltas or kept bytes. */
bool dd_equal(const struct dd_value *left, const struct dd_value *right);

/* Merging. */
enum dd_merged {
    DD_UNCHANGED,
    DD_CHANGED,
    DD_MISMATCH,   /* the types differ, also inside maps, or only one multi-map has value deltas */
    DD_UNMERGEABLE /* two DD_OPAQUE differ, also inside maps: it is unknown which is newer */
};
/* Merges the other value into the value, and drops a pending delta. On failure the value stays
 * unchanged. DD_DELETED on either side gives DD_DELETED.
 * Two deltas of one kind, from one node, are put in sequence: the other one follows.
 * As in Akka, merges of the values of removed keys are not associative: such a value may or may not
 * join another one under the same key. Nodes that exchange states until they are equal converge. */
enum dd_merged dd_merge(struct dd_value *value, const struct dd_value *other);
/* Applies a delta to a state. Deltas that need causal delivery must come in their writer's order
 * without gaps. */
enum dd_merged dd_merge_delta(struct dd_value *value,
                              const struct dd_value *delta);

/* Deltas. Changes collect a delta in the value until it is taken. */
/* True for kinds whose changes leave deltas: counters, sets, maps. */
bool dd_has_deltas(enum dd_kind kind);
/* Moves the pending delta to the caller, which frees it; null if none. As in Akka, a DD_PNCOUNTER
 * always has one, perhaps empty. */
struct dd_value *dd_take_delta(struct dd_value *value);
void dd_reset_delta(struct dd_value *value);
/* True for deltas that dd_zero() must turn into a state. They need causal delivery. */
bool dd_is_delta(const struct dd_value *value);
bool dd_needs_causal_delivery(const struct dd_value *delta);
uint32_t dd_delta_size(const struct dd_value *delta); /* number of single changes; 1 for states */
struct dd_value *dd_zero(const struct dd_value *delta); /* the empty state for the delta; given */

/* Pruning. Only counters, DD_ORSET, maps and DD_VERSIONS contain parts of nodes. */
/* Adds the missing nodes. */
void dd_add_modified_by(const struct dd_value *value, struct dd_nodes *nodes);
void dd_nodes_add(struct dd_nodes *nodes, const struct node_id *node);
bool dd_needs_pruning(const struct dd_value *value,
                      const struct node_id *removed);
/* Moves the removed node's part to the writer's node. True if anything changed. Leaves a delta,
 * which must be sent or replaced by a gap. Otherwise the next delta would claim that all earlier
 * versions were seen, and replicas without the moved elements would drop them. */
bool dd_prune(struct dd_value *value, const struct node_id *removed,
              struct dd_writer *into);
/* Drops the removed node's part, which another node took over. True if anything changed. */
bool dd_cleanup(struct dd_value *value, const struct node_id *removed);

/* Encoding. */
enum dd_verdict {
    DD_OK,
    DD_MALFORMED, /* contradicts its manifest or breaks a rule */
    DD_TOO_LARGE  /* above a limit DDATA_... in base/limits.h; nothing larger was allocated */
};
/* Serializer, manifest and bytes, lent by the value or by the buffer (which is cleared) until one
 * of them changes. */
struct dd_other dd_encode(const struct dd_value *value, struct buf *buf);
bool dd_deflates(const struct dd_value *value); /* true if dd_encode compresses it */
/* The memory that dd_decode needs, at least, with texts counted fourfold, since they may compress
 * well. A value up to DDATA_WEIGHT_MAX can be decoded; a heavier one must be tried. */
uint64_t dd_weight(const struct dd_value *value);
/* True if nearly all bytes are compressed already. */
bool dd_is_packed(const struct dd_value *value);
/* Decodes a copy of the bytes. An unknown serializer or manifest gives a DD_OPAQUE. *value is null
 * unless DD_OK. */
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
/* The node's shares, up and down, as a delta; null for other kinds. */
struct dd_value *dd_counted_by(const struct dd_value *value,
                               const struct node_id *node);
/* Keeps only the node's shares, in a counter or in those of a map. False: there were no others. */
bool dd_leave_count(struct dd_value *value, const struct node_id *node);

/* DD_GSET and DD_ORSET */
void dd_gset_add(struct dd_value *value, const struct dd_element *element);
void dd_orset_add(struct dd_value *value, struct dd_writer *writer,
                  const struct dd_element *element);
/* Also leaves a delta if the element is absent. */
void dd_orset_remove(struct dd_value *value, const struct dd_writer *writer,
                     const struct dd_element *element);
void dd_orset_clear(struct dd_value *value);
bool dd_set_has(const struct dd_value *value, const struct dd_element *element);
uint32_t dd_set_count(const struct dd_value *value);
/* The most bytes that changes add: once for the writer's node and the frame of a set; for each item
 * of a set beside its text; for each key of a map beside its texts, since its value may name the
 * node, too. */
#define DD_SET_NODE_SIZE 512
#define DD_SET_ITEM_SIZE 64
#define DD_MAP_ITEM_SIZE (DD_SET_NODE_SIZE + 2 * DD_SET_ITEM_SIZE)
/* Equal marks mean equal states, if changes of maps only add or put. */
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
/* From *at = 0, in the order of the encoding; lent until the value changes. */
bool dd_set_next(const struct dd_value *value, uint32_t *at,
                 struct dd_element *element);

/* DD_REGISTER. now_ms: the wall clock. The clock computes the new timestamp from it and the last
 * one (0 at first). */
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

/* Maps. Results of dd_map_get and dd_map_next are lent until the map changes. Tombstones are
 * skipped. */
const struct dd_value *dd_map_get(const struct dd_value *map,
                                  const struct dd_element *key); /* null if absent */
uint32_t dd_map_count(const struct dd_value *map);
bool dd_map_next(const struct dd_value *map, uint32_t *at,
                 struct dd_element *key, const struct dd_value **value); /* from *at = 0 */
/* DD_LWWMAP, DD_PNCOUNTERMAP, DD_MULTIMAP and DD_ORMAP. A concurrent update elsewhere wins. */
void dd_map_remove(struct dd_value *map, struct dd_writer *writer,
                   const struct dd_element *key);

/* DD_ORMAP. The value is given. False, without effect: it would replace a DD_ORSET, whose history
 * would be lost. */
bool dd_ormap_put(struct dd_value *map, struct dd_writer *writer,
                  const struct dd_element *key, struct dd_value *value);
/* Puts a changed copy of the present value, without that check; given. */
void dd_ormap_update(struct dd_value *map, struct dd_writer *writer,
                     const struct dd_element *key, struct dd_value *value);
/* DD_LWWMAP */
void dd_lwwmap_put(struct dd_value *map, struct dd_writer *writer,
                   const struct dd_element *key, struct dd_other state,
                   int64_t now_ms, enum dd_clock clock);
/* DD_PNCOUNTERMAP */
void dd_countermap_add(struct dd_value *map, struct dd_writer *writer,
                       const struct dd_element *key, int64_t amount);
/* DD_MULTIMAP. With value deltas, a new binding of a large set is sent alone. The two types do not
 * merge. */
struct dd_value *dd_multimap_new(bool with_value_deltas);
bool dd_multimap_has_deltas(const struct dd_value *map);
void dd_multimap_put(struct dd_value *map, struct dd_writer *writer,
                     const struct dd_element *key,
                     const struct dd_element *elements,
                     uint32_t count); /* exactly these; present ones keep their history */
void dd_multimap_add(struct dd_value *map, struct dd_writer *writer,
                     const struct dd_element *key,
                     const struct dd_element *element);
/* Removing the last element removes the key. */
void dd_multimap_remove(struct dd_value *map, struct dd_writer *writer,
                        const struct dd_element *key,
                        const struct dd_element *element);
void dd_multimap_replace(struct dd_value *map, struct dd_writer *writer,
                         const struct dd_element *key,
                         const struct dd_element *old,
                         const struct dd_element *element); /* no effect if both are equal */

/* DD_VERSIONS */
/* Draws a new version for the writer's node. */
void dd_versions_increment(struct dd_value *value, struct dd_writer *writer);
int64_t dd_versions_get(const struct dd_value *value,
                        const struct node_id *node); /* 0 if absent */

#endif
