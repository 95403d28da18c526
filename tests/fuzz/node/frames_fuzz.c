/* Fuzzes the frames that another node sends to a node with two lanes, on an ordinary connection.
 * Frames are raw bytes, or built from parts of the input. Paths and literals are canonical. A valid
 * message arrives unchanged. Every message ends once. Actors see no value outside the public
 * limits. Frames create no peers. */
#include "artery/control.h"
#include "artery/extension.h"
#include "base/check.h"
#include "base/hash.h"
#include "journal/backend.h"
#include "node/lane/lane.h"

#define LANES 2
#define SHARDS 8
#define WAITING_MAX 20
#define ROUNDS_MAX 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct identity self = { "akka", "S", { { "a", 1 }, 11 } };
static const struct identity peer = { "akka", "S", { { "b", 2 }, 22 } };

/* An actor on each lane that records its last message. */
struct recorder {
    struct sherd_ref ref; /* zero after the actor has ended */
    uint32_t heard;
    struct sherd_msg last; /* the body is not valid */
    uint64_t body_hash;
};

static struct fixture {
    struct cursor in;
    struct node *node;
    uint64_t now;
    struct buf frame; /* the frame under construction, with its length first */
    struct recorder recorders[LANES];
} fixture;

/* ---- actors and entities ---- */

static void in_limits(const struct sherd_msg *msg)
{
    check(msg->kind <= SHERD_TERMINATED);
    check(msg->reason < SHERD_REASON_COUNT);
    check(msg->stage < SHERD_STAGE_COUNT);
    check(msg->body.size <= SHERD_BODY_MAX);
    if (msg->kind == SHERD_NO_ANSWER || msg->kind == SHERD_UNDELIVERED)
        check(msg->reason != SHERD_REASON_NONE);
}

static enum sherd_next entity(struct sherd_ctx *ctx, void *state,
                              const struct sherd_msg *msg)
{
    struct sherd_bytes id = sherd_id(ctx);

    (void)state;
    in_limits(msg);
    check(id.size > 0 && id.size <= SHERD_ID_MAX);
    return SHERD_CONTINUE;
}

static enum sherd_next record(struct sherd_ctx *ctx, void *state,
                              const struct sherd_msg *msg)
{
    struct recorder *recorder = &fixture.recorders[actor_id_lane(
        sherd_self(ctx).actor)];

    (void)state;
    in_limits(msg);
    recorder->heard++;
    recorder->last = *msg;
    recorder->body_hash =
        hash_bytes(slice_of(msg->body.data, msg->body.size));
    if (msg->kind == SHERD_STARTED) {
        recorder->ref = sherd_self(ctx);
        for (uint32_t i = 0; i < 2; i++)
            sherd_entity_ask(ctx, "T", i ? "x" : "y", 1,
                             (struct sherd_bytes){ NULL, 0 }, i, 3600000);
    } else if (msg->kind == SHERD_STOPPING) {
        recorder->ref = (struct sherd_ref){ 0, 0 };
    }
    return SHERD_CONTINUE;
}

static const struct sherd_behavior recording = { .name = "r",
                                                 .state_size = 8,
                                                 .receive = record,
                                                 .wants_undelivered = 1 };

/* ---- the node without a driver ---- */

static void look_at(const struct mail_content *content)
{
    const struct handshake *handshake;

    if (content->kind != MAIL_HANDSHAKE)
        return;
    handshake = mail_handshake_of(content)->own.handshake;
    check(handshake->from.uid != 0);
    check(handshake->from.address.host[0] && handshake->from.address.port);
    check(!node_equal(&handshake->from, &self.node));
}

static bool carry(struct machine *from, uint32_t to)
{
    const struct mail *waiting;
    uint32_t count = machine_outgoing(from, to, &waiting);
    struct mail_content content;
    struct mail mail;

    if (!count)
        return false;
    mail = *waiting;
    content = mail_open(&mail);
    look_at(&content);
    machine_sent(from, to, 1);
    machine_mail(node_machine(fixture.node, to), fixture.now, &mail, 1);
    return true;
}

static void drain(struct machine *machine)
{
    struct driver_request request;

    while (machine_next_request(machine, &request)) {
        check(request.kind != DRIVER_STATUS);
        if (request.kind == DRIVER_STORE)
            journal_request_free(request.journal); /* the journal never answers */
    }
}

