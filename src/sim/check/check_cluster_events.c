/* Folds events into a picture, and judges each event by the picture before it. */
#include "sim/check/check_cluster_events.h"

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/member_info.h"
#include "base/vec.h"
#include "sim/check/check_member.h"
#include "sim/world/verdict.h"

_Static_assert((int)SHERD_REMOVED == MEMBER_REMOVED &&
                   (int)SHERD_READY_FOR_SHUTDOWN == MEMBER_READY_FOR_SHUTDOWN,
               "statuses have the same numbers");

#define REACH (SHERD_EVENTS_REACHABILITY | SHERD_EVENTS_MEMBERS)
#define LEADS SHERD_EVENT(SHERD_LEADER_CHANGED)
#define ROLE_LEADS SHERD_EVENT(SHERD_ROLE_LEADER_CHANGED)
#define OUT SHERD_EVENT(SHERD_CLUSTER_SHUTTING_DOWN)

struct follower {
    struct check_cluster_events *check;
    uint32_t node;
    uint64_t uid;
    bool is_small;
    bool needs_state; /* before any change */
    bool awaits;      /* a state */
    bool has_state;   /* since it subscribed */
    bool has_part;    /* has a part of a state: the rest comes next */
    bool has_heard;   /* anything since it subscribed */
    uint32_t events;  /* 0: not subscribed */
    uint32_t leaving; /* unsubscribed, but may still arrive */
    uint32_t whole;   /* heard without gap since the picture began */
    struct picture picture;
    struct picture parts; /* of a state */
    VEC(uint64_t) removed;
    char *center; /* of its own node; null: not heard of */
};

struct check_cluster_events {
    struct verdict *verdict;
    follow_known *known; /* null: start values are unknown */
    void *user;
    VEC(struct follower *) followers;
    struct check_cluster_events_counts counts;
};

/* ---- lifetime ---- */

struct check_cluster_events *check_cluster_events_new(struct verdict *verdict)
{
    struct check_cluster_events *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    return check;
}

void check_cluster_events_facts(struct check_cluster_events *check, follow_known *known,
                                void *user)
{
    check->known = known;
    check->user = user;
}

static void free_follower(struct follower *follower)
{
    picture_fini(&follower->picture);
    picture_fini(&follower->parts);
    vec_fini(&follower->removed);
    mem_free(follower->center);
    mem_free(follower);
}

void check_cluster_events_free(struct check_cluster_events *check)
{
    if (!check)
        return;
    for (uint32_t i = 0; i < check->followers.count; i++)
        free_follower(check->followers.items[i]);
    vec_fini(&check->followers);
    mem_free(check);
}

struct check_cluster_events_counts
check_cluster_events_counts(const struct check_cluster_events *check)
{
    return check->counts;
}

struct follower *check_cluster_events_begun(struct check_cluster_events *check, uint32_t node,
                                            uint64_t uid, bool is_small)
{
    struct follower *follower = mem_alloc(sizeof *follower);

    follower->check = check;
    follower->node = node;
    follower->uid = uid;
    follower->is_small = is_small;
    check->counts.followers++;
    vec_push(&check->followers, follower);
    return follower;
}

void check_cluster_events_ended(struct follower *follower)
{
    struct check_cluster_events *check;
    uint32_t at = 0;

    if (!follower)
        return;
    check = follower->check;
    while (check->followers.items[at] != follower)
        at++;
    vec_remove(&check->followers, at);
    free_follower(follower);
}

/* ---- sets ---- */

void check_cluster_events_subscribed(struct follower *follower, uint32_t events,
                                     enum sherd_cluster_first first)
{
    if (!follower->events) {
        picture_fini(&follower->picture);
        follower->needs_state = first == SHERD_STATE_FIRST;
        follower->has_state = follower->has_heard = false;
        follower->whole = first == SHERD_STATE_FIRST ? 0 : events;
    } else {
        check(first == SHERD_STATE_FIRST);
    }
    follower->events |= events;
    follower->awaits |= first == SHERD_STATE_FIRST;
}

void check_cluster_events_unsubscribed(struct follower *follower, uint32_t events)
{
    follower->leaving |= follower->events & events;
    follower->events &= ~events;
    follower->whole &= ~events;
    if (!follower->events)
        follower->awaits = false;
}

void check_cluster_events_emptied(struct follower *follower)
{
    follower->leaving = 0;
}

bool check_cluster_events_is_subscribed(const struct follower *follower)
{
    return follower->events != 0;
}

