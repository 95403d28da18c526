/* Keeps standard input, output and error open. */
#ifndef SHERD_HOST_STANDARD_FILES_H
#define SHERD_HOST_STANDARD_FILES_H

#include <stdbool.h>

/* Opens /dev/null in place of each that is closed. Otherwise the next file that the process opens
 * gets its number, and what is written to standard error lands in that file. False: neither that
 * nor another file can be opened. */
bool standard_files_keep(void);

#endif
