/* Sends membership's messages to the daemons of other members. */
#include "member/inside.h"

static struct outbound message_to(const struct node_id *to, struct slice path,
                                  const char *manifest,
                                  const struct buf *payload)
{
    return (struct outbound){
        .to = *to,
        .recipient = path.size ? path : slice_text(MEMBER_DAEMON_PATH),
        .sender = slice_text(MEMBER_DAEMON_PATH),
        .manifest = slice_text(manifest),
        .payload = buf_slice(payload),
        .serializer = MEMBER_SERIALIZER,
        .stream = STREAM_ORDINARY,
        .selection = !path.size,
    };
}

void member_send(struct member *member, const struct node_id *to,
                 struct slice path, const char *manifest,
                 const struct buf *payload, struct outbox *outbox)
{
    struct outbound message = message_to(to, path, manifest, payload);

    (void)member; /* all messages of this node look alike */
    outbox_put(outbox, &message);
}

void member_repeat(struct member *member, const struct node_id *to,
                   struct slice path, enum stream stream,
                   const char *manifest, const struct buf *payload,
                   struct outbox *outbox)
{
    struct outbound message = message_to(to, path, manifest, payload);

    (void)member;
    message.stream = stream;
    message.repeats = REPEATS_MEMBERS;
    outbox_put(outbox, &message);
}
