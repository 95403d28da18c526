/* Reads membership settings other than single amounts: minimums by role, and amounts that may be
 * off. */
#include "host/settings.h"

#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/timers.h"
#include "member/member.h"

#define ROLE "cluster.role."
#define MINIMUM ".min-nr-of-members"
#define CENTERS "cluster.multi-data-center."

/* For settings where zero means none. */
static uint64_t unless_off(const struct config *config, const char *key)
{
    uint64_t duration = config_duration_ns(config, key);

    return duration == CONFIG_OFF ? 0 : duration;
}

/* Rounds up to 1 ms, as the core's zero is its default. */
static uint64_t some(uint64_t duration)
{
    return duration < MS ? MS : duration;
}

/* The key's name contains the role. */
static void read_minimums(struct settings *settings)
{
    struct config_setting setting;
    uint32_t at = 0;

    while (config_next_setting(settings->config, &at, &setting)) {
        size_t size = strlen(setting.key);
        char *role;

        if (size <= strlen(ROLE) + strlen(MINIMUM) ||
            strncmp(setting.key, ROLE, strlen(ROLE)) != 0 ||
            strcmp(setting.key + size - strlen(MINIMUM), MINIMUM) != 0)
            continue;
        role = mem_text(setting.key + strlen(ROLE));
        role[size - strlen(ROLE) - strlen(MINIMUM)] = 0;
        vec_push(&settings->minimum_roles, (const char *)role);
        vec_push(&settings->role_minimums,
                 (uint32_t)config_int(settings->config, setting.key));
    }
    settings->node.minimum_roles = settings->minimum_roles.items;
    settings->node.role_minimums = settings->role_minimums.items;
    settings->node.role_minimum_count = settings->minimum_roles.count;
}

static void read_centers(struct settings *settings)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;

    node->data_center = config_text(config, CENTERS "self-data-center");
    node->cross_connections = (uint32_t)config_int(
        config, CENTERS "cross-data-center-connections");
    node->cross_gossip_probability = config_number(
        config, CENTERS "cross-data-center-gossip-probability");
    if (node->cross_gossip_probability < 0.01)
        node->cross_gossip_probability = 0.01; /* as for different views */
    node->cross_heartbeat_interval = config_duration_ns(
        config, CENTERS "failure-detector.heartbeat-interval");
    node->cross_heartbeat_expected = config_duration_ns(
        config, CENTERS "failure-detector.expected-response-after");
    node->cross_heartbeat_pause = some(config_duration_ns(
        config, CENTERS "failure-detector.acceptable-heartbeat-pause"));
}

/* Refuses what the membership core would abort on. */
static int check_self(const struct settings *settings, char *error, size_t size)
{
    const struct node_settings *node = &settings->node;
    struct member_settings self = { .roles = node->roles,
                                    .role_count = node->role_count };
    char why[128];

    if (!member_settings_valid(&self, why, sizeof why))
        return settings_refuse(settings, error, size, "cluster.roles",
                               "cannot be used: %s", why);
    self.data_center = node->data_center;
    if (!member_settings_valid(&self, why, sizeof why))
        return settings_refuse(settings, error, size,
                               CENTERS "self-data-center",
                               "cannot be used: %s", why);
    self.app_version = node->app_version;
    if (!member_settings_valid(&self, why, sizeof why))
        return settings_refuse(settings, error, size, "cluster.app-version",
                               "cannot be used: %s", why);
    if (!(node->phi_threshold > 0))
        return settings_refuse(settings, error, size,
                               "cluster.failure-detector.threshold",
                               "must be greater than 0");
    return 0;
}

int settings_read_members(struct settings *settings, char *error, size_t size)
{
    const struct config *config = settings->config;
    struct node_settings *node = &settings->node;

    read_minimums(settings);
    read_centers(settings);
    node->accept_incompatible = !config_bool(
        config, "cluster.configuration-compatibility-check.enforce-on-join");
    node->log_info_off = !config_bool(config, "cluster.log-info");
    node->log_verbose = config_bool(config, "cluster.log-info-verbose");
    node->join_give_up = unless_off(
        config, "cluster.shutdown-after-unsuccessful-join-seed-nodes");
    node->publish_stats_interval =
        unless_off(config, "cluster.publish-stats-interval");
    node->weakly_up_off =
        config_duration_ns(config, "cluster.allow-weakly-up-members") ==
            CONFIG_OFF &&
        strcmp(config_text(config, "cluster.allow-weakly-up-members"), "off") ==
            0;
    node->periodic_initial_delay = some(
        config_duration_ns(config, "cluster.periodic-tasks-initial-delay"));
    node->tombstone_ttl =
        config_duration_ns(config, "cluster.prune-gossip-tombstones-after");
    node->different_view_probability = config_number(
        config, "cluster.gossip-different-view-probability");
    if (node->different_view_probability < 0.01)
        node->different_view_probability = 0.01; /* the core's zero is its default */
    node->different_view_reduce = (uint32_t)config_int(
        config, "cluster.reduce-gossip-different-view-probability");
    node->heartbeat_samples_max = (uint32_t)config_int(
        config, "cluster.failure-detector.max-sample-size");
    node->acceptable_heartbeat_pause = some(node->acceptable_heartbeat_pause);
    return settings_read_phases(settings, error, size) == 0
               ? check_self(settings, error, size)
               : SHERD_ECONFIG;
}

void settings_fini_members(struct settings *settings)
{
    for (uint32_t i = 0; i < settings->minimum_roles.count; i++)
        mem_free((void *)(uintptr_t)settings->minimum_roles.items[i]);
    vec_fini(&settings->minimum_roles);
    vec_fini(&settings->role_minimums);
}
