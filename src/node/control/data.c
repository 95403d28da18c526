/* Runs distributed data on control. */
#include "node/control/data.h"

#include "actor/data_call.h"
#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "ddata/face.h"
#include "node/control/control.h"

#define DATA_FOLDER "/system/"

/* An open call. Its time-out may be an hour away, so its arguments are freed once it has begun. */
/* The actor that called, and the mark of its answer. */
struct asker {
    uint64_t actor;
    uint64_t tag;
    uint32_t lane;
};

struct asked {
    struct asker by;
    enum data_verb verb;
    uint32_t from;    /* of DATA_KEYS */
    uint8_t key_size;
    uint8_t key[SHERD_DATA_KEY_MAX];
    struct buf bytes; /* of an update that waits for the durable keys */
};

static void drop_bytes(struct data *data, struct asked *asked)
{
    data->waiting_size -= asked->bytes.size;
    buf_fini(&asked->bytes);
    asked->bytes = (struct buf){ 0 };
}

static void drop_asked(struct data *data, struct asked *asked)
{
    drop_bytes(data, asked);
    mem_free(asked);
}

/* ---- the replicator ---- */

void data_init(struct control *control)
{
    struct data *data = &control->data;

    data->writer.node = control->machine->self->node;
    buf_put_text(&data->path, DATA_FOLDER);
    buf_put_text(&data->path, control->machine->settings->data_name);
    buf_put_u8(&data->path, 0);
    data->token = LANES_MAX;
    data->due = NEVER;
}

void data_fini(struct control *control)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&control->data.calls, &at, &entry);)
        drop_asked(&control->data, entry.value);
    map_fini(&control->data.calls);
    data_durable_fini(control);
    replicator_free(control->data.replicator);
    buf_fini(&control->data.path);
}

bool data_has_role(const struct control *control)
{
    const struct node_settings *settings = control->machine->settings;

    if (!settings->data_role || !*settings->data_role)
        return true;
    for (uint32_t i = 0; i < settings->role_count; i++)
        if (strcmp(settings->roles[i], settings->data_role) == 0)
            return true;
    return false;
}

static struct member_info peer_of(const struct control *control,
                                  const struct member_view *view)
{
    struct member_info peer = control_peer_of_all(control, view);

    peer.has_role = member_has_role(view, control->machine->settings->data_role);
    return peer;
}

struct replicator *data_replicator(struct control *control)
{
    struct machine *machine = control->machine;
    struct data *data = &control->data;
    struct replicator_options options = {
        .identity = machine->self,
        .path = (const char *)data->path.data,
        .settings = machine->settings->data,
        .durable_keys = machine->settings->durable_keys,
        .durable_key_count = machine->settings->durable_key_count,
        .expiries = machine->settings->data_expiries,
        .expiry_count = machine->settings->data_expiry_count,
        .writer = &data->writer,
        .trace = machine->trace,
        .probes = machine->probes,
        .room = &control->data_room,
    };

    if (data->replicator)
        return data->replicator;
    options.seed = machine->settings->seed ^ machine->self->node.uid ^ UINT64_C(0xdda7a);
    data->replicator = replicator_new(&options, machine->now);
    data->is_stirred = true;
    for (uint32_t i = 0; i < member_count(control->member); i++)
        data_peer(control, member_at(control->member, i));
    return data->replicator;
}

const struct replicator *machine_data(const struct machine *machine)
{
    return machine->control->data.replicator;
}

void data_peer(struct control *control, const struct member_view *view)
{
    struct member_info peer = peer_of(control, view);

    if (!control->data.replicator)
        return;
    control->data.is_stirred = true;
    replicator_peer(control->data.replicator, control->machine->now, &peer);
}

void data_peer_removed(struct control *control, const struct node_id *node)
{
    if (!control->data.replicator)
        return;
    control->data.is_stirred = true;
    replicator_peer_removed(control->data.replicator, control->machine->now,
                            node);
}

