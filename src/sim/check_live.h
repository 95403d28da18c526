/* Checks what must happen, and what must not, while no faults happen, by the probes of all nodes.
 *
 *   homes-available      each type has one active coordinator
 *   handoff-completes    no hand-off exceeds its time-out, and a shard that is told to stop has
 *                        stopped in time, regardless of its entities
 *   healthy-node-stays   no node of the core that the runner keeps ends; no member downs or refuses
 *                        it
 *   quiet-cluster-rests  no shard moves again and again. In a still cluster no shard moves or is
 *                        allocated, and no coordinator starts or ends. A silent cluster also sends
 *                        no full gossip and changes no member
 *
 * The runner says when the cluster is quiet: faults are over, and all agree on the members. After
 * the load has stopped and ended, the cluster is still, or silent if nodes can also reach each
 * other all the time. Facts must arrive in the order in which they happened. The checker knows
 * neither worlds nor nodes. */
#ifndef SHERD_SIM_CHECK_LIVE_H
#define SHERD_SIM_CHECK_LIVE_H

#include "base/limits.h"
#include "base/probe.h"
#include "sim/facts.h"

#define CHECK_LIVE_HANDOFF_NS 75000000000ull
/* with time for events that are not durable yet */
#define CHECK_LIVE_STOP_NS (HOSTED_STOP_TIMEOUT + 30000000000ull)
/* a failed hand-off is tried again within this, or within its time-out if that is longer */
#define CHECK_LIVE_TRIED_NS 300000000000ull
#define CHECK_LIVE_MOVES_MAX 3 /* of one shard in a quiet cluster */

struct verdict;
struct check_live;

struct check_live *check_live_new(struct verdict *verdict); /* lent for life */
void check_live_free(struct check_live *check);

/* Sets the time after which an open hand-off is a violation, counted from the begin of the quiet
 * phase: its time-out, and the delay of a late timer. Default CHECK_LIVE_HANDOFF_NS. */
void check_live_handoff_limit(struct check_live *check, uint64_t limit);

/* ---- facts ---- */

void check_live_node_ended(struct check_live *check, uint32_t node,
                           bool crashed, int error);
/* Ignores other kinds of probes. */
void check_live_probe(struct check_live *check, uint64_t now, uint32_t node,
                      const struct probe *probe);
void check_live_quiet(struct check_live *check, uint64_t now, bool on);
void check_live_still(struct check_live *check, bool on); /* only while quiet */
void check_live_silent(struct check_live *check, bool on); /* the same; implies still */
/* Judges deadlines. Call it often. */
void check_live_look(struct check_live *check, uint64_t now);

/* ---- questions ---- */

/* Whether the cluster has been quiet since then and rests: no shard moved or was allocated, no
 * coordinator started, and no move is open or to be tried again. If false, text has the reason. */
bool check_live_rests(const struct check_live *check, uint64_t since,
                      char *text, size_t size);

/* Whether a hand-off of that shard is open. */
bool check_live_moves(const struct check_live *check, uint16_t type,
                      int32_t shard);

/* Stores the node whose coordinator of that type is active. Returns false if none or several are,
 * with the reason in text (size bytes). */
bool check_live_coordinator(const struct check_live *check, uint16_t type,
                            uint32_t *node, char *text, size_t size);

#endif
