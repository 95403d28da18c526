/* Connects a world, a workload and the message checker. */
#include "sim/workload/workload_world.h"

#include <string.h>

#include "base/check.h"
#include "base/hash.h"
#include "base/timers.h"
#include "ddata/replicator.h"
#include "node/machine/machine.h"
#include "shard/remember_keys.h"
#include "sim/seed/shard_text.h"
#include "sim/world/durable.h"
#include "sim/check/check_journal.h"
#include "sim/check/check_loss.h"
#include "sim/check/check_recovery.h"
#include "sim/check/check_remember.h"
#include "sim/check/check_replica.h"
#include "sim/check/check_shard_lease.h"
#include "sim/world/verdict.h"

#define ROUND (100 * MS) /* between two looks during a drain */
#define NO_ROLE "\xff\xff" /* before a key of sharding on the disk: worlds have no role */
/* distributed-data.majority-min-cap of sharding, which nodes take if it is not set */
#define CAP_MIN 5

struct workload_world {
    struct world *world;
    struct verdict *verdict;
    struct check_message *check;
    const struct check_safety *safety; /* null: no node is outside */
    uint32_t stores;
    struct check_journal **journals; /* these two: one for each journal of the world */
    struct check_recovery **recoveries;
    struct check_loss **losses;
    struct check_remember *remember;
    struct check_shard_lease *leases; /* null: shards have none */
    struct workload *workload;
    uint64_t roll_time; /* of the last roll call */
};

static void violated(void *user, const char *invariant, uint32_t node,
                     const char *text)
{
    struct workload_world *of = user;

    violation(of->verdict, invariant, node, "%s", text);
}

static uint64_t now(void *user)
{
    struct workload_world *of = user;

    return world_now(of->world);
}

/* ---- reports of the world ---- */

static void spawn(struct workload_world *of, uint32_t node)
{
    const struct workload_settings *settings =
        workload_settings_of(of->workload);
    uint32_t clients = settings->has_no_types ? 0 : settings->clients;
    uint32_t lanes = world_node(of->world, node)->settings.lanes;

    for (uint32_t i = 0; i < clients; i++) {
        struct sherd_bytes init;
        const struct sherd_behavior *behavior =
            workload_client(of->workload, node, &init);

        world_spawn(of->world, node, i % lanes, behavior, init.data, init.size);
    }
    for (uint32_t i = 0; !settings->has_no_types && i < settings->callers;
         i++) {
        struct sherd_bytes init;
        const struct sherd_behavior *behavior =
            workload_caller(of->workload, &node, &init);

        world_spawn(of->world, node, (clients + i) % lanes, behavior,
                    init.data, init.size);
    }
}

static void node_started(void *user, uint32_t node, uint64_t uid)
{
    struct workload_world *of = user;

    workload_node_started(of->workload, node, uid);
    spawn(of, node);
}

static void node_ended(void *user, uint32_t node, bool crashed, int error)
{
    struct workload_world *of = user;

    workload_node_ended(of->workload, node,
                        crashed ? CHECK_CRASHED
                        : error ? CHECK_DOWNED
                                : CHECK_LEFT);
    check_remember_node_ended(of->remember, node);
}

static void written(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                    struct slice bytes)
{
    struct workload_world *of = user;

    (void)to;
    check_message_written(of->check, pipe, from, bytes);
}

static void arrived(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                    struct slice bytes)
{
    struct workload_world *of = user;

    (void)from;
    check_message_arrived(of->check, pipe, to, bytes.size);
}

/* It was given up or leaves: nodes that learn of that close their connections to it. */
static bool is_parting(void *user, uint32_t node)
{
    const struct workload_world *of = user;
    const struct world_node *place = world_node(of->world, node);

    return (of->safety && of->safety->outside[node]) ||
           (place->is_up && !place->is_ready);
}

static void pipe_closed(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                        bool by_reader)
{
    struct workload_world *of = user;

    if (!is_parting(of, from) && !is_parting(of, to))
        check_message_pipe_closed(of->check, pipe, by_reader ? to : from);
}

static void pipe_ended(void *user, uint64_t pipe, uint32_t from, uint32_t to,
                       size_t lost, bool broken)
{
    struct workload_world *of = user;

    (void)from;
    (void)to;
    (void)lost; /* the checker has seen the bytes */
    check_message_pipe_ended(of->check, pipe, broken);
}

