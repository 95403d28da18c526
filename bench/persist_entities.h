/* Stores and recovers events of persistent entities on a node with a journal, for rows 14, 15 and 26.
 * The journal's name is that of struct sherd_options. */
#ifndef SHERD_BENCH_PERSIST_ENTITIES_H
#define SHERD_BENCH_PERSIST_ENTITIES_H

#include <stdint.h>

#define EVENT_SIZE 100

/* Runs entities on a new journal for this number of seconds. Each entity has one command
 * underway, persists an event for it, and answers when it is durable. Returns thousand events in a
 * second. wait_us: null, or gets the median time from command to answer. */
double entities_write(const char *journal, uint32_t entities, double seconds, double *wait_us);
/* Fills a journal in which each entity has this number of events. */
void entities_fill(const char *journal, uint32_t entities, uint32_t events);
/* Starts a node on this journal and asks all entities in the order of entity_at, after all shards have
 * started. Returns thousand recovered entities in a second. Ends the program if an event is
 * missing. */
double entities_recover(const char *journal, uint32_t entities, uint32_t events);

/* Returns the entity at a place in an order that differs from the file's. Each entity appears
 * once. */
static inline uint32_t entity_at(uint32_t place, uint32_t entities)
{
    return (uint32_t)((uint64_t)place * 7919 % entities); /* a prime that divides no round number */
}

#endif
