/* Checks liveness: what must and must not happen without faults, by the probes of all nodes.
 *
 *   homes-available      each type has one active coordinator
 *   handoff-completes    no hand-off exceeds its time-out, and a stopping shard stops in time,
 *                        whatever its entities do
 *   healthy-node-stays   no member downs or refuses a node that the runner keeps
 *   quiet-cluster-rests  no shard moves again and again. In a still cluster no shard moves or is
 *                        allocated, and no coordinator starts or ends. A silent one also sends no
 *                        full gossip and changes no member
 *
 * The runner says when the cluster is quiet: faults are over, and all agree on the members. Without
 * load it is still, or silent if nodes reach each other all the time. */
#ifndef SHERD_SIM_CHECK_LIVENESS_H
#define SHERD_SIM_CHECK_LIVENESS_H

#include "base/probe.h"
#include "sim/check/facts.h"

#define CHECK_LIVENESS_HANDOFF_NS 75000000000ull
/* A shard's stop is forced within the hand-off's time-out. It still waits for events that are not
 * durable yet. */
#define CHECK_LIVENESS_STORED_NS 30000000000ull
/* a failed hand-off is tried again by then, or by its time-out if later */
#define CHECK_LIVENESS_TRIED_NS 300000000000ull
#define CHECK_LIVENESS_MOVES_MAX 3 /* of one shard in a quiet cluster */

struct verdict;
struct check_liveness;

struct check_liveness *check_liveness_new(struct verdict *verdict); /* lent for life */
void check_liveness_free(struct check_liveness *check);

/* Sets the time-out of hand-offs, with the delay of a late timer, counted from the begin of the
 * quiet phase. Default CHECK_LIVENESS_HANDOFF_NS. */
void check_liveness_handoff_limit(struct check_liveness *check, uint64_t limit);

/* ---- facts ---- */

void check_liveness_node_ended(struct check_liveness *check, uint32_t node,
                               bool crashed, int error);
void check_liveness_probe(struct check_liveness *check, uint64_t now, uint32_t node,
                          const struct probe *probe);
void check_liveness_quiet(struct check_liveness *check, uint64_t now, bool on);
void check_liveness_still(struct check_liveness *check, bool on); /* only while quiet */
void check_liveness_silent(struct check_liveness *check, bool on); /* the same; implies still */
/* Judges deadlines. Call it often. */
void check_liveness_look(struct check_liveness *check, uint64_t now);

/* ---- questions ---- */

/* Whether the cluster is quiet since then, no shard moved or was allocated, no coordinator started,
 * and no move is open or to be tried again. False: text has the reason. */
bool check_liveness_rests(const struct check_liveness *check, uint64_t since,
                          char *text, size_t size);

bool check_liveness_moves(const struct check_liveness *check, uint16_t type,
                          int32_t shard);

/* Finds the node whose coordinator of that type is active. False if none or several are, with the
 * reason in text (size bytes). */
bool check_liveness_coordinator(const struct check_liveness *check, uint16_t type,
                                uint32_t *node, char *text, size_t size);

#endif
