/* Actors of JVM nodes, which have names: a ref of this library is a number. The number is made from the node and the path, so that all
 * lanes have the same one; the path is kept by every lane, told by the one that read it first. A path contains the "#uid" that it came
 * with, and so means one incarnation. */
#ifndef SHERD_NODE_NAMES_H
#define SHERD_NODE_NAMES_H

#include <sherd/actor.h>

#include "base/map.h"

#define NAMES_LANE 254u /* above LANES_MAX: no actor of this library has such a number */

struct named;

/* Zero is an empty one. */
struct names {
    struct map by_number;
    struct named *oldest;
    struct named *newest;
    uint64_t forgotten; /* at NAMES_MAX, the oldest */
};

void names_fini(struct names *names);
/* The ref of an actor of that node. Path copied; the oldest goes at NAMES_MAX. *is_new: it was not there. Nobody when the path is
 * longer than NAMES_PATH_MAX or empty, or when its number is another one's. */
struct sherd_ref names_put(struct names *names, uint64_t node,
                           struct slice path, bool *is_new);
/* Empty when the ref is none of these, or forgotten. Lent until the next names_put. */
struct slice names_path(const struct names *names, struct sherd_ref ref);
bool names_has(struct sherd_ref ref); /* it is one of these, known or not */
void names_node_gone(struct names *names, uint64_t node);

#endif
