/* Reads coordinated-shutdown: time-outs of phases, disabled phases, and phases that a late task
 * aborts.
 *
 * The order is fixed; another one is refused. Phases that a user added are for the JVM only. */
#include "host/settings.h"

#include <stdio.h>
#include <string.h>

#include "base/timers.h"

#define END "coordinated-shutdown."
#define PHASES END "phases."
#define KEY_MAX 128

static bool is_set(const struct config *config, const char *key)
{
    struct config_setting setting;
    uint32_t at = 0;

    while (config_next_setting(config, &at, &setting))
        if (strcmp(setting.key, key) == 0)
            return true;
    return false;
}

static const char *key_of(char key[KEY_MAX], enum sherd_phase phase,
                          const char *what)
{
    (void)snprintf(key, KEY_MAX, PHASES "%s.%s", sherd_phase_text(phase),
                   what);
    return key;
}

/* The phase does a step of the node, besides actors' tasks. */
static bool is_step(enum sherd_phase phase)
{
    return phase >= SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION &&
           phase != SHERD_CLUSTER_SHUTDOWN &&
           phase != SHERD_BEFORE_ACTOR_SYSTEM_TERMINATE;
}

/* Accepts only the fixed order. */
static int check_order(const struct settings *settings, enum sherd_phase phase,
                       char *error, size_t size)
{
    const struct config *config = settings->config;
    const char *before = phase ? sherd_phase_text(phase - 1) : "nothing";
    char key[KEY_MAX];
    uint32_t count;

    if (!is_set(config, key_of(key, phase, "depends-on")))
        return 0;
    count = config_list(config, key);
    if (count == (phase > 0) &&
        (!count || strcmp(config_list_at(config, key, 0), before) == 0))
        return 0;
    return settings_refuse(settings, error, size, key,
                           "can be nothing but %s: the order of phases is "
                           "fixed",
                           before);
}

/* Without the key, the node's own steps keep their times. Five seconds are too few for a hand-off,
 * and a shard that was not handed off loses messages. A configured default applies where the
 * reference has no time of its own. */
static void read_time(struct settings *settings, enum sherd_phase phase)
{
    const struct config *config = settings->config;
    bool has_default = phase == SHERD_CLUSTER_LEAVE ||
                       phase == SHERD_CLUSTER_EXITING_DONE;
    char key[KEY_MAX];
    uint64_t time;

    if (!is_step(phase) || is_set(config, key_of(key, phase, "timeout")) ||
        (has_default && is_set(config, END "default-phase-timeout"))) {
        time = config_duration_ns(config, key_of(key, phase, "timeout"));
        settings->node.phase_timeouts[phase] = time ? time : 1; /* 0 would mean unset */
    }
}

static int read_phase(struct settings *settings, enum sherd_phase phase,
                      char *error, size_t size)
{
    const struct config *config = settings->config;
    char key[KEY_MAX];

    read_time(settings, phase);
    settings->node.phases_off[phase] =
        !config_bool(config, key_of(key, phase, "enabled"));
    if (settings->node.phases_off[phase] && is_step(phase) &&
        phase != SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION)
        return settings_refuse(settings, error, size, key,
                               "cannot be off: other members wait until this "
                               "node has left, handed over and ended");
    settings->node.phases_fatal[phase] =
        !config_bool(config, key_of(key, phase, "recover"));
    if (settings->node.phases_fatal[phase] &&
        phase >= SHERD_CLUSTER_SHARDING_SHUTDOWN_REGION)
        return settings_refuse(settings, error, size, key,
                               "cannot be off: a node that stops in the middle "
                               "of leaving is neither a member nor removed");
    return check_order(settings, phase, error, size);
}

int settings_read_phases(struct settings *settings, char *error, size_t size)
{
    int result = 0;

    settings->node.tasks_unless_downed = !config_bool(
        settings->config, "cluster.run-coordinated-shutdown-when-down");
    for (uint32_t i = 0; result == 0 && i < SHERD_PHASE_COUNT; i++)
        result = read_phase(settings, (enum sherd_phase)i, error, size);
    return result;
}
