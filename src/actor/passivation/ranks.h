/* Declares the ranks of a lane's entities: which entity is used less than which.
 *
 * A rank is the place of a slot in the lists of its shard's strategy (strategy.h): 12 bytes for each
 * slot of the lane. A slot is known only by its number, from 1. */
#ifndef SHERD_ACTOR_PASSIVATION_RANKS_H
#define SHERD_ACTOR_PASSIVATION_RANKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define RANK_SLOT_BITS 25 /* ACTOR_SLOTS_MAX fits */
#define RANK_SLOT_MASK ((1u << RANK_SLOT_BITS) - 1)
#define RANK_ACCESSES_FULL ((1u << 19) - 1)

enum rank_area {
    RANK_NONE, /* not active, or passivated */
    RANK_WINDOW,
    RANK_MAIN
};

/* Accesses are counted for dynamic aging only. */
struct rank {
    uint32_t previous : RANK_SLOT_BITS; /* less recent; 0 = none */
    uint32_t accesses_low : 7;
    uint32_t next : RANK_SLOT_BITS;
    uint32_t accesses_middle : 7;
    uint32_t list : RANK_SLOT_BITS; /* segment, or bucket of a frequency */
    uint32_t accesses_high : 5;
    uint32_t area : 2; /* enum rank_area */
};

_Static_assert(sizeof(struct rank) == 12, "a rank costs 12 bytes");

struct slots {
    uint32_t *items;
    uint32_t count, capacity;
};

struct ranks {
    struct rank *items; /* by slot */
    uint32_t count;
    /* Returns the hash of the entity's id, for the frequency sketch: 32 bits, the same for each
     * incarnation. */
    uint32_t (*hash)(const void *user, uint32_t slot);
    const void *user;
    struct slots passivated; /* result of the last call */
    struct slots moved;      /* between two areas, during a call */
};

static inline void rank_set_previous(struct rank *rank, uint32_t slot)
{
    rank->previous = slot & RANK_SLOT_MASK;
}

static inline void rank_set_next(struct rank *rank, uint32_t slot)
{
    rank->next = slot & RANK_SLOT_MASK;
}

static inline void rank_set_list(struct rank *rank, uint32_t list)
{
    rank->list = list & RANK_SLOT_MASK;
}

static inline uint32_t rank_accesses(const struct rank *rank)
{
    return (uint32_t)rank->accesses_low | (uint32_t)rank->accesses_middle << 7 |
           (uint32_t)rank->accesses_high << 14;
}

static inline void rank_set_accesses(struct rank *rank, uint32_t accesses)
{
    rank->accesses_low = accesses & 0x7f;
    rank->accesses_middle = accesses >> 7 & 0x7f;
    rank->accesses_high = accesses >> 14 & 0x1f;
}

static inline bool ranks_have(const struct ranks *ranks, uint32_t slot)
{
    return slot < ranks->count && ranks->items[slot].area != RANK_NONE;
}

/* Makes room for a slot. */
void ranks_room(struct ranks *ranks, uint32_t slot);
void ranks_fini(struct ranks *ranks);

#endif
