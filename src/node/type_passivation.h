/* Finds how the entities of a type are passivated: by the strategy that it names or the configured
 * one, with the type's own numbers. */
#ifndef SHERD_NODE_TYPE_PASSIVATION_H
#define SHERD_NODE_TYPE_PASSIVATION_H

#include <sherd/system.h>

#include "node/node.h"

/* Returns why the type's passivation cannot be used, as a literal; null if it can. */
const char *type_passivation_fault(const struct node_settings *settings,
                                   const struct sherd_entity_type *type);
/* Returns which numbers of the type's passivation have no effect, as a literal; null: all have one.
 * The type must be without faults. */
const char *type_passivation_unused(const struct node_settings *settings,
                                    const struct sherd_entity_type *type);
/* Sets the idle time and the limits of a copied type that it does not set itself, and the interval of its
 * own strategy. The type must be without faults, and its `remember` decided. */
void type_passivation_complete(const struct node_settings *settings, struct sherd_entity_type *type);
/* Returns how entities beyond the limits are chosen; null: as for types that say nothing.
 * Owned by the caller. */
struct passivation_settings *type_passivation_choice(const struct node_settings *settings,
                                                     const struct sherd_entity_type *type);
/* Returns the choice for types with a limit whose strategy has no policy. */
struct passivation_settings type_passivation_default(const struct node_settings *settings);
/* Returns a deep copy, and frees one; null is fine. */
const struct sherd_passivation *type_passivation_copy(const struct sherd_passivation *from);
void type_passivation_free(const struct sherd_passivation *copy);

#endif
