/* Converts shard ids between numbers and decimal text. */
#include "shard/shard_id.h"

#include <stdio.h>

struct slice shard_text(int32_t shard, char text[SHARD_TEXT_MAX])
{
    int size = snprintf(text, SHARD_TEXT_MAX, "%d", (int)shard);
    return slice_of(text, (size_t)size);
}

bool shard_parse(struct slice text, int32_t *shard)
{
    bool negative = text.size > 0 && text.data[0] == '-';
    size_t first = negative ? 1 : 0;
    int64_t value = 0;
    if (text.size <= first || text.size - first > 10)
        return false;
    for (size_t i = first; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (text.data[i] - '0');
    }
    /* One text for each number: no leading zero, no "-0". */
    if (text.data[first] == '0' && text.size > 1)
        return false;
    if (negative)
        value = -value;
    if (value < INT32_MIN || value > INT32_MAX)
        return false;
    *shard = (int32_t)value;
    return true;
}
