/* Implements the calls that receive may make (sherd/actor.h). All that leaves the actor goes
 * through effects_emit, which lets it wait while the actor has events that are not durable. */
#include "actor/deliver.h"

#include <stdarg.h>
#include <stdio.h>

#include "actor/services.h"
#include "base/line.h"
#include "base/mark.h"

SHERD_API struct sherd_ref sherd_self(const struct sherd_ctx *ctx)
{
    return ctx->self;
}

SHERD_API struct sherd_bytes sherd_id(const struct sherd_ctx *ctx)
{
    struct slice id = slot_id(ctx->slot);
    char *text = ctx->actors->ctx.id;

    memcpy(text, id.data, id.size);
    text[id.size] = 0;
    return (struct sherd_bytes){ text, id.size };
}

SHERD_API const char *sherd_type(const struct sherd_ctx *ctx)
{
    return slot_type(ctx->actors, ctx->slot);
}

SHERD_API const char *sherd_shard_id(const struct sherd_ctx *ctx)
{
    struct actors *actors = ctx->actors;

    if (!(ctx->slot->flags & FLAG_ENTITY))
        return "";
    return (const char *)slot_shard(actors, ctx->slot, actors->ctx.shard).data;
}

SHERD_API uint64_t sherd_now(const struct sherd_ctx *ctx)
{
    return ctx->actors->now / MS;
}

SHERD_API int64_t sherd_wall(const struct sherd_ctx *ctx)
{
    return ctx->actors->wall_ms;
}

SHERD_API uint64_t sherd_sequence(const struct sherd_ctx *ctx)
{
    const struct extra *extra = extra_of(ctx->actors, ctx->slot);

    return extra ? extra->seq : 0;
}

/* --- sending --- */

/* Makes a message of the running actor with its header set; the caller sets `to` or the entity. */
static inline struct message *make(struct sherd_ctx *ctx, size_t id_size,
                            uint32_t msg, struct sherd_bytes body)
{
    struct actors *actors = ctx->actors;
    struct message *message =
        message_new(actors, body.size + id_size + (id_size != 0));

    message->kind = MESSAGE_TELL;
    message->reason = 0;
    message->stage = 0;
    message->returned = 0;
    message->type = TYPE_NONE;
    message->id_size = (uint8_t)id_size;
    message->wants_undelivered = ctx->wants_undelivered;
    message->msg = msg;
    message->body_size = (uint32_t)body.size;
    message->sender = ctx->self;
    message->ask = 0;
    message->at = 0;
    message->peer = 0;
    message->hops = 0;
    message->arrived = 0;
    message->expires = 0;
    bytes_copy(message->data, body.data, body.size);
    return message;
}

/* For bodies above SHERD_BODY_MAX. */
static bool is_too_large(struct sherd_ctx *ctx, size_t size,
                         const struct destination *destination)
{
    const struct actors_settings *settings = &ctx->actors->settings;

    return size > settings->large_max ||
           !settings->is_large(settings->user, destination);
}

static bool too_large_for(struct sherd_ctx *ctx, size_t size,
                          struct sherd_ref ref, uint64_t ask)
{
    return unlikely(size > SHERD_BODY_MAX) &&
           is_too_large(ctx, size,
                        &(struct destination){
                            .type = TYPE_NONE, .ref = ref, .ask = ask });
}

/* Refuses a message that cannot be made: counts it as sent and undelivered, and notifies its
 * sender, this actor. */
static void refuse(struct sherd_ctx *ctx, uint32_t msg, struct sherd_bytes body,
                   bool is_ask, uint32_t tag, enum sherd_reason reason)
{
    struct actors *actors = ctx->actors;
    struct message *message;

    actors->counts.sent++;
    mailbox_count_undelivered(actors, TYPE_NONE, slice_of(body.data, body.size), reason);
    ctx->asked = 0;
    if (is_ask) {
        ask_refuse(actors, ctx->index, ctx->slot, tag, reason);
        return;
    }
    message = make(ctx, 0, msg, (struct sherd_bytes){ NULL, 0 });
    message->to = (struct sherd_ref){ 0, 0 };
    if (message_notice(message, reason))
        effects_route(actors, message);
    else
        message_free(actors, message);
}

