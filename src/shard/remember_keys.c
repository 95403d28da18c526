/* Implements the keys and changes of remembered entities in distributed data. */
#include "shard/remember_keys.h"

#include <stdlib.h>

#include "base/hash.h"
#include "shard/remember_inside.h"

static void prefix_put(struct buf *buf, const char *type)
{
    buf_put_text(buf, "shard-");
    buf_put_text(buf, type);
    buf_put_text(buf, "-");
}

void remember_key_put(struct buf *buf, const char *type, struct slice shard,
                      uint32_t index)
{
    prefix_put(buf, type);
    buf_put_slice(buf, shard);
    buf_put_text(buf, "-");
    buf_put_u8(buf, (uint8_t)('0' + index));
}

void remember_shards_key_put(struct buf *buf, const char *type)
{
    prefix_put(buf, type);
    buf_put_text(buf, "all");
}

uint32_t remember_key_of(struct slice id)
{
    return (uint32_t)abs(hash_java(id) % REMEMBER_KEYS);
}

struct remember_changes remember_changes_of(struct slice records)
{
    return (struct remember_changes){ .cursor = cursor_of(records), .list = 2 };
}

static bool next_list(struct remember_changes *changes)
{
    struct cursor *cursor = &changes->cursor;

    if (changes->list < 2 && changes->list++ == 0) {
        changes->left = cursor_varint(cursor);
        return true;
    }
    if (cursor->failed || !cursor_left(cursor))
        return false;
    if (cursor_u8(cursor) != REMEMBER_RECORD_VERSION)
        return false;
    (void)cursor_u8(cursor); /* flags: keys get changes only */
    changes->left = cursor_varint(cursor);
    changes->list = 0;
    return true;
}

bool remember_changes_next(struct remember_changes *changes, struct slice *id,
                           bool *is_start)
{
    while (!changes->cursor.failed && !changes->left)
        if (!next_list(changes))
            return false;
    changes->left--;
    *id = cursor_slice(&changes->cursor, cursor_u8(&changes->cursor));
    *is_start = changes->list == 0;
    return !changes->cursor.failed;
}

void remember_starts_put(struct buf *record, struct slice ids, uint64_t count)
{
    buf_put_u8(record, REMEMBER_RECORD_VERSION);
    buf_put_u8(record, 0);
    buf_put_varint(record, count);
    buf_put_slice(record, ids);
    buf_put_varint(record, 0);
}
