/* Evaluates the statements that write shards, events and terms, and those that read. */
#include "sim/world/database_statement.h"

#include "base/check.h"
#include "base/limits.h"
#include "postgres/array.h"

/* ---- answers ---- */

static void put_cell(struct database_run *run, const void *data, size_t size)
{
    struct database_result *result = run->result;
    struct database_cell cell = { (uint32_t)result->bytes.size, (int32_t)size };

    buf_put(&result->bytes, data, size);
    vec_push(&result->cells, cell);
}

static void put_number(struct database_run *run, uint64_t number)
{
    uint8_t bytes[8];

    pg_put_int8(bytes, number);
    put_cell(run, bytes, 8);
}

static void put_slice(struct database_run *run, struct slice bytes)
{
    put_cell(run, bytes.data, bytes.size);
}

static void put_null(struct database_run *run)
{
    vec_push(&run->result->cells, ((struct database_cell){ 0, -1 }));
}

/* The transaction's own row, or the committed one. Null: there is none. */
static const struct database_writer *writer_row(const struct database_run *run, uint64_t id)
{
    for (uint32_t i = run->writes->changes.count; i > 0; i--) {
        const struct database_change *change = &run->writes->changes.items[i - 1];

        if (change->kind == DATABASE_WRITER && change->writer.id == id)
            return &change->writer;
    }
    return database_writer(run->rows, id);
}

static uint64_t position_of(const struct database_run *run, uint64_t id)
{
    const struct database_writer *writer = writer_row(run, id);

    return writer ? writer->last : 0;
}

/* With the position of the writer that asks. */
static void put_shard(struct database_run *run, const struct database_shard *shard, uint64_t writer)
{
    run->result->columns = PG_SHARD_CELLS;
    put_slice(run, shard->type);
    put_slice(run, shard->shard);
    put_number(run, shard->id);
    put_number(run, shard->fence.term);
    put_number(run, shard->fence.epoch);
    put_number(run, shard->claim);
    put_number(run, position_of(run, writer));
}

void database_result_free(struct database_result *result)
{
    if (!result)
        return;
    vec_fini(&result->cells);
    buf_fini(&result->bytes);
    mem_free(result);
}

uint32_t database_result_rows(const struct database_result *result)
{
    return result->columns ? result->cells.count / result->columns : 0;
}

bool database_result_row(const struct database_result *result, uint32_t row,
                         struct pg_cell *cells, uint32_t count)
{
    if (result->columns != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct database_cell *cell = &result->cells.items[row * count + i];

        cells[i].data = result->bytes.data + cell->at;
        cells[i].size = cell->size;
    }
    return true;
}

/* ---- parameters ---- */

/* An array, or one item in its place. */
struct items {
    struct cursor cursor;
    bool is_one;
    uint32_t left;
};

static uint32_t take_four(struct cursor *cursor)
{
    struct slice four = cursor_slice(cursor, 4);

    check(four.size == 4);
    return (uint32_t)four.data[0] << 24 | (uint32_t)four.data[1] << 16 |
           (uint32_t)four.data[2] << 8 | four.data[3];
}

static struct items items_of(struct slice parameter, bool is_one)
{
    struct items items = { .cursor = cursor_of(parameter), .is_one = is_one, .left = 1 };

    if (is_one)
        return items;
    if (!take_four(&items.cursor)) { /* no dimension */
        items.left = 0;
        return items;
    }
    (void)take_four(&items.cursor); /* no nulls */
    (void)take_four(&items.cursor); /* the type */
    items.left = take_four(&items.cursor);
    (void)take_four(&items.cursor); /* the first index */
    return items;
}

static struct slice next_bytes(struct items *items)
{
    check(items->left > 0);
    items->left--;
    return cursor_slice(&items->cursor,
                        items->is_one ? cursor_left(&items->cursor) : take_four(&items->cursor));
}

static uint64_t number_of(struct slice bytes)
{
    uint64_t number = 0;

    check(bytes.size == 8);
    for (int i = 0; i < 8; i++)
        number = number << 8 | bytes.data[i];
    return number;
}

static uint64_t next_number(struct items *items)
{
    return number_of(next_bytes(items));
}

/* ---- appends ---- */

