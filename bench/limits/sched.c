/* Measures a minimal actor core: messages of 64 bytes from a slab, a run queue, and nothing else.
 * See limits.h. */
#include "limits.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct actor;

struct note {
    struct note *next;
    struct actor *to, *from;
    uint64_t value;
    int kind;
    char rest[28];
};

typedef void (*handler)(struct actor *actor, struct note *note);

struct actor {
    _Atomic(struct note *) top; /* atomic: pushed by compare and swap; IDLE = not scheduled */
    struct note *first, *last;
    struct actor *queued;
    handler handle;
    uint64_t state;
    struct actor *peer;
    int scheduled;
};

#define IDLE ((struct note *)1)
#define BATCH 100

static struct {
    int atomic;
    struct actor *first, *last; /* run queue */
    struct note *notes;         /* free notes */
    struct actor *actors;       /* free actors */
    uint64_t goal, done;
    uint64_t count;
} world;

static struct note *note_new(void)
{
    struct note *note = world.notes;

    if (!note) {
        struct note *chunk = calloc(1024, sizeof *chunk);

        for (int i = 0; i < 1024; i++) {
            chunk[i].next = world.notes;
            world.notes = &chunk[i];
        }
        note = world.notes;
    }
    world.notes = note->next;
    return note;
}

static void note_free(struct note *note)
{
    note->next = world.notes;
    world.notes = note;
}

static void schedule(struct actor *actor)
{
    actor->queued = NULL;
    actor->scheduled = 1;
    if (world.last)
        world.last->queued = actor;
    else
        world.first = actor;
    world.last = actor;
}

static inline void deliver(struct actor *actor, struct note *note)
{
    note->to = actor;
    if (world.atomic) {
        struct note *top =
            atomic_load_explicit(&actor->top, memory_order_relaxed);

        do
            note->next = top == IDLE ? NULL : top;
        while (!atomic_compare_exchange_weak_explicit(
            &actor->top, &top, note, memory_order_acq_rel,
            memory_order_relaxed));
        if (top == IDLE)
            schedule(actor);
        return;
    }
    note->next = NULL;
    if (actor->first)
        actor->last->next = note;
    else
        actor->first = note;
    actor->last = note;
    if (!actor->scheduled)
        schedule(actor);
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

static void run_actor(struct actor *actor)
{
    int handled = 0;

    while (handled < BATCH) {
        struct note *note = actor->first;

        if (!note) {
            if (!world.atomic || !refill(actor)) {
                actor->scheduled = 0;
                return;
            }
            continue;
        }
        actor->first = note->next;
        actor->handle(actor, note);
        handled++;
    }
    schedule(actor);
}

static double go(uint64_t total, uint64_t goal)
{
    uint64_t begin = bench_now();

    world.goal = goal;
    world.done = 0;
    while (world.done < world.goal && world.first) {
        struct actor *actor = world.first;

        world.first = actor->queued;
        if (!world.first)
            world.last = NULL;
        run_actor(actor);
    }
    world.first = world.last = NULL;
    return (double)total / ((double)(bench_now() - begin) / 1e9) / 1e6;
}

static void init(struct actor *actor, handler handle, struct actor *peer)
{
    memset(actor, 0, sizeof *actor);
    atomic_store(&actor->top, IDLE);
    actor->handle = handle;
    actor->peer = peer;
}

static void on_ping(struct actor *actor, struct note *note)
{
    struct note *next;

    if (note->value == 0) {
        note_free(note);
        world.done++;
        return;
    }
    next = note_new();
    next->value = note->value - 1;
    note_free(note);
    deliver(actor->peer, next);
}

double limit_ping_pong(int atomic, uint64_t messages)
{
    struct actor pair[2];
    struct note *note = note_new();

    world.atomic = atomic;
    init(&pair[0], on_ping, &pair[1]);
    init(&pair[1], on_ping, &pair[0]);
    note->value = messages;
    deliver(&pair[0], note);
    return go(messages, 1);
}

static void on_sink(struct actor *actor, struct note *note)
{
    actor->state++;
    if (note->kind == 1)
        deliver(note->from, note_new());
    if (note->kind == 2)
        world.done++;
    note_free(note);
}

static void on_produce(struct actor *actor, struct note *note)
{
    note_free(note);
    for (int i = 0; i < 1000 && actor->state < world.count; i++) {
        struct note *made = note_new();

        actor->state++;
        made->from = actor;
        made->kind = actor->state == world.count ? 2 : i == 999 ? 1 : 0;
        deliver(actor->peer, made);
    }
}

double limit_fan_in(int atomic, uint64_t messages)
{
    struct actor actors[5];

    world.atomic = atomic;
    world.count = messages / 4;
    init(&actors[0], on_sink, NULL);
    for (int i = 1; i < 5; i++) {
        init(&actors[i], on_produce, &actors[0]);
        deliver(&actors[i], note_new());
    }
    return go(messages, 4);
}

double limit_ring(int atomic, uint64_t messages)
{
    uint32_t count = 100000;
    struct actor *actors = aligned_alloc(64, count * sizeof *actors);
    double result;

    world.atomic = atomic;
    for (uint32_t i = 0; i < count; i++)
        init(&actors[i], on_ping, &actors[(i + 1) % count]);
    for (uint32_t i = 0; i < 1000; i++) {
        struct note *note = note_new();

        note->value = messages / 1000;
        deliver(&actors[i * 100], note);
    }
    result = go(messages, 1000);
    free(actors);
    return result;
}

static void on_once(struct actor *actor, struct note *note)
{
    note_free(note);
    actor->peer = world.actors;
    world.actors = actor;
    actor->state = 1;
    world.done++;
}

static void on_spawn(struct actor *actor, struct note *note)
{
    for (int i = 0; i < 256 && actor->state; i++) {
        struct actor *child = world.actors;

        actor->state--;
        if (child)
            world.actors = child->peer;
        else
            child = malloc(sizeof *child);
        init(child, on_once, NULL);
        deliver(child, note_new());
    }
    if (actor->state)
        deliver(actor, note);
    else
        note_free(note);
}

double limit_spawn(int atomic, uint64_t actors)
{
    struct actor spawner;

    world.atomic = atomic;
    init(&spawner, on_spawn, NULL);
    spawner.state = actors;
    deliver(&spawner, note_new());
    return go(actors, actors);
}
