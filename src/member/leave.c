/* Leaves and downs members: leaving with a hand-over, downing, full shutdown. */
#include "member/inside.h"

#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"

#define NEWS_SPREAD                                                            \
    5 /* members that get news of this node's end at once */
#define DOWN_CHECKS_MAX                                                        \
    4 /* leader intervals that a downed node waits for others */

/* Asks the leader to make this node leaving during a full shutdown. All may leave at once, and
 * ready for shutdown wins over leaving in a merge, so their own changes would undo each other.
 * False: not in that case, or this node leads. */
static bool asks_leader(struct member *member,
                        const struct gossip_member *leaving,
                        struct outbox *outbox)
{
    const struct node_id leader = member->leader;
    struct buf payload = { 0 };

    if (!member->is_preparing || !leader.uid ||
        !profile_same(leaving->profile, member->self) ||
        profile_is(member->self, &leader))
        return false;
    wire_put_address(member->identity, &payload, &member->identity->node.address);
    member_send(member, &leader, slice_text(""), "L", &payload, outbox);
    buf_fini(&payload);
    return true;
}

bool leave_address(struct member *member, const struct address *address,
                   struct outbox *outbox)
{
    struct gossip_member *found = gossip_find_address(&member->gossip, address);
    char text[ADDRESS_TEXT_MAX];

    if (!found || !member_status_may_change(found->status, MEMBER_LEAVING))
        return false;
    if (asks_leader(member, found, outbox))
        return true;
    found->status = MEMBER_LEAVING;
    member_gossip_changed(member);
    hurry_change(member);
    trace_put(member->trace, member->info_level, "member",
              "member leaves member=%s",
              address_text(address, text, sizeof text));
    if (member->hurry != HURRY_SPREAD)
        gossip_send_to_one(member, outbox);
    return true;
}

static void set_down(struct member *member, struct gossip_member *found,
                     enum probe_down why)
{
    const struct node_id *node = PROFILE_NODE(found->profile);
    char text[ADDRESS_TEXT_MAX];

    found->status = MEMBER_DOWN;
    member_probe(member, PROBE_MEMBER_DOWNED, node, why);
    trace_put(member->trace, TRACE_WARNING, "member",
              "member downed member=%s "
              "hint=\"start that node again when it can be reached\"",
              address_text(&node->address, text, sizeof text));
}

bool leave_down_address(struct member *member, const struct address *address,
                        enum probe_down why, struct outbox *outbox)
{
    struct gossip_member *found = gossip_find_address(&member->gossip, address);
    struct node_id node;

    if (!found)
        return false;
    if (found->status == MEMBER_DOWN)
        return true;
    node = profile_node(found->profile);
    set_down(member, found, why);
    member_gossip_changed(member);
    hurry_change(member);
    if (node_equal(&node, &member->identity->node))
        gossip_send_to_some(member, NEWS_SPREAD, outbox);
    else if (state_is_target(&member->gossip, member->self, found))
        gossip_send_later(member, &node, outbox); /* it stops when it reads this */
    return true;
}

/* Two incarnations can join through two members and meet in a merge. A command names both by their
 * address, so the former would stay unreachable for ever, as in Akka. */
void leave_down_other_lives(struct member *member)
{
    const struct gossip_member *own = member_own_entry(member);
    struct gossip_member *other;

    if (member->is_exiting || own->status == MEMBER_DOWN)
        return;
    while ((other = gossip_find_other_life(&member->gossip,
                                           &member->identity->node))) {
        REACHED("an earlier incarnation of this node is still a member");
        (void)reachability_change(&member->gossip.reachability, own->profile,
                                  other->profile, TERMINATED);
        set_down(member, other, PROBE_DOWN_REPLACED);
        member_gossip_changed(member);
    }
}

