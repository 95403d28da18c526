/* Implements samples.h. */
#include "actor/samples.h"

#include "actor/inside.h"

struct hot {
    uint64_t since;
    uint64_t until;
    uint64_t of;
    uint32_t used;
    struct hot_entity entities[HOT_MAX];
};

struct samples {
    struct hot *hot; /* null: nobody looks */
    uint64_t number; /* of the last undelivered message */
    struct undelivered_sample *undelivered; /* a ring; null: there was none */
};

static struct samples *samples_of(struct actors *actors)
{
    if (!actors->samples)
        actors->samples = mem_alloc(sizeof *actors->samples);
    return actors->samples;
}

void samples_fini(struct actors *actors)
{
    if (!actors->samples)
        return;
    hot_end(actors);
    mem_free(actors->samples->undelivered);
    mem_free(actors->samples);
    actors->samples = NULL;
}

/* ---- hot entities ---- */

uint64_t hot_begin(struct actors *actors, uint64_t until)
{
    struct samples *samples = samples_of(actors);

    if (!samples->hot) {
        samples->hot = mem_alloc(sizeof *samples->hot);
        samples->hot->since = actors->now;
        actors->is_sampled = true;
    }
    if (samples->hot->until < until)
        samples->hot->until = until;
    return samples->hot->since;
}

const struct hot_entity *hot_list(const struct actors *actors, uint32_t *count, uint64_t *of)
{
    const struct hot *hot = actors->samples ? actors->samples->hot : NULL;

    *count = hot ? hot->used : 0;
    *of = hot ? hot->of : 0;
    return hot ? hot->entities : NULL;
}

uint64_t hot_deadline(const struct actors *actors)
{
    return actors->is_sampled ? actors->samples->hot->until : NEVER;
}

void hot_end(struct actors *actors)
{
    actors->is_sampled = false;
    mem_free(actors->samples->hot);
    actors->samples->hot = NULL;
}

void samples_handled(struct actors *actors, uint64_t actor, uint32_t messages)
{
    struct hot *hot = actors->samples->hot;
    const struct slot *slot = slot_of(actors, actor);
    struct hot_entity *least = hot->entities;

    hot->of += messages;
    if (!slot || !(slot->flags & FLAG_ENTITY))
        return;
    for (uint32_t i = 0; i < hot->used; i++) {
        struct hot_entity *entity = &hot->entities[i];

        if (entity->actor == actor) {
            entity->count += messages;
            return;
        }
        if (entity->count < least->count)
            least = entity;
    }
    if (hot->used < HOT_MAX)
        hot->entities[hot->used++] = (struct hot_entity){ actor, messages, 0 };
    else
        *least = (struct hot_entity){ actor, least->count + messages, least->count };
}

/* ---- undelivered messages ---- */

void samples_undelivered(struct actors *actors, uint16_t type, size_t size,
                         enum sherd_reason reason)
{
    struct samples *samples = samples_of(actors);

    if (!samples->undelivered)
        samples->undelivered =
            mem_alloc(UNDELIVERED_SAMPLES_MAX * sizeof *samples->undelivered);
    samples->number++;
    samples->undelivered[samples->number % UNDELIVERED_SAMPLES_MAX] =
        (struct undelivered_sample){ .number = samples->number,
                                     .wall_ms = actors->wall_ms,
                                     .type = type,
                                     .reason = (uint8_t)reason,
                                     .size = (uint32_t)size };
}

bool undelivered_sample_at(const struct actors *actors, uint32_t index,
                           struct undelivered_sample *sample)
{
    const struct samples *samples = actors->samples;

    if (!samples || index >= UNDELIVERED_SAMPLES_MAX || index >= samples->number)
        return false;
    *sample = samples->undelivered[(samples->number - index) % UNDELIVERED_SAMPLES_MAX];
    return true;
}
