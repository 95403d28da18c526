/* Implements the bank of bank.h. */
#include "bank.h"

#include <stdio.h>

#include "actor/delivery/book.h"
#include "base/hash.h"

enum { EVENT_MONEY = 1, EVENT_LATER = 2, EVENT_UNKNOWN = 3 };

struct bank bank;

/* ---- the journal ---- */

struct stored_event {
    uint32_t type;
    struct buf payload;
};

struct tape {
    char id[8];
    uint64_t actor; /* of the present incarnation; 0: none */
    VEC(struct stored_event) events; /* the first `durable` ones are durable */
    uint32_t durable;
    uint64_t snapshot; /* number of its event; 0: none */
    struct buf part, image;
    bool wants; /* a replay */
};

static struct tape streams[BANK_ACCOUNTS];
static uint64_t position;

static struct tape *stream_of(struct slice id)
{
    check(id.size == 2 && id.data[0] == 'a' && id.data[1] < '0' + BANK_ACCOUNTS);
    return &streams[id.data[1] - '0'];
}

static struct tape *by_actor(uint64_t actor)
{
    for (int i = 0; i < BANK_ACCOUNTS; i++)
        if (streams[i].actor == actor)
            return &streams[i];
    return NULL;
}

static uint64_t append(void *user, uint64_t actor, struct entity_event event)
{
    struct tape *stream = by_actor(actor);
    struct stored_event stored = { .type = event.type };

    (void)user;
    assert_non_null(stream);
    buf_put_slice(&stored.payload, event.payload);
    vec_push(&stream->events, stored);
    return ++position;
}

static void cut(struct tape *stream, uint64_t events)
{
    while (stream->events.count > events)
        buf_fini(&stream->events.items[--stream->events.count].payload);
}

static void take_back(void *user, uint64_t actor, uint64_t seq)
{
    struct tape *stream = by_actor(actor);

    (void)user;
    assert_non_null(stream);
    assert_in_range(seq, stream->durable, stream->events.count - 1);
    cut(stream, seq);
}

/* Keeps it at once: a test commits before it crashes. */
static void save(void *user, uint64_t actor, const struct actors_snapshot *snapshot)
{
    struct tape *stream = by_actor(actor);

    (void)user;
    assert_non_null(stream);
    buf_clear(&stream->part);
    buf_clear(&stream->image);
    buf_put_slice(&stream->part, snapshot->part);
    buf_put_slice(&stream->image, snapshot->image);
    stream->snapshot = stream->events.count;
}

static void replay(struct tape *stream)
{
    uint64_t first = 0;

    stream->wants = false;
    if (stream->snapshot && stream->snapshot <= stream->durable) {
        assert_null(actors_replay_snapshot(bank.actors, stream->actor, stream->snapshot, 0,
                                           buf_slice(&stream->part), buf_slice(&stream->image)));
        first = stream->snapshot;
    }
    for (uint64_t i = first; i < stream->durable; i++)
        assert_true(actors_replay_event(
            bank.actors, stream->actor, i + 1,
            (struct entity_event){ stream->events.items[i].type, 0,
                                   buf_slice(&stream->events.items[i].payload) }));
    actors_recovered(bank.actors, stream->actor, stream->durable);
}

void bank_commit(void)
{
    for (int i = 0; i < BANK_ACCOUNTS; i++)
        streams[i].durable = streams[i].events.count;
    actors_durable(bank.actors, position);
}

void bank_fail(const char *id, enum sherd_reason reason)
{
    struct tape *stream = stream_of(slice_text(id));

    cut(stream, stream->durable);
    actors_store_failed(bank.actors, stream->actor, reason);
}

/* ---- accounts ---- */

struct account {
    int64_t balance;
    struct sherd_delivery later[BANK_NUMBERS];
    uint32_t later_count;
};

static void apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct account *account = self;
    int64_t amount;

    assert_true(type < SHERD_NUMBERS_END);
    memcpy(&amount, event.data, sizeof amount);
    account->balance += amount;
}

