/* Runs the management module that the program registered (sherd/manage.h). */
#ifndef SHERD_HOST_MANAGE_H
#define SHERD_HOST_MANAGE_H

#include "host/system.h"

struct manage;

/* Fills the functions of a system that a module may call. */
typedef void (*manage_fill)(struct sherd_system *system, struct sherd_node_access *access);

/* Keeps the module for systems that are opened later. False: there is another one. */
bool manage_register(const struct sherd_manager *manager, manage_fill fill);
/* Opens the registered module. Without one it refuses a configured port, and there is nothing to
 * close. 0, or a logged SHERD_E... code. */
int manage_open(struct sherd_system *system);
int manage_start(struct sherd_system *system); /* after the node's threads */
/* Ends the module's calls: after the system has ended, before its threads are joined. */
void manage_stop(struct sherd_system *system);
void manage_close(struct sherd_system *system); /* after the node was freed: its actors may refer to the module */

/* status.c: the health as sherd_node_access.health gives it. Any thread. */
void manage_health(void *node, uint32_t wanted, struct sherd_health *health);

#endif
