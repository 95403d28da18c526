/* Keeps the newest connection of each sending lane of one peer.
 *
 * After the first frame of a newer connection, the older one of that sending lane is closed, so
 * order holds over a reconnect. One machine must get all connections of one (peer, sending
 * lane). */
#ifndef SHERD_ARTERY_SENDER_H
#define SHERD_ARTERY_SENDER_H

#include <stdint.h>

#include "base/outbox.h"

struct sender;

enum sender_connection {
    SENDER_FIRST, /* of its lane; also one without a generation, and the same one again */
    SENDER_NEWER, /* replaces an earlier one */
    SENDER_OLDER
};

struct sender *sender_new(void);
void sender_free(struct sender *sender);
/* Notes a connection. lane: below PEER_LANES_MAX. generation: 0 = a JVM's, which has none. */
enum sender_connection sender_connects(struct sender *sender,
                                       enum stream stream, uint32_t lane,
                                       uint64_t generation);
/* The generation of the newest connection; 0 = none so far. */
uint64_t sender_newest(const struct sender *sender, enum stream stream,
                       uint32_t lane);

#endif
