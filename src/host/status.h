/* A system's status: one part from each machine, joined.
 *
 * A call that ran out of time stays until its parts are back, or the system is
 * freed: the parts are under way and name it. */
#ifndef SHERD_HOST_STATUS_H
#define SHERD_HOST_STATUS_H

#include "host/system.h"

/* A machine gave its part back; given. Its own thread. */
void status_returned(struct sherd_system *system, struct status_part *part);
/* Frees the calls that were given up; no machine has a part any more. */
void status_calls_free(struct sherd_system *system);

/* Adds a part to a status: members and coordinators as they come, types by
 * their name, counts as sums, longest times as the longest. Copied. */
void status_join(struct sherd_status *status, const struct sherd_status *part);

#endif
