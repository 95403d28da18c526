/* Defines a request to a lease provider. It goes from a node to its driver and on to the provider,
 * and returns with an answer. It is one heap object with one owner at a time.
 *
 * A provider is a table in memory (book.h), or a file or a service (host/). It grants a name to one
 * owner at a time. The grant ends when the owner releases it, or has not renewed it for ttl by the
 * provider's clock.
 *
 * A node with many leases has a *session*: a lease that is named after the node and renewed alone.
 * The other leases are *bound* to it: they end with their session, so no request renews them. A
 * session that ended does not come back, because LEASE_BEGIN gives the next one another token. */
#ifndef SHERD_LEASE_REQUEST_H
#define SHERD_LEASE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#define LEASE_TEXT_MAX 256 /* bytes of a lease's name, and of an owner's, with the zero */

/* X(id, the provider's name in settings) */
#define LEASE_PROVIDERS(X)                                                     \
    X(LEASE_PROVIDER_NONE, "")                                                 \
    X(LEASE_PROVIDER_MEMORY, "memory") /* one process */                       \
    X(LEASE_PROVIDER_FILE, "file")     /* one host */                          \
    X(LEASE_PROVIDER_ETCD, "etcd")     /* many hosts */

enum lease_provider_kind {
#define X(id, text) id,
    LEASE_PROVIDERS(X)
#undef X
    LEASE_PROVIDER_COUNT
};

/* Which core of a node asks. */
enum lease_use {
    LEASE_USE_RESOLVER, /* one lease */
    LEASE_USE_GROUP,    /* a session and what is bound to it */
    LEASE_USE_COUNT
};

enum lease_verb {
    LEASE_TAKE,    /* acquires or renews; the time starts again */
    LEASE_GIVE_UP, /* releases; nothing happens if another owner has it */
    LEASE_BEGIN,   /* acquires a session, with a new token even if the same owner has it */
    LEASE_BIND     /* takes and gives up the leases in `bound` */
};

enum lease_answer {
    LEASE_UNANSWERED, /* no answer yet */
    LEASE_GRANTED,    /* taken, or released, or never held */
    LEASE_REFUSED,    /* certainly not: another owner has it */
    LEASE_UNKNOWN     /* it may have happened or not */
};

/* One lease of LEASE_BIND. */
struct lease_bound {
    char name[LEASE_TEXT_MAX];
    bool is_given_up;         /* else it is taken */
    enum lease_answer answer; /* out */
};

struct lease_request {
    enum lease_verb verb;
    enum lease_answer answer; /* out; BIND: UNKNOWN if any of them is, else GRANTED */
    enum lease_provider_kind provider; /* which one has the lease */
    enum lease_use use;
    char name[LEASE_TEXT_MAX];         /* BIND: of the session */
    char owner[LEASE_TEXT_MAX];
    uint64_t ttl;   /* TAKE, BEGIN: ns without renewal until another owner may have it */
    /* TAKE, BEGIN, out if granted: grows with each change of owner. In, if not 0: TAKE is refused
     * and GIVE_UP does nothing unless the lease still has it. BIND, in: of the session */
    uint64_t token;
    uint64_t sent_at; /* the requester's; others do not touch it */
    uint32_t count;   /* BIND: of `bound`, at most LEASE_BIND_MAX */
    struct lease_bound bound[];
};

/* provider.c */
struct lease_request *lease_request_new(uint32_t count); /* zeroed; free with mem_free */
struct lease_request *lease_request_copy(const struct lease_request *request);
/* Overwrites a request of the same count. */
void lease_request_set(struct lease_request *request, const struct lease_request *from);
/* Sets the answer of BIND, and of all its leases. */
void lease_request_answer_all(struct lease_request *request, enum lease_answer answer);
const char *lease_provider_text(enum lease_provider_kind provider); /* a literal */
/* False: there is none of that name. An empty or null text is LEASE_PROVIDER_NONE. */
bool lease_provider_parse(const char *text, enum lease_provider_kind *provider);

#endif
