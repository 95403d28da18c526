/* Remembers which parts of a journal's file are damaged. They are refused, and the rest is served.
 *
 * A part is an entity (its persistence id), its snapshots, a shard's fence, or a page that none of these needs. All
 * connections of a process to one journal share the list. Any thread. Every function accepts null, a
 * list that stays empty. */
#ifndef SHERD_HOST_BACKEND_DAMAGE_H
#define SHERD_HOST_BACKEND_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "journal/backend.h"

#define BACKEND_PART_SIZE 256 /* bytes of a part's name, with its zero; longer ones are cut */

struct backend_damage;

/* Receives a part when it is added, and why; null: it was found intact again. Lent. */
typedef void (*backend_damaged)(void *context, const char *part, const char *why);

struct backend_damaged_part {
    char name[BACKEND_PART_SIZE];
    char why[BACKEND_ERROR_MAX];
};

struct backend_damage *backend_damage_new(backend_damaged told, void *context);
void backend_damage_free(struct backend_damage *damage);

/* Adds a part, unless it is known. At BACKEND_DAMAGED_MAX it is only counted and told: the part is
 * found again whenever it is used. */
void backend_damage_add(struct backend_damage *damage, struct slice part,
                        const char *why);
void backend_damage_remove(struct backend_damage *damage, struct slice part);
/* True: the part is damaged, and why (BACKEND_ERROR_MAX bytes) has the reason. */
bool backend_damage_find(struct backend_damage *damage, struct slice part,
                         char *why);
/* Copies the first parts. Returns how many there are in all. */
uint64_t backend_damage_list(struct backend_damage *damage,
                             struct backend_damaged_part *parts, uint32_t max);

/* Writes the name of the part of an entity's snapshots: damage there does not refuse the entity. */
void backend_damage_snapshots(char name[BACKEND_PART_SIZE], struct slice id);
/* Writes the name of a shard's part. */
void backend_damage_shard(char name[BACKEND_PART_SIZE], struct slice type,
                          struct slice shard);

#endif
