/* Exchanges compression tables, system messages and termination with known peers. */
#include "artery/association_inside.h"

#include "artery/packed.h"
#include "artery/unique_address.h"
#include "base/check.h"
#include "base/mark.h"
#include "base/timers.h"

/* ---- helpers ---- */

static bool is_from(const struct associations *associations,
                    const struct association *association,
                    const Artery__UniqueAddress *unique)
{
    const struct identity *self = associations->options.self;
    struct address address;

    return unique->uid == association->uid &&
           !strcmp(unique->address->protocol, self->protocol) &&
           !strcmp(unique->address->system, self->system) &&
           address_set(&address, unique->address->hostname,
                       strlen(unique->address->hostname),
                       unique->address->port) &&
           kept_address_equal(association->peer->address, &address);
}

void association_taken(const struct associations *associations,
                       const struct association *association, uint64_t uid, enum probe_taken what)
{
    struct probe probe = { .kind = PROBE_TAKEN,
                           .type = PROBE_TYPE_NONE,
                           .node = { address_again(association->peer->address), uid },
                           .first = what,
                           .second = association->uid };

    if (associations->options.probes)
        probes_put(associations->options.probes, &probe);
}

static struct outbound control_message(const struct association *association,
                                       const char *manifest,
                                       const struct buf *payload)
{
    return (struct outbound){
        .to = association_node(association),
        .manifest = slice_text(manifest),
        .payload = buf_slice(payload),
        .serializer = SERIALIZER_ARTERY,
        .stream = STREAM_CONTROL,
    };
}

/* ---- compression tables ---- */

static void advertise(struct associations *associations, uint64_t now,
                      struct association *association, enum table_kind kind,
                      struct outbox *outbox)
{
    const struct table *table =
        own_tables_newest(associations->options.tables, kind);
    struct peer_table *state = &association->tables[kind];
    struct buf payload = {0};
    struct outbound message;

    table_advertisement_put(&payload, associations->options.self,
                            association->uid, table);
    message = control_message(
        association, kind == TABLE_REFS ? ARTERY_REFS_TABLE : ARTERY_MANIFESTS_TABLE,
        &payload);
    outbox_put(outbox, &message);
    buf_fini(&payload);
    state->sent++;
    state->send_at =
        state->sent < ADVERTISE_MAX ? now + ADVERTISE_MS * MS : NEVER;
    associations_due(associations, state->send_at);
}

void association_advertise(struct associations *associations, uint64_t now,
                           struct association *association, struct outbox *outbox)
{
    for (int kind = TABLE_REFS; kind <= TABLE_MANIFESTS; kind++) {
        struct peer_table *state = &association->tables[kind];

        state->sent = 0;
        state->send_at = NEVER;
        if (association->uid && associations->options.tables &&
            own_tables_newest(associations->options.tables,
                              (enum table_kind)kind))
            advertise(associations, now, association, (enum table_kind)kind, outbox);
    }
}

void association_readvertise(struct associations *associations, uint64_t now,
                             struct association *association, struct outbox *outbox)
{
    for (int kind = TABLE_REFS; kind <= TABLE_MANIFESTS; kind++)
        if (now >= association->tables[kind].send_at)
            advertise(associations, now, association, (enum table_kind)kind, outbox);
}

void associations_advertise(struct associations *associations, uint64_t now,
                            struct outbox *outbox)
{
    for (uint32_t i = 0; i < associations->all.count; i++) {
        struct association *association = associations->all.items[i];

        if (association->is_advertised)
            association_advertise(associations, now, association, outbox);
    }
}

/* Passes a table to the links; false when there is no room for the news. */
static bool tell_table(struct associations *associations, struct association *association,
                       enum table_kind kind, uint8_t version,
                       struct slice payload)
{
    if (association->tables[kind].reported_version == version)
        return true;
    if (associations_news_full(associations)) {
        associations->counts.refused++;
        return false;
    }
    association->tables[kind].reported_version = version;
    associations_tell(associations,
                      &(struct association_news){ .kind = ASSOCIATION_TABLE,
                                           .peer = association_node(association),
                                           .table = kind,
                                           .payload = payload });
    return true;
}

