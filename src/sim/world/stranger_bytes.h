/* Makes the bytes of a stranger's connection. */
#ifndef SHERD_SIM_WORLD_STRANGER_BYTES_H
#define SHERD_SIM_WORLD_STRANGER_BYTES_H

#include "base/bytes.h"
#include "base/outbox.h"

/* All of a connection of `from` to the control machine of `to`. It answers the handshake that the
 * node will send before that comes. */
void stranger_put(struct buf *bytes, const struct identity *from,
                  const struct identity *to);

#endif
