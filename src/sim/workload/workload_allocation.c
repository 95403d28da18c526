/* Plays programs that choose regions and programs that set locations, and compares the homes of
 * shards with their wishes. */
#include "sim/workload/workload_allocation.h"

#include <stdio.h>
#include <string.h>

#include <sherd/ddata.h>

#include "base/check.h"
#include "base/map.h"
#include "base/sort.h"
#include "base/timers.h"
#include "base/vec.h"
#include "ddata/item.h"
#include "ddata/replicator.h"
#include "node/states.h"
#include "shard/shard_id.h"
#include "sim/check/check_allocation.h"
#include "sim/check/check_liveness.h"
#include "sim/check/facts.h"
#include "sim/seed/streams.h"

#define SET_PACE (30 * SECOND) /* between two calls that set locations, at most */
#define SET_MOST 8             /* locations in one */
#define SOON_MS 50             /* later answers in the quiet phase, at most */
#define PATIENCE 2             /* tries after which an answer is good and at once */
#define MOVES_MOST 16          /* of one round */

/* An answer that comes later. */
struct late {
    uint32_t node;
    uint32_t life;
    bool by_actor;
    bool is_spawned; /* its actor is on its way */
    struct sherd_allocation_choice choice;
    char address[ADDRESS_TEXT_MAX];
    int32_t shards[MOVES_MOST];
};

/* Locations to be set by an actor that has not started. */
struct setting {
    uint32_t node;
    const char *type;
    uint32_t count;
    struct sherd_shard_location locations[SET_MOST];
    char addresses[SET_MOST][ADDRESS_TEXT_MAX];
};

struct allocation_load {
    struct allocation_load_settings settings;
    struct world *world;
    uint32_t node; /* the node whose machine runs */
    bool is_quiet;
    VEC(struct rng) rngs; /* of places */
    struct rng set_rng;
    VEC(struct late *) lates;
    VEC(struct setting *) sets;
    struct allocation_load_counts counts;
};

static struct allocation_load *current;

/* ---- strategies ---- */

static enum allocation_kind kind_of(const struct sherd_entity_type *type)
{
    int kind = 0;

    if (type->strategy)
        return ALLOCATION_CUSTOM;
    while (type->allocation &&
           strcmp(type->allocation,
                  allocation_kind_text((enum allocation_kind)kind)) != 0)
        kind++;
    return (enum allocation_kind)kind;
}

static bool has_kind(const struct allocation_load *load,
                     enum allocation_kind kind)
{
    for (uint32_t i = 0; i < load->settings.type_count; i++)
        if (kind_of(&load->settings.types[i]) == kind)
            return true;
    return false;
}

static uint64_t mixed(uint64_t value)
{
    value ^= value >> 31;
    value *= UINT64_C(0x7fb5d329728ea185);
    value ^= value >> 27;
    value *= UINT64_C(0x81dadef4bc2dd44d);
    return value ^ value >> 33;
}

/* The weight of a region for a shard; an address as a text. */
static uint64_t weight(int32_t shard, const char *address)
{
    uint64_t value = (uint64_t)(uint32_t)shard;

    for (; *address; address++)
        value = mixed(value ^ (uint8_t)*address) + 1;
    return mixed(value);
}

static struct rng *rng_of(struct allocation_load *load)
{
    while (load->rngs.count <= load->node) {
        struct rng rng = stream_rng(world_seed(load->world), STREAM_ALLOCATION,
                                    load->rngs.count);

        vec_push(&load->rngs, rng);
    }
    return &load->rngs.items[load->node];
}

static uint32_t best_of(const struct sherd_allocation_request *request,
                        int32_t shard)
{
    uint32_t best = request->region_count;
    uint64_t most = 0;

    for (uint32_t i = 0; i < request->region_count; i++) {
        uint64_t here = weight(shard, request->regions[i].member.address);

        if (request->regions[i].leaving || (best < i && here <= most))
            continue;
        best = i;
        most = here;
    }
    return best;
}

