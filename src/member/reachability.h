/* Defines the table of members that observe others as unreachable: rows of each observer, with a
 * version.
 *
 * Only an observer changes its rows, so a merge takes all rows of the higher version. Observers
 * and subjects are held profiles of members. All is sorted by node, so equal tables have equal
 * bytes. */
#ifndef SHERD_MEMBER_REACHABILITY_H
#define SHERD_MEMBER_REACHABILITY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "member/profile.h"

/* Values are those of the wire. */
enum reach {
    REACHABLE = 0,
    UNREACHABLE = 1,
    TERMINATED = 2 /* permanently, until the subject is removed */
};

struct observation {
    struct profile *subject;
    int64_t version; /* the observer's, at this observation */
    enum reach status;
};

struct observer {
    struct profile *profile;
    int64_t version; /* counts the observer's changes */
    VEC(struct observation) rows;
};

/* Zero is empty: all members are reachable. */
struct reachability {
    VEC(struct observer) observers; /* those without rows, too, for their version */
};

void reachability_fini(struct reachability *table);
void reachability_copy(struct reachability *table,
                       const struct reachability *other); /* Replaces the contents. */

/* Appends a decoded observer or row. False: it is there already. */
bool reachability_add_observer(struct reachability *table,
                               struct profile *observer, int64_t version);
bool reachability_add_row(struct reachability *table,
                          const struct node_id *observer,
                          struct profile *subject, enum reach status,
                          int64_t version);

/* Sets the observer's status of the subject. False: nothing changes. */
bool reachability_change(struct reachability *table, struct profile *observer,
                         struct profile *subject, enum reach status);
/* Returns an incarnation's profile, or null if it is not kept. */
typedef struct profile *(*reachability_keep)(const void *context,
                                             const struct profile *profile);
/* Drops observers and subjects that are not kept. */
void reachability_remove(struct reachability *table, reachability_keep keep,
                         const void *context);
/* Takes, for each observer, the rows of the higher version. keep: maps a profile to that of the
 * merged members; null: no member. `result` must be empty before the call. */
void reachability_merge(struct reachability *result,
                        const struct reachability *left,
                        const struct reachability *right,
                        reachability_keep keep, const void *context);

/* Null: it never observed. */
const struct observer *reachability_observer(const struct reachability *table,
                                             const struct node_id *observer);
/* One observer's status of a subject; reachable without a row. */
enum reach reachability_by(const struct reachability *table,
                           const struct node_id *observer,
                           const struct node_id *subject);
/* The worst status of all observers: terminated, unreachable, reachable. */
enum reach reachability_of(const struct reachability *table,
                           const struct node_id *subject);
bool reachability_equal(const struct reachability *left,
                        const struct reachability *right);

#endif
