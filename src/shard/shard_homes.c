/* Gives shards their homes: allocation, HostShard after a refusal, choice of moves. */
#include "base/limits.h"
#include "base/mark.h"
#include "shard/allocation.h"
#include "shard/coordinator_state.h"
#include "shard/handoff.h"
#include "shard/home_log.h"
#include "shard/operations.h"
#include "shard/shard_id.h"
#include "shard/strategy.h"

#define REFUSALS_QUICK 8   /* refusals that are answered after a second each */
#define REHOST_DOUBLINGS 5 /* later waits double, up to 32 s */
/* cost of one region's view, in compared regions; its data are elsewhere in memory */
#define VIEW_COST 16

/* When the journal may be asked again. It refuses a few fences if former epochs were higher, and
 * all of them if a newer coordinator has a higher term. Regions report such a term, but the
 * coordinator does not take a new one each time. */
static uint64_t rehost_after(const struct shard *shard)
{
    uint32_t late = shard->refusals > REFUSALS_QUICK
                        ? shard->refusals - REFUSALS_QUICK
                        : 0;

    if (!shard->rehosted_at)
        return 0;
    return shard->rehosted_at +
           (SECOND << (late < REHOST_DOUBLINGS ? late : REHOST_DOUBLINGS));
}

/* The home does not have the shard. The journal would refuse the same fence again, so it is raised.
 * If HostShard was only late, the region claims once more. At most once a second, then less often,
 * as a newer coordinator may be active. */
void shard_rehost(struct coordinator *coordinator, uint64_t now,
                  struct shard *shard, struct outbox *outbox)
{
    uint64_t after = rehost_after(shard);

    if (!is_kept(coordinator, shard->version)) {
        REACHED("a home refuses a shard whose next fence is not stored yet");
        shard_host(coordinator, now, shard, outbox);
        return;
    }
    if (now < after) {
        REACHED("a home refuses a shard twice within a second");
        if (shard->is_refused)
            return; /* reports name all lacking shards; one timer is enough */
        shard->is_started = false;
        shard->is_refused = true;
        shard->generation++;
        timers_put(&coordinator->timers, after, TIMER_HOST, shard->index,
                   shard->generation);
        return;
    }
    coordinator->counters.rehosted++;
    shard->is_refused = false;
    shard->rehosted_at = now;
    if (shard->refusals < REFUSALS_QUICK + REHOST_DOUBLINGS)
        shard->refusals++;
    shard_raise(coordinator, shard, shard_next_fence(coordinator, shard));
    shard_host(coordinator, now, shard, outbox);
    shard_announce(coordinator, now, shard, AUDIENCE_ALL, outbox);
}

bool coordinator_remembered(struct coordinator *coordinator,
                            struct slice id)
{
    struct shard *shard;
    int32_t number;

    if (!shard_number(coordinator->names, id, &number) ||
        shard_index(number, coordinator->settings.number_of_shards) < 0)
        return false;
    shard = shard_get(coordinator, id);
    if (shard && !shard->home)
        shard_needs_home(coordinator, shard);
    return true;
}

/* First allocations need every member's report and enough regions. */
static bool may_allocate(struct coordinator *coordinator)
{
    uint32_t regions = 0;

    if (!coordinator->is_active || coordinator->is_stopped ||
        coordinator_awaited(coordinator))
        return false;
    if (!coordinator->has_members) {
        for (uint32_t i = 0; i < coordinator->regions.count; i++)
            regions += coordinator->regions.items[i]->is_registered &&
                       !coordinator->regions.items[i]->is_proxy;
        if (regions < coordinator->settings.min_members)
            return false;
        coordinator->has_members = true;
    }
    return true;
}

static struct allocation_region view_of(const struct coordinator *coordinator,
                                        uint32_t index)
{
    const struct registrant *region = coordinator->regions.items[index];
    const struct coordinator_member *member = coordinator_member_of(coordinator, &region->node);

    return (struct allocation_region){
        .region = index,
        .status = member ? (enum member_status)member->kept.status : MEMBER_REMOVED,
        .version = member ? member->version
                          : (struct member_version){ .rest = NULL },
        .is_leaving = region->is_shutting_down,
        .shard_count = region->shards.count,
    };
}

/* many: others get homes in the same step. */
static void place(struct coordinator *coordinator, uint64_t now,
                  struct shard *shard, struct registrant *region, bool many,
                  struct outbox *outbox)
{
    shard_link(coordinator, shard, region,
               shard_next_fence(coordinator, shard), PROBE_HOME_ALLOCATED);
    if (coordinator->strategy.view)
        strategy_view_add(coordinator->strategy.view, shard);
    coordinator->counters.allocations++;
    home_log_allocated(coordinator, shard, many);
    shard_host(coordinator, now, shard, outbox); /* before any other region learns the home */
    shard_announce(coordinator, now, shard,
                   shard->is_pushed ? AUDIENCE_ALL : AUDIENCE_UNSURE, outbox);
    shard->is_pushed = false;
}

