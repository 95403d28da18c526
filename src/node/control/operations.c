/* Implements operations.h: the operations of this node's program. */
#include "node/control/operations.h"

#include <stdio.h>

#include "artery/extension.h"
#include "base/limits.h"
#include "base/mark.h"
#include "node/control/control.h"
#include "node/mail/operate_call.h"

#define PAUSE_MIN (100 * MS) /* before the decider is asked again; doubled up to a second */

void operations_fini(struct control *control)
{
    struct operations *operations = &control->operations;

    for (uint32_t i = 0; i < operations->open.count; i++)
        operate_call_free(operations->open.items[i]);
    vec_fini(&operations->open);
}

/* ---- the end ---- */

static void give_back(struct control *control, struct operate_call *call, int result)
{
    call->result = result;
    outputs_request(&control->machine->outputs,
                    &(struct driver_request){ .kind = DRIVER_OPERATE, .operate = call });
}

static void set_state(struct operate_call *call, enum sherd_operation_state state,
                      enum sherd_operation_code code, const char *text)
{
    call->state = state;
    call->code = code;
    buf_clear(&call->text);
    buf_put_text(&call->text, text);
}

static void fails(struct operate_call *call, enum sherd_operation_code code, const char *text)
{
    set_state(call, SHERD_OPERATION_FAILED, code, text);
}

static void waits(struct operate_call *call, enum sherd_operation_code code, const char *text)
{
    set_state(call, SHERD_OPERATION_WAITING, code, text);
}

/* Gives back those that have ended. */
static void end_ended(struct control *control)
{
    struct operations *operations = &control->operations;

    for (uint32_t i = operations->open.count; i-- > 0;) {
        struct operate_call *call = operations->open.items[i];

        if (!operation_is_final(call->state))
            continue;
        vec_remove(&operations->open, i);
        trace_put(control->machine->trace, TRACE_INFO, "management",
                  "operation ended action=%s op=%.*s result=%s code=%s text=\"%.*s\"",
                  sherd_operation_kind_text(call->kind), (int)call->id.size, call->id.data,
                  sherd_operation_state_text(call->state), sherd_operation_code_text(call->code),
                  (int)call->text.size, (const char *)call->text.data);
        give_back(control, call, 0);
    }
}

/* ---- the node that decides ---- */

static const struct member_view *member_at_address(const struct control *control,
                                                   const struct address *address)
{
    for (uint32_t i = 0; i < member_count(control->member); i++) {
        const struct member_view *view = member_at(control->member, i);

        if (address_equal(&PROFILE_NODE(view->profile)->address, address))
            return view;
    }
    return NULL;
}

static bool find_node(struct control *control, struct operate_call *call)
{
    const struct node_id *self = &control->machine->self->node;
    const struct member_view *view;

    if (!call->node.port || address_equal(&call->node, &self->address)) {
        call->decider = *self;
        return true;
    }
    view = member_at_address(control, &call->node);
    if (view)
        call->decider = *PROFILE_NODE(view->profile);
    else
        fails(call, SHERD_OPERATION_NO_MEMBER, "no member has that address");
    return view != NULL;
}

static bool find_coordinator(struct control *control, struct operate_call *call)
{
    const struct node_id *node;
    uint32_t i = 0;

    while (i < control->type_count &&
           !slice_is(buf_slice(&call->type), control->machine->node->names[i].name))
        i++;
    if (i == control->type_count) {
        fails(call, SHERD_OPERATION_NO_TYPE, "this node has no such type: ask a node that has it");
        return false;
    }
    node = region_coordinator(control->types[i].region);
    if (node)
        call->decider = *node;
    else
        waits(call, SHERD_OPERATION_NO_COORDINATOR, "no coordinator of the type is known");
    return node != NULL;
}

/* False: it cannot be asked, now or ever. */
static bool is_ready(struct control *control, struct operate_call *call)
{
    const struct peer *peer = peers_uid(&control->machine->peers, call->decider.uid);

    if (call->decider.uid == control->machine->self->node.uid)
        return true;
    if (!peer || !peer->met) {
        REACHED("an operation meets the member that decides");
        peer_links_verify(&control->machine->links, &call->decider);
        return false;
    }
    if (!peer->capabilities)
        fails(call, SHERD_OPERATION_JVM, "a JVM node decides, which knows no operations");
    else if (!(peer->capabilities & CAPABILITY_OPERATE))
        fails(call, SHERD_OPERATION_OLD, "the node that decides has a version without operations");
    return !operation_is_final(call->state);
}

