/* Looks peers up, keeps for each address the newest incarnation, and forgets strangers. */
#include "artery/peers.h"

#include "base/bound.h"
#include "base/check.h"
#include "base/mark.h"

void peers_init(struct peers *peers, const struct peers_options *options)
{
    *peers = (struct peers){ .options = *options, .version = 1 };
    if (!peers->options.strangers_max)
        peers->options.strangers_max = STRANGERS_MAX;
    peers->by_address.is_lent = peers->by_uid.is_lent = true;
}

static void drop_sender(struct peers *peers, struct peer *peer)
{
    if (!peer->sender)
        return;
    sender_free(peer->sender);
    peer->sender = NULL;
    peers->sender_count--;
    peers->version++;
}

void peers_fini(struct peers *peers)
{
    for (uint32_t i = 0; i < peers->all.count; i++) {
        struct peer *peer = peers->all.items[i];

        if (!peer)
            continue;
        drop_sender(peers, peer);
        mem_free(peer->address);
        mem_free(peer);
    }
    vec_fini(&peers->all);
    vec_fini(&peers->unused);
    strangers_fini(&peers->strangers);
    vec_fini(&peers->retired);
    map_fini(&peers->by_address);
    map_fini(&peers->by_uid);
    map_fini(&peers->retired_by_uid);
    heard_peers_fini(&peers->heard);
}

/* ---- strangers ---- */

static void is_no_stranger(struct peers *peers, struct peer *peer)
{
    if (!peer->is_stranger)
        return;
    peer->is_stranger = false;
    strangers_take(&peers->strangers, peer->index);
}

static void forget_peer(struct peers *peers, struct peer *peer)
{
    if (peers->options.forgotten)
        peers->options.forgotten(peers->options.user, peer);
    is_no_stranger(peers, peer);
    drop_sender(peers, peer);
    if (peer->uid)
        map_take(&peers->by_uid, map_u64(&peer->uid));
    map_take(&peers->by_address, kept_address_key(peer->address));
    peers->all.items[peer->index] = NULL;
    vec_push(&peers->unused, peer->index);
    peers->last = NULL;
    peers->version++;
    mem_free(peer->address);
    mem_free(peer);
}

bool peers_forget_stranger(struct peers *peers)
{
    uint32_t index = strangers_oldest(&peers->strangers);

    if (index == STRANGERS_NONE)
        return false;
    forget_peer(peers, peers->all.items[index]);
    return true;
}

static void make_room(struct peers *peers)
{
    while (peers->strangers.count >= peers->options.strangers_max &&
           peers_forget_stranger(peers))
        REACHED("a stranger is forgotten");
}

/* It is the newest one, so it is not the one that makes room. */
static void is_stranger(struct peers *peers, struct peer *peer)
{
    if (!peers->options.is_control || peer->is_kept)
        return;
    is_no_stranger(peers, peer);
    make_room(peers);
    peer->is_stranger = true;
    strangers_put(&peers->strangers, peer->index);
    BOUNDED("strangers that are known", peers->strangers.count,
            peers->options.strangers_max);
}

void peers_answered(struct peers *peers, struct peer *peer)
{
    peer->has_answered = true;
    is_no_stranger(peers, peer);
}

static void keep(struct peers *peers, struct peer *peer)
{
    peer->is_kept = true;
    is_no_stranger(peers, peer);
}

/* ---- entries ---- */

static struct peer *add_peer(struct peers *peers,
                             const struct address *address)
{
    struct peer *peer = mem_alloc(sizeof *peer);

    make_room(peers); /* so its index is free */
    peer->address = address_keep(address);
    if (peers->unused.count) {
        peer->index = peers->unused.items[--peers->unused.count];
        peers->all.items[peer->index] = peer;
    } else {
        peer->index = peers->all.count;
        vec_push(&peers->all, peer);
    }
    map_put(&peers->by_address, kept_address_key(peer->address), peer);
    is_stranger(peers, peer);
    return peer;
}

