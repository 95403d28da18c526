/* Checks no-stale-sender by what each node's control machine accepts from peers.
 *
 *   - After anything from one incarnation of a peer, a node accepts no handshake, system message
 *     (watches and their ends), acknowledgement, gossip or heartbeat response of an earlier one.
 *   - An acknowledgement is for messages to the incarnation that sends it.
 *   - A node accepts no gossip or heartbeat response of an incarnation that it saw removed.
 * Ordinary messages are not judged: those of a former incarnation still reach their receivers. */
#ifndef SHERD_SIM_CHECK_INCARNATION_H
#define SHERD_SIM_CHECK_INCARNATION_H

#include "base/probe.h"

struct verdict;
struct check_incarnation;

struct check_incarnation *check_incarnation_new(struct verdict *verdict); /* lent for life */
void check_incarnation_free(struct check_incarnation *check); /* null is fine */

void check_incarnation_node_started(struct check_incarnation *check, uint32_t node,
                               uint64_t uid);
void check_incarnation_probe(struct check_incarnation *check, uint32_t node,
                        const struct probe *probe);
uint64_t check_incarnation_taken(const struct check_incarnation *check,
                            enum probe_taken what); /* number that were judged */

#endif
