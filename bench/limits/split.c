/* Measures the minimal work of one pair of actors on two workers. A mailbox is one word into which
 * the other worker pushes by compare and swap. Memory returns to its owner. Both workers poll. See
 * limits.h. */
#define _GNU_SOURCE
#include "limits.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

struct note {
    struct note *next;
    uint64_t value;
    int owner;
    char rest[44];
};

static struct worker {
    _Alignas(128) _Atomic(struct note *) mailbox;
    _Alignas(128) _Atomic(struct note *) returned;
    _Alignas(128) struct note *notes; /* free notes */
} workers[2];

static _Atomic int done;

static void push(_Atomic(struct note *) *stack, struct note *note)
{
    struct note *top = atomic_load_explicit(stack, memory_order_relaxed);

    do
        note->next = top;
    while (!atomic_compare_exchange_weak_explicit(
        stack, &top, note, memory_order_acq_rel, memory_order_relaxed));
}

static struct note *note_new(int index)
{
    struct worker *worker = &workers[index];
    struct note *note = worker->notes;

    if (!note)
        note = atomic_exchange_explicit(&worker->returned, NULL,
                                        memory_order_acquire);
    if (!note) {
        note = aligned_alloc(64, sizeof *note);
        note->next = NULL;
        note->owner = index;
    }
    worker->notes = note->next;
    return note;
}

static void *work(void *argument)
{
    int index = *(int *)argument;
    struct worker *worker = &workers[index];
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(index, &cpus);
    (void)sched_setaffinity(0, sizeof cpus, &cpus);
    while (!atomic_load_explicit(&done, memory_order_relaxed)) {
        struct note *note = NULL;
        uint64_t value;

        if (atomic_load_explicit(&worker->mailbox, memory_order_relaxed))
            note = atomic_exchange_explicit(&worker->mailbox, NULL,
                                            memory_order_acquire);
        if (!note) {
            __builtin_ia32_pause();
            continue;
        }
        value = note->value;
        push(&workers[note->owner].returned, note);
        if (value == 0) {
            atomic_store(&done, 1);
            break;
        }
        note = note_new(index);
        note->value = value - 1;
        push(&workers[!index].mailbox, note);
    }
    return NULL;
}

double limit_split(uint64_t messages)
{
    static int indexes[2] = {0, 1};
    struct note *note = note_new(0);
    struct timespec begin, end;
    pthread_t threads[2];
    double seconds;

    note->value = messages;
    push(&workers[0].mailbox, note);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work, &indexes[i]) != 0)
            exit(1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    seconds = (double)(end.tv_sec - begin.tv_sec) +
              (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    return (double)messages / seconds / 1e6;
}
