/* The checker of what actors hear of the cluster (sherd/cluster.h), by what each follower is given: behaviour 7.
 *
 *   follow  who asks for the state hears it first, then changes: each of what is not so yet, by the ways that a status may go (member-lifecycle), never of
 *           somebody who was removed, and only of the set; a state that is asked for again is what the one before and the changes made;
 *           none comes unasked but to a small mailbox, which may have missed something; when the node is out that is told, then the removal
 *           of everybody and that nobody leads, and nothing behind it; what is heard makes what the node's membership holds; whoever
 *           is named has the address, the data center and the roles that its life was started with
 *
 * Of a set that leaves some events out only that is asked which they do not change. Fed with facts in the order in which they happened; it
 * knows neither worlds nor nodes. */
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
    uint64_t unasked; /* of them: something was missed */
    uint64_t changes;
    uint64_t again;   /* states that were compared with what was made before */
    uint64_t ends;    /* nodes that are out, as followers heard */
    uint64_t compared; /* with a membership */
};

/* What a life was started with; lent for as long as the checker lives. */
struct follow_fact {
    const char *address;     /* "host:port" */
    const char *data_center; /* null: "default" */
    const char *const *roles;
    uint32_t role_count;
};

/* False: no life with that uid was started. */
typedef bool follow_known(void *user, uint64_t uid, struct follow_fact *fact);

struct check_follow *check_follow_new(struct verdict *verdict); /* lent for life */
void check_follow_free(struct check_follow *check);
struct check_follow_counts check_follow_counts(const struct check_follow *check);

/* Who knows all lives; until this was called nothing is asked of what they were started with. Lent. */
void check_follow_facts(struct check_follow *check, follow_known *known,
                        void *user);

/* ---- facts ---- */

/* An incarnation of an actor that may subscribe; its node's life has that uid. small: its mailbox may be full. Lent until it ends. */
struct follower *check_follow_begun(struct check_follow *check, uint32_t node,
                                    uint64_t uid, bool is_small);
void check_follow_ended(struct follower *follower); /* null is fine */
/* As it calls them. SHERD_EVENTS_FIRST only while it is subscribed to nothing, and then not behind an end that is not over yet. */
void check_follow_subscribed(struct follower *follower, uint32_t events,
                             enum sherd_cluster_first first);
void check_follow_unsubscribed(struct follower *follower, uint32_t events);
/* Whatever was in its mailbox when it took something out of the set has been given to it. */
void check_follow_emptied(struct follower *follower);
void check_follow_heard(struct follower *follower,
                        const struct sherd_msg *message);
/* Its node has ended, not by a crash, and it was there until then. */
void check_follow_node_ended(struct follower *follower);

/* ---- questions ---- */

bool check_follow_is_subscribed(const struct follower *follower);
/* Is nothing awaited that the set has: no end of an unsubscription, no state? */
bool check_follow_is_told(const struct follower *follower);

/* Whether what its node's membership holds is what it heard; false with what differs in text (size bytes). Of who is not told nothing is asked. */
bool check_follow_equals(const struct follower *follower,
                         const struct picture *membership,
                         char *text, size_t size);

#endif
