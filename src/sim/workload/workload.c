/* Creates a workload, draws its actions and bodies, and counts its results. */
#include <stdarg.h>
#include <stdio.h>

#include "actor/message.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/timers.h"
#include "sim/check/token.h"
#include "sim/seed/shard_text.h"
#include "sim/workload/workload_inside.h"

struct workload *workload_current;

#define X(name, text) text,
static const char *const op_texts[] = { WORKLOAD_OPS(X) };
#undef X
#define X(name, text, persists, stops, remembers) \
    { text, persists, stops, remembers },
static const struct {
    const char *text;
    bool persists;
    bool stops;
    bool remembers;
} types[] = { WORKLOAD_TYPES(X) };
#undef X

static const uint32_t usual[WORKLOAD_OP_COUNT] = {
    [WORKLOAD_TELL] = 400,    [WORKLOAD_ECHO] = 150, [WORKLOAD_COUNT] = 200,
    [WORKLOAD_PASSIVATE] = 40, [WORKLOAD_FAIL] = 20,  [WORKLOAD_STOP] = 30,
    [WORKLOAD_TIMER] = 40,    [WORKLOAD_WATCH] = 40, [WORKLOAD_TALK] = 78,
    [WORKLOAD_STORM] = 1,     [WORKLOAD_NARROW] = 1, [WORKLOAD_JOB] = 40,
};

const char *workload_op_text(enum workload_op op)
{
    return (unsigned)op < WORKLOAD_OP_COUNT ? op_texts[op] : "unknown";
}

const char *workload_type_text(uint32_t type)
{
    return types[type].text;
}

bool workload_type_persists(uint32_t type)
{
    return types[type].persists;
}

bool workload_type_remembers(uint32_t type)
{
    return types[type].remembers;
}

/* ---- lifetime ---- */

static uint32_t usual_types(void)
{
    uint32_t set = 0;

    for (uint32_t i = 0; i < WORKLOAD_TYPE_COUNT; i++)
        set |= types[i].remembers ? 0 : 1u << i;
    return set;
}

static void set_defaults(struct workload_settings *settings)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < WORKLOAD_OP_COUNT; i++)
        sum += settings->weights[i];
    if (!sum)
        memcpy(settings->weights, usual, sizeof usual);
    if (!(settings->types & ((1u << WORKLOAD_TYPE_COUNT) - 1)))
        settings->types = usual_types();
    settings->ids = settings->ids ? settings->ids : 100;
    settings->kept_ids = settings->kept_ids ? settings->kept_ids : 64;
    settings->clients = settings->clients ? settings->clients : 2;
    settings->interval_ms = settings->interval_ms ? settings->interval_ms : 100;
    settings->burst_max = settings->burst_max ? settings->burst_max : 4;
    settings->body_max = settings->body_max ? settings->body_max : 200;
    settings->ask_ms_max = settings->ask_ms_max ? settings->ask_ms_max : 10000;
    settings->storm = settings->storm ? settings->storm : 500;
    settings->shards = settings->shards ? settings->shards : 20;
    settings->slow_stop_ms = settings->slow_stop_ms ? settings->slow_stop_ms : 2000;
    settings->recoveries_max = settings->recoveries_max ? settings->recoveries_max : RECOVERIES_NODE;
    if (settings->body_max > SHERD_BODY_MAX - TOKEN_SIZE)
        settings->body_max = SHERD_BODY_MAX - TOKEN_SIZE;
}

static void add_type(struct workload *workload, uint32_t type)
{
    const struct workload_settings *settings = &workload->settings;
    struct sherd_entity_type *of = &workload->types[workload->type_count];
    enum allocation_kind kind = settings->allocations[workload->type_count];

    of->allocation = allocation_kind_text(kind);
    of->strategy = kind == ALLOCATION_CUSTOM ? settings->custom : NULL;
    workload->type_of[workload->type_count++] = (uint8_t)type;
    of->name = types[type].text;
    of->behavior = !types[type].persists     ? workload_entity_plain
                   : settings->event_versions ? workload_entity_checked
                                              : workload_entity_persistent;
    of->upcasts = &workload_upcast;
    of->upcast_count = types[type].persists && settings->event_versions;
    if (types[type].persists && settings->snapshot_every)
        workload_add_snapshots(&of->behavior, settings->snapshot_every);
    of->keep_snapshots = settings->snapshots_kept;
    of->delete_events = of->behavior.save && settings->snapshot_trims;
    of->keep_events = settings->snapshot_margin;
    of->behavior.name = types[type].text;
    of->shards = settings->shards;
    of->extractor = settings->extractor;
    of->stop_msg = types[type].stops ? STOP_MESSAGE : 0;
    of->remember = types[type].remembers;
    /* 0: never, for remembered types */
    of->idle_ms = types[type].remembers ? 0 : settings->idle_ms;
    of->mailbox_max = settings->mailbox_max;
    if (settings->type_strategies)
        of->passivation = workload_strategy(workload->type_count - 1u);
}

