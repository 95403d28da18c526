/* Checks that nodes notice a server that lost what it confirmed.
 *
 *   loss-detected  after a server took over that lacks events which it confirmed to a node, the node writes
 *                  nothing more for their shard until the journal refused it, or it claimed the shard again; a
 *                  refusal says why, unless other nodes may have written as many events since
 *
 * The journal calls it as its observer. */
#ifndef SHERD_SIM_CHECK_LOSS_H
#define SHERD_SIM_CHECK_LOSS_H

#include <stdint.h>

#include "sim/world/disk_backend.h"

struct check_loss;
struct verdict;

struct check_loss *check_loss_new(struct verdict *verdict); /* lent for life */
void check_loss_free(struct check_loss *check); /* null is fine */
struct disk_backend_observer check_loss_observer(struct check_loss *check);

struct check_loss_counts {
    uint64_t lost;    /* entities of nodes with confirmed events that are gone */
    uint64_t noticed; /* shards of nodes with such entities */
};
struct check_loss_counts check_loss_counts(const struct check_loss *check);

#endif
