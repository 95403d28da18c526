/* Feeds the probe checkers as an observer of the world. */
#include "sim/check/checks.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/member_info.h"
#include "base/shard_names.h"
#include "base/timers.h"
#include "base/trace.h"
#include "ddata/replicator.h"
#include "lease/book.h"
#include "node/states.h"
#include "shard/stored.h"
#include "sim/seed/shard_text.h"
#include "sim/world/verdict.h"
#include "sim/world/world.h"

#define READ_PLUS 5 /* akka.cluster.sharding.coordinator-state.read-majority-plus */
#define WRITE_PLUS 3 /* write-majority-plus */
/* akka.cluster.distributed-data.majority-min-cap, which nodes take if it is not set */
#define MAJORITY_MIN 5
#define CHECKS_GIVE_UP_S 4 /* for singletons that no node took over: node/control/shutdown.c */
/* 10 s for actors, half as much for links, and reserve for slow machines and drift */
#define CHECKS_END_S 60

static void forget_end(struct checks *checks, uint32_t node)
{
    checks->ending -= checks->ends[node].by != 0;
    checks->ends[node] = (struct checks_end){ 0, 0 };
}

/* Sets the time in which the node must end, unless it has less. */
static void must_end(struct checks *checks, uint32_t node, uint64_t time)
{
    struct checks_end *end = &checks->ends[node];
    uint64_t now = world_now(checks->world);

    if (end->by && end->by <= now + time)
        return;
    checks->ending += !end->by;
    if (!end->by)
        end->since = now;
    end->by = now + time;
}

static uint64_t phase_time(const struct node_settings *settings,
                           enum sherd_phase phase, uint64_t standard)
{
    uint64_t time = settings->phase_timeouts[phase];

    return time > standard ? time : standard;
}

static uint64_t end_time(const struct checks *checks, uint32_t node)
{
    return CHECKS_END_S * SECOND +
           2 * phase_time(&world_node(checks->world, node)->settings,
                          SHERD_ACTOR_SYSTEM_TERMINATE, 0);
}

/* The time of its regions and of all other shutdown steps (node/control/shutdown.c). Its clock may be
 * slow. */
static uint64_t leave_time(const struct checks *checks, uint32_t node)
{
    const struct node_settings *settings =
        &world_node(checks->world, node)->settings;
    uint64_t time =
        settings->shutdown_region_timeout
            ? settings->shutdown_region_timeout
            : phase_time(settings, SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION,
                         60 * SECOND);

    time += phase_time(settings, SHERD_CLUSTER_LEAVE, 60 * SECOND) +
            phase_time(settings, SHERD_CLUSTER_EXITING, 10 * SECOND) +
            CHECKS_GIVE_UP_S * SECOND +
            phase_time(settings, SHERD_CLUSTER_EXITING_DONE, 10 * SECOND);
    return time + time / 16 + end_time(checks, node);
}

static void node_leaves(void *user, uint32_t node)
{
    must_end(user, node, leave_time(user, node));
}

uint32_t checks_ending(const struct checks *checks)
{
    return checks->ending;
}

static void count_pauses(struct checks *checks)
{
    uint64_t now = world_now(checks->world);
    uint64_t passed = now - checks->looked_at;

    uint32_t nodes =
        passed && world_paused(checks->world) ? world_node_count(checks->world)
                                              : 0;

    for (uint32_t i = 0; i < nodes; i++) {
        if (!world_node(checks->world, i)->is_paused)
            continue;
        check_entity_paused(checks->entity, i, passed);
        check_allocation_paused(checks->allocation, i, passed);
        outside_nodes_paused(checks->outside, i, passed);
        if (checks->ends[i].by)
            checks->ends[i].by += passed;
    }
    checks->looked_at = now;
}

/* shutdown-completes, even if no other node takes its shards, answers, or reads its last
 * messages. */
