/* Keeps marks of pages in memory that processes share, so that one that is killed leaves none that is
 * wrong. */
#include "host/backend_sqlite_marks.h"

#include <stddef.h>

struct page_mark *page_marks_find(struct page_marks *marks, uint32_t page)
{
    for (uint32_t i = 0; i < PAGE_MARKS; i++)
        if (atomic_load(&marks->marks[i].page) == page)
            return &marks->marks[i];
    return NULL;
}

void page_marks_begin(struct page_marks *marks, uint32_t page, uint64_t sum)
{
    struct page_mark *mark = page_marks_find(marks, page);

    if (mark)
        atomic_store(&mark->next, sum);
}

static struct page_mark *oldest_of(struct page_marks *marks)
{
    struct page_mark *oldest = &marks->marks[0];

    for (uint32_t i = 1; i < PAGE_MARKS; i++)
        if (atomic_load(&marks->marks[i].number) < atomic_load(&oldest->number))
            oldest = &marks->marks[i];
    return oldest;
}

void page_marks_end(struct page_marks *marks, uint32_t page, uint64_t sum,
                    bool is_written)
{
    struct page_mark *mark = page_marks_find(marks, page);

    if (!is_written) { /* the page may have parts of both */
        if (mark)
            atomic_store(&mark->page, 0);
        return;
    }
    if (!mark) {
        mark = oldest_of(marks);
        atomic_store(&mark->page, 0);
        atomic_store(&mark->next, sum);
    }
    atomic_store(&mark->sum, sum);
    atomic_store(&mark->number, atomic_fetch_add(&marks->count, 1) + 1);
    atomic_store(&mark->page, page);
}

bool page_mark_fits(const struct page_mark *mark, uint64_t sum)
{
    return sum == atomic_load(&mark->sum) || sum == atomic_load(&mark->next);
}

bool page_marks_is_empty(const struct page_marks *marks)
{
    for (uint32_t i = 0; i < PAGE_MARKS; i++)
        if (atomic_load(&marks->marks[i].page))
            return false;
    return true;
}

void page_marks_clear(struct page_marks *marks)
{
    for (uint32_t i = 0; i < PAGE_MARKS; i++)
        atomic_store(&marks->marks[i].page, 0);
}
