/* Checks entity types, for every driver. */
#ifndef SHERD_NODE_ENTITY_TYPE_H
#define SHERD_NODE_ENTITY_TYPE_H

#include <sherd/system.h>

#include "node/node.h"

#define TYPE_SHARDS_MAX 20000 /* as in sherd/system.h */

/* Returns why the type cannot be used, as a literal; null if it can. The type may be null. */
const char *entity_type_fault(const struct sherd_entity_type *type);
/* Returns why the leases of its shards and coordinator cannot be had, as a literal; null if they can.
 * The type must be without faults. */
const char *entity_type_lease_fault(const struct node_settings *settings,
                                    const struct sherd_entity_type *type);
/* Whether its entities persist events. */
bool entity_type_persists(const struct sherd_entity_type *type);
/* Replaces what the type points to, except texts and functions, by copies; frees these. */
void entity_type_copy(struct sherd_entity_type *type);
void entity_type_free(struct sherd_entity_type *type);
/* Returns the strategy's name that the type's unknown one resembles most; null if its name is known,
 * or resembles none. */
const char *entity_type_meant(const struct sherd_entity_type *type);
/* Returns its role, or the configured one; null or blank: none. Lent. */
const char *entity_type_role(const struct node_settings *settings,
                             const struct sherd_entity_type *type);
/* Whether the node has the role; null or blank: yes. */
bool settings_have_role(const struct node_settings *settings, const char *role);
/* Returns the strategy of a type without faults. */
enum allocation_kind entity_type_allocation(const struct node_settings *settings,
                                            const struct sherd_entity_type *type);
/* Whether two types would share a path or a name on some node: regions, proxies, coordinators,
 * replicators. If so, appends it to `name`. Both must be without faults; `other` may be `type`. The
 * function reads only the data center and the default role of the settings. */
bool entity_types_clash(const struct node_settings *settings,
                        const struct sherd_entity_type *type,
                        const struct sherd_entity_type *other,
                        struct buf *name);

#endif
