/* Runs the followers in a world, and reads the memberships of their nodes. */
#include "sim/workload/workload_follow.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "member/member.h"
#include "sim/check/facts.h"
#include "sim/seed/streams.h"
#include "sim/world/verdict.h"

#define TICK 1
#define EMPTIED 2
#define PACE_MS 60000     /* between two acts of one, at most */
#define LATE (10 * SECOND) /* later events do not come */
#define LATE_ENTITY (60 * SECOND)
#define ENTITY_ODDS 32    /* one in that many follows */
#define CROWD 8           /* in a larger cluster about that many nodes have followers */

/* A plain actor, or an incarnation of an entity. */
struct following {
    uint32_t number;
    uint32_t node;
    uint64_t uid;
    bool is_entity;
    bool has_started;
    bool is_released; /* its actor has ended */
    bool is_gone;     /* its node has ended */
    uint64_t changed_at; /* last change of its set or of its picture */
    struct follower *follower; /* null: it has ended */
};

struct place {
    struct rng rng;
    struct rng entity_rng;
    uint64_t signature; /* of its membership at the last look */
    uint64_t since;     /* since when it holds that, without a pause */
};

/* An incarnation with its start values. */
struct life {
    char address[ADDRESS_TEXT_MAX];
    uint32_t node;
    const char *data_center; /* null: the default one; lent, like the next */
    const char *const *roles;
    uint32_t role_count;
};

struct follow_load {
    struct follow_load_settings settings;
    struct world *world;
    struct verdict *verdict;
    struct check_cluster_events *check;
    VEC(struct place) places;
    VEC(struct following *) followings;
    struct map lives; /* uid -> struct life */
    uint32_t number; /* the last number given */
};

static struct follow_load *current;

static const struct sherd_behavior follower_behavior;

/* ---- sets ---- */

/* Most follow all events, others a sensible part or any. */
static uint32_t draw_events(struct rng *rng)
{
    static const uint32_t sets[] = {
        SHERD_EVENTS_MEMBERS,
        SHERD_EVENTS_MEMBERS | SHERD_EVENTS_REACHABILITY,
        SHERD_EVENT(SHERD_LEADER_CHANGED),
        SHERD_EVENT(SHERD_ROLE_LEADER_CHANGED) |
            SHERD_EVENT(SHERD_CLUSTER_SHUTTING_DOWN),
    };
    uint32_t drawn = (uint32_t)rng_below(rng, 16);

    if (drawn < 4)
        return sets[drawn];
    return drawn == 4 ? 1 + (uint32_t)rng_below(rng, SHERD_EVENTS_ALL)
                      : SHERD_EVENTS_ALL;
}

static void subscribe(struct follow_load *load, struct sherd_ctx *ctx,
                      struct following *following, uint32_t events,
                      enum sherd_cluster_first first)
{
    following->changed_at = world_now(load->world);
    if (!sherd_cluster_subscribe(ctx, events, first))
        check_cluster_events_subscribed(following->follower, events, first);
}

static void begin(struct follow_load *load, struct sherd_ctx *ctx,
                  struct following *following, struct rng *rng)
{
    uint32_t events = draw_events(rng);
    bool as_events = !rng_below(rng, 4);

    subscribe(load, ctx, following, events,
              as_events ? SHERD_EVENTS_FIRST : SHERD_STATE_FIRST);
}

static void unsubscribe(struct follow_load *load, struct sherd_ctx *ctx,
                        struct following *following, uint32_t events)
{
    following->changed_at = world_now(load->world);
    sherd_cluster_unsubscribe(ctx, events);
    check_cluster_events_unsubscribed(following->follower, events);
    sherd_timer(ctx, EMPTIED, 1); /* after the messages in the mailbox */
}

/* ---- plain actors ---- */