/* ---- later answers ---- */

static void drop_late(struct allocation_load *load, struct late *late)
{
    uint32_t at = 0;

    while (load->lates.items[at] != late)
        at++;
    vec_remove(&load->lates, at);
    mem_free(late);
}

static enum sherd_next answer_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct late *late;

    (void)self;
    if (msg->kind != SHERD_STARTED)
        return SHERD_CONTINUE;
    memcpy(&late, msg->body.data, sizeof late);
    /* refused if the address is none */
    if (sherd_allocation_answer(ctx, &late->choice))
        current->counts.wrong++;
    drop_late(current, late);
    return SHERD_STOP;
}

static void answer_now(struct world *world, void *arg)
{
    static const struct sherd_behavior behavior = { .name = "strategist",
                                                    .receive = answer_receive };
    struct late *late = arg;
    const struct world_node *place = world_node(world, late->node);

    if (!place->node || place->life != late->life) {
        drop_late(current, late);
    } else if (late->by_actor) {
        late->is_spawned = true;
        world_spawn(world, late->node, 0, &behavior, &late, sizeof late);
    } else {
        world_allocate(world, late->node, &late->choice);
        drop_late(current, late);
    }
}

/* address: null: the default. */
static struct late *answer_later(struct allocation_load *load, uint64_t request,
                                 const char *address, uint64_t delay_ms)
{
    struct late *late = mem_alloc(sizeof *late);
    struct rng *rng = rng_of(load);

    late->node = load->node;
    late->life = world_node(load->world, load->node)->life;
    late->by_actor = rng_below(rng, 2);
    late->choice.request = request;
    if (address) {
        (void)snprintf(late->address, sizeof late->address, "%s", address);
        late->choice.address = late->address;
    }
    vec_push(&load->lates, late);
    world_at(load->world,
             world_now(load->world) + rng_below(rng, delay_ms + 1) * MS,
             answer_now, late);
    load->counts.later++;
    return late;
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct allocation_load *load = user;

    (void)crashed;
    (void)error;
    for (uint32_t i = load->lates.count; i-- > 0;)
        if (load->lates.items[i]->node == node &&
            load->lates.items[i]->is_spawned)
            drop_late(load, load->lates.items[i]);
    for (uint32_t i = load->sets.count; i-- > 0;) {
        if (load->sets.items[i]->node != node)
            continue;
        mem_free(load->sets.items[i]);
        vec_remove(&load->sets, i);
    }
}

static void step(void *user, const struct world_step *step, bool begins)
{
    struct allocation_load *load = user;

    if (begins)
        load->node = step->node;
}

/* ---- the functions of the strategy ---- */

static int choose(void *user, const struct sherd_allocation_request *request)
{
    struct allocation_load *load = current;
    struct rng *rng = rng_of(load);
    uint32_t best = best_of(request, request->shard);
    const char *address = request->regions[best].member.address;
    uint64_t drawn = rng_below(rng, 16);

    (void)user;
    if (load->is_quiet) {
        if (drawn < 12)
            return load->counts.now++, (int)best;
        (void)answer_later(load, request->number, address, SOON_MS);
        return SHERD_ALLOCATION_LATER;
    }
    if (drawn < 8 || request->tries >= PATIENCE)
        return load->counts.now++, (int)best;
    if (drawn < 12) {
        (void)answer_later(load, request->number, address,
                           2 * ALLOCATION_LOAD_TIMEOUT_MS);
    } else if (drawn == 12) {
        return SHERD_ALLOCATION_DEFAULT;
    } else if (drawn == 13) {
        load->counts.wrong++;
        return (int)request->region_count;
    } else if (drawn == 14) {
        load->counts.wrong++;
        (void)answer_later(load, request->number, "nowhere:1", SOON_MS);
    } else {
        load->counts.never++;
    }
    return SHERD_ALLOCATION_LATER;
}

