/* Implements rows.h. */
#include "mgmt/rows.h"

#include "mgmt/akka.h"
#include "mgmt/fields.h"
#include "mgmt/json.h"

/* Columns that JSON writes in another way than their type says. */
static const struct {
    const char *name, *type;
} special[] = {
    { "uid", "decimal?" }, /* 64 bits, which a JavaScript number does not hold */
    { "term", "decimal?" },
    { "epoch", "decimal?" },
    { "roles", "words?" },
};

const char *row_type(const struct sherd_look_column *column)
{
    static const char *const types[] = {
        [SHERD_LOOK_NUMBER] = "count?", [SHERD_LOOK_FLAG] = "flag?", [SHERD_LOOK_MS] = "ms?",
        [SHERD_LOOK_TIME] = "time?",    [SHERD_LOOK_TEXT] = "text?", [SHERD_LOOK_BYTES] = "text",
    };

    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++)
        if (strcmp(special[i].name, column->name) == 0)
            return special[i].type;
    return types[column->type];
}

void put_orders(struct buf *buf, enum sherd_look_kind kind)
{
    uint32_t count;
    const struct sherd_look_column *columns = sherd_look_columns(kind, &count);

    field_name(buf, "enum");
    buf_put_u8(buf, '[');
    for (uint32_t i = 0; i < count; i++)
        if (columns[i].can_order) {
            json_next(buf);
            json_text(buf, columns[i].name);
        }
    buf_put_u8(buf, ']');
}

/* Words with commas between them. */
static void put_words(struct buf *buf, struct slice words)
{
    buf_put_u8(buf, '[');
    while (words.size) {
        const uint8_t *comma = memchr(words.data, ',', words.size);
        size_t size = comma ? (size_t)(comma - words.data) : words.size;

        json_next(buf);
        value_text(buf, slice_of(words.data, size));
        size += comma != NULL;
        words = slice_of(words.data + size, words.size - size);
    }
    buf_put_u8(buf, ']');
}

/* Whether a text of a look, such as "weakly up", is that name of Akka, "WeaklyUp". */
static bool is_status(struct slice text, const char *name)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == ' ' || text.data[i] == '-')
            continue;
        if (!*name || (*name | 32) != (text.data[i] | 32))
            return false;
        name++;
    }
    return !*name;
}

struct slice status_name(enum sherd_look_kind kind, const char *column, struct slice text)
{
    if ((kind != SHERD_LOOK_NODES && kind != SHERD_LOOK_MEMBERS) || strcmp(column, "status") != 0)
        return text;
    for (int i = 0; i <= SHERD_READY_FOR_SHUTDOWN; i++)
        if (is_status(text, akka_status((enum sherd_member_status)i)))
            return slice_text(akka_status((enum sherd_member_status)i));
    return text;
}

static void put_id(struct buf *buf, struct slice id)
{
    if (text_is_valid(id))
        field_slice(buf, "id", id);
    else
        field_hex(buf, "idHex", id);
}

void put_column(struct buf *buf, const struct facts *facts, uint32_t row, uint32_t column)
{
    uint32_t count;
    const struct sherd_look_column *of = &sherd_look_columns(facts->kind, &count)[column];
    const struct fact *fact = fact_at(facts, row, column);
    struct slice text = fact_text(facts, row, column);

    if (of->type == SHERD_LOOK_BYTES) {
        if (fact->is_known)
            put_id(buf, text);
        return;
    }
    if (strcmp(of->name, "roles") == 0) {
        field_name(buf, of->name);
        put_words(buf, text);
    } else if (!fact->is_known) {
        field_null(buf, of->name);
    } else if (strcmp(row_type(of), "decimal?") == 0) {
        field_decimal(buf, of->name, fact->number);
    } else if (of->type == SHERD_LOOK_FLAG) {
        field_flag(buf, of->name, fact->number != 0);
    } else if (of->type == SHERD_LOOK_TIME) {
        field_time(buf, of->name, fact->number);
    } else if (of->type == SHERD_LOOK_TEXT) {
        field_slice(buf, of->name, status_name(facts->kind, of->name, text));
    } else {
        field_count(buf, of->name, fact->number);
    }
}

void put_row(struct buf *buf, const struct facts *facts, uint32_t row)
{
    json_next(buf);
    buf_put_u8(buf, '{');
    field_text(buf, "node", fact_part(facts, row)->address);
    for (uint32_t i = 0; i < facts->columns; i++)
        put_column(buf, facts, row, i);
    buf_put_u8(buf, '}');
}

/* ---- parts ---- */

static bool is_later(const struct facts *facts, uint32_t count, const struct sherd_look_part *part)
{
    for (uint32_t i = 0; i < count; i++)
        if (facts_part_of(&facts[i], slice_text(part->address)))
            return true;
    return false;
}

static void put_part(struct buf *buf, const struct facts *facts, uint32_t count, const struct sherd_look_part *part)
{
    enum sherd_look_state state = part->state;
    uint64_t wall_ms = part->wall_ms;

    for (uint32_t i = 0; i < count; i++) {
        const struct sherd_look_part *other = facts_part_of(&facts[i], slice_text(part->address));

        if (!other)
            continue;
        if (state == SHERD_LOOK_OK)
            state = other->state;
        if (!wall_ms || (other->wall_ms && other->wall_ms < wall_ms))
            wall_ms = other->wall_ms;
    }
    json_next(buf);
    buf_put_u8(buf, '{');
    field_text(buf, "node", part->address);
    field_text(buf, "state", sherd_look_state_text(state));
    field_time(buf, "asOf", wall_ms);
    buf_put_u8(buf, '}');
}

void put_parts(struct buf *buf, const struct facts *facts, uint32_t count)
{
    bool is_partial = false;

    for (uint32_t i = 0; i < count; i++)
        is_partial |= facts[i].is_partial;
    field_flag(buf, "partial", is_partial);
    field_name(buf, "nodes");
    buf_put_u8(buf, '[');
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < facts[i].parts.count; j++)
            if (!is_later(facts, i, &facts[i].parts.items[j]))
                put_part(buf, facts, count, &facts[i].parts.items[j]);
    buf_put_u8(buf, ']');
}
