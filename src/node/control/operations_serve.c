/* Decides operations that other nodes, or this one, ask for: cordons of this node here, moves of
 * shards and pauses of rebalances by the coordinator. */
#include <stdio.h>

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

static enum cordon_level level_of(enum sherd_operation_kind kind)
{
    if (kind == SHERD_DRAIN)
        return CORDON_DRAINING;
    return kind == SHERD_CORDON ? CORDON_ON : CORDON_NOT;
}

static void set_cordon(struct control *control, enum cordon_level level)
{
    turn_stir(&control->turn);
    control->cordon = level;
    for (uint32_t i = 0; i < control->type_count; i++)
        region_cordon(control->types[i].region, control->machine->now, level);
}

static void begin_cordon(struct control *control, const struct operation_request *request)
{
    static const char *const texts[CORDON_LEVELS] = {
        [CORDON_NOT] = "node is cordoned no more",
        [CORDON_ON] = "node is cordoned: it asks for no more shards",
        [CORDON_DRAINING] = "node is drained: its shards go to other nodes",
    };
    enum cordon_level level = level_of(request->kind);

    if (control->cordon == level)
        return;
    control->cordon_before = control->cordon;
    set_cordon(control, level);
    trace_put(control->machine->trace, TRACE_INFO, "management", "%s op=%.*s by=\"%.*s\" reason=\"%.*s\"",
              texts[level], (int)request->id.size, (const char *)request->id.data,
              (int)request->by.size, (const char *)request->by.data, (int)request->reason.size,
              (const char *)request->reason.data);
}

/* A type whose coordinator has not confirmed the level; or null. */
static const struct region *untold_region(const struct control *control)
{
    for (uint32_t i = 0; i < control->type_count; i++)
        if (!region_cordon_is_told(control->types[i].region))
            return control->types[i].region;
    return NULL;
}

/* Answers for a node that is drained, whose coordinators know it. */
static void report_drain(struct control *control, const struct inbound *inbound,
                         const struct operation_request *request)
{
    uint32_t left = 0;
    bool is_alone = false;
    char text[64];

    for (uint32_t i = 0; i < control->type_count; i++) {
        left += region_hosted_count(control->types[i].region);
        is_alone |= region_is_alone(control->types[i].region);
    }
    if (is_alone) {
        REACHED("a drain is refused: no other node takes the shards");
        set_cordon(control, control->cordon_before);
        answer(control, inbound, request->id, SHERD_OPERATION_FAILED, SHERD_OPERATION_LAST_HOST,
               "no other node takes the shards of a type: the drain has ended");
        return;
    }
    (void)snprintf(text, sizeof text, "%u shards are left", left);
    answer(control, inbound, request->id, left ? SHERD_OPERATION_STOPPING : SHERD_OPERATION_DONE,
           SHERD_OPERATION_OK, text);
}

static void serve_cordon(struct control *control, const struct inbound *inbound,
                         const struct operation_request *request)
{
    bool is_there = control->cordon == level_of(request->kind);
    const struct region *untold;
    bool was_old;

    if (request->is_dry_run) {
        answer(control, inbound, request->id, SHERD_OPERATION_DONE, SHERD_OPERATION_OK,
               is_there ? "nothing would change" : "the node's cordon would change");
        return;
    }
    if (!is_there && operation_ids_have(&control->cordons, request->id)) {
        bool was_refused = operation_ids_end_with(&control->cordons, request->id); /* a drain */

        SOMETIMES("a request of a cordon comes after a later operation", !was_refused);
        answer(control, inbound, request->id,
               was_refused ? SHERD_OPERATION_FAILED : SHERD_OPERATION_CANCELLED,
               was_refused ? SHERD_OPERATION_LAST_HOST : SHERD_OPERATION_OK,
               was_refused ? "no other node takes the shards of a type: the drain has ended"
                           : "a later operation about the node replaces this one");
        return;
    }
    operation_ids_add(&control->cordons, request->id);
    begin_cordon(control, request);
    untold = untold_region(control);
    if (untold) {
        REACHED("a cordon is not confirmed by all coordinators yet");
        was_old = is_old(control, untold);
        answer(control, inbound, request->id,
               was_old ? SHERD_OPERATION_FAILED : SHERD_OPERATION_WAITING,
               was_old ? SHERD_OPERATION_OLD : SHERD_OPERATION_NO_COORDINATOR,
               "the coordinator of a type has not confirmed it");
    } else if (request->kind == SHERD_DRAIN) {
        report_drain(control, inbound, request);
    } else {
        answer(control, inbound, request->id, SHERD_OPERATION_DONE, SHERD_OPERATION_OK,
               control->cordon ? "the node gets no shards while another one takes them"
                               : "the node gets shards");
    }
}

static void pass_on(struct control *control, const struct inbound *inbound,
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
    else if (!operation_is_of_node(request.kind))
        pass_on(control, inbound, &request);
    else
        serve_cordon(control, inbound, &request);
}
