/* Reads amounts without the C library's readers, which depend on the locale. */
#include "config/amount.h"

#include "config/config.h"

struct unit {
    const char *name;
    uint64_t factor;
};

/* HOCON's duration format; without a unit: milliseconds. */
static const struct unit durations[] = {
    {"", 1000000},
    {"ns", 1},
    {"nano", 1},
    {"nanos", 1},
    {"nanosecond", 1},
    {"nanoseconds", 1},
    {"us", 1000},
    {"micro", 1000},
    {"micros", 1000},
    {"microsecond", 1000},
    {"microseconds", 1000},
    {"ms", 1000000},
    {"milli", 1000000},
    {"millis", 1000000},
    {"millisecond", 1000000},
    {"milliseconds", 1000000},
    {"s", 1000000000},
    {"second", 1000000000},
    {"seconds", 1000000000},
    {"m", 60 * 1000000000ull},
    {"minute", 60 * 1000000000ull},
    {"minutes", 60 * 1000000000ull},
    {"h", 3600 * 1000000000ull},
    {"hour", 3600 * 1000000000ull},
    {"hours", 3600 * 1000000000ull},
    {"d", 86400 * 1000000000ull},
    {"day", 86400 * 1000000000ull},
    {"days", 86400 * 1000000000ull},
    {NULL, 0},
};

/* HOCON's size in bytes format: single letters are powers of two. */
static const struct unit sizes[] = {
    {"", 1},
    {"B", 1},
    {"b", 1},
    {"byte", 1},
    {"bytes", 1},
    {"kB", 1000},
    {"kilobyte", 1000},
    {"kilobytes", 1000},
    {"K", 1024},
    {"k", 1024},
    {"Ki", 1024},
    {"KiB", 1024},
    {"kibibyte", 1024},
    {"kibibytes", 1024},
    {"MB", 1000000},
    {"megabyte", 1000000},
    {"megabytes", 1000000},
    {"M", 1048576},
    {"m", 1048576},
    {"Mi", 1048576},
    {"MiB", 1048576},
    {"mebibyte", 1048576},
    {"mebibytes", 1048576},
    {"GB", 1000000000},
    {"gigabyte", 1000000000},
    {"gigabytes", 1000000000},
    {"G", 1073741824},
    {"g", 1073741824},
    {"Gi", 1073741824},
    {"GiB", 1073741824},
    {"gibibyte", 1073741824},
    {"gibibytes", 1073741824},
    {"TB", 1000000000000},
    {"terabyte", 1000000000000},
    {"terabytes", 1000000000000},
    {"T", 1099511627776},
    {"t", 1099511627776},
    {"Ti", 1099511627776},
    {"TiB", 1099511627776},
    {"tebibyte", 1099511627776},
    {"tebibytes", 1099511627776},
    {NULL, 0},
};

static bool is_digit(const struct cursor *cursor)
{
    return cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9';
}

static bool skip(struct cursor *cursor, char sign)
{
    if (cursor->at == cursor->end || *cursor->at != (uint8_t)sign)
        return false;
    cursor->at++;
    return true;
}

/* Reads digits with an optional fraction: the whole part, and the fraction's first nine digits as
 * billionths. */
static bool read_decimal(struct cursor *cursor, uint64_t *whole,
                         uint64_t *billionths)
{
    uint64_t scale = 100000000;

    *whole = *billionths = 0;
    if (!is_digit(cursor))
        return false;
    for (; is_digit(cursor); cursor->at++) {
        uint64_t digit = (uint64_t)(*cursor->at - '0');

        if (*whole > (UINT64_MAX - digit) / 10)
            return false;
        *whole = *whole * 10 + digit;
    }
    if (!skip(cursor, '.'))
        return true;
    if (!is_digit(cursor))
        return false;
    for (; is_digit(cursor); cursor->at++, scale /= 10)
        *billionths += (uint64_t)(*cursor->at - '0') * scale;
    return true;
}

static bool parse_amount(struct slice text, const struct unit *units,
                         uint64_t *value)
{
    struct cursor cursor = cursor_of(text);
    uint64_t whole;
    uint64_t billionths;
    uint64_t part;

    if (!read_decimal(&cursor, &whole, &billionths))
        return false;
    while (skip(&cursor, ' ') || skip(&cursor, '\t'))
        ;
    text = slice_of(cursor.at, cursor_left(&cursor));
    while (units->name && !slice_is(text, units->name))
        units++;
    if (!units->name || whole > UINT64_MAX / units->factor / 2)
        return false;
    /* Two steps avoid an overflow: a factor is below 2^47. */
    part = units->factor / 1000000000 * billionths +
           units->factor % 1000000000 * billionths / 1000000000;
    *value = whole * units->factor + part;
    return true;
}

bool config_parse_duration(struct slice text, uint64_t *ns)
{
    return parse_amount(text, durations, ns);
}

bool config_parse_size(struct slice text, uint64_t *size)
{
    return parse_amount(text, sizes, size);
}

bool amount_bool(struct slice text, bool *value)
{
    if (slice_is(text, "on") || slice_is(text, "yes") || slice_is(text, "true"))
        *value = true;
    else if (slice_is(text, "off") || slice_is(text, "no") ||
             slice_is(text, "false"))
        *value = false;
    else
        return false;
    return true;
}

bool amount_int(struct slice text, int64_t *value)
{
    struct cursor cursor = cursor_of(text);
    bool negative = skip(&cursor, '-');
    uint64_t whole;
    uint64_t billionths;

    if (!read_decimal(&cursor, &whole, &billionths) || billionths ||
        cursor_left(&cursor) || whole > INT64_MAX)
        return false;
    *value = negative ? -(int64_t)whole : (int64_t)whole;
    return true;
}

bool amount_number(struct slice text, double *value)
{
    struct cursor cursor = cursor_of(text);
    bool negative = skip(&cursor, '-');
    uint64_t whole;
    uint64_t billionths;
    uint64_t power = 0;
    bool down = false;
    double result;

    if (!read_decimal(&cursor, &whole, &billionths))
        return false;
    result = (double)whole + (double)billionths / 1e9;
    if (skip(&cursor, 'e') || skip(&cursor, 'E')) {
        down = skip(&cursor, '-');
        if (!down)
            (void)skip(&cursor, '+');
        for (; is_digit(&cursor) && power < 100; cursor.at++)
            power = power * 10 + (uint64_t)(*cursor.at - '0');
        if (power > 300)
            return false;
        for (; power; power--)
            result = down ? result / 10 : result * 10;
    }
    if (cursor_left(&cursor))
        return false;
    *value = negative ? -result : result;
    return true;
}