/* If all regions shut down, one of this library still takes the shard: it starts, reads its waiting
 * messages, and is handed off again. */
static bool is_last_resort(const struct registrant *region)
{
    return region->is_shutting_down && !region->is_dismissed &&
           !region->is_proxy && !region->is_terminating &&
           region->is_registered && region->lanes;
}

static void spend(uint32_t *room, uint32_t cost)
{
    *room -= cost < *room ? cost : *room;
}

static uint32_t index_of(const struct coordinator *coordinator,
                         const struct registrant *region)
{
    uint32_t i = 0;

    while (coordinator->regions.items[i] != region)
        i++;
    return i;
}

void shard_homes_place_all(struct coordinator *coordinator, uint64_t now,
                     struct outbox *outbox)
{
    struct allocation_region *views;
    uint32_t *room = &coordinator->announcements.room->places;
    uint32_t count = 0, i = 0;
    bool is_resort, last, many;

    coordinator->is_placing = false;
    if (!strategy_may_choose(coordinator) || !may_allocate(coordinator))
        return;
    if (!*room) {
        coordinator->is_placing = true;
        return;
    }
    views = mem_alloc(coordinator->regions.count * sizeof *views);
    for (uint32_t j = 0; j < coordinator->regions.count; j++)
        if (strategy_takes(coordinator->regions.items[j]))
            views[count++] = view_of(coordinator, j);
    coordinator->takers = count;
    is_resort = !count;
    for (uint32_t j = 0; is_resort && j < coordinator->regions.count; j++)
        if (strategy_may_take(coordinator->regions.items[j]))
            views[count++] = view_of(coordinator, j);
    SOMETIMES("only cordoned regions are left for shards", is_resort && count);
    last = !count;
    many = coordinator->unplaced - coordinator->strategy.blocked > 1;
    SOMETIMES("every region shuts down while shards have no home", last);
    for (uint32_t j = 0; last && j < coordinator->regions.count; j++)
        if (is_last_resort(coordinator->regions.items[j]))
            views[count++] = view_of(coordinator, j);
    spend(room, coordinator->regions.count * VIEW_COST);
    strategy_begin(coordinator, views, count);
    for (; count && strategy_may_choose(coordinator) && *room &&
           i < coordinator->shards.count;
         i++) {
        struct shard *shard = coordinator->shards.items[i];
        const struct registrant *wish =
            shard->is_wanted ? operations_wish(coordinator, shard) : NULL;
        uint32_t chosen;

        if (!shard->is_wanted || (!wish && strategy_awaits(shard)) ||
            (last && !shard->waiting.count))
            continue;
        spend(room, count);
        chosen = wish        ? index_of(coordinator, wish)
                 : is_resort ? allocation_choose(views, count)
                             : strategy_choose(coordinator, now, shard, views, count);
        if (chosen == ALLOCATION_NONE)
            continue;
        for (uint32_t j = 0; j < count; j++)
            views[j].shard_count += views[j].region == chosen;
        place(coordinator, now, shard, coordinator->regions.items[chosen],
              many, outbox);
        shard->is_last_resort = last;
    }
    strategy_end(coordinator);
    coordinator->is_placing = !*room && strategy_may_choose(coordinator) &&
                              i < coordinator->shards.count;
    SOMETIMES("more shards need a home than one step places",
              coordinator->is_placing);
    if (many && !coordinator->is_placing)
        home_log_placed(coordinator);
    mem_free(views);
}

void shard_homes_receive(struct coordinator *coordinator, uint64_t now,
                   const struct inbound *inbound,
                   const struct shard_message *message, struct outbox *outbox)
{
    struct registrant *region =
        registrant_of(coordinator, &inbound->from, inbound->sender);
    struct shard *shard;

    (void)now;
    if (!region) {
        coordinator->counters.stranger++;
        return;
    }
    shard = shard_get(coordinator, message->shard);
    if (!shard)
        return;
    if (shard->home && !shard->handoff && !shard->home->is_terminating) {
        shard_tell_home(coordinator, shard, region, outbox);
        return;
    }
    shard_wait(shard, region);
    if (!shard->home)
        shard_needs_home(coordinator, shard);
    SOMETIMES("a home is requested while the shard moves",
              shard->handoff != NULL);
    SOMETIMES("a home is requested while it is being stored",
              shard->home && !is_kept(coordinator, shard->version));
    SOMETIMES("a home is requested before all regions are known",
              coordinator_awaited(coordinator) > 0);
    if (shard->home || coordinator_awaited(coordinator) ||
        !coordinator->is_active)
        coordinator->counters.deferred++;
}

