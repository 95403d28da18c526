/* Who hears of a queue that holds more than it may (base/bound.h): one listener in the process. */
#ifndef SHERD_SIM_BOUND_H
#define SHERD_SIM_BOUND_H

#include <stdint.h>

/* Called while the core that holds the queue runs. `what` is a literal. */
typedef void bound_listener(void *user, const char *what, uint64_t held,
                            uint64_t most);

void bound_listen(bound_listener *listener, void *user); /* in the place of the one before */
void bound_unlisten(const void *user); /* if it is still that one's */

#endif
