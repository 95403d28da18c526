/* Keeps remembered entities in distributed data, on control (remember_data.h). */
#include "node/control/remember_data.h"

#include "base/check.h"
#include "base/mark.h"
#include "base/probe.h"
#include "node/control/control.h"
#include "shard/remember_keys.h"
#include "shard/shard_id.h"

#define READ_TIMEOUT (2 * SECOND) /* akka.cluster.sharding.waiting-for-state-timeout */
#define WRITE_TIMEOUT (5 * SECOND) /* akka.cluster.sharding.updating-state-timeout */
#define WRITE_TRIES 4 /* of one key, in that time */
#define TRY_LONGEST (5 * SECOND) /* unless updating-state-timeout is longer */
#define DOUBLINGS_MAX 16
#define READ_FAILURES_MAX 15 /* of all keys of a shard, then its set is read anew */
#define READ_AGAIN SECOND /* after a failed read of a type's shards */
#define ID_SIZE_MAX 255
#define QUEUE_KEPT 64   /* entries kept when none waits */

/* A token has REMEMBER_TOKEN, the call's number, and the key in the lowest three bits. A number has
 * the caller (a lane, or the coordinators), then the caller's own number. */
#define KEY_BITS 3
#define TICKET_BITS 52
#define SHARDS_KEY REMEMBER_KEYS /* the type's set of shards */

_Static_assert(REMEMBER_KEYS < 1 << KEY_BITS, "a key and the set of shards");
_Static_assert(LANES_MAX < 1 << (63 - KEY_BITS - TICKET_BITS),
               "a lane, or coordinators");

enum call_kind { CALL_READ, CALL_STORE, CALL_LIST };

struct remember_call {
    enum call_kind kind;
    uint64_t number;
    uint64_t ticket; /* the lane's; LIST: the coordinator's number (state_calls.life) */
    uint32_t lane;
    uint32_t type;
    int32_t shard;
    uint32_t open; /* missing answers */
    bool is_given_up;
    const char *why; /* of a failure, or null */
    struct buf records; /* STORE: changes */
    struct buf ids;     /* READ: found; STORE: refused; each with its size */
    uint64_t id_count;
    uint64_t strange; /* found, but no ids of entities */
    uint64_t sent_at[REMEMBER_KEYS + 1]; /* STORE: time of the last try */
    uint8_t tries[REMEMBER_KEYS + 1];
    uint8_t read_failures;
    bool stops_only[REMEMBER_KEYS + 1]; /* its starts are refused */
};

static uint64_t number_of(uint32_t lane, uint64_t ticket)
{
    return (uint64_t)lane << TICKET_BITS | ticket;
}

static uint64_t token_of(const struct remember_call *call, uint32_t index)
{
    return REMEMBER_TOKEN | call->number << KEY_BITS | index;
}

bool remember_data_has(uint64_t token)
{
    return (token & REMEMBER_TOKEN) != 0;
}

static struct remember_call *call_of(struct control *control, uint64_t token,
                                     uint32_t *index)
{
    uint64_t number = (token & ~REMEMBER_TOKEN) >> KEY_BITS;
    struct remember_call *call =
        map_get(&control->remember_data.calls, map_u64(&number));

    *index = (uint32_t)(token & ((1 << KEY_BITS) - 1));
    check(call != NULL);
    return call;
}

static struct remember_call *call_new(struct control *control, uint32_t lane,
                                      uint64_t ticket)
{
    struct remember_call *call = mem_alloc(sizeof *call);

    call->lane = lane;
    call->number = number_of(lane, ticket);
    call->ticket = ticket;
    (void)map_put(&control->remember_data.calls, map_u64(&call->number),
                  call);
    return call;
}

static void call_free(struct remember_call *call)
{
    buf_fini(&call->records);
    buf_fini(&call->ids);
    mem_free(call);
}

void remember_data_init(struct control *control)
{
    read_window_init(&control->remember_data.window);
}

void remember_data_fini(struct control *control)
{
    struct map_entry entry;

    for (uint32_t at = 0;
         map_next(&control->remember_data.calls, &at, &entry);)
        call_free(entry.value);
    map_fini(&control->remember_data.calls);
    vec_fini(&control->remember_data.queue);
    for (uint32_t i = 0; i < control->type_count; i++)
        vec_fini(&control->types[i].remembering.listed);
}

static const char *name_of(const struct control *control, uint32_t type)
{
    return control->machine->node->names[type].name;
}

static void key_put(const struct control *control,
                    const struct remember_call *call, uint32_t index,
                    struct buf *key)
{
    char text[SHARD_TEXT_MAX];

