/* Starts processes that run seeds. They end with the process that started them, however it ends. */
#ifndef SHERD_SIM_RUN_CHILD_H
#define SHERD_SIM_RUN_CHILD_H

#include <sys/types.h>

/* Starts a child process. Returns 0 in the child, its id in the parent. Flushes the parent's output
 * first. */
pid_t child_fork(void);

#endif
