/* Keeps the monitored peers in other data centers, and sends rounds of heartbeats to them. */
#include "member/cross_dc.h"

#include "base/sorted.h"
#include "base/timers.h"
#include "member/state.h"
#include "member/wire.h"

#define SENDER_PATH MEMBER_DAEMON_PATH "/crossDcHeartbeatSender"

static void drop_peer(struct cross *cross, struct cross_dc_peer *peer)
{
    expect_forget(&cross->expect, peer->profile);
    profile_drop(peer->profile);
    vec_remove(&cross->peers, (uint32_t)(peer - cross->peers.items));
}

void cross_dc_fini(struct cross *cross)
{
    while (cross->peers.count)
        drop_peer(cross, &cross->peers.items[cross->peers.count - 1]);
    vec_fini(&cross->peers);
    expect_fini(&cross->expect);
    *cross = (struct cross){ .sequence = 0 };
}

static int order_of_peer(const void *peer, const void *node)
{
    return profile_order(((const struct cross_dc_peer *)peer)->profile, node);
}

static struct cross_dc_peer *find(const struct cross *cross,
                               const struct node_id *node)
{
    uint32_t at = sorted_vec_place(&cross->peers, order_of_peer, node);

    return at < cross->peers.count &&
                   profile_is(cross->peers.items[at].profile, node)
               ? &cross->peers.items[at]
               : NULL;
}

static void monitor(struct cross *cross, struct profile *profile)
{
    struct cross_dc_peer added = { .is_monitoring = false };
    uint32_t at =
        sorted_vec_place(&cross->peers, order_of_peer, PROFILE_NODE(profile));

    if (find(cross, PROFILE_NODE(profile)))
        return;
    added.profile = profile_hold(profile);
    vec_push(&cross->peers, added);
    memmove(&cross->peers.items[at + 1], &cross->peers.items[at],
            (cross->peers.count - 1 - at) * sizeof added);
    cross->peers.items[at] = added;
}

/* True if it is one of the oldest of its data center that were up. */
static bool is_among_oldest(const struct gossip *gossip,
                            const struct profile *profile, uint32_t count)
{
    struct state_oldest oldest = { .only_risen = true, .max = count };
    bool found = false;

    state_find_oldest(gossip, profile->traits->data_center, &oldest);
    for (uint32_t i = 0; i < oldest.members.count && !found; i++)
        found = oldest.members.items[i]->profile == profile ||
                profile_is(oldest.members.items[i]->profile,
                           PROFILE_NODE(profile));
    vec_fini(&oldest.members);
    return found;
}

static bool is_risen_elsewhere(const struct gossip *gossip,
                               const struct profile *self)
{
    for (uint32_t i = 0; i < gossip->members.count; i++)
        if (state_has_risen(gossip->members.items[i].status) &&
            !profile_same_center(gossip->members.items[i].profile, self))
            return true;
    return false;
}

/* Finds the oldest of every other data center. The gossip holds their profiles. */
static void find_receivers(const struct gossip *gossip,
                           const struct profile *self, uint32_t count,
                           struct state_centers *centers,
                           struct state_oldest *all)
{
    state_find_centers(gossip, self, centers);
    for (uint32_t i = 0; i < centers->count; i++) {
        struct state_oldest oldest = { .only_risen = true, .max = count };

        state_find_oldest(gossip, centers->items[i], &oldest);
        for (uint32_t k = 0; k < oldest.members.count; k++)
            vec_push(&all->members, oldest.members.items[k]);
        vec_fini(&oldest.members);
    }
}

static void follow_receivers(struct cross *cross,
                             const struct cross_dc_settings *settings,
                             const struct gossip *gossip,
                             const struct profile *self)
{
    struct state_centers centers = { 0 };
    struct state_oldest all = { .max = 0 };

    find_receivers(gossip, self, settings->connections, &centers, &all);
    for (uint32_t i = cross->peers.count; i-- > 0;) {
        bool keep = false;

        for (uint32_t k = 0; k < all.members.count && !keep; k++)
            keep = profile_same(all.members.items[k]->profile, cross->peers.items[i].profile);
        if (!keep)
            drop_peer(cross, &cross->peers.items[i]);
    }
    for (uint32_t k = 0; k < all.members.count; k++)
        monitor(cross, all.members.items[k]->profile);
    vec_fini(&all.members);
    vec_fini(&centers);
}

