/* Implements the random lives of random.h. */
#include "random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actor/actors.h"
#include "actor/passivation/strategy.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/vec.h"

#define NODE 9
#define SHARDS 4
#define ENTITIES 12 /* of each type: ids e0..e11 */
#define TYPES 3     /* 0 plain, 1 persistent, 2 with a stop message */
#define PLAINS 6
#define PLAINS_EVER 200 /* each is a source of its own: two may live at one time */
#define SOURCES (1 + PLAINS_EVER + TYPES * ENTITIES) /* 0 is the node */
#define IS_ENTITY(source) ((source) > PLAINS_EVER)
#define ENTITY_OF(source) ((source)-1u - PLAINS_EVER)

enum what {
    NOTHING,
    PERSIST,
    TELL_PLAIN,
    TELL_ENTITY,
    PERSIST_AND_TELL,
    PASSIVATE,
    STOP,
    FAIL,
    ASK_ENTITY,
    REPLY,
    TIMER,
    WATCH,
    STOP_PLAIN,
    TELL_TWICE,
    PERSIST_AND_REPLY,
    WHATS
};

struct cargo {
    uint16_t source;
    uint16_t target; /* of its next action */
    uint32_t seq;
    uint64_t position; /* the position that its sender waited for */
    uint8_t what;
    uint8_t then; /* for the messages that this one makes */
    uint8_t left; /* how often it may be passed on */
    char filler[70];
};

struct waiting { /* messages that the model holds for a shard */
    VEC(struct message *) messages;
    bool here;
};

struct event {
    uint64_t actor;
    bool settled;
};

static struct life {
    struct actors *actors;
    uint64_t now;
    const uint8_t *bytes;
    size_t size, at;
    struct sherd_ref plains[PLAINS];
    uint32_t spawned;
    uint32_t sent[SOURCES][TYPES * ENTITIES]; /* the last number */
    uint32_t seen[SOURCES][TYPES * ENTITIES];
    struct waiting shards[TYPES][2 * SHARDS];
    uint64_t position; /* the last event has it; EVENT_REFUSED: it was refused */
    uint64_t last[TYPES * ENTITIES]; /* position of each entity's last event */
    uint64_t durable;
    VEC(struct event) events; /* index + 1 = position */
    VEC(uint64_t) refused; /* actors whose events were */
    VEC(uint64_t) wants;
    uint64_t received;
    uint64_t digest;
    int64_t states; /* made and not released */
    bool quiet; /* shutdown: nothing more is started */
} life;

static uint8_t die(void)
{
    return life.at < life.size ? life.bytes[life.at++] : 0;
}

static void note(uint64_t value)
{
    life.digest = (life.digest ^ value) * UINT64_C(0x100000001b3);
}

static const char *const type_names[TYPES] = { "a", "p", "s" };

static uint32_t entity_index(uint32_t type, uint32_t number)
{
    return type * ENTITIES + number % ENTITIES;
}

static struct cargo cargo_for(uint32_t source, uint32_t entity, uint64_t position)
{
    struct cargo cargo = { .source = (uint16_t)source, .position = position };

    if (entity < TYPES * ENTITIES)
        cargo.seq = ++life.sent[source][entity];
    cargo.what = life.quiet ? NOTHING : die() % WHATS;
    cargo.then = die();
    cargo.left = 5;
    cargo.target = die();
    return cargo;
}

/* --- actors --- */

struct person {
    bool known;
    uint16_t source;
};

static void send_on(struct sherd_ctx *ctx, const struct person *self,
                    const struct cargo *got, bool ask)
{
    uint32_t type = got->target % TYPES;
    uint32_t number = got->target / TYPES % ENTITIES;
    uint32_t entity = entity_index(type, number);
    uint64_t position =
        IS_ENTITY(self->source) ? life.last[ENTITY_OF(self->source)] : 0;
    struct cargo cargo = { .source = self->source,
                           .seq = ++life.sent[self->source][entity],
                           .position = position,
                           .left = (uint8_t)(got->left - 1),
                           .what = life.quiet || got->left < 2
                                       ? NOTHING
                                       : got->then % WHATS,
                           .then = (uint8_t)(got->then * 7 + 90),
                           .target = (uint16_t)(got->target * 5 + 3) };
    struct sherd_bytes body = { &cargo, sizeof cargo };
    char id[16];

    snprintf(id, sizeof id, "e%u", number);
    if (ask)
        sherd_entity_ask(ctx, type_names[type], id, 1, body, 7,
                         1 + got->then);
    else
        sherd_entity_tell(ctx, type_names[type], id, 1, body);
}

