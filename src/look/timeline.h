/* Keeps a node's last decisions for looks: a ring that grows up to its limit. */
#ifndef SHERD_LOOK_TIMELINE_H
#define SHERD_LOOK_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/vec.h"

#define TIMELINE_MAX 512
#define TIMELINE_SHARD_MAX 24 /* bytes of a shard's id; a longer one is cut */

struct timeline_event {
    uint64_t number; /* counts the node's decisions, from 1 */
    uint64_t wall_ms;
    const char *event; /* a literal, as the next one */
    const char *text;  /* or null */
    const char *type;  /* or null; lent for the node's life */
    char shard[TIMELINE_SHARD_MAX];
    struct node_id member; /* uid 0: none */
};

/* Zero is an empty one. */
struct timeline {
    VEC(struct timeline_event) decisions;
    uint64_t count; /* so far */
};

void timeline_fini(struct timeline *timeline);
/* Adds a decision; number: of the node's last one, which this one follows. max: 0: TIMELINE_MAX. */
void timeline_put(struct timeline *timeline, uint32_t max, uint64_t *number,
                  const struct timeline_event *decision);
/* Gives the decision at an index, the newest first; null: there is none. */
const struct timeline_event *timeline_at(const struct timeline *timeline, uint32_t index);

#endif
