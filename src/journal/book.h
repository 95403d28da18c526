/* Applies a journal's rules to tables in memory: records and snapshots by persistence id, fences by
 * type and shard, terms by type.
 * A book fills in the results of requests and lists its changes. A caller can write a transaction's
 * changes to a log, undo them, or apply them again. Backends in memory use it. Pure. */
#ifndef SHERD_JOURNAL_BOOK_H
#define SHERD_JOURNAL_BOOK_H

#include "journal/backend.h"
#include "journal/images.h"

struct book;

enum book_kind {
    BOOK_RECORD = 1,
    BOOK_FENCE,
    BOOK_TERM,
    BOOK_CUT,
    BOOK_IMAGE,      /* a snapshot, which may replace one */
    BOOK_IMAGE_GONE, /* the deletion of a snapshot */
};

/* The book lends texts and bytes until book_keep or book_undo. */
struct book_change {
    enum book_kind kind;
    struct slice id;     /* FENCE, TERM: the type; else the persistence id */
    struct slice shard;  /* FENCE */
    /* RECORD: the previous last one + 1; CUT: the first one that stays; IMAGE, IMAGE_GONE: its number */
    uint64_t seq;
    uint64_t first;      /* out, CUT: the first one before */
    struct slice bytes;  /* RECORD: the result of record_encode; IMAGE: of snapshot_encode */
    struct slice former; /* out, IMAGE, IMAGE_GONE: the bytes that are no longer there */
    struct fence fence;  /* FENCE; TERM: only its term */
    uint64_t proof;      /* TERM: its proof; 0: none */
    struct fence before; /* out: the replaced one, zero if there was none */
};

/* The cluster's id is copied. */
struct book *book_new(const char *cluster);
void book_free(struct book *book);
const char *book_cluster(const struct book *book); /* lent for the book's lifetime */

/* Runs one request of a writer and lists its changes. */
void book_write(struct book *book, struct journal_request *request);
void book_read(const struct book *book, struct journal_request *request);

/* --- changes since the last book_keep or book_undo --- */

uint32_t book_change_count(const struct book *book);
const struct book_change *book_change(const struct book *book, uint32_t index);
void book_keep(struct book *book); /* forgets the list */
void book_undo(struct book *book); /* undoes the changes, last one first */
/* Applies and lists a change that a book listed. Copied. False, without effect, if it cannot
 * follow: a record that is not the next, a fence or term that is not higher, a cut of all records
 * or none, the deletion of a snapshot that is not there. */
bool book_apply(struct book *book, const struct book_change *change);

/* --- queries --- */

struct fence book_fence(const struct book *book, struct slice type,
                        struct slice shard); /* zero: never claimed */
uint64_t book_term(const struct book *book, struct slice type); /* the last one taken; 0: none */
/* Proof of a term; 0: none is stored. */
uint64_t book_proof(const struct book *book, struct slice type, uint64_t term);
/* Iterates over persistence ids with records, in order of their first one, from *at = 0. The id is
 * lent until the next write. */
bool book_next(const struct book *book, uint32_t *at, struct slice *id,
               uint64_t *last);
uint64_t book_last(const struct book *book, struct slice id); /* 0: no records */
/* Lowest one that was not cut; 0: no records. */
uint64_t book_first(const struct book *book, struct slice id);
/* Finds the newest snapshot up to a number, lent until the next write. False: there is none. */
bool book_image(const struct book *book, struct slice id, uint64_t up_to, struct image *image);
/* Lent until the next write; empty if absent. */
struct slice book_record(const struct book *book, struct slice id,
                         uint64_t seq);

#endif
