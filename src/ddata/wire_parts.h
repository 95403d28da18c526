/* Declares what the encoders and decoders of values share. Private to them. */
#ifndef SHERD_DDATA_WIRE_PARTS_H
#define SHERD_DDATA_WIRE_PARTS_H

#include "base/limits.h"
#include "ddata/inside.h"
#include "ddata/proto.h"

/* The remaining budget of decoding a value. The first failure stays. */
struct reading {
    size_t memory_left; /* bytes */
    uint32_t depth;     /* values inside values */
    enum dd_verdict verdict;
};

/* Both return false. */
bool reading_fails(struct reading *reading); /* malformed */
bool reading_exceeds(struct reading *reading); /* too large */
/* Before memory is taken; false: too much. */
bool reading_spends(struct reading *reading, size_t size);
/* True if everything was read. */
bool reading_ends(struct reading *reading, const struct cursor *cursor);

void put_node(struct buf *buf, uint32_t number, const struct node_id *node);
bool get_node(struct reading *reading, struct slice bytes,
              struct node_id *node);
void put_other(struct buf *buf, uint32_t number, struct dd_other other);
bool get_other(struct reading *reading, struct slice bytes,
               struct dd_other *other); /* lent */
/* An entry of a version vector; a negative version is malformed. */
void put_version(struct buf *buf, const struct node_id *node, int64_t version);
bool get_version(struct reading *reading, struct slice bytes,
                 struct version *version);
bool get_text(struct reading *reading, struct slice bytes,
              struct dd_element *element); /* lent; false: not UTF-8 */
struct dd_element get_element_other(struct dd_other other); /* an element or key; lent */

/* Inside a message, without tag and size. */
void put_orset(struct buf *buf, const struct orset *set);
bool get_orset(struct reading *reading, struct slice bytes,
               struct orset *set); /* into an empty one; free it after a failure too */
void put_gset(struct buf *buf, const struct elements *set);
bool get_gset(struct reading *reading, struct slice bytes,
              struct elements *set);
void put_orset_ops(struct buf *buf, const struct orset_ops *ops);
bool get_orset_ops(struct reading *reading, struct slice bytes,
                   struct orset_ops *ops);
/* A single change: its bytes are the set's. */
bool get_orset_op(struct reading *reading, struct slice bytes,
                  enum orset_change change, struct orset_ops *ops);
void put_map(struct buf *buf, const struct dd_value *value);
bool get_map(struct reading *reading, struct slice bytes,
             struct dd_value *value);
void put_ormap_ops(struct buf *buf, const struct ormap_ops *ops);
bool get_ormap_ops(struct reading *reading, struct slice bytes,
                   struct ormap_ops *ops);

/* The payloads of kinds that occur inside maps. */
void put_state(struct buf *buf, const struct dd_value *value);
bool get_state(struct reading *reading, struct slice bytes,
               struct dd_value *value);
/* A whole value inside another, as `OtherMessage`. */
void put_value(struct buf *buf, uint32_t number, const struct dd_value *value);
bool get_value(struct reading *reading, struct dd_other other,
               struct dd_value **value);

#endif
