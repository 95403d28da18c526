/* The two messages of the failure detector, read without the general decoder: of a cluster at rest they are nearly all that there is.
 *
 * Only what our own encoder and the reference write is read here: each field once, in the order of numbers, nothing unknown. All else,
 * right or wrong, is left to the general decoder. */
#include "base/check.h"
#include "member/wire.h"
#include "member/wire_parts.h"

enum { VARINT = 0, BYTES = 2 };

/* The next field is that one. */
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

/* As part_put of a Node wrote it: both halves of the uid. */
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

/* The sequence's number and when it was sent. */
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

bool beat_get_heartbeat(const struct identity *identity, struct slice payload,
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
    /* Of changing sign: 0, -1, 1, -2 ... */
    heartbeat->created = (int64_t)(numbers[1] >> 1 ^ (0 - (numbers[1] & 1)));
    return true;
}

bool beat_get_response(const struct identity *identity, struct slice payload,
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