    if (index == SHARDS_KEY)
        remember_shards_key_put(key, name_of(control, call->type));
    else
        remember_key_put(key, name_of(control, call->type),
                         shard_name(shard_names_of(control, call->type), call->shard, text),
                         index);
}

/* ---- the end of a call ---- */

static void answer_lane(struct control *control,
                        const struct remember_call *call)
{
    struct mail_content content;
    struct buf *record = NULL;

    if (call->is_given_up) {
        REACHED("distributed data answers for a shard that has ended");
        return;
    }
    if (call->id_count && !call->why) {
        record = mem_alloc(sizeof *record);
        remember_starts_put(record, buf_slice(&call->ids), call->id_count);
    }
    content = mail_for_shard(
        call->type, call->shard,
        MAIL(remembered, .ticket = call->ticket, .reason = call->why,
             .verb = call->kind == CALL_READ ? REMEMBER_READ : REMEMBER_STORE,
             .own = { record }));
    outputs_post(&control->machine->outputs, call->lane + 1, &content);
}

static void listed(struct control *control, struct remember_call *call)
{
    struct machine *machine = control->machine;
    struct control_type *type = &control->types[call->type];
    struct cursor ids = cursor_of(buf_slice(&call->ids));
    struct remembered_shards counts = { 0 };

    if (!type->coordinator || type->state_store.life != call->ticket)
        return;
    if (call->why) {
        trace_put(machine->trace, TRACE_WARNING, "coordinator",
                  "shards with remembered entities could not be read, retrying "
                  "type=%s why=\"%s\" "
                  "hint=\"check that the members with the role are reachable\"",
                  name_of(control, call->type), call->why);
        control->remember_data.waiting += !type->remembering.read_at;
        type->remembering.read_at = machine->now + READ_AGAIN;
        return;
    }
    for (uint64_t i = 0; i < call->id_count; i++)
        control_remembered(control, call->type,
                           cursor_slice(&ids, cursor_u8(&ids)), 0, &counts);
    control_remembered_all(control, call->type, &counts);
    coordinator_step(type->coordinator, machine->now, &machine->outbox);
    turn_stir(&control->turn);
}

static void leave_probe(struct control *control, enum probe_kind kind,
                        const struct remember_call *call)
{
    struct probe probe = { .kind = kind,
                           .type = (uint16_t)call->type,
                           .shard = call->shard,
                           .bytes = buf_slice(&call->records) };

    probes_put(control->machine->probes, &probe);
}

static void end(struct control *control, struct remember_call *call)
{
    (void)map_take(&control->remember_data.calls, map_u64(&call->number));
    if (call->strange)
        trace_put(control->machine->trace, TRACE_WARNING, "shard",
                  "remembered entities ignored: an id is a text of 1 to %d "
                  "bytes type=%s shard=%d count=%llu "
                  "hint=\"use such ids on all nodes\"",
                  ID_SIZE_MAX, name_of(control, call->type), call->shard,
                  (unsigned long long)call->strange);
    if (call->kind == CALL_STORE && !call->why && !call->id_count)
        leave_probe(control, PROBE_REMEMBER_STORED, call);
    if (call->kind == CALL_LIST)
        listed(control, call);
    else
        answer_lane(control, call);
    call_free(call);
}

static void answered(struct control *control, struct remember_call *call)
{
    if (--call->open == 0)
        end(control, call);
}

/* ---- reads ---- */

static void read_key(struct control *control, const struct remember_call *call,
                     uint32_t index)
{
    struct machine *machine = control->machine;
    uint64_t time = machine->settings->waiting_for_state_timeout;
    struct consistency majority =
        shard_data_majority(control, (time ? time : READ_TIMEOUT) / MS);
    struct buf key = { 0 };

    key_put(control, call, index, &key);
    replicator_get(shard_data_replicator(control, call->type), machine->now,
                   token_of(call, index), buf_slice(&key), &majority,
                   &machine->outbox);
    buf_fini(&key);
}

/* Begins waiting reads, as far as the window allows. */
static void read_next(struct control *control)
{
    struct remember_data *data = &control->remember_data;

    while (data->head < data->queue.count &&
           read_window_has_room(&data->window)) {
        uint64_t token = data->queue.items[data->head++];
        uint32_t index;
        struct remember_call *call = call_of(control, token, &index);

        if (call->is_given_up) {
            REACHED("a shard ends before its remembered entities are read");
            call->why = "given up";
            answered(control, call);
            continue;
        }
        read_window_begin(&data->window);
        read_key(control, call, index);
    }
    if (data->head < data->queue.count / 2 + 1)
        return;
    data->queue.count -= data->head;
    if (data->queue.count)
        memmove(data->queue.items, data->queue.items + data->head,
                data->queue.count * sizeof *data->queue.items);
    else
        vec_empty(&data->queue, QUEUE_KEPT);
    data->head = 0;
}

