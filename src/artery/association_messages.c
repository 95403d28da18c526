/* Exchanges compression tables, system messages and termination with known peers. */
#include "artery/association_inside.h"

#include "artery/packed.h"
#include "artery/unique_address.h"
#include "base/check.h"
#include "base/mark.h"
#include "base/timers.h"

/* ---- helpers ---- */

static bool is_from(const struct associations *associations,
                    const struct association *peer,
                    const Artery__UniqueAddress *unique)
{
    const struct identity *self = associations->options.self;
    struct address address;

    return unique->uid == peer->uid &&
           !strcmp(unique->address->protocol, self->protocol) &&
           !strcmp(unique->address->system, self->system) &&
           address_set(&address, unique->address->hostname,
                       strlen(unique->address->hostname),
                       unique->address->port) &&
           kept_address_equal(peer->address, &address);
}

void association_taken(const struct associations *associations,
                       const struct association *peer, uint64_t uid, enum probe_taken what)
{
    struct probe probe = { .kind = PROBE_TAKEN,
                           .type = PROBE_TYPE_NONE,
                           .node = { address_again(peer->address), uid },
                           .first = what,
                           .second = peer->uid };

    if (associations->options.probes)
        probes_put(associations->options.probes, &probe);
}

static struct outbound control_message(const struct association *peer,
                                       const char *manifest,
                                       const struct buf *payload)
{
    return (struct outbound){
        .to = association_node(peer),
        .manifest = slice_text(manifest),
        .payload = buf_slice(payload),
        .serializer = SERIALIZER_ARTERY,
        .stream = STREAM_CONTROL,
    };
}

/* ---- compression tables ---- */

static void advertise(struct associations *associations, uint64_t now,
                      struct association *peer, enum table_kind kind,
                      struct outbox *outbox)
{
    const struct table *table =
        own_tables_newest(associations->options.tables, kind);
    struct peer_table *state = &peer->tables[kind];
    struct buf payload = {0};
    struct outbound message;

    table_advertisement_put(&payload, associations->options.self,
                            peer->uid, table);
    message = control_message(
        peer, kind == TABLE_REFS ? ARTERY_REFS_TABLE : ARTERY_MANIFESTS_TABLE,
        &payload);
    outbox_put(outbox, &message);
    buf_fini(&payload);
    state->sent++;
    state->send_at =
        state->sent < ADVERTISE_MAX ? now + ADVERTISE_MS * MS : NEVER;
    associations_due(associations, state->send_at);
}

void association_advertise(struct associations *associations, uint64_t now,
                           struct association *peer, struct outbox *outbox)
{
    for (int kind = TABLE_REFS; kind <= TABLE_MANIFESTS; kind++) {
        struct peer_table *state = &peer->tables[kind];

        state->sent = 0;
        state->send_at = NEVER;
        if (peer->uid && associations->options.tables &&
            own_tables_newest(associations->options.tables,
                              (enum table_kind)kind))
            advertise(associations, now, peer, (enum table_kind)kind, outbox);
    }
}

void association_readvertise(struct associations *associations, uint64_t now,
                             struct association *peer, struct outbox *outbox)
{
    for (int kind = TABLE_REFS; kind <= TABLE_MANIFESTS; kind++)
        if (now >= peer->tables[kind].send_at)
            advertise(associations, now, peer, (enum table_kind)kind, outbox);
}

void associations_advertise(struct associations *associations, uint64_t now,
                            struct outbox *outbox)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&associations->by_address, &at, &entry)) {
        struct association *peer = entry.value;

        if (peer->is_advertised)
            association_advertise(associations, now, peer, outbox);
    }
}

/* Passes a table to the links; false when there is no room for the news. */
static bool tell_table(struct associations *associations, struct association *peer,
                       enum table_kind kind, uint8_t version,
                       struct slice payload)
{
    if (peer->tables[kind].reported_version == version)
        return true;
    if (associations_news_full(associations)) {
        associations->counts.refused++;
        return false;
    }
    peer->tables[kind].reported_version = version;
    associations_tell(associations,
                      &(struct association_news){ .kind = ASSOCIATION_TABLE,
                                           .peer = association_node(peer),
                                           .table = kind,
                                           .payload = payload });
    return true;
}

static bool receive_table(struct associations *associations, struct association *peer,
                          enum table_kind kind, struct slice payload,
                          struct outbox *outbox)
{
    const struct identity *self = associations->options.self;
    struct table table = {0};
    struct node_id from;
    uint64_t origin = 0;
    struct buf ack = {0};
    struct outbound message;
    /* A table is bound to its advertiser and to us, its user. */
    bool good =
        table_advertisement_read(self, payload, &from, &origin, &table) &&
        from.uid == peer->uid && kept_address_equal(peer->address, &from.address) &&
        origin == self->node.uid;

