/* Collects a system's status, one part from each machine.
 *
 * A call that timed out stays until its parts are back or the system is freed, as they refer to
 * it. */
#ifndef SHERD_HOST_STATUS_H
#define SHERD_HOST_STATUS_H

#include "host/system.h"

struct status_call {
    struct status_call *next; /* of the system's calls */
    uint32_t waiting;         /* parts not yet back */
    bool abandoned;           /* the caller gave up */
    uint32_t part_count;
    struct sherd_status parts[]; /* by machine */
};

/* Takes back a machine's part, given, on the machine's thread. */
void status_returned(struct sherd_system *system, struct status_part *part);
/* Waits until the number is 0, for so many ns at most, or until the system ends. Under the mutex, as are
 * changes of the number, which broadcast `changed`. It waits in slices: if the whole process stands
 * still, that costs one slice. */
void status_wait(struct sherd_system *system, const uint32_t *waiting,
                 uint64_t left);
/* Frees a call with its parts. Under the mutex. */
void status_call_end(struct sherd_system *system, struct status_call *call);
/* Frees timed-out calls. No machine has a part any more. */
void status_calls_free(struct sherd_system *system);

/* Adds a part: appends members and coordinators, merges types by name, sums counts, keeps the
 * longest times. Copied. */
void status_join(struct sherd_status *status, const struct sherd_status *part);
/* Adds what no machine knows: connections without one, the journal's file, TLS. */
void status_add_driver(struct sherd_system *system, struct sherd_status *status);

#endif
