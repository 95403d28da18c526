/* Keeps refs of actors that threads of the program will spawn on the first lane. The lane reserves
 * them in its turns, so that a thread has the ref of its actor at once, without waiting for the
 * lane. */
#ifndef SHERD_HOST_RESERVED_REFS_H
#define SHERD_HOST_RESERVED_REFS_H

#include <stdatomic.h>
#include <stdbool.h>

#include <uv.h>

#include "base/limits.h"
#include "node/node.h"

struct reserved_refs {
    uv_mutex_t mutex;
    struct sherd_ref items[RESERVED_REFS_MAX]; /* under the mutex */
    _Atomic uint32_t count; /* changes under the mutex; readable without it */
};

void reserved_refs_init(struct reserved_refs *refs);
void reserved_refs_fini(struct reserved_refs *refs);
/* Reserves more if fewer than half are left. On the thread of the machine, a lane. */
void reserved_refs_fill(struct reserved_refs *refs, struct machine *machine);
/* Any thread. False: none is left. */
bool reserved_refs_take(struct reserved_refs *refs, struct sherd_ref *ref);
/* Gives one back whose actor will not be spawned. */
void reserved_refs_return(struct reserved_refs *refs, struct sherd_ref ref);

#endif