/* Whether a message is for the path itself, or for one below it, of a write or a read. */
static bool is_for_it(const struct control *control, struct slice recipient)
{
    struct slice path = slice_text((const char *)control->data.path.data);

    return data_has_role(control) && recipient.size >= path.size &&
           memcmp(recipient.data, path.data, path.size) == 0 &&
           (recipient.size == path.size || recipient.data[path.size] == '/');
}

bool data_receive(struct control *control, const struct inbound *inbound)
{
    struct machine *machine = control->machine;
    struct replicator *replicator;

    if (inbound->serializer != REPLICATOR_SERIALIZER ||
        !is_for_it(control, inbound->recipient))
        return false;
    replicator = data_replicator(control);
    control->data.is_stirred = true;
    replicator_wall(replicator, machine->wall_ms);
    replicator_receive(replicator, machine->now, inbound, &machine->outbox);
    return true;
}

/* ---- calls ---- */

/* Translates the caller's level into the replicator's. */
static struct consistency consistency_of(const struct sherd_consistency *asked)
{
    static const enum consistency_level levels[] = {
        [SHERD_LOCAL] = CONSISTENCY_LOCAL,
        [SHERD_MEMBERS] = CONSISTENCY_COUNT,
        [SHERD_MAJORITY] = CONSISTENCY_MAJORITY,
        [SHERD_MAJORITY_PLUS] = CONSISTENCY_MAJORITY_PLUS,
        [SHERD_ALL] = CONSISTENCY_ALL,
    };
    struct consistency consistency = { .level = levels[asked->level],
                                       .timeout_ms = asked->timeout_ms };

    if (asked->level == SHERD_MAJORITY)
        consistency.cap_min = asked->members;
    else
        consistency.count = asked->members;
    return consistency;
}

/* Returns true if the update must begin again when the durable keys are loaded. */
static bool update(struct control *control, uint64_t token,
                   const struct data_call *call)
{
    struct machine *machine = control->machine;
    struct replicator *replicator = control->data.replicator;
    struct consistency consistency = consistency_of(&call->consistency);
    enum replicator_begin begun;
    const struct dd_value *current;
    struct dd_value *value = NULL;
    size_t growth_max;

    begun = replicator_update_begin(replicator, machine->now, token, call->key,
                                    &current, &machine->outbox);
    if (begun != REPLICATOR_MODIFY)
        return begun == REPLICATOR_WAIT;
    if (current && face_is_sure(current, call->type, call->changes,
                                call->count, &growth_max))
        value = replicator_update_in_place(replicator, call->key, growth_max,
                                           &consistency);
    if (value)
        face_change_in_place(value, call->changes, call->count,
                             &control->data.writer, machine->wall_ms);
    else
        value = face_change(current, call->type, call->changes, call->count,
                            &control->data.writer, machine->wall_ms);
    if (value)
        replicator_update_made(replicator, machine->now, token, call->key,
                               current, value, &consistency,
                               &machine->outbox);
    else
        replicator_update_fail(replicator, machine->now, token, call->key,
                               &machine->outbox);
    return false;
}

/* Returns true if the bytes are needed again. */
static bool begin(struct control *control, uint64_t token, enum data_verb verb,
                  const struct data_call *call)
{
    struct machine *machine = control->machine;
    struct replicator *replicator = control->data.replicator;
    struct consistency consistency = consistency_of(&call->consistency);

    switch (verb) {
    case DATA_FOLLOW:
    case DATA_KEYS: /* of no key: it waits like the others */
        replicator_show(replicator, token, call->key);
        break;
    case DATA_GET:
        replicator_get(replicator, machine->now, token, call->key,
                       &consistency, &machine->outbox);
        break;
    case DATA_UPDATE:
        return update(control, token, call);
    case DATA_DELETE:
        replicator_delete(replicator, machine->now, token, call->key,
                          &consistency, &machine->outbox);
        break;
    case DATA_RELEASE:
        replicator_release(replicator, token, call->key);
        break;
    case DATA_ALLOCATION:
    case DATA_SINGLETON:
        check_failed(__FILE__, __LINE__, "a call of distributed data");
    }
    return false;
}

