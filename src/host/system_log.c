/* Sets up a system's log from options and configuration. */
#define _GNU_SOURCE
#include "host/system.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/line.h"
#include "host/log.h"

/* Applies log.level and log.NAME. */
static void set_levels(struct sherd_system *system)
{
    const struct config *config = system->settings.config;
    struct config_setting setting;
    uint32_t at = 0;

    while (config_next_setting(config, &at, &setting)) {
        const char *module = setting.key + 4;

        if (strncmp(setting.key, "log.", 4) != 0 ||
            strcmp(module, "level") == 0 || strcmp(module, "format") == 0)
            continue;
        if (!log_set_level(system->log, module,
                           trace_level_of(config_text(config, setting.key))))
            system_log(system, TRACE_WARNING, "config",
                       "log level ignored: too many modules have one of their "
                       "own key=%s hint=\"set the levels of fewer modules\"",
                       setting.key);
    }
}

void system_log_open(struct sherd_system *system,
                     const struct sherd_options *options, bool configured)
{
    const struct config *config = system->settings.config;
    int level = (int)options->log_level;
    struct log_options log = { .level = level > 0 ? level : SHERD_LOG_INFO,
                               .function = options->log,
                               .user = options->log_user };

    if (configured) {
        log.level = trace_level_of(config_text(config, "log.level"));
        log.json = strcmp(config_text(config, "log.format"), "json") == 0;
    }
    system->log = log_open(&log);
    if (!configured)
        return;
    set_levels(system);
    system->settings.node.trace_level =
        (enum trace_level)log_trace_level(system->log);
}

void system_log_name_early(struct sherd_system *system,
                           const struct sherd_options *options)
{
    const struct settings *settings = &system->settings;
    struct address address = settings->node.identity.node.address;
    bool known = true;

    if (!address.host[0])
        known = settings_guess_address(options, &address);
    else if (settings->port_any)
        address.port = 0;
    if (known)
        (void)address_text(&address, system->name, sizeof system->name);
}

void system_log_name(struct sherd_system *system)
{
    (void)address_text(&system->settings.node.identity.node.address,
                       system->name, sizeof system->name);
}

void system_log(struct sherd_system *system, enum trace_level level,
                const char *module, const char *format, ...)
{
    char text[TRACE_TEXT_MAX];
    va_list arguments;

    va_start(arguments, format);
    line_format_list(text, sizeof text, format, arguments);
    va_end(arguments);
    log_write(system->log, level, module, system->name[0] ? system->name : NULL,
              text);
}

/* Writes a list of keys as one line, and empties it. */
static void put_keys(struct sherd_system *system, enum trace_level level,
                     struct buf *keys)
{
    if (!keys->size)
        return;
    buf_put_u8(keys, '\0');
    log_write_all(system->log, level, "config",
                  system->name[0] ? system->name : NULL,
                  (const char *)keys->data);
    buf_clear(keys);
}

/* A pasted block sets many keys, so a line has as many as fit. */
static void list_ineffective(struct sherd_system *system, bool of_jvm,
                             enum trace_level level, const char *words)
{
    struct config_setting setting;
    struct buf keys = { 0 };
    uint32_t at = 0;

    while (config_next_ineffective(system->settings.config, &at, &setting)) {
        if (setting.is_jvm != of_jvm || setting.is_default == of_jvm)
            continue;
        if (keys.size + strlen(setting.key) > TRACE_TEXT_MAX)
            put_keys(system, level, &keys);
        buf_put_text(&keys, keys.size ? "," : words);
        buf_put_text(&keys, setting.origin.prefix);
        buf_put_text(&keys, setting.key);
    }
    put_keys(system, level, &keys);
    buf_fini(&keys);
}

/* A misspelled include would change settings unnoticed. */
static void list_missing(struct sherd_system *system)
{
    const char *name, *why;
    struct config_origin origin;
    uint32_t at = 0;

    while (config_next_missing(system->settings.config, &at, &name, &why,
                               &origin))
        system_log(system, TRACE_INFO, "config",
                   "an include cannot be read and is left out file=%s "
                   "why=\"%s\" source=%s line=%u hint=\"correct its name, or "
                   "create it\"",
                   name, why, origin.source, (unsigned)origin.line);
}

/* Lists parts of one kind on as few lines as they fit on. */
static void list_unread(struct sherd_system *system,
                        enum config_unread_kind kind, const char *words)
{
    struct config_unread unread;
    struct buf names = { 0 };
    uint32_t at = 0;

