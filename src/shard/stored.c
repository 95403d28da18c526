/* Writes and reads the bytes of a coordinator's state and fences. Every allocation is bounded for
 * all input. */
#include "shard/stored.h"

#include "base/budget.h"
#include "base/gzip.h"
#include "base/limits.h"
#include "shard/sharding.pb-c.h"

/* protobuf's wire types */
#define FIXED_64 1
#define LENGTH_DELIMITED 2 /* bytes and messages */

struct memory {
    Sharding__CoordinatorState *state;
    Sharding__Fences *fences;
    struct shard_home *homes;
    struct shard_hosted *hosted;
    struct slice *texts[3];
};

/* ---- writing ---- */

void stored_state_key_put(struct buf *buf, const char *type)
{
    buf_put_text(buf, type);
    buf_put_text(buf, "CoordinatorState");
}

void stored_fences_key_put(struct buf *buf, const char *type)
{
    buf_put_text(buf, type);
    buf_put_text(buf, "Fences");
}

static size_t varint_size(uint64_t value)
{
    size_t size = 1;

    while (value >>= 7)
        size++;
    return size;
}

static void put_bytes(struct buf *buf, uint32_t number, struct slice bytes)
{
    buf_put_varint(buf, number << 3 | LENGTH_DELIMITED);
    buf_put_varint(buf, bytes.size);
    buf_put_slice(buf, bytes);
}

static size_t bytes_size(struct slice bytes)
{
    return 1 + varint_size(bytes.size) + bytes.size;
}

void stored_home_put(struct buf *buf, struct slice shard, struct slice region)
{
    buf_put_varint(buf, 1 << 3 | LENGTH_DELIMITED);
    buf_put_varint(buf, bytes_size(shard) + bytes_size(region));
    put_bytes(buf, 1, shard);
    put_bytes(buf, 2, region);
}

void stored_region_put(struct buf *buf, struct slice region, bool is_proxy)
{
    put_bytes(buf, is_proxy ? 3 : 2, region);
}

void stored_fence_put(struct buf *buf, struct slice shard, struct fence fence)
{
    buf_put_varint(buf, 2 << 3 | LENGTH_DELIMITED);
    buf_put_varint(buf, bytes_size(shard) + 1 + varint_size(fence.term) + 1 +
                            varint_size(fence.epoch));
    put_bytes(buf, 1, shard);
    buf_put_varint(buf, 2 << 3);
    buf_put_varint(buf, fence.term);
    buf_put_varint(buf, 3 << 3);
    buf_put_varint(buf, fence.epoch);
}

void stored_term_put(struct buf *buf, struct proof proof)
{
    buf_put_varint(buf, 1 << 3);
    buf_put_varint(buf, proof.term);
    if (!proof.value)
        return;
    buf_put_varint(buf, 3 << 3 | FIXED_64);
    buf_put_u64(buf, proof.value);
}

void stored_pause_put(struct buf *buf, struct slice pause)
{
    if (pause.size)
        put_bytes(buf, 4, pause);
}

/* ---- reading ---- */

static struct slice slice_from(ProtobufCBinaryData data)
{
    return slice_of(data.data, data.len);
}

static bool is_shard_id(struct slice shard)
{
    return shard.size > 0 && shard.size <= SHARD_ID_MAX;
}

static bool is_ref(struct slice ref)
{
    return ref.size > 0 && ref.size <= SHARD_REF_MAX;
}

/* Copies the valid texts, at most count_max. */
static uint32_t texts_from(struct slice **texts, size_t count,
                           const ProtobufCBinaryData *from, uint32_t count_max,
                           bool (*is_valid)(struct slice))
{
    uint32_t valid = 0;

    *texts = mem_alloc(count * sizeof **texts);
    for (size_t i = 0; i < count && valid < count_max; i++) {
        struct slice text = slice_from(from[i]);

        if (is_valid(text))
            (*texts)[valid++] = text;
    }
    return valid;
}

