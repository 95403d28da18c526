/* The rules of a keeper of leases over a table: who has what until when. Pure; its caller has the clock. Used by the keepers in
 * memory, those of one process and of the simulator's worlds. */
#ifndef SHERD_LEASE_BOOK_H
#define SHERD_LEASE_BOOK_H

#include "base/map.h"
#include "lease/request.h"

/* Zero is an empty one. */
struct lease_book {
    struct map entries; /* name -> struct lease_entry */
};

/* One lease, as any keeper has it. */
struct lease_entry {
    char owner[LEASE_TEXT_MAX]; /* empty: nobody's */
    uint64_t until; /* ns; from then on another owner may take it */
    uint64_t token; /* of the last that was granted */
};

void lease_book_fini(struct lease_book *book);
/* Answers the request; of more than LEASES_MAX names further ones are refused. */
void lease_book_do(struct lease_book *book, uint64_t now,
                   struct lease_request *request);
/* The rule for one lease, for keepers with a place of their own for it. True when the entry has changed. */
bool lease_entry_do(struct lease_entry *entry, uint64_t now,
                    struct lease_request *request);

#endif
