/* Passes reports of the cores to the listener. */
#ifndef SHERD_MARKS
#define SHERD_MARKS /* for bound_broken: programs that link this may have cores that call it */
#endif
#include "sim/world/bound.h"

#include <stddef.h>

#include "base/bound.h"

/* global, because the cores' interface has no argument for it */
static bound_listener *bound_heard;
static void *bound_user;

void bound_listen(bound_listener *listener, void *user)
{
    bound_heard = listener;
    bound_user = user;
}

void bound_unlisten(const void *user)
{
    if (bound_user == user)
        bound_listen(NULL, NULL);
}

void bound_broken(const char *what, uint64_t held, uint64_t most)
{
    if (bound_heard)
        bound_heard(bound_user, what, held, most);
}
