/* Reads and compares versions: at most three parts, all numbers but for what follows the last. */
#include "member/version.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits up to end. -1: no number, or beyond a Java int. */
static int64_t number(const char *text, const char *end)
{
    int64_t value = 0;

    if (text == end)
        return -1;
    for (; text < end; text++) {
        if (!is_digit(*text))
            return -1;
        value = value * 10 + (*text - '0');
        if (value > INT32_MAX)
            return -1;
    }
    return value;
}

/* A part before the last, with an optional sign as in Akka. False: no number. */
static bool parse_part(int64_t *value, const char *part, const char *end)
{
    bool is_signed = part < end && (*part == '-' || *part == '+');

    *value = number(part + is_signed, end);
    if (*value < 0)
        return false;
    if (*part == '-')
        *value = -*value;
    return true;
}

/* The last part: a number, then a rest after - or +. A number that begins the rest, up to a -,
 * counts commits and follows the last number: it is the third in 1.2-14-a. */
static bool parse_last(struct version *version, const char *part,
                       const char *end, int index)
{
    const char *rest = part + strcspn(part, "-+");
    const char *dash;

    if (rest > end)
        rest = end;
    version->numbers[index] = number(part, rest);
    if (version->numbers[index] < 0)
        return false;
    if (rest == end)
        return true;
    version->rest = rest + 1;
    dash = strchr(version->rest, '-');
    if (is_digit(*version->rest) && dash) {
        int64_t commits = number(version->rest, dash);

        if (commits < 0)
            return true; /* it stays text, as in 1.0.10+3a-1234abcd */
        version->numbers[index + 1] = commits;
        version->rest = dash + 1;
    }
    return true;
}

/* Dots at the end do not count, as in Akka. A version refused here would exclude every gossip that
 * has it. */
bool version_parse(struct version *version, const char *text)
{
    const char *part = text, *end = text + strlen(text);
    int index = 0;

    *version = (struct version){ .rest = "" };
    if (end - text > VERSION_SIZE_MAX)
        return false;
    while (end > text && end[-1] == '.')
        end--;
    if (end == text)
        return false;
    if (!memchr(text, '.', (size_t)(end - text))) {
        int64_t value = number(text, end);

        if (value >= 0)
            version->numbers[0] = value;
        else
            version->rest = text; /* one word */
        return true;
    }
    for (;;) {
        const char *dot = memchr(part, '.', (size_t)(end - part));

        if (!dot)
            return parse_last(version, part, end, index);
        if (index == 2)
            return false;
        if (!parse_part(&version->numbers[index++], part, dot))
            return false;
        part = dot + 1;
    }
}

int version_compare(const struct version *left, const struct version *right)
{
    for (int i = 0; i < 4; i++)
        if (left->numbers[i] != right->numbers[i])
            return left->numbers[i] < right->numbers[i] ? -1 : 1;
    if (!*left->rest || !*right->rest)
        return !*left->rest - !*right->rest;
    return strcmp(left->rest, right->rest);
}
