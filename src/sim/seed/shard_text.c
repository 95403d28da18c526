/* Writes and reads the texts of shards. */
#include "sim/seed/shard_text.h"

#include <stdio.h>

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
    if (text.size > BEFORE + AFTER && memcmp(text.data, before, BEFORE) == 0)
        text = slice_of(text.data + BEFORE, text.size - BEFORE - AFTER);
    return shard_parse(text, number);
}