struct workload *workload_new(const struct workload_settings *settings,
                              const struct workload_hooks *hooks,
                              struct check_message *check)
{
    struct workload *workload = mem_alloc(sizeof *workload);

    check(!workload_current);
    check(hooks->violation && hooks->now);
    workload->settings = *settings;
    set_defaults(&workload->settings);
    workload->hooks = *hooks;
    workload->check = check;
    rng_init(&workload->rng, settings->seed);
    for (uint32_t i = 0; i < WORKLOAD_TYPE_COUNT; i++)
        if (!settings->has_no_types && workload->settings.types >> i & 1)
            add_type(workload, i);
    for (uint32_t i = 0; i < WORKLOAD_OP_COUNT; i++)
        workload->weights_sum += workload->settings.weights[i];
    calls_init(workload);
    workload_current = workload;
    return workload;
}

void workload_free(struct workload *workload)
{
    if (!workload)
        return;
    for (uint32_t i = 0; i < workload->clients.count; i++)
        client_free(workload->clients.items[i]);
    vec_fini(&workload->clients);
    for (uint32_t i = 0; i < workload->places.count; i++)
        mem_free(workload->places.items[i]);
    vec_fini(&workload->places);
    map_fini(&workload->by_uid);
    watched_fini(workload);
    calls_fini(workload);
    vec_fini(&workload->narrow);
    vec_fini(&workload->roll);
    buf_fini(&workload->body);
    mem_free(workload);
    workload_current = NULL;
}

const struct sherd_entity_type *workload_types(const struct workload *workload,
                                               uint32_t *count)
{
    *count = workload->type_count;
    return workload->types;
}

void workload_set_shards(struct workload *workload, uint32_t count)
{
    workload->settings.shards = count;
    for (uint32_t i = 0; i < workload->type_count; i++)
        workload->types[i].shards = count;
}

const struct workload_settings *
workload_settings_of(const struct workload *workload)
{
    return &workload->settings;
}

struct check_message *workload_check(const struct workload *workload)
{
    return workload->check;
}

/* ---- helpers ---- */

void workload_violation(struct workload *workload, const char *invariant,
                        uint32_t node, const char *format, ...)
{
    char text[400];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* cut if longer */
    va_end(arguments);
    workload->hooks.violation(workload->hooks.user, invariant, node, text);
}

uint64_t workload_now(const struct workload *workload)
{
    return workload->hooks.now(workload->hooks.user);
}

char *workload_id(char text[ID_TEXT_MAX], uint32_t id)
{
    char *at = text + 1;
    uint32_t power = 1;

    while (id / power >= 10)
        power *= 10;
    text[0] = 'k';
    for (; power; power /= 10)
        *at++ = (char)('0' + id / power % 10);
    *at = 0;
    return text;
}

bool workload_id_read(struct slice text, uint32_t *id)
{
    uint64_t value = 0;

    if (text.size < 2 || text.size > 11 || text.data[0] != 'k')
        return false;
    for (size_t i = 1; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.data[i] - '0');
    }
    *id = (uint32_t)value;
    return value <= UINT32_MAX;
}

uint64_t workload_stream(struct sherd_ref self)
{
    uint64_t lane = actor_id_lane(self.actor);

    return (self.node ^ (lane + 1) * UINT64_C(0x9e3779b97f4a7c15)) | 1;
}

/* ---- draws ---- */

/* Each half of the rest is as likely as all before it. */
static uint32_t skewed(struct rng *rng, uint32_t count)
{
    while (count > 1 && rng_below(rng, 3))
        count = (count + 1) / 2;
    return (uint32_t)rng_below(rng, count);
}