enum asks { NO_ASK, ASK_WAITS, ASK_MAY_FAIL };

static void send(struct sherd_ctx *ctx, struct message *message,
                 enum asks asks, uint32_t tag, uint64_t timeout_ms)
{
    if (asks) {
        uint32_t msg = message->msg;

        message->ask = ctx->asked =
            ask_open(ctx->actors, ctx->index, ctx->slot, tag, timeout_ms);
        if (message->ask == 0) {
            struct slice body = message_body(message);

            refuse(ctx, msg, (struct sherd_bytes){ body.data, body.size }, true,
                   tag, SHERD_REASON_BUFFER_FULL);
            message_free(ctx->actors, message);
            return;
        }
        message->expires = message_expiry(ctx->actors->now, ask_limit(timeout_ms));
        if (asks == ASK_MAY_FAIL)
            ask_may_fail(ctx->actors, message->ask);
    }
    effects_emit(ctx->actors, message);
}

static void send_ref(struct sherd_ctx *ctx, struct sherd_ref to, uint32_t msg,
                     struct sherd_bytes body, enum asks asks, uint32_t tag,
                     uint64_t timeout_ms)
{
    struct message *message;

    if (too_large_for(ctx, body.size, to, 0)) {
        refuse(ctx, msg, body, asks != NO_ASK, tag, SHERD_REASON_TOO_LARGE);
        return;
    }
    message = make(ctx, 0, msg, body);
    message->to = to;
    send(ctx, message, asks, tag, timeout_ms);
}

static uint16_t type_of(struct actors *actors, const char *name)
{
    uint16_t last = actors->type_last;

    if (last < actors->type_count && actors->types[last].known &&
        strcmp(actors->types[last].name, name) == 0)
        return last;
    last = actors_type(actors, slice_text(name));
    if (last != TYPE_NONE)
        actors->type_last = last;
    return last;
}

static void send_entity(struct sherd_ctx *ctx, const char *type_name,
                        const char *id, uint32_t msg, struct sherd_bytes body,
                        enum asks asks, uint32_t tag, uint64_t timeout_ms)
{
    uint16_t type = type_of(ctx->actors, type_name);
    size_t id_size = strlen(id);
    struct message *message;

    if (type == TYPE_NONE) {
        refuse(ctx, msg, body, asks != NO_ASK, tag, SHERD_REASON_NO_SUCH_TYPE);
        return;
    }
    if (id_size == 0 || id_size > SHERD_ID_MAX) {
        refuse(ctx, msg, body, asks != NO_ASK, tag, SHERD_REASON_EMPTY_ID);
        return;
    }
    if (body.size > SHERD_BODY_MAX &&
        is_too_large(ctx, body.size, &(struct destination){ .type = type })) {
        refuse(ctx, msg, body, asks != NO_ASK, tag, SHERD_REASON_TOO_LARGE);
        return;
    }
    message = make(ctx, id_size, msg, body);
    message->type = type;
    message->entity.hash = hash_bytes(slice_of(id, id_size));
    message->entity.has_shard = 0;
    bytes_copy(message->data + body.size, (const uint8_t *)id, id_size + 1);
    send(ctx, message, asks, tag, timeout_ms);
}

SHERD_API void sherd_tell(struct sherd_ctx *ctx, struct sherd_ref to,
                          uint32_t msg, struct sherd_bytes body)
{
    struct actors *actors = ctx->actors;
    struct message *message;

    if (too_large_for(ctx, body.size, to, 0)) {
        refuse(ctx, msg, body, false, 0, SHERD_REASON_TOO_LARGE);
        return;
    }
    message = make(ctx, 0, msg, body);
    message->to = to;
    if (likely(is_here(actors, to) && !(ctx->slot->flags & FLAG_UNDURABLE) &&
               deliver_fast(actors, message)))
        actors->counts.sent++;
    else
        effects_emit(actors, message);
}

