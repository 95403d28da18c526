/* Reads every configuration key that node or driver use, once, here or in a file that this one
 * calls. */
#define _GNU_SOURCE
#include "host/settings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>

#include <uv.h>

#include "actor/actors.h"
#include "artery/extension.h"
#include "base/check.h"
#include "base/host_name.h"
#include "base/limits.h"

#define MS_NS 1000000ull
#define SHARDING "cluster.sharding."
#define COORDINATOR SHARDING "coordinator-singleton."
#define HASHING SHARDING "consistent-hashing-allocation-strategy."
#define PASSIVATION SHARDING "passivation."
#define DETECTOR "cluster.failure-detector."
#define LEAST_SHARD SHARDING "least-shard-allocation-strategy."
#define RESOLVER "cluster.split-brain-resolver."

static bool is_application(int32_t serializer)
{
    return serializer == SHERD_FORMAT_BYTES ||
           (serializer >= 18 && serializer <= 21) ||
           (serializer >= 31 && serializer <= 35) ||
           (serializer > 40 && serializer != SERIALIZER_SHERD);
}

static int read_formats(struct settings *settings,
                        const struct sherd_options *options, char *error,
                        size_t size)
{
    if (options->format_count > FORMATS_MAX) {
        (void)snprintf(error, size, "options.format_count is %u; it must be at "
                                    "most %d",
                       (unsigned)options->format_count, FORMATS_MAX);
        return SHERD_EINVAL;
    }
    for (uint32_t i = 0; i < options->format_count; i++) {
        struct sherd_format format = options->formats[i];
        bool good = format.manifest && is_application(format.serializer);

        for (uint32_t j = 0; good && j < i; j++) {
            const struct sherd_format *other = &options->formats[j];

            good = other->msg != format.msg &&
                   (other->serializer != format.serializer ||
                    strcmp(other->manifest, format.manifest) != 0);
        }
        if (!good) {
            (void)snprintf(error, size,
                           "options.formats[%u]: serializer %d is reserved, or "
                           "appears twice",
                           (unsigned)i, (int)format.serializer);
            return SHERD_EINVAL;
        }
        format.manifest = mem_text(format.manifest);
        vec_push(&settings->formats, format);
    }
    settings->node.formats = settings->formats.items;
    settings->node.format_count = settings->formats.count;
    return 0;
}

static int read_addresses(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    uint32_t count = config_list(config, "cluster.seed-nodes");

    for (uint32_t i = 0; i < count; i++) {
        const char *text = config_list_at(config, "cluster.seed-nodes", i);
        struct address address;

        memset(&address, 0, sizeof address);
        if (!address_parse(&address, text, settings->node.identity.protocol,
                           settings->node.identity.system))
            return settings_refuse_seed(settings, error, size, text);
        vec_push(&settings->seeds, address);
    }
    settings->node.seed_nodes = settings->seeds.items;
    settings->node.seed_node_count = settings->seeds.count;
    count = config_list(config, "cluster.roles");
    for (uint32_t i = 0; i < count; i++)
        vec_push(&settings->roles, config_list_at(config, "cluster.roles", i));
    settings->node.roles = settings->roles.items;
    settings->node.role_count = settings->roles.count;
    return 0;
}

/* Accepts Akka's words and class names; with each of them the node is a cluster node. */
static bool is_provider(const char *text)
{
    static const char *const names[] = {
        "cluster",
        "remote",
        "local",
        "akka.cluster.ClusterActorRefProvider",
        "akka.remote.RemoteActorRefProvider",
        "akka.actor.LocalActorRefProvider",
        "org.apache.pekko.cluster.ClusterActorRefProvider",
        "org.apache.pekko.remote.RemoteActorRefProvider",
        "org.apache.pekko.actor.LocalActorRefProvider",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], text) == 0)
            return true;
    return false;
}

static int check_provider(const struct settings *settings, char *error,
                          size_t size)
{
    const char *provider = config_text(settings->config, "actor.provider");

    if (!is_provider(provider))
        return settings_refuse(settings, error, size, "actor.provider",
                               "is \"%s\"; it must be cluster, remote, local "
                               "or the reference's class of one",
                               provider);
    return 0;
}

