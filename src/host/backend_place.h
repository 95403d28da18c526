/* Judges where a journal's file is: on which file system, and which file of which host it is. */
#ifndef SHERD_HOST_BACKEND_PLACE_H
#define SHERD_HOST_BACKEND_PLACE_H

#include <stdint.h>

/* Name of a network file system, by the type that statfs reports; null: another one. SQLite's
 * locks and shared memory need one kernel. */
const char *backend_network_file_system(uint64_t type);

/* Name of the network file system that a path is on; null: another one, or unknown. */
const char *backend_place_network(const char *path);

/* Number of the host's boot, the device and the inode of a file: equal for all processes of a host
 * that have the same file, also in containers. 0: no such file. */
uint64_t backend_place_of(const char *path);

#endif
