/* Maintains a lane's view of the cluster, and sends its changes to subscribers (sherd/cluster.h).
 *
 * The body of a SHERD_CLUSTER message is a row of records, one for each event, each followed by its
 * texts: the role of a ROLE_LEADER, the member's address (empty for DATA_CENTER_...), version, data
 * center, roles, and an empty text. Bodies stay inside the process. */
#include "actor/inside.h"

#include <sherd/system.h>

#include "base/mark.h"
#include "base/sorted.h"

struct record {
    uint32_t size; /* with its texts, a multiple of 8 */
    uint8_t kind;
    uint8_t status;
    uint8_t previous;
    bool reachable;
    uint64_t uid;
    uint32_t up_number;
    bool is_self;
    bool seen;
};

/* --- the view --- */

static int order_of_member(const void *member, const void *node)
{
    return node_compare(&((const struct cluster_member *)member)->node, node);
}

/* The member's index, or where to insert it. */
static uint32_t place_of(const struct view *view, const struct node_id *node)
{
    return sorted_vec_place(&view->members, order_of_member, node);
}

/* UID 0 finds none. */
static struct cluster_member *find_member(const struct view *view,
                                          const struct node_id *node)
{
    uint32_t at = place_of(view, node);

    return node->uid && at < view->members.count &&
                   node_equal(&view->members.items[at].node, node)
               ? &view->members.items[at]
               : NULL;
}

static struct cluster_member *add_member(struct view *view,
                                         const struct cluster_change *change)
{
    struct cluster_member added = change->member;
    uint32_t at = place_of(view, &added.node);

    added.texts = mem_copy(change->texts, added.texts_size);
    vec_push(&view->members, added);
    memmove(&view->members.items[at + 1], &view->members.items[at],
            (view->members.count - 1 - at) * sizeof added);
    view->members.items[at] = added;
    return &view->members.items[at];
}

static void remove_member(struct view *view, struct cluster_member *member)
{
    mem_free(member->texts);
    vec_remove(&view->members, (uint32_t)(member - view->members.items));
}

static struct cluster_role *find_role(struct view *view, const char *name)
{
    struct cluster_role added = { .role = NULL };
    uint32_t at = 0;

    while (at < view->roles.count &&
           strcmp(view->roles.items[at].role, name) < 0)
        at++;
    if (at < view->roles.count && !strcmp(view->roles.items[at].role, name))
        return &view->roles.items[at];
    added.role = mem_text(name);
    vec_push(&view->roles, added);
    memmove(&view->roles.items[at + 1], &view->roles.items[at],
            (view->roles.count - 1 - at) * sizeof added);
    view->roles.items[at] = added;
    return &view->roles.items[at];
}

void view_fini(struct actors *actors)
{
    struct view *view = &actors->view;

    for (uint32_t i = 0; i < view->members.count; i++)
        mem_free(view->members.items[i].texts);
    for (uint32_t i = 0; i < view->roles.count; i++)
        mem_free(view->roles.items[i].role);
    vec_fini(&view->members);
    for (uint32_t i = 0; i < view->centers.count; i++)
        mem_free(view->centers.items[i]);
    vec_fini(&view->centers);
    vec_fini(&view->roles);
    vec_fini(&view->subscribers);
}

/* --- records --- */

static enum sherd_cluster_event_kind event_of(enum sherd_member_status status)
{
    switch (status) {
    case SHERD_JOINING:
        return SHERD_MEMBER_JOINED;
    case SHERD_UP:
        return SHERD_MEMBER_UP;
    case SHERD_LEAVING:
        return SHERD_MEMBER_LEFT;
    case SHERD_EXITING:
        return SHERD_MEMBER_EXITED;
    case SHERD_DOWN:
        return SHERD_MEMBER_DOWNED;
    case SHERD_REMOVED:
        return SHERD_MEMBER_REMOVED;
    case SHERD_WEAKLY_UP:
        return SHERD_MEMBER_WEAKLY_UP;
    case SHERD_PREPARING_FOR_SHUTDOWN:
        return SHERD_MEMBER_PREPARING_FOR_SHUTDOWN;
    case SHERD_READY_FOR_SHUTDOWN:
        return SHERD_MEMBER_READY_FOR_SHUTDOWN;
    }
    return SHERD_MEMBER_REMOVED;
}

