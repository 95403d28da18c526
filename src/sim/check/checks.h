/* Feeds all probe checkers as an observer of one world, and reports to its verdict. Nodes must run
 * with settings.probes.
 *
 *   shutdown-completes  a node that is told to leave, or sees itself exiting or removed, ends
 *                       within the time of its shutdown steps */
#ifndef SHERD_SIM_CHECK_CHECKS_H
#define SHERD_SIM_CHECK_CHECKS_H

#include "sim/check/check_allocation.h"
#include "sim/check/check_coordinator.h"
#include "sim/check/check_entity.h"
#include "sim/check/check_incarnation.h"
#include "sim/check/check_peers.h"
#include "sim/check/check_homes.h"
#include "sim/check/check_state_quorum.h"
#include "sim/check/check_lease.h"
#include "sim/check/check_liveness.h"
#include "sim/check/check_margin.h"
#include "sim/check/check_member.h"
#include "sim/check/outside_nodes.h"
#include "sim/check/check_gossip_seen.h"
#include "sim/check/check_resolver.h"
#include "sim/check/check_services.h"
#include "sim/check/check_shard_lease.h"
#include "sim/check/check_state_store.h"

struct world;
struct trace_line;

/* An incarnation that must end: it was told to leave, sees itself exiting, or ends itself. */
struct checks_end {
    uint64_t since;
    uint64_t by; /* ns of the world; pauses of the node are added */
};

/* How an incarnation came into the cluster. */
struct checks_entry {
    uint64_t started_at; /* ns of the world */
    uint64_t by;         /* uid of the node that sent it the gossip; 0: none has */
};

struct checks {
    struct check_entity *entity;
    struct check_coordinator *coordinator;
    struct check_member *member;
    struct check_gossip_seen *gossip_seen;
    struct check_incarnation *incarnation;
    struct check_peers *peers;
    struct check_liveness *live;
    struct check_homes *homes;
    struct check_lease *lease;
    struct check_shard_lease *shard_lease;
    struct check_state_store *stored;
    struct check_state_quorum *quorum;
    struct check_resolver *partition;
    struct check_margin *margin;
    struct check_allocation *allocation;
    struct check_safety safety;
    struct outside_nodes *outside;
    struct world *world;
    struct verdict *verdict;
    uint32_t centers; /* data centers; set after checks_new; 0: one */
    uint64_t uids[CHECK_NODES_MAX]; /* of incarnations that run; 0: none */
    /* incarnations that must end; zero if none */
    struct checks_end ends[CHECK_NODES_MAX];
    struct checks_entry entries[CHECK_NODES_MAX]; /* of the last incarnations */
    uint32_t ending;    /* count of ends that are set */
    uint64_t looked_at; /* pauses are counted from here */
};

/* The world is lent; stop_ns as in check_entity_new. */
struct checks *checks_new(struct world *world, uint64_t stop_ns);
/* Judges deadlines. At the end of a run, and at any other time. */
void checks_look(struct checks *checks);
/* Looks for open requests while homes are judged (check_homes_quiet). Every few seconds is
 * enough. */
void checks_look_at_homes(struct checks *checks);
/* Incarnations that must end, have not ended and were not reported as late. */
uint32_t checks_ending(const struct checks *checks);
/* Whether the node that welcomed it has ended or is outside, so that others may not know of it. */
bool checks_is_orphaned(const struct checks *checks, uint32_t node);
/* Whether the line says that bytes from a connection are no frame. */
/* check_singleton_has of SERVICES_SINGLETON; user: the checks. */
bool checks_singleton_has(void *user, uint32_t node);
bool checks_is_unreadable(const struct trace_line *line);
void checks_free(struct checks *checks); /* after world_free */

#endif
