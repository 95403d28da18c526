/* Sends the gossip: rounds to random members, answers, statuses. */
#include "member/inside.h"

#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"

#define MANY UINT32_C(1000000)
#define TRIES 8 /* draws of a target before candidates are counted */

static void pack(struct member *member)
{
    gossip_receive_take_head(member);
    if (!member->packed.size)
        gossip_cache_put_gossip(member->identity, &member->packed, &member->gossip,
                        &member->head);
}

/* repeats: the next round sends it again. */
static void send_gossip(struct member *member, const struct node_id *to,
                        struct slice path, bool repeats, struct outbox *outbox)
{
    struct buf payload = { 0 };

    pack(member);
    wire_put_envelope(member->identity, &payload, &member->identity->node, to,
                      buf_slice(&member->packed));
    if (repeats)
        member_repeat(member, to, path, STREAM_ORDINARY, "GE", &payload,
                      outbox);
    else
        member_send(member, to, path, "GE", &payload, outbox);
    buf_fini(&payload);
    member->counters.gossip_sent++;
    member_probe(member, PROBE_GOSSIP_SENT, to, 0);
}

void gossip_send_message(struct member *member, const struct node_id *to,
                 struct slice path, struct outbox *outbox)
{
    send_gossip(member, to, path, false, outbox);
}

static const uint8_t *seen_digest(struct member *member)
{
    if (!member->has_digest)
        wire_seen_digest(member->identity, &member->gossip, member->digest);
    member->has_digest = true;
    return member->digest;
}

static void send_status(struct member *member, const struct node_id *to,
                        struct slice path, enum stream stream,
                        struct outbox *outbox)
{
    if (!member->status.size)
        wire_put_status(member->identity, &member->status, &member->identity->node,
                        &member->gossip, seen_digest(member));
    member_repeat(member, to, path, stream, "GS", &member->status, outbox);
    member->counters.status_sent++;
}

void gossip_send_seen(struct member *member, const struct node_id *to,
                      struct slice path, struct outbox *outbox)
{
    if (gossip_digest_form(member, to) == PEER_GOSSIP_DIGEST)
        gossip_digest_send_version(member, to, outbox);
    else
        send_gossip(member, to, path, true, outbox);
}

static void send_reply(struct member *member, const struct reply *reply,
                       struct slice path, struct outbox *outbox)
{
    if (reply->only_seen)
        gossip_send_seen(member, &reply->to, path, outbox);
    else
        send_gossip(member, &reply->to, path, !reply->is_urgent, outbox);
}

/* reply: its path is given. */
static void put_reply(struct member *member, const struct reply *reply)
{
    vec_push(&member->replies, *reply);
    BOUNDED("gossips that wait for the next step", member->replies.count,
            MEMBER_REPLIES_MAX);
}

static bool may_wait(const struct member *member)
{
    return member->gossip.members.count >= GOSSIP_CACHE_MEMBERS_MIN &&
           member->replies.count < MEMBER_REPLIES_MAX;
}

void gossip_send_reply(struct member *member, const struct node_id *to,
                  struct slice path, bool only_seen, struct outbox *outbox)
{
    struct reply reply = { .to = *to, .only_seen = only_seen };

    for (uint32_t i = 0; i < member->replies.count; i++) {
        struct reply *other = &member->replies.items[i];

        if (!node_equal(&other->to, to))
            continue;
        other->only_seen = other->only_seen && only_seen;
        return;
    }
    if (!may_wait(member)) {
        send_reply(member, &reply, path, outbox);
        return;
    }
    buf_put_slice(&reply.path, path);
    put_reply(member, &reply);
}

void gossip_send_later(struct member *member, const struct node_id *to,
                  struct outbox *outbox)
{
    if (member->gossip.members.count < GOSSIP_CACHE_MEMBERS_MIN)
        gossip_send_message(member, to, slice_text(""), outbox);
    else
        vec_push(&member->replies,
                 ((struct reply){ .to = *to, .is_urgent = true }));
}

/* packed: the Welcome; empty: to be made. */
static void send_welcome(struct member *member, const struct node_id *to,
                         struct slice path, struct buf *packed,
                         struct outbox *outbox)
{
    if (!packed->size)
        wire_put_welcome(member->identity, packed, &member->identity->node,
                         &member->gossip);
    member_send(member, to, path, "W", packed, outbox);
}