static int read_self(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    struct identity *identity = &settings->node.identity;
    const char *host = config_text(config, "remote.artery.canonical.hostname");
    int64_t port = config_int(config, "remote.artery.canonical.port");
    int64_t bind_port = config_int(config, "remote.artery.bind.port");
    char sign[HOST_SIGN_SIZE];
    const char *fault;

    settings->port_any = port == 0;
    if (settings_read_names(settings, error, size) != 0 ||
        check_provider(settings, error, size) != 0 ||
        settings_read_host_name(settings, "remote.artery.canonical.hostname",
                                &host, error, size) != 0)
        return SHERD_ECONFIG;
    fault = host_name_fault(host, strlen(host));
    if (fault)
        return settings_refuse(settings, error, size,
                               "remote.artery.canonical.hostname",
                               "is \"%s\"; no host has %s", host,
                               host_name_sign(fault, sign));
    /* The port is set when it is bound; until then it is 1. */
    if (!address_set_named(&identity->node.address, host, strlen(host),
                           port == 0 ? 1 : (uint32_t)port)) {
        return settings_refuse(settings, error, size,
                      "remote.artery.canonical.hostname",
                      "is \"%s\", which is not a host's name (1 to %d bytes)",
                      host, HOST_MAX);
    }
    if (settings_check_host(settings, "remote.artery.canonical.hostname", host,
                            error, size) != 0)
        return SHERD_ECONFIG;
    settings->bind_host = config_text(config, "remote.artery.bind.hostname");
    if (settings_read_host_name(settings, "remote.artery.bind.hostname",
                                &settings->bind_host, error, size) != 0)
        return SHERD_ECONFIG;
    if (!settings->bind_host[0])
        settings->bind_host = host;
    settings->bind_port =
        (uint16_t)(bind_port == CONFIG_WORD ? port : bind_port);
    return 0;
}

static int read_random(struct settings *settings, char *error, size_t size)
{
    uint64_t random[2] = { 0, 0 };

    do {
        if (getrandom(random, sizeof random, 0) != sizeof random) {
            (void)snprintf(error, size, "cannot get random numbers: %s",
                           strerror(errno));
            return SHERD_ESYSTEM;
        }
    } while (random[0] == 0);
    settings->node.identity.node.uid = random[0];
    settings->node.seed = random[1];
    return 0;
}

static void read_cluster(struct settings *settings)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;
    const char *weakly = "cluster.allow-weakly-up-members";

    node->gossip_interval =
        config_duration_ns(config, "cluster.gossip-interval");
    node->leader_actions_interval =
        config_duration_ns(config, "cluster.leader-actions-interval");
    node->unreachable_reaper_interval = config_duration_ns(
        config, "cluster.unreachable-nodes-reaper-interval");
    node->seed_node_timeout =
        config_duration_ns(config, "cluster.seed-node-timeout");
    node->retry_unsuccessful_join_after = config_duration_ns(
        config, "cluster.retry-unsuccessful-join-after");
    node->weakly_up_after = strcmp(config_text(config, weakly), "on") == 0
                                ? 0
                                : config_duration_ns(config, weakly);
    node->min_nr_of_members =
        (uint32_t)config_int(config, "cluster.min-nr-of-members");
    node->app_version = config_text(config, "cluster.app-version");
    node->heartbeat_interval =
        config_duration_ns(config, DETECTOR "heartbeat-interval");
    node->acceptable_heartbeat_pause =
        config_duration_ns(config, DETECTOR "acceptable-heartbeat-pause");
    node->min_std_deviation =
        config_duration_ns(config, DETECTOR "min-std-deviation");
    node->first_heartbeat_estimate =
        config_duration_ns(config, DETECTOR "expected-response-after");
    node->phi_threshold = config_number(config, DETECTOR "threshold");
    node->monitored_by_nr_of_members =
        (uint32_t)config_int(config, DETECTOR "monitored-by-nr-of-members");
}

/* Accepts the provider of Akka or Pekko; empty is none. */
static bool provider_resolves(const char *provider, bool *resolves)
{
    static const char name[] = ".cluster.sbr.SplitBrainResolverProvider";
    size_t size = strlen(provider);
    size_t tail = sizeof name - 1;

    *resolves = size > tail && strcmp(provider + size - tail, name) == 0 &&
                (strncmp(provider, "akka.", 5) == 0 ||
                 strncmp(provider, "org.apache.pekko.", 17) == 0);
    return *resolves || !size;
}

