/* Keeps the ring of monitored peers and sends rounds of heartbeats. */
#include "member/heartbeat.h"

#include "base/check.h"
#include "base/fetch.h"
#include "base/sorted.h"
#include "base/timers.h"
#include "member/gossip_digest.h"
#include "member/wire.h"

#define FETCHED_MAX 16 /* peers at a time */
#define SENDER_PATH MEMBER_DAEMON_PATH "/heartbeatSender"

int32_t ring_hash(uint64_t uid)
{
    return (int32_t)(uint32_t)(uid ^ uid >> 32); /* Java's Long.hashCode */
}

/* Signed, as Akka compares. Unsigned would only begin the ring elsewhere; neighbors are the same,
 * so no test can tell. */
static int compare_in_ring(const struct ring_place *left,
                           const struct ring_place *right)
{
    if (left->hash != right->hash)
        return left->hash < right->hash ? -1 : 1;
    if (left->profile == right->profile)
        return 0;
    return profile_compare(left->profile, right->profile);
}

static struct ring_place place_of(struct profile *profile)
{
    return (struct ring_place){ profile, ring_hash(profile->uid) };
}

static void fini_peer(struct heartbeat_peer *peer)
{
    phi_fini(&peer->phi);
    profile_drop(peer->profile);
}

static void drop_peer(struct heart *heart, struct heartbeat_peer *peer)
{
    expect_forget(&heart->expect, peer->profile);
    fini_peer(peer);
    vec_remove(&heart->peers, (uint32_t)(peer - heart->peers.items));
}

void heart_fini(struct heart *heart)
{
    for (uint32_t i = 0; i < heart->followed.count; i++)
        profile_drop(heart->followed.items[i]);
    vec_fini(&heart->followed);
    vec_fini(&heart->ring);
    for (uint32_t i = 0; i < heart->peers.count; i++)
        fini_peer(&heart->peers.items[i]);
    vec_fini(&heart->peers);
    expect_fini(&heart->expect);
    *heart = (struct heart){ .next_at = NEVER };
}

static int order_of_peer(const void *peer, const void *node)
{
    return profile_order(((const struct heartbeat_peer *)peer)->profile, node);
}

static uint32_t lower_bound(const struct heart *heart,
                            const struct node_id *node)
{
    return sorted_vec_place(&heart->peers, order_of_peer, node);
}

static struct heartbeat_peer *find(const struct heart *heart, const struct node_id *node)
{
    for (uint32_t i = 0; i < heart->peers.count; i++)
        if (heart->peers.items[i].uid == node->uid &&
            profile_is(heart->peers.items[i].profile, node))
            return &heart->peers.items[i];
    return NULL;
}

const struct heartbeat_peer *heart_peer(const struct heart *heart,
                              const struct node_id *node)
{
    return find(heart, node);
}

static int order_in_ring(const void *item, const void *place)
{
    return compare_in_ring(item, place);
}

/* Index in the ring of the first that is not before the place. */
static uint32_t ring_index(const struct heart *heart,
                           const struct ring_place *place)
{
    return sorted_vec_place(&heart->ring, order_in_ring, place);
}

static bool is_in_ring(const struct heart *heart, struct profile *profile)
{
    struct ring_place place = place_of(profile);
    uint32_t at = ring_index(heart, &place);

    return at < heart->ring.count &&
           profile_same(heart->ring.items[at].profile, profile);
}

/* Changes of the ring since it was made. */
struct ring_places {
    VEC(struct ring_place) list; /* in the ring's order */
};

struct ring_change {
    struct ring_places added;
    struct ring_places gone;
};

static void put_place(struct ring_places *places, struct profile *profile)
{
    struct ring_place place = place_of(profile);
    uint32_t at = sorted_vec_place(&places->list, order_in_ring, &place);

    vec_push(&places->list, place);
    memmove(&places->list.items[at + 1], &places->list.items[at],
            (places->list.count - 1 - at) * sizeof place);
    places->list.items[at] = place;
}