    while (config_next_unread(system->settings.config, &at, &unread)) {
        if (unread.kind != kind)
            continue;
        if (names.size + strlen(unread.name) > TRACE_TEXT_MAX)
            put_keys(system, TRACE_INFO, &names);
        buf_put_text(&names, names.size ? "," : words);
        buf_put_text(&names, unread.name);
    }
    put_keys(system, TRACE_INFO, &names);
    buf_fini(&names);
}

/* Each is probably a typing error. */
static void list_unknown(struct sherd_system *system)
{
    struct config_unread unread;
    uint32_t at = 0;

    while (config_next_unread(system->settings.config, &at, &unread))
        if (unread.kind == CONFIG_UNKNOWN)
            system_log(system, TRACE_WARNING, "config",
                       "an unknown key is left out key=%s%s%s source=%s "
                       "line=%u hint=\"correct its name, or remove it\"",
                       unread.name, unread.meant ? " nearest=" : "",
                       unread.meant ? unread.meant : "", unread.origin.source,
                       (unsigned)unread.origin.line);
}

static bool has_cluster_settings(const struct config *config)
{
    struct config_setting setting;
    uint32_t at = 0;

    while (config_next_setting(config, &at, &setting))
        if (setting.origin.kind == CONFIG_FILE &&
            (strncmp(setting.key, "cluster.", 8) == 0 ||
             strncmp(setting.key, "remote.", 7) == 0))
            return true;
    return false;
}

/* Such settings have no effect, unless the file refers to them. */
static void list_bare(struct sherd_system *system)
{
    const struct config *config = system->settings.config;
    struct config_unread unread;
    uint32_t at = 0;

    while (config_next_unread(config, &at, &unread)) {
        if (unread.kind == CONFIG_BARE &&
            config_origin(config, unread.name).kind == CONFIG_DEFAULT)
            system_log(system, TRACE_WARNING, "config",
                       "a setting stands at the root, and has no effect there "
                       "key=%s source=%s line=%u hint=\"write akka.%s\"",
                       unread.name, unread.origin.source,
                       (unsigned)unread.origin.line, unread.name);
        if (unread.kind == CONFIG_VARIABLE)
            system_log(system, TRACE_WARNING, "config",
                       "an environment variable is not read variable=%s "
                       "hint=\"rename it to %s\"",
                       unread.name, unread.meant);
    }
}

/* The node would run on defaults without a word. */
static void list_nested(struct sherd_system *system)
{
    const struct config *config = system->settings.config;
    struct config_unread unread;
    uint32_t at = 0;

    if (has_cluster_settings(config))
        return;
    while (config_next_unread(config, &at, &unread))
        if (unread.kind == CONFIG_NESTED)
            system_log(system, TRACE_WARNING, "config",
                       "all settings of the cluster stand inside a section of "
                       "the application, and have no effect there section=%s "
                       "source=%s line=%u hint=\"add a line at the end of the "
                       "file: %s = ${%s}\"",
                       unread.name, unread.origin.source,
                       (unsigned)unread.origin.line,
                       strrchr(unread.name, '.') + 1, unread.name);
}

/* A strategy may have a limit but no way to choose. */
static void list_limit(struct sherd_system *system)
{
    static const char after[] =
        "cluster.sharding.passivate-idle-entity-after";
    const struct config *config = system->settings.config;
    const char *strategy =
        config_text(config, "cluster.sharding.passivation.strategy");
    bool is_own = system->settings.node.passivation.main.policy != PASSIVATION_NONE;
    char key[256];

    if (!config_is_null(config, after) || strcmp(strategy, "none") == 0 ||
        strcmp(strategy, "off") == 0 || is_own)
        return;
    (void)snprintf(key, sizeof key,
                   "cluster.sharding.passivation.%.128s.active-entity-limit",
                   strategy); /* fits */
    if (config_int(config, key) == CONFIG_WORD)
        return;
    system_log(system, TRACE_WARNING, "config",
               "the limit of the passivation strategy in use has no effect: "
               "its replacement policy is none key=%s "
               "hint=\"set replacement.policy of the same strategy\"",
               key);
}

/* The winner releases the lease after a while. A minority that asks later would get it, and both
 * sides would stay. */
static void list_short_lease(struct sherd_system *system)
{
    const struct settings *settings = &system->settings;
    uint64_t needs = settings_lease_needs(settings);

    if (settings->node.resolver.release_after >= needs)
        return;
    system_log(system, TRACE_WARNING, "config",
               "lease released too early for a minority: both sides of a "
               "partition may stay key=cluster.split-brain-resolver."
               "lease-majority.release-after ms=%llu needs_ms=%llu "
               "hint=\"set release-after to at least needs_ms\"",
               (unsigned long long)(settings->node.resolver.release_after /
                                    1000000),
               (unsigned long long)(needs / 1000000));
}

