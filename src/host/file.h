/* Files that a node reads by their path while it runs. A path may lead to something that never answers (a FIFO, a device): that
 * is refused, and opening it waits for nobody.
 *
 * Who calls: host/discovery.c, the files of TLS, host/etcd_call.c. */
#ifndef SHERD_HOST_FILE_H
#define SHERD_HOST_FILE_H

#include <stdio.h>

/* A regular file, to be read; given to the caller, who closes it. Null: wrong says what it is, in a line, lent. A regular file
 * whose disk or mount stands still is waited for, here and when it is read. */
FILE *file_open(const char *path, const char **wrong);

#endif
