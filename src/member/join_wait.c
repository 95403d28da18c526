/* Keeps requests to join until the joiner's address has answered this node's handshake. */
#include "member/inside.h"

#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"

static void drop(struct member *member, uint32_t index)
{
    struct waiting_join *join = &member->joins.items[index];

    member->joins_size -= join->path.size + join->payload.size;
    buf_fini(&join->path);
    buf_fini(&join->payload);
    vec_remove(&member->joins, index);
}

void join_wait_forget(struct member *member)
{
    while (member->joins.count)
        drop(member, member->joins.count - 1);
}

/* The joiner repeats its request, so an honest one loses only time. */
static void refuse(struct member *member, uint32_t index)
{
    const struct waiting_join *join = &member->joins.items[index];
    char text[ADDRESS_TEXT_MAX];

    member->counters.dropped_unanswered++;
    trace_put(member->trace, TRACE_WARNING, "member",
              "join refused: nothing at the joiner's address answered this node's handshake "
              "peer=%s hint=\"make that address reachable from here; if no node of yours is "
              "there, a stranger reaches this port\"",
              address_text(&join->from.address, text, sizeof text));
    drop(member, index);
}

static bool find(const struct member *member, const struct node_id *node,
                 uint32_t *index)
{
    for (uint32_t i = 0; i < member->joins.count; i++) {
        *index = i;
        if (node_equal(&member->joins.items[i].from, node))
            return true;
    }
    return false;
}

/* True if the request would end a member. */
static bool replaces(const struct member *member, const struct node_id *from)
{
    return gossip_find_other_life(&member->gossip, from) != NULL;
}

bool join_must_wait(const struct member *member, const struct node_id *from)
{
    const struct member_settings *settings = &member->settings;

    return settings->has_answered &&
           (!settings->has_answered(settings->user, from) ||
            (member->joiner != from->uid && replaces(member, from)));
}

void join_wait(struct member *member, uint64_t now,
               const struct inbound *inbound)
{
    struct waiting_join join = { .from = inbound->from,
                                 .until = now + JOIN_WAIT_MS * MS };
    size_t size = inbound->sender.size + inbound->payload.size;
    uint32_t index;

    if (find(member, &inbound->from, &index))
        drop(member, index); /* the joiner repeats it */
    while (member->joins.count &&
           (member->joins.count >= JOINS_WAITING_MAX ||
            member->joins_size + size > JOINS_WAITING_BYTES_MAX))
        refuse(member, 0);
    buf_put_slice(&join.path, inbound->sender);
    buf_put_slice(&join.payload, inbound->payload);
    vec_push(&member->joins, join);
    member->joins_size += size;
    BOUNDED("joins that wait for a handshake", member->joins.count,
            JOINS_WAITING_MAX);
    if (member->settings.verify && replaces(member, &inbound->from))
        member->settings.verify(member->settings.user, &inbound->from);
}

bool join_waits(const struct member *member, const struct node_id *node)
{
    uint32_t index;

    return find(member, node, &index);
}

bool join_wait_take(struct member *member, const struct node_id *node,
                    struct waiting_join *join)
{
    uint32_t index;

    if (!find(member, node, &index))
        return false;
    *join = member->joins.items[index];
    member->joins_size -= join->path.size + join->payload.size;
    vec_remove(&member->joins, index);
    return true;
}

void join_wait_step(struct member *member, uint64_t now)
{
    while (member->joins.count && member->joins.items[0].until <= now)
        refuse(member, 0);
}

uint64_t join_wait_deadline(const struct member *member)
{
    return member->joins.count ? member->joins.items[0].until : NEVER;
}
