/* The rules of a store over tables in memory: records by persistence id,
 * fences by type and shard, terms by type.
 *
 * A book fills in the results of store requests (journal/backend.h) as every
 * store does. What it changes meanwhile it lists, so that a caller can write
 * the changes of one transaction to a log, take them back when the log fails,
 * and make them once more when it reads the log.
 *
 * Who calls: stores that keep their content in memory. Pure: no lock, no
 * clock. */
#ifndef SHERD_JOURNAL_BOOK_H
#define SHERD_JOURNAL_BOOK_H

#include "journal/backend.h"

struct book;

enum book_kind { BOOK_RECORD = 1, BOOK_FENCE, BOOK_TERM, BOOK_CUT };

/* One change. Texts and bytes are lent by the book until book_keep or
 * book_undo. */
struct book_change {
    enum book_kind kind;
    struct slice id;     /* RECORD, CUT: persistence id; FENCE, TERM: the type */
    struct slice shard;  /* FENCE */
    uint64_t seq;        /* RECORD: the last one before, and 1; CUT: the first one that stays */
    uint64_t first;      /* out, CUT: the first one before */
    struct slice bytes;  /* RECORD: what record_encode made */
    struct fence fence;  /* FENCE; TERM: only its term */
    struct fence before; /* out: what it replaces, zero when there was none */
};

/* A cluster id is kept with the book; copied. */
struct book *book_new(const char *cluster);
void book_free(struct book *book); /* null is fine */
const char *book_cluster(const struct book *book); /* lent for its life */

/* Runs one APPEND, CLAIM or TAKE_TERM, sets its results and lists its changes. */
void book_write(struct book *book, struct journal_request *request);
/* Runs one REPLAY. */
void book_read(const struct book *book, struct journal_request *request);

/* --- changes since the last book_keep or book_undo --- */

uint32_t book_change_count(const struct book *book);
const struct book_change *book_change(const struct book *book, uint32_t index);
void book_keep(struct book *book); /* forgets the list */
void book_undo(struct book *book); /* takes them back, the last one first */
/* Makes a change that was listed once, by this book or another; lists it as
 * well. False, and nothing happens, when it cannot follow what is there: a
 * record with another number than the next, a fence or a term that is not
 * higher, a cut that leaves all or none. Copied. */
bool book_apply(struct book *book, const struct book_change *change);

/* --- looking --- */

struct fence book_fence(const struct book *book, struct slice type,
                        struct slice shard); /* zero: never claimed */
uint64_t book_term(const struct book *book, struct slice type); /* the last one taken; 0: none */
/* Each persistence id with records, in order of its first one, with its last
 * sequence number; start with *at = 0. The id is lent until the next write. */
bool book_next(const struct book *book, uint32_t *at, struct slice *id,
               uint64_t *last);
uint64_t book_last(const struct book *book, struct slice id); /* 0: no records */
uint64_t book_first(const struct book *book, struct slice id); /* those before it were cut; 0: no records */
/* One record, lent until the next write; empty when it is not there. */
struct slice book_record(const struct book *book, struct slice id,
                         uint64_t seq);

#endif