void peer_describe(struct peer *peer, uint64_t capabilities, uint32_t lanes)
{
    peer->capabilities = (uint32_t)capabilities;
    peer->lanes = (uint16_t)(lanes < UINT16_MAX ? lanes : UINT16_MAX);
}

static struct peer *add_heard(struct peers *peers,
                              const struct heard_peer *node)
{
    struct peer *peer = add_peer(peers, &node->node.address);

    peer->uid = node->node.uid;
    peer->met = true;
    peer_describe(peer, node->capabilities, node->lanes);
    map_put(&peers->by_uid, map_u64(&peer->uid), peer);
    return peer;
}

static struct peer *known_at(const struct peers *peers,
                             const struct address *address)
{
    struct address_key key;

    address_key_of(&key, address);
    return map_get(&peers->by_address, slice_of(key.bytes, key.size));
}

struct peer *peers_find(struct peers *peers, const struct address *address)
{
    struct peer *peer = known_at(peers, address);
    struct heard_peer node;

    if (!peer && heard_peers_take_at(&peers->heard, address, &node))
        peer = add_heard(peers, &node);
    return peer;
}

struct peer *peers_at(struct peers *peers, const struct address *address)
{
    struct peer *peer = peers_find(peers, address);

    return peer ? peer : add_peer(peers, address);
}

const struct kept_address *peers_lasting(void *peers,
                                         const struct address *address)
{
    struct peer *peer = peers_at(peers, address);

    keep(peers, peer);
    return peer->address;
}

struct peer *peers_uid(struct peers *peers, uint64_t uid)
{
    struct peer *peer = map_get(&peers->by_uid, map_u64(&uid));
    struct heard_peer node;

    if (!peer && heard_peers_take(&peers->heard, uid, &node))
        peer = add_heard(peers, &node);
    return peer;
}

struct peer *peers_of(struct peers *peers, const struct node_id *node)
{
    struct peer *peer = peers->last;

    if (peer && node->uid && peer->uid == node->uid &&
        kept_address_equal(peer->address, &node->address))
        return peer; /* an answer */
    peer = node->uid ? peers_uid(peers, node->uid) : NULL; /* a short key */
    return peer && kept_address_equal(peer->address, &node->address)
               ? peer
               : peers_at(peers, &node->address);
}

/* ---- incarnations that are over ---- */

static struct retired_peer *find_retired(const struct peers *peers,
                                         uint64_t uid)
{
    uintptr_t place = (uintptr_t)map_get(&peers->retired_by_uid, map_u64(&uid));

    return place ? &peers->retired.items[place - 1] : NULL;
}

bool peers_is_over(const struct peers *peers, uint64_t uid)
{
    return find_retired(peers, uid) != NULL;
}

/* An incarnation that is over never returns, unless the one that took its address turns out to be
 * older. */
static void retire(struct peers *peers, uint64_t uid, uint64_t by)
{
    struct retired_peer *retired;
    uint32_t index = peers->retired_at;

    if (!uid || find_retired(peers, uid))
        return;
    if (peers->retired.count < RETIRED_PEERS_MAX) {
        index = peers->retired.count;
        vec_push(&peers->retired, (struct retired_peer){ 0 });
    } else {
        peers->retired_at = (peers->retired_at + 1) % RETIRED_PEERS_MAX;
    }
    retired = &peers->retired.items[index];
    if (retired->uid) {
        map_take(&peers->retired_by_uid, map_u64(&retired->uid));
        peers->forgotten++;
    }
    *retired = (struct retired_peer){ uid, by };
    map_put(&peers->retired_by_uid, map_u64(&uid),
            (void *)(uintptr_t)(index + 1));
}

static void restore(struct peers *peers, struct retired_peer *retired)
{
    map_take(&peers->retired_by_uid, map_u64(&retired->uid));
    *retired = (struct retired_peer){ 0 };
}

/* The one that leaves counts as the older incarnation at its address: those that it replaced, and
 * that have not left, may return. */
