/* Checks the handshake of a connection and the sender of its first frame. */
#include "node/machine/machine.h"

static bool is_seed(const struct machine *machine,
                    const struct address *address)
{
    const struct node_settings *settings = machine->settings;

    for (uint32_t i = 0; i < settings->seed_node_count; i++)
        if (address_equal(&settings->seed_nodes[i], address))
            return true;
    return false;
}

/* Refuses the first handshake of a connection, or a later one. A seed node with another system name
 * looks for this node, too, and neither answers: the line gives the cause. */
static void refuse_handshake(struct machine *machine, struct inlet *inlet,
                             enum handshake_fault fault,
                             const struct address *from, const char *why)
{
    char seed[ADDRESS_TEXT_MAX];
    bool is_pekko = strcmp(machine->self->protocol, "pekko") == 0;
    /* The text names the peer's address first. */
    bool is_other = strncmp(why, is_pekko ? "handshake from akka://"
                                          : "handshake from pekko://",
                            is_pekko ? 22 : 23) == 0;

    machine->refused++;
    if (fault == HANDSHAKE_FOREIGN && is_seed(machine, from))
        trace_put(machine->trace, TRACE_WARNING, "artery",
                  "handshake refused: a seed node has another system name or "
                  "protocol, and cannot be joined seed=%s own=%s://%s "
                  "reason=\"%s\" hint=\"%s\"",
                  address_text(from, seed, sizeof seed),
                  machine->self->protocol, machine->self->system, why,
                  is_other ? "the seed node speaks the other protocol: set "
                             "sherd.protocol.name to that"
                           : "correct the name or cluster.seed-nodes");
    else if (fault == HANDSHAKE_FOREIGN)
        trace_put(machine->trace, TRACE_WARNING, "artery",
                  "handshake refused: the peer has another system name or "
                  "protocol own=%s://%s reason=\"%s\" "
                  "hint=\"%s\"",
                  machine->self->protocol, machine->self->system, why,
                  is_other ? "the peer speaks the other protocol; all nodes of "
                             "a cluster need the same"
                           : "correct the system name there, or its seed "
                             "nodes");
    else
        trace_put(machine->trace, TRACE_WARNING, "artery",
                  "handshake refused reason=\"%s\" "
                  "hint=\"correct this node's address there, or the version\"",
                  *why ? why : "malformed");
    inlet_close(inlet, INLET_REFUSED);
}

void machine_post_handshake(struct machine *machine,
                            const struct handshake *handshake, bool is_claim)
{
    struct mail_content content =
        mail_from(machine->index - 1,
                  MAIL(handshake, .is_claim = is_claim,
                       .own = { mem_copy(handshake, sizeof *handshake) }));

    outputs_post(&machine->outputs, 0, &content);
}

/* Returns what the registry says, and notes it in the inlet. */
static enum peer_acceptance accept(struct machine *machine, enum stream stream,
                                   const struct handshake *handshake,
                                   struct inlet *inlet)
{
    enum peer_acceptance acceptance =
        peers_accept(&machine->peers, stream, handshake);

    switch (acceptance) {
    case PEER_ACCEPTED:
        inlet_accept(inlet, handshake->from.uid, handshake->lane,
                     handshake->generation);
        break;
    case PEER_WAITS:
        inlet_claim(inlet, handshake->from.uid, handshake->lane,
                    handshake->generation);
        break;
    case PEER_REFUSED:
        machine->refused++;
        inlet_close(inlet, peers_is_over(&machine->peers, handshake->from.uid)
                               ? INLET_OVER
                               : INLET_SUPERSEDED);
        break;
    }
    return acceptance;
}

/* Returns false if the frame is used up. Control passes its frames on to the associations, which
 * answer or report the fault. */
static bool take_handshake(struct machine *machine, enum stream stream,
                           const struct envelope *envelope,
                           struct inlet *inlet)
{
    enum peer_acceptance acceptance = PEER_ACCEPTED;
    char why[HANDSHAKE_TEXT_MAX] = "";
    struct handshake handshake;
    enum handshake_fault fault = handshake_request_read(
        machine->self, envelope->payload, &handshake, why);
    bool right = fault == HANDSHAKE_OK &&
                 handshake.from.uid == envelope->origin;

    handshake.order = inlet_order(inlet);
    if (right)
        acceptance = accept(machine, stream, &handshake, inlet);
    if (acceptance == PEER_REFUSED)
        return false;
    if (machine->control)
        return true;
    if (right)
        machine_post_handshake(machine, &handshake, acceptance == PEER_WAITS);
    else
        refuse_handshake(machine, inlet, fault, &handshake.from.address, why);
    return false;
}

bool machine_handshake(struct machine *machine, enum stream stream,
                       const struct envelope *envelope, struct inlet *inlet)
{
    if (envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_HANDSHAKE_REQUEST))
        return take_handshake(machine, stream, envelope, inlet);
    if (inlet_uid(inlet))
        return true;
    if (!peers_sender(&machine->peers, envelope->origin)) {
        machine->refused += !machine->control;
        if (!machine->control)
            machine_envelope_ended(machine, SHERD_REASON_NODE_GONE, envelope,
                                   envelope->payload);
        return machine->control != NULL; /* a response may come before the peer's request */
    }
    inlet_accept(inlet, envelope->origin, 0, 0);
    return true;
}
