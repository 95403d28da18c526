/* Does what control and lanes have in common: mail, requests, links, accepted connections. */
#include "node/machine/machine.h"

#include "artery/extension.h"
#include "base/check.h"
#include "base/fetch.h"
#include "journal/backend.h"
#include "node/control/control_calls.h"
#include "node/lane/lane_calls.h"

#define FRAMES_MAX 128 /* of a batch */
#define FETCH_INLET 128 /* bytes for each frame */
#define FETCH_MACHINE 640
#define FETCH_ASSOCIATION 128

bool machine_next_request(struct machine *machine, struct driver_request *request)
{
    return outputs_next_request(&machine->outputs, request);
}

struct trace *machine_trace(struct machine *machine)
{
    return machine->trace;
}

bool machine_next_probe(struct machine *machine, struct probe *probe)
{
    return probes_next(machine->probes, probe);
}

/* ---- mail ---- */

uint32_t machine_outgoing(struct machine *machine, uint32_t to,
                          const struct mail **mail)
{
    return outputs_mail(&machine->outputs, to, mail);
}

void machine_sent(struct machine *machine, uint32_t to, uint32_t count)
{
    outputs_sent(&machine->outputs, to, count);
}

static void answer_status(struct machine *machine, struct status_part *part)
{
    struct driver_request request = { .kind = DRIVER_STATUS, .part = part };

    part->machine = machine->index;
    part->status.counters[SHERD_CONNECTIONS_REFUSED] = machine->closed;
    part->status.counters[SHERD_FRAMES_MALFORMED] = machine->malformed;
    part->status.counters[SHERD_FRAMES_REFUSED] = machine->refused;
    if (machine->control)
        control_status(machine->control, &part->status, !part->is_brief);
    else
        lane_status(machine->lane, &part->status);
    if (part->wants_figures && machine->control)
        control_figures(machine->control, &part->figures);
    else if (part->wants_figures)
        lane_figures(machine->lane, &part->figures);
    outputs_request(&machine->outputs, &request);
}

/* Whatever a lost lease ends gets no input any more. */
static void begin_input(struct machine *machine, uint64_t now)
{
    machine->now = now;
    if (machine->control)
        control_leases_look(machine->control);
    else
        lane_leases_look(machine->lane);
}

void machine_mail(struct machine *machine, uint64_t now,
                  const struct mail *mail, uint32_t count)
{
    begin_input(machine, now);
    for (uint32_t i = 0; i < count; i++) {
        struct mail_content content = mail_open(&mail[i]);

        if (content.kind == MAIL_STATUS)
            answer_status(machine, mail_status_take(&content).own.part);
        else if (machine->control)
            control_mail(machine->control, content.lane, &content);
        else
            lane_mail(machine->lane, content.lane, &content);
    }
}

struct sherd_ref machine_reserve(struct machine *machine)
{
    return machine->lane ? lane_reserve(machine->lane)
                         : (struct sherd_ref){ 0, 0 };
}

/* ---- messages to other nodes ---- */

bool machine_pending(struct machine *machine, uint64_t link,
                     struct slice *bytes)
{
    struct peer *peer;
    enum stream stream;
    struct link *object =
        peer_links_find(&machine->links, link, &peer, &stream);

    if (!object)
        return false;
    if (link_pending(object, machine->now, bytes))
        return true;
    peer_way(&machine->links, peer, link_index(stream))->writing =
        false;
    return false;
}

void machine_wrote(struct machine *machine, uint64_t now, uint64_t link,
                   size_t size)
{
    struct peer *peer;
    enum stream stream;
    struct link *object =
        peer_links_find(&machine->links, link, &peer, &stream);

    machine->now = now;
    if (object)
        link_wrote(object, now, size);
}

void machine_connected(struct machine *machine, uint64_t now, uint64_t link)
{
    struct peer *peer;
    enum stream stream;
    struct link *object =
        peer_links_find(&machine->links, link, &peer, &stream);

    machine->now = now;
    if (!object)
        return;
    link_connected(object, now);
    peer_touched(&machine->links, peer, stream);
}

