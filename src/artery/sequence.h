/* Numbers, acknowledges, resends and limits the reliable messages to and from one incarnation of a
 * peer. association.c has one for each peer; it sends through the caller's outbox. */
#ifndef SHERD_ARTERY_SEQUENCE_H
#define SHERD_ARTERY_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/outbox.h"

struct numbered;

/* Zero is a fresh one. Most of a node's thousand peers never use it. */
struct sequence {
    struct numbered *numbered; /* null: none was ever sent or received */
};

void sequence_fini(struct sequence *sequence); /* drops what waits; fresh again */
void sequence_give_up(struct sequence *sequence); /* drops what waits; numbers continue */
uint32_t sequence_waiting(const struct sequence *sequence);
size_t sequence_size(const struct sequence *sequence); /* bytes of those that wait */
/* Numbers a message (serializer 22) and sends it to `recipient`, a path or whole literal; copied.
 * False when full. */
bool sequence_send(struct sequence *sequence, uint64_t now,
                   const struct identity *self, const struct node_id *to,
                   struct slice recipient, struct slice message,
                   struct outbox *outbox);
bool sequence_acknowledge(struct sequence *sequence, uint64_t now,
                          uint64_t seq); /* all up to seq; false: seq was never sent */
/* Resends what waits, the oldest first, bounded; returns how many. */
uint32_t sequence_resend(struct sequence *sequence, uint64_t now,
                         const struct identity *self, const struct node_id *to,
                         struct outbox *outbox);
uint64_t sequence_deadline(const struct sequence *sequence);
/* Postpones a resend that is not possible yet. */
void sequence_postpone(struct sequence *sequence, uint64_t now);
/* Whether nothing was acknowledged for SYSTEM_GIVE_UP_MS. */
bool sequence_hopeless(const struct sequence *sequence, uint64_t now);

/* Answers a numbered message with Ack or Nack. Returns true if the message is the next one; the
 * caller then delivers it. */
bool sequence_receive(struct sequence *sequence, const struct identity *self,
                      const struct node_id *from, uint64_t seq,
                      struct outbox *outbox);

#endif