void cross_dc_follow(struct cross *cross, const struct cross_dc_settings *settings,
                  const struct gossip *gossip, const struct profile *self,
                  uint64_t now)
{
    if (!cross->is_active) {
        if (!is_risen_elsewhere(gossip, self) ||
            !is_among_oldest(gossip, self, settings->connections))
            return;
        cross->is_active = true;
        if (cross->next_at < now + settings->interval)
            cross->next_at = now + settings->interval;
    }
    follow_receivers(cross, settings, gossip, self);
}

/* For a peer that never answered, silence counts from a heartbeat that it did not send. */
static void miss_first(struct cross *cross, uint64_t now)
{
    const struct profile *profile;

    while ((profile = expect_due(&cross->expect, now)) != NULL) {
        struct cross_dc_peer *peer = find(cross, PROFILE_NODE(profile));

        if (peer->is_monitoring)
            continue;
        peer->is_monitoring = true;
        peer->heard_at = now;
    }
}

/* As in heartbeat.c. */
static void discount(struct cross *cross, uint64_t length, uint64_t now)
{
    for (uint32_t i = 0; i < cross->peers.count; i++) {
        uint64_t *heard_at = &cross->peers.items[i].heard_at;

        *heard_at = *heard_at + length < now ? *heard_at + length : now;
    }
    expect_later(&cross->expect, length);
}

uint32_t cross_dc_step(struct cross *cross, const struct cross_dc_settings *settings,
                    const struct identity *identity, uint64_t now,
                    struct outbox *outbox)
{
    struct heartbeat heartbeat = { .from = identity->node,
                                   .created = (int64_t)now };
    struct outbound message = {
        .recipient = slice_text(MEMBER_HEARTBEAT_PATH),
        .sender = slice_text(SENDER_PATH),
        .manifest = slice_text("HB"),
        .serializer = MEMBER_SERIALIZER,
        .stream = STREAM_CONTROL,
        .selection = true,
    };
    struct buf payload = { 0 };

    if (cross->is_active && cross->next_at + settings->interval <= now)
        discount(cross, now - cross->next_at, now);
    miss_first(cross, now);
    if (!cross->is_active || cross->next_at > now)
        return 0;
    cross->next_at = now + settings->interval;
    heartbeat.sequence = ++cross->sequence;
    wire_put_heartbeat(identity, &payload, &heartbeat);
    message.payload = buf_slice(&payload);
    for (uint32_t i = 0; i < cross->peers.count; i++) {
        struct cross_dc_peer *peer = &cross->peers.items[i];

        message.to = profile_node(peer->profile);
        outbox_put(outbox, &message);
        if (!peer->is_monitoring)
            expect_first(&cross->expect, peer->profile,
                         now + settings->expected);
    }
    buf_fini(&payload);
    return cross->peers.count;
}

uint64_t cross_dc_deadline(const struct cross *cross)
{
    uint64_t at = cross->is_active ? cross->next_at : NEVER;
    uint64_t first = expect_deadline(&cross->expect);

    return first < at ? first : at;
}

bool cross_dc_response(struct cross *cross, const struct node_id *node,
                    uint64_t now)
{
    struct cross_dc_peer *peer = find(cross, node);

    if (!peer)
        return false;
    peer->is_monitoring = true;
    peer->heard_at = now;
    return true;
}

bool cross_dc_peer_is_available(const struct cross_dc_peer *peer,
                             const struct cross_dc_settings *settings,
                             uint64_t now)
{
    return !peer->is_monitoring ||
           peer->heard_at + settings->pause + settings->interval > now;
}

bool cross_dc_is_available(const struct cross *cross,
                        const struct cross_dc_settings *settings,
                        const struct node_id *node, uint64_t now)
{
    const struct cross_dc_peer *peer = find(cross, node);

    return !peer || cross_dc_peer_is_available(peer, settings, now);
}
