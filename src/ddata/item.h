/* Converts users' items to elements, keys and serialized objects, and back. */
#ifndef SHERD_DDATA_ITEM_H
#define SHERD_DDATA_ITEM_H

#include <sherd/ddata.h>

#include "ddata/value.h"

/* Lent from the item. False: its kind cannot be an element. */
bool item_to_element(const struct sherd_item *item, struct dd_element *element);
/* The same for a lookup, which may name an element of any kind. */
bool item_to_key(const struct sherd_item *item, struct dd_element *element);
/* Serializes as the JVM does; lent from the item, or from room for numbers. False: an unknown
 * kind. */
bool item_to_other(const struct sherd_item *item, uint8_t room[8],
                   struct dd_other *other);
/* Back to items; lent. */
struct sherd_item item_of_element(const struct dd_element *element);
struct sherd_item item_of_other(struct dd_other other);

#endif
