/* Who observes whom as unreachable: rows per observer, each row set versioned by its observer (behaviour 2.5).
 *
 * Only an observer changes its own rows, so a merge takes the whole row set of the newer version. Observers and subjects are
 * profiles of members, held. Everything is sorted by node, so that equal tables have equal bytes. */
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
    TERMINATED = 2 /* for ever, until the subject is removed */
};

struct observation {
    struct profile *subject;
    int64_t version; /* of the observer's when it made this observation */
    enum reach status;
};

struct observer {
    struct profile *profile;
    int64_t version; /* counts this observer's changes */
    VEC(struct observation) rows;
};

/* Zero is an empty one: everybody is reachable. */
struct reachability {
    VEC(struct observer) observers; /* also those without rows, for their version */
};

void reachability_fini(struct reachability *table);
void reachability_copy(struct reachability *table,
                       const struct reachability *other); /* replaces the contents */

/* Appends an observer or a row as decoded; false when it is there already. */
bool reachability_add_observer(struct reachability *table,
                               struct profile *observer, int64_t version);
bool reachability_add_row(struct reachability *table,
                          const struct node_id *observer,
                          struct profile *subject, enum reach status,
                          int64_t version);

/* The observer now sees the subject so. False when that changes nothing. */
bool reachability_change(struct reachability *table, struct profile *observer,
                         struct profile *subject, enum reach status);
/* Whether an incarnation is kept: its profile, or null. */
typedef struct profile *(*reachability_keep)(const void *context,
                                             const struct profile *profile);
/* Drops those that are not kept, as observers and as subjects. */
void reachability_remove(struct reachability *table, reachability_keep keep,
                         const void *context);
/* Per observer the row set with the higher version. keep maps a profile to the profile of the merged members, null = no
 * member. The result must be empty. */
void reachability_merge(struct reachability *result,
                        const struct reachability *left,
                        const struct reachability *right,
                        reachability_keep keep, const void *context);

const struct observer *reachability_observer(const struct reachability *table,
                                             const struct node_id *observer); /* null when it never observed */
/* What one observer says of a subject; reachable when it says nothing. */
enum reach reachability_by(const struct reachability *table,
                           const struct node_id *observer,
                           const struct node_id *subject);
/* What all observers say together: terminated wins over unreachable over reachable. */
enum reach reachability_of(const struct reachability *table,
                           const struct node_id *subject);
bool reachability_equal(const struct reachability *left,
                        const struct reachability *right);

#endif
