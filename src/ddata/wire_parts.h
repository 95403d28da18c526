/* What the files that encode and decode share. Private to them. */
#ifndef SHERD_DDATA_WIRE_PARTS_H
#define SHERD_DDATA_WIRE_PARTS_H

#include "base/limits.h"
#include "ddata/inside.h"
#include "ddata/proto.h"

/* A value being decoded: what it may still cost. The first failure stays. */
struct reading {
    size_t memory_left; /* bytes */
    uint32_t depth;     /* values inside of values */
    enum dd_verdict verdict;
};

/* Both false, so that they can be returned. */
bool reading_fails(struct reading *reading); /* malformed */
bool reading_exceeds(struct reading *reading); /* too large */
bool reading_spends(struct reading *reading, size_t size); /* before the memory is taken; false: too much */
/* Was all of it read? */
bool reading_ends(struct reading *reading, const struct cursor *cursor);

void put_node(struct buf *buf, uint32_t number, const struct node_id *node);
bool get_node(struct reading *reading, struct slice bytes,
              struct node_id *node);
void put_other(struct buf *buf, uint32_t number, struct dd_other other);
bool get_other(struct reading *reading, struct slice bytes,
               struct dd_other *other); /* lent */
/* One node and its version, an entry of a version vector. A version below 0 is malformed. */
void put_version(struct buf *buf, const struct node_id *node, int64_t version);
bool get_version(struct reading *reading, struct slice bytes,
                 struct version *version);
bool get_text(struct reading *reading, struct slice bytes,
              struct dd_element *element); /* lent; false: no UTF-8 */
struct dd_element get_element_other(struct dd_other other); /* of an element or a key; lent */

/* Inside of a message: without tag and size. */
void put_orset(struct buf *buf, const struct orset *set);
bool get_orset(struct reading *reading, struct slice bytes,
               struct orset *set); /* into an empty one; to be freed after a failure too */
void put_gset(struct buf *buf, const struct elements *set);
bool get_gset(struct reading *reading, struct slice bytes,
              struct elements *set);
void put_orset_ops(struct buf *buf, const struct orset_ops *ops);
bool get_orset_ops(struct reading *reading, struct slice bytes,
                   struct orset_ops *ops);
/* One that stands alone: its bytes are the set's. */
bool get_orset_op(struct reading *reading, struct slice bytes,
                  enum orset_change change, struct orset_ops *ops);
void put_map(struct buf *buf, const struct dd_value *value);
bool get_map(struct reading *reading, struct slice bytes,
             struct dd_value *value);
void put_ormap_ops(struct buf *buf, const struct ormap_ops *ops);
bool get_ormap_ops(struct reading *reading, struct slice bytes,
                   struct ormap_ops *ops);

/* The payloads of the kinds that stand inside of maps. */
void put_state(struct buf *buf, const struct dd_value *value);
bool get_state(struct reading *reading, struct slice bytes,
               struct dd_value *value);
/* A whole value inside of another, as `OtherMessage`. */
void put_value(struct buf *buf, uint32_t number, const struct dd_value *value);
bool get_value(struct reading *reading, struct dd_other other,
               struct dd_value **value);

#endif
