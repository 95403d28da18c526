/* Counts the bytes written to connections by kind of message. */
#ifndef SHERD_CMD_SIM_FRAMES_H
#define SHERD_CMD_SIM_FRAMES_H

#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"

struct frame_kind {
    char name[24]; /* serializer and manifest, such as "5 GE" */
    uint64_t count;
    uint64_t bytes; /* with lengths and envelopes */
};

/* Zero is empty. */
struct frames {
    struct map inlets; /* number of a connection -> its inlet */
    VEC(struct frame_kind) kinds;
};

void frames_fini(struct frames *frames);
/* Takes the bytes written to a connection, in order from the first. */
void frames_written(struct frames *frames, uint64_t pipe, struct slice bytes);
void frames_ended(struct frames *frames, uint64_t pipe);
/* Prints the kinds with at least a fiftieth of all bytes, divided by the nodes, and resets the
 * counts. */
void frames_print(struct frames *frames, uint32_t nodes, double seconds);

#endif
