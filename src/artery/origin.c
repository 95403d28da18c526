/* Senders known to one machine, and the newest connection of each of their
 * lanes. */
#include "artery/origin.h"

#include "base/check.h"
#include "base/map.h"

struct known {
    struct origin origin;
    uint64_t newest[2][ORIGIN_LANES_MAX]; /* generation; control or other
                                             streams, by sending lane */
};

struct origins {
    struct map by_uid;                     /* uid -> struct known */
    struct map by_address;                 /* host and port -> the same */
    struct known *last;                    /* found last; null = none */
    uint64_t retired[ORIGINS_RETIRED_MAX]; /* uids, a ring */
    uint64_t retired_at; /* how many there were */
    uint64_t refused;
    uint64_t forgotten;
};

struct origins *origins_new(void)
{
    return mem_alloc(sizeof(struct origins));
}

void origins_free(struct origins *origins)
{
    struct map_entry entry;
    uint32_t at = 0;

    if (!origins)
        return;
    while (map_next(&origins->by_uid, &at, &entry))
        mem_free(entry.value);
    map_fini(&origins->by_uid);
    map_fini(&origins->by_address);
    mem_free(origins);
}

/* struct address has padding-free, zero-filled contents, so its bytes are a
 * key. */
static struct slice address_key(const struct address *address)
{
    return slice_of(address, sizeof *address);
}

static struct known *find(struct origins *origins, uint64_t uid)
{
    if (!origins->last || origins->last->origin.node.uid != uid)
        origins->last = map_get(&origins->by_uid, map_u64(&uid));
    return origins->last;
}

static void forget(struct origins *origins, struct known *known)
{
    uint64_t uid = known->origin.node.uid;
    struct slice key = address_key(&known->origin.node.address);

    map_take(&origins->by_uid, map_u64(&uid));
    if (map_get(&origins->by_address, key) == known)
        map_take(&origins->by_address, key);
    if (origins->last == known)
        origins->last = NULL;
    origins->forgotten += origins->retired_at >= ORIGINS_RETIRED_MAX;
    origins->retired[origins->retired_at++ % ORIGINS_RETIRED_MAX] = uid;
    mem_free(known);
}

static bool is_retired(const struct origins *origins, uint64_t uid)
{
    for (uint32_t i = 0; i < ORIGINS_RETIRED_MAX; i++)
        if (origins->retired[i] == uid)
            return true;
    return false;
}

static struct known *add(struct origins *origins,
                         const struct handshake *handshake)
{
    struct slice key = address_key(&handshake->from.address);
    struct known *known = map_get(&origins->by_address, key);

    if (is_retired(origins, handshake->from.uid))
        return NULL;
    if (known) /* wire 3.3: a new incarnation replaces the older one */
        forget(origins, known);
    if (origins->by_uid.count >= ORIGINS_MAX) {
        origins->refused++;
        return NULL;
    }
    known = mem_alloc(sizeof *known);
    known->origin.node = handshake->from;
    map_put(&origins->by_uid, map_u64(&handshake->from.uid), known);
    map_put(&origins->by_address, key, known);
    return known;
}

static uint64_t *newest_of(struct known *known, enum stream stream,
                           uint32_t lane)
{
    return &known->newest[stream != STREAM_CONTROL][lane];
}

bool origins_learn(struct origins *origins, enum stream stream,
                   const struct handshake *handshake)
{
    struct known *known = find(origins, handshake->from.uid);
    uint64_t *newest;

    if (handshake->lane >= ORIGIN_LANES_MAX) {
        origins->refused++;
        return false;
    }
    if (known &&
        !address_equal(&known->origin.node.address, &handshake->from.address))
        return false; /* wire 3.2: one uid has one address */
    if (!known)
        known = add(origins, handshake);
    if (!known)
        return false;
    if (handshake->capabilities) {
        known->origin.capabilities = handshake->capabilities;
        known->origin.lanes = handshake->lanes;
    }
    if (!handshake->generation)
        return true;
    newest = newest_of(known, stream, handshake->lane);
    if (handshake->generation < *newest)
        return false;
    *newest = handshake->generation;
    return true;
}

const struct origin *origins_find(struct origins *origins, uint64_t uid)
{
    struct known *known = find(origins, uid);

    return known ? &known->origin : NULL;
}

bool origins_current(struct origins *origins, uint64_t uid, enum stream stream,
                     uint32_t lane, uint64_t generation)
{
    struct known *known = find(origins, uid);

    if (!generation)
        return true;
    return known && lane < ORIGIN_LANES_MAX &&
           generation >= *newest_of(known, stream, lane);
}

void origins_forget(struct origins *origins, uint64_t uid)
{
    struct known *known = find(origins, uid);

    if (known)
        forget(origins, known);
}

uint64_t origins_forgotten(const struct origins *origins)
{
    return origins->forgotten;
}

uint64_t origins_refused(const struct origins *origins)
{
    return origins->refused;
}