static bool is_of_center(enum sherd_cluster_event_kind kind)
{
    return kind == SHERD_DATA_CENTER_UNREACHABLE ||
           kind == SHERD_DATA_CENTER_REACHABLE;
}

/* Member null: the event has none. text: of a ROLE_LEADER the role, of DATA_CENTER_... its name,
 * else empty. */
static void put_record(struct buf *buf, enum sherd_cluster_event_kind kind,
                       const struct cluster_member *member, const char *text,
                       bool of_state)
{
    const char *center = is_of_center(kind) ? text : "";
    const char *role = is_of_center(kind) ? "" : text;
    struct record record = { .kind = (uint8_t)kind, .reachable = true };
    char address[ADDRESS_TEXT_MAX] = "";
    size_t start = buf->size;

    if (member) {
        record.status = (uint8_t)member->status;
        record.reachable = !member->is_unreachable;
        record.uid = member->node.uid;
        record.up_number = member->up_number;
        record.is_self = member->is_self;
        record.seen = of_state && member->seen;
        (void)address_text(&member->node.address, address, sizeof address);
    }
    if (kind == SHERD_MEMBER_REMOVED) {
        record.previous = record.status;
        record.status = SHERD_REMOVED;
    }
    buf_put(buf, &record, sizeof record);
    buf_put(buf, role, strlen(role) + 1);
    buf_put(buf, address, strlen(address) + 1);
    if (member) {
        buf_put(buf, member->texts, member->texts_size);
    } else {
        buf_put(buf, "", 1); /* no version */
        buf_put(buf, center, strlen(center) + 1);
        buf_put(buf, "", 1); /* no roles */
    }
    while (buf->size % 8)
        buf_put_u8(buf, 0);
    record.size = (uint32_t)(buf->size - start);
    memcpy(buf->data + start, &record, sizeof record);
}

static const char *behind(const char *text)
{
    return text + strlen(text) + 1;
}

SHERD_API int sherd_cluster_next(const struct sherd_msg *msg, size_t *at,
                                 struct sherd_cluster_event *event)
{
    const char *texts;
    struct record record;

    if (msg->kind != SHERD_CLUSTER || *at >= msg->body.size)
        return 0;
    texts = (const char *)msg->body.data + *at;
    memcpy(&record, texts, sizeof record);
    *at += record.size;
    texts += sizeof record;
    *event = (struct sherd_cluster_event){
        .kind = (enum sherd_cluster_event_kind)record.kind,
        .previous = (enum sherd_member_status)record.previous,
        .role = texts,
        .member = { .address = behind(texts),
                    .uid = record.uid,
                    .status = (enum sherd_member_status)record.status,
                    .up_number = record.up_number,
                    .reachable = record.reachable,
                    .self = record.is_self,
                    .seen = record.seen },
    };
    event->member.app_version = behind(event->member.address);
    event->member.data_center = behind(event->member.app_version);
    event->member.roles = behind(event->member.data_center);
    return 1;
}

SHERD_API int sherd_cluster_has_role(const struct sherd_cluster_member *member,
                                     const char *role)
{
    for (const char *at = member->roles; *at; at = behind(at))
        if (strcmp(at, role) == 0)
            return 1;
    return 0;
}

SHERD_API const char *
sherd_cluster_event_text(enum sherd_cluster_event_kind kind)
{
#define X(name, text) text,
    static const char *const texts[] = { SHERD_CLUSTER_EVENTS(X) };
#undef X
    return (unsigned)kind < SHERD_CLUSTER_EVENT_COUNT ? texts[kind] : "unknown";
}

/* --- subscribers --- */

