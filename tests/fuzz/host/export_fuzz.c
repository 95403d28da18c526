/* Fuzzes the lines of an exported journal. Input: a line.
 *
 * Oracle: a line that is accepted has all its fields, and what is encoded from it is accepted and encodes
 * to the same bytes, without a byte that a terminal obeys. */
#include <stdint.h>

#include "base/check.h"
#include "host/export_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct export_line line = { .kind = EXPORT_JOURNAL };
    struct export_line again = { .kind = EXPORT_JOURNAL };
    struct buf once = { 0 };
    struct buf twice = { 0 };

    if (!export_decode(slice_of(data, size), &line)) {
        check(line.kind < EXPORT_KINDS);
        export_encode(&once, &line);
        for (size_t i = 0; i + 1 < once.size; i++)
            check(once.data[i] >= 0x20 && once.data[i] != 0x7f);
        check(once.data[once.size - 1] == '\n');
        check(!export_decode(slice_of(once.data, once.size - 1), &again));
        for (int i = 0; i < EXPORT_TEXTS; i++)
            check(slice_equal(line.texts[i], again.texts[i]));
        export_encode(&twice, &again);
        check(slice_equal(buf_slice(&once), buf_slice(&twice)));
    }
    export_fini(&line);
    export_fini(&again);
    buf_fini(&once);
    buf_fini(&twice);
    return 0;
}