static struct following *following_new(struct follow_load *load, uint32_t node,
                                       uint64_t uid, bool is_entity)
{
    struct following *following = mem_alloc(sizeof *following);

    following->number = ++load->number;
    following->node = node;
    following->uid = uid;
    following->is_entity = is_entity;
    following->follower =
        check_cluster_events_begun(load->check, node, uid, is_entity);
    vec_push(&load->followings, following);
    return following;
}

static void following_end(struct following *following)
{
    check_cluster_events_ended(following->follower);
    following->follower = NULL;
}

static struct following *following_of(const struct follow_load *load,
                                      uint32_t number)
{
    for (uint32_t i = 0; i < load->followings.count; i++)
        if (load->followings.items[i]->number == number)
            return load->followings.items[i];
    return NULL;
}

static void drop_ended(struct follow_load *load)
{
    for (uint32_t i = load->followings.count; i-- > 0;) {
        struct following *following = load->followings.items[i];

        if (following->follower ||
            (following->has_started && !following->is_released))
            continue;
        mem_free(following);
        vec_remove(&load->followings, i);
    }
}

static void tick_later(struct follow_load *load, struct sherd_ctx *ctx,
                       const struct following *following)
{
    sherd_timer(ctx, TICK,
                1 + rng_below(&load->places.items[following->node].rng,
                              PACE_MS));
}

static enum sherd_next act(struct follow_load *load, struct sherd_ctx *ctx,
                           struct following *following)
{
    struct rng *rng = &load->places.items[following->node].rng;
    uint32_t number;

