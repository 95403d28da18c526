/* The text of a log line: "what happened key=value key=value". Values come from outside (ids, names, texts of peers), and none of
 * them may look like another pair. Used by whoever makes such a text from a format: trace_put, the driver's log, sherd_log. */
#ifndef SHERD_BASE_LINE_H
#define SHERD_BASE_LINE_H

#include <stdarg.h>
#include <stddef.h>

/* As snprintf, but a value stays one value: what the format has between `key=` and the next space, or between the quotes after
 * `key=`, whatever is put in there. A bare value gets quotes when it has spaces, control characters, " \ or =. Inside quotes these
 * stand as \" \\ \n \u0007. What is not behind a `key=` is put as it is: nothing from outside belongs there. Cut at size, with the quote closed. */
void line_format(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void line_format_list(char *text, size_t size, const char *format,
                      va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