void machine_failed(struct machine *machine, uint64_t now, uint64_t link,
                    const char *why)
{
    struct peer *peer;
    enum stream stream;
    struct link *object =
        peer_links_find(&machine->links, link, &peer, &stream);

    machine->now = now;
    if (!object)
        return;
    peer_way(&machine->links, peer, link_index(stream))->writing =
        false;
    if (link_state(object) == LINK_CONNECTING)
        link_failed(object, now, why);
    else
        link_closed(object, now, why);
    peer_touched(&machine->links, peer, stream);
}

/* ---- accepted connections ---- */

void machine_accepted(struct machine *machine, uint64_t now,
                      const struct arrival *arrival)
{
    struct inlet_slot *slot = mem_alloc(sizeof *slot);

    machine->now = now;
    machine->inlet_options.magics[0] = "AKKA";
    machine->inlet_options.probes = machine->probes;
    machine->inlet_options.unknown_size_max =
        machine->settings->unknown_size_max;
    machine->inlet_options.preamble_within =
        machine->settings->preamble_within;
    machine->inlet_options.handshake_within =
        machine->settings->handshake_within;
    machine->inlet_options.large_size_max = machine->settings->large_frame_size;
    slot->conn = arrival->conn;
    slot->machine = machine;
    slot->inlet = inlet_new(now, &machine->inlet_options);
    inlet_set_order(slot->inlet, arrival->order);
    slot->remote = mem_text(arrival->remote);
    map_put(&machine->inlets, map_u64(&slot->conn), slot);
    vec_push(&machine->unknown, slot->conn);
    if (inlet_deadline(slot->inlet) < machine->inlets_deadline)
        machine->inlets_deadline = inlet_deadline(slot->inlet);
}

void machine_vouched(struct machine *machine, uint64_t conn,
                     const struct voucher *voucher)
{
    struct inlet_slot *slot = map_get(&machine->inlets, map_u64(&conn));

    check(slot && !slot->guard);
    slot->guard = mem_alloc(sizeof *slot->guard);
    slot->guard->voucher = *voucher;
}

void machine_conn_closed(struct machine *machine, uint64_t now, uint64_t conn)
{
    struct inlet_slot *slot = map_get(&machine->inlets, map_u64(&conn));

    machine->now = now;
    if (slot)
        machine_free_conn(machine, slot);
}

static bool is_handshake(const struct envelope *envelope)
{
    return envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_HANDSHAKE_REQUEST) ||
           envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_HANDSHAKE_RESPONSE);
}

/* Reads a handshake's node; false: no valid handshake. */
static bool claim(struct machine *machine, const struct envelope *envelope,
                  struct node_id *from)
{
    struct handshake handshake;
    enum handshake_fault fault;

    if (envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_HANDSHAKE_REQUEST))
        fault = handshake_request_read(machine->self, envelope->payload,
                                       &handshake, NULL);
    else
        fault = handshake_response_read(machine->self, envelope->payload,
                                        &handshake, NULL);
    *from = handshake.from;
    return fault == HANDSHAKE_OK;
}

/* The peer's proof must cover the address in each handshake, and that of the sender of any other
 * frame. */
static bool may_say(struct machine *machine, struct inlet_slot *slot,
                    const struct envelope *envelope, struct slice frame)
{
    struct guard *guard = slot->guard;
    const struct peer *peer;
    struct node_id from;
    bool open;

    if (!guard)
        return true;
    open = inlet_reason(slot->inlet) == INLET_OPEN;
    if (is_handshake(envelope)) {
        if (open && !claim(machine, envelope, &from))
            return true; /* only its fault will be reported */
    } else {
        if (open && envelope->origin == guard->vouched)
            return true;
        peer = peers_sender(&machine->peers, envelope->origin);
        if (peer)
            from = peer_node(peer);
        open = open && peer; /* unknown node: only the frame is refused */
    }
    if (open && from.uid == envelope->origin &&
        guard->voucher.covers(guard->voucher.proof, from.address.host)) {
        guard->vouched = from.uid;
        return true;
    }
    machine->refused++;
    machine_envelope_ended(machine, SHERD_REASON_NODE_GONE, envelope, frame);
    if (!open)
        return false;
    trace_put(machine->trace, TRACE_WARNING, "artery",
              "sender refused: the peer's certificate is not for its address "
              "from=%s claims=%s:%u "
              "hint=\"issue a certificate for that host name\"",
              slot->remote, from.address.host, (unsigned)from.address.port);
    inlet_close(slot->inlet, INLET_NOT_VOUCHED);
    return false;
}

