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
struct thread;
/* Takes the part, given, of a machine on its thread. index: of the machine, among those of the thread. */
void figures_returned(struct thread *thread, uint32_t index, struct status_part *part);
/* No machine has a question any more. */
void figures_free(struct sherd_system *system);

#endif