static void tell_plain(struct sherd_ctx *ctx, const struct person *self,
                       const struct cargo *got)
{
    struct cargo cargo = { .source = self->source, .what = NOTHING };

    if (IS_ENTITY(self->source))
        cargo.position = life.last[ENTITY_OF(self->source)];
    sherd_tell(ctx, life.plains[got->target % PLAINS], 1,
               (struct sherd_bytes){ &cargo, sizeof cargo });
}

/* Uses some positions for itself, and refuses some events. */
static uint64_t append(void *user, uint64_t actor, struct entity_event event)
{
    (void)user;
    (void)event;
    if (life.events.count % 5 == 3)
        vec_push(&life.events, ((struct event){ 0, true }));
    if (life.events.count % 41 == 7) {
        vec_push(&life.events, ((struct event){ 0, true }));
        vec_push(&life.refused, actor);
        return life.position = EVENT_REFUSED;
    }
    vec_push(&life.events, ((struct event){ actor, false }));
    return life.position = life.events.count;
}

static void do_persist(struct sherd_ctx *ctx, const struct person *self,
                       const struct cargo *got)
{
    /* Type 1 only; the library refuses the others. */
    if (!IS_ENTITY(self->source) || ENTITY_OF(self->source) / ENTITIES != 1)
        return;
    sherd_persist(ctx, 1, (struct sherd_bytes){ got->filler, got->then % 70 });
    life.last[ENTITY_OF(self->source)] = life.position;
}

static enum sherd_next obey(struct sherd_ctx *ctx, const struct person *self,
                            const struct cargo *got)
{
    switch ((enum what)(got->what % WHATS)) {
    case PERSIST:
        do_persist(ctx, self, got);
        break;
    case TELL_PLAIN:
        tell_plain(ctx, self, got);
        break;
    case TELL_TWICE:
        send_on(ctx, self, got, false);
        /* fall through */
    case TELL_ENTITY:
        send_on(ctx, self, got, false);
        break;
    case PERSIST_AND_TELL:
        do_persist(ctx, self, got);
        tell_plain(ctx, self, got);
        send_on(ctx, self, got, false);
        break;
    case PASSIVATE:
        sherd_passivate(ctx);
        break;
    case STOP:
        return SHERD_STOP;
    case FAIL:
        return SHERD_FAIL;
    case ASK_ENTITY:
        send_on(ctx, self, got, true);
        break;
    case PERSIST_AND_REPLY:
        do_persist(ctx, self, got);
        /* fall through */
    case REPLY: {
        struct cargo cargo = { .source = self->source };

        if (IS_ENTITY(self->source))
            cargo.position = life.last[ENTITY_OF(self->source)];
        sherd_reply(ctx, 2, (struct sherd_bytes){ &cargo, sizeof cargo });
        break;
    }
    case TIMER:
        sherd_timer(ctx, got->then % 4, got->then);
        break;
    case WATCH:
        sherd_watch(ctx, life.plains[got->target % PLAINS]);
        break;
    case STOP_PLAIN:
        sherd_stop(ctx, life.plains[got->target % PLAINS]);
        break;
    case NOTHING:
    case WHATS:
        break;
    }
    return SHERD_CONTINUE;
}

/* Identifies the actor: the init of a plain actor is its number, an entity's is its id. */
static void introduce(struct sherd_ctx *ctx, struct person *self,
                      const struct sherd_msg *msg)
{
    struct sherd_bytes id = sherd_id(ctx);

    if (!self->known)
        life.states++;
    self->known = true;
    if (id.size == 0) {
        if (msg->kind == SHERD_STARTED)
            self->source = (uint16_t)(1 + *(const uint8_t *)msg->body.data);
        return;
    }
    for (uint32_t type = 0; type < TYPES; type++)
        if (strcmp(sherd_type(ctx), type_names[type]) == 0)
            self->source = (uint16_t)(1 + PLAINS_EVER +
                                      entity_index(type, (uint32_t)atoi(
                                                             (const char *)id.data + 1)));
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *state,
                               const struct sherd_msg *msg)
{
    struct person *self = state;
    struct cargo cargo = { 0 };

    if (msg->kind == SHERD_STARTED) {
        introduce(ctx, self, msg);
        if (IS_ENTITY(self->source)) /* recovered: it knows only durable events */
            life.last[ENTITY_OF(self->source)] = 0;
    }
    check(self->known);
    note(self->source * 100u + (uint64_t)msg->kind);
    if (msg->kind == SHERD_ANSWER || msg->kind == SHERD_MESSAGE)
        life.received++;
    if (msg->kind == SHERD_MESSAGE && msg->msg == 99)
        life.received--; /* the stop message has no source */
    if (msg->body.size >= sizeof cargo)
        memcpy(&cargo, msg->body.data, sizeof cargo);
    check(cargo.position <= life.durable);
    if (msg->kind == SHERD_TIMER && IS_ENTITY(self->source) && msg->tag == 0)
        return SHERD_STOP;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == 99)
        return cargo.what % 2 ? SHERD_CONTINUE : SHERD_STOP;
    note(cargo.source * 1000u + cargo.seq);
    if (IS_ENTITY(self->source) && cargo.seq) {
        uint32_t entity = ENTITY_OF(self->source);

        check(life.seen[cargo.source][entity] < cargo.seq);
        life.seen[cargo.source][entity] = cargo.seq;
    }
    return obey(ctx, self, &cargo);
}

