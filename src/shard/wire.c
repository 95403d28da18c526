/* Names the messages of sharding and writes them; wire_read.c reads them. */
#include "shard/wire.h"

#include "base/check.h"
#include "base/gzip.h"
#include "base/limits.h"
#include "base/url.h"
#include "shard/sharding.pb-c.h"

static const struct kind {
    int32_t serializer;
    const char *manifest;
    const char *text;
} kinds[] = {
#define X(name, serializer, manifest, text) { serializer, manifest, text },
    SHARD_MESSAGES(X)
#undef X
};

int32_t shard_message_serializer(enum shard_message_kind kind)
{
    return kinds[kind].serializer;
}

const char *shard_message_manifest(enum shard_message_kind kind)
{
    return kinds[kind].manifest;
}

const char *shard_message_text(enum shard_message_kind kind)
{
    return kinds[kind].text;
}

static ProtobufCBinaryData binary(struct slice slice)
{
    return (ProtobufCBinaryData){ slice.size, (uint8_t *)slice.data };
}

static void pack(struct buf *buf, const void *message)
{
    size_t size = protobuf_c_message_get_packed_size(message);

    if (!size)
        return;
    (void)protobuf_c_message_pack(message, buf_reserve(buf, size));
    buf->size += size;
}

/* A registration that is too large for a frame is compressed. */
static void pack_register(struct buf *buf, const Sharding__Ref *ref)
{
    struct buf plain = { 0 };

    pack(&plain, ref);
    if (plain.size > SHARD_REGISTER_PLAIN_MAX)
        gzip_deflate(buf, buf_slice(&plain));
    else
        buf_put_slice(buf, buf_slice(&plain));
    buf_fini(&plain);
}

static void put_register(struct buf *buf, const struct shard_message *message)
{
    Sharding__Ref ref = SHARDING__REF__INIT;
    size_t count = message->hosted_count;
    Sharding__Hosted *hosted = mem_alloc(count * sizeof *hosted);
    Sharding__Hosted **pointers = mem_alloc(count * sizeof *pointers);

    for (size_t i = 0; i < count; i++) {
        hosted[i] = (Sharding__Hosted)SHARDING__HOSTED__INIT;
        hosted[i].shard = binary(message->hosted[i].shard);
        hosted[i].has_term = hosted[i].has_epoch = 1;
        hosted[i].term = message->hosted[i].fence.term;
        hosted[i].epoch = message->hosted[i].fence.epoch;
        pointers[i] = &hosted[i];
    }
    ref.ref = binary(message->ref);
    ref.n_hosted = count;
    ref.hosted = pointers;
    ref.has_lanes = message->lanes != 0;
    ref.lanes = message->lanes;
    ref.has_report = message->report != 0;
    ref.report = message->report;
    ref.has_number_of_shards = message->number_of_shards != 0;
    ref.number_of_shards = message->number_of_shards;
    ref.has_term = message->fence.term != 0;
    ref.term = message->fence.term;
    ref.has_stored_term = message->stored_term != 0;
    ref.stored_term = message->stored_term;
    ref.has_persists = message->persists;
    ref.persists = message->persists;
    ref.has_cordon = message->cordon != CORDON_NOT;
    ref.cordon = message->cordon;
    pack_register(buf, &ref);
    mem_free(pointers);
    mem_free(hosted);
}

static void put_ref(struct buf *buf, const struct shard_message *message)
{
    if (message->kind == SHARD_REGISTER_ACK) {
        Sharding__Ack ack = SHARDING__ACK__INIT;

        ack.ref = binary(message->ref);
        ack.has_term = message->fence.term != 0;
        ack.term = message->fence.term;
        ack.has_proof = message->proof.value != 0;
        ack.proof = message->proof.value;
        ack.has_cordon = message->cordon != CORDON_NOT;
        ack.cordon = message->cordon;
        ack.has_alone = message->is_alone;
        ack.alone = message->is_alone;
        pack(buf, &ack);
    } else {
        Sharding__Ref ref = SHARDING__REF__INIT;

        ref.ref = binary(message->ref);
        ref.has_idle = message->idle != 0;
        ref.idle = message->idle;
        pack(buf, &ref);
    }
}

