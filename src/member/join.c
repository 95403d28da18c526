/* Joins a cluster: the joiner's request and its Welcome, and the member that accepts it. */
#include "member/inside.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "member/gossip_pack.h"

#define LARGE_SIZE (8 * 1024) /* inflated bytes above which reading has a step of its own */

static void unreadable(struct member *member, enum verdict verdict,
                       const char *what, const struct node_id *from)
{
    if (verdict == WIRE_BEYOND)
        member_cannot_read(member, verdict, what, from);
    else
        member->counters.dropped_malformed++;
}

static void stay_outside(struct member *member)
{
    member->phase = PHASE_OUTSIDE;
    member->join_peer = (struct address){ 0 }; /* ignores a late Welcome */
    member->retry_at = member->give_up_at = NEVER;
}

void member_join_no_more(struct member *member)
{
    if (member->phase != PHASE_SEEDING && member->phase != PHASE_JOINING)
        return;
    stay_outside(member);
    gossip_receive_forget(member); /* a waiting Welcome */
}

static void end_joining(struct member *member, const char *reason,
                        bool is_refused)
{
    stay_outside(member);
    member->news.gave_up = !is_refused;
    buf_clear(&member->news.refusal);
    buf_put_text(&member->news.refusal, reason);
    buf_put_u8(&member->news.refusal, 0);
    member->news.refused = true;
    member->is_dirty = true;
    trace_put(member->trace, TRACE_ERROR, "member", "not joining reason=\"%s\" "
              "hint=\"remove the reason, then start this node again\"",
              reason);
}

void join_refuse(struct member *member, const char *reason)
{
    end_joining(member, reason, true);
}

void join_give_up(struct member *member, const char *reason)
{
    end_joining(member, reason, false);
}

static void send_join(struct member *member, uint64_t now,
                      struct outbox *outbox)
{
    struct node_id to = { member->join_peer, 0 };
    struct buf payload = { 0 };

    wire_put_join(member->identity, &payload, member->self);
    member_send(member, &to, slice_text(""), "J", &payload, outbox);
    buf_fini(&payload);
    member->retry_at = now + member->settings.join_retry_ms * MS;
}

/* Until it asks for a welcome again: retry-unsuccessful-join-after. */
static unsigned long long seconds_to_retry(const struct member *member,
                                           uint64_t now)
{
    return (unsigned long long)((member->retry_at - now) / SECOND);
}

static void add_member(struct member *member, struct profile *profile)
{
    (void)gossip_add(&member->gossip, profile, MEMBER_JOINING, UP_NUMBER_NONE);
    member_gossip_changed(member);
    hurry_change(member);
}

static void forget_gossip(struct member *member)
{
    gossip_fini(&member->gossip);
    member->gossip = (struct gossip){ 0 };
}

/* Founds a cluster of one. The first member becomes up at once, so that the oldest is certain. */
static void found_cluster(struct member *member, uint64_t now,
                          struct outbox *outbox)
{
    forget_gossip(member); /* of a cluster of one that it was about to leave */
    gossip_receive_forget(member);
    member_become_inside(member, now);
    member_probe(member, PROBE_CLUSTER_FOUNDED, &member->identity->node, 0);
    add_member(member, member->self);
    member_settle(member, now);
    leader_act(member, now, outbox);
    trace_put(member->trace, member->info_level, "member", "cluster founded by this node");
}

bool join_may_move(const struct member *member, const struct address *address)
{
    const struct gossip_member *own = member_own_entry(member);

    return member->phase == PHASE_INSIDE && !member->is_preparing &&
           member->gossip.members.count == 1 && own &&
           (own->status == MEMBER_UP || own->status == MEMBER_JOINING) &&
           !kept_address_equal(member->self->address, address);
}

/* From here on it is in no cluster, so that no node joins one that is about to end. Its state stays
 * visible until the Welcome. */
static void leave_cluster_of_one(struct member *member)
{
    member->gossip_at = member->extra_at = member->leader_at = NEVER;
    member->reaper_at = member->heart.next_at = NEVER;
    member->extra_count = 0;
    joiners_forget(member);
    member->confirmed.count = member->refusers.count = 0;
}

void join_address(struct member *member, uint64_t now,
                  const struct address *address, bool by_seeds,
                  struct outbox *outbox)
{
    char text[ADDRESS_TEXT_MAX];

