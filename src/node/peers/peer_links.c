/* Keeps the links to peers, and passes the links' requests on to the driver. */
#include "node/peers/peer_links.h"

#include "artery/control.h"
#include "artery/extension.h"
#include "base/check.h"
#include "base/fetch.h"
#include "base/mark.h"

#define SCRATCH_KEPT_MAX 4096 /* a gossip is larger */
#define FETCHED_MAX 16 /* peers at a time */
#define FETCH_LINK 192 /* bytes of a link that a message needs */
#define DOUBT_FAILURES 5 /* failed connections in a row, then a lane asks control about the node */

static enum stream stream_of(uint32_t index)
{
    return (enum stream)(index + STREAM_CONTROL);
}

void peer_links_init(struct peer_links *links,
                     const struct peer_links_options *options)
{
    *links = (struct peer_links){ .options = *options, .deadline = NEVER };
    links->sender = (struct link_sender){
        .self = options->self,
        .lane = options->index, /* 0 is control: to the peer its links are one more lane */
        .lanes = options->settings->lanes,
        .capabilities = CAPABILITIES,
        .magic = "AKKA",
        .trace = options->trace,
        .scratch = &links->scratch,
        .probes = options->probes,
        .lost = &links->lost,
        .left_out = links->left_out,
        .large_size_max = options->settings->large_frame_size,
        .large_frames_max = options->settings->outbound_large_queue,
    };
}

static void drop_heads(struct peer *peer)
{
    struct prepared *prepared = peer->prepared;

    if (!prepared)
        return;
    for (uint32_t i = 0; i < prepared->head_count; i++)
        envelope_head_fini(&prepared->heads[i]);
    envelope_head_fini(&prepared->bound);
    mem_free(prepared);
    peer->prepared = NULL;
}

static void drop_tables(struct peer *peer)
{
    if (peer->tables)
        peer_tables_fini(peer->tables);
    mem_free(peer->tables);
    peer->tables = NULL;
}

void peer_links_fini(struct peer_links *links)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&links->large, &at, &entry)) {
        struct large_link *large = entry.value;

        link_free(large->link);
        mem_free(large);
    }
    map_fini(&links->large);
    for (uint32_t i = 0; i < links->options.peers->all.count; i++) {
        struct peer *peer = links->options.peers->all.items[i];

        if (!peer)
            continue;
        link_free(peer->links[0]);
        link_free(peer->links[1]);
        drop_heads(peer);
        drop_tables(peer);
    }
    vec_fini(&links->touched);
    vec_fini(&links->timed);
    buf_fini(&links->scratch);
}

struct large_link *peer_large(const struct peer_links *links,
                              const struct peer *peer)
{
    return map_get(&links->large,
                   slice_of(&peer->index, sizeof peer->index));
}

void peer_links_end(struct peer_links *links)
{
    for (uint32_t i = 0; i < links->options.peers->all.count; i++)
        for (uint32_t j = 1; j < PEER_LINKS; j++) {
            const struct peer *peer = links->options.peers->all.items[i];
            struct link *link = peer ? peer_link_at(links, peer, j) : NULL;

            if (link)
                link_end_waiting(link);
        }
}

static void note(struct peer_links *links, struct peer *peer,
                 uint32_t index)
{
    uint64_t deadline =
        link_deadline(peer_link_at(links, peer, index));
    struct way *way = peer_way(links, peer, index);

    if (deadline == NEVER)
        return;
    if (deadline < links->deadline)
        links->deadline = deadline;
    if (way->timed)
        return;
    way->timed = true;
    vec_push(&links->timed, peer->index * PEER_LINKS + index);
}

/* Drops messages for the former incarnation. Messages for this one are not written to another that
 * answers. */
void peer_links_renewed(struct peer_links *links, struct peer *peer,
                        uint64_t before)
{
    if (before) {
        drop_tables(peer);
        drop_heads(peer);
    }
    for (uint32_t i = 0; i < PEER_LINKS; i++) {
        struct link *link = peer_link_at(links, peer, i);

        if (!link)
            continue;
        link_expect(link, *links->options.now, peer->uid);
        note(links, peer, i);
        peer_touched(links, peer, stream_of(i));
    }
}

void peer_links_gone(struct peer_links *links, const struct node_id *node)
{
    struct peer *peer = peers_uid(links->options.peers, node->uid);

    peers_gone(links->options.peers, node);
    for (uint32_t i = 0; peer && i < PEER_LINKS; i++) {
        struct link *link = peer_link_at(links, peer, i);

        if (!link)
            continue;
        link_drop(link, *links->options.now);
        peer_touched(links, peer, stream_of(i));
    }
}

