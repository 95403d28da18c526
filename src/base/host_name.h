/* Tells which characters a node's host may have. One rule for this node, seed nodes and commands. */
#ifndef SHERD_BASE_HOST_NAME_H
#define SHERD_BASE_HOST_NAME_H

#include <stddef.h>

/* Returns the first character of the host that none may have, or null: a host has letters, digits,
 * and -._:[]%. A JVM refuses an underscore after the last dot, so JVM nodes cannot answer there. */
const char *host_name_fault(const char *host, size_t size);
/* The same for an address, "protocol://System@host:port" or a part from its end. */
const char *host_name_fault_in(const char *address);
/* Describes the character in words, such as a blank or 'x'. Returns text. */
#define HOST_SIGN_SIZE 16
const char *host_name_sign(const char *fault, char text[HOST_SIGN_SIZE]);

#endif
