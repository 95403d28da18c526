/* Versions: at most three parts, numbers but for what follows the last (behaviour 1.2). */
#include "member/version.h"

#include <string.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits from text to end; -1 when that is no number that the reference's int can hold. */
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

/* The last part: a number, and a rest behind - or +. A number that opens the rest, up to a -, is the count of commits. */
static bool parse_last(struct version *version, const char *part, int index)
{
    const char *rest = part + strcspn(part, "-+");
    const char *dash;

    version->numbers[index] = number(part, rest);
    if (version->numbers[index] < 0)
        return false;
    if (!*rest)
        return true;
    version->rest = rest + 1;
    dash = strchr(version->rest, '-');
    if (is_digit(*version->rest) && dash) {
        int64_t commits = number(version->rest, dash);

        if (commits < 0)
            return true; /* it stays text, as in 1.0.10+3a-1234abcd */
        version->numbers[3] = commits;
        version->rest = dash + 1;
    }
    return true;
}

bool version_parse(struct version *version, const char *text)
{
    const char *part = text;
    int index = 0;

    *version = (struct version){ .rest = "" };
    if (!*text || strlen(text) > VERSION_SIZE_MAX)
        return false;
    if (!strchr(text, '.')) {
        int64_t value = number(text, text + strlen(text));

        if (value >= 0)
            version->numbers[0] = value;
        else
            version->rest = text; /* one word */
        return true;
    }
    for (;;) {
        const char *dot = strchr(part, '.');

        if (!dot)
            return parse_last(version, part, index);
        if (index == 2)
            return false;
        version->numbers[index] = number(part, dot);
        if (version->numbers[index++] < 0)
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
