/* Adds entity types to a node that runs, and shuts single regions down.
 *
 * A type is added in two rounds of all lanes. In the first one each lane gets the type's routes and
 * owned shards, so that it can take messages of other lanes; in the second one its actors may use the
 * type. Then the region exists, and hears of the members. */
#include "node/control/control.h"

static void give_back(struct control *control, struct type_part *part, int result)
{
    part->result = result;
    outputs_request(&control->machine->outputs,
                    &(struct driver_request){ .kind = DRIVER_TYPE, .type = part });
}

void control_type_calls_fini(struct control *control)
{
    struct type_calls *calls = &control->type_calls;

    for (uint32_t i = 0; i < calls->adding.count; i++)
        mem_free(calls->adding.items[i]);
    for (uint32_t i = 0; i < calls->stopping.count; i++)
        mem_free(calls->stopping.items[i]);
    vec_fini(&calls->adding);
    vec_fini(&calls->stopping);
}

/* ---- a type that is added ---- */

static void ask_lanes(struct control *control, struct mail_content content)
{
    struct type_calls *calls = &control->type_calls;

    calls->lanes_left = UINT64_MAX >> (64 - control->machine->settings->lanes);
    content.type = (uint16_t)calls->adding.items[0]->type;
    outputs_post_lanes(&control->machine->outputs, &content);
}

/* A region and a singleton that begin now are told of all members. */
static void tell_members(struct control *control, uint32_t index)
{
    struct machine *machine = control->machine;
    struct singleton *singleton = control->types[index].singleton;

    for (uint32_t i = 0; i < member_count(control->member); i++) {
        const struct member_view *view = member_at(control->member, i);
        struct member_info peer = control_peer(control, view, index);

        control_tell_region(control, view, index);
        if (singleton)
            singleton_peer(singleton, machine->now, &peer);
    }
    if (singleton)
        singleton_peers_done(singleton, machine->now, &machine->outbox);
}

static void add_first(struct control *control)
{
    struct machine *machine = control->machine;
    struct type_calls *calls = &control->type_calls;
    struct type_part *part = calls->adding.items[0];

    control_tell_all(control); /* waiting events are earlier than the region */
    control_make_type(control, part->type);
    control->type_count = part->type + 1;
    atomic_store_explicit(&machine->node->type_count, part->type + 1, memory_order_release);
    tell_members(control, part->type);
    control_check_jvm_peer(control);
    trace_put(machine->trace, TRACE_INFO, "node", "entity type added type=%s",
              machine->node->names[part->type].name);
    give_back(control, part, 0);
    vec_remove(&calls->adding, 0);
}

void control_type_added(struct control *control, uint32_t lane)
{
    struct type_calls *calls = &control->type_calls;

    calls->lanes_left &= ~(UINT64_C(1) << lane);
    if (calls->lanes_left)
        return;
    calls->is_opening = !calls->is_opening;
    if (calls->is_opening) {
        ask_lanes(control, mail_open_type_new());
        return;
    }
    add_first(control);
    if (calls->adding.count)
        ask_lanes(control, mail_add_type_new());
}

static void add_type(struct control *control, struct type_part *part)
{
    struct type_calls *calls = &control->type_calls;

    if (control->shutdown != SHUTDOWN_NOT) {
        give_back(control, part, SHERD_ESTATE);
        return;
    }
    vec_push(&calls->adding, part);
    if (calls->adding.count == 1)
        ask_lanes(control, mail_add_type_new());
}

/* ---- a region that is shut down ---- */

static void stop_region(struct control *control, struct type_part *part)
{
    struct machine *machine = control->machine;
    struct control_type *type = &control->types[part->type];
    uint64_t time = machine->settings->shutdown_region_timeout;
    struct mail_content content = mail_for_type(part->type, mail_count_waiting_new());

    if (type->region_stopped) {
        give_back(control, part, 0);
        return;
    }
    vec_push(&control->type_calls.stopping, part);
    outputs_post_lanes(&machine->outputs, &content);
    region_shutdown(type->region, machine->now, machine->now + (time ? time : 60 * SECOND));
}

void control_region_stopped(struct control *control, uint32_t index)
{
    struct type_calls *calls = &control->type_calls;

    control->types[index].region_stopped = true;
    for (uint32_t i = calls->stopping.count; i-- > 0;) {
        struct type_part *part = calls->stopping.items[i];

        if (part->type != index)
            continue;
        give_back(control, part, 0);
        vec_remove(&calls->stopping, i);
    }
}

void control_type_call(struct control *control, struct mail_content *content)
{
    struct type_part *part = mail_type_call_take(content).own.part;

    if (part->call == TYPE_ADD)
        add_type(control, part);
    else
        stop_region(control, part);
}
