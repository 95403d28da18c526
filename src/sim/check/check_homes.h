/* Checks homes-available: in a quiet phase each request for a shard's home is answered in time.
 *
 * The caller looks at the asking regions now and then. A region that asked at one look and not at
 * the next was answered. The caller leaves out moving shards (handoff-completes bounds these). */
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

/* Sets the time after which an open request is a violation. Default CHECK_HOMES_NS. */
void check_homes_limit(struct check_homes *check, uint64_t limit);
/* Begins or ends a quiet phase. Requests are counted from here. */
void check_homes_quiet(struct check_homes *check, uint64_t now, bool on);
/* Judges from now until the quiet phase ends, because a coordinator can answer. */
void check_homes_judge(struct check_homes *check, uint64_t now);
bool check_homes_is_quiet(const struct check_homes *check);

/* One look: a call for each asking region, in order of nodes, types and shards; then
 * check_homes_looked, which judges. Only in a quiet phase. */
void check_homes_asked(struct check_homes *check, uint64_t now, uint32_t node,
                       uint16_t type, int32_t shard);
void check_homes_looked(struct check_homes *check, uint64_t now);

/* Whether all regions that asked at the begin of the phase have their answer, as of the last look.
 * False: text (size bytes) has one that waits. */
bool check_homes_answered(const struct check_homes *check, char *text,
                          size_t size);
/* longest wait in ns since judging began */
uint64_t check_homes_longest(const struct check_homes *check);
/* requests in all quiet phases that were answered */
uint64_t check_homes_count(const struct check_homes *check);

#endif
