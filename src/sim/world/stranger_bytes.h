/* Makes the bytes of a stranger's connection. */
#ifndef SHERD_SIM_WORLD_STRANGER_BYTES_H
#define SHERD_SIM_WORLD_STRANGER_BYTES_H

#include "base/bytes.h"
#include "base/outbox.h"

/* The preamble of a connection of `from`, and a handshake. On a control stream it also answers the
 * handshake that the node will send, before that comes. */
void stranger_shake(struct buf *bytes, const struct identity *from,
                    const struct identity *to, enum stream stream);
/* The same on a control stream, and a request to join. */
void stranger_join(struct buf *bytes, const struct identity *from,
                   const struct identity *to);

#endif
