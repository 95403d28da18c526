/* Writes and reads the paths of Sherd actors: "/user/a<16 hex>", or "/temp/a<16 hex>.<hex>" for an
 * ask. */
#ifndef SHERD_NODE_PEERS_ACTOR_PATH_H
#define SHERD_NODE_PEERS_ACTOR_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* Writes "/user/a<16 hex>", or "/temp/a<16 hex>.<hex>" for an ask. Returns its size; text has
 * NAME_MAX bytes. */
size_t name_path(char *text, uint64_t actor, uint64_t ask);
bool name_parse(struct slice path, uint64_t *actor, uint64_t *ask); /* false: another form */

#endif