uint32_t leave_down_all(struct member *member, const struct node_id *nodes,
                        uint32_t count, struct outbox *outbox)
{
    bool *is_new = mem_alloc(count * sizeof *is_new);
    uint32_t members = 0, changed = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct gossip_member *found = gossip_find(&member->gossip, &nodes[i]);

        members += found != NULL;
        is_new[i] = found && found->status != MEMBER_DOWN;
        if (is_new[i])
            set_down(member, found, PROBE_DOWN_DECIDED);
        changed += is_new[i];
    }
    if (changed) {
        member_gossip_changed(member);
        hurry_change(member);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct gossip_member *found =
            is_new[i] ? gossip_find(&member->gossip, &nodes[i]) : NULL;

        if (found && node_equal(&nodes[i], &member->identity->node))
            gossip_send_to_some(member, NEWS_SPREAD, outbox);
        else if (found && state_is_target(&member->gossip, member->self, found))
            gossip_send_later(member, &nodes[i], outbox); /* it stops when it reads this */
    }
    mem_free(is_new);
    return members;
}

void leave_begin_exiting(struct member *member)
{
    member->is_exiting = true;
    member->is_dirty = true;
    trace_put(member->trace, member->info_level, "member",
              "exiting, singletons and coordinators are handed over");
}

/* Confirms to the leader that others see without this node, and to the next one. */
static void confirm_exiting(struct member *member, struct outbox *outbox)
{
    struct node_id without[2] = { profile_node(member->self) };
    uint8_t *reach = state_reach(&member->gossip, member->self, ALL_OBSERVERS);
    struct buf payload = { 0 };

    wire_put_node(member->identity, &payload, &member->identity->node);
    for (uint32_t i = 0; i < 2; i++) {
        const struct gossip_member *leader = state_leader_without(
            &member->gossip, member->self, reach, without, i + 1);

        if (!leader)
            break;
        member_send(member, PROFILE_NODE(leader->profile), slice_text(""), "EC",
                    &payload, outbox);
        if (i == 0)
            without[1] = profile_node(leader->profile);
    }
    buf_fini(&payload);
    mem_free(reach);
}

/* Ends: nothing is sent or received any more. */
static void stop(struct member *member)
{
    const struct gossip_member *own = member_own_entry(member);

    member->last_status = own ? own->status : MEMBER_REMOVED;
    member->phase = PHASE_STOPPED;
    member->gossip_at = member->extra_at = member->leader_at = NEVER;
    member->reaper_at = member->retry_at = member->give_up_at = NEVER;
    heart_fini(&member->heart);
    cross_dc_fini(&member->cross);
    gossip_send_forget_replies(member);
    gossip_receive_forget(member);
    joiners_forget(member);
    member->hurry = HURRY_NOT;
    member->is_dirty = true;
    trace_put(member->trace, member->info_level, "member", "membership stopped status=%s",
              member_status_text(member->last_status));
}

void member_exiting_done(struct member *member, uint64_t now,
                         struct outbox *outbox)
{
    struct gossip_member *own = member_own_entry(member);

    if (member->phase != PHASE_INSIDE || !member->is_exiting)
        return;
    member->is_exiting = false;
    if (own) {
        own->seen = true;
        member_gossip_replaced(member);
        gossip_send_to_some(member, NEWS_SPREAD, outbox);
        confirm_exiting(member, outbox);
    }
    stop(member);
    member_settle(member, now);
}

void leave_receive_confirmed(struct member *member,
                             const struct inbound *inbound)
{
    const struct gossip_member *found;
    struct node_id node;

    if (wire_get_node(member->identity, inbound->payload, &node) != WIRE_OK) {
        member->counters.dropped_malformed++;
        return;
    }
    found = gossip_find(&member->gossip, &node);
    if (!node_equal(&node, &inbound->from) || !found) {
        member->counters.dropped_no_member++;
        return;
    }
    for (uint32_t i = 0; i < member->confirmed.count; i++)
        if (node_equal(&member->confirmed.items[i], &node))
            return;
    member->is_seen_news = true;
    if (member->confirmed.count < MEMBER_EXITING_MAX)
        vec_push(&member->confirmed, node);
    else
        member->counters.dropped_full++;
}

/* True if every downed member of the data center is unreachable or has seen that it is down. */
static bool downed_have_heard(const struct member *member)
{
    const struct gossip *gossip = &member->gossip;
    uint8_t *reach = state_reach(gossip, member->self, ALL_OBSERVERS);
    bool all = true;

    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct gossip_member *other = &gossip->members.items[i];

        if (other->status == MEMBER_DOWN && !other->seen &&
            reach[i] == REACHABLE &&
            profile_same_center(other->profile, member->self))
            all = false;
    }
    mem_free(reach);
    return all;
}

