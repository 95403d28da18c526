/* Records the first violation of each invariant, with its time and place.
 *
 * A checker calls violation() when a rule is broken, and continues. Each world has one verdict. */
#ifndef SHERD_SIM_WORLD_VERDICT_H
#define SHERD_SIM_WORLD_VERDICT_H

#include <stddef.h>
#include <stdint.h>

#define VERDICT_NO_NODE UINT32_MAX /* a violation that concerns no single node */
#define VERDICT_INVARIANTS_MAX 64 /* more different ones are a programming error */
#define VERDICT_TEXT_MAX 400 /* bytes of a violation's text with its zero */
#define VERDICT_LINE_MAX (VERDICT_TEXT_MAX + 150)

struct violation {
    const char *invariant; /* a literal, such as "handoff-safety" */
    uint64_t at;           /* ns, the world's time */
    uint64_t event;        /* events so far in the world; 0: unknown */
    uint32_t node;         /* or VERDICT_NO_NODE */
    uint64_t count;        /* so far; the other members describe the first */
    char text[VERDICT_TEXT_MAX]; /* longer ones are cut */
};

struct verdict;

/* now: the present time, lent until the end. */
struct verdict *verdict_new(uint64_t seed, const uint64_t *now);
void verdict_free(struct verdict *verdict);
/* Sets the counter of events that violations name; lent until the end. */
void verdict_counts_events(struct verdict *verdict, const uint64_t *events);
/* Called at once for each rule's first violation, in case the process dies later. */
typedef void verdict_listener(void *user, const struct violation *violation);
void verdict_listens(struct verdict *verdict, verdict_listener *listener,
                     void *user);
/* invariant must be a literal. */
void violation(struct verdict *verdict, const char *invariant, uint32_t node,
               const char *format, ...) __attribute__((format(printf, 4, 5)));
uint32_t verdict_count(const struct verdict *verdict);
const struct violation *verdict_at(const struct verdict *verdict,
                                   uint32_t index); /* in order of their first violation; lent */
const struct violation *verdict_find(const struct verdict *verdict,
                                     const char *invariant); /* null: it holds so far */
/* Writes "FAIL seed=7 inv=handoff-safety t=1h02m11.4s event=4112909 node=3 : text" into line (size
 * VERDICT_LINE_MAX). Returns line. */
char *verdict_line(const struct verdict *verdict,
                   const struct violation *violation, char *line, size_t size);
/* The same for failures without a checker: a dead process, a leak. */
char *failure_line(uint64_t seed, const struct violation *violation,
                   char *line, size_t size);

#endif
