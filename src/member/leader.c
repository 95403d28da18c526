/* Does the leader's actions after convergence, and checks the failure detectors. */
#include "member/inside.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"

/* The leader's changes of one version. */
struct action {
    VEC(struct node_id) removed;
    VEC(struct profile *) exiting; /* held by the gossip */
    VEC(struct profile *) moved;   /* likewise; up or exiting now */
    bool changed;
};

static bool is_confirmed(const struct member *member,
                         const struct profile *profile)
{
    for (uint32_t i = 0; i < member->confirmed.count; i++)
        if (profile_is(profile, &member->confirmed.items[i]))
            return true;
    return false;
}

/* The state before an action, for its probe. */
struct evidence {
    VEC(struct probe_evidence) items;
    uint64_t version; /* a hash */
};

static void evidence_begin(const struct member *member,
                           struct evidence *evidence)
{
    const struct gossip *gossip = &member->gossip;
    uint8_t *all;
    uint8_t *trusted;

    if (!member->settings.probes)
        return;
    evidence->version = fact_hash_version(&gossip->clock);
    all = state_reach(gossip, member->self, ALL_OBSERVERS);
    trusted = state_reach(gossip, member->self, OBSERVERS_NOT_DOWN);
    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct gossip_member *other = &gossip->members.items[i];
        struct probe_evidence item = {
            .uid = other->profile->uid,
            .status = (uint8_t)other->status,
            .seen = other->seen,
            .reachable = all[i] == REACHABLE,
            .trusted = trusted[i] == REACHABLE,
            .confirmed = is_confirmed(member, other->profile),
            .is_far = !profile_same_center(other->profile, member->self),
        };

        vec_push(&evidence->items, item);
    }
    mem_free(all);
    mem_free(trusted);
}

/* Both lists are in the gossip's order; the second lacks removed members. */
static void evidence_end(struct member *member, struct evidence *evidence,
                         bool changed, bool converged)
{
    const struct gossip *gossip = &member->gossip;
    struct probe probe = { .kind = PROBE_LEADER_ACTED,
                           .type = PROBE_TYPE_NONE,
                           .node = profile_node(member->self),
                           .first = !converged,
                           .second = evidence->version };
    uint32_t at = 0;

    for (uint32_t i = 0; changed && i < evidence->items.count; i++) {
        struct probe_evidence *item = &evidence->items.items[i];
        const struct gossip_member *other = &gossip->members.items[at];

        item->after = MEMBER_REMOVED;
        if (at < gossip->members.count &&
            other->profile->uid == item->uid) {
            item->after = (uint8_t)other->status;
            at++;
        }
    }
    probe.bytes = slice_of(evidence->items.items,
                           evidence->items.count * sizeof *evidence->items.items);
    if (changed)
        probes_put(member->settings.probes, &probe);
    vec_fini(&evidence->items);
}

static bool enough_members(const struct member *member)
{
    const struct member_settings *settings = &member->settings;
    const struct gossip *gossip = &member->gossip;

    if (gossip->members.count < settings->min_members)
        return false;
    for (uint32_t i = 0; i < settings->role_minimum_count; i++) {
        const struct member_role_minimum *minimum = &settings->role_minimums[i];
        uint32_t count = 0;

        for (uint32_t k = 0; k < gossip->members.count; k++)
            count += profile_has_role(gossip->members.items[k].profile,
                                      minimum->role);
        if (count < minimum->count)
            return false;
    }
    return true;
}

/* The largest up number of the data center. Numbers of removed members may return. */
static int32_t last_up_number(const struct member *member)
{
    int32_t last = 0;

    for (uint32_t i = 0; i < member->gossip.members.count; i++) {
        const struct gossip_member *other = &member->gossip.members.items[i];

        if (profile_same_center(other->profile, member->self) &&
            other->up_number != UP_NUMBER_NONE && other->up_number > last)
            last = other->up_number;
    }
    return last;
}

static void find_removed(const struct member *member, struct action *action)
{
    const struct gossip *gossip = &member->gossip;
    uint8_t *reach = state_reach(gossip, member->self, ALL_OBSERVERS);

    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct gossip_member *other = &gossip->members.items[i];
        bool ours = profile_same_center(other->profile, member->self);
        bool is_going =
            other->status == MEMBER_DOWN || other->status == MEMBER_EXITING;

        if (!is_going || profile_same(other->profile, member->self))
            continue;
        if (!ours || reach[i] != REACHABLE ||
            (other->status == MEMBER_EXITING &&
             is_confirmed(member, other->profile)))
            vec_push(&action->removed, profile_node(other->profile));
    }
    mem_free(reach);
}