    /* Unreported tables are not acknowledged: they come again. */
    if (good && tell_table(associations, peer, kind, table.version, payload)) {
        unique_address_put(&ack, 1, self, &self->node);
        buf_put_u8(&ack, 2 << 3);
        buf_put_varint(&ack, table.version);
        message =
            control_message(peer,
                            kind == TABLE_REFS ? ARTERY_REFS_TABLE_ACK
                                               : ARTERY_MANIFESTS_TABLE_ACK,
                            &ack);
        outbox_put(outbox, &message);
        buf_fini(&ack);
    }
    table_fini(&table);
    return good;
}

static bool receive_table_ack(struct associations *associations,
                              struct association *peer, enum table_kind kind,
                              struct slice payload)
{
    Artery__TableAck *message =
        artery__table_ack__unpack(NULL, payload.size, payload.data);
    const struct table *newest =
        associations->options.tables
            ? own_tables_newest(associations->options.tables, kind)
            : NULL;
    bool good = message && is_from(associations, peer, message->from);

    if (good && newest && message->version == newest->version)
        peer->tables[kind].send_at = NEVER;
    if (message)
        artery__table_ack__free_unpacked(message, NULL);
    return good;
}

/* ---- incoming system messages ---- */

static bool printable(struct slice text)
{
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return false;
    return text.size > 0 && text.size <= REF_SIZE_MAX;
}

/* Fills the news; false: malformed, or a kind that this node never needs. */
static bool read_system_message(const Artery__SystemMessage *message,
                                struct slice recipient,
                                struct association_news *news)
{
    if (message->terminated &&
        message->type ==
            ARTERY__SYSTEM_MESSAGE__TYPE__DEATHWATCH_NOTIFICATION) {
        news->kind = ASSOCIATION_TERMINATED;
        news->watchee = slice_text(message->terminated->actor->path);
        news->watcher = recipient;
        news->existence_confirmed = message->terminated->existence_confirmed;
        news->address_terminated = message->terminated->address_terminated;
    } else if (message->watch &&
               (message->type == ARTERY__SYSTEM_MESSAGE__TYPE__WATCH ||
                message->type == ARTERY__SYSTEM_MESSAGE__TYPE__UNWATCH)) {
        news->kind = message->type == ARTERY__SYSTEM_MESSAGE__TYPE__WATCH
                         ? ASSOCIATION_WATCH
                         : ASSOCIATION_UNWATCH;
        news->watchee = slice_text(message->watch->watchee->path);
        news->watcher = slice_text(message->watch->watcher->path);
    } else {
        return false;
    }
    return printable(news->watchee) && printable(news->watcher);
}

static void deliver(struct associations *associations, const struct association *peer,
                    struct slice recipient, const Artery__SystemEnvelope *sent)
{
    struct association_news news = {.peer = association_node(peer)};
    Artery__SystemMessage *message =
        sent->serializer == SERIALIZER_SYSTEM
            ? artery__system_message__unpack(NULL, sent->message.len,
                                             sent->message.data)
            : NULL;

    /* An unusable message is acknowledged too: it would come again for six hours. */
    if (message && read_system_message(message, recipient, &news)) {
        associations->counts.system_received++;
        association_taken(associations, peer, sent->reply_to->uid,
                          PROBE_TAKEN_SYSTEM);
        associations_tell(associations, &news);
    } else {
        associations->counts.malformed++;
    }
    if (message)
        artery__system_message__free_unpacked(message, NULL);
}

static bool receive_system(struct associations *associations,
                           enum stream stream, struct association *peer,
                           const struct envelope *envelope,
                           struct outbox *outbox)
{
    struct node_id node = association_node(peer);
    Artery__SystemEnvelope *message;
    bool good;

    /* Valid only on the control stream, and acknowledged only to its sender. */
    if (stream != STREAM_CONTROL)
        return false;
    message = artery__system_envelope__unpack(NULL, envelope->payload.size,
                                              envelope->payload.data);
    good = message && message->seq > 0 &&
           is_from(associations, peer, message->reply_to);
    if (good && associations_news_full(associations)) {
        associations->counts.refused++; /* not acknowledged: it comes again */
    } else if (good) {
        if (sequence_receive(&peer->sequence, associations->options.self,
                             &node, message->seq, outbox))
            deliver(associations, peer, envelope->recipient, message);
        else {
            REACHED("a system message arrives twice, or after a gap");
            associations->counts.system_repeated++;
        }
    }
    if (message)
        artery__system_envelope__free_unpacked(message, NULL);
    return good;
}

static bool receive_system_ack(struct associations *associations, uint64_t now,
                               struct association *peer, struct slice payload)
{
    Artery__SystemAck *message =
        artery__system_ack__unpack(NULL, payload.size, payload.data);
    bool good = message && is_from(associations, peer, message->from) &&
                sequence_acknowledge(&peer->sequence, now, message->seq);

