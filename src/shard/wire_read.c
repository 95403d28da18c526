/* Reads the messages of sharding. Every allocation is bounded for all input. */
#include "base/budget.h"
#include "base/check.h"
#include "base/gzip.h"
#include "base/limits.h"
#include "shard/sharding.pb-c.h"
#include "shard/wire.h"

/* Memory that a read message owns. */
struct memory {
    ProtobufCMessage *unpacked;
    void *arrays[2];
};

static bool is_shard_id(struct slice shard)
{
    return shard.size > 0 && shard.size <= SHARD_ID_MAX;
}

static bool is_ref(struct slice ref)
{
    return ref.size > 0 && ref.size <= SHARD_REF_MAX;
}

static struct slice slice_from(ProtobufCBinaryData data)
{
    return slice_of(data.data, data.len);
}

static struct memory *memory_of(struct shard_message *message)
{
    return message->memory;
}

static enum cordon_level cordon_of(uint32_t level)
{
    return level < CORDON_LEVELS ? (enum cordon_level)level : CORDON_ON;
}

static bool read_register(struct shard_message *message,
                          const Sharding__Ref *ref)
{
    struct shard_hosted *hosted;

    message->ref = slice_from(ref->ref);
    message->lanes = ref->lanes;
    message->report = ref->report;
    message->fence.term = ref->term;
    message->number_of_shards = ref->number_of_shards;
    message->persists = ref->persists;
    message->stored_term = ref->stored_term;
    message->cordon = cordon_of(ref->cordon);
    if (ref->n_hosted > COORDINATOR_SHARDS_MAX)
        return false;
    hosted = mem_alloc(ref->n_hosted * sizeof *hosted);
    memory_of(message)->arrays[0] = hosted;
    for (size_t i = 0; i < ref->n_hosted; i++) {
        hosted[i].shard = slice_from(ref->hosted[i]->shard);
        hosted[i].fence = (struct fence){ ref->hosted[i]->term,
                                          ref->hosted[i]->epoch };
        if (!is_shard_id(hosted[i].shard))
            return false;
    }
    message->hosted = hosted;
    message->hosted_count = (uint32_t)ref->n_hosted;
    return is_ref(message->ref);
}

static bool read_ack(struct shard_message *message, const Sharding__Ack *ack)
{
    message->ref = slice_from(ack->ref);
    if (message->kind == SHARD_REGISTER_ACK) {
        message->fence.term = ack->term;
        message->proof = (struct proof){ ack->term, ack->proof };
        message->cordon = cordon_of(ack->cordon);
        message->is_alone = ack->alone;
    }
    return is_ref(message->ref);
}

static bool read_shutdown(struct shard_message *message,
                          const Sharding__Ref *ref)
{
    message->ref = slice_from(ref->ref);
    message->idle = ref->idle;
    return is_ref(message->ref);
}

static bool read_dismissed(struct shard_message *message,
                           const Sharding__Dismissed *dismissed)
{
    message->fence.term = dismissed->term;
    message->idle = dismissed->idle;
    return message->idle != 0; /* it answers a question */
}

static bool read_shard(struct shard_message *message,
                       const Sharding__Shard *shard)
{
    struct shard_owing *owing;

    message->shard = slice_from(shard->shard);
    message->fence = (struct fence){ shard->term, shard->epoch };
    message->proof = (struct proof){ shard->proof_term, shard->proof };
    message->attempt = shard->attempt;
    if (message->kind == SHARD_BEGIN_HAND_OFF && shard->has_home) {
        message->ref = slice_from(shard->home);
        if (!is_ref(message->ref))
            return false;
    }
    if (shard->n_regions > COORDINATOR_REGIONS_MAX)
        return false;
    owing = mem_alloc(shard->n_regions * sizeof *owing);
    memory_of(message)->arrays[0] = owing;
    for (size_t i = 0; i < shard->n_regions; i++) {
        owing[i].ref = slice_from(shard->regions[i]->ref);
        owing[i].uid = shard->regions[i]->uid;
        owing[i].lanes = shard->regions[i]->lanes;
        if (!is_ref(owing[i].ref))
            return false;
    }
    message->owing = owing;
    message->owing_count = (uint32_t)shard->n_regions;
    return is_shard_id(message->shard);
}

