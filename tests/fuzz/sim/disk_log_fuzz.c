/* Fuzzes the scan of a simulated disk's log. The first byte of the input is the kind of the rest:
 *
 *   0  a whole log
 *   1  pairs of a position (2 bytes) and a byte to put there, in a valid log. The scan returns a
 *      first part of the written changes
 *   2  the changes of one group with a valid head and checksum; the next byte is their number */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "sim/world/disk.h"
#include "sim/world/disk_log.h"

#define GROUPS 12

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
    if (!condition)
        abort();
}

static void fill(struct buf *log)
{
    size_t rest = log->size % DISK_SECTOR;

    for (size_t i = 0; rest && i < DISK_SECTOR - rest; i++)
        buf_put_u8(log, 0);
}

static struct slice event_of(uint64_t seq, char *text, size_t size)
{
    snprintf(text, size, "event %d, padded to some length: %*s", (int)seq,
             (int)seq * 40, "x");
    return slice_text(text);
}

/* Writes a valid log: one event in each group, and a fence, a term and a cut in some. */
static void put_ours(struct buf *log)
{
    struct book *book = book_new("c");
    struct log_end end;
    char text[600];

    log_put_head(log, "c", &end);
    for (uint64_t seq = 1; seq <= GROUPS; seq++) {
        struct book_change record = { .kind = BOOK_RECORD,
                                      .id = slice_text("T|x"),
                                      .seq = seq };
        struct book_change fence = { .kind = BOOK_FENCE,
                                     .id = slice_text("T"),
                                     .shard = slice_text("s"),
                                     .fence = { 1, seq } };
        struct book_change term = { .kind = BOOK_TERM,
                                    .id = slice_text("T"),
                                    .fence = { seq, 0 } };
        struct book_change cut = { .kind = BOOK_CUT,
                                   .id = slice_text("T|x"),
                                   .seq = seq - 1 };

        record.bytes = event_of(seq, text, sizeof text);
        require(book_apply(book, &record));
        if (seq % 3 == 0)
            require(book_apply(book, &fence));
        if (seq % 4 == 0)
            require(book_apply(book, &term));
        if (seq % 5 == 0)
            require(book_apply(book, &cut));
        require(log_put_group(log, book, &end, &end));
        book_keep(book);
        fill(log);
        require(log->size == end.sector * DISK_SECTOR);
    }
    book_free(book);
}

/* Writes a head and one group with these changes. */
static void put_group_of(struct buf *log, struct slice changes, uint32_t count)
{
    struct log_end end;
    size_t start;

    log_put_head(log, "c", &end);
    start = log->size;
    buf_put_u64(log, UINT64_C(0x5055524744524853)); /* "SHRDGRUP" */
    buf_put_u64(log, 1);
    buf_put_u64(log, end.sector);
    buf_put_u64(log, end.checksum);
    buf_put_u32(log, (uint32_t)changes.size);
    buf_put_u32(log, count);
    buf_put_slice(log, changes);
    buf_put_u64(log,
                hash_bytes(slice_of(log->data + start, log->size - start)));
    fill(log);
}

/* Scans the log and checks the result. */
static void scan(const struct buf *log, int ours)
{
    struct book *book = NULL;
    struct log_end end;
    const char *wrong = log_scan(buf_slice(log), "c", &book, &end);
    struct slice id;
    uint64_t last;
    uint32_t at = 0;

    require((wrong == NULL) == (book != NULL));
    if (!book)
        return;
    require(book_change_count(book) == 0);
    require(end.sector >= 1 && end.last < end.sector);
    while (book_next(book, &at, &id, &last)) {
        require(last > 0);
        require(!ours || slice_is(id, "T|x"));
        for (uint64_t seq = book_first(book, id); ours && seq <= last;
             seq++) {
            char text[600];

            require(slice_equal(book_record(book, id, seq),
                                event_of(seq, text, sizeof text)));
        }
    }
    book_free(book);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf log = { 0 };

    if (size < 2)
        return 0;
    if (data[0] == 1) {
        put_ours(&log);
        for (size_t i = 1; i + 3 <= size; i += 3)
            log.data[(data[i] | (size_t)data[i + 1] << 8) % log.size] =
                data[i + 2];
        scan(&log, 1);
    } else if (data[0] == 2) {
        put_group_of(&log, slice_of(data + 2, size - 2), data[1]);
        scan(&log, 0);
    } else {
        buf_put(&log, data + 1, size - 1);
        scan(&log, 0);
    }
    buf_fini(&log);
    return 0;
}
