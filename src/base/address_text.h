/* Reads the address that a person or another node wrote as "host:port". */
#ifndef SHERD_BASE_ADDRESS_TEXT_H
#define SHERD_BASE_ADDRESS_TEXT_H

#include "base/address.h"
#include "base/bytes.h"

/* False: it is none. */
bool address_read(struct slice text, struct address *address);

#endif
