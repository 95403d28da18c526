/* Defines the inside of a world. Private to sim/world/.
 *
 * A site is a place with its clock and its paths to other sites. An incarnation has a worker for
 * each machine and channels of mail between them. A connection is a pipe. An event is part of one
 * of these. An event that is due but cannot happen (paused site, cut path) is parked until its
 * obstacle ends. */
#ifndef SHERD_SIM_WORLD_INSIDE_H
#define SHERD_SIM_WORLD_INSIDE_H

#include <stddef.h>

#include "base/map.h"
#include "base/vec.h"
#include "lease/book.h"
#include "sim/world/clock.h"
#include "sim/world/disk_backend.h"
#include "sim/world/events.h"
#include "sim/world/net.h"
#include "sim/world/verdict.h"
#include "sim/world/world.h"

#define NO_INDEX UINT32_MAX

/* kind, the struct with the event, and what happens */
enum event_kind {
    EVENT_TURN,   /* worker: its turn */
    EVENT_MAIL,   /* channel: its first mail arrives */
    EVENT_STORED, /* site: its machines get the answers of the journal backend */
    EVENT_STORE,  /* a journal backend acts */
    EVENT_PIPE,   /* pipe.there: a call, a piece or the end arrives at the reader */
    EVENT_BACK,   /* aside.back: an answer to the call or a reset arrives at the writer */
    EVENT_WAITED, /* aside.waited: the writer stops waiting */
    EVENT_ACK,    /* aside.ack: waits until the way back is free */
    EVENT_PATH,   /* path.opens: the path is no longer clogged */
    EVENT_CALL,   /* call: world_at */
    EVENT_LEASED, /* lease trip: a lease request or its answer has arrived */
    EVENT_JOB,    /* labour: its job runs */
    EVENT_DURABLE, /* durable disk: its request is done */
    EVENT_FOUND,  /* site: its seed nodes are found */
};

struct pipe;
struct site;
struct labour;
struct lease_trip;

struct piece {
    struct piece *next;
    uint64_t at;
    uint32_t size; /* 0: the end */
    uint8_t bytes[];
};

/* The network from one site to another. Created by its first fault. */
struct path {
    struct event opens;   /* set while it is clogged */
    uint64_t min, mean;   /* of the delay; mean 0: the world's */
    uint8_t cut;          /* enum net_streams */
    uint64_t slowed;      /* pieces delayed by this path */
    struct event_list parked;
};

struct piped_mail {
    struct mail mail;
    uint64_t at;
};

/* Mail on its way from one machine to another of its node. */
struct channel {
    struct event event;
    struct site *site;
    uint32_t from, to;
    uint32_t head;
    VEC(struct piped_mail) mail;
};

/* One machine of an incarnation. */
struct worker {
    struct event event;
    struct site *site;
    struct machine *machine;
    uint32_t number;
    uint32_t inputs;     /* since its last turn */
    uint64_t busy_to;    /* it does nothing before */
    VEC(struct pipe *) links; /* by the machine's number; null: closed */
    VEC(uint64_t) writing;    /* numbers of links */
};

struct site {
    struct world_node face;
    struct address address;
    uint32_t index;
    uint32_t machines;
    struct worker *workers;   /* of this incarnation, as the next two */
    struct channel *channels; /* from * machines + to */
    VEC(struct journal_request *) answers; /* from the journal backend */
    struct event stored;
    VEC(struct lease_trip *) lease_trips; /* lease requests under way */
    struct rng lease_rng;
    bool is_lease_cut; /* cut off from the lease provider */
    struct event found; /* look-up of seed nodes */
    struct rng found_rng;
    VEC(struct labour *) labours; /* jobs that have not run */
    struct rng job_rng;
    struct durable_disk *durable; /* null: never used */
    struct clock clock;
    struct rng mail_rng, life_rng, fate_rng;
    struct rng way_rng;       /* of delays of sent pieces */
    VEC(struct path *) paths; /* by the other site's index; null: none yet */
    VEC(struct pipe *) out;   /* the site opened these */
    VEC(struct pipe *) in;    /* the site accepted these */
    struct event_list parked; /* while it is paused */
    struct event_list calls;  /* connections that nobody answers */
    uint32_t slow;            /* factor of a turn's cost; 0: no cost */
    uint64_t accept_delay;
    bool refuses;
    bool is_hole;
    bool is_dark; /* the machine is dead, so its kernel does not even refuse */
    struct world_harm harm; /* without the counts of parked lists */
    struct sherd_status status; /* summed by world_status */
};

