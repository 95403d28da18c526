/* Names the origin of received values that may not merge here, and joins them with those that are
 * here. opaque.c decides what stays. */
#include "ddata/replicator_inside.h"

static bool may_be_opaque(const struct dd_value *value)
{
    return dd_kind_of(value) == DD_OPAQUE || dd_kind_of(value) == DD_ORMAP;
}

static void drop_origin(struct envelope *envelope)
{
    origin_free(envelope->origin);
    envelope->origin = NULL;
}

static bool is_there(const struct replicator *replicator,
                     const struct node_id *node)
{
    const struct replica *replica = replicas_find(&replicator->replicas, node);

    return replica && replica->is_reachable;
}

void origin_hide_type(const struct replicator *replicator, struct slice key,
                      struct envelope *envelope)
{
    const char *unknown = replicator->settings.unknown_key;

    for (uint32_t i = 0; unknown && key_matches(key, unknown) && i < opaque_count(envelope); i++)
        if (dd_kind_of(opaque_at(envelope, i)->value) == DD_GSET)
            dd_hide_type(&opaque_at(envelope, i)->value);
}

void origin_label(const struct replicator *replicator, struct slice key,
                  struct envelope *envelope, const struct arrived *arrived)
{
    const struct node_id *self = &replicator->replicas.self;
    struct origin *origin;

    origin_hide_type(replicator, key, envelope);
    if (!may_be_opaque(envelope->value)) {
        drop_origin(envelope);
        return;
    }
    if (!envelope->origin) {
        envelope->origin = origin_new(arrived->from, arrived->way);
        envelope->origin->number = arrived->number;
        envelope->origin->confirms = versions_get(&envelope->versions, self);
    }
    origin = envelope->origin;
    origin->size = envelope_counted(replicator, envelope, arrived->size);
    origin->is_acknowledged = arrived->way == ORIGIN_WRITE;
    if (origin->way != ORIGIN_RELAYED)
        return;
    origin->is_echo = node_equal(&origin->node, self);
    origin->may_skip = arrived->way == ORIGIN_STATE &&
                       is_there(replicator, &origin->node);
}

void origin_claim(const struct replicator *replicator,
                struct envelope *envelope)
{
    if (envelope->origin)
        return;
    envelope->origin = origin_own(&replicator->replicas.self);
    envelope->origin->size = envelope_counted(
        replicator, envelope, envelope_size(replicator, envelope));
}

enum envelope_merged envelope_join(const struct replicator *replicator,
                                   struct envelope *envelope,
                                   struct envelope *other)
{
    enum envelope_merged merged;

    if (!envelope_is_deleted(envelope) && !envelope_is_deleted(other) &&
        !dd_is_delta(other->value)) {
        if (opaque_is_needed(envelope, other)) {
            origin_claim(replicator, envelope);
            origin_claim(replicator, other);
        } else {
            drop_origin(other);
        }
    }
    merged = envelope_merge(envelope, other, replicator->wall_ms);
    (void)opaque_end(envelope);
    return merged;
}

bool envelope_fits(const struct replicator *replicator,
                   const struct envelope *envelope)
{
    return envelope->origin || envelope_size(replicator, envelope) <=
                                   replicator->settings.entry_size_max;
}
