/* Implements manage.h, and the functions that a module calls. */
#define _GNU_SOURCE
#include "host/manage.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "host/log.h"
#include "host/region_calls.h"

#define KEY_SIZE 128

static pthread_mutex_t registered_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct sherd_manager *registered;

struct manage {
    const struct sherd_manager *manager;
    void *own; /* the module's */
    struct sherd_node_access access;
};

static const struct sherd_manager *registered_one(void)
{
    const struct sherd_manager *one;

    check(pthread_mutex_lock(&registered_lock) == 0);
    one = registered;
    check(pthread_mutex_unlock(&registered_lock) == 0);
    return one;
}

int sherd_manager_register(const struct sherd_manager *manager)
{
    int result = 0;

    if (!manager || manager->version != SHERD_MANAGER_VERSION || !manager->name || !manager->open ||
        !manager->start || !manager->stop || !manager->close)
        return SHERD_EINVAL;
    check(pthread_mutex_lock(&registered_lock) == 0);
    if (registered && registered != manager)
        result = SHERD_EEXIST;
    else
        registered = manager;
    check(pthread_mutex_unlock(&registered_lock) == 0);
    return result;
}

/* ---- settings ---- */

/* Returns the whole key, or null for a key that is not below `management`. */
static const char *whole_key(char room[KEY_SIZE], const char *key)
{
    int size = snprintf(room, KEY_SIZE, "management.%s", key);

    return size > 0 && size < KEY_SIZE ? room : NULL;
}

static const struct config *config_of(void *node)
{
    return ((struct sherd_system *)node)->settings.config;
}

static const char *text(void *node, const char *key)
{
    char room[KEY_SIZE];

    key = whole_key(room, key);
    if (!key)
        return NULL;
    return config_is_null(config_of(node), key) ? "" : config_text(config_of(node), key);
}

static int64_t number(void *node, const char *key)
{
    char room[KEY_SIZE];

    return config_int(config_of(node), whole_key(room, key));
}

static uint64_t milliseconds(void *node, const char *key)
{
    char room[KEY_SIZE];

    return config_duration_ns(config_of(node), whole_key(room, key)) / 1000000;
}

static const char *item(void *node, const char *key, uint32_t index)
{
    char room[KEY_SIZE];

    key = whole_key(room, key);
    return index < config_list(config_of(node), key) ? config_list_at(config_of(node), key, index)
                                                     : NULL;
}

/* ---- the log ---- */

static void write_line(void *node, enum sherd_log_level level, const char *line)
{
    system_log(node, (enum trace_level)level, "management", "%s", line);
}

static int level(void *node)
{
    struct sherd_system *system = node;

    return log_level(system->log);
}

static void set_level(void *node, int level)
{
    struct sherd_system *system = node;

    check(log_set_level(system->log, NULL, level)); /* it has room for this one */
}

/* ---- the view ---- */

static int view(void *node, uint32_t timeout_ms, struct sherd_cluster_view *to)
{
    return region_calls_view(node, timeout_ms, to);
}

static void view_free(struct sherd_cluster_view *of)
{
    mem_free(of->memory);
    memset(of, 0, sizeof *of);
}

/* ---- the module's life ---- */

static bool has_port(const struct config *config)
{
    return *config_text(config, "management.http.hostname") ||
           config_int(config, "management.http.port") != CONFIG_WORD;
}

static int refuse_port(struct sherd_system *system)
{
    const struct config *config = system->settings.config;
    const char *key = *config_text(config, "management.http.hostname") ? "management.http.hostname"
                                                                        : "management.http.port";
    struct config_origin origin = config_origin(config, key);

    system_log(system, TRACE_ERROR, "management",
               "management by HTTP is configured, and the program has no module for it key=%s%s "
               "source=%s line=%u hint=\"link libsherd-http and call sherd_http_register before "
               "sherd_open, or remove the setting\"",
               origin.prefix, key, origin.source, (unsigned)origin.line);
    return SHERD_ECONFIG;
}

static void fill_access(struct sherd_system *system, struct sherd_node_access *access)
{
    const struct settings *settings = &system->settings;

    *access = (struct sherd_node_access){
        .node = system,
        .system = system,
        .system_name = settings->node.identity.system,
        .protocol = settings->node.identity.protocol,
        .host = settings->node.identity.node.address.host,
        .port = (uint16_t)settings->node.identity.node.address.port,
        .data_center = settings->node.data_center && *settings->node.data_center ? settings->node.data_center : "default",
        .uses_tls = settings->uses_tls,
        .certificate = settings->tls.certificate,
        .key = settings->tls.key,
        .ca = settings->tls.ca,
        .crl = settings->tls.crl,
        .text = text,
        .number = number,
        .milliseconds = milliseconds,
        .item = item,
        .log = write_line,
        .level = level,
        .set_level = set_level,
        .health = manage_health,
        .view = view,
        .view_free = view_free,
    };
}

int manage_open(struct sherd_system *system)
{
    const struct sherd_manager *manager = registered_one();
    struct manage *manage;
    int result;

    if (!manager)
        return has_port(system->settings.config) ? refuse_port(system) : 0;
    manage = mem_alloc(sizeof *manage);
    manage->manager = manager;
    fill_access(system, &manage->access);
    result = manager->open(&manage->access, &manage->own);
    if (result != 0) {
        mem_free(manage);
        return result;
    }
    system->manage = manage;
    return 0;
}

int manage_start(struct sherd_system *system)
{
    return system->manage ? system->manage->manager->start(system->manage->own) : 0;
}

void manage_stop(struct sherd_system *system)
{
    if (system->manage)
        system->manage->manager->stop(system->manage->own);
}

void manage_close(struct sherd_system *system)
{
    if (system->manage)
        system->manage->manager->close(system->manage->own);
    mem_free(system->manage);
    system->manage = NULL;
}
