/* Declares what the OR-set's files share. Private to them and to its decoder. */
#ifndef SHERD_DDATA_ORSET_PARTS_H
#define SHERD_DDATA_ORSET_PARTS_H

#include "ddata/orset.h"

uint32_t orset_find_node(const struct orset *set,
                         const struct node_id *node); /* UINT32_MAX if absent */
/* Renames the places in dots by a map that keeps their order. */
void orset_renumber(struct orset *set, const uint32_t *map);
/* Adds the other set's nodes as not seen. Returns a map of its places to those here; to be
 * freed. */
uint32_t *orset_join_nodes(struct orset *set, const struct orset *other);

struct orset_item *orset_new_item(const struct dd_element *element);
/* map: of orset_join_nodes; null: the same places. */
struct orset_item *orset_copy_item(const struct orset_item *item,
                                   const uint32_t *map);
void orset_drop_item(struct orset_item *item);

#endif