static uint64_t duration_or_none(const struct config *config, const char *key)
{
    uint64_t time = config_duration_ns(config, key);

    return time == CONFIG_OFF ? 0 : time;
}

/* "on" is 3/4 of the stable time, at least 4 s, as in Akka. */
static uint64_t unstable_after(const struct config *config,
                               uint64_t stable_after)
{
    const char *key = RESOLVER "down-all-when-unstable";
    const char *word = config_text(config, key);
    uint64_t part = stable_after / 4 * 3;

    if (strcmp(word, "on") == 0)
        return part > 4000 * MS_NS ? part : 4000 * MS_NS;
    return duration_or_none(config, key);
}

static const char *role_of(const struct config *config,
                           enum strategy_kind strategy)
{
    char key[128];
    const char *role;

    if (strategy == STRATEGY_DOWN_ALL)
        return NULL;
    (void)snprintf(key, sizeof key, RESOLVER "%s.role",
                   strategy_text(strategy));
    role = config_text(config, key);
    return role[0] ? role : NULL;
}

static int read_downing(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;
    struct resolver_settings *resolver = &node->resolver;
    struct strategy *strategy = &resolver->strategy;
    const char *provider = config_text(config,
                                       "cluster.downing-provider-class");
    int64_t quorum = config_int(config, RESOLVER "static-quorum.quorum-size");

    node->quarantine_removed_after =
        config_duration_ns(config, "cluster.quarantine-removed-node-after");
    if (!node->quarantine_removed_after)
        node->quarantine_removed_after = 1; /* the core's zero is its default */
    node->down_removal_margin =
        duration_or_none(config, "cluster.down-removal-margin");
    if (!provider_resolves(provider, &node->resolves)) {
        return settings_refuse(settings, error, size, "cluster.downing-provider-class",
                      "is \"%s\", which is not known; it must be empty or "
                      "akka.cluster.sbr.SplitBrainResolverProvider",
                      provider);
    }
    if (!node->resolves)
        return 0;
    (void)strategy_parse(config_text(config, RESOLVER "active-strategy"),
                         &strategy->kind); /* a valid choice */
    if (strategy->kind == STRATEGY_STATIC_QUORUM && quorum == CONFIG_WORD) {
        return settings_refuse(settings, error, size,
                      RESOLVER "static-quorum.quorum-size",
                      "must be set for active-strategy = static-quorum");
    }
    if (strategy->kind == STRATEGY_LEASE_MAJORITY &&
        !settings_read_lease_majority(settings, error, size))
        return SHERD_ECONFIG;
    strategy->quorum_size = quorum == CONFIG_WORD ? 0 : (uint32_t)quorum;
    strategy->keeps_alone =
        !config_bool(config, RESOLVER "keep-oldest.down-if-alone");
    strategy->joining_breaks_tie =
        config_bool(config, RESOLVER "keep-majority.joining-breaks-tie");
    node->resolver_role = role_of(config, strategy->kind);
    resolver->stable_after =
        config_duration_ns(config, RESOLVER "stable-after");
    resolver->unstable_after = unstable_after(config, resolver->stable_after);
    if (!node->down_removal_margin)
        node->down_removal_margin = resolver->stable_after;
    return 0;
}

/* The configuration has checked the name. */
static enum allocation_kind allocation_of(const char *name)
{
    int kind = 0;

    while (strcmp(name, allocation_kind_text((enum allocation_kind)kind)) != 0)
        kind++;
    return (enum allocation_kind)kind;
}

