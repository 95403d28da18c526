/* Translates requests of the journal for back ends of sherd/backend.h, and their answers back. Pure. */
#ifndef SHERD_JOURNAL_LENT_H
#define SHERD_JOURNAL_LENT_H

#include <sherd/backend.h>

#include "journal/backend.h"

/* One request that a back end has. Its bytes are the owner's, so the owner must stay. */
struct journal_lent {
    struct sherd_backend_request request; /* its owner is the translated one */
    struct sherd_backend_record *records;
    struct buf texts; /* answers move the request's own bytes */
};

void journal_lend(struct journal_lent *to, struct journal_request *from);
/* Sets the owner's results, and frees the translation. */
void journal_take_back(struct journal_lent *lent);
/* Frees it without an answer. */
void journal_lent_fini(struct journal_lent *lent);

#endif