SHERD_API void sherd_path_tell(struct sherd_ctx *ctx, const char *path,
                               uint32_t msg, struct sherd_bytes body)
{
    size_t size = strlen(path);
    struct message *message;

    if (size == 0 || size > SHERD_PATH_MAX) {
        refuse(ctx, msg, body, false, 0, SHERD_REASON_NO_SUCH_ACTOR);
        return;
    }
    if (body.size > SHERD_BODY_MAX &&
        is_too_large(ctx, body.size,
                     &(struct destination){ .type = TYPE_NONE,
                                            .path = slice_of(path, size) })) {
        refuse(ctx, msg, body, false, 0, SHERD_REASON_TOO_LARGE);
        return;
    }
    message = make(ctx, size, msg, body);
    message->to = MESSAGE_TO_PATH;
    memcpy(message->data + body.size, path, size + 1);
    effects_emit(ctx->actors, message);
}

SHERD_API void sherd_ask(struct sherd_ctx *ctx, struct sherd_ref to,
                         uint32_t msg, struct sherd_bytes body, uint32_t tag,
                         uint64_t timeout_ms)
{
    send_ref(ctx, to, msg, body, ASK_WAITS, tag, timeout_ms);
}

SHERD_API void sherd_ask_or_fail(struct sherd_ctx *ctx, struct sherd_ref to,
                                 uint32_t msg, struct sherd_bytes body,
                                 uint32_t tag, uint64_t timeout_ms)
{
    send_ref(ctx, to, msg, body, ASK_MAY_FAIL, tag, timeout_ms);
}

SHERD_API void sherd_entity_tell(struct sherd_ctx *ctx, const char *type,
                                 const char *id, uint32_t msg,
                                 struct sherd_bytes body)
{
    send_entity(ctx, type, id, msg, body, NO_ASK, 0, 0);
}

SHERD_API void sherd_entity_ask(struct sherd_ctx *ctx, const char *type,
                                const char *id, uint32_t msg,
                                struct sherd_bytes body, uint32_t tag,
                                uint64_t timeout_ms)
{
    send_entity(ctx, type, id, msg, body, ASK_WAITS, tag, timeout_ms);
}

SHERD_API void sherd_entity_ask_or_fail(struct sherd_ctx *ctx,
                                        const char *type, const char *id,
                                        uint32_t msg, struct sherd_bytes body,
                                        uint32_t tag, uint64_t timeout_ms)
{
    send_entity(ctx, type, id, msg, body, ASK_MAY_FAIL, tag, timeout_ms);
}

SHERD_API void sherd_entity_start(struct sherd_ctx *ctx, const char *type_name,
                                  const char *id)
{
    uint16_t type = type_of(ctx->actors, type_name);
    size_t size = strlen(id);
    struct message *message;

    if (type == TYPE_NONE || size == 0 || size > SHERD_ID_MAX) {
        ctx->actors->counts.ignored++;
        return;
    }
    message = actors_entity_message(ctx->actors, type, slice_of(id, size),
                                    slice_of(NULL, 0));
    message->kind = MESSAGE_START;
    effects_emit(ctx->actors, message);
}

SHERD_API void sherd_entity_start_ask(struct sherd_ctx *ctx, const char *type_name,
                                      const char *id, uint32_t tag,
                                      uint64_t timeout_ms)
{
    uint16_t type = type_of(ctx->actors, type_name);
    size_t size = strlen(id);
    struct message *message;

    ctx->asked = 0;
    if (type == TYPE_NONE || size == 0 || size > SHERD_ID_MAX) {
        ask_refuse(ctx->actors, ctx->index, ctx->slot, tag,
                   type == TYPE_NONE ? SHERD_REASON_NO_SUCH_TYPE
                                     : SHERD_REASON_EMPTY_ID);
        return;
    }
    message = actors_entity_message(ctx->actors, type, slice_of(id, size),
                                    slice_of(NULL, 0));
    message->kind = MESSAGE_START;
    message->sender = ctx->self;
    send(ctx, message, ASK_WAITS, tag, timeout_ms);
}

