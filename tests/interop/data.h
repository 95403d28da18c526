/* Passes the command lines that begin with "data" to the actor in data.c. */
#ifndef INTEROP_DATA_H
#define INTEROP_DATA_H

#include <sherd/sherd.h>

int data_spawn(struct sherd_system *system); /* starts the actor */
int data_order(struct sherd_system *system, const char *line);

#endif
