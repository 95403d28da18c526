/* Compares three tables: the state of each coordinator, the reports of each region, and the shards
 * of each lane. */
#include "sim/check/check_coordinator.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/member_info.h"
#include "base/vec.h"
#include "sim/world/verdict.h"

enum handoff_step { STEP_NONE, STEP_BEGUN, STEP_STOPPING, STEP_MOVED };

/* A shard as its coordinator sees it; void in another incarnation of the coordinator. */
struct home {
    uint64_t life;
    uint64_t uid; /* 0: none */
    struct fence fence;
    uint64_t attempt; /* of the hand-off */
    enum handoff_step step;
    bool is_stored; /* found in the stored state */
};

/* A node's part in a type. */
struct part {
    uint64_t life;        /* of the node when this was written */
    uint64_t coordinator; /* number of the coordinator's incarnation */
    uint64_t term;        /* of the active coordinator; 0: none */
    uint64_t attempt;     /* the last that began */
    uint64_t registered;  /* the term that the region is registered under */
    uint64_t registration; /* number of the last registration under a new term */
    bool region_stopped;
};

/* The newest directive that a region took. */
struct mark {
    uint64_t life;
    uint64_t registration;
    struct fence fence; /* since that registration */
    struct fence attempt_fence;
    uint64_t attempt;
};

/* A region's last report. */
struct said {
    uint64_t uid;
    struct fence fence;
};

struct host {
    uint32_t node;
    uint64_t uid;
    struct fence fence;
};

/* The part of an incarnation in a shard. */
struct holder {
    uint64_t uid;
    uint64_t place;     /* hash of its address; 0: no coordinator has named it */
    struct fence given; /* the highest with it as the home */
    struct fence taken; /* the highest that its region got */
    bool has_hosted;    /* told to host, or hosted by a lane */
};

/* A shard, over all nodes. */
struct shard_fact {
    struct fence allocated; /* the highest, without nodes outside */
    VEC(struct holder) holders;
    VEC(struct host) hosts;
};

/* A type, over all nodes. */
struct type_fact {
    uint64_t term; /* the highest, without nodes outside */
    VEC(uint32_t) alive; /* nodes with a coordinator, active or not yet */
};

struct check_coordinator {
    struct verdict *verdict;
    const struct check_safety *safety;
    struct map homes;   /* node, shard */
    struct map parts;   /* node, type */
    struct map marks;   /* node, shard */
    struct map saids;   /* uid, shard */
    struct map shards;  /* shard */
    struct map types;   /* type */
    struct map terms;   /* type, term -> it was taken */
    struct map removed; /* node's incarnation, uid -> a byte */
    uint64_t uids[CHECK_NODES_MAX];
    uint64_t lives[CHECK_NODES_MAX];
    uint64_t life; /* the last one given to a node, a coordinator or a registration */
    struct check_coordinator_counts counts;
};

struct check_coordinator *check_coordinator_new(struct verdict *verdict,
                                                const struct check_safety *safety)
{
    struct check_coordinator *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->safety = safety;
    return check;
}

void check_coordinator_free(struct check_coordinator *check)
{
    struct map_entry entry;

    if (!check)
        return;
    for (uint32_t at = 0; map_next(&check->shards, &at, &entry);) {
        vec_fini(&((struct shard_fact *)entry.value)->hosts);
        vec_fini(&((struct shard_fact *)entry.value)->holders);
    }
    for (uint32_t at = 0; map_next(&check->types, &at, &entry);)
        vec_fini(&((struct type_fact *)entry.value)->alive);
    facts_fini(&check->homes);
    facts_fini(&check->parts);
    facts_fini(&check->marks);
    facts_fini(&check->saids);
    facts_fini(&check->shards);
    facts_fini(&check->types);
    facts_fini(&check->terms);
    facts_fini(&check->removed);
    mem_free(check);
}

/* ---- rows ---- */

static uint64_t shard_key(const struct probe *probe)
{
    return fact_shard(probe->type, probe->shard);
}

