/* Fuzzes rows that a server sends. Input: for each cell a size of 2 bytes, little endian, and its bytes;
 * the size 65535 is null.
 *
 * Oracle: an accepted number encodes to the same bytes, and accepted bytes keep within their limit. */
#include <stdint.h>
#include <stdlib.h>

#include "postgres/array.h"
#include "postgres/cells.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void require_same(struct pg_cell cell, uint64_t number)
{
    uint8_t bytes[8];

    pg_put_int8(bytes, number);
    require(cell.size == 8 && memcmp(bytes, cell.data, 8) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor cursor = cursor_of(slice_of(data, size));
    struct pg_cell cells[PG_CLAIM_CELLS];
    struct pg_shard_row shard;
    struct pg_entity_row entity;
    struct pg_claim_row claim;
    struct pg_replay_row replay;
    bool flag;

    for (int i = 0; i < PG_CLAIM_CELLS; i++) {
        uint16_t length = cursor_u16(&cursor);
        struct slice bytes = cursor_slice(&cursor, length == UINT16_MAX ? 0 : length);

        cells[i] = (struct pg_cell){ bytes.data, length == UINT16_MAX ? -1 : (int32_t)bytes.size };
    }
    if (pg_shard_decode(cells, &shard)) {
        require(shard.type.size <= PG_TEXT_MAX && shard.shard.size <= PG_TEXT_MAX);
        require_same(cells[2], shard.id);
        require_same(cells[6], shard.last);
    }
    if (pg_entity_decode(cells, &entity))
        require_same(cells[2], entity.last);
    if (pg_claim_decode(cells, &claim) && claim.is_written)
        require_same(cells[6], claim.last);
    if (pg_replay_decode(cells, &replay)) {
        require(replay.record.size <= PG_RECORD_MAX);
        require_same(cells[0], replay.seq);
    }
    if (pg_cell_flag(cells[0], &flag))
        require(cells[0].size == 1 && cells[0].data[0] == flag);
    return 0;
}