static void look_at_ends(struct checks *checks)
{
    uint64_t now = world_now(checks->world);

    for (uint32_t i = 0;
         checks->ending && i < world_node_count(checks->world); i++) {
        if (!checks->ends[i].by || now <= checks->ends[i].by)
            continue;
        violation(checks->verdict, "shutdown-completes", i,
                  "the node is to end, and has not ended for %llu s",
                  (unsigned long long)((now - checks->ends[i].since) /
                                       SECOND));
        forget_end(checks, i);
    }
}

/* Skips types whose coordinator is in another data center, because that one has to answer. */
static void look_at_node(struct checks *checks, uint32_t node)
{
    const struct world_node *place = world_node(checks->world, node);
    const struct machine *control = node_machine(place->node, 0);

    for (uint32_t i = 0; i < place->settings.type_count; i++) {
        uint16_t type = fact_type(checks->centers, node, (uint16_t)i);
        uint32_t at = 0;
        int32_t shard;

        if (place->settings.types[i].data_center)
            continue;
        while (machine_next_wanted(control, i, &at, &shard))
            if (!check_liveness_moves(checks->live, type, shard))
                check_homes_asked(checks->homes, world_now(checks->world),
                                  node, type, shard);
    }
}

void checks_look_at_homes(struct checks *checks)
{
    if (!check_homes_is_quiet(checks->homes))
        return;
    for (uint32_t i = 0; i < world_node_count(checks->world); i++)
        if (world_node(checks->world, i)->node)
            look_at_node(checks, i);
    check_homes_looked(checks->homes, world_now(checks->world));
}

void checks_look(struct checks *checks)
{
    uint32_t node;

    count_pauses(checks);
    while (outside_nodes_late(checks->outside, world_now(checks->world), &node))
        check_coordinator_late(checks->coordinator, node);
    look_at_ends(checks);
    check_entity_look(checks->entity, world_now(checks->world));
    check_liveness_look(checks->live, world_now(checks->world));
    check_allocation_look(checks->allocation, world_now(checks->world));
}

static void node_started(void *user, uint32_t node, uint64_t uid)
{
    struct checks *checks = user;

    check(node < CHECK_NODES_MAX);
    checks->uids[node] = uid;
    checks->entries[node] =
        (struct checks_entry){ world_now(checks->world), 0 };
    forget_end(checks, node);
    outside_nodes_node_started(checks->outside, node, uid);
    check_entity_node_started(checks->entity, node, uid);
    check_coordinator_node_started(checks->coordinator, node, uid);
    check_member_node_started(checks->member, node, uid);
    check_gossip_seen_node_started(checks->gossip_seen, node, uid);
    check_incarnation_node_started(checks->incarnation, node, uid);
    check_peers_node_started(checks->peers, node, uid);
    check_state_store_node_started(checks->stored, node);
    check_margin_node_started(
        checks->margin, node, uid,
        world_node(checks->world, node)->settings.down_removal_margin);
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct checks *checks = user;

    checks_look(checks);
    checks->uids[node] = 0;
    forget_end(checks, node);
    outside_nodes_node_ended(checks->outside, node);
    check_entity_node_ended(checks->entity, world_now(checks->world), node);
    check_coordinator_node_ended(checks->coordinator, node);
    check_member_node_ended(checks->member, node);
    check_gossip_seen_node_ended(checks->gossip_seen, node);
    check_liveness_node_ended(checks->live, node, crashed, error);
    check_lease_node_ended(checks->lease, node);
    check_shard_lease_node_ended(checks->shard_lease, node);
    check_state_quorum_node_ended(checks->quorum, node);
    check_resolver_node_ended(checks->partition, node);
    check_allocation_node_ended(checks->allocation, node);
}

/* CHECK_NODES_MAX: it has ended. */
static uint32_t node_of(const struct checks *checks, uint64_t uid)
{
    uint32_t node = 0;

    while (node < CHECK_NODES_MAX && checks->uids[node] != uid)
        node++;
    return node;
}

bool checks_is_orphaned(const struct checks *checks, uint32_t node)
{
    for (uint32_t step = 0; step < CHECK_NODES_MAX; step++) {
        uint64_t by = checks->entries[node].by;
        uint32_t other = by ? node_of(checks, by) : node;

        if (other == CHECK_NODES_MAX || checks->safety.outside[other])
            return true;
        if (other == node || world_node(checks->world, other)->is_up)
            return false;
        node = other;
    }
    return true;
}

