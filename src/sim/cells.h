/* Counts which faults have met which states. A cell is a pair of a kind of fault and a state of a
 * node (node/states.h).
 *
 * A cell is met when a fault of that kind begins while some node is in that state. It is struck
 * when the fault affects that node: the fault names it, it is at an end of the faulty paths, or the
 * fault hits the disks. The nemesis records them (nemesis.h), a run keeps them as sets, and this
 * file counts them over runs and processes. */
#ifndef SHERD_SIM_CELLS_H
#define SHERD_SIM_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "node/states.h"
#include "sim/nemesis.h"

#define CELLS (FAULT_VERBS * NODE_STATE_COUNT)

/* Number of runs in which a cell was met or struck. Zero is none. */
struct cells {
    uint64_t met[FAULT_VERBS][NODE_STATE_COUNT];
    uint64_t struck[FAULT_VERBS][NODE_STATE_COUNT];
};

/* Adds the sets of one run, by verb. */
void cells_add(struct cells *cells, const struct nemesis_cells sets[FAULT_VERBS]);
uint32_t cells_met(const struct cells *cells);    /* number of cells, of CELLS */
uint32_t cells_struck(const struct cells *cells);
/* Appends all cells as lines "MET STRUCK VERB AUTOMATON STATE". */
void cells_write(const struct cells *cells, struct buf *out);
/* Adds the lines of another process's cells_write. Skips lines that begin with #. Returns false at
 * a malformed line; earlier lines are added. */
bool cells_merge(struct cells *cells, struct slice lines);
/* Appends the matrix in readable form: a row for each state, a column for each kind of fault ('#'
 * struck, '+' met elsewhere only, '.' never). For each state the kinds follow that never met it.
 * Each line begins with `indent`. */
void cells_put(const struct cells *cells, const char *indent, struct buf *out);

#endif