static bool read_home(struct shard_message *message,
                      const Sharding__Home *home)
{
    message->shard = slice_from(home->shard);
    message->ref = slice_from(home->region);
    message->fence = (struct fence){ home->term, home->epoch };
    return is_shard_id(message->shard) && is_ref(message->ref);
}

static bool read_homes(struct shard_message *message,
                       const Sharding__Homes *homes)
{
    struct shard_home *items;
    size_t count = 0;

    for (size_t i = 0; i < homes->n_homes; i++)
        count += homes->homes[i]->n_shards;
    if (count > COORDINATOR_SHARDS_MAX)
        return false;
    items = mem_alloc(count * sizeof *items);
    memory_of(message)->arrays[0] = items;
    message->homes = items;
    message->home_count = (uint32_t)count;
    for (size_t i = 0; i < homes->n_homes; i++) {
        const Sharding__HomesOfRegion *region = homes->homes[i];

        if (!is_ref(slice_from(region->region)))
            return false;
        for (size_t j = 0; j < region->n_shards; j++, items++) {
            items->region = slice_from(region->region);
            items->shard = slice_from(region->shards[j]);
            if (j < region->n_term)
                items->fence.term = region->term[j];
            if (j < region->n_epoch)
                items->fence.epoch = region->epoch[j];
            if (!is_shard_id(items->shard))
                return false;
        }
    }
    return true;
}

static void read_failed_shards(struct shard_message *message, size_t count,
                               const ProtobufCBinaryData *failed)
{
    struct slice *items = mem_alloc(count * sizeof *items);

    for (size_t i = 0; i < count; i++)
        items[i] = slice_from(failed[i]);
    memory_of(message)->arrays[1] = items;
    message->failed = items;
    message->failed_count = (uint32_t)count;
}

static bool read_region_stats(struct shard_message *message,
                              const Sharding__RegionStats *stats)
{
    struct shard_count *items = mem_alloc(stats->n_stats * sizeof *items);

    for (size_t i = 0; i < stats->n_stats; i++) {
        items[i].key = slice_from(stats->stats[i]->key);
        items[i].value = stats->stats[i]->value;
    }
    memory_of(message)->arrays[0] = items;
    message->stats = items;
    message->stat_count = (uint32_t)stats->n_stats;
    read_failed_shards(message, stats->n_failed, stats->failed);
    return true;
}

static bool read_address(struct address *address,
                         const Sharding__Address *message)
{
    return address_set(address, (const char *)message->hostname.data,
                       message->hostname.len, message->port);
}

static bool read_regions(struct shard_message *message,
                         const Sharding__Regions *regions)
{
    struct address *addresses;

    if (regions->n_regions > COORDINATOR_REGIONS_MAX)
        return false;
    addresses = mem_alloc(regions->n_regions * sizeof *addresses);
    memory_of(message)->arrays[0] = addresses;
    for (size_t i = 0; i < regions->n_regions; i++)
        if (!read_address(&addresses[i], regions->regions[i]))
            return false;
    message->addresses = addresses;
    message->address_count = (uint32_t)regions->n_regions;
    return true;
}

