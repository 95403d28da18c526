/* What the files of the OR-set share. Private to them and to its decoder. */
#ifndef SHERD_DDATA_ORSET_PARTS_H
#define SHERD_DDATA_ORSET_PARTS_H

#include "ddata/orset.h"

uint32_t orset_find_node(const struct orset *set,
                         const struct node_id *node); /* UINT32_MAX when it is not in the table */
/* The dots name other places: the one at each place; they must rise as the old ones do. */
void orset_renumber(struct orset *set, const uint32_t *map);
/* Puts the other's nodes into the table, as not seen; returns for each of the other's places the one here, to be
 * freed. */
uint32_t *orset_join_nodes(struct orset *set, const struct orset *other);

struct orset_item *orset_new_item(const struct dd_element *element);
/* map: as of orset_join_nodes; null: the places are the same. */
struct orset_item *orset_copy_item(const struct orset_item *item,
                                   const uint32_t *map);
void orset_drop_item(struct orset_item *item);

#endif
