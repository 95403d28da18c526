/* Judges where a journal's file is: on which file system, and which file of which host it is. */
#ifndef SHERD_HOST_BACKEND_PLACE_H
#define SHERD_HOST_BACKEND_PLACE_H

#include <stdint.h>

/* Name of a network file system, by the type that statfs reports; null: another one. SQLite's
 * locks and shared memory need one kernel. */
const char *backend_network_file_system(uint64_t type);

/* Name of the network file system that a path is on; null: another one, or unknown. */
const char *backend_place_network(const char *path);

/* Returns the path of a file as seen from the root, owned: the process may change its folder later.
 * The folder's links are resolved, not the file's. If the folder does not exist, its path begins at
 * the working directory. */
char *backend_place_absolute(const char *path);

/* Writes the end of a path, so that a message of BACKEND_ERROR_MAX bytes has room for its reason. */
#define BACKEND_LABEL_SIZE 72
void backend_place_label(const char *path, char label[BACKEND_LABEL_SIZE]);

/* Number of the host's boot, the device and the inode of a file: equal for all processes of a host
 * that have the same file, also in containers. 0: no such file. */
uint64_t backend_place_of(const char *path);

#endif