struct append {
    struct database_writer writer; /* as it must be */
    struct items records[4]; /* entity, number, shard, bytes */
    struct items named[3];   /* number, shard, persistence id */
    struct items cuts[2];    /* entity, below */
};

static void read_append(const struct database_call *call, struct append *append)
{
    const struct slice *from = call->parameters;

    *append = (struct append){ .writer = { .id = number_of(from[0]), .generation = number_of(from[1]),
                                         .last = number_of(from[2]) } };
    for (int i = 0; i < 4; i++)
        append->records[i] = items_of(from[3 + i], call->which == PG_APPEND_RECORD);
    for (int i = 0; i < 3 && call->which == PG_APPEND; i++)
        append->named[i] = items_of(from[7 + i], false);
    for (int i = 0; i < 2 && call->which == PG_APPEND; i++)
        append->cuts[i] = items_of(from[10 + i], false);
}

static bool lock_writer(struct database_run *run, uint64_t id)
{
    struct buf key = { 0 };
    bool is_locked;

    buf_put_u8(&key, 'w');
    buf_put_u64(&key, id);
    is_locked = run->lock(run->user, buf_slice(&key));
    buf_fini(&key);
    return is_locked;
}

static void put_writer(struct database_run *run, const struct database_writer *writer)
{
    struct database_change change = { .kind = DATABASE_WRITER, .writer = *writer };

    database_put(run->writes, &change);
}

static bool lock_row(struct database_run *run, const struct database_shard *shard)
{
    struct buf key = { 0 };
    bool is_locked;

    buf_put_u8(&key, 's');
    buf_put_u32(&key, (uint32_t)shard->type.size);
    buf_put_slice(&key, shard->type);
    buf_put_slice(&key, shard->shard);
    is_locked = run->lock(run->user, buf_slice(&key));
    buf_fini(&key);
    return is_locked;
}

/* The shard's number in the request; new ones are among the writes. */
static uint32_t request_shard(struct journal_request *told, const struct database_shard *row)
{
    struct backend_shard shard = { .fence = row->fence, .result = BACKEND_DONE };

    for (uint32_t i = 0; i < told->shards.count; i++)
        if (slice_equal(backend_slice(told, told->shards.items[i].type), row->type) &&
            slice_equal(backend_slice(told, told->shards.items[i].shard), row->shard))
            return i;
    shard.type = backend_put(told, row->type);
    shard.shard = backend_put(told, row->shard);
    vec_push(&told->shards, shard);
    return told->shards.count - 1;
}

/* The entity's number in the request; new ones are among the writes. */
static uint32_t request_entity(struct journal_request *told, struct slice pid, uint32_t shard)
{
    struct backend_entity entity = { .shard = shard, .result = BACKEND_DONE };

    for (uint32_t i = 0; i < told->entities.count; i++)
        if (slice_equal(backend_slice(told, told->entities.items[i].id), pid))
            return i;
    entity.id = backend_put(told, pid);
    vec_push(&told->entities, entity);
    return told->entities.count - 1;
}

static bool name_entities(struct database_run *run, struct append *append)
{
    while (append->named[0].left) {
        struct database_change change = { .kind = DATABASE_ENTITY };

        change.entity.id = next_number(&append->named[0]);
        change.entity.shard = next_number(&append->named[1]);
        change.entity.pid = next_bytes(&append->named[2]);
        if (database_entity(run->rows, change.entity.pid) ||
            database_entity_at(run->rows, change.entity.id))
            return false;
        database_put(run->writes, &change);
    }
    return true;
}

static struct slice pid_of(const struct database_run *run, uint64_t entity)
{
    const struct database_entity *row = database_entity_at(run->rows, entity);

    for (uint32_t i = 0; !row && i < run->writes->changes.count; i++)
        if (run->writes->changes.items[i].kind == DATABASE_ENTITY &&
            run->writes->changes.items[i].entity.id == entity)
            row = &run->writes->changes.items[i].entity;
    return row ? row->pid : (struct slice){ 0 };
}

