/* Moves entities that belong to another shard since the number of shards changed: requests their
 * start there until acknowledged, then stores their stop here. */
#include "shard/remember_inside.h"

#include "base/bound.h"
#include "base/limits.h"
#include "base/mark.h"

#define DOUBLINGS 4 /* of the pause between requests */

static void slot_free(struct remember *remember, struct remembered *entity)
{
    struct remember_slot *slot;

    if (!entity->slot)
        return;
    slot = &remember->slots.items[entity->slot - 1];
    slot->entity = NULL;
    slot->generation++;
    vec_push(&remember->slots_free, entity->slot - 1);
    entity->slot = 0;
}

static bool has_slot(const struct remember *remember)
{
    return remember->slots_free.count ||
           remember->slots.count < remember->options.moves_max;
}

static uint32_t slot_take(struct remember *remember)
{
    if (remember->slots_free.count)
        return remember->slots_free.items[--remember->slots_free.count];
    vec_push(&remember->slots, ((struct remember_slot){ 0 }));
    BOUNDED("entities on their way to other shards", remember->slots.count,
            remember->options.moves_max);
    return remember->slots.count - 1;
}

static void ask_to_move(struct remember *remember, uint64_t now, int32_t shard,
                        struct remembered *entity)
{
    uint32_t index = slot_take(remember);
    struct remember_slot *slot = &remember->slots.items[index];

    slot->entity = entity;
    slot->shard = shard;
    entity->slot = index + 1;
    timers_put(&remember->timers,
               now + (remember->options.move_again << entity->moves),
               REMEMBER_TIMER_MOVE, index, slot->generation);
    if (entity->moves < DOUBLINGS)
        entity->moves++;
    remember_tell(remember, REMEMBER_MOVE, shard, entity);
}

static struct remembered *next_of(struct remember_shard *at)
{
    while (at->move_head < at->moves.count) {
        struct remembered *entity = at->moves.items[at->move_head++];

        if (!entity)
            continue;
        entity->move_at = 0;
        return entity;
    }
    vec_fini(&at->moves);
    at->move_head = 0;
    return NULL;
}

/* As many as there is room for, from each shard in turn, so that none waits for another's
 * answers. */
static void go_on(struct remember *remember, uint64_t now)
{
    while (remember->movers.count && has_slot(remember)) {
        struct remember_shard *at;
        struct remembered *entity;
        int32_t shard;

        if (remember->mover_at >= remember->movers.count)
            remember->mover_at = 0;
        shard = remember->movers.items[remember->mover_at];
        at = remember_here(remember, shard);
        entity = next_of(at);
        if (entity) {
            ask_to_move(remember, now, shard, entity);
            remember->mover_at++;
        } else {
            at->is_mover = false;
            vec_remove(&remember->movers, remember->mover_at);
        }
    }
}

static void close_up(struct remember_shard *at)
{
    uint32_t left = 0;

    if (at->move_head <= 64 || at->move_head * 2 <= at->moves.count)
        return;
    for (uint32_t i = at->move_head; i < at->moves.count; i++) {
        struct remembered *entity = at->moves.items[i];

        if (!entity)
            continue;
        at->moves.items[left++] = entity;
        entity->move_at = left;
    }
    at->move_head = 0;
    at->moves.count = left;
}

static void line_up(struct remember *remember, struct remember_shard *at,
                    int32_t shard, struct remembered *entity)
{
    close_up(at);
    if (!at->is_mover)
        vec_push(&remember->movers, shard);
    at->is_mover = true;
    vec_push(&at->moves, entity);
    entity->move_at = at->moves.count;
}

void remember_move(struct remember *remember, uint64_t now, int32_t shard,
                   struct slice id)
{
    struct remember_shard *at = remember_shard_of(remember, shard);
    struct remembered *entity = at ? remember_find(at, id) : NULL;

    if (!entity || !at->runs || !entity->wanted || entity->asked ||
        entity->due_at || entity->move_at || entity->slot)
        return;
    REACHED("a remembered entity belongs to another shard");
    entity->moves = 0;
    line_up(remember, at, shard, entity);
    go_on(remember, now);
}

void remember_moved(struct remember *remember, uint64_t now, int32_t shard,
                    struct slice id)
{
    struct remember_shard *at = remember_shard_of(remember, shard);
    struct remembered *entity = at ? remember_find(at, id) : NULL;

    if (!entity || (!entity->slot && !entity->move_at)) /* repeated, or of an earlier incarnation */
        return;
    remember_move_drop(remember, at, entity);
    remember->counters.moved++;
    remember_drop_later(remember, now, at, shard, entity);
    go_on(remember, now);
}

void remember_move_drop(struct remember *remember, struct remember_shard *at,
                        struct remembered *entity)
{
    slot_free(remember, entity);
    if (entity->move_at)
        at->moves.items[entity->move_at - 1] = NULL;
    entity->move_at = 0;
}

static void leave_row(struct remember *remember, struct remember_shard *at)
{
    for (uint32_t i = 0; at->is_mover; i++) {
        if (remember_here(remember, remember->movers.items[i]) != at)
            continue;
        vec_remove(&remember->movers, i);
        at->is_mover = false;
    }
}

void remember_moves_drop(struct remember *remember, struct remember_shard *at)
{
    leave_row(remember, at);
    for (uint32_t i = at->move_head; i < at->moves.count; i++)
        if (at->moves.items[i])
            at->moves.items[i]->move_at = 0;
    vec_fini(&at->moves);
    at->move_head = 0;
    for (uint32_t i = 0; i < remember->slots.count; i++) {
        struct remember_slot *slot = &remember->slots.items[i];

        if (slot->entity && remember_here(remember, slot->shard) == at)
            slot_free(remember, slot->entity);
    }
}

/* It goes after those without a request. */
void remember_move_again(struct remember *remember, uint64_t now,
                         const struct timer *timer)
{
    const struct remember_slot *slot = &remember->slots.items[timer->id];
    struct remembered *entity = slot->entity;

    if (!entity || slot->generation != timer->generation)
        return;
    REACHED("a start of an entity in another shard is requested again");
    slot_free(remember, entity);
    line_up(remember, remember_here(remember, slot->shard), slot->shard,
            entity);
    go_on(remember, now);
}