bool check_cluster_events_is_complete(const struct follower *follower)
{
    return !follower->leaving && !follower->awaits;
}

/* ---- judging ---- */

static void wrong(const struct follower *follower,
                  const struct sherd_cluster_event *event, const char *what)
{
    if (event)
        violation(follower->check->verdict, "cluster-events", follower->node,
                  "an actor hears: %s %s uid %" PRIu64 " %s%s: %s",
                  sherd_cluster_event_text(event->kind), event->member.address,
                  event->member.uid, event->role, event->member.data_center,
                  what);
    else
        violation(follower->check->verdict, "cluster-events", follower->node,
                  "an actor hears %s", what);
}

/* It heard all of these since its picture began. */
static bool has_all(const struct follower *follower, uint32_t events)
{
    return (follower->whole & events) == events;
}

static bool was_removed(const struct follower *follower, uint64_t uid)
{
    for (uint32_t i = 0; i < follower->removed.count; i++)
        if (follower->removed.items[i] == uid)
            return true;
    return false;
}

static const char *judge_status(const struct follower *follower,
                                const struct follow_member *known,
                                const struct sherd_cluster_event *event)
{
    const struct sherd_cluster_member *member = &event->member;

    if (follow_kind(member->status) != event->kind)
        return "the event is of another status";
    if (member->self != (member->uid == follower->uid))
        return "it is wrong about which member is the node itself";
    if (was_removed(follower, member->uid))
        return "it was removed";
    if (known && known->status == member->status &&
        known->up_number == member->up_number)
        return "it is so already";
    if (known && !check_member_leads_to(known->status, member->status))
        return "it does not follow from the status before";
    return NULL;
}

static const char *judge_removed(const struct follower *follower,
                                 const struct follow_member *known,
                                 const struct sherd_cluster_event *event)
{
    if (was_removed(follower, event->member.uid))
        return "it was removed already";
    if (!has_all(follower, SHERD_EVENTS_MEMBERS))
        return NULL;
    if (!known)
        return "it is no member";
    return known->status != event->previous
               ? "the status before is another one"
               : NULL;
}

static const char *judge_reach(const struct follower *follower,
                               const struct follow_member *known,
                               const struct sherd_cluster_event *event)
{
    bool is_unreachable = event->kind == SHERD_MEMBER_UNREACHABLE;

    if (event->member.uid == follower->uid)
        return "it is the node itself";
    if (event->member.reachable == is_unreachable)
        return "it says that it is not so";
    if (follower->center &&
        strcmp(follower->center, event->member.data_center) != 0)
        return "it is of another data center";
    if (!has_all(follower, REACH))
        return NULL;
    if (!known)
        return "it is no member";
    return known->is_unreachable == is_unreachable ? "it is so already" : NULL;
}

static const char *judge_center(const struct follower *follower,
                                const struct picture *picture,
                                const struct sherd_cluster_event *event)
{
    const char *center = event->member.data_center;
    bool is_there = picture_has_center(picture, center);

    if (!*center || (follower->center && !strcmp(follower->center, center)))
        return "it is not another one";
    return has_all(follower, SHERD_EVENTS_DATA_CENTERS) &&
                   is_there == (event->kind == SHERD_DATA_CENTER_UNREACHABLE)
               ? "it is so already"
               : NULL;
}

static const char *judge_leader(const struct follower *follower,
                                const struct follow_member *known,
                                const struct sherd_cluster_event *event,
                                uint64_t before, uint32_t needed)
{
    const struct sherd_cluster_member *member = &event->member;

    if (member->uid == before && has_all(follower, needed))
        return "it is so already";
    if (member->uid && !known && has_all(follower, SHERD_EVENTS_MEMBERS))
        return "it is no member";
    return member->uid && *event->role &&
                   !sherd_cluster_has_role(member, event->role)
               ? "it has not that role"
               : NULL;
}

/* Each member has one more, for its data center. */
static uint32_t count_roles(const struct sherd_cluster_member *member)
{
    uint32_t count = 0;

    for (const char *role = member->roles; *role; role += strlen(role) + 1)
        count += strncmp(role, "dc-", 3) != 0;
    return count;
}

