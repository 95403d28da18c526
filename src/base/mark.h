/* Marks at the transitions that a test of the whole must have seen: what was never reached is a blind spot.
 *
 * Nothing everywhere but in the simulator's own copy of the cores, which is built with SHERD_ZOO: there each mark is a record
 * in a section of its own, so that all are known without running, and counts how often it was passed (sim/mark.h). */
#ifndef SHERD_BASE_MARK_H
#define SHERD_BASE_MARK_H

#include <stdbool.h>
#include <stdint.h>

/* REACHED("text") counts each time it is passed; SOMETIMES("text", condition) each time the condition holds there. Statements;
 * the text is a literal that says what happened. The condition has no effect: without SHERD_ZOO it is not evaluated. */
#ifdef SHERD_ZOO
struct mark {
    const char *text;
    const char *file;
    uint32_t line;
    bool is_condition;
    uint64_t count;
};

/* The section holds pointers, which lie side by side whatever a compiler does to align or guard records. */
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