static void take_frame(struct machine *machine, struct inlet_slot *slot,
                       struct slice frame)
{
    struct inlet *inlet = slot->inlet;
    enum stream stream = (enum stream)inlet_stream(inlet);
    struct envelope envelope;
    enum envelope_error error;

    if (machine->lane && lane_frame_again(machine->lane, frame))
        return;
    error =
        envelope_read(frame, stream == STREAM_ORDINARY ? &machine->tables : NULL,
                      &envelope);
    if (error != ENVELOPE_OK) {
        if (stream != STREAM_CONTROL) {
            machine->undelivered[SHERD_REASON_NO_HANDLER]++;
            machine_frame_ended(machine, SHERD_REASON_NO_HANDLER, frame);
        }
        if (!machine->malformed++)
            trace_put(machine->trace, TRACE_WARNING, "artery",
                      "frame dropped reason=\"%s\" "
                      "hint=\"run a compatible version on the sender\"",
                      envelope_error_text(error));
        return;
    }
    if (!may_say(machine, slot, &envelope, frame))
        return;
    if (machine->control)
        control_frame(machine->control, stream, &envelope, inlet);
    else
        lane_frame(machine->lane, stream, &envelope, frame, inlet);
}

/* Leaves the probe of bytes in flight when the machine closed the connection. */
static void unread(struct machine *machine, struct slice bytes)
{
    struct probe probe = { .kind = PROBE_BYTES_ENDED,
                           .type = PROBE_TYPE_NONE,
                           .bytes = bytes };

    probes_put(machine->probes, &probe);
}

/* Caches the sender's entries for the next frames; makes none. */
static void note_sender(const struct machine *machine, struct inlet_slot *slot)
{
    uint64_t uid = inlet_uid(slot->inlet);

    slot->peer = map_get(&machine->peers.by_uid, map_u64(&uid));
    if (machine->control)
        slot->association = control_place(machine->control, uid);
}

struct inlet_slot *machine_place(const struct machine *machine, uint64_t conn)
{
    return map_get(&machine->inlets, map_u64(&conn));
}

void machine_fetch(const struct machine *machine, uint32_t step)
{
    if (step == 0)
        fetch_memory(machine, FETCH_MACHINE);
    else if (machine->control)
        control_fetch(machine->control, step - 1);
    if (step != 1)
        return;
    __builtin_prefetch(&machine->self->node);
    __builtin_prefetch(machine->trace);
    __builtin_prefetch(machine->probes);
}

void machine_fetch_place(const struct inlet_slot *slot, uint32_t step)
{
    bool knows = slot->peer && slot->checked == slot->machine->peers.version;

    machine_fetch(slot->machine, step);
    if (step == 1 && knows)
        peer_fetch(&slot->machine->links, slot->peer);
    if (step > 0)
        return;
    fetch_memory(slot->inlet, FETCH_INLET);
    if (knows)
        fetch_memory(slot->peer, sizeof *slot->peer);
    if (slot->association.association)
        fetch_memory(slot->association.association, FETCH_ASSOCIATION);
}

/* Checks once in a batch, and only after news of another connection. */
static void look_if_newest(struct machine *machine, struct inlet_slot *slot)
{
    if (!inlet_uid(slot->inlet) || slot->checked == machine->peers.version)
        return;
    slot->checked = machine->peers.version;
    note_sender(machine, slot);
    if (!peers_is_newest(&machine->peers, inlet_uid(slot->inlet),
                         (enum stream)inlet_stream(slot->inlet),
                         inlet_lane(slot->inlet),
                         inlet_generation(slot->inlet)))
        inlet_close(slot->inlet, INLET_SUPERSEDED);
}

void machine_bytes_at(struct machine *machine, uint64_t now,
                      struct inlet_slot *slot, struct slice bytes)
{
    struct slice frames[FRAMES_MAX];
    bool was_claimed = inlet_claimed(slot->inlet);
    uint32_t count;

