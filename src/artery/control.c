/* Packs and reads Artery's own messages, and gives the answers that need no state. */
#include "artery/control.h"

#include <inttypes.h>
#include <stdio.h>

#include "artery/packed.h"
#include "artery/unique_address.h"
#include "base/check.h"

/* ---- addresses ---- */

static bool same_cluster(const struct identity *self,
                         const Artery__Address *address)
{
    return !strcmp(address->protocol, self->protocol) &&
           !strcmp(address->system, self->system);
}

static bool unpack_address(const Artery__Address *packed,
                           struct address *address)
{
    return address_set(address, packed->hostname, strlen(packed->hostname),
                       packed->port);
}

/* ---- handshakes ---- */

#define PACK_EXTENSION(message, handshake)                                     \
    ((message).capabilities = (handshake)->capabilities,                       \
     (message).has_capabilities = (handshake)->capabilities != 0,              \
     (message).lane = (handshake)->lane,                                       \
     (message).has_lane = (handshake)->lane != 0,                              \
     (message).lanes = (handshake)->lanes,                                     \
     (message).has_lanes = (handshake)->lanes != 0,                            \
     (message).generation = (handshake)->generation,                           \
     (message).has_generation = (handshake)->generation != 0)

void handshake_request_put(struct buf *buf, const struct identity *self,
                           const struct address *to,
                           const struct handshake *handshake)
{
    Artery__HandshakeRequest message = ARTERY__HANDSHAKE_REQUEST__INIT;
    Artery__Address from = packed_address(self, &self->node.address);
    Artery__UniqueAddress unique = packed_node(&from, self->node.uid);
    Artery__Address target = packed_address(self, to);

    message.from = &unique;
    message.to = &target;
    PACK_EXTENSION(message, handshake);
    packed_put(buf, &message.base);
}

void handshake_response_put(struct buf *buf, const struct identity *self,
                            const struct handshake *handshake)
{
    Artery__HandshakeResponse message = ARTERY__HANDSHAKE_RESPONSE__INIT;
    Artery__Address from = packed_address(self, &self->node.address);
    Artery__UniqueAddress unique = packed_node(&from, self->node.uid);

    message.address = &unique;
    PACK_EXTENSION(message, handshake);
    packed_put(buf, &message.base);
}

/* A text from the wire for a log line: cut, without control characters. */
static const char *plain(const char *text, char *out, size_t size)
{
    size_t i = 0;

    for (; text[i] && i + 1 < size; i++)
        out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    out[i] = 0;
    return out;
}

static const char *address_plain(const Artery__Address *address, char *text,
                                 size_t size)
{
    char protocol[24];
    char system[64];
    char host[64];

    (void)snprintf(text, size, "%s://%s@%s:%" PRIu32, /* cut if too long */
                   plain(address->protocol, protocol, sizeof protocol),
                   plain(address->system, system, sizeof system),
                   plain(address->hostname, host, sizeof host), address->port);
    return text;
}

#define PLAIN_MAX 180 /* 24 + 64 + 64 bytes, a port and the signs between */

static void describe(char *text, const struct identity *self,
                     const Artery__Address *from, const Artery__Address *to)
{
    char from_text[PLAIN_MAX];
    char to_text[PLAIN_MAX];
    char self_text[PLAIN_MAX];
    Artery__Address own = packed_address(self, &self->node.address);

    if (!text)
        return;
    (void)snprintf(text, HANDSHAKE_TEXT_MAX,
                   "handshake from %s looks for %s, and this node is %s",
                   address_plain(from, from_text, sizeof from_text),
                   address_plain(to, to_text, sizeof to_text),
                   address_plain(&own, self_text, sizeof self_text));
}

static enum handshake_fault judge(const struct identity *self,
                                  const Artery__UniqueAddress *from,
                                  const Artery__Address *to,
                                  struct handshake *handshake, char *text)
{
    struct address target;

    if (!same_cluster(self, from->address) || !same_cluster(self, to)) {
        (void)unpack_address(from->address, &handshake->from.address);
        describe(text, self, from->address, to);
        return HANDSHAKE_FOREIGN;
    }
    if (!unpack_address(from->address, &handshake->from.address) || !from->uid)
        return HANDSHAKE_MALFORMED;
    handshake->from.uid = from->uid;
    /* Protocol, system, host and port must be our canonical ones, literally. */
    if (!unpack_address(to, &target) ||
        !address_equal(&target, &self->node.address)) {
        describe(text, self, from->address, to);
        return HANDSHAKE_ADDRESS;
    }
    if (address_equal(&handshake->from.address, &self->node.address) ||
        from->uid == self->node.uid) {
        describe(text, self, from->address, to);
        return HANDSHAKE_SELF;
    }
    return HANDSHAKE_OK;
}

#define UNPACK_EXTENSION(message, handshake)                                   \
    ((handshake)->capabilities = (message)->capabilities,                      \
     (handshake)->lane = (message)->lane,                                      \
     (handshake)->lanes = (message)->lanes,                                    \
     (handshake)->generation = (message)->generation)

