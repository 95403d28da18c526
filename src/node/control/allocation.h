/* Connects coordinators with what their allocation strategies need: members' descriptions, later
 * answers of the program, and locations of shards in the users' distributed data. */
#ifndef SHERD_NODE_ALLOCATION_H
#define SHERD_NODE_ALLOCATION_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/allocation.h>

#include "base/bytes.h"

struct control;
struct coordinator_options;
struct machine;

/* A strategy of the program whose slow functions are logged. */
struct timed_strategy {
    struct sherd_allocation_strategy timed;     /* for the coordinator */
    const struct sherd_allocation_strategy *of; /* the program's */
    struct machine *machine;
    const char *type;
};

/* Sets the strategy in the options of a new coordinator. */
void control_allocation_options(struct control *control, uint32_t index,
                                struct coordinator_options *options);
/* Passes an answer in the bytes of allocation_call_put to its coordinator, if it still lives. */
void control_allocation_answer(struct control *control, struct slice bytes);

/* The type has a coordinator, or is about to lose it. Both ignore other strategies. */
void control_locations_begin(struct control *control, uint32_t index);
void control_locations_end(struct control *control, uint32_t index);

#endif
