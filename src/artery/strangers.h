/* Orders the peers that may be forgotten, by their last handshake. Called by peers.c only.
 *
 * A peer is named by its index in peers.h. */
#ifndef SHERD_ARTERY_STRANGERS_H
#define SHERD_ARTERY_STRANGERS_H

#include <stdint.h>

#include "base/vec.h"

#define STRANGERS_NONE UINT32_MAX

struct stranger {
    uint32_t older, newer; /* STRANGERS_NONE: none */
};

struct strangers {
    VEC(struct stranger) places; /* by index of the peer, as far as one of them was put */
    uint32_t oldest, newest;     /* valid if there is one */
    uint32_t count;
};

/* Zero is an empty list. */
void strangers_fini(struct strangers *strangers);
/* Adds a peer that is not in the list, as the newest. */
void strangers_put(struct strangers *strangers, uint32_t index);
/* Removes a peer that is in the list. */
void strangers_take(struct strangers *strangers, uint32_t index);
/* Returns the one whose last handshake is the oldest, or STRANGERS_NONE. */
uint32_t strangers_oldest(const struct strangers *strangers);

#endif
