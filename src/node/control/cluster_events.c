/* Reports the cluster to lanes: first the state, then membership's events (sherd/cluster.h). */
#include "node/control/control.h"

#include "actor/cluster.h"
#include "base/check.h"

enum sherd_member_status control_status_of(enum member_status status)
{
    static const enum sherd_member_status statuses[MEMBER_STATUS_COUNT] = {
        [MEMBER_JOINING] = SHERD_JOINING,
        [MEMBER_UP] = SHERD_UP,
        [MEMBER_LEAVING] = SHERD_LEAVING,
        [MEMBER_EXITING] = SHERD_EXITING,
        [MEMBER_DOWN] = SHERD_DOWN,
        [MEMBER_REMOVED] = SHERD_REMOVED,
        [MEMBER_WEAKLY_UP] = SHERD_WEAKLY_UP,
        [MEMBER_PREPARING_FOR_SHUTDOWN] = SHERD_PREPARING_FOR_SHUTDOWN,
        [MEMBER_READY_FOR_SHUTDOWN] = SHERD_READY_FOR_SHUTDOWN,
    };

    return statuses[status];
}

/* True also for a node that ends without having been a member. */
static bool is_out(const struct control *control)
{
    return member_is_stopped(control->member) ||
           control->shutdown >= SHUTDOWN_LAST_TASKS;
}

const struct member *machine_membership(const struct machine *machine)
{
    return is_out(machine->control) ? NULL : machine->control->member;
}

static void post(struct control *control, uint64_t lanes,
                 const struct cluster_change *change, const struct buf *texts)
{
    for (uint32_t i = 1; i < control->machine->node->machine_count; i++) {
        struct cluster_change *copy;
        struct mail_content content;

        if (!(lanes >> (i - 1) & 1))
            continue;
        copy = mem_alloc(sizeof *copy + texts->size);
        *copy = *change;
        copy->member.texts_size = (uint32_t)texts->size;
        if (texts->size)
            memcpy(copy->texts, texts->data, texts->size);
        content = MAIL(cluster, .own = { copy });
        outputs_post(&control->machine->outputs, i, &content);
    }
}

static void put_text(struct buf *buf, const char *text)
{
    buf_put(buf, text, strlen(text) + 1);
}

/* Writes version, data center, other roles, and an empty text. */
static void put_texts(struct buf *buf, const struct member_view *view)
{
    put_text(buf, view->profile->traits->app_version);
    put_text(buf, view->profile->traits->data_center);
    for (uint32_t i = 0; i < view->profile->traits->role_count; i++)
        if (strncmp(view->profile->traits->roles[i], "dc-", 3) != 0)
            put_text(buf, view->profile->traits->roles[i]);
    put_text(buf, "");
}

static void post_member(struct control *control, uint64_t lanes,
                        enum cluster_change_kind kind,
                        const struct member_view *view)
{
    struct cluster_change change = {
        .kind = kind,
        .member = {
            .node = profile_node(view->profile),
            .status = control_status_of(view->status),
            .up_number = view->up_number == UP_NUMBER_NONE
                             ? 0
                             : (uint32_t)view->up_number,
            .is_self =
                profile_is(view->profile, &control->machine->self->node),
        },
    };
    struct buf texts = { 0 };

    if (kind == CLUSTER_MEMBER)
        put_texts(&texts, view);
    post(control, lanes, &change, &texts);
    buf_fini(&texts);
}

/* null leader: none. null role: of all members. */
static void post_leader(struct control *control, uint64_t lanes,
                        const struct member_view *leader, const char *role)
{
    struct cluster_change change = {
        .kind = role ? CLUSTER_ROLE_LEADER : CLUSTER_LEADER,
    };
    struct buf texts = { 0 };

    if (leader)
        change.member.node = profile_node(leader->profile);
    if (role)
        put_text(&texts, role);
    post(control, lanes, &change, &texts);
    buf_fini(&texts);
}

static void post_center(struct control *control, uint64_t lanes,
                        enum cluster_change_kind kind, const char *name)
{
    struct cluster_change change = { .kind = kind };
    struct buf texts = { 0 };

    put_text(&texts, name);
    post(control, lanes, &change, &texts);
    buf_fini(&texts);
}

