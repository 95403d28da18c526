/* Decides operations that other nodes, or this one, ask for: cordons of this node here, moves of
 * shards by the coordinator. */
#include "artery/extension.h"
#include "base/mark.h"
#include "node/control/control.h"
#include "shard/operation_wire.h"

static void answer(struct control *control, const struct inbound *inbound, struct slice id,
                   enum sherd_operation_state state, enum sherd_operation_code code,
                   const char *text)
{
    operation_report(&control->machine->outbox, &inbound->from,
                     &(struct operation_progress){
                         .id = id, .state = state, .code = code, .text = slice_text(text) });
}

static bool is_old(struct control *control, const struct region *region)
{
    const struct node_id *node = region_coordinator(region);
    const struct peer *peer = node ? peers_uid(&control->machine->peers, node->uid) : NULL;

    return peer && peer->met && node->uid != control->machine->self->node.uid &&
           !(peer->capabilities & CAPABILITY_OPERATE);
}

static void set_cordon(struct control *control, const struct operation_request *request)
{
    struct machine *machine = control->machine;
    bool is_cordoned = request->kind == SHERD_CORDON;

    if (control->is_cordoned == is_cordoned)
        return;
    control->is_cordoned = is_cordoned;
    trace_put(machine->trace, TRACE_INFO, "management",
              "%s op=%.*s by=\"%.*s\" reason=\"%.*s\"",
              is_cordoned ? "node is cordoned: it asks for no more shards"
                          : "node is cordoned no more",
              (int)request->id.size, (const char *)request->id.data, (int)request->by.size,
              (const char *)request->by.data, (int)request->reason.size,
              (const char *)request->reason.data);
    turn_stir(&control->turn);
    for (uint32_t i = 0; i < control->type_count; i++)
        region_cordon(control->types[i].region, machine->now, is_cordoned);
}

static void serve_cordon(struct control *control, const struct inbound *inbound,
                         const struct operation_request *request)
{
    bool is_there = control->is_cordoned == (request->kind == SHERD_CORDON);

    if (request->is_dry_run) {
        answer(control, inbound, request->id, SHERD_OPERATION_DONE, SHERD_OPERATION_OK,
               is_there ? "nothing would change" : "the node's cordon would change");
        return;
    }
    set_cordon(control, request);
    for (uint32_t i = 0; i < control->type_count; i++) {
        const struct region *region = control->types[i].region;
        bool was_old = is_old(control, region);

        if (region_cordon_is_told(region))
            continue;
        REACHED("a cordon is not confirmed by all coordinators yet");
        answer(control, inbound, request->id,
               was_old ? SHERD_OPERATION_FAILED : SHERD_OPERATION_WAITING,
               was_old ? SHERD_OPERATION_OLD : SHERD_OPERATION_NO_COORDINATOR,
               control->machine->node->names[i].name);
        return;
    }
    answer(control, inbound, request->id, SHERD_OPERATION_DONE, SHERD_OPERATION_OK,
           control->is_cordoned ? "the node gets no shards while another one takes them"
                                : "the node gets shards");
}

static void serve_move(struct control *control, const struct inbound *inbound,
                       const struct operation_request *request)
{
    struct machine *machine = control->machine;

    for (uint32_t i = 0; i < control->type_count; i++) {
        struct coordinator *coordinator = control->types[i].coordinator;

        if (!coordinator || !slice_is(request->type, machine->node->names[i].name))
            continue;
        turn_stir(&control->turn);
        coordinator_operate(coordinator, machine->now, &inbound->from, request, &machine->outbox);
        return;
    }
    REACHED("an operation reaches a node without the coordinator");
    answer(control, inbound, request->id, SHERD_OPERATION_WAITING, SHERD_OPERATION_NO_COORDINATOR,
           "the coordinator is not on this node");
}

void operations_serve(struct control *control, const struct inbound *inbound)
{
    struct operation_request request;

    if (!operation_request_read(inbound->payload, &request))
        control->unknown++;
    else if (request.kind == SHERD_MOVE_SHARD)
        serve_move(control, inbound, &request);
    else
        serve_cordon(control, inbound, &request);
}
