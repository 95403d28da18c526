/* Connects coordinators with what their allocation strategies need: subscribes to the locations of
 * shards, describes members to a strategy of the program, and passes on its later answers. */
#include "node/control/allocation.h"

#include "actor/allocation_call.h"
#include "base/limits.h"
#include "node/control/control.h"

/* A request's number has the type, a number of the coordinator, and the request's own. The second
 * differs from node to node and from coordinator to coordinator, so no late answer hits a request of
 * a successor. */
#define TYPE_SHIFT 56
#define LIFE_SHIFT 32
#define LIFE_MASK UINT64_C(0xffffff)

/* ---- strategies ---- */

/* A slow function delays this node's heartbeats. */
static void report_slow(const struct timed_strategy *strategy,
                        const char *function, uint64_t began)
{
    const struct node_settings *settings = strategy->machine->settings;
    uint64_t limit = settings->slow_handler ? settings->slow_handler
                                            : HANDLER_SLOW_NS;
    uint64_t took = settings->clock() - began;

    if (took > limit)
        trace_put(strategy->machine->trace, TRACE_WARNING, "coordinator",
                  "allocation strategy took long type=%s function=%s ms=%llu "
                  "hint=\"return SHERD_ALLOCATION_LATER and answer from a job\"",
                  strategy->type, function, (unsigned long long)(took / MS));
}

static int timed_allocate(void *user,
                          const struct sherd_allocation_request *request)
{
    const struct timed_strategy *strategy = user;
    uint64_t began = strategy->machine->settings->clock();
    int answer = strategy->of->allocate(strategy->of->user, request);

    report_slow(strategy, "allocate", began);
    return answer;
}

static int timed_rebalance(void *user,
                           const struct sherd_allocation_request *request,
                           int32_t *shards)
{
    const struct timed_strategy *strategy = user;
    uint64_t began = strategy->machine->settings->clock();
    int answer = strategy->of->rebalance(strategy->of->user, request, shards);

    report_slow(strategy, "rebalance", began);
    return answer;
}

/* Null without one. In simulation there is no clock. */
static const struct sherd_allocation_strategy *
strategy_of(struct control *control, uint32_t index)
{
    struct machine *machine = control->machine;
    const struct sherd_allocation_strategy *of =
        machine->settings->types[index].strategy;
    struct timed_strategy *strategy = &control->types[index].strategy;

    if (!of || !machine->settings->clock)
        return of;
    *strategy = (struct timed_strategy){
        .timed = { timed_allocate, of->rebalance ? timed_rebalance : NULL,
                   strategy, of->timeout_ms },
        .of = of,
        .machine = machine,
        .type = machine->node->names[index].name,
    };
    return &strategy->timed;
}

static bool describe(const void *user, const struct node_id *node,
                     struct coordinator_traits *traits)
{
    const struct control *control = user;
    const struct member_view *view = member_find(control->member, node);
    const struct traits *from;

    if (!view)
        return false;
    from = view->profile->traits;
    *traits = (struct coordinator_traits){ from->app_version,
                                           from->data_center, from->roles,
                                           from->role_count };
    return true;
}

void control_allocation_options(struct control *control, uint32_t index,
                                struct coordinator_options *options)
{
    const struct node_settings *from = control->machine->settings;
    struct control_type *type = &control->types[index];
    uint64_t life;

    options->settings.allocation =
        control->machine->node->names[index].allocation;
    options->settings.hashing_limit = from->hashing_limit;
    options->settings.load_bound = from->load_bound;
    options->strategy = strategy_of(control, index);
    options->describe = describe;
    options->user = control;
    life = control->machine->self->node.uid + ++type->coordinators;
    options->requests = (uint64_t)index << TYPE_SHIFT |
                        (life & LIFE_MASK) << LIFE_SHIFT;
}

void control_allocation_answer(struct control *control, struct slice bytes)
{
    struct machine *machine = control->machine;
    struct coordinator *coordinator = NULL;
    struct allocation_call call;
    struct coordinator_choice choice;

    allocation_call_read(&call, bytes);
    choice = (struct coordinator_choice){ call.has_region ? &call.region : NULL,
                                          call.shards, call.shard_count };
    if (call.request >> TYPE_SHIFT < control->type_count)
        coordinator = control->types[call.request >> TYPE_SHIFT].coordinator;
    if (coordinator) {
        turn_stir(&control->turn);
        coordinator_answer(coordinator, machine->now, call.request, &choice,
                           &machine->outbox);
    }
    allocation_call_fini(&call);
}

/* ---- locations ---- */

void control_locations_begin(struct control *control, uint32_t index)
{
    struct machine *machine = control->machine;
    const struct type_names *names = &machine->node->names[index];
    struct replicator *replicator;
    struct buf key = { 0 };

    if (names->allocation != ALLOCATION_EXTERNAL)
        return;
    if (!data_has_role(control)) {
        trace_put(machine->trace, TRACE_WARNING, "coordinator",
                  "locations of shards are unknown here: this node has no "
                  "replica of distributed data type=%s role=%s "
                  "hint=\"give the nodes that host the type this role\"",
                  names->name, machine->settings->data_role);
        return;
    }
    shard_locations_key_put(control, index, &key);
    replicator = data_replicator(control);
    shard_locations_take(control->types[index].coordinator,
                         replicator_look(replicator, buf_slice(&key)));
    if (!replicator_subscribe(replicator, SHARD_LOCATIONS_TOKEN | index,
                              buf_slice(&key)))
        trace_put(machine->trace, TRACE_ERROR, "coordinator",
                  "locations of shards not followed: distributed data has too "
                  "many subscribers type=%s hint=\"use fewer entity types\"",
                  names->name);
    control->data.is_stirred = true;
    buf_fini(&key);
}

void control_locations_end(struct control *control, uint32_t index)
{
    struct buf key = { 0 };

    if (control->machine->node->names[index].allocation != ALLOCATION_EXTERNAL ||
        !control->data.replicator)
        return;
    shard_locations_key_put(control, index, &key);
    replicator_unsubscribe(control->data.replicator, SHARD_LOCATIONS_TOKEN | index,
                           buf_slice(&key));
    buf_fini(&key);
}
