/* Tracks the members on the ring and the refs of their brokers.
 *
 * Members come from cluster events, refs from a set of distributed data, "sherd-store-NAME". Each
 * broker adds its own ref, again if it is missing. The first member on the ring removes refs of
 * removed nodes. Refused updates are repeated after a time that doubles. */
#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/sort.h"
#include "kvstore/broker.h"

#define REF_TEXT_SIZE 32 /* two numbers in hexadecimal */
#define TAG_UPDATE 1
#define TAG_FOLLOW 2

#define FEWER_SUBSCRIBERS "a lane has at most 4,096 subscribers: use fewer"

/* ---- rings ---- */

void places_fini(struct places *places)
{
    for (uint32_t i = 0; i < places->items.count; i++)
        mem_free(places->items.items[i].name);
    vec_fini(&places->items);
    hashring_fini(&places->ring);
}

/* Makes the ring of the present places. */
static void make_ring(struct places *places)
{
    uint32_t count = places->items.count;
    struct slice *names = mem_alloc((count + 1) * sizeof *names);

    for (uint32_t i = 0; i < count; i++)
        names[i] = slice_text(places->items.items[i].name);
    hashring_make(&places->ring, names, count);
    mem_free(names);
}

static void add_place(struct places *places, const char *name, uint64_t uid)
{
    struct place place = { mem_text(name), uid };

    vec_push(&places->items, place);
}

void places_copy(struct places *to, const struct places *from)
{
    places_fini(to);
    for (uint32_t i = 0; i < from->items.count; i++)
        add_place(to, from->items.items[i].name, from->items.items[i].uid);
    make_ring(to);
}

uint32_t places_find(const struct places *places, struct slice key,
                     uint32_t wanted, uint64_t *uids)
{
    uint32_t members[SHERD_STORE_REPLICAS_MAX + 1];
    uint32_t count = hashring_find(&places->ring, key, wanted, members);

    for (uint32_t i = 0; i < count; i++)
        uids[i] = places->items.items[members[i]].uid;
    return count;
}

static bool same_places(const struct places *left, const struct places *right)
{
    if (left->items.count != right->items.count)
        return false;
    for (uint32_t i = 0; i < left->items.count; i++)
        if (left->items.items[i].uid != right->items.items[i].uid ||
            strcmp(left->items.items[i].name, right->items.items[i].name) != 0)
            return false;
    return true;
}

/* Two incarnations at one address may briefly be up; the ring has the first. */
void broker_members_changed(struct broker *broker, struct sherd_ctx *ctx)
{
    struct places places = { 0 };
    const char *last = "";

    for (uint32_t i = 0; i < broker->members.count; i++) {
        const struct store_member *stored = &broker->members.items[i];
        const struct sherd_cluster_member *member = &stored->member;

        if (!stored->is_on_ring || strcmp(member->address, last) == 0)
            continue;
        add_place(&places, member->address, member->uid);
        last = member->address;
    }
    if (same_places(&places, &broker->places)) {
        places_fini(&places);
        return;
    }
    make_ring(&places);
    places_fini(&broker->places);
    broker->places = places;
    moving_begin(broker, ctx);
}

/* ---- members ---- */

static struct store_member *find(const struct broker *broker, uint64_t uid)
{
    for (uint32_t i = 0; i < broker->members.count; i++)
        if (broker->members.items[i].member.uid == uid)
            return &broker->members.items[i];
    return NULL;
}

const struct store_member *broker_member(const struct broker *broker, uint64_t uid)
{
    return find(broker, uid);
}

static int by_address(const void *left, const void *right)
{
    const struct sherd_cluster_member *a = &((const struct store_member *)left)->member;
    const struct sherd_cluster_member *b = &((const struct store_member *)right)->member;
    int order = strcmp(a->address, b->address);

    if (!order && a->uid != b->uid)
        order = a->uid < b->uid ? -1 : 1;
    return order;
}

/* Returns the node's latest known broker: its incarnations follow each other. */
static struct sherd_ref known_broker(const struct broker *broker, uint64_t uid)
{
    struct sherd_ref found = { 0, 0 };

    if (uid == broker->self.node)
        return broker->self;
    for (uint32_t i = 0; i < broker->known.count; i++) {
        const struct sherd_ref *ref = &broker->known.items[i];

        if (ref->node == uid && ref->actor >= found.actor)
            found = *ref;
    }
    return found;
}

/* Stores a member, new or known, as an event shows it. */
static struct store_member *store_member_set(struct broker *broker,
                                             const struct sherd_cluster_member *member)
{
    struct store_member *stored = find(broker, member->uid);
    struct store_member added = { .is_on_ring = false };
    const char *address;

    if (!stored) {
        added.member.uid = member->uid;
        added.member.address = mem_text(member->address);
        added.broker = known_broker(broker, member->uid);
        vec_push(&broker->members, added);
        sort_stable(broker->members.items, broker->members.count,
                    sizeof *broker->members.items, by_address);
        stored = find(broker, member->uid);
    }
    address = stored->member.address;
    stored->member = *member;
    stored->member.address = address;
    stored->member.app_version = NULL;
    stored->member.data_center = NULL;
    stored->member.roles = NULL;
    return stored;
}