static void settle(void)
{
    bool more = true;

    for (uint32_t round = 0; more; round++) {
        check(round < ROUNDS_MAX);
        more = false;
        for (uint32_t i = 0; i <= LANES; i++) {
            struct machine *machine = node_machine(fixture.node, i);

            more |= machine_turn(machine, fixture.now, 1700000000000);
            drain(machine);
            for (uint32_t to = 0; to <= LANES; to++)
                while (to != i && carry(machine, to))
                    more = true;
        }
    }
}

static void give(uint32_t to, struct mail_content content)
{
    struct mail mail = mail_seal(&content);

    machine_mail(node_machine(fixture.node, to), fixture.now, &mail, 1);
}

static void start_recorders(void)
{
    for (uint32_t i = 0; i < LANES; i++) {
        struct spawning *spawning;

        if (!ref_is_nobody(fixture.recorders[i].ref))
            continue;
        spawning = mem_alloc(sizeof *spawning);
        spawning->behavior = recording;
        give(i + 1, MAIL(spawn, .own = { spawning }));
    }
    settle();
}

/* Finds an entity for messages with a body: "x" or "y", which gets the rest. */
static int extract(void *user, struct sherd_extracted *message)
{
    const uint8_t *body = message->body.data;

    (void)user;
    if (!message->body.size)
        return 0;
    message->id[0] = body[0] % 2 ? 'x' : 'y';
    message->id[1] = 0;
    message->body = (struct sherd_bytes){ body + 1, message->body.size - 1 };
    return body[0] != 255;
}

static void start(void)
{
    const struct sherd_extractor extractor = { .entity = extract };
    const struct sherd_entity_type type = {
        .name = "T",
        .shards = SHARDS,
        .extractor = &extractor,
        .behavior = { .name = "t", .state_size = 8, .receive = entity },
    };
    struct node_settings settings = { .identity = self,
                                      .lanes = LANES,
                                      .seed = 1,
                                      .alone = true,
                                      .types = &type,
                                      .type_count = 1,
                                      .buffer_size = WAITING_MAX,
                                      .passivate_idle_after = 60 * SECOND };
    char error[200];

    fixture.node = node_new(&settings, error, sizeof error);
    check(fixture.node != NULL);
    for (uint32_t i = 0; i <= LANES; i++)
        machine_start(node_machine(fixture.node, i), fixture.now,
                      1700000000000);
    for (int32_t shard = 0; shard < SHARDS / 2; shard++) /* the others have no home */
        for (uint32_t i = 0; i < LANES; i++) {
            give(i + 1,
                 mail_for_shard(0, shard,
                                MAIL(route, .own = { mail_node(&self.node) })));
            if (shard_lane(0, shard, LANES) == i)
                give(i + 1, mail_for_shard(0, shard,
                                           MAIL(host, .fence = { 1, 1 })));
        }
    settle();
    start_recorders();
}

/* ---- accounting ---- */

/* Returns the number of messages that were delivered, wait or were undelivered. Each counts
 * once. */
static uint64_t accounted(void)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < LANES; i++) {
        const struct lane *lane = node_machine(fixture.node, i + 1)->lane;
        struct actors_status status;

        actors_status(lane->actors, &status);
        sum += status.delivered + lane->types[0].budget.count;
        check(lane->types[0].budget.count <= WAITING_MAX);
        for (uint32_t r = 0; r < SHERD_REASON_COUNT; r++)
            sum += status.undelivered[r] + lane->machine->undelivered[r];
    }
    return sum;
}

/* ---- frames ---- */

static uint32_t pick(uint32_t limit)
{
    return cursor_u8(&fixture.in) % limit;
}

static struct slice bytes(void)
{
    size_t size = cursor_u8(&fixture.in);
    size_t left = cursor_left(&fixture.in);

    return cursor_slice(&fixture.in, size < left ? size : left);
}

static uint64_t some_actor(void)
{
    uint64_t actor = fixture.recorders[pick(LANES)].ref.actor;

    return pick(4) ? actor : actor ^ (UINT64_C(1) << pick(64));
}

