/* Describes entities of a lane, for looks. It changes nothing, and starts nothing.
 *
 * A walk goes by slot: a slot never moves, so no entity that stays is missed. */
#ifndef SHERD_ACTOR_ENTITY_VIEW_H
#define SHERD_ACTOR_ENTITY_VIEW_H

#include "actor/actors.h"

struct entity_view {
    uint16_t type;
    int32_t shard;
    uint32_t generation; /* of its incarnation */
    struct slice id;     /* lent until the next call that changes the actors */
    const char *status;  /* a literal */
    uint32_t mailbox;
    bool may_idle;    /* its type passivates idle entities: the next two are known */
    uint64_t idle_ms; /* without a message through sharding, */
    uint64_t idle_step_ms; /* with this resolution */
    bool persists;    /* the next two are known */
    uint64_t seq;     /* of its last event */
    uint32_t undurable; /* events */
    uint32_t held;    /* effects that wait for durability */
    uint32_t asks;    /* and jobs */
    uint32_t timers;
    uint32_t attempts; /* failed starts in a row */
    const char *fault; /* why it does not start; or null; lent likewise */
    uint64_t state_bytes;
    uint64_t own_bytes; /* by sherd_entity_bytes, rounded to KiB */
};

/* The slots are numbered from 1 to below this. */
uint32_t entity_view_slots(const struct actors *actors);
/* Describes the entity in a slot; false: there is none. */
bool entity_view_at(const struct actors *actors, uint32_t slot, struct entity_view *view);
/* The same for an incarnation; false: it has ended, or is no entity. */
bool entity_view_of(const struct actors *actors, uint64_t actor, struct entity_view *view);
uint32_t entity_view_find(const struct actors *actors, uint16_t type, struct slice id); /* 0: none */
/* The slot at a place of a shard, from 0 to below actors_shard_entities; 0: none. A walk from the last
 * place to the first misses no entity that stays, but may see one twice. */
uint32_t entity_view_place(const struct actors *actors, uint16_t type, int32_t shard,
                           uint32_t place);

#endif
