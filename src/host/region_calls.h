/* Takes the answers to a program's questions about regions (sherd/sharding.h).
 *
 * A call that timed out stays until its part is back or the system is freed, as the part refers to
 * it. */
#ifndef SHERD_HOST_REGION_CALLS_H
#define SHERD_HOST_REGION_CALLS_H

#include "host/system.h"

struct region_call {
    struct region_call *next; /* of the system's calls */
    uint32_t waiting;         /* 1 until the part is back */
    bool abandoned;           /* the caller gave up */
    int result;
    struct sherd_regions regions;
    struct sherd_cluster_view view;
};

/* Asks control for a view of the membership. As sherd_node_access.view. */
int region_calls_view(struct sherd_system *system, uint32_t timeout_ms,
                      struct sherd_cluster_view *view);
/* Takes back control's part, given, on control's thread. */
void region_call_returned(struct sherd_system *system, struct query_part *part);
/* Frees a call with its answer. Under the mutex. */
void region_call_end(struct sherd_system *system, struct region_call *call);
/* Frees timed-out calls. Control has no part any more. */
void region_calls_free(struct sherd_system *system);

#endif