static void send_request(struct control *control, const struct operate_call *call)
{
    const struct operation_request request = {
        .kind = call->kind,
        .id = buf_slice(&call->id),
        .type = buf_slice(&call->type),
        .shard = buf_slice(&call->shard),
        .node = call->node,
        .by = buf_slice(&call->by),
        .reason = buf_slice(&call->reason),
        .within_ms = (call->deadline - control->machine->now) / MS,
        .hold_ms = call->hold_ms,
        .is_dry_run = call->is_dry_run,
    };
    struct buf payload = { 0 };

    operation_request_put(&payload, &request);
    outbox_put(&control->machine->outbox,
               &(struct outbound){ .to = call->decider,
                                   .manifest = slice_text(MANIFEST_OPERATE),
                                   .payload = buf_slice(&payload),
                                   .serializer = SERIALIZER_SHERD,
                                   .stream = STREAM_CONTROL });
    buf_fini(&payload);
}

static void ask(struct control *control, struct operate_call *call)
{
    uint64_t now = control->machine->now;

    if ((operation_is_of_node(call->kind) ? find_node : find_coordinator)(control, call) &&
        is_ready(control, call))
        send_request(control, call);
    call->ask_at = now + call->pause;
    call->pause = call->pause * 2 < SECOND ? call->pause * 2 : SECOND;
}

/* ---- begin, answers, time ---- */

static void make_id(struct control *control, struct operate_call *call)
{
    char text[48];

    (void)snprintf(text, sizeof text, "op-%016llx-%llu",
                   (unsigned long long)control->machine->self->node.uid,
                   (unsigned long long)++control->operations.numbers);
    buf_put_text(&call->id, text);
}

void operations_begin(struct control *control, struct operate_call *call)
{
    struct operations *operations = &control->operations;

    if (operations->open.count >= OPERATIONS_MAX) {
        operations->refused++;
        give_back(control, call, SHERD_EFULL);
        return;
    }
    if (!call->id.size)
        make_id(control, call);
    call->deadline = control->machine->now + call->within;
    call->pause = PAUSE_MIN;
    waits(call, SHERD_OPERATION_OK, "nobody has answered");
    vec_push(&operations->open, call);
    ask(control, call);
    end_ended(control);
}

static void receive_progress(struct control *control, const struct inbound *inbound)
{
    struct operations *operations = &control->operations;
    struct operation_progress progress;

    if (!operation_progress_read(inbound->payload, &progress)) {
        control->unknown++;
        return;
    }
    for (uint32_t i = 0; i < operations->open.count; i++) {
        struct operate_call *call = operations->open.items[i];

        if (!slice_equal(buf_slice(&call->id), progress.id) ||
            !node_equal(&call->decider, &inbound->from))
            continue;
        call->state = progress.state;
        call->code = progress.code;
        call->stall_us = progress.stall_us;
        buf_clear(&call->text);
        buf_put_slice(&call->text, progress.text);
    }
    end_ended(control);
}

bool operations_is_frame(const struct inbound *inbound)
{
    return inbound->serializer == SERIALIZER_SHERD && !inbound->recipient.size &&
           (slice_is(inbound->manifest, MANIFEST_OPERATE) ||
            slice_is(inbound->manifest, MANIFEST_PROGRESS));
}

void operations_receive(struct control *control, const struct inbound *inbound)
{
    if (slice_is(inbound->manifest, MANIFEST_OPERATE))
        operations_serve(control, inbound);
    else
        receive_progress(control, inbound);
}

void operations_step(struct control *control)
{
    struct operations *operations = &control->operations;
    uint64_t now = control->machine->now;

    for (uint32_t i = 0; i < operations->open.count; i++) {
        struct operate_call *call = operations->open.items[i];

        if (call->deadline <= now) {
            REACHED("an operation has not ended in its time");
            call->state = SHERD_OPERATION_FAILED;
            call->code = call->code == SHERD_OPERATION_OK ? SHERD_OPERATION_TIMEOUT : call->code;
        } else if (call->ask_at <= now) {
            ask(control, call);
        }
    }
    end_ended(control);
}

uint64_t operations_deadline(const struct control *control)
{
    uint64_t deadline = NEVER;

    for (uint32_t i = 0; i < control->operations.open.count; i++) {
        const struct operate_call *call = control->operations.open.items[i];
        uint64_t one = call->ask_at < call->deadline ? call->ask_at : call->deadline;

        deadline = one < deadline ? one : deadline;
    }
    return deadline;
}
