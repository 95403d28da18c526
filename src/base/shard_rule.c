/* Calls a type's extractor, and checks what it answers. */
#include "base/shard_rule.h"

#include <string.h>

/* Returns the bytes before the zero byte; max if there is none. */
static size_t text_size(const char *text, size_t max)
{
    const char *end = memchr(text, 0, max);

    return end ? (size_t)(end - text) : max;
}

int32_t shard_rule_other(const struct shard_rule *rule, struct slice id,
                         uint32_t msg, struct slice body)
{
    struct sherd_extracted message;
    char shard[SHERD_SHARD_MAX + 2] = "";

    if (!rule->names)
        return rule->extractor.hash == SHERD_SHARD_HASH_MURMUR2
                   ? hash_murmur2_shard(id, rule->shards)
                   : hash_shard(id, rule->shards);
    if (id.size > SHERD_ID_MAX)
        return SHARD_NONE;
    memcpy(message.id, id.data, id.size);
    message.id[id.size] = 0;
    message.msg = msg;
    message.body = (struct sherd_bytes){ body.data, body.size };
    if (!rule->extractor.shard(rule->extractor.user, &message, shard))
        return SHARD_NONE;
    return shard_names_put(rule->names,
                           slice_of(shard, text_size(shard, sizeof shard)));
}

bool shard_rule_extract(const struct shard_rule *rule,
                        struct sherd_extracted *message)
{
    size_t size;

    message->id[0] = 0;
    if (!rule->extractor.entity ||
        !rule->extractor.entity(rule->extractor.user, message))
        return false;
    size = text_size(message->id, sizeof message->id);
    return size > 0 && size <= SHERD_ID_MAX;
}
