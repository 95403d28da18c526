/* Checks two nodes in memory (associations, links, inlets, over connections that cut, lose and
 * reset), and control's rules alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "artery/association.h"
#include "artery/extension.h"
#include "artery/inlet.h"
#include "artery/link.h"
#include "artery/peers.h"
#include "artery/unique_address.h"
#include "base/check.h"
#include "base/rng.h"
#include "base/timers.h"

static const struct inlet_options inlet_options = {
    .magics = {"AKKA", NULL}};

/* One node: control's part and one lane's. */
struct side {
    struct identity self;
    uint64_t capabilities;
    struct associations *associations;
    struct peers peers;
    struct own_tables own;
    struct peer_tables tables;
    struct kept_address *there; /* the other side's address, for the links */
    struct link *links[2];   /* control, ordinary */
    struct link_sender senders[2]; /* of the links */
    struct buf scratch;
    struct inlet *inlets[2]; /* of the peer's connections */
    struct buf wires[2];     /* bytes of our links on the way to the peer */
    bool broken[2];          /* our connection must be reset */
    uint64_t arrivals;       /* connections accepted from the peer */
    uint32_t up, answered, watched, terminated, flushed, failed, quarantined,
        terminating;
    uint64_t replaced;
    uint32_t next_watch; /* number expected in the next watch */
    char texts[64];      /* payload of the last actor message */
    uint32_t texts_count;
};

static struct slice text_of(char *text)
{
    return slice_text(text);
}

static void side_open(struct side *side, uint64_t uid, uint16_t port,
                      uint16_t peer_port, uint64_t capabilities)
{
    struct association_options options = {.capabilities = capabilities,
                                          .lanes = 1};

    *side = (struct side){.self = {"akka", "S", {{"h", port}, uid}}};
    side->capabilities = capabilities;
    side->next_watch = 1;
    options.self = &side->self;
    options.tables = &side->own;
    peers_init(&side->peers, &(struct peers_options){ .is_control = true });
    options.peers = &side->peers;
    side->associations = associations_new(&options);
    side->there = address_keep(&(struct address){"h", peer_port});
    for (uint32_t i = 0; i < 2; i++) {
        struct link_options link = {.sender = &side->senders[i],
                                    .stream = i == 0 ? STREAM_CONTROL
                                                     : STREAM_ORDINARY,
                                    .seed = uid};

        side->senders[i] = (struct link_sender){.self = &side->self,
                                                .lane = i,
                                                .lanes = 1,
                                                .capabilities = capabilities,
                                                .magic = "AKKA",
                                                .scratch = &side->scratch};

        link.peer = side->there;
        side->links[i] = link_new(&link);
    }
}

static void side_close(struct side *side)
{
    associations_free(side->associations);
    peers_fini(&side->peers);
    own_tables_fini(&side->own);
    peer_tables_fini(&side->tables);
    buf_fini(&side->scratch);
    for (int i = 0; i < 2; i++) {
        link_free(side->links[i]);
        inlet_free(side->inlets[i]);
        buf_fini(&side->wires[i]);
    }
    mem_free(side->there);
}

static void send_all(struct side *side, uint64_t now, struct outbox *outbox)
{
    struct outbound message;

    while (outbox_next(outbox, &message)) {
        assert_true(message.stream == STREAM_CONTROL ||
                    message.recipient.size > 0);
        (void)link_send(side->links[message.stream == STREAM_ORDINARY], now,
                        &side->tables, &message);
    }
    outbox_fini(outbox);
}

static void take_news(struct side *side, uint64_t now)
{
    struct association_news news;

    while (associations_next_news(side->associations, &news)) {
        char want[64];

        switch (news.kind) {
        case ASSOCIATION_UP:
            side->up++;
            side->replaced = news.replaced;
            for (int i = 0; i < 2; i++)
                link_expect(side->links[i], now, news.peer.uid);
            peer_tables_fini(&side->tables);
            side->tables.uid = news.peer.uid;
            break;
        case ASSOCIATION_ANSWERED:
            side->answered++;
            for (int i = 0; i < 2; i++)
                link_answered(side->links[i], now, news.peer.uid, news.lane,
                              news.generation);
            break;
        case ASSOCIATION_TABLE:
            assert_true(
                peer_tables_receive(&side->tables, news.table, news.payload));
            break;
        case ASSOCIATION_WATCH:
            snprintf(want, sizeof want, "akka://S@h:%u/user/w#%u",
                     news.peer.address.port, side->next_watch++);
            assert_true(slice_is(news.watcher, want));
            side->watched++;
            break;
        case ASSOCIATION_TERMINATED:
            assert_true(news.existence_confirmed);
            assert_false(news.address_terminated);
            side->terminated++;
            break;
        case ASSOCIATION_FLUSHED:
            side->flushed++;
            break;
        case ASSOCIATION_FAILED:
            side->failed++;
            break;
        case ASSOCIATION_QUARANTINED_US:
            side->quarantined++;
            break;
        case ASSOCIATION_TERMINATING:
            side->terminating++;
            break;
        case ASSOCIATION_UNWATCH:
        case ASSOCIATION_FORGOTTEN:
        case ASSOCIATION_CLAIMED:
            break;
        }
    }
}

/* Handles one frame on inlet i, as control (0) or a lane (1). */
static void receive(struct side *side, uint64_t now, int i, struct slice frame)
{
    enum stream stream = i ? STREAM_ORDINARY : STREAM_CONTROL;
    struct envelope envelope;
    struct selection selection;
    struct inbound inbound;
    struct handshake handshake;
    struct outbox outbox = {0};

    assert_int_equal(envelope_read(frame, i ? &side->own : NULL, &envelope),
                     ENVELOPE_OK);
    if (envelope_is(&envelope, 17, "d")) {
        assert_int_equal(handshake_request_read(&side->self, envelope.payload,
                                                &handshake, NULL),
                         HANDSHAKE_OK);
        handshake.order = inlet_order(side->inlets[i]);
        if (peers_accept(&side->peers, stream, &handshake) != PEER_ACCEPTED) {
            inlet_close(side->inlets[i], INLET_SUPERSEDED);
            return;
        }
        inlet_accept(side->inlets[i], handshake.from.uid, handshake.lane,
                     handshake.generation);
    }
    if (associations_receive(side->associations, now, stream,
                             inlet_order(side->inlets[i]), &envelope,
                             &selection, &inbound, &outbox) == ASSOCIATION_DELIVER) {
        assert_true(inbound.payload.size < sizeof side->texts);
        memcpy(side->texts, inbound.payload.data, inbound.payload.size);
        side->texts[inbound.payload.size] = 0;
        side->texts_count++;
    }
    send_all(side, now, &outbox);
    take_news(side, now);
}

/* Carries bytes from one side's link i to the other's inlet, in random pieces; sometimes the
 * connection breaks. */
