/* Shows a node's configuration to looks: the keys that are set, with secrets covered. */
#ifndef SHERD_HOST_LOOK_SETTINGS_H
#define SHERD_HOST_LOOK_SETTINGS_H

#include "node/node.h"

/* node_settings.next_setting; configuration: a struct config. */
bool look_next_setting(const void *configuration, uint32_t *at, struct node_setting *setting);

#endif
