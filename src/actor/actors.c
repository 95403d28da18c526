/* Creates, steps and frees a lane's actors. */
#include "actor/deliver.h"
#include "actor/samples.h"

void actors_limits(struct actors_settings *settings)
{
    if (settings->slow_handler == 0)
        settings->slow_handler = HANDLER_SLOW_NS;
    if (settings->waiting_bytes_max == 0 ||
        settings->waiting_bytes_max > ACTOR_WAITING_BYTES_MAX)
        settings->waiting_bytes_max = ACTOR_WAITING_BYTES_MAX;
    if (settings->slots_max == 0 || settings->slots_max > ACTOR_SLOTS_MAX)
        settings->slots_max = ACTOR_SLOTS_MAX;
    if (settings->asks_max == 0 || settings->asks_max > ACTOR_ASKS_MAX)
        settings->asks_max = ACTOR_ASKS_MAX;
    if (settings->watches_max == 0 || settings->watches_max > ACTOR_WATCHES_MAX)
        settings->watches_max = ACTOR_WATCHES_MAX;
}

static void delivery_defaults(struct delivery_settings *settings)
{
    if (!settings->repeat_ms)
        settings->repeat_ms = DELIVERY_REPEAT_MS;
    if (!settings->repeat_max_ms)
        settings->repeat_max_ms = DELIVERY_REPEAT_MS_MAX;
    if (settings->repeat_max_ms < settings->repeat_ms)
        settings->repeat_max_ms = settings->repeat_ms;
    if (!settings->give_up_ms)
        settings->give_up_ms = DELIVERY_GIVE_UP_MS;
    if (!settings->forget_ms)
        settings->forget_ms = DELIVERY_FORGET_MS;
    if (!settings->commands_max)
        settings->commands_max = DELIVERY_COMMANDS_MAX;
    if (!settings->commands_ms)
        settings->commands_ms = DELIVERY_COMMANDS_MS;
}

struct actors *actors_new(const struct actors_settings *settings)
{
    struct actors *actors = mem_alloc(sizeof *actors);
    struct row none = { .state = ROW_FREE };
    struct numbered_node nowhere = { 0, mem_text("") };

    check(settings->node != 0 && settings->lane < settings->lanes);
    check(settings->lanes < MESSAGE_OWNER_NONE);
    actors->end_of_leases = NEVER;
    actors->settings = *settings;
    actors_limits(&actors->settings);
    delivery_defaults(&actors->settings.delivery);
    actors->node = settings->node;
    actors->lane = settings->lane;
    actors->now = settings->now;
    actors->ctx.actors = actors;
    actors->room = true;
    actors->returns = mem_alloc(settings->lanes * sizeof *actors->returns);
    actors->slot_used = 1; /* slot 0 and extra 0 are never used */
    actors->extra_used = 1;
    actors->scan_next = 1;
    vec_push(&actors->rows, none);
    vec_push(&actors->peers, nowhere);
    rng_init(&actors->rng, settings->seed);
    wheel_init(actors);
    delivery_init(actors);
    slot_free(actors, slot_new(actors)); /* makes the first chunk */
    return actors;
}

uint16_t actors_peer(struct actors *actors, uint64_t node, const char *text)
{
    struct slice key = map_u64(&node);
    uintptr_t known = (uintptr_t)map_get(&actors->peer_map, key);
    struct numbered_node peer = { .node = node };

    if (known)
        return (uint16_t)known;
    if (actors->peers.count >= ACTOR_PEERS_MAX) {
        actors->counts.peers_refused++;
        return 0;
    }
    peer.text = mem_text(text);
    known = actors->peers.count;
    vec_push(&actors->peers, peer);
    map_put(&actors->peer_map, key, (void *)known);
    return (uint16_t)known;
}

/* --- a turn --- */

/* Ends what waited for this time: asks, timers, and the pauses before the next start. */
static void entries_step(struct actors *actors)
{
    uint32_t at;

    while (wheel_advance(actors))
        while ((at = wheel_take(actors)) != 0) {
            uint32_t index = entry_fire(actors, at);

            if (index)
                incarnation_back_off_end(actors, index, slot_at(actors, index));
        }
}

