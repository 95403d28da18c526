/* Checks a journal again and again in the background, on a thread of its own, step by step.
 *
 * It opens a connection for each pass. Between two steps it sleeps, so that it reads at most `rate`
 * bytes a second and works at most a quarter of the time. Called by host/backend_thread.c. */
#ifndef SHERD_HOST_BACKEND_CHECKER_H
#define SHERD_HOST_BACKEND_CHECKER_H

#include <stdint.h>

#include "journal/backend.h"

struct backend_checker;

struct backend_checker_options {
    const struct backend_ops *ops; /* with a check_step */
    struct backend_options store;  /* texts are copied; the damage is lent */
    uint64_t interval; /* ns from the end of a pass to the next one */
    uint64_t rate;     /* bytes a second */
    /* Receives the result of a pass, lent, on the thread. May be null. */
    void (*done)(void *context, const struct backend_check *check);
    void *context;
};

/* Null: no thread. */
struct backend_checker *
backend_checker_start(const struct backend_checker_options *options);
/* Waits for the end of a step. Null is allowed. */
void backend_checker_stop(struct backend_checker *checker);

#endif
