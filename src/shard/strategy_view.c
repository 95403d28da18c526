/* Describes a coordinator's regions and their shards to a strategy of the program. */
#include <sherd/allocation.h>

#include "shard/shard_id.h"
#include "shard/strategy.h"

struct view_region {
    const struct registrant *region;
    size_t address; /* offsets in `texts` */
    size_t roles;
    struct coordinator_traits traits;
    VEC(struct sherd_allocation_shard) shards;
};

struct strategy_view {
    uint32_t count;
    struct shard_names *names; /* null: shards have numbers */
    struct buf texts;
    struct view_region *regions;
    struct sherd_allocation_region *described;
};

static void add_shard(struct strategy_view *view, struct view_region *of,
                      const struct shard *shard)
{
    struct sherd_allocation_shard added = { .moving = shard->handoff != NULL };
    char text[SHARD_TEXT_MAX];

    if (!shard_number(view->names, shard->id, &added.shard))
        return; /* a JVM proxy may ask for others */
    if (view->names)
        added.shard_id = shard_label(view->names, added.shard, text);
    vec_push(&of->shards, added);
}

/* Writes the address and the roles, without the one of the data center. */
static void put_texts(const struct coordinator *coordinator,
                      struct strategy_view *view, struct view_region *of)
{
    char address[ADDRESS_TEXT_MAX];

    of->address = view->texts.size;
    buf_put_text(&view->texts, address_text(&of->region->node.address, address,
                                            sizeof address));
    buf_put_u8(&view->texts, 0);
    of->traits = (struct coordinator_traits){ "", "", NULL, 0 };
    if (coordinator->strategy.describe)
        (void)coordinator->strategy.describe(coordinator->strategy.user,
                                             &of->region->node, &of->traits);
    of->roles = view->texts.size;
    for (uint32_t i = 0; i < of->traits.role_count; i++) {
        if (strncmp(of->traits.roles[i], "dc-", 3) == 0)
            continue;
        buf_put_text(&view->texts, of->traits.roles[i]);
        buf_put_u8(&view->texts, 0);
    }
    buf_put_u8(&view->texts, 0);
}

static void describe(const struct coordinator *coordinator,
                     const struct strategy_view *view, uint32_t index)
{
    const struct view_region *of = &view->regions[index];
    const struct coordinator_member *member =
        coordinator_member_of(coordinator, &of->region->node);
    const char *texts = (const char *)view->texts.data;
    struct sherd_allocation_region *described = &view->described[index];

    _Static_assert((int)SHERD_UP == (int)MEMBER_UP &&
                       (int)SHERD_READY_FOR_SHUTDOWN ==
                           (int)MEMBER_READY_FOR_SHUTDOWN,
                   "statuses have the numbers of the wire");
    described->member = (struct sherd_cluster_member){
        .address = texts + of->address,
        .uid = of->region->node.uid,
        .status = member ? (enum sherd_member_status)member->kept.status
                         : SHERD_REMOVED,
        .up_number = member && member->kept.up_number != INT32_MAX
                         ? (uint32_t)member->kept.up_number
                         : 0,
        .reachable = member && member->kept.reachable,
        .self = node_equal(&of->region->node, &coordinator->identity->node),
        .app_version = of->traits.app_version,
        .data_center = of->traits.data_center,
        .roles = texts + of->roles,
    };
    described->leaving = !strategy_takes(of->region);
}

struct strategy_view *strategy_view_new(const struct coordinator *coordinator,
                                        const struct allocation_region *views,
                                        uint32_t count)
{
    struct strategy_view *view = mem_alloc(sizeof *view);

    view->count = count;
    view->names = coordinator->names;
    view->regions = mem_alloc(count * sizeof *view->regions);
    view->described = mem_alloc(count * sizeof *view->described);
    for (uint32_t i = 0; i < count; i++) {
        struct view_region *of = &view->regions[i];

        of->region = coordinator->regions.items[views[i].region];
        put_texts(coordinator, view, of);
        for (uint32_t j = 0; j < of->region->shards.count; j++)
            add_shard(view, of, of->region->shards.items[j]);
    }
    for (uint32_t i = 0; i < count; i++)
        describe(coordinator, view, i);
    return view;
}

void strategy_view_free(struct strategy_view *view)
{
    if (!view)
        return;
    for (uint32_t i = 0; i < view->count; i++)
        vec_fini(&view->regions[i].shards);
    mem_free(view->regions);
    mem_free(view->described);
    buf_fini(&view->texts);
    mem_free(view);
}

void strategy_view_add(struct strategy_view *view, const struct shard *shard)
{
    for (uint32_t i = 0; i < view->count; i++)
        if (view->regions[i].region == shard->home)
            add_shard(view, &view->regions[i], shard);
}

void strategy_view_lend(const struct strategy_view *view,
                        struct sherd_allocation_request *request)
{
    for (uint32_t i = 0; i < view->count; i++) {
        view->described[i].shards = view->regions[i].shards.items;
        view->described[i].shard_count = view->regions[i].shards.count;
    }
    request->regions = view->described;
    request->region_count = view->count;
}
