/* The network of a world: connections between nodes, and what can be wrong with them.
 *
 * A connection is a pipe: bytes arrive in the order of writing, each piece after a drawn delay; nothing is promised between
 * two pipes. Only the node that opened it writes (artery does not answer on a connection). A path is all that goes from one
 * node to another, directed: a fault of the path from A to B is met by the bytes of A's connections to B, and by what comes
 * back on B's connections to A: that they are open, that bytes have arrived, that they were reset.
 *
 * Nodes are named by index, whether they run or not. Faults stay until they are taken back, over the nodes' lives. */
#ifndef SHERD_SIM_NET_H
#define SHERD_SIM_NET_H

#include <stdbool.h>
#include <stdint.h>

struct world;

#define NET_ALL UINT32_MAX /* as a node of net_delay: every one */

/* Which connections a cut stops: a set. */
enum net_streams {
    NET_CONTROL = 1,
    NET_ORDINARY = 2,
    NET_BOTH = 3,
};

/* Cuts these streams of a path, or mends them; others stay as they are. Bytes and calls stall and come late when it heals; of a
 * connection in the other direction no answer comes, so that what is in flight stays full. A call fails after 5 s, a connection
 * with unanswered bytes after settings.give_up. */
void net_cut(struct world *world, uint32_t from, uint32_t to,
             enum net_streams streams, bool on);
/* Cuts or mends both streams both ways. */
void net_part(struct world *world, uint32_t left, uint32_t right, bool cut);
/* Nothing arrives on this path before that time of the world: a cut of both streams that heals by itself. The time replaces one
 * that was set before; one that is not to come ends it now. */
void net_clog(struct world *world, uint32_t from, uint32_t to, uint64_t until);
/* The delay of each piece on this path from now on: at least min, on average mean ns. NET_ALL for one or both nodes: all paths
 * between nodes known so far; for both also those of nodes to come. */
void net_delay(struct world *world, uint32_t from, uint32_t to, uint64_t min,
               uint64_t mean);

/* All connections between two nodes break: both ends are told soon, bytes in flight are lost. Returns how many
 * had such bytes. */
uint32_t net_reset(struct world *world, uint32_t left, uint32_t right);
/* All connections that `from` has opened to `to` vanish from the network: nothing arrives any more and neither end is told. The
 * writer writes until its kernel gives up or it closes the connection itself. Returns how many. */
uint32_t net_half_open(struct world *world, uint32_t from, uint32_t to);

/* What faults have done on a path so far: for who asks whether a fault does anything. */
struct net_harm {
    uint64_t held;   /* calls, pieces and answers that could not come when they were due: cut, or clogged */
    uint64_t slowed; /* that had a delay of this path's own */
};
struct net_harm net_harm(const struct world *world, uint32_t from, uint32_t to);

/* Calls to a node are refused, as when nobody listens. */
void net_refuse(struct world *world, uint32_t node, bool on);
/* Calls to a node are never answered. */
void net_black_hole(struct world *world, uint32_t node, bool on);
/* A node reads nothing from a new connection for that long. */
void net_slow_accept(struct world *world, uint32_t node, uint64_t ns);

#endif
