/* Begins and ends watches, and notifies watchers and watched actors. */
#include "actor/inside.h"

static struct message *notice(struct actors *actors, enum message_kind kind,
                              struct sherd_ref to, struct sherd_ref sender)
{
    struct message *message = actors_message(actors, slice_of(NULL, 0));

    message->kind = (uint8_t)kind;
    message->to = to;
    message->sender = sender;
    return message;
}

/* --- the watcher's side --- */

void watch_by(struct actors *actors, uint32_t index, struct slot *slot,
              struct sherd_ref watched)
{
    struct sherd_ref watcher = slot_ref(actors, slot, index);
    uint32_t at;

    if (ref_equal(watcher, watched) ||
        watch_find(&actors->watches, watcher, watched))
        return;
    at = watch_add(actors, watcher, watched);
    if (at == 0)
        return;
    watch_link_by(actors, at, slot);
    effects_emit(actors, notice(actors, MESSAGE_WATCH, watched, watcher));
}

void unwatch_by(struct actors *actors, uint32_t index, struct slot *slot,
                struct sherd_ref watched)
{
    struct sherd_ref watcher = slot_ref(actors, slot, index);
    uint32_t at = watch_find(&actors->watches, watcher, watched);

    if (at == 0)
        return;
    watch_remove(actors, at);
    if (!is_here(actors, watched))
        effects_emit(actors, notice(actors, MESSAGE_UNWATCH, watched, watcher));
}

/* --- ends --- */

void watches_end(struct actors *actors, uint32_t index, struct slot *slot)
{
    struct extra *extra = extra_of(actors, slot);
    struct sherd_ref self = slot_ref(actors, slot, index);
    uint32_t at;

    while (extra && (at = extra->watching)) {
        struct sherd_ref watched = actors->watches.items.items[at].watched;

        watch_remove(actors, at);
        if (!is_here(actors, watched))
            effects_route(actors, notice(actors, MESSAGE_UNWATCH, watched, self));
    }
    while (extra && (at = extra->watchers)) {
        struct watch *watch = &actors->watches.items.items[at];
        struct sherd_ref watcher = watch->watcher;

        if (watch->by_linked)
            watch_unlink_of(actors, at);
        else
            watch_remove(actors, at);
        effects_route(actors, notice(actors, MESSAGE_TERMINATED, watcher, self));
    }
}

void watches_node_gone(struct actors *actors, uint64_t node)
{
    for (uint32_t at = 1; at < actors->watches.items.count; at++) {
        struct watch watch = actors->watches.items.items[at];

        if (ref_is_nobody(watch.watcher))
            continue; /* free */
        if (watch.watcher.node == node)
            watch_remove(actors, at);
        else if (watch.watched.node == node)
            effects_route(actors, notice(actors, MESSAGE_TERMINATED, watch.watcher,
                                 watch.watched));
    }
}
