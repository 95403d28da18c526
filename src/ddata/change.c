/* Applies users' changes to replicated values. */
#include "ddata/face.h"

#include "base/check.h"
#include "ddata/item.h"

struct changing {
    struct dd_value *value;
    struct dd_writer *writer;
    int64_t now_ms;
};

static bool change_inside(struct changing *changing,
                          const struct sherd_change *change);

/* A JVM considers an Int and a Long of the same number one element, so a value with both would
 * differ there permanently. */
static bool has_twin(const struct dd_value *value,
                     const struct dd_element *element)
{
    enum dd_kind kind = dd_kind_of(value);
    struct dd_element twin = *element;

    if (element->kind == DD_INT)
        twin.kind = DD_LONG;
    else if (element->kind == DD_LONG && element->number >= INT32_MIN &&
             element->number <= INT32_MAX)
        twin.kind = DD_INT;
    else
        return false;
    if (kind == DD_GSET || kind == DD_ORSET)
        return dd_set_has(value, &twin);
    return (kind == DD_LWWMAP || kind == DD_PNCOUNTERMAP ||
            kind == DD_MULTIMAP || kind == DD_ORMAP) &&
           dd_map_get(value, &twin);
}

static bool take_item(const struct dd_value *value,
                      const struct sherd_item *item,
                      struct dd_element *element)
{
    return item_to_element(item, element) && !has_twin(value, element);
}

static bool take_binding(const struct dd_value *map,
                         const struct dd_element *key,
                         const struct sherd_item *item,
                         struct dd_element *element)
{
    const struct dd_value *set = dd_map_get(map, key);

    return item_to_element(item, element) &&
           !(set && has_twin(set, element));
}

static bool count(struct changing *changing, const struct sherd_change *change)
{
    const struct node_id *self = &changing->writer->node;
    struct dd_element item;

    switch (dd_kind_of(changing->value)) {
    case DD_GCOUNTER:
        if (change->amount < 0)
            return false;
        dd_gcounter_add(changing->value, self, (uint64_t)change->amount);
        return true;
    case DD_PNCOUNTER:
        dd_pncounter_add(changing->value, self, change->amount);
        return true;
    case DD_PNCOUNTERMAP:
        if (!take_item(changing->value, &change->item, &item))
            return false;
        dd_countermap_add(changing->value, changing->writer, &item,
                          change->amount);
        return true;
    default:
        return false;
    }
}

static bool add(struct changing *changing, const struct sherd_change *change)
{
    enum dd_kind kind = dd_kind_of(changing->value);
    struct dd_element item, value;

    if (!take_item(changing->value, &change->item, &item))
        return false;
    if (kind == DD_GSET)
        dd_gset_add(changing->value, &item);
    else if (kind == DD_ORSET)
        dd_orset_add(changing->value, changing->writer, &item);
    else if (kind == DD_MULTIMAP &&
             take_binding(changing->value, &item, &change->value, &value))
        dd_multimap_add(changing->value, changing->writer, &item, &value);
    else
        return false;
    return true;
}

static bool remove_item(struct changing *changing,
                        const struct sherd_change *change)
{
    enum dd_kind kind = dd_kind_of(changing->value);
    struct dd_element item;

    if (!take_item(changing->value, &change->item, &item))
        return false;
    if (kind == DD_ORSET)
        dd_orset_remove(changing->value, changing->writer, &item);
    else if (kind == DD_LWWMAP || kind == DD_PNCOUNTERMAP ||
             kind == DD_MULTIMAP || kind == DD_ORMAP)
        dd_map_remove(changing->value, changing->writer, &item);
    else
        return false;
    return true;
}

static bool remove_value(struct changing *changing,
                         const struct sherd_change *change)
{
    struct dd_element item, value;

    if (dd_kind_of(changing->value) != DD_MULTIMAP ||
        !take_item(changing->value, &change->item, &item) ||
        !take_binding(changing->value, &item, &change->value, &value))
        return false;
    dd_multimap_remove(changing->value, changing->writer, &item, &value);
    return true;
}

