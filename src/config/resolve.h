/* Resolves a tree: ${...}, joined parts, stacked values. Only objects, lists and texts remain. */
#ifndef SHERD_CONFIG_RESOLVE_H
#define SHERD_CONFIG_RESOLVE_H

#include "base/map.h"
#include "config/tree.h"

/* Returns the resolved root: a new object in the same tree. environment maps names to texts, for
 * names that no text defines; an unset key of the table gives its default. Null: see problem. */
struct node *tree_resolve(struct tree *tree, const struct map *environment,
                          struct config_problem *problem);

#endif
