/* Maintains the views of members, and reports news as differences from the last report. */
#include "member/inside.h"

#include "base/check.h"
#include "base/text.h"

const char *member_status_text(enum member_status status)
{
    switch (status) {
#define X(name, value, text)                                                   \
    case name:                                                                 \
        return text;
        MEMBER_STATUSES(X)
#undef X
    }
    return "?";
}

const char *member_news_text(enum member_news_kind kind)
{
    switch (kind) {
        MEMBER_NEWS(TEXT_CASE)
    }
    return "?";
}

/* Sets the profile of the view at the index; null: clears it. */
static void set_viewed(struct member *member, uint32_t index,
                       struct profile *profile)
{
    struct member_view *view = &member->views.items[index];
    struct profile *before = view->profile;

    member->far_count -=
        before && !profile_same_center(before, member->self);
    member->far_count +=
        profile && !profile_same_center(profile, member->self);
    profile_drop(before);
    view->profile = profile ? profile_hold(profile) : NULL;
}

/* Updates the view of one member. */
static void view_member(struct member *member, uint32_t index, enum reach reach)
{
    const struct gossip_member *from = &member->gossip.members.items[index];
    struct member_view *view = &member->views.items[index];

    if (view->profile != from->profile)
        set_viewed(member, index, from->profile);
    view->status = from->status;
    view->up_number = from->up_number;
    view->reachable = reach == REACHABLE;
    view->seen = from->seen;
}

static void view_members(struct member *member, const uint8_t *reach)
{
    uint32_t count = member->gossip.members.count;

    while (member->views.count < count)
        vec_push(&member->views, (struct member_view){ .profile = NULL });
    while (member->views.count > count) {
        set_viewed(member, member->views.count - 1, NULL);
        member->views.count--;
    }
    for (uint32_t i = 0; i < count; i++)
        view_member(member, i, (enum reach)reach[i]);
}

static void put_role(struct news *news, const char *role)
{
    struct role_leader added = { .role = NULL };
    uint32_t at = 0, end = news->roles.count;

    while (at < end) {
        uint32_t middle = at + (end - at) / 2;
        int order = strcmp(news->roles.items[middle].role, role);

        if (order == 0)
            return;
        if (order < 0)
            at = middle + 1;
        else
            end = middle;
    }
    added.role = mem_text(role);
    vec_push(&news->roles, added);
    memmove(&news->roles.items[at + 1], &news->roles.items[at],
            (news->roles.count - 1 - at) * sizeof added);
    news->roles.items[at] = added;
}

/* A role without members is kept until the loss of its leader is reported. */
static void settle_roles(struct member *member, const uint8_t *reach)
{
    struct news *news = &member->news;

    for (uint32_t i = 0; i < member->gossip.members.count; i++) {
        const struct profile *profile =
            member->gossip.members.items[i].profile;

        for (uint32_t k = 0; k < profile->traits->role_count; k++)
            if (strncmp(profile->traits->roles[k], "dc-", 3) != 0)
                put_role(news, profile->traits->roles[k]);
    }
    for (uint32_t i = news->roles.count; i-- > 0;) {
        struct role_leader *role = &news->roles.items[i];
        const struct gossip_member *leader = state_role_leader(
            &member->gossip, member->self, reach, role->role);

        role->node = leader ? profile_node(leader->profile) : (struct node_id){ 0 };
        if (role->node.uid || role->reported.uid)
            continue;
        mem_free((void *)(uintptr_t)role->role);
        vec_remove(&news->roles, i);
    }
}

void member_follow_roles(struct member *member)
{
    uint8_t *reach;

    if (member->news.tells_roles)
        return;
    member->news.tells_roles = true;
    reach = state_reach(&member->gossip, member->self, ALL_OBSERVERS);
    settle_roles(member, reach);
    mem_free(reach);
    member->news.step = TELL_WELCOME;
    member->news.at = 0;
}

