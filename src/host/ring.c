/* Implements the ring of mail: Lamport's queue with cached positions, each side's variables on
 * cache lines of their own. */
#define _GNU_SOURCE
#include "host/ring.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"

#define LINE 64
#define MASK (RING_MAIL_MAX - 1)

_Static_assert((RING_MAIL_MAX & MASK) == 0, "a ring's size is a power of two");

struct ring {
    _Alignas(LINE) _Atomic uint64_t tail; /* mails ever put; sender */
    uint64_t head_seen;                   /* sender's last read of head */
    _Alignas(LINE) _Atomic uint64_t head; /* mails ever taken; receiver */
    uint64_t tail_seen;                   /* receiver's last read of tail */
    _Alignas(LINE) _Atomic uint32_t full; /* sender waits for room */
    _Alignas(LINE) struct mail mail[RING_MAIL_MAX];
};

struct ring *ring_new(void)
{
    struct ring *ring = aligned_alloc(LINE, sizeof *ring);

    check(ring);
    memset(ring, 0, sizeof *ring);
    return ring;
}

void ring_free(struct ring *ring)
{
    const struct mail *mail;
    uint32_t count;

    if (!ring)
        return;
    while ((count = ring_waiting(ring, &mail)) > 0) {
        for (uint32_t i = 0; i < count; i++) {
            struct mail copy = mail[i];

            mail_free(&copy);
        }
        ring_taken(ring, count);
    }
    free(ring);
}

uint32_t ring_push(struct ring *ring, const struct mail *mail, uint32_t count)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    uint64_t room = RING_MAIL_MAX - (tail - ring->head_seen);

    if (room < count) {
        ring->head_seen =
            atomic_load_explicit(&ring->head, memory_order_acquire);
        room = RING_MAIL_MAX - (tail - ring->head_seen);
        if (room < count)
            count = (uint32_t)room;
    }
    if (count == 0)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        ring->mail[(tail + i) & MASK] = mail[i];
    atomic_store_explicit(&ring->tail, tail + count, memory_order_seq_cst);
    return count;
}

bool ring_full(struct ring *ring)
{
    uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

    atomic_store_explicit(&ring->full, 1, memory_order_seq_cst);
    return tail - atomic_load_explicit(&ring->head, memory_order_seq_cst) ==
           RING_MAIL_MAX;
}

uint32_t ring_waiting(struct ring *ring, const struct mail **mail)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    uint64_t count, run;

    if (ring->tail_seen == head) {
        ring->tail_seen =
            atomic_load_explicit(&ring->tail, memory_order_acquire);
    }
    count = ring->tail_seen - head;
    run = RING_MAIL_MAX - (head & MASK);
    *mail = &ring->mail[head & MASK];
    return (uint32_t)(count < run ? count : run);
}

bool ring_taken(struct ring *ring, uint32_t count)
{
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    atomic_store_explicit(&ring->head, head + count, memory_order_seq_cst);
    if (atomic_load_explicit(&ring->full, memory_order_seq_cst) == 0)
        return false;
    return atomic_exchange_explicit(&ring->full, 0, memory_order_seq_cst) != 0;
}

bool ring_empty(struct ring *ring)
{
    return atomic_load_explicit(&ring->tail, memory_order_seq_cst) ==
           atomic_load_explicit(&ring->head, memory_order_seq_cst);
}
