/* Reports a queue that exceeds its limit (base/bound.h) to one listener in the process. */
#ifndef SHERD_SIM_WORLD_BOUND_H
#define SHERD_SIM_WORLD_BOUND_H

#include <stdint.h>

/* Called while the core that owns the queue runs. `what` is a literal. */
typedef void bound_listener(void *user, const char *what, uint64_t held,
                            uint64_t most);

void bound_listen(bound_listener *listener, void *user); /* replaces the previous one */
void bound_unlisten(const void *user); /* only if it is still this user's */

#endif
