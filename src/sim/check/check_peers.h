/* Checks peers-stay by what each node's control machine keeps of its peers.
 *
 *   - A node forgets no member, and no peer that answered at its address.
 *   - Only a node of this world replaces a peer that answered. A stranger, which listens nowhere, may
 *     claim the peer's address.
 * A member counts a second after it was seen. */
#ifndef SHERD_SIM_CHECK_PEERS_H
#define SHERD_SIM_CHECK_PEERS_H

#include "base/probe.h"

struct verdict;
struct check_peers;

struct check_peers *check_peers_new(struct verdict *verdict); /* lent for life */
void check_peers_free(struct check_peers *check); /* null is fine */

void check_peers_node_started(struct check_peers *check, uint32_t node,
                              uint64_t uid);
void check_peers_probe(struct check_peers *check, uint64_t now, uint32_t node,
                       const struct probe *probe);
uint64_t check_peers_forgotten(const struct check_peers *check); /* number that were judged */

#endif
