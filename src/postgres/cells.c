/* Decodes the rows of the statements in sql.c. */
#include "postgres/cells.h"

bool pg_cell_number(struct pg_cell cell, uint64_t *number)
{
    if (cell.size != 8)
        return false;
    *number = 0;
    for (int i = 0; i < 8; i++)
        *number = *number << 8 | cell.data[i];
    return true;
}

bool pg_cell_flag(struct pg_cell cell, bool *flag)
{
    if (cell.size != 1 || cell.data[0] > 1)
        return false;
    *flag = cell.data[0];
    return true;
}

bool pg_cell_bytes(struct pg_cell cell, size_t max, struct slice *bytes)
{
    if (cell.size < 0 || (size_t)cell.size > max)
        return false;
    *bytes = slice_of(cell.data, (size_t)cell.size);
    return true;
}

static bool numbers(const struct pg_cell *cells, uint64_t *const *targets,
                    int count)
{
    for (int i = 0; i < count; i++)
        if (!pg_cell_number(cells[i], targets[i]))
            return false;
    return true;
}

bool pg_shard_decode(const struct pg_cell cells[PG_SHARD_CELLS],
                     struct pg_shard_row *row)
{
    uint64_t *const targets[] = { &row->id, &row->fence.term, &row->fence.epoch,
                                  &row->claim, &row->last };

    return pg_cell_bytes(cells[0], PG_TEXT_MAX, &row->type) &&
           pg_cell_bytes(cells[1], PG_TEXT_MAX, &row->shard) &&
           numbers(cells + 2, targets, 5);
}

bool pg_entity_decode(const struct pg_cell cells[PG_ENTITY_CELLS],
                      struct pg_entity_row *row)
{
    uint64_t *const targets[] = { &row->place, &row->id, &row->last };

    return numbers(cells, targets, 3);
}

bool pg_claim_decode(const struct pg_cell cells[PG_CLAIM_CELLS],
                     struct pg_claim_row *row)
{
    uint64_t *const terms[] = { &row->last_term, &row->lowest_term,
                                &row->proof };
    uint64_t *const written[] = { &row->id, &row->fence.term, &row->fence.epoch,
                                  &row->last };
    uint64_t *const before[] = { &row->before.term, &row->before.epoch };

    *row = (struct pg_claim_row){ 0 };
    row->is_written = cells[3].size >= 0;
    return numbers(cells, terms, 3) &&
           (!row->is_written || numbers(cells + 3, written, 4)) &&
           (cells[7].size < 0 || numbers(cells + 7, before, 2));
}

bool pg_replay_decode(const struct pg_cell cells[PG_REPLAY_CELLS],
                      struct pg_replay_row *row)
{
    *row = (struct pg_replay_row){ .is_more = cells[1].size < 0 };
    return pg_cell_number(cells[0], &row->seq) &&
           (row->is_more || pg_cell_bytes(cells[1], PG_RECORD_MAX, &row->record));
}
