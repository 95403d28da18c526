/* Runs the clients of distributed data; workload_data_look.c checks the replicas. */
#include "sim/workload/workload_data_inside.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/timers.h"
#include "sim/seed/streams.h"
#include "sim/seed/traffic.h"
#include "sim/world/verdict.h"

#define NOTICE 0x80000000u /* bit of a subscribed key's tag */
#define TICK 1          /* tag of the timer that begins a call */
#define WRITES_MAX 120  /* of one key; then another one takes its place */
#define FOLLOWS_MAX 4   /* keys of one client */
#define COUNT_MAX 1000
#define UNKNOWN_KEYS "data-3-*" /* the first slot of a G_SET */

static struct data_load *current;

/* ---- keys ---- */

/* By the number of the slot, and so by the type. */
static const char *const expiring_keys[EXPIRIES] = { "data-1*", "data-2*",
                                                     "data-4*", "data-7*" };

static void slot_begin(struct data_load *load, uint32_t index)
{
    struct slot *slot = &load->slots[index];

    slot->type = (enum sherd_data_type)(SHERD_FLAG + index % DATA_TYPES);
    slot->key = check_data_key(load->check, slot->type);
    slot->writes = 0;
    slot->element = 0;
    vec_push(&load->keys, (struct key_name){ { 0 } });
    check(slot->key == load->keys.count - 1);
    /* Their hashes have both signs. */
    (void)snprintf(load->keys.items[slot->key].text, KEY_TEXT_MAX,
                   "data-%u-%u", index, slot->key); /* fits */
    if (data_key_expires(load, slot->key))
        check_data_expires(load->check, slot->key);
    if (load->settings.is_durable && data_key_is_durable(load, slot->key))
        check_data_stored(load->check, slot->key);
}

const char *data_key_text(const struct data_load *load, uint32_t key)
{
    return load->keys.items[key].text;
}

static bool is_one_of(const struct data_load *load, uint32_t key,
                      const char *const *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!strncmp(data_key_text(load, key), patterns[i],
                     strlen(patterns[i]) - 1))
            return true;
    return false;
}

bool data_key_is_durable(const struct data_load *load, uint32_t key)
{
    return is_one_of(load, key, traffic_durable_keys, TRAFFIC_DURABLE_KEYS);
}

/* The last digit of a node's host decides what it knows. */
static void set_unknown(const struct data_load *load,
                        struct node_settings *settings)
{
    const char *host = settings->identity.node.address.host;
    uint32_t digit = (uint32_t)(host[strlen(host) - 1] - '0');

    if (!load->settings.unknown)
        return;
    settings->data.deltas_off = true; /* a set's deltas look like sets */
    if (digit % (load->settings.unknown + 1))
        settings->data.unknown_key = UNKNOWN_KEYS;
}

void data_load_set(const struct data_load *load,
                   struct node_settings *settings)
{
    set_unknown(load, settings);
    if (!load->settings.expire_after_ms)
        return;
    settings->data_expiries = load->expiries;
    settings->data_expiry_count = EXPIRIES;
}

/* Whether the node can change the key: it knows its type. */
static bool is_known(const struct data_load *load, uint32_t node,
                     uint32_t key)
{
    return !world_node(load->world, node)->settings.data.unknown_key ||
           strncmp(data_key_text(load, key), UNKNOWN_KEYS, strlen(UNKNOWN_KEYS) - 1);
}

bool data_key_expires(const struct data_load *load, uint32_t key)
{
    return load->settings.expire_after_ms &&
           is_one_of(load, key, expiring_keys, EXPIRIES);
}

/* ---- draws ---- */

static enum sherd_level draw_level(struct data_load *load)
{
    uint32_t from = (uint32_t)rng_below(&load->rng, SHERD_ALL + 1);

    for (uint32_t i = 0; i <= SHERD_ALL; i++) {
        uint32_t level = (from + i) % (SHERD_ALL + 1);

        if (load->settings.levels >> level & 1)
            return (enum sherd_level)level;
    }
    return SHERD_LOCAL;
}