static void release(struct peers *peers, uint64_t uid)
{
    struct retired_peer *own = find_retired(peers, uid);

    for (uint32_t i = 0; i < peers->retired.count; i++)
        if (peers->retired.items[i].uid && peers->retired.items[i].by == uid)
            restore(peers, &peers->retired.items[i]);
    if (own)
        own->by = 0;
}

/* ---- the incarnation at an address ---- */

static void renew(struct peers *peers, struct peer *peer, uint64_t uid)
{
    uint64_t before = peer->uid;

    if (before)
        map_take(&peers->by_uid, map_u64(&before));
    drop_sender(peers, peer);
    peer->uid = uid;
    peer->order = 0;
    peer->met = false;
    peer->has_answered = false;
    peer->gone = false;
    peer->over = false;
    peer->shares = false;
    peer->leaves = false;
    peer->capabilities = 0;
    peer->lanes = 0;
    map_put(&peers->by_uid, map_u64(&peer->uid), peer);
    is_stranger(peers, peer);
    if (peers->options.renewed)
        peers->options.renewed(peers->options.user, peer, before);
}

/* An incarnation was replaced by an older one, as its later connection shows. */
static bool comes_back(const struct peer *peer,
                       const struct retired_peer *retired, uint64_t order)
{
    return peer && peer->uid && retired->by == peer->uid && peer->order &&
           order > peer->order;
}

static bool is_earlier(const struct peer *peer, uint64_t uid, uint64_t order)
{
    return peer && peer->uid && peer->uid != uid && !peer->over && order &&
           order < peer->order;
}

enum peer_verdict peers_learn(struct peers *peers, const struct node_id *node,
                              uint64_t order, struct peer **found)
{
    struct peer *known = peers_uid(peers, node->uid);
    struct peer *peer = peers_find(peers, &node->address);
    struct retired_peer *retired = find_retired(peers, node->uid);
    enum peer_verdict verdict = PEER_SAME;

    *found = known;
    if (retired && !comes_back(peer, retired, order))
        return PEER_OVER;
    if (retired)
        restore(peers, retired);
    if (known && known != peer)
        return PEER_ELSEWHERE;
    if (is_earlier(peer, node->uid, order)) {
        REACHED("an earlier incarnation is seen after a newer one");
        retire(peers, node->uid, peer->uid);
        *found = peer;
        return PEER_EARLIER;
    }
    *found = peer = peer ? peer : add_peer(peers, &node->address);
    if (peer->uid != node->uid || peer->over) {
        if (peer->uid != node->uid)
            retire(peers, peer->uid, peer->gone ? 0 : node->uid);
        renew(peers, peer, node->uid);
        verdict = PEER_NEW;
    }
    if (verdict == PEER_SAME && peer->is_stranger)
        is_stranger(peers, peer); /* now the newest */
    peer->met = true;
    if (order > peer->order)
        peer->order = order;
    return verdict;
}

void peers_heard(struct peers *peers, const struct heard_peer *node,
                 uint64_t order)
{
    struct peer *peer = known_at(peers, &node->node.address);
    struct heard_peer before;

    if (!peer) {
        /* the entry is needed to remember the replaced incarnation */
        if (!heard_peers_take_at(&peers->heard, &node->node.address, &before) ||
            before.node.uid == node->node.uid) {
            heard_peers_put(&peers->heard, node);
            return;
        }
        (void)add_heard(peers, &before);
    }
    (void)peers_learn(peers, &node->node, order, &peer);
    if (peer && peer->uid == node->node.uid)
        peer_describe(peer, node->capabilities, node->lanes);
}

struct peer *peers_meant(struct peers *peers, const struct node_id *node)
{
    struct peer *peer = peers_at(peers, &node->address);

    keep(peers, peer); /* the caller may keep its index */
    if (!node->uid || peer->uid == node->uid)
        return peer;
    if ((peer->met && !peer->gone) || peers_is_over(peers, node->uid)) {
        REACHED("a home belongs to another incarnation at its address");
        return NULL;
    }
    if (peer->gone)
        retire(peers, peer->uid, 0);
    renew(peers, peer, node->uid);
    return peer;
}

