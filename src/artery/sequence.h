/* Reliable messages to and from one incarnation of a peer (wire 3.4): numbers, acknowledgements, resending, bounds.
 *
 * Used by association.c, one for each peer; sends through the caller's outbox. */
#ifndef SHERD_ARTERY_SEQUENCE_H
#define SHERD_ARTERY_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"
#include "base/vec.h"

struct unacknowledged {
    uint64_t seq;
    uint8_t *bytes; /* recipient, then message */
    uint32_t recipient_size;
    uint32_t message_size;
};

/* Zero is a fresh one. */
struct sequence {
    VEC(struct unacknowledged) sent; /* those from `head` on wait; in order of seq */
    uint32_t head;
    size_t bytes;         /* of those that wait */
    uint64_t last_seq;    /* of the newest sent; the first is 1 */
    uint64_t progress_at; /* when the last acknowledgement came, or the first began to wait */
    uint64_t resend_at;
    uint64_t received; /* the last one delivered */
};

void sequence_fini(struct sequence *sequence); /* drops what waits; fresh again */
void sequence_give_up(struct sequence *sequence); /* drops what waits; what arrives is numbered on */
uint32_t sequence_waiting(const struct sequence *sequence);
/* Numbers a message (serializer 22) and sends it to `recipient`, a path or whole literal; copied. False when it is full. */
bool sequence_send(struct sequence *sequence, uint64_t now,
                   const struct identity *self, const struct node_id *to,
                   struct slice recipient, struct slice message,
                   struct outbox *outbox);
bool sequence_acknowledge(struct sequence *sequence, uint64_t now,
                          uint64_t seq); /* all up to seq; false: seq was never sent */
/* Sends again what waits, the oldest first, bounded; returns how many. */
uint32_t sequence_resend(struct sequence *sequence, uint64_t now,
                         const struct identity *self, const struct node_id *to,
                         struct outbox *outbox);
uint64_t sequence_deadline(const struct sequence *sequence);
bool sequence_hopeless(const struct sequence *sequence, uint64_t now); /* unacknowledged for SYSTEM_GIVE_UP_MS */

/* A numbered message arrived; answers with Ack or Nack. True: it is the next one and is to be delivered. */
bool sequence_receive(struct sequence *sequence, const struct identity *self,
                      const struct node_id *from, uint64_t seq,
                      struct outbox *outbox);

#endif