static struct sherd_consistency draw_consistency(struct data_load *load)
{
    struct sherd_consistency consistency = { .level = draw_level(load) };

    if (consistency.level == SHERD_MEMBERS)
        consistency.members = 2 + (uint32_t)rng_below(&load->rng, 3);
    if (consistency.level == SHERD_MAJORITY)
        consistency.members = (uint32_t)rng_below(&load->rng, 4);
    if (consistency.level == SHERD_MAJORITY_PLUS)
        consistency.members = (uint32_t)rng_below(&load->rng, 3);
    consistency.timeout_ms =
        1 + rng_below(&load->rng, load->settings.timeout_ms);
    return consistency;
}

/* The replicas, at least, that an answer of that level stands for, with its own. */
static uint32_t replicas_of(const struct sherd_consistency *consistency,
                            const struct replicator_members *members)
{
    uint32_t count = members->count;

    if (!count)
        return 1;
    switch (consistency->level) {
    case SHERD_MEMBERS:
        return consistency->members;
    case SHERD_MAJORITY:
        return consistency_majority(consistency->members, count, 0);
    case SHERD_MAJORITY_PLUS:
        return members->exiting ? 1
                                : consistency_majority(
                                      0, count, consistency->members);
    case SHERD_ALL:
        return members->exiting ? 1 : count;
    case SHERD_LOCAL:
        break;
    }
    return 1;
}

struct replicator_members data_members(const struct data_load *load,
                                       uint32_t node)
{
    const struct replicator *replicator = workload_replicator(load, node);

    return replicator ? replicator_members(replicator)
                      : (struct replicator_members){ 0 };
}

/* ---- calls ---- */

static struct call *call_begin(struct data_load *load, struct client *client,
                               uint32_t key, enum data_op op)
{
    uint32_t tag = client->next_tag++ & ~NOTICE;
    struct call *call = &client->calls[tag % CALLS_MAX];

    if (call->is_open) {
        load->counts.skipped++;
        return NULL;
    }
    *call = (struct call){ .is_open = true,
                           .tag = tag,
                           .key = key,
                           .op = op,
                           .members = data_members(load, client->node),
                           .begun_at = world_now(load->world) };
    client->open++;
    load->counts.ops[op]++;
    return call;
}

static void remember_own(struct client *client, uint32_t key, int64_t element)
{
    struct own own = { key, element };

    client->own[client->own_next++ % OWN_MAX] = own;
}

/* One of its own elements of a key, or none. */
static int64_t draw_own(struct data_load *load, const struct client *client,
                        uint32_t key)
{
    uint32_t from = (uint32_t)rng_below(&load->rng, OWN_MAX);

    for (uint32_t i = 0; i < OWN_MAX; i++) {
        const struct own *own = &client->own[(from + i) % OWN_MAX];

        if (own->element && own->key == key)
            return own->element;
    }
    return 0;
}

/* In a map an element is a value under one of a few keys. */
static void set_items(struct sherd_change *change, enum sherd_data_type type,
                      int64_t element)
{
    change->item = sherd_long(element);
    change->value = sherd_long(element);
    if (type == SHERD_LWW_MAP || type == SHERD_OR_MULTIMAP ||
        type == SHERD_PN_COUNTER_MAP)
        change->item = sherd_long(element % CHECK_DATA_GROUPS);
}

static void draw_removal(struct data_load *load, const struct client *client,
                         const struct slot *slot,
                         struct check_data_write *write,
                         struct sherd_change *change)
{
    int64_t own = draw_own(load, client, slot->key);
    uint64_t how = rng_below(&load->rng, 8);