static void carry(struct side *from, struct side *to, int i, uint64_t now,
                  struct rng *rng, uint32_t break_one_in)
{
    struct link *link = from->links[i];
    struct slice bytes;
    enum link_request want;

    while ((want = link_next_request(link)) != LINK_REQUEST_NOTHING) {
        buf_clear(&from->wires[i]);
        if (want == LINK_REQUEST_CLOSE)
            continue;
        if (break_one_in && rng_below(rng, 4) == 0) {
            link_failed(link, now, "refused");
            continue;
        }
        inlet_free(to->inlets[i]);
        to->inlets[i] = inlet_new(now, &inlet_options);
        inlet_set_order(to->inlets[i], ++to->arrivals);
        link_connected(link, now);
    }
    while (link_pending(link, now, &bytes) && rng_below(rng, 4)) {
        size_t size = 1 + rng_below(rng, bytes.size);

        buf_put(&from->wires[i], bytes.data, size);
        link_wrote(link, now, size);
    }
    if (break_one_in && link_state(link) >= LINK_HANDSHAKING &&
        link_state(link) <= LINK_OPEN && rng_below(rng, break_one_in) == 0) {
        /* The bytes on the way are lost. */
        buf_clear(&from->wires[i]);
        link_closed(link, now, "reset");
        return;
    }
    if (from->wires[i].size && to->inlets[i]) {
        size_t size = 1 + rng_below(rng, from->wires[i].size);
        uint8_t *segment = malloc(size);
        struct slice frames[8];
        uint32_t count;

        memcpy(segment, from->wires[i].data, size);
        buf_take(&from->wires[i], size);
        inlet_receive(to->inlets[i], slice_of(segment, size));
        while ((count = inlet_batch(to->inlets[i], frames, 8)))
            for (uint32_t k = 0; k < count; k++)
                receive(to, now, i, frames[k]);
        free(segment);
        if (inlet_reason(to->inlets[i]) != INLET_OPEN) {
            buf_clear(&from->wires[i]);
            link_closed(link, now, "closed by peer");
        }
    }
}

static void tick(struct side *side, uint64_t now)
{
    struct outbox outbox = {0};

    associations_tick(side->associations, now, &outbox);
    send_all(side, now, &outbox);
    take_news(side, now);
    for (int i = 0; i < 2; i++)
        link_tick(side->links[i], now);
}

static void run(struct side *a, struct side *b, uint64_t *now, uint64_t ms,
                struct rng *rng, uint32_t break_one_in)
{
    uint64_t end = *now + ms * MS;

    for (; *now < end; *now += 10 * MS) {
        for (int i = 0; i < 2; i++) {
            carry(a, b, i, *now, rng, break_one_in);
            carry(b, a, i, *now, rng, break_one_in);
        }
        tick(a, *now);
        tick(b, *now);
    }
}

static void say(struct side *side, struct side *peer, uint64_t now,
                const char *text)
{
    struct outbound message = {.to = {.address = peer->self.node.address},
                               .recipient = slice_text("/user/x"),
                               .sender = slice_text("/user/s#1"),
                               .payload = slice_text(text),
                               .serializer = 4,
                               .stream = STREAM_ORDINARY};

    assert_true(link_send(side->links[1], now, &side->tables, &message));
}

static void watch(struct side *side, struct side *peer, uint64_t now,
                  uint32_t number)
{
    struct outbox outbox = {0};
    struct node_id to = {.address = peer->self.node.address};
    char watcher[32];

    snprintf(watcher, sizeof watcher, "/user/w#%u", number);
    associations_watch(side->associations, now, &to, slice_text("/user/e#7"),
                       text_of(watcher), &outbox);
    send_all(side, now, &outbox);
}

static void two_nodes_connect(void **state)
{
    struct side a;
    struct side b;
    struct rng rng;
    uint64_t now = SECOND;
    (void)state;

    rng_init(&rng, 1);
    side_open(&a, 100, 1, 2, CAPABILITY_SHERD);
    side_open(&b, 200, 2, 1, CAPABILITY_SHERD);
    say(&a, &b, now, "hello");
    run(&a, &b, &now, 1000, &rng, 0);
    assert_string_equal(b.texts, "hello");
    assert_int_equal(a.up, 1);
    assert_int_equal(b.up, 1);
    assert_true(associations_uid(a.associations, &b.self.node.address) == 200);
    assert_true(associations_uid(b.associations, &a.self.node.address) == 100);
    assert_true(peers_find(&a.peers, &b.self.node.address)->capabilities == CAPABILITY_SHERD);
    /* B answers only on control, although nothing else made it connect. */
    assert_int_equal(link_state(b.links[0]), LINK_OPEN);
    assert_int_equal(link_state(b.links[1]), LINK_IDLE);
    say(&b, &a, now, "you too");
    run(&a, &b, &now, 1000, &rng, 0);
    assert_string_equal(a.texts, "you too");
    side_close(&a);
    side_close(&b);
}

static void a_sherd_node_connects_to_one_without_extensions(void **state)
{
    struct side a;
    struct side b;
    struct rng rng;
    uint64_t now = SECOND;
    (void)state;

    rng_init(&rng, 1);
    side_open(&a, 100, 1, 2, CAPABILITY_SHERD);
    side_open(&b, 200, 2, 1, 0);
    say(&a, &b, now, "hello");
    say(&b, &a, now, "hallo");
    run(&a, &b, &now, 1000, &rng, 0);
    assert_string_equal(b.texts, "hello");
    assert_string_equal(a.texts, "hallo");
    side_close(&a);
    side_close(&b);
}

static void system_messages_survive_resets(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        struct side a;
        struct side b;
        struct rng rng;
        uint64_t now = SECOND;
        uint32_t sent = 0;

        rng_init(&rng, seed);
        side_open(&a, 100, 1, 2, seed % 2);
        side_open(&b, 200, 2, 1, seed % 3);
        for (int i = 0; i < 60; i++) {
            for (uint64_t k = rng_below(&rng, 4); k > 0; k--)
                watch(&a, &b, now, ++sent);
            run(&a, &b, &now, 1 + rng_below(&rng, 300), &rng, 50);
        }
        run(&a, &b, &now, 30000, &rng, 0);
        assert_int_equal(b.watched, sent);
        assert_int_equal(associations_counts(b.associations).system_received,
                         sent);
        assert_int_equal(associations_counts(b.associations).malformed, 0);
        assert_int_equal(associations_counts(a.associations).malformed, 0);
        assert_true(associations_deadline(a.associations) == NEVER);
        side_close(&a);
        side_close(&b);
    }
}