/* Both lists are by node. Usually both have the same profile. */
static void find_changes(const struct heart *heart, const struct gossip *gossip,
                         const struct profile *self, struct ring_change *change)
{
    uint32_t old = 0;
    uint32_t at = 0;

    while (old < heart->followed.count || at < gossip->members.count) {
        struct profile *before = old < heart->followed.count
                                     ? heart->followed.items[old]
                                     : NULL;
        struct profile *now = at < gossip->members.count
                                  ? gossip->members.items[at].profile
                                  : NULL;
        int order = before == now ? 0
                    : !before     ? 1
                    : !now        ? -1
                                  : profile_compare(before, now);

        if (before != now && order <= 0 && profile_same_center(before, self))
            put_place(&change->gone, before);
        if (before != now && order >= 0 && profile_same_center(now, self))
            put_place(&change->added, now);
        old += order <= 0;
        at += order >= 0;
    }
}

/* All three lists are in the ring's order: one pass for any number of changes. */
static void change_ring(struct heart *heart, const struct ring_change *change)
{
    const struct ring_place *added = change->added.list.items;
    const struct ring_place *gone = change->gone.list.items;
    uint32_t added_left = change->added.list.count;
    uint32_t gone_left = change->gone.list.count;
    struct ring_place *before = heart->ring.items;
    uint32_t count = heart->ring.count;

    heart->ring.items = NULL;
    heart->ring.count = heart->ring.capacity = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (; added_left && compare_in_ring(added, &before[i]) < 0;
             added_left--)
            vec_push(&heart->ring, *added++);
        if (!gone_left || gone->profile != before[i].profile) {
            vec_push(&heart->ring, before[i]);
            continue;
        }
        gone++;
        gone_left--;
    }
    for (; added_left; added_left--)
        vec_push(&heart->ring, *added++);
    check(!gone_left);
    mem_free(before);
}

static bool follows_already(const struct heart *heart,
                            const struct gossip *gossip)
{
    if (heart->followed.count != gossip->members.count)
        return false;
    for (uint32_t i = 0; i < gossip->members.count; i++)
        if (heart->followed.items[i] != gossip->members.items[i].profile)
            return false;
    return true;
}

static void follow_members(struct heart *heart, const struct gossip *gossip,
                           const struct profile *self)
{
    struct ring_change change = { .added = { { 0 } } };
    uint32_t count = heart->followed.count;
    struct profile **before = heart->followed.items;

    if (follows_already(heart, gossip))
        return;
    find_changes(heart, gossip, self, &change);
    change_ring(heart, &change);
    vec_fini(&change.added.list);
    vec_fini(&change.gone.list);
    heart->followed.items = NULL;
    heart->followed.count = heart->followed.capacity = 0;
    for (uint32_t i = 0; i < gossip->members.count; i++)
        vec_push(&heart->followed,
                 profile_hold(gossip->members.items[i].profile));
    for (uint32_t i = 0; i < count; i++)
        profile_drop(before[i]);
    mem_free(before);
}

static void monitor(struct heart *heart, struct profile *profile)
{
    struct heartbeat_peer *peer = find(heart, PROFILE_NODE(profile));
    struct heartbeat_peer added = {
        .profile = profile,
        .uid = profile->uid,
        .is_in_ring = true,
    };
    uint32_t at;

    if (peer) {
        peer->is_in_ring = true;
        return;
    }
    at = lower_bound(heart, PROFILE_NODE(profile));
    (void)profile_hold(profile);
    vec_push(&heart->peers, added);
    memmove(&heart->peers.items[at + 1], &heart->peers.items[at],
            (heart->peers.count - 1 - at) * sizeof added);
    heart->peers.items[at] = added;
}

static bool is_reachable(const struct gossip *gossip, const uint8_t *reach,
                         const struct profile *profile)
{
    uint32_t at = gossip_index(gossip, profile);

    return at >= gossip->members.count || reach[at] == REACHABLE;
}

/* Walks the ring after self until enough reachable members are monitored. Takes the unreachable
 * ones on the way, too, while fewer than `wanted` are monitored in all. */
