/* Associates with the peers that make a handshake, and dispatches all of Artery's own messages. */
#include "artery/association.h"

#include "artery/extension.h"
#include "artery/association_inside.h"
#include "artery/link.h"
#include "base/bound.h"
#include "base/check.h"
#include "base/fetch.h"
#include "base/mark.h"
#include "base/timers.h"

struct associations *associations_new(const struct association_options *options)
{
    struct associations *associations = mem_alloc(sizeof *associations);

    check(options->self->node.uid != 0);
    associations->options = *options;
    associations->due = NEVER;
    return associations;
}

static void association_free(struct association *association)
{
    sequence_fini(&association->sequence);
    mem_free(association);
}

void associations_free(struct associations *associations)
{
    if (!associations)
        return;
    for (uint32_t i = 0; i < associations->all.count; i++)
        association_free(associations->all.items[i]);
    vec_fini(&associations->all);
    vec_fini(&associations->by_peer);
    map_fini(&associations->foreign);
    vec_fini(&associations->news);
    buf_fini(&associations->news_bytes);
    mem_free(associations);
}

/* ---- associations ---- */

static struct association *association_at(const struct associations *associations,
                                          const struct peer *peer)
{
    return peer && peer->index < associations->by_peer.count
               ? associations->by_peer.items[peer->index]
               : NULL;
}

struct association *association_find(const struct associations *associations,
                                     uint64_t uid)
{
    struct association *last = associations->last;
    struct association *found;

    if (last && last->uid == uid && uid)
        return last;
    found = association_at(associations,
                           peers_uid(associations->options.peers, uid));
    return found && found->uid == uid && uid ? found : NULL;
}

static bool is_full(struct associations *associations,
                    const struct address *address)
{
    struct peers *peers = associations->options.peers;

    if (associations->all.count < PEERS_MAX ||
        association_at(associations, peers_find(peers, address)))
        return false;
    while (associations->all.count >= PEERS_MAX)
        if (!peers_forget_stranger(peers)) {
            associations->counts.refused++;
            return true;
        }
    return false;
}

struct association *association_add(struct associations *associations,
                                    const struct address *address)
{
    struct peer *peer = peers_find(associations->options.peers, address);
    struct association *association = association_at(associations, peer);

    if (association)
        return association;
    if (is_full(associations, address))
        return NULL;
    association = mem_alloc(sizeof *association);
    association->peer = peers_at(associations->options.peers, address);
    association->gone_at = NEVER;
    association->tables[0].reported_version = association->tables[1].reported_version = -1;
    association->tables[0].send_at = association->tables[1].send_at = NEVER;
    vec_push(&associations->all, association);
    while (associations->by_peer.count <= association->peer->index)
        vec_push(&associations->by_peer, NULL);
    associations->by_peer.items[association->peer->index] = association;
    BOUNDED("peers that are known", associations->all.count, PEERS_MAX);
    return association;
}

void associations_due(struct associations *associations, uint64_t at)
{
    if (at < associations->due)
        associations->due = at;
}

static void remove_association(struct associations *associations,
                               struct association *association)
{
    uint32_t at = 0;

    while (associations->all.items[at] != association)
        at++;
    vec_remove(&associations->all, at);
    associations->by_peer.items[association->peer->index] = NULL;
    associations->last = NULL;
    associations->freed++;
    association_free(association);
}

void associations_quarantine(struct associations *associations,
                             const struct node_id *node)
{
    struct peers *peers = associations->options.peers;
    struct association *association =
        association_at(associations, peers_find(peers, &node->address));

    check(node->uid != 0);
    peers_forget(peers, node->uid);
    if (association &&
        (association->uid == node->uid || association->intended == node->uid))
        remove_association(associations, association);
}

void associations_forget(struct associations *associations,
                         const struct peer *peer)
{
    struct association *association = association_at(associations, peer);

    if (peer->uid) {
        associations->counts.forgotten++;
        associations_tell(associations,
                          &(struct association_news){
                              .kind = ASSOCIATION_FORGOTTEN,
                              .peer = peer_node(peer),
                              .has_watches =
                                  association &&
                                  association->sequence.numbered });
    }
    if (!association)
        return;
    associations->counts.refused += sequence_waiting(&association->sequence);
    remove_association(associations, association);
}