void peer_links_no_member(struct peer_links *links, const struct node_id *node)
{
    struct peer *peer = peers_at(links->options.peers, &node->address);

    for (uint32_t i = 1; i < PEER_LINKS; i++) {
        struct link *link = peer_link_at(links, peer, i);

        if (!link || peer->uid != node->uid ||
            link_state(link) == LINK_OPEN)
            continue;
        link_drop(link, *links->options.now);
        link_expect(link, *links->options.now, peer->uid); /* later messages are for it, too */
        peer_touched(links, peer, stream_of(i));
    }
}

static void request_close(struct peer_links *links, uint32_t number)
{
    outputs_request(links->options.outputs,
                    &(struct driver_request){ .kind = DRIVER_CLOSE_LINK,
                                              .link = number + 1 });
}

/* Leaves out the numbers of a peer's links. */
#define leave_out(numbers, peer)                                       \
    do {                                                               \
        uint32_t kept = 0;                                             \
                                                                       \
        for (uint32_t i = 0; i < (numbers)->count; i++)                \
            if ((numbers)->items[i] / PEER_LINKS != (peer)->index)     \
                (numbers)->items[kept++] = (numbers)->items[i];        \
        (numbers)->count = kept;                                       \
    } while (0)

void peer_links_forget(struct peer_links *links, struct peer *peer)
{
    bool has_links = false;

    for (uint32_t i = 0; i < PEER_LINKS; i++) {
        struct link *link = peer_link_at(links, peer, i);

        if (!link)
            continue;
        has_links = true;
        link_drop(link, *links->options.now);
        while (link_next_request(link) == LINK_REQUEST_CLOSE)
            request_close(links, peer->index * PEER_LINKS + i);
        link_free(link);
    }
    if (peer->has_large)
        mem_free(map_take(&links->large,
                          slice_of(&peer->index, sizeof peer->index)));
    drop_heads(peer);
    drop_tables(peer);
    if (!has_links)
        return;
    leave_out(&links->touched, peer);
    leave_out(&links->timed, peer);
}

void peer_links_verify(struct peer_links *links, const struct node_id *node)
{
    struct peer *peer = peers_find(links->options.peers, &node->address);

    if (!peer)
        return;
    link_verify(peer_link(links, peer, STREAM_CONTROL), *links->options.now);
    peer_touched(links, peer, STREAM_CONTROL);
}

/* Returns the peer if it is that incarnation, else null. */
static struct peer *present(struct peer_links *links,
                            const struct node_id *node)
{
    struct peer *peer = peers_uid(links->options.peers, node->uid);

    return peer && kept_address_equal(peer->address, &node->address) ? peer
                                                                     : NULL;
}

void peer_links_answered(struct peer_links *links, const struct node_id *node,
                         uint32_t lane, uint64_t generation)
{
    struct peer *peer = present(links, node);

    for (uint32_t i = 0; peer && i < PEER_LINKS; i++) {
        struct link *link = peer_link_at(links, peer, i);

        if (!link)
            continue;
        link_answered(link, *links->options.now, node->uid, lane,
                      generation);
        if (link_state(link) == LINK_OPEN)
            peers_answered(links->options.peers, peer);
        peer_touched(links, peer, stream_of(i));
    }
}

void peer_links_table(struct peer_links *links, const struct node_id *node,
                      enum table_kind kind, struct slice payload)
{
    struct peer *peer = present(links, node);

    if (!peer)
        return;
    if (!peer->tables) {
        peer->tables = mem_alloc(sizeof *peer->tables);
        peer->tables->uid = node->uid;
    }
    if (peer_tables_receive(peer->tables, kind, payload))
        drop_heads(peer); /* the new table changes them */
}

static struct link *make_link(struct peer_links *links,
                              const struct peer *peer, enum stream stream)
{
    uint32_t index = link_index(stream);
    struct link_options options = {
        .sender = &links->sender,
        .peer = peer->address,
        .stream = stream,
        .seed = links->options.settings->seed + peer->index * 131u +
                links->options.index * 7u + index,
        .leaves = &peer->leaves,
    };

    return link_new(&options);
}

struct link *peer_make_link(struct peer_links *links,
                            struct peer *peer, enum stream stream)
{
    struct link *link = make_link(links, peer, stream);

    if (stream == STREAM_LARGE) {
        struct large_link *large = mem_alloc(sizeof *large);

        large->link = link;
        map_put(&links->large,
                slice_of(&peer->index, sizeof peer->index), large);
        peer->has_large = true;
    } else {
        peer->links[link_index(stream)] = link;
    }
    if (peer->uid && !peer->gone)
        link_expect(link, *links->options.now, peer->uid);
    return link;
}