uint32_t workload_draw_id(struct workload *workload)
{
    if (workload->narrow_until &&
        workload_now(workload) >= workload->narrow_until)
        workload->narrow_until = 0;
    if (workload->narrow_until && workload->narrow.count)
        return workload->narrow.items[rng_below(&workload->rng,
                                                workload->narrow.count)];
    return workload->settings.skewed
               ? skewed(&workload->rng, workload->settings.ids)
               : (uint32_t)rng_below(&workload->rng, workload->settings.ids);
}

uint32_t workload_draw_type(struct workload *workload, bool persists)
{
    uint32_t first =
        (uint32_t)rng_below(&workload->rng, workload->type_count);

    for (uint32_t i = 0; i < workload->type_count; i++) {
        uint32_t type =
            workload->type_of[(first + i) % workload->type_count];

        if (!persists || types[type].persists)
            return type;
    }
    return WORKLOAD_TYPE_COUNT;
}

uint32_t workload_ids(const struct workload *workload, uint32_t type)
{
    const struct workload_settings *settings = &workload->settings;

    return types[type].remembers && settings->kept_ids < settings->ids
               ? settings->kept_ids
               : settings->ids;
}

uint32_t workload_fit_id(const struct workload *workload, uint32_t type,
                         uint32_t id)
{
    return types[type].remembers ? id % workload_ids(workload, type) : id;
}

/* ---- bodies ---- */

/* Most are short; one in 32 has the longest length. */
static size_t draw_padding(struct workload *workload)
{
    uint32_t most = workload->settings.body_max;

    if (most <= PARCEL_SIZE)
        return 0;
    most -= PARCEL_SIZE;
    if (most > 64 && rng_below(&workload->rng, 32))
        most = 64;
    return (size_t)rng_below(&workload->rng, most + 1);
}

/* Depends on each byte before the padding and on the message's number. */
static uint64_t padding_seed(const uint8_t head[PARCEL_SIZE], uint64_t number)
{
    return hash_bytes(slice_of(head, PARCEL_SIZE)) ^ number;
}

/* The padding word at that byte. None of its bytes starts a token: tokens are searched in all
 * written bytes. */
static uint64_t padding_word(uint64_t seed, size_t at)
{
    uint64_t word = (seed + at) * UINT64_C(0x9e3779b97f4a7c15);

    return (word ^ word >> 32) & UINT64_C(0x7f7f7f7f7f7f7f7f);
}

static void pad(uint8_t *bytes, size_t size, uint64_t seed)
{
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = padding_word(seed, at);

        for (size_t i = at; i < size && i < at + 8; i++, word >>= 8)
            bytes[i] = (uint8_t)word;
    }
}

static bool is_padded(const uint8_t *bytes, size_t size, uint64_t seed)
{
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = padding_word(seed, at);

        for (size_t i = at; i < size && i < at + 8; i++, word >>= 8)
            if (bytes[i] != (uint8_t)word)
                return false;
    }
    return true;
}

struct sherd_bytes workload_body(struct workload *workload, uint32_t node,
                                 uint64_t stream, struct sherd_ref to,
                                 const struct parcel *parcel)
{
    struct buf *body = &workload->body;
    size_t padding = draw_padding(workload);
    uint64_t number = check_message_sent(workload->check,
                                         workload_now(workload), node, stream,
                                         to);

    buf_clear(body);
    buf_put_u32(body, parcel->type | (parcel->tells ? TYPE_TELLS : 0) |
                          (uint32_t)padding << TYPE_BITS);
    buf_put_u32(body, parcel->id);
    buf_put_u64(body, parcel->value);
    buf_put_u64(body, parcel->ref.node);
    buf_put_u64(body, parcel->ref.actor);
    pad(buf_reserve(body, padding), padding, padding_seed(body->data, number));
    body->size += padding;
    token_put(buf_reserve(body, TOKEN_SIZE), number);
    body->size += TOKEN_SIZE;
    return (struct sherd_bytes){ body->data, body->size };
}

bool workload_read(struct sherd_bytes body, struct parcel *parcel)
{
    struct cursor cursor = cursor_of(slice_of(body.data, body.size));
    uint32_t type;

    type = cursor_u32(&cursor);
    parcel->type = type & TYPE_MASK;
    parcel->tells = type & TYPE_TELLS;
    parcel->id = cursor_u32(&cursor);
    parcel->value = cursor_u64(&cursor);
    parcel->ref.node = cursor_u64(&cursor);
    parcel->ref.actor = cursor_u64(&cursor);
    return !cursor.failed && cursor_left(&cursor) >= TOKEN_SIZE;
}

