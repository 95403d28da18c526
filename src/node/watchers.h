/* Watchers on JVM nodes. They are no actors of this library: a JVM node watches in the name of its remote watcher, once for each watched
 * actor (wire 3.4). Each watch gets a number here, by which the actors' core knows its watcher, and keeps both texts, which the notice of
 * the end must repeat as they came. A lane owns the watches of its actors. */
#ifndef SHERD_NODE_WATCHERS_H
#define SHERD_NODE_WATCHERS_H

#include <sherd/actor.h>

#include "base/map.h"
#include "base/peer.h"

struct watcher {
    uint64_t number; /* of no actor: of a lane that no node has */
    uint64_t node;   /* uid of the watcher's node */
    struct buf key;  /* the uid, and both texts with a zero byte behind the first */
    struct slice watchee; /* of the key */
    struct slice watcher; /* likewise */
};

/* Zero is an empty one. */
struct watchers {
    struct map by_number;
    struct map by_key;
    uint64_t last;    /* number given */
    uint64_t refused; /* at WATCHERS_MAX */
};

void watchers_fini(struct watchers *watchers);
/* The ref of a watcher; the same for the same texts. Nobody at WATCHERS_MAX. Texts copied. */
struct sherd_ref watchers_put(struct watchers *watchers, uint64_t node,
                              struct slice watchee, struct slice watcher);
/* The ref that it has; nobody when it has none. */
struct sherd_ref watchers_known(const struct watchers *watchers, uint64_t node,
                                struct slice watchee, struct slice watcher);
/* Null when the ref is none of these. */
const struct watcher *watchers_find(const struct watchers *watchers,
                                    struct sherd_ref ref);
void watchers_drop(struct watchers *watchers, struct sherd_ref ref); /* unknown is fine */
void watchers_node_gone(struct watchers *watchers, uint64_t node);

#endif
