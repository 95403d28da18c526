/* Checks entity types, alone and against each other. */
#include "node/entity_type.h"

#include <string.h>

#include <sherd/allocation.h>

#include "base/daemon_id.h"
#include "base/bytes.h"
#include "base/near.h"
#include "node/peers/lease_names.h"
#include "node/type_passivation.h"
#include "shard/wire.h"

#define TIME_LIMIT_LONGEST 3600000 /* ms; as in sherd/allocation.h */

/* ALLOCATION_KIND_COUNT: the name is unknown. */
static enum allocation_kind kind_of(const char *name)
{
    int kind = 0;

    while (kind < ALLOCATION_KIND_COUNT &&
           strcmp(name, allocation_kind_text((enum allocation_kind)kind)) != 0)
        kind++;
    return (enum allocation_kind)kind;
}

static bool is_custom(const struct sherd_entity_type *type)
{
    return type->allocation ? kind_of(type->allocation) == ALLOCATION_CUSTOM
                            : type->strategy != NULL;
}

static const char *allocation_fault(const struct sherd_entity_type *type)
{
    const struct sherd_allocation_strategy *strategy = type->strategy;

    if (type->allocation && kind_of(type->allocation) == ALLOCATION_KIND_COUNT)
        return "the allocation strategy is unknown";
    if (is_custom(type) && (!strategy || !strategy->allocate))
        return "the allocation strategy is custom, and `strategy` has no "
               "function allocate";
    if (strategy && !is_custom(type))
        return "`strategy` is set, but the allocation strategy is not custom";
    if (strategy && strategy->timeout_ms > TIME_LIMIT_LONGEST)
        return "the time limit of `strategy` is above an hour";
    return NULL;
}

const char *entity_type_meant(const struct sherd_entity_type *type)
{
    uint32_t nearest = 0;
    uint32_t least = UINT32_MAX;

    if (!type || !type->allocation ||
        strlen(type->allocation) > NEAR_TEXT_SIZE ||
        kind_of(type->allocation) != ALLOCATION_KIND_COUNT)
        return NULL;
    for (uint32_t i = 0; i < ALLOCATION_KIND_COUNT; i++) {
        const char *text = allocation_kind_text((enum allocation_kind)i);
        uint32_t slips = near_distance(type->allocation, text);

        if (slips >= least)
            continue;
        least = slips;
        nearest = i;
    }
    return least < strlen(allocation_kind_text((enum allocation_kind)nearest)) / 2
               ? allocation_kind_text((enum allocation_kind)nearest)
               : NULL;
}

enum allocation_kind entity_type_allocation(const struct node_settings *settings,
                                            const struct sherd_entity_type *type)
{
    if (type->allocation)
        return kind_of(type->allocation);
    return type->strategy ? ALLOCATION_CUSTOM : settings->allocation;
}

bool entity_type_persists(const struct sherd_entity_type *type)
{
    return type->behavior.apply || type->behavior.apply_checked;
}

void entity_type_copy(struct sherd_entity_type *type)
{
    if (type->extractor)
        type->extractor = mem_copy(type->extractor, sizeof *type->extractor);
    if (type->strategy)
        type->strategy = mem_copy(type->strategy, sizeof *type->strategy);
    if (type->upcast_count)
        type->upcasts = mem_copy(type->upcasts, type->upcast_count * sizeof *type->upcasts);
    type->passivation = type_passivation_copy(type->passivation);
}

void entity_type_free(struct sherd_entity_type *type)
{
    mem_free((void *)(uintptr_t)type->extractor);
    mem_free((void *)(uintptr_t)type->strategy);
    if (type->upcast_count)
        mem_free((void *)(uintptr_t)type->upcasts);
    type_passivation_free(type->passivation);
}

static const char *snapshots_fault(const struct sherd_entity_type *type)
{
    const struct sherd_behavior *behavior = &type->behavior;

    if (!behavior->save != !behavior->load)
        return "save and load are set together or not at all";
    if (behavior->save && !entity_type_persists(type))
        return "save is set, and there is neither apply nor apply_checked";
    if (behavior->save && !behavior->save_every && !behavior->save_now)
        return "save is set, and there is neither save_every nor save_now";
    if (!behavior->save && (behavior->save_every || behavior->save_now))
        return "save_every or save_now is set, and save is null";
    if (!behavior->save && type->delete_events > 0)
        return "delete_events is set, and save is null";
    if (type->keep_snapshots > SNAPSHOTS_KEPT_MAX)
        return "keep_snapshots is more than 100";
    return NULL;
}

