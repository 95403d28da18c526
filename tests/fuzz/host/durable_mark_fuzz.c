/* Fuzzes the record of transactions in a database of durable keys. Input: 1 byte number, the bytes.
 *
 * Oracle: an accepted record has the same content as the bytes, and finds transactions that fail
 * later. */
#include "base/check.h"
#include "ddata/durable.h"
#include "host/durable_inside.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_taken(const struct durable_files *files, struct slice value)
{
    struct buf bytes = { 0 };

    for (uint32_t i = 0; i < files->failed.count; i++) {
        const struct durable_range *range = &files->failed.items[i];

        buf_put_u64(&bytes, range->first);
        buf_put_u64(&bytes, range->last);
        check(durable_has_failed(files, range->first) &&
              durable_has_failed(files, range->last));
    }
    check(slice_equal(buf_slice(&bytes), value));
    buf_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct durable_files files = { .number = 7 };
    struct durable_record record = { .key = durable_mark_key() };
    uint32_t most;

    if (!size)
        return 0;
    record.number = data[0];
    record.value = slice_of(data + 1, size - 1);
    if (durable_mark_take(&files, &record))
        check_taken(&files, record.value);
    check(files.number == (data[0] > 7 ? data[0] : 7));
    most = files.failed.count;
    for (uint64_t number = files.number + 1; number < files.number + 200;
         number += 1 + number % 3) {
        durable_mark_failed(&files, number);
        check(durable_has_failed(&files, number));
        most = files.failed.count > most ? files.failed.count : most;
    }
    check(most <= 64 && files.failed.count);
    vec_fini(&files.failed);
    return 0;
}
