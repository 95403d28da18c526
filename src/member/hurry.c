/* Spreads changes at once that a node waits for, and lets the leader act as soon as it may: a join,
 * a departure and the leader's own changes.
 *
 * Akka leaves them to the next rounds, and its leader acts in intervals. Here the node that made
 * such a change sends it to a few members at once. Their answers show it that all have seen it, and
 * it tells the leader. The leader acts at once. The intervals remain for whatever was lost. In large
 * clusters only they count: there the messages would cost more than the time is worth. */
#include "member/inside.h"

#include "base/mark.h"

static void tell_leader(struct member *member, struct outbox *outbox)
{
    const struct node_id leader = member->leader;

    if (!leader.uid || node_equal(&leader, &member->identity->node))
        return;
    REACHED("a node tells the leader which members have seen a change");
    gossip_send_seen(member, &leader, slice_text(""), outbox);
}

void hurry_look(struct member *member)
{
    if (!member->is_seen_news)
        return;
    member->is_seen_news = false;
    if (!hurry_is_small(member) || !member_is_converged(member))
        return;
    if (member->hurry == HURRY_AWAIT)
        member->hurry = HURRY_TELL;
    if (member_is_leader(member) && leader_has_work(member))
        member->leads_early = true;
}

bool hurry_is_due(const struct member *member)
{
    return member->hurry == HURRY_SPREAD || member->hurry == HURRY_TELL;
}

void hurry_step(struct member *member, struct outbox *outbox)
{
    if (!hurry_is_small(member))
        member->hurry = HURRY_NOT; /* it has grown */
    switch (member->hurry) {
    case HURRY_SPREAD:
        gossip_send_to_some(member, HURRIED_COUNT, outbox);
        member->hurry = HURRY_AWAIT;
        break;
    case HURRY_TELL:
        tell_leader(member, outbox);
        member->hurry = HURRY_NOT;
        break;
    case HURRY_NOT:
    case HURRY_AWAIT:
        break;
    }
}
