/* The checker of what former lives of nodes still do (no-stale-sender), by what each node's control takes from its peers.
 *
 *   a node that has taken anything of a life of another one takes nothing of a life before it: no handshake, system message
 *   (watches and their ends), acknowledgement, gossip or answer to a heartbeat
 *   an acknowledgement is for messages to the very life that sends it
 *   what a node has seen removed has gossip and answers to heartbeats that it takes no more
 *
 * Plain messages are not looked at: those of a former life that wait somewhere are given to whom they are for. */
#ifndef SHERD_SIM_CHECK_INCARNATION_H
#define SHERD_SIM_CHECK_INCARNATION_H

#include "base/probe.h"

struct verdict;
struct check_incarnation;

struct check_incarnation *check_incarnation_new(struct verdict *verdict); /* lent for life */
void check_incarnation_free(struct check_incarnation *check); /* null is fine */

void check_incarnation_node_started(struct check_incarnation *check, uint32_t node,
                               uint64_t uid);
/* In the order in which they happened; kinds that are not its own are ignored. */
void check_incarnation_probe(struct check_incarnation *check, uint32_t node,
                        const struct probe *probe);
uint64_t check_incarnation_taken(const struct check_incarnation *check,
                            enum probe_taken what); /* so many of those were judged */

#endif
