/* Processes that run seeds: they end with the one that started them, however that ends. */
#ifndef SHERD_SIM_CHILD_H
#define SHERD_SIM_CHILD_H

#include <sys/types.h>

/* A process of its own: 0 in it, its id in the parent. What the parent has printed is out before. */
pid_t child_fork(void);

#endif