uint64_t associations_uid(const struct associations *associations,
                          const struct address *address)
{
    const struct association *association = association_at(
        associations, peers_find(associations->options.peers, address));

    return association ? association->uid : 0;
}

bool associations_find(const struct associations *associations, uint64_t uid,
                       struct node_id *node)
{
    const struct association *association = association_find(associations, uid);

    if (association)
        *node = association_node(association);
    return association != NULL;
}

void associations_fetch(const struct associations *associations)
{
    fetch_memory(associations, sizeof *associations);
}

struct association_place
associations_place(const struct associations *associations, uint64_t uid)
{
    return (struct association_place){ association_find(associations, uid),
                                       associations->freed };
}

void associations_expect(struct associations *associations,
                         const struct association_place *place)
{
    associations->last =
        place->freed == associations->freed ? place->association : NULL;
}

struct association_counts
associations_counts(const struct associations *associations)
{
    return associations->counts;
}

/* ---- news ---- */

bool associations_news_full(const struct associations *associations)
{
    return associations->news.count - associations->news_head >=
               ASSOCIATION_NEWS_MAX ||
           associations->news_bytes.size > ASSOCIATION_NEWS_SIZE_MAX;
}

void associations_tell(struct associations *associations,
                       const struct association_news *news)
{
    struct kept_news kept = {.news = *news,
                             .at = associations->news_bytes.size};

    if (associations_news_full(associations)) {
        associations->counts.refused++;
        return;
    }
    buf_put_slice(&associations->news_bytes, news->watchee);
    buf_put_slice(&associations->news_bytes, news->watcher);
    buf_put_slice(&associations->news_bytes, news->payload);
    vec_push(&associations->news, kept);
    BOUNDED("news of peers", associations->news.count - associations->news_head,
            ASSOCIATION_NEWS_MAX);
}

static struct slice take_text(const uint8_t **at, size_t size)
{
    struct slice text = slice_of(*at, size);

    if (size)
        *at += size;
    return text;
}

bool associations_next_news(struct associations *associations,
                            struct association_news *news)
{
    const struct kept_news *kept;
    const uint8_t *at;

    if (associations->news_head == associations->news.count) {
        associations->news_head = associations->news.count = 0;
        buf_clear(&associations->news_bytes);
        return false;
    }
    kept = &associations->news.items[associations->news_head++];
    (void)buf_reserve(&associations->news_bytes, 1); /* never null */
    at = associations->news_bytes.data + kept->at;
    *news = kept->news;
    news->watchee = take_text(&at, kept->news.watchee.size);
    news->watcher = take_text(&at, kept->news.watcher.size);
    news->payload = take_text(&at, kept->news.payload.size);
    return true;
}

/* ---- handshakes ---- */

/* Always counts it, logs each node of another cluster once: it retries each second. */
static void report_foreign(struct associations *associations,
                           enum handshake_fault fault, const char *text)
{
    if (fault == HANDSHAKE_FOREIGN)
        associations->counts.foreign++;
    else
        associations->counts.misaddressed++;
    if (map_get(&associations->foreign, slice_text(text)) ||
        associations->foreign.count >= FOREIGN_TRACED_MAX)
        return;
    map_put(&associations->foreign, slice_text(text), associations);
    trace_put(associations->options.trace, TRACE_WARNING, "association",
              "handshake refused: %s what=\"%s\" hint=\"%s\"",
              fault == HANDSHAKE_FOREIGN
                  ? "the node has another system name or protocol"
                  : fault == HANDSHAKE_ADDRESS
                        ? "it is for another address than this node's; the "
                          "peer must use remote.artery.canonical of this node"
                        : "the sender has the address or uid of this node",
              text,
              fault == HANDSHAKE_FOREIGN
                  ? "correct the system name there, or its seed nodes"
                  : fault == HANDSHAKE_ADDRESS
                        ? "correct the address there, or canonical here"
                        : "give each node an address of its own");
}