static struct part *part_of(struct check_coordinator *check, uint32_t node,
                            uint16_t type)
{
    struct part *part = facts_of(&check->parts,
                                 (struct fact_key){ { node, type } },
                                 sizeof *part);

    if (part->life != check->lives[node])
        *part = (struct part){ .life = check->lives[node] };
    return part;
}

static struct home *home_of(struct check_coordinator *check, uint32_t node,
                            const struct probe *probe)
{
    const struct part *part = part_of(check, node, probe->type);
    struct home *home =
        facts_of(&check->homes, (struct fact_key){ { node, shard_key(probe) } },
                 sizeof *home);

    if (home->life != part->coordinator)
        *home = (struct home){ .life = part->coordinator };
    return home;
}

static struct shard_fact *shard_of(struct check_coordinator *check,
                                   const struct probe *probe)
{
    return facts_of(&check->shards, (struct fact_key){ { shard_key(probe) } },
                    sizeof(struct shard_fact));
}

/* Null: it had no part in the shard. */
static struct holder *find_holder(const struct shard_fact *fact, uint64_t uid)
{
    for (uint32_t i = fact->holders.count; i-- > 0;)
        if (fact->holders.items[i].uid == uid)
            return &fact->holders.items[i];
    return NULL;
}

static struct holder *holder_of(struct shard_fact *fact, uint64_t uid)
{
    struct holder *holder = find_holder(fact, uid);

    if (holder)
        return holder;
    vec_push(&fact->holders, ((struct holder){ .uid = uid }));
    return &fact->holders.items[fact->holders.count - 1];
}

static uint64_t place_of(const struct probe *probe)
{
    return hash_bytes(slice_of(&probe->node.address,
                               sizeof probe->node.address)) | 1;
}

/* Whether a coordinator had that place as the home. A stored state names no incarnation, so the
 * next one there inherits it. */
static bool was_given(const struct shard_fact *fact, uint64_t place)
{
    for (uint32_t i = 0; i < fact->holders.count; i++)
        if (fact->holders.items[i].place == place)
            return true;
    return false;
}

static void raise_fence(struct fence *fence, struct fence to)
{
    if (fence_compare(to, *fence) > 0)
        *fence = to;
}

static struct type_fact *type_of(struct check_coordinator *check, uint16_t type)
{
    return facts_of(&check->types, (struct fact_key){ { type } },
                    sizeof(struct type_fact));
}

static bool is_removed(const struct check_coordinator *check, uint32_t node,
                       uint64_t uid)
{
    return facts_find(&check->removed,
                      (struct fact_key){ { check->lives[node], uid } }) != NULL;
}

static bool is_outside(const struct check_coordinator *check, uint32_t node)
{
    return check->safety && check->safety->outside[node];
}

/* ---- coordinators ---- */

static void lives_again(struct check_coordinator *check, uint32_t node,
                        uint16_t type, bool alive)
{
    struct type_fact *fact = type_of(check, type);

    for (uint32_t i = fact->alive.count; i-- > 0;)
        if (fact->alive.items[i] == node)
            vec_remove(&fact->alive, i);
    if (alive)
        vec_push(&fact->alive, node);
}

/* A coordinator is alone from its start on, though it does nothing before it is active. */
static void judge_alone(struct check_coordinator *check, uint32_t node,
                        const struct probe *probe, const char *what)
{
    struct type_fact *fact = type_of(check, probe->type);

    for (uint32_t i = 0; i < fact->alive.count; i++) {
        uint32_t other = fact->alive.items[i];

        if (other != node && !safety_excuses(check->safety, node, other))
            violation(check->verdict, "single-coordinator", node,
                      "coordinator of type %u %s while that of node %u lives",
                      probe->type, what, other);
    }
    lives_again(check, node, probe->type, true);
}

