/* Sends pending bytes of a TLS end to its socket. */
#define _GNU_SOURCE
#include "host/tls_socket.h"

#include <errno.h>
#include <sys/socket.h>

int tls_send(struct tls_end *end, int fd)
{
    struct slice bytes;

    while (tls_end_pending(end, &bytes)) {
        ssize_t size = send(fd, bytes.data, bytes.size,
                            MSG_DONTWAIT | MSG_NOSIGNAL);

        if (size > 0)
            tls_end_sent(end, (size_t)size);
        else if (size < 0 && errno == EAGAIN)
            return 0;
        else if (size < 0 && errno != EINTR)
            return -1;
    }
    return 1;
}