/* False: a number is taken. A record of an unknown entity or shard is stored, and nothing finds it. */
static bool add_records(struct database_run *run, struct append *append, struct journal_request *told)
{
    while (append->records[0].left) {
        struct database_change change = { .kind = DATABASE_BOOK, .book = { .kind = BOOK_RECORD } };
        struct slice pid = pid_of(run, next_number(&append->records[0]));
        struct backend_record record = { .seq = next_number(&append->records[1]) };
        const struct database_shard *shard = database_shard_at(run->rows, next_number(&append->records[2]));

        change.book.seq = record.seq;
        change.book.bytes = next_bytes(&append->records[3]);
        append->writer.last++;
        if (!shard || !pid.size)
            continue;
        if (record.seq <= book_last(run->rows->book, pid) &&
            record.seq >= book_first(run->rows->book, pid))
            return false;
        change.book.id = pid;
        database_put(run->writes, &change);
        record.entity = request_entity(told, pid, request_shard(told, shard));
        record.bytes = backend_put(told, change.book.bytes);
        vec_push(&told->records, record);
    }
    return true;
}

static void cut_records(struct database_run *run, struct append *append, struct journal_request *told)
{
    while (append->cuts[0].left) {
        const struct database_entity *row = database_entity_at(run->rows, next_number(&append->cuts[0]));
        const struct database_shard *shard = row ? database_shard_at(run->rows, row->shard) : NULL;
        uint64_t below = next_number(&append->cuts[1]);
        struct database_change change = { .kind = DATABASE_BOOK, .book = { .kind = BOOK_CUT } };
        uint64_t first = row ? book_first(run->rows->book, row->pid) : 0;

        if (!shard || !first)
            continue;
        change.book.id = row->pid;
        change.book.seq = below < first + BACKEND_CUT_MAX ? below : first + BACKEND_CUT_MAX;
        if (change.book.seq <= first)
            continue;
        database_put(run->writes, &change);
        told->entities.items[request_entity(told, row->pid, request_shard(told, shard))].cut = change.book.seq;
    }
}

static struct journal_request *tell(struct database_run *run, enum backend_verb verb)
{
    struct journal_request *told = journal_request_new(verb);

    told->result = BACKEND_DONE;
    vec_push(&run->writes->requests, told);
    return told;
}

static enum database_ran append(const struct database_call *call, struct database_run *run,
                                const char **sqlstate)
{
    struct append parsed;
    const struct database_writer *row;
    struct journal_request *told;

    read_append(call, &parsed);
    run->result->columns = 1;
    row = writer_row(run, parsed.writer.id);
    if (!row || row->generation != parsed.writer.generation || row->last != parsed.writer.last)
        return DATABASE_RAN;
    if (!lock_writer(run, parsed.writer.id))
        return DATABASE_WAITS;
    told = tell(run, BACKEND_APPEND);
    if (!name_entities(run, &parsed) || !add_records(run, &parsed, told)) {
        *sqlstate = "23505";
        return DATABASE_ERROR;
    }
    cut_records(run, &parsed, told);
    put_writer(run, &parsed.writer);
    put_number(run, parsed.writer.id);
    return DATABASE_RAN;
}

static enum database_ran renew(const struct database_call *call, struct database_run *run)
{
    uint64_t id = number_of(call->parameters[0]);
    const struct database_writer *row = writer_row(run, id);
    struct database_writer writer;

    run->result->columns = 2;
    if (!row)
        return DATABASE_RAN;
    if (!lock_writer(run, id))
        return DATABASE_WAITS;
    writer = *row;
    writer.generation++;
    put_writer(run, &writer);
    put_number(run, writer.generation);
    put_number(run, writer.last);
    return DATABASE_RAN;
}

/* ---- claims and terms ---- */

static struct backend_proofs proofs_of(const struct database_run *run, struct slice type,
                                       uint64_t term)
{
    struct backend_proofs proofs = { .last = book_term(run->rows->book, type) };

    proofs.value = term ? book_proof(run->rows->book, type, term) : 0;
    for (uint64_t i = proofs.last; i && proofs.last - i < BACKEND_PROOFS_MAX; i--)
        if (book_proof(run->rows->book, type, i))
            proofs.lowest = i;
    return proofs;
}

static void put_proofs(struct database_run *run, const struct backend_proofs *proofs)
{
    put_number(run, proofs->last);
    put_number(run, proofs->lowest);
    put_number(run, proofs->value);
}