static void tables_are_advertised_and_used(void **state)
{
    struct side a;
    struct side b;
    struct rng rng;
    uint64_t now = SECOND;
    struct slice refs[] = {slice_text(""), slice_text("akka://S@h:2/user/x")};
    struct slice manifests[] = {slice_text("a")};
    struct outbox outbox = {0};
    (void)state;

    rng_init(&rng, 1);
    side_open(&a, 100, 1, 2, CAPABILITY_SHERD);
    side_open(&b, 200, 2, 1, CAPABILITY_SHERD);
    own_tables_set(&b.own, TABLE_REFS, refs, 2);
    say(&a, &b, now, "hello");
    run(&a, &b, &now, 2000, &rng, 0);
    assert_int_equal(table_index(&a.tables.refs, refs[1]), 1);
    own_tables_set(&b.own, TABLE_MANIFESTS, manifests, 1);
    associations_advertise(b.associations, now, &outbox);
    send_all(&b, now, &outbox);
    run(&a, &b, &now, 2000, &rng, 0);
    assert_int_equal(table_index(&a.tables.manifests, manifests[0]), 0);
    assert_true(a.tables.uid == 200);
    run(&a, &b, &now, 6000, &rng, 0);
    assert_true(associations_deadline(b.associations) == NEVER); /* acknowledged */
    say(&a, &b, now, "short");
    run(&a, &b, &now, 1000, &rng, 0);
    assert_string_equal(b.texts, "short");
    side_close(&a);
    side_close(&b);
}

/* Tables are for ordinary messages; control needs none. */
static void a_peer_that_sends_no_messages_gets_no_tables(void **state)
{
    struct side a;
    struct side b;
    struct rng rng;
    uint64_t now = SECOND;
    struct slice refs[] = {slice_text(""), slice_text("akka://S@h:2/user/x")};
    (void)state;

    rng_init(&rng, 1);
    side_open(&a, 100, 1, 2, CAPABILITY_SHERD);
    side_open(&b, 200, 2, 1, CAPABILITY_SHERD);
    own_tables_set(&b.own, TABLE_REFS, refs, 2);
    watch(&a, &b, now, 1);
    run(&a, &b, &now, 20000, &rng, 0);
    assert_int_equal(b.watched, 1);
    assert_int_equal(a.tables.refs.count, 0);
    say(&a, &b, now, "hello");
    run(&a, &b, &now, 2000, &rng, 0);
    assert_int_equal(a.tables.refs.count, 2);
    side_close(&a);
    side_close(&b);
}

static void a_new_incarnation_starts_with_fresh_numbers(void **state)
{
    struct side a;
    struct side b;
    struct rng rng;
    uint64_t now = SECOND;
    struct node_id node;
    (void)state;

    rng_init(&rng, 3);
    side_open(&a, 100, 1, 2, CAPABILITY_SHERD);
    side_open(&b, 200, 2, 1, CAPABILITY_SHERD);
    watch(&a, &b, now, 1);
    say(&a, &b, now, "hello");
    run(&a, &b, &now, 3000, &rng, 0);
    assert_int_equal(b.watched, 1);
    /* B's process dies and another one starts at its address. */
    side_close(&b);
    side_open(&b, 201, 2, 1, CAPABILITY_SHERD);
    for (int i = 0; i < 2; i++) {
        link_closed(a.links[i], now, "reset");
        buf_clear(&a.wires[i]);
    }
    say(&b, &a, now, "again");
    run(&a, &b, &now, 10000, &rng, 0);
    assert_string_equal(a.texts, "again");
    assert_int_equal(a.up, 2);
    assert_true(a.replaced == 200);
    assert_true(peers_is_over(&a.peers, 200));
    assert_false(associations_find(a.associations, 200, &node));
    assert_true(associations_find(a.associations, 201, &node));
    watch(&a, &b, now, 1);
    run(&a, &b, &now, 5000, &rng, 0);
    assert_int_equal(b.watched, 1);
    side_close(&a);
    side_close(&b);
}

/* A node of another kind has none of our capabilities, whichever node had its address before. */
static void a_node_of_another_kind_replaces_the_capabilities(void **state)
{
    struct side a;
    struct side b;
    struct rng rng;
    uint64_t now = SECOND;
    (void)state;

    rng_init(&rng, 4);
    side_open(&a, 100, 1, 2, CAPABILITY_SHERD);
    side_open(&b, 200, 2, 1, CAPABILITY_SHERD);
    say(&a, &b, now, "hello");
    run(&a, &b, &now, 3000, &rng, 0);
    assert_true(peers_find(&a.peers, &b.self.node.address)->capabilities == CAPABILITY_SHERD);
    side_close(&b);
    side_open(&b, 201, 2, 1, 0);
    for (int i = 0; i < 2; i++) {
        link_closed(a.links[i], now, "reset");
        buf_clear(&a.wires[i]);
    }
    say(&b, &a, now, "again");
    run(&a, &b, &now, 10000, &rng, 0);
    assert_true(associations_uid(a.associations, &b.self.node.address) == 201);
    assert_true(peers_find(&a.peers, &b.self.node.address)->capabilities == 0);
    side_close(&a);
    side_close(&b);
}

static void a_quarantined_uid_is_refused(void **state)
{
    struct side a;
    struct side b;
    struct rng rng;
    uint64_t now = SECOND;
    struct handshake handshake = {0};
    struct outbox outbox = {0};
    (void)state;

    rng_init(&rng, 3);
    side_open(&a, 100, 1, 2, CAPABILITY_SHERD);
    side_open(&b, 200, 2, 1, CAPABILITY_SHERD);
    say(&a, &b, now, "hello");
    run(&a, &b, &now, 2000, &rng, 0);
    associations_quarantine(a.associations, &b.self.node);
    say(&b, &a, now, "nobody hears");
    run(&a, &b, &now, 3000, &rng, 0);
    assert_int_equal(a.texts_count, 0);
    assert_true(associations_counts(a.associations).stale > 0);
    handshake.from = b.self.node;
    assert_false(
        associations_handshake(a.associations, now, STREAM_ORDINARY, &handshake,
                                    &outbox));
    assert_int_equal(outbox.count, 0);
    handshake.from.uid = 201;
    assert_true(
        associations_handshake(a.associations, now, STREAM_ORDINARY, &handshake,
                                    &outbox));
    outbox_fini(&outbox);
    side_close(&a);
    side_close(&b);
}

/* ---- control's rules, without connections ---- */

static struct identity me = {"akka", "S", {{"h", 1}, 100}};
static struct identity you = {"akka", "S", {{"h", 2}, 200}};

static struct peers alone_peers; /* of the associations that a test has */
static struct associations *alone_one;

static void forgotten(void *user, struct peer *peer)
{
    (void)user;
    associations_forget(alone_one, peer);
}

static struct associations *alone_new(const struct association_options *options)
{
    struct association_options all = *options;

    all.self = &me;
    all.peers = &alone_peers;
    peers_init(&alone_peers, &(struct peers_options){ .is_control = true,
                                                      .forgotten = forgotten });
    alone_one = associations_new(&all);
    return alone_one;
}

