/* Chooses the entities of a shard that are passivated, because the shard has too many active ones.
 *
 * A strategy knows entities only as slots. Each call that may passivate leaves the victims in
 * ranks.passivated; they are off the books, and the caller stops them. The choices are those of
 * Akka's EntityPassivationStrategy, with the same limits and ids. */
#ifndef SHERD_ACTOR_PASSIVATION_STRATEGY_H
#define SHERD_ACTOR_PASSIVATION_STRATEGY_H

#include "actor/passivation/area.h"
#include "actor/passivation/climb.h"
#include "actor/passivation/sketch.h"

struct passivation_settings {
    struct area_settings main;
    /* A composite strategy has a window or a filter. New entities enter the window; one that leaves
     * it enters the main area if the filter prefers it to the main area's next victim. */
    struct area_settings window; /* PASSIVATION_NONE: no window */
    double window_share; /* of the limit, at the start */
    double window_share_min, window_share_max; /* while the share adapts */
    bool has_filter;
    struct sketch_settings filter;
    bool climbs; /* adapts the window's share */
    struct climb_settings climb;
};

/* Akka's default-strategy: a recency window of 1 % that adapts, a sketch, and two segments. */
extern const struct passivation_settings passivation_default;

struct strategy;

/* settings, ranks: lent until strategy_free. limit: active entities of the shard. */
struct strategy *strategy_new(const struct passivation_settings *settings,
                              struct ranks *ranks, uint32_t limit);
void strategy_free(struct strategy *strategy);
/* A message was delivered to an active entity. Returns the number of victims; the entity may be
 * one. */
uint32_t strategy_use(struct strategy *strategy, uint32_t slot);
/* Changes the limit of the shard; returns the number of victims. */
uint32_t strategy_set_limit(struct strategy *strategy, uint32_t limit);
/* An entity is not active any more. Harmless if it has no rank. */
void strategy_remove(struct strategy *strategy, uint32_t slot);

/* Passivates one more entity, whatever the limit, but not `kept`. Returns it; 0: there is none. */
uint32_t strategy_evict(struct strategy *strategy, uint32_t kept);
uint32_t strategy_active(const struct strategy *strategy);

/* --- for tests --- */
uint32_t strategy_window_limit(const struct strategy *strategy);

#endif
