/* Remembered entities in distributed data, on control: what lanes want read and stored of their shards' sets (shard/remember_keys.h), and
 * which shards a coordinator starts without being asked. Behaviour 19.3.
 *
 * A set is read from a majority; keys of which too few replicas answer in time are read again, fourteen times in all. A key that too few
 * confirm in time is written again three times; then the write has failed, as it has at once when the own disk refuses it, and the lane
 * reads anew, later. All as in the reference. A shard is put into the type's set of shards with its first write in a node's life. Where a
 * key would grow beyond what an entry may have, its starts are refused and the rest of the write stands. */
#ifndef SHERD_NODE_REMEMBER_DATA_H
#define SHERD_NODE_REMEMBER_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "node/read_window.h"

#define REMEMBER_TOKEN (UINT64_C(1) << 63) /* the top bit: of a token that is of remembered entities */

struct control;
struct dd_value;
struct letter;
struct replicator_news;

struct remember_data {
    struct map calls; /* number -> struct remember_call: not answered yet */
    uint64_t number;  /* of the last read of a type's shards */
    uint32_t waiting; /* types whose shards are read again */
    uint8_t doublings; /* of the time that a key's write has: so many failed for want of time, less those that took a quarter of it */
    bool is_crowded;   /* a key was not followed, since there are too many; said once */
    uint32_t followed; /* keys of shards: remember_follow.h */
    struct read_window window;   /* of reads of shards' keys */
    VEC(uint64_t) queue;         /* tokens of those that wait for it */
    uint32_t head;               /* of the queue: those before it have begun */
};

/* Of one type. */
struct type_remembering {
    VEC(bool) listed; /* by shard_place: a majority has it in the set of shards */
    uint64_t read_at; /* when the shards are read again for the coordinator; 0: they are not */
};

void remember_data_init(struct control *control);
void remember_data_fini(struct control *control);
void remember_data_letter(struct control *control, uint32_t lane,
                          struct letter *letter); /* LETTER_REMEMBER */
/* The type's coordinator is active: reads its shards, until they are there or it is gone. */
void remember_data_list(struct control *control, uint32_t type);
bool remember_data_has(uint64_t token); /* is a replicator's call from here? */
void remember_data_answer(struct control *control,
                          const struct replicator_news *news);
void remember_data_modify(struct control *control, uint64_t token);
/* The ids in a set, each behind a byte of its size. strange: counts up what is none. */
uint64_t remember_data_ids(struct buf *ids, const struct dd_value *set,
                           uint64_t *strange);
void remember_data_step(struct control *control); /* what is due */
uint64_t remember_data_deadline(const struct control *control);

#endif