static void alone_free(struct associations *associations)
{
    associations_free(associations);
    peers_fini(&alone_peers);
}

static struct associations *alone(struct trace *trace)
{
    return alone_new(&(struct association_options){ .trace = trace });
}

/* A message from `from` as if it had arrived. */
static enum association_verdict
arrive(struct associations *associations, uint64_t now, enum stream stream,
       const struct identity *from, const struct outbound *message,
       struct inbound *inbound, struct outbox *outbox)
{
    static struct selection selection;
    static struct buf frame;
    struct envelope envelope;
    enum association_verdict verdict;

    buf_fini(&frame);
    assert_true(envelope_put(&frame, from, NULL, message));
    assert_int_equal(envelope_read(slice_of(frame.data + 4, frame.size - 4),
                                   NULL, &envelope),
                     ENVELOPE_OK);
    verdict = associations_receive(associations, now, stream, 0, &envelope,
                                   &selection, inbound, outbox);
    if (verdict != ASSOCIATION_DELIVER)
        buf_fini(&frame);
    return verdict;
}

static struct outbound artery(const char *manifest, struct slice payload)
{
    return (struct outbound){.to = me.node,
                             .manifest = slice_text(manifest),
                             .payload = payload,
                             .serializer = 17,
                             .stream = STREAM_CONTROL};
}

static struct associations *met(struct trace *trace)
{
    struct associations *associations = alone(trace);
    struct handshake handshake = {.from = you.node};
    struct outbox outbox = {0};
    struct association_news news;

    assert_true(associations_handshake(associations, 1, STREAM_ORDINARY, &handshake,
                                    &outbox));
    while (associations_next_news(associations, &news))
        ;
    outbox_fini(&outbox);
    return associations;
}

/* Handles a handshake of an incarnation at one address, by the connection of that order; returns
 * whether it is accepted. */
static bool says_hello_by(struct associations *associations, uint64_t uid,
                          uint64_t order)
{
    struct handshake handshake = {.from = you.node, .order = order};
    struct outbox outbox = {0};
    struct association_news news;
    bool taken;

    handshake.from.uid = uid;
    taken = associations_handshake(associations, 1, STREAM_ORDINARY, &handshake,
                                    &outbox);
    while (associations_next_news(associations, &news))
        ;
    outbox_fini(&outbox);
    assert_int_equal(
        taken, associations_uid(associations, &you.node.address) == uid);
    return taken;
}

static bool says_hello(struct associations *associations, uint64_t uid)
{
    return says_hello_by(associations, uid, 0);
}

static struct node_id life(uint64_t uid)
{
    struct node_id node = you.node;

    node.uid = uid;
    return node;
}

static void terminates(struct associations *associations, uint64_t uid)
{
    struct outbox outbox = {0};
    struct association_news news;

    associations_terminating(associations, SECOND, uid);
    associations_tick(associations, SECOND + (TERMINATING_MS + 1) * MS,
                      &outbox);
    while (associations_next_news(associations, &news))
        ;
    outbox_fini(&outbox);
}

/* The older incarnation's handshake arrives after the newer one's. */
static void a_late_handshake_of_an_older_incarnation_ends_with_it(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct associations *associations = alone(NULL);
        struct node_id former = life(1);

        assert_true(says_hello(associations, 2));
        assert_true(says_hello(associations, 1)); /* it is still open which was first */
        assert_false(says_hello(associations, 2));
        if (way == 0)
            associations_quarantine(associations, &former);
        else if (way == 1)
            peers_gone(&alone_peers, &former);
        else
            terminates(associations, 1);
        assert_true(says_hello(associations, 2));
        assert_false(says_hello(associations, 1));
        alone_free(associations);
    }
}

/* The newest of three incarnations is heard first. */
static void late_handshakes_of_older_incarnations_end_with_them(void **state)
{
    struct associations *associations = alone(NULL);
    struct node_id first = life(1);
    struct node_id second = life(2);
    (void)state;

    assert_true(says_hello(associations, 3));
    assert_true(says_hello(associations, 2));
    assert_true(says_hello(associations, 1));
    associations_quarantine(associations, &first);
    associations_quarantine(associations, &second);
    assert_true(says_hello(associations, 3));
    assert_false(says_hello(associations, 1));
    assert_false(says_hello(associations, 2));
    alone_free(associations);
}

/* An expected peer is only a guess. */
static void an_expected_peer_does_not_change_lookups(void **state)
{
    struct associations *associations = alone(NULL);
    struct association_place place;
    struct node_id second = life(2);
    struct node_id found;
    (void)state;

    assert_true(says_hello(associations, 1));
    place = associations_place(associations, 1);
    associations_expect(associations, &place);
    assert_true(associations_find(associations, 1, &found));
    assert_false(associations_find(associations, 2, &found));
    assert_true(says_hello(associations, 2));
    associations_expect(associations, &place);
    assert_false(associations_find(associations, 1, &found));
    assert_true(associations_find(associations, 2, &found));
    associations_quarantine(associations, &second);
    associations_expect(associations, &place); /* it is freed */
    assert_false(associations_find(associations, 2, &found));
    place = associations_place(associations, 2);
    associations_expect(associations, &place); /* there is none */
    assert_false(associations_find(associations, 1, &found));
    alone_free(associations);
}

/* Connections come in the order of incarnations, and are read in any order. */
static void the_incarnation_with_the_later_connection_stays(void **state)
{
    struct associations *associations = alone(NULL);
    struct node_id second = life(2);
    (void)state;

    assert_true(says_hello_by(associations, 2, 7));
    assert_true(says_hello_by(associations, 2, 5));
    assert_false(says_hello_by(associations, 1, 6)); /* read late: it is the older one */
    assert_true(peers_is_over(&alone_peers, 1));
    assert_true(says_hello_by(associations, 2, 7));
    assert_true(says_hello_by(associations, 3, 8));
    assert_false(says_hello_by(associations, 2, 7));
    associations_quarantine(associations, &second);
    assert_false(says_hello_by(associations, 2, 9)); /* a removed incarnation stays removed */
    assert_true(says_hello_by(associations, 3, 8));
    alone_free(associations);
}

/* If the order is unknown, an older incarnation counts as the newer one until the next connection
 * corrects it. */
static void a_later_connection_restores_an_incarnation(void **state)
{
    struct associations *associations = alone(NULL);
    (void)state;

    assert_true(says_hello(associations, 2));
    assert_true(says_hello_by(associations, 1, 6));
    assert_false(says_hello(associations, 2));
    assert_false(says_hello_by(associations, 2, 5));
    assert_true(says_hello_by(associations, 2, 7));
    assert_false(says_hello_by(associations, 1, 6));
    assert_true(says_hello_by(associations, 2, 7));
    alone_free(associations);
}

