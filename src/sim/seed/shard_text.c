/* Writes and reads the texts of shards. */
#include "sim/seed/shard_text.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/shard_names.h"

static const char before[] = "shard ", after[] = " of a seed";

#define BEFORE (sizeof before - 1)
#define AFTER (sizeof after - 1)

struct slice sim_shard_text(int32_t number, char text[SIM_SHARD_MAX])
{
    return slice_of(text, (size_t)snprintf(text, SIM_SHARD_MAX, "%s%d%s", before, (int)number, after));
}

bool sim_shard_number(struct slice text, int32_t *number)
{
    struct slice inside = text;

    if (text.size > BEFORE + AFTER && memcmp(text.data, before, BEFORE) == 0)
        inside = slice_of(text.data + BEFORE, text.size - BEFORE - AFTER);
    if (shard_parse(inside, number))
        return true;
    *number = (hash_java(text) & 0x3fffffff) | 0x40000000; /* above all others */
    return text.size > 0;
}