    if (good)
        association_taken(associations, peer, message->from->uid,
                          PROBE_TAKEN_ACKNOWLEDGEMENT);
    if (message)
        artery__system_ack__free_unpacked(message, NULL);
    return good;
}

/* ---- outgoing system messages ---- */

void association_fail(struct associations *associations, struct association *peer)
{
    char text[ADDRESS_TEXT_MAX];

    if (peer->failed)
        return;
    peer->failed = true;
    trace_put(associations->options.trace, TRACE_WARNING, "association",
              "system messages not delivered, peer counts as failed peer=%s "
              "waiting=%u hint=\"check that node; down it if it does not run\"",
              kept_address_text(peer->address, text, sizeof text),
              sequence_waiting(&peer->sequence));
    sequence_give_up(&peer->sequence);
    associations_tell(associations,
                      &(struct association_news){.kind = ASSOCIATION_FAILED,
                                          .peer = association_node(peer)});
}

static void put_text(struct buf *buf, const struct identity *self,
                     const struct address *address, struct slice path)
{
    if (path.size && path.data[0] == '/')
        ref_put(buf, self, address, path);
    else
        buf_put_slice(buf, path);
    buf_put_u8(buf, 0);
}

static void send_system(struct associations *associations, uint64_t now,
                        const struct node_id *to, struct slice recipient,
                        const Artery__SystemMessage *message,
                        struct outbox *outbox)
{
    const struct identity *self = associations->options.self;
    struct association *peer;
    struct node_id target = *to;
    struct buf packed = {0};

    if (to->uid && associations_quarantined(associations, to->uid)) {
        associations->counts.stale++;
        return;
    }
    peer = association_add(associations, &to->address);
    if (!peer)
        return;
    if (peer->failed) { /* a gap in the numbers can never be closed */
        associations->counts.refused++;
        return;
    }
    if (to->uid && peer->uid && to->uid != peer->uid) {
        associations->counts.stale++;
        return;
    }
    if (!peer->uid && to->uid)
        peer->intended = to->uid;
    if (peer->uid)
        target.uid = peer->uid;
    (void)buf_reserve(&packed,
                      protobuf_c_message_get_packed_size(&message->base));
    packed.size = protobuf_c_message_pack(&message->base, packed.data);
    if (recipient.size <= REF_SIZE_MAX && packed.size <= FRAME_SIZE_MAX / 2 &&
        sequence_send(&peer->sequence, now, self, &target, recipient,
                      buf_slice(&packed), outbox)) {
        associations->counts.system_sent++;
        associations_due(associations, sequence_deadline(&peer->sequence));
    } else {
        associations->counts.refused++;
        association_fail(associations, peer);
    }
    buf_fini(&packed);
}

static void send_watch(struct associations *associations, uint64_t now,
                       const struct node_id *peer, struct slice watchee,
                       struct slice watcher, bool unwatch,
                       struct outbox *outbox)
{
    const struct identity *self = associations->options.self;
    Artery__SystemMessage message = ARTERY__SYSTEM_MESSAGE__INIT;
    Artery__SystemMessage__Watch watch = ARTERY__SYSTEM_MESSAGE__WATCH__INIT;
    Artery__ActorRef watchee_ref = ARTERY__ACTOR_REF__INIT;
    Artery__ActorRef watcher_ref = ARTERY__ACTOR_REF__INIT;
    struct buf watchee_text = {0};
    struct buf watcher_text = {0};

    put_text(&watchee_text, self, &peer->address, watchee);
    put_text(&watcher_text, self, &self->node.address, watcher);
    watchee_ref.path = (char *)watchee_text.data;
    watcher_ref.path = (char *)watcher_text.data;
    watch.watchee = &watchee_ref;
    watch.watcher = &watcher_ref;
    message.type = unwatch ? ARTERY__SYSTEM_MESSAGE__TYPE__UNWATCH
                           : ARTERY__SYSTEM_MESSAGE__TYPE__WATCH;
    message.watch = &watch;
    /* The header's recipient is the watchee. */
    send_system(associations, now, peer, watchee, &message, outbox);
    buf_fini(&watchee_text);
    buf_fini(&watcher_text);
}

void associations_watch(struct associations *associations, uint64_t now,
                        const struct node_id *peer, struct slice watchee,
                        struct slice watcher, struct outbox *outbox)
{
    send_watch(associations, now, peer, watchee, watcher, false, outbox);
}

void associations_unwatch(struct associations *associations, uint64_t now,
                          const struct node_id *peer, struct slice watchee,
                          struct slice watcher, struct outbox *outbox)
{
    send_watch(associations, now, peer, watchee, watcher, true, outbox);
}

