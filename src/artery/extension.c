/* Writes and reads manifests of application messages: "m" and the number in decimal. */
#include "artery/extension.h"

struct slice message_manifest_put(char text[MESSAGE_MANIFEST_MAX],
                                  uint32_t message)
{
    char digits[10];
    unsigned count = 0;
    unsigned size = 0;

    if (message < 10) {
        text[0] = 'm';
        text[1] = (char)('0' + message);
        text[2] = 0;
        return slice_of(text, 2);
    }
    do {
        digits[count++] = (char)('0' + message % 10);
        message /= 10;
    } while (message);
    text[size++] = 'm';
    while (count)
        text[size++] = digits[--count];
    text[size] = 0;
    return slice_of(text, size);
}

bool message_manifest_read_any(struct slice manifest, uint32_t *message)
{
    uint64_t value = 0;

    if (manifest.size < 2 || manifest.size >= MESSAGE_MANIFEST_MAX ||
        manifest.data[0] != 'm' ||
        (manifest.data[1] == '0' && manifest.size > 2))
        return false;
    for (size_t i = 1; i < manifest.size; i++) {
        if (manifest.data[i] < '0' || manifest.data[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(manifest.data[i] - '0');
    }
    if (value > UINT32_MAX)
        return false;
    *message = (uint32_t)value;
    return true;
}
