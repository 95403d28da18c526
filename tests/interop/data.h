/* What lines that begin with "data" ask of distributed data: see data.c. */
#ifndef INTEROP_DATA_H
#define INTEROP_DATA_H

#include <sherd/sherd.h>

int data_spawn(struct sherd_system *system); /* the actor that obeys them */
int data_order(struct sherd_system *system, const char *line);

#endif
