/* Random operations on a lane's actors, with a model of the node around them that checks what must always hold: order
 * from each sender to each entity, nothing lost or twice, no effect before its event is durable, all memory back.
 * Used by a unit test over seeds and by a fuzz target. */
#ifndef SHERD_TEST_ACTOR_RANDOM_H
#define SHERD_TEST_ACTOR_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Runs one life; bytes decide what happens. Aborts when something does not hold; returns a digest of all that was
 * delivered. */
uint64_t random_life(const uint8_t *bytes, size_t size);

#endif
