/* Keeps the senders known to one machine, and the newest connection of each of their lanes. */
#include "artery/origin.h"

#include "base/bound.h"
#include "base/check.h"
#include "base/map.h"
#include "base/vec.h"

struct known {
    struct origin origin;
    bool has_left;
    uint64_t order; /* the highest of its connections, see inlet_order; 0 = unknown */
    struct {
        union {
            uint64_t first;  /* with a count of 1, as most have */
            uint64_t *items; /* generation, by sending lane */
        };
        uint32_t count; /* highest lane so far, plus one */
    } newest[STREAM_LARGE]; /* by stream */
};

struct retired {
    uint64_t uid; /* 0: it returned */
    /* UID that took its address, while it is open which of the two is older; 0 = it is gone */
    uint64_t by;
};

struct origins {
    address_lasting *lasting; /* null: copies are kept */
    void *user;
    struct map by_uid;                     /* uid -> struct known */
    struct map by_address;                 /* host and port -> the same */
    struct known *last;                    /* found last; null = none */
    VEC(struct retired) retired; /* a ring of ORIGINS_RETIRED_MAX */
    uint64_t retired_at; /* how many there were */
    uint64_t version;
    uint64_t refused;
    uint64_t forgotten;
};

struct origins *origins_new(address_lasting *lasting, void *user)
{
    struct origins *origins = mem_alloc(sizeof *origins);

    origins->lasting = lasting;
    origins->user = user;
    origins->version = 1;
    origins->by_uid.is_lent = origins->by_address.is_lent = true;
    return origins;
}

static void free_known(const struct origins *origins, struct known *known)
{
    if (!origins->lasting)
        mem_free((void *)(uintptr_t)known->origin.address);
    for (uint32_t i = 0; i < STREAM_LARGE; i++)
        if (known->newest[i].count > 1)
            mem_free(known->newest[i].items);
    mem_free(known);
}

void origins_free(struct origins *origins)
{
    struct map_entry entry;
    uint32_t at = 0;

    if (!origins)
        return;
    while (map_next(&origins->by_uid, &at, &entry))
        free_known(origins, entry.value);
    map_fini(&origins->by_uid);
    map_fini(&origins->by_address);
    vec_fini(&origins->retired);
    mem_free(origins);
}

static struct known *find(struct origins *origins, uint64_t uid)
{
    if (!origins->last || origins->last->origin.uid != uid)
        origins->last = map_get(&origins->by_uid, map_u64(&uid));
    return origins->last;
}

static struct retired *find_retired(const struct origins *origins,
                                    uint64_t uid)
{
    for (uint32_t i = 0; i < origins->retired.count; i++)
        if (origins->retired.items[i].uid == uid)
            return &origins->retired.items[i];
    return NULL;
}

static void retire(struct origins *origins, uint64_t uid, uint64_t by)
{
    struct retired retired = { uid, by };

    if (origins->retired.count < ORIGINS_RETIRED_MAX) {
        vec_push(&origins->retired, retired);
        origins->retired_at++;
        return;
    }
    origins->forgotten++;
    origins->retired.items[origins->retired_at++ % ORIGINS_RETIRED_MAX] =
        retired;
}

static void forget(struct origins *origins, struct known *known, uint64_t by)
{
    uint64_t uid = known->origin.uid;
    struct slice key = kept_address_key(known->origin.address);

    origins->version++;
    map_take(&origins->by_uid, map_u64(&uid));
    if (map_get(&origins->by_address, key) == known)
        map_take(&origins->by_address, key);
    if (origins->last == known)
        origins->last = NULL;
    retire(origins, uid, by);
    free_known(origins, known);
}

bool origins_is_over(const struct origins *origins, uint64_t uid)
{
    return find_retired(origins, uid) != NULL;
}

/* Lets an incarnation return that was replaced by an older one, as its later connection shows: see
 * associate in association.c. */
static void come_back(struct origins *origins, const struct known *known,
                      const struct handshake *handshake)
{
    struct retired *retired = find_retired(origins, handshake->from.uid);

    if (retired && retired->by == known->origin.uid && known->order &&
        handshake->order > known->order)
        *retired = (struct retired){ 0 };
}

