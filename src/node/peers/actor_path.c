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

size_t name_put_left(char *text, size_t size, uint32_t ms)
{
    int shift = 28;

    text[size++] = '.';
    while (shift && !(ms >> shift))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        text[size++] = digits[(ms >> shift) & 15];
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

/* Reads an ask's number, and the time left; 0: not told. */
static bool ask_parse(struct slice text, uint64_t *ask, uint64_t *left)
{
    const uint8_t *dot = memchr(text.data, '.', text.size);
    size_t size = dot ? (size_t)(dot - text.data) : text.size;

    *left = 0;
    return hex(slice_of(text.data, size), ask) &&
           (!dot || hex(slice_of(dot + 1, text.size - size - 1), left));
}

bool name_parse(struct slice path, uint64_t *actor, uint64_t *ask)
{
    uint64_t left;
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
    if (path.size < 25 || path.data[23] != '.' || path.data[24] == '0')
        return false;
    return ask_parse(slice_of(path.data + 24, path.size - 24), ask, &left);
}

uint32_t name_left(struct slice literal)
{
    uint64_t ask;
    uint64_t left;
    size_t at = literal.size;

    while (at > 0 && literal.data[at - 1] != '/')
        at--;
    if (literal.size - at < 19 || at < 6 || memcmp(literal.data + at - 6, "/temp/a", 7) ||
        !ask_parse(slice_of(literal.data + at + 18, literal.size - at - 18), &ask, &left))
        return 0;
    return left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
}
