/* Executes gets and puts with the key's replicas.
 *
 * A call asks its replicas immediately and lives until each ask has ended, so it needs no timer.
 * The caller gets an answer when R or W replicas have answered, or when too few still can. A read's
 * result, the merge of the first R answers, is sent when R replicas are known to have it:
 * immediately if they agree, else after repairs. So a later read meets a replica that has it. The
 * read continues to repair, also with later answers. */
#include "base/bound.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/mark.h"
#include "kvstore/broker.h"

#define REPLICA_BITS 3 /* of an ask's tag: index of the call's replica; above them its serial */
#define UNTRACKED 0    /* the serial of a repair whose answer is ignored */

_Static_assert(SHERD_STORE_REPLICAS_MAX < 1 << REPLICA_BITS, "tags");

/* ---- the table of calls ---- */

static struct call *call_at(struct broker *broker, uint32_t serial)
{
    struct call *call = &broker->calls[serial % KVSTORE_CALLS_MAX];

    return serial && call->serial == serial ? call : NULL;
}

void call_free(struct broker *broker, struct call *call)
{
    siblings_fini(&call->merged);
    siblings_fini(&call->found);
    buf_fini(&call->passed);
    call->serial = 0;
    broker->open--;
}

struct call *call_new(struct broker *broker, const struct sherd_ctx *ctx,
                      enum call_kind kind, struct slice key,
                      uint64_t timeout_ms)
{
    struct call *call = NULL;

    for (uint32_t i = 0; !call && i <= KVSTORE_CALLS_MAX; i++) {
        broker->serial = (broker->serial + 1) & (UINT32_MAX >> REPLICA_BITS);
        call = &broker->calls[broker->serial % KVSTORE_CALLS_MAX];
        if (broker->open >= KVSTORE_CALLS_MAX && call->is_answered)
            call_free(broker, call); /* it only waits to repair: late answers find no call */
        if (call->serial || !broker->serial)
            call = NULL;
    }
    if (!call)
        return NULL;
    *call = (struct call){ .kind = kind,
                           .serial = broker->serial,
                           .end = sherd_now(ctx) + timeout_ms,
                           .key_size = (uint8_t)key.size };
    memcpy(call->key, key.data, key.size);
    broker->open++;
    BOUNDED("open calls of a broker", broker->open, KVSTORE_CALLS_MAX);
    return call;
}

/* Has the call no caller? */
static bool is_own(const struct call *call)
{
    return call->kind == CALL_MOVE || call->kind == CALL_FORGET;
}

static struct slice call_key(const struct call *call)
{
    return slice_of(call->key, call->key_size);
}

static void ask(struct broker *broker, struct sherd_ctx *ctx, uint64_t uid,
                enum kvstore_request request, struct slice body, uint32_t tag,
                uint64_t end)
{
    const struct store_member *member = broker_member(broker, uid);
    uint64_t now = sherd_now(ctx);

    sherd_ask(ctx, member->broker, request,
              (struct sherd_bytes){ body.data, body.size }, tag,
              end > now ? end - now : 1);
}

static bool can_ask(const struct broker *broker, uint64_t uid)
{
    const struct store_member *member = broker_member(broker, uid);

    return member && (member->broker.node || member->broker.actor);
}

bool call_ask(struct broker *broker, struct sherd_ctx *ctx, struct call *call,
              uint64_t uid, enum kvstore_request request, struct slice body)
{
    struct reply *reply = &call->replies[call->count];

    *reply = (struct reply){ .uid = uid, .is_out = can_ask(broker, uid) };
    if (reply->is_out) {
        ask(broker, ctx, uid, request, body,
            call->serial << REPLICA_BITS | call->count, call->end);
        call->out++;
    }
    call->count++;
    return reply->is_out;
}

void write_body(struct slice key, const struct siblings *siblings,
                struct buf *body)
{
    struct request request = { .key = key };

    request_put(KVSTORE_WRITE, &request, body);
    siblings_put(siblings, body);
}

/* ---- answers to callers ---- */

