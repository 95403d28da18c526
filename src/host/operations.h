/* Carries operations of the program's threads to control, and calls their `done` once
 * (sherd/operate.h). */
#ifndef SHERD_HOST_OPERATIONS_H
#define SHERD_HOST_OPERATIONS_H

#include "host/system.h"

struct operate_call;

/* Takes a call back, given, on control's thread. */
void operations_returned(struct sherd_system *system, struct operate_call *call);
/* Control has no call any more: the open operations end. */
void operations_end(struct sherd_system *system);

#endif