/* Finds the entity of a message to a region. False: the message has ended. */
static bool extract(struct sherd_ctx *ctx, const char *type_name, bool is_ask,
                    uint32_t tag, struct sherd_extracted *message)
{
    uint16_t type = type_of(ctx->actors, type_name);
    uint32_t msg = message->msg;
    struct sherd_bytes body = message->body;
    enum sherd_reason reason = SHERD_REASON_NO_SUCH_TYPE;

    if (type != TYPE_NONE) {
        if (shard_rule_extract(&ctx->actors->types[type].rule, message))
            return true;
        REACHED("an extractor does not handle an actor's message");
        reason = SHERD_REASON_NOT_EXTRACTED;
    }
    refuse(ctx, msg, body, is_ask, tag, reason);
    return false;
}

SHERD_API void sherd_region_tell(struct sherd_ctx *ctx, const char *type,
                                 uint32_t msg, struct sherd_bytes body)
{
    struct sherd_extracted message = { .msg = msg, .body = body };

    if (extract(ctx, type, false, 0, &message))
        send_entity(ctx, type, message.id, message.msg, message.body, NO_ASK, 0, 0);
}

SHERD_API void sherd_region_ask(struct sherd_ctx *ctx, const char *type,
                                uint32_t msg, struct sherd_bytes body,
                                uint32_t tag, uint64_t timeout_ms)
{
    struct sherd_extracted message = { .msg = msg, .body = body };

    if (extract(ctx, type, true, tag, &message))
        send_entity(ctx, type, message.id, message.msg, message.body,
                    ASK_WAITS, tag, timeout_ms);
}

/* Answers an ask or a tell; drops the answer to an empty question. */
static void answer(struct sherd_ctx *ctx, const struct sherd_question *question,
                   uint32_t msg, struct sherd_bytes body)
{
    bool is_large = too_large_for(ctx, body.size, question->asker,
                                  question->number);
    struct message *message;

    if (ref_is_nobody(question->asker)) {
        ctx->actors->counts.replies_dropped++;
        return;
    }
    if (is_large && question->number == 0) {
        refuse(ctx, msg, body, false, 0, SHERD_REASON_TOO_LARGE);
        return;
    }
    if (is_large) {
        message = make(ctx, 0, msg, (struct sherd_bytes){ NULL, 0 });
        message->kind = MESSAGE_NO_ANSWER;
        message->reason = SHERD_REASON_TOO_LARGE;
        message->stage = SHERD_STAGE_DELIVERED;
        ctx->actors->counts.sent++;
        mailbox_count_undelivered(ctx->actors, TYPE_NONE, slice_of(body.data, body.size),
                                  SHERD_REASON_TOO_LARGE);
    } else {
        message = make(ctx, 0, msg, body);
        if (question->number)
            message->kind = MESSAGE_ANSWER;
    }
    message->to = question->asker;
    message->ask = question->number;
    effects_emit(ctx->actors, message);
}

/* Takes the question out of the message being handled: empty if it has none or is answered. */
static struct sherd_question take_question(struct sherd_ctx *ctx)
{
    const struct message *asked = ctx->message;

    if (!asked ||
        (asked->kind != MESSAGE_TELL && asked->kind != MESSAGE_JOB_DONE) ||
        ctx->answered || ref_is_nobody(asked->sender))
        return (struct sherd_question){ { 0, 0 }, 0 };
    ctx->answered = true;
    return (struct sherd_question){ asked->sender, asked->ask };
}

SHERD_API void sherd_reply(struct sherd_ctx *ctx, uint32_t msg,
                           struct sherd_bytes body)
{
    struct sherd_question question = take_question(ctx);

    if (unlikely(ctx->actors->is_handling) && !ref_is_nobody(question.asker))
        delivery_replies(ctx->actors, msg, body);
    answer(ctx, &question, msg, body);
}

SHERD_API struct sherd_question sherd_reply_later(struct sherd_ctx *ctx)
{
    return take_question(ctx);
}

SHERD_API void sherd_answer(struct sherd_ctx *ctx,
                            struct sherd_question *question, uint32_t msg,
                            struct sherd_bytes body)
{
    answer(ctx, question, msg, body);
    *question = (struct sherd_question){ { 0, 0 }, 0 };
}

/* Copies the message being handled, with its sender and its ask; null if it is no tell or is
 * answered. */
static struct message *copy_given(struct sherd_ctx *ctx)
{
    const struct message *given = ctx->message;
    struct message *message;
    struct sherd_bytes body;
    uint32_t msg;

