/* Implements fields.h. */
#include "mgmt/fields.h"

#include <inttypes.h>
#include <stdio.h>

#include "mgmt/json.h"

void field_name(struct buf *buf, const char *name)
{
    json_next(buf);
    json_text(buf, name);
    buf_put_u8(buf, ':');
}

void value_text(struct buf *buf, struct slice text)
{
    while (text.size && !text_is_valid(text))
        text.size--;
    json_slice(buf, text);
}

void field_slice(struct buf *buf, const char *name, struct slice text)
{
    field_name(buf, name);
    if (text.data)
        value_text(buf, text);
    else
        buf_put_text(buf, "null");
}

void field_text(struct buf *buf, const char *name, const char *text)
{
    field_slice(buf, name, slice_text(text));
}

void field_count(struct buf *buf, const char *name, uint64_t number)
{
    field_name(buf, name);
    json_number(buf, number);
}

void field_decimal(struct buf *buf, const char *name, uint64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    field_text(buf, name, text);
}

void field_flag(struct buf *buf, const char *name, bool flag)
{
    field_name(buf, name);
    buf_put_text(buf, flag ? "true" : "false");
}

void field_null(struct buf *buf, const char *name)
{
    field_name(buf, name);
    buf_put_text(buf, "null");
}

/* Days since 1970 become a date of the Gregorian calendar, by eras of 400 years that begin in March. */
void date_text(char text[DATE_SIZE], uint64_t wall_ms)
{
    uint64_t day = wall_ms / 86400000 + 719468, ms = wall_ms % 86400000;
    uint64_t era = day / 146097, of_era = day % 146097;
    uint64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    uint64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    uint64_t march = (5 * of_year + 2) / 153;
    uint64_t month = march < 10 ? march + 3 : march - 9;

    year += era * 400 + (month <= 2);
    (void)snprintf(text, DATE_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", (unsigned)(year % 10000), (unsigned)month,
                   (unsigned)(of_year - (153 * march + 2) / 5 + 1), (unsigned)(ms / 3600000),
                   (unsigned)(ms / 60000 % 60), (unsigned)(ms / 1000 % 60), (unsigned)(ms % 1000));
}

void field_time(struct buf *buf, const char *name, uint64_t wall_ms)
{
    char text[DATE_SIZE];

    if (wall_ms)
        date_text(text, wall_ms);
    field_text(buf, name, wall_ms ? text : NULL);
}

void field_hex(struct buf *buf, const char *name, struct slice bytes)
{
    static const char digits[] = "0123456789abcdef";

    field_name(buf, name);
    buf_put_u8(buf, '"');
    for (size_t i = 0; i < bytes.size; i++) {
        buf_put_u8(buf, (uint8_t)digits[bytes.data[i] >> 4]);
        buf_put_u8(buf, (uint8_t)digits[bytes.data[i] & 15]);
    }
    buf_put_u8(buf, '"');
}