static void probe(void *user, uint32_t node, uint32_t machine,
                  const struct probe *probe)
{
    struct workload_world *of = user;

    (void)machine;
    if (probe->kind == PROBE_MESSAGE_ENDED)
        workload_message_ended(of->workload, node, probe->bytes);
    if (probe->kind == PROBE_MESSAGE_ENDED || probe->kind == PROBE_FRAME_ENDED)
        check_message_ended(of->check, node, probe->bytes,
                            (enum sherd_reason)probe->reason);
    else if (probe->kind == PROBE_BYTES_ENDED)
        check_message_dropped(of->check, node, probe->bytes);
    else
        check_remember_probe(of->remember, node, probe);
}

static void line(void *user, uint32_t node, const struct trace_line *line)
{
    struct workload_world *of = user;

    workload_line(of->workload, node, line->text);
}

static uint32_t store_of(const struct workload_world *of, uint32_t node)
{
    return node % of->stores;
}

static void acknowledged(void *user, uint32_t node, const char *type,
                         const char *id, uint64_t seq, uint32_t event_type,
                         struct slice event)
{
    struct workload_world *of = user;

    check_journal_acknowledged(of->journals[store_of(of, node)], type, id, seq,
                               event_type, event);
}

static void recovered(void *user, uint32_t node, const char *type,
                      const char *id, uint64_t events, uint64_t snapshot, uint64_t hash)
{
    struct workload_world *of = user;

    check_recovery_started(of->recoveries[store_of(of, node)], node, type, id,
                           events, snapshot, hash);
}

static void runs(void *user, uint32_t node, const char *type, struct slice id)
{
    struct workload_world *of = user;
    const struct node_settings *settings = &world_node(of->world, node)->settings;

    for (uint32_t i = 0; of->leases && i < settings->type_count; i++) {
        const struct sherd_entity_type *own = &settings->types[i];
        uint32_t shards = own->shards ? own->shards : settings->number_of_shards;

        if (strcmp(own->name, type) == 0)
            check_shard_lease_runs(of->leases, node, (uint16_t)i, hash_shard(id, shards));
    }
}

void workload_world_leases(struct workload_world *of, struct check_shard_lease *check)
{
    of->leases = check;
}

/* ---- replicas of remembered entities ---- */

static uint32_t nodes(void *user)
{
    struct workload_world *of = user;

    return world_node_count(of->world);
}

/* Null: there is none, or it still reads its disk. */
static const struct replicator *replica_of(const struct workload_world *of,
                                           uint32_t node)
{
    const struct world_node *place = world_node(of->world, node);
    const struct replicator *replicator =
        place->node ? machine_shard_data(node_machine(place->node, 0)) : NULL;

    return replicator && replicator_count(replicator) ? replicator : NULL;
}

static bool is_there(void *user, uint32_t node)
{
    return replica_of(user, node) != NULL;
}

static struct slice shard_id(const struct workload_world *of, int32_t shard,
                             char text[SIM_SHARD_MAX])
{
    return workload_settings_of(of->workload)->extractor ? sim_shard_text(shard, text)
                                                           : shard_text(shard, text);
}

static bool has(void *user, uint32_t node, uint32_t type, int32_t shard,
                struct slice id)
{
    struct workload_world *of = user;
    const struct replicator *replicator = replica_of(of, node);
    struct dd_element element = { .kind = DD_TEXT, .text = id };
    uint32_t count;
    const struct dd_value *value;
    struct buf key = { 0 };
    char text[SIM_SHARD_MAX];
    bool found;

    if (!replicator)
        return false;
    remember_key_put(&key, workload_types(of->workload, &count)[type].name,
                     shard_id(of, shard, text), remember_key_of(id));
    value = replicator_look(replicator, buf_slice(&key));
    found = value && dd_kind_of(value) == DD_ORSET &&
            dd_set_has(value, &element);
    buf_fini(&key);
    return found;
}

static bool is_kept(void *user, uint32_t node, uint32_t type, int32_t shard,
                    struct slice id)
{
    struct workload_world *of = user;
    struct dd_element element = { .kind = DD_TEXT, .text = id };
    struct buf key = { 0 };
    struct slice bytes;
    char text[SIM_SHARD_MAX];
    uint32_t count;
    bool found;

