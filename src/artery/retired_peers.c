/* Keeps ended incarnations in two rings. */
#include "artery/retired_peers.h"

#include "base/limits.h"

static const uint32_t limits[] = { RETIRED_STRANGERS_MAX, RETIRED_PEERS_MAX };

void retired_peers_fini(struct retired_peers *retired)
{
    vec_fini(&retired->rings[0].all);
    vec_fini(&retired->rings[1].all);
    map_fini(&retired->by_uid);
}

/* Returns null, or the incarnation and the number of its ring. */
static struct retired_peer *find(const struct retired_peers *retired,
                                 uint64_t uid, uint32_t *number)
{
    uintptr_t place = (uintptr_t)map_get(&retired->by_uid, map_u64(&uid));

    if (!place)
        return NULL;
    *number = (place - 1) % 2;
    return &retired->rings[*number].all.items[(place - 1) / 2];
}

struct retired_peer *retired_peers_find(const struct retired_peers *retired,
                                        uint64_t uid)
{
    uint32_t number;

    return find(retired, uid, &number);
}

void retired_peers_put(struct retired_peers *retired, uint64_t uid, uint64_t by,
                       bool is_stranger)
{
    uint32_t number = is_stranger ? 0 : 1, before;
    struct retired_ring *ring = &retired->rings[number];
    struct retired_peer *one = find(retired, uid, &before);
    uint32_t index = ring->at;

    if (!uid || (one && before >= number))
        return;
    if (one)
        retired_peers_restore(retired, one); /* it was more than a stranger */
    if (ring->all.count < limits[number]) {
        index = ring->all.count;
        vec_push(&ring->all, (struct retired_peer){ 0 });
    } else {
        ring->at = (ring->at + 1) % limits[number];
    }
    one = &ring->all.items[index];
    if (one->uid) {
        map_take(&retired->by_uid, map_u64(&one->uid));
        retired->forgotten += number;
    }
    *one = (struct retired_peer){ uid, by };
    map_put(&retired->by_uid, map_u64(&uid),
            (void *)((uintptr_t)index * 2 + number + 1));
}

void retired_peers_restore(struct retired_peers *retired,
                           struct retired_peer *one)
{
    map_take(&retired->by_uid, map_u64(&one->uid));
    *one = (struct retired_peer){ 0 };
}

void retired_peers_release(struct retired_peers *retired, uint64_t uid)
{
    struct retired_peer *own = retired_peers_find(retired, uid);

    for (uint32_t i = 0; i < 2; i++)
        for (uint32_t j = 0; j < retired->rings[i].all.count; j++) {
            struct retired_peer *one = &retired->rings[i].all.items[j];

            if (one->uid && one->by == uid)
                retired_peers_restore(retired, one);
        }
    if (own)
        own->by = 0;
}
