/* Sends pending bytes of a TLS end to its socket. */
#ifndef SHERD_HOST_TLS_SOCKET_H
#define SHERD_HOST_TLS_SOCKET_H

#include "host/tls.h"

/* 1: all; 0: the kernel takes no more now; -1: broken. Never blocks. */
int tls_send(struct tls_end *end, int fd);

#endif
