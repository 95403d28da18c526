/* protobuf's encoding by hand, for values: a set of 100,000 elements has as many version vectors, which a tree of
 * messages would hold in ten times their bytes. Writing appends to a buffer, reading walks over lent bytes. Private
 * to the types' bytes. */
#ifndef SHERD_DDATA_PROTO_H
#define SHERD_DDATA_PROTO_H

#include "base/bytes.h"

enum proto_type {
    PROTO_VARINT = 0, /* values of the wire */
    PROTO_FIXED64 = 1,
    PROTO_BYTES = 2,
    PROTO_FIXED32 = 5
};

struct proto_field {
    uint32_t number;
    enum proto_type type;
    uint64_t value;     /* all but bytes */
    struct slice bytes; /* lent */
};

/* The next field; false at the end, and when the bytes are malformed: then the cursor has failed. */
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
/* What is appended between the two is a message in a field: returns what proto_close takes. */
size_t proto_open(struct buf *buf, uint32_t number);
void proto_close(struct buf *buf, size_t start);

#endif
