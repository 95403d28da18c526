/* Writes a node's address with its UID, as messages hold it. */
#ifndef SHERD_ARTERY_UNIQUE_ADDRESS_H
#define SHERD_ARTERY_UNIQUE_ADDRESS_H

#include "base/bytes.h"
#include "base/outbox.h"

/* Appends a UniqueAddress of our protocol and system as the field of this number, below 16. Field 1
 * alone is a payload (manifests b, c). */
void unique_address_put(struct buf *buf, unsigned field,
                        const struct identity *self,
                        const struct node_id *node);

#endif