/* Lanes that have read the older incarnation learn of the present one again. */
static void an_older_incarnations_handshake_reports_the_present_one(void **state)
{
    struct associations *associations = alone(NULL);
    struct handshake handshake = {.from = life(1), .order = 6};
    struct association_news news;
    struct outbox outbox = {0};
    (void)state;

    assert_true(says_hello_by(associations, 2, 7));
    assert_false(
        associations_handshake(associations, 1, STREAM_ORDINARY, &handshake,
                                    &outbox));
    assert_true(associations_next_news(associations, &news));
    assert_int_equal(news.kind, ASSOCIATION_UP);
    assert_int_equal(news.peer.uid, 2);
    assert_int_equal(news.order, 7);
    assert_false(associations_next_news(associations, &news));
    assert_true(news.is_verdict); /* whatever the lane has read */
    assert_int_equal(outbox.count, 0);
    outbox_fini(&outbox);
    alone_free(associations);
}

static void a_removed_incarnation_does_not_return(void **state)
{
    struct associations *associations = alone(NULL);
    struct node_id former = life(1);
    struct node_id newer = life(2);
    (void)state;

    assert_true(says_hello(associations, 1));
    peers_gone(&alone_peers, &former);
    assert_true(says_hello(associations, 1)); /* its last messages are accepted */
    assert_true(says_hello(associations, 2));
    assert_false(says_hello(associations, 1));
    associations_quarantine(associations, &newer);
    assert_false(says_hello(associations, 1));
    assert_false(says_hello(associations, 2));
    /* An incarnation that was never heard of is refused too. */
    newer = life(4);
    assert_true(says_hello(associations, 3));
    associations_quarantine(associations, &newer);
    assert_false(says_hello(associations, 4));
    assert_true(says_hello(associations, 3));
    /* Removed after the next incarnation's handshake. */
    former = life(3);
    newer = life(5);
    assert_true(says_hello(associations, 5));
    associations_quarantine(associations, &former);
    associations_quarantine(associations, &newer);
    assert_false(says_hello(associations, 3));
    alone_free(associations);
}

static void each_foreign_node_is_logged_once(void **state)
{
    struct trace *trace = trace_new(TRACE_INFO);
    struct associations *associations = alone(trace);
    struct identity stranger = {"akka", "Other", {{"far", 9}, 9}};
    struct buf payload = {0};
    struct outbound message;
    struct outbox outbox = {0};
    struct inbound inbound;
    struct trace_line line;
    int lines = 0;
    (void)state;

    handshake_request_put(&payload, &stranger, &me.node.address,
                          &(struct handshake){0});
    message = artery("d", buf_slice(&payload));
    for (int i = 0; i < 3; i++)
        assert_int_equal(arrive(associations, 1, STREAM_CONTROL, &stranger,
                                &message, &inbound, &outbox),
                         ASSOCIATION_DROPPED);
    assert_int_equal(outbox.count, 0);
    assert_int_equal(associations_counts(associations).foreign, 3);
    while (trace_next(trace, &line)) {
        assert_non_null(strstr(line.text, "akka://Other@far:9"));
        lines++;
    }
    assert_int_equal(lines, 1);
    buf_fini(&payload);
    alone_free(associations);
    trace_free(trace);
}

/* The text of the one line after a handshake of `from` for that address. */
static void refuses(const struct identity *from, const struct address *to,
                    const char *text)
{
    struct trace *trace = trace_new(TRACE_INFO);
    struct associations *associations = alone(trace);
    struct buf payload = {0};
    struct outbound message;
    struct outbox outbox = {0};
    struct inbound inbound;
    struct trace_line line;

    handshake_request_put(&payload, from, to, &(struct handshake){0});
    message = artery("d", buf_slice(&payload));
    assert_int_equal(arrive(associations, 1, STREAM_CONTROL, from, &message,
                            &inbound, &outbox),
                     ASSOCIATION_DROPPED);
    assert_int_equal(associations_counts(associations).misaddressed, 1);
    assert_true(trace_next(trace, &line));
    assert_int_equal(line.level, TRACE_WARNING);
    assert_non_null(strstr(line.text, text));
    assert_false(trace_next(trace, &line));
    buf_fini(&payload);
    alone_free(associations);
    trace_free(trace);
}

static void a_handshake_for_another_address_is_logged_with_the_remedy(void **state)
{
    const struct address other = {"elsewhere", 1};
    (void)state;

    refuses(&you, &other,
            "handshake refused: it is for another address than this node's; "
            "the peer must use remote.artery.canonical of this node what="
            "\"handshake from akka://S@h:2 looks for "
            "akka://S@elsewhere:1, and this node is akka://S@h:1\" "
            "hint=\"correct the address there, or canonical here\"");
}

static void a_handshake_with_this_nodes_address_or_uid_is_logged(void **state)
{
    const char *text = "handshake refused: the sender has the address or uid "
                       "of this node what=\"handshake from akka://S@h:";
    struct identity same_uid = you;
    (void)state;

    same_uid.node.uid = me.node.uid;
    refuses(&me, &me.node.address, text);
    refuses(&same_uid, &me.node.address, text);
}

/* The claimed name cannot add a pair to the log line. */
static void a_foreign_nodes_name_is_one_value(void **state)
{
    struct trace *trace = trace_new(TRACE_INFO);
    struct associations *associations = alone(trace);
    struct identity stranger = {"akka", "X\" level=error y", {{"far", 9}, 9}};
    struct buf payload = {0};
    struct outbound message;
    struct outbox outbox = {0};
    struct inbound inbound;
    struct trace_line line;
    (void)state;

    handshake_request_put(&payload, &stranger, &me.node.address,
                          &(struct handshake){0});
    message = artery("d", buf_slice(&payload));
    assert_int_equal(arrive(associations, 1, STREAM_CONTROL, &stranger,
                            &message, &inbound, &outbox),
                     ASSOCIATION_DROPPED);
    assert_true(trace_next(trace, &line));
    assert_non_null(strstr(line.text, " what=" "\"handshake from "));
    assert_non_null(strstr(line.text, "X\\\" level=error y@far:9"));
    assert_int_equal(line.text[strlen(line.text) - 1], '"');
    buf_fini(&payload);
    alone_free(associations);
    trace_free(trace);
}

static void messages_without_handshake_are_dropped(void **state)
{
    struct associations *associations = alone(NULL);
    struct outbound message = {.to = me.node,
                               .recipient = slice_text("/user/x"),
                               .serializer = 4,
                               .stream = STREAM_CONTROL};
    struct outbox outbox = {0};
    struct inbound inbound;
    (void)state;

    assert_int_equal(arrive(associations, 1, STREAM_CONTROL, &you, &message,
                            &inbound, &outbox),
                     ASSOCIATION_DROPPED);
    assert_int_equal(associations_counts(associations).unknown, 1);
    alone_free(associations);
}

