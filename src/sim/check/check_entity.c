/* Keeps a row for each live entity, for each shard at a node, and for each node. */
#include "sim/check/check_entity.h"

#include <inttypes.h>

#include <sherd/sherd.h>

#include "base/check.h"
#include "base/member_info.h"
#include "base/timers.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

#define PLACE_NODE_SHIFT 48 /* of a node, above type and shard */

struct incarnation {
    uint64_t actor;
    uint32_t node;
    bool is_leaving; /* its shard has a limit, and it counts no more */
};

struct entity {
    VEC(struct incarnation) live;
    uint64_t overlap_since; /* while it lives more than once */
    size_t key_size;
    uint8_t key[]; /* type, id: lent to the map */
};

struct place {
    uint32_t live; /* entities */
    uint32_t leaving; /* of them */
    bool is_hosted;
    bool has_limit; /* since its last start */
    uint64_t limit; /* of active entities */
};

struct place_node {
    uint64_t uid;
    uint64_t live; /* entities */
    uint64_t stop_at; /* from then on none may live; 0: it need not stop */
};

struct check_entity {
    struct verdict *verdict;
    const struct check_safety *safety;
    uint64_t stop_ns;
    uint64_t active_limit; /* of a region's active entities; 0: none */
    struct map entities; /* type, id -> struct entity */
    struct buf key;      /* scratch key for look-ups */
    struct map places;   /* node and shard as one number -> struct place */
    struct place_node nodes[CHECK_NODES_MAX];
    uint64_t look_at; /* the first stop_at; NEVER: none */
    struct check_entity_counts counts;
};

struct check_entity *check_entity_new(struct verdict *verdict,
                                      const struct check_safety *safety,
                                      uint64_t stop_ns)
{
    struct check_entity *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->safety = safety;
    check->stop_ns = stop_ns ? stop_ns : CHECK_STOP_NS;
    check->look_at = NEVER;
    check->entities.is_lent = true;
    return check;
}

static void entity_free(struct entity *entity)
{
    vec_fini(&entity->live);
    mem_free(entity);
}

void check_entity_active_limit(struct check_entity *check, uint64_t limit)
{
    check->active_limit = limit;
}

void check_entity_free(struct check_entity *check)
{
    struct map_entry entry;

    if (!check)
        return;
    for (uint32_t at = 0; map_next(&check->entities, &at, &entry);)
        entity_free(entry.value);
    map_fini(&check->entities);
    buf_fini(&check->key);
    facts_fini(&check->places);
    mem_free(check);
}

/* Each start and stop looks it up, so the key is short. */
static struct place *place_of(struct check_entity *check, uint32_t node,
                              uint64_t shard)
{
    uint64_t key = (uint64_t)node << PLACE_NODE_SHIFT | shard;
    struct place *place = map_get(&check->places, map_u64(&key));

    if (place)
        return place;
    place = mem_alloc(sizeof *place);
    (void)map_put(&check->places, map_u64(&key), place); /* it replaces no other value */
    return place;
}

/* Null: the entity does not live. */
static struct entity *entity_of(struct check_entity *check,
                                const struct probe *probe)
{
    buf_clear(&check->key);
    buf_put_u16(&check->key, probe->type);
    buf_put_slice(&check->key, probe->bytes);
    return map_get(&check->entities, buf_slice(&check->key));
}

static struct entity *entity_new(struct check_entity *check)
{
    struct slice key = buf_slice(&check->key);
    struct entity *entity = mem_alloc(sizeof *entity + key.size);

    entity->key_size = key.size;
    memcpy(entity->key, key.data, key.size);
    /* it replaces no other value */
    (void)map_put(&check->entities, slice_of(entity->key, key.size), entity);
    return entity;
}

/* ---- one incarnation ---- */

static void judge_second(struct check_entity *check, uint64_t now,
                         uint32_t node, const struct probe *probe,
                         struct entity *entity)
{
    for (uint32_t i = 0; i < entity->live.count; i++) {
        uint32_t other = entity->live.items[i].node;

        if (other == node ||
            !safety_excuses(check->safety, node, other))
            violation(check->verdict, "single-activation", node,
                      "type %u id %.*s shard %d starts and lives on node %u, too",
                      probe->type, (int)probe->bytes.size,
                      (const char *)probe->bytes.data, probe->shard, other);
    }
    if (entity->live.count == 1) {
        check->counts.overlaps++;
        entity->overlap_since = now;
    }
}