static const char *events_fault(const struct sherd_entity_type *type)
{
    if (type->behavior.apply && type->behavior.apply_checked)
        return "apply and apply_checked are set: set one of them";
    if (type->upcast_count > UPCASTS_MAX)
        return "more than 256 upcasts";
    if (type->upcast_count && !type->upcasts)
        return "upcast_count is set, and upcasts is null";
    if (type->upcast_count && !entity_type_persists(type))
        return "upcasts are set, and there is neither apply nor apply_checked";
    for (uint32_t i = 0; i < type->upcast_count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (type->upcasts[i].type == type->upcasts[k].type)
                return "two upcasts are for one type of event";
    return NULL;
}

const char *entity_type_fault(const struct sherd_entity_type *type)
{
    const char *fault;
    size_t size;

    if (!type || !type->name)
        return "no name";
    size = strlen(type->name);
    if (size < 1 || size > SHERD_TYPE_MAX)
        return "the name is empty or too long";
    if (!text_is_valid(slice_text(type->name)))
        return "the name is not UTF-8";
    /* TYPE|ENTITY is a persistence id, and an entity's id may have a |. */
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
        return "more than 20000 shards";
    if (type->extractor && type->extractor->hash != SHERD_SHARD_HASH_JAVA &&
        type->extractor->hash != SHERD_SHARD_HASH_MURMUR2)
        return "the extractor's hash is no value of enum sherd_shard_hash";
    if (!(type->rebalance_relative_limit >= 0 &&
          type->rebalance_relative_limit <= 1))
        return "rebalance_relative_limit is not from 0 to 1";
    fault = events_fault(type);
    if (!fault)
        fault = snapshots_fault(type);
    return fault ? fault : allocation_fault(type);
}

/* Returns null for this data center. */
static const char *far_center(const struct node_settings *settings,
                              const struct sherd_entity_type *type)
{
    const char *own = settings->data_center && *settings->data_center
                          ? settings->data_center
                          : "default";

    return type->data_center && strcmp(type->data_center, own) != 0
               ? type->data_center
               : NULL;
}

/* Leases with cut names could be those of other shards. */
const char *entity_type_lease_fault(const struct node_settings *settings,
                                    const struct sherd_entity_type *type)
{
    enum lease_provider_kind shards = settings->shard_lease;
    bool is_long;

    if (type->use_lease && !lease_provider_parse(type->use_lease, &shards))
        return "use_lease is unknown; it must be \"etcd\", \"file\", \"memory\" or \"\"";
    if (type->proxy || far_center(settings, type))
        return NULL;
    is_long = (shards && !lease_names_fit(settings, type->name, type->extractor && type->extractor->shard)) ||
              (settings->coordinator_lease && !coordinator_lease_name_fits(settings, type->name));
    return is_long ? "the names of its leases, which have the names of the system and the type, "
                     "have more than 255 bytes: shorten one of them"
                   : NULL;
}

const char *entity_type_role(const struct node_settings *settings,
                             const struct sherd_entity_type *type)
{
    if (type->role && *type->role)
        return type->role;
    return daemon_type_is(type->name) && settings->services.daemon_role
               ? settings->services.daemon_role
               : settings->sharding_role;
}

bool settings_have_role(const struct node_settings *settings, const char *role)
{
    if (!role || !*role)
        return true;
    for (uint32_t i = 0; i < settings->role_count; i++)
        if (!strcmp(settings->roles[i], role))
            return true;
    return false;
}

/* The names that only one type may have; empty: none. */
struct taken {
    struct buf name;     /* for tells */
    struct buf paths[3]; /* region, proxy, coordinator */
};

/* A node's role decides between host and proxy. A clash on some nodes only would be found late, so
 * the names of both count. */
static void take(struct taken *taken, const struct node_settings *settings,
                 const struct sherd_entity_type *type)
{
    const char *center = far_center(settings, type);

    *taken = (struct taken){ 0 };
    buf_put_text(&taken->name, type->name);
    if (center) {
        buf_put_u8(&taken->name, '@');
        buf_put_text(&taken->name, center);
        far_proxy_path_put(&taken->paths[0], settings->guardian, type->name, center);
        return;
    }
    region_path_put(&taken->paths[0], settings->guardian, type->name);
    proxy_path_put(&taken->paths[1], settings->guardian, type->name);
    coordinator_manager_path_put(&taken->paths[2], settings->guardian, type->name);
}

static void taken_fini(struct taken *taken)
{
    buf_fini(&taken->name);
    for (uint32_t i = 0; i < 3; i++)
        buf_fini(&taken->paths[i]);
}

static bool has_path(const struct taken *taken, struct slice path)
{
    for (uint32_t i = 0; i < 3; i++)
        if (path.size && slice_equal(buf_slice(&taken->paths[i]), path))
            return true;
    return false;
}

static bool is_replicator(const struct node_settings *settings,
                          const struct taken *taken,
                          const struct sherd_entity_type *other,
                          struct buf *name)
{
    struct buf path = { 0 };
    bool clash;

    sharding_replicator_path_put(&path, settings->guardian, entity_type_role(settings, other));
    clash = has_path(taken, buf_slice(&path));
    if (clash)
        buf_put_slice(name, buf_slice(&path));
    buf_fini(&path);
    return clash;
}

static struct slice common(const struct taken *one, const struct taken *other)
{
    if (slice_equal(buf_slice(&one->name), buf_slice(&other->name)))
        return buf_slice(&one->name);
    for (uint32_t i = 0; i < 3; i++)
        if (has_path(other, buf_slice(&one->paths[i])))
            return buf_slice(&one->paths[i]);
    return (struct slice){ 0 };
}

bool entity_types_clash(const struct node_settings *settings,
                        const struct sherd_entity_type *type,
                        const struct sherd_entity_type *other,
                        struct buf *name)
{
    struct taken one;
    struct taken two;
    struct slice both = { 0 };
    bool clash;

    take(&one, settings, type);
    take(&two, settings, other);
    if (type != other)
        both = common(&one, &two);
    buf_put_slice(name, both);
    clash = both.size || is_replicator(settings, &one, other, name) ||
            is_replicator(settings, &two, type, name);
    taken_fini(&one);
    taken_fini(&two);
    return clash;
}
