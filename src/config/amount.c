/* Reads amounts without the C library's readers, which depend on the locale. */
#include "config/amount.h"

#include "config/config.h"
#include "config/scan.h"

#define DIGITS_MAX 40 /* a number is cut after these */
#define EXPONENT_MAX 400

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
    {"PB", 1000000000000000},
    {"petabyte", 1000000000000000},
    {"petabytes", 1000000000000000},
    {"P", 1ull << 50},
    {"p", 1ull << 50},
    {"Pi", 1ull << 50},
    {"PiB", 1ull << 50},
    {"pebibyte", 1ull << 50},
    {"pebibytes", 1ull << 50},
    {"EB", 1000000000000000000},
    {"exabyte", 1000000000000000000},
    {"exabytes", 1000000000000000000},
    {"E", 1ull << 60},
    {"e", 1ull << 60},
    {"Ei", 1ull << 60},
    {"EiB", 1ull << 60},
    {"exbibyte", 1ull << 60},
    {"exbibytes", 1ull << 60},
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

/* The digits of a number without leading zeros, and the power of ten of the first. */
struct decimal {
    uint8_t digits[DIGITS_MAX];
    int count;
    int power;
};

static void put_digit(struct decimal *decimal, uint8_t digit, bool is_whole)
{
    bool is_zero = !decimal->count && digit == 0;

    if (is_zero && is_whole)
        return;
    if (is_whole || is_zero)
        decimal->power += is_whole ? decimal->count > 0 : -1;
    if (!is_zero && decimal->count < DIGITS_MAX)
        decimal->digits[decimal->count] = digit;
    decimal->count += !is_zero && decimal->count < DIGITS_MAX;
}

/* Reads "e5" or "E-5". Without digits it is no exponent, and the cursor stays. */
static int read_exponent(struct cursor *cursor)
{
    struct cursor ahead = *cursor;
    bool is_down;
    int power = 0;

    if (!skip(&ahead, 'e') && !skip(&ahead, 'E'))
        return 0;
    is_down = skip(&ahead, '-');
    if (!is_down)
        (void)skip(&ahead, '+');
    if (!is_digit(&ahead))
        return 0;
    for (; is_digit(&ahead); ahead.at++)
        if (power < EXPONENT_MAX)
            power = power * 10 + (*ahead.at - '0');
    *cursor = ahead;
    return is_down ? -power : power;
}

/* Reads digits with an optional fraction and exponent: the whole part, and the fraction's first nine
 * digits as billionths. */
static bool read_decimal(struct cursor *cursor, uint64_t *whole,
                         uint64_t *billionths)
{
    struct decimal decimal = { .power = 0 };
    uint64_t scale = 100000000;
    bool any = is_digit(cursor);

    for (; is_digit(cursor); cursor->at++)
        put_digit(&decimal, (uint8_t)(*cursor->at - '0'), true);
    if (!decimal.count)
        decimal.power = -1;
    if (skip(cursor, '.')) {
        any |= is_digit(cursor);
        for (; is_digit(cursor); cursor->at++)
            put_digit(&decimal, (uint8_t)(*cursor->at - '0'), false);
    }
    if (!any)
        return false;
    decimal.power += read_exponent(cursor);
    *whole = *billionths = 0;
    if (decimal.count && decimal.power > DIGITS_MAX)
        return false;
    for (int at = decimal.power; at < -1 && scale; at++)
        scale /= 10;
    for (int i = 0; i < decimal.count || (i <= decimal.power && *whole); i++) {
        uint64_t digit = i < decimal.count ? decimal.digits[i] : 0;

        if (i > decimal.power) {
            *billionths += digit * scale;
            scale /= 10;
            continue;
        }
        if (*whole > (UINT64_MAX - digit) / 10)
            return false;
        *whole = *whole * 10 + digit;
    }
    return true;
}

/* HOCON's white space, of which lines are a part. */
static void skip_spaces(struct cursor *cursor)
{
    size_t size;

    do {
        size = space_size((const char *)cursor->at, (const char *)cursor->end);
        cursor->at += size;
    } while (size || skip(cursor, '\n'));
}

/* A text, without the spaces at its end, that is a unit; null if there is none. */
static const struct unit *find_unit(struct cursor cursor,
                                    const struct unit *units)
{
    for (; units->name; units++) {
        struct cursor rest = cursor;
        const char *name = units->name;

        while (*name && skip(&rest, *name))
            name++;
        if (*name)
            continue;
        skip_spaces(&rest);
        if (!cursor_left(&rest))
            return units;
    }
    return NULL;
}

static bool parse_amount(struct slice text, const struct unit *units,
                         uint64_t *value)
{
    struct cursor cursor = cursor_of(text);
    const struct unit *unit;
    uint64_t whole;
    uint64_t billionths;
    uint64_t part;

    skip_spaces(&cursor);
    (void)skip(&cursor, '+');
    if (!read_decimal(&cursor, &whole, &billionths))
        return false;
    skip_spaces(&cursor);
    unit = find_unit(cursor, units);
    if (!unit || whole > UINT64_MAX / unit->factor / 2)
        return false;
    /* Two steps avoid an overflow: a factor is at most 2^60. */
    part = unit->factor / 1000000000 * billionths +
           unit->factor % 1000000000 * billionths / 1000000000;
    *value = whole * unit->factor + part;
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

static double power_of_ten(int power)
{
    double result = 1;

    while (power-- > 0)
        result *= 10;
    return result;
}

/* All digits are one whole number, so that most numbers are rounded once. */
bool amount_number(struct slice text, double *value)
{
    struct cursor cursor = cursor_of(text);
    bool negative = skip(&cursor, '-');
    double digits = 0;
    bool any = false;
    int power = 0;

    for (; is_digit(&cursor); cursor.at++, any = true)
        digits = digits * 10 + (*cursor.at - '0');
    if (skip(&cursor, '.'))
        for (; is_digit(&cursor); cursor.at++, any = true, power--)
            digits = digits * 10 + (*cursor.at - '0');
    power += read_exponent(&cursor);
    if (!any || cursor_left(&cursor) || text.size > DIGITS_MAX ||
        power > EXPONENT_MAX / 2 || power < -EXPONENT_MAX / 2)
        return false;
    digits = power < 0 ? digits / power_of_ten(-power)
                       : digits * power_of_ten(power);
    *value = negative ? -digits : digits;
    return true;
}
