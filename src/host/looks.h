/* Carries looks of the program's threads to control, and calls their `done` once (sherd/look.h). */
#ifndef SHERD_HOST_LOOKS_H
#define SHERD_HOST_LOOKS_H

#include "host/system.h"

struct look_call;

/* Takes a call back, given, on control's thread. */
void looks_returned(struct sherd_system *system, struct look_call *call);
/* Control has no call any more: the open looks end. */
void looks_end(struct sherd_system *system);

#endif
