/* Opens files that a node reads by path while it runs, and refuses anything that may never answer
 * (a FIFO, a device). */
#ifndef SHERD_HOST_FILE_H
#define SHERD_HOST_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* For reading; given. Null: `wrong` says why, lent. Blocks if the disk or mount of the file does
 * not answer. */
FILE *file_open(const char *path, const char **wrong);

/* Tells whether a path leads to something that is no regular file and may never answer; false for a
 * folder, or if nothing is there. */
bool file_is_endless(const char *path);

#endif
