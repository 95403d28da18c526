/* Checks the fuzzer itself: this small decoder has a planted bug that the fuzzer must find. If it
 * does not, the other targets find nothing either, because coverage, the sanitizer or the tracing
 * of comparisons does not work. */
#include <stdint.h>

#include "base/bytes.h"
#include "base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NAME_SIZE_MAX 24

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cursor cursor = cursor_of(slice_of(data, size));
    uint32_t magic = cursor_u32(&cursor);
    uint8_t kind = cursor_u8(&cursor);
    uint8_t name_size = cursor_u8(&cursor);
    struct slice name = cursor_slice(&cursor, name_size);
    uint8_t *copy;

    if (cursor.failed || magic != 0x44524853 || kind != 7)
        return 0;
    copy = mem_alloc(NAME_SIZE_MAX);
    for (size_t i = 0; i < name.size; i++)
        copy[i] = name.data[i]; /* the bug: a name can be longer than the copy */
    mem_free(copy);
    return 0;
}
