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
/* Its parts, for the receiver of wire.c. Messages whose kind is not 0 are answered. */
typedef void (*limit_answer)(uint16_t kind, uint32_t tag, const uint8_t *body, uint16_t size);
void limit_entities_open(uint32_t entities, limit_answer answer);
void limit_entities_tell(const char *id, int id_size, const uint8_t *body, uint16_t size, uint16_t kind, uint32_t tag);
void limit_entities_run(void);
int limit_id_put(char *id, uint32_t number); /* "user-123" without a zero byte; returns its size */
uint32_t limit_hash(const char *id, int size);

/* split.c: one pair on two threads, each with its own mailbox that the other pushes into; both poll. */
double limit_split(uint64_t messages);

/* fan.c: four producers on one thread, 1000 a turn each, one consumer on another; both poll. */
double limit_fan_in_two(uint64_t messages);

/* wheel.c: time-outs of 24 bytes in a wheel, so many pending: resident bytes of each, and ns to cancel the oldest and start one. */
void limit_timeouts(uint32_t pending, uint64_t count, double *bytes, double *ns);

/* wire.c: two processes on loopback. Window: half of it is sent when the half before the last is answered. */
double limit_wire_tell(uint32_t entities, uint32_t window, uint64_t messages);
/* One frame of 104 bytes there and back; spin: both sides poll for 50 us before they sleep in epoll. us. */
void limit_wire_ask(int spin, uint32_t asks, double *p50, double *p99);
/* So many such frames there and back at once, in ms. Both sides poll as above. */
double limit_wire_burst(uint32_t trips);

/* gossip.c: one change in a cluster, with the share of rounds that go to who has not seen it; in rounds, until somebody knows that all
 * have seen it, and until all know that. */
void limit_gossip(uint32_t nodes, uint64_t seed, double share, double *first, double *all);

/* swim.c: SWIM among nodes of which some stand still; has_health: with what Lifeguard adds. length: ns. A node that is taken for dead
 * there is in `doubts`, which are open. */
struct slow;
struct doubts;
void limit_swim(const struct slow *slow, uint64_t seed, int has_health, uint64_t length, struct doubts *doubts);

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
