/* Writes and reads heartbeats and their responses without the general encoder and decoder: they are
 * nearly all messages of a cluster at rest.
 *
 * Reads only what this file and Akka write: each field once, in the order of numbers, none unknown.
 * All else goes to the general decoder. */
#include "base/check.h"
#include "member/wire.h"
#include "member/wire_parts.h"

enum { VARINT = 0, BYTES = 2 };

/* True if this field is the next one. */
static bool is_field(struct cursor *cursor, uint32_t number, uint32_t type)
{
    return cursor_left(cursor) && *cursor->at == (number << 3 | type) &&
           cursor->at++;
}

static struct slice take_bytes(struct cursor *cursor)
{
    uint64_t size = cursor_varint(cursor);

    if (size > cursor_left(cursor))
        cursor->failed = true;
    return cursor_slice(cursor, cursor->failed ? 0 : (size_t)size);
}

static bool is_text(struct cursor *cursor, uint32_t number, const char *text)
{
    return is_field(cursor, number, BYTES) &&
           slice_is(take_bytes(cursor), text);
}

static bool read_address(const struct identity *identity, struct slice bytes,
                         struct address *address)
{
    struct cursor cursor = cursor_of(bytes);
    struct slice host = { 0 };
    uint64_t port = 0;

    if (!is_text(&cursor, 1, identity->system))
        return false;
    if (is_field(&cursor, 2, BYTES))
        host = take_bytes(&cursor);
    if (is_field(&cursor, 3, VARINT))
        port = cursor_varint(&cursor);
    return is_text(&cursor, 4, identity->protocol) && !cursor.failed &&
           !cursor_left(&cursor) && port <= UINT16_MAX &&
           address_set(address, (const char *)host.data, host.size,
                       (uint32_t)port);
}

/* As part_put writes a Node: both halves of the UID. */
static bool read_node(const struct identity *identity, struct slice bytes,
                      struct node_id *node)
{
    struct cursor cursor = cursor_of(bytes);
    uint64_t low, high;

    if (!is_field(&cursor, 1, BYTES) ||
        !read_address(identity, take_bytes(&cursor), &node->address) ||
        !is_field(&cursor, 2, VARINT))
        return false;
    low = cursor_varint(&cursor);
    if (!is_field(&cursor, 3, VARINT))
        return false;
    high = cursor_varint(&cursor);
    node->uid = low | high << 32;
    return !cursor.failed && !cursor_left(&cursor) && low <= UINT32_MAX &&
           high <= UINT32_MAX && node->uid;
}

/* Reads the sequence number and the time of sending. */
static bool read_numbers(struct cursor *cursor, uint64_t numbers[2])
{
    if (!is_field(cursor, 2, VARINT))
        return false;
    numbers[0] = cursor_varint(cursor);
    if (!is_field(cursor, 3, VARINT))
        return false;
    numbers[1] = cursor_varint(cursor);
    return !cursor->failed && !cursor_left(cursor);
}

bool heartbeat_wire_get_heartbeat(const struct identity *identity, struct slice payload,
                        struct heartbeat *heartbeat)
{
    struct cursor cursor = cursor_of(payload);
    uint64_t numbers[2];

    if (!is_field(&cursor, 1, BYTES) ||
        !read_address(identity, take_bytes(&cursor),
                      &heartbeat->from.address) ||
        !read_numbers(&cursor, numbers))
        return false;
    heartbeat->from.uid = 0;
    heartbeat->sequence = (int64_t)numbers[0];
    /* zigzag: 0, -1, 1, -2 ... */
    heartbeat->created = (int64_t)(numbers[1] >> 1 ^ (0 - (numbers[1] & 1)));
    return true;
}

bool heartbeat_wire_get_response(const struct identity *identity, struct slice payload,
                       struct heartbeat *heartbeat)
{
    struct cursor cursor = cursor_of(payload);
    uint64_t numbers[2];

    if (!is_field(&cursor, 1, BYTES) ||
        !read_node(identity, take_bytes(&cursor), &heartbeat->from) ||
        !read_numbers(&cursor, numbers))
        return false;
    heartbeat->sequence = (int64_t)numbers[0];
    heartbeat->created = (int64_t)numbers[1];
    return true;
}

/* ---- writing ---- */

static size_t varint_size(uint64_t value)
{
    size_t size = 1;

    while ((value >>= 7) != 0)
        size++;
    return size;
}

static size_t text_size(const char *text)
{
    size_t size = strlen(text);

    return 1 + varint_size(size) + size;
}

static size_t address_size(const struct identity *identity,
                           const struct address *address)
{
    return text_size(identity->system) + text_size(address->host) + 1 +
           varint_size(address->port) + text_size(identity->protocol);
}

static void put_number(struct buf *buf, uint8_t number, uint64_t value)
{
    buf_put_u8(buf, (uint8_t)(number << 3 | VARINT));
    buf_put_varint(buf, value);
}

static void put_text(struct buf *buf, uint8_t number, const char *text)
{
    buf_put_u8(buf, (uint8_t)(number << 3 | BYTES));
    buf_put_varint(buf, strlen(text));
    buf_put_text(buf, text);
}

/* As field 1, in all messages of this file. */
static void put_address(struct buf *buf, const struct identity *identity,
                        const struct address *address)
{
    buf_put_u8(buf, 1 << 3 | BYTES);
    buf_put_varint(buf, address_size(identity, address));
    put_text(buf, 1, identity->system);
    put_text(buf, 2, address->host);
    put_number(buf, 3, address->port);
    put_text(buf, 4, identity->protocol);
}

void wire_put_heartbeat(const struct identity *identity, struct buf *buf,
                        const struct heartbeat *heartbeat)
{
    uint64_t created = (uint64_t)heartbeat->created;

    put_address(buf, identity, &heartbeat->from.address);
    put_number(buf, 2, (uint64_t)heartbeat->sequence);
    put_number(buf, 3, created << 1 ^ (heartbeat->created < 0 ? UINT64_MAX : 0));
}

void wire_put_response(const struct identity *identity, struct buf *buf,
                       const struct heartbeat *heartbeat)
{
    const struct node_id *from = &heartbeat->from;
    size_t address = address_size(identity, &from->address);
    uint32_t low = (uint32_t)from->uid, high = (uint32_t)(from->uid >> 32);

    buf_put_u8(buf, 1 << 3 | BYTES);
    buf_put_varint(buf, 1 + varint_size(address) + address + 1 +
                            varint_size(low) + 1 + varint_size(high));
    put_address(buf, identity, &from->address);
    put_number(buf, 2, low);
    put_number(buf, 3, high);
    put_number(buf, 2, (uint64_t)heartbeat->sequence);
    put_number(buf, 3, (uint64_t)heartbeat->created);
}
