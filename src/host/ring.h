/* Carries mail from one machine to another: one thread puts, one takes.
 *
 * It holds RING_MAIL_MAX; the sender keeps the rest and asks to be woken (ring_full). Positions are
 * sequentially consistent, so with a thread's `sleeping` flag no wake-up is lost: the sender sees
 * the flag, or the sleeper sees the mail.
 *
 * Called by host/thread.c. */
#ifndef SHERD_HOST_RING_H
#define SHERD_HOST_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "node/node.h"

struct ring;

struct ring *ring_new(void);
/* Frees the ring and its mail. No other thread may use it. Null is allowed. */
void ring_free(struct ring *ring);

/* Sender: copies as many mails as fit; returns how many. */
uint32_t ring_push(struct ring *ring, const struct mail *mail, uint32_t count);
/* Sender: asks to be woken when there is room. False: there is room. */
bool ring_full(struct ring *ring);

/* Receiver: oldest contiguous mails, lent until ring_taken. Repeat until 0. */
uint32_t ring_waiting(struct ring *ring, const struct mail **mail);
/* Receiver: frees that many. True: the sender wants to be woken. */
bool ring_taken(struct ring *ring, uint32_t count);

/* Either side. */
bool ring_empty(struct ring *ring);

#endif