static void apply(void *state, uint32_t type, struct sherd_bytes event)
{
    struct person *self = state;

    if (!self->known)
        life.states++;
    self->known = true;
    note(type + event.size);
}

static void release(void *state)
{
    struct person *self = state;

    if (self->known)
        life.states--;
}

static const struct sherd_behavior plain = { .name = "plain",
                                             .state_size = sizeof(struct person),
                                             .receive = receive,
                                             .release = release,
                                             .wants_undelivered = 1 };

/* --- the node --- */

static struct waiting *shard_of(const struct message *message)
{
    check(message->entity.has_shard);
    return &life.shards[message->type][message->entity.shard + SHARDS];
}

/* Returned messages before the others, each kind in order. */
static void shard_hold(struct waiting *shard, struct message *message)
{
    uint32_t at = shard->messages.count;

    vec_push(&shard->messages, message);
    if (!message->returned)
        return;
    while (at > 0 && !shard->messages.items[at - 1]->returned) {
        shard->messages.items[at] = shard->messages.items[at - 1];
        at--;
    }
    shard->messages.items[at] = message;
}

/* Entity messages that come out go to their shard or wait for it; the rest leaves. */
static void drain(void)
{
    struct message *message;
    struct actors_news news;

    while ((message = actors_take_out(life.actors))) {
        struct waiting *shard;

        if (!message_to_entity(message)) {
            actors_message_free(life.actors, message);
            continue;
        }
        shard = shard_of(message);
        if (shard->here && shard->messages.count == 0)
            actors_deliver_entities(life.actors, &message, 1);
        else
            shard_hold(shard, message);
    }
    for (uint32_t i = 0; i < life.refused.count; i++)
        actors_store_failed(life.actors, life.refused.items[i],
                            SHERD_REASON_NOT_STORED);
    life.refused.count = 0;
    while (actors_next_news(life.actors, &news)) {
        if (news.kind == ACTORS_REQUEST_REPLAY)
            vec_push(&life.wants, news.actor);
        note((uint64_t)news.kind);
    }
}

static void run(uint32_t budget)
{
    actors_run(life.actors, life.now, 0, budget);
    drain();
}

static void settle(uint64_t position)
{
    life.durable = position;
    for (uint64_t i = 0; i < position; i++)
        life.events.items[i].settled = true;
    actors_durable(life.actors, position);
    drain();
}

/* As in a journal, all events of one incarnation that are not durable fail. */
static void fail_one(enum sherd_reason reason)
{
    uint64_t first = life.durable;
    uint64_t actor;

    if (first >= life.events.count)
        return;
    actor = life.events.items[first + die() % (life.events.count - first)].actor;
    actors_store_failed(life.actors, actor, reason);
    drain();
}

static void shard_begin(uint32_t type, int32_t shard)
{
    struct waiting *waiting = &life.shards[type][shard + SHARDS];

    if (waiting->here)
        return;
    actors_shard_start(life.actors, (uint16_t)type, shard);
    waiting->here = true;
    actors_deliver_entities(life.actors, waiting->messages.items,
                            waiting->messages.count);
    waiting->messages.count = 0;
}

