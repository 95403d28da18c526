/* Numbers the watchers on JVM nodes, which are no Sherd actors: a JVM node watches in the name of
 * its remote watcher, once for each watched actor.
 *
 * A watch keeps both texts, because the notice of the end must repeat them exactly. A lane owns the
 * watches of its actors. */
#ifndef SHERD_NODE_WATCHERS_H
#define SHERD_NODE_WATCHERS_H

#include <sherd/actor.h>

#include "base/map.h"
#include "base/member_info.h"

struct watcher {
    uint64_t number; /* the number of no actor: no node has its lane */
    uint64_t node;   /* uid of the watcher's node */
    struct buf key;  /* the uid, and both texts with a zero byte after the first */
    struct slice watchee; /* part of the key */
    struct slice watcher; /* part of the key */
};

/* Zero is an empty table. */
struct watchers {
    struct map by_number;
    struct map by_key;
    uint64_t last;
    uint64_t refused; /* refused at WATCHERS_MAX */
};

void watchers_fini(struct watchers *watchers);
/* Returns the same ref for the same texts; nobody at WATCHERS_MAX. Texts copied. */
struct sherd_ref watchers_put(struct watchers *watchers, uint64_t node,
                              struct slice watchee, struct slice watcher);
/* Returns nobody if there is none. */
struct sherd_ref watchers_known(const struct watchers *watchers, uint64_t node,
                                struct slice watchee, struct slice watcher);
/* Returns null if the ref is none of these. */
const struct watcher *watchers_find(const struct watchers *watchers,
                                    struct sherd_ref ref);
void watchers_drop(struct watchers *watchers, struct sherd_ref ref);
void watchers_node_gone(struct watchers *watchers, uint64_t node);

#endif