    if (member->phase == PHASE_INSIDE)
        leave_cluster_of_one(member);
    gossip_receive_forget(member); /* read for another peer or cluster */
    member->join_peer = *address;
    member->is_by_seeds = by_seeds;
    if (kept_address_equal(member->self->address, address)) {
        found_cluster(member, now, outbox);
        return;
    }
    member->phase = PHASE_JOINING;
    send_join(member, now, outbox);
    trace_put(member->trace, member->info_level, "member",
              "joining contact=%s next_try_s=%llu",
              address_text(address, text, sizeof text),
              seconds_to_retry(member, now));
}

static void ask_again(struct member *member, uint64_t now,
                      struct outbox *outbox)
{
    char text[ADDRESS_TEXT_MAX];

    send_join(member, now, outbox);
    trace_put(member->trace, TRACE_WARNING, "member",
              "no welcome yet contact=%s next_try_s=%llu "
              "key=cluster.retry-unsuccessful-join-after "
              "hint=\"see the lines of module link; the contact must be a "
              "member of %s\"",
              address_text(&member->join_peer, text, sizeof text),
              seconds_to_retry(member, now), member->identity->system);
}

void join_step(struct member *member, uint64_t now, struct outbox *outbox)
{
    if (member->give_up_at <= now)
        join_give_up(member, "The member that was asked sent no welcome in "
                             "time.");
    else if (member->retry_at > now)
        return;
    else if (member->is_by_seeds)
        seeds_start(member, now, outbox);
    else
        ask_again(member, now, outbox);
}

/* Another incarnation at a member's address: the process was restarted, so the old incarnation is
 * dead. */
static void replace(struct member *member, struct gossip_member *old,
                    struct outbox *outbox)
{
    const struct address address = address_again(old->profile->address);
    const struct gossip_member *own = member_own_entry(member);

    if (old->status == MEMBER_DOWN || old == own)
        return;
    if (own && reachability_change(&member->gossip.reachability, own->profile,
                                   old->profile, TERMINATED))
        member_gossip_changed(member);
    (void)leave_down_address(member, &address, PROBE_DOWN_REPLACED,
                             outbox); /* the member exists */
}

/* path: of the request's sender. */
static void accept(struct member *member, struct profile *profile,
                   struct slice path, struct outbox *outbox)
{
    char text[ADDRESS_TEXT_MAX];

    if (member->gossip.members.count >= GOSSIP_MEMBERS_MAX ||
        gossip_is_tombstoned(&member->gossip, PROFILE_NODE(profile))) {
        member->counters.dropped_full++;
        return;
    }
    add_member(member, profile);
    gossip_send_welcome(member, PROFILE_NODE(profile), path, outbox);
    trace_put(member->trace, member->info_level, "member",
              "member joins member=%s",
              kept_address_text(profile->address, text, sizeof text));
}

static void take_in(struct member *member, uint64_t now,
                    struct profile *profile, const struct inbound *inbound,
                    struct outbox *outbox)
{
    struct gossip_member *known =
        gossip_find_address(&member->gossip, &PROFILE_NODE(profile)->address);

    if (gossip_find(&member->gossip, PROFILE_NODE(profile))) {
        /* the first was lost */
        gossip_send_welcome(member, &inbound->from, inbound->sender, outbox);
    } else if (known) {
        joiners_keep(member, now, profile, inbound->sender);
        /* an exiting one has probably confirmed that it ended, and is removed soon */
        if (known->status != MEMBER_EXITING)
            replace(member, known, outbox);
    } else {
        accept(member, profile, inbound->sender, outbox);
    }
}

static bool accepts(const struct member *member)
{
    const struct gossip_member *own = member_own_entry(member);

    return !member->is_preparing && own && own->status != MEMBER_DOWN &&
           own->status != MEMBER_EXITING;
}

void join_accept_step(struct member *member, uint64_t now,
                      struct outbox *outbox)
{
    struct joiner joiner;

    while ((joiner = joiners_take(member, now)).profile) {
        struct gossip_member *known = gossip_find_address(
            &member->gossip, &PROFILE_NODE(joiner.profile)->address);

        if (!accepts(member))
            ; /* the joiner asks again, perhaps another member */
        else if (!known)
            accept(member, joiner.profile, buf_slice(&joiner.path), outbox);
        else if (now < joiner.until) {
            REACHED("an exiting member is downed: its address has a new node");
            joiners_keep(member, now, joiner.profile, buf_slice(&joiner.path));
            replace(member, known, outbox);
        }
        profile_drop(joiner.profile);
        buf_fini(&joiner.path);
    }
}

