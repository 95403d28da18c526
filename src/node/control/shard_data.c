/* Stores coordinators' states in distributed data: from a coordinator's request to its replicator,
 * and back. */
#include "node/control/shard_data.h"

#include "base/check.h"
#include "base/mark.h"
#include "node/control/control.h"
#include "shard/stored.h"

#define ELEMENTS 5 /* akka.cluster.sharding.distributed-data.max-delta-elements: values are large */
#define CAP 5      /* akka.cluster.sharding.distributed-data.majority-min-cap */
#define WRITE_PLUS 3
#define READ_PLUS 5

/* A call for one of a coordinator's two keys. */
struct kept_call {
    uint32_t type;
    uint64_t life;
    uint64_t ticket;
    bool is_read;
    bool is_fences;
};

/* ---- replicators ---- */

static const char *role_of(const struct control *control, uint32_t type)
{
    const char *role = control->machine->settings->types[type].role;

    return role ? role : "";
}

/* As in Akka, only where entities are remembered. */
static bool is_durable(const struct control *control, const char *role)
{
    const struct machine *machine = control->machine;

    for (uint32_t i = 0; i < control->type_count; i++)
        if (machine->node->names[i].remembers_in_data &&
            strcmp(role_of(control, i), role) == 0)
            return machine->settings->shard_durable_key_count > 0;
    return false;
}

static void add_role(struct control *control, const char *role)
{
    struct shard_data *data = &control->shard_data;
    struct shard_replicator of = { .role = role };

    for (uint32_t i = 0; i < data->replicators.count; i++)
        if (strcmp(data->replicators.items[i].role, role) == 0)
            return;
    sharding_replicator_path_put(&of.path, control->machine->settings->guardian, role);
    buf_put_u8(&of.path, 0);
    of.is_durable = is_durable(control, role);
    vec_push(&data->replicators, of);
}

void shard_data_init(struct control *control)
{
    const struct node_settings *settings = control->machine->settings;

    add_role(control, "");
    for (uint32_t i = 0; i < settings->role_count; i++)
        add_role(control, settings->roles[i]);
}

void shard_data_fini(struct control *control)
{
    struct shard_data *data = &control->shard_data;
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&data->calls, &at, &entry);)
        mem_free(entry.value);
    map_fini(&data->calls);
    for (uint32_t i = 0; i < data->replicators.count; i++) {
        replicator_free(data->replicators.items[i].replicator);
        buf_fini(&data->replicators.items[i].path);
    }
    vec_fini(&data->replicators);
    for (uint32_t i = 0; i < control->type_count; i++) {
        buf_fini(&control->types[i].state_store.state);
        buf_fini(&control->types[i].state_store.fences);
    }
}

static void stir(struct control *control, struct shard_replicator *of)
{
    of->is_stirred = true;
    control->shard_data.is_stirred = true;
    control->shard_data.due = 0;
}

/* Adds a member with the role, if there is one. */
static void tell_peer(struct control *control, struct shard_replicator *of,
                      const struct member_view *view)
{
    struct machine *machine = control->machine;
    struct member_info peer = control_peer_of_all(control, view);

    peer.has_role = member_has_role(view, of->role) &&
                    strcmp(view->profile->traits->data_center,
                           machine->settings->data_center) == 0;
    stir(control, of);
    replicator_peer(of->replicator, machine->now, &peer);
}

static struct replicator *replicator_of(struct control *control,
                                        struct shard_replicator *of)
{
    struct machine *machine = control->machine;
    struct replicator_options options = {
        .identity = machine->self,
        .path = (const char *)of->path.data,
        .settings = machine->settings->sharding_data,
        .writer = &control->data.writer,
        .trace = machine->trace,
        .room = &control->data_room,
    };

