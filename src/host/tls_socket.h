/* What TLS has to send goes to a socket. */
#ifndef SHERD_HOST_TLS_SOCKET_H
#define SHERD_HOST_TLS_SOCKET_H

#include "host/tls.h"

/* 1: all of it; 0: the kernel takes no more for now; -1: the connection is broken. Never waits. */
int tls_send(struct tls_end *end, int fd);

#endif
