/* Determines the oldest member for the singleton manager. */
#include "base/limits.h"
#include "base/mark.h"
#include "base/sort.h"
#include "singleton/singleton_state.h"

static struct kept_member *find(const struct singleton *singleton,
                                const struct node_id *node)
{
    return kept_members_find(&singleton->members, node->uid, &node->address);
}

static bool has_mark(const struct kept_member *peer, uint8_t mark)
{
    return peer->marks & mark;
}

void singleton_members_fini(struct singleton *singleton)
{
    kept_members_fini(&singleton->members);
    kept_members_fini(&singleton->removed);
    vec_fini(&singleton->removals);
    for (uint32_t i = 0; i < singleton->delayed.count; i++)
        kept_member_fini(&singleton->delayed.items[i].peer);
    vec_fini(&singleton->delayed);
}

static bool is_self(const struct singleton *singleton,
                    const struct node_id *node)
{
    return node_equal(node, &singleton->identity->node);
}

bool singleton_is_member(const struct singleton *singleton,
                         const struct node_id *node)
{
    return find(singleton, node) != NULL;
}

bool singleton_is_removed(const struct singleton *singleton,
                          const struct node_id *node)
{
    return kept_members_find(&singleton->removed, node->uid, &node->address);
}

static void forget_removed(struct singleton *singleton)
{
    uint32_t at = 0;

    kept_members_remove(&singleton->removed, kept_members_next(&singleton->removed, &at));
    if (!--singleton->removals.items[0].count)
        vec_remove(&singleton->removals, 0);
}

void singleton_remember_removed(struct singleton *singleton,
                                const struct kept_member *peer)
{
    struct node_id node = kept_member_node(peer);
    uint32_t count;

    if (singleton_is_removed(singleton, &node))
        return;
    if (singleton->removed.count >= SINGLETON_REMOVED_MAX) {
        forget_removed(singleton);
        singleton->counters.forgotten++;
    }
    (void)kept_members_add_again(&singleton->removed, peer);
    count = singleton->removals.count;
    if (!count || singleton->removals.items[count - 1].at != singleton->now)
        vec_push(&singleton->removals,
                 ((struct removals){ .at = singleton->now }));
    singleton->removals.items[singleton->removals.count - 1].count++;
}

void singleton_cleanup(struct singleton *singleton, uint64_t now)
{
    while (singleton->removals.count &&
           now - singleton->removals.items[0].at >= REMOVED_TTL)
        forget_removed(singleton);
}

/* True if the member may run the instance, so that a node without other knowledge must wait for
 * it. */
static bool may_run(const struct member_info *peer)
{
    return peer->has_role && peer->up_number != INT32_MAX &&
           peer->status != MEMBER_REMOVED && peer->status != MEMBER_JOINING &&
           peer->status != MEMBER_WEAKLY_UP;
}

/* True if the member runs the instance, or may become the one that does. */
static bool counts(const struct singleton *singleton, const struct member_info *peer,
                   const struct kept_member *known)
{
    if (!may_run(peer))
        return false;
    if (is_self(singleton, &peer->node))
        return !singleton->has_exited; /* this node exits: counts until singleton_exit */
    if (singleton->state == SINGLETON_STARTING)
        return true; /* in the first view an exiting member may still run it */
    if (peer->status == MEMBER_EXITING)
        return false;
    if (peer->status == MEMBER_DOWN && known)
        return has_mark(known, MARK_COUNTS);
    return true;
}

/* A new incarnation is a member: an exiting one at its address has ended, even if its confirmation
 * was lost. Its margin is over with this view. */
static void end_former(struct singleton *singleton, const struct member_info *peer)
{
    for (uint32_t i = 0; i < singleton->delayed.count; i++) {
        struct delayed_removal *removal = &singleton->delayed.items[i];

        if (!removal->number || !has_mark(&removal->peer, MARK_EXITED) ||
            !kept_address_equal(removal->peer.address, &peer->node.address))
            continue;
        REACHED("a new incarnation ends the margin of an exiting one");
        removal->number = 0;
    }
}