static void put_shard(struct buf *buf, const struct shard_message *message)
{
    Sharding__Shard shard = SHARDING__SHARD__INIT;
    size_t count = message->owing_count;
    Sharding__Owing *owing = mem_alloc(count * sizeof *owing);
    Sharding__Owing **pointers = mem_alloc(count * sizeof *pointers);

    for (size_t i = 0; i < count; i++) {
        owing[i] = (Sharding__Owing)SHARDING__OWING__INIT;
        owing[i].ref = binary(message->owing[i].ref);
        owing[i].has_uid = owing[i].has_lanes = 1;
        owing[i].uid = message->owing[i].uid;
        owing[i].lanes = message->owing[i].lanes;
        pointers[i] = &owing[i];
    }
    shard.shard = binary(message->shard);
    shard.has_term = message->fence.term != 0;
    shard.term = message->fence.term;
    shard.has_epoch = message->fence.epoch != 0;
    shard.epoch = message->fence.epoch;
    shard.has_attempt = message->attempt != 0;
    shard.attempt = message->attempt;
    shard.has_home = message->kind == SHARD_BEGIN_HAND_OFF &&
                     message->ref.size > 0;
    shard.home = binary(message->ref);
    shard.has_proof_term = shard.has_proof = message->proof.value != 0;
    shard.proof_term = message->proof.term;
    shard.proof = message->proof.value;
    shard.n_regions = count;
    shard.regions = pointers;
    pack(buf, &shard);
    mem_free(pointers);
    mem_free(owing);
}

static void put_home(struct buf *buf, const struct shard_message *message)
{
    Sharding__Home home = SHARDING__HOME__INIT;

    home.shard = binary(message->shard);
    home.region = binary(message->ref);
    home.has_term = message->fence.term != 0;
    home.term = message->fence.term;
    home.has_epoch = message->fence.epoch != 0;
    home.epoch = message->fence.epoch;
    pack(buf, &home);
}

static void put_homes(struct buf *buf, const struct shard_message *message)
{
    Sharding__Homes homes = SHARDING__HOMES__INIT;
    size_t count = message->home_count;
    Sharding__HomesOfRegion *regions = mem_alloc(count * sizeof *regions);
    Sharding__HomesOfRegion **pointers = mem_alloc(count * sizeof *pointers);
    ProtobufCBinaryData *shards = mem_alloc(count * sizeof *shards);
    uint64_t *terms = mem_alloc(count * sizeof *terms);
    uint64_t *epochs = mem_alloc(count * sizeof *epochs);
    Sharding__HomesOfRegion *region = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct shard_home *home = &message->homes[i];

        if (!region || !slice_equal(home->region, home[-1].region)) {
            region = &regions[homes.n_homes];
            *region = (Sharding__HomesOfRegion)SHARDING__HOMES_OF_REGION__INIT;
            region->region = binary(home->region);
            region->shards = &shards[i];
            region->term = &terms[i];
            region->epoch = &epochs[i];
            pointers[homes.n_homes++] = region;
        }
        shards[i] = binary(home->shard);
        terms[i] = home->fence.term;
        epochs[i] = home->fence.epoch;
        region->n_shards++;
        region->n_term++;
        region->n_epoch++;
    }
    homes.homes = pointers;
    pack(buf, &homes);
    mem_free(epochs);
    mem_free(terms);
    mem_free(shards);
    mem_free(pointers);
    mem_free(regions);
}

static void put_shard_stats(struct buf *buf,
                            const struct shard_message *message)
{
    Sharding__ShardStats stats = SHARDING__SHARD_STATS__INIT;

    stats.shard = binary(message->shard);
    stats.entities = message->count;
    pack(buf, &stats);
}

static void put_region_stats(struct buf *buf,
                             const struct shard_message *message)
{
    Sharding__RegionStats stats = SHARDING__REGION_STATS__INIT;
    size_t count = message->stat_count;
    size_t failed_count = message->failed_count;
    Sharding__Count *counts = mem_alloc(count * sizeof *counts);
    Sharding__Count **pointers = mem_alloc(count * sizeof *pointers);
    ProtobufCBinaryData *failed = mem_alloc(failed_count * sizeof *failed);

    for (size_t i = 0; i < count; i++) {
        counts[i] = (Sharding__Count)SHARDING__COUNT__INIT;
        counts[i].has_key = counts[i].has_value = 1;
        counts[i].key = binary(message->stats[i].key);
        counts[i].value = message->stats[i].value;
        pointers[i] = &counts[i];
    }
    for (size_t i = 0; i < failed_count; i++)
        failed[i] = binary(message->failed[i]);
    stats.n_stats = count;
    stats.stats = pointers;
    stats.n_failed = failed_count;
    stats.failed = failed;
    pack(buf, &stats);
    mem_free(failed);
    mem_free(pointers);
    mem_free(counts);
}