static void trace_moved(struct member *member,
                        const struct gossip_member *other)
{
    char text[ADDRESS_TEXT_MAX];

    trace_put(member->trace, member->info_level, "member",
              "leader moves member=%s status=%s",
              kept_address_text(other->profile->address, text, sizeof text),
              member_status_text(other->status));
}

static void move_members(struct member *member, struct action *action)
{
    bool may_rise = !member->is_preparing && enough_members(member);
    int32_t number = last_up_number(member);

    for (uint32_t i = 0; i < member->gossip.members.count; i++) {
        struct gossip_member *other = &member->gossip.members.items[i];
        enum member_status status = other->status;

        if (!profile_same_center(other->profile, member->self))
            continue;
        if ((status == MEMBER_JOINING || status == MEMBER_WEAKLY_UP) &&
            may_rise) {
            other->status = MEMBER_UP;
            other->up_number = ++number;
            vec_push(&action->moved, other->profile);
        } else if (status == MEMBER_LEAVING) {
            other->status = MEMBER_EXITING;
            vec_push(&action->exiting, other->profile);
            vec_push(&action->moved, other->profile);
        } else if (status == MEMBER_PREPARING_FOR_SHUTDOWN) {
            other->status = MEMBER_READY_FOR_SHUTDOWN;
        }
        if (status == other->status)
            continue;
        action->changed = true;
        trace_moved(member, other);
    }
}

static void send_to_oldest(struct member *member, const char *role,
                           struct outbox *outbox)
{
    const struct gossip_member *oldest[2];
    uint32_t count =
        state_two_oldest(&member->gossip, member->self, role, oldest);

    for (uint32_t i = 0; i < count; i++)
        if (state_is_target(&member->gossip, member->self, oldest[i]))
            gossip_send_message(member, PROFILE_NODE(oldest[i]->profile), slice_text(""),
                        outbox);
}

/* Nodes that take over singletons must soon know of exiting members: the two oldest, in all and of
 * each role that loses a member. */
static void hurry_exiting(struct member *member, const struct action *action,
                          struct outbox *outbox)
{
    struct { /* roles done; few */
        VEC(const char *) items;
    } done = { { 0 } };

    send_to_oldest(member, NULL, outbox);
    for (uint32_t i = 0; i < action->exiting.count; i++) {
        const struct profile *profile = action->exiting.items[i];

        for (uint32_t k = 0; k < profile->traits->role_count; k++) {
            const char *role = profile->traits->roles[k];
            bool again = strncmp(role, "dc-", 3) == 0;

            for (uint32_t m = 0; m < done.items.count && !again; m++)
                again = strcmp(done.items.items[m], role) == 0;
            if (again)
                continue;
            vec_push(&done.items, role);
            send_to_oldest(member, role, outbox);
        }
    }
    vec_fini(&done.items);
}

static void trace_removed(struct member *member, const struct node_id *node)
{
    const struct gossip_member *other = gossip_find(&member->gossip, node);
    char text[ADDRESS_TEXT_MAX];

    trace_put(member->trace, member->info_level, "member",
              "leader removes member=%s status=%s confirmed=%s",
              address_text(&node->address, text, sizeof text),
              member_status_text(other->status),
              is_confirmed(member, other->profile) ? "yes" : "no");
}

static bool may_move(const struct member *member, enum member_status status)
{
    switch (status) {
    case MEMBER_JOINING:
    case MEMBER_WEAKLY_UP:
        return !member->is_preparing && enough_members(member);
    case MEMBER_LEAVING:
    case MEMBER_PREPARING_FOR_SHUTDOWN:
        return true;
    case MEMBER_UP:
    case MEMBER_EXITING:
    case MEMBER_DOWN:
    case MEMBER_REMOVED:
    case MEMBER_READY_FOR_SHUTDOWN:
        break;
    }
    return false;
}

