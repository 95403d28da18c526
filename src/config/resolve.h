/* Resolves a tree: ${...}, joined parts, stacked values. Only objects, lists and texts remain. */
#ifndef SHERD_CONFIG_RESOLVE_H
#define SHERD_CONFIG_RESOLVE_H

#include "base/map.h"
#include "config/tree.h"

/* Is a key never read, with all below it? It begins with the root's name. */
typedef bool (*config_skip)(const char *key);

/* Returns the resolved root: a new object in the same tree. environment maps names to texts, for
 * names that no text defines; an unset key of the table gives its default. A skipped key gets a node
 * of NODE_SKIPPED, and its references need no value; skip may be null. Null: see problem. */
struct node *tree_resolve(struct tree *tree, const struct map *environment,
                          config_skip skip, struct config_problem *problem);

#endif
