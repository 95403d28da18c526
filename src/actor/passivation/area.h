/* Orders the active entities of an area by a replacement policy, and names those beyond its limit.
 *
 * A strategy has a main area, and a composite one may have an admission window. Victims leave the
 * area's books at once. */
#ifndef SHERD_ACTOR_PASSIVATION_AREA_H
#define SHERD_ACTOR_PASSIVATION_AREA_H

#include "actor/passivation/ranks.h"

#define PASSIVATION_LEVELS_MAX 64u /* segments of a recency list */

enum passivation_policy {
    PASSIVATION_NONE,
    PASSIVATION_LEAST_RECENT,
    PASSIVATION_MOST_RECENT,
    PASSIVATION_LEAST_FREQUENT
};

struct area_settings {
    enum passivation_policy policy;
    uint32_t levels; /* LEAST_RECENT: segments, at most PASSIVATION_LEVELS_MAX; below 2: one */
    double shares[PASSIVATION_LEVELS_MAX]; /* of the limit; all 0: equal */
    bool is_aging; /* LEAST_FREQUENT: with dynamic aging */
};

/* A recency list; level 0 has the candidates. */
struct segment {
    uint32_t first, last; /* least and most recent; 0 = empty */
    uint32_t size, limit;
};

/* The entities of one priority, the least recent first. */
struct bucket {
    uint64_t priority;
    uint32_t first, last;
    uint32_t lower, higher; /* neighbours by priority; 0 = none */
};

struct area {
    const struct area_settings *settings; /* lent */
    enum rank_area id;
    uint32_t limit, size;
    uint32_t levels;
    struct segment *segments; /* LEAST_RECENT, MOST_RECENT: one */
    VEC(struct bucket) buckets; /* LEAST_FREQUENT; the first is not used */
    uint32_t bucket_free, lowest;
    uint64_t age; /* priority of the last victim, with dynamic aging */
};

void area_init(struct area *area, const struct area_settings *settings, enum rank_area id);
/* Takes all entities off the books. */
void area_fini(struct area *area, struct ranks *ranks);
/* An entity of this area, or of none, is used. Appends victims to `out`; the entity may be one. */
void area_use(struct area *area, struct ranks *ranks, uint32_t slot, struct slots *out);
/* Sets the limit and appends victims to `out`. */
void area_set_limit(struct area *area, struct ranks *ranks, uint32_t limit,
                    struct slots *out);
/* The next victim; 0: none. */
uint32_t area_select(const struct area *area);
/* Likewise in all segments, and not `kept`. */
uint32_t area_select_other(const struct area *area, const struct ranks *ranks,
                           uint32_t kept);
/* Takes an entity of this area off the books. */
void area_remove(struct area *area, struct ranks *ranks, uint32_t slot);

/* --- recency.c --- */
void recency_set_limits(struct area *area);
void recency_use(struct area *area, struct ranks *ranks, uint32_t slot);
void recency_remove(struct area *area, struct ranks *ranks, uint32_t slot);
/* Appends the least recent ones beyond the limit to `out`. */
void recency_trim(struct area *area, struct ranks *ranks, struct slots *out);
/* Likewise the most recent ones, but not the slot `kept`. */
void recency_trim_recent(struct area *area, struct ranks *ranks, uint32_t kept,
                         struct slots *out);

/* --- frequency.c --- */
void frequency_use(struct area *area, struct ranks *ranks, uint32_t slot);
void frequency_remove(struct area *area, struct ranks *ranks, uint32_t slot);
/* Appends the least frequent ones to `out`, until at most `kept` are left. */
void frequency_trim(struct area *area, struct ranks *ranks, uint32_t kept,
                    struct slots *out);

#endif