static const char *apply_checked(void *self, uint32_t type, struct sherd_bytes event)
{
    if (type == EVENT_UNKNOWN)
        return "unknown type";
    apply(self, type, event);
    return NULL;
}

static int save_account(const void *self, struct sherd_out *out)
{
    const struct account *account = self;

    sherd_out_put(out, (struct sherd_bytes){ &account->balance, sizeof account->balance });
    return 0;
}

static int load_account(void *self, uint32_t version, struct sherd_bytes image)
{
    struct account *account = self;

    (void)version;
    memcpy(&account->balance, image.data, sizeof account->balance);
    return 0;
}

static struct sherd_bytes bytes_of(const int64_t *amount)
{
    return (struct sherd_bytes){ amount, sizeof *amount };
}

static void pay(struct sherd_ctx *ctx, const struct sherd_msg *msg, bool takes)
{
    struct bank_pay order;
    int64_t taken;

    memcpy(&order, msg->body.data, sizeof order);
    taken = -order.amount;
    if (takes)
        sherd_persist(ctx, EVENT_MONEY, bytes_of(&taken));
    bank.last_number = sherd_deliver(ctx, "bank", order.to, order.msg, bytes_of(&order.amount),
                                     order.ttl_ms);
}

static void note(uint64_t number)
{
    if (bank.received < BANK_NUMBERS)
        bank.handled[bank.received] = number;
    bank.received++;
}

static void take_over(struct sherd_ctx *ctx, struct account *account)
{
    struct sherd_delivery *later = &account->later[account->later_count++];

    assert_in_range(account->later_count, 1, BANK_NUMBERS);
    assert_int_equal(sherd_confirm_later(ctx, later), 1);
    assert_int_equal(sherd_confirm_later(ctx, &bank.described), 0);
    note(later->number);
}

/* Confirms the oldest one, or none. */
static void confirm(struct sherd_ctx *ctx, struct account *account)
{
    struct sherd_delivery *first = &account->later[0];

    sherd_confirm(ctx, first);
    assert_int_equal(first->number, 0);
    if (!account->later_count)
        return;
    account->later_count--;
    memmove(first, first + 1, account->later_count * sizeof *first);
    memset(&account->later[account->later_count], 0, sizeof *first);
}

static enum sherd_next message(struct sherd_ctx *ctx, struct account *account,
                               const struct sherd_msg *msg)
{
    int64_t amount = 0;

    if (msg->body.size >= sizeof amount)
        memcpy(&amount, msg->body.data, sizeof amount);
    switch (msg->msg) {
    case BANK_PAY:
    case BANK_DELIVER:
        pay(ctx, msg, msg->msg == BANK_PAY);
        break;
    case BANK_PAY_ASKED:
        pay(ctx, msg, true);
        sherd_reply(ctx, 78, bytes_of(&amount));
        break;
    case BANK_MONEY:
        assert_int_equal(sherd_delivery_get(ctx, &bank.described), 1);
        note(bank.described.number);
        assert_int_equal((uintptr_t)msg->body.data % 8, 0);
        sherd_persist(ctx, EVENT_MONEY, bytes_of(&amount));
        break;
    case BANK_FAIL:
        bank.failures++;
        return SHERD_FAIL;
    case BANK_FAIL_AFTER:
        bank.failures++;
        amount = 1;
        sherd_persist(ctx, EVENT_MONEY, bytes_of(&amount));
        return SHERD_FAIL;
    case BANK_SLOW:
        bank.now += 2 * SECOND;
        break;
    case BANK_LATER:
        take_over(ctx, account);
        break;
    case BANK_CONFIRM:
        amount = 10;
        sherd_persist(ctx, EVENT_LATER, bytes_of(&amount));
        confirm(ctx, account);
        break;
    case BANK_ONCE:
        bank.once = sherd_once(ctx, (struct sherd_bytes){ (const char *)msg->body.data + 8,
                                                          msg->body.size - 8 });
        if (bank.once != SHERD_ONCE_NEW)
            break;
        sherd_persist(ctx, EVENT_MONEY, bytes_of(&amount));
        sherd_reply(ctx, 77, bytes_of(&amount));
        break;
    default:
        sherd_passivate(ctx);
    }
    return SHERD_CONTINUE;
}

