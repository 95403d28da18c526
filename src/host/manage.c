/* Implements manage.h, without the functions that a module calls. */
#define _GNU_SOURCE
#include "host/manage.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"

static pthread_mutex_t registered_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct sherd_manager *registered;
static manage_fill registered_fill;

struct manage {
    const struct sherd_manager *manager;
    void *own; /* the module's */
    struct sherd_node_access access;
};

bool manage_register(const struct sherd_manager *manager, manage_fill fill)
{
    bool is_first;

    check(pthread_mutex_lock(&registered_lock) == 0);
    is_first = !registered || registered == manager;
    if (is_first) {
        registered = manager;
        registered_fill = fill;
    }
    check(pthread_mutex_unlock(&registered_lock) == 0);
    return is_first;
}

static const struct sherd_manager *registered_one(manage_fill *fill)
{
    const struct sherd_manager *one;

    check(pthread_mutex_lock(&registered_lock) == 0);
    one = registered;
    *fill = registered_fill;
    check(pthread_mutex_unlock(&registered_lock) == 0);
    return one;
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

int manage_open(struct sherd_system *system)
{
    manage_fill fill;
    const struct sherd_manager *manager = registered_one(&fill);
    struct manage *manage;
    int result;

    if (!manager)
        return has_port(system->settings.config) ? refuse_port(system) : 0;
    manage = mem_alloc(sizeof *manage);
    manage->manager = manager;
    fill(system, &manage->access);
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
