/* Checks cluster-events: the events that followers hear. A follower is an actor that subscribes to
 * cluster events (sherd/cluster.h).
 *
 *   - After a request for the state it comes first, then changes.
 *   - A change is of the subscribed set, is new, takes a step of member-lifecycle, and never names
 *     a removed member.
 *   - A repeated state equals the earlier one with its changes.
 *   - Only a small mailbox, which may miss events, gets a state unasked.
 *   - When a node leaves the cluster, that event comes first, then the removal of all members and
 *     leaders, and then nothing.
 *   - The sum of all events is the membership of the node.
 *   - A named member has the address, data center and roles of its start.
 *
 * The checker ignores parts of the picture that only events outside the subscribed set change. */
#ifndef SHERD_SIM_CHECK_CLUSTER_EVENTS_H
#define SHERD_SIM_CHECK_CLUSTER_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/cluster.h>

#include "sim/check/follow_picture.h"

struct verdict;
struct check_cluster_events;
struct follower;

struct check_cluster_events_counts {
    uint64_t followers;
    uint64_t states;
    uint64_t unasked; /* those that came after a missed event */
    uint64_t changes;
    uint64_t again;   /* compared with an earlier picture */
    uint64_t ends;    /* nodes that are out, as followers heard */
    uint64_t compared; /* with a membership */
};

/* Start values; lent for the checker's life. */
struct follow_fact {
    const char *address;     /* "host:port" */
    const char *data_center; /* null: "default" */
    const char *const *roles;
    uint32_t role_count;
};

/* False: no incarnation with that uid was started. */
typedef bool follow_known(void *user, uint64_t uid, struct follow_fact *fact);

struct check_cluster_events *check_cluster_events_new(struct verdict *verdict); /* lent for life */
void check_cluster_events_free(struct check_cluster_events *check);
struct check_cluster_events_counts
check_cluster_events_counts(const struct check_cluster_events *check);

/* Sets the source of start values, lent. Without it these are not judged. */
void check_cluster_events_facts(struct check_cluster_events *check, follow_known *known,
                                void *user);

/* ---- facts ---- */

/* Begins an incarnation of an actor on the node incarnation `uid`. is_small: its mailbox may be
 * full. Lent until it ends. */
struct follower *check_cluster_events_begun(struct check_cluster_events *check, uint32_t node,
                                            uint64_t uid, bool is_small);
void check_cluster_events_ended(struct follower *follower); /* null is fine */
/* Called with the actor's own calls. SHERD_EVENTS_FIRST only while it is subscribed to nothing,
 * without an open unsubscription. */
void check_cluster_events_subscribed(struct follower *follower, uint32_t events,
                                     enum sherd_cluster_first first);
void check_cluster_events_unsubscribed(struct follower *follower, uint32_t events);
/* The actor has received all that waited when it unsubscribed. */
void check_cluster_events_emptied(struct follower *follower);
void check_cluster_events_heard(struct follower *follower,
                                const struct sherd_msg *message);
/* Its node ended without a crash, and the actor lived until then. */
void check_cluster_events_node_ended(struct follower *follower);

/* ---- questions ---- */

bool check_cluster_events_is_subscribed(const struct follower *follower);
/* It waits for no state and no end of an unsubscription. */
bool check_cluster_events_is_complete(const struct follower *follower);

/* Whether its picture equals the membership of its node, or it still waits. False: text (size
 * bytes) has the difference. */
bool check_cluster_events_equals(const struct follower *follower,
                                 const struct picture *membership,
                                 char *text, size_t size);

#endif
