/* Takes the answers to calls about types of a node that runs: sherd_entity_register,
 * sherd_region_shutdown.
 *
 * A call whose caller gave up stays until its part is back or the system is freed, as the part refers
 * to it. */
#ifndef SHERD_HOST_TYPE_CALLS_H
#define SHERD_HOST_TYPE_CALLS_H

#include "host/system.h"

struct type_call_state {
    struct type_call_state *next; /* of the system's calls */
    uint32_t waiting;             /* 1 until the part is back */
    bool abandoned;               /* the caller waits no longer */
    int result;
    void (*done)(void *user, int result); /* or null; then the caller waits */
    void *user;
};

/* done: null for a caller that waits. Null at the limit. */
struct type_call_state *type_call_new(struct sherd_system *system,
                                      void (*done)(void *user, int result), void *user);
/* Takes back control's part, given, on control's thread. */
void type_call_returned(struct sherd_system *system, struct type_part *part);
/* Frees a call. Under the mutex. */
void type_call_end(struct sherd_system *system, struct type_call_state *call);
/* Frees calls that are left; tells those with a function SHERD_ESTATE. Control has no part any more. */
void type_calls_free(struct sherd_system *system);

#endif