/* Compares the body with the one that was sent. */
static void look_at_body(struct workload *workload, uint32_t node,
                         struct sherd_bytes body, uint64_t number)
{
    const uint8_t *bytes = body.data;
    struct cursor cursor = cursor_of(slice_of(body.data, body.size));
    uint32_t padding = cursor_u32(&cursor) >> TYPE_BITS;

    if (body.size != (size_t)PARCEL_SIZE + padding + TOKEN_SIZE)
        workload_violation(workload, "body-intact", node,
                           "message %llu has a body of %zu bytes, not of %u",
                           (unsigned long long)number, body.size,
                           PARCEL_SIZE + padding + TOKEN_SIZE);
    else if (!is_padded(bytes + PARCEL_SIZE, padding,
                        padding_seed(bytes, number)))
        workload_violation(workload, "body-intact", node,
                           "message %llu has another body than was sent, of %zu bytes",
                           (unsigned long long)number, body.size);
}

bool workload_delivered(struct workload *workload, uint32_t node,
                        const struct sherd_msg *msg, struct sherd_ref receiver)
{
    uint64_t number;

    if (!token_of(slice_of(msg->body.data, msg->body.size), &number))
        return false;
    look_at_body(workload, node, msg->body, number);
    check_message_delivered(workload->check, node, number, receiver);
    return true;
}

void workload_passed(struct workload *workload, uint32_t node,
                     const struct sherd_msg *msg, struct sherd_ref receiver,
                     struct sherd_ref to)
{
    uint64_t number;

    if (token_of(slice_of(msg->body.data, msg->body.size), &number))
        check_message_passed(workload->check, node, number, receiver, to);
}

bool workload_is_parting(const struct workload *workload, uint32_t node)
{
    return workload->hooks.is_parting &&
           workload->hooks.is_parting(workload->hooks.user, node);
}

void workload_message_ended(struct workload *workload, uint32_t node,
                            struct slice body)
{
    struct parcel parcel;
    uint64_t number;

    if (token_of(body, &number) &&
        workload_read((struct sherd_bytes){ body.data, body.size }, &parcel) &&
        parcel.tells && check_message_never_left(workload->check, number)) {
        workload->places.items[node]->ended_here++;
        workload->places.items[node]->ended_at = workload_now(workload);
    }
}

/* A client hears of all ends on its own node. A notice from another node may be lost like the
 * message. */
static uint64_t unsaid(struct workload *workload)
{
    uint64_t open = 0;

    for (uint32_t i = 0; i < workload->places.count; i++) {
        const struct place *place = workload->places.items[i];

        if (!place->runs || place->undelivered >= place->ended_here ||
            workload_is_parting(workload, i) ||
            /* the notice may be in flight to another lane */
            workload_now(workload) < place->ended_at + SECOND)
            continue;
        open++;
        workload_violation(workload, "undelivered-notice", i,
                           "%llu tells ended undelivered, their senders were notified of %llu",
                           (unsigned long long)place->ended_here,
                           (unsigned long long)place->undelivered);
    }
    return open;
}

/* ---- events ---- */

struct slice workload_event(uint8_t bytes[EVENT_SIZE],
                            const struct parcel *parcel)
{
    uint64_t who = (uint64_t)parcel->type << 32 | parcel->id;

    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(parcel->value >> (8 * i));
        bytes[8 + i] = (uint8_t)(who >> (8 * i));
    }
    return slice_of(bytes, EVENT_SIZE);
}

void workload_acknowledge(struct workload *workload, uint32_t node,
                          uint32_t type, uint32_t id, uint64_t seq,
                          uint64_t serial)
{
    struct parcel parcel = { .type = type, .id = id, .value = serial };
    uint8_t event[EVENT_SIZE];
    char text[ID_TEXT_MAX];

    workload->counts.acknowledged++;
    if (workload->hooks.acknowledged)
        workload->hooks.acknowledged(workload->hooks.user, node,
                                     types[type].text, workload_id(text, id),
                                     seq, EVENT_TYPE,
                                     workload_event(event, &parcel));
}

/* ---- nodes ---- */

