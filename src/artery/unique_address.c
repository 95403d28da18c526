/* Writes the field as a message of its own, and then sets its number. */
#include "artery/unique_address.h"

#include "artery/packed.h"
#include "base/check.h"

void unique_address_put(struct buf *buf, unsigned field,
                        const struct identity *self,
                        const struct node_id *node)
{
    Artery__HandshakeResponse message = ARTERY__HANDSHAKE_RESPONSE__INIT;
    Artery__Address address = packed_address(self, &node->address);
    Artery__UniqueAddress unique = packed_node(&address, node->uid);
    size_t start = buf->size;

    check(field && field < 16);
    message.address = &unique;
    packed_put(buf, &message.base);
    buf->data[start] = (uint8_t)(field << 3 | 2);
}
