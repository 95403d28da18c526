/* Keeps items in order with an open-addressed table of their indexes. A hole has a null address and
 * keeps its place. */
#include "base/kept.h"

#include "base/check.h"

#define PLACE_BITS_MIN 4
#define ROOM_FIRST 8

void kept_fini(struct kept *kept)
{
    struct kept_peer *peer;

    for (uint32_t at = 0; (peer = kept_next(kept, &at)) != NULL;)
        peer_forget(peer);
    vec_fini(&kept->items);
    mem_free(kept->places);
    *kept = (struct kept){ .count = 0 };
}

/* Uids are random; the product spreads the small ones of tests. */
static uint32_t first_place(const struct kept *kept, uint64_t uid)
{
    return (uint32_t)((uid * UINT64_C(0x9e3779b97f4a7c15)) >>
                      (64 - kept->place_bits));
}

static uint32_t next_place(const struct kept *kept, uint32_t at)
{
    return (at + 1) & ((UINT32_C(1) << kept->place_bits) - 1);
}

struct kept_peer *kept_find(const struct kept *kept, uint64_t uid,
                            const struct address *address)
{
    if (!kept->places)
        return NULL;
    for (uint32_t at = first_place(kept, uid); kept->places[at];
         at = next_place(kept, at)) {
        struct kept_peer *peer = &kept->items.items[kept->places[at] - 1];

        if (peer->address && peer->uid == uid &&
            (!address || kept_address_equal(peer->address, address)))
            return peer;
    }
    return NULL;
}

static void put_place(struct kept *kept, uint32_t index)
{
    uint32_t at = first_place(kept, kept->items.items[index].uid);

    while (kept->places[at])
        at = next_place(kept, at);
    kept->places[at] = (uint16_t)(index + 1);
}

/* Removes the holes and makes room for a quarter more; at most three quarters of the places are
 * used. */
static void rebuild(struct kept *kept)
{
    uint32_t used = 0;

    for (uint32_t i = 0; i < kept->items.count; i++)
        if (kept->items.items[i].address)
            kept->items.items[used++] = kept->items.items[i];
    check(used == kept->count);
    kept->items.count = used;
    kept->items.capacity = used + used / 4 + ROOM_FIRST;
    kept->items.items =
        mem_resize(kept->items.items,
                   kept->items.capacity * sizeof *kept->items.items);
    kept->place_bits = PLACE_BITS_MIN;
    while (3 * (UINT32_C(1) << kept->place_bits) < 4 * kept->items.capacity)
        kept->place_bits++;
    mem_free(kept->places);
    kept->places =
        mem_alloc((size_t)sizeof *kept->places << kept->place_bits);
    for (uint32_t i = 0; i < used; i++)
        put_place(kept, i);
}

/* Takes the peer over. */
static struct kept_peer *add(struct kept *kept, struct kept_peer peer)
{
    struct kept_peer *added;

    check(kept->count < KEPT_MAX);
    if (kept->items.count == kept->items.capacity)
        rebuild(kept);
    added = &kept->items.items[kept->items.count];
    *added = peer;
    kept->count++;
    put_place(kept, kept->items.count++);
    return added;
}

struct kept_peer *kept_add(struct kept *kept, const struct peer *peer)
{
    struct kept_peer added = { 0 };

    peer_keep(&added, peer);
    return add(kept, added);
}

struct kept_peer *kept_add_again(struct kept *kept,
                                 const struct kept_peer *peer)
{
    return add(kept, peer_again(peer));
}

void kept_drop(struct kept *kept, struct kept_peer *peer)
{
    peer_forget(peer);
    kept->count--;
}

struct kept_peer *kept_last(const struct kept *kept)
{
    for (uint32_t at = kept->items.count; at-- > 0;)
        if (kept->items.items[at].address)
            return &kept->items.items[at];
    return NULL;
}

struct kept_peer *kept_next(const struct kept *kept, uint32_t *at)
{
    while (*at < kept->items.count) {
        struct kept_peer *peer = &kept->items.items[(*at)++];

        if (peer->address)
            return peer;
    }
    return NULL;
}