/* Moves are wanted only in a calm cluster, as by the library's strategies. */
static int move(void *user, const struct sherd_allocation_request *request,
                int32_t *shards)
{
    struct allocation_load *load = current;
    uint64_t drawn = rng_below(rng_of(load), 16);
    int count = 0;
    struct late *late;

    (void)user;
    for (uint32_t i = 0; i < request->region_count && request->calm; i++) {
        const struct sherd_allocation_region *region = &request->regions[i];

        for (uint32_t j = 0; j < region->shard_count && count < MOVES_MOST; j++)
            if (!region->leaving && !region->shards[j].moving &&
                best_of(request, region->shards[j].shard) != i)
                shards[count++] = region->shards[j].shard;
    }
    if (drawn < 12 || (load->is_quiet && drawn >= 14))
        return count;
    if (drawn == 14) {
        load->counts.never++;
        return SHERD_ALLOCATION_LATER;
    }
    if (drawn == 15) {
        load->counts.wrong++;
        return -3;
    }
    late = answer_later(load, request->number, NULL,
                        load->is_quiet ? SOON_MS
                                       : 2 * ALLOCATION_LOAD_TIMEOUT_MS);
    if (count)
        memcpy(late->shards, shards, (size_t)count * sizeof *shards);
    late->choice.shards = late->shards;
    late->choice.shard_count = (uint32_t)count;
    return SHERD_ALLOCATION_LATER;
}

const struct sherd_allocation_strategy allocation_load_strategy = {
    .allocate = choose,
    .rebalance = move,
    .timeout_ms = ALLOCATION_LOAD_TIMEOUT_MS,
};

/* ---- locations ---- */

static enum sherd_next set_receive(struct sherd_ctx *ctx, void *self,
                                   const struct sherd_msg *msg)
{
    struct allocation_load *load = current;
    struct setting *set;
    uint32_t at = 0;

    (void)self;
    if (msg->kind == SHERD_DATA) {
        load->counts.set_done++;
        return SHERD_STOP;
    }
    if (msg->kind != SHERD_STARTED)
        return SHERD_CONTINUE;
    memcpy(&set, msg->body.data, sizeof set);
    check(!sherd_locations_set(ctx, set->type, set->locations, set->count, 1));
    load->counts.sets++;
    while (load->sets.items[at] != set)
        at++;
    vec_remove(&load->sets, at);
    mem_free(set);
    return SHERD_CONTINUE;
}

static struct setting *draw_setting(struct allocation_load *load, uint32_t node)
{
    struct setting *set = mem_alloc(sizeof *set);
    struct rng *rng = &load->set_rng;
    uint32_t type;

    do
        type = (uint32_t)rng_below(rng, load->settings.type_count);
    while (kind_of(&load->settings.types[type]) != ALLOCATION_EXTERNAL);
    set->node = node;
    set->type = load->settings.types[type].name;
    set->count = 1 + (uint32_t)rng_below(rng, SET_MOST);
    for (uint32_t i = 0; i < set->count; i++) {
        struct sherd_shard_location *location = &set->locations[i];

        location->shard = (int32_t)rng_below(rng, load->settings.shards);
        (void)snprintf(set->addresses[i], sizeof set->addresses[i], "n%u:2551",
                       (unsigned)rng_below(rng, load->settings.nodes));
        location->address = rng_below(rng, 16) ? set->addresses[i] : NULL;
    }
    return set;
}

static void set_some(struct world *world, void *arg)
{
    static const struct sherd_behavior behavior = { .name = "locator",
                                                    .receive = set_receive };
    struct allocation_load *load = arg;
    uint32_t node = (uint32_t)rng_below(&load->set_rng, load->settings.nodes);
    const struct world_node *place = world_node(world, node);
    struct setting *set;

    if (load->is_quiet)
        return;
    world_at(world, world_now(world) + 1 + rng_below(&load->set_rng, SET_PACE),
             set_some, load);
    set = draw_setting(load, node);
    if (!place->node || !place->is_up) {
        mem_free(set);
        return;
    }
    vec_push(&load->sets, set);
    world_spawn(world, node, 0, &behavior, &set, sizeof set);
}

