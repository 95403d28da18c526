/* Moves remembered entities out of orphan shards, whose number is above the type's present number
 * of shards. No region hosts them.
 *
 * The coordinator's node reads their sets, on the lanes that would own them, under fences of its
 * term: the next such node has a higher one. Entities move to the shards where they belong
 * (start_entity.c). A shard without entities ends. */
#include "node/lane/lane.h"

#include "base/limits.h"
#include "base/mark.h"
#include "shard/shard_id.h"

#define STRAYS_AT_ONCE 8 /* of a type on a lane; each reads one record or five keys */

static void leave_turn(struct lane_type *of, struct remember_life *life)
{
    if (life->orphan == ORPHAN_READS)
        of->orphans_reading--;
}

static void end(struct lane *lane, uint32_t type, int32_t shard)
{
    struct remember_life *life = lane_life(lane, type, shard);
    char text[SHARD_TEXT_MAX];

    leave_turn(&lane->types[type], life);
    life->orphan = ORPHAN_NOT;
    lane_remember_end(lane, type, shard);
    if (!lane->machine->node->names[type].remembers_in_data)
        journal_release(lane->journal,
                        slice_text(lane->machine->node->names[type].name),
                        shard_name(lane_shard_names(lane, type), shard, text));
}

static void begin(struct lane *lane, uint32_t type, int32_t shard)
{
    const struct type_names *names = &lane->machine->node->names[type];
    struct remember_life *life = lane_life(lane, type, shard);
    char text[SHARD_TEXT_MAX];

    life->orphan = ORPHAN_READS;
    lane->types[type].orphans_reading++;
    if (names->remembers_in_data)
        lane_remember_claimed(lane, type, shard, life->fence);
    else
        journal_claim(lane->journal, slice_text(names->name),
                      shard_name(names->rule.names, shard, text), life->fence,
                      (struct proof){ 0 }); /* the coordinator is this node */
}

static void begin_next(struct lane *lane, uint32_t type)
{
    struct lane_type *of = &lane->types[type];

    while (of->orphan_head < of->orphans.count &&
           of->orphans_reading < STRAYS_AT_ONCE) {
        int32_t shard = of->orphans.items[of->orphan_head++];

        if (lane_life(lane, type, shard)->orphan == ORPHAN_WAITS)
            begin(lane, type, shard);
    }
    if (of->orphan_head == of->orphans.count)
        of->orphan_head = of->orphans.count = 0;
}

void lane_orphan_shard(struct lane *lane, const struct mail_content *content)
{
    struct remember_life *life = lane_life(lane, content->type, content->shard);

    SOMETIMES("an orphan shard is read again under a higher term",
              life->orphan != ORPHAN_NOT);
    if (life->orphan > ORPHAN_WAITS)
        end(lane, content->type, content->shard);
    if (life->orphan != ORPHAN_WAITS)
        vec_push(&lane->types[content->type].orphans, content->shard);
    life->orphan = ORPHAN_WAITS;
    life->fence = mail_orphan_of(content)->fence;
    begin_next(lane, content->type);
}

void lane_orphan_shards_end(struct lane *lane, uint32_t type)
{
    struct lane_type *of = &lane->types[type];

    of->orphan_head = of->orphans.count = 0;
    for (uint32_t i = 0; i < of->lives.count; i++) {
        struct remember_life *life = &of->lives.items[i];

        if (life->orphan > ORPHAN_WAITS)
            end(lane, type, shard_at_place(i));
        life->orphan = ORPHAN_NOT;
    }
}

bool lane_orphan_shard_claimed(struct lane *lane, uint32_t type, int32_t shard,
                        const struct journal_news *news)
{
    struct lane_type *of = &lane->types[type];

    if (shard_place(shard) >= of->lives.count ||
        lane_life(lane, type, shard)->orphan == ORPHAN_NOT)
        return false;
    if (news->kind == JOURNAL_CLAIMED) {
        lane_remember_claimed(lane, type, shard, news->fence);
    } else {
        REACHED("an orphan shard belongs to another coordinator");
        end(lane, type, shard);
        begin_next(lane, type);
    }
    return true;
}

bool lane_orphan_shard_read(struct lane *lane, uint32_t type, int32_t shard)
{
    if (lane_life(lane, type, shard)->orphan == ORPHAN_NOT)
        return false;
    remember_run(&lane->types[type].remember, lane->machine->now, shard);
    return true;
}

void lane_orphan_shard_look(struct lane *lane, uint32_t type, int32_t shard)
{
    struct lane_type *of = &lane->types[type];
    struct remember_life *life = lane_life(lane, type, shard);

    if (life->orphan < ORPHAN_READS)
        return;
    leave_turn(of, life);
    life->orphan = ORPHAN_MOVES;
    if (remember_is_ready(&of->remember, shard) &&
        !remember_count(&of->remember, shard))
        end(lane, type, shard);
    begin_next(lane, type);
}
