/* Which faults have met which states: a cell for each pair of a kind of fault and a state of a node (node/states.h).
 *
 * A cell is met when a fault of that kind begins while some node is in that state, and struck when that is a node that the fault is done to:
 * the one that it names, one at an end of its paths, or any, where it is done to the disks. The nemesis takes notes (nemesis.h), a run
 * keeps them as sets, and here they are counted over runs and processes. */
#ifndef SHERD_SIM_CELLS_H
#define SHERD_SIM_CELLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "node/states.h"
#include "sim/nemesis.h"

#define CELLS (FAULT_VERBS * NODE_STATE_COUNT)

/* Runs in which a cell was met, and struck. Zero is none. */
struct cells {
    uint64_t met[FAULT_VERBS][NODE_STATE_COUNT];
    uint64_t struck[FAULT_VERBS][NODE_STATE_COUNT];
};

/* One run more: its sets, by verb. */
void cells_add(struct cells *cells, const struct nemesis_cells sets[FAULT_VERBS]);
uint32_t cells_met(const struct cells *cells);    /* cells, of CELLS */
uint32_t cells_struck(const struct cells *cells);
/* The whole as lines "MET STRUCK VERB AUTOMATON STATE", all cells, appended. */
void cells_write(const struct cells *cells, struct buf *out);
/* Adds up lines of cells_write, of another process; those that begin with # are skipped. False when one is not such a line; those before it
 * are added. */
bool cells_merge(struct cells *cells, struct slice lines);
/* For a person: the matrix, a row for each state and a column for each kind of fault ('#' struck, '+' met elsewhere only, '.' never), and
 * for each state the kinds that never met it. Each line begins with `indent`. */
void cells_put(const struct cells *cells, const char *indent, struct buf *out);

#endif