static void count_end(struct broker *broker, enum sherd_store_message msg)
{
    if (msg == SHERD_STORE_REFUSED)
        broker->counts[SHERD_STORE_DENIED]++;
    else if (msg == SHERD_STORE_UNMET || msg == SHERD_STORE_TOO_FEW)
        broker->counts[SHERD_STORE_SHORT]++;
    else
        broker->counts[SHERD_STORE_DONE]++;
}

/* context and siblings: null for none. */
static void put_answer(struct buf *body, uint32_t replicas, struct slice key,
                       const struct history *context,
                       const struct siblings *siblings)
{
    struct buf clock = { 0 };

    if (context)
        context_put(key, context, &clock);
    buf_put_u8(body, (uint8_t)replicas);
    buf_put_u16(body, (uint16_t)clock.size);
    buf_put_slice(body, buf_slice(&clock));
    for (uint32_t i = 0; siblings && i < siblings->versions.count; i++) {
        const struct version *version = &siblings->versions.items[i];

        if (version->is_deletion)
            continue;
        buf_put_u32(body, (uint32_t)version->value.size);
        buf_put_slice(body, version->value);
    }
    buf_fini(&clock);
}

/* Counts the replicas that certainly have a read's result. */
static uint32_t holders(const struct call *call)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < call->count; i++)
        count += call->replies[i].has_found;
    return count;
}

static void tell(struct broker *broker, struct sherd_ctx *ctx,
                 struct call *call, enum sherd_store_message msg,
                 const struct history *context, const struct siblings *siblings)
{
    struct buf body = { 0 };

    put_answer(&body, call->is_found ? holders(call) : call->answers,
               call_key(call), context, siblings);
    sherd_answer(ctx, &call->question, msg,
                 (struct sherd_bytes){ body.data, body.size });
    buf_fini(&body);
    count_end(broker, msg);
    call->is_answered = true;
}

/* Answers a call that cannot begin. */
static void deny(struct broker *broker, struct sherd_ctx *ctx,
                 enum sherd_store_message msg)
{
    struct buf body = { 0 };

    put_answer(&body, 0, slice_of(NULL, 0), NULL, NULL);
    sherd_reply(ctx, msg, (struct sherd_bytes){ body.data, body.size });
    buf_fini(&body);
    count_end(broker, msg);
}

static void answer_read(struct broker *broker, struct sherd_ctx *ctx,
                        struct call *call)
{
    const struct siblings *found = call->waits ? &call->found : &call->merged;

    tell(broker, ctx, call,
         siblings_live(found) ? SHERD_STORE_FOUND : SHERD_STORE_NOT_FOUND,
         &found->history, found);
}

/* The clock describes the written version only if that stands alone. */
static void answer_write(struct broker *broker, struct sherd_ctx *ctx,
                         struct call *call)
{
    bool is_alone = call->merged.versions.count == 1;

    tell(broker, ctx, call, SHERD_STORE_WRITTEN,
         is_alone ? &call->merged.history : NULL, NULL);
}

/* ---- read repair ---- */

static uint64_t hash_of(const struct siblings *siblings)
{
    struct buf bytes = { 0 };
    uint64_t hash;

    siblings_put(siblings, &bytes);
    hash = hash_bytes(buf_slice(&bytes));
    buf_fini(&bytes);
    return hash;
}

/* R have answered: their merge is the result. */
static void find(struct call *call)
{
    uint64_t hash;

    if (call->is_found || call->answers < call->wanted)
        return;
    call->is_found = true;
    hash = hash_of(&call->merged);
    for (uint32_t i = 0; i < call->count; i++) {
        struct reply *reply = &call->replies[i];

        reply->has_found = reply->has_answered && reply->hash == hash;
    }
    call->waits = holders(call) < call->wanted;
    if (call->waits)
        siblings_copy(&call->found, &call->merged);
}

/* Do these versions include the whole result? */
static bool has_found(const struct call *call, const struct siblings *siblings)
{
    struct siblings both = { 0 };
    bool has;

    if (!call->waits || call->is_answered)
        return false; /* no caller waits */
    siblings_copy(&both, siblings);
    has = siblings_merge(&both, &call->found) && siblings_equal(&both, siblings);
    siblings_fini(&both);
    return has;
}

/* The answer counts only while a caller waits for it. */
static void send_repair(struct broker *broker, struct sherd_ctx *ctx,
                        struct call *call, uint32_t index, struct slice body)
{
    struct reply *reply = &call->replies[index];