static bool receive_table(struct associations *associations, struct association *association,
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
        from.uid == association->uid &&
        kept_address_equal(association->peer->address, &from.address) &&
        origin == self->node.uid;

    /* Unreported tables are not acknowledged: they come again. */
    if (good && tell_table(associations, association, kind, table.version, payload)) {
        unique_address_put(&ack, 1, self, &self->node);
        buf_put_u8(&ack, 2 << 3);
        buf_put_varint(&ack, table.version);
        message =
            control_message(association,
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
                              struct association *association, enum table_kind kind,
                              struct slice payload)
{
    Artery__TableAck *message =
        artery__table_ack__unpack(NULL, payload.size, payload.data);
    const struct table *newest =
        associations->options.tables
            ? own_tables_newest(associations->options.tables, kind)
            : NULL;
    bool good = message && is_from(associations, association, message->from);

    if (good && newest && message->version == newest->version)
        association->tables[kind].send_at = NEVER;
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

static void deliver(struct associations *associations, const struct association *association,
                    struct slice recipient, const Artery__SystemEnvelope *sent)
{
    struct association_news news = {.peer = association_node(association)};
    Artery__SystemMessage *message =
        sent->serializer == SERIALIZER_SYSTEM
            ? artery__system_message__unpack(NULL, sent->message.len,
                                             sent->message.data)
            : NULL;

    /* An unusable message is acknowledged too: it would come again for six hours. */
    if (message && read_system_message(message, recipient, &news)) {
        associations->counts.system_received++;
        association_taken(associations, association, sent->reply_to->uid,
                          PROBE_TAKEN_SYSTEM);
        associations_tell(associations, &news);
    } else {
        associations->counts.malformed++;
    }
    if (message)
        artery__system_message__free_unpacked(message, NULL);
}

static bool receive_system(struct associations *associations,
                           enum stream stream, struct association *association,
                           const struct envelope *envelope,
                           struct outbox *outbox)
{
    struct node_id node = association_node(association);
    Artery__SystemEnvelope *message;
    bool good;

    /* Valid only on the control stream, and acknowledged only to its sender. */
    if (stream != STREAM_CONTROL)
        return false;
    message = artery__system_envelope__unpack(NULL, envelope->payload.size,
                                              envelope->payload.data);
    good = message && message->seq > 0 &&
           is_from(associations, association, message->reply_to);
    if (good && associations_news_full(associations)) {
        associations->counts.refused++; /* not acknowledged: it comes again */
    } else if (good) {
        if (sequence_receive(&association->sequence, associations->options.self,
                             &node, message->seq, outbox))
            deliver(associations, association, envelope->recipient, message);
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
                               struct association *association, struct slice payload)
{
    Artery__SystemAck *message =
        artery__system_ack__unpack(NULL, payload.size, payload.data);
    bool good = message && is_from(associations, association, message->from) &&
                sequence_acknowledge(&association->sequence, now, message->seq);

    if (good)
        association_taken(associations, association, message->from->uid,
                          PROBE_TAKEN_ACKNOWLEDGEMENT);
    if (message)
        artery__system_ack__free_unpacked(message, NULL);
    return good;
}

/* ---- outgoing system messages ---- */

void association_fail(struct associations *associations, struct association *association)
{
    char text[ADDRESS_TEXT_MAX];

    if (association->failed)
        return;
    association->failed = true;
    trace_put(associations->options.trace, TRACE_WARNING, "association",
              "system messages not delivered, peer counts as failed peer=%s "
              "waiting=%u hint=\"check that node; down it if it does not run\"",
              kept_address_text(association->peer->address, text, sizeof text),
              sequence_waiting(&association->sequence));
    sequence_give_up(&association->sequence);
    associations_tell(associations,
                      &(struct association_news){.kind = ASSOCIATION_FAILED,
                                          .peer = association_node(association)});
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
    struct association *association;
    struct node_id target = *to;
    struct buf packed = {0};

    if (to->uid && peers_is_over(associations->options.peers, to->uid)) {
        associations->counts.stale++;
        return;
    }
    association = association_add(associations, &to->address);
    if (!association)
        return;
    if (association->failed) { /* a gap in the numbers can never be closed */
        associations->counts.refused++;
        return;
    }
    if (to->uid && association->uid && to->uid != association->uid) {
        associations->counts.stale++;
        return;
    }
    if (!association->uid && to->uid)
        association->intended = to->uid;
    if (association->uid)
        target.uid = association->uid;
    (void)buf_reserve(&packed,
                      protobuf_c_message_get_packed_size(&message->base));
    packed.size = protobuf_c_message_pack(&message->base, packed.data);
    if (recipient.size <= REF_SIZE_MAX && packed.size <= FRAME_SIZE_MAX / 2 &&
        sequence_send(&association->sequence, now, self, &target, recipient,
                      buf_slice(&packed), outbox)) {
        associations->counts.system_sent++;
        associations_due(associations, sequence_deadline(&association->sequence));
    } else {
        associations->counts.refused++;
        association_fail(associations, association);
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

    unique_address_put(&payload, 1, associations->options.self,
                       &associations->options.self->node);
    for (uint32_t i = 0; i < associations->all.count; i++) {
        struct association *association = associations->all.items[i];
        struct outbound message;

        if (!association->uid || association->gone_at != NEVER)
            continue;
        message = control_message(association, ARTERY_TERMINATING, &payload);
        message.sender = sender; /* a JVM treats a missing one as an error */
        outbox_put(outbox, &message);
        association->terminate_sent = true;
        association->terminate_acked = false;
    }
    buf_fini(&payload);
}

bool associations_terminating_acked(const struct associations *associations)
{
    for (uint32_t i = 0; i < associations->all.count; i++) {
        const struct association *association = associations->all.items[i];

        if (association->terminate_sent && !association->terminate_acked)
            return false;
    }
    return true;
}

static bool receive_quarantined(struct associations *associations,
                                const struct association *association, struct slice payload)
{
    Artery__Quarantined *message =
        artery__quarantined__unpack(NULL, payload.size, payload.data);
    const struct identity *self = associations->options.self;
    bool good = message && is_from(associations, association, message->from);
    char text[ADDRESS_TEXT_MAX];

    /* Ignores one that means an earlier incarnation of ours. */
    if (good && message->to->uid == self->node.uid) {
        trace_put(associations->options.trace, TRACE_WARNING, "association",
                  "this node is quarantined by a peer peer=%s hint=\"start the "
                  "node again once it has stopped\"",
                  kept_address_text(association->peer->address, text, sizeof text));
        associations_tell(associations,
                          &(struct association_news){
                       .kind = ASSOCIATION_QUARANTINED_US,
                       .peer = association_node(association)});
    }
    if (message)
        artery__quarantined__free_unpacked(message, NULL);
    return good;
}

static bool receive_flush_ack(struct associations *associations,
                              const struct association *association,
                              const struct envelope *envelope)
{
    uint32_t expected;

    if (!flush_ack_read(envelope->payload, &expected) ||
        !printable(envelope->recipient))
        return false;
    associations_tell(associations,
                      &(struct association_news){.kind = ASSOCIATION_FLUSHED,
                                          .peer = association_node(association),
                                          .lanes = expected,
                                          .watcher = envelope->recipient});
    return true;
}

bool association_control(struct associations *associations, uint64_t now,
                         enum stream stream, struct association *association,
                         const struct envelope *envelope, struct outbox *outbox)
{
    struct slice payload = envelope->payload;

    if (envelope->manifest.size != 1)
        return false;
    switch (envelope->manifest.data[0]) {
    case 'a':
        return receive_quarantined(associations, association, payload);
    case 'c':
        association->terminate_acked = true;
        return true;
    case 'f':
        return receive_table(associations, association, TABLE_REFS, payload, outbox);
    case 'h':
        return receive_table(associations, association, TABLE_MANIFESTS, payload,
                             outbox);
    case 'g':
        return receive_table_ack(associations, association, TABLE_REFS, payload);
    case 'i':
        return receive_table_ack(associations, association, TABLE_MANIFESTS, payload);
    case 'j':
        return receive_system(associations, stream, association, envelope, outbox);
    case 'k': /* Nack too acknowledges all up to its number; the next tick resends the rest */
    case 'l':
        return receive_system_ack(associations, now, association, payload);
    case 'n': /* an answer to a heartbeat that we do not send */
        return true;
    case 'p':
        return receive_flush_ack(associations, association, envelope);
    default:
        return false;
    }
}