static void probe(void *user, uint32_t node, uint32_t machine,
                  const struct probe *left)
{
    struct checks *checks = user;
    const struct probe *probe = left;
    struct probe copy;

    (void)machine;
    if (left->kind <= PROBE_BYTES_ENDED)
        return; /* this observer does not judge messages */
    if (checks->centers > 1 && left->type != PROBE_TYPE_NONE) {
        copy = *left;
        copy.type = fact_type(checks->centers, node, left->type);
        probe = &copy;
    }
    outside_nodes_probe(checks->outside, world_now(checks->world), node,
                        probe);
    if (probe->kind == PROBE_CLUSTER_JOINED)
        checks->entries[node].by = probe->node.uid;
    if (probe->kind == PROBE_MEMBER_SEEN && probe->first == MEMBER_EXITING &&
        probe->node.uid == checks->uids[node])
        must_end(checks, node, leave_time(checks, node));
    if (probe->kind == PROBE_RESOLVED)
        check_resolver_resolved(
            checks->partition, node,
            world_node(checks->world, node)->settings.resolver.strategy.kind,
            probe);
    if (probe->kind == PROBE_SELF_STOPPING)
        must_end(checks, node, end_time(checks, node));
    checks_look(checks);
    check_entity_probe(checks->entity, world_now(checks->world), node, probe);
    check_coordinator_probe(checks->coordinator, node, probe);
    check_member_probe(checks->member, node, probe);
    check_gossip_seen_probe(checks->gossip_seen, node, probe);
    check_incarnation_probe(checks->incarnation, node, probe);
    check_peers_probe(checks->peers, world_now(checks->world), node, probe);
    check_liveness_probe(checks->live, world_now(checks->world), node, probe);
    check_lease_probe(checks->lease, node, probe);
    check_shard_lease_probe(checks->shard_lease, node, probe);
    check_state_store_probe(checks->stored, node, probe);
    check_state_quorum_probe(checks->quorum, node, probe);
    check_margin_probe(checks->margin, node, probe);
    check_allocation_probe(checks->allocation, world_now(checks->world), node,
                           probe);
    if (probe->kind == PROBE_FENCES_READ &&
        !check_state_quorum_is_bound(checks->quorum, node, probe->type))
        check_state_store_forget(checks->stored, probe->type);
}

bool checks_is_unreadable(const struct trace_line *line)
{
    static const char *const reasons[] = {
        "not this protocol", "unknown stream", "frame of no bytes",
        "frame too large",
    };

    if (strcmp(line->module, "artery") != 0)
        return false;
    if (!strncmp(line->text, "frame dropped ", 14))
        return true;
    if (strncmp(line->text, "connection closed ", 18) != 0)
        return false;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (strstr(line->text, reasons[i]))
            return true;
    return false;
}

/* Connections keep bytes and their order, so an unreadable frame was written so. */
static void line(void *user, uint32_t node, const struct trace_line *line)
{
    struct checks *checks = user;

    if (checks_is_unreadable(line))
        violation(checks->verdict, "readable-frames", node, "of our own nodes: %s",
                  line->text);
}

static uint64_t clock_of(void *user, uint32_t node)
{
    const struct checks *checks = user;

    return world_clock(checks->world, node);
}

/* ---- leases ---- */

#define CHECK_SINGLETON INT32_MAX /* in place of a shard; the type is the singleton's name */

