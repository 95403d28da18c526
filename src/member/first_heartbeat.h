/* First answers that are waited for: a peer that never answers is missed from a while after it was first written to, as if it had
 * been heard of then (behaviour 3.1). What it is missed by is its detector, phi or a deadline; called by heartbeat.c and cross.c. */
#ifndef SHERD_MEMBER_FIRST_HEARTBEAT_H
#define SHERD_MEMBER_FIRST_HEARTBEAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "member/profile.h"

struct expected {
    const struct profile *profile; /* lent: the owner forgets it before it drops it */
    uint64_t at;                   /* ns */
};

/* Zero waits for nobody. */
struct expect {
    VEC(struct expected) list; /* by time: all wait equally long */
};

void expect_fini(struct expect *expect);
/* Waits for a first answer until then, not before any other's; as before when it waits for that peer already. */
void expect_first(struct expect *expect, const struct profile *profile,
                  uint64_t at);
void expect_later(struct expect *expect, uint64_t length); /* waits so long more for each */
void expect_forget(struct expect *expect, const struct profile *profile);
/* Takes the next one whose time has come, answered or not; null: there is none. */
const struct profile *expect_due(struct expect *expect, uint64_t now);
uint64_t expect_deadline(const struct expect *expect); /* NEVER: none is waited for */

#endif