/* more: so many may be active beyond the limit. With the limit 0 the one that was used last may stay,
 * by some strategies. */
static void judge_active(struct check_entity *check, uint32_t node,
                         const struct probe *probe, const struct place *place,
                         uint32_t more)
{
    uint32_t active = place->live - place->leaving;

    if (place->has_limit && active > place->limit + more + (place->limit == 0))
        violation(check->verdict, "active-limit", node,
                  "type %u shard %d has %u active entities, the limit is %" PRIu64,
                  probe->type, probe->shard, active, place->limit);
}

/* A lane knows its own shards only, so the limits of all its shards are at most the region's. */
static void limit_set(struct check_entity *check, uint32_t node, const struct probe *probe)
{
    struct place *place = place_of(check, node, fact_shard(probe->type, probe->shard));

    place->has_limit = probe->first != UINT32_MAX;
    place->limit = probe->first;
    judge_active(check, node, probe, place, 0);
    if (place->has_limit && check->active_limit &&
        probe->first * probe->second > check->active_limit)
        violation(check->verdict, "active-limit", node,
                  "type %u: each of %" PRIu64 " shards has the limit %" PRIu64
                  ", their region has %" PRIu64,
                  probe->type, probe->second, probe->first, check->active_limit);
}

static void entity_leaving(struct check_entity *check, uint32_t node,
                           const struct probe *probe)
{
    struct entity *entity = entity_of(check, probe);

    for (uint32_t i = 0; entity && i < entity->live.count; i++) {
        struct incarnation *one = &entity->live.items[i];

        if (one->node != node || one->actor != probe->first || one->is_leaving)
            continue;
        one->is_leaving = true;
        place_of(check, node, fact_shard(probe->type, probe->shard))->leaving++;
    }
}

static void entity_started(struct check_entity *check, uint64_t now,
                           uint32_t node, const struct probe *probe)
{
    struct place_node *at = &check->nodes[node];
    struct entity *entity = entity_of(check, probe);
    struct place *place =
        place_of(check, node, fact_shard(probe->type, probe->shard));
    struct incarnation incarnation = { probe->first, node, false };

    if (!place->is_hosted)
        violation(check->verdict, "single-activation", node,
                  "type %u id %.*s starts, and shard %d is not hosted there",
                  probe->type, (int)probe->bytes.size,
                  (const char *)probe->bytes.data, probe->shard);
    if (at->stop_at && now > at->stop_at)
        violation(check->verdict, "downed-node-stops", node,
                  "type %u id %.*s starts on a node that should have stopped",
                  probe->type, (int)probe->bytes.size,
                  (const char *)probe->bytes.data);
    if (entity)
        judge_second(check, now, node, probe, entity);
    else
        entity = entity_new(check);
    vec_push(&entity->live, incarnation);
    place->live++;
    judge_active(check, node, probe, place, 1); /* the new one makes room at once */
    at->live++;
    check->counts.started++;
    check->counts.live++;
}

/* Removes one incarnation, and the row with the last one. */
static void forget(struct check_entity *check, uint64_t now,
                   struct entity *entity, uint32_t index)
{
    uint64_t took = now - entity->overlap_since;

    check->nodes[entity->live.items[index].node].live--;
    check->counts.live--;
    vec_remove(&entity->live, index);
    if (!entity->live.count) {
        (void)map_take(&check->entities,
                       slice_of(entity->key, entity->key_size)); /* this entity */
        entity_free(entity);
        return;
    }
    if (entity->live.count != 1)
        return;
    check->counts.overlap_ns += took;
    if (took > check->counts.overlap_ns_max)
        check->counts.overlap_ns_max = took;
}

static void entity_stopped(struct check_entity *check, uint64_t now,
                           uint32_t node, const struct probe *probe)
{
    struct entity *entity = entity_of(check, probe);
    struct place *place;

    for (uint32_t i = 0; entity && i < entity->live.count; i++) {
        if (entity->live.items[i].node != node ||
            entity->live.items[i].actor != probe->first)
            continue;
        place = place_of(check, node, fact_shard(probe->type, probe->shard));
        place->live--;
        place->leaving -= entity->live.items[i].is_leaving;
        forget(check, now, entity, i);
        return;
    }
    violation(check->verdict, "single-activation", node,
              "type %u id %.*s stops and was never started", probe->type,
              (int)probe->bytes.size, (const char *)probe->bytes.data);
}