void shard_homes_move(struct coordinator *coordinator, uint64_t now,
                struct outbox *outbox)
{
    if (coordinator->is_stopping || coordinator->is_cluster_stopping)
        coordinator->moves_head = coordinator->moves.count;
    while (coordinator->moves_head < coordinator->moves.count &&
           announce_room(coordinator)) {
        struct shard *shard =
            coordinator->shards.items[coordinator->moves.items
                                          [coordinator->moves_head++]];

        if (!operations_hold(coordinator, shard, now) &&
            !shard->handoff && shard->home && shard->home->is_registered &&
            !shard->home->is_terminating &&
            is_kept(coordinator, shard->version) &&
            !handoff_start(coordinator, now, shard, outbox))
            coordinator->moves_head = coordinator->moves.count;
    }
    SOMETIMES("a rebalance needs more hand-offs than one step begins",
              coordinator->moves_head < coordinator->moves.count);
}

/* Hand-offs that may begin after failures. All open ones count. */
static uint32_t moves_room(const struct coordinator *coordinator)
{
    uint32_t open = coordinator->handoffs.count;

    return open < coordinator->moves_max ? coordinator->moves_max - open : 0;
}

/* Lists a region's shards for a rebalance, those that it must leave last. Returns their count. */
static uint32_t list_shards(const struct coordinator *coordinator, uint64_t now,
                            const struct registrant *region,
                            struct allocation_shard *list)
{
    uint32_t count = 0;
    uint32_t held = region->shards.count;

    for (uint32_t i = 0; i < region->shards.count; i++) {
        const struct shard *shard = region->shards.items[i];
        bool is_held = operations_hold(coordinator, shard, now);
        uint32_t at = is_held ? --held : count++;

        list[at] = (struct allocation_shard){ shard->id, shard->index,
                                              shard->handoff || is_held };
    }
    return region->shards.count;
}

static void rebalance(struct coordinator *coordinator, uint64_t now)
{
    struct allocation_region *views;
    struct allocation_shard *lists;
    uint32_t *chosen;
    uint32_t count = 0;
    uint32_t used = 0;

    views = mem_alloc(coordinator->regions.count * sizeof *views);
    lists = mem_alloc(coordinator->shards.count * sizeof *lists);
    chosen = mem_alloc(coordinator->shards.count * sizeof *chosen);
    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        const struct registrant *region = coordinator->regions.items[i];

        if (region->is_proxy || region->is_terminating ||
            !region->is_registered || region->cordon)
            continue; /* to and from cordoned regions nothing moves */
        views[count] = view_of(coordinator, i);
        views[count++].shards = lists + used;
        used += list_shards(coordinator, now, region, lists + used);
    }
    used = strategy_rebalance(coordinator, now, views, count, chosen);
    if (coordinator->moves_max && used > moves_room(coordinator)) {
        REACHED("fewer shards move at a time: hand-offs have failed");
        used = moves_room(coordinator);
    }
    coordinator->moves.count = coordinator->moves_head = 0;
    for (uint32_t i = 0; i < used; i++)
        vec_push(&coordinator->moves, chosen[i]);
    mem_free(chosen);
    mem_free(lists);
    mem_free(views);
}

static bool may_rebalance(const struct coordinator *coordinator)
{
    return coordinator->is_active && coordinator->has_opened &&
           !coordinator->is_stopping && !coordinator->is_cluster_stopping &&
           !coordinator->operations.pause.size;
}

void shard_homes_rebalance(struct coordinator *coordinator, uint64_t now)
{
    SOMETIMES("a rebalance is skipped: the last single hand-off has failed",
              now < coordinator->moves_after);
    coordinator->is_rebalancing = now >= coordinator->moves_after &&
                                  may_rebalance(coordinator);
}

void shard_homes_rebalance_on(struct coordinator *coordinator, uint64_t now)
{
    uint32_t *room = &coordinator->announcements.room->views;
    uint32_t count = coordinator->regions.count;
    bool has_room = *room == COORDINATOR_VIEWS_MAX || *room >= count;

    if (!coordinator->is_rebalancing || !has_room)
        return;
    coordinator->is_rebalancing = false;
    spend(room, count);
    if (may_rebalance(coordinator))
        rebalance(coordinator, now);
}
