/* Requests reads and writes of a coordinator's state. */
#include "shard/state_store.h"

#include "base/limits.h"
#include "base/mark.h"
#include "shard/coordinator_state.h"
#include "shard/stored.h"

#define PART_REGIONS 64
#define HURRY_INTERVAL (200 * MS) /* connections return together after a cut or a crash */
#define ALL_MEMBERS 100 /* up to this many members get the last write; of more, few leave at once */
#define FIRST_TIMEOUT_MS 1000 /* doubled up to the setting; repeats soon after a lost connection */

void state_store_probe(const struct coordinator *coordinator,
                       enum probe_kind kind, uint64_t ticket,
                       struct slice bytes)
{
    struct probe probe = { .kind = kind,
                           .type = coordinator->type_index,
                           .first = ticket,
                           .bytes = bytes };

    probes_put(coordinator->probes, &probe);
}

void state_store_init(struct coordinator *coordinator)
{
    coordinator->state_store.wants = true; /* the read */
}

void state_store_fini(struct coordinator *coordinator)
{
    struct state_store *state_store = &coordinator->state_store;

    for (uint32_t i = 0; i < state_store->parts.count; i++) {
        gzip_part_fini(&state_store->parts.items[i]->homes);
        gzip_part_fini(&state_store->parts.items[i]->fences);
        mem_free(state_store->parts.items[i]);
    }
    vec_fini(&state_store->parts);
    for (uint32_t i = 0; i < state_store->regions.count; i++)
        gzip_part_fini(&state_store->regions.items[i]);
    vec_fini(&state_store->regions);
    buf_fini(&state_store->state);
    buf_fini(&state_store->fences);
}

/* ---- writing ---- */

/* A part takes a tenth of a ms, and a removed region makes all parts pack anew. False: no more in
 * this step. */
static bool may_pack(struct coordinator *coordinator)
{
    uint32_t *room = &coordinator->announcements.room->packs;

    if (coordinator->state_store.is_hasty)
        return true;
    if (!*room)
        return false;
    --*room;
    return true;
}

static void pack_part(struct coordinator *coordinator, uint32_t index,
                      struct buf *bytes)
{
    struct kept_part *part = coordinator->state_store.parts.items[index];
    uint32_t first = index * PART_SHARDS;
    uint32_t count = coordinator->shards.count - first;

    if (count > PART_SHARDS)
        count = PART_SHARDS;
    buf_clear(bytes);
    for (uint32_t i = 0; i < count; i++) {
        const struct shard *shard = coordinator->shards.items[first + i];

        if (shard->home)
            stored_home_put(bytes, shard->id, shard->home->ref);
    }
    gzip_part_set(&part->homes, buf_slice(bytes));
    buf_clear(bytes);
    for (uint32_t i = 0; i < count; i++) {
        const struct shard *shard = coordinator->shards.items[first + i];

        if (shard->fence.term || shard->fence.epoch)
            stored_fence_put(bytes, shard->id, shard->fence);
    }
    gzip_part_set(&part->fences, buf_slice(bytes));
    part->is_changed = false;
}

/* From the first changed one on; a removal moves all that follow. False: some are left. */
static bool pack_regions(struct coordinator *coordinator, struct buf *bytes)
{
    struct state_store *state_store = &coordinator->state_store;
    uint32_t count = coordinator->regions.count;
    uint32_t parts = (count + PART_REGIONS - 1) / PART_REGIONS;

    while (state_store->regions.count < parts)
        vec_push(&state_store->regions, ((struct gzip_part){ .size = 0 }));
    while (state_store->regions.count > parts)
        gzip_part_fini(&state_store->regions.items[--state_store->regions.count]);
    for (uint32_t part = state_store->regions_packed / PART_REGIONS; part < parts;
         part++) {
        uint32_t end = (part + 1) * PART_REGIONS;

        if (!may_pack(coordinator))
            return false;
        end = end < count ? end : count;
        buf_clear(bytes);
        for (uint32_t i = part * PART_REGIONS; i < end; i++)
            stored_region_put(bytes, coordinator->regions.items[i]->ref,
                              coordinator->regions.items[i]->is_proxy);
        gzip_part_set(&state_store->regions.items[part], buf_slice(bytes));
        state_store->regions_packed = (part + 1) * PART_REGIONS;
    }
    return true;
}

/* Writing a large state takes as long as a step's packing, so a step does one of them. */
static bool may_write(const struct coordinator *coordinator)
{
    const struct state_store *state_store = &coordinator->state_store;

    return state_store->is_hasty ||
           coordinator->announcements.room->packs == COORDINATOR_PACKS_MAX ||
           state_store->parts.count + state_store->regions.count <=
               COORDINATOR_PACKS_MAX;
}

/* False: the next step packs the rest, or writes. */
static bool pack_parts(struct coordinator *coordinator)
{
    struct state_store *state_store = &coordinator->state_store;
    struct buf bytes = { 0 };
    bool is_all, has_room = coordinator->announcements.room->packs > 0;

    /* Packed parts may change before the last is packed, but not endlessly. */
    state_store->is_hasty =
        state_store->pack_steps > 2 * (state_store->parts.count +
                                   state_store->regions.count + 4);
    is_all = pack_regions(coordinator, &bytes);
    for (uint32_t i = 0; i < state_store->parts.count && is_all; i++) {
        if (!state_store->parts.items[i]->is_changed)
            continue;
        is_all = may_pack(coordinator);
        if (is_all)
            pack_part(coordinator, i, &bytes);
    }
    buf_fini(&bytes);
    SOMETIMES("a coordinator's state is packed in more than a step", !is_all);
    is_all = is_all && may_write(coordinator);
    if (is_all)
        state_store->pack_steps = 0;
    else if (has_room || !state_store->pack_steps)
        state_store->pack_steps++; /* called more than once in a step */
    return is_all;
}