static void shard_ended(struct check_entity *check, uint32_t node,
                        const struct probe *probe)
{
    struct place *place =
        place_of(check, node, fact_shard(probe->type, probe->shard));

    if (place->live)
        violation(check->verdict, "handoff-safety", node,
                  "type %u shard %d has ended, and %u of its entities live",
                  probe->type, probe->shard, place->live);
    place->is_hosted = place->has_limit = false;
}

/* ---- nodes ---- */

static void must_stop(struct check_entity *check, uint64_t now, uint32_t node)
{
    if (check->nodes[node].stop_at)
        return;
    check->nodes[node].stop_at = now + check->stop_ns;
    if (check->nodes[node].stop_at < check->look_at)
        check->look_at = check->nodes[node].stop_at;
}

void check_entity_paused(struct check_entity *check, uint32_t node,
                         uint64_t duration)
{
    if (check->nodes[node].stop_at)
        check->nodes[node].stop_at += duration;
}

void check_entity_look(struct check_entity *check, uint64_t now)
{
    if (now <= check->look_at)
        return;
    check->look_at = NEVER;
    for (uint32_t i = 0; i < CHECK_NODES_MAX; i++) {
        const struct place_node *at = &check->nodes[i];

        if (!at->stop_at)
            continue;
        if (now > at->stop_at && at->live)
            violation(check->verdict, "downed-node-stops", i,
                      "%" PRIu64 " entities live on a node that knows that it "
                      "must stop",
                      at->live);
        if (now <= at->stop_at && at->stop_at < check->look_at)
            check->look_at = at->stop_at;
    }
}

void check_entity_node_started(struct check_entity *check, uint32_t node,
                               uint64_t uid)
{
    check(node < CHECK_NODES_MAX);
    check->nodes[node] = (struct place_node){ .uid = uid };
}

void check_entity_node_ended(struct check_entity *check, uint64_t now,
                             uint32_t node)
{
    struct map_entry entry;

    check(node < CHECK_NODES_MAX);
    check_entity_look(check, now);
    for (uint32_t at = 0; map_next(&check->entities, &at, &entry);) {
        struct entity *entity = entry.value;

        for (uint32_t left = entity->live.count; left-- > 0;)
            if (entity->live.items[left].node == node)
                forget(check, now, entity, left);
    }
    for (uint32_t at = 0; map_next(&check->places, &at, &entry);) {
        uint64_t key;

        memcpy(&key, entry.key.data, sizeof key);
        if (key >> PLACE_NODE_SHIFT == node)
            *(struct place *)entry.value = (struct place){ 0 };
    }
    check->nodes[node] = (struct place_node){ 0 };
}

void check_entity_probe(struct check_entity *check, uint64_t now,
                        uint32_t node, const struct probe *probe)
{
    check(node < CHECK_NODES_MAX);
    check_entity_look(check, now);
    switch (probe->kind) {
    case PROBE_ENTITY_STARTED:
        entity_started(check, now, node, probe);
        break;
    case PROBE_ENTITY_STOPPED:
        entity_stopped(check, now, node, probe);
        break;
    case PROBE_ENTITY_LEAVING:
        entity_leaving(check, node, probe);
        break;
    case PROBE_ACTIVE_LIMIT:
        limit_set(check, node, probe);
        break;
    case PROBE_SHARD_HOSTED:
        place_of(check, node, fact_shard(probe->type, probe->shard))
            ->is_hosted = true;
        break;
    case PROBE_SHARD_STOPPING: /* all its entities stop, in any case */
        place_of(check, node, fact_shard(probe->type, probe->shard))
            ->has_limit = false;
        break;
    case PROBE_SHARD_ENDED:
        shard_ended(check, node, probe);
        break;
    case PROBE_MEMBER_SEEN:
        if (probe->node.uid == check->nodes[node].uid &&
            (probe->first == MEMBER_DOWN || probe->first == MEMBER_REMOVED))
            must_stop(check, now, node);
        break;
    case PROBE_SELF_STOPPING:
        must_stop(check, now, node);
        break;
    default:
        break;
    }
}

struct check_entity_counts check_entity_counts(const struct check_entity *check)
{
    return check->counts;
}