static void set_fence(struct database_run *run, const struct database_shard *shard, bool rises)
{
    struct database_change change = { .kind = DATABASE_SHARD, .shard = *shard };
    struct journal_request *told = tell(run, BACKEND_CLAIM);

    database_put(run->writes, &change);
    told->type = backend_put(told, shard->type);
    told->shard = backend_put(told, shard->shard);
    told->fence = shard->fence;
    if (!rises)
        return;
    change = (struct database_change){ .kind = DATABASE_BOOK };
    change.book = (struct book_change){ .kind = BOOK_FENCE, .id = shard->type,
                                        .shard = shard->shard, .fence = shard->fence };
    database_put(run->writes, &change);
}

/* Raises the generation of the shard's former writer. False: its row is locked by another session. */
static bool end_writer(struct database_run *run, const struct database_shard *row)
{
    const struct database_writer *former = row ? writer_row(run, row->claim) : NULL;
    struct database_writer writer;

    if (!former)
        return true;
    if (!lock_writer(run, former->id))
        return false;
    writer = *former;
    writer.generation++;
    put_writer(run, &writer);
    return true;
}

static enum database_ran claim(const struct database_call *call, struct database_run *run)
{
    const struct slice *from = call->parameters;
    struct database_shard wanted = { .type = from[0], .shard = from[1] };
    struct fence fence = { number_of(from[2]), number_of(from[3]) };
    struct backend_proofs proofs = proofs_of(run, from[0], number_of(from[5]));
    uint64_t proof = number_of(from[6]);
    bool next = from[7].data[0], writes = !proof || proofs.value == proof;
    struct buf key = { 0 };
    const struct database_shard *row;

    if (writes && !lock_row(run, &wanted))
        return DATABASE_WAITS;
    row = database_shard(run->rows, database_shard_key(&key, from[0], from[1]));
    buf_fini(&key);
    if (row && next)
        fence = (struct fence){ row->fence.term, row->fence.epoch + 1 };
    writes &= !row || fence_compare(row->fence, fence) <= 0;
    if (writes && !end_writer(run, row))
        return DATABASE_WAITS;
    run->result->columns = PG_CLAIM_CELLS;
    put_proofs(run, &proofs);
    if (writes) {
        wanted.id = row ? row->id : ++*run->next_shard;
        wanted.claim = number_of(from[4]);
        if (!writer_row(run, wanted.claim))
            put_writer(run, &(struct database_writer){ .id = wanted.claim, .generation = 1 });
        wanted.fence = fence;
        set_fence(run, &wanted, !row || fence_compare(row->fence, fence) < 0);
        put_number(run, wanted.id);
        put_number(run, fence.term);
        put_number(run, fence.epoch);
    }
    for (int i = 0; !writes && i < 3; i++)
        put_null(run);
    put_number(run, position_of(run, number_of(from[4])));
    if (row) {
        put_number(run, row->fence.term);
        put_number(run, row->fence.epoch);
    } else {
        put_null(run);
        put_null(run);
    }
    return DATABASE_RAN;
}

static enum database_ran take_term(const struct database_call *call, struct database_run *run)
{
    const struct slice *from = call->parameters;
    uint64_t used = number_of(from[1]), next_proof = number_of(from[2]), term = number_of(from[3]);
    uint64_t proof = number_of(from[4]);
    struct backend_proofs proofs = proofs_of(run, from[0], term);
    bool writes = !proof || proofs.value == proof ||
                  (!proofs.value && term <= proofs.last && term < proofs.lowest);
    struct buf key = { 0 };
    bool is_locked;

    buf_put_u8(&key, 't');
    buf_put_slice(&key, from[0]);
    is_locked = !writes || run->lock(run->user, buf_slice(&key));
    buf_fini(&key);
    if (!is_locked)
        return DATABASE_WAITS;
    run->result->columns = 4;
    put_proofs(run, &proofs);
    if (writes) {
        struct database_change change = { .kind = DATABASE_BOOK };
        struct journal_request *told = tell(run, BACKEND_TAKE_TERM);

        told->type = backend_put(told, from[0]);
        told->fence.term = (proofs.last > used ? proofs.last : used) + 1;
        change.book = (struct book_change){ .kind = BOOK_TERM, .id = from[0],
                                            .fence = told->fence, .proof = next_proof };
        database_put(run->writes, &change);
        put_number(run, told->fence.term);
    } else {
        put_null(run);
    }
    return DATABASE_RAN;
}

