/* Samples a lane for looks: entities with the most messages, and messages that were not delivered.
 *
 * Entities are sampled only while somebody looks, by SpaceSaving (Metwally, Agrawal, El Abbadi 2005):
 * a fixed table of counters, in which a new entity takes the smallest one over and keeps its count as
 * the error. An entity with more than a share of 1/HOT_MAX of the messages is in it. An undelivered
 * message is a fault, so the last ones are always kept. */
#ifndef SHERD_ACTOR_SAMPLES_H
#define SHERD_ACTOR_SAMPLES_H

#include "actor/actors.h"

#define HOT_MAX 256 /* counters: 6 KiB while somebody looks */
#define UNDELIVERED_SAMPLES_MAX 64

struct hot_entity {
    uint64_t actor;
    uint64_t count; /* at most this many messages */
    uint64_t error; /* of these, perhaps of others */
};

/* Begins to count, or goes on, until `until` (ns). Returns since when it counts. */
uint64_t hot_begin(struct actors *actors, uint64_t until);
/* The counters, lent until the lane runs again; *of: all messages since the begin. */
const struct hot_entity *hot_list(const struct actors *actors, uint32_t *count, uint64_t *of);
uint64_t hot_deadline(const struct actors *actors); /* of hot_end; NEVER: nobody looks */
void hot_end(struct actors *actors); /* frees the counters */

struct undelivered_sample {
    uint64_t number; /* counts all samples, from 1 */
    int64_t wall_ms;
    uint16_t type; /* TYPE_NONE: not to an entity */
    uint8_t reason;
    uint32_t size; /* bytes of its body */
};

/* Gives the sample at an index, the newest first; false: there is none. */
bool undelivered_sample_at(const struct actors *actors, uint32_t index,
                           struct undelivered_sample *sample);

/* For this folder: */
void samples_undelivered(struct actors *actors, uint16_t type, size_t size,
                         enum sherd_reason reason);
/* The running actor, if it is an entity, has handled so many messages. */
void samples_handled(struct actors *actors, uint64_t actor, uint32_t messages);
void samples_fini(struct actors *actors);

#endif