static void choose_peers(struct heart *heart, uint32_t wanted,
                         const struct gossip *gossip, const uint8_t *reach,
                         const struct profile *self)
{
    uint32_t count = heart->ring.count;
    struct ring_place own = place_of((struct profile *)(uintptr_t)self);
    uint32_t start = ring_index(heart, &own);
    uint32_t chosen = 0;
    uint32_t reachable = 0;
    bool all = wanted + 1 >= count;

    for (uint32_t i = 0; i < count && (all || reachable < wanted); i++) {
        struct profile *profile =
            heart->ring.items[(start + i) % count].profile;
        bool good;

        if (profile_same(profile, self))
            continue;
        good = is_reachable(gossip, reach, profile);
        if (all || good || chosen < wanted) {
            monitor(heart, profile);
            chosen++;
        }
        reachable += good;
    }
}

void heart_follow(struct heart *heart, const struct heart_settings *settings,
                  const struct gossip *gossip, const uint8_t *reach,
                  const struct profile *self, uint64_t now)
{
    follow_members(heart, gossip, self);
    for (uint32_t i = 0; i < heart->peers.count; i++)
        heart->peers.items[i].is_in_ring = false;
    choose_peers(heart, settings->monitored_by, gossip, reach, self);
    for (uint32_t i = heart->peers.count; i-- > 0;) {
        struct heartbeat_peer *peer = &heart->peers.items[i];
        bool keep = is_in_ring(heart, peer->profile) &&
                    (peer->is_in_ring ||
                     !phi_is_available(&peer->phi, &settings->phi, now));

        if (keep)
            continue;
        drop_peer(heart, peer);
    }
}

/* For a peer that never answered, silence counts from a heartbeat that it did not send. */
static void miss_first(struct heart *heart,
                       const struct heart_settings *settings, uint64_t now)
{
    const struct profile *profile;

    while ((profile = expect_due(&heart->expect, now)) != NULL) {
        struct heartbeat_peer *peer = find(heart, PROFILE_NODE(profile));

        if (!peer->phi.is_monitoring)
            phi_heartbeat(&peer->phi, &settings->phi, now);
    }
}

/* A node that did not run has asked no peer, and no peer could answer: extends all waits. Akka does
 * not: it observes all as unreachable, and spreads that, until they answer. */
static void discount(struct heart *heart, const struct heart_settings *settings,
                     struct trace *trace, uint64_t now)
{
    uint64_t length = now - heart->last_at - settings->interval;

    if (heart->next_at > now || !heart->last_at || length < settings->interval)
        return;
    trace_put(trace, TRACE_WARNING, "member",
              "heartbeats late: this node was not running after_ms=%llu "
              "interval_ms=%llu hint=\"check this host's load and pauses\"",
              (unsigned long long)((now - heart->last_at) / MS),
              (unsigned long long)(settings->interval / MS));
    for (uint32_t i = 0; i < heart->peers.count; i++)
        phi_unheard(&heart->peers.items[i].phi, length, now);
    expect_later(&heart->expect, length);
    heart->last_at += length; /* once */
}

void heart_fetch(const struct heart *heart)
{
    fetch_memory(heart->peers.items,
                 heart->peers.count * sizeof *heart->peers.items);
}

/* Waits once for the memory of several peers. */
static void fetch_round(const struct heart *heart,
                        const struct heart_settings *settings)
{
    uint64_t uids[FETCHED_MAX];
    uint32_t count = 0;

    for (; count < heart->peers.count && count < FETCHED_MAX; count++) {
        uids[count] = heart->peers.items[count].uid;
        fetch_memory(heart->peers.items[count].profile,
                     sizeof *heart->peers.items->profile);
    }
    if (settings->fetch)
        settings->fetch(settings->user, uids, count);
}