static void shard_end(uint32_t type, int32_t shard, bool fenced)
{
    struct waiting *waiting = &life.shards[type][shard + SHARDS];

    if (!waiting->here)
        return;
    waiting->here = false;
    if (fenced) {
        actors_shard_fenced(life.actors, (uint16_t)type, shard);
        drain();
        return;
    }
    actors_shard_open(life.actors, (uint16_t)type, shard, false);
    drain();
    actors_shard_stop(life.actors, (uint16_t)type, shard,
                      life.now + (1 + die()) * MS);
    /* Waits until it is empty: a shard that starts again would be another one. */
    for (int i = 0; i < 50 && actors_shard_entities(life.actors, (uint16_t)type,
                                                    shard);
         i++) {
        run(1000);
        life.now += 20 * MS;
        actors_step(life.actors, life.now, 0);
        if (i > 20)
            settle(life.events.count);
    }
    actors_set_storing_room(life.actors, true);
    for (int i = 0; i < 50 && actors_shard_entities(life.actors, (uint16_t)type,
                                                    shard);
         i++) {
        run(1000);
        settle(life.events.count);
        life.now += 20 * MS;
        actors_step(life.actors, life.now, 0);
    }
    check(actors_shard_entities(life.actors, (uint16_t)type, shard) == 0);
    drain();
}

static void plain_new(uint32_t number)
{
    uint8_t init = (uint8_t)life.spawned;

    if (life.spawned == PLAINS_EVER)
        return;
    life.spawned++;
    life.plains[number] =
        actors_spawn(life.actors, &plain, slice_of(&init, 1));
}

static void recover_one(bool fails)
{
    uint64_t actor;

    if (life.wants.count == 0)
        return;
    actor = life.wants.items[0];
    vec_remove(&life.wants, 0);
    actors_replay_event(life.actors, actor, 1,
                        (struct entity_event){ .type = 1, .payload = slice_text("event") });
    if (fails)
        actors_recovery_failed(life.actors, actor, "no");
    else
        actors_recovered(life.actors, actor, 1);
    drain();
}

static void tell_entities(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t type = die() % TYPES;
        uint32_t number = die() % ENTITIES;
        struct cargo cargo = cargo_for(0, entity_index(type, number), 0);
        struct waiting *shard;
        struct message *message;
        char id[16];

        snprintf(id, sizeof id, "e%u", number);
        message = actors_entity_message(life.actors, (uint16_t)type,
                                        slice_text(id),
                                        slice_of(&cargo, sizeof cargo));
        message->msg = 1;
        message->entity.shard = hash_shard(slice_text(id), SHARDS);
        message->entity.has_shard = 1;
        shard = shard_of(message);
        if (shard->here && shard->messages.count == 0)
            actors_deliver_entities(life.actors, &message, 1);
        else
            vec_push(&shard->messages, message);
    }
    drain();
}

static void tell_plains(void)
{
    struct cargo cargo = cargo_for(0, UINT32_MAX, 0);
    struct message *message =
        actors_message(life.actors, slice_of(&cargo, sizeof cargo));

    message->to = life.plains[die() % PLAINS];
    message->msg = 1;
    actors_deliver(life.actors, message);
}

/* Sets or removes a limit of active entities, by one of three strategies. */
static void limit_active(void)
{
    static const uint32_t entities[] = { 0, 1, 2, 5, UINT32_MAX };
    static const uint64_t bytes[] = { 100, 1000, UINT64_MAX, UINT64_MAX };
    struct active_limit limit = { entities[die() % 5], bytes[die() % 4] };

    actors_set_active_limit(life.actors, (uint16_t)(die() % TYPES), limit);
    drain();
}

static void operate(void)
{
    uint32_t type;
    int32_t shard;

    switch (die() % 21) {
    case 0:
    case 1:
    case 2:
    case 3:
        tell_entities(1 + die() % 8);
        break;
    case 4:
    case 5:
        tell_plains();
        break;
    case 6:
    case 7:
    case 8:
        run(die() % 32);
        break;
    case 9:
        life.now += die() % 64 * MS;
        actors_step(life.actors, life.now, 0);
        drain();
        break;
    case 10:
    case 11:
        settle(life.durable + die() % (life.events.count - life.durable + 1));
        break;
    case 12:
        fail_one(SHERD_REASON_NOT_STORED);
        break;
    case 13:
        type = die() % TYPES;
        shard = die() % SHARDS;
        shard_end(type, shard, false);
        break;
    case 14:
        type = die() % TYPES;
        shard = die() % SHARDS;
        shard_end(type, shard, true);
        break;
    case 15:
    case 16:
        shard_begin(die() % TYPES, die() % SHARDS);
        break;
    case 17:
        type = die() % TYPES;
        shard = die() % SHARDS;
        drain();
        actors_shard_open(life.actors, (uint16_t)type, shard, die() % 2);
        break;
    case 18:
        actors_set_storing_room(life.actors, die() % 3 != 0);
        plain_new(die() % PLAINS);
        break;
    case 19:
        recover_one(die() % 4 == 0);
        recover_one(false);
        break;
    case 20:
        limit_active();
        break;
    }
}

