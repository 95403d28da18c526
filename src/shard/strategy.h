/* Chooses regions for shards, and shards to move, by the type's allocation strategy. Part of the
 * coordinator.
 *
 * strategy.c has the strategies of this library. strategy_requests.c asks a strategy of the program,
 * whose functions may answer later; strategy_view.c describes the regions to it. All use
 * strategy_regions.c. */
#ifndef SHERD_SHARD_STRATEGY_H
#define SHERD_SHARD_STRATEGY_H

#include "shard/coordinator_state.h"

/* strategy.c */
void strategy_fini(struct coordinator *coordinator);
/* Begins a step with the views of all regions that take shards, and ends it. */
void strategy_begin(struct coordinator *coordinator,
                    const struct allocation_region *views, uint32_t count);
void strategy_end(struct coordinator *coordinator);
/* Returns the region for a shard, or ALLOCATION_NONE: the program has not answered yet. views: as
 * given to strategy_begin, with counts of shards that may have grown. */
uint32_t strategy_choose(struct coordinator *coordinator, uint64_t now,
                         struct shard *shard,
                         const struct allocation_region *views, uint32_t count);
/* Writes the shards that should move, by index, to `chosen`, which has room for all, and returns
 * their count. views: of all registered regions. */
uint32_t strategy_rebalance(struct coordinator *coordinator, uint64_t now,
                            const struct allocation_region *views,
                            uint32_t count, uint32_t *chosen);

/* strategy_requests.c */
void strategy_requests_fini(struct coordinator *coordinator);
/* False: each shard without a home waits for the program, or as many as may. */
bool strategy_may_choose(const struct coordinator *coordinator);
/* The program's answer for the shard is missing. */
bool strategy_awaits(const struct shard *shard);
/* As strategy_choose and strategy_rebalance, by the program. */
uint32_t strategy_ask(struct coordinator *coordinator, uint64_t now,
                      struct shard *shard,
                      const struct allocation_region *views, uint32_t count);
uint32_t strategy_ask_moves(struct coordinator *coordinator, uint64_t now,
                            const struct allocation_region *views,
                            uint32_t count,
                            const struct allocation_limits *limits,
                            uint32_t *chosen);
/* The shard has a home: its request, if there is one, ends. */
void strategy_placed(struct coordinator *coordinator, struct shard *shard);
/* TIMER_REQUEST. generation: the state in which it was set. */
void strategy_request_due(struct coordinator *coordinator, uint64_t now,
                          uint64_t number, uint32_t generation);
void strategy_answered(struct coordinator *coordinator, uint64_t number,
                       const struct coordinator_choice *choice);

/* strategy_view.c */
struct strategy_view;
struct sherd_allocation_request;
/* Describes the regions; their shards follow from the coordinator's homes. */
struct strategy_view *strategy_view_new(const struct coordinator *coordinator,
                                        const struct allocation_region *views,
                                        uint32_t count);
void strategy_view_free(struct strategy_view *view); /* null is fine */
/* The shard has a home since. */
void strategy_view_add(struct strategy_view *view, const struct shard *shard);
/* Lends the view to a request. */
void strategy_view_lend(const struct strategy_view *view,
                        struct sherd_allocation_request *request);

/* strategy_regions.c */
/* The first region that asked for the shard and takes shards, as an index of the views; count:
 * none. */
uint32_t strategy_requester(const struct coordinator *coordinator,
                            const struct shard *shard,
                            const struct allocation_region *views,
                            uint32_t count);
/* The region at an address that takes shards, as an index of the views; count: none. */
uint32_t strategy_region_at(const struct coordinator *coordinator,
                            const struct kept_address *address,
                            const struct allocation_region *views,
                            uint32_t count);
/* All members of the data center are reachable; and none of them is joining. */
bool strategy_all_reachable(const struct coordinator *coordinator);
bool strategy_is_calm(const struct coordinator *coordinator);

/* Whether a region takes new shards, at least if no other one does. */
static inline bool strategy_may_take(const struct registrant *region)
{
    return region->is_registered && !region->is_proxy &&
           !region->is_shutting_down && !region->is_terminating;
}

/* Whether it takes them as well as any other one. */
static inline bool strategy_takes(const struct registrant *region)
{
    return strategy_may_take(region) && region->cordon == CORDON_NOT;
}

#endif
