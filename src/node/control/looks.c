/* Implements looks.h: the looks of this node's program. */
#include "node/control/looks.h"

#include "artery/extension.h"
#include "base/limits.h"
#include "base/mark.h"
#include "node/control/control.h"
#include "node/mail/look_call.h"

void looks_fini(struct control *control)
{
    struct looks *looks = &control->looks;

    for (uint32_t i = 0; i < looks->open.count; i++)
        look_call_free(looks->open.items[i]);
    vec_fini(&looks->open);
}

/* ---- the begin ---- */

/* Looks are for members that have said that they answer them. One that this node has not met is asked
 * when it has. */
static enum sherd_look_state state_of(struct control *control, const struct member_view *view)
{
    const struct node_id *node = PROFILE_NODE(view->profile);
    const struct peer *peer = peers_uid(&control->machine->peers, node->uid);

    if (control_is_jvm_peer(control, view))
        return SHERD_LOOK_JVM;
    if (!view->reachable)
        return SHERD_LOOK_UNREACHABLE;
    if (peer && peer->met && !(peer->capabilities & CAPABILITY_LOOK))
        return peer->capabilities ? SHERD_LOOK_OLD : SHERD_LOOK_JVM;
    return LOOK_ASKED;
}

static bool is_wanted(const struct look_call *call, const struct node_id *node)
{
    return !call->node.port || address_equal(&call->node, &node->address);
}

static void add_members(struct control *control, struct look_call *call)
{
    const struct node_id *self = &control->machine->self->node;

    if (is_wanted(call, self))
        gather_add(call->gather, self, LOOK_ASKED);
    for (uint32_t i = 0; i < member_count(control->member); i++) {
        const struct member_view *view = member_at(control->member, i);
        const struct node_id *node = PROFILE_NODE(view->profile);

        if (node->uid != self->uid && is_wanted(call, node))
            gather_add(call->gather, node, state_of(control, view));
    }
}

static void give_back(struct control *control, struct look_call *call, int result)
{
    call->result = result;
    outputs_request(&control->machine->outputs,
                    &(struct driver_request){ .kind = DRIVER_LOOK, .look = call });
}

/* ---- asking ---- */

static bool is_met(struct control *control, const struct node_id *node)
{
    const struct peer *peer = peers_uid(&control->machine->peers, node->uid);

    return node->uid == control->machine->self->node.uid || (peer && peer->met);
}

static bool has_looks(struct control *control, const struct node_id *node)
{
    const struct peer *peer = peers_uid(&control->machine->peers, node->uid);

    return node->uid == control->machine->self->node.uid ||
           (peer && (peer->capabilities & CAPABILITY_LOOK));
}

static void send_request(struct control *control, const struct node_id *node,
                         const struct look_request *request)
{
    struct buf payload = { 0 };

    look_request_put(&payload, request);
    outbox_put(&control->machine->outbox,
               &(struct outbound){ .to = *node,
                                   .manifest = slice_text(MANIFEST_LOOK),
                                   .payload = buf_slice(&payload),
                                   .serializer = SERIALIZER_SHERD,
                                   .stream = STREAM_CONTROL });
    buf_fini(&payload);
}

/* Sends what the gather wants to ask now. */
static void ask(struct control *control, struct look_call *call)
{
    struct looks *looks = &control->looks;
    uint64_t now = control->machine->now;
    struct look_request request;
    struct node_id node;

    while (gather_next_ask(call->gather, now, looks->requests + 1, &node, &request)) {
        looks->requests++;
        if (has_looks(control, &node)) {
            send_request(control, &node, &request);
        } else if (is_met(control, &node)) {
            gather_failed(call->gather, now, node.uid, SHERD_LOOK_OLD);
        } else {
            REACHED("a look meets a member");
            peer_links_verify(&control->machine->links, &node);
            gather_later(call->gather, now, request.id);
        }
    }
}

