/* Checks single-lease-holder: at most one node believes that it holds the lease, each by its own
 * clock, and each new holder has a higher token. A world has one lease. */
#ifndef SHERD_SIM_CHECK_LEASE_H
#define SHERD_SIM_CHECK_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/probe.h"

struct verdict;
struct check_lease;

typedef uint64_t check_lease_clock(void *user, uint32_t node); /* the node's monotonic clock now */

struct check_lease *check_lease_new(struct verdict *verdict,
                                    check_lease_clock *clock,
                                    void *user); /* lent for life */
void check_lease_free(struct check_lease *check);

void check_lease_node_ended(struct check_lease *check, uint32_t node);
void check_lease_probe(struct check_lease *check, uint32_t node,
                       const struct probe *probe);
bool check_lease_is_held(const struct check_lease *check,
                         uint32_t node); /* as the node believes */
/* times that the lease went to another node */
uint64_t check_lease_count(const struct check_lease *check);

#endif