    if (!given || given->kind != MESSAGE_TELL || ctx->answered)
        return NULL;
    msg = given->msg;
    body = (struct sherd_bytes){ given->data, given->body_size };
    ctx->answered = true;
    if (msg >= SHERD_NUMBERS_END)
        msg = delivery_content(ctx->actors, &body);
    message = make(ctx, 0, msg, body);
    message->sender = given->sender;
    message->ask = given->ask;
    message->wants_undelivered = given->wants_undelivered;
    message->hops = given->hops;
    message->expires = given->expires;
    return message;
}

static void pass_on(struct sherd_ctx *ctx, struct message *message, struct sherd_ref to)
{
    message->to = to;
    if (too_large_for(ctx, message->body_size, to, 0))
        actors_kept_end(ctx, message, SHERD_REASON_TOO_LARGE);
    else
        effects_emit(ctx->actors, message);
}

SHERD_API void sherd_forward(struct sherd_ctx *ctx, struct sherd_ref to)
{
    struct message *message = copy_given(ctx);

    if (message)
        pass_on(ctx, message, to);
    else
        ctx->actors->counts.replies_dropped++;
}

/* --- services above the node --- */

const struct service_defaults *actors_service_defaults(const struct sherd_ctx *ctx)
{
    static const struct service_defaults none;
    const struct service_defaults *defaults = ctx->actors->settings.services;

    return defaults ? defaults : &none;
}

struct actors *actors_of(const struct sherd_ctx *ctx)
{
    return ctx->actors;
}

struct message *actors_keep(struct sherd_ctx *ctx)
{
    return copy_given(ctx);
}

uint32_t actors_kept_size(const struct message *kept)
{
    return kept->body_size;
}

void actors_kept_send(struct sherd_ctx *ctx, struct message *kept, struct sherd_ref to)
{
    pass_on(ctx, kept, to);
}

void actors_kept_end(struct sherd_ctx *ctx, struct message *kept, enum sherd_reason reason)
{
    ctx->actors->counts.sent++;
    mailbox_count_undelivered(ctx->actors, TYPE_NONE, message_body(kept), reason);
    if (message_notice(kept, reason))
        effects_emit(ctx->actors, kept);
    else
        message_free(ctx->actors, kept);
}

void actors_kept_free(struct actors *actors, struct message *kept)
{
    message_free(actors, kept);
}

/* --- timers, actors, events --- */

SHERD_API void sherd_timer(struct sherd_ctx *ctx, uint32_t tag,
                           uint64_t delay_ms)
{
    timer_set(ctx->actors, ctx->index, ctx->slot, tag, delay_ms);
}

SHERD_API void sherd_timer_cancel(struct sherd_ctx *ctx, uint32_t tag)
{
    timer_cancel(ctx->actors, ctx->slot, tag);
}

SHERD_API struct sherd_ref sherd_spawn(struct sherd_ctx *ctx,
                                       const struct sherd_behavior *behavior,
                                       struct sherd_bytes init)
{
    struct sherd_ref spawned;

    if (init.size > SHERD_BODY_MAX) {
        ctx->actors->counts.spawns_refused++;
        return (struct sherd_ref){ 0, 0 };
    }
    spawned =
        slot_spawn(ctx->actors, behavior, slice_of(init.data, init.size));
    if ((ctx->slot->flags & FLAG_UNDURABLE) && !ref_is_nobody(spawned))
        slot_start_later(ctx->actors, spawned);
    return spawned;
}

SHERD_API struct sherd_ref
sherd_spawn_named(struct sherd_ctx *ctx, const char *name,
                  const struct sherd_behavior *behavior,
                  struct sherd_bytes init)
{
    if (init.size > SHERD_BODY_MAX || !name ||
        !actor_name_is_valid(slice_text(name))) {
        ctx->actors->counts.spawns_refused++;
        trace_put(ctx->actors->settings.trace, TRACE_ERROR, "actor",
                  "spawn refused: the name is not valid, or its first message "
                  "is too large name=%.127s hint=\"see sherd_spawn_named in "
                  "sherd/actor.h\"",
                  name ? name : "");
        return (struct sherd_ref){ 0, 0 };
    }
    return actors_spawn_named(ctx->actors, slice_text(name), behavior,
                              slice_of(init.data, init.size));
}