    begin_input(machine, now);
    if (slot->checked != machine->peers.version)
        slot->peer = NULL; /* perhaps freed since */
    machine->peers.last = slot->peer;
    if (machine->control)
        control_expect(machine->control, &slot->association);
    inlet_receive(slot->inlet, bytes);
    while ((count = inlet_batch(slot->inlet, frames, FRAMES_MAX))) {
        for (uint32_t i = 0; i < count; i++)
            take_frame(machine, slot, frames[i]);
        if (machine->lane)
            lane_frames_end(machine->lane);
        look_if_newest(machine, slot);
    }
    if (inlet_reason(slot->inlet) != INLET_OPEN)
        machine_close_conn(machine, slot);
    else if (!was_claimed && inlet_claimed(slot->inlet))
        machine_claimed(machine, slot);
}

void machine_bytes(struct machine *machine, uint64_t now, uint64_t conn,
                   struct slice bytes)
{
    struct inlet_slot *slot = map_get(&machine->inlets, map_u64(&conn));

    machine->now = now;
    if (slot)
        machine_bytes_at(machine, now, slot, bytes);
    else
        unread(machine, bytes);
}

void machine_close(struct machine *machine)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&machine->inlets, &at, &entry))
        inlet_slot_free(entry.value);
    map_fini(&machine->inlets);
    vec_fini(&machine->unknown);
    vec_fini(&machine->claims);
    peer_links_end(&machine->links);
    for (uint32_t i = 0; i < machine->node->machine_count; i++) {
        struct mail_queue *queue = &machine->outputs.mail[i];

        for (; queue->head < queue->mail.count; queue->head++) {
            struct mail_content content = mail_open(&queue->mail.items[queue->head]);

            if (machine->lane)
                lane_mail_end(machine->lane, &content);
            mail_content_free(&content);
        }
        mail_queue_fini(queue);
    }
}

/* ---- turns ---- */

void machine_start(struct machine *machine, uint64_t now, int64_t wall_ms)
{
    machine->now = now;
    machine->wall_ms = wall_ms;
    if (machine->control)
        control_start(machine->control);
}

void machine_stored(struct machine *machine, uint64_t now,
                    struct journal_request *request)
{
    begin_input(machine, now);
    if (machine->control)
        control_stored(machine->control, request);
    else
        lane_stored(machine->lane, request);
}

void machine_leased(struct machine *machine, uint64_t now,
                    struct lease_request *request)
{
    check(machine->control != NULL);
    machine->now = now;
    control_leased(machine->control, request);
}

void machine_lease_forgotten(struct machine *machine, uint64_t now,
                             enum lease_provider_kind provider, enum lease_use use)
{
    check(machine->control != NULL);
    machine->now = now;
    control_lease_forgotten(machine->control, provider, use);
}

void machine_lane_stalled(struct machine *machine, uint64_t now, uint32_t lane, uint64_t since)
{
    check(machine->control != NULL && lane < machine->settings->lanes);
    machine->now = now;
    control_lane_stalled(machine->control, lane, since);
}

void machine_job_done(struct machine *machine, uint64_t now, struct job *job)
{
    check(machine->lane != NULL);
    machine->now = now;
    lane_job_done(machine->lane, job);
}

void machine_durable(struct machine *machine, uint64_t now,
                     struct durable_request *request)
{
    check(machine->control != NULL);
    machine->now = now;
    control_durable(machine->control, request);
}

void machine_found(struct machine *machine, uint64_t now,
                   struct seed_list *list)
{
    check(machine->control != NULL);
    machine->now = now;
    control_found(machine->control, list);
    mem_free(list);
}

bool machine_turn(struct machine *machine, uint64_t now, int64_t wall_ms)
{
    bool more;

    machine->now = now;
    machine->wall_ms = wall_ms;
    peer_links_tick(&machine->links);
    machine_inlets_tick(machine);
    more = machine->control ? control_turn(machine->control)
                            : lane_turn(machine->lane);
    peer_links_flush(&machine->links);
    return more;
}

uint64_t machine_deadline(const struct machine *machine)
{
    uint64_t deadline = machine->control ? control_deadline(machine->control)
                                         : lane_deadline(machine->lane);
    uint64_t links = peer_links_deadline(&machine->links);
    uint64_t inlets = machine_inlets_deadline(machine);

    deadline = links < deadline ? links : deadline;
    return inlets < deadline ? inlets : deadline;
}
