/* Defines macros that mark the library's functions. Programs need not use them.
 *
 * SHERD_API: the shared library exports the function.
 * SHERD_MUST_USE: the compiler warns when a caller ignores the result. */
#ifndef SHERD_EXPORT_H
#define SHERD_EXPORT_H

#if defined(__GNUC__)
#define SHERD_API __attribute__((visibility("default")))
#define SHERD_MUST_USE __attribute__((warn_unused_result))
#else
#define SHERD_API
#define SHERD_MUST_USE
#endif

#endif
