/* Validates UTF-8, because names go to other nodes that accept nothing else. */
#include "config/parse.h"

/* Returns the bytes of the first character (RFC 3629, section 4), or 0 if it is invalid. */
static size_t character(const uint8_t *at, size_t left)
{
    size_t size = at[0] < 0x80                     ? 1
                  : at[0] >= 0xc2 && at[0] < 0xe0 ? 2
                  : at[0] >= 0xe0 && at[0] < 0xf0 ? 3
                  : at[0] >= 0xf0 && at[0] < 0xf5 ? 4
                                                  : 0;

    if (!size || size > left)
        return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    /* An overlong form, a surrogate, or beyond the last code point. */
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    return size;
}

bool config_check_utf8(struct slice text, const char *source,
                       struct config_problem *problem)
{
    struct place place = {source, 1, 1, NULL};
    size_t line_start = 0;
    size_t size;

    for (size_t at = 0; at < text.size; at += size) {
        size = character(text.data + at, text.size - at);
        place.column = (uint32_t)(at - line_start) + 1;
        if (!size)
            return config_problem_set(problem, place,
                                      "the byte 0x%02x is not UTF-8; save the "
                                      "text as UTF-8",
                                      (unsigned)text.data[at]);
        if (text.data[at] == '\n') {
            place.line++;
            line_start = at + 1;
        }
    }
    return true;
}
