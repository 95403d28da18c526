/* Keeps a coordinator's members and registered regions. */
#include "shard/coordinator_state.h"

#define QUESTIONS_MAX 10 /* one in each query interval; long enough to make a connection again */

struct coordinator_member *coordinator_member_of(const struct coordinator *coordinator,
                         const struct node_id *node)
{
    struct coordinator_member *member =
        map_get(&coordinator->by_uid, map_u64(&node->uid));

    return member && kept_member_is(&member->kept, node) ? member : NULL;
}

void coordinator_member_set(struct coordinator_member *member,
                            const struct member_info *info)
{
    kept_member_set(&member->kept, info);
    member->kept.reachable = info->reachable;
    member->kept.has_role = info->has_role;
    member->is_far = info->is_far;
    mem_free((void *)(uintptr_t)member->version.rest);
    member->version = info->version;
    member->version.rest =
        info->version.rest && *info->version.rest ? mem_text(info->version.rest) : NULL;
}

void coordinator_member_drop(struct coordinator_member *member)
{
    mem_free((void *)(uintptr_t)member->version.rest);
    kept_member_fini(&member->kept);
    mem_free(member);
}

bool coordinator_member_is_asked(const struct coordinator_member *member)
{
    switch ((enum member_status)member->kept.status) {
    case MEMBER_UP:
    case MEMBER_LEAVING:
    case MEMBER_EXITING:
    case MEMBER_PREPARING_FOR_SHUTDOWN:
    case MEMBER_READY_FOR_SHUTDOWN:
        break;
    case MEMBER_JOINING:
    case MEMBER_WEAKLY_UP:
    case MEMBER_DOWN:
    case MEMBER_REMOVED:
        return false;
    }
    return member->kept.has_role && !member->has_answered &&
           (!member->is_late || member->kept.reachable);
}

/* A stored proxy whose node may have messages on its way to homes. Without its markers they would
 * come too late. */
struct coordinator_member *coordinator_awaited_proxy(const struct coordinator *coordinator,
                                                     const struct registrant *region)
{
    struct coordinator_member *member;

    if (!region->is_proxy || region->is_registered)
        return NULL;
    member = coordinator_member_of(coordinator, &region->node);
    return member && member->kept.reachable && !member->is_jvm &&
                   (member->kept.status == MEMBER_UP || member->kept.status == MEMBER_LEAVING)
               ? member
               : NULL;
}

bool coordinator_awaits_proxies(const struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->regions.count; i++)
        if (coordinator_awaited_proxy(coordinator, coordinator->regions.items[i]))
            return true;
    return false;
}

bool coordinator_has_to_ask(const struct coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->members.count; i++)
        if (coordinator_member_is_asked(coordinator->members.items[i]))
            return true;
    return false;
}

/* The stored state names all homes, so first allocations wait only for members whose regions will
 * register soon. Otherwise the first region would get all shards. If the state was unreadable, they
 * wait for all members. */
uint32_t coordinator_awaited(const struct coordinator *coordinator)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < coordinator->members.count; i++) {
        const struct coordinator_member *member =
            coordinator->members.items[i];

        count += coordinator_member_is_asked(member) &&
                 (coordinator->state_store.is_anew ||
                  (member->kept.reachable &&
                   member->questions < QUESTIONS_MAX));
    }
    return count;
}

struct registrant *registrant_of(const struct coordinator *coordinator,
                         const struct node_id *node, struct slice path)
{
    bool is_plain = path_plain(path).size == path.size;

    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        struct registrant *region = coordinator->regions.items[i];

        if (region->node.uid == node->uid && node_equal(&region->node, node) &&
            slice_equal(is_plain ? path_plain(region->path) : region->path,
                        path))
            return region;
    }
    return NULL;
}

void registrant_drop(struct registrant *region)
{
    vec_fini(&region->shards);
    mem_free((void *)region->ref.data);
    mem_free(region);
}

struct registrant *registrant_load(struct coordinator *coordinator,
                                   const struct node_id *node,
                                   struct slice ref, struct slice path,
                                   bool is_proxy)
{
    size_t offset = (size_t)(path.data - ref.data);
    struct registrant *region = mem_alloc(sizeof *region);

    region->node = *node;
    region->ref = slice_of(mem_copy(ref.data, ref.size), ref.size);
    region->path =
        slice_of(region->ref.data + offset, region->ref.size - offset);
    region->number = ++coordinator->region_number;
    region->is_proxy = is_proxy;
    vec_push(&coordinator->regions, region);
    return region;
}
