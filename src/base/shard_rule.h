/* Finds the shard of an entity by the rule of its type: a hash of its id, or an extractor's text. */
#ifndef SHERD_BASE_SHARD_RULE_H
#define SHERD_BASE_SHARD_RULE_H

#include <sherd/extractor.h>

#include "base/hash.h"
#include "base/shard_names.h"

struct shard_rule {
    uint32_t shards; /* number-of-shards */
    struct sherd_extractor extractor; /* all zero: Akka's hash */
    struct shard_names *names; /* lent; of a type whose extractor names shards, else null */
};

/* The same for any rule. id and body are lent; the body of no message has no data. */
int32_t shard_rule_other(const struct shard_rule *rule, struct slice id,
                         uint32_t msg, struct slice body);

/* Hot path. Returns SHARD_NONE if the extractor names no shard. */
static inline int32_t shard_rule_of(const struct shard_rule *rule,
                                    struct slice id, uint32_t msg,
                                    struct slice body)
{
    if (!rule->names && rule->extractor.hash == SHERD_SHARD_HASH_JAVA)
        return hash_shard(id, rule->shards);
    return shard_rule_other(rule, id, msg, body);
}

/* Asks the extractor for the entity of a message to the region. False: it does not handle the
 * message. */
bool shard_rule_extract(const struct shard_rule *rule,
                        struct sherd_extracted *message);

#endif
