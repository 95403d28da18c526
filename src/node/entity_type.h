/* What an entity type must be, whichever driver it is given to. */
#ifndef SHERD_NODE_ENTITY_TYPE_H
#define SHERD_NODE_ENTITY_TYPE_H

#include <sherd/system.h>

#define TYPE_SHARDS_MAX 10000 /* as sherd/system.h says */

/* Why it cannot be taken, as a literal; null when it can. The type may be null. */
const char *entity_type_fault(const struct sherd_entity_type *type);

#endif
