/* Tracks which incarnation is at which address (handshakes, quarantine), and dispatches all of
 * Artery's own messages. */
#include "artery/association.h"

#include "artery/extension.h"
#include "artery/association_inside.h"
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
    associations->by_address.is_lent = associations->by_uid.is_lent = true;
    associations->due = NEVER;
    return associations;
}

static void association_free(const struct associations *associations,
                             struct association *peer)
{
    if (!associations->options.lasting)
        mem_free((void *)(uintptr_t)peer->address);
    sequence_fini(&peer->sequence);
    mem_free(peer);
}

void associations_free(struct associations *associations)
{
    struct map_entry entry;
    uint32_t at = 0;

    if (!associations)
        return;
    while (map_next(&associations->by_address, &at, &entry))
        association_free(associations, entry.value);
    map_fini(&associations->by_address);
    map_fini(&associations->by_uid);
    map_fini(&associations->retired);
    map_fini(&associations->foreign);
    vec_fini(&associations->news);
    vec_fini(&associations->retired_ring);
    buf_fini(&associations->news_bytes);
    mem_free(associations);
}

/* ---- peers ---- */

struct association *association_at(const struct associations *associations,
                                   const struct address *address)
{
    struct address_key key;

    address_key_of(&key, address);
    return map_get(&associations->by_address, slice_of(key.bytes, key.size));
}

struct association *association_find(const struct associations *associations, uint64_t uid)
{
    struct association *last = associations->last;

    return last && last->uid == uid && uid
               ? last
               : map_get(&associations->by_uid, map_u64(&uid));
}

struct association *association_add(struct associations *associations,
                                    const struct address *address)
{
    const struct association_options *options = &associations->options;
    struct association *peer = association_at(associations, address);

    if (peer)
        return peer;
    if (associations->by_address.count >= PEERS_MAX) {
        associations->counts.refused++;
        return NULL;
    }
    peer = mem_alloc(sizeof *peer);
    peer->address =
        options->lasting ? options->lasting(options->user, address)
                         : address_keep(address);
    peer->gone_at = NEVER;
    peer->tables[0].reported_version = peer->tables[1].reported_version = -1;
    peer->tables[0].send_at = peer->tables[1].send_at = NEVER;
    map_put(&associations->by_address, kept_address_key(peer->address), peer);
    BOUNDED("peers that are known", associations->by_address.count, PEERS_MAX);
    return peer;
}

void associations_due(struct associations *associations, uint64_t at)
{
    if (at < associations->due)
        associations->due = at;
}

static struct retired *find_retired(struct associations *associations,
                                    uint64_t uid)
{
    for (uint32_t i = 0; i < associations->retired_ring.count; i++)
        if (associations->retired_ring.items[i].uid == uid)
            return &associations->retired_ring.items[i];
    return NULL;
}

/* An incarnation that is over never returns, unless the one that took its address turns out to be
 * older. */
static void retire(struct associations *associations, uint64_t uid,
                   uint64_t by)
{
    struct retired retired = { uid, by };

    if (!uid || map_get(&associations->retired, map_u64(&uid)))
        return;
    if (associations->retired_ring.count < RETIRED_PEERS_MAX) {
        vec_push(&associations->retired_ring, retired);
    } else {
        struct retired *oldest =
            &associations->retired_ring.items[associations->retired_at];

        map_take(&associations->retired, map_u64(&oldest->uid));
        associations->counts.forgotten += oldest->uid != 0;
        *oldest = retired;
        associations->retired_at =
            (associations->retired_at + 1) % RETIRED_PEERS_MAX;
    }
    map_put(&associations->retired, map_u64(&uid), associations);
}

/* The one that leaves counts as the older incarnation at its address: those that it replaced, and
 * that have not left, may return. */
static void release(struct associations *associations, uint64_t uid)
{
    for (uint32_t i = 0; i < associations->retired_ring.count; i++) {
        struct retired *retired = &associations->retired_ring.items[i];

        if (!retired->uid || retired->by != uid)
            continue;
        map_take(&associations->retired, map_u64(&retired->uid));
        *retired = (struct retired){ 0 };
    }
}

static void gone(struct associations *associations, uint64_t uid)
{
    struct retired *retired;

    release(associations, uid);
    retire(associations, uid, 0);
    retired = find_retired(associations, uid);
    if (retired) /* it may have been replaced before */
        retired->by = 0;
}

static void remove_association(struct associations *associations, struct association *peer)
{
    uint64_t uid = peer->uid;

    map_take(&associations->by_address, kept_address_key(peer->address));
    if (uid) {
        gone(associations, uid);
        map_take(&associations->by_uid, map_u64(&uid));
    }
    associations->last = NULL;
    associations->freed++;
    association_free(associations, peer);
}