/* Stores an event that is refused, last in a call of account a1. */
static void refused(struct sherd_ctx *ctx)
{
    static const uint8_t large[SHERD_BODY_MAX + 1];
    struct sherd_bytes id = sherd_id(ctx);

    if (!bank.refusal || memcmp(id.data, "a1", id.size) != 0)
        return;
    bank.refusals++;
    if (bank.refusal == BANK_TOO_LARGE)
        sherd_persist(ctx, EVENT_MONEY, (struct sherd_bytes){ large, sizeof large });
    else
        sherd_persist(ctx, bank.refusal == BANK_RESERVED ? SHERD_NUMBERS_END : EVENT_UNKNOWN,
                      (struct sherd_bytes){ large, 1 });
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    enum sherd_next next = SHERD_CONTINUE;
    uint64_t number = sherd_delivery_number(msg);

    assert_true((number > 0) == (msg->kind == SHERD_DELIVERY));
    if (msg->kind == SHERD_MESSAGE) {
        next = message(ctx, self, msg);
        refused(ctx);
    } else if (msg->kind == SHERD_DELIVERY) {
        bank.ends[msg->msg]++;
    }
    if (number && number < BANK_NUMBERS)
        bank.ended[number]++;
    bank.open = sherd_deliveries_open(ctx);
    return next;
}

static enum sherd_next asker(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    (void)self;
    if (msg->kind == SHERD_MESSAGE)
        sherd_entity_ask(ctx, "bank", msg->body.data, msg->msg,
                         (struct sherd_bytes){ (const char *)msg->body.data + 8,
                                               msg->body.size - 8 },
                         1, 60000);
    if (msg->kind == SHERD_ANSWER) {
        bank.replies++;
        bank.reply_msg = msg->msg;
    }
    if (msg->kind == SHERD_NO_ANSWER) {
        bank.unanswered++;
        bank.reason = msg->reason;
    }
    return SHERD_CONTINUE;
}

static const struct sherd_behavior asking = { .name = "asker", .receive = asker };

/* ---- a life of the process ---- */

static uint64_t read_clock(void)
{
    return bank.now;
}

static void life(void)
{
    struct sherd_entity_type type = { .name = "bank",
                                      .behavior = { .name = "account",
                                                    .state_size = sizeof(struct account),
                                                    .receive = receive,
                                                    .apply = apply },
                                      .shards = 10,
                                      .idle_ms = 1000 };

    if (bank.refusal == BANK_REJECTED) {
        type.behavior.apply = NULL;
        type.behavior.apply_checked = apply_checked;
    }
    if (bank.snapshots) {
        type.behavior.save = save_account;
        type.behavior.load = load_account;
        type.behavior.save_every = 3;
    }
    bank.node = 100 + bank.lives++;
    bank.actors = actors_new(&(struct actors_settings){ .lanes = 1,
                                                        .node = bank.node,
                                                        .seed = bank.lives,
                                                        .now = bank.now,
                                                        .clock = bank.has_clock ? read_clock : NULL,
                                                        .trace = bank.trace,
                                                        .delivery = bank.settings,
                                                        .append = append,
                                                        .take_back = take_back,
                                                        .save = save });
    actors_add_type(bank.actors, 0, &type);
    for (int32_t shard = -9; shard < 10; shard++)
        actors_shard_start(bank.actors, 0, shard);
}

