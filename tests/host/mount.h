/* Simulates a stalled mount in tests linked with --wrap=fstat,--wrap=flock: file_open and flock
 * block. */
#ifndef TESTS_HOST_MOUNT_H
#define TESTS_HOST_MOUNT_H

void mount_stop(void);
void mount_go_on(void);
void mount_holds(int count); /* waits until so many threads are blocked */

#endif
