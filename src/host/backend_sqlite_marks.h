/* Remembers the checksums of the pages that were last written into a journal's file.
 *
 * All processes of a host share them, in FILE-turn. An older copy that is written over the file differs
 * in these pages, so a few reads tell whether it is still the same. */
#ifndef SHERD_HOST_BACKEND_SQLITE_MARKS_H
#define SHERD_HOST_BACKEND_SQLITE_MARKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define PAGE_MARKS 16

/* A process may be killed between two steps of a write, so a mark then fits both checksums. */
struct page_mark {
    _Atomic uint32_t page; /* from 1; 0: free */
    uint32_t unused;
    _Atomic uint64_t number; /* the oldest is replaced */
    _Atomic uint64_t sum;
    _Atomic uint64_t next; /* of the write in progress; else as sum */
};

/* All zero: no marks. */
struct page_marks {
    _Atomic uint64_t count; /* of all marks that were ever set */
    struct page_mark marks[PAGE_MARKS];
};

/* Before and after a write of a page, by one process at a time. */
void page_marks_begin(struct page_marks *marks, uint32_t page, uint64_t sum);
void page_marks_end(struct page_marks *marks, uint32_t page, uint64_t sum,
                    bool is_written);

/* Tells whether a checksum fits the page's mark. */
bool page_mark_fits(const struct page_mark *mark, uint64_t sum);
/* Null: the page has no mark. */
struct page_mark *page_marks_find(struct page_marks *marks, uint32_t page);

bool page_marks_is_empty(const struct page_marks *marks);
void page_marks_clear(struct page_marks *marks);

#endif
