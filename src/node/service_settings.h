/* Copies the settings of services above the node (actor/services.h). Private to node/. */
#ifndef SHERD_NODE_SERVICE_SETTINGS_H
#define SHERD_NODE_SERVICE_SETTINGS_H

struct service_defaults;

/* Replaces the texts by copies. */
void service_settings_copy(struct service_defaults *services);
void service_settings_fini(struct service_defaults *services);

#endif