struct place *workload_place(struct workload *workload, uint64_t uid)
{
    return map_get(&workload->by_uid, map_u64(&uid));
}

void workload_node_started(struct workload *workload, uint32_t node,
                           uint64_t uid)
{
    struct place *place;

    while (workload->places.count <= node) {
        place = mem_alloc(sizeof *place);
        place->index = workload->places.count;
        vec_push(&workload->places, place);
    }
    place = workload->places.items[node];
    if (place->uid)
        map_take(&workload->by_uid, map_u64(&place->uid));
    place->uid = uid;
    place->runs = true;
    place->ended_here = place->undelivered = 0;
    map_put(&workload->by_uid, map_u64(&uid), place);
    check_message_node_started(workload->check, node);
}

void workload_node_ended(struct workload *workload, uint32_t node,
                         enum check_end end)
{
    if (node < workload->places.count) {
        workload->places.items[node]->runs = false;
        told_excuse(workload, node);
    }
    check_message_node_ended(workload->check, node, end);
    for (uint32_t i = 0; i < workload->clients.count;) {
        struct client *client = workload->clients.items[i];

        if (client->node == node && !client->node_gone) {
            client->node_gone = true;
            workload->counts.asks_dropped += client->open;
            client->open = 0;
        }
        if (!client->node_gone || (client->started && !client->released)) {
            i++;
            continue;
        }
        client_free(client);
        vec_remove(&workload->clients, i);
    }
}

const struct sherd_behavior *workload_client(struct workload *workload,
                                             uint32_t node,
                                             struct sherd_bytes *init)
{
    struct client *client = mem_alloc(sizeof *client);

    client->node = node;
    client->self = client;
    vec_push(&workload->clients, client);
    *init = (struct sherd_bytes){ &client->self, sizeof client->self };
    return &workload_client_behavior;
}

const struct sherd_behavior *workload_caller(const struct workload *workload,
                                             const uint32_t *node,
                                             struct sherd_bytes *init)
{
    *init = (struct sherd_bytes){ node, sizeof *node };
    return &workload->caller;
}

/* ---- a run ---- */

void workload_stop(struct workload *workload)
{
    workload->is_stopped = true;
}

void workload_resume(struct workload *workload)
{
    workload->is_stopped = false;
    workload->roll.count = 0;
}

bool workload_idle(struct workload *workload)
{
    for (uint32_t i = 0; i < workload->clients.count; i++) {
        const struct client *client = workload->clients.items[i];

        if (client->node_gone || client->released)
            continue;
        if (client->open)
            return false;
        for (uint32_t j = 0; j < client->watches.count; j++)
            if (watched_has_ended(workload, client->watches.items[j]))
                return false;
    }
    return workload->entity_asks == 0 && workload->jobs == 0;
}

static uint64_t open_asks(struct workload *workload,
                          const struct client *client)
{
    uint64_t open = 0;

    for (uint32_t i = 0; i < OPEN_ASKS_MAX; i++) {
        const struct open_ask *ask = &client->asks[i];

        if (!ask->is_open)
            continue;
        open++;
        workload_violation(workload, "ask-ends-once", client->node,
                           "an ask (%s) of entity k%u of %s has not ended op_tag=%u asked_at_ms=%llu",
                           op_texts[ask->op], ask->id, types[ask->type].text,
                           ask->tag, (unsigned long long)(ask->asked_at / MS));
    }
    return open;
}

static uint64_t open_watches(struct workload *workload,
                             const struct client *client)
{
    uint64_t open = 0;

    for (uint32_t i = 0; i < client->watches.count; i++) {
        struct sherd_ref ref = client->watches.items[i];

        if (!watched_has_ended(workload, ref))
            continue;
        open++;
        workload_violation(workload, "watch-ends-once", client->node,
                           "actor %llx of node %llx has ended, its watcher was not told",
                           (unsigned long long)ref.actor,
                           (unsigned long long)ref.node);
    }
    return open;
}

uint64_t workload_drained(struct workload *workload)
{
    uint64_t open = entities_drained(workload) + unsaid(workload) +
                    calls_drained(workload);

    told_drained(workload);

    for (uint32_t i = 0; i < workload->clients.count; i++) {
        const struct client *client = workload->clients.items[i];

        if (client->node_gone || client->released)
            continue;
        open += open_asks(workload, client);
        open += open_watches(workload, client);
    }
    return open;
}

