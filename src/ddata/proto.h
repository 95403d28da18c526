/* Encodes and decodes protobuf by hand, for values. A set of 100,000 elements has as many version
 * vectors, which would take ten times their bytes in a tree of messages. Private to the encoding of
 * values. */
#ifndef SHERD_DDATA_PROTO_H
#define SHERD_DDATA_PROTO_H

#include "base/bytes.h"

enum proto_type {
    PROTO_VARINT = 0, /* wire values */
    PROTO_FIXED64 = 1,
    PROTO_BYTES = 2,
    PROTO_FIXED32 = 5
};

struct proto_field {
    uint32_t number;
    enum proto_type type;
    uint64_t value;     /* of all types but bytes */
    struct slice bytes; /* lent */
};

/* False at the end, or if the bytes are malformed: then the cursor has failed. */
bool proto_next(struct cursor *cursor, struct proto_field *field);

static inline int64_t proto_sint(uint64_t value)
{
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static inline uint64_t proto_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0);
}

void proto_put_varint(struct buf *buf, uint32_t number, uint64_t value);
void proto_put_fixed32(struct buf *buf, uint32_t number, uint32_t value);
void proto_put_bytes(struct buf *buf, uint32_t number, struct slice bytes);
/* Bytes appended between the two are a message in the field. The result is for proto_close. */
size_t proto_open(struct buf *buf, uint32_t number);
void proto_close(struct buf *buf, size_t start);

#endif
