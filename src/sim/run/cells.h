/* Counts which faults have met which states. A cell is a pair of a kind of fault and a state of a
 * node (node/states.h).
 *
 * A fault meets a cell when it begins while some node is in that state. It strikes the cell when it
 * affects that node: it names it, faults a path of it, or hits the disks. */
#ifndef SHERD_SIM_RUN_CELLS_H
#define SHERD_SIM_RUN_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "node/states.h"
#include "sim/faults/nemesis.h"

#define CELLS (FAULT_VERBS * NODE_STATE_COUNT)

/* Number of runs in which a cell was met or struck. Zero is none. */
struct cells {
    uint64_t met[FAULT_VERBS][NODE_STATE_COUNT];
    uint64_t struck[FAULT_VERBS][NODE_STATE_COUNT];
};

/* Adds the sets of one run, by verb. */
void cells_add(struct cells *cells, const struct nemesis_cells sets[FAULT_VERBS]);
uint32_t cells_met(const struct cells *cells);    /* of CELLS */
uint32_t cells_struck(const struct cells *cells);
/* Appends all cells as lines "MET STRUCK VERB AUTOMATON STATE". */
void cells_write(const struct cells *cells, struct buf *out);
/* Adds lines of another process's cells_write, except those that begin with #. False at a malformed
 * line; earlier lines are added. */
bool cells_merge(struct cells *cells, struct slice lines);
/* Appends a readable matrix: a row for each state, a column for each kind of fault ('#' struck, '+'
 * met elsewhere only, '.' never), and the kinds that never met a state. Each line begins with
 * `indent`. */
void cells_put(const struct cells *cells, const char *indent, struct buf *out);

#endif
