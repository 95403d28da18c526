/* Gives the workload's types an extractor with text shards, and checks where entities start. */
#include "base/hash.h"
#include "sim/seed/shard_text.h"
#include "sim/workload/workload_inside.h"

/* The parcel in the body has the id. */
static int entity_of(void *user, struct sherd_extracted *message)
{
    char id[ID_TEXT_MAX];
    struct parcel parcel;

    (void)user;
    if (!workload_read(message->body, &parcel))
        return 0;
    memcpy(message->id, workload_id(id, parcel.id), sizeof id);
    return 1;
}

static int32_t shard_of(struct slice id)
{
    return hash_shard(id, workload_current->settings.shards);
}

static int shard_text_of(void *user, const struct sherd_extracted *message,
                         char shard[SHERD_SHARD_MAX + 1])
{
    (void)user;
    (void)sim_shard_text(shard_of(slice_text(message->id)), shard);
    return 1;
}

static const struct sherd_extractor extractor = { .entity = entity_of, .shard = shard_text_of };

const struct sherd_extractor *workload_extractor(const struct workload *workload)
{
    return workload->settings.text_shards ? &extractor : NULL;
}

void workload_shard_is(struct workload *workload, uint32_t node, struct slice id,
                       struct slice shard)
{
    char text[SIM_SHARD_MAX];

    if (!workload->settings.text_shards ||
        slice_equal(shard, sim_shard_text(shard_of(id), text)))
        return;
    workload_violation(workload, "right-receiver", node, "%.*s has the shard \"%.*s\", not \"%s\"",
                       (int)id.size, (const char *)id.data, (int)shard.size,
                       (const char *)shard.data, text);
}

bool workload_tells_region(const struct workload *workload, const struct parcel *parcel)
{
    return workload->settings.text_shards && parcel->value % 2;
}
