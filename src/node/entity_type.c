/* What an entity type must be. */
#include "node/entity_type.h"

#include <string.h>

const char *entity_type_fault(const struct sherd_entity_type *type)
{
    size_t size;

    if (!type || !type->name)
        return "no name";
    size = strlen(type->name);
    if (size < 1 || size > SHERD_TYPE_MAX)
        return "the name is empty or too long";
    /* TYPE|ENTITY is a persistence id, and an entity's id may have one, too. */
    if (strchr(type->name, '|'))
        return "the name has a |, which ends the type in the persistence ids "
               "of its entities: rename it";
    if (type->data_center && !*type->data_center)
        return "the data center's name is empty";
    if (type->data_center &&
        size + 1 + strlen(type->data_center) > SHERD_TYPE_MAX)
        return "the name and the data center's are too long";
    if (!type->behavior.receive && !type->proxy && !type->data_center)
        return "no receive function";
    if (type->shards > TYPE_SHARDS_MAX)
        return "more than 10000 shards";
    if (!(type->rebalance_relative_limit >= 0 &&
          type->rebalance_relative_limit <= 1))
        return "rebalance_relative_limit is not from 0 to 1";
    return NULL;
}
