/* What checkers found: the first violation of each invariant, with its time and place.
 *
 * A checker calls violation() when a rule is broken; it goes on checking. The runner looks at the end, or asks after each
 * step. One verdict for each world; a checker's unit test makes its own. */
#ifndef SHERD_SIM_VERDICT_H
#define SHERD_SIM_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#define VERDICT_NO_NODE UINT32_MAX /* a violation that is no single node's */
#define VERDICT_INVARIANTS_MAX 64 /* different ones; further ones are a programmer's error */
#define VERDICT_TEXT_MAX 400 /* bytes of a violation's text with its zero */
#define VERDICT_LINE_MAX (VERDICT_TEXT_MAX + 150)

struct violation {
    const char *invariant; /* a literal: "handoff-safety" */
    uint64_t at;           /* ns, the world's time */
    uint64_t event;        /* how many had happened in the world; 0: not known */
    uint32_t node;         /* or VERDICT_NO_NODE */
    uint64_t count;        /* violations of this invariant so far; the rest is of the first */
    char text[VERDICT_TEXT_MAX]; /* longer ones are cut */
};

struct verdict; /* opaque */

/* now: where the time stands, lent until the end. */
struct verdict *verdict_new(uint64_t seed, const uint64_t *now);
void verdict_free(struct verdict *verdict);
/* Lent until the end: how many events have happened. Without it violations name none. */
void verdict_counts_events(struct verdict *verdict, const uint64_t *events);
/* Told of each rule's first violation at once, so that it is known where the process dies later. */
typedef void verdict_listener(void *user, const struct violation *violation);
void verdict_listens(struct verdict *verdict, verdict_listener *listener,
                     void *user);
/* invariant must be a literal. */
void violation(struct verdict *verdict, const char *invariant, uint32_t node,
               const char *format, ...) __attribute__((format(printf, 4, 5)));
uint32_t verdict_count(const struct verdict *verdict); /* invariants that are broken */
const struct violation *verdict_at(const struct verdict *verdict,
                                   uint32_t index); /* in order of their first violation; lent */
const struct violation *verdict_find(const struct verdict *verdict,
                                     const char *invariant); /* null: it holds so far */
/* "FAIL seed=7 inv=handoff-safety t=1h02m11.4s event=4112909 node=3 : text" into line (size VERDICT_LINE_MAX is enough); returns line. */
char *verdict_line(const struct verdict *verdict,
                   const struct violation *violation, char *line, size_t size);
/* The same of what is no checker's: a process that has died, memory that is kept. */
char *failure_line(uint64_t seed, const struct violation *violation,
                   char *line, size_t size);

#endif