/* A part that a pipe has only while it opens or a fault affects it. */
struct aside {
    struct pipe *pipe;
    struct event back;
    struct event waited;
    struct event ack;
    struct path *path, *way_back; /* null: no fault yet */
    struct buf peeked; /* until the reader's machine is known */
};

/* One connection. Both sites list it until it is over at both ends. There are hundreds of
 * thousands, so the first of two cache lines holds what each piece fetches ahead. */
struct pipe {
    struct event there;
    struct piece *first; /* in flight; null: none */
    struct worker *reader; /* null: no machine */
    union {
        uint64_t accept_at; /* without a reader: nothing is read before */
        struct inlet_slot *place; /* in the reader's machine */
    };
    struct site *from, *to;  /* to: null: no such address */
    uint32_t in_flight;      /* without acknowledgement; at most pipe_size */
    uint32_t under_way;      /* bytes that no machine has got */
    struct piece *last;
    struct worker *writer;   /* null: its end is closed */
    struct aside *aside;     /* null: not needed */
    uint64_t last_at;        /* arrival of the youngest piece */
    uint64_t number;         /* identifies it for the reader's machine */
    uint32_t unanswered;     /* arrived bytes without acknowledgement */
    uint32_t link;
    uint32_t to_life;
    uint8_t stream;          /* enum net_streams */
    bool wants_write : 1;
    bool is_called : 1;      /* the call has arrived */
    bool is_refused : 1;     /* answer to the call */
    bool is_connected : 1;   /* the writer knows the answer */
    bool is_known : 1;       /* the reader's end is open */
    bool is_lost : 1;        /* no further byte arrives */
    bool is_silent : 1;      /* without notice */
    bool is_broken : 1;      /* by the network: both ends learn of it, even across a cut */
    bool was_reset : 1;      /* `back` carries a reset */
    bool is_handled : 1;     /* in use: not to be freed now */
    bool has_ended : 1;      /* the observers were told */
    uint32_t out_at, in_at;  /* indexes in the sites' lists */
};

_Static_assert(sizeof(struct pipe) <= 2 * 64, "two cache lines");

struct call {
    struct event event;
    world_call *function;
    void *arg;
};

struct world_line {
    uint32_t node;
    char *text;
};

/* The journal backend of nodes with the same remainder. */
struct world_backend {
    struct event event;
    struct disk_backend *store;
    struct database *database; /* null: the disk is used */
    char id[STORE_ID_MAX];
};

struct world {
    struct world_settings settings;
    struct verdict *verdict;
    struct events events;
    struct rng rng;
    uint64_t now;
    struct world_place *place; /* from the settings, or own_place */
    struct world_place own_place;
    uint64_t digest;
    uint64_t events_done;
    uint64_t told_event; /* of world_tells_event; 0: none */
    uint64_t *told_at;
    uint64_t pipes;
    uint32_t paused;
    struct worker *ready; /* its turn follows the current input */
    VEC(struct site *) sites;
    struct map by_address;
    VEC(struct world_observer) observers;
    bool steps_watched; /* an observer has `step` */
    VEC(struct world_line) lines;
    struct world_backend *stores; /* settings.stores of them */
    struct lease_book leases;
    world_find *find;
    void *find_arg;
    bool traces;
};

/* Calls one function of every observer that has it. */
#define observe(world, function, ...)                                          \
    do {                                                                       \
        for (uint32_t o_ = 0; o_ < (world)->observers.count; o_++) {           \
            const struct world_observer *of_ = &(world)->observers.items[o_];  \
                                                                               \
            if (of_->function)                                                 \
                of_->function(of_->user, __VA_ARGS__);                         \
        }                                                                      \
    } while (0)

/* The same for steps of a machine. */
#define observe_step(world, measured, begins)                                  \
    do {                                                                       \
        if ((world)->steps_watched)                                            \
            observe(world, step, measured, begins);                            \
    } while (0)

static inline uint64_t digest_mix(uint64_t value)
{
    value *= UINT64_C(0x9e3779b97f4a7c15);
    return value ^ value >> 32;
}

static inline void digest_add(struct world *world, uint32_t node, uint32_t kind,
                              uint64_t hash)
{
    uint64_t digest = digest_mix(world->digest ^ world->now);

    digest = digest_mix(digest ^ ((uint64_t)node << 8 | kind));
    world->digest = digest_mix(digest + hash);
}