bool leader_has_work(const struct member *member)
{
    struct action action = { .changed = false };
    bool has_work;

    find_removed(member, &action);
    has_work = action.removed.count > 0;
    vec_fini(&action.removed);
    for (uint32_t i = 0; i < member->gossip.members.count && !has_work; i++) {
        const struct gossip_member *other = &member->gossip.members.items[i];

        has_work = profile_same_center(other->profile, member->self) &&
                   may_move(member, other->status);
    }
    return has_work;
}

/* Sends the gossip to the members that wait for it: they are up or exiting now. */
static void tell_moved(struct member *member, const struct action *action,
                       struct outbox *outbox)
{
    for (uint32_t i = 0; i < action->moved.count && i < MEMBER_REPLIES_OF_STEP;
         i++) {
        const struct gossip_member *other =
            gossip_find_profile(&member->gossip, action->moved.items[i]);

        if (other && state_is_target(&member->gossip, member->self, other))
            gossip_send_later(member, PROFILE_NODE(other->profile), outbox);
    }
}

/* In a small cluster all get the gossip at once. */
static void tell_changes(struct member *member, const struct action *action,
                         struct outbox *outbox)
{
    bool reaches_all = member->gossip.members.count <= HURRIED_COUNT + 1;

    hurry_change(member);
    if (reaches_all && member->hurry == HURRY_SPREAD)
        return;
    if (action->exiting.count)
        hurry_exiting(member, action, outbox);
    if (!member->settings.waits_for_rounds)
        tell_moved(member, action, outbox);
}

void leader_act(struct member *member, uint64_t now, struct outbox *outbox)
{
    struct action action = { .changed = false };
    struct evidence evidence = { .version = 0 };
    const struct gossip_member *own;

    evidence_begin(member, &evidence);
    find_removed(member, &action);
    move_members(member, &action);
    for (uint32_t i = 0; i < action.removed.count; i++)
        trace_removed(member, &action.removed.items[i]);
    action.changed |= gossip_remove_all(&member->gossip, action.removed.items,
                                        action.removed.count,
                                        member->wall_ms) != 0;
    evidence_end(member, &evidence, action.changed, true);
    if (gossip_prune_tombstones(&member->gossip, member->wall_ms,
                                member->settings.tombstone_ttl_ms)) {
        action.changed = true;
        member_probe(member, PROBE_TOMBSTONES_DROPPED, &member->identity->node, 0);
    }
    own = member_own_entry(member);
    /* Before the version is made, because an exiting node does not mark it as seen. */
    SOMETIMES("the leader makes itself exiting",
              own && own->status == MEMBER_EXITING);
    SOMETIMES("the leader removes a member", action.removed.count > 0);
    SOMETIMES("the leader removes several members", action.removed.count > 1);
    if (own && own->status == MEMBER_EXITING && !member->is_exiting)
        leave_begin_exiting(member);
    if (action.changed) {
        member_gossip_changed(member);
        tell_changes(member, &action, outbox);
        member_settle(member, now);
    }
    vec_fini(&action.removed);
    vec_fini(&action.exiting);
    vec_fini(&action.moved);
}

/* After a long time without convergence, reachable joining members become weakly up. */
static void raise_weakly(struct member *member)
{
    struct evidence evidence = { .version = 0 };
    uint8_t *reach;
    bool changed = false;

    if (member->settings.weakly_up_off || member->is_preparing ||
        (uint64_t)member->unconverged * member->settings.leader_interval_ms <
            member->settings.weakly_up_after_ms ||
        !enough_members(member))
        return;
    evidence_begin(member, &evidence);
    reach = state_reach(&member->gossip, member->self, OBSERVERS_NOT_DOWN);
    for (uint32_t i = 0; i < member->gossip.members.count; i++) {
        struct gossip_member *other = &member->gossip.members.items[i];

        if (other->status != MEMBER_JOINING || reach[i] != REACHABLE ||
            !profile_same_center(other->profile, member->self))
            continue;
        REACHED("a joining member is weakly up");
        other->status = MEMBER_WEAKLY_UP;
        trace_moved(member, other);
        changed = true;
    }
    mem_free(reach);
    evidence_end(member, &evidence, changed, false);
    if (changed)
        member_gossip_changed(member);
}

