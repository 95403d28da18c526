/* Recognizes white space as HOCON defines it: Unicode's separators, with those that do not break a
 * line, ASCII's separators, and the byte order mark. */
#include "config/scan.h"

/* The bytes of U+1680, U+2000 to U+200A, U+2028, U+2029, U+202F, U+205F, U+3000 and U+FEFF. */
static bool is_wide(const unsigned char *at)
{
    if (at[0] == 0xe2 && at[1] == 0x80)
        return (at[2] >= 0x80 && at[2] <= 0x8a) || at[2] == 0xa8 ||
               at[2] == 0xa9 || at[2] == 0xaf;
    return (at[0] == 0xe1 && at[1] == 0x9a && at[2] == 0x80) ||
           (at[0] == 0xe2 && at[1] == 0x81 && at[2] == 0x9f) ||
           (at[0] == 0xe3 && at[1] == 0x80 && at[2] == 0x80) ||
           (at[0] == 0xef && at[1] == 0xbb && at[2] == 0xbf);
}

size_t space_size(const char *at, const char *end)
{
    const unsigned char *byte = (const unsigned char *)at;
    size_t left = (size_t)(end - at);

    if (!left)
        return 0;
    if (byte[0] == ' ' || byte[0] == '\t' || byte[0] == '\v' ||
        byte[0] == '\f' || byte[0] == '\r' ||
        (byte[0] >= 0x1c && byte[0] <= 0x1f))
        return 1;
    if (left >= 2 && byte[0] == 0xc2 && byte[1] == 0xa0)
        return 2;
    return left >= 3 && is_wide(byte) ? 3 : 0;
}
