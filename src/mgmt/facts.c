/* Implements facts.h. */
#include "mgmt/facts.h"

#include "base/limits.h"

void facts_free(struct facts *facts)
{
    vec_fini(&facts->values);
    vec_fini(&facts->row_parts);
    vec_fini(&facts->parts);
    buf_fini(&facts->bytes);
    buf_fini(&facts->next);
}

void facts_drop_rows(struct facts *facts)
{
    facts->values.count = facts->row_parts.count = 0;
    buf_clear(&facts->bytes);
}

/* A member comes again in a later page. A part that was not whole stays so. */
static uint32_t add_part(struct facts *facts, const struct sherd_look_part *part)
{
    for (uint32_t i = 0; i < facts->parts.count; i++) {
        struct sherd_look_part *known = &facts->parts.items[i];

        if (known->uid != part->uid || strcmp(known->address, part->address) != 0)
            continue;
        if (known->state == SHERD_LOOK_OK)
            known->state = part->state;
        if (part->wall_ms)
            known->wall_ms = part->wall_ms;
        known->row_count += part->row_count;
        return i;
    }
    vec_push(&facts->parts, *part);
    return facts->parts.count - 1;
}

static void add_row(struct facts *facts, const struct sherd_look_value *values)
{
    for (uint32_t i = 0; i < facts->columns; i++) {
        struct fact fact = { .is_known = values[i].is_known,
                             .number = values[i].number,
                             .at = (uint32_t)facts->bytes.size,
                             .size = (uint32_t)values[i].bytes.size };

        buf_put(&facts->bytes, values[i].bytes.data, values[i].bytes.size);
        vec_push(&facts->values, fact);
    }
}

void facts_add(struct facts *facts, const struct sherd_look_page *page)
{
    struct sherd_look_value values[SHERD_LOOK_COLUMNS_MAX];
    VEC(uint32_t) places = { NULL, 0, 0 };
    uint32_t part;

    facts->kind = page->kind;
    (void)sherd_look_columns(page->kind, &facts->columns);
    for (uint32_t i = 0; i < page->part_count; i++)
        vec_push(&places, add_part(facts, &page->parts[i]));
    for (uint32_t i = 0; sherd_look_row(page, i, values, &part); i++) {
        add_row(facts, values);
        vec_push(&facts->row_parts, places.items[part]);
    }
    vec_fini(&places);
    facts->is_partial |= page->is_partial != 0;
    buf_clear(&facts->next);
    buf_put(&facts->next, page->next.data, page->next.size);
}

bool facts_want_more(const struct facts *facts)
{
    return facts->next.size && facts_count(facts) < MGMT_FACTS_MAX;
}

uint32_t facts_count(const struct facts *facts)
{
    return facts->row_parts.count;
}

const struct fact *fact_at(const struct facts *facts, uint32_t row, uint32_t column)
{
    return &facts->values.items[row * facts->columns + column];
}

struct slice fact_text(const struct facts *facts, uint32_t row, uint32_t column)
{
    const struct fact *fact = fact_at(facts, row, column);

    if (!fact->is_known)
        return slice_of(NULL, 0);
    return fact->size ? slice_of(facts->bytes.data + fact->at, fact->size) : slice_of("", 0);
}

uint64_t fact_number(const struct facts *facts, uint32_t row, uint32_t column)
{
    const struct fact *fact = fact_at(facts, row, column);

    return fact->is_known ? fact->number : 0;
}

bool fact_is(const struct facts *facts, uint32_t row, uint32_t column, struct slice text)
{
    return fact_at(facts, row, column)->is_known && slice_equal(fact_text(facts, row, column), text);
}

const struct sherd_look_part *fact_part(const struct facts *facts, uint32_t row)
{
    return &facts->parts.items[facts->row_parts.items[row]];
}

const struct sherd_look_part *facts_part_of(const struct facts *facts, struct slice address)
{
    for (uint32_t i = 0; i < facts->parts.count; i++)
        if (slice_is(address, facts->parts.items[i].address))
            return &facts->parts.items[i];
    return NULL;
}

uint32_t facts_row_of(const struct facts *facts, struct slice address)
{
    for (uint32_t i = 0; i < facts->row_parts.count; i++)
        if (slice_is(address, fact_part(facts, i)->address))
            return i;
    return facts->row_parts.count;
}