void peers_stranger_gone(struct peers *peers, const struct node_id *node)
{
    struct peer *peer = map_get(&peers->by_uid, map_u64(&node->uid));
    struct heard_peer heard;

    if (!peer)
        (void)heard_peers_take(&peers->heard, node->uid, &heard);
    else if (!peer->is_kept)
        forget_peer(peers, peer);
}

void peers_leaves(struct peers *peers, const struct node_id *node)
{
    struct peer *peer = peers_uid(peers, node->uid);

    if (peer)
        peer->leaves = true;
}

void peers_gone(struct peers *peers, const struct node_id *node)
{
    struct peer *peer = peers_uid(peers, node->uid);

    release(peers, node->uid);
    if (peer) {
        peer->gone = true;
        return;
    }
    peer = peers_find(peers, &node->address);
    /* its last handshake may still be in flight */
    if (peer && peer->uid)
        retire(peers, node->uid, 0);
}

void peers_forget(struct peers *peers, uint64_t uid)
{
    struct peer *peer = peers_uid(peers, uid);

    check(uid != 0);
    release(peers, uid);
    /* an unknown one, too: its handshake may still come, after that of the next incarnation */
    retire(peers, uid, 0);
    if (peer)
        peer->over = true;
}

/* ---- connections ---- */

/* Control hears removed incarnations only as long as there is room. */
static bool silence_a_removed_one(struct peers *peers)
{
    for (uint32_t i = 0; i < peers->all.count; i++) {
        uint32_t at = (peers->silenced_at + i) % peers->all.count;
        struct peer *peer = peers->all.items[at];

        if (!peer || !peer->over || !peer->sender)
            continue;
        drop_sender(peers, peer);
        peers->silenced_at = at;
        return true;
    }
    return false;
}

static bool is_full(struct peers *peers, const struct node_id *node)
{
    const struct peer *peer;

    if (peers->sender_count < PEERS_MAX)
        return false;
    peer = peers_find(peers, &node->address);
    if (peer && peer->sender)
        return false;
    while (peers->sender_count >= PEERS_MAX)
        if (!silence_a_removed_one(peers) && !peers_forget_stranger(peers))
            return true;
    return false;
}

bool peers_accept(struct peers *peers, enum stream stream,
                  const struct handshake *handshake)
{
    enum peer_verdict verdict;
    struct peer *peer;

    if (handshake->lane >= PEER_LANES_MAX || is_full(peers, &handshake->from)) {
        peers->refused++;
        return false;
    }
    verdict = peers_learn(peers, &handshake->from, handshake->order, &peer);
    if (verdict > PEER_NEW &&
        !(verdict == PEER_OVER && peer && peers->options.is_control))
        return false;
    if (verdict != PEER_OVER && handshake->capabilities)
        peer_describe(peer, handshake->capabilities, handshake->lanes);
    if (!peer->sender) {
        peer->sender = sender_new();
        peers->sender_count++;
        BOUNDED("senders that are known", peers->sender_count, PEERS_MAX);
    }
    switch (sender_connects(peer->sender, stream, handshake->lane,
                            handshake->generation)) {
    case SENDER_OLDER:
        return false;
    case SENDER_NEWER: /* the former connection of its lane is no longer current */
        peers->version++;
        return true;
    default:
        return true;
    }
}

struct peer *peers_sender(struct peers *peers, uint64_t uid)
{
    struct peer *peer = peers->last;

    if (!peer || peer->uid != uid)
        peer = peers->last = map_get(&peers->by_uid, map_u64(&uid));
    return peer && peer->sender ? peer : NULL;
}

bool peers_is_newest(struct peers *peers, uint64_t uid, enum stream stream,
                     uint32_t lane, uint64_t generation)
{
    const struct peer *peer = peers_sender(peers, uid);

    if (!generation)
        return true;
    return peer && lane < PEER_LANES_MAX &&
           generation >= sender_newest(peer->sender, stream, lane);
}

void peers_silence(struct peers *peers, uint64_t uid)
{
    struct peer *peer = peers_uid(peers, uid);

    if (peer)
        drop_sender(peers, peer);
}