/* Makes room for the heads of all types, also of one that was registered later. */
static struct prepared *prepare(struct prepared *prepared, const struct peer_links *links,
                                uint32_t type)
{
    uint32_t before = prepared ? prepared->head_count : 0;
    uint32_t count = links->options.settings->type_count;

    count = type < count ? count : type + 1;
    prepared = mem_resize(prepared, sizeof *prepared + count * sizeof *prepared->heads);
    if (!before)
        memset(prepared, 0, sizeof *prepared);
    memset(prepared->heads + before, 0, (count - before) * sizeof *prepared->heads);
    prepared->head_count = count;
    return prepared;
}

const struct envelope_head *peer_head(struct peer_links *links,
                                      struct peer *peer, uint32_t type)
{
    const struct peer_links_options *options = &links->options;
    struct prepared *prepared = peer->prepared;
    struct envelope_head *head;
    struct address address;
    struct buf ref = { 0 };
    bool fits;

    if (!prepared || type >= prepared->head_count)
        prepared = peer->prepared = prepare(prepared, links, type);
    head = &prepared->heads[type];
    if (head->bytes.size)
        return head;
    address = address_again(peer->address);
    ref_put(&ref, options->self, &address,
            slice_text(options->names[type].remote_path));
    /* Only the ordinary stream has tables (docs/protocol/link.md). */
    fits = envelope_head_init(head, options->self,
                              options->names[type].is_large
                                  ? NULL
                                  : peer->tables,
                              buf_slice(&ref), slice_text("a"),
                              SERIALIZER_SHARDING_TYPED);
    buf_fini(&ref);
    return fits ? head : NULL;
}

/* Prefetches in steps. Each step uses what the one before has loaded, for all peers, so their waits
 * overlap. */
void peer_links_fetch(const struct peer_links *links, const uint64_t *uids,
                      uint32_t count)
{
    const struct peer *peer;

    for (uint32_t step = 0; step < 2; step++)
        for (uint32_t i = 0; i < count; i++)
            map_fetch(&links->options.peers->by_uid, map_u64(&uids[i]), step);
    for (uint32_t i = 0; i < count; i++)
        if ((peer = map_get(&links->options.peers->by_uid, map_u64(&uids[i]))))
            fetch_memory(peer, sizeof *peer);
    for (uint32_t i = 0; i < count; i++)
        if ((peer = map_get(&links->options.peers->by_uid, map_u64(&uids[i]))))
            peer_fetch(links, peer);
}

void peer_fetch(const struct peer_links *links,
                const struct peer *peer)
{
    __builtin_prefetch(peer->address);
    __builtin_prefetch(&links->options.peers->all.items[peer->index]);
    if (peer->links[0])
        fetch_memory(peer->links[0], FETCH_LINK);
}

/* A heartbeat goes to nine others. */
void peer_links_fetch_outbox(const struct peer_links *links,
                             const struct outbox *outbox)
{
    uint64_t uids[FETCHED_MAX];
    const struct node_id *to;
    uint32_t count = 0;

    if (!outbox_to(outbox, 1))
        return;
    for (; count < FETCHED_MAX && (to = outbox_to(outbox, count)); count++)
        uids[count] = to->uid;
    peer_links_fetch(links, uids, count);
}

/* Whether a message is for a former incarnation. The path of a region or replicator is the same in
 * each incarnation, so the next one would obey an order for the former. */
static bool is_for_former(const struct peer_links *links,
                          const struct peer *peer,
                          const struct outbound *message)
{
    return message->to.uid && message->to.uid != peer->uid && !peer->gone &&
           peers_is_over(links->options.peers, message->to.uid);
}

/* Whether a message of an association is for a stranger that was forgotten in the same turn. Only a
 * removed node is told of its removal without an association. */
static bool is_for_forgotten(const struct peer_links *links,
                             const struct outbound *message)
{
    return message->serializer == SERIALIZER_ARTERY &&
           !slice_is(message->manifest, ARTERY_QUARANTINED) &&
           !peers_find(links->options.peers, &message->to.address);
}

void peer_links_send(struct peer_links *links, const struct outbound *message)
{
    enum stream stream =
        message->stream == STREAM_CONTROL ? STREAM_CONTROL : STREAM_ORDINARY;
    const struct peer_tables *tables = NULL;
    struct peer *peer;
    struct link *link;

    if (is_for_forgotten(links, message))
        return; /* the node repeats its handshake */
    peer = peers_of(links->options.peers, &message->to);
    link = peer_link(links, peer, stream);
    if (stream == STREAM_ORDINARY && is_for_former(links, peer, message)) {
        REACHED("a frame for an earlier incarnation is not sent to the next one");
        link_refuse_stale(link);
        return;
    }
    if (stream == STREAM_ORDINARY && peer->tables &&
        message->to.uid == peer->tables->uid)
        tables = peer->tables;
    (void)link_send(link, *links->options.now, tables, message); /* a refusal is counted there */
    peer_touched(links, peer, stream);
}