static void read_later(struct control *control,
                       const struct remember_call *call, uint32_t index)
{
    vec_push(&control->remember_data.queue, token_of(call, index));
}

static void begin_read(struct control *control, struct remember_call *call)
{
    call->kind = CALL_READ;
    call->open = REMEMBER_KEYS;
    for (uint32_t i = 0; i < REMEMBER_KEYS; i++)
        read_later(control, call, i);
    read_next(control);
}

static void read_shards(struct control *control, uint32_t type)
{
    struct remember_call *call =
        call_new(control, LANES_MAX, ++control->remember_data.number);

    call->kind = CALL_LIST;
    call->type = type;
    call->ticket = control->types[type].state_store.life;
    call->open = 1;
    read_key(control, call, SHARDS_KEY);
}

void remember_data_list(struct control *control, uint32_t type)
{
    if (!control->machine->node->names[type].remembers_in_data)
        return;
    read_shards(control, type);
}

uint64_t remember_data_ids(struct buf *ids, const struct dd_value *set,
                           uint64_t *strange)
{
    struct dd_element element;
    uint64_t count = 0;

    for (uint32_t at = 0; dd_set_next(set, &at, &element);) {
        if (element.kind != DD_TEXT || !element.text.size ||
            element.text.size > ID_SIZE_MAX) {
            ++*strange;
            continue;
        }
        buf_put_u8(ids, (uint8_t)element.text.size);
        buf_put_slice(ids, element.text);
        count++;
    }
    return count;
}

/* Returns true if the key is not finished. */
static bool take_read(struct control *control, struct remember_call *call,
                      uint32_t index, const struct replicator_news *news)
{
    enum dd_kind kind = call->kind == CALL_LIST ? DD_GSET : DD_ORSET;

    if (news->answer == REPLICATOR_NOT_FOUND)
        return false;
    if (news->answer == REPLICATOR_GET_FAILURE && call->kind == CALL_READ &&
        ++call->read_failures < READ_FAILURES_MAX && !call->is_given_up) {
        REACHED("remembered entities are read again: too few replicas answered");
        read_later(control, call, index);
        return true;
    }
    if (news->answer != REPLICATOR_SUCCESS || !news->value)
        call->why = news->answer == REPLICATOR_SUCCESS
                        ? replicator_answer_text(REPLICATOR_DELETED)
                        : replicator_answer_text(news->answer);
    else if (dd_kind_of(news->value) != kind)
        call->why = "a key has a value of another type";
    else
        call->id_count +=
            remember_data_ids(&call->ids, news->value, &call->strange);
    return false;
}

/* ---- writes ---- */

/* Whether a change is in that key. An id that is no text is in no key: no other node could read
 * it. */
static bool is_of_key(const struct remember_call *call, uint32_t index,
                      struct slice id, bool is_start)
{
    return remember_key_of(id) == index && text_is_valid(id) &&
           (!is_start || !call->stops_only[index]);
}

static void refuse_start(struct remember_call *call, struct slice id)
{
    buf_put_u8(&call->ids, (uint8_t)id.size);
    buf_put_slice(&call->ids, id);
    call->id_count++;
}

/* Returns the bytes that the changes add to the key at most. */
static size_t growth_max(const struct remember_call *call, uint32_t index)
{
    struct remember_changes changes =
        remember_changes_of(buf_slice(&call->records));
    size_t size = DD_SET_NODE_SIZE;
    struct slice id;
    bool is_start;

    if (index == SHARDS_KEY)
        return size + DD_SET_ITEM_SIZE + SHERD_SHARD_MAX;
    while (remember_changes_next(&changes, &id, &is_start))
        if (is_start && is_of_key(call, index, id, true))
            size += DD_SET_ITEM_SIZE + id.size;
    return size;
}

static void change(struct control *control, const struct remember_call *call,
                   uint32_t index, struct dd_value *set)
{
    struct remember_changes changes =
        remember_changes_of(buf_slice(&call->records));
    struct dd_element element = { .kind = DD_TEXT };
    char text[SHARD_TEXT_MAX];
    bool is_start;

    if (index == SHARDS_KEY) {
        element.text = shard_name(shard_names_of(control, call->type), call->shard, text);
        dd_gset_add(set, &element);
        return;
    }
    while (remember_changes_next(&changes, &element.text, &is_start)) {
        if (!is_of_key(call, index, element.text, is_start))
            continue;
        if (is_start)
            dd_orset_add(set, &control->data.writer, &element);
        else
            dd_orset_remove(set, &control->data.writer, &element);
    }
}