static void send(struct actors *actors, uint32_t index, struct slot *slot,
                 uint32_t what, const struct buf *body)
{
    struct message *message = actors_message(actors, buf_slice(body));

    message->kind = MESSAGE_CLUSTER;
    message->msg = what;
    mailbox_put(actors, index, slot, message);
}

/* When the mailbox has no room, the state follows later. */
static bool is_missed(struct actors *actors, struct subscriber *subscriber,
                      const struct slot *slot)
{
    if (!subscriber->missed && slot_is_full(actors, slot)) {
        subscriber->missed = true;
        subscriber->hears = false;
        actors->view.missed++;
        REACHED("an actor misses a change of the cluster");
        SOMETIMES("an actor misses that its node is out", actors->view.stopped);
    }
    actors->counts.cluster_missed += subscriber->missed;
    return subscriber->missed;
}

/* A state that is being sent, event by event. */
struct view_events {
    struct actors *actors;
    uint32_t index;
    struct slot *slot;
    struct subscriber *subscriber;
    bool as_events;
    struct buf body; /* not sent yet */
};

static void tell(struct view_events *view_events, enum sherd_cluster_event_kind kind,
                 const struct cluster_member *member, const char *role)
{
    size_t before = view_events->body.size;
    struct buf last = { 0 };

    if (!view_events->as_events) {
        put_record(&view_events->body, kind, member, role, true);
        if (view_events->body.size <= SHERD_BODY_MAX)
            return;
        buf_put(&last, view_events->body.data + before,
                view_events->body.size - before);
        view_events->body.size = before;
        send(view_events->actors, view_events->index, view_events->slot,
             SHERD_CLUSTER_STATE, &view_events->body);
        buf_fini(&view_events->body);
        view_events->body = last;
    } else if ((view_events->subscriber->events & SHERD_EVENT(kind)) &&
               !is_missed(view_events->actors, view_events->subscriber,
                          view_events->slot)) {
        put_record(&view_events->body, kind, member, role, false);
        send(view_events->actors, view_events->index, view_events->slot,
             SHERD_CLUSTER_CHANGE, &view_events->body);
        buf_clear(&view_events->body);
    }
}

/* Sends one subscriber the whole state, in the order of changes. */
static void send_state(struct actors *actors, struct subscriber *subscriber,
                       struct slot *slot, bool as_events)
{
    struct view *view = &actors->view;
    struct view_events view_events = {
        .actors = actors,
        .index = actor_id_slot(subscriber->actor),
        .slot = slot,
        .subscriber = subscriber,
        .as_events = as_events,
    };
    const struct cluster_member *leader = find_member(view, &view->leader);

    for (uint32_t i = 0; i < view->members.count; i++)
        tell(&view_events, event_of(view->members.items[i].status),
             &view->members.items[i], "");
    for (uint32_t i = 0; i < view->members.count; i++)
        if (view->members.items[i].is_unreachable)
            tell(&view_events, SHERD_MEMBER_UNREACHABLE, &view->members.items[i],
                 "");
    for (uint32_t i = 0; i < view->centers.count; i++)
        tell(&view_events, SHERD_DATA_CENTER_UNREACHABLE, NULL,
             view->centers.items[i]);
    if (leader)
        tell(&view_events, SHERD_LEADER_CHANGED, leader, "");
    for (uint32_t i = 0; i < view->roles.count; i++) {
        leader = find_member(view, &view->roles.items[i].leader);
        if (leader)
            tell(&view_events, SHERD_ROLE_LEADER_CHANGED, leader,
                 view->roles.items[i].role);
    }
    SOMETIMES("a state of the cluster says that the node is out",
              view->stopped);
    if (view->stopped)
        tell(&view_events, SHERD_CLUSTER_SHUTTING_DOWN, NULL, "");
    if (!as_events)
        send(actors, view_events.index, slot, SHERD_CLUSTER_STATE_END,
             &view_events.body);
    buf_fini(&view_events.body);
    subscriber->waits = false;
    subscriber->hears = !subscriber->missed; /* there was no room for all events */
}