static bool put(struct changing *changing, const struct sherd_change *change)
{
    struct dd_element item;
    struct dd_other state;
    uint8_t room[8];

    if (!item_to_other(&change->value, room, &state))
        return false;
    if (dd_kind_of(changing->value) == DD_REGISTER)
        dd_register_set(changing->value, &changing->writer->node, state,
                        changing->now_ms, DD_CLOCK_LAST);
    else if (dd_kind_of(changing->value) == DD_LWWMAP &&
             take_item(changing->value, &change->item, &item))
        dd_lwwmap_put(changing->value, changing->writer, &item, state,
                      changing->now_ms, DD_CLOCK_LAST);
    else
        return false;
    return true;
}

static bool make(struct changing *changing, const struct sherd_change *change)
{
    if ((int)change->inside != 0)
        return change_inside(changing, change);
    switch (change->verb) {
    case SHERD_SWITCH_ON:
        if (dd_kind_of(changing->value) != DD_FLAG)
            return false;
        dd_flag_switch_on(changing->value);
        return true;
    case SHERD_COUNT:
        return count(changing, change);
    case SHERD_ADD:
        return add(changing, change);
    case SHERD_REMOVE:
        return remove_item(changing, change);
    case SHERD_REMOVE_VALUE:
        return remove_value(changing, change);
    case SHERD_CLEAR:
        if (dd_kind_of(changing->value) != DD_ORSET)
            return false;
        dd_orset_clear(changing->value);
        return true;
    case SHERD_PUT:
        return put(changing, change);
    }
    return false;
}

/* DD_DELETED if there is no such type. */
static enum dd_kind kind_of(enum sherd_data_type type)
{
    switch (type) {
    case SHERD_FLAG:
        return DD_FLAG;
    case SHERD_G_COUNTER:
        return DD_GCOUNTER;
    case SHERD_PN_COUNTER:
        return DD_PNCOUNTER;
    case SHERD_G_SET:
        return DD_GSET;
    case SHERD_OR_SET:
        return DD_ORSET;
    case SHERD_LWW_REGISTER:
        return DD_REGISTER;
    case SHERD_LWW_MAP:
        return DD_LWWMAP;
    case SHERD_PN_COUNTER_MAP:
        return DD_PNCOUNTERMAP;
    case SHERD_OR_MULTIMAP:
    case SHERD_OR_MULTIMAP_DELTAS:
        return DD_MULTIMAP;
    case SHERD_OR_MAP:
        return DD_ORMAP;
    case SHERD_CUSTOM:
        break;
    }
    return DD_DELETED;
}

static bool is_of(const struct dd_value *value, enum sherd_data_type type)
{
    enum dd_kind kind = kind_of(type);

    return dd_kind_of(value) == kind &&
           (kind != DD_MULTIMAP || dd_multimap_has_deltas(value) ==
                                       (type == SHERD_OR_MULTIMAP_DELTAS));
}

/* The empty value; for a register the first change's. Null: no such type, or the change puts
 * none. */
static struct dd_value *begin(enum sherd_data_type type,
                              const struct changing *changing,
                              const struct sherd_change *first)
{
    enum dd_kind kind = kind_of(type);
    struct dd_other state;
    uint8_t room[8];

    if (kind == DD_DELETED)
        return NULL;
    if (kind == DD_MULTIMAP)
        return dd_multimap_new(type == SHERD_OR_MULTIMAP_DELTAS);
    if (kind != DD_REGISTER)
        return dd_new(kind);
    if (first->verb != SHERD_PUT || !item_to_other(&first->value, room, &state))
        return NULL;
    return dd_register_new(&changing->writer->node, state, changing->now_ms,
                           DD_CLOCK_LAST);
}

struct dd_value *face_change(const struct dd_value *current,
                             enum sherd_data_type type,
                             const struct sherd_change *changes, uint32_t count,
                             struct dd_writer *writer, int64_t now_ms)
{
    struct changing changing = { .writer = writer, .now_ms = now_ms };
    uint32_t at = 0;

