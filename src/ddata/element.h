/* Elements of sets and keys of maps, and foreign things as bytes: owned copies, their order. Private to the types.
 *
 * The order is the one in which the reference encodes: texts, 32-bit numbers, 64-bit numbers, others, refs; texts
 * and refs as UTF-16, others by length, then bytes as signed numbers. (The reference orders the refs of one
 * DD_ORSET from their last name on: for two and more of them equal states may have other bytes.) */
#ifndef SHERD_DDATA_ELEMENT_H
#define SHERD_DDATA_ELEMENT_H

#include "base/vec.h"
#include "ddata/value.h"

struct element {
    uint8_t kind;           /* enum dd_element_kind */
    uint16_t manifest_size; /* it stands behind the bytes */
    int32_t serializer;
    uint32_t size; /* of the text or the bytes */
    union {
        int64_t number;
        uint8_t *data; /* in the same piece of memory, behind the item */
    } is;
};

/* A foreign thing: the manifest behind the bytes. */
struct other {
    int32_t serializer;
    uint32_t manifest_size;
    size_t size;
    uint8_t *data;
};

/* A sorted array of items, each of which begins with its struct element. Items are pieces of memory of their own:
 * what moves is a pointer. */
struct elements {
    VEC(struct element *) list;
};

int element_compare(const struct dd_element *left,
                    const struct dd_element *right);
struct dd_element element_view(const struct element *element); /* lent */
/* A new item of that size, at least a struct element: the rest zero. Freed with mem_free. */
void *element_new(const struct dd_element *view, size_t item_size);
size_t element_size(const struct dd_element *view); /* bytes behind the item */

uint32_t elements_place(const struct elements *elements,
                        const struct dd_element *view);
bool elements_is_at(const struct elements *elements, uint32_t at,
                    const struct dd_element *view);
void *elements_find(const struct elements *elements,
                    const struct dd_element *view); /* null when absent */
void elements_insert(struct elements *elements, uint32_t at,
                     struct element *item);
struct element *elements_take(struct elements *elements, uint32_t at);
/* Orders what was filled from outside; of equal ones the last stays, the others are dropped. */
void elements_sort(struct elements *elements, void (*drop)(struct element *));

void other_set(struct other *other, struct dd_other view); /* a copy, in place of what it was */
void other_fini(struct other *other);
struct dd_other other_view(const struct other *other); /* lent */
bool other_equal(struct dd_other left, struct dd_other right);

#endif
