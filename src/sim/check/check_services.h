/* Checks where instances of singletons and daemons live, by reports of the instances themselves.
 *
 *   one-singleton  a data center has one live instance; an overlap with a node outside (facts.h) that
 *                  is not late is excused
 *   leased-singletons  with leases an instance runs only while its node has the singleton's lease at
 *                  the provider
 *   daemons-run    in the quiet phase each daemon runs exactly once, and no other runs
 *
 * A thing is a number: SERVICE_SINGLETON, or SERVICE_DAEMON + the daemon's number. */
#ifndef SHERD_SIM_CHECK_SERVICES_H
#define SHERD_SIM_CHECK_SERVICES_H

#include "sim/check/facts.h"

#define SERVICE_SINGLETON 0
#define SERVICES_SINGLETON "sim-singleton" /* its name */
#define SERVICE_DAEMON 1

struct verdict;
struct check_services;

/* verdict is lent for life. centers: node n is in center n modulo that; 0: one. */
struct check_services *check_services_new(struct verdict *verdict, uint32_t centers);
/* Says whether the node needs no such lease, or has it at the provider now. Lent for life, with its
 * user. */
typedef bool check_singleton_has(void *user, uint32_t node);
void check_services_leases(struct check_services *check, check_singleton_has *has, void *user);
/* The singleton's instance of the node handles something. */
void check_services_runs(struct check_services *check, uint32_t node);
/* Until then no overlap is excused. safety: lent for life. */
void check_services_safety(struct check_services *check, const struct check_safety *safety);
void check_services_free(struct check_services *check);

void check_services_started(struct check_services *check, uint32_t node, uint32_t thing);
void check_services_ended(struct check_services *check, uint32_t node, uint32_t thing);
void check_services_node_ended(struct check_services *check, uint32_t node);
/* Returns how many live in a data center. */
uint32_t check_services_live(const struct check_services *check, uint32_t center, uint32_t thing);
/* Whether the data center runs daemons 0 to count - 1 once each, and no others. If not, `why` says
 * it. */
bool check_services_daemons(const struct check_services *check, uint32_t center, uint32_t count,
                            char *why, size_t size);

struct check_services_counts {
    uint64_t singletons; /* instances that started */
    uint64_t moves;      /* of these on another node than the one before */
    uint64_t daemons;
    uint64_t excused;    /* overlaps */
};
struct check_services_counts check_services_counts(const struct check_services *check);

#endif