/* ---- snapshots ---- */

/* HELD of sql.c: 1, 0, or -1: it waits. */
static int hold(const struct database_call *call, struct database_run *run)
{
    const struct slice *from = call->parameters;
    struct fence fence = { number_of(from[2]), number_of(from[3]) };
    struct buf key = { 0 };
    const struct database_shard *row =
        database_shard(run->rows, database_shard_key(&key, from[0], from[1]));

    buf_fini(&key);
    if (!row || fence_compare(row->fence, fence) != 0 || row->claim != number_of(from[4]))
        return 0;
    return lock_row(run, row) ? 1 : -1;
}

static enum database_ran own(const struct database_call *call, struct database_run *run)
{
    const struct slice *from = call->parameters;
    bool saves = call->which == PG_SAVE;
    int held = hold(call, run);
    struct database_change change = { .kind = DATABASE_WRITE, .request = run->writes->requests.count };
    struct journal_request *told;

    if (held < 0)
        return DATABASE_WAITS;
    run->result->columns = call->which == PG_DROP ? 1 : 3;
    put_number(run, (uint64_t)held);
    if (!held) {
        for (uint32_t i = 1; i < run->result->columns; i++)
            put_number(run, 0);
        return DATABASE_RAN;
    }
    told = tell(run, saves ? BACKEND_SAVE : call->which == PG_TRIM ? BACKEND_TRIM : BACKEND_DROP);
    told->type = backend_put(told, from[0]);
    told->shard = backend_put(told, from[1]);
    told->fence = (struct fence){ number_of(from[2]), number_of(from[3]) };
    told->id = backend_put(told, from[5]);
    told->from = number_of(from[6]);
    if (saves) {
        struct backend_record record = { .seq = told->from, .bytes = backend_put(told, from[7]) };

        vec_push(&told->records, record);
    }
    if (call->which != PG_DROP)
        told->count_max = (uint32_t)number_of(from[saves ? 8 : 7]);
    book_write(run->rows->book, told); /* for the answer */
    book_undo(run->rows->book);
    database_put(run->writes, &change);
    if (saves) {
        put_number(run, told->result == BACKEND_DONE);
        put_number(run, told->from);
    } else if (call->which == PG_TRIM) {
        put_number(run, told->more);
        put_number(run, told->deleted);
    }
    return DATABASE_RAN;
}

/* ---- reads ---- */

static void read_named(const struct database_call *call, struct database_run *run)
{
    struct items types = items_of(call->parameters[0], false);
    struct items names = items_of(call->parameters[1], false);
    struct buf key = { 0 };

    run->result->columns = PG_SHARD_CELLS;
    while (types.left) {
        struct slice type = next_bytes(&types);
        const struct database_shard *row =
            database_shard(run->rows, database_shard_key(&key, type, next_bytes(&names)));

        if (row)
            put_shard(run, row, number_of(call->parameters[2]));
    }
    buf_fini(&key);
}

static void read_entities(const struct database_call *call, struct database_run *run)
{
    struct items pids = items_of(call->parameters[0], false);

    run->result->columns = PG_ENTITY_CELLS;
    for (uint64_t i = 1; pids.left; i++) {
        const struct database_entity *row = database_entity(run->rows, next_bytes(&pids));

        if (!row)
            continue;
        put_number(run, i);
        put_number(run, row->id);
        put_number(run, book_last(run->rows->book, row->pid));
    }
}

static void read_same(const struct database_call *call, struct database_run *run)
{
    struct items pids = items_of(call->parameters[0], false);
    struct items seqs = items_of(call->parameters[1], false);
    struct items records = items_of(call->parameters[2], false);

    run->result->columns = 2;
    for (uint64_t i = 1; pids.left; i++) {
        struct slice pid = next_bytes(&pids);
        struct slice stored = book_record(run->rows->book, pid, next_number(&seqs));
        uint8_t is_same = slice_equal(stored, next_bytes(&records));

        if (!stored.size)
            continue;
        put_number(run, i);
        put_cell(run, &is_same, 1);
    }
}