    if (of->replicator)
        return of->replicator;
    if (of->is_durable) {
        options.durable_keys = machine->settings->shard_durable_keys;
        options.durable_key_count = machine->settings->shard_durable_key_count;
    }
    if (!options.settings.max_delta_elements) { /* no settings: Akka's */
        options.settings.max_delta_elements = ELEMENTS;
        options.settings.prefer_oldest = true;
    }
    options.seed = machine->settings->seed ^ machine->self->node.uid ^
                   (UINT64_C(0x54a4d) +
                    (uint64_t)(of - control->shard_data.replicators.items));
    of->replicator = replicator_new(&options, machine->now);
    for (uint32_t i = 0; i < member_count(control->member); i++)
        tell_peer(control, of, member_at(control->member, i));
    return of->replicator;
}

void shard_data_peer(struct control *control, const struct member_view *view)
{
    struct shard_data *data = &control->shard_data;

    for (uint32_t i = 0; i < data->replicators.count; i++)
        if (data->replicators.items[i].replicator)
            tell_peer(control, &data->replicators.items[i], view);
}

void shard_data_peer_removed(struct control *control,
                             const struct node_id *node)
{
    struct shard_data *data = &control->shard_data;

    for (uint32_t i = 0; i < data->replicators.count; i++) {
        struct shard_replicator *of = &data->replicators.items[i];

        if (!of->replicator)
            continue;
        stir(control, of);
        replicator_peer_removed(of->replicator, control->machine->now, node);
    }
}

bool shard_data_receive(struct control *control, const struct inbound *inbound)
{
    struct machine *machine = control->machine;
    struct shard_data *data = &control->shard_data;
    struct slice to = inbound->recipient;

    if (inbound->serializer != REPLICATOR_SERIALIZER)
        return false;
    for (uint32_t i = 0; i < data->replicators.count; i++) {
        struct shard_replicator *of = &data->replicators.items[i];
        size_t size = of->path.size - 1;

        if (to.size < size || memcmp(to.data, of->path.data, size) != 0 ||
            (to.size > size && to.data[size] != '/'))
            continue;
        (void)replicator_of(control, of);
        stir(control, of);
        replicator_wall(of->replicator, machine->wall_ms);
        replicator_receive(of->replicator, machine->now, inbound,
                           &machine->outbox);
        return true;
    }
    return false;
}

/* ---- requests of a coordinator ---- */

static struct shard_replicator *of_type(struct control *control, uint32_t type)
{
    struct shard_data *data = &control->shard_data;

    for (uint32_t i = 0; i < data->replicators.count; i++)
        if (strcmp(data->replicators.items[i].role,
                   role_of(control, type)) == 0)
            return &data->replicators.items[i];
    check_failed(__FILE__, __LINE__, "a coordinator has its type's role");
    return NULL;
}

struct replicator *shard_data_replicator(struct control *control, uint32_t type)
{
    struct shard_replicator *of = of_type(control, type);

    (void)replicator_of(control, of);
    stir(control, of);
    replicator_wall(of->replicator, control->machine->wall_ms);
    return of->replicator;
}

const struct replicator *machine_shard_data(const struct machine *machine)
{
    return machine->control->shard_data.replicators.items[0].replicator;
}

struct replicator *shard_data_durable(struct control *control, uint32_t index)
{
    struct shard_replicator *of =
        &control->shard_data.replicators.items[index];

    if (!of->is_durable)
        return NULL;
    stir(control, of);
    (void)replicator_of(control, of);
    replicator_wall(of->replicator, control->machine->wall_ms);
    return of->replicator;
}

struct consistency shard_data_majority(const struct control *control,
                                       uint64_t timeout_ms)
{
    uint32_t cap = control->machine->settings->state_majority_min;

    return (struct consistency){
        .level = CONSISTENCY_MAJORITY,
        .cap_min = cap ? cap : CAP,
        .timeout_ms = timeout_ms,
    };
}

