/* Fills in a tree: ${...}, joined parts, values over values. After it only
 * objects, lists and texts are left. */
#ifndef SHERD_CONFIG_RESOLVE_H
#define SHERD_CONFIG_RESOLVE_H

#include "base/map.h"
#include "config/tree.h"

/* The tree's root, filled in: a new object that lives in the same tree.
 * environment maps names to texts, for names that no text defines; a key of the
 * table that is not set gives its default. Null: see problem. */
struct node *tree_resolve(struct tree *tree, const struct map *environment,
                          struct config_problem *problem);

#endif