void bank_open(void)
{
    bool snapshots = bank.snapshots;
    enum bank_refusal refusal = bank.refusal;
    bool has_clock = bank.has_clock;
    struct delivery_settings settings = bank.settings;

    memset(&bank, 0, sizeof bank);
    bank.snapshots = snapshots;
    bank.refusal = refusal;
    bank.has_clock = has_clock;
    bank.settings = settings;
    bank.now = 1000 * SECOND;
    bank.wall = INT64_C(1700000000000);
    bank.commits = true;
    bank.trace = trace_new(TRACE_DEBUG);
    rng_init(&bank.rng, 5);
    for (int i = 0; i < BANK_ACCOUNTS; i++)
        (void)snprintf(streams[i].id, sizeof streams[i].id, "a%d", i); /* fits */
    life();
}

static void end_life(void)
{
    actors_close(bank.actors);
    assert_int_equal(actors_messages_in_use(bank.actors), 0);
    actors_free(bank.actors);
    for (int i = 0; i < BANK_ACCOUNTS; i++) {
        struct tape *stream = &streams[i];

        stream->actor = 0;
        stream->wants = false;
        cut(stream, stream->durable);
        if (stream->snapshot > stream->durable)
            stream->snapshot = 0;
    }
}

void bank_crash(void)
{
    end_life();
    life();
}

void bank_close(void)
{
    struct trace_line line;

    end_life();
    while (trace_next(bank.trace, &line))
        ;
    trace_free(bank.trace);
    for (int i = 0; i < BANK_ACCOUNTS; i++) {
        for (uint32_t j = 0; j < streams[i].events.count; j++)
            buf_fini(&streams[i].events.items[j].payload);
        vec_fini(&streams[i].events);
        buf_fini(&streams[i].part);
        buf_fini(&streams[i].image);
    }
    memset(streams, 0, sizeof streams);
    memset(&bank, 0, sizeof bank);
    position = 0;
}

static void carry(struct message *message)
{
    struct message *again;
    uint64_t draw = rng_below(&bank.rng, 100);

    if (!message_to_entity(message)) { /* to an ended life */
        actors_undelivered(bank.actors, message, SHERD_REASON_NODE_GONE);
        return;
    }
    bank.transmitted += message->msg == MSG_PARCEL;
    if (message->msg == MSG_PARCEL && (bank.drops_all || draw < bank.drop)) {
        actors_undelivered(bank.actors, message, SHERD_REASON_LINK_LOST);
        return;
    }
    if (message->msg == MSG_PARCEL && draw < bank.drop + bank.twice) {
        again = actors_entity_message(bank.actors, 0, message_id(message), message_body(message));
        again->msg = message->msg;
        again->sender = message->sender;
        actors_deliver_entities(bank.actors, &again, 1);
    }
    actors_deliver_entities(bank.actors, &message, 1);
}

static bool drain(void)
{
    struct message *message;
    struct actors_news news;
    bool any = false;

    while ((message = actors_take_out(bank.actors))) {
        carry(message);
        any = true;
    }
    while (actors_next_news(bank.actors, &news)) {
        struct tape *stream;

        any = true;
        if (news.kind == ACTORS_FORGET && by_actor(news.actor))
            by_actor(news.actor)->actor = 0;
        if (news.kind != ACTORS_REQUEST_REPLAY)
            continue;
        stream = stream_of(news.id);
        stream->actor = news.actor;
        stream->wants = true;
    }
    for (int i = 0; i < BANK_ACCOUNTS; i++)
        if (streams[i].wants && streams[i].durable == streams[i].events.count) {
            replay(&streams[i]);
            any = true;
        }
    return any;
}

void bank_run(void)
{
    bool any;

    do {
        actors_run(bank.actors, bank.now, bank.wall, 1000);
        if (bank.commits)
            bank_commit();
        any = drain();
    } while (any || actors_runnable(bank.actors));
}

void bank_advance(uint64_t ms)
{
    bank.now += ms * MS;
    bank.wall += (int64_t)ms;
    actors_step(bank.actors, bank.now, bank.wall);
    bank_run();
}