static void post_word(struct control *control, uint64_t lanes,
                      enum cluster_change_kind kind,
                      const struct member_news *news)
{
    struct cluster_change change = { .kind = kind };
    struct buf none = { 0 };

    if (kind == CLUSTER_REMOVED) {
        change.member.node = news->node;
        change.member.status = control_status_of(news->previous);
    }
    post(control, lanes, &change, &none);
}

static void post_state(struct control *control, uint64_t lanes)
{
    const struct member *member = control->member;
    const struct node_id *self = &control->machine->self->node;
    const struct member_view *leader;
    const char *center;
    const char *role;

    for (uint32_t i = 0; i < member_count(member); i++) {
        const struct member_view *view = member_at(member, i);

        post_member(control, lanes, CLUSTER_MEMBER, view);
        if (!view->reachable && !profile_is(view->profile, self) &&
            strcmp(view->profile->traits->data_center,
                   control->machine->settings->data_center) == 0)
            post_member(control, lanes, CLUSTER_UNREACHABLE, view);
    }
    for (uint32_t i = 0; member_unreachable_center_at(member, i, &center); i++)
        post_center(control, lanes, CLUSTER_CENTER_UNREACHABLE, center);
    post_leader(control, lanes, member_leader(member), NULL);
    for (uint32_t i = 0; member_role_at(member, i, &role, &leader); i++)
        post_leader(control, lanes, leader, role);
}

static void post_seen(struct control *control, uint64_t lanes)
{
    struct cluster_change change = { .kind = CLUSTER_SEEN };
    struct buf texts = { 0 };

    for (uint32_t i = 0; i < member_count(control->member); i++) {
        const struct member_view *view = member_at(control->member, i);
        struct cluster_seen seen = { .uid = view->profile->uid,
                                     .seen = view->seen };

        buf_put(&texts, &seen, sizeof seen);
    }
    post(control, lanes, &change, &texts);
    buf_fini(&texts);
}

bool control_follows(const struct control *control, uint32_t lane)
{
    return control->followers & UINT64_C(1) << lane;
}

/* Sends the state to a lane. A lane that already subscribes gets only seen-by. */
void control_follow(struct control *control, uint32_t lane)
{
    uint64_t lanes = UINT64_C(1) << lane;

    if (!(control->followers & lanes)) {
        control->followers |= lanes;
        member_follow_roles(control->member);
        if (!is_out(control))
            post_state(control, lanes);
    }
    post_seen(control, lanes);
    post_word(control, lanes, CLUSTER_IN_STEP, NULL);
    if (is_out(control))
        post_word(control, lanes, CLUSTER_STOPPED, NULL);
}

void control_follow_end(struct control *control)
{
    post_word(control, control->followers, CLUSTER_STOPPED, NULL);
}

void control_follow_news(struct control *control,
                         const struct member_news *news)
{
    uint64_t lanes = control->followers;

    if (!lanes)
        return;
    switch (news->kind) {
    case MEMBER_NEWS_MEMBER:
        post_member(control, lanes, CLUSTER_MEMBER, news->view);
        break;
    case MEMBER_NEWS_REMOVED:
        post_word(control, lanes, CLUSTER_REMOVED, news);
        break;
    case MEMBER_NEWS_UNREACHABLE:
        post_member(control, lanes, CLUSTER_UNREACHABLE, news->view);
        break;
    case MEMBER_NEWS_REACHABLE:
        post_member(control, lanes, CLUSTER_REACHABLE, news->view);
        break;
    case MEMBER_NEWS_CENTER_UNREACHABLE:
        post_center(control, lanes, CLUSTER_CENTER_UNREACHABLE, news->detail);
        break;
    case MEMBER_NEWS_CENTER_REACHABLE:
        post_center(control, lanes, CLUSTER_CENTER_REACHABLE, news->detail);
        break;
    case MEMBER_NEWS_LEADER:
        post_leader(control, lanes, news->view, NULL);
        break;
    case MEMBER_NEWS_ROLE_LEADER:
        post_leader(control, lanes, news->view, news->detail);
        break;
    case MEMBER_NEWS_SELF_STOPPED:
        post_word(control, lanes, CLUSTER_STOPPED, NULL);
        break;
    case MEMBER_NEWS_WELCOME:
    case MEMBER_NEWS_SELF_UP:
    case MEMBER_NEWS_SELF_EXITING:
    case MEMBER_NEWS_REFUSED:
        break;
    }
}
