/* A mount that stands still, for tests that are linked with --wrap=fstat,--wrap=flock: whoever opens a file by file_open, or locks
 * one, waits meanwhile. */
#ifndef TESTS_HOST_MOUNT_H
#define TESTS_HOST_MOUNT_H

void mount_stop(void);
void mount_go_on(void);
void mount_holds(int count); /* waits until it holds as many threads */

#endif
