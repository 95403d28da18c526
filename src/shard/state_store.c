/* Reads and writes a coordinator's state, and releases announcements when it is stored. */
#include "shard/state_store.h"

#include "base/limits.h"
#include "base/mark.h"
#include "shard/coordinator_state.h"
#include "shard/stored.h"

#define PART_REGIONS 64
/* smaller parts repeat region refs more often, larger ones cost more at each change */
#define PART_SHARDS 256
#define PAUSE (100 * MS) /* after a failure; doubled by each further one */
#define PAUSE_DOUBLINGS 5
#define HURRY_INTERVAL (200 * MS) /* connections return together after a cut or a crash */
#define ALL_MEMBERS 100 /* up to this many members get the last write; of more, few leave at once */
#define FIRST_TIMEOUT_MS 1000 /* doubled up to the setting; repeats soon after a lost connection */

static void probe(const struct coordinator *coordinator, enum probe_kind kind,
                  uint64_t ticket, struct slice bytes)
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

/* ---- changes ---- */

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
    stored_term_put(&bytes, coordinator->term);
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
        probe(coordinator, PROBE_STATE_ASKED, request->ticket,
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
    probe(coordinator, PROBE_STATE_SENT, request->ticket, request->state);
    probe(coordinator, PROBE_FENCES_SENT, request->ticket, request->fences);
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

/* This node cannot know which side has a majority, so it tries for ever, as Akka does. */
static void failed(struct coordinator *coordinator, uint64_t now,
                   const char *what)
{
    struct state_store *state_store = &coordinator->state_store;
    uint32_t doublings = state_store->failures < PAUSE_DOUBLINGS
                             ? state_store->failures
                             : PAUSE_DOUBLINGS;

    state_store->failures++;
    trace_put(coordinator->trace,
              state_store->failures < 5 ? TRACE_WARNING : TRACE_ERROR,
              "coordinator",
              "coordinator's state not %s, tried again type=%s failures=%u "
              "hint=\"check that most members with the role are reachable\"",
              what, coordinator->type, state_store->failures);
    state_store->is_paused = true;
    timers_put(&coordinator->timers, now + (PAUSE << doublings), TIMER_KEEP, 0,
               ++state_store->generation);
}

static bool is_awaited(struct coordinator *coordinator, uint64_t ticket)
{
    struct state_store *state_store = &coordinator->state_store;

    if (!state_store->is_asked || ticket != state_store->ticket) {
        coordinator->counters.stale++;
        return false;
    }
    state_store->is_asked = false;
    return !coordinator->is_stopped;
}

void coordinator_written(struct coordinator *coordinator, uint64_t now,
                         uint64_t ticket, bool is_good, struct outbox *outbox)
{
    struct state_store *state_store = &coordinator->state_store;

    if (!is_awaited(coordinator, ticket))
        return;
    state_store->has_handed_over = state_store->hands_over;
    SOMETIMES("a coordinator ends and some member has not confirmed its state",
              state_store->has_handed_over && !is_good);
    if (!is_good) {
        coordinator->counters.failed_writes++;
        if (!state_store->has_handed_over)
            failed(coordinator, now, "written");
        coordinator_settle(coordinator, now, outbox);
        return;
    }
    coordinator->counters.writes++;
    SOMETIMES("changes came while a coordinator's state was written",
              state_store->version > state_store->writing);
    state_store->failures = 0;
    state_store->written = state_store->writing;
    probe(coordinator, PROBE_STATE_STORED, ticket, (struct slice){ 0 });
    if (!coordinator->is_active)
        coordinator_activate(coordinator, now, outbox);
    if (coordinator->is_active)
        announce_stored(coordinator, now, outbox);
    coordinator_settle(coordinator, now, outbox);
}

/* ---- reading ---- */

/* An unchanged value counts as written; the rest is written again. */
static void settle_loaded(struct coordinator *coordinator, bool is_exact)
{
    struct state_store *state_store = &coordinator->state_store;

    state_store->written = state_store->version;
    for (uint32_t i = 0; i < coordinator->shards.count; i++) {
        struct shard *shard = coordinator->shards.items[i];
        uint64_t version = shard->version;

        keep_shard(coordinator, shard); /* so that its part is packed */
        shard->version = version ? shard->version : 0;
    }
    for (uint32_t i = 0; i < coordinator->regions.count; i++)
        if (coordinator->regions.items[i]->version)
            keep_region(coordinator, coordinator->regions.items[i]);
    if (!is_exact)
        keep_regions(coordinator, 0);
}

void coordinator_read(struct coordinator *coordinator, uint64_t now,
                      uint64_t ticket, bool is_good, struct slice state,
                      struct slice fences, struct outbox *outbox)
{
    struct state_store *state_store = &coordinator->state_store;
    struct stored stored;

    if (!is_awaited(coordinator, ticket))
        return;
    if (!is_good) {
        coordinator->counters.failed_reads++;
        failed(coordinator, now, "read");
        return;
    }
    state_store->failures = 0;
    state_store->is_read = true;
    probe(coordinator, PROBE_STATE_READ, ticket, state);
    probe(coordinator, PROBE_FENCES_READ, ticket, fences);
    if (stored_read(&stored, state, fences)) {
        state_store_load(coordinator, &stored);
        settle_loaded(coordinator, true);
        stored_fini(&stored);
    } else {
        coordinator->counters.malformed++;
        trace_put(coordinator->trace, TRACE_ERROR, "coordinator",
                  "stored state of the coordinator is unreadable, rebuilt from "
                  "reports of regions type=%s "
                  "hint=\"run one version on all members\"",
                  coordinator->type);
        state_store->is_anew = true;
        settle_loaded(coordinator, false);
    }
    coordinator_news_put(coordinator, COORDINATOR_NEWS_NEEDS_TERM,
                         coordinator->term_seen);
    coordinator_settle(coordinator, now, outbox);
}

/* ---- values of other coordinators ---- */

static void outdo(struct coordinator *coordinator, struct slice id,
                  struct fence fence)
{
    struct shard *shard = shard_get(coordinator, id);

    if (!shard || fence_compare(fence, shard->fence) <= 0)
        return;
    if (!shard->home) {
        shard->fence = fence;
        keep_shard(coordinator, shard);
    } else if (!shard->is_disputed) {
        shard->is_disputed = true; /* as if another region had it */
        coordinator->disputed++;
    }
}

void coordinator_other_state(struct coordinator *coordinator, uint64_t now,
                         struct slice fences, struct outbox *outbox)
{
    struct state_store *state_store = &coordinator->state_store;
    uint64_t seen = 0;
    struct stored stored;

    if (!state_store->is_read || coordinator->is_stopped)
        return;
    REACHED("another coordinator's value arrives after the read");
    coordinator->counters.overwritten++;
    state_store->state_version = state_store->fences_version = ++state_store->version;
    if (!stored_read(&stored, slice_of(NULL, 0), fences)) {
        coordinator->counters.malformed++;
    } else {
        if (stored.term <= FENCE_PART_MAX)
            seen = stored.term;
        for (uint32_t i = 0; i < stored.fence_count; i++) {
            struct fence fence = stored.fences[i].fence;

            if (fence.term > FENCE_PART_MAX || fence.epoch > FENCE_PART_MAX) {
                coordinator->counters.malformed++;
                continue;
            }
            seen = fence.term > seen ? fence.term : seen;
            outdo(coordinator, stored.fences[i].shard, fence);
        }
        stored_fini(&stored);
    }
    trace_put(coordinator->trace, TRACE_WARNING, "coordinator",
              "state of another coordinator found, overwritten type=%s "
              "own=%llu seen=%llu "
              "hint=\"check for a partition or a suspended member\"",
              coordinator->type, (unsigned long long)coordinator->term,
              (unsigned long long)seen);
    if (coordinator->is_active) /* a term that two clocks made equal belongs to neither */
        coordinator_outbid(coordinator, now,
                           seen == coordinator->term ? seen + 1 : seen);
    else if (seen > coordinator->term_seen)
        coordinator->term_seen = seen;
    coordinator_settle(coordinator, now, outbox);
}