SHERD_API void sherd_stop(struct sherd_ctx *ctx, struct sherd_ref actor)
{
    struct message *message;

    if (ref_is_nobody(actor))
        return;
    message = make(ctx, 0, 0, (struct sherd_bytes){ NULL, 0 });
    message->kind = MESSAGE_STOP;
    message->to = actor;
    effects_emit(ctx->actors, message);
}

SHERD_API void sherd_watch(struct sherd_ctx *ctx, struct sherd_ref actor)
{
    watch_by(ctx->actors, ctx->index, ctx->slot, actor);
}

SHERD_API void sherd_unwatch(struct sherd_ctx *ctx, struct sherd_ref actor)
{
    unwatch_by(ctx->actors, ctx->index, ctx->slot, actor);
}

SHERD_API void sherd_passivate(struct sherd_ctx *ctx)
{
    struct slot *slot = ctx->slot;

    if (!(slot->flags & FLAG_ENTITY))
        return;
    if (delivery_is_open(ctx->actors, slot)) {
        REACHED("an entity with open deliveries wants to be passivated");
        delivery_passivate(ctx->actors, slot);
        return;
    }
    entity_passivate(ctx->actors, ctx->index, slot);
}

SHERD_API void sherd_entity_bytes(struct sherd_ctx *ctx, uint64_t bytes)
{
    if (ctx->slot->flags & FLAG_ENTITY)
        active_report(ctx->actors, ctx->slot, bytes);
}

SHERD_API void sherd_persist(struct sherd_ctx *ctx, uint32_t type,
                             struct sherd_bytes event)
{
    sherd_persist_version(ctx, type, 0, event);
}

SHERD_API void sherd_persist_version(struct sherd_ctx *ctx, uint32_t type, uint32_t version,
                                     struct sherd_bytes event)
{
    if (!(ctx->slot->flags & FLAG_PERSISTENT)) {
        slot_trace(ctx->actors, ctx->slot, TRACE_ERROR,
                   "persist by an actor that is not a persistent entity, it stops "
                   "hint=\"set apply in the behavior of the type\"");
        effects_refuse_plain(ctx);
        return;
    }
    if (type >= SHERD_NUMBERS_END) {
        slot_trace(ctx->actors, ctx->slot, TRACE_ERROR,
                   "event has a type of the library, entity stops "
                   "hint=\"use a type below SHERD_NUMBERS_END\"");
        effects_refuse_event(ctx, "an event has a type of the library");
    }
    if (event.size > SHERD_BODY_MAX) {
        char text[128];

        line_format(text, sizeof text,
                    "event too large, entity stops size=%llu max=%u "
                    "hint=\"persist smaller events\"",
                    (unsigned long long)event.size,
                    (unsigned)SHERD_BODY_MAX); /* fits */
        slot_trace(ctx->actors, ctx->slot, TRACE_ERROR, text);
        effects_refuse_event(ctx, "an event is too large");
    }
    if (!ctx->store_failed)
        effects_persist(ctx->actors, ctx->index, ctx->slot,
                        (struct entity_event){ type, version,
                                               slice_of(event.data, event.size) });
}

/* The nearest level of the scale: a caller may pass any number. */
static enum trace_level clamp_level(int level)
{
    if (level < SHERD_LOG_ERROR)
        return TRACE_ERROR;
    return level > SHERD_LOG_DEBUG ? TRACE_DEBUG : (enum trace_level)level;
}

SHERD_API void sherd_log(struct sherd_ctx *ctx, enum sherd_log_level level,
                         const char *format, ...)
{
    enum trace_level trace_level = clamp_level((int)level);
    struct trace *trace = ctx->actors->settings.trace;
    char text[TRACE_TEXT_MAX];
    va_list arguments;

    if (!trace_on(trace, trace_level))
        return;
    va_start(arguments, format);
    line_format_list(text, sizeof text, format, arguments);
    va_end(arguments);
    slot_trace(ctx->actors, ctx->slot, trace_level, text);
}