/* ---- lifetime ---- */

struct allocation_load *
allocation_load_new(struct world *world,
                    const struct allocation_load_settings *settings)
{
    struct allocation_load *load = mem_alloc(sizeof *load);
    struct world_observer observer = { .user = load,
                                       .node_ended = node_ended,
                                       .step = step };

    check(!current);
    load->world = world;
    load->settings = *settings;
    load->settings.centers = settings->centers ? settings->centers : 1;
    load->set_rng = stream_rng(world_seed(world), STREAM_ALLOCATION,
                               WORLD_NODES_MAX);
    current = load;
    world_observe(world, &observer);
    if (has_kind(load, ALLOCATION_EXTERNAL))
        world_at(world, world_now(world) + SET_PACE, set_some, load);
    return load;
}

void allocation_load_free(struct allocation_load *load)
{
    if (!load)
        return;
    for (uint32_t i = 0; i < load->lates.count; i++)
        mem_free(load->lates.items[i]);
    for (uint32_t i = 0; i < load->sets.count; i++)
        mem_free(load->sets.items[i]);
    vec_fini(&load->lates);
    vec_fini(&load->sets);
    vec_fini(&load->rngs);
    mem_free(load);
    current = NULL;
}

void allocation_load_quiet(struct allocation_load *load, bool on)
{
    bool resumes = load->is_quiet && !on;

    load->is_quiet = on;
    if (resumes && has_kind(load, ALLOCATION_EXTERNAL))
        world_at(load->world, world_now(load->world) + SET_PACE, set_some,
                 load);
}

struct allocation_load_counts
allocation_load_counts(const struct allocation_load *load)
{
    return load->counts;
}

/* ---- homes ---- */

static bool by_weight(const void *arg, int32_t shard,
                      const struct address *regions, uint32_t count,
                      uint32_t *wanted)
{
    uint64_t most = 0;

    (void)arg;
    for (uint32_t i = 0; i < count; i++) {
        char text[ADDRESS_TEXT_MAX];
        uint64_t here =
            weight(shard, address_text(&regions[i], text, sizeof text));

        if (i && here <= most)
            continue;
        *wanted = i;
        most = here;
    }
    return count > 0;
}

/* arg: the map of locations, or null. */
static bool by_location(const void *arg, int32_t shard,
                        const struct address *regions, uint32_t count,
                        uint32_t *wanted)
{
    char text[SHARD_TEXT_MAX];
    struct dd_element key = { .kind = DD_TEXT,
                              .text = shard_text(shard, text) };
    const struct dd_value *value = arg ? dd_map_get(arg, &key) : NULL;
    char full[2 * ADDRESS_TEXT_MAX];
    struct address location;
    struct sherd_item item;

    if (!value)
        return false;
    item = item_of_other(dd_register_get(value));
    (void)snprintf(full, sizeof full, "%.*s", (int)item.text.size,
                   (const char *)item.text.data);
    check(address_parse(&location, full, "akka", "World"));
    for (*wanted = 0; *wanted < count; ++*wanted)
        if (address_equal(&location, &regions[*wanted]))
            return true;
    return false;
}

static struct replicator *data_of(const struct allocation_load *load,
                                  uint32_t node)
{
    const struct world_node *place = world_node(load->world, node);

    /* the replicator is only read */
    return place->node ? (struct replicator *)(uintptr_t)machine_data(
                             node_machine(place->node, 0))
                       : NULL;
}

static void key_put(struct buf *key, const struct sherd_entity_type *type)
{
    buf_put_text(key, "external-sharding-");
    buf_put_text(key, type->name);
}

