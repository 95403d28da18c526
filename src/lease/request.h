/* What is asked of whoever keeps leases, as data: a request goes from a node to its driver, from there to the keeper, and comes
 * back answered. One object from the heap, never shared: whoever holds it owns it.
 *
 * A keeper is a table in memory (book.h), a file of one host (host/), later a service. It grants a name to one owner at a time,
 * until that releases it or a time has passed without the owner asking again, by the keeper's clock. */
#ifndef SHERD_LEASE_REQUEST_H
#define SHERD_LEASE_REQUEST_H

#include <stdint.h>

#define LEASE_TEXT_MAX 256 /* bytes of a lease's name, and of an owner's, with the zero */

enum lease_verb {
    LEASE_TAKE,   /* for the owner; also when it has it: the time begins anew */
    LEASE_GIVE_UP /* when it is the owner's; otherwise nothing is done */
};

enum lease_answer {
    LEASE_UNANSWERED, /* not back yet */
    LEASE_GRANTED,    /* taken; or given up, or never held */
    LEASE_REFUSED,    /* certainly not: another owner has it */
    LEASE_UNKNOWN     /* it may have happened, or not */
};

struct lease_request {
    enum lease_verb verb;
    enum lease_answer answer; /* out */
    char name[LEASE_TEXT_MAX];
    char owner[LEASE_TEXT_MAX];
    uint64_t ttl;   /* TAKE: ns without renewal after which another owner may have it */
    uint64_t token; /* TAKE, out when granted: grows with each change of owner */
    uint64_t sent_at; /* the asker's, not touched by others */
};

#endif