/* The joiner gets no answer and asks again. */
static void ignore(struct member *member, const struct node_id *joiner)
{
    char text[ADDRESS_TEXT_MAX];

    member->counters.dropped_state++;
    trace_put(member->trace, member->info_level, "member",
              "join ignored: %s peer=%s",
              member->is_preparing
                  ? "the cluster shuts down"
                  : "this node leaves, the joiner must ask another member",
              address_text(&joiner->address, text, sizeof text));
}

void join_receive(struct member *member, uint64_t now,
                  const struct inbound *inbound, struct outbox *outbox)
{
    struct profile *profile = NULL;
    enum verdict verdict =
        wire_get_join(member->identity, inbound->payload, &profile);

    leave_follow_preparation(member, outbox);
    if (verdict != WIRE_OK)
        unreadable(member, verdict, "request to join", &inbound->from);
    else if (!inbound->sender.size ||
             !profile_is(profile, &inbound->from) ||
             profile_is(profile, &member->identity->node))
        member->counters.dropped_hostile++;
    else if (!accepts(member))
        ignore(member, PROFILE_NODE(profile));
    else {
        member->counters.join_received++;
        take_in(member, now, profile, inbound, outbox);
    }
    profile_drop(profile);
}

bool join_crosses(const struct member *member, const struct inbound *inbound)
{
    return member->phase == PHASE_JOINING && member->gossip.members.count &&
           address_equal(&inbound->from.address, &member->join_peer) &&
           kept_address_compare(member->self->address, &member->join_peer) < 0;
}

void join_receive_crossing(struct member *member, uint64_t now,
                           const struct inbound *inbound,
                           struct outbox *outbox)
{
    member->join_peer = (struct address){ 0 };
    found_cluster(member, now, outbox);
    join_receive(member, now, inbound, outbox);
}

/* True if a Welcome shows this node as new: without anything that only this node may change. */
static bool is_own_welcome(const struct member *member,
                           const struct gossip *gossip,
                           const struct node_id *from)
{
    const struct gossip_member *own = gossip_find(gossip, &member->identity->node);

    return own && gossip_find(gossip, from) &&
           !clock_get(&gossip->clock, &member->self->key) &&
           !reachability_observer(&gossip->reachability, &member->identity->node);
}

/* One of the other members that are up and reachable here, or null. */
static const struct gossip_member *any_up(struct member *member)
{
    const struct gossip *gossip = &member->gossip;
    const struct gossip_member *chosen = NULL;
    uint64_t count = 0;

    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct gossip_member *other = &gossip->members.items[i];
        const struct node_id node = profile_node(other->profile);

        if (other->status == MEMBER_UP && other->profile != member->self &&
            reachability_by(&gossip->reachability, &member->identity->node,
                            &node) == REACHABLE &&
            !rng_below(&member->rng, ++count))
            chosen = other;
    }
    return chosen;
}

void join_again_step(struct member *member, uint64_t now,
                     struct outbox *outbox)
{
    const struct gossip_member *own = member_own_entry(member);
    const struct gossip_member *other = NULL;

    if (member->retry_at > now)
        return;
    member->retry_at = NEVER;
    if (!own || own->status != MEMBER_JOINING)
        return;
    if (!member->is_heard)
        other = any_up(member);
    if (other) {
        REACHED("a joining node is unknown to the members, and asks again");
        member->join_peer = address_again(other->profile->address);
        ask_again(member, now, outbox);
    }
    member->is_heard = false;
    member->retry_at = now + member->settings.join_retry_ms * MS;
}

/* Takes the gossip as ours, seen by us. */
static void enter(struct member *member, uint64_t now, struct gossip *gossip,
                  const struct inbound *inbound, struct outbox *outbox)
{
    char text[ADDRESS_TEXT_MAX];

    check(member->phase != PHASE_INSIDE);
    forget_gossip(member);
    member->gossip = *gossip;
    *gossip = (struct gossip){ 0 };
    member_become_inside(member, now);
    member->is_heard = false;
    member->retry_at = now + member->settings.join_retry_ms * MS;
    member_probe(member, PROBE_CLUSTER_JOINED, &inbound->from, 0);
    member_own_entry(member)->seen = true;
    member_gossip_replaced(member);
    gossip_send_seen(member, &inbound->from, inbound->sender, outbox);
    trace_put(member->trace, member->info_level, "member",
              "welcomed by=%s members=%u",
              address_text(&inbound->from.address, text, sizeof text),
              member->gossip.members.count);
}