/* id: the text of the shard, else of no meaning. */
static void put_lease_name(struct buf *name, const struct node_settings *settings,
                           const char *type, int32_t shard, struct slice id)
{
    const char *center = settings->data_center;
    bool is_near = !center || strcmp(center, "default") == 0;
    char text[64];

    buf_put_text(name, settings->identity.system);
    buf_put_text(name, is_near ? "" : "@");
    buf_put_text(name, is_near ? "" : center);
    if (shard == CHECK_COORDINATOR || shard == CHECK_SINGLETON) {
        (void)snprintf(text, sizeof text, "-singleton-%s://%s/system/",
                       settings->identity.protocol, settings->identity.system); /* fits */
        buf_put_text(name, text);
        buf_put_text(name, shard == CHECK_SINGLETON ? "singletonManager" : "sharding/");
        buf_put_text(name, type);
        buf_put_text(name, shard == CHECK_SINGLETON ? "" : "Coordinator");
        return;
    }
    buf_put_text(name, "-shard-");
    buf_put_text(name, type);
    buf_put_text(name, "-");
    buf_put_slice(name, id);
}

static bool is_own_session(const char *holder, const struct node_settings *settings)
{
    char address[ADDRESS_TEXT_MAX];
    char own[LEASE_TEXT_MAX];

    (void)snprintf(own, sizeof own, "%s-node-%s", settings->identity.system,
                   address_text(&settings->identity.node.address, address, sizeof address));
    return holder && strcmp(holder, own) == 0;
}

static bool has_lease(const struct checks *checks, const struct node_settings *settings,
                      const char *type, int32_t shard, struct slice id)
{
    struct buf name = { 0 };
    const char *holder;

    put_lease_name(&name, settings, type, shard, id);
    holder = lease_book_holder(world_leases(checks->world), world_now(checks->world),
                               buf_slice(&name));
    buf_fini(&name);
    return is_own_session(holder, settings);
}

static bool provider_has(void *user, uint32_t node, uint16_t type, int32_t shard)
{
    const struct checks *checks = user;
    const struct node_settings *settings = &world_node(checks->world, node)->settings;
    const struct sherd_entity_type *of = &settings->types[type % FACT_TYPES_MAX];
    enum lease_provider_kind provider = settings->shard_lease;
    char text[SIM_SHARD_MAX];

    if (shard == CHECK_COORDINATOR)
        provider = settings->coordinator_lease;
    else if (of->use_lease)
        (void)lease_provider_parse(of->use_lease, &provider); /* valid */
    if (!provider)
        return true;
    return has_lease(checks, settings, of->name, shard, shard_text(shard, text)) ||
           (of->extractor && has_lease(checks, settings, of->name, shard, sim_shard_text(shard, text)));
}

bool checks_singleton_has(void *user, uint32_t node)
{
    const struct checks *checks = user;
    const struct node_settings *settings = &world_node(checks->world, node)->settings;

    return has_lease(checks, settings, SERVICES_SINGLETON, CHECK_SINGLETON, slice_of(NULL, 0));
}

static bool are_together(void *user, uint32_t node, uint32_t other)
{
    const struct checks *checks = user;

    return checks->uids[node] && checks->uids[other] &&
           check_member_holds(checks->member, node, checks->uids[other]) &&
           check_member_holds(checks->member, other, checks->uids[node]);
}

/* ---- replicas of coordinators' states ---- */

static uint32_t kept_nodes(void *user)
{
    const struct checks *checks = user;

    return world_node_count(checks->world);
}

/* Null: there is none. */
static const struct replicator *replica_of(const struct checks *checks,
                                           uint32_t node)
{
    const struct world_node *place = world_node(checks->world, node);

    return place->node ? machine_shard_data(node_machine(place->node, 0))
                       : NULL;
}

static struct kept_value kept_value(void *user, uint32_t node, uint16_t type,
                                    enum kept_key kind)
{
    const struct checks *checks = user;
    const struct node_settings *settings =
        &world_node(checks->world, node)->settings;
    const struct replicator *replicator = replica_of(checks, node);
    struct kept_value kept = { .written = CHECK_KEPT_NEVER };
    const struct dd_value *value;
    struct buf key = { 0 };

    if (!replicator)
        return kept;
    if (kind == KEPT_STATE)
        stored_state_key_put(&key, settings->types[type % FACT_TYPES_MAX].name);
    else
        stored_fences_key_put(&key, settings->types[type % FACT_TYPES_MAX].name);
    value = replicator_look(replicator, buf_slice(&key));
    if (value && dd_kind_of(value) == DD_REGISTER) {
        kept.written = dd_register_timestamp(value);
        kept.is_own =
            node_equal(dd_register_node(value), &settings->identity.node);
    }
    buf_fini(&key);
    return kept;
}