void check_coordinator_late(struct check_coordinator *check, uint32_t node)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&check->types, &at, &entry);) {
        const struct type_fact *fact = entry.value;
        uint64_t words[3];
        bool is_here = false;
        uint32_t other = node;

        for (uint32_t i = 0; i < fact->alive.count; i++) {
            is_here |= fact->alive.items[i] == node;
            if (fact->alive.items[i] != node &&
                !safety_excuses(check->safety, node, fact->alive.items[i]))
                other = fact->alive.items[i];
        }
        memcpy(words, entry.key.data, sizeof words);
        if (is_here && other != node)
            violation(check->verdict, "single-coordinator", node,
                      "coordinator of type %u lives beside that of node %u, "
                      "and its node knows that it is down",
                      (unsigned)words[0], other);
    }
}

static void started(struct check_coordinator *check, uint32_t node,
                    const struct probe *probe)
{
    struct part *part = part_of(check, node, probe->type);

    part->coordinator = ++check->life;
    part->attempt = 0;
    judge_alone(check, node, probe, "starts");
}

/* A term is taken once. A coordinator outside the cluster may use an old term, so the check ignores
 * it. */
static void active(struct check_coordinator *check, uint32_t node,
                   const struct probe *probe)
{
    struct type_fact *fact = type_of(check, probe->type);
    bool *taken = facts_of(&check->terms,
                           (struct fact_key){ { probe->type, probe->first } },
                           sizeof *taken);
    bool outside = is_outside(check, node);

    check->counts.active++;
    if (*taken || (!outside && probe->first <= fact->term))
        violation(check->verdict, "coordinator-state", node,
                  "coordinator of type %u takes term %" PRIu64
                  ", and %" PRIu64 " was taken before",
                  probe->type, probe->first,
                  *taken ? probe->first : fact->term);
    else if (!outside)
        fact->term = probe->first;
    *taken = true;
    judge_alone(check, node, probe, "becomes active");
    part_of(check, node, probe->type)->term = probe->first;
}

static void ended(struct check_coordinator *check, uint32_t node,
                  const struct probe *probe)
{
    lives_again(check, node, probe->type, false);
    part_of(check, node, probe->type)->term = 0;
}

/* ---- homes ---- */

static void judge_fence(struct check_coordinator *check, uint32_t node,
                        const struct probe *probe)
{
    struct shard_fact *fact = shard_of(check, probe);

    if (is_outside(check, node))
        return; /* only the journal inside knows of it */
    if (fence_compare(probe->fence, fact->allocated) > 0)
        fact->allocated = probe->fence;
    else
        violation(check->verdict, "coordinator-state", node,
                  "type %u shard %d is allocated under an old fence %" PRIu64
                  ".%" PRIu64,
                  probe->type, probe->shard, probe->fence.term,
                  probe->fence.epoch);
}

static void judge_allocation(struct check_coordinator *check, uint32_t node,
                             const struct probe *probe)
{
    const struct part *part = part_of(check, node, probe->type);
    const struct shard_fact *fact = shard_of(check, probe);

    check->counts.allocated++;
    if (!part->term || probe->fence.term != part->term)
        violation(check->verdict, "coordinator-state", node,
                  "type %u shard %d is allocated under term %" PRIu64
                  " by a coordinator of term %" PRIu64,
                  probe->type, probe->shard, probe->fence.term, part->term);
    judge_fence(check, node, probe);
    for (uint32_t i = 0; i < fact->hosts.count; i++) {
        const struct host *host = &fact->hosts.items[i];

        if (host->uid != probe->node.uid &&
            !safety_excuses(check->safety, node, host->node) &&
            !is_removed(check, node, host->uid))
            violation(check->verdict, "handoff-safety", node,
                      "type %u shard %d is allocated to %s:%u while node %u "
                      "hosts it",
                      probe->type, probe->shard, probe->node.address.host,
                      probe->node.address.port, host->node);
    }
}

/* A region reports only shards that it was told to host, under no newer fence. A stored home was
 * decided by a coordinator. */
