/* Numbers the changes of a coordinator's state, so that a write tells which of them are stored. */
#include "shard/coordinator_state.h"

void keep_shard(struct coordinator *coordinator, struct shard *shard)
{
    struct state_store *state_store = &coordinator->state_store;

    shard->version = ++state_store->version;
    state_store->state_version = state_store->fences_version = state_store->version;
    while (state_store->parts.count <= shard->index / PART_SHARDS) {
        struct kept_part *part = mem_alloc(sizeof *part);

        part->is_changed = true;
        vec_push(&state_store->parts, part);
    }
    state_store->parts.items[shard->index / PART_SHARDS]->is_changed = true;
}

void keep_regions(struct coordinator *coordinator, uint32_t first)
{
    struct state_store *state_store = &coordinator->state_store;

    state_store->state_version = ++state_store->version;
    if (state_store->regions_packed > first)
        state_store->regions_packed = first;
}

void keep_region(struct coordinator *coordinator, struct registrant *region)
{
    uint32_t at = 0;

    while (coordinator->regions.items[at] != region)
        at++;
    keep_regions(coordinator, at);
    region->version = coordinator->state_store.version;
}

void keep_term(struct coordinator *coordinator)
{
    struct state_store *state_store = &coordinator->state_store;

    state_store->fences_version = ++state_store->version;
    coordinator->term_version = state_store->version;
}

bool is_kept(const struct coordinator *coordinator, uint64_t version)
{
    return version <= coordinator->state_store.written;
}
