/* Defines the keeper of a singleton: the actor that runs the instance when control says so, and passes
 * on messages to it, wherever it runs. */
#ifndef SHERD_SERVICES_KEEPER_H
#define SHERD_SERVICES_KEEPER_H

#include <stdbool.h>

#include <sherd/singleton.h>

#include "base/limits.h"

#define KEEPER_TEXT_MAX 127 /* bytes of a role or data center */

/* The settings of a keeper; its init follows in memory. */
struct keeper_start {
    struct sherd_behavior behavior;
    char name[SHERD_SINGLETON_NAME_MAX + 1];
    char role[KEEPER_TEXT_MAX + 1];
    char center[KEEPER_TEXT_MAX + 1]; /* empty: this node's */
    bool is_host;
    uint32_t stop_msg;
    uint32_t retries, buffer_size;
    uint64_t retry_ms, interval_ms;
    uint32_t lease; /* enum lease_provider_kind: the instance runs only while this node has a lease there */
    uint64_t lease_retry_ms;
    uint32_t init_size;
};

const struct sherd_behavior *keeper_behavior(void);

#endif
