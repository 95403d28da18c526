/* Formats a log line, "what happened key=value key=value", so that no value from outside (ids,
 * names, texts of peers) looks like another pair. */
#ifndef SHERD_BASE_LINE_H
#define SHERD_BASE_LINE_H

#include <stdarg.h>
#include <stddef.h>

/* As snprintf, but a value stays one value: the text from `key=` to the next space, or between
 * quotes after `key=`. A bare value with spaces, control characters, " \ or = gets quotes; inside
 * quotes these stand as \" \\ \n \u0007. Text outside a value is not escaped and must not come from
 * outside. Cuts at size, with the quote closed. */
void line_format(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void line_format_list(char *text, size_t size, const char *format,
                      va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
