/* Stores elements of sets, keys of maps and opaque objects as owned copies. Private to the types.
 *
 * Their order is Akka's order of encoding: texts, 32-bit numbers, 64-bit numbers, others,
 * references. Texts and references compare as UTF-16; others by length, then as signed bytes. (Akka
 * orders the references in a DD_ORSET from their last path element on, so several of them may give
 * equal states different bytes.) */
#ifndef SHERD_DDATA_ELEMENT_H
#define SHERD_DDATA_ELEMENT_H

#include "base/vec.h"
#include "ddata/value.h"

struct element {
    uint8_t kind;           /* enum dd_element_kind */
    uint16_t manifest_size; /* stored after the bytes */
    int32_t serializer;
    uint32_t size; /* of the text or bytes */
    union {
        int64_t number;
        uint8_t *data; /* after the item in the same allocation */
    } is;
};

/* An object of another serializer, opaque here; the manifest follows the bytes. */
struct other {
    int32_t serializer;
    uint32_t manifest_size;
    size_t size;
    uint8_t *data;
};

/* Sorted items, each beginning with its struct element. Items are separate allocations: only
 * pointers move. */
struct elements {
    VEC(struct element *) list;
};

int element_compare(const struct dd_element *left,
                    const struct dd_element *right);
struct dd_element element_view(const struct element *element); /* lent */
/* A new item of item_size bytes, zero after the element. Free with mem_free. */
void *element_new(const struct dd_element *view, size_t item_size);
size_t element_size(const struct dd_element *view); /* bytes after the item */

uint32_t elements_place(const struct elements *elements,
                        const struct dd_element *view);
bool elements_is_at(const struct elements *elements, uint32_t at,
                    const struct dd_element *view);
void *elements_find(const struct elements *elements,
                    const struct dd_element *view); /* null if absent */
void elements_insert(struct elements *elements, uint32_t at,
                     struct element *item);
struct element *elements_take(struct elements *elements, uint32_t at);
/* Sorts items that were pushed unsorted; of equal ones only the last stays. */
void elements_sort(struct elements *elements, void (*drop)(struct element *));

void other_set(struct other *other, struct dd_other view); /* replaces it by a copy */
void other_fini(struct other *other);
struct dd_other other_view(const struct other *other); /* lent */
bool other_equal(struct dd_other left, struct dd_other right);

#endif
