/* Ends the sleep of a thread, from any thread. */
#define _GNU_SOURCE
#include "host/thread.h"

#include "base/check.h"

void thread_wake(struct thread *thread)
{
    if (atomic_load_explicit(&thread->sleeping, memory_order_seq_cst) == 0)
        return;
    if (atomic_exchange_explicit(&thread->sleeping, 0, memory_order_seq_cst))
        check(uv_async_send(&thread->wake) == 0);
}
