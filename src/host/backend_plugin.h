/* Runs a registered back end (sherd/backend.h) as a journal backend.
 *
 * backend_options.plugin names the one to open. */
#ifndef SHERD_HOST_BACKEND_PLUGIN_H
#define SHERD_HOST_BACKEND_PLUGIN_H

#include <sherd/backend.h>

#include "journal/backend.h"

#define BACKEND_PLUGINS_MAX 16 /* back ends that a process registers */

extern const struct backend_ops backend_plugin;

/* Returns the registered back end with that name; null: none. Any thread. */
const struct sherd_backend *backend_plugin_find(const char *name);

#endif