/* Returns the set to change, or a copy if the change may be refused; null: another type. */
static struct dd_value *set_of(struct replicator *replicator,
                               const struct remember_call *call,
                               uint32_t index, struct slice key,
                               const struct dd_value *current,
                               const struct consistency *majority)
{
    enum dd_kind kind = index == SHARDS_KEY ? DD_GSET : DD_ORSET;
    struct dd_value *set;

    if (!current)
        return dd_new(kind);
    if (dd_kind_of(current) != kind)
        return NULL;
    set = replicator_update_in_place(replicator, key, growth_max(call, index),
                                     majority);
    return set ? set : dd_copy(current);
}

static void update_key(struct control *control,
                       const struct remember_call *call, uint32_t index,
                       struct slice key, const struct consistency *majority)
{
    struct machine *machine = control->machine;
    struct replicator *replicator =
        shard_data_replicator(control, call->type);
    uint64_t token = token_of(call, index);
    const struct dd_value *current;
    struct dd_value *set;

    if (replicator_update_begin(replicator, machine->now, token, key, &current,
                                &machine->outbox) != REPLICATOR_MODIFY)
        return; /* answered, or it begins again with the durable keys */
    set = set_of(replicator, call, index, key, current, majority);
    if (!set) {
        replicator_update_fail(replicator, machine->now, token, key,
                               &machine->outbox);
        return;
    }
    change(control, call, index, set);
    replicator_update_made(replicator, machine->now, token, key, current, set,
                           majority, &machine->outbox);
}

/* The time doubles after each write that was too slow: a slow disk or network would never confirm
 * in time. */
static uint64_t try_time(const struct control *control)
{
    uint64_t time = control->machine->settings->updating_state_timeout;
    uint64_t first = (time ? time : WRITE_TIMEOUT) / WRITE_TRIES;
    uint64_t longest = first > TRY_LONGEST ? first : TRY_LONGEST;
    uint32_t doublings = control->remember_data.doublings;

    return first > longest >> doublings ? longest : first << doublings;
}

static void write_timed_out(struct control *control)
{
    if (control->remember_data.doublings < DOUBLINGS_MAX)
        control->remember_data.doublings++;
}

static void write_confirmed(struct control *control,
                            const struct remember_call *call, uint32_t index)
{
    if (control->remember_data.doublings &&
        control->machine->now - call->sent_at[index] < try_time(control) / 4)
        control->remember_data.doublings--;
}

static void write_key(struct control *control, struct remember_call *call,
                      uint32_t index)
{
    struct consistency majority =
        shard_data_majority(control, try_time(control) / MS);
    struct buf key = { 0 };

    call->sent_at[index] = control->machine->now;

    if (!majority.timeout_ms)
        majority.timeout_ms = 1;
    key_put(control, call, index, &key);
    update_key(control, call, index, buf_slice(&key), &majority);
    buf_fini(&key);
}

static bool *listed_of(struct control *control,
                       const struct remember_call *call)
{
    struct type_remembering *of = &control->types[call->type].remembering;
    uint32_t place = shard_place(call->shard);

    while (of->listed.count <= place)
        vec_push(&of->listed, false);
    return &of->listed.items[place];
}

static void begin_write(struct control *control, struct remember_call *call)
{
    struct remember_changes changes =
        remember_changes_of(buf_slice(&call->records));
    bool has[REMEMBER_KEYS + 1] = { false };
    struct slice id;
    bool is_start;

    call->kind = CALL_STORE;
    leave_probe(control, PROBE_REMEMBER_SENT, call);
    while (remember_changes_next(&changes, &id, &is_start))
        if (text_is_valid(id))
            has[remember_key_of(id)] = true;
        else if (is_start)
            refuse_start(call, id);
    if (call->id_count)
        trace_put(control->machine->trace, TRACE_ERROR, "shard",
                  "entities not started: distributed data keeps only ids that "
                  "are UTF-8; set remember-entities-store = eventsourced "
                  "type=%s shard=%d entities=%llu",
                  name_of(control, call->type), call->shard,
                  (unsigned long long)call->id_count);
    has[SHARDS_KEY] = !*listed_of(control, call);
    for (uint32_t i = 0; i <= REMEMBER_KEYS; i++)
        call->open += has[i];
    if (!call->open) {
        end(control, call);
        return;
    }
    for (uint32_t i = 0; i <= REMEMBER_KEYS; i++)
        if (has[i])
            write_key(control, call, i);
}