static void send_round(struct heart *heart,
                       const struct heart_settings *settings,
                       const struct identity *identity, uint64_t now,
                       struct outbox *outbox)
{
    struct heartbeat heartbeat = {
        .from = identity->node,
        .sequence = ++heart->sequence,
        .created = (int64_t)now,
    };
    struct outbound message = {
        .recipient = slice_text(MEMBER_HEARTBEAT_PATH),
        .sender = slice_text(SENDER_PATH),
        .manifest = slice_text("HB"),
        .serializer = MEMBER_SERIALIZER,
        .stream = STREAM_CONTROL,
        .selection = true,
    };
    struct outbound digest = {
        .manifest = slice_text(GOSSIP_DIGEST_HEARTBEAT),
        .serializer = GOSSIP_DIGEST_SERIALIZER,
        .stream = STREAM_CONTROL,
    };
    struct buf payload = { 0 };

    fetch_round(heart, settings);
    wire_put_heartbeat(identity, &payload, &heartbeat);
    message.payload = buf_slice(&payload);
    for (uint32_t i = 0; i < heart->peers.count; i++) {
        struct heartbeat_peer *peer = &heart->peers.items[i];

        struct outbound *chosen = &message;

        if (settings->form_of &&
            settings->form_of(settings->user, PROFILE_NODE(peer->profile)) ==
                PEER_GOSSIP_DIGEST)
            chosen = &digest;
        chosen->to = profile_node(peer->profile);
        outbox_put(outbox, chosen);
        if (!peer->phi.is_monitoring)
            expect_first(&heart->expect, peer->profile,
                         now + settings->expected);
    }
    buf_fini(&payload);
}

uint32_t heart_step(struct heart *heart, const struct heart_settings *settings,
                    const struct identity *identity, struct trace *trace,
                    uint64_t now, struct outbox *outbox)
{
    discount(heart, settings, trace, now);
    miss_first(heart, settings, now);
    if (heart->next_at > now)
        return 0;
    heart->last_at = now;
    heart->next_at = now + settings->interval;
    if (heart->peers.count)
        send_round(heart, settings, identity, now, outbox);
    return heart->peers.count;
}

uint64_t heart_deadline(const struct heart *heart)
{
    uint64_t first = expect_deadline(&heart->expect);

    return first < heart->next_at ? first : heart->next_at;
}

/* Warns before a peer becomes unreachable. Not if it was unreachable already, nor if the acceptable
 * pause is about as short as the interval. */
static void warn_if_late(const struct heartbeat_peer *peer,
                         const struct heart_settings *settings,
                         struct trace *trace, uint64_t now)
{
    const struct phi_settings *phi = &settings->phi;
    uint64_t after = now / MS - peer->phi.last_ms;
    const struct kept_address *address = peer->profile->address;

    if (!peer->phi.is_monitoring || after < phi->pause_ms / 3 * 2 ||
        after < phi->interval_ms / 2 * 3 ||
        !phi_is_available(&peer->phi, phi, now))
        return;
    trace_put(trace, TRACE_WARNING, "member",
              "heartbeat interval is growing too large member=%s:%u "
              "after_ms=%llu acceptable_pause_ms=%u hint=\"check that node's "
              "load and the network\"",
              address->host, (unsigned)address->port,
              (unsigned long long)after, (unsigned)phi->pause_ms);
}

bool heart_response(struct heart *heart, const struct heart_settings *settings,
                    const struct node_id *node, struct trace *trace,
                    uint64_t now)
{
    struct heartbeat_peer *peer = find(heart, node);

    if (!peer)
        return false;
    discount(heart, settings, trace, now); /* counts what arrived before the late round */
    warn_if_late(peer, settings, trace, now);
    phi_heartbeat(&peer->phi, &settings->phi, now);
    if (!peer->is_in_ring) { /* it lives, and others monitor it */
        drop_peer(heart, peer);
    }
    return true;
}

bool heart_is_available(const struct heart *heart,
                        const struct heart_settings *settings,
                        const struct node_id *node, uint64_t now)
{
    const struct heartbeat_peer *peer = find(heart, node);

    return !peer || phi_is_available(&peer->phi, &settings->phi, now);
}
