/* Sends messages to peers. */
#include "ddata/replicator_inside.h"

/* Each round sends the values that a peer lacks. For a slow peer they would pile up before other
 * messages, so they may be dropped: its next status lacks them again. A status is never dropped,
 * because it continues earlier chunks. */
static enum repeats repeats_of(enum message_kind kind)
{
    return kind == MESSAGE_GOSSIP ? REPEATS_VALUES : REPEATS_NOT;
}

void send_peer(struct replicator *replicator, const struct node_id *to,
               struct slice sender, enum message_kind kind,
               struct slice payload, struct outbox *outbox)
{
    outbox_put(outbox,
               &(struct outbound){
                   .to = *to,
                   .recipient = path_plain(buf_slice(&replicator->path)),
                   .sender = sender,
                   .manifest = slice_text(message_manifest(kind)),
                   .payload = payload,
                   .serializer = REPLICATOR_SERIALIZER,
                   .stream = STREAM_ORDINARY,
                   .selection = true,
                   .repeats = repeats_of(kind),
               });
}

static void answer(const struct node_id *to, struct slice recipient,
                   struct slice sender, enum message_kind kind,
                   struct slice payload, struct outbox *outbox)
{
    if (!recipient.size)
        return;
    outbox_put(outbox, &(struct outbound){
                           .to = *to,
                           .recipient = recipient,
                           .sender = sender,
                           .manifest = slice_text(message_manifest(kind)),
                           .payload = payload,
                           .serializer = REPLICATOR_SERIALIZER,
                           .stream = STREAM_ORDINARY,
                           .repeats = repeats_of(kind),
                       });
}

void send_answer(struct replicator *replicator, const struct node_id *to,
                 struct slice recipient, enum message_kind kind,
                 struct slice payload, struct outbox *outbox)
{
    answer(to, recipient, buf_slice(&replicator->path), kind, payload, outbox);
}

void send_part(struct replicator *replicator, const struct node_id *to,
               struct slice recipient, enum message_kind kind,
               struct slice payload, struct outbox *outbox)
{
    (void)replicator;
    answer(to, recipient, slice_of(NULL, 0), kind, payload, outbox);
}

bool is_sendable(struct replicator *replicator, size_t size)
{
    if (size + MESSAGE_OVERHEAD <= replicator->settings.frame_size)
        return true;
    replicator->counters.unsent++;
    return false;
}