static void read_sharding(struct settings *settings)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;

    node->sharding_role = config_text(config, SHARDING "role");
    if (!config_bool(config, SHARDING "coordinator-singleton-role-override"))
        node->coordinator_role = config_text(config, COORDINATOR "role");
    node->verbose_sharding = config_bool(config, SHARDING "verbose-debug-logging");
    node->coordinator_backoff = config_duration_ns(config, SHARDING "coordinator-failure-backoff");
    node->coordinator_retry = config_duration_ns(config, COORDINATOR "hand-over-retry-interval");
    node->coordinator_retries =
        (uint32_t)config_int(config, COORDINATOR "min-number-of-hand-over-retries");
    node->number_of_shards =
        (uint32_t)config_int(config, SHARDING "number-of-shards");
    node->buffer_size = (uint32_t)config_int(config, SHARDING "buffer-size");
    if (!node->buffer_size)
        node->buffer_size = BUFFER_NONE;
    node->rebalance_absolute_limit =
        (uint32_t)config_int(config, LEAST_SHARD "rebalance-absolute-limit");
    node->rebalance_relative_limit =
        config_number(config, LEAST_SHARD "rebalance-relative-limit");
    if (node->rebalance_relative_limit == 0)
        node->rebalance_relative_limit = RELATIVE_NONE;
    node->rebalance_threshold =
        (uint32_t)config_int(config, LEAST_SHARD "rebalance-threshold");
    node->max_simultaneous_rebalance =
        (uint32_t)config_int(config, LEAST_SHARD "max-simultaneous-rebalance");
    node->retry_interval =
        config_duration_ns(config, SHARDING "retry-interval");
    node->handoff_timeout =
        config_duration_ns(config, SHARDING "handoff-timeout");
    node->shard_start_timeout =
        config_duration_ns(config, SHARDING "shard-start-timeout");
    node->rebalance_interval =
        config_duration_ns(config, SHARDING "rebalance-interval");
    node->allocation = allocation_of(
        config_text(config, SHARDING "allocation-strategy"));
    node->hashing_limit =
        (uint32_t)config_int(config, HASHING "rebalance-limit");
    node->load_bound = config_number(config, HASHING "load-bound");
    node->locations_timeout =
        config_duration_ns(config, SHARDING "external-shard-allocation-strategy"
                                            ".client-timeout");
    node->outbound_queue = (uint32_t)config_int(
        config, "remote.artery.advanced.outbound-message-queue-size");
    node->outbound_control_queue = (uint32_t)config_int(
        config, "remote.artery.advanced.outbound-control-queue-size");
}


/* Nodes with other names do not find each other's regions and coordinators. */
static void put_sharding_names(struct buf *json, const struct node_settings *node)
{
    bool has_role = node->coordinator_role && *node->coordinator_role;

    if (!node->guardian && !has_role)
        return;
    buf_put_text(json, ",\"sherd\":{\"sharding\":{");
    if (node->guardian) {
        buf_put_text(json, "\"guardian-name\":");
        settings_put_quoted(json, node->guardian);
    }
    if (has_role) {
        buf_put_text(json, node->guardian ? ",\"coordinator-role\":" : "\"coordinator-role\":");
        settings_put_quoted(json, node->coordinator_role);
    }
    buf_put_text(json, "}}");
}

static int read_guardian(struct settings *settings, char *error, size_t size)
{
    const char *name = config_text(settings->config, SHARDING "guardian-name");

    if (!actor_name_is_valid(slice_text(name)))
        return settings_refuse(settings, error, size, SHARDING "guardian-name",
                               "is \"%s\", which no actor can have as its name", name);
    if (strcmp(name, "sharding") != 0)
        settings->node.guardian = name;
    return 0;
}

/* Settings that a joining node compares. The provider's key is always among them, as a JVM without
 * it stops. A JVM has its strategy with every provider, and compares it with ours if it is
 * present. */
static void make_join_config(struct settings *settings)
{
    const struct config *config = settings->config;
    struct buf buf = { 0 };
    char number[16];

    buf_put_text(&buf, "{");
    settings_put_quoted(&buf, settings->node.identity.protocol);
    buf_put_text(&buf, ":{\"cluster\":{\"downing-provider-class\":");
    settings_put_quoted(&buf, config_text(config, "cluster.downing-provider-class"));
    buf_put_text(&buf, ",\"split-brain-resolver\":{\"active-strategy\":");
    settings_put_quoted(&buf, config_text(config, RESOLVER "active-strategy"));
    buf_put_u8(&buf, '}');
    buf_put_text(&buf, ",\"sharding\":{\"state-store-mode\":");
    settings_put_quoted(&buf, config_text(config, SHARDING "state-store-mode"));
    (void)snprintf(number, sizeof number, "%u",
                   (unsigned)settings->node.number_of_shards);
    buf_put_text(&buf, ",\"number-of-shards\":");
    buf_put_text(&buf, number);
    buf_put_text(&buf, "}}}");
    settings_put_lease_scope(&buf, settings);
    put_sharding_names(&buf, &settings->node);
    buf_put_u8(&buf, '}');
    settings->join_config = mem_copy(buf.data, buf.size);
    settings->node.join_config = settings->join_config;
    buf_fini(&buf);
}

