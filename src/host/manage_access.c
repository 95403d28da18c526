/* Registers a management module, with the functions of a node that it may call (sherd/manage.h). */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "host/figures.h"
#include "host/log.h"
#include "host/manage.h"
#include "host/region_calls.h"

#define KEY_SIZE 128

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

static void fill(struct sherd_system *system, struct sherd_node_access *access)
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
        .figures = figures_ask,
        .figures_free = figures_end,
    };
}

int sherd_manager_register(const struct sherd_manager *manager)
{
    if (!manager || manager->version != SHERD_MANAGER_VERSION || !manager->name || !manager->open ||
        !manager->start || !manager->stop || !manager->close)
        return SHERD_EINVAL;
    return manage_register(manager, fill) ? 0 : SHERD_EEXIST;
}