    if (!can_ask(broker, reply->uid))
        return;
    if (call->is_answered || reply->has_found || reply->is_out) {
        ask(broker, ctx, reply->uid, KVSTORE_WRITE, body, UNTRACKED,
            sherd_now(ctx) + broker->settings.timeout_ms);
        return;
    }
    REACHED("the store: a read waits for its repair");
    reply->is_out = true;
    call->out++;
    ask(broker, ctx, reply->uid, KVSTORE_WRITE, body,
        call->serial << REPLICA_BITS | index, call->end);
}

/* Sends each replica that answered what it lacks. */
static void repair(struct broker *broker, struct sherd_ctx *ctx,
                   struct call *call)
{
    uint64_t hash = hash_of(&call->merged);
    struct buf body = { 0 };

    for (uint32_t i = 0; i < call->count; i++) {
        struct reply *reply = &call->replies[i];

        if (!reply->has_answered || reply->hash == hash)
            continue;
        reply->hash = hash;
        broker->counts[SHERD_STORE_REPAIRS]++;
        REACHED("the store: a replica is repaired");
        SOMETIMES("the store: a replica that answered late is repaired",
                  call->answers > call->wanted);
        if (reply->uid == broker->self.node) {
            if (keep_merge(broker, call_key(call), &call->merged)) /* else it is counted */
                reply->has_found = true;
            continue;
        }
        if (!body.size)
            write_body(call_key(call), &call->merged, &body);
        send_repair(broker, ctx, call, i, buf_slice(&body));
    }
    buf_fini(&body);
}

/* ---- after an answer ---- */

/* Answers the caller as soon as the result is known. */
static void settle(struct broker *broker, struct sherd_ctx *ctx,
                   struct call *call)
{
    uint32_t wanted = call->wanted;
    uint32_t have = call->is_found ? holders(call) : call->answers;

    if (call->is_answered || is_own(call))
        return;
    if (have >= wanted && call->is_found)
        answer_read(broker, ctx, call);
    else if (have >= wanted && call->kind == CALL_WRITE)
        answer_write(broker, ctx, call);
    else if (have + call->out < wanted)
        tell(broker, ctx, call, SHERD_STORE_UNMET, NULL, NULL);
}

static void end_if_over(struct broker *broker, struct call *call)
{
    if (call->out)
        return;
    if (call->kind == CALL_MOVE)
        moving_ended(broker, call);
    else if (call->kind == CALL_FORGET)
        forgetting_ended(broker, call);
    else
        call_free(broker, call);
}

static void on_state(struct broker *broker, struct sherd_ctx *ctx,
                     struct call *call, struct reply *reply,
                     struct slice bytes)
{
    struct siblings siblings = { 0 };

    if (!siblings_get(bytes, &siblings)) {
        broker->counts[SHERD_STORE_MALFORMED]++;
        return;
    }
    if (siblings_merge(&call->merged, &siblings)) {
        reply->has_answered = true;
        reply->hash = hash_of(&siblings);
        reply->has_found = has_found(call, &siblings);
        call->answers++;
        find(call);
        if (call->is_found)
            repair(broker, ctx, call);
    } else {
        broker->counts[SHERD_STORE_NOT_TAKEN]++;
    }
    siblings_fini(&siblings);
}

/* ---- puts that another replica coordinates ---- */

static bool was_asked(const struct call *call, uint64_t uid)
{
    for (uint32_t i = 0; i < call->count; i++)
        if (call->replies[i].uid == uid)
            return true;
    return false;
}

/* Chooses another replica: the first reachable one, else the first known one. */
static uint64_t choose(const struct broker *broker, const struct call *call)
{
    uint64_t uids[SHERD_STORE_REPLICAS_MAX];
    uint64_t known = 0; /* not the uid of any node */
    uint32_t count = places_find(&broker->places, call_key(call),
                                 broker->settings.replicas, uids);

    for (uint32_t i = count; i-- > 0;) {
        uint64_t uid = uids[i];

        if (uid != broker->self.node && can_ask(broker, uid) &&
            !was_asked(call, uid) &&
            (!known || !broker_member(broker, known)->member.reachable ||
             broker_member(broker, uid)->member.reachable))
            known = uid;
    }
    return known;
}

