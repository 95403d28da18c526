/* Remembers peers whose first response is due. A peer that never answers counts as heard at that
 * time, so its failure detector can miss it.
 *
 * heartbeat.c uses it with phi, cross_dc.c with a deadline. */
#ifndef SHERD_MEMBER_FIRST_HEARTBEAT_H
#define SHERD_MEMBER_FIRST_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "member/profile.h"

struct expected {
    const struct profile *profile; /* lent: the owner calls expect_forget before it drops it */
    uint64_t at;                   /* ns */
};

/* Zero is empty. */
struct expect {
    VEC(struct expected) list; /* by time: all wait equally long */
};

void expect_fini(struct expect *expect);
/* Awaits a first response until `at`, which is not before that of any other. Changes nothing for a
 * peer that is awaited already. */
void expect_first(struct expect *expect, const struct profile *profile,
                  uint64_t at);
void expect_later(struct expect *expect, uint64_t length); /* Adds ns to each wait. */
void expect_forget(struct expect *expect, const struct profile *profile);
/* Takes the next peer whose time has come, answered or not; null: none. */
const struct profile *expect_due(struct expect *expect, uint64_t now);
uint64_t expect_deadline(const struct expect *expect); /* NEVER: none is awaited. */

#endif
