/* Measures the minimal work of four producers on one worker and their consumer on another. The
 * other worker pushes into a mailbox, which is one word, by compare and swap. Each worker has its
 * own run queue. An actor that the other worker made runnable comes through the worker's inbox.
 * Memory returns to its owner in chains of 32. Both workers poll. See limits.h. */
#define _GNU_SOURCE
#include "limits.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define IDLE ((struct note *)1)
#define BATCH 100
#define WINDOW 1000 /* messages that a producer sends before it waits */
#define RETURN_EACH 32
#define PRODUCERS 4
#define LOOK_EACH 64 /* actors run between two looks at the inbox */

enum kind { LAST = 1, WANTS_MORE };

struct actor;

struct note {
    struct note *next;
    struct actor *from;
    int kind;
    int owner;
    char rest[40];
};

struct actor {
    _Alignas(128) _Atomic(struct note *) top; /* IDLE: not scheduled */
    _Alignas(128) struct note *first;
    struct actor *queued;
    uint64_t state; /* messages that a producer has sent */
    int home;
};

struct worker {
    _Alignas(128) _Atomic(struct actor *) inbox;
    _Alignas(128) _Atomic(struct note *) returned;
    _Alignas(128) struct actor *first, *last; /* run queue */
    struct note *notes;                        /* free notes */
    struct note *back, *back_last; /* notes that belong to the other worker */
    int back_count;
};

static struct worker workers[2];
static struct actor sink, producers[PRODUCERS];
static uint64_t each;
static int last_count;
static _Atomic int done;

static void give_back(struct worker *worker, int owner)
{
    struct note *top;

    if (!worker->back)
        return;
    top = atomic_load_explicit(&workers[owner].returned, memory_order_relaxed);
    do
        worker->back_last->next = top;
    while (!atomic_compare_exchange_weak_explicit(
        &workers[owner].returned, &top, worker->back, memory_order_acq_rel,
        memory_order_relaxed));
    worker->back = NULL;
    worker->back_count = 0;
}

static void note_free(int me, struct note *note)
{
    struct worker *worker = &workers[me];

    if (note->owner == me) {
        note->next = worker->notes;
        worker->notes = note;
        return;
    }
    note->next = worker->back;
    if (!worker->back)
        worker->back_last = note;
    worker->back = note;
    if (++worker->back_count == RETURN_EACH)
        give_back(worker, note->owner);
}

static struct note *note_new(int me)
{
    struct worker *worker = &workers[me];
    struct note *note = worker->notes;

    if (!note)
        note = atomic_exchange_explicit(&worker->returned, NULL,
                                        memory_order_acquire);
    if (!note) {
        note = aligned_alloc(64, 1024 * sizeof *note);
        for (int i = 0; i < 1024; i++) {
            note[i].owner = me;
            note[i].next = i < 1023 ? &note[i + 1] : NULL;
        }
    }
    worker->notes = note->next;
    note->kind = 0;
    return note;
}

static void enqueue(struct worker *worker, struct actor *actor)
{
    actor->queued = NULL;
    if (worker->last)
        worker->last->queued = actor;
    else
        worker->first = actor;
    worker->last = actor;
}

static void schedule(int me, struct actor *actor)
{
    struct actor *top;

    if (actor->home == me) {
        enqueue(&workers[me], actor);
        return;
    }
    top = atomic_load_explicit(&workers[actor->home].inbox,
                               memory_order_relaxed);
    do
        actor->queued = top;
    while (!atomic_compare_exchange_weak_explicit(
        &workers[actor->home].inbox, &top, actor, memory_order_acq_rel,
        memory_order_relaxed));
}

static inline void deliver(int me, struct actor *actor, struct note *note)
{
    struct note *top = atomic_load_explicit(&actor->top, memory_order_relaxed);

    do
        note->next = top == IDLE ? NULL : top;
    while (!atomic_compare_exchange_weak_explicit(
        &actor->top, &top, note, memory_order_acq_rel, memory_order_relaxed));
    if (top == IDLE)
        schedule(me, actor);
}

static void on_sink(int me, struct note *note)
{
    if (note->kind == WANTS_MORE)
        deliver(me, note->from, note_new(me));
    if (note->kind == LAST && ++last_count == PRODUCERS)
        atomic_store(&done, 1);
    note_free(me, note);
}

static void on_produce(int me, struct actor *actor, struct note *note)
{
    note_free(me, note);
    for (int i = 1; i <= WINDOW && actor->state < each; i++) {
        struct note *made = note_new(me);

        actor->state++;
        made->from = actor;
        made->kind = actor->state == each ? LAST
                     : i == WINDOW        ? WANTS_MORE
                                          : 0;
        deliver(me, &sink, made);
    }
}

/* Takes the whole stack and reverses it. Returns false if the actor is idle. */
static int refill(struct actor *actor)
{
    struct note *top = atomic_exchange_explicit(&actor->top, NULL,
                                                memory_order_acquire);
    struct note *none = NULL;

    while (top) {
        struct note *next = top->next;

        top->next = actor->first;
        actor->first = top;
        top = next;
    }
    if (actor->first)
        return 1;
    return !atomic_compare_exchange_strong(&actor->top, &none, IDLE);
}

static void run_actor(int me, struct actor *actor)
{
    for (int handled = 0; handled < BATCH;) {
        struct note *note = actor->first;

        if (!note) {
            if (!refill(actor))
                return;
            continue;
        }
        actor->first = note->next;
        if (actor == &sink)
            on_sink(me, note);
        else
            on_produce(me, actor, note);
        handled++;
    }
    enqueue(&workers[me], actor);
}

static void take_inbox(struct worker *worker)
{
    struct actor *actor = NULL;

    if (atomic_load_explicit(&worker->inbox, memory_order_relaxed))
        actor = atomic_exchange_explicit(&worker->inbox, NULL,
                                         memory_order_acquire);
    while (actor) {
        struct actor *next = actor->queued;

        enqueue(worker, actor);
        actor = next;
    }
}

static void *work(void *argument)
{
    int me = *(int *)argument;
    struct worker *worker = &workers[me];
    cpu_set_t cpus;

    CPU_ZERO(&cpus);
    CPU_SET(me, &cpus);
    (void)sched_setaffinity(0, sizeof cpus, &cpus);
    for (uint32_t turns = 1;
         !atomic_load_explicit(&done, memory_order_relaxed); turns++) {
        struct actor *actor = worker->first;

        if (!actor || turns % LOOK_EACH == 0)
            take_inbox(worker);
        if (!actor) {
            give_back(worker, !me);
            __builtin_ia32_pause();
            continue;
        }
        worker->first = actor->queued;
        if (!worker->first)
            worker->last = NULL;
        run_actor(me, actor);
    }
    return NULL;
}

double limit_fan_in_two(uint64_t messages)
{
    static int indexes[2] = {0, 1};
    struct timespec begin, end;
    pthread_t threads[2];
    double seconds;

    each = messages / PRODUCERS;
    atomic_store(&sink.top, IDLE);
    for (int i = 0; i < PRODUCERS; i++) {
        producers[i].home = 1;
        atomic_store(&producers[i].top, IDLE);
        deliver(1, &producers[i], note_new(1));
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work, &indexes[i]) != 0)
            exit(1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    seconds = (double)(end.tv_sec - begin.tv_sec) +
              (double)(end.tv_nsec - begin.tv_nsec) / 1e9;
    return (double)(each * PRODUCERS) / seconds / 1e6;
}
