/* Limit programs: the bare mechanism behind a benchmark, with nothing else (no supervision, no time-outs, no refs): what the
 * machine allows. Each function runs once and returns millions of messages (or actors) a second, or bytes. */
#ifndef SHERD_BENCH_LIMITS_H
#define SHERD_BENCH_LIMITS_H

#include <stdint.h>

/* sched.c: actors on one worker. atomic: mailboxes that other threads could write to (a word, compare and swap); else plain lists,
 * as on a lane. */
double limit_ping_pong(int atomic, uint64_t messages);
double limit_fan_in(int atomic, uint64_t messages); /* 4 producers, 1000 a turn, one consumer */
double limit_ring(int atomic, uint64_t messages);   /* 100,000 actors, 1000 tokens */
double limit_spawn(int atomic, uint64_t actors);    /* spawn, one message, stop */

/* entity.c: 48-byte slots in slabs, 32-bit links, inline ids, open addressing; ids "user-0000000". */
double limit_entity_bytes(uint32_t entities);
double limit_entity_create(uint32_t entities); /* millions a second */

/* pipe.c: id text -> hash -> table -> copy of 100 bytes -> mailbox -> handler. batch: 100 at a time with prefetch. */
double limit_pipe(int batch, uint32_t entities, uint64_t messages);

uint64_t bench_now(void); /* processor time of this process, ns */
long bench_rss(void);     /* resident bytes of this process */

static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

#endif
