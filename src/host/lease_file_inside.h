/* Declares what the files of leases with a time and of bound leases share. Private to lease_file.c and
 * lease_file_bind.c. */
#ifndef SHERD_HOST_LEASE_FILE_INSIDE_H
#define SHERD_HOST_LEASE_FILE_INSIDE_H

#include "host/lease_file.h"

#define LEASE_BOOT_MAX 40 /* bytes of the kernel's boot id, with the zero */

bool lease_boot_read(char boot[LEASE_BOOT_MAX]);
/* Puts the path of a lease's file. False: the name is too long. */
bool lease_path_put(const char *directory, const char *name, char path[LEASE_PATH_SIZE]);
/* Opens and locks the file that has the name when the lock is taken. -1, with errno: none.
 * flags: O_CREAT, or 0. */
int lease_file_lock(const char *path, int flags);
/* Reads the entry of a locked file. False: it is no lease's file. is_new: it is empty. */
bool lease_entry_read(int fd, const char *boot, struct lease_entry *entry, bool *is_new);
/* False, with errno: it was not written as a whole. */
bool lease_text_write(int fd, const char text[LEASE_FILE_SIZE]);

#endif
