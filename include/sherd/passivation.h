/* Chooses how the entities of one type are passivated: Akka's
 * ClusterShardingSettings.withPassivationStrategy.
 *
 * The strategy of a type begins as a section of the configuration,
 * akka.cluster.sharding.passivation.NAME, with all its numbers. Fields that are
 * set here replace single numbers. The idle time and the limits of active
 * entities are fields of sherd_entity_type: idle_ms, active_entity_limit and
 * active_byte_limit. Guide: docs/guide/passivation.md. */
#ifndef SHERD_PASSIVATION_H
#define SHERD_PASSIVATION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which entity is passivated when there are more than the limit. */
enum sherd_replacement_policy {
    SHERD_REPLACEMENT_CONFIGURED, /* as the section says */
    SHERD_REPLACEMENT_NONE,       /* a window: there is none */
    SHERD_LEAST_RECENTLY_USED,
    SHERD_MOST_RECENTLY_USED,
    SHERD_LEAST_FREQUENTLY_USED
};

/* Segments of a list of the least recently used. */
#define SHERD_REPLACEMENT_LEVELS_MAX 64

/* Zero means: as the section says. */
struct sherd_replacement {
    enum sherd_replacement_policy policy;
    /* SHERD_LEAST_RECENTLY_USED: segments, 1 to SHERD_REPLACEMENT_LEVELS_MAX;
     * 1: no segments. */
    uint32_t levels;
    /* Their parts of the limit, the lowest segment's first: `levels` numbers
     * from 0 to 1. Null: equal, if levels is set. */
    const double *proportions;
    /* SHERD_LEAST_FREQUENTLY_USED: old uses count less; 1: on, -1: off. */
    int dynamic_aging;
};

/* The strategy of a type. Zero means: as the section says, whose keys have the
 * same names. */
struct sherd_passivation {
    /* A section of akka.cluster.sharding.passivation: "default-strategy",
     * "default-idle-strategy" or one of the program; "none": entities are
     * neither idle nor too many, unless the type's own fields say so. Default:
     * as configured (passivation.strategy). */
    const char *strategy;
    /* Milliseconds between two looks for idle entities. */
    uint64_t idle_interval_ms;
    /* Which entity is passivated. SHERD_REPLACEMENT_NONE is not valid here. */
    struct sherd_replacement replacement;
    /* New entities enter a window with a policy of its own. */
    struct sherd_replacement window;
    /* The window's part of the limit, 0 to 1: at the start, and its bounds. */
    double window_proportion;
    double window_minimum_proportion;
    double window_maximum_proportion;
    /* Hill climbing adapts the window's part; 1: on, -1: off. */
    int hill_climbing;
    double adjust_multiplier; /* uses between two steps, by the limit */
    double initial_step;      /* 0 to 1, as the next two */
    double restart_threshold;
    double step_decay;
    /* An entity that leaves the window stays only if a sketch counted more uses
     * than those of the entity that it would replace; 1: on, -1: off. */
    int frequency_sketch;
    uint32_t sketch_depth;        /* 1 to 16 */
    uint32_t sketch_counter_bits; /* 2, 4, 8, 16, 32 or 64 */
    double sketch_width_multiplier;
    double sketch_reset_multiplier;
};

#ifdef __cplusplus
}
#endif

#endif
