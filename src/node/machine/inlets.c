/* Closes accepted connections: those of unknown senders that are late, and those of strangers that
 * were forgotten. Keeps those whose senders claim a peer's address. */
#include "node/machine/machine.h"

#include "base/bound.h"

void inlet_slot_free(struct inlet_slot *slot)
{
    inlet_free(slot->inlet);
    mem_free(slot->remote);
    mem_free(slot->guard);
    mem_free(slot);
}

void machine_free_conn(struct machine *machine, struct inlet_slot *slot)
{
    map_take(&machine->inlets, map_u64(&slot->conn));
    inlet_slot_free(slot);
}

void machine_close_conn(struct machine *machine, struct inlet_slot *slot)
{
    struct driver_request request = { .kind = DRIVER_CLOSE_CONN, .conn = slot->conn };
    enum inlet_reason reason = inlet_reason(slot->inlet);
    bool is_usual = reason == INLET_SUPERSEDED || reason == INLET_OVER ||
                    reason == INLET_FORGOTTEN;

    machine->closed += reason != INLET_SUPERSEDED;
    trace_put(machine->trace, is_usual ? TRACE_INFO : TRACE_WARNING, "artery",
              "connection closed from=%s reason=\"%s\"%s", slot->remote,
              inlet_reason_text(reason),
              is_usual ? "" : " hint=\"check the program and the transport there\"");
    outputs_request(&machine->outputs, &request);
    machine_free_conn(machine, slot);
}

/* An inlet's deadline only moves away, and ends once the sender is known. */
static void tick_inlets(struct machine *machine)
{
    uint32_t kept = 0;

    if (machine->now < machine->inlets_deadline)
        return;
    machine->inlets_deadline = NEVER;
    for (uint32_t i = 0; i < machine->unknown.count; i++) {
        uint64_t conn = machine->unknown.items[i];
        struct inlet_slot *slot = map_get(&machine->inlets, map_u64(&conn));

        if (!slot || inlet_deadline(slot->inlet) == NEVER)
            continue;
        if (inlet_deadline(slot->inlet) <= machine->now) {
            inlet_tick(slot->inlet, machine->now);
            if (inlet_reason(slot->inlet) != INLET_OPEN)
                machine_close_conn(machine, slot);
            continue;
        }
        machine->unknown.items[kept++] = conn;
        if (inlet_deadline(slot->inlet) < machine->inlets_deadline)
            machine->inlets_deadline = inlet_deadline(slot->inlet);
    }
    machine->unknown.count = kept;
}

/* A stranger that was forgotten may hold its connection open. */
static void close_forgotten(struct machine *machine)
{
    struct map_entry entry;
    uint32_t at = 0;

    if (machine->now < machine->close_forgotten_at)
        return;
    machine->close_forgotten_at = NEVER;
    while (map_next(&machine->inlets, &at, &entry)) {
        struct inlet_slot *slot = entry.value;
        uint64_t uid = inlet_uid(slot->inlet);

        if (!uid || map_get(&machine->peers.by_uid, map_u64(&uid)) ||
            peers_is_over(&machine->peers, uid))
            continue;
        inlet_close(slot->inlet, INLET_FORGOTTEN);
        machine_close_conn(machine, slot);
    }
}

/* ---- claims ---- */

void machine_claimed(struct machine *machine, struct inlet_slot *slot)
{
    struct inlet_slot *oldest;

    if (machine->claims.count >= CLAIMS_MAX) {
        oldest = map_get(&machine->inlets, map_u64(&machine->claims.items[0]));
        vec_remove(&machine->claims, 0);
        if (oldest && inlet_claimed(oldest->inlet)) {
            inlet_close(oldest->inlet, INLET_FORGOTTEN);
            machine_close_conn(machine, oldest);
        }
    }
    vec_push(&machine->claims, slot->conn);
    BOUNDED("claims of peers' addresses", machine->claims.count, CLAIMS_MAX);
}

/* False: it is closed. */
static bool accept_claim(struct machine *machine, struct inlet_slot *slot,
                         const struct peer *peer, struct handshake *handshake)
{
    struct inlet *inlet = slot->inlet;

    *handshake = (struct handshake){ .from = peer_node(peer),
                                     .lane = inlet_lane(inlet),
                                     .lanes = peer->lanes,
                                     .generation = inlet_generation(inlet),
                                     .order = inlet_order(inlet),
                                     .capabilities = peer->capabilities };
    if (peers_accept_claim(&machine->peers, (enum stream)inlet_stream(inlet),
                           handshake)) {
        inlet_accept(inlet, peer->uid, handshake->lane, handshake->generation);
        return true;
    }
    inlet_close(inlet, INLET_SUPERSEDED);
    machine_close_conn(machine, slot);
    return false;
}

bool machine_next_claim(struct machine *machine, const struct node_id *node,
                        struct handshake *handshake, enum stream *stream)
{
    for (uint32_t i = 0; i < machine->claims.count;) {
        uint64_t conn = machine->claims.items[i];
        struct inlet_slot *slot = map_get(&machine->inlets, map_u64(&conn));
        uint64_t uid = slot ? inlet_claimed(slot->inlet) : 0;
        const struct peer *peer =
            uid == node->uid ? peers_uid(&machine->peers, uid) : NULL;

        if (uid && !peer) {
            i++;
            continue;
        }
        vec_remove(&machine->claims, i);
        if (peer && accept_claim(machine, slot, peer, handshake)) {
            *stream = (enum stream)inlet_stream(slot->inlet);
            return true;
        }
    }
    return false;
}

void machine_inlets_tick(struct machine *machine)
{
    tick_inlets(machine);
    close_forgotten(machine);
}

uint64_t machine_inlets_deadline(const struct machine *machine)
{
    return machine->close_forgotten_at < machine->inlets_deadline
               ? machine->close_forgotten_at
               : machine->inlets_deadline;
}