    buf_put_text(&key, NO_ROLE);
    remember_key_put(&key, workload_types(of->workload, &count)[type].name,
                     shard_id(of, shard, text), remember_key_of(id));
    found = world_durable_value(of->world, node, buf_slice(&key), &bytes) &&
            check_replica_stores(bytes, &element);
    buf_fini(&key);
    return found;
}

static uint32_t needed(void *user, uint32_t node, uint64_t *signature)
{
    const struct workload_world *of = user;
    const struct replicator *replicator = replica_of(user, node);
    uint32_t least =
        world_node(of->world, node)->settings.state_majority_min;
    struct replicator_members members = { 0 };

    if (replicator)
        members = replicator_members(replicator);
    *signature = members.signature;
    return consistency_majority(least ? least : CAP_MIN, members.count, 0);
}

void workload_world_in_data(struct workload_world *of)
{
    const struct remember_replicas replicas = { .user = of,
                                                .nodes = nodes,
                                                .is_there = is_there,
                                                .has = has,
                                                .is_kept = is_kept,
                                                .needed = needed };

    check_remember_in_data(of->remember, &replicas);
}

/* ---- lifetime ---- */

static void look_at_remembered(struct workload_world *of)
{
    uint32_t count;
    const struct sherd_entity_type *types =
        workload_types(of->workload, &count);
    struct disk_backend_observer store;

    of->remember = check_remember_new(of->verdict, types, count);
    store = check_remember_observer(of->remember);
    world_store_observe(of->world, 0, &store);
}

static void look_at_journals(struct workload_world *of)
{
    uint32_t count = of->stores = world_store_count(of->world);

    of->journals = mem_alloc(count * sizeof(struct check_journal *));
    of->recoveries = mem_alloc(count * sizeof(struct check_recovery *));
    of->losses = mem_alloc(count * sizeof(struct check_loss *));
    for (uint32_t i = 0; i < count; i++) {
        struct disk_backend_observer store;

        of->journals[i] = check_journal_new(of->verdict);
        store = check_journal_observer(of->journals[i]);
        world_store_observe(of->world, i, &store);
        of->recoveries[i] = check_recovery_new(of->verdict);
        store = check_recovery_observer(of->recoveries[i]);
        world_store_observe(of->world, i, &store);
        of->losses[i] = check_loss_new(of->verdict);
        store = check_loss_observer(of->losses[i]);
        world_store_observe(of->world, i, &store);
    }
}

struct workload_world *workload_world_new(struct world *world,
                                          const struct workload_settings *settings)
{
    struct workload_world *of = mem_alloc(sizeof *of);
    struct workload_hooks hooks = { .user = of,
                                    .violation = violated,
                                    .now = now,
                                    .is_parting = is_parting,
                                    .acknowledged = acknowledged,
                                    .runs = runs,
                                    .recovered = recovered };
    struct world_observer observer = { .user = of,
                                       .node_started = node_started,
                                       .node_ended = node_ended,
                                       .line = line,
                                       .written = written,
                                       .arrived = arrived,
                                       .pipe_closed = pipe_closed,
                                       .pipe_ended = pipe_ended,
                                       .probe = probe };
    struct workload_settings own = *settings;

    own.seed = own.seed ? own.seed : world_seed(world);
    if (own.has_no_types) { /* written bytes never have a token */
        observer.written = NULL;
        observer.arrived = NULL;
        observer.pipe_closed = NULL;
        observer.pipe_ended = NULL;
    }
    of->world = world;
    of->verdict = world_verdict(world);
    of->check = check_message_new(violated, of);
    check_message_mailboxes(of->check, own.mailbox_max);
    of->workload = workload_new(&own, &hooks, of->check);
    look_at_journals(of);
    look_at_remembered(of);
    world_observe(world, &observer);
    return of;
}

void workload_world_free(struct workload_world *of)
{
    if (!of)
        return;
    workload_free(of->workload);
    check_message_free(of->check);
    for (uint32_t i = 0; i < of->stores; i++) {
        check_journal_free(of->journals[i]);
        check_recovery_free(of->recoveries[i]);
        check_loss_free(of->losses[i]);
    }
    mem_free(of->journals);
    mem_free(of->recoveries);
    mem_free(of->losses);
    check_remember_free(of->remember);
    mem_free(of);
}

struct workload *workload_world_of(const struct workload_world *of)
{
    return of->workload;
}