void associations_terminated(struct associations *associations, uint64_t now,
                             const struct node_id *peer, struct slice watchee,
                             struct slice watcher, bool existence_confirmed,
                             bool address_terminated, struct outbox *outbox)
{
    const struct identity *self = associations->options.self;
    Artery__SystemMessage message = ARTERY__SYSTEM_MESSAGE__INIT;
    Artery__SystemMessage__Terminated terminated =
        ARTERY__SYSTEM_MESSAGE__TERMINATED__INIT;
    Artery__ActorRef actor = ARTERY__ACTOR_REF__INIT;
    struct buf text = {0};

    put_text(&text, self, &self->node.address, watchee);
    actor.path = (char *)text.data;
    terminated.actor = &actor;
    terminated.existence_confirmed = existence_confirmed;
    terminated.address_terminated = address_terminated;
    message.type = ARTERY__SYSTEM_MESSAGE__TYPE__DEATHWATCH_NOTIFICATION;
    message.terminated = &terminated;
    /* The header's recipient is the watcher. */
    send_system(associations, now, peer, watcher, &message, outbox);
    buf_fini(&text);
}

/* ---- termination ---- */

void associations_terminate(struct associations *associations,
                            struct slice sender, struct outbox *outbox)
{
    struct buf payload = {0};
    struct map_entry entry;
    uint32_t at = 0;

    unique_address_put(&payload, 1, associations->options.self,
                       &associations->options.self->node);
    while (map_next(&associations->by_address, &at, &entry)) {
        struct association *peer = entry.value;
        struct outbound message;

        if (!peer->uid || peer->gone_at != NEVER)
            continue;
        message = control_message(peer, ARTERY_TERMINATING, &payload);
        message.sender = sender; /* a JVM treats a missing one as an error */
        outbox_put(outbox, &message);
        peer->terminate_sent = true;
        peer->terminate_acked = false;
    }
    buf_fini(&payload);
}

bool associations_terminating_acked(const struct associations *associations)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&associations->by_address, &at, &entry)) {
        const struct association *peer = entry.value;

        if (peer->terminate_sent && !peer->terminate_acked)
            return false;
    }
    return true;
}

static bool receive_quarantined(struct associations *associations,
                                const struct association *peer, struct slice payload)
{
    Artery__Quarantined *message =
        artery__quarantined__unpack(NULL, payload.size, payload.data);
    const struct identity *self = associations->options.self;
    bool good = message && is_from(associations, peer, message->from);
    char text[ADDRESS_TEXT_MAX];

    /* Ignores one that means an earlier incarnation of ours. */
    if (good && message->to->uid == self->node.uid) {
        trace_put(associations->options.trace, TRACE_WARNING, "association",
                  "this node is quarantined by a peer peer=%s hint=\"start the "
                  "node again once it has stopped\"",
                  kept_address_text(peer->address, text, sizeof text));
        associations_tell(associations,
                          &(struct association_news){
                       .kind = ASSOCIATION_QUARANTINED_US,
                       .peer = association_node(peer)});
    }
    if (message)
        artery__quarantined__free_unpacked(message, NULL);
    return good;
}

static bool receive_flush_ack(struct associations *associations,
                              const struct association *peer,
                              const struct envelope *envelope)
{
    uint32_t expected;

    if (!flush_ack_read(envelope->payload, &expected) ||
        !printable(envelope->recipient))
        return false;
    associations_tell(associations,
                      &(struct association_news){.kind = ASSOCIATION_FLUSHED,
                                          .peer = association_node(peer),
                                          .lanes = expected,
                                          .watcher = envelope->recipient});
    return true;
}

bool association_control(struct associations *associations, uint64_t now,
                         enum stream stream, struct association *peer,
                         const struct envelope *envelope, struct outbox *outbox)
{
    struct slice payload = envelope->payload;

    if (envelope->manifest.size != 1)
        return false;
    switch (envelope->manifest.data[0]) {
    case 'a':
        return receive_quarantined(associations, peer, payload);
    case 'c':
        peer->terminate_acked = true;
        return true;
    case 'f':
        return receive_table(associations, peer, TABLE_REFS, payload, outbox);
    case 'h':
        return receive_table(associations, peer, TABLE_MANIFESTS, payload,
                             outbox);
    case 'g':
        return receive_table_ack(associations, peer, TABLE_REFS, payload);
    case 'i':
        return receive_table_ack(associations, peer, TABLE_MANIFESTS, payload);
    case 'j':
        return receive_system(associations, stream, peer, envelope, outbox);
    case 'k': /* Nack too acknowledges all up to its number; the next tick resends the rest */
    case 'l':
        return receive_system_ack(associations, now, peer, payload);
    case 'n': /* an answer to a heartbeat that we do not send */
        return true;
    case 'p':
        return receive_flush_ack(associations, peer, envelope);
    default:
        return false;
    }
}