static Sharding__Address address_message(const struct address *address,
                                         const struct identity *identity)
{
    Sharding__Address message = SHARDING__ADDRESS__INIT;

    message.protocol = binary(slice_text(identity->protocol));
    message.system = binary(slice_text(identity->system));
    message.hostname = binary(slice_text(address->host));
    message.port = address->port;
    return message;
}

static void put_regions(struct buf *buf, const struct shard_message *message,
                        const struct identity *identity)
{
    Sharding__Regions regions = SHARDING__REGIONS__INIT;
    size_t count = message->address_count;
    Sharding__Address *addresses = mem_alloc(count * sizeof *addresses);
    Sharding__Address **pointers = mem_alloc(count * sizeof *pointers);

    for (size_t i = 0; i < count; i++) {
        addresses[i] = address_message(&message->addresses[i], identity);
        pointers[i] = &addresses[i];
    }
    regions.n_regions = count;
    regions.regions = pointers;
    pack(buf, &regions);
    mem_free(pointers);
    mem_free(addresses);
}

/* One entry for each address; its counts are neighbours. */
static void put_cluster_stats(struct buf *buf,
                              const struct shard_message *message,
                              const struct identity *identity)
{
    Sharding__ClusterStats cluster = SHARDING__CLUSTER_STATS__INIT;
    size_t count = message->address_count;
    size_t at = 0;
    struct region {
        Sharding__ClusterStatsOfRegion entry;
        Sharding__Address address;
        Sharding__RegionStats stats;
    } *regions = mem_alloc(count * sizeof *regions);
    Sharding__ClusterStatsOfRegion **entries =
        mem_alloc(count * sizeof *entries);
    Sharding__Count *counts = mem_alloc(message->stat_count * sizeof *counts);
    Sharding__Count **pointers =
        mem_alloc(message->stat_count * sizeof *pointers);
    ProtobufCBinaryData *failed =
        mem_alloc(message->stat_count * sizeof *failed);

    for (size_t i = 0; i < count; i++) {
        struct region *region = &regions[i];

        region->entry = (Sharding__ClusterStatsOfRegion)
            SHARDING__CLUSTER_STATS_OF_REGION__INIT;
        region->address = address_message(&message->addresses[i], identity);
        region->stats = (Sharding__RegionStats)SHARDING__REGION_STATS__INIT;
        region->entry.address = &region->address;
        region->entry.stats = &region->stats;
        region->stats.stats = pointers + at;
        region->stats.failed = failed + at;
        for (; at < message->stat_count && message->stats[at].region == i;
             at++) {
            if (message->stats[at].value < 0) {
                region->stats.failed[region->stats.n_failed++] =
                    binary(message->stats[at].key);
                continue;
            }
            counts[at] = (Sharding__Count)SHARDING__COUNT__INIT;
            counts[at].has_key = counts[at].has_value = 1;
            counts[at].key = binary(message->stats[at].key);
            counts[at].value = message->stats[at].value;
            region->stats.stats[region->stats.n_stats++] = &counts[at];
        }
        entries[i] = &region->entry;
    }
    check(at == message->stat_count);
    cluster.n_stats = count;
    cluster.stats = entries;
    pack(buf, &cluster);
    mem_free(failed);
    mem_free(pointers);
    mem_free(counts);
    mem_free(entries);
    mem_free(regions);
}

static void put_entity(struct buf *buf, const struct shard_message *message)
{
    Sharding__Entity entity = SHARDING__ENTITY__INIT;

    entity.entity = binary(message->entity);
    entity.has_shard = message->kind == SHARD_START_ENTITY_ACK;
    entity.shard = binary(message->shard);
    pack(buf, &entity);
}