/* Whether all live replicas of the type's locations have equal bytes. */
static bool agree(const struct allocation_load *load,
                  const struct sherd_entity_type *type, char *text, size_t size)
{
    struct buf key = { 0 }, first = { 0 }, other = { 0 };
    uint32_t node = UINT32_MAX;
    bool is_good = true;

    key_put(&key, type);
    for (uint32_t i = 0; i < world_node_count(load->world) && is_good; i++) {
        const struct replicator *data = data_of(load, i);

        if (!world_node(load->world, i)->node)
            continue;
        buf_clear(&other);
        if (data)
            (void)replicator_bytes(data, buf_slice(&key), &other);
        if (node == UINT32_MAX) {
            node = i;
            buf_put_slice(&first, buf_slice(&other));
        }
        is_good = slice_equal(buf_slice(&first), buf_slice(&other));
        if (!is_good)
            (void)snprintf(text, size,
                           "the locations of %s differ on nodes %u and %u",
                           type->name, node, i);
    }
    buf_fini(&key);
    buf_fini(&first);
    buf_fini(&other);
    return is_good;
}

static int order(const void *left, const void *right)
{
    return address_compare(left, right);
}

struct center {
    VEC(struct address) regions;
    VEC(struct check_allocation_home) homes;
};

static void take_regions(const struct allocation_load *load, uint32_t number,
                         struct center *center)
{
    for (uint32_t i = number; i < world_node_count(load->world);
         i += load->settings.centers)
        if (world_node(load->world, i)->node)
            vec_push(&center->regions,
                     world_node(load->world, i)->settings.identity.node.address);
    if (center->regions.count)
        sort_stable(center->regions.items, center->regions.count,
                    sizeof *center->regions.items, order);
}

static void take_homes(const struct allocation_load *load, uint32_t node,
                       uint32_t type, struct center *center)
{
    const struct machine *control =
        node_machine(world_node(load->world, node)->node, 0);
    struct node_id home;
    uint32_t at = 0;
    int32_t shard;

    center->homes.count = 0;
    while (machine_next_home(control, type, &at, &shard, &home)) {
        struct check_allocation_home found = { shard, home.address };

        vec_push(&center->homes, found);
    }
}

static bool type_holds(const struct allocation_load *load, uint32_t node,
                       uint32_t index, struct center *center, char *text,
                       size_t size)
{
    const struct sherd_entity_type *type = &load->settings.types[index];
    struct allocation_ring ring = { 0 };
    check_allocation_wanted *wanted = by_weight;
    const void *arg = NULL;
    struct buf key = { 0 };
    bool is_good = true;

    take_homes(load, node, index, center);
    if (kind_of(type) == ALLOCATION_CONSISTENT_HASHING) {
        check_allocation_ring_make(&ring, center->regions.items,
                                   center->regions.count,
                                   load->settings.shards,
                                   load->settings.load_bound);
        wanted = check_allocation_by_ring;
        arg = &ring;
    } else if (kind_of(type) == ALLOCATION_EXTERNAL) {
        struct replicator *data = data_of(load, node);

        is_good = agree(load, type, text, size);
        key_put(&key, type);
        arg = data ? replicator_look(data, buf_slice(&key)) : NULL;
        wanted = by_location;
    }
    is_good = is_good &&
              check_allocation_holds(center->homes.items, center->homes.count,
                                     center->regions.items,
                                     center->regions.count, wanted, arg, text,
                                     size);
    buf_fini(&key);
    allocation_ring_fini(&ring);
    return is_good;
}

bool allocation_load_holds(const struct allocation_load *load,
                           enum allocation_kind kind,
                           const struct check_liveness *live, char *text,
                           size_t size)
{
    bool is_good = true;

    for (uint32_t i = 0; i < load->settings.centers && is_good; i++) {
        struct center center = { 0 };

        take_regions(load, i, &center);
        for (uint32_t j = 0; j < load->settings.type_count && is_good; j++) {
            uint32_t node;

            if (!center.regions.count ||
                kind_of(&load->settings.types[j]) != kind)
                continue;
            is_good = check_liveness_coordinator(
                          live, fact_type(load->settings.centers, i, (uint16_t)j),
                          &node, text, size) &&
                      type_holds(load, node, j, &center, text, size);
        }
        vec_fini(&center.regions);
        vec_fini(&center.homes);
    }
    return is_good;
}