static struct known *add(struct origins *origins,
                         const struct handshake *handshake)
{
    struct address_key key;
    struct known *known;

    address_key_of(&key, &handshake->from.address);
    known = map_get(&origins->by_address, slice_of(key.bytes, key.size));
    if (known)
        come_back(origins, known, handshake);
    if (origins_is_over(origins, handshake->from.uid))
        return NULL;
    if (known && handshake->order && handshake->order < known->order) {
        retire(origins, handshake->from.uid, known->origin.uid);
        return NULL;
    }
    if (known) /* a new incarnation replaces the older one */
        forget(origins, known, known->has_left ? 0 : handshake->from.uid);
    if (origins->by_uid.count >= ORIGINS_MAX) {
        origins->refused++;
        return NULL;
    }
    known = mem_alloc(sizeof *known);
    known->origin.uid = handshake->from.uid;
    known->origin.address =
        origins->lasting
            ? origins->lasting(origins->user, &handshake->from.address)
            : address_keep(&handshake->from.address);
    map_put(&origins->by_uid, map_u64(&known->origin.uid), known);
    map_put(&origins->by_address, kept_address_key(known->origin.address),
            known);
    BOUNDED("senders that are known", origins->by_uid.count, ORIGINS_MAX);
    return known;
}

/* 0 = none so far. */
static uint64_t newest_of(const struct known *known, enum stream stream,
                          uint32_t lane)
{
    uint32_t at = (uint32_t)stream - 1;

    if (lane >= known->newest[at].count)
        return 0;
    return known->newest[at].count > 1 ? known->newest[at].items[lane]
                                       : known->newest[at].first;
}

static void set_newest(struct known *known, enum stream stream, uint32_t lane,
                       uint64_t generation)
{
    uint32_t at = (uint32_t)stream - 1;
    uint32_t count = known->newest[at].count;
    uint64_t first = known->newest[at].first;
    uint64_t *items = count > 1 ? known->newest[at].items : NULL;

    if (!lane && count <= 1) {
        known->newest[at].first = generation;
        known->newest[at].count = 1;
        return;
    }
    if (count <= lane) {
        items = mem_resize(items, (lane + 1) * sizeof *items);
        if (count == 1)
            items[0] = first;
        memset(items + count, 0, (lane + 1 - count) * sizeof *items);
        known->newest[at].count = lane + 1;
        known->newest[at].items = items;
    }
    items[lane] = generation;
}

uint64_t origins_version(const struct origins *origins)
{
    return origins->version;
}

bool origins_learn(struct origins *origins, enum stream stream,
                   const struct handshake *handshake)
{
    struct known *known = find(origins, handshake->from.uid);

    if (handshake->lane >= ORIGIN_LANES_MAX) {
        origins->refused++;
        return false;
    }
    if (known &&
        !kept_address_equal(known->origin.address, &handshake->from.address))
        return false; /* one UID has one address */
    if (!known)
        known = add(origins, handshake);
    if (!known)
        return false;
    if (handshake->order > known->order)
        known->order = handshake->order;
    if (handshake->capabilities) {
        known->origin.capabilities = handshake->capabilities;
        known->origin.lanes = handshake->lanes;
    }
    if (!handshake->generation)
        return true;
    if (handshake->generation < newest_of(known, stream, handshake->lane))
        return false;
    if (handshake->generation == newest_of(known, stream, handshake->lane))
        return true;
    if (newest_of(known, stream, handshake->lane)) /* a lane's first connection replaces none */
        origins->version++;
    set_newest(known, stream, handshake->lane, handshake->generation);
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
           generation >= newest_of(known, stream, lane);
}

/* Incarnations that it replaced, and that have not left, may return: they are the newer ones. */
static void release(struct origins *origins, uint64_t uid)
{
    for (uint32_t i = 0; i < origins->retired.count; i++)
        if (origins->retired.items[i].by == uid)
            origins->retired.items[i] = (struct retired){ 0 };
}

void origins_left(struct origins *origins, uint64_t uid)
{
    struct known *known = find(origins, uid);
    struct retired *retired = find_retired(origins, uid);

    release(origins, uid);
    if (known)
        known->has_left = true;
    if (retired)
        retired->by = 0;
}

void origins_forget(struct origins *origins, uint64_t uid)
{
    struct known *known = find(origins, uid);

    release(origins, uid);
    if (known)
        forget(origins, known, 0);
    /* its handshake may still come, after that of the next incarnation */
    else if (!find_retired(origins, uid))
        retire(origins, uid, 0);
    find_retired(origins, uid)->by = 0;
}

uint64_t origins_forgotten(const struct origins *origins)
{
    return origins->forgotten;
}

uint64_t origins_refused(const struct origins *origins)
{
    return origins->refused;
}
