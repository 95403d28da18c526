/* Makes and closes the routes and the owned shards of an entity type on a lane, also for a type that is
 * added to a node that runs (control/type_calls.c). */
#include "node/lane/lane.h"

#include "base/timers.h"

/* A hand-off waits for the release of the lease, and must not fail because of it. */
static uint64_t release_timeout(const struct node_settings *settings)
{
    uint64_t share = settings->handoff_timeout / 4;

    return share && (!settings->lease_patience || share < settings->lease_patience)
               ? share
               : settings->lease_patience;
}

/* Akka's: its end is known before the coordinator gives the hand-off up. */
static uint64_t stop_timeout(const struct node_settings *settings)
{
    const uint64_t reserve = 5 * SECOND;

    if (!settings->handoff_timeout)
        return 0; /* the default */
    return settings->handoff_timeout > reserve + SECOND ? settings->handoff_timeout - reserve
                                                        : SECOND;
}

void lane_make_type(struct lane *lane, uint32_t index)
{
    const struct node_settings *settings = lane->machine->settings;
    const struct type_names *names = &lane->machine->node->names[index];
    struct lane_type *type = &lane->types[index];
    struct routes_options routes = { .shard_count = names->shards,
                                     .budget = &type->budget };
    struct owned_options owned = {
        .shard_count = names->shards,
        .persists = names->persists || names->remembers,
        .stop_timeout = stop_timeout(settings),
        .leases = names->lease != LEASE_PROVIDER_NONE,
        .lease_retry = names->lease_retry,
        .release_timeout = release_timeout(settings),
        .budget = &type->budget,
        .trace = lane->machine->trace,
        .type = names->name,
        .probes = lane->machine->probes,
        .type_index = (uint16_t)index,
    };

    pending_budget_init(&type->budget, settings->buffer_size, 0, settings->lanes);
    if (settings->buffer_size == BUFFER_NONE)
        type->budget.count_max = 0;
    routes_init(&type->routes, &routes);
    owned_init(&type->owned, &owned);
    lane->leases |= owned.leases;
    lane_remember_init(lane, index);
}

void lane_open_type(struct lane *lane, uint32_t index)
{
    const struct node_settings *settings = lane->machine->settings;
    const struct type_names *names = &lane->machine->node->names[index];

    actors_add_type(lane->actors, (uint16_t)index, &settings->types[index]);
    actors_set_rule(lane->actors, (uint16_t)index,
                    &names->rule);
    actors_set_passivation(lane->actors, (uint16_t)index,
                           names->passivation ? names->passivation : &lane->machine->node->passivation);
}

void lane_take_type(struct lane *lane, const struct mail_content *content)
{
    bool is_new = content->kind == MAIL_ADD_TYPE;
    struct mail_content answer = mail_from(
        lane->own, mail_for_type(content->type, is_new ? mail_type_added_new()
                                                       : mail_type_opened_new()));

    if (is_new) {
        lane_make_type(lane, content->type);
        lane->type_count = content->type + 1u;
    } else {
        lane_open_type(lane, content->type);
    }
    outputs_post(&lane->machine->outputs, 0, &answer);
}

void lane_close_type(struct lane *lane, uint32_t index)
{
    struct lane_type *type = &lane->types[index];
    struct pending_queue released = { 0 };
    struct pending_item *held;
    enum owned_state state;
    uint32_t at = 0;
    int32_t shard;

    while (owned_next(&type->owned, &at, &shard, &state))
        owned_release(&type->owned, shard, &released);
    while ((held = pending_take(&released, &type->budget)))
        actors_message_end(lane->actors, lane_unwrap(lane, held),
                           SHERD_REASON_SHUTTING_DOWN);
    while ((held = routes_take_any(&type->routes)))
        actors_message_end(lane->actors, lane_unwrap(lane, held),
                           SHERD_REASON_SHUTTING_DOWN);
    routes_fini(&type->routes);
    owned_fini(&type->owned);
    lane_remember_fini(lane, index);
}
