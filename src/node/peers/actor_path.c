/* Writes and reads the paths of Sherd actors.
 *
 * An actor is its number in hexadecimal below /user. With an ask's number it is below /temp, where a
 * JVM looks for the path to answer to. The letter before the number is "w" instead of "a" if the
 * sender wants undelivered messages reported. */
#include "node/peers/actor_path.h"

#include <string.h>

#include "base/outbox.h"

static const char digits[] = "0123456789abcdef";

size_t name_path(char *text, uint64_t actor, uint64_t ask)
{
    size_t size = 7;

    memcpy(text, ask ? "/temp/a" : "/user/a", 7);
    for (int shift = 60; shift >= 0; shift -= 4)
        text[size++] = digits[(actor >> shift) & 15];
    if (ask) {
        int shift = 60;

        text[size++] = '.';
        while (shift && !(ask >> shift))
            shift -= 4;
        for (; shift >= 0; shift -= 4)
            text[size++] = digits[(ask >> shift) & 15];
    }
    return size;
}

static bool hex(struct slice text, uint64_t *value)
{
    *value = 0;
    if (!text.size || text.size > 16)
        return false;
    for (size_t i = 0; i < text.size; i++) {
        uint8_t c = text.data[i];
        uint8_t digit;

        if (c >= '0' && c <= '9')
            digit = (uint8_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            digit = (uint8_t)(c - 'a' + 10);
        else
            return false;
        *value = *value << 4 | digit;
    }
    return true;
}

bool name_parse(struct slice path, uint64_t *actor, uint64_t *ask)
{
    bool temporary;

    *ask = 0;
    path = path_plain(path);
    if (path.size < 23 || (memcmp(path.data, "/user/a", 7) &&
                           memcmp(path.data, "/user/w", 7) &&
                           memcmp(path.data, "/temp/a", 7)))
        return false;
    temporary = path.data[1] == 't';
    if (!hex(slice_of(path.data + 7, 16), actor))
        return false;
    if (!temporary)
        return path.size == 23;
    return path.size > 24 && path.data[23] == '.' && path.data[24] != '0' &&
           hex(slice_of(path.data + 24, path.size - 24), ask);
}
