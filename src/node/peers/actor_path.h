/* Writes and reads the paths of Sherd actors: "/user/a<16 hex>", or "/temp/a<16 hex>.<hex>" for an
 * ask, to Sherd nodes with "." and its time left. */
#ifndef SHERD_NODE_PEERS_ACTOR_PATH_H
#define SHERD_NODE_PEERS_ACTOR_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define NAME_LEFT_SIZE 9

/* Writes "/user/a<16 hex>", or "/temp/a<16 hex>.<hex>" for an ask. Returns its size; text has
 * NAME_MAX bytes. */
size_t name_path(char *text, uint64_t actor, uint64_t ask);
/* Adds the time that an ask has left to its path, or to a literal that ends with it: at most
 * NAME_LEFT_SIZE bytes. Returns the size. */
size_t name_put_left(char *text, size_t size, uint32_t ms);
/* The time left in ms by the path of an ask, or by a literal that ends with it; 0: not told. */
uint32_t name_left(struct slice literal);
bool name_parse(struct slice path, uint64_t *actor, uint64_t *ask); /* false: another form */

#endif
