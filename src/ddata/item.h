/* Users' items as elements of sets and keys of maps, and as serialized things. */
#ifndef SHERD_DDATA_ITEM_H
#define SHERD_DDATA_ITEM_H

#include <sherd/ddata.h>

#include "ddata/value.h"

/* Lent from the item. False: of a kind that no element may have. */
bool item_to_element(const struct sherd_item *item, struct dd_element *element);
/* Serialized as the JVM does; lent from the item, or from room, where the bytes of numbers are put. False: no such kind. */
bool item_to_other(const struct sherd_item *item, uint8_t room[8],
                   struct dd_other *other);
/* The way back; lent. */
struct sherd_item item_of_element(const struct dd_element *element);
struct sherd_item item_of_other(struct dd_other other);

#endif
