/* Keeps nodes in three arrays and one buffer: a search through a thousand takes less than a
 * microsecond. */
#include "artery/heard_peers.h"

#include "base/check.h"
#include "base/hash.h"

#define UNUSED_MIN 1024 /* bytes */

void heard_peers_fini(struct heard_peers *all)
{
    vec_fini(&all->hashes);
    vec_fini(&all->uids);
    vec_fini(&all->places);
    buf_fini(&all->texts);
    all->unused = 0;
}

static uint32_t hash_of(const struct address *address)
{
    return (uint32_t)hash_bytes(slice_text(address->host)) ^ address->port;
}

void heard_peers_put(struct heard_peers *all,
                     const struct heard_peer *one)
{
    size_t size = strlen(one->node.address.host);

    check(one->node.uid != 0 && all->texts.size <= UINT32_MAX);
    vec_push(&all->hashes, hash_of(&one->node.address));
    vec_push(&all->uids, one->node.uid);
    vec_push(&all->places, (uint32_t)all->texts.size);
    buf_put_varint(&all->texts, one->capabilities);
    buf_put_varint(&all->texts, one->lanes);
    buf_put_u16(&all->texts, one->node.address.port);
    buf_put_varint(&all->texts, size);
    buf_put(&all->texts, one->node.address.host, size);
}

/* Returns the size of the node's texts. */
static size_t read(const struct heard_peers *all, uint32_t index,
                   struct heard_peer *one)
{
    size_t place = all->places.items[index];
    struct cursor cursor = cursor_of(slice_of(all->texts.data + place,
                                              all->texts.size - place));
    const uint8_t *begin = cursor.at;
    struct slice host;
    uint16_t port;

    one->node.uid = all->uids.items[index];
    one->capabilities = cursor_varint(&cursor);
    one->lanes = (uint32_t)cursor_varint(&cursor);
    port = cursor_u16(&cursor);
    host = cursor_slice(&cursor, cursor_varint(&cursor));
    check(!cursor.failed);
    check(address_set(&one->node.address, (const char *)host.data, host.size,
                      port));
    return (size_t)(cursor.at - begin);
}

static void close_holes(struct heard_peers *all)
{
    struct heard_peer one;
    struct buf texts = { 0 };

    (void)buf_reserve(&texts, all->texts.size - all->unused + 1);
    for (uint32_t i = 0; i < all->places.count; i++) {
        size_t place = texts.size;

        buf_put(&texts, all->texts.data + all->places.items[i],
                read(all, i, &one));
        all->places.items[i] = (uint32_t)place;
    }
    buf_fini(&all->texts);
    all->texts = texts;
    all->unused = 0;
}

static void take(struct heard_peers *all, uint32_t index,
                 struct heard_peer *one)
{
    all->unused += read(all, index, one);
    all->hashes.items[index] = all->hashes.items[--all->hashes.count];
    all->uids.items[index] = all->uids.items[--all->uids.count];
    all->places.items[index] = all->places.items[--all->places.count];
    if (all->unused > UNUSED_MIN && all->unused > all->texts.size / 2)
        close_holes(all);
}

bool heard_peers_take(struct heard_peers *all, uint64_t uid,
                      struct heard_peer *one)
{
    for (uint32_t i = 0; i < all->uids.count; i++)
        if (all->uids.items[i] == uid) {
            take(all, i, one);
            return true;
        }
    return false;
}

bool heard_peers_take_at(struct heard_peers *all,
                         const struct address *address,
                         struct heard_peer *one)
{
    uint32_t hash;

    if (!all->hashes.count)
        return false;
    hash = hash_of(address);
    for (uint32_t i = 0; i < all->hashes.count; i++) {
        if (all->hashes.items[i] != hash)
            continue;
        (void)read(all, i, one);
        if (!address_equal(&one->node.address, address))
            continue;
        take(all, i, one);
        return true;
    }
    return false;
}
