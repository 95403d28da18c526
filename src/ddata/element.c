/* Implements owned elements and their order. */
#include "ddata/element.h"

#include "base/check.h"
#include "base/sort.h"
#include "base/sorted.h"

/* Compares the first unequal bytes of two UTF-8 texts as UTF-16: characters with surrogates
 * (0xd800..) precede 0xe000 and above. */
static int compare_units(uint8_t left, uint8_t right)
{
    int order = (left > right) - (left < right);

    return left >= 0xee && right >= 0xee && (left >= 0xf0) != (right >= 0xf0)
               ? -order
               : order;
}

static int compare_texts(struct slice left, struct slice right)
{
    size_t size = left.size < right.size ? left.size : right.size;

    if (size && memcmp(left.data, right.data, size))
        for (size_t i = 0;; i++)
            if (left.data[i] != right.data[i])
                return compare_units(left.data[i], right.data[i]);
    return (left.size > right.size) - (left.size < right.size);
}

static int compare_bytes(struct slice left, struct slice right)
{
    if (left.size != right.size)
        return left.size < right.size ? -1 : 1;
    if (left.size && memcmp(left.data, right.data, left.size))
        for (size_t i = 0;; i++)
            if (left.data[i] != right.data[i])
                return (int8_t)left.data[i] < (int8_t)right.data[i] ? -1 : 1;
    return 0;
}

static int compare_numbers(int64_t left, int64_t right)
{
    return (left > right) - (left < right);
}

int element_compare(const struct dd_element *left,
                    const struct dd_element *right)
{
    int order;

    if (left->kind != right->kind)
        return left->kind < right->kind ? -1 : 1;
    switch (left->kind) {
    case DD_INT:
    case DD_LONG:
        return compare_numbers(left->number, right->number);
    case DD_TEXT:
    case DD_REF:
        return compare_texts(left->text, right->text);
    case DD_OTHER:
        break;
    }
    order = compare_bytes(left->text, right->text);
    if (!order)
        order = compare_numbers(left->serializer, right->serializer);
    return order ? order : compare_bytes(left->manifest, right->manifest);
}

static bool has_number(uint8_t kind)
{
    return kind == DD_INT || kind == DD_LONG;
}

struct dd_element element_view(const struct element *element)
{
    struct dd_element view = { .kind = (enum dd_element_kind)element->kind,
                               .serializer = element->serializer };

    if (has_number(element->kind)) {
        view.number = element->is.number;
        return view;
    }
    view.text = slice_of(element->is.data, element->size);
    view.manifest =
        slice_of(element->is.data + element->size, element->manifest_size);
    return view;
}

size_t element_size(const struct dd_element *view)
{
    if (has_number((uint8_t)view->kind))
        return 0;
    return view->text.size +
           (view->kind == DD_OTHER ? view->manifest.size : 0);
}

void *element_new(const struct dd_element *view, size_t item_size)
{
    struct element *element = mem_alloc(item_size + element_size(view));

    element->kind = (uint8_t)view->kind;
    if (has_number(element->kind)) {
        element->is.number = view->number;
        return element;
    }
    check(view->text.size < UINT32_MAX && view->manifest.size < UINT16_MAX);
    element->size = (uint32_t)view->text.size;
    element->is.data = (uint8_t *)element + item_size;
    if (element->size)
        memcpy(element->is.data, view->text.data, element->size);
    if (element->kind != DD_OTHER)
        return element;
    element->serializer = view->serializer;
    element->manifest_size = (uint16_t)view->manifest.size;
    if (element->manifest_size)
        memcpy(element->is.data + element->size, view->manifest.data,
               element->manifest_size);
    return element;
}

static int order_of_item(const void *item, const void *key)
{
    struct dd_element view = element_view(*(struct element *const *)item);

    return element_compare(&view, key);
}

uint32_t elements_place(const struct elements *elements,
                        const struct dd_element *view)
{
    return sorted_vec_place(&elements->list, order_of_item, view);
}

bool elements_is_at(const struct elements *elements, uint32_t at,
                    const struct dd_element *view)
{
    return at < elements->list.count &&
           !order_of_item(&elements->list.items[at], view);
}

void *elements_find(const struct elements *elements,
                    const struct dd_element *view)
{
    uint32_t at = elements_place(elements, view);

    return elements_is_at(elements, at, view) ? elements->list.items[at] : NULL;
}

void elements_insert(struct elements *elements, uint32_t at,
                     struct element *item)
{
    vec_push(&elements->list, item);
    memmove(&elements->list.items[at + 1], &elements->list.items[at],
            (elements->list.count - 1 - at) * sizeof item);
    elements->list.items[at] = item;
}

struct element *elements_take(struct elements *elements, uint32_t at)
{
    struct element *item = elements->list.items[at];

    vec_remove(&elements->list, at);
    return item;
}

static int compare_items(const void *left, const void *right)
{
    struct dd_element a = element_view(*(struct element *const *)left);
    struct dd_element b = element_view(*(struct element *const *)right);

    return element_compare(&a, &b);
}

void elements_sort(struct elements *elements, void (*drop)(struct element *))
{
    struct element **items = elements->list.items;
    uint32_t kept = 0;

    sort_stable(items, elements->list.count, sizeof *items, compare_items);
    for (uint32_t i = 0; i < elements->list.count; i++) {
        if (kept && !compare_items(&items[kept - 1], &items[i]))
            drop(items[--kept]);
        items[kept++] = items[i];
    }
    elements->list.count = kept;
}

void other_set(struct other *other, struct dd_other view)
{
    /* The view may be of the old data. */
    uint8_t *data = mem_alloc(view.bytes.size + view.manifest.size);

    check(view.manifest.size < UINT32_MAX);
    if (view.bytes.size)
        memcpy(data, view.bytes.data, view.bytes.size);
    if (view.manifest.size)
        memcpy(data + view.bytes.size, view.manifest.data, view.manifest.size);
    mem_free(other->data);
    *other = (struct other){ view.serializer, (uint32_t)view.manifest.size,
                             view.bytes.size, data };
}

void other_fini(struct other *other)
{
    mem_free(other->data);
    *other = (struct other){ 0 };
}

struct dd_other other_view(const struct other *other)
{
    return (struct dd_other){
        other->serializer,
        slice_of(other->data ? other->data + other->size : NULL,
                 other->manifest_size),
        slice_of(other->data, other->size),
    };
}

bool other_equal(struct dd_other left, struct dd_other right)
{
    return left.serializer == right.serializer &&
           slice_equal(left.manifest, right.manifest) &&
           slice_equal(left.bytes, right.bytes);
}