/* The key is full. Returns true if its stops are written alone. */
static bool refuse_starts(struct control *control, struct remember_call *call,
                          uint32_t index)
{
    struct remember_changes changes =
        remember_changes_of(buf_slice(&call->records));
    uint64_t before = call->id_count;
    bool has_stops = false;
    struct slice id;
    bool is_start;

    while (remember_changes_next(&changes, &id, &is_start)) {
        if (remember_key_of(id) != index)
            continue;
        has_stops = has_stops || !is_start;
        if (is_start && text_is_valid(id))
            refuse_start(call, id);
    }
    call->stops_only[index] = true;
    trace_put(control->machine->trace, TRACE_ERROR, "shard",
              "entities not started, or not remembered beyond this node: their "
              "key would be larger than a message; use more shards, or set "
              "remember-entities-store = eventsourced type=%s shard=%d key=%u "
              "entities=%llu",
              name_of(control, call->type), call->shard, index,
              (unsigned long long)(call->id_count - before));
    return has_stops;
}

/* Returns true if the key is not finished. */
static bool take_written(struct control *control, struct remember_call *call,
                         uint32_t index, enum replicator_answer answer)
{
    switch (answer) {
    case REPLICATOR_SUCCESS:
        write_confirmed(control, call, index);
        if (index == SHARDS_KEY)
            *listed_of(control, call) = true;
        return false;
    case REPLICATOR_UPDATE_TIMEOUT:
        if (++call->tries[index] < WRITE_TRIES && !call->is_given_up) {
            REACHED("remembered entities are written again: too few confirmed them");
            write_key(control, call, index);
            return true;
        }
        write_timed_out(control);
        break;
    case REPLICATOR_TOO_LARGE:
        if (index == SHARDS_KEY || call->stops_only[index])
            break;
        if (!refuse_starts(control, call, index))
            return false;
        write_key(control, call, index);
        return true;
    default:
        break;
    }
    call->why = replicator_answer_text(answer);
    return false;
}

void remember_data_answer(struct control *control,
                          const struct replicator_news *news)
{
    uint32_t index;
    struct remember_call *call = call_of(control, news->token, &index);
    bool was_queued = call->kind == CALL_READ;

    if (was_queued)
        read_window_end(&control->remember_data.window,
                        news->answer != REPLICATOR_GET_FAILURE);
    if (call->kind == CALL_STORE
            ? !take_written(control, call, index, news->answer)
            : !take_read(control, call, index, news))
        answered(control, call);
    if (was_queued)
        read_next(control);
}

void remember_data_modify(struct control *control, uint64_t token)
{
    uint32_t index;
    struct remember_call *call = call_of(control, token, &index);

    write_key(control, call, index);
}

/* ---- from lanes ---- */

void remember_data_mail(struct control *control, uint32_t lane,
                          const struct mail_content *content)
{
    const struct mail_remember *remember = mail_remember_of(content);
    uint64_t number = number_of(lane, remember->ticket);
    struct remember_call *call;

    if (remember->verb == REMEMBER_FOLLOW)
        return; /* see remember_events.h */
    if (remember->verb == REMEMBER_GIVE_UP) {
        call = map_get(&control->remember_data.calls, map_u64(&number));
        if (call)
            call->is_given_up = true;
        return;
    }
    call = call_new(control, lane, remember->ticket);
    call->type = content->type;
    call->shard = content->shard;
    if (remember->verb == REMEMBER_READ) {
        begin_read(control, call);
        return;
    }
    call->records = *remember->own.records;
    *remember->own.records = (struct buf){ 0 };
    begin_write(control, call);
}

/* ---- time ---- */

void remember_data_step(struct control *control)
{
    uint32_t count =
        control->remember_data.waiting ? control->type_count : 0;

    for (uint32_t i = 0; i < count; i++) {
        struct type_remembering *of = &control->types[i].remembering;

        if (!of->read_at || of->read_at > control->machine->now)
            continue;
        of->read_at = 0;
        control->remember_data.waiting--;
        if (control->types[i].coordinator)
            read_shards(control, i);
    }
}

uint64_t remember_data_deadline(const struct control *control)
{
    uint32_t count =
        control->remember_data.waiting ? control->type_count : 0;
    uint64_t deadline = NEVER;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = control->types[i].remembering.read_at;

        if (at && at < deadline)
            deadline = at;
    }
    return deadline;
}