static void a_handshake_must_be_its_senders_own(void **state)
{
    struct associations *associations = met(NULL);
    struct identity liar = you;
    struct buf payload = {0};
    struct outbound message;
    struct handshake handshake = {.from = you.node};
    struct outbox outbox = {0};
    struct inbound inbound;
    (void)state;

    /* The header's UID differs from the message's. */
    liar.node.uid = 201;
    handshake_request_put(&payload, &you, &me.node.address,
                          &(struct handshake){0});
    message = artery("d", buf_slice(&payload));
    assert_int_equal(arrive(associations, 1, STREAM_CONTROL, &liar, &message,
                            &inbound, &outbox),
                     ASSOCIATION_DROPPED);
    /* A known UID under another address. */
    handshake.from.address.port = 77;
    assert_false(associations_handshake(associations, 1, STREAM_ORDINARY, &handshake,
                                    &outbox));
    /* A response outside the control stream. */
    buf_clear(&payload);
    handshake_response_put(&payload, &you, &(struct handshake){0});
    message = artery("e", buf_slice(&payload));
    assert_int_equal(arrive(associations, 1, STREAM_ORDINARY, &you, &message,
                            &inbound, &outbox),
                     ASSOCIATION_DROPPED);
    assert_int_equal(associations_counts(associations).malformed, 3);
    assert_int_equal(outbox.count, 0);
    buf_fini(&payload);
    alone_free(associations);
}

static void one_answer(struct outbox *outbox, const char *manifest,
                       enum stream stream, const char *recipient)
{
    struct outbound answer;

    assert_true(outbox_next(outbox, &answer));
    assert_int_equal(answer.serializer, 17);
    assert_true(slice_is(answer.manifest, manifest));
    assert_int_equal(answer.stream, stream);
    assert_true(slice_is(answer.recipient, recipient));
    assert_true(node_equal(&answer.to, &you.node));
    assert_false(outbox_next(outbox, &answer));
}

static void flush_termination_and_heartbeat_are_answered(void **state)
{
    struct associations *associations = met(NULL);
    struct outbound message = artery("o", slice_text(""));
    struct outbox outbox = {0};
    struct inbound inbound;
    struct association_news news;
    struct buf payload = {0};
    (void)state;

    message.sender = slice_text("/system/f#3");
    assert_int_equal(arrive(associations, 1, STREAM_ORDINARY, &you, &message,
                            &inbound, &outbox),
                     ASSOCIATION_TAKEN);
    one_answer(&outbox, "p", STREAM_ORDINARY, "/system/f#3");

    message = artery("m", slice_text(""));
    message.selection = true;
    message.recipient = slice_text("/system/remote-watcher");
    message.sender = slice_text("/system/remote-watcher#5");
    assert_int_equal(arrive(associations, 1, STREAM_CONTROL, &you, &message,
                            &inbound, &outbox),
                     ASSOCIATION_TAKEN);
    one_answer(&outbox, "n", STREAM_CONTROL, "/system/remote-watcher#5");

    unique_address_put(&payload, 1, &you, &you.node);
    message = artery("b", buf_slice(&payload));
    message.sender = slice_text("/system/t#1");
    assert_int_equal(arrive(associations, 5, STREAM_CONTROL, &you, &message,
                            &inbound, &outbox),
                     ASSOCIATION_TAKEN);
    one_answer(&outbox, "c", STREAM_ORDINARY, "/system/t#1");
    assert_true(associations_next_news(associations, &news));
    assert_int_equal(news.kind, ASSOCIATION_TERMINATING);
    assert_true(associations_deadline(associations) == 5 + SECOND);
    associations_tick(associations, 5 + SECOND, &outbox);
    assert_true(peers_is_over(&alone_peers, 200));
    assert_true(associations_deadline(associations) == NEVER);
    buf_fini(&payload);
    outbox_fini(&outbox);
    alone_free(associations);
}

static void identify_is_delivered_and_answered(void **state)
{
    struct associations *associations = met(NULL);
    static const uint8_t id[] = {0x0a, 6, 0x0a, 2, 'i', 'd', 0x10, 20};
    struct outbound message = {.to = me.node,
                               .recipient = slice_text("/user/x"),
                               .sender = slice_text("/user/asker#4"),
                               .manifest = slice_text("A"),
                               .payload = slice_of(id, sizeof id),
                               .serializer = 16,
                               .stream = STREAM_CONTROL};
    struct outbox outbox = {0};
    struct outbound answer;
    struct inbound inbound;
    (void)state;

    assert_int_equal(arrive(associations, 1, STREAM_CONTROL, &you, &message,
                            &inbound, &outbox),
                     ASSOCIATION_DELIVER);
    assert_true(slice_is(inbound.recipient, "/user/x"));
    assert_true(slice_is(inbound.sender, "/user/asker#4"));
    assert_true(
        identify_answer(&me, &inbound, slice_text("/user/x#9"), &outbox));
    assert_true(outbox_next(&outbox, &answer));
    assert_true(slice_is(answer.recipient, "/user/asker#4"));
    assert_true(slice_is(answer.manifest, "B"));
    assert_int_equal(answer.payload.size, 8 + 2 + 2 + 21);
    assert_memory_equal(answer.payload.data, id, sizeof id);
    assert_memory_equal(answer.payload.data + 12, "akka://S@h:1/user/x#9", 21);
    assert_true(identify_answer(&me, &inbound, slice_text(""), &outbox));
    assert_true(outbox_next(&outbox, &answer));
    assert_true(slice_equal(answer.payload, slice_of(id, sizeof id)));
    inbound.payload.size--;
    assert_false(identify_answer(&me, &inbound, slice_text(""), &outbox));
    outbox_fini(&outbox);
    alone_free(associations);
}

/* An Ack (k) or Nack of n by `you`. */
static void acknowledge(struct associations *associations, const char *manifest,
                        uint64_t n, enum association_verdict want)
{
    struct buf payload = {0};
    size_t at;
    struct outbound message;
    struct outbox outbox = {0};
    struct inbound inbound;

    buf_put_u8(&payload, 8);
    buf_put_varint(&payload, n);
    at = payload.size;
    unique_address_put(&payload, 1, &you, &you.node);
    payload.data[at] = 0x12;
    message = artery(manifest, buf_slice(&payload));
    assert_int_equal(arrive(associations, 2, STREAM_CONTROL, &you, &message,
                            &inbound, &outbox),
                     want);
    assert_int_equal(outbox.count, 0);
    buf_fini(&payload);
}

static uint32_t resent(struct associations *associations, uint64_t now)
{
    struct outbox outbox = {0};
    struct outbound message;
    uint32_t count = 0;

    associations_tick(associations, now, &outbox);
    while (outbox_next(&outbox, &message)) {
        assert_true(slice_is(message.manifest, "j"));
        assert_true(slice_is(message.recipient, "/user/e#7"));
        assert_int_equal(message.stream, STREAM_CONTROL);
        count++;
    }
    outbox_fini(&outbox);
    return count;
}