void workload_status(struct workload *workload, uint32_t node,
                     const struct sherd_status *status, uint32_t buffer_size,
                     uint32_t lanes)
{
    /* Each lane has its share, at least one. */
    uint64_t most = buffer_size && lanes > buffer_size ? lanes : buffer_size;

    for (uint32_t i = 0; i < status->type_count; i++)
        if (status->types[i].waiting > most)
            workload_violation(workload, "bounded-buffers", node,
                               "%llu messages wait in the region of %s, at most %llu may",
                               (unsigned long long)status->types[i].waiting,
                               status->types[i].name, (unsigned long long)most);
    if (status->held_max > most)
        workload_violation(workload, "bounded-buffers", node,
                           "%llu messages have waited in a region, at most %llu may",
                           (unsigned long long)status->held_max,
                           (unsigned long long)most);
    check_message_status(workload->check, node, status);
}

struct workload_counts workload_counts(const struct workload *workload)
{
    return workload->counts;
}

static void put(struct buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct buf *buf, const char *format, ...)
{
    char text[200];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments); /* fits */
    va_end(arguments);
    buf_put_text(buf, text);
}

char *workload_report(const struct workload *workload)
{
    const struct workload_counts *counts = &workload->counts;
    struct check_message_counts messages = check_message_counts(workload->check);
    struct buf buf = { 0 };

    put(&buf,
        "messages sent=%llu delivered=%llu undelivered=%llu lost_with_node=%llu lost_in_connection=%llu open=%llu\n",
        (unsigned long long)messages.sent,
        (unsigned long long)messages.delivered,
        (unsigned long long)messages.undelivered_total,
        (unsigned long long)messages.lost_with_node,
        (unsigned long long)messages.lost_in_connection,
        (unsigned long long)messages.open);
    for (uint32_t i = 0; i < SHERD_REASON_COUNT; i++)
        if (messages.undelivered[i])
            put(&buf, "  undelivered %llu: %s\n",
                (unsigned long long)messages.undelivered[i],
                sherd_reason_text((enum sherd_reason)i));
    put(&buf, "asks %llu answers=%llu dropped=%llu skipped=%llu acknowledged=%llu\n",
        (unsigned long long)counts->asks, (unsigned long long)counts->answers,
        (unsigned long long)counts->asks_dropped,
        (unsigned long long)counts->skipped,
        (unsigned long long)counts->acknowledged);
    for (uint32_t i = 0; i < SHERD_REASON_COUNT; i++)
        if (counts->no_answers[i])
            put(&buf, "  no answer %llu: %s\n",
                (unsigned long long)counts->no_answers[i],
                sherd_reason_text((enum sherd_reason)i));
    put(&buf, "jobs started=%llu heard=%llu\n",
        (unsigned long long)counts->jobs,
        (unsigned long long)counts->jobs_heard);
    put(&buf, "entities started=%llu timers=%llu watches=%llu terminated=%llu clients=%llu\nops",
        (unsigned long long)counts->started,
        (unsigned long long)counts->timers,
        (unsigned long long)counts->watches,
        (unsigned long long)counts->terminated,
        (unsigned long long)counts->clients);
    for (uint32_t i = 0; i < WORKLOAD_OP_COUNT; i++)
        put(&buf, " %s=%llu", op_texts[i],
            (unsigned long long)counts->ops[i]);
    buf_put_text(&buf, "\n");
    buf_put_u8(&buf, 0);
    return (char *)buf.data; /* of mem_alloc, as every buf */
}

/* ---- extractors ---- */

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

const struct sherd_extractor workload_extractor = { .entity = entity_of, .shard = shard_text_of };

void workload_shard_is(struct workload *workload, uint32_t node, struct slice id,
                       struct slice shard)
{
    char text[SIM_SHARD_MAX];

    if (!workload->settings.extractor ||
        slice_equal(shard, sim_shard_text(shard_of(id), text)))
        return;
    workload_violation(workload, "right-receiver", node, "%.*s has the shard \"%.*s\", not \"%s\"",
                       (int)id.size, (const char *)id.data, (int)shard.size,
                       (const char *)shard.data, text);
}

bool workload_tells_region(const struct workload *workload, const struct parcel *parcel)
{
    return workload->settings.extractor && parcel->value % 2;
}