static struct consistency consistency_of(const struct control *control,
                                         const struct coordinator_request *request)
{
    const struct node_settings *settings = control->machine->settings;
    bool is_read = request->kind == COORDINATOR_REQUEST_READ;
    uint32_t plus = is_read ? settings->state_read_plus
                            : settings->state_write_plus;

    if (!plus)
        plus = is_read ? READ_PLUS : WRITE_PLUS;
    return (struct consistency){
        .level = plus == STATE_ALL || request->to_all ? CONSISTENCY_ALL
                                   : CONSISTENCY_MAJORITY_PLUS,
        .count = plus == STATE_ALL || plus == STATE_NONE ? 0 : plus,
        .cap_min = settings->state_majority_min ? settings->state_majority_min
                                                : CAP,
        .timeout_ms = request->timeout_ms,
    };
}

/* Takes a register's value. One of another kind is no state, and is refused. */
static void take_state(struct buf *bytes, bool is_fences,
                       const struct dd_value *value)
{
    struct dd_other state = dd_register_get(value);

    buf_clear(bytes);
    if (is_fences ? state.serializer == STORED_FENCES_SERIALIZER
                  : state.serializer == SHARDING_SERIALIZER &&
                        slice_is(state.manifest, STORED_STATE_MANIFEST))
        buf_put_slice(bytes, state.bytes);
    else
        buf_put_u8(bytes, 0);
}

/* ---- values of other nodes ---- */

static bool is_known(const struct known_value *known,
                     const struct dd_value *value)
{
    return node_equal(&known->node, dd_register_node(value)) &&
           known->timestamp == dd_register_timestamp(value);
}

static void know(struct known_value *known, const struct dd_value *value)
{
    *known = (struct known_value){ .timestamp = 0 };
    if (value && dd_kind_of(value) == DD_REGISTER)
        *known = (struct known_value){ *dd_register_node(value),
                                       dd_register_timestamp(value) };
}

/* Reports a value of a replica that missed the read: it has a term and fences that the coordinator
 * does not know. */
static void look_for_other_state(struct control *control, uint32_t type,
                             bool is_fences, const struct dd_value *value)
{
    struct machine *machine = control->machine;
    struct coordinator *coordinator = control->types[type].coordinator;
    struct state_calls *state_store = &control->types[type].state_store;
    struct buf fences = { 0 };

    if (!coordinator || !state_store->is_read || !value ||
        dd_kind_of(value) != DD_REGISTER ||
        is_known(&state_store->known[is_fences], value))
        return;
    know(&state_store->known[is_fences], value);
    if (is_fences)
        take_state(&fences, is_fences, value);
    turn_stir(&control->turn);
    coordinator_other_state(coordinator, machine->now, buf_slice(&fences),
                        &machine->outbox);
    buf_fini(&fences);
}

/* ---- reads and writes ---- */

static void read_key(struct control *control, struct shard_replicator *of,
                     uint64_t token, struct slice key,
                     const struct consistency *consistency)
{
    struct machine *machine = control->machine;

    replicator_get(of->replicator, machine->now, token, key, consistency,
                   &machine->outbox);
}

/* Writes with a later time than the present value. */
static void write_key(struct control *control, struct shard_replicator *of,
                      uint64_t token, const struct kept_call *call,
                      struct slice key, struct dd_other state,
                      const struct consistency *consistency)
{
    struct machine *machine = control->machine;
    const struct dd_value *current;
    int64_t time = machine->wall_ms;

    /* answered, or refused until the durable keys are loaded: a read, which waits for them, comes
     * first */
    if (replicator_update_begin(of->replicator, machine->now, token, key,
                                &current,
                                &machine->outbox) != REPLICATOR_MODIFY)
        return;
    /* No time is later than the last one: the old value would stay, and this write would be
     * confirmed. */
    if (current && (dd_kind_of(current) != DD_REGISTER ||
                    dd_register_timestamp(current) == INT64_MAX)) {
        replicator_update_fail(of->replicator, machine->now, token, key,
                               &machine->outbox);
        return;
    }
    look_for_other_state(control, call->type, call->is_fences, current);
    if (current && dd_register_timestamp(current) >= time)
        time = dd_register_timestamp(current) + 1;
    replicator_update(of->replicator, machine->now, token, key,
                      dd_register_new(&machine->self->node, state, time,
                                      DD_CLOCK_LAST),
                      consistency, &machine->outbox);
    know(&control->types[call->type].state_store.known[call->is_fences],
         replicator_look(of->replicator, key));
}

