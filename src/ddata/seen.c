/* Implements the addresses that saw a marker, in wire format. An item is the field's tag and size,
 * and the address: tag, size and text of the host, tag and varint of the port. Sizes below 128 take
 * one byte, others two, so equal addresses have equal bytes. */
#include "ddata/seen.h"

#include "base/check.h"
#include "ddata/proto.h"

#define TAG (SEEN_FIELD << 3 | PROTO_BYTES)
#define HOST_TAG (1 << 3 | PROTO_BYTES)
#define PORT_TAG (2 << 3 | PROTO_VARINT)
#define ONE_BYTE 127 /* the largest size in one byte */
#define HEAD_SIZE 3 /* bytes before the address, at most */
#define HOST_HEAD_SIZE 3 /* bytes before the host's text, at most */
#define PORT_MAX 3      /* bytes of a port, at most */

_Static_assert(HOST_HEAD_SIZE + HOST_MAX + 1 + PORT_MAX < 128 * 128,
               "two bytes");

struct item {
    struct slice host;
    uint32_t port;
    size_t size; /* of the item */
};

static size_t take_size(const uint8_t **at)
{
    size_t size = *(*at)++;

    if (size > ONE_BYTE)
        size = (size & 0x7f) | (size_t)*(*at)++ << 7;
    return size;
}

static size_t size_size(size_t size)
{
    return size > ONE_BYTE ? 2 : 1;
}

static struct item item_at(const struct seen *seen, size_t place)
{
    const uint8_t *start = seen->bytes.data + place;
    const uint8_t *at = start + 1;
    size_t size = take_size(&at);
    const uint8_t *end = at + size;
    struct item item = { .size = (size_t)(end - start) };
    size_t host_size;

    at++; /* tag of the host */
    host_size = take_size(&at);
    item.host = slice_of(at, host_size);
    at += host_size + 1;
    for (unsigned shift = 0; at < end; shift += 7)
        item.port |= (uint32_t)(*at++ & 0x7f) << shift;
    return item;
}

/* In the order of address_compare. */
static int compare(const struct item *item, struct slice host, uint32_t port)
{
    size_t size = item->host.size < host.size ? item->host.size : host.size;
    int order = memcmp(item->host.data, host.data, size);

    if (!order)
        order = (item->host.size > host.size) - (item->host.size < host.size);
    return order ? order : (item->port > port) - (item->port < port);
}

static void put_item(struct buf *buf, struct slice host, uint32_t port)
{
    size_t port_size = port < 1 << 7 ? 1 : port < 1 << 14 ? 2 : PORT_MAX;

    buf_put_u8(buf, TAG);
    buf_put_varint(buf,
                   1 + size_size(host.size) + host.size + 1 + port_size);
    buf_put_u8(buf, HOST_TAG);
    buf_put_varint(buf, host.size);
    buf_put_slice(buf, host);
    buf_put_u8(buf, PORT_TAG);
    buf_put_varint(buf, port);
}

void seen_fini(struct seen *seen)
{
    buf_fini(&seen->bytes);
    *seen = (struct seen){ 0 };
}

void seen_copy(struct seen *to, const struct seen *from)
{
    *to = *from;
    to->bytes = (struct buf){ 0 };
    if (!from->count)
        return;
    to->bytes.data = mem_copy(from->bytes.data, from->bytes.size);
    to->bytes.size = to->bytes.capacity = from->bytes.size;
}

bool seen_equal(const struct seen *left, const struct seen *right)
{
    return slice_equal(buf_slice(&left->bytes), buf_slice(&right->bytes));
}

/* The first item that is not before it. */
static size_t find(const struct seen *seen, struct slice host, uint32_t port,
                   bool *is_there)
{
    size_t place = 0;

    *is_there = false;
    while (place < seen->bytes.size) {
        struct item item = item_at(seen, place);
        int order = compare(&item, host, port);

        *is_there = order == 0;
        if (order >= 0)
            break;
        place += item.size;
    }
    return place;
}

bool seen_has(const struct seen *seen, const struct address *address)
{
    bool is_there;

    (void)find(seen, slice_text(address->host), address->port, &is_there);
    return is_there;
}

bool seen_add(struct seen *seen, const struct address *address)
{
    struct slice host = slice_text(address->host);
    uint8_t room[HEAD_SIZE + HOST_HEAD_SIZE + HOST_MAX + 1 + PORT_MAX + 8];
    struct buf item = { room, 0, sizeof room }; /* a varint reserves ten bytes */
    bool is_there;
    size_t place = find(seen, host, address->port, &is_there);
    uint8_t *at;

    if (is_there)
        return false;
    put_item(&item, host, address->port);
    (void)buf_reserve(&seen->bytes, item.size);
    at = seen->bytes.data + place;
    memmove(at + item.size, at, seen->bytes.size - place);
    memcpy(at, item.data, item.size);
    seen->last = place == seen->bytes.size ? place : seen->last + item.size;
    seen->bytes.size += item.size;
    seen->count++;
    return true;
}

bool seen_append(struct seen *seen, struct slice host, uint64_t port)
{
    struct item last;

    if (!host.size || host.size > HOST_MAX || memchr(host.data, 0, host.size) ||
        !port || port > UINT16_MAX)
        return false;
    if (seen->count) {
        last = item_at(seen, seen->last);
        if (compare(&last, host, (uint32_t)port) >= 0)
            return false;
    }
    seen->last = seen->bytes.size;
    put_item(&seen->bytes, host, (uint32_t)port);
    seen->count++;
    return true;
}

/* The next item of either, or of both. */
static void merge_next(struct seen *whole, const struct seen *const parts[2],
                       size_t places[2])
{
    struct item items[2];
    int order = 0;
    int first;

    for (int i = 0; i < 2; i++)
        if (places[i] < parts[i]->bytes.size)
            items[i] = item_at(parts[i], places[i]);
        else
            order = i ? -1 : 1;
    if (!order)
        order = compare(&items[0], items[1].host, items[1].port);
    first = order > 0;
    whole->last = whole->bytes.size;
    whole->count++;
    buf_put(&whole->bytes, parts[first]->bytes.data + places[first],
            items[first].size);
    for (int i = 0; i < 2; i++)
        if (i == first || !order)
            places[i] += items[i].size;
}

void seen_merge(struct seen *seen, const struct seen *other)
{
    const struct seen *const parts[2] = { seen, other };
    size_t places[2] = { 0 };
    struct seen whole = { 0 };

    if (!other->count || seen_equal(seen, other))
        return;
    (void)buf_reserve(&whole.bytes, seen->bytes.size + other->bytes.size);
    while (places[0] < seen->bytes.size || places[1] < other->bytes.size)
        merge_next(&whole, parts, places);
    seen_fini(seen);
    seen_copy(seen, &whole); /* exact memory: it stays for hours */
    seen_fini(&whole);
}
