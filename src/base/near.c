/* Implements the edit distance by its usual recurrence, one line of the table at a time. */
#include "base/near.h"

#include <stddef.h>
#include <string.h>

uint32_t near_distance(const char *left, const char *right)
{
    uint32_t line[NEAR_TEXT_SIZE + 1];
    size_t size = strlen(right);

    for (size_t i = 0; i <= size; i++)
        line[i] = (uint32_t)i;
    for (size_t i = 0; left[i]; i++) {
        uint32_t diagonal = line[0];

        line[0] = (uint32_t)i + 1;
        for (size_t j = 0; j < size; j++) {
            uint32_t least = diagonal + (left[i] != right[j]);

            diagonal = line[j + 1];
            if (line[j] + 1 < least)
                least = line[j] + 1;
            if (diagonal + 1 < least)
                least = diagonal + 1;
            line[j + 1] = least;
        }
    }
    return line[size];
}
