/* What an entity type must be, whichever driver it is given to. */
#ifndef SHERD_NODE_ENTITY_TYPE_H
#define SHERD_NODE_ENTITY_TYPE_H

#include <sherd/system.h>

#include "node/node.h"

#define TYPE_SHARDS_MAX 10000 /* as sherd/system.h says */

/* Why it cannot be taken, as a literal; null when it can. The type may be null. */
const char *entity_type_fault(const struct sherd_entity_type *type);
/* Is something of one type called like something of the other one, on whichever node: regions, proxies, coordinators, and the
 * replicator of its role? Then appends what it is, a path or a name, to `name`. Both are without faults. Of the settings only the
 * data center and the default role are read; `other` may be `type` itself. */
bool entity_types_clash(const struct node_settings *settings,
                        const struct sherd_entity_type *type,
                        const struct sherd_entity_type *other,
                        struct buf *name);

#endif