static void judge_report(struct check_coordinator *check, uint32_t node,
                         const struct probe *probe)
{
    const struct shard_fact *fact = shard_of(check, probe);
    const struct holder *holder = find_holder(fact, probe->node.uid);
    bool is_stored = probe->second == PROBE_HOME_STORED;
    bool is_known = is_stored
                        ? was_given(fact, place_of(probe))
                        : holder && holder->has_hosted &&
                              fence_compare(probe->fence, holder->taken) <= 0;

    check->counts.reported++;
    if (!is_known && !is_outside(check, node))
        violation(check->verdict, "handoff-safety", node,
                  is_stored
                      ? "type %u shard %d is stored as being at %s:%u under %" PRIu64 ".%" PRIu64 ", where nobody has put it"
                      : "type %u shard %d is reported by %s:%u under %" PRIu64 ".%" PRIu64 ", which was never told to host it so",
                  probe->type, probe->shard, probe->node.address.host,
                  probe->node.address.port, probe->fence.term,
                  probe->fence.epoch);
}

static void give(struct check_coordinator *check, const struct probe *probe)
{
    struct holder *holder =
        holder_of(shard_of(check, probe), probe->node.uid);

    holder->place = place_of(probe);
    raise_fence(&holder->given, probe->fence);
}

static void home_set(struct check_coordinator *check, uint32_t node,
                     const struct probe *probe)
{
    struct home *home = home_of(check, node, probe);

    if (home->uid)
        violation(check->verdict, "coordinator-state", node,
                  "type %u shard %d gets a second home", probe->type,
                  probe->shard);
    if (probe->second == PROBE_HOME_ALLOCATED)
        judge_allocation(check, node, probe);
    else
        judge_report(check, node, probe);
    give(check, probe);
    home->uid = probe->node.uid;
    home->fence = probe->fence;
    home->step = STEP_NONE;
    home->is_stored = probe->second == PROBE_HOME_STORED;
}

static void home_fenced(struct check_coordinator *check, uint32_t node,
                        const struct probe *probe)
{
    struct home *home = home_of(check, node, probe);
    struct shard_fact *fact = shard_of(check, probe);

    if (home->uid != probe->node.uid ||
        fence_compare(probe->fence, home->fence) <= 0)
        violation(check->verdict, "coordinator-state", node,
                  "type %u shard %d: the fence of its home does not grow",
                  probe->type, probe->shard);
    if (!is_outside(check, node) &&
        fence_compare(probe->fence, fact->allocated) > 0)
        fact->allocated = probe->fence;
    home->fence = probe->fence;
    give(check, probe);
}

/* Another incarnation had the shard under a higher fence than its home. */
static bool is_contested(struct check_coordinator *check,
                         const struct probe *probe, const struct home *home)
{
    const struct shard_fact *fact = shard_of(check, probe);

    for (uint32_t i = 0; i < fact->holders.count; i++) {
        const struct holder *holder = &fact->holders.items[i];

        if (holder->uid != home->uid &&
            (fence_compare(holder->given, home->fence) > 0 ||
             (holder->has_hosted &&
              fence_compare(holder->taken, home->fence) > 0)))
            return true;
    }
    return false;
}

/* Whether the home's region is a new one. A region lives as long as its node, so a new one is of
 * another incarnation. */
static bool is_renewed(struct check_coordinator *check,
                       const struct probe *probe, const struct home *home)
{
    const struct holder *holder =
        find_holder(shard_of(check, probe), home->uid);

    if (home->is_stored && !(holder && holder->has_hosted))
        return true;
    for (uint32_t i = 0; i < CHECK_NODES_MAX; i++)
        if (check->uids[i] == home->uid)
            return facts_find(&check->saids,
                              (struct fact_key){ { home->uid, probe->type,
                                                   1 } }) != NULL;
    return true;
}

