/* Encodes, decodes and chains groups (layout in disk_log.h). */
#include "sim/world/disk_log.h"

#include "base/check.h"
#include "base/hash.h"
#include "sim/world/disk.h"

#define HEAD_MAGIC UINT64_C(0x474f4c4452454853)  /* "SHERDLOG" */
#define GROUP_MAGIC UINT64_C(0x5055524744524853) /* "SHRDGRUP" */
#define VERSION 1
#define CHECKSUM_SIZE 8
#define GROUP_HEAD_SIZE (4 * 8 + 2 * 4)

static uint64_t sectors_of(size_t size)
{
    return (size + DISK_SECTOR - 1) / DISK_SECTOR;
}

/* ---- the head ---- */

void log_put_head(struct buf *buf, const char *cluster, struct log_end *end)
{
    size_t start = buf->size;
    struct slice text = slice_text(cluster);
    size_t fill;

    check(text.size <= DISK_CLUSTER_MAX);
    buf_put_u64(buf, HEAD_MAGIC);
    buf_put_u32(buf, VERSION);
    buf_put_u32(buf, (uint32_t)text.size);
    buf_put_slice(buf, text);
    *end = (struct log_end){ .sector = 1 };
    end->checksum =
        hash_bytes(slice_of(buf->data + start, buf->size - start));
    buf_put_u64(buf, end->checksum);
    fill = DISK_SECTOR - (buf->size - start);
    memset(buf_reserve(buf, fill), 0, fill);
    buf->size += fill;
}

static const char *take_head(struct slice bytes, const char *cluster,
                             struct log_end *end)
{
    struct cursor cursor = cursor_of(bytes);
    struct slice stored;
    uint32_t size;
    size_t covered;

    if (bytes.size < DISK_SECTOR || cursor_u64(&cursor) != HEAD_MAGIC)
        return "not a log";
    if (cursor_u32(&cursor) != VERSION)
        return "a log of an unknown version";
    size = cursor_u32(&cursor);
    if (size > DISK_CLUSTER_MAX)
        return "the log's head is damaged";
    stored = cursor_slice(&cursor, size);
    covered = (size_t)(cursor.at - bytes.data);
    *end = (struct log_end){ .sector = 1 };
    end->checksum = hash_bytes(slice_of(bytes.data, covered));
    if (cursor_u64(&cursor) != end->checksum)
        return "the log's head is damaged";
    return slice_is(stored, cluster) ? NULL : "the log of another cluster";
}

/* ---- groups ---- */

static void put_sized(struct buf *buf, struct slice bytes)
{
    buf_put_varint(buf, bytes.size);
    buf_put_slice(buf, bytes);
}

static void put_change(struct buf *buf, const struct book_change *change)
{
    buf_put_u8(buf, (uint8_t)change->kind);
    put_sized(buf, change->id);
    switch (change->kind) {
    case BOOK_RECORD:
    case BOOK_IMAGE:
        buf_put_varint(buf, change->seq);
        put_sized(buf, change->bytes);
        break;
    case BOOK_FENCE:
        put_sized(buf, change->shard);
        buf_put_varint(buf, change->fence.term);
        buf_put_varint(buf, change->fence.epoch);
        break;
    case BOOK_TERM:
        buf_put_varint(buf, change->fence.term);
        buf_put_varint(buf, change->proof);
        break;
    case BOOK_CUT:
    case BOOK_IMAGE_GONE:
        buf_put_varint(buf, change->seq);
        break;
    }
}

bool log_put_group(struct buf *buf, const struct book *book,
                   const struct log_end *end, struct log_end *after)
{
    size_t start = buf->size;
    struct buf changes = { 0 };
    struct log_end next;
    uint32_t count = book_change_count(book);

    for (uint32_t i = 0; i < count; i++)
        put_change(&changes, book_change(book, i));
    if (changes.size > DISK_GROUP_SIZE_MAX) {
        buf_fini(&changes);
        return false;
    }
    next = (struct log_end){ .number = end->number + 1, .last = end->sector };
    buf_put_u64(buf, GROUP_MAGIC);
    buf_put_u64(buf, next.number);
    buf_put_u64(buf, end->sector);
    buf_put_u64(buf, end->checksum);
    buf_put_u32(buf, (uint32_t)changes.size);
    buf_put_u32(buf, count);
    buf_put_slice(buf, buf_slice(&changes));
    next.checksum =
        hash_bytes(slice_of(buf->data + start, buf->size - start));
    buf_put_u64(buf, next.checksum);
    next.sector = end->sector + sectors_of(buf->size - start);
    *after = next; /* may be `end` */
    buf_fini(&changes);
    return true;
}

