/* Keeps the mark of a database of durable keys: the numbers of its last and its failed
 * transactions.
 *
 * Without it, a tree would not show an erasure by its last transaction, nor that records in free
 * pages were never acknowledged. */
#include "base/check.h"
#include "host/durable_inside.h"

#define RANGES_MAX 64 /* the oldest are dropped: later transactions wrote those values */

bool durable_has_failed(const struct durable_files *files, uint64_t number)
{
    for (uint32_t i = 0; i < files->failed.count; i++)
        if (number >= files->failed.items[i].first &&
            number <= files->failed.items[i].last)
            return true;
    return false;
}

void durable_mark_failed(struct durable_files *files, uint64_t number)
{
    struct durable_range range = { number, number };
    struct durable_range *last =
        files->failed.count ? &files->failed.items[files->failed.count - 1]
                            : NULL;

    /* Failures on a full disk alternate with marks alone; they form one range. */
    if (last && (last->last + 1 == number ||
                 (last->last + 1 == files->marked &&
                  files->marked + 1 == number))) {
        last->last = number;
        return;
    }
    if (files->failed.count == RANGES_MAX)
        vec_remove(&files->failed, 0);
    vec_push(&files->failed, range);
}

bool durable_mark_take(struct durable_files *files,
                       const struct durable_record *record)
{
    struct cursor cursor = cursor_of(record->value);
    bool is_whole = true;

    files->failed.count = 0;
    while (cursor_left(&cursor) && files->failed.count < RANGES_MAX) {
        struct durable_range range = { .first = cursor_u64(&cursor) };

        range.last = cursor_u64(&cursor);
        is_whole = !cursor.failed && range.first <= range.last;
        if (!is_whole)
            break;
        vec_push(&files->failed, range);
    }
    if (record->number > files->number)
        files->number = record->number;
    return is_whole && !cursor_left(&cursor);
}

int durable_mark_put(struct durable_files *files, MDB_txn *txn)
{
    struct buf *ranges = &files->scratch.ranges;
    struct buf *bytes = &files->scratch.bytes;
    struct durable_record record = {
        .cluster = files->cluster,
        .number = files->number,
        .key = durable_mark_key(),
    };
    MDB_val key = { record.key.size, (void *)(uintptr_t)record.key.data };
    MDB_val value;

    buf_clear(ranges);
    buf_clear(bytes);
    for (uint32_t i = 0; i < files->failed.count; i++) {
        buf_put_u64(ranges, files->failed.items[i].first);
        buf_put_u64(ranges, files->failed.items[i].last);
    }
    record.value = buf_slice(ranges);
    durable_encode(bytes, &record);
    value = (MDB_val){ bytes->size, bytes->data };
    return mdb_put(txn, files->trees.values, &key, &value, 0);
}

/* If the failed transaction was committed after all, its mark is in the tree. */
int durable_mark_look(struct durable_files *files)
{
    struct slice name = durable_mark_key();
    MDB_val key = { name.size, (void *)(uintptr_t)name.data };
    struct durable_record record;
    MDB_txn *txn = NULL;
    MDB_val value;
    int result = mdb_txn_begin(files->env, NULL, MDB_RDONLY, &txn);

    if (result == 0)
        result = mdb_get(txn, files->trees.values, &key, &value);
    if (result == 0 &&
        !durable_decode(slice_of(value.mv_data, value.mv_size), &record)) {
        struct durable_range *last =
            files->failed.count
                ? &files->failed.items[files->failed.count - 1]
                : NULL;

        if (record.number > files->number)
            files->number = record.number;
        if (last && last->last == record.number && last->first == last->last)
            files->failed.count--;
        else if (last && last->last == record.number)
            last->last--;
    }
    if (txn)
        mdb_txn_abort(txn); /* it only read */
    return result == MDB_NOTFOUND ? 0 : result;
}
