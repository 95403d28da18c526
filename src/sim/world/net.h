/* Declares the network of a world: connections between nodes, and their faults.
 *
 * A connection is a pipe: bytes arrive in order, each piece after a drawn delay. Two pipes have no
 * common order. Only the node that opened a pipe writes. A path is everything from one node to
 * another, in one direction. A fault of the path from A to B affects the bytes of A's connections
 * to B, and the answers, acknowledgements and resets on B's connections to A.
 *
 * Nodes are named by index, running or not. Faults stay until they are taken back, across
 * incarnations. */
#ifndef SHERD_SIM_WORLD_NET_H
#define SHERD_SIM_WORLD_NET_H

#include <stdbool.h>
#include <stdint.h>

struct world;

#define NET_ALL UINT32_MAX /* for net_delay: every node */

/* The set of connections that a cut stops. */
enum net_streams {
    NET_CONTROL = 1,
    NET_ORDINARY = 2,
    NET_BOTH = 3,
};

/* Cuts or heals these streams of a path. Bytes and calls stall and arrive late. Connections in the
 * other direction get no acknowledgements. A call fails after 5 s, a connection with unanswered
 * bytes after settings.give_up. */
void net_cut(struct world *world, uint32_t from, uint32_t to,
             enum net_streams streams, bool on);
/* Cuts or heals both streams in both directions. */
void net_part(struct world *world, uint32_t left, uint32_t right, bool cut);
/* Cuts both streams of a path until that time of the world, which a later call replaces. A past
 * time ends the cut. */
void net_clog(struct world *world, uint32_t from, uint32_t to, uint64_t until);
/* Sets the delay of each piece on this path: at least min, on average mean ns. NET_ALL for one or
 * both nodes means all paths between known nodes; for both it includes future nodes. */
void net_delay(struct world *world, uint32_t from, uint32_t to, uint64_t min,
               uint64_t mean);

/* Breaks all connections between two nodes: both ends are told, bytes in flight are lost. Returns
 * how many had such bytes. */
uint32_t net_reset(struct world *world, uint32_t left, uint32_t right);
/* Makes all connections from `from` to `to` silent: nothing arrives, and no end is told. The writer
 * continues until its kernel gives up. Returns their number. */
uint32_t net_half_open(struct world *world, uint32_t from, uint32_t to);

/* Effects of faults on a path so far. */
struct net_harm {
    uint64_t held;   /* calls, pieces and answers that were due during a cut or clog */
    uint64_t slowed; /* with a delay of this path's own */
};
struct net_harm net_harm(const struct world *world, uint32_t from, uint32_t to);

/* Calls to a node are refused, as without a listener. */
void net_refuse(struct world *world, uint32_t node, bool on);
void net_black_hole(struct world *world, uint32_t node, bool on);
/* A node delays its first read from a new connection. */
void net_slow_accept(struct world *world, uint32_t node, uint64_t ns);

#endif