    write->act = CHECK_DATA_REMOVE;
    write->element = own && how < 5 ? own : slot->element;
    set_items(change, slot->type, write->element);
    change->verb = SHERD_REMOVE;
    if (slot->type == SHERD_OR_SET && !how) {
        write->element = CHECK_DATA_ALL;
        change->verb = SHERD_CLEAR;
    }
    if (slot->type == SHERD_OR_MULTIMAP && how)
        change->verb = SHERD_REMOVE_VALUE;
    else if (slot->type != SHERD_OR_SET)
        write->element = CHECK_DATA_GROUP(write->element % CHECK_DATA_GROUPS);
}

static bool can_remove(enum sherd_data_type type)
{
    return type == SHERD_OR_SET || type == SHERD_LWW_MAP ||
           type == SHERD_OR_MULTIMAP;
}

static void draw_addition(struct data_load *load, const struct client *client,
                          const struct slot *slot,
                          struct check_data_write *write,
                          struct sherd_change *change)
{
    static const enum sherd_verb verbs[] = {
        [SHERD_FLAG] = SHERD_SWITCH_ON,  [SHERD_G_COUNTER] = SHERD_COUNT,
        [SHERD_PN_COUNTER] = SHERD_COUNT, [SHERD_G_SET] = SHERD_ADD,
        [SHERD_OR_SET] = SHERD_ADD,      [SHERD_LWW_REGISTER] = SHERD_PUT,
        [SHERD_LWW_MAP] = SHERD_PUT,     [SHERD_PN_COUNTER_MAP] = SHERD_COUNT,
        [SHERD_OR_MULTIMAP] = SHERD_ADD,
    };

    change->verb = verbs[slot->type];
    write->act = CHECK_DATA_ADD;
    if (slot->type == SHERD_FLAG)
        write->act = CHECK_DATA_ON;
    if (change->verb == SHERD_COUNT) {
        write->act = CHECK_DATA_COUNT;
        write->amount = 1 + (int64_t)rng_below(&load->rng, COUNT_MAX);
        if (slot->type != SHERD_G_COUNTER && rng_below(&load->rng, 2))
            write->amount = -write->amount;
        change->amount = write->amount;
        write->element = write->amount & (CHECK_DATA_GROUPS - 1);
        change->item = sherd_long(write->element);
    }
    if (slot->type == SHERD_OR_SET && !rng_below(&load->rng, 4))
        write->element = draw_own(load, client, slot->key);
}

static void update(struct data_load *load, struct sherd_ctx *ctx,
                   struct client *client, struct slot *slot)
{
    struct sherd_consistency consistency = draw_consistency(load);
    struct sherd_change change = { .verb = SHERD_ADD };
    struct check_data_write write = { .key = slot->key,
                                      .node = client->node,
                                      .client = client->number };
    struct call *call;

    if (can_remove(slot->type) && slot->element && !rng_below(&load->rng, 4))
        draw_removal(load, client, slot, &write, &change);
    else
        draw_addition(load, client, slot, &write, &change);
    call = call_begin(load, client, slot->key, DATA_OP_UPDATE);
    if (!call)
        return;
    write.replicas = replicas_of(&consistency, &call->members);
    write.signature = call->members.signature;
    call->replicas = write.replicas;
    call->number = check_data_begun(load->check, &write);
    if (write.act == CHECK_DATA_ADD) {
        int64_t element = write.element ? write.element : (int64_t)call->number;

        call->element = element;
        set_items(&change, slot->type, element);
        slot->element = element;
        remember_own(client, slot->key, element);
    }
    slot->writes++;
    sherd_data_update(ctx, data_key_text(load, slot->key), slot->type, &change,
                      1, &consistency, call->tag);
}

static void read_key(struct data_load *load, struct sherd_ctx *ctx,
                     struct client *client, const struct slot *slot)
{
    struct sherd_consistency consistency = draw_consistency(load);
    struct call *call = call_begin(load, client, slot->key, DATA_OP_READ);

    if (!call)
        return;
    call->read = (struct check_data_read){
        .key = slot->key,
        .node = client->node,
        .client = client->number,
        .begun = check_data_time(load->check),
        .epoch = check_data_epoch(load->check),
        .replicas = replicas_of(&consistency, &call->members),
        .members = call->members.count,
        .signature = call->members.signature,
    };
    sherd_data_get(ctx, data_key_text(load, slot->key), &consistency,
                   call->tag);
}