static void store_member_drop(struct broker *broker, uint64_t uid)
{
    struct store_member *stored = find(broker, uid);

    if (!stored)
        return;
    mem_free((void *)(uintptr_t)stored->member.address);
    vec_remove(&broker->members, (uint32_t)(stored - broker->members.items));
}

static bool keeps_values(struct broker *broker,
                         const struct sherd_cluster_member *member)
{
    const char *role = broker->settings.role;

    if (member->self && !broker->center)
        broker->center = mem_text(member->data_center);
    return broker->center &&
           strcmp(member->data_center, broker->center) == 0 &&
           (!*role || sherd_cluster_has_role(member, role));
}

static void on_event(struct broker *broker,
                     const struct sherd_cluster_event *event)
{
    const struct sherd_cluster_member *member = &event->member;

    switch (event->kind) {
    case SHERD_MEMBER_JOINED:
    case SHERD_MEMBER_WEAKLY_UP:
    case SHERD_MEMBER_LEFT:
    case SHERD_MEMBER_EXITED:
    case SHERD_MEMBER_DOWNED:
        store_member_set(broker, member)->is_on_ring = false;
        break;
    case SHERD_MEMBER_UP:
    case SHERD_MEMBER_PREPARING_FOR_SHUTDOWN:
    case SHERD_MEMBER_READY_FOR_SHUTDOWN:
        store_member_set(broker, member)->is_on_ring = keeps_values(broker, member);
        break;
    case SHERD_MEMBER_REMOVED:
        store_member_drop(broker, member->uid);
        break;
    case SHERD_MEMBER_UNREACHABLE:
    case SHERD_MEMBER_REACHABLE:
        (void)store_member_set(broker, member);
        break;
    default:
        break; /* data centers and leaders do not matter */
    }
}

/* ---- refs ---- */

static void change(struct broker *broker, struct sherd_ctx *ctx,
                   enum sherd_verb verb, const struct sherd_ref *ref)
{
    char text[REF_TEXT_SIZE + 1];
    struct sherd_change one = { .verb = verb };

    (void)snprintf(text, sizeof text, "%016llx%016llx",
                   (unsigned long long)ref->node,
                   (unsigned long long)ref->actor);
    one.item = sherd_text(text);
    sherd_data_update(ctx, broker->data_key, SHERD_OR_SET, &one, 1, NULL,
                      TAG_UPDATE);
}

/* Removes refs of non-members; if this broker leaves, the next one takes over. */
static void forget_gone(struct broker *broker, struct sherd_ctx *ctx)
{
    if (!broker->has_members || !broker->places.items.count ||
        broker->places.items.items[0].uid != broker->self.node)
        return;
    for (uint32_t i = 0; i < broker->known.count; i++)
        if (!broker_member(broker, broker->known.items[i].node)) {
            /* known until distributed data removes it */
            change(broker, ctx, SHERD_REMOVE, &broker->known.items[i]);
        }
}

/* ---- the cluster's events ---- */

/* This node's data center is that of its own member. */
static void find_center(struct broker *broker, const struct sherd_msg *msg)
{
    struct sherd_cluster_event event;
    size_t at = 0;

    while (!broker->center && sherd_cluster_next(msg, &at, &event))
        if (event.member.self && event.kind <= SHERD_MEMBER_REMOVED)
            broker->center = mem_text(event.member.data_center);
}

void broker_members_cluster(struct broker *broker, struct sherd_ctx *ctx,
                          const struct sherd_msg *msg)
{
    struct sherd_cluster_event event;
    size_t at = 0;
    bool knew = broker->center != NULL;

    broker->changed_at = sherd_now(ctx);
    find_center(broker, msg);
    /* earlier members were judged without it, so the state is needed again */
    if (!knew && broker->center &&
        sherd_cluster_subscribe(ctx, SHERD_EVENTS_MEMBERS | SHERD_EVENTS_REACHABILITY,
                                SHERD_STATE_FIRST))
        sherd_log(ctx, SHERD_LOG_ERROR,
                  "store broker cannot follow members name=%s hint=\"%s\"",
                  broker->settings.name, FEWER_SUBSCRIBERS);
    if (msg->msg != SHERD_CLUSTER_CHANGE && broker->has_members) {
        while (broker->members.count)
            store_member_drop(broker, broker->members.items[0].member.uid);
        broker->has_members = false; /* the full state follows */
    }
    while (sherd_cluster_next(msg, &at, &event))
        on_event(broker, &event);
    if (msg->msg == SHERD_CLUSTER_STATE_END)
        broker->has_members = true;
    if (!broker->has_members)
        return;
    broker_members_changed(broker, ctx);
    forget_gone(broker, ctx);
}

