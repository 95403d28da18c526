/* Numbers the actors of JVM nodes, which have names: a ref of Sherd is a number.
 *
 * The number comes from the node and the path, so it is the same on all lanes. Every lane keeps the
 * path; the first reader sends it to the others. The "#uid" in a path makes it mean one
 * incarnation. */
#ifndef SHERD_NODE_NAMES_H
#define SHERD_NODE_NAMES_H

#include <sherd/actor.h>

#include "base/map.h"

#define NAMES_LANE 254u /* above LANES_MAX: no Sherd actor has such a number */

struct named;

/* Zero is an empty table. */
struct names {
    struct map by_number;
    struct named *oldest;
    struct named *newest;
    uint64_t forgotten; /* the oldest names, dropped at NAMES_MAX */
};

void names_fini(struct names *names);
/* Returns the ref of an actor of that node. Path copied; at NAMES_MAX the oldest goes. The result
 * is nobody if the path is empty or longer than NAMES_PATH_MAX, or another actor has its number. */
struct sherd_ref names_put(struct names *names, uint64_t node,
                           struct slice path, bool *is_new);
/* Returns empty if the ref is none of these, or forgotten. Lent until the next names_put. */
struct slice names_path(const struct names *names, struct sherd_ref ref);
bool names_has(struct sherd_ref ref); /* one of these, known or not */
void names_node_gone(struct names *names, uint64_t node);

#endif
