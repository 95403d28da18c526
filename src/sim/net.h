/* The network of a world: connections between nodes, and what can be wrong with them.
 *
 * A connection is a pipe: bytes arrive in the order of writing, each piece after a drawn delay; nothing is promised between
 * two pipes. Only the node that opened it writes (artery does not answer on a connection). A path is all that goes from one
 * node to another, directed: a fault of a path from A to B is met by the bytes of A's connections to B, and by what comes back
 * on B's connections to A. */
#ifndef SHERD_SIM_NET_H
#define SHERD_SIM_NET_H

#include <stdbool.h>
#include <stdint.h>

struct world;

#define NET_ALL UINT32_MAX /* as a node: every one */

/* Which connections a cut stops: a set. */
enum net_streams {
    NET_CONTROL = 1,
    NET_ORDINARY = 2,
    NET_BOTH = 3,
};

/* Between two nodes, both ways: nothing arrives while it is cut, connecting times out; what was on its way comes late. */
void net_part(struct world *world, uint32_t left, uint32_t right, bool cut);

#endif
