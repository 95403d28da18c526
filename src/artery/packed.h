/* What Artery's own messages are packed of, and a node's address as a payload. */
#ifndef SHERD_ARTERY_PACKED_H
#define SHERD_ARTERY_PACKED_H

#include "artery/artery.pb-c.h"
#include "base/bytes.h"
#include "base/outbox.h"

/* The texts are lent, as long as what they come from. */
Artery__Address packed_address(const struct identity *self,
                               const struct address *address);
Artery__UniqueAddress packed_node(Artery__Address *address, uint64_t uid);
void packed_put(struct buf *buf, const ProtobufCMessage *message); /* appended */

#endif
