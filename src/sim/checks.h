/* All checkers of probes over one world: an observer that feeds them. Where they disagree with the nodes the world's verdict
 * has it. Nodes must run with settings.probes.
 *
 * Who is given up while its process lives is outside (check_outside.h): what runs there until it ends itself may overlap, and is
 * measured.
 *
 *   shutdown-completes   a node that is told to leave, or sees itself exiting or removed, has ended when the times of all steps of its end are over */
#ifndef SHERD_SIM_CHECKS_H
#define SHERD_SIM_CHECKS_H

#include "sim/check_coordinator.h"
#include "sim/check_entity.h"
#include "sim/check_incarnation.h"
#include "sim/check_homes.h"
#include "sim/check_quorum.h"
#include "sim/check_lease.h"
#include "sim/check_live.h"
#include "sim/check_margin.h"
#include "sim/check_member.h"
#include "sim/check_outside.h"
#include "sim/check_gossip_seen.h"
#include "sim/check_partition.h"
#include "sim/check_stored.h"

struct world;
struct trace_line;

/* A life that is to end: it was told to leave, sees itself exiting, or ends itself. */
struct checks_end {
    uint64_t since;
    uint64_t by; /* ns of the world: a pause of the node is no part of it */
};

/* How a life came into the cluster. */
struct checks_entry {
    uint64_t started_at; /* ns of the world */
    uint64_t by;         /* uid of who has shown it the gossip; 0: nobody has */
};

struct checks {
    struct check_entity *entity;
    struct check_coordinator *coordinator;
    struct check_member *member;
    struct check_gossip_seen *seen;
    struct check_incarnation *former;
    struct check_live *live;
    struct check_homes *homes;
    struct check_lease *lease;
    struct check_stored *stored;
    struct check_quorum *kept;
    struct check_partition *sides;
    struct check_margin *margin;
    struct check_safety safety;
    struct check_outside *outside;
    struct world *world;
    struct verdict *verdict;
    uint32_t centers; /* data centers; set after checks_new; 0: one */
    uint64_t uids[CHECK_NODES_MAX]; /* of the lives that run; 0 = none */
    struct checks_end ends[CHECK_NODES_MAX]; /* of lives that are to end; all zero: none of them is */
    struct checks_entry entries[CHECK_NODES_MAX]; /* of the last lives */
    uint32_t ending;    /* of ends that are set */
    uint64_t looked_at; /* pauses are counted from here */
};

/* The world is lent; stop_ns as in check_entity_new. */
struct checks *checks_new(struct world *world, uint64_t stop_ns);
/* Looks at deadlines; at the end of a run, and whenever one likes. */
void checks_look(struct checks *checks);
/* While homes are judged (check_homes_quiet): who asks for one. Every few seconds is enough. */
void checks_look_at_homes(struct checks *checks);
/* How many lives are to end and have not, nor were found late. */
uint32_t checks_ending(const struct checks *checks);
/* Has a life been taken in by one that is over, or outside? Nobody else may know of it. */
bool checks_is_orphaned(const struct checks *checks, uint32_t node);
/* Does a node say that bytes from a connection are no frame? */
bool checks_is_unreadable(const struct trace_line *line);
void checks_free(struct checks *checks); /* after world_free */

#endif