enum handshake_fault handshake_request_read(const struct identity *self,
                                            struct slice payload,
                                            struct handshake *handshake,
                                            char *text)
{
    Artery__HandshakeRequest *message =
        artery__handshake_request__unpack(NULL, payload.size, payload.data);
    enum handshake_fault fault;

    *handshake = (struct handshake){0};
    if (!message)
        return HANDSHAKE_MALFORMED;
    fault = judge(self, message->from, message->to, handshake, text);
    UNPACK_EXTENSION(message, handshake);
    artery__handshake_request__free_unpacked(message, NULL);
    return fault;
}

enum handshake_fault handshake_response_read(const struct identity *self,
                                             struct slice payload,
                                             struct handshake *handshake,
                                             char *text)
{
    Artery__HandshakeResponse *message =
        artery__handshake_response__unpack(NULL, payload.size, payload.data);
    Artery__Address own = packed_address(self, &self->node.address);
    enum handshake_fault fault;

    *handshake = (struct handshake){0};
    if (!message)
        return HANDSHAKE_MALFORMED;
    fault = judge(self, message->address, &own, handshake, text);
    UNPACK_EXTENSION(message, handshake);
    artery__handshake_response__free_unpacked(message, NULL);
    return fault;
}

/* ---- messages for control ---- */

/* Refs are printable ASCII; other characters could only confuse a log. */
static bool printable(struct slice text)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    size_t i = 0;

    /* Eight at a time: each from 0x21 to 0x7e. */
    for (; i + 8 <= text.size; i += 8) {
        uint64_t eight;

        memcpy(&eight, text.data + i, sizeof eight);
        if ((eight | (eight + ones) | ~(eight + ones * 0x5f)) & ones * 0x80)
            return false;
    }
    for (; i < text.size; i++)
        if (text.data[i] <= ' ' || text.data[i] > '~')
            return false;
    return true;
}

bool envelope_inbound(const struct identity *self, const struct node_id *from,
                      const struct envelope *envelope,
                      struct selection *selection, struct inbound *inbound)
{
    struct address address;
    struct slice path = slice_text("");

    *inbound = (struct inbound){
        .from = *from,
        .sender = envelope->sender,
        .recipient = slice_text(""),
        .manifest = envelope->manifest,
        .payload = envelope->payload,
        .serializer = envelope->serializer,
    };
    if (!printable(envelope->sender) || !printable(envelope->recipient))
        return false;
    if (envelope->recipient.size) {
        if (!ref_at(self, envelope->recipient, &self->node.address, &path) &&
            (!ref_parse(self, envelope->recipient, &address, &path) ||
             !address_equal(&address, &self->node.address)))
            return false;
        inbound->recipient = path_plain(path);
    }
    if (envelope->sender.size &&
        (ref_at(self, envelope->sender, &from->address, &path) ||
         (ref_parse(self, envelope->sender, &address, &path) &&
          address_equal(&address, &from->address))))
        inbound->sender = path;
    if (envelope->serializer != SERIALIZER_SELECTION)
        return true;
    if (!envelope_unwrap_selection(envelope->recipient, envelope->payload,
                                   selection) ||
        !printable(selection->path))
        return false;
    inbound->recipient = selection->path;
    inbound->manifest = selection->manifest;
    inbound->payload = selection->payload;
    inbound->serializer = selection->serializer;
    inbound->is_selected = true;
    return true;
}

/* ---- answers ---- */

/* Takes the address of an answer from a sender's literal; path is lent from it. */
static bool answer_to(const struct identity *self, const struct node_id *from,
                      struct slice sender, struct outbound *answer)
{
    if (!sender.size || !printable(sender) ||
        !ref_parse(self, sender, &answer->to.address, &answer->recipient))
        return false;
    if (address_equal(&answer->to.address, &from->address))
        answer->to.uid = from->uid;
    return !address_equal(&answer->to.address, &self->node.address);
}

static void answer_heartbeat(const struct identity *self,
                             struct outbound *answer, struct outbox *outbox)
{
    struct buf payload = {0};

    buf_put_u8(&payload, 1 << 3);
    buf_put_varint(&payload, self->node.uid);
    answer->manifest = slice_text(ARTERY_HEARTBEAT_RESPONSE);
    answer->payload = buf_slice(&payload);
    /* The JVM takes our address from the sender. */
    answer->sender = slice_text("/system/remote-watcher");
    answer->stream = STREAM_CONTROL;
    outbox_put(outbox, answer);
    buf_fini(&payload);
}

static void answer_terminating(const struct identity *self,
                               struct outbound *answer, struct outbox *outbox)
{
    struct buf payload = {0};

    unique_address_put(&payload, 1, self, &self->node);
    answer->manifest = slice_text(ARTERY_TERMINATING_ACK);
    answer->payload = buf_slice(&payload);
    outbox_put(outbox, answer);
    buf_fini(&payload);
}