static bool read_cluster_stats(struct shard_message *message,
                               const Sharding__ClusterStats *cluster)
{
    struct address *addresses;
    struct shard_count *items;
    size_t count = 0;

    if (cluster->n_stats > COORDINATOR_REGIONS_MAX)
        return false;
    for (size_t i = 0; i < cluster->n_stats; i++)
        count += cluster->stats[i]->stats->n_stats +
                 cluster->stats[i]->stats->n_failed;
    addresses = mem_alloc(cluster->n_stats * sizeof *addresses);
    memory_of(message)->arrays[0] = addresses;
    items = mem_alloc(count * sizeof *items);
    memory_of(message)->arrays[1] = items;
    message->addresses = addresses;
    message->address_count = (uint32_t)cluster->n_stats;
    message->stats = items;
    message->stat_count = (uint32_t)count;
    for (size_t i = 0; i < cluster->n_stats; i++) {
        const Sharding__RegionStats *stats = cluster->stats[i]->stats;

        if (!read_address(&addresses[i], cluster->stats[i]->address))
            return false;
        for (size_t j = 0; j < stats->n_stats; j++, items++) {
            items->key = slice_from(stats->stats[j]->key);
            items->value = stats->stats[j]->value;
            if (items->value < 0)
                return false;
            items->region = (uint32_t)i;
        }
        for (size_t j = 0; j < stats->n_failed; j++, items++) {
            items->key = slice_from(stats->failed[j]);
            items->value = -1;
            items->region = (uint32_t)i;
        }
    }
    return true;
}

static bool read_entity(struct shard_message *message,
                        const Sharding__Entity *entity)
{
    message->entity = slice_from(entity->entity);
    message->shard = slice_from(entity->shard);
    return message->entity.size > 0 &&
           (message->kind == SHARD_START_ENTITY || is_shard_id(message->shard));
}

static bool read_shard_state(struct shard_message *message,
                             const Sharding__ShardState *state)
{
    struct shard_entity *items = mem_alloc(state->n_entities * sizeof *items);

    message->shard = slice_from(state->shard);
    for (size_t i = 0; i < state->n_entities; i++) {
        items[i].shard = message->shard;
        items[i].entity = slice_from(state->entities[i]);
    }
    memory_of(message)->arrays[0] = items;
    message->entities = items;
    message->entity_count = (uint32_t)state->n_entities;
    return is_shard_id(message->shard);
}

static bool read_region_state(struct shard_message *message,
                              const Sharding__RegionState *state)
{
    struct shard_entity *items;
    size_t count = 0;

    for (size_t i = 0; i < state->n_shards; i++)
        count += state->shards[i]->n_entities ? state->shards[i]->n_entities
                                              : 1;
    items = mem_alloc(count * sizeof *items);
    memory_of(message)->arrays[0] = items;
    message->entities = items;
    message->entity_count = (uint32_t)count;
    for (size_t i = 0; i < state->n_shards; i++) {
        const Sharding__ShardState *shard = state->shards[i];
        size_t j = 0;

        if (!is_shard_id(slice_from(shard->shard)))
            return false;
        do {
            items->shard = slice_from(shard->shard);
            if (j < shard->n_entities)
                items->entity = slice_from(shard->entities[j]);
            items++;
        } while (++j < shard->n_entities);
    }
    read_failed_shards(message, state->n_failed, state->failed);
    return true;
}

static bool read_failed(struct shard_message *message,
                        const Sharding__Failed *failed)
{
    message->shard = slice_from(failed->shard);
    message->fence = (struct fence){ failed->term, failed->epoch };
    message->attempt = failed->attempt;
    message->reason = slice_from(failed->reason);
    return is_shard_id(message->shard);
}

static bool read_marker(struct shard_message *message,
                        const Sharding__Marker *marker)
{
    message->type = slice_from(marker->type);
    message->shard = slice_from(marker->shard);
    message->fence = (struct fence){ marker->term, marker->epoch };
    message->attempt = marker->attempt;
    message->uid = marker->uid;
    message->lane = marker->lane;
    return message->type.size > 0 && is_shard_id(message->shard);
}

