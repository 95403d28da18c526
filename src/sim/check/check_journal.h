/* Checks the journal: compares requests, answers, durable events and the content after a restart
 * with a model.
 *
 *   no-lost-ack        an event that is answered as stored, or acknowledged to a client, is durable
 *                      then, and unchanged after every restart
 *   fenced-writes      fences do not decrease along an entity's events, never go back, and none is
 *                      stored below its shard's; a refused event is never acknowledged
 *   coordinator-state  no term is given twice or goes back
 *   faithful-replay    every record can be read, and replays are equal
 *   gapless-sequence   numbers run from 1 without gap or duplicate, and never fall
 *   unknown-outcome    after an unknown outcome a node reads the entity back before it writes or
 *                      acknowledges more
 *
 * The journal calls it as its observer; the workload reports what clients heard. */
#ifndef SHERD_SIM_CHECK_JOURNAL_H
#define SHERD_SIM_CHECK_JOURNAL_H

#include <stdint.h>

#include "base/bytes.h"
#include "journal/book.h"
#include "sim/world/disk_backend.h"

struct check_journal;
struct verdict;

struct check_journal *check_journal_new(struct verdict *verdict); /* lent for life */
void check_journal_free(struct check_journal *check); /* null is fine */
/* The observer for disk_backend_observe. Set it before the journal's first request. */
struct disk_backend_observer check_journal_observer(struct check_journal *check);

/* A client heard that an entity stored an event of that number and content. type and id are texts,
 * lent. Fits struct workload_hooks. */
void check_journal_acknowledged(void *check, const char *type, const char *id,
                                uint64_t seq, uint32_t event_type,
                                struct slice event);
/* Compares a journal's content with all durable events. Others count as durable from here on. */
void check_journal_scan(struct check_journal *check, const struct book *book);

struct check_journal_counts {
    uint64_t events;        /* durable */
    uint64_t acknowledged;
    uint64_t refused;       /* entities in appends: fenced, conflicting or failed */
    uint64_t fenced;        /* entities in appends, and claims: a newer owner has the shard */
    uint64_t unknown;       /* the same, with unknown outcome */
    uint64_t lost;          /* events that a server lost, and that were durable before */
    uint64_t found;         /* events of unknown outcome that a scan found */
    uint64_t replays;
    uint64_t scans;
};
const struct check_journal_counts *
check_journal_counts(const struct check_journal *check);

#endif