static bool is_heartbeat(const struct envelope *envelope)
{
    struct selection selection;

    if (envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_HEARTBEAT))
        return true;
    return envelope->serializer == SERIALIZER_SELECTION &&
           envelope_selects(envelope->payload, SERIALIZER_ARTERY) &&
           envelope_unwrap_selection(envelope->recipient, envelope->payload,
                                     &selection) &&
           selection.serializer == SERIALIZER_ARTERY &&
           slice_is(selection.manifest, ARTERY_HEARTBEAT);
}

bool control_answer(const struct identity *self, const struct node_id *from,
                    const struct envelope *envelope, struct outbox *outbox)
{
    struct outbound answer = {.serializer = SERIALIZER_ARTERY,
                              .stream = STREAM_ORDINARY};
    static const uint8_t one_ack[] = {1 << 3, 1};

    if (is_heartbeat(envelope)) {
        if (answer_to(self, from, envelope->sender, &answer))
            answer_heartbeat(self, &answer, outbox);
        return true;
    }
    if (envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_FLUSH)) {
        answer.manifest = slice_text(ARTERY_FLUSH_ACK);
        answer.payload = slice_of(one_ack, sizeof one_ack);
        if (answer_to(self, from, envelope->sender, &answer))
            outbox_put(outbox, &answer);
        return true;
    }
    if (envelope_is(envelope, SERIALIZER_ARTERY, ARTERY_TERMINATING)) {
        if (answer_to(self, from, envelope->sender, &answer))
            answer_terminating(self, &answer, outbox);
        return true;
    }
    return false;
}

void flush_put(struct outbox *outbox, const struct node_id *to,
               struct slice sender)
{
    struct outbound flush = {
        .to = *to,
        .sender = sender,
        .manifest = slice_text(ARTERY_FLUSH),
        .serializer = SERIALIZER_ARTERY,
        .stream = STREAM_ORDINARY,
    };

    outbox_put(outbox, &flush);
}

bool flush_ack_read(struct slice payload, uint32_t *expected_acks)
{
    Artery__FlushAck *message;
    bool good;

    *expected_acks = 1; /* an empty payload means one */
    if (!payload.size)
        return true;
    message = artery__flush_ack__unpack(NULL, payload.size, payload.data);
    if (!message)
        return false;
    good = !message->has_expected_acks ||
           (message->expected_acks > 0 && message->expected_acks <= 1024);
    if (good && message->has_expected_acks)
        *expected_acks = (uint32_t)message->expected_acks;
    artery__flush_ack__free_unpacked(message, NULL);
    return good;
}

void identify_put(struct outbox *outbox, const struct node_id *to, struct slice path,
                  struct slice from)
{
    static const uint8_t id[] = "sherd";
    Artery__Payload payload = ARTERY__PAYLOAD__INIT;
    Artery__Identify message = ARTERY__IDENTIFY__INIT;
    struct buf packed = {0};

    payload.message.data = (uint8_t *)(uintptr_t)id;
    payload.message.len = sizeof id - 1;
    payload.serializer = SERIALIZER_BYTES;
    message.id = &payload;
    packed_put(&packed, &message.base);
    outbox_put(outbox, &(struct outbound){.to = *to,
                                          .recipient = path,
                                          .sender = from,
                                          .manifest = slice_text("A"),
                                          .payload = buf_slice(&packed),
                                          .serializer = SERIALIZER_MISC,
                                          .stream = STREAM_ORDINARY,
                                          .selection = true});
    buf_fini(&packed);
}

bool identity_read(struct slice payload, struct buf *literal)
{
    Artery__Identity *message = artery__identity__unpack(NULL, payload.size, payload.data);

    if (!message)
        return false;
    if (message->ref)
        buf_put_text(literal, message->ref->path);
    artery__identity__free_unpacked(message, NULL);
    return true;
}

bool identify_answer(const struct identity *self,
                     const struct inbound *identify, struct slice path,
                     struct outbox *outbox)
{
    Artery__Identify *message = artery__identify__unpack(
        NULL, identify->payload.size, identify->payload.data);
    Artery__Identity identity = ARTERY__IDENTITY__INIT;
    Artery__ActorRef actor = ARTERY__ACTOR_REF__INIT;
    struct outbound answer = {.to = identify->from,
                              .recipient = identify->sender,
                              .sender = path,
                              .manifest = slice_text("B"),
                              .serializer = SERIALIZER_MISC,
                              .stream = STREAM_ORDINARY};
    struct buf literal = {0};
    struct buf payload = {0};
    struct slice sender_path;
    bool good = message != NULL;

    if (!good)
        return false;
    if (path.size) {
        ref_put(&literal, self, &self->node.address, path);
        buf_put_u8(&literal, 0);
        actor.path = (char *)literal.data;
        identity.ref = &actor;
    }
    identity.id = message->id;
    packed_put(&payload, &identity.base);
    answer.payload = buf_slice(&payload);
    if (identify->sender.size && identify->sender.data[0] != '/') {
        answer.to = (struct node_id){0};
        good =
            ref_parse(self, identify->sender, &answer.to.address, &sender_path);
    }
    if (good && identify->sender.size)
        outbox_put(outbox, &answer);
    artery__identify__free_unpacked(message, NULL);
    buf_fini(&literal);
    buf_fini(&payload);
    return good;
}
