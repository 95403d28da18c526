/* Encodes and decodes sets: a list of elements for each kind and, for OR-sets, the dots in the
 * order of the elements. */
#include "ddata/wire_parts.h"

#include "base/sort.h"
#include "ddata/orset_parts.h"

/* The five lists: field numbers start at 1 in a GSet, at 3 in an ORSet. */
enum list {
    LIST_TEXTS,
    LIST_INTS,
    LIST_LONGS,
    LIST_OTHERS,
    LIST_REFS,
    LIST_COUNT
};
#define GSET_LISTS 1
#define ORSET_LISTS 3

bool get_text(struct reading *reading, struct slice bytes,
              struct dd_element *element)
{
    *element = (struct dd_element){ .kind = DD_TEXT, .text = bytes };
    return text_is_valid(bytes) || reading_fails(reading);
}

struct dd_element get_element_other(struct dd_other other)
{
    return (struct dd_element){ .kind = DD_OTHER,
                                .text = other.bytes,
                                .serializer = other.serializer,
                                .manifest = other.manifest };
}

static bool push(struct reading *reading, struct elements *elements,
                 size_t item_size, const struct dd_element *element)
{
    if (!reading_spends(reading, item_size + element_size(element) +
                                     2 * sizeof(void *)))
        return false;
    vec_push(&elements->list, element_new(element, item_size));
    return true;
}

static bool push_number(struct reading *reading, struct elements *elements,
                        size_t item_size, enum list list, uint64_t value)
{
    struct dd_element element = { .kind =
                                      list == LIST_INTS ? DD_INT : DD_LONG,
                                  .number = proto_sint(value) };

    if (list == LIST_INTS && (element.number < INT32_MIN ||
                              element.number > INT32_MAX))
        return reading_fails(reading);
    return push(reading, elements, item_size, &element);
}

static bool get_numbers(struct reading *reading, struct elements *elements,
                        size_t item_size, enum list list,
                        const struct proto_field *field)
{
    struct cursor cursor = cursor_of(field->bytes);

    if (field->type == PROTO_VARINT)
        return push_number(reading, elements, item_size, list, field->value);
    if (field->type != PROTO_BYTES)
        return reading_fails(reading);
    while (cursor_left(&cursor)) {
        uint64_t value = cursor_varint(&cursor);

        if (cursor.failed)
            return reading_fails(reading);
        if (!push_number(reading, elements, item_size, list, value))
            return false;
    }
    return true;
}

static bool get_list_field(struct reading *reading, struct elements *elements,
                           size_t item_size, enum list list,
                           const struct proto_field *field)
{
    struct dd_element element;
    struct dd_other other;

    if (list == LIST_INTS || list == LIST_LONGS)
        return get_numbers(reading, elements, item_size, list, field);
    if (field->type != PROTO_BYTES)
        return reading_fails(reading);
    if (list == LIST_OTHERS) {
        if (!get_other(reading, field->bytes, &other))
            return false;
        element = get_element_other(other);
    } else {
        if (!get_text(reading, field->bytes, &element))
            return false;
        element.kind = list == LIST_TEXTS ? DD_TEXT : DD_REF;
    }
    return push(reading, elements, item_size, &element);
}

/* In received order. */
static bool get_lists(struct reading *reading, struct slice bytes,
                      uint32_t first, size_t item_size,
                      struct elements *elements)
{
    for (enum list list = 0; list < LIST_COUNT; list++) {
        struct cursor cursor = cursor_of(bytes);
        struct proto_field field;

        while (proto_next(&cursor, &field))
            if (field.number == first + list &&
                !get_list_field(reading, elements, item_size, list, &field))
                return false;
        if (!reading_ends(reading, &cursor))
            return false;
    }
    return true;
}

static enum list list_of(const struct element *element)
{
    switch (element->kind) {
    case DD_TEXT:
        return LIST_TEXTS;
    case DD_INT:
        return LIST_INTS;
    case DD_LONG:
        return LIST_LONGS;
    case DD_OTHER:
        return LIST_OTHERS;
    default:
        return LIST_REFS;
    }
}

static void put_list(struct buf *buf, uint32_t number, enum list list,
                     struct element *const *items, uint32_t count)
{
    bool is_packed = list == LIST_INTS || list == LIST_LONGS;
    size_t start = 0;

    if (is_packed)
        start = proto_open(buf, number);
    for (uint32_t i = 0; i < count; i++) {
        struct dd_element view = element_view(items[i]);

        if (is_packed)
            buf_put_varint(buf, proto_zigzag(view.number));
        else if (list == LIST_OTHERS)
            put_other(buf, number,
                      (struct dd_other){ view.serializer, view.manifest,
                                         view.text });
        else
            proto_put_bytes(buf, number, view.text);
    }
    if (is_packed)
        proto_close(buf, start);
}

