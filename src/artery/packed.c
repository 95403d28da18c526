/* Converts addresses to protobuf's structures, and messages to bytes. */
#include "artery/packed.h"

Artery__Address packed_address(const struct identity *self,
                               const struct address *address)
{
    Artery__Address packed = ARTERY__ADDRESS__INIT;

    /* protobuf-c takes writable texts and does not write to them. */
    packed.protocol = (char *)(uintptr_t)self->protocol;
    packed.system = (char *)(uintptr_t)self->system;
    packed.hostname = (char *)(uintptr_t)address->host;
    packed.port = address->port;
    return packed;
}

Artery__UniqueAddress packed_node(Artery__Address *address, uint64_t uid)
{
    Artery__UniqueAddress packed = ARTERY__UNIQUE_ADDRESS__INIT;

    packed.address = address;
    packed.uid = uid;
    return packed;
}

void packed_put(struct buf *buf, const ProtobufCMessage *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);

    buf->size += protobuf_c_message_pack(message, buf_reserve(buf, size));
}
