/* Rows 14 and 15 as a user meets them: persistent entities of a node of its own, on a journal in a file. */
#ifndef SHERD_BENCH_PERSIST_ENTITIES_H
#define SHERD_BENCH_PERSIST_ENTITIES_H

#include <stdint.h>

#define EVENT_SIZE 100

/* Entities persist an event for each command, and answer when it is durable; each has one command under way. Runs for so many
 * seconds on a new journal in the file; thousand events a second. wait_us: null, or the median time from command to answer. */
double entities_write(const char *path, uint32_t entities, double seconds, double *wait_us);
/* Makes a journal in the file: entities with so many events each. */
void entities_fill(const char *path, uint32_t entities, uint32_t events);
/* A new node on that file is asked for all of them, in the order of entity_at: thousand entities a second that were recovered.
 * Their shards are open when it begins. Fails when an event is missing. */
double entities_recover(const char *path, uint32_t entities, uint32_t events);

/* The entities from 0, each once, in an order that is not that of the file. */
static inline uint32_t entity_at(uint32_t place, uint32_t entities)
{
    return (uint32_t)((uint64_t)place * 7919 % entities); /* a prime, and no divisor of a round number */
}

#endif
