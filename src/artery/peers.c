/* Looks peers up, keeps for each address the newest incarnation, and forgets strangers. */
#include "artery/peers.h"

#include "base/bound.h"
#include "base/check.h"
#include "base/mark.h"

#define LEFT_KEPT 64 /* indexes, as one batch of handshakes may free */

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
    vec_fini(&peers->left);
    strangers_fini(&peers->strangers);
    retired_peers_fini(&peers->retired);
    map_fini(&peers->by_address);
    map_fini(&peers->by_uid);
    heard_peers_fini(&peers->heard);
}

static void leave_probe(const struct peers *peers, enum probe_kind kind,
                        const struct peer *peer, uint64_t by)
{
    const struct probe probe = { .kind = kind,
                                 .type = PROBE_TYPE_NONE,
                                 .node = peer_node(peer),
                                 .first = by };

    if (peers->options.probes)
        probes_put(peers->options.probes, &probe);
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
    leave_probe(peers, PROBE_PEER_FORGOTTEN, peer, 0);
    if (peers->options.forgotten)
        peers->options.forgotten(peers->options.user, peer);
    is_no_stranger(peers, peer);
    drop_sender(peers, peer);
    if (peer->uid)
        map_take(&peers->by_uid, map_u64(&peer->uid));
    map_take(&peers->by_address, kept_address_key(peer->address));
    peers->all.items[peer->index] = NULL;
    vec_push(&peers->left, peer->index);
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

void peers_reuse(struct peers *peers)
{
    for (uint32_t i = 0; i < peers->left.count; i++)
        vec_push(&peers->unused, peers->left.items[i]);
    vec_empty(&peers->left, LEFT_KEPT);
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
    if (!peer->has_answered)
        leave_probe(peers, PROBE_PEER_ANSWERED, peer, 0);
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

    make_room(peers);
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

bool peers_is_over(const struct peers *peers, uint64_t uid)
{
    return retired_peers_find(&peers->retired, uid) != NULL;
}

/* An incarnation that is over never returns, unless the one that took its address turns out to be
 * older. */
static void retire(struct peers *peers, const struct peer *peer, uint64_t by)
{
    retired_peers_put(&peers->retired, peer->uid, by,
                      !peer->has_answered && !peer->is_kept);
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

/* Whether no handshake alone replaces the incarnation. */
static bool stays(const struct peers *peers, const struct peer *peer)
{
    return peer->uid && !peer->gone && !peer->over &&
           (peer->has_answered || !peers->options.is_control);
}

/* The incarnation is at the address; true: it is another than before. */
static bool replace(struct peers *peers, struct peer *peer, uint64_t uid)
{
    if (peer->uid == uid && !peer->over)
        return false;
    if (peer->has_answered && stays(peers, peer))
        leave_probe(peers, PROBE_PEER_REPLACED, peer, uid);
    if (peer->uid != uid)
        retire(peers, peer, peer->gone ? 0 : uid);
    renew(peers, peer, uid);
    return true;
}

static void meet(struct peer *peer, uint64_t order)
{
    peer->met = true;
    if (order > peer->order)
        peer->order = order;
}

enum peer_verdict peers_learn(struct peers *peers, const struct node_id *node,
                              uint64_t order, bool is_proven,
                              struct peer **found)
{
    struct peer *known = peers_uid(peers, node->uid);
    struct peer *peer = peers_find(peers, &node->address);
    struct retired_peer *retired =
        retired_peers_find(&peers->retired, node->uid);
    enum peer_verdict verdict = PEER_SAME;

    *found = known;
    if (retired && !comes_back(peer, retired, order))
        return PEER_OVER;
    if (known && known != peer)
        return PEER_ELSEWHERE;
    if (is_earlier(peer, node->uid, order)) {
        REACHED("an earlier incarnation is seen after a newer one");
        retired_peers_put(&peers->retired, node->uid, peer->uid, true);
        *found = peer;
        return PEER_EARLIER;
    }
    if (peer && peer->uid != node->uid && !is_proven && stays(peers, peer)) {
        REACHED("a handshake names an address where another incarnation answered");
        *found = peer;
        return PEER_CLAIMS;
    }
    if (retired)
        retired_peers_restore(&peers->retired, retired);
    *found = peer = peer ? peer : add_peer(peers, &node->address);
    if (replace(peers, peer, node->uid))
        verdict = PEER_NEW;
    else if (peer->is_stranger)
        is_stranger(peers, peer); /* now the newest */
    meet(peer, order);
    return verdict;
}

static void adopt(struct peers *peers, struct peer *peer,
                  const struct heard_peer *node, uint64_t order,
                  bool is_verdict)
{
    uint64_t uid = node->node.uid;
    struct peer *known = peers_uid(peers, uid);
    struct retired_peer *retired = retired_peers_find(&peers->retired, uid);

    if ((known && known != peer) ||
        (!is_verdict && is_earlier(peer, uid, order)))
        return;
    if (retired)
        retired_peers_restore(&peers->retired, retired);
    (void)replace(peers, peer, uid);
    meet(peer, order);
    peer_describe(peer, node->capabilities, node->lanes);
}

void peers_heard(struct peers *peers, const struct heard_peer *node,
                 uint64_t order, bool is_verdict)
{
    struct peer *peer = known_at(peers, &node->node.address);
    const struct retired_peer *retired =
        retired_peers_find(&peers->retired, node->node.uid);
    struct heard_peer before;

    if (retired && !retired->by)
        return; /* control has removed it since */
    if (!peer) {
        /* the entry is needed to remember the replaced incarnation */
        if (!heard_peers_take_at(&peers->heard, &node->node.address, &before) ||
            before.node.uid == node->node.uid) {
            heard_peers_put(&peers->heard, node);
            return;
        }
        peer = add_heard(peers, &before);
    }
    adopt(peers, peer, node, order, is_verdict);
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
        retire(peers, peer, 0);
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

    retired_peers_release(&peers->retired, node->uid);
    if (peer) {
        peer->gone = true;
        return;
    }
    peer = peers_find(peers, &node->address);
    /* its last handshake may still be in flight */
    if (peer && peer->uid)
        retired_peers_put(&peers->retired, node->uid, 0, false);
}

void peers_forget(struct peers *peers, uint64_t uid)
{
    struct peer *peer = peers_uid(peers, uid);

    check(uid != 0);
    retired_peers_release(&peers->retired, uid);
    /* an unknown one, too: its handshake may still come, after that of the next incarnation */
    retired_peers_put(&peers->retired, uid, 0, peer && peer->is_stranger);
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

/* False: the connection is older than the newest of its sending lane. */
static bool connect(struct peers *peers, struct peer *peer, enum stream stream,
                    const struct handshake *handshake)
{
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

enum peer_acceptance peers_accept(struct peers *peers, enum stream stream,
                                  const struct handshake *handshake)
{
    enum peer_verdict verdict;
    struct peer *peer;

    if (handshake->lane >= PEER_LANES_MAX || is_full(peers, &handshake->from)) {
        peers->refused++;
        return PEER_REFUSED;
    }
    verdict = peers_learn(peers, &handshake->from, handshake->order, false,
                          &peer);
    if (verdict == PEER_CLAIMS)
        return PEER_WAITS;
    if (verdict > PEER_NEW &&
        !(verdict == PEER_OVER && peer && peers->options.is_control))
        return PEER_REFUSED;
    if (verdict != PEER_OVER && handshake->capabilities)
        peer_describe(peer, handshake->capabilities, handshake->lanes);
    return connect(peers, peer, stream, handshake) ? PEER_ACCEPTED
                                                   : PEER_REFUSED;
}

bool peers_accept_claim(struct peers *peers, enum stream stream,
                        const struct handshake *handshake)
{
    bool has_room = !is_full(peers, &handshake->from);
    struct peer *peer = peers_uid(peers, handshake->from.uid);

    if (!peer || peer->over || !has_room)
        return false;
    meet(peer, handshake->order);
    return connect(peers, peer, stream, handshake);
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