/* Changes do not say which members have seen the state, so the lane asks for the state. Exceptions:
 * a state as events, and a node that is out of the cluster. */
static bool must_ask(const struct view *view,
                     const struct subscriber *subscriber)
{
    return !view->in_step || (!subscriber->wants_events && !view->stopped);
}

static void ask_state(struct actors *actors)
{
    if (!actors->view.wanted)
        slot_news_put(actors,
                      &(struct actors_news){ .kind = ACTORS_REQUEST_CLUSTER });
    actors->view.wanted = true;
}

static void drop_subscriber(struct view *view, uint32_t index)
{
    view->missed -= view->subscribers.items[index].missed;
    vec_remove(&view->subscribers, index);
}

/* Sends an event to each subscriber that wants it; drops subscribers that have ended. */
static void publish(struct actors *actors, enum sherd_cluster_event_kind kind,
                    const struct cluster_member *member, const char *role)
{
    struct view *view = &actors->view;
    struct buf body = { 0 };

    if (!view->in_step)
        return;
    put_record(&body, kind, member, role, false);
    for (uint32_t i = 0; i < view->subscribers.count; i++) {
        struct subscriber *subscriber = &view->subscribers.items[i];
        struct slot *slot = slot_of(actors, subscriber->actor);

        if (!slot)
            drop_subscriber(view, i--);
        else if ((subscriber->hears || subscriber->missed) &&
                 (subscriber->events & SHERD_EVENT(kind)) &&
                 !is_missed(actors, subscriber, slot))
            send(actors, actor_id_slot(subscriber->actor), slot,
                 SHERD_CLUSTER_CHANGE, &body);
    }
    buf_fini(&body);
}

/* Sends the state to those that wait for it. */
static void tell_waiting(struct actors *actors)
{
    struct view *view = &actors->view;

    for (uint32_t i = 0; i < view->subscribers.count; i++) {
        struct subscriber *subscriber = &view->subscribers.items[i];
        struct slot *slot = slot_of(actors, subscriber->actor);

        if (!slot)
            drop_subscriber(view, i--);
        else if (subscriber->waits && !is_missed(actors, subscriber, slot))
            send_state(actors, subscriber, slot, subscriber->wants_events);
    }
}

void view_retry(struct actors *actors)
{
    struct view *view = &actors->view;

    for (uint32_t i = 0; i < view->subscribers.count; i++) {
        struct subscriber *subscriber = &view->subscribers.items[i];
        struct slot *slot = slot_of(actors, subscriber->actor);

        if (!slot) {
            drop_subscriber(view, i--);
        } else if (subscriber->missed && !slot_is_full(actors, slot)) {
            subscriber->missed = false;
            subscriber->waits = true;
            subscriber->wants_events = false;
            view->missed--;
            if (must_ask(view, subscriber))
                ask_state(actors);
            else
                send_state(actors, subscriber, slot, false);
        }
    }
}

/* --- changes --- */

static void take_member(struct actors *actors,
                        const struct cluster_change *change)
{
    struct view *view = &actors->view;
    struct cluster_member *member = find_member(view, &change->member.node);

    if (!member)
        member = add_member(view, change);
    else if (member->status == change->member.status &&
             member->up_number == change->member.up_number)
        return;
    member->status = change->member.status;
    member->up_number = change->member.up_number;
    publish(actors, event_of(member->status), member, "");
}

static void take_removed(struct actors *actors,
                         const struct cluster_change *change)
{
    struct cluster_member *member =
        find_member(&actors->view, &change->member.node);

    if (!member)
        return;
    member->status = change->member.status;
    publish(actors, SHERD_MEMBER_REMOVED, member, "");
    remove_member(&actors->view, member);
}

static void take_reach(struct actors *actors,
                       const struct cluster_change *change, bool unreachable)
{
    struct cluster_member *member =
        find_member(&actors->view, &change->member.node);

    if (!member || member->is_unreachable == unreachable)
        return;
    member->is_unreachable = unreachable;
    publish(actors,
            unreachable ? SHERD_MEMBER_UNREACHABLE : SHERD_MEMBER_REACHABLE,
            member, "");
}

