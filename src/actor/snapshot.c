/* Takes snapshots of entities' states, and loads them. */
#include "actor/snapshot.h"

#include <string.h>

#include "actor/deliver.h"
#include "base/hash.h"
#include "base/line.h"
#include "base/mark.h"

struct sherd_out {
    struct buf bytes;
    size_t size_max;
    bool is_too_large;
};

SHERD_API void sherd_out_put(struct sherd_out *out, struct sherd_bytes bytes)
{
    if (bytes.size > out->size_max - out->bytes.size)
        out->is_too_large = true;
    else
        buf_put(&out->bytes, bytes.data, bytes.size);
}

SHERD_API uint64_t sherd_snapshot_sequence(const struct sherd_ctx *ctx)
{
    const struct extra *extra = extra_of(ctx->actors, ctx->slot);

    return extra ? extra->saved_seq : 0;
}

static void *self_of(struct actors *actors, const struct slot *slot)
{
    return slot->state ? slot->state : actors->nothing;
}

/* Entities of one age save at different numbers. */
static uint64_t distance(const struct slot *slot, uint32_t every)
{
    uint32_t spread = every / 4;

    return every + (spread ? hash_bytes(slot_id(slot)) % spread : 0);
}

bool snapshot_is_due(const struct actors *actors, const struct slot *slot,
                     const struct entity_event *event)
{
    const struct sherd_behavior *face = &behavior_of(actors, slot)->face;
    const struct extra *extra = extra_of(actors, slot);

    if (!extra || extra->seq == extra->tried_seq)
        return false;
    if (face->save_every && extra->seq - extra->tried_seq >= distance(slot, face->save_every))
        return true;
    return event && face->save_now &&
           face->save_now(slot->state ? slot->state : (const void *)actors->nothing, event->type,
                          (struct sherd_bytes){ event->payload.data, event->payload.size }) != 0;
}

/* Warns at most once a minute for each type. */
static void warn(struct actors *actors, const struct slot *slot, struct type *type,
                 const char *why)
{
    char text[160];

    if (type->save_failed_said && actors->now - type->save_failed_said < LONG_REPLAY_SAID_NS)
        return;
    type->save_failed_said = actors->now;
    line_format(text, sizeof text, "snapshot not taken, tried again later reason=\"%s\"",
                why); /* fits */
    slot_trace(actors, slot, TRACE_WARNING, text);
}

const char *snapshot_image(const struct sherd_behavior *face, const void *self, size_t size_max,
                           struct buf *image)
{
    struct sherd_out out = { .size_max = size_max };
    const char *fault = face->save(self, &out) == 0 ? NULL : "save returned an error";

    if (!fault && out.is_too_large)
        fault = "the image is larger than journal.snapshot-size-max";
    *image = out.bytes;
    return fault;
}

void snapshot_take(struct actors *actors, uint32_t index, struct slot *slot, bool is_good)
{
    const struct behavior *behavior = behavior_of(actors, slot);
    struct type *type = &actors->types[behavior->type];
    struct extra *extra = slot_extra(actors, slot);
    struct buf image = { 0 };
    struct buf part = { 0 };
    size_t most = actors->settings.snapshot_max ? actors->settings.snapshot_max
                                                : JOURNAL_SNAPSHOT_SIZE_MAX;
    const char *fault;

    actors->ctx.save_due = false;
    if (!is_good || actors->ctx.store_failed || extra->position == EVENT_REFUSED)
        return;
    extra->tried_seq = extra->seq;
    delivery_save(actors, slot, &part);
    fault = snapshot_image(&behavior->face, self_of(actors, slot), most, &image);
    if (!fault && part.size > JOURNAL_SNAPSHOT_SIZE_MAX - image.size)
        fault = "the image and the deliveries are larger than journal.snapshot-size-max";
    if (!fault) {
        actors->settings.save(
            actors->settings.user,
            slot_ref(actors, slot, index).actor,
            &(struct actors_snapshot){ behavior->face.save_version, buf_slice(&part),
                                       buf_slice(&image),
                                       type->keep_snapshots, type->deletes_events,
                                       type->keep_events });
    } else {
        REACHED("an entity cannot save its state");
        actors->counts.snapshots_failed++;
        warn(actors, slot, type, fault);
    }
    buf_fini(&image);
    buf_fini(&part);
}

const char *snapshot_load(struct actors *actors, struct slot *slot, uint64_t seq,
                          uint32_t version, struct slice part, struct slice image)
{
    const struct sherd_behavior *face = &behavior_of(actors, slot)->face;
    struct extra *extra = slot_extra(actors, slot);
    void *self = self_of(actors, slot);

    if (version > face->save_version)
        return "a newer program wrote it: this one does not know the version";
    if (!delivery_load(actors, slot, part)) {
        delivery_drop(actors, slot);
        return "its part with deliveries is of a newer library, or damaged";
    }
    if (face->load(self, version, (struct sherd_bytes){ image.data, image.size }) == 0) {
        extra->seq = extra->tried_seq = extra->saved_seq = seq;
        return NULL;
    }
    delivery_drop(actors, slot);
    REACHED("an entity refuses a snapshot");
    if (face->release)
        face->release(self);
    memset(self, 0, slot->state ? face->state_size : sizeof actors->nothing);
    return "load returned an error";
}
