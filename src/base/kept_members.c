/* Keeps items in order with an open-addressed table of their indexes. A hole has a null address and
 * keeps its place. */
#include "base/kept_members.h"

#include "base/check.h"

#define PLACE_BITS_MIN 4
#define ROOM_FIRST 8

void kept_members_fini(struct kept_members *kept)
{
    struct kept_member *member;

    for (uint32_t at = 0; (member = kept_members_next(kept, &at)) != NULL;)
        kept_member_fini(member);
    vec_fini(&kept->items);
    mem_free(kept->places);
    *kept = (struct kept_members){ .count = 0 };
}

/* Uids are random; the product spreads the small ones of tests. */
static uint32_t first_place(const struct kept_members *kept, uint64_t uid)
{
    return (uint32_t)((uid * UINT64_C(0x9e3779b97f4a7c15)) >>
                      (64 - kept->place_bits));
}

static uint32_t next_place(const struct kept_members *kept, uint32_t at)
{
    return (at + 1) & ((UINT32_C(1) << kept->place_bits) - 1);
}

struct kept_member *kept_members_find(const struct kept_members *kept,
                                      uint64_t uid,
                                      const struct address *address)
{
    if (!kept->places)
        return NULL;
    for (uint32_t at = first_place(kept, uid); kept->places[at];
         at = next_place(kept, at)) {
        struct kept_member *member = &kept->items.items[kept->places[at] - 1];

        if (member->address && member->uid == uid &&
            (!address || kept_address_equal(member->address, address)))
            return member;
    }
    return NULL;
}

static void put_place(struct kept_members *kept, uint32_t index)
{
    uint32_t at = first_place(kept, kept->items.items[index].uid);

    while (kept->places[at])
        at = next_place(kept, at);
    kept->places[at] = (uint16_t)(index + 1);
}

/* Removes the holes and makes room for a quarter more; at most three quarters of the places are
 * used. */
static void rebuild(struct kept_members *kept)
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

/* Takes the member over. */
static struct kept_member *add(struct kept_members *kept, struct kept_member member)
{
    struct kept_member *added;

    check(kept->count < KEPT_MEMBERS_MAX);
    if (kept->items.count == kept->items.capacity)
        rebuild(kept);
    added = &kept->items.items[kept->items.count];
    *added = member;
    kept->count++;
    put_place(kept, kept->items.count++);
    return added;
}

struct kept_member *kept_members_add(struct kept_members *kept, const struct member_info *member)
{
    struct kept_member added = { 0 };

    kept_member_set(&added, member);
    return add(kept, added);
}

struct kept_member *kept_members_add_again(struct kept_members *kept,
                                           const struct kept_member *member)
{
    return add(kept, kept_member_again(member));
}

void kept_members_remove(struct kept_members *kept, struct kept_member *member)
{
    kept_member_fini(member);
    kept->count--;
}

struct kept_member *kept_members_last(const struct kept_members *kept)
{
    for (uint32_t at = kept->items.count; at-- > 0;)
        if (kept->items.items[at].address)
            return &kept->items.items[at];
    return NULL;
}

struct kept_member *kept_members_next(const struct kept_members *kept, uint32_t *at)
{
    while (*at < kept->items.count) {
        struct kept_member *member = &kept->items.items[(*at)++];

        if (member->address)
            return member;
    }
    return NULL;
}
