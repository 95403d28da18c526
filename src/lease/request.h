/* Defines a request to a lease provider. It goes from a node to its driver and on to the provider,
 * and returns with an answer. It is one heap object with one owner at a time.
 *
 * A provider is a table in memory (book.h), or a file or a service (host/). It grants a name to one
 * owner at a time. The grant ends when the owner releases it, or has not renewed it for ttl by the
 * provider's clock. */
#ifndef SHERD_LEASE_REQUEST_H
#define SHERD_LEASE_REQUEST_H

#include <stdint.h>

#define LEASE_TEXT_MAX 256 /* bytes of a lease's name, and of an owner's, with the zero */

enum lease_verb {
    LEASE_TAKE,   /* acquires or renews; the time starts again */
    LEASE_GIVE_UP /* releases; nothing happens if another owner has it */
};

enum lease_answer {
    LEASE_UNANSWERED, /* no answer yet */
    LEASE_GRANTED,    /* taken, or released, or never held */
    LEASE_REFUSED,    /* certainly not: another owner has it */
    LEASE_UNKNOWN     /* it may have happened or not */
};

struct lease_request {
    enum lease_verb verb;
    enum lease_answer answer; /* out */
    char name[LEASE_TEXT_MAX];
    char owner[LEASE_TEXT_MAX];
    uint64_t ttl;   /* TAKE: ns without renewal until another owner may have it */
    uint64_t token; /* TAKE, out if granted: grows with each change of owner */
    uint64_t sent_at; /* the requester's; others do not touch it */
};

#endif
