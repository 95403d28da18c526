/* Counts the clients that watch each entity, and records its end. An entry stays until the entity
 * has ended and every watcher has its notice. */
#include "base/check.h"
#include "sim/workload/workload_inside.h"

static struct slice key_of(const struct sherd_ref *entity)
{
    return slice_of(entity, sizeof *entity); /* two words, no padding */
}

static struct watched *entry(struct workload *workload, struct sherd_ref entity)
{
    return map_get(&workload->watched, key_of(&entity));
}

static struct watched *add(struct workload *workload, struct sherd_ref entity)
{
    struct watched *watched = mem_alloc(sizeof *watched);

    map_put(&workload->watched, key_of(&entity), watched);
    return watched;
}

static void drop(struct workload *workload, struct sherd_ref entity)
{
    mem_free(map_take(&workload->watched, key_of(&entity)));
}

void watched_ask(struct workload *workload, struct sherd_ref entity)
{
    if (!entry(workload, entity))
        (void)add(workload, entity);
}

void watched_begin(struct workload *workload, struct sherd_ref entity)
{
    struct watched *watched = entry(workload, entity);

    if (!watched) { /* it named itself and has ended since */
        watched = add(workload, entity);
        watched->has_ended = true;
    }
    watched->watchers++;
}

void watched_end(struct workload *workload, struct sherd_ref entity)
{
    struct watched *watched = entry(workload, entity);

    if (watched && watched->watchers && --watched->watchers == 0 &&
        watched->has_ended)
        drop(workload, entity);
}

void watched_released(struct workload *workload, struct sherd_ref entity)
{
    struct watched *watched = entry(workload, entity);

    if (!watched)
        return;
    watched->has_ended = true;
    if (!watched->watchers)
        drop(workload, entity);
}

bool watched_has_ended(struct workload *workload, struct sherd_ref entity)
{
    const struct watched *watched = entry(workload, entity);

    return watched && watched->has_ended;
}

void watched_fini(struct workload *workload)
{
    struct map_entry item;

    for (uint32_t at = 0; map_next(&workload->watched, &at, &item);)
        mem_free(item.value);
    map_fini(&workload->watched);
}
