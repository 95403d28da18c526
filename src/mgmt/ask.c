/* Describes the looks that routes have in common. */
#include <stdio.h>

#include <sherd/allocation.h>

#include "look/kinds.h"
#include "mgmt/api_inside.h"

const char *api_node(const char *name)
{
    const char *at = name ? strrchr(name, '@') : NULL;

    return at ? at + 1 : name;
}

struct api_ask *api_ask_add(const struct api_request *request, enum sherd_look_kind kind, struct api_ask *asks,
                           uint32_t *count)
{
    struct api_ask *ask = &asks[(*count)++];

    *ask = (struct api_ask){ .kind = kind, .is_whole = true };
    ask->options.count = SHERD_LOOK_ROWS_MAX;
    ask->options.timeout_ms = (uint32_t)request->numbers[API_TIMEOUT];
    return ask;
}

void api_ask_shard(const struct api_request *request, const char *shard, struct api_ask *asks, uint32_t *count)
{
    static const enum sherd_look_kind kinds[] = { SHERD_LOOK_HOMES, SHERD_LOOK_SHARDS };

    for (int i = 0; i < 2; i++) {
        struct api_ask *ask = api_ask_add(request, kinds[i], asks, count);

        (void)snprintf(ask->shard, sizeof ask->shard, "%s", shard);
        ask->options.type = request->words[API_TYPE];
        ask->options.shard = strlen(shard) < sizeof ask->shard ? ask->shard : shard;
    }
}

bool api_shard_number(const char *id, uint64_t shards, char shard[API_SHARD_SIZE])
{
    if (!shards || shards > INT32_MAX)
        return false;
    (void)snprintf(shard, API_SHARD_SIZE, "%d", (int)sherd_shard_of(id, (uint32_t)shards));
    return true;
}

bool api_shard(const struct api_request *request, const struct facts *types, char shard[API_SHARD_SIZE])
{
    for (uint32_t i = 0; i < facts_count(types); i++)
        if (api_shard_number(request->words[API_ID], fact_number(types, i, LOOK_TYPES_SHARDS), shard))
            return true;
    return false;
}
