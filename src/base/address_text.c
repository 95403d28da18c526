/* Implements address_text.h. */
#include "base/address_text.h"

bool address_read(struct slice text, struct address *address)
{
    size_t colon = text.size;
    uint32_t port = 0;

    while (colon > 0 && text.data[colon - 1] != ':')
        colon--;
    for (size_t i = colon; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || port > UINT16_MAX)
            return false;
        port = port * 10 + (uint32_t)(text.data[i] - '0');
    }
    return colon > 0 && address_set(address, (const char *)text.data, colon - 1, port);
}