void gossip_send_welcome(struct member *member, const struct node_id *to,
                    struct slice path, struct outbox *outbox)
{
    struct reply reply = { .to = *to, .is_welcome = true };
    struct buf packed = { 0 };

    if (!may_wait(member)) {
        send_welcome(member, to, path, &packed, outbox);
        buf_fini(&packed);
        return;
    }
    for (uint32_t i = 0; i < member->replies.count; i++)
        if (member->replies.items[i].is_welcome &&
            node_equal(&member->replies.items[i].to, to))
            return;
    buf_put_slice(&reply.path, path);
    put_reply(member, &reply);
}

/* True if one of the next step's replies is a full gossip. */
static bool owes_gossip(const struct member *member)
{
    for (uint32_t i = 0;
         i < member->replies.count && i < MEMBER_REPLIES_OF_STEP; i++) {
        const struct reply *reply = &member->replies.items[i];

        if (reply->is_welcome)
            return false;
        if (!reply->only_seen ||
            gossip_digest_form(member, &reply->to) != PEER_GOSSIP_DIGEST)
            return true;
    }
    return false;
}

bool gossip_send_pack_step(struct member *member)
{
    if (member->packed.size || !owes_gossip(member))
        return false;
    if (!member->brought.packed.size)
        return gossip_cache_make_step(member->identity, &member->gossip,
                              &member->head);
    gossip_receive_take_head(member);
    return true;
}

/* Each reply copies a gossip of a thousand members, so a step has few. It packs only once. */
bool gossip_send_replies(struct member *member, struct outbox *outbox)
{
    struct buf welcome = { 0 };
    uint32_t count = 0;

    while (count < member->replies.count && count < MEMBER_REPLIES_OF_STEP) {
        struct reply *reply = &member->replies.items[count];

        if (count && reply->is_welcome != member->replies.items[0].is_welcome)
            break;
        if (!gossip_find(&member->gossip, &reply->to))
            ; /* no longer a member */
        else if (reply->is_welcome)
            send_welcome(member, &reply->to, buf_slice(&reply->path), &welcome,
                         outbox);
        else
            send_reply(member, reply, buf_slice(&reply->path), outbox);
        buf_fini(&reply->path);
        count++;
    }
    buf_fini(&welcome);
    if (!count)
        return false;
    member->replies.count -= count;
    memmove(member->replies.items, member->replies.items + count,
            member->replies.count * sizeof *member->replies.items);
    return true;
}

void gossip_send_forget_replies(struct member *member)
{
    for (uint32_t i = 0; i < member->replies.count; i++)
        buf_fini(&member->replies.items[i].path);
    member->replies.count = 0;
}

/* A large gossip is offered before it is sent: most members that seem not to have seen it got it
 * from others. A small one is sent at once, which takes one message.
 * A node never met gets the status, unless that is long, and is then known. It goes on control,
 * because the handshake's answer and short messages do. */
static void send_round(struct member *member,
                       const struct gossip_member *target,
                       struct outbox *outbox)
{
    const struct node_id *to = PROFILE_NODE(target->profile);
    enum peer_form form = gossip_digest_form(member, to);
    uint32_t count = member->gossip.members.count;
    bool is_large = count >= GOSSIP_CACHE_MEMBERS_MIN;
    /* Other data centers get only what they ask for, because they are far. */
    bool only_version = target->seen ||
                        !profile_same_center(target->profile, member->self);

    if ((only_version || is_large) && form == PEER_GOSSIP_DIGEST)
        gossip_digest_send_version(member, to, outbox);
    else if (only_version ||
             (is_large && form == PEER_UNKNOWN &&
              member->gossip.clock.entries.count <= count / 2))
        send_status(member, to, slice_text(""),
                    is_large && form == PEER_UNKNOWN ? STREAM_CONTROL
                                                     : STREAM_ORDINARY,
                    outbox);
    else
        send_gossip(member, to, slice_text(""), true, outbox);
}

enum choice { ANY_VIEW, OTHER_VIEW };

/* Possible receivers of a gossip in this data center, with what is equal for all. */
struct candidates {
    const struct gossip_member *own; /* null: not in the gossip */
    bool *unreached; /* by index: this node does not reach it; null: reaches all */
    bool all_near;   /* there is only one data center */
    enum choice choice;
};

