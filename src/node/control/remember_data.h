/* Keeps remembered entities in distributed data, on control: reads and writes sets of shards for
 * lanes (shard/remember_keys.h), and lists the shards that a coordinator starts.
 *
 * All times and tries are Akka's. A set is read from a majority; keys without enough answers are
 * read again, fourteen times in all. A key without enough confirmations is written three times
 * more, then the write fails; a refusal by this node's disk fails it at once. The lane then reads
 * anew, later. A shard enters the type's set of shards with its first write. If a key would exceed
 * the size of an entry, its starts are refused and the rest of the write stands. */
#ifndef SHERD_NODE_REMEMBER_DATA_H
#define SHERD_NODE_REMEMBER_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/vec.h"
#include "node/control/read_window.h"

#define REMEMBER_TOKEN (UINT64_C(1) << 63)

struct control;
struct dd_value;
struct mail_content;
struct replicator_news;

struct remember_data {
    struct map calls; /* number -> struct remember_call */
    uint64_t number;  /* of the last read of a type's shards */
    uint32_t waiting;
    /* doublings of a write's time: one more for each write that was too slow, one less for each
     * that took a quarter of the time */
    uint8_t doublings;
    bool is_crowded;   /* keys were not followed, because there are too many; logged once */
    uint32_t followed; /* keys: remember_events.h */
    struct read_window window;
    VEC(uint64_t) queue;         /* tokens that wait for it */
    uint32_t head;               /* first one that has not begun */
};

struct type_remembering {
    VEC(bool) listed; /* by shard_place: a majority has it in the set of shards */
    uint64_t read_at; /* time of the next read for the coordinator; 0: none */
};

void remember_data_init(struct control *control);
void remember_data_fini(struct control *control);
void remember_data_mail(struct control *control, uint32_t lane,
                          const struct mail_content *content); /* MAIL_REMEMBER */
/* The coordinator is active: reads its shards, until they are there or it is gone. */
void remember_data_list(struct control *control, uint32_t type);
bool remember_data_has(uint64_t token); /* a token of this file */
void remember_data_answer(struct control *control,
                          const struct replicator_news *news);
void remember_data_modify(struct control *control, uint64_t token);
/* Appends ids, each after its size (a byte). strange: counts elements that are none. */
uint64_t remember_data_ids(struct buf *ids, const struct dd_value *set,
                           uint64_t *strange);
void remember_data_step(struct control *control);
uint64_t remember_data_deadline(const struct control *control);

#endif