/* Asks a replica that has not refused, if there is one. */
static void pass_on(struct broker *broker, struct sherd_ctx *ctx,
                    struct call *call)
{
    uint64_t uid = choose(broker, call);

    if (uid && call->count < SHERD_STORE_REPLICAS_MAX)
        (void)call_ask(broker, ctx, call, uid, KVSTORE_COORDINATE,
                       buf_slice(&call->passed));
}

/* Passes on another replica's answer to a put. */
static void on_relayed(struct broker *broker, struct sherd_ctx *ctx,
                       struct call *call, const struct sherd_msg *msg)
{
    sherd_answer(ctx, &call->question, msg->msg, msg->body);
    count_end(broker, (enum sherd_store_message)msg->msg);
    call->is_answered = true;
}

/* A node that answers astray has the key, but may drop it later. The successors of a leaving node
 * do not see themselves as replicas yet, so theirs counts. */
static bool is_taken(const struct broker *broker, const struct call *call,
                     uint32_t msg)
{
    bool counts = call->kind == CALL_WRITE || is_own(call);

    if (msg == KVSTORE_ASTRAY && is_own(call))
        counts = call->kind == CALL_MOVE && broker->is_leaving;
    return counts && (msg == KVSTORE_TAKEN || msg == KVSTORE_ASTRAY);
}

/* Has the replica taken a repair? */
static bool is_repaired(const struct call *call, const struct reply *reply,
                        uint32_t msg)
{
    return call->kind == CALL_READ && reply->has_answered &&
           (msg == KVSTORE_TAKEN || msg == KVSTORE_ASTRAY);
}

void calls_answer(struct broker *broker, struct sherd_ctx *ctx,
                  const struct sherd_msg *msg)
{
    struct call *call = call_at(broker, msg->tag >> REPLICA_BITS);
    struct reply *reply;

    if (!call)
        return; /* a repair's */
    reply = &call->replies[msg->tag & ((1 << REPLICA_BITS) - 1)];
    reply->is_out = false;
    call->out--;
    if (msg->kind == SHERD_ANSWER && call->kind == CALL_RELAY &&
        msg->msg >= SHERD_STORE_FOUND && msg->msg < SHERD_STORE_STATUS)
        on_relayed(broker, ctx, call, msg);
    else if (msg->kind == SHERD_ANSWER && call->kind == CALL_RELAY &&
             msg->msg == KVSTORE_ELSEWHERE)
        pass_on(broker, ctx, call);
    else if (msg->kind == SHERD_ANSWER && msg->msg == KVSTORE_STATE &&
             call->kind == CALL_READ)
        on_state(broker, ctx, call, reply,
                 slice_of(msg->body.data, msg->body.size));
    else if (msg->kind == SHERD_ANSWER && is_repaired(call, reply, msg->msg))
        reply->has_found = true;
    else if (msg->kind == SHERD_ANSWER && is_taken(broker, call, msg->msg))
        call->answers++;
    settle(broker, ctx, call);
    end_if_over(broker, call);
}

/* ---- requests ---- */

struct begun {
    uint64_t uids[SHERD_STORE_REPLICAS_MAX];
    uint32_t count;
    uint32_t wanted;
    uint64_t timeout_ms;
    bool is_here;
};

static struct begun begin(const struct broker *broker,
                          const struct request *request, uint32_t wanted)
{
    struct begun begun = { .wanted = request->level ? request->level : wanted };

    begun.count = places_find(&broker->places, request->key,
                              broker->settings.replicas, begun.uids);
    begun.timeout_ms = request->timeout_ms ? request->timeout_ms
                                           : broker->settings.timeout_ms;
    for (uint32_t i = 0; i < begun.count; i++)
        begun.is_here |= begun.uids[i] == broker->self.node;
    return begun;
}

