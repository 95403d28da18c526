/* Implements the proxy of a singleton: the oldest member, and when to ask it. */
#include "singleton/proxy.h"

#include "base/bytes.h"
#include "base/kept_members.h"
#include "base/mark.h"
#include "base/timers.h"
#include "base/vec.h"

struct proxy {
    uint64_t interval;
    struct kept_members members; /* those that may run the singleton */
    bool has_target;
    bool is_found;
    struct node_id target;
    uint64_t ask_at; /* NEVER: no target, or its instance is known */
    VEC(enum proxy_news) news;
};

struct proxy *proxy_new(uint64_t interval_ms)
{
    struct proxy *proxy = mem_alloc(sizeof *proxy);

    proxy->interval = interval_ms * MS;
    proxy->ask_at = NEVER;
    return proxy;
}

void proxy_free(struct proxy *proxy)
{
    if (!proxy)
        return;
    kept_members_fini(&proxy->members);
    vec_fini(&proxy->news);
    mem_free(proxy);
}

/* A member begins to count when it is up, and no longer counts when it is exiting. A downed one
 * counts until it is removed: its instance may still run. */
static bool counts(const struct member_info *peer, bool is_known)
{
    if (!peer->has_role || peer->up_number == INT32_MAX)
        return false;
    switch (peer->status) {
    case MEMBER_UP:
    case MEMBER_LEAVING:
    case MEMBER_PREPARING_FOR_SHUTDOWN:
    case MEMBER_READY_FOR_SHUTDOWN:
        return true;
    case MEMBER_DOWN:
        return is_known;
    default:
        return false;
    }
}

void proxy_peer(struct proxy *proxy, const struct member_info *peer)
{
    struct kept_member *member =
        kept_members_find(&proxy->members, peer->node.uid, &peer->node.address);
    struct member_info told = *peer;

    if (member && peer->up_number == INT32_MAX)
        told.up_number = member->up_number;
    if (!counts(&told, member != NULL)) {
        if (member)
            kept_members_remove(&proxy->members, member);
        return;
    }
    if (member)
        kept_member_set(member, peer);
    else
        (void)kept_members_add(&proxy->members, peer);
}

void proxy_peer_removed(struct proxy *proxy, const struct node_id *node)
{
    struct kept_member *member =
        kept_members_find(&proxy->members, node->uid, &node->address);

    if (member)
        kept_members_remove(&proxy->members, member);
}

static const struct kept_member *oldest_of(const struct proxy *proxy)
{
    const struct kept_member *oldest = NULL, *member;

    for (uint32_t at = 0; (member = kept_members_next(&proxy->members, &at));)
        if (!oldest || kept_member_compare_age(member, oldest) < 0)
            oldest = member;
    return oldest;
}

static void lose(struct proxy *proxy)
{
    if (proxy->is_found)
        vec_push(&proxy->news, PROXY_NEWS_LOST);
    proxy->is_found = false;
}

void proxy_peers_done(struct proxy *proxy, uint64_t now)
{
    const struct kept_member *oldest = oldest_of(proxy);

    if (oldest && proxy->has_target && kept_member_is(oldest, &proxy->target))
        return;
    if (!oldest && !proxy->has_target)
        return;
    lose(proxy);
    proxy->has_target = oldest != NULL;
    proxy->ask_at = NEVER;
    if (!oldest)
        return;
    proxy->target = kept_member_node(oldest);
    proxy->ask_at = now;
    proxy_step(proxy, now);
}

void proxy_found(struct proxy *proxy, const struct node_id *from)
{
    if (!proxy->has_target || proxy->is_found ||
        !node_equal(from, &proxy->target)) {
        REACHED("a late member answers a singleton's proxy");
        return;
    }
    proxy->is_found = true;
    proxy->ask_at = NEVER;
    vec_push(&proxy->news, PROXY_NEWS_FOUND);
}

void proxy_ended(struct proxy *proxy, uint64_t now)
{
    if (!proxy->is_found)
        return;
    lose(proxy);
    proxy->ask_at = now + proxy->interval;
}

void proxy_step(struct proxy *proxy, uint64_t now)
{
    if (now < proxy->ask_at)
        return;
    vec_push(&proxy->news, PROXY_NEWS_ASK);
    proxy->ask_at = now + proxy->interval;
}

uint64_t proxy_deadline(const struct proxy *proxy)
{
    return proxy->ask_at;
}

bool proxy_next_news(struct proxy *proxy, enum proxy_news *news)
{
    if (!proxy->news.count)
        return false;
    *news = proxy->news.items[0];
    vec_remove(&proxy->news, 0);
    return true;
}

bool proxy_target(const struct proxy *proxy, struct node_id *node)
{
    if (proxy->has_target)
        *node = proxy->target;
    return proxy->has_target;
}
