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
};

/* One lease, as every provider stores it. */
struct lease_entry {
    char owner[LEASE_TEXT_MAX]; /* empty: not taken */
    uint64_t until; /* ns; from then on another owner may take it */
    uint64_t token; /* of the last grant */
};

void lease_book_fini(struct lease_book *book);
/* Answers the request. Refuses new names once LEASES_MAX names are known. */
void lease_book_do(struct lease_book *book, uint64_t now,
                   struct lease_request *request);
/* Applies the rule to one lease, for providers that store it themselves. True: the entry
 * changed. */
bool lease_entry_do(struct lease_entry *entry, uint64_t now,
                    struct lease_request *request);

#endif
