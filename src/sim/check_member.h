/* The checker of membership, by what each node sees of each member and on what evidence leaders act.
 *
 *   member-lifecycle  a member's status at a node goes only the allowed ways; removed is final: it is not seen there again; no node takes an
 *        older version of the gossip for its own, nor a concurrent one without what its own has
 *   leader-actions  members are changed only by the leader, when all who must have seen the gossip have by its word (check_seen.h), and only in a leader's ways; whoever acts
 *        on one version of the gossip sees the same members there
 *   no-split-brain  a member is down only because an operator said so, because another incarnation came to its address after its end, or
 *        by a node's resolver where there is one
 *   no-cluster-merge  two clusters never merge, and a node joins one in its life; one of another cluster's name joins none of these, nor is it seen as a
 *        member by anybody, nor anybody by it
 *
 * Fed with facts in the order in which they happened. */
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
                               uint32_t node); /* its life, which has started, is of another cluster's name */
void check_member_node_started(struct check_member *check, uint32_t node,
                               uint64_t uid);
void check_member_node_ended(struct check_member *check, uint32_t node);
/* An operator has a member downed at this address, at whatever node. Once this was called, commands that were not told are
 * violations; until then none is. */
void check_member_commanded(struct check_member *check,
                            const struct address *address);
/* The nodes have split brain resolvers. Until this was called, a member that one has downed is a violation. */
void check_member_resolves(struct check_member *check);
/* Kinds that are not its own are ignored. */
void check_member_probe(struct check_member *check, uint32_t node,
                        const struct probe *probe);
/* May a status (enum peer_status, enum sherd_member_status) be seen after that one? Also when it is the same. */
bool check_member_leads_to(unsigned from, unsigned to);
/* Is that incarnation a member for that node, as far as it was told? */
bool check_member_sees(const struct check_member *check, uint32_t node,
                       uint64_t uid);
/* Is that incarnation a member that is neither on its way out nor down, for that node? */
bool check_member_holds(const struct check_member *check, uint32_t node,
                        uint64_t uid);
struct check_member_counts check_member_counts(const struct check_member *check);

#endif