static void conserved(bool ended)
{
    struct actors_status status;
    uint64_t sum = 0;
    uint64_t waiting = 0;

    actors_status(life.actors, &status);
    for (int i = 0; i < SHERD_REASON_COUNT; i++)
        sum += status.undelivered[i];
    check(sum == status.undelivered_total);
    check(status.waiting < UINT32_MAX);
    /* Messages whose handler failed were received, too. */
    check(life.received >= status.delivered);
    check(life.received ==
          status.delivered + status.undelivered[SHERD_REASON_HANDLER_FAILED]);
    for (uint32_t type = 0; type < TYPES; type++)
        for (uint32_t i = 0; i < 2 * SHARDS; i++)
            waiting += life.shards[type][i].messages.count;
    if (!ended)
        return;
    check(status.waiting == 0 && waiting == 0);
    check(status.held == 0 && status.asks == 0 && status.timers == 0);
}

/* All faults end and time passes: waiting messages must be delivered or end. */
static void heal(void)
{
    life.quiet = true;
    actors_set_storing_room(life.actors, true);
    for (uint32_t type = 0; type < TYPES; type++)
        for (int32_t shard = 0; shard < SHARDS; shard++)
            shard_begin(type, shard);
    for (int i = 0; i < 400; i++) {
        run(100000);
        while (life.wants.count)
            recover_one(false);
        settle(life.events.count);
        life.now += 100 * MS;
        actors_step(life.actors, life.now, 0);
        drain();
    }
    /* Entities that ignore their stop message are left: the shards end. */
    for (uint32_t type = 0; type < TYPES; type++)
        for (int32_t shard = 0; shard < SHARDS; shard++)
            shard_end(type, shard, false);
    for (uint32_t type = 0; type < TYPES; type++)
        for (int32_t shard = 0; shard < SHARDS; shard++)
            shard_begin(type, shard);
    for (int i = 0; i < 50; i++) {
        run(100000);
        while (life.wants.count)
            recover_one(false);
        settle(life.events.count);
        life.now += 100 * MS;
        actors_step(life.actors, life.now, 0);
        drain();
    }
}

static const struct passivation_settings recent = { .main = { .policy = PASSIVATION_LEAST_RECENT } };
static const struct passivation_settings aging = {
    .main = { .policy = PASSIVATION_LEAST_FREQUENT, .is_aging = true }
};

static void begin(void)
{
    struct actors_settings settings = { .lanes = 1,
                                        .node = NODE,
                                        .seed = 1,
                                        .now = SECOND,
                                        .append = append };
    struct sherd_entity_type type = { .name = "a",
                                      .behavior = plain,
                                      .shards = SHARDS,
                                      .mailbox_max = 30,
                                      .idle_ms = 500 };

    life.now = settings.now;
    life.actors = actors_new(&settings);
    type.behavior.name = "entity";
    actors_add_type(life.actors, 0, &type);
    type.name = "p";
    type.behavior.apply = apply;
    actors_add_type(life.actors, 1, &type);
    type.name = "s";
    type.behavior.apply = NULL;
    type.behavior.wants_undelivered = 0;
    type.stop_msg = 99;
    actors_add_type(life.actors, 2, &type);
    actors_set_passivation(life.actors, 0, &passivation_default);
    actors_set_passivation(life.actors, 1, &recent);
    actors_set_passivation(life.actors, 2, &aging);
    for (uint32_t i = 0; i < PLAINS; i++)
        plain_new(i);
}

uint64_t random_life(const uint8_t *bytes, size_t size)
{
    struct actors_status status;

    memset(&life, 0, sizeof life);
    life.bytes = bytes;
    life.size = size;
    begin();
    while (life.at < life.size) {
        operate();
        conserved(false);
    }
    heal();
    conserved(true);
    actors_stop_all(life.actors, life.now);
    actors_step(life.actors, life.now + SECOND, 0);
    for (int i = 0; i < 10; i++) {
        run(10000);
        settle(life.events.count);
    }
    check(actors_alive(life.actors) == 0);
    actors_close(life.actors);
    actors_status(life.actors, &status);
    check(actors_messages_in_use(life.actors) == 0);
    check(life.states == 0);
    actors_free(life.actors);
    for (uint32_t i = 0; i < TYPES; i++)
        for (uint32_t j = 0; j < 2 * SHARDS; j++)
            vec_fini(&life.shards[i][j].messages);
    vec_fini(&life.events);
    vec_fini(&life.refused);
    vec_fini(&life.wants);
    return life.digest;
}
