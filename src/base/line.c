/* Formats a log line by a walk over its format. snprintf does each conversion; its text goes where
 * the walk stands: among words, into a bare value, or inside quotes. */
#include "base/line.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"

enum place { AMONG_WORDS, IN_BARE, IN_QUOTES };

struct line {
    char *text;
    size_t size;
    size_t used;
    enum place place;
    size_t begin; /* IN_BARE: where the value begins */
    bool full;    /* something did not fit: nothing follows */
};

/* One conversion of a format: "%-8.*llu". */
struct conversion {
    char text[16];
    size_t size;      /* in the format */
    uint32_t numbers; /* of arguments for * */
    char length;      /* 0, 'l', 'q' for ll, 'z', 'j', 't'; h is an int */
    char kind;
};

struct arguments {
    va_list list; /* a parameter of an array type cannot be passed on */
};

/* ---- writing ---- */

/* Puts all or nothing; one byte stays free for a closing quote. */
static bool put(struct line *line, const char *bytes, size_t size)
{
    if (line->full ||
        line->used + size + (line->place == IN_QUOTES) >= line->size) {
        line->full = true;
        return false;
    }
    memcpy(line->text + line->used, bytes, size);
    line->used += size;
    return true;
}

static void put_cut(struct line *line, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (!put(line, bytes + i, 1))
            return;
}

/* There is always room for the quote that ends a value. */
static void close_quote(struct line *line)
{
    line->place = AMONG_WORDS;
    if (line->used + 1 < line->size)
        line->text[line->used++] = '"';
}

static bool is_bare(const char *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)value[i] <= ' ' || value[i] == 0x7f ||
            strchr("\"\\=", value[i]))
            return false;
    return true;
}

/* Escapes what a quoted value cannot have. */
static void put_inside(struct line *line, const char *value, size_t size)
{
    char code[8];

    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)value[i];
        int count = 1;

        if (c == '"' || c == '\\')
            count = snprintf(code, sizeof code, "\\%c", c);
        else if (c == '\n')
            count = snprintf(code, sizeof code, "\\n");
        else if (c < ' ' || c == 0x7f)
            count = snprintf(code, sizeof code, "\\u%04x", (unsigned)c);
        else
            code[0] = (char)c;
        if (!put(line, code, (size_t)count))
            return;
    }
}

/* Ends a bare value and adds quotes if it needs them. */
static void end_bare(struct line *line)
{
    char value[TRACE_TEXT_MAX];
    size_t size = line->used - line->begin;
    bool was_full = line->full;

    line->place = AMONG_WORDS;
    if (is_bare(line->text + line->begin, size))
        return;
    if (size > sizeof value)
        size = sizeof value;
    memcpy(value, line->text + line->begin, size);
    line->used = line->begin;
    line->full = false;
    line->place = IN_QUOTES;
    if (put(line, "\"", 1)) {
        put_inside(line, value, size);
        close_quote(line);
    }
    line->place = AMONG_WORDS;
    line->full = line->full || was_full;
}

static bool is_key_sign(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

/* Puts a character of the format; `before` and `after` are its neighbours. */
static void put_own(struct line *line, char before, char c, char after)
{
    if (line->place == IN_BARE && c == ' ')
        end_bare(line);
    if (line->place == IN_QUOTES && c == '"' && before != '=') {
        close_quote(line);
        return;
    }
    if (!put(line, &c, 1))
        return;
    if (line->place != AMONG_WORDS || c != '=' || !is_key_sign(before))
        return;
    line->place = after == '"' ? IN_QUOTES : IN_BARE;
    line->begin = line->used;
}

static void put_value(struct line *line, const char *value)
{
    size_t size = strlen(value);

    if (line->place == IN_QUOTES)
        put_inside(line, value, size);
    else
        put_cut(line, value, size);
}

/* ---- conversions ---- */

/* Returns false for an unknown conversion. */
static bool read_conversion(const char *format, struct conversion *conversion)
{
    size_t at = 1;

    *conversion = (struct conversion){ 0 };
    while (format[at] && strchr("-+ #0123456789.*", format[at]))
        conversion->numbers += format[at++] == '*';
    if (format[at] && strchr("lhzjt", format[at])) {
        conversion->length = format[at] == 'h' ? 0 : format[at];
        if (format[at] == format[at + 1])
            conversion->length = format[at++] == 'l' ? 'q' : 0;
        at++;
    }
    conversion->kind = format[at];
    conversion->size = at + 1;
    if (!format[at] || !strchr("diuxXocspeEfFgGaA", format[at]) ||
        conversion->size >= sizeof conversion->text ||
        conversion->numbers > 2)
        return false;
    if (conversion->length && strchr("cspeEfFgGaA", format[at]))
        return false; /* wide characters */
    memcpy(conversion->text, format, conversion->size);
    return true;
}

static bool all_known(const char *format)
{
    struct conversion conversion;

    for (; *format; format++) {
        if (*format != '%')
            continue;
        if (format[1] == '%')
            format++;
        else if (!read_conversion(format, &conversion))
            return false;
        else
            format += conversion.size - 1;
    }
    return true;
}

/* A conversion's text is at most as long as a line. */
#define AS(type)                                                            \
    (conversion->numbers == 0                                               \
         ? snprintf(text, TRACE_TEXT_MAX, conversion->text,                 \
                    va_arg(arguments->list, type))                          \
     : conversion->numbers == 1                                             \
         ? snprintf(text, TRACE_TEXT_MAX, conversion->text, numbers[0],     \
                    va_arg(arguments->list, type))                          \
         : snprintf(text, TRACE_TEXT_MAX, conversion->text, numbers[0],     \
                    numbers[1], va_arg(arguments->list, type)))

static void convert(char *text, const struct conversion *conversion,
                    struct arguments *arguments)
{
    int numbers[2] = { 0, 0 };

    for (uint32_t i = 0; i < conversion->numbers; i++)
        numbers[i] = va_arg(arguments->list, int);
    if (conversion->kind == 's')
        (void)AS(const char *);
    else if (conversion->kind == 'p')
        (void)AS(void *);
    else if (strchr("eEfFgGaA", conversion->kind))
        (void)AS(double);
    else if (conversion->length == 'l')
        (void)AS(long);
    else if (conversion->length == 'q')
        (void)AS(long long);
    else if (conversion->length == 'j')
        (void)AS(intmax_t);
    else if (conversion->length)
        (void)AS(ptrdiff_t);
    else
        (void)AS(int);
}

void line_format_list(char *text, size_t size, const char *format,
                      va_list arguments)
{
    struct line line = { .text = text, .size = size };
    struct arguments left;
    struct conversion conversion;
    char value[TRACE_TEXT_MAX];
    char before = 0;

    if (!size)
        return;
    if (!all_known(format)) {
        (void)vsnprintf(text, size, format, arguments);
        return;
    }
    va_copy(left.list, arguments);
    while (*format) {
        if (*format != '%' || format[1] == '%') {
            format += *format == '%';
            put_own(&line, before, *format, format[1]);
            before = *format++;
            continue;
        }
        (void)read_conversion(format, &conversion);
        value[0] = 0;
        convert(value, &conversion, &left);
        put_value(&line, value);
        format += conversion.size;
        before = 'x';
    }
    va_end(left.list);
    if (line.place == IN_BARE)
        end_bare(&line);
    if (line.place == IN_QUOTES)
        close_quote(&line); /* the format misses the closing quote */
    text[line.used] = 0;
}

void line_format(char *text, size_t size, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    line_format_list(text, size, format, arguments);
    va_end(arguments);
}