static void refused(struct broker *broker, struct sherd_ctx *ctx)
{
    uint32_t wait = broker->refs_wait_ms ? 2 * broker->refs_wait_ms
                                         : KVSTORE_REFS_RETRY_MS;

    if (broker->is_waiting)
        return;
    wait = wait < KVSTORE_REFS_RETRY_MS_MAX ? wait : KVSTORE_REFS_RETRY_MS_MAX;
    broker->refs_wait_ms = wait;
    broker->is_waiting = true;
    sherd_timer(ctx, TIMER_REFS, wait);
}

static void subscribe(struct broker *broker, struct sherd_ctx *ctx)
{
    int error = sherd_cluster_subscribe(
        ctx, SHERD_EVENTS_MEMBERS | SHERD_EVENTS_REACHABILITY,
        SHERD_STATE_FIRST);

    if (!error)
        error = sherd_data_subscribe(ctx, broker->data_key, TAG_FOLLOW);
    broker->is_subscribed = !error;
    if (error) {
        sherd_log(ctx, SHERD_LOG_ERROR,
                  "store broker cannot follow members or brokers, tried again "
                  "name=%s error=\"%s\" hint=\"%s\"",
                  broker->settings.name, sherd_strerror(error), FEWER_SUBSCRIBERS);
        refused(broker, ctx);
    }
}

/* Does not add a ref that the set has. */
void broker_members_begin(struct broker *broker, struct sherd_ctx *ctx)
{
    if (!broker->is_subscribed)
        subscribe(broker, ctx);
    change(broker, ctx, SHERD_ADD, &broker->self);
}

void broker_members_retry(struct broker *broker, struct sherd_ctx *ctx)
{
    broker->is_waiting = false;
    broker_members_begin(broker, ctx);
    forget_gone(broker, ctx);
}

static bool hex(const char *text, uint64_t *number)
{
    *number = 0;
    for (int i = 0; i < 16; i++) {
        char c = text[i];

        if (c >= '0' && c <= '9')
            *number = *number << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *number = *number << 4 | (uint64_t)(c - 'a' + 10);
        else
            return false;
    }
    return true;
}

static bool read_refs(struct broker *broker, const struct sherd_value *value)
{
    struct sherd_item item;
    uint32_t at = 0;
    bool has_self = false;

    broker->known.count = 0;
    while (sherd_value_next(value, &at, &item)) {
        const char *text = item.text.data;
        struct sherd_ref ref;

        if (item.kind != SHERD_ITEM_TEXT || item.text.size != REF_TEXT_SIZE ||
            !hex(text, &ref.node) || !hex(text + 16, &ref.actor)) {
            broker->counts[SHERD_STORE_MALFORMED]++;
            continue;
        }
        vec_push(&broker->known, ref);
        has_self |= ref.node == broker->self.node &&
                    ref.actor == broker->self.actor;
    }
    return has_self;
}

static const char *answer_text(uint32_t answer)
{
    switch (answer) {
    case SHERD_DATA_DELETED:
        return "the key is deleted";
    case SHERD_DATA_TIMEOUT:
        return "too few members answered in time";
    case SHERD_DATA_MISMATCH:
        return "the key has another type";
    case SHERD_DATA_NOT_STORED:
        return "not stored";
    case SHERD_DATA_HELD:
        return "the key is damaged on disk";
    case SHERD_DATA_TOO_LARGE:
        return "too large";
    default:
        return "refused";
    }
}

void broker_members_data(struct broker *broker, struct sherd_ctx *ctx,
                       const struct sherd_msg *msg)
{
    struct sherd_value *value;

    if (msg->msg == SHERD_DATA_UPDATED) {
        broker->refs_wait_ms = broker->is_waiting ? broker->refs_wait_ms : 0;
        return;
    }
    /* unused for long: keeps the known refs and publishes its own again */
    if (msg->msg == SHERD_DATA_EXPIRED) {
        change(broker, ctx, SHERD_ADD, &broker->self);
        return;
    }
    if (msg->msg != SHERD_DATA_CHANGED) {
        sherd_log(ctx, SHERD_LOG_WARNING,
                  "store broker cannot announce itself to other brokers, tried again "
                  "name=%s reason=\"%s\" again_in_ms=%u "
                  "hint=\"check other members and the room of distributed data\"",
                  broker->settings.name, answer_text(msg->msg),
                  broker->refs_wait_ms ? 2 * broker->refs_wait_ms
                                       : KVSTORE_REFS_RETRY_MS);
        broker->is_subscribed &= msg->tag != TAG_FOLLOW;
        refused(broker, ctx);
        return;
    }
    value = sherd_data_value(msg);
    if (!value)
        return;
    if (!read_refs(broker, value))
        change(broker, ctx, SHERD_ADD, &broker->self);
    sherd_value_free(value);
    for (uint32_t i = 0; i < broker->members.count; i++)
        broker->members.items[i].broker =
            known_broker(broker, broker->members.items[i].member.uid);
    forget_gone(broker, ctx);
}

void broker_members_fini(struct broker *broker)
{
    while (broker->members.count)
        store_member_drop(broker, broker->members.items[0].member.uid);
    vec_fini(&broker->members);
    vec_fini(&broker->known);
    places_fini(&broker->places);
    places_fini(&broker->settled);
}
