/* Writes what a stranger says: a handshake, an answer to the node's handshake, and a request to
 * join. */
#include "sim/world/stranger_bytes.h"

#include "artery/control.h"
#include "artery/envelope.h"
#include "base/check.h"
#include "member/member.h"
#include "member/wire.h"

static void put_frame(struct buf *bytes, const struct identity *from,
                      const char *recipient, const char *sender,
                      const char *manifest, int32_t serializer,
                      const struct buf *payload)
{
    struct envelope_head head = { 0 };

    check(envelope_head_init(&head, from, NULL, slice_text(recipient),
                             slice_text(manifest), serializer));
    envelope_head_put(bytes, &head, slice_text(sender), buf_slice(payload));
    envelope_head_fini(&head);
}

static void put_join(struct buf *bytes, const struct identity *from,
                     const struct identity *to)
{
    struct profile *profile = profile_new(from, &from->node, NULL, 0, "0.0.0");
    char address[ADDRESS_TEXT_MAX];
    struct buf path = { 0 }, sender = { 0 }, payload = { 0 };

    buf_put_text(&path, to->protocol);
    buf_put_text(&path, "://");
    buf_put_text(&path, to->system);
    buf_put_text(&path, "@");
    buf_put_slice(&sender, buf_slice(&path));
    buf_put_text(&path, address_text(&to->node.address, address, sizeof address));
    buf_put_text(&path, MEMBER_DAEMON_PATH);
    buf_put_u8(&path, 0);
    buf_put_text(&sender, address_text(&from->node.address, address, sizeof address));
    buf_put_text(&sender, MEMBER_DAEMON_PATH "#1");
    buf_put_u8(&sender, 0);
    wire_put_join(from, &payload, profile);
    put_frame(bytes, from, (const char *)path.data, (const char *)sender.data,
              "J", MEMBER_SERIALIZER, &payload);
    buf_fini(&path);
    buf_fini(&sender);
    buf_fini(&payload);
    profile_drop(profile);
}

void stranger_shake(struct buf *bytes, const struct identity *from,
                    const struct identity *to, enum stream stream)
{
    const struct handshake handshake = { 0 };
    struct buf payload = { 0 };

    buf_put_text(bytes, "AKKA");
    buf_put_u8(bytes, (uint8_t)stream);
    handshake_request_put(&payload, from, &to->node.address, &handshake);
    put_frame(bytes, from, "", "", ARTERY_HANDSHAKE_REQUEST, SERIALIZER_ARTERY,
              &payload);
    buf_clear(&payload);
    handshake_response_put(&payload, from, &handshake);
    if (stream == STREAM_CONTROL)
        put_frame(bytes, from, "", "", ARTERY_HANDSHAKE_RESPONSE,
                  SERIALIZER_ARTERY, &payload);
    buf_fini(&payload);
}

void stranger_join(struct buf *bytes, const struct identity *from,
                   const struct identity *to)
{
    stranger_shake(bytes, from, to, STREAM_CONTROL);
    put_join(bytes, from, to);
}