/* Elements are sorted by list. */
static void put_lists(struct buf *buf, uint32_t first,
                      const struct elements *elements)
{
    uint32_t at = 0;

    for (enum list list = 0; list < LIST_COUNT; list++) {
        uint32_t end = at;

        while (end < elements->list.count &&
               list_of(elements->list.items[end]) == list)
            end++;
        if (end > at)
            put_list(buf, first + list, list, &elements->list.items[at],
                     end - at);
        at = end;
    }
}

void put_gset(struct buf *buf, const struct elements *set)
{
    put_lists(buf, GSET_LISTS, set);
}

bool get_gset(struct reading *reading, struct slice bytes, struct elements *set)
{
    if (!get_lists(reading, bytes, GSET_LISTS, sizeof(struct element), set))
        return false;
    gset_sort(set);
    return true;
}

void put_orset(struct buf *buf, const struct orset *set)
{
    size_t start = proto_open(buf, 1);

    for (uint32_t i = 0; i < set->nodes.count; i++)
        if (set->nodes.items[i].version != ORSET_NOT_SEEN)
            put_version(buf, &set->nodes.items[i].node,
                        set->nodes.items[i].version);
    proto_close(buf, start);
    for (uint32_t i = 0; i < orset_count(set); i++) {
        const struct dots *dots = &orset_item(set, i)->dots;

        start = proto_open(buf, 2);
        for (uint32_t j = 0; j < dots->count; j++) {
            struct dot dot = dots_at(dots, j);

            put_version(buf, &set->nodes.items[dot.node].node, dot.version);
        }
        proto_close(buf, start);
    }
    put_lists(buf, ORSET_LISTS, &set->items);
}

static int compare_nodes(const void *left, const void *right)
{
    return node_compare(&((const struct version *)left)->node,
                        &((const struct version *)right)->node);
}

/* Walks over the entries of version vectors in a field of an OR-set. */
typedef bool visitor(struct reading *reading, void *target, uint32_t index,
                     const struct version *version);

static bool visit_entries(struct reading *reading, struct slice bytes,
                          uint32_t index, visitor *visit, void *target)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    struct version version;

    while (proto_next(&cursor, &field)) {
        if (field.number != 1 || field.type != PROTO_BYTES)
            continue;
        if (!get_version(reading, field.bytes, &version) ||
            !visit(reading, target, index, &version))
            return false;
    }
    return reading_ends(reading, &cursor);
}

/* *count: the number of vectors. */
static bool visit_vectors(struct reading *reading, struct slice bytes,
                          uint32_t number, visitor *visit, void *target,
                          uint32_t *count)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;

    *count = 0;
    while (proto_next(&cursor, &field)) {
        if (field.number != number)
            continue;
        if (field.type != PROTO_BYTES)
            return reading_fails(reading);
        if (!visit_entries(reading, field.bytes, (*count)++, visit, target))
            return false;
    }
    return reading_ends(reading, &cursor);
}

static bool push_seen(struct reading *reading, void *target, uint32_t index,
                      const struct version *version)
{
    struct orset *set = target;

    (void)index; /* there is one vector */
    if (!reading_spends(reading, sizeof *version))
        return false;
    vec_push(&set->nodes, *version);
    return true;
}

/* Nodes that only dots name: removers that never added. */
struct strangers {
    const struct orset *set; /* with the seen nodes, sorted */
    VEC(struct version) found;
};

static bool push_stranger(struct reading *reading, void *target, uint32_t index,
                          const struct version *version)
{
    struct strangers *strangers = target;
    struct version stranger = { version->node, ORSET_NOT_SEEN };
    uint32_t count = strangers->found.count;

    (void)index; /* not needed yet */
    if (orset_find_node(strangers->set, &version->node) != UINT32_MAX ||
        (count && node_equal(&strangers->found.items[count - 1].node,
                             &version->node)))
        return true;
    if (!reading_spends(reading, sizeof stranger))
        return false;
    vec_push(&strangers->found, stranger);
    return true;
}