bool member_role_at(const struct member *member, uint32_t index,
                    const char **role, const struct member_view **leader)
{
    const struct role_leader *at;

    if (index >= member->news.roles.count)
        return false;
    at = &member->news.roles.items[index];
    *role = at->role;
    *leader = at->node.uid ? member_find(member, &at->node) : NULL;
    return true;
}

/* The members are the same. */
static void view_seen(struct member *member)
{
    member->is_seen_dirty = false;
    for (uint32_t i = 0; i < member->views.count; i++)
        member->views.items[i].seen = member->gossip.members.items[i].seen;
}

/* Whether a report would tell the difference. */
static bool differ(const struct member_view *left,
                   const struct member_view *right)
{
    return left->status != right->status ||
           left->up_number != right->up_number ||
           left->reachable != right->reachable;
}

/* True if the view differs both from the last report and from the gossip. */
static bool is_merged(const struct member *member, const uint8_t *reach,
                      const struct member_view *view,
                      const struct member_view *reported)
{
    const struct gossip_member *found =
        gossip_find_profile(&member->gossip, view->profile);
    bool tells_reach = profile_same_center(view->profile, member->self) &&
                       !profile_same(view->profile, member->self);
    const struct member_view none = { .status = MEMBER_REMOVED, .reachable = true };
    const struct member_view was = reported ? *reported : none;
    struct member_view is = *view, becomes = none;

    is.reachable = !tells_reach || view->reachable;
    if (found)
        becomes = (struct member_view){
            .status = found->status,
            .up_number = found->up_number,
            .reachable = !tells_reach ||
                         reach[found - member->gossip.members.items] == REACHABLE
        };
    return differ(&was, &is) && differ(&is, &becomes);
}

/* Counts unreported changes that a newer one replaces, if the caller wants each change. */
static void count_merged(struct member *member, const uint8_t *reach)
{
    const struct news *news = &member->news;
    uint32_t at = 0;

    if (!member_has_news(member) || !news->tells_roles)
        return;
    for (uint32_t i = 0; i < member->views.count; i++) {
        const struct member_view *view = &member->views.items[i];
        const struct member_view *reported = NULL;

        while (at < news->members.count &&
               profile_compare(news->members.items[at].view.profile, view->profile) < 0)
            at++;
        if (at < news->members.count &&
            profile_same(news->members.items[at].view.profile, view->profile))
            reported = &news->members.items[at].view;
        member->counters.changes_merged +=
            is_merged(member, reach, view, reported);
    }
}

static bool is_one_center(const struct member *member)
{
    for (uint32_t i = 0; i < member->gossip.members.count; i++)
        if (!profile_same_center(member->gossip.members.items[i].profile,
                                 member->self))
            return false;
    return true;
}

/* A change and the removal that follows may be reported as one. The leader removes an exiting member
 * that is reachable only after its confirmation, and every member of the data center has seen the
 * version before that. The leader of another data center waits for no confirmation, as in Akka. */
static void note_last(struct member *member, const uint8_t *reach)
{
    const struct gossip *gossip = &member->gossip;
    bool one_center = is_one_center(member);

    for (uint32_t i = 0, at = 0; i < member->news.members.count; i++) {
        struct reported_member *reported = &member->news.members.items[i];

        while (at < gossip->members.count &&
               profile_compare(gossip->members.items[at].profile,
                               reported->view.profile) < 0)
            at++;
        if (at == gossip->members.count ||
            !profile_same(gossip->members.items[at].profile, reported->view.profile))
            continue;
        reported->last = gossip->members.items[at].status;
        reported->leaves_well = one_center && reach[at] == REACHABLE &&
                                reported->last == MEMBER_EXITING;
    }
}

