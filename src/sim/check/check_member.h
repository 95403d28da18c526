/* Checks membership by each node's view of each member and by the evidence of leaders.
 *
 *   member-lifecycle  a member's status at a node takes allowed steps; removed is final. No node
 *                     takes an older version of the gossip, nor a concurrent one that lacks parts
 *                     of its own
 *   leader-actions    only the leader changes members, in allowed steps, when all required members
 *                     have seen the gossip by its evidence (check_gossip_seen.h). Leaders that act
 *                     on one version see the same members
 *   no-split-brain    a member is downed by an operator, by another incarnation at its address
 *                     after its end, or by a resolver if nodes have one
 *   no-cluster-merge  clusters never merge, and a node joins one in its life. A node with another
 *                     cluster's name joins none of these, and it and their nodes never see each
 *                     other as members */
#ifndef SHERD_SIM_CHECK_MEMBER_H
#define SHERD_SIM_CHECK_MEMBER_H

#include "base/probe.h"
#include "sim/check/facts.h"

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
/* An operator downs a member at this address, at any node. After the first call, unreported
 * commands are violations. */
void check_member_commanded(struct check_member *check,
                            const struct address *address);
/* The nodes have split brain resolvers. Without this call, downing by one is a violation. */
void check_member_resolves(struct check_member *check);
void check_member_probe(struct check_member *check, uint32_t node,
                        const struct probe *probe);
/* Whether a status (enum member_status, enum sherd_member_status) may follow another or is the
 * same. */
bool check_member_leads_to(unsigned from, unsigned to);
/* Whether it is a member in the view of the node. */
bool check_member_sees(const struct check_member *check, uint32_t node,
                       uint64_t uid);
/* Whether it is a member in the view of the node, and neither leaving nor down. */
bool check_member_holds(const struct check_member *check, uint32_t node,
                        uint64_t uid);
struct check_member_counts check_member_counts(const struct check_member *check);

#endif