void leave_check_down(struct member *member, struct outbox *outbox)
{
    const struct gossip_member *own = member_own_entry(member);

    if (!own || own->status != MEMBER_DOWN || member->phase != PHASE_INSIDE)
        return;
    if (!downed_have_heard(member) && member->down_checks++ < DOWN_CHECKS_MAX) {
        REACHED("a downed node waits until other downed nodes have its gossip");
        return;
    }
    trace_put(member->trace, TRACE_ERROR, "member",
              "this node was downed: it stops, and must be started again");
    gossip_send_to_some(member, NEWS_SPREAD, outbox);
    stop(member);
}

static bool is_refuser(const struct member *member, const struct node_id *node)
{
    for (uint32_t i = 0; i < member->refusers.count; i++)
        if (node_equal(&member->refusers.items[i], node))
            return true;
    return false;
}

/* Counts unreachable members only if they said so: after a long suspension all others but one may
 * be gone. The same holds for members of other data centers, most of which no member here monitors.
 * If a lease decides between sides, a side of any size may have won, and one word is enough. */
void leave_check_refused(struct member *member)
{
    const struct gossip *gossip = &member->gossip;
    uint32_t electors = 0;
    uint32_t voices = 0;
    uint8_t *reach;

    if (!member->refusers.count || member->phase != PHASE_INSIDE)
        return;
    reach = state_reach(gossip, member->self, ALL_OBSERVERS);
    for (uint32_t i = 0; i < gossip->members.count; i++) {
        const struct gossip_member *other = &gossip->members.items[i];
        bool says = is_refuser(member, PROFILE_NODE(other->profile));

        if (other->status == MEMBER_DOWN || other->status == MEMBER_EXITING ||
            profile_same(other->profile, member->self))
            continue;
        voices += says;
        electors += says || (reach[i] == REACHABLE &&
                             profile_same_center(other->profile, member->self));
    }
    mem_free(reach);
    if (!voices ||
        (voices * 2 <= electors && !member->settings.one_word_ends))
        return;
    trace_put(member->trace, TRACE_ERROR, "member",
              "this node stops: members report that it was removed "
              "reports=%u of=%u hint=\"start this node again\"",
              voices, electors);
    stop(member);
}

void member_refused(struct member *member, uint64_t now,
                    const struct node_id *by)
{
    char text[ADDRESS_TEXT_MAX];

    if (member->phase != PHASE_INSIDE || !gossip_find(&member->gossip, by) ||
        is_refuser(member, by))
        return;
    for (uint32_t i = member->refusers.count; i-- > 0;)
        if (!gossip_find(&member->gossip, &member->refusers.items[i]))
            vec_remove(&member->refusers, i);
    vec_push(&member->refusers, *by);
    trace_put(member->trace, TRACE_WARNING, "member",
              "member considers this node removed member=%s "
              "hint=\"check the network; if this node stops, start it again\"",
              address_text(&by->address, text, sizeof text));
    leave_check_refused(member);
    member_settle(member, now);
}

bool leave_prepare_shutdown(struct member *member, struct outbox *outbox)
{
    bool changed = false;

    if (member->is_preparing)
        return true;
    member->is_preparing = true;
    for (uint32_t i = 0; i < member->gossip.members.count; i++) {
        struct gossip_member *other = &member->gossip.members.items[i];

        if (other->status != MEMBER_UP)
            continue;
        other->status = MEMBER_PREPARING_FOR_SHUTDOWN;
        changed = true;
    }
    if (changed) {
        member_gossip_changed(member);
        gossip_send_to_one(member, outbox);
    }
    return true;
}

/* Akka checks only while the node is up. There, a node that another's gossip made preparing accepts
 * joiners, and as leader moves them to up. */
void leave_follow_preparation(struct member *member, struct outbox *outbox)
{
    for (uint32_t i = 0;
         i < member->gossip.members.count && !member->is_preparing; i++) {
        enum member_status status = member->gossip.members.items[i].status;

        if (status == MEMBER_PREPARING_FOR_SHUTDOWN ||
            status == MEMBER_READY_FOR_SHUTDOWN)
            (void)leave_prepare_shutdown(member, outbox); /* always true */
    }
}
