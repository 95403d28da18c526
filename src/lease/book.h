/* Decides which owner has a lease, and until when. Pure: the caller brings the clock.
 *
 * Used by the lease providers in memory, those of one process and of the simulator's worlds. */
#ifndef SHERD_LEASE_BOOK_H
#define SHERD_LEASE_BOOK_H

#include "base/map.h"
#include "lease/request.h"

/* Zero is an empty table. */
struct lease_book {
    struct map entries; /* name -> struct lease_entry */
    struct map bound;   /* name -> struct lease_binding; only taken ones */
};

/* One lease with a time, as every provider stores it. */
struct lease_entry {
    char owner[LEASE_TEXT_MAX]; /* empty: not taken */
    uint64_t until; /* ns; from then on another owner may take it */
    uint64_t token; /* of the last grant */
};

/* One bound lease, likewise. */
struct lease_binding {
    char session[LEASE_TEXT_MAX]; /* empty: not taken */
    uint64_t token; /* of the session */
};

void lease_book_fini(struct lease_book *book);
/* Answers the request. Refuses new names once LEASES_MAX names are known, or LEASES_BOUND_MAX bound
 * leases are taken. */
void lease_book_do(struct lease_book *book, uint64_t now,
                   struct lease_request *request);
/* Returns the session that has the bound lease, lent; null if none has it. */
const char *lease_book_holder(const struct lease_book *book, uint64_t now, struct slice name);

/* The next three apply the rules to one lease, for providers that store it themselves. True: the
 * entry changed. */
bool lease_entry_do(struct lease_entry *entry, uint64_t now,
                    struct lease_request *request);
/* Whether the session with that token has not ended. session: its entry. */
bool lease_session_lives(const struct lease_entry *session, uint64_t now, uint64_t token);
/* lives: whether the session of the binding does. Changes and answers one lease of LEASE_BIND. */
bool lease_binding_do(struct lease_binding *binding, bool lives,
                      const struct lease_request *request, struct lease_bound *bound);

#endif
