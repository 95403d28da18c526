/* Runs random operations on a lane's actors. A model of the node checks what must always hold:
 * order from each sender to each entity, nothing lost or twice, no effect before its event is
 * durable, all memory back. A unit test over seeds and a fuzz target use it. */
#ifndef SHERD_TEST_ACTOR_RANDOM_H
#define SHERD_TEST_ACTOR_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Runs one life, decided by the bytes. Aborts when a check fails; returns a digest of all
 * deliveries. */
uint64_t random_life(const uint8_t *bytes, size_t size);

#endif
