/* Collects the figures of a system's machines for metrics.
 *
 * Each machine's last part is kept, so a blocked lane does not hide what it said before. At most one
 * question waits at each machine. */
#ifndef SHERD_HOST_FIGURES_H
#define SHERD_HOST_FIGURES_H

#include "base/figures.h"
#include "host/system.h"

/* Asks all machines and waits for so many ms. figures: to be freed. 0; SHERD_ESTATE: it does not run. */
int figures_ask(void *system, uint32_t timeout_ms, struct sherd_figures **figures);
void figures_end(struct sherd_figures *figures);
/* Takes a machine's part, given, on the machine's thread. */
void figures_returned(struct sherd_system *system, struct status_part *part);
/* No machine has a question any more. */
void figures_free(struct sherd_system *system);

#endif