static void delete_key(struct data_load *load, struct sherd_ctx *ctx,
                       struct client *client, struct slot *slot)
{
    struct sherd_consistency consistency = draw_consistency(load);
    struct check_data_write write = { .key = slot->key,
                                      .node = client->node,
                                      .client = client->number,
                                      .act = CHECK_DATA_DELETE };
    struct call *call = call_begin(load, client, slot->key, DATA_OP_DELETE);

    if (!call)
        return;
    write.replicas = replicas_of(&consistency, &call->members);
    write.signature = call->members.signature;
    call->number = check_data_begun(load->check, &write);
    slot->writes++;
    sherd_data_delete(ctx, data_key_text(load, slot->key), &consistency,
                      call->tag);
}

/* ---- subscriptions ---- */

static struct follow *follow_of(struct client *client, uint32_t key)
{
    for (uint32_t i = 0; i < client->follows.count; i++)
        if (client->follows.items[i].key == key)
            return &client->follows.items[i];
    return NULL;
}

static void unfollow(struct data_load *load, struct sherd_ctx *ctx,
                     struct client *client, uint32_t index)
{
    sherd_data_unsubscribe(
        ctx, data_key_text(load, client->follows.items[index].key));
    buf_fini(&client->follows.items[index].last);
    vec_remove(&client->follows, index);
}

static void follow(struct data_load *load, struct sherd_ctx *ctx,
                   struct client *client, const struct slot *slot)
{
    struct follow added = { .key = slot->key };

    load->counts.ops[DATA_OP_FOLLOW]++;
    if (follow_of(client, slot->key)) {
        unfollow(load, ctx, client,
                 (uint32_t)(follow_of(client, slot->key) -
                            client->follows.items));
        return;
    }
    if (client->follows.count == FOLLOWS_MAX)
        unfollow(load, ctx, client,
                 (uint32_t)rng_below(&load->rng, FOLLOWS_MAX));
    if (!sherd_data_subscribe(ctx, data_key_text(load, slot->key),
                              NOTICE | slot->key))
        vec_push(&client->follows, added);
}

/* ---- lifetime of a client ---- */

static void tick_later(struct data_load *load, struct sherd_ctx *ctx)
{
    uint64_t interval = load->settings.interval_ms;

    sherd_timer(ctx, TICK,
                load->settings.in_step
                    ? interval - world_now(load->world) / MS % interval
                    : 1 + rng_below(&load->rng, 2 * interval));
}

static void act(struct data_load *load, struct sherd_ctx *ctx,
                struct client *client)
{
    uint32_t index = (uint32_t)rng_below(&load->rng, load->settings.slots);
    struct slot *slot = &load->slots[index];
    uint64_t what = rng_below(&load->rng, 100);

    if (what < 60 && is_known(load, client->node, slot->key))
        update(load, ctx, client, slot);
    else if (what < 92)
        read_key(load, ctx, client, slot);
    else if (what < 98)
        follow(load, ctx, client, slot);
    else if (slot->writes >= WRITES_MAX / 8 && !load->settings.keeps_keys)
        delete_key(load, ctx, client, slot);
    if (slot->writes < WRITES_MAX && what < 98)
        return;
    if (what >= 98 || rng_below(&load->rng, 2))
        slot_begin(load, index);
}