static const char *judge_identity(const struct follower *follower,
                                  const struct sherd_cluster_member *member)
{
    const struct check_cluster_events *check = follower->check;
    struct follow_fact fact;

    if (!member->uid || !check->known)
        return NULL;
    if (!check->known(check->user, member->uid, &fact))
        return "no such life was started";
    if (strcmp(member->address, fact.address) != 0)
        return "its address is another one";
    if (strcmp(member->data_center,
               fact.data_center ? fact.data_center : "default") != 0)
        return "its data center is another one";
    for (uint32_t i = 0; i < fact.role_count; i++)
        if (!sherd_cluster_has_role(member, fact.roles[i]))
            return "it has one role more";
    return count_roles(member) == fact.role_count ? NULL
                                                  : "it has not all these roles";
}

/* Events that may come after the node is out. */
static bool ends(const struct sherd_cluster_event *event)
{
    return event->kind == SHERD_MEMBER_REMOVED ||
           event->kind == SHERD_DATA_CENTER_REACHABLE ||
           ((event->kind == SHERD_LEADER_CHANGED ||
             event->kind == SHERD_ROLE_LEADER_CHANGED) &&
            !event->member.uid);
}

/* Null: the event fits the picture before it. */
static const char *judge(const struct follower *follower,
                         const struct picture *picture,
                         const struct sherd_cluster_event *event)
{
    const struct follow_member *known =
        event->member.uid ? picture_member(picture, event->member.uid) : NULL;
    const char *why = judge_identity(follower, &event->member);

    if (why)
        return why;
    if (picture->is_out && !ends(event))
        return "the node is out";
    switch (event->kind) {
    case SHERD_MEMBER_REMOVED:
        return judge_removed(follower, known, event);
    case SHERD_MEMBER_UNREACHABLE:
    case SHERD_MEMBER_REACHABLE:
        return judge_reach(follower, known, event);
    case SHERD_DATA_CENTER_UNREACHABLE:
    case SHERD_DATA_CENTER_REACHABLE:
        return judge_center(follower, picture, event);
    case SHERD_LEADER_CHANGED:
        return judge_leader(follower, known, event, picture->leader, LEADS);
    case SHERD_ROLE_LEADER_CHANGED:
        return judge_leader(follower, known, event,
                            picture_role_leader(picture, event->role), ROLE_LEADS);
    case SHERD_CLUSTER_SHUTTING_DOWN:
        return NULL;
    case SHERD_CLUSTER_EVENT_COUNT:
        return "there is no such event";
    default:
        return judge_status(follower, known, event);
    }
}

/* ---- folding ---- */

static void fold_status(struct picture *picture,
                        const struct sherd_cluster_member *member)
{
    struct follow_member *known = picture_make_member(picture, member->uid);

    known->status = member->status;
    known->up_number = member->up_number;
}

static void fold(struct follower *follower, struct picture *picture,
                 const struct sherd_cluster_event *event)
{
    const struct sherd_cluster_member *member = &event->member;
    struct follow_member *known;

    if (member->self && member->uid && !follower->center)
        follower->center = mem_text(member->data_center);
    switch (event->kind) {
    case SHERD_MEMBER_REMOVED:
        picture_remove(picture, member->uid);
        vec_push(&follower->removed, member->uid);
        break;
    case SHERD_MEMBER_UNREACHABLE:
    case SHERD_MEMBER_REACHABLE:
        known = picture_member(picture, member->uid);
        if (known)
            known->is_unreachable = event->kind == SHERD_MEMBER_UNREACHABLE;
        break;
    case SHERD_DATA_CENTER_UNREACHABLE:
    case SHERD_DATA_CENTER_REACHABLE:
        picture_set_center(picture, member->data_center,
                           event->kind == SHERD_DATA_CENTER_UNREACHABLE);
        break;
    case SHERD_LEADER_CHANGED:
        picture->leader = member->uid;
        break;
    case SHERD_ROLE_LEADER_CHANGED:
        picture_set_role_leader(picture, event->role, member->uid);
        break;
    case SHERD_CLUSTER_SHUTTING_DOWN:
        picture->is_out = true;
        follower->check->counts.ends++;
        break;
    default:
        fold_status(picture, member);
        break;
    }
}

/* ---- hearing ---- */

/* A follower with room in its mailbox has heard all, so the state has nothing new. */
static void judge_again(struct follower *follower)
{
    char text[160];

    follower->check->counts.again++;
    if (!picture_equals(&follower->picture, &follower->parts, follower->whole,
                        text, sizeof text))
        violation(follower->check->verdict, "cluster-events", follower->node,
                  "a state that an actor asked for again is not what it has heard; before and now: %s",
                  text);
}

