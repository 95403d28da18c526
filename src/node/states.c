/* Reads the states of a node's automata. It changes nothing. */
#include "node/states.h"

#include <string.h>

#include "node/control/control.h"
#include "node/lane/lane.h"
#include "shard/shard_id.h"

static const struct {
    const char *automaton;
    const char *name;
} names[NODE_STATE_COUNT] = {
#define X(id, automaton, name) [NODE_##id] = { (automaton), (name) },
    NODE_STATES(X)
#undef X
};

const char *node_state_automaton(enum node_state state)
{
    return names[state].automaton;
}

const char *node_state_name(enum node_state state)
{
    return names[state].name;
}

/* ---- control ---- */

static enum node_state member_state(const struct member *member)
{
    const struct member_view *self = member_self(member);

    if (member_is_stopped(member))
        return NODE_STOPPED;
    if (!self)
        return NODE_OUTSIDE;
    switch (self->status) {
    case MEMBER_JOINING:
        return NODE_JOINING;
    case MEMBER_WEAKLY_UP:
        return NODE_WEAKLY_UP;
    case MEMBER_UP:
    case MEMBER_PREPARING_FOR_SHUTDOWN:
    case MEMBER_READY_FOR_SHUTDOWN:
        break;
    case MEMBER_LEAVING:
        return NODE_LEAVING;
    case MEMBER_EXITING:
        return NODE_EXITING;
    case MEMBER_DOWN:
    case MEMBER_REMOVED:
        return NODE_STOPPED;
    }
    return NODE_UP;
}

static enum node_state resolver_state(const struct resolver *resolver)
{
    switch (resolver_phase(resolver)) {
    case RESOLVER_CALM:
        break;
    case RESOLVER_WATCHING:
        return NODE_WATCHING;
    case RESOLVER_DELAYED:
        return NODE_DELAYED;
    case RESOLVER_ASKING:
        return NODE_ASKING;
    }
    return NODE_CALM;
}

static enum node_state lease_state_of(const struct lease *lease, uint64_t now)
{
    switch (lease_state(lease)) {
    case LEASE_FREE:
        break;
    case LEASE_ACQUIRING:
        return NODE_LEASE_ACQUIRING;
    case LEASE_HELD:
        return lease_is_held(lease, now) ? NODE_LEASE_HELD
                                         : NODE_LEASE_UNSURE;
    case LEASE_RELEASING:
        return NODE_LEASE_RELEASING;
    }
    return NODE_LEASE_FREE;
}

static uint64_t coordinator_states(const struct coordinator *coordinator)
{
    const struct coordinator_moves moves = coordinator_moves(coordinator);
    uint64_t states = 0;

    if (!coordinator_is_active(coordinator))
        states |= NODE_STATE_BIT(NODE_READING);
    if (moves.beginning)
        states |= NODE_STATE_BIT(NODE_BEGINNING);
    if (moves.stopping)
        states |= NODE_STATE_BIT(NODE_ORDERED);
    return states;
}

static uint64_t control_states(const struct control *control, uint64_t now)
{
    uint64_t states = NODE_STATE_BIT(member_state(control->member));

    if (control->resolver)
        states |= NODE_STATE_BIT(resolver_state(control->resolver));
    if (control->lease)
        states |= NODE_STATE_BIT(lease_state_of(control->lease, now));
    for (uint32_t i = 0; i < control->type_count; i++) {
        const struct control_type *type = &control->types[i];

        if (type->coordinator)
            states |= coordinator_states(type->coordinator);
        if (!type->region_stopped && !region_registered(type->region))
            states |= NODE_STATE_BIT(NODE_REGISTERING);
    }
    return states;
}

/* ---- lanes ---- */

static uint64_t owned_states(const struct owned_shards *owned)
{
    static const struct {
        enum owned_state state;
        enum node_state as;
    } looked[] = { { OWNED_LEASING, NODE_SHARD_LEASING },
                   { OWNED_RELEASING, NODE_SHARD_RELEASING },
                   { OWNED_CLAIMING, NODE_CLAIMING },
                   { OWNED_RUNNING, NODE_RUNNING },
                   { OWNED_DRAINING, NODE_DRAINING },
                   { OWNED_STOPPING, NODE_STOPPING },
                   { OWNED_FENCED_STOPPING, NODE_FENCED } };
    size_t size = 2 * (size_t)owned->shard_count - 1;
    uint64_t states = 0;

    for (size_t i = 0; i < sizeof looked / sizeof *looked; i++)
        if (memchr(owned->state, (int)looked[i].state, size))
            states |= NODE_STATE_BIT(looked[i].as);
    return states;
}

static uint64_t journal_states(const struct journal *journal)
{
    uint32_t work = journal_work(journal);
    uint64_t states = 0;

    if (work & JOURNAL_REPEATING)
        states |= NODE_STATE_BIT(NODE_REPEATING);
    if (work & JOURNAL_WRITING)
        states |= NODE_STATE_BIT(work & JOURNAL_COLLECTING ? NODE_QUEUEING
                                                           : NODE_WRITING);
    if (work & JOURNAL_RAISING)
        states |= NODE_STATE_BIT(NODE_RAISING);
    if (work & JOURNAL_REPLAYING)
        states |= NODE_STATE_BIT(NODE_REPLAYING);
    return states ? states : NODE_STATE_BIT(NODE_RESTING);
}

static uint64_t lane_states(const struct lane *lane)
{
    uint64_t states = 0;

    for (uint32_t i = 0; i < lane->type_count; i++)
        if (lane->types[i].owned.count)
            states |= owned_states(&lane->types[i].owned);
    return states ? states | journal_states(lane->journal) : 0;
}

uint64_t machine_states(const struct machine *machine, uint64_t now)
{
    return machine->control ? control_states(machine->control, now)
                            : lane_states(machine->lane);
}

bool machine_next_wanted(const struct machine *machine, uint32_t type,
                         uint32_t *at, int32_t *shard)
{
    return region_next_wanted(machine->control->types[type].region, at, shard);
}

bool machine_next_home(const struct machine *machine, uint32_t type,
                       uint32_t *at, int32_t *shard, struct node_id *home)
{
    const struct coordinator *coordinator =
        machine->control->types[type].coordinator;
    struct coordinator_shard_view view;

    if (!coordinator || !coordinator_is_active(coordinator))
        return false;
    while (coordinator_next_shard(coordinator, at, &view)) {
        if (!view.region.size || !shard_parse(view.shard, shard))
            continue;
        *home = view.node;
        return true;
    }
    return false;
}