/* A node that was both seen and named by dots stays as seen. False: it was seen twice. */
static bool sort_nodes(struct orset *set)
{
    uint32_t kept = 0;
    bool good = true;

    sort_stable(set->nodes.items, set->nodes.count, sizeof(struct version),
                compare_nodes);
    for (uint32_t i = 0; i < set->nodes.count; i++) {
        struct version *item = &set->nodes.items[i];
        struct version *last = kept ? &set->nodes.items[kept - 1] : NULL;

        if (last && node_equal(&last->node, &item->node)) {
            good = good && (last->version == ORSET_NOT_SEEN ||
                            item->version == ORSET_NOT_SEEN);
            if (item->version != ORSET_NOT_SEEN)
                last->version = item->version;
        } else {
            set->nodes.items[kept++] = *item;
        }
    }
    set->nodes.count = kept;
    return good;
}

static bool get_nodes(struct reading *reading, struct slice bytes,
                      struct orset *set)
{
    struct strangers strangers = { .set = set };
    uint32_t count;
    bool done;

    if (!visit_vectors(reading, bytes, 1, push_seen, set, &count))
        return false;
    if (count != 1 || !sort_nodes(set))
        return reading_fails(reading);
    done = visit_vectors(reading, bytes, 2, push_stranger, &strangers, &count);
    for (uint32_t i = 0; i < strangers.found.count; i++)
        vec_push(&set->nodes, strangers.found.items[i]);
    vec_fini(&strangers.found);
    return done && (sort_nodes(set) || reading_fails(reading));
}

static bool push_dot(struct reading *reading, void *target, uint32_t index,
                     const struct version *version)
{
    struct orset *set = target;
    struct dot dot = { version->version, 0 };
    struct dots *dots;

    if (index >= orset_count(set))
        return reading_fails(reading);
    dots = &orset_item(set, index)->dots;
    dot.node = orset_find_node(set, &version->node);
    check(dot.node != UINT32_MAX);
    if (dots->count && dots_at(dots, dots->count - 1).node >= dot.node)
        return reading_fails(reading);
    if (dots->count && !reading_spends(reading, sizeof dot))
        return false;
    dots_push(dots, dot);
    return true;
}

bool get_orset(struct reading *reading, struct slice bytes, struct orset *set)
{
    uint32_t count;

    if (!get_nodes(reading, bytes, set) ||
        !get_lists(reading, bytes, ORSET_LISTS, sizeof(struct orset_item),
                   &set->items) ||
        !visit_vectors(reading, bytes, 2, push_dot, set, &count))
        return false;
    if (count != orset_count(set))
        return reading_fails(reading);
    orset_sort(set);
    return true;
}

static bool check_op(struct reading *reading, const struct orset_op *op)
{
    return op->change != ORSET_REMOVE || orset_count(&op->set) == 1 ||
           reading_fails(reading);
}

bool get_orset_op(struct reading *reading, struct slice bytes,
                  enum orset_change change, struct orset_ops *ops)
{
    struct orset_op op = { .change = change };

    if (!reading_spends(reading, sizeof op))
        return false;
    vec_push(&ops->list, op);
    return get_orset(reading, bytes,
                     &ops->list.items[ops->list.count - 1].set) &&
           check_op(reading, &ops->list.items[ops->list.count - 1]);
}

static bool get_group_entry(struct reading *reading, struct slice bytes,
                            struct orset_ops *ops)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;
    struct slice set = { 0 };
    uint64_t change = UINT64_MAX;
    bool has_set = false;

    while (proto_next(&cursor, &field)) {
        if (field.number == 1 && field.type == PROTO_VARINT) {
            change = field.value;
        } else if (field.number == 2 && field.type == PROTO_BYTES) {
            set = field.bytes;
            has_set = true;
        }
    }
    if (!reading_ends(reading, &cursor) || change > ORSET_FULL || !has_set)
        return reading_fails(reading);
    return get_orset_op(reading, set, (enum orset_change)change, ops);
}

bool get_orset_ops(struct reading *reading, struct slice bytes,
                   struct orset_ops *ops)
{
    struct cursor cursor = cursor_of(bytes);
    struct proto_field field;

    ops->is_group = true;
    while (proto_next(&cursor, &field))
        if (field.number == 1 && field.type == PROTO_BYTES &&
            !get_group_entry(reading, field.bytes, ops))
            return false;
    return reading_ends(reading, &cursor);
}

void put_orset_ops(struct buf *buf, const struct orset_ops *ops)
{
    for (uint32_t i = 0; i < ops->list.count; i++) {
        const struct orset_op *op = &ops->list.items[i];
        size_t start = proto_open(buf, 1);
        size_t set;

        proto_put_varint(buf, 1, op->change);
        set = proto_open(buf, 2);
        put_orset(buf, &op->set);
        proto_close(buf, set);
        proto_close(buf, start);
    }
}
