/* The checker of what must come about, and of what must not, while nothing goes wrong, by the probes of all nodes.
 *
 *   homes-available   each type has one active coordinator
 *   handoff-completes   no hand-off is older than its time-out, and a shard that is told to stop has stopped in time, whatever its
 *        entities do
 *   healthy-node-stays   no node of the core ends: nobody downs it, nobody refuses it
 *   quiet-cluster-rests   no shard moves again and again; in a still cluster none moves or is allocated, and no coordinator starts or ends; a
 *        silent one sends no full gossip, and changes no member
 *
 * The runner says when it is quiet (faults are over and all agree on the members) and when it is silent, too (the load has
 * stopped, and has ended): still, or silent where nodes see each other all the time. Fed with facts in the order in which they happened; it knows neither worlds nor nodes. */
#ifndef SHERD_SIM_CHECK_LIVE_H
#define SHERD_SIM_CHECK_LIVE_H

#include "base/limits.h"
#include "base/probe.h"
#include "sim/facts.h"

#define CHECK_LIVE_HANDOFF_NS 75000000000ull
#define CHECK_LIVE_STOP_NS (HOSTED_STOP_TIMEOUT + 30000000000ull) /* and for what is not durable yet */
#define CHECK_LIVE_TRIED_NS 300000000000ull /* what failed alone is tried again within this, or its time-out if that is longer */
#define CHECK_LIVE_MOVES_MAX 3 /* of one shard in a quiet cluster */

struct verdict;
struct check_live;

struct check_live *check_live_new(struct verdict *verdict); /* lent for life */
void check_live_free(struct check_live *check);

/* After so long a hand-off that has not ended is a violation, counted from when it is quiet: its time-out, and what a late
 * timer adds. Default CHECK_LIVE_HANDOFF_NS. */
void check_live_handoff_limit(struct check_live *check, uint64_t limit);

/* ---- facts ---- */

void check_live_node_ended(struct check_live *check, uint32_t node,
                           bool crashed, int error);
/* Kinds that are not its own are ignored. */
void check_live_probe(struct check_live *check, uint64_t now, uint32_t node,
                      const struct probe *probe);
void check_live_quiet(struct check_live *check, uint64_t now, bool on);
void check_live_still(struct check_live *check, bool on); /* only while quiet */
void check_live_silent(struct check_live *check, bool on); /* the same; still, too */
/* Looks at the deadlines: often enough. */
void check_live_look(struct check_live *check, uint64_t now);

/* ---- questions ---- */

/* Whether it has been quiet, no shard has moved or been allocated, nor a coordinator started, since then, and none is moving or to be
 * tried again; false with how it stands in text. */
bool check_live_rests(const struct check_live *check, uint64_t since,
                      char *text, size_t size);

/* Is a hand-off of that shard open? */
bool check_live_moves(const struct check_live *check, uint16_t type,
                      int32_t shard);

/* The node whose coordinator of that type is active; false when none is, or several are: text says so (size bytes). */
bool check_live_coordinator(const struct check_live *check, uint16_t type,
                            uint32_t *node, char *text, size_t size);

#endif