/* One id for each data center: two that share a journal by mistake must not write one history. */
static void read_cluster_id(struct settings *settings)
{
    struct node_settings *node = &settings->node;
    struct buf id = { 0 };

    node->cluster_id = config_text(settings->config, "journal.cluster-id");
    if (node->cluster_id[0])
        return;
    buf_put_text(&id, node->identity.system);
    if (strcmp(node->data_center, "default") != 0) {
        buf_put_text(&id, "@");
        buf_put_text(&id, node->data_center);
    }
    buf_put_u8(&id, 0);
    settings->cluster_id = mem_text((const char *)id.data);
    node->cluster_id = settings->cluster_id;
    buf_fini(&id);
}

/* Checks limits, and the file: SQLite takes some names for something else. */
static int check_journal(const struct settings *settings, char *error,
                         size_t size)
{
    static const char key[] = "journal.sqlite.path";
    static const char rate[] = "journal.sqlite.check-rate";
    static const char image[] = "journal.snapshot-size-max";
    const char *path = config_text(settings->config, key);
    uint64_t image_max = config_size(settings->config, image);
    const char *why = NULL;

    if (image_max < 1 || image_max > SHERD_SNAPSHOT_MAX)
        return settings_refuse(settings, error, size, image, "must be at least 1 byte and at most 16 MiB");
    if (strcmp(config_text(settings->config, "journal.plugin"), "sqlite") != 0)
        return 0;
    if (config_size(settings->config, rate) < BACKEND_CHECK_RATE_MIN)
        return settings_refuse(settings, error, size, rate,
                               "must be at least 64 KiB; journal.sqlite."
                               "check-interval = off switches checks off");
    if (!path[0])
        why = "names no file; write the path of the journal";
    else if (strcmp(path, ":memory:") == 0)
        why = "is SQLite's name of a database in memory, which each thread "
              "would have for itself; set journal.plugin = memory, or write "
              "the path of a file";
    else if (strncmp(path, "file:", 5) == 0)
        why = "is a URI; write the path alone";
    else if (strncmp(path, "~/", 2) == 0)
        why = "begins with ~, which only shells replace; write the whole path";
    else if (strstr(path, "${"))
        why = "has a reference in quotes, where it is not replaced; end the "
              "quotes before it";
    return why ? settings_refuse(settings, error, size, key, "\"%s\" %s", path,
                                 why)
               : 0;
}

static void read_host(struct settings *settings)
{
    const struct config *config = settings->config;
    int64_t lanes = config_int(config, "lanes");
    const char *poll = config_text(config, "poll");
    uint64_t wait =
        config_duration_ns(config, "journal.sqlite.lock-timeout") / MS_NS;
    int64_t long_replay;

    if (lanes == CONFIG_WORD)
        lanes = (int64_t)uv_available_parallelism();
    settings->node.lanes = (uint32_t)(lanes < LANES_MAX ? lanes : LANES_MAX);
    settings->node.clock = uv_hrtime;

    read_cluster_id(settings);
    settings->poll = strcmp(poll, "latency") == 0  ? POLL_LATENCY
                     : strcmp(poll, "frugal") == 0 ? POLL_FRUGAL
                                                   : POLL_AUTOMATIC;
    settings->stalled_leave_after =
        config_duration_ns(config, "stalled-lane.leave-after");
    settings->node.slow_handler =
        config_duration_ns(config, "slow-handler.report-after");
    settings->node.recoveries_max =
        (uint32_t)config_int(config, "journal.max-concurrent-recoveries");
    long_replay = config_int(config, "journal.long-replay-events");
    settings->node.long_replay =
        long_replay == CONFIG_WORD ? LONG_REPLAY_NONE : (uint32_t)long_replay;
    settings->node.snapshot_max = (uint32_t)config_size(config, "journal.snapshot-size-max");
    settings->pool_threads = (uint32_t)config_int(config, "pool.threads");
    settings->pool_close_timeout =
        config_duration_ns(config, "pool.close-timeout");
    settings->has_journal =
        config_origin(config, "journal.plugin").kind != CONFIG_DEFAULT;
    settings->node.terms_by_clock = !settings->sqlite && !settings->plugin;
    settings->sqlite_path = config_text(config, "journal.sqlite.path");
    settings->any_store = config_bool(config, "journal.allow-different-stores");
    settings->lock_wait_ms = wait < UINT32_MAX ? (uint32_t)wait : UINT32_MAX;
    settings->check_interval =
        config_duration_ns(config, "journal.sqlite.check-interval");
    if (settings->check_interval == CONFIG_OFF)
        settings->check_interval = 0;
    settings->check_rate = config_size(config, "journal.sqlite.check-rate");
}