static void lead(struct member *member, uint64_t now, struct outbox *outbox)
{
    if (member_is_converged(member)) {
        member->unconverged = 0;
        leader_act(member, now, outbox);
        return;
    }
    member->unconverged++;
    SOMETIMES("the leader could not act for a minute",
              member->unconverged == 60);
    if (member->unconverged == 20 || member->unconverged % 60 == 0)
        trace_put(member->trace, member->info_level, "member",
                  "leader cannot act: no convergence, not all reachable "
                  "members have seen the gossip ticks=%u seen=%u members=%u",
                  member->unconverged, gossip_seen_count(&member->gossip),
                  member->gossip.members.count);
    raise_weakly(member);
}

static void forget_confirmed(struct member *member)
{
    for (uint32_t i = member->confirmed.count; i-- > 0;)
        if (!gossip_find(&member->gossip, &member->confirmed.items[i]))
            vec_remove(&member->confirmed, i);
}

void leader_step(struct member *member, uint64_t now, struct outbox *outbox)
{
    member->leader_at = now + member->settings.leader_interval_ms * MS;
    member->leads_early = false;
    leave_follow_preparation(member, outbox);
    if (member_is_leader(member))
        lead(member, now, outbox);
    forget_confirmed(member);
    leave_check_down(member, outbox);
    leave_check_refused(member);
}

/* An exiting member ends soon: no warning. */
static void trace_reach(struct member *member, const struct profile *subject,
                        enum reach status)
{
    const struct gossip_member *peer =
        gossip_find_profile(&member->gossip, subject);
    bool ends = peer && peer->status == MEMBER_EXITING;
    char text[ADDRESS_TEXT_MAX];

    (void)kept_address_text(subject->address, text, sizeof text);
    if (status == REACHABLE)
        trace_put(member->trace, member->info_level, "member",
                  "member reachable again member=%s", text);
    else
        trace_put(member->trace, ends ? member->info_level : TRACE_WARNING,
                  "member",
                  "member unreachable member=%s hint=\"check that node and the network\"",
                  text);
}

/* Adds one observation to the table. False: nothing changes. */
static bool observe(struct member *member, struct profile *observer,
                    struct profile *subject, enum reach status)
{
    if (!reachability_change(&member->gossip.reachability, observer, subject,
                             status))
        return false;
    trace_reach(member, subject, status);
    return true;
}

static bool is_available(const struct member *member,
                         const struct profile *other, uint64_t now)
{
    return profile_same_center(other, member->self)
               ? heart_is_available(&member->heart, &member->heart_settings,
                                    PROFILE_NODE(other), now)
               : cross_dc_is_available(&member->cross, &member->cross_dc_settings,
                                    PROFILE_NODE(other), now);
}

/* Observes as reachable those that answer again, and those that this node no longer monitors. */
static bool observe_returned(struct member *member, struct profile *self,
                             uint64_t now)
{
    const struct observer *own =
        reachability_observer(&member->gossip.reachability, PROFILE_NODE(self));
    VEC(struct profile *) returned = { 0 };
    bool changed = false;

    for (uint32_t i = 0; own && i < own->rows.count; i++)
        if (own->rows.items[i].status == UNREACHABLE &&
            is_available(member, own->rows.items[i].subject, now))
            vec_push(&returned, profile_hold(own->rows.items[i].subject));
    for (uint32_t i = 0; i < returned.count; i++) {
        REACHED("an unreachable member answers again");
        changed |= observe(member, self, returned.items[i], REACHABLE);
        profile_drop(returned.items[i]);
    }
    vec_fini(&returned);
    return changed;
}

void reaper_step(struct member *member, uint64_t now)
{
    const struct gossip_member *own = member_own_entry(member);
    bool changed = false;

    member->reaper_at = now + member->settings.reaper_interval_ms * MS;
    if (!own || member->gossip.members.count < 2)
        return;
    for (uint32_t i = 0; i < member->heart.peers.count; i++) {
        const struct heartbeat_peer *peer = &member->heart.peers.items[i];

        /* Terminated and unreachable members stay so. */
        if (!phi_is_available(&peer->phi, &member->heart_settings.phi, now))
            changed |=
                observe(member, own->profile, peer->profile, UNREACHABLE);
    }
    for (uint32_t i = 0; i < member->cross.peers.count; i++) {
        const struct cross_dc_peer *peer = &member->cross.peers.items[i];

        if (!cross_dc_peer_is_available(peer, &member->cross_dc_settings, now))
            changed |=
                observe(member, own->profile, peer->profile, UNREACHABLE);
    }
    changed |= observe_returned(member, own->profile, now);
    if (changed)
        member_gossip_changed(member);
}