static struct kept_quorum kept_quorum(void *user, uint32_t node, bool is_read)
{
    const struct checks *checks = user;
    const struct node_settings *settings =
        &world_node(checks->world, node)->settings;
    const struct replicator *replicator = replica_of(checks, node);
    struct kept_quorum quorum = { 0 };
    struct replicator_members members;
    uint32_t plus = is_read ? settings->state_read_plus
                            : settings->state_write_plus;
    uint32_t least = settings->state_majority_min;

    if (!replicator)
        return quorum;
    members = replicator_members(replicator);
    plus = plus == STATE_NONE ? 0 : plus ? plus : is_read ? READ_PLUS : WRITE_PLUS;
    quorum.members = members.asked;
    quorum.needed = plus == STATE_ALL
                        ? members.asked
                        : consistency_majority(least ? least : MAJORITY_MIN,
                                               members.asked, plus);
    quorum.signature = members.signature + members.asked;
    return quorum;
}

static bool kept_counts(void *user, uint32_t node, uint32_t other)
{
    const struct checks *checks = user;
    const struct replicator *replicator = replica_of(checks, node);

    return replicator &&
           replicator_counts(
               replicator,
               &world_node(checks->world, other)->settings.identity.node);
}

struct checks *checks_new(struct world *world, uint64_t stop_ns)
{
    struct checks *checks = mem_alloc(sizeof *checks);
    struct verdict *verdict = world_verdict(world);
    struct world_observer observer = {
        .user = checks,
        .node_started = node_started,
        .node_leaves = node_leaves,
        .node_ended = node_ended,
        .line = line,
        .probe = probe,
    };
    struct kept_replicas kept = { .user = checks,
                                  .nodes = kept_nodes,
                                  .value = kept_value,
                                  .quorum = kept_quorum,
                                  .counts = kept_counts };

    checks->world = world;
    checks->verdict = verdict;
    checks->outside = outside_nodes_new(&checks->safety, stop_ns);
    checks->entity = check_entity_new(verdict, &checks->safety, stop_ns);
    checks->coordinator = check_coordinator_new(verdict, &checks->safety);
    checks->member = check_member_new(verdict);
    checks->gossip_seen = check_gossip_seen_new(verdict);
    checks->incarnation = check_incarnation_new(verdict);
    checks->peers = check_peers_new(verdict);
    checks->safety.are_together = are_together;
    checks->safety.user = checks;
    checks->live = check_liveness_new(verdict);
    checks->allocation = check_allocation_new(verdict);
    checks->homes = check_homes_new(verdict);
    checks->lease = check_lease_new(verdict, clock_of, checks);
    checks->shard_lease = check_shard_lease_new(verdict, clock_of, provider_has, checks);
    checks->stored = check_state_store_new(verdict, &checks->safety);
    checks->partition = check_resolver_new(verdict, checks->lease);
    checks->margin =
        check_margin_new(verdict, &checks->safety, clock_of, checks);
    checks->quorum = check_state_quorum_new(verdict, &checks->safety, &kept);
    checks->looked_at = world_now(world);
    world_observe(world, &observer);
    return checks;
}

void checks_free(struct checks *checks)
{
    if (!checks)
        return;
    check_entity_free(checks->entity);
    check_coordinator_free(checks->coordinator);
    check_member_free(checks->member);
    check_gossip_seen_free(checks->gossip_seen);
    check_incarnation_free(checks->incarnation);
    check_peers_free(checks->peers);
    check_liveness_free(checks->live);
    check_homes_free(checks->homes);
    check_lease_free(checks->lease);
    check_shard_lease_free(checks->shard_lease);
    check_state_store_free(checks->stored);
    check_state_quorum_free(checks->quorum);
    check_resolver_free(checks->partition);
    check_margin_free(checks->margin);
    check_allocation_free(checks->allocation);
    outside_nodes_free(checks->outside);
    mem_free(checks);
}
