/* Declares the limit programs. A limit program does the minimal work of a benchmark and nothing
 * else: no supervision, no time-outs, no references. It shows what the machine allows. Each
 * function runs once, and returns million messages (or actors) in a second, or bytes. */
#ifndef SHERD_BENCH_LIMITS_H
#define SHERD_BENCH_LIMITS_H

#include <stdint.h>

/* sched.c: actors on one worker. atomic: other threads could write to the mailboxes (a word,
 * compare and swap); otherwise mailboxes are plain lists, as on a lane. */
double limit_ping_pong(int atomic, uint64_t messages);
/* Has 4 producers with 1000 messages in a turn, and 1 consumer. */
double limit_fan_in(int atomic, uint64_t messages);
double limit_ring(int atomic, uint64_t messages);   /* 100,000 actors, 1000 tokens */
double limit_spawn(int atomic, uint64_t actors);    /* spawn, one message, stop */

/* entity.c: 48-byte slots in slabs, 32-bit links, inline ids, open addressing; ids
 * "user-0000000". */
double limit_entity_bytes(uint32_t entities);
double limit_entity_create(uint32_t entities); /* returns million entities in a second */

/* pipe.c: id text -> hash -> table -> copy of 100 bytes -> mailbox -> handler. batch: 100 messages
 * at a time, with prefetch. */
double limit_pipe(int batch, uint32_t entities, uint64_t messages);
/* The parts of pipe.c for the receiver of wire.c. A message with a kind other than 0 is
 * answered. */
typedef void (*limit_answer)(uint16_t kind, uint32_t tag, const uint8_t *body, uint16_t size);
void limit_entities_open(uint32_t entities, limit_answer answer);
void limit_entities_tell(const char *id, int id_size, const uint8_t *body, uint16_t size, uint16_t kind, uint32_t tag);
void limit_entities_run(void);
/* Writes "user-123" without a zero byte; returns its size */
int limit_id_put(char *id, uint32_t number);
uint32_t limit_hash(const char *id, int size);

/* split.c: one pair of actors on two threads. Each pushes into the other's mailbox. Both threads
 * poll. */
double limit_split(uint64_t messages);

/* fan.c: four producers on one thread, with 1000 messages each in a turn, one consumer on another.
 * Both threads poll. */
double limit_fan_in_two(uint64_t messages);

/* wheel.c: time-outs of 24 bytes in a wheel. Returns the resident bytes of one, and the ns to
 * cancel the oldest and start a new one while `pending` others wait. */
void limit_timeouts(uint32_t pending, uint64_t count, double *bytes, double *ns);

/* wire.c: two processes on loopback. Half of the window is sent when the half before the last is
 * answered. */
double limit_wire_tell(uint32_t entities, uint32_t window, uint64_t messages);
/* One frame of 104 bytes and its answer, in us. spin: both sides poll for 50 us before they sleep
 * in epoll. */
void limit_wire_ask(int spin, uint32_t asks, double *p50, double *p99);
/* This number of such frames at once, and their answers, in ms. Both sides poll as above. */
double limit_wire_burst(uint32_t trips);

/* gossip.c: one change in a cluster. share: the share of rounds to nodes that have not seen it.
 * Returns the rounds until one node knows that all have seen the change, and until all nodes know
 * it. */
void limit_gossip(uint32_t nodes, uint64_t seed, double share, double *first, double *all);

/* swim.c: SWIM with slow nodes. has_health: with the extensions of Lifeguard; length: ns. `doubts`
 * is open and gets each node that is considered dead. */
struct slow;
struct doubts;
void limit_swim(const struct slow *slow, uint64_t seed, int has_health, uint64_t length, struct doubts *doubts);

uint64_t bench_now(void); /* returns the processor time of this process in ns */
long bench_rss(void);     /* returns the resident bytes of this process */

static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t x = *state;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return *state = x;
}

#endif