static void unacknowledged_messages_are_resent(void **state)
{
    struct associations *associations = met(NULL);
    struct outbox outbox = {0};
    uint64_t now = SECOND;
    (void)state;

    for (int i = 0; i < 5; i++)
        associations_watch(associations, now, &you.node,
                           slice_text("/user/e#7"), slice_text("/user/w#1"),
                           &outbox);
    assert_int_equal(outbox.count, 5);
    outbox_fini(&outbox);
    assert_int_equal(resent(associations, now), 0);
    now += SECOND;
    assert_int_equal(resent(associations, now), 5);
    acknowledge(associations, "k", 2, ASSOCIATION_TAKEN);
    acknowledge(associations, "k", 1, ASSOCIATION_TAKEN);   /* late: no effect */
    acknowledge(associations, "k", 6, ASSOCIATION_DROPPED); /* never sent */
    now += SECOND;
    assert_int_equal(resent(associations, now), 3);
    acknowledge(associations, "l", 3, ASSOCIATION_TAKEN);
    now += SECOND;
    assert_int_equal(resent(associations, now), 2);
    acknowledge(associations, "k", 5, ASSOCIATION_TAKEN);
    assert_int_equal(resent(associations, now + SECOND), 0);
    assert_true(associations_deadline(associations) == NEVER);
    alone_free(associations);
}

static void unacknowledged_messages_have_a_limit(void **state)
{
    struct associations *associations = met(NULL);
    struct association_news news;
    struct outbox outbox = {0};
    (void)state;

    for (int i = 0; i < SYSTEM_MESSAGES_MAX; i++)
        associations_watch(associations, 1, &you.node, slice_text("/user/e#7"),
                           slice_text("/user/w#1"), &outbox);
    outbox_fini(&outbox);
    assert_false(associations_next_news(associations, &news));
    assert_int_equal(resent(associations, 2 * SECOND), SYSTEM_RESEND_MAX);
    associations_watch(associations, 1, &you.node, slice_text("/user/e#7"),
                       slice_text("/user/w#1"), &outbox);
    assert_int_equal(outbox.count, 0);
    assert_true(associations_next_news(associations, &news));
    assert_int_equal(news.kind, ASSOCIATION_FAILED);
    assert_true(node_equal(&news.peer, &you.node));
    assert_int_equal(resent(associations, 10 * SECOND), 0);
    alone_free(associations);
}

static void six_hours_without_acknowledgement_fail_the_peer(void **state)
{
    struct associations *associations = met(NULL);
    struct association_news news;
    struct outbox outbox = {0};
    (void)state;

    associations_watch(associations, 0, &you.node, slice_text("/user/e#7"),
                       slice_text("/user/w#1"), &outbox);
    outbox_fini(&outbox);
    assert_int_equal(resent(associations, SYSTEM_GIVE_UP_MS * MS - 1), 1);
    assert_false(associations_next_news(associations, &news));
    assert_int_equal(resent(associations, SYSTEM_GIVE_UP_MS * MS + SECOND), 0);
    assert_true(associations_next_news(associations, &news));
    assert_int_equal(news.kind, ASSOCIATION_FAILED);
    assert_true(associations_deadline(associations) == NEVER);
    alone_free(associations);
}

/* Receives the numbered message n of `you`: its /user/e#7 ended. Returns the answer's manifest and
 * number. */
static char numbered(struct associations *associations, uint8_t n,
                     uint8_t *answered)
{
    static const char watchee[] = "akka://S@h:2/user/e#7";
    struct buf message = {0};
    struct buf payload = {0};
    struct outbound outbound;
    struct outbound answer;
    struct outbox outbox = {0};
    struct inbound inbound;
    size_t at;
    char manifest;

    buf_put(&message, "\x08\x09\x3a\x1d\x0a\x17\x0a\x15", 8);
    buf_put_text(&message, watchee);
    buf_put(&message, "\x10\x01\x18\x00", 4);
    buf_put(&payload, "\x0a", 1);
    buf_put_varint(&payload, message.size);
    buf_put_slice(&payload, buf_slice(&message));
    buf_put(&payload, "\x10\x16\x20", 3);
    buf_put_u8(&payload, n);
    at = payload.size;
    unique_address_put(&payload, 1, &you, &you.node);
    payload.data[at] = 0x2a;
    outbound = artery("j", buf_slice(&payload));
    outbound.recipient = slice_text("/user/w#1");
    assert_int_equal(arrive(associations, 2, STREAM_CONTROL, &you, &outbound,
                            &inbound, &outbox),
                     ASSOCIATION_TAKEN);
    assert_true(outbox_next(&outbox, &answer));
    assert_int_equal(answer.recipient.size, 0);
    assert_int_equal(answer.stream, STREAM_CONTROL);
    manifest = (char)answer.manifest.data[0];
    assert_int_equal(answer.payload.data[0], 8);
    *answered = answer.payload.data[1];
    buf_clear(&payload); /* after the number: the answering node */
    unique_address_put(&payload, 1, &me, &me.node);
    payload.data[0] = 0x12;
    assert_true(slice_equal(slice_of(answer.payload.data + 2,
                                     answer.payload.size - 2),
                            buf_slice(&payload)));
    outbox_fini(&outbox);
    buf_fini(&message);
    buf_fini(&payload);
    return manifest;
}

static void numbered_messages_are_delivered_once_in_order(void **state)
{
    struct associations *associations = met(NULL);
    struct association_news news;
    uint8_t answered;
    (void)state;

    assert_int_equal(numbered(associations, 2, &answered), 'l');
    assert_int_equal(answered, 0);
    assert_false(associations_next_news(associations, &news));
    assert_int_equal(numbered(associations, 1, &answered), 'k');
    assert_int_equal(answered, 1);
    assert_true(associations_next_news(associations, &news));
    assert_int_equal(news.kind, ASSOCIATION_TERMINATED);
    assert_true(slice_is(news.watchee, "akka://S@h:2/user/e#7"));
    assert_true(slice_is(news.watcher, "akka://S@h:1/user/w#1"));
    assert_true(news.existence_confirmed);
    assert_false(news.address_terminated);
    assert_int_equal(numbered(associations, 1, &answered), 'k');
    assert_int_equal(answered, 1);
    assert_int_equal(numbered(associations, 3, &answered), 'l');
    assert_int_equal(answered, 1);
    assert_int_equal(numbered(associations, 2, &answered), 'k');
    assert_int_equal(answered, 2);
    assert_true(associations_next_news(associations, &news));
    assert_false(associations_next_news(associations, &news));
    alone_free(associations);
}