static void enter_first(struct member *member, uint64_t now,
                        struct outbox *outbox)
{
    struct waiting *first = &member->waiting.items[0];
    const struct inbound inbound = { .from = first->from,
                                     .sender = buf_slice(&first->path) };

    enter(member, now, &first->gossip, &inbound, outbox);
    gossip_receive_forget(member);
}

/* Reads a newcomer's Welcome or gossip. False: cannot be read, or is not for it. */
static bool read_first(struct member *member)
{
    struct waiting *first = &member->waiting.items[0];
    struct slice bytes = buf_slice(&first->bytes);
    struct node_id from = first->from;
    struct gossip known = { 0 };
    enum verdict verdict;

    (void)gossip_add(&known, member->self, MEMBER_JOINING, UP_NUMBER_NONE);
    verdict = first->is_welcome
                  ? wire_read_welcome(member->identity, bytes, &known, &from,
                                      &first->gossip)
                  : wire_read_gossip(member->identity, bytes, &known,
                                     &first->gossip);
    gossip_fini(&known);
    if (verdict != WIRE_OK)
        unreadable(member, verdict, "gossip", &first->from);
    else if (!node_equal(&from, &first->from) ||
             !is_own_welcome(member, &first->gossip, &from))
        member->counters.dropped_hostile++;
    else
        first->is_read = true;
    return first->is_read;
}

void join_enter_step(struct member *member, uint64_t now,
                     struct outbox *outbox)
{
    if (member->phase != PHASE_JOINING && member->phase != PHASE_SEEDING)
        gossip_receive_forget(member);
    else if (member->waiting.items[0].is_read)
        enter_first(member, now, outbox);
    else if (!read_first(member))
        gossip_receive_forget(member);
}

/* Each part of a large one takes long: this step unpacks it, the next reads it, the one after
 * enters by it. */
static void consider(struct member *member, uint64_t now, bool is_welcome,
                     struct slice packed, const struct inbound *inbound,
                     struct outbox *outbox)
{
    struct waiting came = { .from = inbound->from, .is_welcome = is_welcome };
    bool is_large;

    if (!gossip_pack_inflate(&came.bytes, packed)) {
        buf_fini(&came.bytes);
        unreadable(member, WIRE_MALFORMED, "gossip", &inbound->from);
        return;
    }
    is_large = came.bytes.size >= LARGE_SIZE;
    buf_put_slice(&came.path, inbound->sender);
    vec_push(&member->waiting, came);
    if (is_large)
        return;
    if (!read_first(member))
        gossip_receive_forget(member);
    else if (member->waiting.items[0].gossip.members.count < GOSSIP_CACHE_MEMBERS_MIN)
        enter_first(member, now, outbox);
}

void welcome_receive(struct member *member, uint64_t now,
                     const struct inbound *inbound, struct outbox *outbox)
{
    if (member->phase == PHASE_INSIDE || member->waiting.count ||
        !address_equal(&inbound->from.address, &member->join_peer)) {
        member->counters.dropped_state++;
        return;
    }
    consider(member, now, true, inbound->payload, inbound, outbox);
}

void join_receive_gossip(struct member *member, uint64_t now,
                         const struct inbound *inbound, struct outbox *outbox)
{
    struct buf packed = { 0 };
    struct node_id from;
    struct node_id to;
    enum verdict verdict = wire_get_envelope(member->identity, inbound->payload,
                                             &from, &to, &packed);

    if (verdict == WIRE_OK && !node_equal(&to, &member->identity->node))
        member->counters.dropped_misdirected++;
    else if (member->waiting.count)
        member->counters.dropped_state++;
    else if (verdict != WIRE_OK)
        unreadable(member, verdict, "gossip", &inbound->from);
    else if (!node_equal(&from, &inbound->from))
        member->counters.dropped_hostile++;
    else
        consider(member, now, false, buf_slice(&packed), inbound, outbox);
    buf_fini(&packed);
}
