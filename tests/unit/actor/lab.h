/* Provides a laboratory for a lane's actors: puppets that carry out the orders in a message's body
 * and log what they see, and a small stand-in for the node that carries messages that come out. */
#ifndef SHERD_TEST_ACTOR_LAB_H
#define SHERD_TEST_ACTOR_LAB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "actor/actors.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/rng.h"

/* Orders name only the fields that they need. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define NODE 77

enum { PLAIN_TYPES = 0, TYPE_A = 0, TYPE_P = 1, TYPE_S = 2, TYPE_IDLE = 3 };

/* Orders of a message. */
enum op {
    DO_NOTHING,
    DO_TELL,        /* ref, msg */
    DO_ENTITY_TELL, /* type, id, msg */
    DO_ASK,         /* ref, msg, tag, ms */
    DO_ENTITY_ASK,
    DO_REPLY, /* msg */
    DO_FORWARD,
    DO_TIMER, /* tag, ms */
    DO_CANCEL,
    DO_WATCH,
    DO_UNWATCH,
    DO_STOP,      /* ref */
    DO_SELF_STOP, /* returns SHERD_STOP */
    DO_FAIL,
    DO_PASSIVATE,
    DO_BYTES,   /* ms: what it holds beside its state */
    DO_PERSIST, /* msg: the event's type, ms: its size */
    DO_SPAWN,   /* id: its name */
    DO_SUBSCRIBE, /* msg: events; tag: enum sherd_cluster_first; ms: the answer */
    DO_UNSUBSCRIBE, /* msg: events */
    DO_SELF_TELL,
    DO_SHOW, /* its ref goes to lab.last */
    DO_JOB /* tag; ms: number to double; msg: reply at the end, 0: none */
};

struct order {
    enum op op;
    uint32_t msg, tag;
    uint64_t ms;
    struct sherd_ref ref;
    char type[8];
    char id[40];
    uint32_t size; /* of the body sent */
};

struct lab {
    struct actors *actors;
    struct trace *trace;
    uint64_t now; /* ns */
    char log[65536];
    uint64_t received;  /* SHERD_MESSAGE and SHERD_ANSWER seen by puppets */
    uint32_t alive;     /* states made and not released */
    struct sherd_ref last; /* of DO_SPAWN, DO_SHOW */
    struct sherd_question question; /* kept by a puppet */
    bool quiet;         /* no log */
    bool in_step;       /* ACTORS_REQUEST_CLUSTER is answered at once */
    bool route;         /* entity messages that come out are delivered; shards are started */
    enum sherd_next on_started; /* result of entities of type "P" and "A" for SHERD_STARTED */
    struct message *out[4096]; /* other messages that came out; all if !route */
    uint32_t out_count;
    uint64_t events;     /* appended */
    uint64_t taken_back; /* the number that the last take_back gave */
    uint32_t take_backs;
    uint64_t position;   /* the last one given; a test may raise it, as other writers do */
    bool refuses;        /* events */
    uint64_t wants[256]; /* actors that want replay */
    uint32_t want_count;
    uint32_t forget_count;
    uint32_t empty_count; /* shards empty */
    uint32_t args;        /* of jobs, made and not released */
    uint32_t refused;     /* jobs */
    uint64_t remember[256]; /* actors whose start is to be stored */
    uint32_t remember_count;
    uint64_t forget_stored[256]; /* actors whose stop is to be stored */
    uint32_t forget_stored_count;
};

extern struct lab lab;

/* One lane; types A (plain), P (persistent), S (stop message 99), I (idle after 1 s). */
void lab_open(void);
void lab_open_with(struct actors_settings settings); /* with limits or a clock */
void lab_close(void); /* checks that no memory is in use */
int lab_setup(void **state); /* lab_open for a test */
int lab_teardown(void **state);
extern const struct sherd_behavior puppet;
struct sherd_ref lab_spawn(const char *name);
struct sherd_ref lab_spawn_loud(const char *name); /* wants SHERD_UNDELIVERED */
void lab_order(struct sherd_ref to, const struct order *orders, uint32_t count); /* msg 1 */
void lab_entity_order(uint16_t type, const char *id, const struct order *orders,
                      uint32_t count);
void lab_tell(struct sherd_ref to, uint32_t msg);
void lab_entity_tell(uint16_t type, const char *id, uint32_t msg);
void lab_run(void); /* until nothing is runnable and nothing comes out */
void lab_advance(uint64_t ms);
void lab_recover_all(void); /* answers every wanted replay without events */
struct actors_status lab_status(void);
void lab_expect(const char *text); /* compares and clears the log */
bool lab_traced(const char *part); /* whether a line since the last call has it */
void lab_free_out(void);
struct job *lab_job(void); /* the first one that came out; null: none */
void lab_job_done(struct job *job); /* runs it and returns it; given */
void lab_conserved(void); /* sent + arrived = delivered + waiting + undelivered + left */

#define ORDER(to, ...)                                                         \
    lab_order(to, (struct order[]){ __VA_ARGS__ },                             \
              sizeof((struct order[]){ __VA_ARGS__ }) / sizeof(struct order))
#define ENTITY_ORDER(type, id, ...)                                            \
    lab_entity_order(                                                          \
        type, id, (struct order[]){ __VA_ARGS__ },                             \
        sizeof((struct order[]){ __VA_ARGS__ }) / sizeof(struct order))

#endif