static void tell_up(struct associations *associations, const struct peer *peer,
                    uint64_t replaced, bool is_verdict)
{
    associations_tell(associations,
                      &(struct association_news){ .kind = ASSOCIATION_UP,
                                                  .peer = peer_node(peer),
                                                  .replaced = replaced,
                                                  .order = peer->order,
                                                  .is_verdict = is_verdict,
                                                  .capabilities = peer->capabilities,
                                                  .lanes = peer->lanes });
}

static void claimed(struct associations *associations, const struct peer *peer,
                    uint64_t uid)
{
    char text[ADDRESS_TEXT_MAX];

    associations->counts.claims++;
    trace_put(associations->options.trace, TRACE_INFO, "association",
              "another node claims the address of a peer, which stays until "
              "that one answers there peer=%s uid=%llu claims=%llu",
              kept_address_text(peer->address, text, sizeof text),
              (unsigned long long)peer->uid, (unsigned long long)uid);
    associations_tell(associations,
                      &(struct association_news){ .kind = ASSOCIATION_CLAIMED,
                                                  .peer = peer_node(peer) });
}

/* Returns the association of a handshake, now of that incarnation; null when it is not accepted.
 * is_proven: as in peers_learn. */
static struct association *associate(struct associations *associations,
                                     const struct handshake *handshake,
                                     bool is_proven)
{
    uint64_t uid = handshake->from.uid;
    struct association *association;
    struct peer *peer;
    char text[ADDRESS_TEXT_MAX];

    if (is_full(associations, &handshake->from.address))
        return NULL;
    switch (peers_learn(associations->options.peers, &handshake->from,
                        handshake->order, is_proven, &peer)) {
    case PEER_OVER:
        REACHED("a handshake arrives from a quarantined incarnation");
        associations->counts.stale++;
        return NULL;
    case PEER_EARLIER:
        REACHED("a handshake of an earlier incarnation arrives after a later one's");
        associations->counts.stale++;
        return NULL;
    case PEER_ELSEWHERE:
        associations->counts.malformed++;
        return NULL;
    case PEER_CLAIMS:
        claimed(associations, peer, uid);
        return NULL;
    case PEER_SAME:
    case PEER_NEW:
        break;
    }
    association = association_add(associations, &handshake->from.address);
    if (is_proven)
        peers_answered(associations->options.peers, peer);
    if (handshake->capabilities) /* none: another kind of node may be at this address */
        peer_describe(peer, handshake->capabilities, handshake->lanes);
    if (association->uid == uid)
        return association;
    trace_put(associations->options.trace, TRACE_INFO, "association",
              "%s peer=%s uid=%llu before=%llu",
              association->uid ? "new incarnation" : "associated",
              kept_address_text(peer->address, text, sizeof text),
              (unsigned long long)uid, (unsigned long long)association->uid);
    association_renew(associations, association, uid);
    return association;
}

void association_renew(struct associations *associations,
                       struct association *association, uint64_t uid)
{
    uint64_t before = association->uid;

    /* Numbers of system messages start again; those that waited were for the previous one. */
    SOMETIMES("a new incarnation replaces another at its address", before != 0);
    SOMETIMES("system messages still wait for the replaced incarnation",
              before && sequence_waiting(&association->sequence));
    if (before || (association->intended && association->intended != uid))
        sequence_fini(&association->sequence);
    association->failed = false;
    association->uid = uid;
    association->intended = 0;
    association->gone_at = NEVER;
    association->terminate_sent = false;
    association->tables[0].reported_version = association->tables[1].reported_version = -1;
    association->tables[0].send_at = association->tables[1].send_at = NEVER;
    association->is_advertised = false;
    association_taken(associations, association, uid, PROBE_TAKEN_HANDSHAKE);
    tell_up(associations, association->peer, before, false);
    associations_due(associations, sequence_deadline(&association->sequence));
}