static void join_parts(struct coordinator *coordinator)
{
    struct state_store *state_store = &coordinator->state_store;
    struct gzip_part homes = { 0 }, fences = { 0 }, term = { 0 };
    struct buf bytes = { 0 };

    buf_clear(&state_store->state);
    buf_clear(&state_store->fences);
    gzip_begin(&state_store->state);
    gzip_begin(&state_store->fences);
    for (uint32_t i = 0; i < state_store->regions.count; i++)
        gzip_join(&state_store->state, &homes, &state_store->regions.items[i]);
    stored_term_put(&bytes,
                    (struct proof){ coordinator->term, coordinator->proof });
    stored_pause_put(&bytes, buf_slice(&coordinator->operations.pause));
    gzip_part_set(&term, buf_slice(&bytes));
    gzip_join(&state_store->fences, &fences, &term);
    gzip_part_fini(&term);
    for (uint32_t i = 0; i < state_store->parts.count; i++) {
        gzip_join(&state_store->state, &homes, &state_store->parts.items[i]->homes);
        gzip_join(&state_store->fences, &fences, &state_store->parts.items[i]->fences);
    }
    gzip_end(&state_store->state, &homes);
    gzip_end(&state_store->fences, &fences);
    buf_fini(&bytes);
}

static uint64_t timeout_of(const struct state_store *state_store, uint64_t most)
{
    uint64_t timeout = (uint64_t)FIRST_TIMEOUT_MS
                       << (state_store->failures < 8 ? state_store->failures : 8);

    return timeout < most ? timeout : most;
}

bool coordinator_requests(const struct coordinator *coordinator, bool *is_write)
{
    *is_write = coordinator->state_store.is_read;
    return coordinator->state_store.wants;
}

bool coordinator_next_request(struct coordinator *coordinator,
                              struct coordinator_request *request)
{
    struct state_store *state_store = &coordinator->state_store;

    if (!state_store->wants ||
        (state_store->is_read && !pack_parts(coordinator)))
        return false;
    state_store->wants = false;
    state_store->is_asked = true;
    *request = (struct coordinator_request){ .ticket = ++state_store->ticket };
    if (!state_store->is_read) {
        request->kind = COORDINATOR_REQUEST_READ;
        request->timeout_ms = timeout_of(
            state_store, coordinator->settings.waiting_for_state_timeout_ms);
        state_store_probe(coordinator, PROBE_STATE_ASKED, request->ticket,
              (struct slice){ 0 });
        return true;
    }
    join_parts(coordinator);
    state_store->writing = state_store->version;
    request->kind = COORDINATOR_REQUEST_WRITE;
    request->to_all =
        state_store->hands_over && coordinator->members.count <= ALL_MEMBERS;
    request->timeout_ms =
        timeout_of(state_store, coordinator->settings.updating_state_timeout_ms);
    if (state_store->hands_over || !is_kept(coordinator, state_store->state_version))
        request->state = buf_slice(&state_store->state);
    if (state_store->hands_over || !is_kept(coordinator, state_store->fences_version))
        request->fences = buf_slice(&state_store->fences);
    state_store_probe(coordinator, PROBE_STATE_SENT, request->ticket, request->state);
    state_store_probe(coordinator, PROBE_FENCES_SENT, request->ticket, request->fences);
    return true;
}

void state_store_settle(struct coordinator *coordinator)
{
    struct state_store *state_store = &coordinator->state_store;

    /* Homes that several steps find go into one write. */
    bool comes_more = coordinator->is_placing && coordinator->is_active &&
                      !coordinator->is_ending;

    if (state_store->is_read && coordinator->term && !coordinator->is_stopped &&
        !state_store->is_asked && !state_store->is_paused && !comes_more &&
        (state_store->hands_over ? !state_store->has_handed_over
                             : !is_kept(coordinator, state_store->version)))
        state_store->wants = true;
}

bool state_store_hands_over(struct coordinator *coordinator)
{
    struct state_store *state_store = &coordinator->state_store;

    if (!coordinator->is_active || state_store->has_handed_over)
        return false;
    if (!state_store->hands_over && !state_store->is_asked) {
        state_store->hands_over = true;
        state_store->failures = 0; /* one short try */
        state_store->is_paused = false;
        state_store->generation++;
    }
    return true;
}

void state_store_hurry(struct coordinator *coordinator, uint64_t now)
{
    struct state_store *state_store = &coordinator->state_store;

    if ((!state_store->is_asked && !state_store->is_paused) || state_store->hands_over)
        return;
    if (now < state_store->hurry_after) {
        state_store->hurried = state_store->ticket;
        if (!state_store->is_hurry_due)
            timers_put(&coordinator->timers, state_store->hurry_after, TIMER_HURRY,
                       0, 0);
        state_store->is_hurry_due = true;
        return;
    }
    state_store->hurry_after = now + HURRY_INTERVAL;
    REACHED("a write or read of a coordinator's state begins again: its members have changed");
    state_store->is_asked = state_store->is_paused = false;
    state_store->ticket++; /* the former answer no longer counts */
    state_store->generation++;
    state_store->wants = true;
}

void state_store_hurry_due(struct coordinator *coordinator, uint64_t now)
{
    struct state_store *state_store = &coordinator->state_store;

    state_store->is_hurry_due = false;
    if (state_store->hurried == state_store->ticket) /* else answered or restarted since */
        state_store_hurry(coordinator, now);
}

void state_store_resume(struct coordinator *coordinator, uint32_t generation)
{
    struct state_store *state_store = &coordinator->state_store;

    if (!state_store->is_paused || generation != state_store->generation)
        return;
    state_store->is_paused = false;
    state_store->wants = true;
}