/* Tells which names the node took from its seed nodes or its keys. */
static void list_names(struct sherd_system *system)
{
    const struct settings *settings = &system->settings;

    if (settings->protocol_reason)
        system_log(system, TRACE_INFO, "config",
                   "protocol is not set, and follows from other settings "
                   "protocol=%s reason=\"%s\"",
                   settings->node.identity.protocol, settings->protocol_reason);
    if (settings->has_two_prefixes)
        system_log(system, TRACE_WARNING, "config",
                   "settings stand below akka and below pekko: this node "
                   "speaks akka hint=\"set sherd.protocol.name\"");
    if (settings->other_prefix)
        system_log(system, TRACE_INFO, "config",
                   "settings below %s count, and this node speaks %s",
                   settings->other_prefix, settings->node.identity.protocol);
    if (settings->system_name)
        system_log(system, TRACE_INFO, "config",
                   "system name is not set, and is that of the seed nodes "
                   "system=%s",
                   settings->system_name);
}

static void list_alone(struct sherd_system *system)
{
    const struct node_settings *node = &system->settings.node;

    if (node->alone && (node->seed_node_count || node->finds_seeds))
        system_log(system, TRACE_WARNING, "config",
                   "this node is not alone, as it has seed nodes "
                   "hint=\"set options.alone or seed nodes, not both\"");
}

/* Nodes of other hosts cannot answer a loopback address, so this node would never join. */
static void list_loopback(struct sherd_system *system)
{
    const struct settings *settings = &system->settings;
    const char *host = settings->node.identity.node.address.host;

    if (!settings_is_loopback(host))
        return;
    for (uint32_t i = 0; i < settings->seeds.count; i++) {
        const char *seed = settings->seeds.items[i].host;

        if (settings_is_loopback(seed))
            continue;
        system_log(system, TRACE_WARNING, "config",
                   "this node's address is found on its own machine only, and "
                   "a seed node has another one host=%s seed=%s "
                   "hint=\"set remote.artery.canonical.hostname\"",
                   host, seed);
        return;
    }
}

/* With the class of a cluster's provider, a node is what it always is. */
static bool says_cluster(const struct config_setting *setting,
                         const struct config *config)
{
    const char *name = "cluster.ClusterActorRefProvider";
    const char *value;

    if (strcmp(setting->key, "actor.provider") != 0)
        return false;
    value = config_text(config, setting->key);
    return strlen(value) > strlen(name) &&
           strcmp(value + strlen(value) - strlen(name), name) == 0;
}

void system_log_setting(struct sherd_system *system, const struct config_setting *setting)
{
    char text[TRACE_TEXT_MAX];

    line_format(text, sizeof text,
                "a setting has no effect key=%s%s %s=\"%s\" source=%s line=%u "
                "hint=\"remove it\"",
                setting->origin.prefix, setting->key,
                strncmp(setting->key, "cluster.", 8) == 0 ? "why" : "not-offered", setting->why,
                setting->origin.source, (unsigned)setting->origin.line);
    log_write_all(system->log, TRACE_WARNING, "config", system->name[0] ? system->name : NULL, text);
}

/* Logs each that differs from its default on its own line. */
void system_log_ineffective(struct sherd_system *system)
{
    struct config_setting setting;
    uint32_t at = 0;

    list_missing(system);
    list_limit(system);
    list_short_lease(system);
    while (config_next_ineffective(system->settings.config, &at, &setting)) {
        if (setting.is_default || setting.is_jvm || setting.by_type ||
            says_cluster(&setting, system->settings.config))
            continue;
        system_log_setting(system, &setting);
    }
    list_ineffective(system, false, TRACE_INFO,
                     "settings are set to their defaults and have no effect keys=");
    list_ineffective(system, true, TRACE_INFO,
                     "settings of the JVM have no effect here keys=");
    list_unread(system, CONFIG_MODULE,
                "settings of modules that this node does not have keys=");
    list_unread(system, CONFIG_OWN,
                "sections of the application are not read sections=");
    list_unknown(system);
    list_nested(system);
    list_bare(system);
    list_names(system);
    list_loopback(system);
    list_alone(system);
    system_log_bounds(system);
}

enum system_state system_refuse_child(struct sherd_system *system)
{
    if (!atomic_exchange(&system->has_refused_child, true)) {
        log_forked(system->log);
        system_log(system, TRACE_ERROR, "host",
                   "call refused: the process was forked after sherd_open, and "
                   "the node is its parent's "
                   "hint=\"call fork or daemon before sherd_open\"");
    }
    return SYSTEM_ENDED;
}