void actors_step(struct actors *actors, uint64_t now, int64_t wall_ms)
{
    check(!actors->ctx.slot);
    if (now > actors->now)
        actors->now = now;
    actors->wall_ms = wall_ms;
    entity_ticks(actors);
    entries_step(actors);
    shards_step(actors);
    entity_scan(actors);
}

uint64_t actors_deadline(const struct actors *actors)
{
    uint64_t earliest = wheel_deadline(actors);
    uint64_t shard = shards_deadline(actors);
    uint64_t scan = entity_scan_deadline(actors);

    if (shard < earliest)
        earliest = shard;
    return scan < earliest ? scan : earliest;
}

void actors_node_gone(struct actors *actors, uint64_t node)
{
    if (node == actors->node)
        return;
    watches_node_gone(actors, node);
    asks_node_gone(actors, node);
}

uint32_t actors_alive(const struct actors *actors)
{
    return actors->counts.actors + actors->counts.entities;
}

void actors_status(const struct actors *actors, struct actors_status *status)
{
    *status = actors->counts;
    status->waiting = status->sent + status->arrived - status->delivered -
                      status->undelivered_total - status->left;
    status->message_bytes = actors->message_bytes + actors->large_bytes;
    status->watches = actors->watches.count;
    status->subscribers = actors->view.subscribers.count;
    status->cluster_roles = actors->view.roles.count;
    status->runnable = actors->queue_count;
    status->memory = actors->memory;
}

uint64_t actors_messages_in_use(const struct actors *actors)
{
    return actors->message_bytes - memory_free_bytes(actors, UINT64_MAX) +
           actors->large_bytes;
}

/* --- shutdown --- */

static void ring_end(struct actors *actors, struct message **ring)
{
    struct message *message;

    while ((message = message_ring_take(ring)))
        mailbox_message_end(actors, message, SHERD_REASON_SHUTTING_DOWN);
}

static void chain_end(struct actors *actors, struct message *message)
{
    while (message) {
        struct message *next = message->next;

        mailbox_message_end(actors, message, SHERD_REASON_SHUTTING_DOWN);
        message = next;
    }
}

static void slot_close(struct actors *actors, uint32_t index, struct slot *slot)
{
    struct extra *extra = extra_of(actors, slot);

    if (slot_has_incarnation(slot))
        incarnation_release(actors, index, slot);
    ring_end(actors, &slot->last);
    if (extra) {
        ring_end(actors, &extra->behind);
        chain_end(actors, extra->held_first);
        extra->held_first = NULL;
    }
    if (slot->id_size > ID_INLINE)
        mem_free(slot->far_id);
    slot->status = SLOT_FREE;
}

void actors_close(struct actors *actors)
{
    if (!actors || actors->closed)
        return;
    check(!actors->ctx.slot);
    actors->closed = true;
    for (uint32_t i = 1; i < actors->slot_used; i++)
        if (slot_at(actors, i)->status != SLOT_FREE)
            slot_close(actors, i, slot_at(actors, i));
    for (uint32_t i = 0; i < actors->pending_count; i++)
        mailbox_message_end(actors, actors->pending[i],
                            SHERD_REASON_SHUTTING_DOWN);
    actors->pending_count = 0;
    chain_end(actors, actors->out.first);
    actors->out.first = NULL;
}

void actors_free(struct actors *actors)
{
    if (!actors)
        return;
    actors_close(actors);
    for (uint32_t i = 0; i < actors->type_count; i++)
        mem_free(actors->types[i].rows);
    mem_free(actors->types);
    delivery_fini(actors);
    active_fini(actors);
    for (uint32_t i = 0; i < actors->rows.count; i++)
        vec_fini(&actors->rows.items[i].slots);
    vec_fini(&actors->rows);
    vec_fini(&actors->behaviors);
    mem_free(actors->table.cells);
    wheel_fini(actors);
    watches_fini(actors);
    view_fini(actors);
    followers_fini(actors);
    mem_free(actors->stored);
    for (uint32_t i = actors->news_head; i < actors->news.count; i++)
        mem_free(actors->news.items[i].text);
    vec_fini(&actors->news);
    vec_fini(&actors->leased);
    for (uint32_t i = 0; i < actors->peers.count; i++)
        mem_free(actors->peers.items[i].text);
    vec_fini(&actors->peers);
    map_fini(&actors->peer_map);
    map_fini(&actors->named);
    samples_fini(actors);
    memory_fini(actors);
    mem_free(actors);
}
