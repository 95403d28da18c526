/* Tells the service manager how the node is: systemd's readiness protocol, under sherd_run.
 *
 * NOTIFY_SOCKET names a datagram socket, with @ first if it is abstract. Each datagram has lines
 * NAME=VALUE. WATCHDOG_USEC is the time without WATCHDOG=1 after which the manager ends the process. */
#ifndef SHERD_HOST_SERVICE_MANAGER_H
#define SHERD_HOST_SERVICE_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sherd/manage.h>

#include "base/bytes.h"

#define SERVICE_LOOK_MS 200 /* between two looks at the node */

struct sherd_system;

/* The state of the node. */
struct service_facts {
    bool is_ready, is_alive, leaves, has_ended;
    uint32_t unready; /* bits of enum sherd_unready */
};

/* The last notices. Zero, with `pulse`, is the start. */
struct service_notices {
    uint64_t pulse; /* ns between two signs of life; 0: none are wanted */
    uint64_t next_pulse, next_status, next_extension; /* ns */
    bool was_ready, has_stopped;
    bool has_told;   /* a status */
    uint32_t status; /* the last one that was told */
};

/* Appends the lines that are due; none if nothing is. Pure. */
void service_notice(struct service_notices *notices, const struct service_facts *facts,
                    uint64_t now, struct buf *lines);

struct service_manager {
    int socket; /* -1: there is no service manager */
    struct service_notices notices;
};

/* Reads the environment. If the socket cannot be used, logs a warning, and the node runs without. */
void service_manager_begin(struct service_manager *manager, struct sherd_system *system);
/* Tells what is due. */
void service_manager_look(struct service_manager *manager, struct sherd_system *system);
/* Tells that the node has ended, if that is new. */
void service_manager_end(struct service_manager *manager);

#endif
