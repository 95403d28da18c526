/* A ring of mail from one machine to another: one thread puts, one takes.
 *
 * Bounded at RING_MAIL_MAX: what does not fit stays with the sender, who asks
 * to be woken (ring_full). Positions are published in one total order
 * (sequentially consistent), so that together with a thread's `sleeping` flag
 * no waking is lost and no fence is needed: either the sender sees the flag,
 * or the sleeper sees the mail.
 *
 * Who calls: host/thread.c. */
#ifndef SHERD_HOST_RING_H
#define SHERD_HOST_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "node/node.h"

struct ring;

struct ring *ring_new(void);
/* Frees it with the mail in it. Null is fine; no other thread may use it. */
void ring_free(struct ring *ring);

/* Sender. Copies the first mails that there is room for; how many. */
uint32_t ring_push(struct ring *ring, const struct mail *mail, uint32_t count);
/* Sender: asks for a waking when there is room. False: there is room already. */
bool ring_full(struct ring *ring);

/* Receiver. Waiting mail, oldest first, lent until ring_taken; those that lie
 * together, so call again until it gives 0. */
uint32_t ring_waiting(struct ring *ring, const struct mail **mail);
/* Receiver: done with that many. True: the sender asked to be woken. */
bool ring_taken(struct ring *ring, uint32_t count);

/* Either: nothing is in it. */
bool ring_empty(struct ring *ring);

#endif
