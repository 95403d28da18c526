/* Packs Artery's own messages, and a node's address as a payload. */
#ifndef SHERD_ARTERY_PACKED_H
#define SHERD_ARTERY_PACKED_H

#include "artery/artery.pb-c.h"
#include "base/bytes.h"
#include "base/outbox.h"

/* Texts are lent from the arguments. */
Artery__Address packed_address(const struct identity *self,
                               const struct address *address);
Artery__UniqueAddress packed_node(Artery__Address *address, uint64_t uid);
void packed_put(struct buf *buf, const ProtobufCMessage *message); /* appends */

#endif