static const ProtobufCMessageDescriptor *
descriptor_of(enum shard_message_kind kind)
{
    switch (kind) {
    case SHARD_REGISTER:
    case SHARD_REGISTER_PROXY:
    case SHARD_GRACEFUL_SHUTDOWN:
        return &sharding__ref__descriptor;
    case SHARD_REGISTER_ACK:
    case SHARD_REGION_STOPPED:
        return &sharding__ack__descriptor;
    case SHARD_GET_HOME:
    case SHARD_HOST:
    case SHARD_HOST_STARTED:
    case SHARD_BEGIN_HAND_OFF:
    case SHARD_BEGIN_HAND_OFF_ACK:
    case SHARD_HAND_OFF:
    case SHARD_HOST_STOPPED:
        return &sharding__shard__descriptor;
    case SHARD_HOME:
        return &sharding__home__descriptor;
    case SHARD_HOMES:
        return &sharding__homes__descriptor;
    case SHARD_SHARD_STATS:
        return &sharding__shard_stats__descriptor;
    case SHARD_REGION_STATS:
        return &sharding__region_stats__descriptor;
    case SHARD_GET_CLUSTER_STATS:
        return &sharding__get_cluster_stats__descriptor;
    case SHARD_CLUSTER_STATS:
        return &sharding__cluster_stats__descriptor;
    case SHARD_CURRENT_REGIONS:
        return &sharding__regions__descriptor;
    case SHARD_START_ENTITY:
    case SHARD_START_ENTITY_ACK:
        return &sharding__entity__descriptor;
    case SHARD_SHARD_STATE:
        return &sharding__shard_state__descriptor;
    case SHARD_REGION_STATE:
        return &sharding__region_state__descriptor;
    case SHARD_QUERY:
    case SHARD_NO_REGION:
        return &sharding__query__descriptor;
    case SHARD_REFUSED:
        return &sharding__refused__descriptor;
    case SHARD_DISMISSED:
        return &sharding__dismissed__descriptor;
    case SHARD_HAND_OFF_FAILED:
        return &sharding__failed__descriptor;
    case SHARD_MARKER:
        return &sharding__marker__descriptor;
    case SHARD_GET_SHARD_STATS:
    case SHARD_GET_REGION_STATS:
    case SHARD_GET_CURRENT_REGIONS:
    case SHARD_GET_SHARD_STATE:
    case SHARD_GET_REGION_STATE:
        break;
    }
    return NULL;
}

static bool fill(struct shard_message *message, const void *unpacked)
{
    switch (message->kind) {
    case SHARD_REGISTER:
    case SHARD_REGISTER_PROXY:
        return read_register(message, unpacked);
    case SHARD_GRACEFUL_SHUTDOWN:
        return read_shutdown(message, unpacked);
    case SHARD_REGISTER_ACK:
    case SHARD_REGION_STOPPED:
        return read_ack(message, unpacked);
    case SHARD_GET_HOME:
    case SHARD_HOST:
    case SHARD_HOST_STARTED:
    case SHARD_BEGIN_HAND_OFF:
    case SHARD_BEGIN_HAND_OFF_ACK:
    case SHARD_HAND_OFF:
    case SHARD_HOST_STOPPED:
        return read_shard(message, unpacked);
    case SHARD_HOME:
        return read_home(message, unpacked);
    case SHARD_HOMES:
        return read_homes(message, unpacked);
    case SHARD_SHARD_STATS:
        message->shard =
            slice_from(((const Sharding__ShardStats *)unpacked)->shard);
        message->count = ((const Sharding__ShardStats *)unpacked)->entities;
        return is_shard_id(message->shard);
    case SHARD_REGION_STATS:
        return read_region_stats(message, unpacked);
    case SHARD_GET_CLUSTER_STATS:
        message->timeout_ns =
            ((const Sharding__GetClusterStats *)unpacked)->timeout_nanos;
        return true;
    case SHARD_CLUSTER_STATS:
        return read_cluster_stats(message, unpacked);
    case SHARD_CURRENT_REGIONS:
        return read_regions(message, unpacked);
    case SHARD_START_ENTITY:
    case SHARD_START_ENTITY_ACK:
        return read_entity(message, unpacked);
    case SHARD_SHARD_STATE:
        return read_shard_state(message, unpacked);
    case SHARD_REGION_STATE:
        return read_region_state(message, unpacked);
    case SHARD_QUERY:
    case SHARD_NO_REGION:
        message->type = slice_from(((const Sharding__Query *)unpacked)->type);
        message->fence.term = ((const Sharding__Query *)unpacked)->term;
        return message->type.size > 0;
    case SHARD_REFUSED:
        message->reason =
            slice_from(((const Sharding__Refused *)unpacked)->reason);
        return true;
    case SHARD_DISMISSED:
        return read_dismissed(message, unpacked);
    case SHARD_HAND_OFF_FAILED:
        return read_failed(message, unpacked);
    case SHARD_MARKER:
        return read_marker(message, unpacked);
    case SHARD_GET_SHARD_STATS:
    case SHARD_GET_REGION_STATS:
    case SHARD_GET_CURRENT_REGIONS:
    case SHARD_GET_SHARD_STATE:
    case SHARD_GET_REGION_STATE:
        break;
    }
    return true;
}