void associations_quarantine(struct associations *associations,
                             const struct node_id *node)
{
    struct association *peer = association_at(associations, &node->address);

    check(node->uid != 0);
    gone(associations, node->uid);
    if (peer && (peer->uid == node->uid || peer->intended == node->uid))
        remove_association(associations, peer);
}

void associations_left(struct associations *associations,
                       const struct node_id *node)
{
    struct association *peer = association_find(associations, node->uid);
    struct retired *retired = find_retired(associations, node->uid);

    check(node->uid != 0);
    release(associations, node->uid);
    if (peer)
        peer->has_left = true;
    if (retired)
        retired->by = 0;
}

uint64_t associations_uid(const struct associations *associations,
                          const struct address *address)
{
    const struct association *peer = association_at(associations, address);

    return peer ? peer->uid : 0;
}

bool associations_find(const struct associations *associations, uint64_t uid,
                       struct node_id *node)
{
    const struct association *peer = uid ? association_find(associations, uid) : NULL;

    if (peer)
        *node = association_node(peer);
    return peer != NULL;
}

uint64_t associations_capabilities(const struct associations *associations,
                                   const struct address *address)
{
    const struct association *peer = association_at(associations, address);

    return peer ? peer->capabilities : 0;
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

bool associations_quarantined(const struct associations *associations,
                              uint64_t uid)
{
    return map_get(&associations->retired, map_u64(&uid)) != NULL;
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

static void tell_up(struct associations *associations, const struct association *peer,
                    uint64_t replaced)
{
    associations_tell(associations,
                      &(struct association_news){.kind = ASSOCIATION_UP,
                                          .peer = association_node(peer),
                                          .replaced = replaced,
                                          .order = peer->order,
                                          .capabilities = peer->capabilities,
                                          .lanes = peer->lanes});
}

/* Whether the connection of a handshake came after, or before, all of those of the known
 * incarnation. Connections of incarnations at one address come in the incarnations' order, but may
 * be read in another. */
static bool is_later(const struct association *peer, const struct handshake *handshake)
{
    return peer->order && handshake->order > peer->order;
}

static bool is_earlier(const struct association *peer,
                       const struct handshake *handshake)
{
    return handshake->order && handshake->order < peer->order;
}

/* Lets an incarnation return that was replaced by an older one, as its later connection shows. */
static void come_back(struct associations *associations,
                      const struct handshake *handshake)
{
    const struct association *peer = association_at(associations, &handshake->from.address);
    uint64_t uid = handshake->from.uid;
    struct retired *retired;

    if (!peer || !peer->uid || !is_later(peer, handshake))
        return;
    retired = find_retired(associations, uid);
    if (!retired || retired->by != peer->uid)
        return;
    map_take(&associations->retired, map_u64(&uid));
    *retired = (struct retired){ 0 };
}

/* Returns the peer of a handshake, now of that incarnation; null when it is not accepted. */
static struct association *associate(struct associations *associations,
                                     const struct handshake *handshake)
{
    uint64_t uid = handshake->from.uid;
    struct association *other = association_find(associations, uid);
    struct association *peer;
    char text[ADDRESS_TEXT_MAX];

    if (associations_quarantined(associations, uid))
        come_back(associations, handshake);
    if (associations_quarantined(associations, uid)) {
        REACHED("a handshake arrives from a quarantined incarnation");
        associations->counts.stale++;
        return NULL;
    }
    /* A UID under a second address is a mistake or a lie. */
    if (other &&
        !kept_address_equal(other->address, &handshake->from.address)) {
        associations->counts.malformed++;
        return NULL;
    }
    peer = other ? other
                 : association_add(associations, &handshake->from.address);
    if (!peer)
        return NULL;
    if (peer->uid && peer->uid != uid &&
        is_earlier(peer, handshake)) {
        REACHED("a handshake of an earlier incarnation arrives after a later one's");
        retire(associations, uid, peer->uid);
        associations->counts.stale++;
        tell_up(associations, peer, 0); /* lanes that have read it learn that it is over */
        return NULL;
    }
    if (handshake->capabilities || peer->uid != uid) {
        /* none: another kind of node may be at this address */
        peer->capabilities = handshake->capabilities;
        peer->lanes = handshake->lanes;
    }
    if (peer->uid == uid) {
        if (handshake->order > peer->order)
            peer->order = handshake->order;
        return peer;
    }
    trace_put(associations->options.trace, TRACE_INFO, "association",
              "%s peer=%s uid=%llu before=%llu",
              peer->uid ? "new incarnation" : "associated",
              kept_address_text(peer->address, text, sizeof text),
              (unsigned long long)uid, (unsigned long long)peer->uid);
    association_renew(associations, peer, uid, handshake->order);
    return peer;
}

void association_renew(struct associations *associations, struct association *peer,
                       uint64_t uid, uint64_t order)
{
    uint64_t before = peer->uid;

    if (before) {
        retire(associations, before, peer->has_left ? 0 : uid);
        map_take(&associations->by_uid, map_u64(&before));
    }
    /* Numbers of system messages start again; those that waited were for the previous one. */
    SOMETIMES("a new incarnation replaces another at its address", before != 0);
    SOMETIMES("system messages still wait for the replaced incarnation",
              before && sequence_waiting(&peer->sequence));
    if (before || (peer->intended && peer->intended != uid))
        sequence_fini(&peer->sequence);
    peer->failed = false;
    peer->has_left = false;
    peer->uid = uid;
    peer->order = order;
    peer->intended = 0;
    peer->gone_at = NEVER;
    peer->terminate_sent = false;
    peer->tables[0].reported_version = peer->tables[1].reported_version = -1;
    peer->tables[0].send_at = peer->tables[1].send_at = NEVER;
    peer->is_advertised = false;
    map_put(&associations->by_uid, map_u64(&peer->uid), peer);
    association_taken(associations, peer, uid, PROBE_TAKEN_HANDSHAKE);
    tell_up(associations, peer, before);
    associations_due(associations, sequence_deadline(&peer->sequence));
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
    struct association *peer = associate(associations, handshake);

    if (!peer)
        return false;
    associations->counts.handshakes++;
    respond(associations, handshake, outbox);
    if (stream != STREAM_CONTROL && !peer->is_advertised) {
        peer->is_advertised = true;
        association_advertise(associations, now, peer, outbox);
    }
    return true;
}

bool associations_handshake(struct associations *associations, uint64_t now,
                            const struct handshake *handshake,
                            struct outbox *outbox)
{
    return take_request(associations, now, STREAM_ORDINARY, handshake, outbox);
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
    if (!associate(associations, &handshake))
        return false;
    associations_tell(associations,
                      &(struct association_news){.kind = ASSOCIATION_ANSWERED,
                                          .peer = handshake.from,
                                          .order = order,
                                          .lane = handshake.lane,
                                          .generation = handshake.generation});
    return true;
}

/* ---- arriving messages ---- */

static void report_unknown(struct associations *associations, uint64_t uid)
{
    if (associations_quarantined(associations, uid))
        associations->counts.stale++;
    else
        associations->counts.unknown++;
}

void associations_terminating(struct associations *associations, uint64_t now,
                              uint64_t uid)
{
    struct association *peer = association_find(associations, uid);

    if (!peer || peer->gone_at != NEVER)
        return;
    peer->gone_at = now + TERMINATING_MS * MS;
    associations_due(associations, peer->gone_at);
    associations_tell(associations,
                      &(struct association_news){.kind = ASSOCIATION_TERMINATING,
                                          .peer = association_node(peer)});
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
    struct association *peer;

    if (artery && (slice_is(envelope->manifest, ARTERY_HANDSHAKE_REQUEST) ||
                   slice_is(envelope->manifest, ARTERY_HANDSHAKE_RESPONSE)))
        return receive_handshake(associations, now, stream, order, envelope,
                                 outbox)
                   ? ASSOCIATION_TAKEN
                   : ASSOCIATION_DROPPED;
    peer = association_find(associations, envelope->origin);
    if (!peer) {
        report_unknown(associations, envelope->origin);
        return ASSOCIATION_DROPPED;
    }
    node = association_node(peer);
    if (control_answer(self, &node, envelope, outbox)) {
        if (envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_TERMINATING))
            associations_terminating(associations, now, envelope->origin);
        return ASSOCIATION_TAKEN;
    }
    if (artery) {
        if (association_control(associations, now, stream, peer, envelope, outbox))
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
                             struct association *peer, struct outbox *outbox)
{
    struct sequence *sequence = &peer->sequence;

    if (sequence_hopeless(sequence, now)) {
        association_fail(associations, peer);
    } else if (now >= sequence_deadline(sequence)) {
        struct node_id node = association_node(peer);

        if (peer->uid)
            associations->counts.system_resent += sequence_resend(
                sequence, now, associations->options.self, &node, outbox);
        else /* they wait in the link for the handshake */
            sequence_postpone(sequence, now);
    }
    association_readvertise(associations, now, peer, outbox);
    associations_due(associations, sequence_deadline(sequence));
    associations_due(associations, peer->tables[0].send_at);
    associations_due(associations, peer->tables[1].send_at);
    associations_due(associations, peer->gone_at);
}

void associations_tick(struct associations *associations, uint64_t now,
                       struct outbox *outbox)
{
    struct map_entry entry;
    uint32_t at = 0;

    if (now < associations->due)
        return;
    associations->due = NEVER;
    while (map_next(&associations->by_address, &at, &entry)) {
        struct association *peer = entry.value;

        if (now >= peer->gone_at)
            remove_association(associations, peer);
        else
            tick_association(associations, now, peer, outbox);
    }
}

uint64_t associations_deadline(const struct associations *associations)
{
    return associations->due;
}
