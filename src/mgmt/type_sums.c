/* Sums the rows that members tell of an entity type. */
#include "look/kinds.h"
#include "mgmt/api_inside.h"
#include "mgmt/fields.h"

uint32_t type_row(const struct facts *facts, uint32_t column, struct slice type)
{
    uint32_t row = 0;

    while (row < facts_count(facts) && !fact_is(facts, row, column, type))
        row++;
    return row;
}

bool type_first(const struct facts *types, uint32_t row, struct type_sums *sums)
{
    struct slice type = fact_text(types, row, LOOK_TYPES_TYPE);

    if (type_row(types, LOOK_TYPES_TYPE, type) != row)
        return false;
    *sums = (struct type_sums){ .type = type };
    for (uint32_t i = row; i < facts_count(types); i++) {
        if (!fact_is(types, i, LOOK_TYPES_TYPE, type))
            continue;
        if (!sums->shards)
            sums->shards = fact_number(types, i, LOOK_TYPES_SHARDS);
        if (!sums->coordinator.data || fact_number(types, i, LOOK_TYPES_TERM) > sums->term)
            sums->coordinator = fact_text(types, i, LOOK_TYPES_COORDINATOR);
        if (fact_number(types, i, LOOK_TYPES_TERM) > sums->term)
            sums->term = fact_number(types, i, LOOK_TYPES_TERM);
        sums->hosted += fact_number(types, i, LOOK_TYPES_HOSTED);
        sums->entities += fact_number(types, i, LOOK_TYPES_ENTITIES);
        sums->waiting += fact_number(types, i, LOOK_TYPES_WAITING);
        sums->wanted += fact_number(types, i, LOOK_TYPES_WANTED);
    }
    return true;
}

void type_put(struct buf *body, const struct type_sums *sums)
{
    field_slice(body, "type", sums->type);
    if (sums->shards)
        field_count(body, "numberOfShards", sums->shards);
    else
        field_null(body, "numberOfShards");
    field_slice(body, "coordinator", sums->coordinator);
    if (sums->term)
        field_decimal(body, "term", sums->term);
    else
        field_null(body, "term");
    field_count(body, "hosted", sums->hosted);
    field_count(body, "entities", sums->entities);
    field_count(body, "waiting", sums->waiting);
    field_count(body, "wanted", sums->wanted);
}