/* Why the end of this home breaks the rule; null: it does not. */
static const char *wrong_end(struct check_coordinator *check, uint32_t node,
                             const struct probe *probe, const struct home *home)
{
    const struct said *said;

    switch ((enum probe_home)probe->second) {
    case PROBE_HOME_STOPPED:
        said = facts_find(&check->saids,
                          (struct fact_key){ { home->uid, shard_key(probe) } });
        if (!said || fence_compare(said->fence, home->fence) != 0)
            return "its region has not said that it stopped under that fence";
        return home->step == STEP_MOVED ? NULL : "no hand-off led to it";
    case PROBE_HOME_NODE_REMOVED:
        return is_removed(check, node, home->uid) ? NULL
                                                  : "its node is not removed";
    case PROBE_HOME_REGION_STOPPED:
        return facts_find(&check->saids,
                          (struct fact_key){ { home->uid, probe->type, 1 } })
                   ? NULL
                   : "its region has not said that it stopped";
    case PROBE_HOME_CONTESTED:
        return is_outside(check, node) || is_contested(check, probe, home)
                   ? NULL
                   : "no other region has had it under a higher fence";
    case PROBE_HOME_REGION_RENEWED:
        return is_outside(check, node) || is_renewed(check, probe, home)
                   ? NULL
                   : "its region is the one that it was";
    case PROBE_HOME_ALLOCATED:
    case PROBE_HOME_REPORTED:
    case PROBE_HOME_STORED:
        break;
    }
    return "that is no reason";
}

static void home_ended(struct check_coordinator *check, uint32_t node,
                       const struct probe *probe)
{
    struct home *home = home_of(check, node, probe);
    const char *wrong;

    if (home->uid != probe->node.uid || !home->uid) {
        violation(check->verdict, "coordinator-state", node,
                  "type %u shard %d loses a home that it has not", probe->type,
                  probe->shard);
        return;
    }
    wrong = wrong_end(check, node, probe, home);
    if (wrong)
        violation(check->verdict, "handoff-safety", node,
                  "type %u shard %d: home %s:%u under %" PRIu64 ".%" PRIu64
                  " ends: %s",
                  probe->type, probe->shard, probe->node.address.host,
                  probe->node.address.port, home->fence.term,
                  home->fence.epoch, wrong);
    home->uid = 0;
    home->step = STEP_NONE;
}

/* ---- hand-offs ---- */

static bool step_allowed(const struct home *home, uint64_t attempt,
                         enum probe_handoff state)
{
    bool same = home->attempt == attempt;

    switch (state) {
    case PROBE_HANDOFF_BEGUN:
        return home->uid && home->step == STEP_NONE;
    case PROBE_HANDOFF_STOPPING:
        return same && home->step == STEP_BEGUN;
    case PROBE_HANDOFF_MOVED:
        return same && home->step == STEP_STOPPING;
    case PROBE_HANDOFF_FAILED:
    case PROBE_HANDOFF_GIVEN_UP:
        return same &&
               (home->step == STEP_BEGUN || home->step == STEP_STOPPING);
    }
    return false;
}

static void count_step(struct check_coordinator *check,
                       enum probe_handoff state)
{
    check->counts.handoffs += state == PROBE_HANDOFF_BEGUN;
    check->counts.moved += state == PROBE_HANDOFF_MOVED;
    check->counts.failed += state == PROBE_HANDOFF_FAILED;
    check->counts.given_up += state == PROBE_HANDOFF_GIVEN_UP;
}