static void a_quarantine_by_a_peer_is_reported(void **state)
{
    struct associations *associations = met(NULL);
    struct identity before = me;
    struct association_news news;
    struct outbox outbox = {0};
    struct inbound inbound;
    (void)state;

    for (int i = 0; i < 2; i++) {
        struct buf payload = {0};
        size_t at;
        struct outbound message;

        before.node.uid = i ? 100 : 99; /* 99 was an earlier incarnation of ours */
        unique_address_put(&payload, 1, &you, &you.node);
        at = payload.size;
        unique_address_put(&payload, 1, &before, &before.node);
        payload.data[at] = 0x12;
        message = artery("a", buf_slice(&payload));
        assert_int_equal(arrive(associations, 2, STREAM_CONTROL, &you, &message,
                                &inbound, &outbox),
                         ASSOCIATION_TAKEN);
        assert_int_equal(associations_next_news(associations, &news), i);
        buf_fini(&payload);
    }
    assert_int_equal(news.kind, ASSOCIATION_QUARANTINED_US);
    assert_int_equal(outbox.count, 0);
    alone_free(associations);
}

static void the_table_of_peers_is_bounded(void **state)
{
    struct associations *associations = alone(NULL);
    struct handshake handshake = {.from = you.node};
    struct outbox outbox = {0};
    struct association_news news;
    (void)state;

    for (uint32_t i = 0; i <= PEERS_MAX; i++) {
        handshake.from.address.port = (uint16_t)(2 + i);
        handshake.from.uid = 1000 + i;
        assert_int_equal(
            associations_handshake(associations, 1, STREAM_ORDINARY, &handshake,
                                   &outbox),
            i < PEERS_MAX);
        outbox_fini(&outbox);
        if (i < PEERS_MAX) /* a stranger would make room */
            peers_answered(&alone_peers,
                           peers_uid(&alone_peers, handshake.from.uid));
    }
    assert_int_equal(associations_counts(associations).refused, 1);
    while (associations_next_news(associations, &news))
        ;
    /* Retired UIDs are forgotten oldest first. */
    for (uint64_t uid = 1; uid <= RETIRED_PEERS_MAX + 1; uid++) {
        handshake.from.uid = 1000000 + uid;
        associations_quarantine(associations, &handshake.from);
    }
    assert_int_equal(alone_peers.retired.forgotten, 1);
    assert_false(peers_is_over(&alone_peers, 1000001));
    assert_true(peers_is_over(&alone_peers, 1000002));
    alone_free(associations);
}

/* It has sent a watch, and one of an actor here is still on its way to it. */
static void a_forgotten_stranger_leaves_nothing(void **state)
{
    struct associations *associations = met(NULL);
    struct outbox outbox = { 0 };
    struct association_news news;
    (void)state;

    associations_watch(associations, 2, &you.node, slice_text("/user/a#1"),
                       slice_text("/user/b#2"), &outbox);
    assert_true(peers_forget_stranger(&alone_peers));
    assert_true(associations_next_news(associations, &news));
    assert_int_equal(news.kind, ASSOCIATION_FORGOTTEN);
    assert_int_equal(news.peer.uid, you.node.uid);
    assert_true(news.has_watches);
    assert_int_equal(associations_counts(associations).forgotten, 1);
    assert_int_equal(associations_counts(associations).refused, 1); /* the message */
    assert_int_equal(associations_uid(associations, &you.node.address), 0);
    assert_int_equal(associations_deadline(associations), SECOND + 2);
    associations_tick(associations, 2 * SECOND, &outbox);
    assert_int_equal(associations_deadline(associations), NEVER);
    assert_true(says_hello(associations, you.node.uid)); /* it may come again */
    outbox_fini(&outbox);
    alone_free(associations);
}

static void every_peer_is_notified_of_termination(void **state)
{
    struct associations *associations = met(NULL);
    struct outbox outbox = {0};
    struct outbound message;
    struct inbound inbound;
    struct buf payload = {0};
    (void)state;

    assert_true(associations_terminating_acked(associations));
    associations_terminate(associations, slice_text("/system/end#1"), &outbox);
    assert_true(outbox_next(&outbox, &message));
    assert_true(slice_is(message.manifest, "b"));
    assert_true(slice_is(message.sender, "/system/end#1"));
    assert_int_equal(message.recipient.size, 0);
    outbox_fini(&outbox);
    assert_false(associations_terminating_acked(associations));
    unique_address_put(&payload, 1, &you, &you.node);
    message = artery("c", buf_slice(&payload));
    message.recipient = slice_text("/system/end#1");
    assert_int_equal(arrive(associations, 2, STREAM_ORDINARY, &you, &message,
                            &inbound, &outbox),
                     ASSOCIATION_TAKEN);
    assert_true(associations_terminating_acked(associations));
    buf_fini(&payload);
    alone_free(associations);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_nodes_connect),
        cmocka_unit_test(a_sherd_node_connects_to_one_without_extensions),
        cmocka_unit_test(system_messages_survive_resets),
        cmocka_unit_test(tables_are_advertised_and_used),
        cmocka_unit_test(a_peer_that_sends_no_messages_gets_no_tables),
        cmocka_unit_test(a_new_incarnation_starts_with_fresh_numbers),
        cmocka_unit_test(a_node_of_another_kind_replaces_the_capabilities),
        cmocka_unit_test(a_quarantined_uid_is_refused),
        cmocka_unit_test(a_late_handshake_of_an_older_incarnation_ends_with_it),
        cmocka_unit_test(late_handshakes_of_older_incarnations_end_with_them),
        cmocka_unit_test(the_incarnation_with_the_later_connection_stays),
        cmocka_unit_test(a_later_connection_restores_an_incarnation),
        cmocka_unit_test(an_older_incarnations_handshake_reports_the_present_one),
        cmocka_unit_test(a_removed_incarnation_does_not_return),
        cmocka_unit_test(each_foreign_node_is_logged_once),
        cmocka_unit_test(a_foreign_nodes_name_is_one_value),
        cmocka_unit_test(a_handshake_for_another_address_is_logged_with_the_remedy),
        cmocka_unit_test(a_handshake_with_this_nodes_address_or_uid_is_logged),
        cmocka_unit_test(messages_without_handshake_are_dropped),
        cmocka_unit_test(a_handshake_must_be_its_senders_own),
        cmocka_unit_test(flush_termination_and_heartbeat_are_answered),
        cmocka_unit_test(identify_is_delivered_and_answered),
        cmocka_unit_test(unacknowledged_messages_are_resent),
        cmocka_unit_test(unacknowledged_messages_have_a_limit),
        cmocka_unit_test(six_hours_without_acknowledgement_fail_the_peer),
        cmocka_unit_test(numbered_messages_are_delivered_once_in_order),
        cmocka_unit_test(a_quarantine_by_a_peer_is_reported),
        cmocka_unit_test(the_table_of_peers_is_bounded),
        cmocka_unit_test(an_expected_peer_does_not_change_lookups),
        cmocka_unit_test(a_forgotten_stranger_leaves_nothing),
        cmocka_unit_test(every_peer_is_notified_of_termination),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