static void take_state(struct stored *stored, struct memory *memory)
{
    const Sharding__CoordinatorState *state = memory->state;

    memory->homes = mem_alloc(state->n_shards * sizeof *memory->homes);
    for (size_t i = 0; i < state->n_shards; i++) {
        struct shard_home home = {
            .shard = slice_from(state->shards[i]->shard),
            .region = slice_from(state->shards[i]->region),
        };

        if (stored->home_count < COORDINATOR_SHARDS_MAX &&
            is_shard_id(home.shard) && is_ref(home.region))
            memory->homes[stored->home_count++] = home;
    }
    stored->homes = memory->homes;
    stored->region_count =
        texts_from(&memory->texts[0], state->n_regions, state->regions,
                   COORDINATOR_REGIONS_MAX, is_ref);
    stored->proxy_count =
        texts_from(&memory->texts[1], state->n_proxies, state->proxies,
                   COORDINATOR_REGIONS_MAX, is_ref);
    stored->unallocated_count =
        texts_from(&memory->texts[2], state->n_unallocated, state->unallocated,
                   COORDINATOR_SHARDS_MAX, is_shard_id);
    stored->regions = memory->texts[0];
    stored->proxies = memory->texts[1];
    stored->unallocated = memory->texts[2];
}

static void take_fences(struct stored *stored, struct memory *memory)
{
    const Sharding__Fences *fences = memory->fences;

    memory->hosted = mem_alloc(fences->n_shards * sizeof *memory->hosted);
    for (size_t i = 0; i < fences->n_shards; i++) {
        struct shard_hosted hosted = {
            .shard = slice_from(fences->shards[i]->shard),
            .fence = { fences->shards[i]->term, fences->shards[i]->epoch },
        };

        if (stored->fence_count < COORDINATOR_SHARDS_MAX &&
            is_shard_id(hosted.shard))
            memory->hosted[stored->fence_count++] = hosted;
    }
    stored->fences = memory->hosted;
    stored->term = fences->term;
    stored->proof = fences->proof;
    if (fences->pause.len <= OPERATION_BY_MAX + 2 + OPERATION_REASON_MAX)
        stored->pause = slice_from(fences->pause);
}

static void *unpack(const ProtobufCMessageDescriptor *descriptor,
                    struct slice packed)
{
    struct budget budget = { STORED_MEMORY_MAX };
    ProtobufCAllocator allocator = { budget_alloc, budget_free, &budget };
    struct buf bytes = { 0 };
    void *unpacked = NULL;

    if (gzip_inflate(&bytes, packed, STORED_SIZE_MAX, NULL))
        unpacked = protobuf_c_message_unpack(
            descriptor, &allocator, bytes.size,
            bytes.size ? bytes.data : (const uint8_t *)"");
    buf_fini(&bytes);
    return unpacked;
}

bool stored_read(struct stored *stored, struct slice state,
                 struct slice fences)
{
    struct memory *memory = mem_alloc(sizeof *memory);

    *stored = (struct stored){ .memory = memory };
    if (state.size)
        memory->state =
            unpack(&sharding__coordinator_state__descriptor, state);
    if (fences.size)
        memory->fences = unpack(&sharding__fences__descriptor, fences);
    if ((state.size && !memory->state) || (fences.size && !memory->fences)) {
        stored_fini(stored);
        return false;
    }
    if (memory->state)
        take_state(stored, memory);
    if (memory->fences)
        take_fences(stored, memory);
    return true;
}

void stored_fini(struct stored *stored)
{
    struct memory *memory = stored->memory;
    ProtobufCAllocator allocator = { budget_alloc, budget_free, NULL };

    if (!memory)
        return;
    if (memory->state)
        protobuf_c_message_free_unpacked(&memory->state->base, &allocator);
    if (memory->fences)
        protobuf_c_message_free_unpacked(&memory->fences->base, &allocator);
    mem_free(memory->homes);
    mem_free(memory->hosted);
    for (int i = 0; i < 3; i++)
        mem_free(memory->texts[i]);
    mem_free(memory);
    *stored = (struct stored){ 0 };
}