void bank_send(const char *id, uint32_t msg, struct slice body)
{
    struct message *message = actors_entity_message(bank.actors, 0, slice_text(id), body);

    message->msg = msg;
    actors_deliver_entities(bank.actors, &message, 1);
}

void bank_pay(const char *from, const char *to, int64_t amount, uint32_t msg, uint32_t ttl_ms)
{
    struct bank_pay order = { .amount = amount, .msg = msg, .ttl_ms = ttl_ms };

    (void)strncpy(order.to, to, sizeof order.to - 1);
    bank_send(from, msg == BANK_MONEY ? BANK_PAY : BANK_DELIVER, slice_of(&order, sizeof order));
}

/* Another actor asks. */
static void ask(const char *id, uint32_t msg, struct slice question)
{
    struct sherd_ref ref = actors_spawn(bank.actors, &asking, slice_text(""));
    struct buf body = { 0 };
    char to[8] = "";
    struct message *message;

    (void)strncpy(to, id, sizeof to - 1);
    buf_put(&body, to, sizeof to);
    buf_put_slice(&body, question);
    message = actors_message(bank.actors, buf_slice(&body));
    message->to = ref;
    message->msg = msg;
    actors_deliver(bank.actors, message);
    buf_fini(&body);
}

void bank_pay_asked(const char *id, const char *to, int64_t amount)
{
    struct bank_pay order = { .amount = amount, .msg = BANK_MONEY };

    (void)strncpy(order.to, to, sizeof order.to - 1);
    ask(id, BANK_PAY_ASKED, slice_of(&order, sizeof order));
}

void bank_once(const char *id, int64_t amount, const char *command)
{
    struct buf question = { 0 };

    buf_put(&question, &amount, sizeof amount);
    buf_put_text(&question, command);
    ask(id, BANK_ONCE, buf_slice(&question));
    buf_fini(&question);
}

void bank_start_all(void)
{
    for (int i = 0; i < BANK_ACCOUNTS; i++)
        if (streams[i].durable && !streams[i].actor) {
            struct message *message =
                actors_entity_message(bank.actors, 0, slice_text(streams[i].id), slice_text(""));

            message->kind = MESSAGE_START;
            actors_deliver_entities(bank.actors, &message, 1);
        }
}

/* ---- durable state ---- */

int64_t bank_balance(const char *id)
{
    const struct tape *stream = stream_of(slice_text(id));
    int64_t balance = BANK_FIRST;
    int64_t amount;

    for (uint32_t i = 0; i < stream->durable; i++)
        if (stream->events.items[i].type < SHERD_NUMBERS_END) {
            memcpy(&amount, stream->events.items[i].payload.data, sizeof amount);
            balance += amount;
        }
    return balance;
}

int64_t bank_in_transit(void)
{
    int64_t sum = 0;
    int64_t amount;

    for (int i = 0; i < BANK_ACCOUNTS; i++) {
        struct delivery *delivery = mem_alloc(sizeof *delivery);

        for (uint32_t j = 0; j < streams[i].durable; j++) {
            const struct stored_event *event = &streams[i].events.items[j];

            if (event->type >= SHERD_NUMBERS_END)
                assert_null(delivery_apply(delivery, event->type, buf_slice(&event->payload), 10));
        }
        for (uint32_t j = 0; j < delivery->outgoing.list.count; j++) {
            memcpy(&amount, delivery->outgoing.list.items[j]->parcel.body.data, sizeof amount);
            sum += amount;
        }
        delivery_free(delivery);
    }
    return sum;
}

uint64_t bank_events(const char *id)
{
    return stream_of(slice_text(id))->durable;
}

struct actors_status bank_status(void)
{
    struct actors_status status;

    actors_status(bank.actors, &status);
    return status;
}

bool bank_traced(const char *part)
{
    struct trace_line line;
    bool found = false;

    while (trace_next(bank.trace, &line))
        found = found || strstr(line.text, part);
    return found;
}
