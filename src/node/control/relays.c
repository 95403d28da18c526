/* Runs replicas of JVM nodes' own replicators, whose values nothing on this node uses. */
#include "node/control/relays.h"

#include "node/control/control.h"

/* Akka's receptionist of typed actors. Its replicas have no role, and are in all data centers. */
static const char *const paths[RELAY_COUNT] = {
    "/system/clusterReceptionist/replicator",
};

void relays_init(struct control *control)
{
    for (uint32_t i = 0; i < RELAY_COUNT; i++)
        control->relays[i].due = NEVER;
}

void relays_fini(struct control *control)
{
    for (uint32_t i = 0; i < RELAY_COUNT; i++)
        replicator_free(control->relays[i].replicator);
}

static void tell_peer(struct control *control, struct relay *relay,
                      const struct member_view *view)
{
    struct machine *machine = control->machine;
    struct member_info peer = control_peer_of_all(control, view);

    peer.has_role = true;
    relay->is_stirred = true;
    replicator_peer(relay->replicator, machine->now, &peer);
}

static void make(struct control *control, uint32_t index)
{
    struct machine *machine = control->machine;
    struct relay *relay = &control->relays[index];
    struct replicator_options options = {
        .identity = machine->self,
        .path = paths[index],
        .settings = machine->settings->data,
        .writer = &control->data.writer,
        .trace = machine->trace,
        .room = &control->data_room,
        .seed = machine->settings->seed ^ machine->self->node.uid ^
                (UINT64_C(0x4e1a7) + index),
    };

    if (relay->replicator)
        return;
    relay->replicator = replicator_new(&options, machine->now);
    trace_put(machine->trace, TRACE_INFO, "node",
              "replica of a JVM replicator made path=%s", paths[index]);
    for (uint32_t i = 0; i < member_count(control->member); i++)
        tell_peer(control, relay, member_at(control->member, i));
}

void relays_peer(struct control *control, const struct member_view *view)
{
    for (uint32_t i = 0; i < RELAY_COUNT; i++)
        if (control->relays[i].replicator)
            tell_peer(control, &control->relays[i], view);
}

void relays_peer_removed(struct control *control, const struct node_id *node)
{
    for (uint32_t i = 0; i < RELAY_COUNT; i++) {
        struct relay *relay = &control->relays[i];

        if (!relay->replicator)
            continue;
        relay->is_stirred = true;
        replicator_peer_removed(relay->replicator, control->machine->now, node);
    }
}

/* Whether a message is for the path itself, or for one below it, of a write or a read. */
static bool is_for(const char *path, struct slice recipient)
{
    size_t size = strlen(path);

    return recipient.size >= size && !memcmp(recipient.data, path, size) &&
           (recipient.size == size || recipient.data[size] == '/');
}

bool relays_receive(struct control *control, const struct inbound *inbound)
{
    struct machine *machine = control->machine;

    if (inbound->serializer != REPLICATOR_SERIALIZER)
        return false;
    for (uint32_t i = 0; i < RELAY_COUNT; i++) {
        struct relay *relay = &control->relays[i];

        if (!is_for(paths[i], inbound->recipient))
            continue;
        make(control, i);
        relay->is_stirred = true;
        replicator_wall(relay->replicator, machine->wall_ms);
        replicator_receive(relay->replicator, machine->now, inbound,
                           &machine->outbox);
        return true;
    }
    return false;
}

/* No actor here follows a key or made a call, so no event needs an answer. */
void relays_wire(struct control *control)
{
    struct replicator_news news;

    for (uint32_t i = 0; i < RELAY_COUNT; i++) {
        struct relay *relay = &control->relays[i];

        if (!relay->is_stirred)
            continue;
        while (replicator_next_news(relay->replicator, &news))
            ;
        relay->due = replicator_deadline(relay->replicator);
        relay->is_stirred = false;
    }
}

static uint64_t due(const struct relay *relay)
{
    return relay->is_stirred ? replicator_deadline(relay->replicator)
                             : relay->due;
}

void relays_step(struct control *control)
{
    struct machine *machine = control->machine;

    for (uint32_t i = 0; i < RELAY_COUNT; i++) {
        struct relay *relay = &control->relays[i];

        if (due(relay) > machine->now)
            continue;
        relay->is_stirred = true;
        replicator_wall(relay->replicator, machine->wall_ms);
        replicator_step(relay->replicator, machine->now, &machine->outbox);
    }
}

uint64_t relays_deadline(const struct control *control)
{
    uint64_t first = NEVER;

    for (uint32_t i = 0; i < RELAY_COUNT; i++)
        if (due(&control->relays[i]) < first)
            first = due(&control->relays[i]);
    return first;
}