static uint64_t some_ask(void)
{
    uint64_t generation = pick(8);

    return generation << 32 | pick(64);
}

/* Returns the path of an actor, of the type's region, or any bytes. */
static struct slice some_path(char *text)
{
    static const char *const paths[] = {
        "/system/sharding/T",
        "/system/sharding",
        "/system/sharding/TCoordinator",
        "/system/sharding/TCoordinator/singleton/coordinator",
        "/system/cluster/core/daemon",
        ""
    };
    uint64_t actor;

    switch (pick(4)) {
    case 0:
        actor = some_actor();
        return slice_of(text, name_path(text, actor, 0));
    case 1:
        actor = some_actor();
        return slice_of(text, name_path(text, actor, some_ask()));
    case 2:
        return slice_text(paths[pick(6)]);
    default:
        return bytes();
    }
}

static void put_ref(struct buf *buf, bool is_recipient)
{
    static const struct address other = { "c", 3 };
    char text[NAME_MAX];
    struct slice path = some_path(text);

    switch (pick(is_recipient ? 2 : 5)) {
    case 0:
        ref_put(buf, &self, is_recipient ? &self.node.address : &peer.node.address, path);
        break;
    case 2:
        ref_put(buf, &self, &self.node.address, path);
        break;
    case 3:
        ref_put(buf, &self, &other, path);
        break;
    default:
        buf_put_slice(buf, path);
    }
}

static void put_payload(struct buf *buf)
{
    uint8_t byte;
    size_t size;

    switch (pick(4)) {
    case 0: /* a notice */
        buf_put_u8(buf, cursor_u8(&fixture.in));
        buf_put_u8(buf, cursor_u8(&fixture.in));
        buf_put_u32(buf, cursor_u32(&fixture.in));
        break;
    case 1: /* a body of about the largest size */
        byte = cursor_u8(&fixture.in);
        size = SHERD_BODY_MAX - 8 + pick(16);
        buf_reserve(buf, size);
        for (size_t i = 0; i < size; i++)
            buf_put_u8(buf, byte);
        break;
    default:
        buf_put_slice(buf, bytes());
    }
}

/* Writes a frame with this recipient, sender and payload. Returns false if it would be too
 * large. */
static bool put_frame(struct slice recipient, struct slice sender,
                      struct slice manifest, int32_t serializer,
                      struct slice payload)
{
    struct envelope_head head = { 0 };
    bool fits = envelope_head_init(&head, &peer, NULL, recipient, manifest,
                                   serializer) &&
                sender.size < NAME_MAX &&
                envelope_size_max(&head, sender, payload.size) < FRAME_SIZE_MAX;

    if (fits)
        envelope_head_put(&fixture.frame, &head, sender, payload);
    envelope_head_fini(&head);
    return fits;
}

static void frame_of_parts(void)
{
    static const int32_t serializers[] = { SERIALIZER_SHERD, SERIALIZER_MISC,
                                           SERIALIZER_SHARDING_TYPED,
                                           SERIALIZER_SELECTION,
                                           SERIALIZER_ARTERY, SERIALIZER_SYSTEM,
                                           13, 5 };
    static const char *const manifests[] = { "m7", "U", "S", "F", "P", "a",
                                             "d",  "A", "Q", "HandshakeReq" };
    struct buf recipient = { 0 };
    struct buf sender = { 0 };
    struct buf payload = { 0 };
    int32_t serializer = serializers[pick(8)];
    uint32_t which = pick(11);
    struct slice manifest = which < 10 ? slice_text(manifests[which]) : bytes();
    uint32_t compressed = pick(16);

    put_ref(&recipient, true);
    put_ref(&sender, false);
    put_payload(&payload);
    if (put_frame(buf_slice(&recipient), buf_slice(&sender), manifest,
                  serializer, buf_slice(&payload)) &&
        compressed < 3) { /* an entry of the compression table replaces the recipient */
        const uint8_t tag[4] = { (uint8_t)compressed, 0, 0, 0xff };

        fixture.frame.data[4 + 2] = 1;
        memcpy(fixture.frame.data + 4 + 20, tag, sizeof tag);
    }
    buf_fini(&recipient);
    buf_fini(&sender);
    buf_fini(&payload);
}