static bool kind_of(enum shard_message_kind *kind, int32_t serializer,
                    struct slice manifest)
{
    for (enum shard_message_kind k = SHARD_REGISTER; k <= SHARD_MARKER; k++) {
        if (shard_message_serializer(k) == serializer &&
            slice_is(manifest, shard_message_manifest(k))) {
            *kind = k;
            return true;
        }
    }
    return false;
}

/* Sets memory.unpacked; null: malformed, or too large. */
static void unpack(struct memory *memory, const ProtobufCMessageDescriptor *descriptor,
                   struct slice payload)
{
    struct budget budget = { SHARD_MESSAGE_MEMORY_MAX };
    ProtobufCAllocator allocator = { budget_alloc, budget_free, &budget };

    memory->unpacked =
        protobuf_c_message_unpack(descriptor, &allocator, payload.size,
                                  payload.data ? payload.data
                                               : (const uint8_t *)"");
}

/* The same for a compressed registration. No other begins as gzip does: protobuf has no such tag. */
static void inflate_and_unpack(struct memory *memory,
                               const ProtobufCMessageDescriptor *descriptor,
                               struct slice payload)
{
    struct buf plain = { 0 };

    if (gzip_inflate(&plain, payload, SHARD_REGISTER_INFLATE_MAX, NULL))
        unpack(memory, descriptor, buf_slice(&plain));
    buf_fini(&plain);
}

bool shard_message_read(struct shard_message *message, int32_t serializer,
                        struct slice manifest, struct slice payload)
{
    const ProtobufCMessageDescriptor *descriptor;
    struct memory *memory;

    *message = (struct shard_message){ 0 };
    if (!kind_of(&message->kind, serializer, manifest))
        return false;
    descriptor = descriptor_of(message->kind);
    if (!descriptor)
        return true;
    memory = mem_alloc(sizeof *memory);
    message->memory = memory;
    if (message->kind == SHARD_REGISTER && gzip_is(payload))
        inflate_and_unpack(memory, descriptor, payload);
    else
        unpack(memory, descriptor, payload);
    if (memory->unpacked && fill(message, memory->unpacked))
        return true;
    shard_message_fini(message);
    return false;
}

void shard_message_fini(struct shard_message *message)
{
    struct memory *memory = message->memory;
    ProtobufCAllocator allocator = { budget_alloc, budget_free, NULL };

    if (!memory)
        return;
    if (memory->unpacked)
        protobuf_c_message_free_unpacked(memory->unpacked, &allocator);
    mem_free(memory->arrays[0]);
    mem_free(memory->arrays[1]);
    mem_free(memory);
    *message = (struct shard_message){ 0 };
}