    if (!check_cluster_events_is_complete(following->follower))
        return SHERD_CONTINUE;
    if (!check_cluster_events_is_subscribed(following->follower)) {
        begin(load, ctx, following, rng);
        return SHERD_CONTINUE;
    }
    switch (rng_below(rng, 8)) {
    case 0:
        unsubscribe(load, ctx, following, SHERD_EVENTS_ALL);
        break;
    case 1:
        unsubscribe(load, ctx, following, draw_events(rng));
        break;
    case 2:
        subscribe(load, ctx, following, SHERD_EVENTS_ALL, SHERD_STATE_FIRST);
        break;
    case 3: /* another one comes, later */
        number = following_new(load, following->node, following->uid, false)
                     ->number;
        sherd_spawn(ctx, &follower_behavior,
                    (struct sherd_bytes){ &number, sizeof number });
        following_end(following);
        return SHERD_STOP;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

static struct following *started(struct follow_load *load,
                                 struct sherd_ctx *ctx,
                                 const struct sherd_msg *msg)
{
    struct following *following;
    struct rng *rng;
    uint32_t number;

    drop_ended(load);
    check(msg->body.size == sizeof number);
    memcpy(&number, msg->body.data, sizeof number);
    following = following_of(load, number);
    check(following);
    following->has_started = true;
    rng = &load->places.items[following->node].rng;
    if (rng_below(rng, 2))
        begin(load, ctx, following, rng);
    tick_later(load, ctx, following);
    return following;
}

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct following **state = self;
    struct follow_load *load = current;

    if (msg->kind == SHERD_STARTED) {
        *state = started(load, ctx, msg);
        return SHERD_CONTINUE;
    }
    if (!(*state)->follower)
        return SHERD_CONTINUE;
    switch (msg->kind) {
    case SHERD_TIMER:
        if (msg->tag == EMPTIED) {
            check_cluster_events_emptied((*state)->follower);
            return SHERD_CONTINUE;
        }
        tick_later(load, ctx, *state);
        return act(load, ctx, *state);
    case SHERD_CLUSTER:
        check_cluster_events_heard((*state)->follower, msg);
        (*state)->changed_at = world_now(load->world);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

static void release(void *self)
{
    struct following *following = *(struct following **)self;

    if (following)
        following->is_released = true;
}

static const struct sherd_behavior follower_behavior = {
    .name = "follower",
    .state_size = sizeof(struct following *),
    .receive = receive,
    .release = release,
};

/* ---- entities ---- */

/* Each follower hears each change, so few nodes of a large cluster have any. */
static bool is_few(const struct follow_load *load, struct rng *rng)
{
    return load->settings.nodes <= CROWD ||
           rng_below(rng, load->settings.nodes) < CROWD;
}

struct following *follow_entity_started(struct sherd_ctx *ctx, uint32_t node)
{
    struct follow_load *load = current;
    struct following *following;
    struct rng *rng;

    if (!load || node >= load->places.count)
        return NULL;
    rng = &load->places.items[node].entity_rng;
    if (rng_below(rng, ENTITY_ODDS) || !is_few(load, rng))
        return NULL;
    following = following_new(load, node, sherd_self(ctx).node, true);
    following->has_started = true;
    begin(load, ctx, following, rng);
    return following;
}

void follow_entity_heard(struct following *following,
                         const struct sherd_msg *msg)
{
    if (following && following->follower)
        check_cluster_events_heard(following->follower, msg);
}

void follow_entity_released(struct following *following)
{
    if (!following || !current)
        return;
    following->is_released = true;
    following_end(following);
    drop_ended(current);
}

/* ---- reports of the world ---- */

static void keep_life(struct follow_load *load, uint32_t node, uint64_t uid)
{
    const struct node_settings *settings =
        &world_node(load->world, node)->settings;
    struct life *life =
        facts_of(&load->lives, (struct fact_key){ { uid } }, sizeof *life);

    *life = (struct life){ .node = node,
                           .data_center = settings->data_center,
                           .roles = settings->roles,
                           .role_count = settings->role_count };
    (void)address_text(&settings->identity.node.address, life->address,
                       sizeof life->address);
}

static bool known(void *user, uint64_t uid, struct follow_fact *fact)
{
    const struct follow_load *load = user;
    const struct life *life =
        facts_find(&load->lives, (struct fact_key){ { uid } });

    if (life)
        *fact = (struct follow_fact){ life->address, life->data_center,
                                      life->roles, life->role_count };
    return life;
}

static void node_started(void *user, uint32_t node, uint64_t uid)
{
    struct follow_load *load = user;
    uint32_t lanes = world_node(load->world, node)->settings.lanes;
    struct place *place;
    uint64_t count;

    while (load->places.count <= node) {
        uint64_t seed = world_seed(load->world);
        uint32_t index = load->places.count;

        vec_push(&load->places,
                 ((struct place){
                     .rng = stream_rng(seed, STREAM_FOLLOW, index),
                     .entity_rng = stream_rng(seed, STREAM_FOLLOW,
                                              WORLD_NODES_MAX + index),
                 }));
    }
    keep_life(load, node, uid);
    place = &load->places.items[node];
    place->since = world_now(load->world);
    count = rng_below(&place->rng, load->settings.most + 1);
    if (!is_few(load, &place->rng))
        count = 0;
    while (count--) {
        uint32_t number = following_new(load, node, uid, false)->number;
        uint32_t lane = (uint32_t)rng_below(&place->rng, lanes);

        world_spawn(load->world, node, lane, &follower_behavior, &number,
                    sizeof number);
    }
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct follow_load *load = user;

    (void)error;
    for (uint32_t i = 0; i < load->followings.count; i++) {
        struct following *following = load->followings.items[i];

        if (following->node != node || following->is_gone)
            continue;
        following->is_gone = true;
        if (following->follower && !crashed && !following->is_entity)
            check_cluster_events_node_ended(following->follower);
        following_end(following);
    }
    drop_ended(load);
}

/* ---- memberships ---- */

static uint64_t uid_of(const struct member_view *view)
{
    return view ? view->profile->uid : 0;
}

static void hold_members(struct picture *held, const struct member *member,
                         uint64_t self)
{
    const struct member_view *own = member_self(member);

    for (uint32_t i = 0; i < member_count(member); i++) {
        const struct member_view *view = member_at(member, i);
        struct follow_member *added = picture_make_member(held, uid_of(view));

        added->status = (enum sherd_member_status)view->status;
        added->up_number = view->up_number == UP_NUMBER_NONE
                               ? 0
                               : (uint32_t)view->up_number;
        added->is_unreachable = !view->reachable && added->uid != self &&
                                own && member_same_center(own, view);
    }
}

/* The membership of the node now; freed with picture_fini. */
static void hold(const struct follow_load *load, uint32_t node,
                 struct picture *held)
{
    const struct world_node *place = world_node(load->world, node);
    const struct member *member =
        machine_membership(node_machine(place->node, 0));
    const struct member_view *leader;
    const char *name;

    *held = (struct picture){ .is_out = !member };
    if (!member)
        return;
    hold_members(held, member, place->settings.identity.node.uid);
    held->leader = uid_of(member_leader(member));
    for (uint32_t i = 0; member_role_at(member, i, &name, &leader); i++)
        picture_set_role_leader(held, name, uid_of(leader));
    for (uint32_t i = 0; member_unreachable_center_at(member, i, &name); i++)
        picture_set_center(held, name, true);
}

/* ---- judging ---- */

static bool is_here(const struct following *following, uint32_t node)
{
    return following->node == node && following->follower &&
           !following->is_gone;
}

/* A small mailbox may be full for long, so entities have more time; a very small one has no
 * limit. */
static void look_at_follower(struct follow_load *load,
                             struct following *following,
                             const struct picture *held)
{
    const struct place *place = &load->places.items[following->node];
    uint64_t now = world_now(load->world);
    uint64_t late = following->is_entity ? LATE_ENTITY : LATE;
    char text[160] = "it waits for a state";

    if ((following->is_entity && load->settings.is_crowded) ||
        now < place->since + late || now < following->changed_at + late ||
        (check_cluster_events_is_complete(following->follower) &&
         check_cluster_events_equals(following->follower, held, text, sizeof text)))
        return;
    violation(load->verdict, "cluster-events", following->node,
              "%s has not heard what its node's membership holds for %llu s: %s",
              following->is_entity ? "an entity" : "an actor",
              (unsigned long long)((now - place->since) / SECOND), text);
    following->changed_at = now;
}

static void look_at_node(struct follow_load *load, uint32_t node)
{
    const struct world_node *seen = world_node(load->world, node);
    struct place *place = &load->places.items[node];
    struct picture held;
    bool is_followed = false;
    uint64_t signature;

    for (uint32_t i = 0; i < load->followings.count; i++)
        is_followed |= is_here(load->followings.items[i], node);
    if (!seen->node || seen->is_paused || !is_followed) {
        place->since = world_now(load->world);
        return;
    }
    hold(load, node, &held);
    signature = picture_signature(&held);
    if (signature != place->signature)
        place->since = world_now(load->world);
    place->signature = signature;
    for (uint32_t i = 0; i < load->followings.count; i++)
        if (is_here(load->followings.items[i], node))
            look_at_follower(load, load->followings.items[i], &held);
    picture_fini(&held);
}

void follow_load_sample(struct follow_load *load)
{
    for (uint32_t i = 0; i < load->places.count; i++)
        look_at_node(load, i);
}

static uint32_t first_of_center(const struct follow_load *load, uint32_t node)
{
    uint32_t centers = load->settings.centers ? load->settings.centers : 1;
    uint32_t first = node % centers;

    while (first < node && !world_node(load->world, first)->node)
        first += centers;
    return first;
}

/* role null: no role is required. */
static bool has_role(const struct node_settings *settings, const char *role)
{
    for (uint32_t i = 0; role && i < settings->role_count; i++)
        if (!strcmp(settings->roles[i], role))
            return true;
    return !role;
}

/* The leader if all live nodes are up and reachable (docs/protocol/gossip.md), with that role if
 * any. Hosts are compared as texts; all have one port. */
static uint64_t leader_of(const struct follow_load *load, uint32_t center,
                          const char *role)
{
    uint32_t centers = load->settings.centers ? load->settings.centers : 1;
    const struct node_settings *first = NULL;

    for (uint32_t i = center; i < world_node_count(load->world);
         i += centers) {
        const struct node_settings *settings =
            &world_node(load->world, i)->settings;

        if (world_node(load->world, i)->node && has_role(settings, role) &&
            (!first || strcmp(settings->identity.node.address.host,
                              first->identity.node.address.host) < 0))
            first = settings;
    }
    return first ? first->identity.node.uid : 0;
}

static void hold_leaders(const struct follow_load *load, uint32_t node,
                         struct picture *held)
{
    uint32_t centers = load->settings.centers ? load->settings.centers : 1;
    uint32_t center = node % centers;

    held->leader = leader_of(load, center, NULL);
    while (held->roles.count)
        picture_set_role_leader(held, held->roles.items[0].role, 0);
    for (uint32_t i = center; i < world_node_count(load->world);
         i += centers) {
        const struct world_node *place = world_node(load->world, i);

        for (uint32_t j = 0; place->node && j < place->settings.role_count; j++)
            picture_set_role_leader(held, place->settings.roles[j],
                                    leader_of(load, center,
                                              place->settings.roles[j]));
    }
}

static bool node_agrees(struct follow_load *load, uint32_t node,
                        bool is_converged, char *text, size_t size)
{
    struct picture own;
    struct picture first;
    char why[160] = "it waits for a state";
    bool agrees = true;

    hold(load, node, &own);
    hold(load, is_converged ? first_of_center(load, node) : node, &first);
    if (is_converged)
        hold_leaders(load, node, &first);
    for (uint32_t i = 0; agrees && i < load->followings.count; i++) {
        const struct following *following = load->followings.items[i];

        if (!is_here(following, node) || !following->has_started)
            continue;
        agrees = check_cluster_events_is_complete(following->follower) &&
                 check_cluster_events_equals(following->follower, &own, why,
                                             sizeof why) &&
                 check_cluster_events_equals(following->follower, &first, why,
                                             sizeof why);
        if (!agrees)
            (void)snprintf(text, size, "%s of n%u: %s",
                           following->is_entity ? "an entity" : "an actor",
                           node, why); /* cut at size */
    }
    picture_fini(&own);
    picture_fini(&first);
    return agrees;
}

bool follow_load_agrees(struct follow_load *load, bool is_converged,
                        char *text, size_t size)
{
    for (uint32_t i = 0; i < load->places.count; i++) {
        const struct world_node *place = world_node(load->world, i);

        if (place->node && !place->is_paused &&
            !node_agrees(load, i, is_converged, text, size))
            return false;
    }
    return true;
}

/* ---- lifetime ---- */

struct follow_load *follow_load_new(struct world *world,
                                    const struct follow_load_settings *settings)
{
    struct follow_load *load = mem_alloc(sizeof *load);
    struct world_observer observer = { .user = load,
                                       .node_started = node_started,
                                       .node_ended = node_ended };

    check(!current);
    load->settings = *settings;
    load->world = world;
    load->verdict = world_verdict(world);
    load->check = check_cluster_events_new(load->verdict);
    check_cluster_events_facts(load->check, known, load);
    world_observe(world, &observer);
    current = load;
    return load;
}

void follow_load_free(struct follow_load *load)
{
    if (!load)
        return;
    for (uint32_t i = 0; i < load->followings.count; i++)
        mem_free(load->followings.items[i]);
    vec_fini(&load->followings);
    vec_fini(&load->places);
    facts_fini(&load->lives);
    check_cluster_events_free(load->check);
    mem_free(load);
    current = NULL;
}

struct check_cluster_events_counts follow_load_counts(const struct follow_load *load)
{
    return check_cluster_events_counts(load->check);
}