static void take_leader(struct actors *actors, struct node_id *leader,
                        const struct node_id *node,
                        enum sherd_cluster_event_kind kind, const char *role)
{
    if (node_equal(leader, node))
        return;
    *leader = *node;
    publish(actors, kind, find_member(&actors->view, node), role);
}

/* Forgets a role without a leader: roles come and go with members. */
static void take_role_leader(struct actors *actors, struct cluster_role *role,
                             const struct node_id *node)
{
    struct view *view = &actors->view;

    take_leader(actors, &role->leader, node, SHERD_ROLE_LEADER_CHANGED,
                role->role);
    if (role->leader.uid)
        return;
    mem_free(role->role);
    vec_remove(&view->roles, (uint32_t)(role - view->roles.items));
}

static void take_center(struct actors *actors, const char *name,
                        bool unreachable)
{
    struct view *view = &actors->view;
    uint32_t at = 0;

    while (at < view->centers.count && strcmp(view->centers.items[at], name))
        at++;
    if ((at < view->centers.count) == unreachable)
        return;
    if (unreachable) {
        vec_push(&view->centers, mem_text(name));
    } else {
        mem_free(view->centers.items[at]);
        vec_remove(&view->centers, at);
    }
    publish(actors,
            unreachable ? SHERD_DATA_CENTER_UNREACHABLE
                        : SHERD_DATA_CENTER_REACHABLE,
            NULL, name);
}

/* When this node has left, it reports every member as removed. */
static void take_stopped(struct actors *actors)
{
    static const struct node_id nobody = { .uid = 0 };
    struct view *view = &actors->view;

    view->stopped = true;
    publish(actors, SHERD_CLUSTER_SHUTTING_DOWN, NULL, "");
    while (view->members.count) {
        publish(actors, SHERD_MEMBER_REMOVED, &view->members.items[0], "");
        remove_member(view, &view->members.items[0]);
    }
    while (view->centers.count) { /* no member is left in the data center */
        char *name = view->centers.items[0];

        vec_remove(&view->centers, 0);
        publish(actors, SHERD_DATA_CENTER_REACHABLE, NULL, name);
        mem_free(name);
    }
    take_leader(actors, &view->leader, &nobody, SHERD_LEADER_CHANGED, "");
    while (view->roles.count)
        take_role_leader(actors, &view->roles.items[0], &nobody);
}

/* The lane may know an older membership; a member without an entry has not seen the newest. */
static void take_seen(struct view *view, const struct cluster_change *change)
{
    struct cluster_seen entry;
    size_t from = 0;

    for (uint32_t i = 0; i < view->members.count; i++) {
        struct cluster_member *member = &view->members.items[i];
        size_t at = from;

        member->seen = false;
        for (; at + sizeof entry <= change->member.texts_size; at += sizeof entry) {
            memcpy(&entry, change->texts + at, sizeof entry);
            if (entry.uid == member->node.uid)
                break;
        }
        if (at + sizeof entry > change->member.texts_size)
            continue;
        member->seen = entry.seen != 0;
        from = at + sizeof entry;
    }
}

void actors_cluster(struct actors *actors, const struct cluster_change *change)
{
    struct view *view = &actors->view;

    if (view->stopped && change->kind != CLUSTER_IN_STEP)
        return; /* CLUSTER_STOPPED is the last change */
    switch (change->kind) {
    case CLUSTER_MEMBER:
        take_member(actors, change);
        break;
    case CLUSTER_REMOVED:
        take_removed(actors, change);
        break;
    case CLUSTER_UNREACHABLE:
    case CLUSTER_REACHABLE:
        take_reach(actors, change, change->kind == CLUSTER_UNREACHABLE);
        break;
    case CLUSTER_CENTER_UNREACHABLE:
    case CLUSTER_CENTER_REACHABLE:
        take_center(actors, change->texts,
                    change->kind == CLUSTER_CENTER_UNREACHABLE);
        break;
    case CLUSTER_LEADER:
        take_leader(actors, &view->leader, &change->member.node,
                    SHERD_LEADER_CHANGED, "");
        break;
    case CLUSTER_ROLE_LEADER:
        take_role_leader(actors, find_role(view, change->texts),
                         &change->member.node);
        break;
    case CLUSTER_SEEN:
        take_seen(view, change);
        break;
    case CLUSTER_IN_STEP:
        view->in_step = true;
        view->wanted = false;
        tell_waiting(actors);
        break;
    case CLUSTER_STOPPED:
        take_stopped(actors);
        break;
    }
}