static struct candidates candidates_of(const struct member *member,
                                       enum choice choice)
{
    const struct gossip *gossip = &member->gossip;
    const struct observer *observer =
        reachability_observer(&gossip->reachability, &member->identity->node);
    struct candidates among = {
        .own = member_own_entry(member),
        .all_near = !centers_are_several(member),
        .choice = choice,
    };

    if (!observer || !observer->rows.count)
        return among;
    among.unreached = mem_alloc(gossip->members.count);
    for (uint32_t i = 0; i < observer->rows.count; i++) {
        uint32_t at = gossip_index(gossip, observer->rows.items[i].subject);

        if (at < gossip->members.count)
            among.unreached[at] =
                observer->rows.items[i].status != REACHABLE;
    }
    return among;
}

static bool is_candidate(const struct candidates *among,
                         const struct member *member,
                         const struct gossip_member *other)
{
    return (among->choice == ANY_VIEW || !other->seen) && other != among->own &&
           !(among->unreached &&
             among->unreached[other - member->gossip.members.items]) &&
           (among->all_near ||
            profile_same_center(other->profile, member->self));
}

/* A random one; null: none. */
static const struct gossip_member *pick_among(struct member *member,
                                              const struct candidates *among)
{
    uint32_t members = member->gossip.members.count;
    uint32_t count = 0;
    uint64_t chosen;

    /* Nearly all members are candidates, so the first draw usually is one. All are equally
     * likely. */
    for (int tries = 0; among->choice == ANY_VIEW && tries < TRIES; tries++) {
        const struct gossip_member *drawn =
            &member->gossip.members.items[rng_below(&member->rng, members)];

        if (is_candidate(among, member, drawn))
            return drawn;
    }
    for (uint32_t i = 0; i < members; i++)
        count += is_candidate(among, member, &member->gossip.members.items[i]);
    if (!count)
        return NULL;
    chosen = rng_below(&member->rng, count);
    for (uint32_t i = 0; i < members; i++) {
        const struct gossip_member *other = &member->gossip.members.items[i];

        if (is_candidate(among, member, other) && !chosen--)
            return other;
    }
    return NULL;
}

static const struct gossip_member *pick_target(struct member *member,
                                               enum choice choice)
{
    struct candidates among = candidates_of(member, choice);
    const struct gossip_member *picked = pick_among(member, &among);

    mem_free(among.unreached);
    return picked;
}

void gossip_send_to_one(struct member *member, struct outbox *outbox)
{
    const struct member_settings *settings = &member->settings;
    const struct gossip_member *target = NULL;
    double share = spread_share(settings->different_view_percent / 100.0,
                                settings->different_view_reduce,
                                member->gossip.members.count);

    if (member->gossip.members.count < 2)
        return;
    target = centers_round_target(member);
    if (!target && (double)rng_below(&member->rng, MANY) < share * MANY)
        target = pick_target(member, OTHER_VIEW);
    if (!target)
        target = pick_target(member, ANY_VIEW);
    if (!target)
        return;
    send_round(member, target, outbox);
}

void gossip_send_to_some(struct member *member, uint32_t count,
                    struct outbox *outbox)
{
    const struct gossip_member *across = centers_urgent_target(member);
    struct candidates among = candidates_of(member, ANY_VIEW);
    uint32_t left = 0;

    if (across && count) {
        gossip_send_message(member, PROFILE_NODE(across->profile), slice_text(""), outbox);
        count--;
    }
    for (uint32_t i = 0; i < member->gossip.members.count; i++)
        left += is_candidate(&among, member, &member->gossip.members.items[i]);
    for (uint32_t i = 0; i < member->gossip.members.count && count; i++) {
        const struct gossip_member *other = &member->gossip.members.items[i];

        if (!is_candidate(&among, member, other))
            continue;
        /* Each of the rest has the same chance: count of left. */
        if (rng_below(&member->rng, left--) < count) {
            gossip_send_message(member, PROFILE_NODE(other->profile), slice_text(""), outbox);
            count--;
        }
    }
    mem_free(among.unreached);
}

static bool needs_speed(const struct member *member)
{
    return state_needs_speed(&member->gossip, member->self,
                             centers_are_several(member));
}

void gossip_send_step(struct member *member, uint64_t now, struct outbox *outbox)
{
    uint64_t interval = member->settings.gossip_interval_ms * MS;

    if (member->gossip_at <= now) {
        gossip_send_to_one(member, outbox);
        member->gossip_at = now + interval;
        member->extra_count = needs_speed(member) ? 2 : 0;
    } else {
        if (needs_speed(member))
            gossip_send_to_one(member, outbox);
        member->extra_count--;
    }
    member->extra_at = member->extra_count ? now + interval / 3 : NEVER;
}

