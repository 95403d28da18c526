/* The checker of the journal: what a store was asked, what it answered, what it
 * made durable and what it holds after a restart, against a model of its own.
 *
 *   no-lost-ack   an event that was answered as stored, or acknowledged to a client, is
 *        durable at that moment, and is there, equal, after every restart
 *   fenced-writes   along an entity's sequence numbers fences do not decrease; nothing is
 *        stored under a fence below the shard's; fences never go back; what was
 *        refused is never acknowledged
 *   coordinator-state  no term is given twice, none goes back
 *   faithful-replay  every stored record can be read; two replays tell the same
 *   gapless-sequence  numbers run from 1 without gap or duplicate, and the highest never
 *        decreases
 *   unknown-outcome  after an unknown outcome a node writes and acknowledges nothing of that
 *        entity before it has read the outcome back
 *
 * Who calls: the store, as its observer; the workload tells what clients heard. */
#ifndef SHERD_SIM_CHECK_JOURNAL_H
#define SHERD_SIM_CHECK_JOURNAL_H

#include <stdint.h>

#include "base/bytes.h"
#include "journal/book.h"
#include "sim/disk_backend.h"

struct check_journal;
struct verdict;

struct check_journal *check_journal_new(struct verdict *verdict); /* lent for life */
void check_journal_free(struct check_journal *check); /* null is fine */
/* What to give to disk_backend_observe, before the store's first request. */
struct disk_backend_observer check_journal_observer(struct check_journal *check);

/* A client has heard that an entity stored an event: with the number that it had
 * and its bytes. type and id are texts; lent. Fits struct workload_hooks. */
void check_journal_acknowledged(void *check, const char *type, const char *id,
                                uint64_t seq, uint32_t event_type,
                                struct slice event);
/* Holds a store's content against all that was durable so far. What it has
 * besides, from writes whose outcome is not known, counts as durable from here
 * on. */
void check_journal_scan(struct check_journal *check, const struct book *book);

struct check_journal_counts {
    uint64_t events;        /* durable */
    uint64_t acknowledged;
    uint64_t refused;       /* entities in appends, as fenced, conflicting or failed */
    uint64_t fenced;        /* entities in appends, and claims: a newer owner has the shard */
    uint64_t unknown;       /* the same, with an unknown outcome */
    uint64_t found;         /* events of unknown outcome that a scan found */
    uint64_t replays;
    uint64_t scans;
};
const struct check_journal_counts *
check_journal_counts(const struct check_journal *check);

#endif