static void respond(struct associations *associations,
                    const struct handshake *handshake, struct outbox *outbox)
{
    const struct association_options *options = &associations->options;
    struct handshake answer = {
        .capabilities = options->capabilities,
        .lanes = options->capabilities ? options->lanes : 0,
        .lane = handshake->generation ? handshake->lane : 0,
        .generation = handshake->generation,
    };
    struct buf payload = {0};
    struct outbound response = {
        /* UID 0: the link may not know the new incarnation yet. */
        .to = {.address = handshake->from.address},
        .manifest = slice_text(ARTERY_HANDSHAKE_RESPONSE),
        .serializer = SERIALIZER_ARTERY,
        .stream = STREAM_CONTROL, /* a JVM accepts it on no other stream */
    };

    handshake_response_put(&payload, options->self, &answer);
    response.payload = buf_slice(&payload);
    outbox_put(outbox, &response);
    buf_fini(&payload);
}

/* Tables are for ordinary messages: a peer that sends us none receives no tables. */
static bool take_request(struct associations *associations, uint64_t now,
                         enum stream stream,
                         const struct handshake *handshake,
                         struct outbox *outbox)
{
    struct association *association =
        associate(associations, handshake, false);

    if (!association)
        return false;
    associations->counts.handshakes++;
    respond(associations, handshake, outbox);
    if (stream != STREAM_CONTROL && !association->is_advertised) {
        association->is_advertised = true;
        association_advertise(associations, now, association, outbox);
    }
    return true;
}

/* Says to the lanes which incarnation is at the address of a handshake, whatever they have read. */
static void tell_present(struct associations *associations,
                         const struct node_id *from)
{
    const struct peer *peer =
        peers_find(associations->options.peers, &from->address);

    if (peer && peer->uid && !peer->over)
        tell_up(associations, peer, 0, true);
    else
        associations_tell(associations,
                          &(struct association_news){
                              .kind = ASSOCIATION_FORGOTTEN, .peer = *from });
}

bool associations_handshake(struct associations *associations, uint64_t now,
                            enum stream stream,
                            const struct handshake *handshake,
                            struct outbox *outbox)
{
    bool accepted =
        take_request(associations, now, stream, handshake, outbox);

    if (!accepted && stream != STREAM_CONTROL)
        tell_present(associations, &handshake->from);
    return accepted;
}

void associations_claim(struct associations *associations,
                        const struct handshake *handshake)
{
    (void)associate(associations, handshake, false); /* refusals are counted there */
    tell_present(associations, &handshake->from);
}

/* Whether a response shows that its sender is at its address: it answers on a connection there. A
 * response that names none, as a JVM's, could be a stranger's. It counts while an answer is awaited,
 * but not at the address of a Sherd node, which would name the connection. */
static bool is_proof(const struct associations *associations,
                     const struct handshake *response)
{
    const struct peer *peer =
        peers_find(associations->options.peers, &response->from.address);
    const struct link *link = peer ? peer->links[0] : NULL;
    enum link_state state = link ? link_state(link) : LINK_IDLE;

    if (response->generation)
        return (state == LINK_HANDSHAKING || state == LINK_OPEN) &&
               !response->lane &&
               response->generation == link_generation(link);
    return state == LINK_HANDSHAKING &&
           !(peer->capabilities & CAPABILITY_SHERD);
}

static bool receive_handshake(struct associations *associations, uint64_t now,
                              enum stream stream, uint64_t order,
                              const struct envelope *envelope,
                              struct outbox *outbox)
{
    bool request = slice_is(envelope->manifest, ARTERY_HANDSHAKE_REQUEST);
    const struct identity *self = associations->options.self;
    struct handshake handshake;
    char text[HANDSHAKE_TEXT_MAX];
    enum handshake_fault fault =
        request
            ? handshake_request_read(self, envelope->payload, &handshake, text)
            : handshake_response_read(self, envelope->payload, &handshake,
                                      text);

    if (fault == HANDSHAKE_MALFORMED ||
        (fault == HANDSHAKE_OK && envelope->origin != handshake.from.uid) ||
        (!request && stream != STREAM_CONTROL)) {
        associations->counts.malformed++;
        return false;
    }
    if (fault != HANDSHAKE_OK) {
        report_foreign(associations, fault, text);
        return false;
    }
    handshake.order = order;
    if (request)
        return take_request(associations, now, stream, &handshake, outbox);
    if (!associate(associations, &handshake,
                   is_proof(associations, &handshake)))
        return false;
    associations_tell(associations,
                      &(struct association_news){.kind = ASSOCIATION_ANSWERED,
                                          .peer = handshake.from,
                                          .lane = handshake.lane,
                                          .generation = handshake.generation});
    return true;
}