static void key_put(const struct control *control, struct buf *key,
                    uint32_t type, bool is_fences)
{
    const char *name = control->machine->node->names[type].name;

    if (is_fences)
        stored_fences_key_put(key, name);
    else
        stored_state_key_put(key, name);
}

static void call(struct control *control, uint32_t type,
                 const struct coordinator_request *request, bool is_fences)
{
    struct shard_data *data = &control->shard_data;
    struct shard_replicator *of = of_type(control, type);
    struct consistency consistency = consistency_of(control, request);
    struct kept_call *call = mem_alloc(sizeof *call);
    uint64_t token = ++data->token;
    struct buf key = { 0 };

    *call = (struct kept_call){
        .type = type,
        .life = control->types[type].state_store.life,
        .ticket = request->ticket,
        .is_read = request->kind == COORDINATOR_REQUEST_READ,
        .is_fences = is_fences,
    };
    (void)map_put(&data->calls, map_u64(&token), call);
    key_put(control, &key, type, is_fences);
    if (call->is_read)
        read_key(control, of, token, buf_slice(&key), &consistency);
    else if (is_fences)
        write_key(control, of, token, call, buf_slice(&key),
                  (struct dd_other){ .serializer = STORED_FENCES_SERIALIZER,
                                     .bytes = request->fences },
                  &consistency);
    else
        write_key(control, of, token, call, buf_slice(&key),
                  (struct dd_other){ .serializer = SHARDING_SERIALIZER,
                                     .manifest =
                                         slice_text(STORED_STATE_MANIFEST),
                                     .bytes = request->state },
                  &consistency);
    buf_fini(&key);
}

/* Each subscriber has one key. */
static uint64_t follower(uint32_t type, bool is_fences)
{
    return 2 * (uint64_t)type + is_fences;
}

void shard_data_begin(struct control *control, uint32_t type)
{
    struct state_calls *state_store = &control->types[type].state_store;
    struct shard_replicator *of = of_type(control, type);
    struct replicator *replicator = replicator_of(control, of);

    stir(control, of);
    state_store->life++;
    state_store->open = 0;
    state_store->is_read = false;
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t token = follower(type, i);
        struct buf key = { 0 };

        key_put(control, &key, type, i);
        replicator_unsubscribe(replicator, token, buf_slice(&key)); /* of the coordinator before */
        if (!replicator_subscribe(replicator, token, buf_slice(&key)))
            trace_put(control->machine->trace, TRACE_ERROR, "coordinator",
                      "state of the coordinator not followed: distributed data "
                      "has too many subscribers type=%s "
                      "hint=\"use fewer entity types\"",
                      control->machine->node->names[type].name);
        buf_fini(&key);
    }
}

void shard_data_requests(struct control *control, uint32_t type)
{
    struct state_calls *state_store = &control->types[type].state_store;
    struct coordinator *coordinator = control->types[type].coordinator;
    struct coordinator_request request;
    bool is_write;

    while (coordinator && coordinator_requests(coordinator, &is_write) &&
           !(is_write && turn_delays_writes(&control->turn, control->machine->now,
                                            member_has_news(control->member))) &&
           turn_may_walk(&control->turn, member_count(control->member)) &&
           coordinator_next_request(coordinator, &request)) {
        bool has_state, has_fences;

        (void)shard_data_replicator(control, type);
        has_state = request.kind == COORDINATOR_REQUEST_READ || request.state.size;
        has_fences = request.kind == COORDINATOR_REQUEST_READ || request.fences.size;
        state_store->ticket = request.ticket;
        state_store->open = (uint32_t)has_state + has_fences;
        /* each call goes to most of them */
        turn_walked(&control->turn, state_store->open * member_count(control->member));
        state_store->is_good = true;
        buf_clear(&state_store->state);
        buf_clear(&state_store->fences);
        if (has_state)
            call(control, type, &request, false);
        if (has_fences)
            call(control, type, &request, true);
    }
}

