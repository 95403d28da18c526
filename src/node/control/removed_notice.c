/* Tells a node that was downed and removed, and goes on, of its removal. It may connect here for the
 * first time after that. A Sherd node ends when enough others tell it (member_refused); a JVM with a
 * split brain resolver at the first message. See docs/protocol/gossip.md, Quarantined. */
#include "node/control/control.h"

#include "artery/control.h"
#include "artery/extension.h"
#include "artery/unique_address.h"

/* A downed incarnation. */
struct removed_life {
    bool is_gone;     /* removed; else the lease has decided, and it is still a member */
    bool is_lost;     /* the side that ends: a JVM is told, too */
    bool is_reported; /* in the log */
};

static struct removed_life *find_life(const struct control *control,
                                      uint64_t uid)
{
    return map_get(&control->removed, map_u64(&uid));
}

static struct removed_life *add_life(struct control *control, uint64_t uid)
{
    struct removed_life *life = find_life(control, uid);
    struct map_entry oldest;
    uint32_t at = 0;

    if (life)
        return life;
    if (control->removed.count >= REMOVED_MAX &&
        map_next(&control->removed, &at, &oldest)) {
        mem_free(map_take(&control->removed, oldest.key));
        control->removed_forgotten++;
    }
    life = mem_alloc(sizeof *life);
    map_put(&control->removed, map_u64(&uid), life);
    return life;
}

void control_remember(struct control *control, uint64_t uid)
{
    add_life(control, uid)->is_gone = true;
    vec_push(&control->removed_at_once, uid);
}

void control_condemn(struct control *control, uint64_t uid)
{
    add_life(control, uid)->is_lost = true;
}

/* Counts the reached members of this node's data center, with this node. */
static uint32_t side_count(const struct control *control)
{
    const struct member_view *self = member_self(control->member);
    uint32_t count = 0;

    for (uint32_t i = 0; i < member_count(control->member); i++) {
        const struct member_view *view = member_at(control->member, i);
        bool counts = view->status == MEMBER_UP ||
                      view->status == MEMBER_LEAVING ||
                      view->status == MEMBER_PREPARING_FOR_SHUTDOWN ||
                      view->status == MEMBER_READY_FOR_SHUTDOWN;

        count += counts && (view == self ||
                            (view->reachable &&
                             member_same_center(view, self)));
    }
    return count;
}

/* Decides which side is larger. A side that is cut off downs all it does not reach before it
 * removes any, and then removes all of them at once. */
void control_judge_removed(struct control *control)
{
    bool is_larger;

    if (!control->removed_at_once.count)
        return;
    is_larger = member_is_in(control->member) &&
                side_count(control) >= control->removed_at_once.count;
    for (uint32_t i = 0; is_larger && i < control->removed_at_once.count; i++) {
        struct removed_life *life =
            find_life(control, control->removed_at_once.items[i]);

        if (life) /* else forgotten */
            life->is_lost = true;
    }
    control->removed_at_once.count = 0;
}

static bool may_end_jvms(const struct control *control)
{
    return control->shutdown == SHUTDOWN_NOT && member_is_in(control->member) &&
           member_self(control->member)->status == MEMBER_UP;
}

static void tell(struct control *control, const struct node_id *node)
{
    struct machine *machine = control->machine;
    struct buf payload = { 0 };
    struct outbound message = {
        .to = *node,
        .manifest = slice_text(ARTERY_QUARANTINED),
        .serializer = SERIALIZER_ARTERY,
        .stream = STREAM_CONTROL,
    };

    control->notified_at = machine->now;
    unique_address_put(&payload, 1, machine->self, &machine->self->node);
    unique_address_put(&payload, 2, machine->self, node);
    message.payload = buf_slice(&payload);
    outbox_put(&machine->outbox, &message);
    buf_fini(&payload);
}

static void tell_life(struct control *control, struct removed_life *life,
                      const struct node_id *node, uint64_t capabilities)
{
    if (!(capabilities & CAPABILITY_SHERD) &&
        (!life->is_lost || !may_end_jvms(control)))
        return;
    if (!life->is_reported)
        trace_put(control->machine->trace, TRACE_INFO, "node",
                  "removed member still runs, told that it was removed "
                  "peer=%s:%u",
                  node->address.host, node->address.port);
    life->is_reported = true;
    tell(control, node);
}

/* Returns null if the incarnation was not removed, or a notice was sent a short time ago. */
static struct removed_life *life_to_tell(const struct control *control,
                                         uint64_t uid)
{
    struct removed_life *life = find_life(control, uid);

    return life && life->is_gone &&
                   control->machine->now >= control->notified_at + SECOND
               ? life
               : NULL;
}

void control_tell_removed(struct control *control,
                          const struct envelope *envelope)
{
    struct removed_life *life = life_to_tell(control, envelope->origin);
    const struct peer *peer;
    struct node_id node;

    if (!life ||
        envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_QUARANTINED) ||
        envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_HEARTBEAT))
        return;
    peer = peers_uid(&control->machine->peers, envelope->origin);
    if (!peer)
        return;
    node = peer_node(peer);
    tell_life(control, life, &node, peer->capabilities);
}

/* Another incarnation at its address must not get the notice. */
void control_tell_refused(struct control *control,
                          const struct envelope *envelope)
{
    struct machine *machine = control->machine;
    struct removed_life *life = life_to_tell(control, envelope->origin);
    struct handshake handshake;
    const struct peer *peer;

    if (!life ||
        !envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_HANDSHAKE_REQUEST) ||
        handshake_request_read(machine->self, envelope->payload, &handshake,
                               NULL) != HANDSHAKE_OK ||
        handshake.from.uid != envelope->origin)
        return;
    peer = peers_find(&machine->peers, &handshake.from.address);
    if (!peer || !peer->uid || peer->over)
        tell_life(control, life, &handshake.from, handshake.capabilities);
}

void control_removed_fini(struct control *control)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&control->removed, &at, &entry))
        mem_free(entry.value);
    map_fini(&control->removed);
    vec_fini(&control->removed_at_once);
}