void member_settle(struct member *member, uint64_t now)
{
    const struct gossip_member *leader;
    uint8_t *reach;

    if (!member->is_dirty) {
        if (member->is_seen_dirty)
            view_seen(member);
        return;
    }
    member->is_dirty = member->is_seen_dirty = false;
    member->counters.forgotten = member->gossip.forgotten;
    reach = state_reach(&member->gossip, member->self, ALL_OBSERVERS);
    count_merged(member, reach);
    note_last(member, reach);
    view_members(member, reach);
    leader = state_leader(&member->gossip, member->self, reach);
    member->leader = leader ? profile_node(leader->profile) : (struct node_id){ 0 };
    if (member->news.tells_roles)
        settle_roles(member, reach);
    centers_settle(member, reach);
    if (member->phase == PHASE_INSIDE) {
        heart_follow(&member->heart, &member->heart_settings, &member->gossip,
                     reach, member->self, now);
        if (member->far_count || member->cross.is_active)
            cross_dc_follow(&member->cross, &member->cross_dc_settings,
                         &member->gossip, member->self, now);
    }
    mem_free(reach);
    member->news.step = TELL_WELCOME;
    member->news.at = 0;
}

void member_fini_news(struct member *member)
{
    struct news *news = &member->news;

    for (uint32_t i = 0; i < news->members.count; i++)
        profile_drop(news->members.items[i].view.profile);
    vec_fini(&news->members);
    for (uint32_t i = 0; i < news->roles.count; i++)
        mem_free((void *)(uintptr_t)news->roles.items[i].role);
    vec_fini(&news->roles);
    centers_fini(news);
    buf_fini(&news->refusal);
    for (uint32_t i = 0; i < member->views.count; i++)
        profile_drop(member->views.items[i].profile);
    vec_fini(&member->views);
}

static bool tell(struct member_news *out, enum member_news_kind kind,
                 const struct member_view *view)
{
    *out = (struct member_news){ .kind = kind, .view = view, .detail = "" };
    if (view)
        out->node = profile_node(view->profile);
    return true;
}

static bool tell_removed(struct member *member, struct member_news *out)
{
    struct news *news = &member->news;

    for (; news->at < news->members.count; news->at++) {
        struct reported_member *old = &news->members.items[news->at];

        if (gossip_find_profile(&member->gossip, old->view.profile))
            continue;
        (void)tell(out, MEMBER_NEWS_REMOVED, NULL);
        out->node = profile_node(old->view.profile);
        out->previous = old->last;
        out->has_left = old->leaves_well;
        member_probe(member, PROBE_MEMBER_SEEN, &out->node, MEMBER_REMOVED);
        profile_drop(old->view.profile);
        vec_remove(&news->members, news->at);
        return true;
    }
    return false;
}

/* After the removals: the reported members are a subset of the members, in the same order. */
static bool tell_members(struct member *member, struct member_news *out)
{
    struct news *news = &member->news;

    for (; news->at < member->gossip.members.count; news->at++) {
        const struct gossip_member *from =
            &member->gossip.members.items[news->at];
        struct reported_member *old = news->at < news->members.count
                                          ? &news->members.items[news->at]
                                          : NULL;

        if (old && profile_same(old->view.profile, from->profile)) {
            if (old->view.status == from->status &&
                old->view.up_number == from->up_number)
                continue;
        } else {
            struct reported_member added = {
                .view = { .profile = profile_hold(from->profile), .reachable = true }
            };

            vec_push(&news->members, added);
            memmove(&news->members.items[news->at + 1],
                    &news->members.items[news->at],
                    (news->members.count - 1 - news->at) * sizeof added);
            old = &news->members.items[news->at];
            *old = added;
        }
        old->view.status = old->last = from->status;
        old->view.up_number = from->up_number;
        member_probe(member, PROBE_MEMBER_SEEN, PROFILE_NODE(from->profile),
                     from->status);
        return tell(out, MEMBER_NEWS_MEMBER, &member->views.items[news->at++]);
    }
    return false;
}

