/* Replaces Akka's words for the own host: <getHostAddress> and <getHostName>. */
#ifndef SHERD_HOST_OWN_HOST_H
#define SHERD_HOST_OWN_HOST_H

#include "base/address.h"

/* Returns the host that a setting means: for "<getHostName>" the name of this machine, for
 * "<getHostAddress>" an address of that name, IPv4 first, as InetAddress.getLocalHost. Any other
 * text is returned as it is, and so is a word that has no answer. May wait for DNS. */
const char *own_host_of(const char *text, char found[HOST_MAX + 1]);

#endif
