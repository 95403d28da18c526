/* Keeps what looks brought: rows of one or more pages, and the states of the members that were asked. */
#ifndef SHERD_MGMT_FACTS_H
#define SHERD_MGMT_FACTS_H

#include <sherd/look.h>

#include "base/bytes.h"
#include "base/vec.h"

struct fact {
    bool is_known;
    uint64_t number;
    uint32_t at, size; /* of a text, in facts.bytes */
};

/* Zero has none; the owner sets the kind. */
struct facts {
    enum sherd_look_kind kind;
    uint32_t columns;          /* of a row */
    VEC(struct fact) values;   /* columns for each row */
    VEC(uint32_t) row_parts;   /* of each row */
    VEC(struct sherd_look_part) parts;
    struct buf bytes;
    struct buf next;   /* the cursor of the next page; empty: there is none */
    bool is_partial;   /* a part is missing, or rows are left out */
};

void facts_free(struct facts *facts);
/* Forgets the rows, and keeps the parts. */
void facts_drop_rows(struct facts *facts);
/* Copies a page behind the ones before. */
void facts_add(struct facts *facts, const struct sherd_look_page *page);
/* Whether a look that keeps all its pages asks for another one. */
bool facts_want_more(const struct facts *facts);
uint32_t facts_count(const struct facts *facts);
const struct fact *fact_at(const struct facts *facts, uint32_t row, uint32_t column);
/* Data is null if it is not known. Lent. */
struct slice fact_text(const struct facts *facts, uint32_t row, uint32_t column);
uint64_t fact_number(const struct facts *facts, uint32_t row, uint32_t column); /* 0 if it is not known */
bool fact_is(const struct facts *facts, uint32_t row, uint32_t column, struct slice text);
/* The member that told a row. */
const struct sherd_look_part *fact_part(const struct facts *facts, uint32_t row);
/* The member's part; null: it was not asked. */
const struct sherd_look_part *facts_part_of(const struct facts *facts, struct slice address);
/* The first row of that member; facts_count: none. */
uint32_t facts_row_of(const struct facts *facts, struct slice address);

#endif
