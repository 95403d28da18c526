/* Defines the count of daemons as members store it: an OR-set of distributed data with one text for
 * each state that was not replaced yet. The state of the highest revision counts. */
#ifndef SHERD_SERVICES_DAEMONS_STATE_H
#define SHERD_SERVICES_DAEMONS_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

struct daemons_state {
    uint32_t revision; /* 0: of the program */
    uint32_t count;
    uint32_t former; /* the count of the revision before */
    bool is_complete; /* the former daemons have ended */
};

#define DAEMONS_STATE_MAX 40 /* bytes of its text, with a zero byte */

void daemons_state_put(char text[DAEMONS_STATE_MAX], const struct daemons_state *state);
bool daemons_state_read(struct slice text, struct daemons_state *state); /* false: another form */
/* Takes the other state if it is later. A complete state is later than another one of its revision,
 * then a larger count is: two coordinators may have acted on two sides of a split. */
void daemons_state_merge(struct daemons_state *state, const struct daemons_state *other);

#endif