static void put_shard_state(struct buf *buf,
                            const struct shard_message *message)
{
    Sharding__ShardState state = SHARDING__SHARD_STATE__INIT;
    size_t count = message->entity_count;
    ProtobufCBinaryData *entities = mem_alloc(count * sizeof *entities);

    for (size_t i = 0; i < count; i++)
        entities[i] = binary(message->entities[i].entity);
    state.shard = binary(message->shard);
    state.n_entities = count;
    state.entities = entities;
    pack(buf, &state);
    mem_free(entities);
}

static void put_region_state(struct buf *buf,
                             const struct shard_message *message)
{
    Sharding__RegionState state = SHARDING__REGION_STATE__INIT;
    size_t count = message->entity_count;
    size_t failed_count = message->failed_count;
    Sharding__ShardState *shards = mem_alloc(count * sizeof *shards);
    Sharding__ShardState **pointers = mem_alloc(count * sizeof *pointers);
    ProtobufCBinaryData *entities = mem_alloc(count * sizeof *entities);
    ProtobufCBinaryData *failed = mem_alloc(failed_count * sizeof *failed);
    Sharding__ShardState *shard = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct shard_entity *entity = &message->entities[i];

        if (!shard || !slice_equal(entity->shard, entity[-1].shard)) {
            shard = &shards[state.n_shards];
            *shard = (Sharding__ShardState)SHARDING__SHARD_STATE__INIT;
            shard->shard = binary(entity->shard);
            shard->entities = &entities[i];
            pointers[state.n_shards++] = shard;
        }
        if (entity->entity.data)
            shard->entities[shard->n_entities++] = binary(entity->entity);
    }
    for (size_t i = 0; i < failed_count; i++)
        failed[i] = binary(message->failed[i]);
    state.shards = pointers;
    state.n_failed = failed_count;
    state.failed = failed;
    pack(buf, &state);
    mem_free(failed);
    mem_free(entities);
    mem_free(pointers);
    mem_free(shards);
}

static void put_own(struct buf *buf, const struct shard_message *message)
{
    Sharding__Query query = SHARDING__QUERY__INIT;
    Sharding__Refused refused = SHARDING__REFUSED__INIT;
    Sharding__Failed failed = SHARDING__FAILED__INIT;
    Sharding__Dismissed dismissed = SHARDING__DISMISSED__INIT;

    switch (message->kind) {
    case SHARD_DISMISSED:
        dismissed.has_term = dismissed.has_idle = 1;
        dismissed.term = message->fence.term;
        dismissed.idle = message->idle;
        pack(buf, &dismissed);
        break;
    case SHARD_REFUSED:
        refused.reason = binary(message->reason);
        pack(buf, &refused);
        break;
    case SHARD_HAND_OFF_FAILED:
        failed.shard = binary(message->shard);
        failed.has_term = failed.has_epoch = 1;
        failed.term = message->fence.term;
        failed.epoch = message->fence.epoch;
        failed.has_reason = 1;
        failed.reason = binary(message->reason);
        failed.has_attempt = 1;
        failed.attempt = message->attempt;
        pack(buf, &failed);
        break;
    default: /* SHARD_QUERY, SHARD_NO_REGION */
        query.type = binary(message->type);
        query.has_term = message->fence.term != 0;
        query.term = message->fence.term;
        pack(buf, &query);
        break;
    }
}

static void put_marker(struct buf *buf, const struct shard_message *message)
{
    Sharding__Marker marker = SHARDING__MARKER__INIT;

    marker.type = binary(message->type);
    marker.shard = binary(message->shard);
    marker.has_term = marker.has_epoch = marker.has_attempt = 1;
    marker.term = message->fence.term;
    marker.epoch = message->fence.epoch;
    marker.attempt = message->attempt;
    marker.has_uid = marker.has_lane = 1;
    marker.uid = message->uid;
    marker.lane = message->lane;
    pack(buf, &marker);
}

static void put_timeout(struct buf *buf, const struct shard_message *message)
{
    Sharding__GetClusterStats query = SHARDING__GET_CLUSTER_STATS__INIT;

    query.timeout_nanos = message->timeout_ns;
    pack(buf, &query);
}