int settings_read(struct settings *settings,
                  const struct sherd_options *options, char *error, size_t size)
{
    struct config_problem problem;
    int result;

    memset(settings, 0, sizeof *settings);
    settings->config = config_new();
    result = settings_gather(settings->config, options, error, size);
    if (result != 0)
        return result;
    if (!config_finish(settings->config, &problem)) {
        (void)snprintf(error, size, "%s", problem.text);
        return SHERD_ECONFIG;
    }
    settings->node.alone = options->alone != 0;
    result = read_formats(settings, options, error, size);
    if (result == 0)
        result = read_self(settings, error, size);
    if (result == 0)
        result = read_addresses(settings, error, size);
    if (result == 0)
        result = settings_read_seeds(settings, error, size);
    if (result == 0)
        result = settings_read_leases(settings, error, size);
    if (result == 0)
        result = read_downing(settings, error, size);
    if (result == 0)
        result = settings_read_tls(settings, error, size);
    if (result == 0)
        result = settings_read_strangers(settings, error, size);
    if (result == 0)
        result = settings_read_large(settings, error, size);
    if (result == 0)
        result = read_random(settings, error, size);
    if (result != 0)
        return result;
    read_cluster(settings);
    result = settings_read_members(settings, error, size);
    if (result != 0)
        return result;
    result = settings_read_passivation(settings, error, size);
    if (result)
        return result;
    settings_read_remembering(settings);
    settings_read_health(settings);
    settings_read_services(settings);
    result = settings_read_data(settings, error, size);
    if (result != 0)
        return result;
    result = check_journal(settings, error, size);
    if (result == 0)
        result = settings_read_journal(settings, error, size);
    if (result == 0)
        result = settings_read_delivery(settings, error, size);
    if (result != 0)
        return result;
    result = read_guardian(settings, error, size);
    if (result != 0)
        return result;
    read_sharding(settings);
    read_host(settings);
    make_join_config(settings);
    return 0;
}

void settings_fini(struct settings *settings)
{
    config_free(settings->config);
    mem_free(settings->journal_key);
    vec_fini(&settings->seeds);
    vec_fini(&settings->roles);
    for (uint32_t i = 0; i < settings->formats.count; i++)
        mem_free((char *)(uintptr_t)settings->formats.items[i].manifest);
    vec_fini(&settings->formats);
    vec_fini(&settings->etcd_endpoints);
    mem_free(settings->dns_name);
    mem_free(settings->dns_servers);
    vec_fini(&settings->algorithms);
    vec_fini(&settings->pins);
    vec_fini(&settings->durable_keys);
    vec_fini(&settings->shard_durable_keys);
    vec_fini(&settings->checked_types);
    vec_fini(&settings->strategies);
    vec_fini(&settings->expiries);
    vec_fini(&settings->large_destinations);
    settings_fini_members(settings);
    mem_free(settings->join_config);
    mem_free(settings->cluster_id);
    mem_free(settings->system_name);
    for (uint32_t i = 0; i < settings->paths.count; i++)
        mem_free(settings->paths.items[i]);
    vec_fini(&settings->paths);
    mem_free(settings->own_host[0]);
    mem_free(settings->own_host[1]);
    memset(settings, 0, sizeof *settings);
}
