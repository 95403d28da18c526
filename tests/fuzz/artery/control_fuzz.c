/* Fuzzes Artery's control messages, from a known peer and from an unknown node. Control's answers
 * follow the rules of Artery's streams (docs/protocol/link.md).
 *
 * Input: records of manifest, flags, time, size (2 bytes), payload. */
#include "artery/association.h"
#include "base/check.h"
#include "base/timers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct identity self = {"akka", "S", {{"h", 1}, 100}};
static const struct node_id peer = {{"h", 2}, 200};

static bool control_class(struct slice manifest)
{
    return manifest.size == 1 && strchr("abdefghiklo", manifest.data[0]);
}

static void judge(struct outbox *outbox)
{
    struct outbound message;
    uint32_t count = 0;

    while (outbox_next(outbox, &message)) {
        struct buf frame = {0};

        /* Only control messages on the control stream may lack a recipient. A JVM
         * ends if another message does. */
        check(message.recipient.size || (control_class(message.manifest) &&
                                         message.stream == STREAM_CONTROL));
        check(!slice_is(message.manifest, ARTERY_QUARANTINED));
        check(envelope_put(&frame, &self, NULL, &message));
        buf_fini(&frame);
        count++;
    }
    check(count < 100000);
}

static void drain(struct associations *associations)
{
    struct association_news news;
    size_t bytes = 0;

    while (associations_next_news(associations, &news)) {
        struct peer_tables tables = {0};

        bytes += news.watchee.size + news.watcher.size;
        if (news.kind == ASSOCIATION_TABLE)
            check(peer_tables_receive(&tables, news.table, news.payload));
        peer_tables_fini(&tables);
    }
    check(bytes <= ASSOCIATION_NEWS_SIZE_MAX + FRAME_SIZE_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct own_tables own = {0};
    struct peers peers;
    struct association_options options = {.peers = &peers,
                                          .self = &self,
                                          .capabilities = 1,
                                          .lanes = 1,
                                          .tables = &own};
    struct associations *associations;
    struct handshake handshake = {.from = peer};
    struct slice text = slice_text("akka://S@h:1/user/x");
    struct cursor cursor = cursor_of(slice_of(data, size));
    struct outbox outbox = {0};
    uint64_t now = SECOND;

    peers_init(&peers, &(struct peers_options){0});
    associations = associations_new(&options);
    own_tables_set(&own, TABLE_REFS, &text, 1);
    (void)associations_handshake(associations, now, STREAM_ORDINARY, &handshake,
                                 &outbox);
    for (int i = 0; i < 64 && cursor_left(&cursor); i++) {
        char manifest = (char)cursor_u8(&cursor);
        uint8_t flags = cursor_u8(&cursor);
        struct selection selection;
        struct inbound inbound;
        struct envelope envelope = {
            .origin = flags & 1 ? 200 : 100 + (uint64_t)(flags >> 4) * 50,
            .serializer = flags & 2 ? SERIALIZER_SELECTION : SERIALIZER_ARTERY,
            .recipient_index = -1,
            .manifest = slice_of(&manifest, 1),
            .sender = slice_text(flags & 4 ? "akka://S@h:2/user/y#1" : ""),
            .recipient = slice_text(flags & 8 ? "akka://S@h:1/user/x" : ""),
        };

        now += cursor_u8(&cursor) * 100 * MS;
        envelope.payload = cursor_slice(&cursor, cursor_u16(&cursor));
        (void)associations_receive(
            associations, now, flags & 16 ? STREAM_ORDINARY : STREAM_CONTROL,
            flags >> 6, &envelope, &selection, &inbound, &outbox);
        associations_tick(associations, now, &outbox);
        judge(&outbox);
        drain(associations);
    }
    outbox_fini(&outbox);
    associations_free(associations);
    peers_fini(&peers);
    own_tables_fini(&own);
    return 0;
}