static void answered(struct data_load *load, struct client *client,
                     const struct sherd_msg *msg)
{
    struct call *call = &client->calls[msg->tag % CALLS_MAX];
    enum check_data_end end = CHECK_DATA_REFUSED;

    if (!call->is_open || call->tag != msg->tag) {
        violation(load->verdict, "data-call-ends-once", client->node,
                  "a call that is not open is answered: tag=%u message=%u",
                  msg->tag, msg->msg);
        return;
    }
    call->is_open = false;
    client->open--;
    if (call->op == DATA_OP_READ) {
        data_read(load, &call->read, msg);
        return;
    }
    if (msg->msg == SHERD_DATA_UPDATED)
        end = CHECK_DATA_DONE;
    else if (msg->msg == SHERD_DATA_TIMEOUT || msg->msg == SHERD_DATA_NOT_STORED)
        end = CHECK_DATA_DOUBTFUL;
    else if (call->op == DATA_OP_DELETE && msg->msg == SHERD_DATA_DELETED)
        end = CHECK_DATA_DOUBTFUL; /* by some client: its own replica has the deletion */
    check_data_ended(load->check, call->number, end);
    if (end == CHECK_DATA_DONE && call->element)
        data_look_up(load, call, client->node);
}

/* An answer has the tag of its call, a notice that of its key. */
static void heard(struct data_load *load, struct client *client,
                  const struct sherd_msg *msg)
{
    struct follow *follow;
    bool has_expired = msg->msg == SHERD_DATA_EXPIRED &&
                       (msg->tag & NOTICE) != 0 &&
                       data_key_expires(load, msg->tag & ~NOTICE);

    if (msg->msg > SHERD_DATA_CHANGED && !has_expired) {
        violation(load->verdict, "data-call-ends-once", client->node, "message %u of data",
                  msg->msg);
        return;
    }
    load->counts.answers[msg->msg]++;
    if (!(msg->tag & NOTICE)) {
        answered(load, client, msg);
        return;
    }
    follow = follow_of(client, msg->tag & ~NOTICE);
    if (follow) /* else it was in flight */
        data_notice(load, client, follow, msg);
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct data_load *load = current;
    struct client *client = *(struct client **)self;

    switch (msg->kind) {
    case SHERD_STARTED:
        check(msg->body.size == sizeof client);
        memcpy(self, msg->body.data, sizeof client);
        client = *(struct client **)self;
        client->has_started = true;
        tick_later(load, ctx);
        break;
    case SHERD_TIMER:
        tick_later(load, ctx);
        if (!load->is_stopped)
            act(load, ctx, client);
        break;
    case SHERD_DATA:
        heard(load, client, msg);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

static void release(void *self)
{
    struct client *client = *(struct client **)self;

    if (client)
        client->is_released = true;
}

static const struct sherd_behavior behavior = {
    .name = "data-client",
    .state_size = sizeof(struct client *),
    .receive = receive,
    .release = release,
};

static void client_free(struct client *client)
{
    for (uint32_t i = 0; i < client->follows.count; i++)
        buf_fini(&client->follows.items[i].last);
    vec_fini(&client->follows);
    mem_free(client);
}

/* ---- reports of the world ---- */

static void node_started(void *user, uint32_t node, uint64_t uid)
{
    struct data_load *load = user;
    uint32_t lanes = world_node(load->world, node)->settings.lanes;

    (void)uid;
    check_data_node_started(load->check, node);
    for (uint32_t i = 0; i < load->settings.clients; i++) {
        struct client *client = mem_alloc(sizeof *client);

        client->node = node;
        client->number = ++load->client_number;
        vec_push(&load->clients, client);
        world_spawn(load->world, node, i % lanes, &behavior, &client,
                    sizeof client);
    }
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct data_load *load = user;

    (void)crashed;
    (void)error;
    check_data_node_ended(load->check, node);
    for (uint32_t i = load->clients.count; i-- > 0;) {
        struct client *client = load->clients.items[i];

        if (client->node == node && !client->is_gone) {
            client->is_gone = true;
            load->counts.dropped += client->open;
            client->open = 0;
        }
        if (!client->is_gone || (client->has_started && !client->is_released))
            continue;
        client_free(client);
        vec_remove(&load->clients, i);
    }
}

/* The number at the end of a key's text. */
static uint32_t key_of(struct slice text)
{
    uint32_t key = 0;
    size_t at = text.size;

    while (text.data[at - 1] != '-')
        at--;
    for (; at < text.size; at++)
        key = key * 10 + (uint32_t)(text.data[at] - '0');
    return key;
}

static void probe(void *user, uint32_t node, uint32_t machine,
                  const struct probe *probe)
{
    struct data_load *load = user;

    (void)machine;
    if (probe->kind == PROBE_DATA_FORGOTTEN) {
        load->counts.forgotten++;
        check_data_forgotten(load->check, node, key_of(probe->bytes));
    }
    if (probe->kind == PROBE_MEMBER_SEEN || probe->kind == PROBE_MEMBER_DOWNED)
        check_data_members_changed(load->check);
}

/* ---- lifetime ---- */

struct data_load *data_load_new(struct world *world,
                                const struct data_load_settings *settings)
{
    struct data_load *load = mem_alloc(sizeof *load);
    struct world_observer observer = { .user = load,
                                       .node_started = node_started,
                                       .node_ended = node_ended,
                                       .probe = probe };
    struct data_load_settings *own = &load->settings;

    check(!current);
    *own = *settings;
    own->slots = own->slots ? own->slots : DATA_TYPES;
    own->clients = own->clients ? own->clients : 2;
    own->interval_ms = own->interval_ms ? own->interval_ms : 200;
    own->timeout_ms = own->timeout_ms ? own->timeout_ms : 5000;
    own->levels = own->levels ? own->levels : (1u << (SHERD_ALL + 1)) - 1;
    load->world = world;
    load->verdict = world_verdict(world);
    load->rng = stream_rng(world_seed(world), STREAM_DATA, 0);
    load->check = check_data_new(load->verdict);
    load->slots = mem_alloc(own->slots * sizeof *load->slots);
    for (uint32_t i = 0; i < EXPIRIES; i++)
        load->expiries[i] =
            (struct replicator_expiry){ expiring_keys[i],
                                        own->expire_after_ms };
    for (uint32_t i = 0; i < own->slots; i++)
        slot_begin(load, i);
    world_observe(world, &observer);
    current = load;
    return load;
}

void data_load_safety(struct data_load *load,
                      const struct check_safety *safety,
                      const struct check_member *members)
{
    load->safety = safety;
    load->members = members;
    check_data_safety(load->check, safety);
}

void data_load_free(struct data_load *load)
{
    if (!load)
        return;
    for (uint32_t i = 0; i < load->clients.count; i++)
        client_free(load->clients.items[i]);
    vec_fini(&load->clients);
    vec_fini(&load->keys);
    data_forget_noted(load);
    vec_fini(&load->noted);
    vec_fini(&load->stored);
    mem_free(load->slots);
    check_data_free(load->check);
    mem_free(load);
    current = NULL;
}

/* ---- a run ---- */

void data_load_stop(struct data_load *load)
{
    load->is_stopped = true;
}

void data_load_resume(struct data_load *load)
{
    load->is_stopped = false;
}

bool data_load_idle(const struct data_load *load)
{
    for (uint32_t i = 0; i < load->clients.count; i++)
        if (load->clients.items[i]->open && !load->clients.items[i]->is_gone)
            return false;
    return true;
}

void data_load_drained(struct data_load *load)
{
    for (uint32_t i = 0; i < load->clients.count; i++) {
        const struct client *client = load->clients.items[i];

        for (uint32_t k = 0; client->open && k < CALLS_MAX; k++)
            if (client->calls[k].is_open)
                violation(load->verdict, "data-call-ends-once", client->node,
                          "a call of %llu ms has no answer: key %s tag=%u",
                          (unsigned long long)(client->calls[k].begun_at / MS),
                          data_key_text(load, client->calls[k].key),
                          client->calls[k].tag);
    }
}

struct data_load_counts data_load_counts(const struct data_load *load)
{
    struct data_load_counts counts = load->counts;

    counts.keys = load->keys.count;
    counts.quorums = check_data_counts(load->check).quorums;
    return counts;
}
