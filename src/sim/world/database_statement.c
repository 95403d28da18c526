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

static void put_shard(struct database_run *run, const struct database_shard *shard)
{
    run->result->columns = PG_SHARD_CELLS;
    put_slice(run, shard->type);
    put_slice(run, shard->shard);
    put_number(run, shard->id);
    put_number(run, shard->fence.term);
    put_number(run, shard->fence.epoch);
    put_number(run, shard->claim);
    put_number(run, shard->last);
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
    struct items shards[6]; /* number, term, epoch, claim, position, new records */
    struct items named[3];  /* number, shard, persistence id */
    struct items records[5]; /* entity, number, shard, position, bytes */
    struct items cuts[3];   /* entity, shard, below */
    uint64_t one_shard;     /* of all records, if they do not name theirs */
};

static void read_append(const struct database_call *call, struct append *append)
{
    static const uint8_t all[] = { 9, 10, 11, 12, 13 }, known[] = { 6, 7, 8, 9, 10 },
                         one[] = { 6, 7, 0, 8, 9 };
    bool is_one = call->which == PG_APPEND_ONE || call->which == PG_APPEND_RECORD;
    const uint8_t *places = call->which == PG_APPEND ? all : is_one ? one : known;

    *append = (struct append){ .one_shard = 0 };
    for (int i = 0; i < 6; i++)
        append->shards[i] = items_of(call->parameters[i], is_one);
    for (int i = 0; i < 5; i++)
        append->records[i] = items_of(call->parameters[places[i]],
                                      call->which == PG_APPEND_RECORD || (is_one && i == 2));
    if (is_one)
        append->one_shard = number_of(call->parameters[0]);
    for (int i = 0; i < 3 && call->which == PG_APPEND; i++) {
        append->named[i] = items_of(call->parameters[6 + i], false);
        append->cuts[i] = items_of(call->parameters[14 + i], false);
    }
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

/* A shard that the statement writes, and its index in the request. */
struct owned {
    const struct database_shard *row;
    uint64_t added;
};

struct owned_list {
    VEC(struct owned) items;
};

static uint32_t owned_at(const struct owned_list *list, uint64_t shard)
{
    uint32_t at = 0;

    while (at < list->items.count && list->items.items[at].row->id != shard)
        at++;
    return at;
}

/* False: one is locked by another session. */
static bool own_shards(struct database_run *run, struct append *append, struct owned_list *list)
{
    while (append->shards[0].left) {
        const struct database_shard *row = database_shard_at(run->rows, next_number(&append->shards[0]));
        struct fence fence = { next_number(&append->shards[1]), 0 };
        uint64_t claim, last;
        struct owned owned = { row, 0 };

        fence.epoch = next_number(&append->shards[2]);
        claim = next_number(&append->shards[3]);
        last = next_number(&append->shards[4]);
        owned.added = next_number(&append->shards[5]);
        if (!row || fence_compare(row->fence, fence) != 0 || row->claim != claim || row->last != last)
            continue;
        if (!lock_row(run, row))
            return false;
        vec_push(&list->items, owned);
    }
    return true;
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

static bool name_entities(struct database_run *run, struct append *append,
                          const struct owned_list *list)
{
    while (append->named[0].left) {
        struct database_change change = { .kind = DATABASE_ENTITY };

        change.entity.id = next_number(&append->named[0]);
        change.entity.shard = next_number(&append->named[1]);
        change.entity.pid = next_bytes(&append->named[2]);
        if (owned_at(list, change.entity.shard) == list->items.count)
            continue;
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

/* False: a number is taken. A record of an unknown entity is stored, and nothing finds it. */
static bool add_records(struct database_run *run, struct append *append,
                        const struct owned_list *list, struct journal_request *told)
{
    while (append->records[0].left) {
        struct database_change change = { .kind = DATABASE_BOOK, .book = { .kind = BOOK_RECORD } };
        uint64_t entity = next_number(&append->records[0]);
        uint64_t shard = append->one_shard;
        struct backend_record record = { 0 };
        struct slice pid;
        uint32_t at;

        record.seq = change.book.seq = next_number(&append->records[1]);
        if (!shard)
            shard = next_number(&append->records[2]);
        (void)next_number(&append->records[3]);
        change.book.bytes = next_bytes(&append->records[4]);
        at = owned_at(list, shard);
        pid = pid_of(run, entity);
        if (at == list->items.count || !pid.size)
            continue;
        if (record.seq <= book_last(run->rows->book, pid) &&
            record.seq >= book_first(run->rows->book, pid))
            return false;
        change.book.id = pid;
        database_put(run->writes, &change);
        record.entity = request_entity(told, pid, at);
        record.bytes = backend_put(told, change.book.bytes);
        vec_push(&told->records, record);
    }
    return true;
}

static void cut_records(struct database_run *run, struct append *append,
                        const struct owned_list *list, struct journal_request *told)
{
    while (append->cuts[0].left) {
        struct slice pid = pid_of(run, next_number(&append->cuts[0]));
        uint32_t at = owned_at(list, next_number(&append->cuts[1]));
        uint64_t below = next_number(&append->cuts[2]);
        struct database_change change = { .kind = DATABASE_BOOK, .book = { .kind = BOOK_CUT } };
        uint64_t first = book_first(run->rows->book, pid);

        if (at == list->items.count || !first)
            continue;
        change.book.id = pid;
        change.book.seq = below < first + BACKEND_CUT_MAX ? below : first + BACKEND_CUT_MAX;
        if (change.book.seq <= first)
            continue;
        database_put(run->writes, &change);
        told->entities.items[request_entity(told, pid, at)].cut = change.book.seq;
    }
}

static void put_owned(struct database_run *run, const struct owned_list *list,
                      struct journal_request *told)
{
    run->result->columns = 1;
    for (uint32_t i = 0; i < list->items.count; i++) {
        const struct database_shard *row = list->items.items[i].row;
        struct database_change change = { .kind = DATABASE_SHARD, .shard = *row };
        struct backend_shard shard = { .fence = row->fence, .result = BACKEND_DONE };

        change.shard.last += list->items.items[i].added;
        database_put(run->writes, &change);
        put_number(run, row->id);
        shard.type = backend_put(told, row->type);
        shard.shard = backend_put(told, row->shard);
        vec_push(&told->shards, shard);
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
    struct owned_list list = { .items = { 0 } };
    struct append parsed;
    enum database_ran ran = DATABASE_RAN;

    read_append(call, &parsed);
    if (!own_shards(run, &parsed, &list)) {
        ran = DATABASE_WAITS;
    } else if (list.items.count) {
        struct journal_request *told = tell(run, BACKEND_APPEND);

        put_owned(run, &list, told);
        if (name_entities(run, &parsed, &list) && add_records(run, &parsed, &list, told)) {
            cut_records(run, &parsed, &list, told);
        } else {
            *sqlstate = "23505";
            ran = DATABASE_ERROR;
        }
    }
    run->result->columns = 1;
    vec_fini(&list.items);
    return ran;
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
    run->result->columns = PG_CLAIM_CELLS;
    put_proofs(run, &proofs);
    if (writes) {
        wanted.id = row ? row->id : ++*run->next_shard;
        wanted.last = row ? row->last : 0;
        wanted.claim = number_of(from[4]);
        wanted.fence = fence;
        set_fence(run, &wanted, !row || fence_compare(row->fence, fence) < 0);
        put_number(run, wanted.id);
        put_number(run, fence.term);
        put_number(run, fence.epoch);
        put_number(run, wanted.last);
    }
    for (int i = 0; !writes && i < 4; i++)
        put_null(run);
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

static enum database_ran lock_shards(const struct database_call *call, struct database_run *run)
{
    struct items types = items_of(call->parameters[0], false);
    struct items names = items_of(call->parameters[1], false);
    struct buf key = { 0 };
    enum database_ran ran = DATABASE_RAN;

    run->result->columns = PG_SHARD_CELLS;
    while (types.left && ran == DATABASE_RAN) {
        struct slice type = next_bytes(&types);
        const struct database_shard *row =
            database_shard(run->rows, database_shard_key(&key, type, next_bytes(&names)));

        if (row && !lock_row(run, row))
            ran = DATABASE_WAITS;
        else if (row)
            put_shard(run, row);
    }
    buf_fini(&key);
    return ran;
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
            put_shard(run, row);
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
    case PG_APPEND_ONE:
    case PG_APPEND_RECORD:
        return append(call, run, sqlstate);
    case PG_LOCK:
        return lock_shards(call, run);
    case PG_CLAIM:
        return claim(call, run);
    case PG_TERM:
        return take_term(call, run);
    case PG_SAVE:
    case PG_TRIM:
    case PG_DROP:
        return own(call, run);
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
