/* Checks homes-available: in a quiet phase each requested shard has a home, and the region that
 * asks gets the answer in time.
 *
 * The caller looks at the asking regions now and then and reports each of them here. A region that
 * asked at one look and not at the next was answered. The caller leaves out shards that are moving,
 * because regions get no answer until the move ends (handoff-completes bounds that). This checker
 * knows neither worlds nor nodes. */
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

/* Sets the time after which an open request is a violation, once the checker judges. Default
 * CHECK_HOMES_NS. */
void check_homes_limit(struct check_homes *check, uint64_t limit);
/* Begins or ends a quiet phase. Requests are counted from here. */
void check_homes_quiet(struct check_homes *check, uint64_t now, bool on);
/* Starts judging, because a coordinator that can answer exists from now on. Judging ends with the
 * quiet phase. */
void check_homes_judge(struct check_homes *check, uint64_t now);
bool check_homes_is_quiet(const struct check_homes *check);

/* One look: a call for each region that asks, in order of nodes, types and shards, each once; then
 * check_homes_looked, which judges. Only in a quiet phase. */
void check_homes_asked(struct check_homes *check, uint64_t now, uint32_t node,
                       uint16_t type, int32_t shard);
void check_homes_looked(struct check_homes *check, uint64_t now);

/* Whether all regions that asked when the phase became quiet have their answer, as of the last
 * look. If false, text (size bytes) has one that waits. */
bool check_homes_answered(const struct check_homes *check, char *text,
                          size_t size);
/* longest wait in ns since judging began, as far as looks show */
uint64_t check_homes_longest(const struct check_homes *check);
/* requests in all quiet phases that were answered */
uint64_t check_homes_count(const struct check_homes *check);

#endif