void singleton_peer(struct singleton *singleton, uint64_t now,
                    const struct member_info *peer)
{
    struct kept_member *known = find(singleton, &peer->node);
    struct kept_member *member = known;
    struct member_info told = *peer;
    bool is_counting;

    singleton->now = singleton->time = now;
    if (member)
        kept_member_set(member, peer);
    else
        member = kept_members_add(&singleton->members, peer);
    told.up_number = member->up_number;
    is_counting = counts(singleton, &told, known);
    member->marks = (uint8_t)((is_counting ? MARK_COUNTS : 0) |
                              (may_run(&told) ? MARK_MAY_RUN : 0) |
                              (peer->status == MEMBER_EXITING ||
                                       has_mark(member, MARK_EXITED)
                                   ? MARK_EXITED
                                   : 0));
    if (!known)
        end_former(singleton, peer);
    if (!is_self(singleton, &peer->node))
        return;
    if (peer->status == MEMBER_PREPARING_FOR_SHUTDOWN ||
        peer->status == MEMBER_READY_FOR_SHUTDOWN)
        singleton_prepares(singleton);
    if (peer->status == MEMBER_DOWN)
        singleton_self_lost(singleton, false);
}

bool singleton_take_delayed(struct singleton *singleton, uint64_t number)
{
    for (uint32_t i = 0; i < singleton->delayed.count; i++) {
        struct kept_member peer = singleton->delayed.items[i].peer;

        if (singleton->delayed.items[i].number != number)
            continue;
        vec_remove(&singleton->delayed, i);
        if (!singleton->delayed.count)
            vec_empty(&singleton->delayed, 8);
        singleton_removed(singleton, &peer);
        kept_member_fini(&peer);
        return true;
    }
    return false;
}

void singleton_peer_removed(struct singleton *singleton, uint64_t now,
                            const struct node_id *node, bool has_left)
{
    uint64_t margin = singleton->settings.removal_margin_ms;
    struct node_id copy = *node;
    struct kept_member *member = find(singleton, &copy);
    struct kept_member kept = { 0 };

    singleton->now = singleton->time = now;
    if (has_left)
        margin = 0;
    if (is_self(singleton, &copy)) {
        if (member)
            kept_members_remove(&singleton->members, member);
        singleton_self_lost(singleton, true);
        return;
    }
    if (member)
        kept = kept_member_again(member);
    else
        kept_member_set(&kept, &(struct member_info){ .node = copy });
    if (member)
        kept_members_remove(&singleton->members, member);
    singleton_new_oldest_removed(singleton, &copy);
    /* After all news of this view, as this node's own exit may follow. */
    vec_push(&singleton->delayed,
             ((struct delayed_removal){
                 kept, margin ? ++singleton->delayed_number : 0 }));
    if (!margin)
        return;
    timers_put(&singleton->timers, now + margin * MS, TIMER_REMOVED,
               singleton->delayed_number, 0);
}

static const struct kept_member *oldest_of(const struct singleton *singleton)
{
    const struct kept_member *oldest = NULL, *member;

    for (uint32_t at = 0; (member = kept_members_next(&singleton->members, &at));)
        if (has_mark(member, MARK_COUNTS) &&
            (!oldest || kept_member_compare_age(member, oldest) < 0))
            oldest = member;
    return oldest;
}

bool singleton_oldest(const struct singleton *singleton, struct node_id *node)
{
    const struct kept_member *oldest = oldest_of(singleton);

    if (oldest)
        *node = kept_member_node(oldest);
    return oldest != NULL;
}

bool singleton_self_counts(const struct singleton *singleton)
{
    const struct kept_member *self =
        find(singleton, &singleton->identity->node);

    return self && has_mark(self, MARK_COUNTS) && singleton->is_viewed;
}

bool singleton_self_leaves(const struct singleton *singleton)
{
    const struct kept_member *self =
        find(singleton, &singleton->identity->node);

    return !self || self->status == MEMBER_LEAVING ||
           self->status == MEMBER_EXITING;
}

bool singleton_self_exits(const struct singleton *singleton)
{
    const struct kept_member *self =
        find(singleton, &singleton->identity->node);

    return !self || self->status == MEMBER_EXITING || self->status == MEMBER_DOWN;
}

static void look(struct singleton *singleton)
{
    struct oldest_change change = { .is_any = false };

    change.is_any = singleton_oldest(singleton, &change.node);
    if (change.is_any == singleton->has_head &&
        (!change.is_any || node_equal(&change.node, &singleton->head)))
        return;
    singleton->has_head = change.is_any;
    singleton->head = change.node;
    singleton_news_put(singleton, SINGLETON_NEWS_OLDEST);
    if (singleton->state != SINGLETON_STARTING &&
        singleton->state != SINGLETON_STOPPED &&
        singleton->state != SINGLETON_ENDED)
        vec_push(&singleton->changes, change);
}