/* Asks on, and gives back those that are done. */
static void carry_on(struct control *control)
{
    struct looks *looks = &control->looks;

    for (uint32_t i = looks->open.count; i-- > 0;) {
        struct look_call *call = looks->open.items[i];

        ask(control, call);
        if (!gather_is_done(call->gather))
            continue;
        vec_remove(&looks->open, i);
        give_back(control, call, 0);
    }
}

static void begin(struct control *control, struct look_call *call)
{
    struct looks *looks = &control->looks;
    struct gather_options options = {
        .kind = call->kind,
        .type = buf_slice(&call->type),
        .shard = buf_slice(&call->shard),
        .entity = buf_slice(&call->entity),
        .cursor = buf_slice(&call->cursor),
        .order = call->order,
        .count = call->count,
        .since_ms = call->since_ms,
        .deadline = control->machine->now + call->within,
    };

    if (looks->open.count >= LOOKS_MAX) {
        looks->refused++;
        give_back(control, call, SHERD_EFULL);
        return;
    }
    call->gather = gather_new(&options);
    if (!call->gather) {
        give_back(control, call, SHERD_EINVAL);
        return;
    }
    add_members(control, call);
    gather_begin(call->gather, control->machine->now);
    vec_push(&looks->open, call);
    carry_on(control);
}

static void cancel(struct control *control, uint64_t number)
{
    struct looks *looks = &control->looks;

    for (uint32_t i = looks->open.count; i-- > 0;) {
        struct look_call *call = looks->open.items[i];

        if (call->number != number)
            continue;
        vec_remove(&looks->open, i);
        give_back(control, call, SHERD_ESTATE);
    }
}

/* ---- answers ---- */

static void take_reply(struct control *control, const struct node_id *from, struct slice payload)
{
    struct looks *looks = &control->looks;
    struct look_reply reply;

    if (!look_reply_read(payload, &reply)) {
        control->unknown++;
        return;
    }
    for (uint32_t i = 0; i < looks->open.count; i++)
        if (gather_reply(looks->open.items[i]->gather, control->machine->now, from, &reply))
            break;
    carry_on(control);
}

void looks_mail(struct control *control, struct mail_content *content)
{
    if (content->kind == MAIL_LOOK_CALL)
        begin(control, mail_look_call_take(content).own.call);
    else if (content->kind == MAIL_LOOK_CANCEL)
        cancel(control, mail_look_cancel_of(content)->number);
    else
        take_reply(control, &control->machine->self->node,
                   buf_slice(mail_look_reply_of(content)->own.payload));
}

bool looks_is_frame(const struct inbound *inbound)
{
    return inbound->serializer == SERIALIZER_SHERD && !inbound->recipient.size &&
           (slice_is(inbound->manifest, MANIFEST_LOOK) ||
            slice_is(inbound->manifest, MANIFEST_LOOK_PART));
}

void looks_receive(struct control *control, const struct inbound *inbound)
{
    if (slice_is(inbound->manifest, MANIFEST_LOOK))
        looks_serve(control, inbound);
    else
        take_reply(control, &inbound->from, inbound->payload);
}

void looks_member_gone(struct control *control, uint64_t uid)
{
    struct looks *looks = &control->looks;

    for (uint32_t i = 0; i < looks->open.count; i++)
        gather_gone(looks->open.items[i]->gather, control->machine->now, uid);
    carry_on(control);
}

/* ---- time ---- */

void looks_step(struct control *control)
{
    struct looks *looks = &control->looks;

    for (uint32_t i = 0; i < looks->open.count; i++)
        if (gather_deadline(looks->open.items[i]->gather) <= control->machine->now)
            gather_tick(looks->open.items[i]->gather, control->machine->now);
    carry_on(control);
}

uint64_t looks_deadline(const struct control *control)
{
    uint64_t deadline = NEVER;

    for (uint32_t i = 0; i < control->looks.open.count; i++) {
        uint64_t one = gather_deadline(control->looks.open.items[i]->gather);

        deadline = one < deadline ? one : deadline;
    }
    return deadline;
}