static void frame_to_entity(void)
{
    struct sharding_envelope inside = { .serializer = SERIALIZER_SHERD };
    struct envelope_head head = { 0 };
    struct buf recipient = { 0 };
    struct buf sender = { 0 };
    char manifest[MESSAGE_MANIFEST_MAX];

    ref_put(&recipient, &self, &self.node.address,
            slice_text("/system/sharding/T"));
    put_ref(&sender, false);
    inside.id = bytes();
    inside.manifest = pick(8) ? message_manifest_put(
                                    manifest, cursor_u32(&fixture.in))
                              : bytes();
    inside.body = bytes();
    if (envelope_head_init(&head, &peer, NULL, buf_slice(&recipient),
                           slice_text("a"), SERIALIZER_SHARDING_TYPED) &&
        sender.size < NAME_MAX)
        sharding_envelope_put(&fixture.frame, &head, buf_slice(&sender),
                              &inside);
    envelope_head_fini(&head);
    buf_fini(&recipient);
    buf_fini(&sender);
}

/* ---- text ---- */

static void check_path(struct slice path)
{
    char text[NAME_MAX];
    struct slice plain = path_plain(path);
    uint64_t actor;
    uint64_t ask;

    if (!name_parse(path, &actor, &ask))
        return;
    check(name_path(text, actor, ask) == plain.size);
    if (plain.data[6] == 'w')
        text[6] = 'w';
    check(slice_equal(slice_of(text, plain.size), plain));
}

/* Checks that a peer's literal, the reference for it and the literal of this reference all mean the
 * same actor. */
static void check_literal(struct lane *lane, struct slice literal)
{
    char text[NAME_MAX];
    struct slice said;
    uint64_t ask;
    uint64_t again;
    struct sherd_ref ref = name_ref(lane, peer.node.uid, literal, &ask);

    check(ref_equal(name_ref(lane, peer.node.uid, literal, &again), ref));
    check(again == ask);
    if (ref_is_nobody(ref))
        return;
    said = name_literal(lane, ref, ask, text);
    check(said.size > 0 && said.size < NAME_MAX);
    check(ref_equal(name_ref(lane, peer.node.uid, said, &again), ref));
    check(again == ask);
}

/* ---- steps ---- */

/* Opens the connection of the frames with a handshake, so that every machine knows the peer. */
static void connect(uint64_t conn)
{
    struct machine *machine = node_machine(fixture.node, 1);
    struct handshake handshake = { .capabilities = CAPABILITY_SHERD |
                                                   CAPABILITY_PATHS,
                                   .lanes = 1,
                                   .lane = 1,
                                   .generation = conn };
    struct buf payload = { 0 };
    struct buf all = { 0 };

    handshake_request_put(&payload, &peer, &self.node.address, &handshake);
    buf_put_text(&all, "AKKA");
    buf_put_u8(&all, STREAM_ORDINARY);
    check(envelope_put(&all, &peer, NULL,
                       &(struct outbound){
                           .to = self.node,
                           .manifest = slice_text(ARTERY_HANDSHAKE_REQUEST),
                           .serializer = SERIALIZER_ARTERY,
                           .stream = STREAM_ORDINARY,
                           .payload = buf_slice(&payload) }));
    machine_accepted(machine, fixture.now, &(struct arrival){ conn, conn, "b:2" });
    machine_bytes(machine, fixture.now, conn, buf_slice(&all));
    buf_fini(&payload);
    buf_fini(&all);
    settle();
}

/* Delivers the frame. Returns the number of messages in it. */
static uint64_t arrives(uint64_t conn)
{
    struct machine *machine = node_machine(fixture.node, 1);
    uint64_t before = accounted();
    uint32_t peers = machine->peers.all.count;

    machine_bytes(machine, fixture.now, conn, buf_slice(&fixture.frame));
    check(machine->peers.all.count <= peers + 1); /* a handshake may add one */
    settle();
    return accounted() - before;
}

/* Delivers the same frame twice in one piece, so that the second may use a cached result of the
 * first. Each counts as many messages as the frame alone. */
static void arrives_again(uint64_t conn, uint64_t alone)
{
    size_t size = fixture.frame.size;

    (void)buf_reserve(&fixture.frame, size);
    memcpy(fixture.frame.data + size, fixture.frame.data, size);
    fixture.frame.size += size;
    check(arrives(conn) == 2 * alone);
}

