/* The checker of homes: in the quiet, each shard whose home is asked for has one, and who asks is told, in time (reliability: homes-available).
 *
 * Somebody looks once in a while at which regions ask, and says so here, one after the other; who was there at one look and is not at the next
 * one was answered between. A shard that just moves is left out by who looks: until the move is over nobody is told (handoff-completes bounds it).
 * It knows neither worlds nor nodes. */
#ifndef SHERD_SIM_CHECK_HOMES_H
#define SHERD_SIM_CHECK_HOMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct verdict;
struct check_homes;

#define CHECK_HOMES_NS 60000000000ull

struct check_homes *check_homes_new(struct verdict *verdict); /* lent for life */
void check_homes_free(struct check_homes *check); /* null is fine */

/* After so long who still asks is a violation, once there is a judge. Default CHECK_HOMES_NS. */
void check_homes_limit(struct check_homes *check, uint64_t limit);
/* From now on it is quiet, or not: whoever asks counts from here. */
void check_homes_quiet(struct check_homes *check, uint64_t now, bool on);
/* And from now on there is a coordinator who can answer: it is judged until the quiet ends. */
void check_homes_judge(struct check_homes *check, uint64_t now);
bool check_homes_is_quiet(const struct check_homes *check);

/* A look: that region asks, in order of nodes, types and shards, each once; then the end of the look, which judges. Only in the quiet. */
void check_homes_asked(struct check_homes *check, uint64_t now, uint32_t node,
                       uint16_t type, int32_t shard);
void check_homes_looked(struct check_homes *check, uint64_t now);

/* Is everybody answered who asked when it became quiet? As of the last look; false with who is not in text (size bytes). */
bool check_homes_answered(const struct check_homes *check, char *text,
                          size_t size);
uint64_t check_homes_longest(const struct check_homes *check); /* ns that somebody has asked since there was a judge, as far as looks show */
uint64_t check_homes_count(const struct check_homes *check); /* that have asked in any quiet and were answered */

#endif
