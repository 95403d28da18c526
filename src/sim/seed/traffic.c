/* Lists the durable keys of a workload of distributed data. */
#include "sim/seed/traffic.h"

const char *const traffic_durable_keys[TRAFFIC_DURABLE_KEYS] = {
    "data-1*", "data-3*", "data-4*", "data-6*"
};