/* Checks that the actor receives the content of a valid frame. */
static void check_tell(uint64_t conn)
{
    struct recorder *recorder = &fixture.recorders[pick(LANES)];
    struct buf recipient = { 0 };
    struct buf sender = { 0 };
    char manifest[MESSAGE_MANIFEST_MAX];
    char path[NAME_MAX];
    uint32_t number = cursor_u32(&fixture.in) % SHERD_NUMBERS_END; /* others are the library's */
    uint64_t from = cursor_u64(&fixture.in);
    uint32_t heard = recorder->heard;
    bool wants = pick(2);
    struct slice body;

    if (ref_is_nobody(recorder->ref) || node_machine(fixture.node, 1)->lane->ended)
        return;
    ref_put(&recipient, &self, &self.node.address,
            slice_of(path, name_path(path, recorder->ref.actor, 0)));
    ref_put(&sender, &self, &peer.node.address,
            slice_of(path, name_path(path, from, 0)));
    if (wants)
        sender.data[sender.size - 17] = 'w';
    check(name_wants(buf_slice(&sender)) == wants);
    body = bytes();
    check(put_frame(buf_slice(&recipient), buf_slice(&sender),
                    message_manifest_put(manifest, number), SERIALIZER_SHERD,
                    body));
    check(arrives(conn) == 1);
    check(recorder->heard == heard + 1);
    check(recorder->last.kind == SHERD_MESSAGE);
    check(recorder->last.msg == number);
    check(recorder->body_hash == hash_bytes(body));
    check(recorder->last.sender.node == peer.node.uid);
    check(recorder->last.sender.actor == from);
    buf_fini(&recipient);
    buf_fini(&sender);
}

/* Checks that the decision about the first bytes of a connection does not change with more
 * bytes. */
static void check_accepts(struct slice first)
{
    enum node_accept found = NODE_MORE;
    uint32_t machine = 0;

    for (size_t size = 0; size <= first.size; size++) {
        uint32_t other;
        const char *why = NULL;
        enum node_accept accepts = node_accepts(
            fixture.node, slice_of(first.data, size), &other, &why);

        check(found == NODE_MORE || (accepts == found && other == machine));
        check(other <= LANES);
        check((accepts == NODE_REFUSE) == (why != NULL));
        found = accepts;
        machine = other;
    }
}

/* Returns false if the node has closed the connection. */
static bool is_open(uint64_t conn)
{
    return map_get(&node_machine(fixture.node, 1)->inlets, map_u64(&conn));
}

static void step(uint64_t *conn)
{
    struct lane *lane = node_machine(fixture.node, 1)->lane;
    uint32_t peers = lane->machine->peers.all.count;
    struct slice text;
    uint64_t alone;

    fixture.frame.size = 0;
    switch (pick(8)) {
    case 0:
        check_path(bytes());
        return;
    case 1:
        check_literal(lane, bytes());
        check(lane->machine->peers.all.count == peers);
        return;
    case 2:
        check_accepts(bytes());
        return;
    case 3:
        check_tell(*conn);
        return;
    case 4:
        text = bytes();
        buf_put_u32(&fixture.frame, (uint32_t)text.size);
        buf_put_slice(&fixture.frame, text);
        break;
    case 5:
        frame_to_entity();
        if (!fixture.frame.size)
            return;
        alone = arrives(*conn);
        check(alone <= 1);
        if (is_open(*conn))
            arrives_again(*conn, alone);
        fixture.frame.size = 0;
        break;
    case 6:
        fixture.now += (uint64_t)pick(100) * 20 * MS;
        settle();
        return;
    default:
        frame_of_parts();
    }
    if (fixture.frame.size)
        check(arrives(*conn) <= 1);
    start_recorders();
    if (!is_open(*conn))
        connect(++*conn);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t conn = 1;

    memset(&fixture, 0, sizeof fixture);
    fixture.in = cursor_of(slice_of(data, size));
    fixture.now = SECOND;
    start();
    connect(conn);
    while (!fixture.in.failed && cursor_left(&fixture.in))
        step(&conn);
    node_free(fixture.node);
    buf_fini(&fixture.frame);
    return 0;
}