    if (!count || (current && !is_of(current, type)))
        return NULL;
    changing.value =
        current ? dd_copy(current) : begin(type, &changing, &changes[0]);
    if (changing.value && !current && type == SHERD_LWW_REGISTER)
        at = 1; /* the register has it */
    while (changing.value && at < count)
        if (!make(&changing, &changes[at++])) {
            dd_free(changing.value);
            changing.value = NULL;
        }
    return changing.value;
}

/* True if it can be made in place and cannot fail. size_max: most bytes added. */
static bool is_sure(const struct dd_value *value,
                    const struct sherd_change *change,
                    enum sherd_data_type type, size_t *size_max)
{
    struct dd_element element, binding;
    struct dd_other other;
    uint8_t room[8];

    if ((int)change->inside != 0)
        return false;
    *size_max = DD_MAP_ITEM_SIZE + change->item.text.size + change->value.text.size;
    if (type == SHERD_OR_SET && change->verb == SHERD_CLEAR)
        return true;
    if (!take_item(value, &change->item, &element))
        return false;
    switch (type) {
    case SHERD_G_SET:
    case SHERD_OR_SET:
        *size_max = DD_SET_ITEM_SIZE + change->item.text.size;
        return change->verb == SHERD_ADD ||
               (change->verb == SHERD_REMOVE && type == SHERD_OR_SET);
    case SHERD_LWW_MAP:
        return change->verb == SHERD_PUT &&
               item_to_other(&change->value, room, &other);
    case SHERD_PN_COUNTER_MAP:
        return change->verb == SHERD_COUNT;
    case SHERD_OR_MULTIMAP:
        return change->verb == SHERD_ADD &&
               take_binding(value, &element, &change->value, &binding);
    default:
        return false;
    }
}

/* An Int and a Long may be twins. */
static bool mixes_numbers(const struct sherd_change *changes, uint32_t count)
{
    bool has_ints = false, has_longs = false;

    for (uint32_t i = 0; i < count; i++) {
        has_ints |= changes[i].item.kind == SHERD_ITEM_INT ||
                    changes[i].value.kind == SHERD_ITEM_INT;
        has_longs |= changes[i].item.kind == SHERD_ITEM_LONG ||
                     changes[i].value.kind == SHERD_ITEM_LONG;
    }
    return has_ints && has_longs;
}

bool face_is_sure(const struct dd_value *value, enum sherd_data_type type,
                  const struct sherd_change *changes, uint32_t count,
                  size_t *growth_max)
{
    *growth_max = DD_SET_NODE_SIZE;
    if (!count || !is_of(value, type) || mixes_numbers(changes, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        size_t size_max;

        if (!is_sure(value, &changes[i], type, &size_max))
            return false;
        *growth_max += size_max;
    }
    return true;
}

void face_change_in_place(struct dd_value *value,
                          const struct sherd_change *changes, uint32_t count,
                          struct dd_writer *writer, int64_t now_ms)
{
    struct changing changing = { .value = value,
                                 .writer = writer,
                                 .now_ms = now_ms };

    for (uint32_t i = 0; i < count; i++)
        check(make(&changing, &changes[i])); /* is_sure */
}

/* Changes the value under a key of an OR_MAP. */
static bool change_inside(struct changing *changing,
                          const struct sherd_change *change)
{
    struct sherd_change inner = { .verb = change->verb,
                                  .item = change->value,
                                  .value = change->value,
                                  .amount = change->amount };
    struct dd_element key;
    struct dd_value *value;

    if (dd_kind_of(changing->value) != DD_ORMAP ||
        change->inside > SHERD_LWW_REGISTER ||
        !take_item(changing->value, &change->item, &key))
        return false;
    value = face_change(dd_map_get(changing->value, &key), change->inside,
                        &inner, 1, changing->writer, changing->now_ms);
    if (value)
        dd_ormap_update(changing->value, changing->writer, &key, value);
    return value != NULL;
}