/* Reports nothing about this node or about members of other data centers. */
static bool tell_reach(struct member *member, struct member_news *out,
                       bool unreachable)
{
    struct news *news = &member->news;

    for (; news->at < news->members.count; news->at++) {
        struct member_view *old = &news->members.items[news->at].view;
        const struct member_view *view = &member->views.items[news->at];

        if (old->reachable != unreachable ||
            view->reachable == unreachable ||
            profile_same(view->profile, member->self) ||
            !profile_same_center(old->profile, member->self))
            continue;
        old->reachable = !unreachable;
        news->at++;
        return tell(
            out, unreachable ? MEMBER_NEWS_UNREACHABLE : MEMBER_NEWS_REACHABLE,
            view);
    }
    return false;
}

static bool tell_center(struct member *member, struct member_news *out,
                        bool unreachable)
{
    struct news *news = &member->news;

    for (; news->at < news->centers.count; news->at++) {
        struct center *center = &news->centers.items[news->at];

        if (center->is_unreachable != unreachable ||
            center->is_reported == unreachable)
            continue;
        center->is_reported = unreachable;
        news->at++;
        (void)tell(out,
                   unreachable ? MEMBER_NEWS_CENTER_UNREACHABLE
                               : MEMBER_NEWS_CENTER_REACHABLE,
                   NULL);
        out->detail = center->name;
        return true;
    }
    return false;
}

static bool tell_leader(struct member *member, struct member_news *out)
{
    if (node_equal(&member->news.leader, &member->leader))
        return false;
    member->news.leader = member->leader;
    return tell(out, MEMBER_NEWS_LEADER, member_leader(member));
}

static bool tell_role_leaders(struct member *member, struct member_news *out)
{
    struct news *news = &member->news;

    for (; news->at < news->roles.count; news->at++) {
        struct role_leader *role = &news->roles.items[news->at];

        if (node_equal(&role->node, &role->reported))
            continue;
        role->reported = role->node;
        news->at++;
        (void)tell(out, MEMBER_NEWS_ROLE_LEADER,
                   role->node.uid ? member_find(member, &role->node) : NULL);
        out->detail = role->role;
        return true;
    }
    return false;
}

static bool tell_self(struct member *member, struct member_news *out)
{
    struct news *news = &member->news;
    const struct member_view *self = member_self(member);

    if (!news->up && self && self->status == MEMBER_UP) {
        news->up = true;
        return tell(out, MEMBER_NEWS_SELF_UP, self);
    }
    if (!news->exiting && member->is_exiting) {
        news->exiting = true;
        return tell(out, MEMBER_NEWS_SELF_EXITING, self);
    }
    if (news->refused) {
        news->refused = false;
        (void)tell(out, MEMBER_NEWS_REFUSED, NULL);
        out->gave_up = news->gave_up;
        out->detail = (const char *)news->refusal.data;
        return true;
    }
    if (!news->stopped && member->phase == PHASE_STOPPED) {
        news->stopped = true;
        (void)tell(out, MEMBER_NEWS_SELF_STOPPED, self);
        out->previous = member->last_status;
        return true;
    }
    return false;
}

static bool tell_step(struct member *member, struct member_news *out)
{
    switch (member->news.step) {
    case TELL_WELCOME:
        if (member->news.welcome || !member->gossip.members.count)
            return false;
        member->news.welcome = true;
        return tell(out, MEMBER_NEWS_WELCOME, member_self(member));
    case TELL_REMOVED:
        return tell_removed(member, out);
    case TELL_MEMBER:
        return tell_members(member, out);
    case TELL_UNREACHABLE:
        return tell_reach(member, out, true);
    case TELL_REACHABLE:
        return tell_reach(member, out, false);
    case TELL_CENTER_UNREACHABLE:
        return tell_center(member, out, true);
    case TELL_CENTER_REACHABLE:
        return tell_center(member, out, false);
    case TELL_LEADER:
        return tell_leader(member, out);
    case TELL_ROLE_LEADERS:
        return tell_role_leaders(member, out);
    case TELL_SELF:
        return tell_self(member, out);
    case TELL_NOTHING:
        break;
    }
    return false;
}