/* Returns what the node's clock shows. Call it before the machine runs. */
static inline uint64_t site_runs(struct world *world, const struct site *site)
{
    *world->place = (struct world_place){ world->now, world->events_done,
                                          site->index };
    return clock_now(&site->clock, world->now);
}

/* site.c */
struct site *world_site(struct world *world, uint32_t index); /* created if it is new */
void status_add(struct site *site, struct status_part *part);

/* turns.c */
/* For events that happen at once. */
uint64_t world_soon(struct world *world);
void world_release(struct world *world, struct event_list *list);
/* its turn follows at once or soon */
void worker_touched(struct world *world, struct worker *worker);
void worker_turn_at(struct world *world, struct worker *worker, uint64_t at); /* at the latest */

/* world.c */
void worker_carry_out(struct world *world, struct worker *worker);

/* life.c */
void life_start(struct world *world, struct site *site);
enum life_end {
    LIFE_ENDED,   /* by itself */
    LIFE_KILLED,  /* the process died; its kernel sends the rest */
    LIFE_RESET,   /* the same, but bytes in flight are lost */
    LIFE_DARK,    /* the machine died, silently */
};
void life_end(struct world *world, struct site *site, enum life_end end);
void life_facts(struct world *world, struct worker *worker); /* observers get lines and probes */

/* pipe.c */
struct path *pipe_path(struct site *from, struct site *to); /* created if it is new */
void pipe_open(struct world *world, struct worker *writer,
               const struct driver_request *request);
void pipe_write(struct world *world, struct pipe *pipe); /* as much as it takes */
/* by the writer: written bytes arrive, then the end */
void pipe_close(struct world *world, struct pipe *pipe);
void pipe_refuse(struct world *world, struct pipe *pipe); /* by the reader: the writer is told */
/* Reports a close that a machine requests. Call it before one of these. */
void pipe_tell_close(struct world *world, const struct pipe *pipe,
                     bool by_reader);
/* No byte arrives, and no peer hears. known: the reader's kernel keeps its end. */
void pipe_vanish(struct world *world, struct pipe *pipe, bool known);
/* Both ends are told, and bytes in flight are lost. */
void pipe_break(struct world *world, struct pipe *pipe);
/* The writer is gone: bytes in flight are lost, the reader is told. */
void pipe_abort(struct world *world, struct pipe *pipe);
/* The writer is gone: a drawn part still arrives, without an end. */
void pipe_leave(struct world *world, struct pipe *pipe, uint64_t draw);
void pipe_unknown(struct world *world, struct pipe *pipe); /* the reader's machine has restarted */
void pipe_event(struct world *world, struct event *event);
void pipe_healed(struct world *world, struct event_list *parked,
                 /* Releases events held up by a path or an unreachable node. path may be null. */
                 struct path *path);
void pipe_free(struct pipe *pipe);

/* backend.c */
const char *backend_id(struct world *world, const struct site *site); /* identity of its store */
void backend_arm(struct world *world); /* after calls of any backend */
void backend_event(struct world *world, struct event *event);
void backend_take(struct world *world, struct site *site,
                struct journal_request *request);
void backend_answer(struct world *world, struct site *site);
void backend_pause(struct world *world, const struct site *site); /* or its end */
void backend_end(struct world *world, struct site *site, bool crashes);

/* leases.c */
void leases_take(struct world *world, struct site *site,
                 struct lease_request *request); /* given */
struct site *leases_site(const struct event *event);
void leases_event(struct world *world, struct event *event); /* only while its node runs */
void leases_end(struct world *world, struct site *site);

/* seeds.c */
void seeds_take(struct world *world, struct site *site);
void seeds_event(struct world *world, struct site *site);
void seeds_end(struct world *world, struct site *site);

/* jobs.c */
void jobs_take(struct world *world, struct site *site, struct job *job); /* given */
struct site *jobs_site(const struct event *event);
void jobs_event(struct world *world, struct event *event); /* only while its node runs */
void jobs_end(struct world *world, struct site *site);

/* durable.c */
void durable_take(struct world *world, struct site *site,
                  struct durable_request *request); /* given */
void durable_event(struct world *world, struct event *event);
struct site *durable_site(const struct event *event);
void durable_end(struct world *world, struct site *site, bool crashes,
                 bool is_dark); /* the disk stays */
void durable_free(struct site *site);

#endif