void workload_world_safety(struct workload_world *of,
                           const struct check_safety *safety)
{
    of->safety = safety;
    check_message_safety(of->check, safety);
    check_remember_safety(of->remember, safety);
}

void workload_world_quiet(struct workload_world *of, bool on)
{
    check_message_quiet(of->check, on);
}

struct check_remember *
workload_world_remember(const struct workload_world *of)
{
    return of->remember;
}

/* ---- a run ---- */

void workload_world_recoveries(struct workload_world *of, uint32_t node,
                               const struct sherd_recovery_status *status, uint32_t lanes)
{
    uint32_t most = workload_settings_of(of->workload)->recoveries_max;

    most = lanes > most ? lanes : most;
    if (status->running > most)
        violation(of->verdict, "recovery-limit", node,
                  "%llu entities recover at a time, at most %u may",
                  (unsigned long long)status->running, most);
    if (status->started != status->running + status->done + status->failed + status->stopped)
        violation(of->verdict, "recovery-limit", node,
                  "%llu recoveries have started; %llu run, %llu are done, %llu failed, "
                  "%llu were stopped",
                  (unsigned long long)status->started,
                  (unsigned long long)status->running,
                  (unsigned long long)status->done,
                  (unsigned long long)status->failed,
                  (unsigned long long)status->stopped);
}

void workload_world_sample(struct workload_world *of)
{
    for (uint32_t i = 0; i < world_node_count(of->world); i++) {
        const struct world_node *node = world_node(of->world, i);
        struct sherd_status status;

        if (!node->node || node->is_paused)
            continue;
        status = world_counts(of->world, i);
        workload_status(of->workload, i, &status,
                        node->settings.buffer_size == BUFFER_NONE ? 0
                                                                  : node->settings.buffer_size,
                        node->settings.lanes);
        workload_world_recoveries(of, i, &status.recoveries, node->settings.lanes);
        world_status_fini(&status);
    }
}

void workload_world_stop(struct workload_world *of)
{
    workload_stop(of->workload);
}

uint64_t workload_world_open(const struct workload_world *of)
{
    return check_message_counts(of->check).open;
}

bool workload_world_is_drained(const struct workload_world *of)
{
    return workload_idle(of->workload) && !workload_world_open(of);
}

void workload_world_drained(struct workload_world *of)
{
    (void)check_message_drained(of->check); /* these two report to the verdict */
    (void)workload_drained(of->workload);
}

bool workload_world_drain(struct workload_world *of, uint64_t limit)
{
    uint64_t end = world_now(of->world) + limit;
    bool drained;

    workload_world_stop(of);
    while (!(drained = workload_world_is_drained(of)) &&
           world_now(of->world) < end)
        world_run(of->world, ROUND);
    workload_world_drained(of);
    return drained;
}

struct check_journal_counts workload_world_journal_counts(
    const struct workload_world *of)
{
    struct check_journal_counts sum = { 0 };

    for (uint32_t i = 0; i < world_store_count(of->world); i++) {
        const struct check_journal_counts *more =
            check_journal_counts(of->journals[i]);

        sum.events += more->events;
        sum.acknowledged += more->acknowledged;
        sum.refused += more->refused;
        sum.fenced += more->fenced;
        sum.unknown += more->unknown;
        sum.found += more->found;
        sum.replays += more->replays;
        sum.scans += more->scans;
    }
    return sum;
}

const struct check_journal *workload_world_journal(
    const struct workload_world *of)
{
    return of->journals[0];
}

uint64_t workload_world_roll_time(const struct workload_world *of)
{
    return of->roll_time;
}

bool workload_world_roll(struct workload_world *of, uint32_t count,
                         uint64_t limit)
{
    uint64_t end;
    char text[120] = "";
    uint32_t missing;

    of->roll_time = workload_roll_begin(of->workload, count);
    limit += of->roll_time;
    end = world_now(of->world) + limit;
    while ((missing = workload_roll_missing(of->workload, text,
                                            sizeof text)) != 0 &&
           world_now(of->world) < end)
        world_run(of->world, ROUND);
    if (missing)
        violation(of->verdict, "entities-answer", VERDICT_NO_NODE,
                  "%u entities have not answered for %llu ms, as %s", missing,
                  (unsigned long long)(limit / MS), text);
    return !missing;
}