static void begin_again(struct control *control, uint64_t token)
{
    struct asked *asked = map_get(&control->data.calls, map_u64(&token));
    struct data_call call;

    data_call_read(&call, asked->verb, buf_slice(&asked->bytes));
    if (!begin(control, token, asked->verb, &call))
        drop_bytes(&control->data, asked);
    data_call_fini(&call);
}

static struct buf *body_new(struct slice key)
{
    struct buf *body = mem_alloc(sizeof *body);

    face_put_body(body, key, NULL);
    return body;
}

/* With all values of the news. */
static struct buf *body_of(const struct control *control, struct slice key,
                           const struct replicator_news *news)
{
    const struct replicator *replicator = control->data.replicator;
    struct buf *body = body_new(key);
    const struct dd_value *value;

    for (uint32_t i = 0; (value = replicator_news_value(replicator, news, i)); i++)
        face_put_value(body, value);
    return body;
}

static void post_answer(struct control *control, const struct asker *to,
                        enum sherd_data_message msg, struct buf *body)
{
    struct mail_content content =
        MAIL(data_answer, .actor = to->actor, .tag = to->tag, .msg = msg,
             .own = { body });

    outputs_post(&control->machine->outputs, to->lane + 1, &content);
}

static void post_changed(struct control *control, uint32_t lane,
                         enum sherd_data_message msg, struct buf *body)
{
    struct mail_content content =
        MAIL(data_changed, .msg = msg, .own = { body });

    outputs_post(&control->machine->outputs, lane + 1, &content);
}

/* Ends subscriptions. actor 0: of all actors of the lane. */
static void unfollow(struct control *control, uint32_t lane, uint64_t actor,
                     struct slice key)
{
    struct mail_content content = MAIL(data_refused, .actor = actor,
                                       .own = { body_new(key) });

    outputs_post(&control->machine->outputs, lane + 1, &content);
}

/* bytes: used up. */
static void ask(struct control *control, const struct asker *from,
                enum data_verb verb, struct buf *bytes)
{
    struct data *data = &control->data;
    struct asked *asked;
    struct data_call call;
    uint64_t token;

    data_call_read(&call, verb, buf_slice(bytes));
    if (verb == DATA_UPDATE &&
        data->waiting_size + bytes->size > DATA_WAITING_SIZE_MAX) {
        data->refused++;
        post_answer(control, from, SHERD_DATA_REFUSED, body_new(call.key));
        data_call_fini(&call);
        return;
    }
    asked = mem_alloc(sizeof *asked);
    token = ++data->token;
    asked->by = *from;
    asked->verb = verb;
    asked->from = call.from;
    asked->key_size = (uint8_t)call.key.size;
    if (call.key.size)
        memcpy(asked->key, call.key.data, call.key.size);
    (void)map_put(&data->calls, map_u64(&token), asked);
    if (begin(control, token, verb, &call)) {
        asked->bytes = *bytes;
        *bytes = (struct buf){ 0 };
        data->waiting_size += asked->bytes.size;
        BOUNDED("bytes of updates that wait for durable keys",
                data->waiting_size, DATA_WAITING_SIZE_MAX);
    }
    data_call_fini(&call);
}

static void follow(struct control *control, uint32_t lane,
                   const struct mail_data_follow *request)
{
    struct replicator *replicator = data_replicator(control);
    struct asker from = { request->actor, request->tag, lane };
    struct slice key = buf_slice(request->own.key);
    struct buf text = { 0 }, bytes = { 0 };

    switch (request->follow) {
    case FOLLOW_NO_MORE:
        replicator_unsubscribe(replicator, lane + 1, key);
        break;
    case FOLLOW_FIRST:
        if (!replicator_subscribe(replicator, lane + 1, key))
            unfollow(control, lane, 0, key);
        break;
    case FOLLOW_TOO:
        if (!replicator_is_subscribed(replicator, lane + 1, key))
            break; /* all of them hear of the refusal */
        buf_put_slice(&text, key);
        buf_put_u8(&text, 0);
        check(data_call_put(&bytes, (const char *)text.data, NULL, SHERD_FLAG,
                            NULL, 0)); /* checked by the lane */
        ask(control, &from, DATA_FOLLOW, &bytes);
        buf_fini(&text);
        buf_fini(&bytes);
        break;
    }
}