/* ---- answers ---- */

/* No write replaces a value of another type or a deleted one: neither is an empty state. */
static bool is_usable(const struct dd_value *value)
{
    return value && dd_kind_of(value) == DD_REGISTER;
}

static void take_answer(struct state_calls *state_store,
                        const struct kept_call *call,
                        const struct replicator_news *news)
{
    switch (news->answer) {
    case REPLICATOR_SUCCESS:
        if (!call->is_read)
            break;
        know(&state_store->known[call->is_fences], news->value);
        if (is_usable(news->value))
            take_state(call->is_fences ? &state_store->fences : &state_store->state,
                       call->is_fences, news->value);
        else
            state_store->is_good = false;
        break;
    case REPLICATOR_NOT_FOUND:
        know(&state_store->known[call->is_fences], NULL);
        break;
    case REPLICATOR_DELETED: /* after a read: it will never have a value */
    case REPLICATOR_GET_FAILURE:
    case REPLICATOR_UPDATE_TIMEOUT:
    case REPLICATOR_DELETE_FAILURE:
    case REPLICATOR_STORE_FAILURE:
    case REPLICATOR_MODIFY_FAILURE:
    case REPLICATOR_TOO_LARGE:
    case REPLICATOR_HELD: /* of users' keys only */
    case REPLICATOR_FULL:
    case REPLICATOR_STOPPED:
        state_store->is_good = false;
        break;
    }
}

static void trace_failure(struct control *control,
                          const struct kept_call *call,
                          const struct replicator_news *news)
{
    switch (news->answer) {
    case REPLICATOR_SUCCESS:
        if (call->is_read && !is_usable(news->value))
            trace_put(control->machine->trace, TRACE_ERROR, "coordinator",
                      "key of the coordinator's state has another type until "
                      "all members with the role have stopped type=%s key=%s "
                      "hint=\"stop all of them, then start them again\"",
                      control->machine->node->names[call->type].name,
                      call->is_fences ? "fences" : "state");
        return;
    case REPLICATOR_NOT_FOUND:
    case REPLICATOR_GET_FAILURE: /* logged by the coordinator */
    case REPLICATOR_UPDATE_TIMEOUT:
        return;
    default:
        trace_put(control->machine->trace, TRACE_ERROR, "coordinator",
                  "distributed data refuses the state of the coordinator "
                  "type=%s key=%s answer=%s "
                  "hint=\"see the lines of module ddata\"",
                  control->machine->node->names[call->type].name,
                  call->is_fences ? "fences" : "state",
                  replicator_answer_text(news->answer));
    }
}

static void answer(struct control *control, const struct replicator_news *news)
{
    struct machine *machine = control->machine;
    struct kept_call *call =
        map_take(&control->shard_data.calls, map_u64(&news->token));
    struct control_type *type;
    struct state_calls *state_store;

    check(call != NULL);
    type = &control->types[call->type];
    state_store = &type->state_store;
    trace_failure(control, call, news);
    if (type->coordinator && call->life == state_store->life &&
        call->ticket == state_store->ticket) {
        take_answer(state_store, call, news);
        if (!--state_store->open) {
            turn_stir(&control->turn);
            state_store->is_read |= call->is_read && state_store->is_good;
            if (call->is_read)
                coordinator_read(type->coordinator, machine->now, call->ticket,
                                 state_store->is_good, buf_slice(&state_store->state),
                                 buf_slice(&state_store->fences),
                                 &machine->outbox);
            else
                coordinator_written(type->coordinator, machine->now,
                                    call->ticket, state_store->is_good,
                                    &machine->outbox);
        }
    } else {
        REACHED("distributed data answers a coordinator that has ended or asked again");
    }
    mem_free(call);
}

