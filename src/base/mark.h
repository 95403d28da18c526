/* Counts how often the simulator passes marked transitions: an unreached mark is a blind spot.
 * Only the simulator's copy of the cores, built with SHERD_MARKS, has marks. Each is a record in its
 * own linker section, so all are known without running (sim/run/mark.h). */
#ifndef SHERD_BASE_MARK_H
#define SHERD_BASE_MARK_H

#include <stdbool.h>
#include <stdint.h>

/* REACHED("text") counts each pass; SOMETIMES("text", condition) those where the condition holds.
 * Statements; the text is a literal that says what happened. Without SHERD_MARKS the condition is not
 * evaluated. */
#ifdef SHERD_MARKS
struct mark {
    const char *text;
    const char *file;
    uint32_t line;
    bool is_condition;
    uint64_t count;
};

/* The section holds pointers, which are contiguous however a compiler aligns or pads records. */
#define SOMETIMES_AS(words, kind, condition)                                  \
    do {                                                                      \
        static struct mark mark_here = { "" words, __FILE__, __LINE__, kind,  \
                                         0 };                                 \
        static struct mark *const mark_at                                     \
            __attribute__((section("sherd_marks"), used)) = &mark_here;       \
        mark_here.count += (condition) ? 1 : 0;                               \
    } while (0)
#define REACHED(words) SOMETIMES_AS(words, false, true)
#define SOMETIMES(words, condition) SOMETIMES_AS(words, true, condition)
#else
#define REACHED(words) ((void)sizeof("" words))
#define SOMETIMES(words, condition) \
    ((void)sizeof("" words), (void)sizeof((condition) ? 1 : 0))
#endif

#endif
