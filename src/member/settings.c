/* Checks the settings of membership, fills in their defaults and copies them. */
#include "member/inside.h"

#include <stdio.h>

#include "base/limits.h"
#include "member/version.h"

#define RESOLVER_KEY ".cluster.downing-provider-class"

static uint32_t or_default(uint32_t value, uint32_t standard)
{
    return value ? value : standard;
}

static void fill_settings(struct member_settings *settings)
{
#define DEFAULT(name, value) settings->name = or_default(settings->name, value)
    DEFAULT(min_members, 1);
    DEFAULT(seed_timeout_ms, 5000);
    DEFAULT(join_retry_ms, 10000);
    DEFAULT(required_seeds, 1);
    DEFAULT(find_interval_ms, 1000);
    DEFAULT(find_backoff_ms, 15000);
    DEFAULT(gossip_interval_ms, 1000);
    DEFAULT(leader_interval_ms, 1000);
    DEFAULT(reaper_interval_ms, 1000);
    DEFAULT(initial_delay_ms, 1000);
    DEFAULT(weakly_up_after_ms, 7000);
    DEFAULT(tombstone_ttl_ms, 24 * 3600 * 1000);
    DEFAULT(different_view_percent, 80);
    DEFAULT(different_view_reduce, 400);
    DEFAULT(heartbeat_interval_ms, 1000);
    DEFAULT(heartbeat_expected_ms, 1000);
    DEFAULT(heartbeat_pause_ms, 3000);
    DEFAULT(heartbeat_deviation_ms, 100);
    DEFAULT(heartbeat_samples_max, 1000);
    DEFAULT(monitored_by, 9);
    DEFAULT(cross_connections, 5);
    DEFAULT(cross_gossip_percent, 20);
    DEFAULT(cross_heartbeat_interval_ms, 3000);
    DEFAULT(cross_heartbeat_expected_ms, 1000);
    DEFAULT(cross_heartbeat_pause_ms, 10000);
#undef DEFAULT
    if (!(settings->heartbeat_threshold > 0))
        settings->heartbeat_threshold = 8;
    if (!settings->data_center)
        settings->data_center = "default";
    if (!settings->app_version)
        settings->app_version = "0.0.0";
}

static bool check_roles(const struct member_settings *settings, char *text,
                        size_t size)
{
    if (settings->role_count >= MEMBER_ROLES_MAX) {
        (void)snprintf(text, size, "%u roles; at most %d are possible",
                       settings->role_count, MEMBER_ROLES_MAX - 1);
        return false;
    }
    for (uint32_t i = 0; i < settings->role_count; i++) {
        const char *role = settings->roles[i];

        if (*role && strlen(role) <= MEMBER_ROLE_SIZE_MAX &&
            strncmp(role, "dc-", 3))
            continue;
        (void)snprintf(text, size,
                       "the role \"%.64s\" is empty, too long, or starts with "
                       "\"dc-\"",
                       role);
        return false;
    }
    return true;
}

static bool check_config(const char *config, char *text, size_t size)
{
    struct compat settings;
    bool good;

    if (!compat_parse(&settings, slice_text(config))) {
        (void)snprintf(text, size, "the configuration to check is no JSON object, or too large");
        return false;
    }
    good = compat_find(&settings, RESOLVER_KEY) != NULL;
    compat_fini(&settings);
    if (!good)
        (void)snprintf(text, size,
                       "the configuration to check lacks "
                       "cluster.downing-provider-class");
    return good;
}

bool member_settings_valid(const struct member_settings *settings, char *text,
                           size_t size)
{
    struct version version;

    if (settings->seed_count > MEMBER_SEEDS_MAX) {
        (void)snprintf(text, size, "%u seed nodes; at most %d are possible",
                       settings->seed_count, MEMBER_SEEDS_MAX);
        return false;
    }
    if (settings->finds_seeds && settings->seed_count) {
        (void)snprintf(text, size, "seed nodes are given, and to be found");
        return false;
    }
    if (settings->app_version &&
        !version_parse(&version, settings->app_version)) {
        (void)snprintf(text, size, "the application version \"%.64s\" is none",
                       settings->app_version);
        return false;
    }
    if (settings->data_center &&
        (!*settings->data_center ||
         strlen(settings->data_center) > MEMBER_ROLE_SIZE_MAX - 3)) {
        (void)snprintf(text, size,
                       "the data center's name is empty or too "
                       "long");
        return false;
    }
    return check_roles(settings, text, size) &&
           (!settings->config || check_config(settings->config, text, size));
}

static struct heart_settings
heart_settings_of(const struct member_settings *settings)
{
    return (struct heart_settings){
        .phi = { .threshold = settings->heartbeat_threshold,
                 .samples_max = settings->heartbeat_samples_max,
                 .deviation_ms = settings->heartbeat_deviation_ms,
                 .pause_ms = settings->heartbeat_pause_ms,
                 .interval_ms = settings->heartbeat_interval_ms },
        .interval = settings->heartbeat_interval_ms * MS,
        .expected = settings->heartbeat_expected_ms * MS,
        .monitored_by = settings->monitored_by,
        .form_of = settings->form_of,
        .fetch = settings->fetch,
        .user = settings->user,
    };
}

static struct cross_dc_settings
cross_dc_settings_of(const struct member_settings *settings)
{
    return (struct cross_dc_settings){
        .interval = settings->cross_heartbeat_interval_ms * MS,
        .pause = settings->cross_heartbeat_pause_ms * MS,
        .expected = settings->cross_heartbeat_expected_ms * MS,
        .connections = settings->cross_connections,
    };
}

static void copy_lists(struct member_settings *to,
                       const struct member_settings *from)
{
    uint32_t count = from->role_minimum_count;
    struct member_role_minimum *minimums = mem_alloc(count * sizeof *minimums);

    for (uint32_t i = 0; i < count; i++) {
        minimums[i].role = mem_text(from->role_minimums[i].role);
        minimums[i].count = from->role_minimums[i].count;
    }
    to->role_minimums = minimums;
    to->seeds =
        from->seed_count
            ? mem_copy(from->seeds, from->seed_count * sizeof *from->seeds)
            : NULL;
}

void member_settings_take(struct member *member,
                          const struct member_settings *settings)
{
    member->settings = *settings;
    fill_settings(&member->settings);
    copy_lists(&member->settings, settings);
    member->heart_settings = heart_settings_of(&member->settings);
    member->cross_dc_settings = cross_dc_settings_of(&member->settings);
}

void member_settings_fini(struct member_settings *settings)
{
    for (uint32_t i = 0; i < settings->role_minimum_count; i++)
        mem_free((void *)(uintptr_t)settings->role_minimums[i].role);
    mem_free((void *)(uintptr_t)settings->role_minimums);
    mem_free((void *)(uintptr_t)settings->seeds);
}
