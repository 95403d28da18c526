/* Keeps the snapshots of entities in memory, by persistence id and number. Pure. */
#ifndef SHERD_JOURNAL_IMAGES_H
#define SHERD_JOURNAL_IMAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/map.h"

/* All zero: none. */
struct images {
    struct map table; /* persistence id -> struct image_list; a list stays when it is empty */
};

struct image {
    uint64_t seq;
    struct slice bytes;
};

/* Puts a snapshot, given, in its place. Returns the bytes that it replaces, given, or none. `id` gets
 * the id, lent for the table's life. */
struct slice images_put(struct images *images, struct slice *id, uint64_t seq,
                        struct slice bytes);
/* Removes a snapshot that is there, and gives its bytes. */
struct slice images_take(struct images *images, struct slice id, uint64_t seq);
/* Finds the newest up to a number, lent until it is removed. False: there is none. */
bool images_newest(const struct images *images, struct slice id, uint64_t up_to,
                   struct image *found);
/* Finds the one with so many older ones, lent. False: there is none. */
bool images_at(const struct images *images, struct slice id, uint32_t index,
               struct image *found);
uint32_t images_count(const struct images *images, struct slice id);
void images_fini(struct images *images);

#endif