static void read_fence(const struct database_call *call, struct database_run *run)
{
    struct buf key = { 0 };
    const struct database_shard *row = database_shard(
        run->rows, database_shard_key(&key, call->parameters[0], call->parameters[1]));

    buf_fini(&key);
    run->result->columns = 2;
    if (!row)
        return;
    put_number(run, row->fence.term);
    put_number(run, row->fence.epoch);
}

static void read_shards(const struct database_call *call, struct database_run *run)
{
    struct map_entry entry;

    run->result->columns = 1;
    for (uint32_t at = 0; map_next(&run->rows->shards, &at, &entry);) {
        const struct database_shard *row = entry.value;

        if (slice_equal(row->type, call->parameters[0]))
            put_slice(run, row->shard);
    }
}

static void read_owned(const struct database_call *call, struct database_run *run)
{
    struct items ids = items_of(call->parameters[0], false);

    run->result->columns = PG_SHARD_CELLS;
    while (ids.left) {
        const struct database_shard *row = database_shard_at(run->rows, next_number(&ids));

        if (row)
            put_shard(run, row, number_of(call->parameters[1]));
    }
}

static void put_record(struct database_run *run, struct slice pid, uint64_t seq, bool has_bytes)
{
    put_number(run, seq);
    if (has_bytes)
        put_slice(run, book_record(run->rows->book, pid, seq));
    else
        put_null(run);
}

static void replay(const struct database_call *call, struct database_run *run)
{
    struct slice pid = call->parameters[0];
    uint64_t first = book_first(run->rows->book, pid), last = book_last(run->rows->book, pid);
    uint64_t from = first, size = 0;

    run->result->columns = PG_REPLAY_CELLS;
    if (call->which == PG_REPLAY_LAST)
        from = last;
    else if (call->which == PG_REPLAY && number_of(call->parameters[1]) > first)
        from = number_of(call->parameters[1]);
    for (uint64_t seq = from; first && seq <= last; seq++) {
        uint64_t n = seq - from + 1, bytes = book_record(run->rows->book, pid, seq).size;

        size += bytes;
        if (call->which == PG_REPLAY_SHORT) {
            if (n > PG_SHORT_COUNT + 1)
                return;
            put_record(run, pid, seq, bytes <= PG_SHORT_SIZE);
        } else if (call->which == PG_REPLAY_LAST || n == 1) {
            put_record(run, pid, seq, true);
        } else {
            bool fits = n <= number_of(call->parameters[2]) && size <= number_of(call->parameters[3]);

            put_record(run, pid, seq, fits);
            if (!fits)
                return;
        }
    }
}

static void load(const struct database_call *call, struct database_run *run)
{
    struct image image;

    run->result->columns = 2;
    if (!book_image(run->rows->book, call->parameters[0], number_of(call->parameters[1]), &image))
        return;
    put_number(run, image.seq);
    put_slice(run, image.bytes);
}

static void reserve_ids(struct database_run *run)
{
    run->result->columns = 1;
    put_number(run, *run->next_entity);
    *run->next_entity += PG_IDS_COUNT;
}

enum database_ran database_statement(const struct database_call *call, struct database_run *run,
                                     const char **sqlstate)
{
    switch (call->which) {
    case PG_APPEND:
    case PG_APPEND_KNOWN:
    case PG_APPEND_RECORD:
        return append(call, run, sqlstate);
    case PG_RENEW:
        return renew(call, run);
    case PG_CLAIM:
        return claim(call, run);
    case PG_TERM:
        return take_term(call, run);
    case PG_SAVE:
    case PG_TRIM:
    case PG_DROP:
        return own(call, run);
    case PG_NAMED:
        read_named(call, run);
        break;
    case PG_ENTITIES:
        read_entities(call, run);
        break;
    case PG_SAME:
        read_same(call, run);
        break;
    case PG_IDS:
        reserve_ids(run);
        break;
    case PG_SHARD:
        read_fence(call, run);
        break;
    case PG_SHARDS:
        read_shards(call, run);
        break;
    case PG_OWNED:
        read_owned(call, run);
        break;
    case PG_REPLAY:
    case PG_REPLAY_SHORT:
    case PG_REPLAY_LAST:
        replay(call, run);
        break;
    case PG_LOAD:
        load(call, run);
        break;
    default: /* writes nothing */
        break;
    }
    return DATABASE_RAN;
}
