/* Implements akka.h. */
#include "mgmt/akka.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/check.h"
#include "base/vec.h"
#include "mgmt/json.h"

#define SEED_NODES 5

static const char *const statuses[] = {
    [SHERD_JOINING] = "Joining",
    [SHERD_UP] = "Up",
    [SHERD_LEAVING] = "Leaving",
    [SHERD_EXITING] = "Exiting",
    [SHERD_DOWN] = "Down",
    [SHERD_REMOVED] = "Removed",
    [SHERD_WEAKLY_UP] = "WeaklyUp",
    [SHERD_PREPARING_FOR_SHUTDOWN] = "PreparingForShutdown",
    [SHERD_READY_FOR_SHUTDOWN] = "ReadyForShutdown",
};

const char *akka_status(enum sherd_member_status status)
{
    return statuses[status];
}

uint32_t akka_status_bit(const char *name)
{
    for (uint32_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        if (strcmp(statuses[i], name) == 0)
            return UINT32_C(1) << i;
    return 0;
}

void akka_address(struct buf *buf, const struct akka_names *names, const char *address)
{
    buf_put_text(buf, names->protocol);
    buf_put_text(buf, "://");
    buf_put_text(buf, names->system);
    buf_put_u8(buf, '@');
    buf_put_text(buf, address);
}

static void put_address(struct buf *buf, const struct akka_names *names, const char *address)
{
    struct buf text = { 0 };

    akka_address(&text, names, address);
    json_slice(buf, buf_slice(&text));
    buf_fini(&text);
}

static void put_name(struct buf *buf, const char *name)
{
    json_next(buf);
    json_text(buf, name);
    buf_put_u8(buf, ':');
}

void akka_message(struct buf *buf, const char *message)
{
    buf_put_u8(buf, '{');
    json_field(buf, "message", message);
    buf_put_u8(buf, '}');
}

/* ---- roles ---- */

#define DC_SIZE 256

static void dc_role(char role[DC_SIZE], const char *data_center)
{
    (void)snprintf(role, DC_SIZE, "dc-%s", data_center);
}

void akka_roles(struct buf *buf, const char *roles, const char *data_center)
{
    char role[DC_SIZE];
    bool has_dc = false;

    dc_role(role, data_center);
    buf_put_u8(buf, '[');
    for (const char *at = roles; *at; at += strlen(at) + 1) {
        if (!has_dc && strcmp(role, at) < 0) {
            json_next(buf);
            json_text(buf, role);
            has_dc = true;
        }
        json_next(buf);
        json_text(buf, at);
    }
    if (!has_dc) {
        json_next(buf);
        json_text(buf, role);
    }
    buf_put_u8(buf, ']');
}

/* ---- members ---- */

/* Indexes of members by address, each address once. */
struct order {
    VEC(uint32_t) items;
};

/* Insertion into a sorted list: the view is sorted already, up to host names that differ in length. */
static void sort_members(const struct sherd_cluster_view *view, struct order *order)
{
    for (uint32_t i = 0; i < view->member_count; i++) {
        uint32_t at = order->items.count;
        const char *address = view->members[i].address;
        int difference = 1;

        while (at > 0) {
            difference = strcmp(view->members[order->items.items[at - 1]].address, address);
            if (difference <= 0)
                break;
            at--;
        }
        if (at > 0 && difference == 0)
            continue;
        vec_push(&order->items, i);
        memmove(&order->items.items[at + 1], &order->items.items[at],
                (order->items.count - 1 - at) * sizeof order->items.items[0]);
        order->items.items[at] = i;
    }
}

void akka_member(struct buf *buf, const struct akka_names *names, const struct sherd_cluster_member *member)
{
    char uid[24];

    buf_put_u8(buf, '{');
    put_name(buf, "node");
    put_address(buf, names, member->address);
    (void)snprintf(uid, sizeof uid, "%" PRId64, (int64_t)member->uid);
    json_field(buf, "nodeUid", uid);
    put_name(buf, "roles");
    akka_roles(buf, member->roles, member->data_center);
    json_field(buf, "status", akka_status(member->status));
    buf_put_u8(buf, '}');
}

static const char *own_center(const struct sherd_cluster_view *view)
{
    for (uint32_t i = 0; i < view->member_count; i++)
        if (view->members[i].self)
            return view->members[i].data_center;
    return "default";
}

/* Null role: any. Null: there is none. */
static const struct sherd_cluster_member *oldest(const struct sherd_cluster_view *view, const char *role)
{
    const char *center = own_center(view);
    const struct sherd_cluster_member *found = NULL;

    for (uint32_t i = 0; i < view->member_count; i++) {
        const struct sherd_cluster_member *member = &view->members[i];

        if (member->status != SHERD_UP || strcmp(member->data_center, center) != 0)
            continue;
        if (role && !sherd_cluster_has_role(member, role))
            continue;
        if (!found || member->up_number < found->up_number)
            found = member;
    }
    return found;
}

struct names_list {
    VEC(const char *) items;
};

static void add_name(struct names_list *list, const char *name)
{
    uint32_t at = list->items.count;

    while (at > 0 && strcmp(list->items.items[at - 1], name) > 0)
        at--;
    if (at > 0 && strcmp(list->items.items[at - 1], name) == 0)
        return;
    vec_push(&list->items, name);
    memmove(&list->items.items[at + 1], &list->items.items[at],
            (list->items.count - 1 - at) * sizeof list->items.items[0]);
    list->items.items[at] = name;
}

static void put_oldest_per_role(struct buf *buf, const struct akka_names *names,
                                const struct sherd_cluster_view *view)
{
    const char *center = own_center(view);
    struct names_list roles = { { NULL, 0, 0 } };
    char own[DC_SIZE];
    bool has_any = oldest(view, NULL) != NULL;

    dc_role(own, center);
    if (has_any)
        add_name(&roles, own);
    for (uint32_t i = 0; i < view->member_count; i++) {
        const struct sherd_cluster_member *member = &view->members[i];

        if (member->status != SHERD_UP || strcmp(member->data_center, center) != 0)
            continue;
        for (const char *at = member->roles; *at; at += strlen(at) + 1)
            add_name(&roles, at);
    }
    put_name(buf, "oldestPerRole");
    buf_put_u8(buf, '{');
    for (uint32_t i = 0; i < roles.items.count; i++) {
        const char *role = roles.items.items[i];

        put_name(buf, role);
        put_address(buf, names, oldest(view, role == own ? NULL : role)->address);
    }
    buf_put_u8(buf, '}');
    vec_fini(&roles.items);
}

static bool is_observed(const struct sherd_cluster_view *view, uint32_t subject)
{
    for (uint32_t i = 0; i < view->observation_count; i++)
        if (view->observations[i].subject == subject)
            return true;
    return false;
}

static void put_unreachable(struct buf *buf, const struct akka_names *names,
                            const struct sherd_cluster_view *view)
{
    put_name(buf, "unreachable");
    buf_put_u8(buf, '[');
    for (uint32_t i = 0; i < view->member_count && view->observation_count; i++) {
        if (!is_observed(view, i))
            continue;
        json_next(buf);
        buf_put_u8(buf, '{');
        put_name(buf, "node");
        put_address(buf, names, view->members[i].address);
        put_name(buf, "observedBy");
        buf_put_u8(buf, '[');
        for (uint32_t j = 0; j < view->observation_count; j++) { /* they are ordered by observer */
            if (view->observations[j].subject != i)
                continue;
            json_next(buf);
            put_address(buf, names, view->members[view->observations[j].observer].address);
        }
        buf_put_text(buf, "]}");
    }
    buf_put_u8(buf, ']');
}

void akka_members(struct buf *buf, const struct akka_names *names, const struct sherd_cluster_view *view)
{
    const struct sherd_cluster_member *first = oldest(view, NULL);
    struct order order = { { NULL, 0, 0 } };

    buf_put_u8(buf, '{');
    if (view->leader < view->member_count) {
        put_name(buf, "leader");
        put_address(buf, names, view->members[view->leader].address);
    }
    put_name(buf, "members");
    buf_put_u8(buf, '[');
    sort_members(view, &order);
    for (uint32_t i = 0; i < order.items.count; i++) {
        json_next(buf);
        akka_member(buf, names, &view->members[order.items.items[i]]);
    }
    buf_put_u8(buf, ']');
    vec_fini(&order.items);
    if (first) {
        put_name(buf, "oldest");
        put_address(buf, names, first->address);
    }
    put_oldest_per_role(buf, names, view);
    put_name(buf, "selfNode");
    put_address(buf, names, names->self);
    put_unreachable(buf, names, view);
    buf_put_u8(buf, '}');
}

const struct sherd_cluster_member *akka_find(const struct akka_names *names,
                                             const struct sherd_cluster_view *view, const char *text)
{
    const char *rest = strstr(text, "://");
    size_t size = strlen(names->system);

    if (rest && ((size_t)(rest - text) != strlen(names->protocol) ||
                 strncmp(text, names->protocol, (size_t)(rest - text)) != 0))
        return NULL;
    text = rest ? rest + 3 : text;
    if (strncmp(text, names->system, size) != 0 || text[size] != '@')
        return NULL;
    for (uint32_t i = 0; i < view->member_count; i++)
        if (strcmp(view->members[i].address, text + size + 1) == 0)
            return &view->members[i];
    return NULL;
}

void akka_seed_nodes(struct buf *buf, const struct akka_names *names, const struct sherd_cluster_view *view)
{
    uint32_t count = 0;
    char uid[24];

    buf_put_u8(buf, '{');
    put_name(buf, "seedNodes");
    buf_put_u8(buf, '[');
    for (uint32_t i = 0; i < view->member_count && count < SEED_NODES; i++) {
        const struct sherd_cluster_member *member = &view->members[i];

        if (is_observed(view, i) ||
            (member->status != SHERD_UP && member->status != SHERD_WEAKLY_UP && member->status != SHERD_JOINING))
            continue;
        count++;
        json_next(buf);
        buf_put_u8(buf, '{');
        put_name(buf, "node");
        put_address(buf, names, member->address);
        put_name(buf, "nodeUid");
        (void)snprintf(uid, sizeof uid, "%" PRId64, (int64_t)member->uid);
        buf_put_text(buf, uid);
        put_name(buf, "roles");
        akka_roles(buf, member->roles, member->data_center);
        json_field(buf, "status", akka_status(member->status));
        buf_put_u8(buf, '}');
    }
    buf_put_u8(buf, ']');
    put_name(buf, "selfNode");
    put_address(buf, names, names->self);
    buf_put_u8(buf, '}');
}

/* ---- shards ---- */

void akka_types(struct buf *buf, const struct sherd_cluster_view *view)
{
    struct names_list types = { { NULL, 0, 0 } };

    for (uint32_t i = 0; i < view->type_count; i++)
        add_name(&types, view->types[i]);
    buf_put_u8(buf, '{');
    put_name(buf, "entityTypeKeys");
    buf_put_u8(buf, '[');
    for (uint32_t i = 0; i < types.items.count; i++) {
        json_next(buf);
        json_text(buf, types.items.items[i]);
    }
    buf_put_text(buf, "]}");
    vec_fini(&types.items);
}

static void put_shards(struct buf *buf, const struct sherd_region *region)
{
    buf_put_u8(buf, '[');
    for (uint32_t i = 0; i < region->shard_count; i++) {
        json_next(buf);
        buf_put_u8(buf, '{');
        put_name(buf, "numEntities");
        json_number(buf, region->shards[i].entity_count);
        json_field(buf, "shardId", region->shards[i].id);
        buf_put_u8(buf, '}');
    }
    buf_put_u8(buf, ']');
}

static void put_failed(struct buf *buf, const struct sherd_region *region)
{
    put_name(buf, "failed");
    buf_put_u8(buf, '[');
    for (uint32_t i = 0; i < region->failed_count; i++) {
        json_next(buf);
        json_text(buf, region->failed[i]);
    }
    buf_put_u8(buf, ']');
}

void akka_shards(struct buf *buf, const struct sherd_regions *regions)
{
    static const struct sherd_region none = { .shard_count = 0 };
    const struct sherd_region *region = regions->region_count ? &regions->regions[0] : &none;

    buf_put_u8(buf, '{');
    if (region->failed_count)
        put_failed(buf, region);
    put_name(buf, "regions");
    put_shards(buf, region);
    buf_put_u8(buf, '}');
}

void akka_shard_stats(struct buf *buf, const struct akka_names *names, const struct sherd_regions *regions)
{
    uint64_t entities = 0, shards = 0;

    buf_put_u8(buf, '{');
    put_name(buf, "regions");
    buf_put_u8(buf, '{');
    for (uint32_t i = 0; i < regions->region_count; i++) {
        const struct sherd_region *region = &regions->regions[i];

        json_next(buf);
        put_address(buf, names, region->address);
        buf_put_text(buf, ":{");
        put_failed(buf, region);
        put_name(buf, "shards");
        put_shards(buf, region);
        buf_put_u8(buf, '}');
        shards += region->shard_count;
        for (uint32_t j = 0; j < region->shard_count; j++)
            entities += region->shards[j].entity_count;
    }
    buf_put_u8(buf, '}');
    put_name(buf, "totalEntities");
    json_number(buf, entities);
    put_name(buf, "totalShards");
    json_number(buf, shards);
    buf_put_u8(buf, '}');
}
