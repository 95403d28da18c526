/* Plays a region with passivation strategies but without actors, as Akka's tests of passivation do.
 *
 * An entity's id is its slot in decimal. The region's limit is divided among the shards that have
 * been used; the first use of a shard changes the limits of all. */
#ifndef SHERD_TESTS_PASSIVATION_CAST_H
#define SHERD_TESTS_PASSIVATION_CAST_H

#include "actor/passivation/strategy.h"
#include "base/bytes.h"

#define CAST_SHARDS 100u

struct cast {
    struct passivation_settings settings;
    uint32_t limit;
    struct ranks ranks;
    struct strategy *shards[CAST_SHARDS];
    uint32_t order[CAST_SHARDS]; /* shards in order of their first use */
    uint32_t count;
    struct slots stopped; /* in order */
};

/* The strategies of Akka's simulator of passivation, by its name: "LRU", "SLRU", "S4LRU", "MRU",
 * "LFU", "LFUDA", "FS", "HC". */
struct passivation_settings cast_settings(const char *name);
void cast_init(struct cast *cast, const struct passivation_settings *settings, uint32_t limit);
void cast_fini(struct cast *cast);
/* True: the entity was active before. */
bool cast_use(struct cast *cast, uint32_t shard, uint32_t slot);
void cast_set_limit(struct cast *cast, uint32_t limit);
/* The hash of a slot's decimal text, as a JVM computes it. */
uint32_t cast_hash(const void *user, uint32_t slot);

#endif