static bool has_unheard(const struct slot *slot)
{
    const struct message *message = slot->last;

    while (message) {
        if (message->kind == MESSAGE_CLUSTER)
            return true;
        message = message->next == slot->last ? NULL : message->next;
    }
    return false;
}

bool actors_cluster_unheard(const struct actors *actors)
{
    const struct view *view = &actors->view;

    for (uint32_t i = 0; i < view->subscribers.count; i++) {
        const struct slot *slot =
            slot_of(actors, view->subscribers.items[i].actor);

        if (slot && !(slot->flags & FLAG_ENTITY) &&
            (slot->status == SLOT_ALIVE || slot->status == SLOT_STOPPING) &&
            (view->subscribers.items[i].missed || has_unheard(slot)))
            return true;
    }
    return false;
}

/* --- public calls --- */

static struct subscriber *find_subscriber(struct view *view, uint64_t actor)
{
    for (uint32_t i = 0; i < view->subscribers.count; i++)
        if (view->subscribers.items[i].actor == actor)
            return &view->subscribers.items[i];
    return NULL;
}

/* At the limit, subscribers that have ended make room. */
static struct subscriber *add_subscriber(struct actors *actors, uint64_t actor)
{
    struct view *view = &actors->view;
    struct subscriber added = { .actor = actor };

    for (uint32_t i = 0; view->subscribers.count >= CLUSTER_SUBSCRIBERS_MAX &&
                         i < view->subscribers.count;
         i++)
        if (!slot_of(actors, view->subscribers.items[i].actor))
            drop_subscriber(view, i--);
    if (view->subscribers.count >= CLUSTER_SUBSCRIBERS_MAX)
        return NULL;
    vec_push(&view->subscribers, added);
    return &view->subscribers.items[view->subscribers.count - 1];
}

SHERD_API int sherd_cluster_subscribe(struct sherd_ctx *ctx, uint32_t events,
                                      enum sherd_cluster_first first)
{
    struct actors *actors = ctx->actors;
    struct view *view = &actors->view;
    struct subscriber *subscriber = find_subscriber(view, ctx->self.actor);

    if (!events || (events & ~(uint32_t)SHERD_EVENTS_ALL) ||
        (first != SHERD_STATE_FIRST && first != SHERD_EVENTS_FIRST))
        return SHERD_EINVAL;
    if (!subscriber)
        subscriber = add_subscriber(actors, ctx->self.actor);
    if (!subscriber) {
        actors->counts.subscribers_refused++;
        return SHERD_EFULL;
    }
    subscriber->events |= events;
    subscriber->waits = true;
    subscriber->wants_events = first == SHERD_EVENTS_FIRST;
    if (must_ask(view, subscriber))
        ask_state(actors);
    else if (!is_missed(actors, subscriber, ctx->slot))
        send_state(actors, subscriber, ctx->slot, subscriber->wants_events);
    return 0;
}

SHERD_API void sherd_cluster_unsubscribe(struct sherd_ctx *ctx, uint32_t events)
{
    struct view *view = &ctx->actors->view;
    struct subscriber *subscriber = find_subscriber(view, ctx->self.actor);

    if (!subscriber)
        return;
    subscriber->events &= ~events;
    if (!subscriber->events)
        drop_subscriber(view,
                        (uint32_t)(subscriber - view->subscribers.items));
}
