/* Handshakes as most of them are, by hand and without memory: the fields in the order of their numbers, each once (wire 3.3). */
#include "artery/control.h"

#include <string.h>

#define KEY_NUMBER(field) ((field) << 3)
#define KEY_BYTES(field) ((field) << 3 | 2)

enum {
    FIELD_CAPABILITIES = 1000,
    FIELD_LANE,
    FIELD_LANES,
    FIELD_GENERATION,
};

/* ---- written ---- */

static size_t varint_size(uint64_t value)
{
    size_t size = 1;

    while ((value >>= 7) != 0)
        size++;
    return size;
}

static size_t bytes_size(size_t size)
{
    return 1 + varint_size(size) + size;
}

static size_t address_size(const struct identity *self,
                           const struct address *address)
{
    return bytes_size(strlen(self->protocol)) +
           bytes_size(strlen(self->system)) +
           bytes_size(strlen(address->host)) + 1 + varint_size(address->port);
}

static void put_text(struct buf *buf, uint8_t field, const char *text)
{
    size_t size = strlen(text);

    buf_put_u8(buf, KEY_BYTES(field));
    buf_put_varint(buf, size);
    buf_put(buf, text, size);
}

static void put_number(struct buf *buf, uint32_t field, uint64_t value)
{
    buf_put_varint(buf, KEY_NUMBER(field));
    buf_put_varint(buf, value);
}

static void put_address(struct buf *buf, uint8_t field,
                        const struct identity *self,
                        const struct address *address)
{
    buf_put_u8(buf, KEY_BYTES(field));
    buf_put_varint(buf, address_size(self, address));
    put_text(buf, 1, self->protocol);
    put_text(buf, 2, self->system);
    put_text(buf, 3, address->host);
    put_number(buf, 4, address->port);
}

static void put_self(struct buf *buf, const struct identity *self)
{
    size_t address = address_size(self, &self->node.address);

    buf_put_u8(buf, KEY_BYTES(1));
    buf_put_varint(buf, bytes_size(address) + 1 + varint_size(self->node.uid));
    put_address(buf, 1, self, &self->node.address);
    put_number(buf, 2, self->node.uid);
}

static void put_extension(struct buf *buf, const struct handshake *handshake)
{
    if (handshake->capabilities)
        put_number(buf, FIELD_CAPABILITIES, handshake->capabilities);
    if (handshake->lane)
        put_number(buf, FIELD_LANE, handshake->lane);
    if (handshake->lanes)
        put_number(buf, FIELD_LANES, handshake->lanes);
    if (handshake->generation)
        put_number(buf, FIELD_GENERATION, handshake->generation);
}

void handshake_request_put(struct buf *buf, const struct identity *self,
                           const struct address *to,
                           const struct handshake *handshake)
{
    put_self(buf, self);
    put_address(buf, 2, self, to);
    put_extension(buf, handshake);
}

void handshake_response_put(struct buf *buf, const struct identity *self,
                            const struct handshake *handshake)
{
    put_self(buf, self);
    put_extension(buf, handshake);
}

/* ---- read ---- */

/* A field of this number must come next. The slice is lent. */
static bool take_bytes(struct cursor *cursor, uint8_t field,
                       struct slice *bytes)
{
    uint64_t size;

    if (cursor_left(cursor) < 2 || *cursor->at != KEY_BYTES(field))
        return false;
    cursor->at++;
    size = cursor_varint(cursor);
    if (size > cursor_left(cursor))
        return false;
    *bytes = cursor_slice(cursor, (size_t)size);
    return !cursor->failed;
}

static bool take_number(struct cursor *cursor, uint8_t field, uint64_t *value)
{
    if (!cursor_left(cursor) || *cursor->at != KEY_NUMBER(field))
        return false;
    cursor->at++;
    *value = cursor_varint(cursor);
    return !cursor->failed;
}

static bool take_address(struct cursor *cursor, uint8_t field,
                         const struct identity *self, struct address *address)
{
    struct cursor inner;
    struct slice bytes, text;
    uint64_t port;

    if (!take_bytes(cursor, field, &bytes))
        return false;
    inner = cursor_of(bytes);
    return take_bytes(&inner, 1, &text) && slice_is(text, self->protocol) &&
           take_bytes(&inner, 2, &text) && slice_is(text, self->system) &&
           take_bytes(&inner, 3, &text) && take_number(&inner, 4, &port) &&
           !cursor_left(&inner) && port <= UINT16_MAX &&
           address_set(address, (const char *)text.data, text.size,
                       (uint32_t)port);
}

static bool take_node(struct cursor *cursor, const struct identity *self,
                      struct node_id *node)
{
    struct cursor inner;
    struct slice bytes;

    if (!take_bytes(cursor, 1, &bytes))
        return false;
    inner = cursor_of(bytes);
    return take_address(&inner, 1, self, &node->address) &&
           take_number(&inner, 2, &node->uid) && !cursor_left(&inner);
}

static bool take_extension(struct cursor *cursor, struct handshake *handshake)
{
    while (cursor_left(cursor)) {
        uint64_t key = cursor_varint(cursor);
        uint64_t value = cursor_varint(cursor);

        if (cursor->failed)
            return false;
        if (key == KEY_NUMBER(FIELD_CAPABILITIES))
            handshake->capabilities = value;
        else if (key == KEY_NUMBER(FIELD_LANE))
            handshake->lane = (uint32_t)value;
        else if (key == KEY_NUMBER(FIELD_LANES))
            handshake->lanes = (uint32_t)value;
        else if (key == KEY_NUMBER(FIELD_GENERATION))
            handshake->generation = value;
        else
            return false;
    }
    return true;
}

bool handshake_read_usual(const struct identity *self, struct slice payload,
                          bool is_request, struct handshake *handshake)
{
    struct cursor cursor = cursor_of(payload);
    struct address target;

    *handshake = (struct handshake){ 0 };
    return take_node(&cursor, self, &handshake->from) &&
           (!is_request || (take_address(&cursor, 2, self, &target) &&
                            address_equal(&target, &self->node.address))) &&
           take_extension(&cursor, handshake) && handshake->from.uid &&
           handshake->from.uid != self->node.uid &&
           !address_equal(&handshake->from.address, &self->node.address);
}