void singleton_view_anew(struct singleton *singleton)
{
    struct kept_member *member;

    for (uint32_t at = 0; (member = kept_members_next(&singleton->members, &at));) {
        if (kept_member_is(member, &singleton->identity->node))
            continue;
        member->marks = (uint8_t)((member->marks & MARK_EXITED) |
                                  (has_mark(member, MARK_MAY_RUN)
                                       ? MARK_MAY_RUN | MARK_COUNTS
                                       : 0));
    }
    look(singleton);
}

/* Takes the removals that waited for the whole view, in order. */
static void take_delayed_of_view(struct singleton *singleton)
{
    uint32_t count = singleton->delayed.count;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        struct delayed_removal removal = singleton->delayed.items[i];

        if (removal.number) {
            singleton->delayed.items[kept++] = removal;
            continue;
        }
        singleton_removed(singleton, &removal.peer);
        kept_member_fini(&removal.peer);
    }
    check(singleton->delayed.count == count);
    singleton->delayed.count = kept;
    if (!kept)
        vec_empty(&singleton->delayed, 8);
}

void singleton_peers_done(struct singleton *singleton, uint64_t now,
                          struct outbox *outbox)
{
    singleton->now = singleton->time = now;
    singleton->is_viewed = true;
    take_delayed_of_view(singleton);
    look(singleton);
    singleton_settle(singleton, now, outbox);
}

void singleton_forget_self(struct singleton *singleton)
{
    struct kept_member *self =
        find(singleton, &singleton->identity->node);

    if (self)
        self->marks &= (uint8_t)~MARK_COUNTS;
    look(singleton);
}

static int order_of_age(const void *left, const void *right)
{
    return kept_member_compare_age(*(const struct kept_member *const *)left,
                                   *(const struct kept_member *const *)right);
}

/* Returns the members that may run it and are not younger than self, with self; oldest first. The
 * caller frees it. */
static const struct kept_member **sorted_older(const struct singleton *singleton,
                                               const struct kept_member *self,
                                               uint32_t *count)
{
    const struct kept_member **older =
        mem_alloc(singleton->members.count * sizeof(*older));
    const struct kept_member *member;

    *count = 0;
    for (uint32_t at = 0; (member = kept_members_next(&singleton->members, &at));)
        if (has_mark(member, MARK_COUNTS) &&
            member->up_number <= self->up_number)
            older[(*count)++] = member;
    sort_stable(older, *count, sizeof(*older), order_of_age);
    return older;
}

void singleton_forget_previous(struct singleton *singleton)
{
    kept_members_fini(&singleton->previous);
}

void singleton_put_previous(struct singleton *singleton,
                            const struct node_id *node)
{
    const struct kept_member *member = find(singleton, node);

    if (kept_members_find(&singleton->previous, node->uid, &node->address))
        return;
    if (member)
        (void)kept_members_add_again(&singleton->previous, member);
    else
        (void)kept_members_add(&singleton->previous, &(struct member_info){ .node = *node });
}

void singleton_put_head(struct singleton *singleton, const struct node_id *node)
{
    struct kept_member *present =
        kept_members_find(&singleton->previous, node->uid, &node->address);

    if (present)
        kept_members_remove(&singleton->previous, present);
    singleton_put_previous(singleton, node);
}

/* Adds removed members to `previous` that are not younger and whose margin is not over. True if
 * none. */
static bool put_removed(struct singleton *singleton,
                        const struct kept_member *self)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < singleton->delayed.count; i++) {
        const struct kept_member *peer = &singleton->delayed.items[i].peer;

        if (!has_mark(peer, MARK_MAY_RUN) ||
            peer->up_number > self->up_number)
            continue;
        (void)kept_members_add_again(&singleton->previous, peer);
        count++;
    }
    SOMETIMES("a hand-over that begins anew waits for a margin", count > 0);
    return !count;
}

bool singleton_find_previous(struct singleton *singleton)
{
    const struct kept_member *self =
        find(singleton, &singleton->identity->node);
    const struct kept_member **older;
    bool is_safe = true;
    uint32_t count;

    check(self);
    singleton_forget_previous(singleton);
    if (singleton->begins_anew)
        is_safe = put_removed(singleton, self);
    older = sorted_older(singleton, self, &count);
    for (uint32_t i = count; i-- > 0;) {
        is_safe = is_safe && older[i]->status != MEMBER_DOWN &&
                  older[i]->status != MEMBER_EXITING &&
                  older[i]->status != MEMBER_LEAVING;
        if (older[i] != self)
            (void)kept_members_add_again(&singleton->previous, older[i]);
    }
    mem_free(older);
    return is_safe;
}