/* A complete group; its place in the chain is not checked yet. */
struct group {
    uint64_t number;
    uint64_t sector;
    uint64_t before; /* checksum of the preceding group */
    uint32_t count;
    uint64_t checksum;
    uint64_t sectors;
    struct cursor changes;
};

static bool read_group(struct slice bytes, struct group *group)
{
    struct cursor cursor = cursor_of(bytes);
    uint32_t size;
    size_t covered;

    if (cursor_u64(&cursor) != GROUP_MAGIC)
        return false;
    group->number = cursor_u64(&cursor);
    group->sector = cursor_u64(&cursor);
    group->before = cursor_u64(&cursor);
    size = cursor_u32(&cursor);
    group->count = cursor_u32(&cursor);
    if (cursor.failed || size > DISK_GROUP_SIZE_MAX ||
        cursor_left(&cursor) < (size_t)size + CHECKSUM_SIZE)
        return false;
    group->changes = cursor_of(cursor_slice(&cursor, size));
    covered = GROUP_HEAD_SIZE + size;
    group->checksum = cursor_u64(&cursor);
    group->sectors = sectors_of(covered + CHECKSUM_SIZE);
    return group->checksum == hash_bytes(slice_of(bytes.data, covered));
}

static struct slice take_sized(struct cursor *cursor)
{
    uint64_t size = cursor_varint(cursor);

    if (size > cursor_left(cursor)) {
        cursor->failed = true;
        return (struct slice){ 0 };
    }
    return cursor_slice(cursor, (size_t)size);
}

static bool take_change(struct cursor *cursor, struct book_change *change)
{
    *change = (struct book_change){ .kind = cursor_u8(cursor) };
    change->id = take_sized(cursor);
    switch (change->kind) {
    case BOOK_RECORD:
    case BOOK_IMAGE:
        change->seq = cursor_varint(cursor);
        change->bytes = take_sized(cursor);
        break;
    case BOOK_FENCE:
        change->shard = take_sized(cursor);
        change->fence.term = cursor_varint(cursor);
        change->fence.epoch = cursor_varint(cursor);
        break;
    case BOOK_TERM:
        change->fence.term = cursor_varint(cursor);
        change->proof = cursor_varint(cursor);
        break;
    case BOOK_CUT:
    case BOOK_IMAGE_GONE:
        change->seq = cursor_varint(cursor);
        break;
    default:
        return false;
    }
    return !cursor->failed;
}

bool log_take_group(struct slice bytes, struct book *book,
                    struct log_end *end)
{
    struct group group;
    struct book_change change;

    check(book_change_count(book) == 0);
    if (!read_group(bytes, &group) || group.number != end->number + 1 ||
        group.sector != end->sector || group.before != end->checksum)
        return false;
    for (uint32_t i = 0; i < group.count; i++)
        if (!take_change(&group.changes, &change) ||
            !book_apply(book, &change)) {
            book_undo(book);
            return false;
        }
    if (cursor_left(&group.changes) != 0) {
        book_undo(book);
        return false;
    }
    *end = (struct log_end){ .sector = end->sector + group.sectors,
                             .number = group.number,
                             .checksum = group.checksum,
                             .last = end->sector };
    return true;
}

/* Whether a group follows that was written after the missing one. Remains of failed writes are not
 * longer than those writes. */
static bool has_later(struct slice bytes, const struct log_end *end)
{
    for (uint64_t sector = end->sector; sector < bytes.size / DISK_SECTOR;
         sector++) {
        size_t at = (size_t)sector * DISK_SECTOR;
        struct group group;

        if (read_group(slice_of(bytes.data + at, bytes.size - at), &group) &&
            group.sector == sector && group.number > end->number + 1)
            return true;
    }
    return false;
}

const char *log_scan(struct slice bytes, const char *cluster,
                     struct book **book, struct log_end *end)
{
    const char *wrong = take_head(bytes, cluster, end);
    size_t at;

    if (wrong)
        return wrong;
    *book = book_new(cluster);
    for (;;) {
        at = (size_t)end->sector * DISK_SECTOR;
        if (at >= bytes.size ||
            !log_take_group(slice_of(bytes.data + at, bytes.size - at), *book,
                            end))
            break;
        book_keep(*book);
    }
    if (!has_later(bytes, end))
        return NULL;
    book_free(*book);
    *book = NULL;
    return "a group in the middle of the log is damaged";
}
