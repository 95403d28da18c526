/* Sorts by bottom-up merging; items that are in order already are only compared. */
#include "base/sort.h"

#include <string.h>

#include "base/check.h"

/* Merges pairs of runs of `width` items into another array. */
static void merge_runs(unsigned char *to, const unsigned char *from,
                       uint32_t count, size_t size, uint32_t width,
                       sort_order *order)
{
    for (uint32_t start = 0; start < count;) {
        uint32_t middle = count - start < width ? count : start + width;
        uint32_t end = count - middle < width ? count : middle + width;
        uint32_t left = start;
        uint32_t right = middle;

        while (start < end) {
            const unsigned char *a = from + left * size;
            const unsigned char *b = from + right * size;
            int is_left = left < middle &&
                          (right == end || order(a, b) <= 0);

            memcpy(to + start++ * size, is_left ? a : b, size);
            left += (uint32_t)is_left;
            right += (uint32_t)!is_left;
        }
    }
}

void sort_stable(void *items, uint32_t count, size_t size, sort_order *order)
{
    unsigned char *bytes = items;
    unsigned char *spare;
    uint32_t i = 1;

    while (i < count && order(bytes + (i - 1) * size, bytes + i * size) <= 0)
        i++;
    if (i >= count)
        return;
    spare = mem_alloc(count * size);
    for (uint32_t width = 1; width < count;
         width = width > count / 2 ? count : width * 2) {
        merge_runs(spare, bytes, count, size, width, order);
        memcpy(bytes, spare, count * size);
    }
    mem_free(spare);
}