static void get(struct broker *broker, struct sherd_ctx *ctx,
                const struct request *request)
{
    struct begun begun = begin(broker, request, broker->settings.read);
    const struct item *item = keep_find(&broker->keep, request->key);
    struct call *call = NULL;
    struct request read = { .key = request->key };
    struct buf body = { 0 };

    if (begun.count >= begun.wanted)
        call = call_new(broker, ctx, CALL_READ, request->key,
                        begun.timeout_ms);
    if (!call) {
        deny(broker, ctx,
             begun.count < begun.wanted ? SHERD_STORE_TOO_FEW
                                        : SHERD_STORE_REFUSED);
        return;
    }
    call->question = sherd_reply_later(ctx);
    call->wanted = begun.wanted;
    request_put(KVSTORE_READ, &read, &body);
    for (uint32_t i = 0; i < begun.count; i++) {
        struct reply *reply = &call->replies[call->count];

        if (begun.uids[i] != broker->self.node) {
            (void)call_ask(broker, ctx, call, begun.uids[i], KVSTORE_READ,
                           buf_slice(&body)); /* settle handles a failure */
            continue;
        }
        if (item)
            siblings_copy(&call->merged, &item->siblings);
        *reply = (struct reply){ .uid = broker->self.node,
                                 .has_answered = true,
                                 .hash = hash_of(&call->merged) };
        call->answers++;
        call->count++;
    }
    buf_fini(&body);
    find(call);
    settle(broker, ctx, call);
    end_if_over(broker, call);
}

static void write_to_others(struct broker *broker, struct sherd_ctx *ctx,
                            struct call *call, const struct begun *begun)
{
    struct buf body = { 0 };

    write_body(call_key(call), &call->merged, &body);
    for (uint32_t i = 0; i < begun->count; i++)
        if (begun->uids[i] != broker->self.node)
            (void)call_ask(broker, ctx, call, begun->uids[i], KVSTORE_WRITE,
                           buf_slice(&body));
    buf_fini(&body);
}

/* This node is a replica: the others get its resulting versions of the key. */
static void coordinate(struct broker *broker, struct sherd_ctx *ctx,
                       const struct request *request,
                       const struct history *seen, const struct begun *begun)
{
    struct call *call = call_new(broker, ctx, CALL_WRITE, request->key,
                                 begun->timeout_ms);

    if (!call) {
        deny(broker, ctx, SHERD_STORE_REFUSED);
        return;
    }
    if (!keep_write(broker, ctx, request->key, seen, request->is_deletion,
                    request->rest)) {
        call_free(broker, call);
        deny(broker, ctx, SHERD_STORE_REFUSED);
        return;
    }
    siblings_copy(&call->merged,
                  &keep_find(&broker->keep, request->key)->siblings);
    call->question = sherd_reply_later(ctx);
    call->wanted = begun->wanted;
    call->answers = 1;
    write_to_others(broker, ctx, call, begun);
    settle(broker, ctx, call);
    end_if_over(broker, call);
}

static void relay(struct broker *broker, struct sherd_ctx *ctx,
                  const struct request *request, const struct begun *begun)
{
    struct call *call = call_new(broker, ctx, CALL_RELAY, request->key,
                                 begun->timeout_ms);

    if (!call) {
        deny(broker, ctx, SHERD_STORE_REFUSED);
        return;
    }
    broker->counts[SHERD_STORE_RELAYED]++;
    call->question = sherd_reply_later(ctx);
    call->wanted = 1;
    request_put(KVSTORE_COORDINATE, request, &call->passed);
    pass_on(broker, ctx, call);
    settle(broker, ctx, call);
    end_if_over(broker, call);
}

static void put(struct broker *broker, struct sherd_ctx *ctx,
                const struct request *request, bool may_relay)
{
    struct begun begun = begin(broker, request, broker->settings.write);
    struct history seen = { 0 };

    if (!context_get(request->key, request->context, &seen)) {
        broker->counts[SHERD_STORE_MALFORMED]++;
        deny(broker, ctx, SHERD_STORE_REFUSED);
    } else if (begun.count < begun.wanted) {
        deny(broker, ctx, SHERD_STORE_TOO_FEW);
    } else if (begun.is_here && !broker->is_leaving) {
        coordinate(broker, ctx, request, &seen, &begun);
    } else if (may_relay) {
        relay(broker, ctx, request, &begun);
    } else {
        count_end(broker, SHERD_STORE_UNMET);
        sherd_reply(ctx, KVSTORE_ELSEWHERE, (struct sherd_bytes){ NULL, 0 });
    }
    history_fini(&seen);
}