static void handoff(struct check_coordinator *check, uint32_t node,
                    const struct probe *probe)
{
    static const enum handoff_step steps[] = {
        [PROBE_HANDOFF_BEGUN] = STEP_BEGUN,
        [PROBE_HANDOFF_STOPPING] = STEP_STOPPING,
        [PROBE_HANDOFF_MOVED] = STEP_MOVED,
        [PROBE_HANDOFF_FAILED] = STEP_NONE,
        [PROBE_HANDOFF_GIVEN_UP] = STEP_NONE,
    };
    struct part *part = part_of(check, node, probe->type);
    struct home *home = home_of(check, node, probe);
    enum probe_handoff state = (enum probe_handoff)probe->second;
    bool begins = state == PROBE_HANDOFF_BEGUN;

    count_step(check, state);
    if (!step_allowed(home, probe->first, state) ||
        (begins && probe->first <= part->attempt))
        violation(check->verdict, "handoff-safety", node,
                  "type %u shard %d: step %u of hand-off %" PRIu64
                  " after step %u of %" PRIu64,
                  probe->type, probe->shard, (unsigned)state, probe->first,
                  (unsigned)home->step, home->attempt);
    if (begins)
        part->attempt = probe->first;
    home->attempt = probe->first;
    home->step = steps[state];
}

/* ---- regions and lanes ---- */

static void hosted(struct check_coordinator *check, uint32_t node,
                   const struct probe *probe)
{
    struct shard_fact *fact = shard_of(check, probe);
    struct host host = { node, check->uids[node], probe->fence };
    struct holder *holder = holder_of(fact, host.uid);

    vec_push(&fact->hosts, host);
    holder->has_hosted = true;
    raise_fence(&holder->taken, probe->fence);
}

static void unhosted(struct check_coordinator *check, uint32_t node,
                     const struct probe *probe)
{
    struct shard_fact *fact = shard_of(check, probe);

    for (uint32_t i = fact->hosts.count; i-- > 0;)
        if (fact->hosts.items[i].node == node)
            vec_remove(&fact->hosts, i);
}

static void said_stopped(struct check_coordinator *check, uint32_t node,
                         const struct probe *probe)
{
    const struct shard_fact *fact = shard_of(check, probe);
    struct said *said = facts_of(
        &check->saids,
        (struct fact_key){ { check->uids[node], shard_key(probe) } },
        sizeof *said);

    said->uid = check->uids[node];
    said->fence = probe->fence;
    for (uint32_t i = 0; i < fact->hosts.count; i++)
        if (fact->hosts.items[i].node == node &&
            fence_compare(fact->hosts.items[i].fence, probe->fence) <= 0)
            violation(check->verdict, "handoff-safety", node,
                      "type %u shard %d is said to have stopped, and runs",
                      probe->type, probe->shard);
}

static void registered(struct check_coordinator *check, uint32_t node,
                       const struct probe *probe)
{
    struct part *part = part_of(check, node, probe->type);

    if (probe->first && probe->first < part->registered)
        violation(check->verdict, "no-stale-sender", node,
                  "region of type %u registers under term %" PRIu64
                  " after %" PRIu64,
                  probe->type, probe->first, part->registered);
    /* A new coordinator knows only what was reported to it. */
    if (probe->first > part->registered)
        part->registration = ++check->life;
    part->registered = probe->first;
}

static bool is_of_attempt(const struct probe *probe)
{
    return probe->second == PROBE_BEGIN_HAND_OFF ||
           probe->second == PROBE_HAND_OFF;
}

static void directive(struct check_coordinator *check, uint32_t node,
                      const struct probe *probe)
{
    const struct part *part = part_of(check, node, probe->type);
    struct mark *mark =
        facts_of(&check->marks, (struct fact_key){ { node, shard_key(probe) } },
                 sizeof *mark);
    struct holder *holder;
    int order;

    if (fence_is_none(probe->fence))
        return; /* the coordinator has no fences */
    holder = holder_of(shard_of(check, probe), check->uids[node]);
    holder->has_hosted |= probe->second == PROBE_HOST;
    raise_fence(&holder->taken, probe->fence);
    if (mark->life != check->lives[node])
        *mark = (struct mark){ .life = check->lives[node] };
    if (mark->registration != part->registration)
        mark->fence = (struct fence){ 0, 0 };
    mark->registration = part->registration;
    order = fence_compare(probe->fence, mark->attempt_fence);
    if (fence_compare(probe->fence, mark->fence) < 0 ||
        (is_of_attempt(probe) &&
         (order < 0 || (order == 0 && probe->first < mark->attempt))))
        violation(check->verdict, "no-stale-sender", node,
                  "type %u shard %d: directive %u of fence %" PRIu64 ".%" PRIu64
                  " attempt %" PRIu64 " is taken after %" PRIu64 ".%" PRIu64
                  " attempt %" PRIu64,
                  probe->type, probe->shard, (unsigned)probe->second,
                  probe->fence.term, probe->fence.epoch, probe->first,
                  mark->fence.term, mark->fence.epoch, mark->attempt);
    mark->fence = probe->fence;
    if (is_of_attempt(probe)) {
        mark->attempt_fence = probe->fence;
        mark->attempt = probe->first;
    }
}