bool member_next_news(struct member *member, struct member_news *news)
{
    check(!member->is_dirty); /* every call settles */
    while (member->news.step != TELL_NOTHING) {
        if (tell_step(member, news))
            return true;
        member->news.step++;
        member->news.at = 0;
    }
    return false;
}

bool member_has_news(const struct member *member)
{
    return member->news.step != TELL_NOTHING;
}

const struct clock *member_version(const struct member *member)
{
    return &member->gossip.clock;
}

uint32_t member_count(const struct member *member)
{
    return member->views.count;
}

const struct member_view *member_at(const struct member *member, uint32_t index)
{
    return index < member->views.count ? &member->views.items[index] : NULL;
}

const struct member_view *member_find(const struct member *member,
                                      const struct node_id *node)
{
    const struct gossip_member *found =
        node->uid ? gossip_find(&member->gossip, node)
                  : gossip_find_address(&member->gossip, &node->address);

    return found ? &member->views.items[found - member->gossip.members.items]
                 : NULL;
}

const struct member_view *member_self(const struct member *member)
{
    const struct gossip_member *own = member_own_entry(member);

    return own ? &member->views.items[own - member->gossip.members.items]
               : NULL;
}

bool member_is_in(const struct member *member)
{
    return member->phase == PHASE_INSIDE;
}

bool member_is_stopped(const struct member *member)
{
    return member->phase == PHASE_STOPPED;
}

const struct member_view *member_leader(const struct member *member)
{
    return member->leader.uid ? member_find(member, &member->leader) : NULL;
}

bool member_is_leader(const struct member *member)
{
    return member->phase == PHASE_INSIDE &&
           node_equal(&member->leader, &member->identity->node);
}

bool member_is_converged(const struct member *member)
{
    return member->phase == PHASE_INSIDE &&
           state_is_converged(&member->gossip, member->self,
                              member->confirmed.items, member->confirmed.count);
}

bool member_has_role(const struct member_view *view, const char *role)
{
    if (!role || !*role)
        return true;
    return profile_has_role(view->profile, role);
}

bool member_same_center(const struct member_view *left,
                        const struct member_view *right)
{
    return profile_same_center(left->profile, right->profile);
}

int member_compare_age(const struct member_view *left,
                       const struct member_view *right)
{
    if (left->up_number != right->up_number)
        return left->up_number < right->up_number ? -1 : 1;
    return kept_addresses_compare(left->profile->address,
                                  right->profile->address);
}

const struct member_view *member_oldest(const struct member *member,
                                        const char *role)
{
    const struct member_view *oldest = NULL;

    for (uint32_t i = 0; i < member->views.count; i++) {
        const struct member_view *view = &member->views.items[i];

        if ((member_status_counts(view->status) ||
             view->status == MEMBER_EXITING) &&
            member_has_role(view, role) &&
            profile_same_center(view->profile, member->self) &&
            (!oldest || member_compare_age(view, oldest) < 0))
            oldest = view;
    }
    return oldest;
}

bool member_next_observation(const struct member *member,
                             struct member_walk *walk,
                             struct member_observation *observation)
{
    const struct reachability *table = &member->gossip.reachability;

    for (; walk->observer < table->observers.count; walk->observer++) {
        const struct observer *observer =
            &table->observers.items[walk->observer];

        while (walk->row < observer->rows.count) {
            const struct observation *row = &observer->rows.items[walk->row++];

            if (row->status == REACHABLE)
                continue;
            observation->observer =
                gossip_index(&member->gossip, observer->profile);
            observation->subject = gossip_index(&member->gossip, row->subject);
            observation->terminated = row->status == TERMINATED;
            return true;
        }
        walk->row = 0;
    }
    return false;
}
