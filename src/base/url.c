/* Encodes names in paths as java.net.URLEncoder does, and decodes them as java.net.URLDecoder
 * does. */
#include "base/url.h"

static bool stays(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' ||
           byte == '*' || byte == '_';
}

void url_put(struct buf *buf, struct slice text)
{
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < text.size; i++) {
        uint8_t byte = text.data[i];

        if (stays(byte)) {
            buf_put_u8(buf, byte);
        } else if (byte == ' ') {
            buf_put_u8(buf, '+');
        } else {
            buf_put_u8(buf, '%');
            buf_put_u8(buf, (uint8_t)digits[byte >> 4]);
            buf_put_u8(buf, (uint8_t)digits[byte & 15]);
        }
    }
}

static int digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F')
        return byte - 'A' + 10;
    return -1;
}

bool url_take(struct buf *buf, struct slice encoded)
{
    for (size_t i = 0; i < encoded.size; i++) {
        uint8_t byte = encoded.data[i];

        if (byte == '+') {
            buf_put_u8(buf, ' ');
        } else if (byte != '%') {
            buf_put_u8(buf, byte);
        } else {
            bool whole = encoded.size - i > 2;
            int high = whole ? digit(encoded.data[i + 1]) : -1;
            int low = whole ? digit(encoded.data[i + 2]) : -1;

            if (high < 0 || low < 0)
                return false;
            buf_put_u8(buf, (uint8_t)(high << 4 | low));
            i += 2;
        }
    }
    return true;
}