static void refuse(struct control *control, uint32_t lane,
                   const struct mail_content *content)
{
    const struct mail_data_follow *request;
    const struct mail_data_call *made;
    struct asker from;
    struct data_call call;

    if (content->kind == MAIL_DATA_FOLLOW) {
        request = mail_data_follow_of(content);
        if (request->follow == FOLLOW_FIRST)
            unfollow(control, lane, 0, buf_slice(request->own.key));
        return;
    }
    made = mail_data_call_of(content);
    from = (struct asker){ made->actor, made->tag, lane };
    data_call_read(&call, made->verb, buf_slice(made->own.bytes));
    post_answer(control, &from, SHERD_DATA_REFUSED, body_new(call.key));
    data_call_fini(&call);
}

void data_mail(struct control *control, uint32_t lane,
               const struct mail_content *content)
{
    struct data *data = &control->data;
    const struct mail_data_call *made;
    struct asker from;

    if (!data_has_role(control)) {
        refuse(control, lane, content);
        return;
    }
    (void)data_replicator(control);
    data->is_stirred = true;
    replicator_wall(data->replicator, control->machine->wall_ms);
    if (content->kind == MAIL_DATA_FOLLOW) {
        follow(control, lane, mail_data_follow_of(content));
        return;
    }
    made = mail_data_call_of(content);
    from = (struct asker){ made->actor, made->tag, lane };
    ask(control, &from, made->verb, made->own.bytes);
}

/* ---- events ---- */

static bool is_write(const struct asked *asked)
{
    return asked->verb == DATA_UPDATE || asked->verb == DATA_DELETE ||
           asked->verb == DATA_RELEASE;
}

/* Whether the key exists, deleted or not. */
static bool has_key(const struct control *control, struct slice key)
{
    struct buf bytes = { 0 };
    bool is_there = replicator_bytes(control->data.replicator, key, &bytes);

    buf_fini(&bytes);
    return is_there;
}

static enum sherd_data_message message_of(const struct control *control,
                                          const struct asked *asked,
                                          const struct replicator_news *news)
{
    switch (news->answer) {
    case REPLICATOR_SUCCESS:
        if (is_write(asked))
            return SHERD_DATA_UPDATED;
        if (!news->value) /* deleted or expired since */
            return has_key(control, news->key) ? SHERD_DATA_DELETED
                                               : SHERD_DATA_NOT_FOUND;
        return asked->verb == DATA_GET ? SHERD_DATA_FOUND : SHERD_DATA_CHANGED;
    case REPLICATOR_NOT_FOUND:
        return SHERD_DATA_NOT_FOUND;
    case REPLICATOR_DELETED:
        return SHERD_DATA_DELETED;
    case REPLICATOR_GET_FAILURE:
    case REPLICATOR_UPDATE_TIMEOUT:
    case REPLICATOR_DELETE_FAILURE:
        return SHERD_DATA_TIMEOUT;
    case REPLICATOR_STORE_FAILURE:
        return SHERD_DATA_NOT_STORED;
    case REPLICATOR_MODIFY_FAILURE:
        return SHERD_DATA_MISMATCH;
    case REPLICATOR_HELD:
        return SHERD_DATA_HELD;
    case REPLICATOR_TOO_LARGE:
        return SHERD_DATA_TOO_LARGE;
    case REPLICATOR_FULL:
    case REPLICATOR_STOPPED:
        break;
    }
    return SHERD_DATA_REFUSED;
}