bool gossip_send_is_from_member(struct member *member, const struct node_id *from)
{
    if (!gossip_find(&member->gossip, from)) {
        member->counters.dropped_no_member++;
        return false;
    }
    if (reachability_by(&member->gossip.reachability, &member->identity->node,
                        from) != REACHABLE) {
        REACHED("a gossip arrives from a member that is unreachable here");
        member->counters.dropped_unreachable++;
        return false;
    }
    member->is_heard = true;
    return true;
}

static bool digests_differ(struct member *member,
                           const struct gossip_status *status)
{
    return status->has_digest && memcmp(status->digest, seen_digest(member),
                                        SEEN_DIGEST_SIZE) != 0;
}

/* The digest of a thousand names costs more than the short answer. While a version spreads, digests
 * mostly differ, so none is made. */
static bool may_differ(struct member *member,
                       const struct gossip_status *status)
{
    bool is_spreading = !member->has_digest &&
                        gossip_seen_count(&member->gossip) <
                            member->gossip.members.count;

    return (is_spreading &&
            member->gossip.members.count >= GOSSIP_CACHE_MEMBERS_MIN) ||
           digests_differ(member, status);
}

static void answer_status(struct member *member,
                          const struct gossip_status *status,
                          const struct inbound *inbound, struct outbox *outbox)
{
    enum clock_order order =
        clock_compare(&status->clock, &member->gossip.clock);

    if (gossip_digest_form(member, &inbound->from) == PEER_GOSSIP_DIGEST) {
        if (order == CLOCK_BEFORE || order == CLOCK_CONCURRENT)
            send_gossip(member, &inbound->from, inbound->sender, true,
                        outbox);
        else if (order == CLOCK_AFTER || may_differ(member, status))
            gossip_digest_send_version(member, &inbound->from, outbox);
        return;
    }
    if (digests_differ(member, status) || order == CLOCK_BEFORE ||
        order == CLOCK_CONCURRENT)
        send_gossip(member, &inbound->from, inbound->sender, true,
                        outbox);
    else if (order == CLOCK_AFTER)
        send_status(member, &inbound->from, inbound->sender, STREAM_ORDINARY,
                    outbox);
}

void gossip_send_receive_status(struct member *member, const struct inbound *inbound,
                           struct outbox *outbox)
{
    struct gossip_status status;
    enum verdict verdict =
        wire_get_status(member->identity, inbound->payload, &status);

    if (verdict == WIRE_HOSTILE || verdict == WIRE_FOREIGN) {
        member->counters.dropped_hostile++;
    } else if (verdict != WIRE_OK) {
        member->counters.dropped_malformed++;
    } else if (!node_equal(&status.from, &inbound->from)) {
        member->counters.dropped_hostile++;
    } else if (gossip_send_is_from_member(member, &status.from)) {
        member->counters.status_received++;
        answer_status(member, &status, inbound, outbox);
    }
    clock_fini(&status.clock);
}

void gossip_send_tell_stats(struct member *member, uint64_t now)
{
    const struct member_counters *counters = &member->counters;
    uint32_t seen = 0, unreachable = 0;

    if (member->stats_at > now)
        return;
    member->stats_at = now + member->settings.stats_interval_ms * MS;
    for (uint32_t i = 0; i < member->gossip.members.count; i++)
        seen += member->gossip.members.items[i].seen;
    for (uint32_t i = 0; i < member->views.count; i++)
        unreachable += !member->views.items[i].reachable;
    trace_put(member->trace, TRACE_INFO, "member",
              "gossip summary members=%u seen-by=%u unreachable=%u clock=%u "
              "received=%llu merged=%llu sent=%llu statuses-received=%llu "
              "statuses-sent=%llu heartbeats=%llu responses=%llu",
              member->gossip.members.count, seen, unreachable,
              member->gossip.clock.entries.count,
              (unsigned long long)counters->gossip_received,
              (unsigned long long)counters->merged,
              (unsigned long long)counters->gossip_sent,
              (unsigned long long)counters->status_received,
              (unsigned long long)counters->status_sent,
              (unsigned long long)counters->heartbeat_sent,
              (unsigned long long)counters->response_received);
}
