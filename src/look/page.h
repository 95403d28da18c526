/* Finds the rows of a page: sherd_look_row. */
#ifndef SHERD_LOOK_PAGE_H
#define SHERD_LOOK_PAGE_H

#include "base/bytes.h"
#include "look/kinds.h"

struct page_row {
    size_t at;       /* in the rows */
    uint32_t target; /* the gather's */
    uint32_t part;   /* of the page */
};

/* The target of sherd_look_page.memory; lent by the gather. */
struct page_memory {
    enum sherd_look_kind kind;
    struct slice rows; /* row.h */
    const struct page_row *places;
    uint32_t count;
};

#endif