/* ---- arriving messages ---- */

static void report_unknown(struct associations *associations, uint64_t uid)
{
    if (peers_is_over(associations->options.peers, uid))
        associations->counts.stale++;
    else
        associations->counts.unknown++;
}

void associations_terminating(struct associations *associations, uint64_t now,
                              uint64_t uid)
{
    struct association *association = association_find(associations, uid);

    if (!association || association->gone_at != NEVER)
        return;
    association->gone_at = now + TERMINATING_MS * MS;
    associations_due(associations, association->gone_at);
    associations_tell(associations,
                      &(struct association_news){.kind = ASSOCIATION_TERMINATING,
                                          .peer = association_node(association)});
}

enum association_verdict associations_receive(struct associations *associations,
                                              uint64_t now, enum stream stream,
                                              uint64_t order,
                                              const struct envelope *envelope,
                                              struct selection *selection,
                                              struct inbound *inbound,
                                              struct outbox *outbox)
{
    bool artery = envelope->serializer == SERIALIZER_ARTERY;
    const struct identity *self = associations->options.self;
    struct node_id node;
    struct association *association;

    if (artery && (slice_is(envelope->manifest, ARTERY_HANDSHAKE_REQUEST) ||
                   slice_is(envelope->manifest, ARTERY_HANDSHAKE_RESPONSE)))
        return receive_handshake(associations, now, stream, order, envelope,
                                 outbox)
                   ? ASSOCIATION_TAKEN
                   : ASSOCIATION_DROPPED;
    association = association_find(associations, envelope->origin);
    if (!association) {
        report_unknown(associations, envelope->origin);
        return ASSOCIATION_DROPPED;
    }
    node = association_node(association);
    if (control_answer(self, &node, envelope, outbox)) {
        if (envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_TERMINATING))
            associations_terminating(associations, now, envelope->origin);
        return ASSOCIATION_TAKEN;
    }
    if (artery) {
        if (association_control(associations, now, stream, association, envelope, outbox))
            return ASSOCIATION_TAKEN;
        associations->counts.malformed++;
        return ASSOCIATION_DROPPED;
    }
    /* Messages of this library may be for the node itself. */
    if ((!envelope->recipient.size &&
         envelope->serializer != SERIALIZER_SHERD) ||
        !envelope_inbound(self, &node, envelope, selection, inbound) ||
        inbound->serializer == SERIALIZER_ARTERY) {
        associations->counts.malformed++;
        return ASSOCIATION_DROPPED;
    }
    return ASSOCIATION_DELIVER;
}

/* ---- time ---- */

static void tick_association(struct associations *associations, uint64_t now,
                             struct association *association, struct outbox *outbox)
{
    struct sequence *sequence = &association->sequence;

    if (sequence_hopeless(sequence, now)) {
        association_fail(associations, association);
    } else if (now >= sequence_deadline(sequence)) {
        struct node_id node = association_node(association);

        if (association->uid)
            associations->counts.system_resent += sequence_resend(
                sequence, now, associations->options.self, &node, outbox);
        else /* they wait in the link for the handshake */
            sequence_postpone(sequence, now);
    }
    association_readvertise(associations, now, association, outbox);
    associations_due(associations, sequence_deadline(sequence));
    associations_due(associations, association->tables[0].send_at);
    associations_due(associations, association->tables[1].send_at);
    associations_due(associations, association->gone_at);
}

void associations_tick(struct associations *associations, uint64_t now,
                       struct outbox *outbox)
{
    if (now < associations->due)
        return;
    associations->due = NEVER;
    for (uint32_t i = 0; i < associations->all.count;) {
        struct association *association = associations->all.items[i];

        if (now >= association->gone_at) {
            if (association->uid)
                peers_forget(associations->options.peers, association->uid);
            remove_association(associations, association);
            continue;
        }
        tick_association(associations, now, association, outbox);
        i++;
    }
}

uint64_t associations_deadline(const struct associations *associations)
{
    return associations->due;
}