/* An update waited for durable keys: the coordinator requests it again. */
static void refuse_update(struct control *control, uint32_t index,
                          uint64_t token, struct slice key)
{
    struct machine *machine = control->machine;
    struct replicator *replicator =
        control->shard_data.replicators.items[index].replicator;
    struct buf own = { 0 }; /* the event's is lent until the next call */
    const struct dd_value *current;

    buf_put_slice(&own, key);
    if (replicator_update_begin(replicator, machine->now, token,
                                buf_slice(&own), &current,
                                &machine->outbox) == REPLICATOR_MODIFY)
        replicator_update_fail(replicator, machine->now, token,
                               buf_slice(&own), &machine->outbox);
    buf_fini(&own);
}

static void take_news(struct control *control, uint32_t index,
                      const struct replicator_news *news)
{
    switch (news->kind) {
    case REPLICATOR_NEWS_ANSWER:
        if (remember_data_has(news->token))
            remember_data_answer(control, news);
        else
            answer(control, news);
        break;
    case REPLICATOR_NEWS_MODIFY:
        if (remember_data_has(news->token))
            remember_data_modify(control, news->token);
        else
            refuse_update(control, index, news->token, news->key);
        break;
    case REPLICATOR_NEWS_STORE:
        data_durable_put(control, index + 1, news);
        break;
    case REPLICATOR_NEWS_CHANGED:
        if (remember_data_has(news->token)) {
            remember_follow_news(control, news);
            break;
        }
        look_for_other_state(control, (uint32_t)(news->token / 2), news->token % 2,
                         news->value);
        break;
    case REPLICATOR_NEWS_REMOVED:
    case REPLICATOR_NEWS_EXPIRED: /* no key here expires */
    case REPLICATOR_NEWS_FORGET:
    case REPLICATOR_NEWS_ENDED:
        break;
    }
}

static uint64_t first_due(const struct shard_data *data)
{
    uint64_t first = NEVER;

    for (uint32_t i = 0; i < data->replicators.count; i++) {
        const struct replicator *replicator =
            data->replicators.items[i].replicator;
        uint64_t due = replicator ? replicator_deadline(replicator) : NEVER;

        first = due < first ? due : first;
    }
    return first;
}

/* The deadline is computed only after a replicator had something to do. */
void shard_data_wire(struct control *control)
{
    struct shard_data *data = &control->shard_data;
    struct replicator_news news;

    if (!data->is_stirred)
        return;
    data->is_stirred = false;
    for (uint32_t i = 0; i < data->replicators.count; i++) {
        struct shard_replicator *of = &data->replicators.items[i];

        if (!of->is_stirred)
            continue;
        of->is_stirred = false;
        while (replicator_next_news(of->replicator, &news))
            take_news(control, i, &news);
    }
    data_durable_wire(control);
    if (!data->is_stirred)
        data->due = first_due(data);
}

void shard_data_step(struct control *control)
{
    struct machine *machine = control->machine;
    struct shard_data *data = &control->shard_data;

    if (data->due > machine->now)
        return;
    for (uint32_t i = 0; i < data->replicators.count; i++) {
        struct shard_replicator *of = &data->replicators.items[i];

        if (!of->replicator ||
            replicator_deadline(of->replicator) > machine->now)
            continue;
        stir(control, of);
        replicator_wall(of->replicator, machine->wall_ms);
        replicator_step(of->replicator, machine->now, &machine->outbox);
    }
    if (!data->is_stirred)
        data->due = first_due(data);
}

uint64_t shard_data_deadline(const struct control *control)
{
    const struct shard_data *data = &control->shard_data;

    return data->due ? data->due : first_due(data);
}