/* A member that the state lacks is permanently gone; the others took allowed steps. */
static void judge_members(struct follower *follower)
{
    const struct picture *before = &follower->picture;

    for (uint32_t i = 0; i < before->members.count; i++) {
        const struct follow_member *member = &before->members.items[i];
        const struct follow_member *now =
            picture_member(&follower->parts, member->uid);

        if (!now)
            vec_push(&follower->removed, member->uid);
        else if (!check_member_leads_to(member->status, now->status))
            violation(follower->check->verdict, "cluster-events", follower->node,
                      "by a state uid %" PRIu64 " is %s, and was %s before",
                      member->uid,
                      sherd_cluster_event_text(follow_kind(now->status)),
                      sherd_cluster_event_text(follow_kind(member->status)));
    }
}

static void state_ended(struct follower *follower)
{
    follower->check->counts.states++;
    follower->check->counts.unasked += !follower->awaits;
    if (!follower->awaits && !follower->leaving && !follower->is_small)
        wrong(follower, NULL, "a state that it did not ask for");
    if (follower->has_state && !follower->is_small)
        judge_again(follower);
    judge_members(follower);
    picture_fini(&follower->picture);
    follower->picture = follower->parts;
    follower->parts = (struct picture){ .leader = 0 };
    follower->has_part = follower->awaits = follower->needs_state = false;
    follower->has_state = true;
    follower->whole = follower->events;
}

/* A state has everything, regardless of the set. */
static void hear_state(struct follower *follower,
                       const struct sherd_msg *message)
{
    struct sherd_cluster_event event;
    uint32_t whole = follower->whole;
    size_t at = 0;

    follower->whole = SHERD_EVENTS_ALL;
    while (sherd_cluster_next(message, &at, &event)) {
        const char *why = event.kind == SHERD_MEMBER_REMOVED
                              ? "a state has no removals"
                              : judge(follower, &follower->parts, &event);

        if (why)
            wrong(follower, &event, why);
        if (event.kind != SHERD_MEMBER_REMOVED)
            fold(follower, &follower->parts, &event);
    }
    follower->whole = whole;
    follower->has_part = true;
    if (message->msg == SHERD_CLUSTER_STATE_END)
        state_ended(follower);
}

static void hear_change(struct follower *follower,
                        const struct sherd_msg *message)
{
    struct sherd_cluster_event event;
    struct sherd_cluster_event more;
    const char *why;
    size_t at = 0;

    follower->check->counts.changes++;
    if (!sherd_cluster_next(message, &at, &event)) {
        wrong(follower, NULL, "a change of nothing");
        return;
    }
    if (sherd_cluster_next(message, &at, &more))
        wrong(follower, &more, "a change has one event");
    if (!((follower->events | follower->leaving) & SHERD_EVENT(event.kind)))
        wrong(follower, &event, "it is not in the set");
    else if (follower->needs_state && !follower->leaving)
        wrong(follower, &event, "the state comes first");
    else if (follower->has_part)
        wrong(follower, &event, "it comes between the parts of a state");
    why = judge(follower, &follower->picture, &event);
    if (why)
        wrong(follower, &event, why);
    fold(follower, &follower->picture, &event);
}

void check_cluster_events_heard(struct follower *follower,
                                const struct sherd_msg *message)
{
    follower->has_heard = true;
    if (message->msg == SHERD_CLUSTER_CHANGE)
        hear_change(follower, message);
    else if (follower->events | follower->leaving)
        hear_state(follower, message);
    else
        wrong(follower, NULL, "a state, and is not subscribed");
}

void check_cluster_events_node_ended(struct follower *follower)
{
    const struct picture *picture = &follower->picture;

    if (!(follower->events & OUT) || follower->is_small || follower->awaits ||
        !follower->has_heard)
        return;
    if (!picture->is_out)
        violation(follower->check->verdict, "cluster-events", follower->node,
                  "its node has ended, and an actor did not hear that it is out");
    else if (has_all(follower, SHERD_EVENTS_MEMBERS) &&
             picture->members.count)
        violation(follower->check->verdict, "cluster-events", follower->node,
                  "its node has ended, and an actor did not hear the removal of %u members",
                  picture->members.count);
}

bool check_cluster_events_equals(const struct follower *follower,
                                 const struct picture *membership, char *text,
                                 size_t size)
{
    if (!follower->events || !check_cluster_events_is_complete(follower))
        return true;
    follower->check->counts.compared++;
    return picture_equals(&follower->picture, membership, follower->whole,
                          text, size);
}