/* ---- feeding ---- */

void check_coordinator_node_started(struct check_coordinator *check,
                                    uint32_t node, uint64_t uid)
{
    check(node < CHECK_NODES_MAX);
    check->uids[node] = uid;
    check->lives[node] = ++check->life;
}

void check_coordinator_node_ended(struct check_coordinator *check,
                                  uint32_t node)
{
    struct map_entry entry;

    check(node < CHECK_NODES_MAX);
    for (uint32_t at = 0; map_next(&check->shards, &at, &entry);) {
        struct shard_fact *fact = entry.value;

        for (uint32_t i = fact->hosts.count; i-- > 0;)
            if (fact->hosts.items[i].node == node)
                vec_remove(&fact->hosts, i);
    }
    for (uint32_t at = 0; map_next(&check->types, &at, &entry);) {
        struct type_fact *fact = entry.value;

        for (uint32_t i = fact->alive.count; i-- > 0;)
            if (fact->alive.items[i] == node)
                vec_remove(&fact->alive, i);
    }
    check->lives[node] = ++check->life;
    check->uids[node] = 0;
}

static void region_stopped(struct check_coordinator *check, uint32_t node,
                           const struct probe *probe)
{
    check->counts.forced += probe->second > 0;
    check->counts.left_over += probe->second > 1;
    (void)facts_of(&check->saids,
                   (struct fact_key){ { check->uids[node], probe->type, 1 } },
                   sizeof(struct said));
}

static void member_seen(struct check_coordinator *check, uint32_t node,
                        const struct probe *probe)
{
    if (probe->first == MEMBER_REMOVED)
        (void)facts_of(
            &check->removed,
            (struct fact_key){ { check->lives[node], probe->node.uid } }, 1);
}

typedef void fact(struct check_coordinator *check, uint32_t node,
                  const struct probe *probe);

static fact *const facts[PROBE_KIND_COUNT] = {
    [PROBE_SHARD_HOSTED] = hosted,
    [PROBE_SHARD_ENDED] = unhosted,
    [PROBE_SHARD_SAID_STOPPED] = said_stopped,
    [PROBE_REGION_STOPPED] = region_stopped,
    [PROBE_REGISTERED] = registered,
    [PROBE_DIRECTIVE_TAKEN] = directive,
    [PROBE_COORDINATOR_STARTED] = started,
    [PROBE_COORDINATOR_ACTIVE] = active,
    [PROBE_COORDINATOR_ENDED] = ended,
    [PROBE_HOME_SET] = home_set,
    [PROBE_HOME_FENCED] = home_fenced,
    [PROBE_HOME_ENDED] = home_ended,
    [PROBE_HANDOFF] = handoff,
    [PROBE_MEMBER_SEEN] = member_seen,
};

void check_coordinator_probe(struct check_coordinator *check, uint32_t node,
                             const struct probe *probe)
{
    check(node < CHECK_NODES_MAX);
    check->counts.stale += probe->kind == PROBE_DIRECTIVE_STALE;
    if (facts[probe->kind])
        facts[probe->kind](check, node, probe);
}

struct check_coordinator_counts
check_coordinator_counts(const struct check_coordinator *check)
{
    return check->counts;
}
