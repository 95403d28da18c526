/* What is written to connections, counted by kind of message: which of them a cluster's bytes are. */
#ifndef SHERD_CMD_SIM_FRAMES_H
#define SHERD_CMD_SIM_FRAMES_H

#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"

struct frame_kind {
    char name[24]; /* serializer and manifest, as "5 GE" */
    uint64_t count;
    uint64_t bytes; /* with lengths and envelopes */
};

/* Zero is an empty one. */
struct frames {
    struct map inlets; /* number of a connection -> what splits it */
    VEC(struct frame_kind) kinds;
};

void frames_fini(struct frames *frames);
/* Takes in what was written to a connection, in order from its first byte. */
void frames_written(struct frames *frames, uint64_t pipe, struct slice bytes);
void frames_ended(struct frames *frames, uint64_t pipe);
/* Prints the kinds that are at least a fiftieth of all, for each of the nodes, and begins to count anew. */
void frames_print(struct frames *frames, uint32_t nodes, double seconds);

#endif
