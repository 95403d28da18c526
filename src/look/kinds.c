/* Implements kinds.h, and the tables of sherd/look.h. */
#include "look/kinds.h"

#include <string.h>

#include "base/limits.h"

#define COLUMN(id, name, type, role) { name, SHERD_LOOK_##type, LOOK_##role == LOOK_ORDER },
#define COLUMNS(kind, columns, place) \
    static const struct sherd_look_column columns_of_##kind[] = { columns(COLUMN) }; \
    _Static_assert(LOOK_##kind##_COUNT <= SHERD_LOOK_COLUMNS_MAX, "a row has room for the values");
LOOK_KINDS(COLUMNS)
#undef COLUMNS
#undef COLUMN

#define ROLE(id, name, type, role) LOOK_##role,
#define ROLES(kind, columns, place) \
    static const uint8_t roles_of_##kind[] = { columns(ROLE) };
LOOK_KINDS(ROLES)
#undef ROLES
#undef ROLE

static const struct {
    const struct sherd_look_column *columns;
    const uint8_t *roles;
    uint32_t count;
    enum look_place_of place;
} kinds[] = {
#define X(kind, columns, place) \
    [SHERD_LOOK_##kind] = { columns_of_##kind, roles_of_##kind, LOOK_##kind##_COUNT, \
                            LOOK_PLACE_##place },
    LOOK_KINDS(X)
#undef X
};

static const char *const kind_texts[] = {
#define X(name, text) [name] = (text),
    SHERD_LOOKS(X)
#undef X
};

static const char *const state_texts[] = {
#define X(name, text) [name] = (text),
    SHERD_LOOK_STATES(X)
#undef X
};

bool look_kind_is(uint64_t kind)
{
    return kind < SHERD_LOOK_KIND_COUNT;
}

enum look_place_of look_kind_place(enum sherd_look_kind kind)
{
    return kinds[kind].place;
}

uint32_t look_column_count(enum sherd_look_kind kind)
{
    return kinds[kind].count;
}

enum look_role look_column_role(enum sherd_look_kind kind, uint32_t column)
{
    return (enum look_role)kinds[kind].roles[column];
}

bool look_column_is_bytes(enum sherd_look_kind kind, uint32_t column)
{
    return kinds[kind].columns[column].type >= SHERD_LOOK_TEXT;
}

uint32_t look_kind_key(enum sherd_look_kind kind)
{
    return kind == SHERD_LOOK_TYPES ? (uint32_t)LOOK_TYPES_TYPE : LOOK_NO_ORDER;
}

uint32_t look_kind_order(enum sherd_look_kind kind)
{
    switch (kind) {
    case SHERD_LOOK_HOT:
        return LOOK_HOT_MESSAGES;
    case SHERD_LOOK_UNDELIVERED:
        return LOOK_UNDELIVERED_TIME;
    case SHERD_LOOK_TIMELINE:
        return LOOK_TIMELINE_TIME;
    default:
        return LOOK_NO_ORDER;
    }
}

uint32_t look_order_of(enum sherd_look_kind kind, const char *name)
{
    for (uint32_t i = 0; i < kinds[kind].count; i++)
        if (kinds[kind].columns[i].can_order && !strcmp(kinds[kind].columns[i].name, name))
            return i;
    return LOOK_NO_ORDER;
}

bool look_order_is(enum sherd_look_kind kind, uint64_t order)
{
    return order < kinds[kind].count && kinds[kind].columns[order].can_order;
}

uint32_t look_kind_window(enum sherd_look_kind kind)
{
    bool is_long = kind == SHERD_LOOK_SHARDS || kind == SHERD_LOOK_ENTITIES ||
                   kind == SHERD_LOOK_HOMES;

    return is_long ? 1 : LOOK_TARGETS_MAX;
}

const struct sherd_look_column *sherd_look_columns(enum sherd_look_kind kind, uint32_t *count)
{
    bool is_kind = look_kind_is((uint64_t)kind);

    *count = is_kind ? kinds[kind].count : 0;
    return is_kind ? kinds[kind].columns : NULL;
}

const char *sherd_look_kind_text(enum sherd_look_kind kind)
{
    return look_kind_is((uint64_t)kind) ? kind_texts[kind] : "unknown";
}

enum sherd_look_kind sherd_look_kind_of(const char *text)
{
    uint32_t kind = 0;

    while (kind < SHERD_LOOK_KIND_COUNT && (!text || strcmp(kind_texts[kind], text)))
        kind++;
    return (enum sherd_look_kind)kind;
}

const char *sherd_look_state_text(enum sherd_look_state state)
{
    return (uint64_t)state < SHERD_LOOK_STATE_COUNT ? state_texts[state] : "unknown";
}