bool peer_links_waiting(const struct peer_links *links)
{
    for (uint32_t i = 0; i < links->options.peers->all.count; i++) {
        const struct peer *peer = links->options.peers->all.items[i];

        for (uint32_t j = 1; j < PEER_LINKS && peer && !peer->gone; j++) {
            const struct link *link = peer_link_at(links, peer, j);

            if (link && link_waiting(link))
                return true;
        }
    }
    return false;
}

struct link *peer_links_find(struct peer_links *links, uint64_t number,
                             struct peer **peer, enum stream *stream)
{
    uint64_t at = number - 1;
    uint32_t index = (uint32_t)(at % PEER_LINKS);
    struct link *link;

    check(number && at / PEER_LINKS < links->options.peers->all.count);
    *peer = links->options.peers->all.items[at / PEER_LINKS];
    if (!*peer)
        return NULL;
    *stream = stream_of(index);
    link = peer_link_at(links, *peer, index);
    check(link != NULL);
    return link;
}

/* Ticks links with deadlines only: open links have none, and a node with many peers has many of
 * them. */
void peer_links_tick(struct peer_links *links)
{
    uint64_t now = *links->options.now;
    uint32_t count = links->timed.count;
    uint32_t kept = 0;

    if (now < links->deadline)
        return;
    links->deadline = NEVER;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = links->timed.items[i];
        struct peer *peer = links->options.peers->all.items[number / PEER_LINKS];
        uint32_t index = number % PEER_LINKS;
        struct link *link = peer_link_at(links, peer, index);
        struct way *way = peer_way(links, peer, index);

        if (link_deadline(link) <= now) {
            link_tick(link, now);
            peer_touched(links, peer, stream_of(index));
        }
        way->timed = link_deadline(link) != NEVER;
        if (!way->timed)
            continue;
        links->timed.items[kept++] = number;
        if (link_deadline(link) < links->deadline)
            links->deadline = link_deadline(link);
    }
    links->timed.count = kept;
}

uint64_t peer_links_deadline(const struct peer_links *links)
{
    return links->deadline;
}

/* Asks control about a node that does not answer. A node that never was a member is never removed,
 * and its address may stay empty forever. */
static void suspect_homes(const struct peer_links *links,
                          const struct peer *peer,
                          const struct link *link)
{
    struct node_id node = peer_node(peer);
    struct mail_content content;

    if (links->options.index == 0 || !link_waiting(link) ||
        link_counts(link).failed < DOUBT_FAILURES)
        return;
    content = mail_from(links->options.index - 1,
                        MAIL(suspect, .own = { mail_node(&node) }));
    outputs_post(links->options.outputs, 0, &content);
}

/* The connection failed or broke. A stranger that wants an answer repeats its handshake, so the node
 * does not dial thousands of them again and again. */
static void lost(struct peer_links *links, struct peer *peer,
                 uint32_t index, struct link *link)
{
    if (index)
        suspect_homes(links, peer, link);
    else if (peer->is_stranger && !link_waiting(link))
        link_drop(link, *links->options.now);
}

static void look(struct peer_links *links, struct peer *peer,
                 uint32_t index)
{
    struct outputs *outputs = links->options.outputs;
    struct link *link = peer_link_at(links, peer, index);
    struct way *way = peer_way(links, peer, index);
    uint64_t number = peer->index * PEER_LINKS + index + 1;
    struct link_news news;
    struct slice bytes;
    enum link_request wanted;

    while ((wanted = link_next_request(link)) != LINK_REQUEST_NOTHING) {
        struct driver_request request = {
            .kind = wanted == LINK_REQUEST_CONNECT ? DRIVER_CONNECT
                                                : DRIVER_CLOSE_LINK,
            .link = number,
            .address = address_again(peer->address),
            .stream = stream_of(index),
        };

        way->writing = false;
        outputs_request(outputs, &request);
    }
    while (link_next_news(link, &news)) {
        if (news.kind == LINK_NEWS_LOST)
            lost(links, peer, index, link);
    }
    if (!way->writing && link_pending(link, *links->options.now, &bytes)) {
        way->writing = true;
        outputs_request_write(outputs, number);
    }
    note(links, peer, index);
}

/* The driver takes all requests before it can name a link of a new peer. */
void peer_links_flush(struct peer_links *links)
{
    peers_reuse(links->options.peers);
    for (uint32_t i = 0; i < links->touched.count; i++) {
        uint32_t number = links->touched.items[i];
        struct peer *peer = links->options.peers->all.items[number / PEER_LINKS];
        uint32_t index = number % PEER_LINKS;

        peer_way(links, peer, index)->touched = false;
        look(links, peer, index);
    }
    links->touched.count = 0;
    if (links->scratch.capacity > SCRATCH_KEPT_MAX)
        buf_fini(&links->scratch);
}