/* Posts keys from an offset on, as many as an answer holds. */
static void post_keys(struct control *control, const struct asked *asked)
{
    const struct replicator *replicator = control->data.replicator;
    struct buf *body = mem_alloc(sizeof *body);
    struct mail_content content =
        MAIL(data_answer, .actor = asked->by.actor, .tag = asked->by.tag,
             .msg = SHERD_DATA_KEYS, .own = { body });
    uint32_t at = asked->from, index = 0, behind, count = 0;
    struct slice key;

    face_begin_keys(body);
    while (count++ < DATA_KEYS_MAX &&
           replicator_step_key(replicator, &at, &index, &key))
        face_put_key(body, key);
    behind = at;
    face_end_keys(body,
                  replicator_step_key(replicator, &behind, &index, &key)
                      ? at
                      : 0);
    outputs_post(&control->machine->outputs, asked->by.lane + 1, &content);
}

static void answer(struct control *control, const struct replicator_news *news)
{
    struct asked *asked =
        map_take(&control->data.calls, map_u64(&news->token));
    enum sherd_data_message what;
    struct slice key;

    check(asked != NULL);
    key = slice_of(asked->key, asked->key_size);
    what = message_of(control, asked, news);
    if (asked->verb == DATA_KEYS && what != SHERD_DATA_REFUSED)
        post_keys(control, asked);
    else if (asked->verb == DATA_FOLLOW && what == SHERD_DATA_REFUSED)
        unfollow(control, asked->by.lane, asked->by.actor, key);
    else if (asked->verb != DATA_FOLLOW ||
             (what != SHERD_DATA_NOT_FOUND && what != SHERD_DATA_HELD))
        post_answer(control, &asked->by, what,
                    is_write(asked) ? body_new(key)
                                    : body_of(control, key, news));
    drop_asked(&control->data, asked);
}

static uint64_t asked_due(const struct control *control)
{
    return control->data.replicator
               ? replicator_deadline(control->data.replicator)
               : NEVER;
}

static uint64_t replicator_due(const struct control *control)
{
    return control->data.is_stirred ? asked_due(control) : control->data.due;
}

void data_wire(struct control *control)
{
    struct replicator *replicator = control->data.replicator;
    struct replicator_news news;

    while (control->data.is_stirred &&
           replicator_next_news(replicator, &news)) {
        if (shard_locations_has(news.token)) {
            shard_locations_news(control, &news);
            continue;
        }
        switch (news.kind) {
        case REPLICATOR_NEWS_ANSWER:
            answer(control, &news);
            break;
        case REPLICATOR_NEWS_CHANGED:
            if (!news.value && !has_key(control, news.key))
                break; /* forgotten since: the next event says so */
            /* fall through */
        case REPLICATOR_NEWS_REMOVED:
            post_changed(control, (uint32_t)news.token - 1,
                         news.kind == REPLICATOR_NEWS_CHANGED && news.value
                             ? SHERD_DATA_CHANGED
                             : SHERD_DATA_DELETED,
                         body_of(control, news.key, &news));
            break;
        case REPLICATOR_NEWS_EXPIRED:
            post_changed(control, (uint32_t)news.token - 1,
                         SHERD_DATA_EXPIRED, body_new(news.key));
            break;
        case REPLICATOR_NEWS_MODIFY:
            begin_again(control, news.token);
            break;
        case REPLICATOR_NEWS_STORE:
            data_durable_put(control, 0, &news);
            break;
        case REPLICATOR_NEWS_FORGET:
            data_durable_erase(control, 0, news.key);
            break;
        case REPLICATOR_NEWS_ENDED:
            break;
        }
    }
    if (control->data.is_stirred)
        control->data.due = asked_due(control);
    control->data.is_stirred = false;
    data_durable_wire(control);
}

void data_step(struct control *control)
{
    struct machine *machine = control->machine;

    replicator_room_fill(&control->data_room); /* also for sharding's */
    data_durable_step(control);
    if (replicator_due(control) > machine->now)
        return;
    control->data.is_stirred = true;
    replicator_wall(control->data.replicator, machine->wall_ms);
    replicator_step(control->data.replicator, machine->now, &machine->outbox);
}

uint64_t data_deadline(const struct control *control)
{
    uint64_t store = data_durable_deadline(control);
    uint64_t replicator = replicator_due(control);

    return store < replicator ? store : replicator;
}