void shard_message_put(struct buf *buf, const struct shard_message *message,
                       const struct identity *identity)
{
    switch (message->kind) {
    case SHARD_REGISTER:
    case SHARD_REGISTER_PROXY:
        put_register(buf, message);
        break;
    case SHARD_REGISTER_ACK:
    case SHARD_GRACEFUL_SHUTDOWN:
    case SHARD_REGION_STOPPED:
        put_ref(buf, message);
        break;
    case SHARD_GET_HOME:
    case SHARD_HOST:
    case SHARD_HOST_STARTED:
    case SHARD_BEGIN_HAND_OFF:
    case SHARD_BEGIN_HAND_OFF_ACK:
    case SHARD_HAND_OFF:
    case SHARD_HOST_STOPPED:
        put_shard(buf, message);
        break;
    case SHARD_HOME:
        put_home(buf, message);
        break;
    case SHARD_HOMES:
        put_homes(buf, message);
        break;
    case SHARD_SHARD_STATS:
        put_shard_stats(buf, message);
        break;
    case SHARD_REGION_STATS:
        put_region_stats(buf, message);
        break;
    case SHARD_GET_CLUSTER_STATS:
        put_timeout(buf, message);
        break;
    case SHARD_CLUSTER_STATS:
        put_cluster_stats(buf, message, identity);
        break;
    case SHARD_CURRENT_REGIONS:
        put_regions(buf, message, identity);
        break;
    case SHARD_START_ENTITY:
    case SHARD_START_ENTITY_ACK:
        put_entity(buf, message);
        break;
    case SHARD_SHARD_STATE:
        put_shard_state(buf, message);
        break;
    case SHARD_REGION_STATE:
        put_region_state(buf, message);
        break;
    case SHARD_QUERY:
    case SHARD_NO_REGION:
    case SHARD_REFUSED:
    case SHARD_DISMISSED:
    case SHARD_HAND_OFF_FAILED:
        put_own(buf, message);
        break;
    case SHARD_MARKER:
        put_marker(buf, message);
        break;
    case SHARD_GET_SHARD_STATS:
    case SHARD_GET_REGION_STATS:
    case SHARD_GET_CURRENT_REGIONS:
    case SHARD_GET_SHARD_STATE:
    case SHARD_GET_REGION_STATE:
        break;
    }
}

void shard_message_send(struct outbox *outbox, const struct node_id *to,
                        struct slice recipient, struct slice sender,
                        const struct shard_message *message,
                        const struct identity *identity)
{
    struct buf buf = { 0 };

    shard_message_put(&buf, message, identity);
    outbox_put(outbox, &(struct outbound){
                           .to = *to,
                           .recipient = recipient,
                           .sender = sender,
                           .manifest = slice_text(
                               shard_message_manifest(message->kind)),
                           .payload = buf_slice(&buf),
                           .serializer =
                               shard_message_serializer(message->kind),
                           .stream = STREAM_ORDINARY,
                       });
    buf_fini(&buf);
}

void guardian_path_put(struct buf *buf, const char *guardian)
{
    buf_put_text(buf, guardian ? "/system/" : SHARDING_PATH);
    buf_put_text(buf, guardian ? guardian : "");
}

void region_path_put(struct buf *buf, const char *guardian, const char *type)
{
    guardian_path_put(buf, guardian);
    buf_put_text(buf, "/");
    url_put(buf, slice_text(type));
}

void proxy_path_put(struct buf *buf, const char *guardian, const char *type)
{
    region_path_put(buf, guardian, type);
    buf_put_text(buf, "Proxy");
}

void far_proxy_path_put(struct buf *buf, const char *guardian, const char *type,
                        const char *center)
{
    region_path_put(buf, guardian, type);
    buf_put_u8(buf, '-');
    url_put(buf, slice_text(center));
}

void coordinator_manager_path_put(struct buf *buf, const char *guardian, const char *type)
{
    region_path_put(buf, guardian, type);
    buf_put_text(buf, "Coordinator");
}

void coordinator_path_put(struct buf *buf, const char *guardian, const char *type)
{
    coordinator_manager_path_put(buf, guardian, type);
    buf_put_text(buf, "/singleton/coordinator");
}

void sharding_replicator_path_put(struct buf *buf, const char *guardian, const char *role)
{
    if (!role || !*role) {
        guardian_path_put(buf, guardian);
        buf_put_text(buf, "/replicator");
        return;
    }
    region_path_put(buf, guardian, role);
    buf_put_text(buf, "Replicator");
}
