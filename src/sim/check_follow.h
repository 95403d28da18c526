/* Checks cluster-events: which events followers hear. A follower is an actor that subscribes to
 * cluster events (sherd/cluster.h).
 *
 *   - If it asks for the state, it hears the state first, then changes.
 *   - A change is of the subscribed set, reports something new, and takes a step of
 *     member-lifecycle. It never names a removed member.
 *   - A state that is asked for again equals the earlier state with all changes since.
 *   - A state comes unasked only to a small mailbox, which may have missed an event.
 *   - A node that leaves the cluster reports that first. Then come the removal of all members and
 *     the end of all leaders, and nothing else.
 *   - All events together give the membership that the follower's node holds.
 *   - A named member has the address, data center and roles that its incarnation started with.
 *
 * If the set leaves out some events, only the parts that these events do not change are judged.
 * Facts must arrive in the order in which they happened. The checker knows neither worlds nor
 * nodes. */
#ifndef SHERD_SIM_CHECK_FOLLOW_H
#define SHERD_SIM_CHECK_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include <sherd/cluster.h>

#include "sim/follow_picture.h"

struct verdict;
struct check_follow;
struct follower;

struct check_follow_counts {
    uint64_t followers;
    uint64_t states;
    uint64_t unasked; /* those of them that came because something was missed */
    uint64_t changes;
    uint64_t again;   /* states that were compared with an earlier picture */
    uint64_t ends;    /* nodes that are out, as followers heard */
    uint64_t compared; /* with a membership */
};

/* Start values of an incarnation; lent for the checker's life. */
struct follow_fact {
    const char *address;     /* "host:port" */
    const char *data_center; /* null: "default" */
    const char *const *roles;
    uint32_t role_count;
};

/* False: no incarnation with that uid was started. */
typedef bool follow_known(void *user, uint64_t uid, struct follow_fact *fact);

struct check_follow *check_follow_new(struct verdict *verdict); /* lent for life */
void check_follow_free(struct check_follow *check);
struct check_follow_counts check_follow_counts(const struct check_follow *check);

/* Sets the source of all incarnations, lent. Without it, start values are not judged. */
void check_follow_facts(struct check_follow *check, follow_known *known,
                        void *user);

/* ---- facts ---- */

/* Begins an incarnation of an actor that may subscribe, on the node incarnation `uid`. is_small:
 * its mailbox may be full. Lent until it ends. */
struct follower *check_follow_begun(struct check_follow *check, uint32_t node,
                                    uint64_t uid, bool is_small);
void check_follow_ended(struct follower *follower); /* null is fine */
/* Call these when the actor calls them. SHERD_EVENTS_FIRST only while it is subscribed to nothing
 * and no unsubscription is open. */
void check_follow_subscribed(struct follower *follower, uint32_t events,
                             enum sherd_cluster_first first);
void check_follow_unsubscribed(struct follower *follower, uint32_t events);
/* The actor has received all that was in its mailbox when it took events out of the set. */
void check_follow_emptied(struct follower *follower);
void check_follow_heard(struct follower *follower,
                        const struct sherd_msg *message);
/* Its node has ended without a crash, and the actor lived until then. */
void check_follow_node_ended(struct follower *follower);

/* ---- questions ---- */

bool check_follow_is_subscribed(const struct follower *follower);
/* Whether the follower waits for nothing: no end of an unsubscription, no state. */
bool check_follow_is_told(const struct follower *follower);

/* Whether the follower's picture equals the membership that its node holds. If false, text (size
 * bytes) has the difference. True for a follower that still waits. */
bool check_follow_equals(const struct follower *follower,
                         const struct picture *membership,
                         char *text, size_t size);

#endif
