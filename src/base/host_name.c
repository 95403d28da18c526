/* Checks the characters of host names. */
#include "base/host_name.h"

#include <stdio.h>
#include <string.h>

const char *host_name_fault(const char *host, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        char c = host[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || (c && strchr("-._:[]%", c))))
            return host + i;
    }
    return NULL;
}

const char *host_name_fault_in(const char *address)
{
    const char *scheme = strstr(address, "://");
    const char *host = scheme ? scheme + 3 : address;
    const char *at = strchr(host, '@');
    const char *colon;

    if (at)
        host = at + 1;
    colon = strrchr(host, ':');
    return host_name_fault(host, colon ? (size_t)(colon - host) : strlen(host));
}

const char *host_name_sign(const char *fault, char text[HOST_SIGN_SIZE])
{
    unsigned char c = (unsigned char)*fault;

    if (c == ' ')
        (void)snprintf(text, HOST_SIGN_SIZE, "a blank");
    else if (c < ' ' || c >= 0x7f)
        (void)snprintf(text, HOST_SIGN_SIZE, "byte 0x%02x", c);
    else
        (void)snprintf(text, HOST_SIGN_SIZE, "'%c'", c);
    return text;
}
