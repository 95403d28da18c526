/* Checks membership, by each node's view of each member and by the evidence on which leaders act.
 *
 *   member-lifecycle  a member's status at a node takes allowed steps only. Removed is final: the
 *                     node does not see that member again. No node replaces its gossip by an older
 *                     version, nor by a concurrent one that lacks parts of its own
 *   leader-actions    only the leader changes members, in allowed steps, when by its evidence all
 *                     required members have seen the gossip (check_gossip_seen.h). Leaders that act
 *                     on one version see the same members in it
 *   no-split-brain    a member is down only for a known cause: an operator's command, another
 *                     incarnation at its address after its end, or a resolver if nodes have one
 *   no-cluster-merge  two clusters never merge, and a node joins one cluster in its life. A node
 *                     with another cluster's name joins none of these, and sees none of their nodes
 *                     as a member, nor they it
 *
 * Facts must arrive in the order in which they happened. */
#ifndef SHERD_SIM_CHECK_MEMBER_H
#define SHERD_SIM_CHECK_MEMBER_H

#include "base/probe.h"
#include "sim/facts.h"

struct verdict;
struct check_member;

struct check_member_counts {
    uint64_t seen;    /* changes of a status at a node */
    uint64_t actions; /* of leaders */
    uint64_t downed;
    uint64_t removed; /* at a node */
    uint64_t versions; /* taken by a node */
    uint64_t founded;
    uint64_t joined;
};

struct check_member *check_member_new(struct verdict *verdict); /* lent for life */
void check_member_free(struct check_member *check);

void check_member_node_foreign(struct check_member *check,
                               /* the running incarnation has another cluster's name */
                               uint32_t node);
void check_member_node_started(struct check_member *check, uint32_t node,
                               uint64_t uid);
void check_member_node_ended(struct check_member *check, uint32_t node);
/* An operator downs a member at this address, at any node. After the first call, a command that was
 * not reported here is a violation; before it, none is. */
void check_member_commanded(struct check_member *check,
                            const struct address *address);
/* The nodes have split brain resolvers. Without this call, a member that a resolver downs is a
 * violation. */
void check_member_resolves(struct check_member *check);
/* Ignores other kinds of probes. */
void check_member_probe(struct check_member *check, uint32_t node,
                        const struct probe *probe);
/* Whether a status (enum peer_status, enum sherd_member_status) may follow another, or equals
 * it. */
bool check_member_leads_to(unsigned from, unsigned to);
/* Whether that incarnation is a member in the view of the node. */
bool check_member_sees(const struct check_member *check, uint32_t node,
                       uint64_t uid);
/* Whether that incarnation is a member in the view of the node, and is neither leaving nor down. */
bool check_member_holds(const struct check_member *check, uint32_t node,
                        uint64_t uid);
struct check_member_counts check_member_counts(const struct check_member *check);

#endif