/* ---- as a replica ---- */

static void reply_state(struct broker *broker, struct sherd_ctx *ctx,
                        struct slice key)
{
    static const struct siblings nothing;
    const struct item *item = keep_find(&broker->keep, key);
    struct buf body = { 0 };

    siblings_put(item ? &item->siblings : &nothing, &body);
    sherd_reply(ctx, KVSTORE_STATE, (struct sherd_bytes){ body.data, body.size });
    buf_fini(&body);
}

static bool is_part(const struct history *part, const struct history *whole)
{
    enum history_order order = history_compare(part, whole);

    return order == HISTORY_SAME || order == HISTORY_BEFORE;
}

/* A CONFIRM creates nothing where the key is absent: that replica has nothing older. */
static void take(struct broker *broker, struct sherd_ctx *ctx,
                 const struct request *request, enum kvstore_request kind)
{
    struct siblings siblings = { 0 };
    struct item *item = keep_find(&broker->keep, request->key);
    bool taken = siblings_get(request->rest, &siblings);
    bool is_replica = moving_is_replica(broker, request->key);
    bool is_news = !item || !is_part(&siblings.history, &item->siblings.history);

    if (!taken)
        broker->counts[SHERD_STORE_MALFORMED]++;
    else if (kind == KVSTORE_WRITE || item)
        taken = keep_merge(broker, request->key, &siblings);
    siblings_fini(&siblings);
    item = keep_find(&broker->keep, request->key);
    if (taken && !is_replica && is_news && item)
        moving_astray(broker, ctx, item);
    sherd_reply(ctx,
                !taken       ? KVSTORE_NOT_TAKEN
                : is_replica ? KVSTORE_TAKEN
                             : KVSTORE_ASTRAY,
                (struct sherd_bytes){ NULL, 0 });
}

static void reply_status(struct broker *broker, struct sherd_ctx *ctx)
{
    struct buf body = { 0 };
    uint32_t open = 0;

    for (uint32_t i = 0; i < KVSTORE_CALLS_MAX; i++)
        open += broker->calls[i].serial && !broker->calls[i].is_answered &&
                !is_own(&broker->calls[i]);
    broker->counts[SHERD_STORE_OPEN] = open;
    broker->counts[SHERD_STORE_KEYS] = broker->keep.items.count;
    broker->counts[SHERD_STORE_BYTES] = broker->keep.bytes;
    broker->counts[SHERD_STORE_MEMBERS] = broker->places.items.count;
    broker->counts[SHERD_STORE_MOVING] = broker->walk != UINT32_MAX;
    for (int i = 0; i < SHERD_STORE_COUNTER_COUNT; i++)
        buf_put_u64(&body, broker->counts[i]);
    sherd_reply(ctx, SHERD_STORE_STATUS,
                (struct sherd_bytes){ body.data, body.size });
    buf_fini(&body);
}

void calls_request(struct broker *broker, struct sherd_ctx *ctx,
                   const struct sherd_msg *msg)
{
    enum kvstore_request kind = (enum kvstore_request)msg->msg;
    struct request request = { 0 };

    if (kind == KVSTORE_STATUS) {
        reply_status(broker, ctx);
        return;
    }
    if (kind < KVSTORE_GET || kind > KVSTORE_CONFIRM ||
        !request_get(kind, slice_of(msg->body.data, msg->body.size),
                     &request)) {
        broker->counts[SHERD_STORE_MALFORMED]++;
        return; /* the sender sees a failed ask */
    }
    if (kind == KVSTORE_GET)
        broker->counts[SHERD_STORE_GETS]++;
    if (kind == KVSTORE_PUT || kind == KVSTORE_COORDINATE)
        broker->counts[SHERD_STORE_PUTS]++;
    if (kind == KVSTORE_GET)
        get(broker, ctx, &request);
    else if (kind == KVSTORE_PUT || kind == KVSTORE_COORDINATE)
        put(broker, ctx, &request, kind == KVSTORE_PUT);
    else if (kind == KVSTORE_READ)
        reply_state(broker, ctx, request.key);
    else
        take(broker, ctx, &request, kind);
}
