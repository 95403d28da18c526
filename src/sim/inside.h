/* The inside of a world. Private to sim/.
 *
 * A site is a place for lives of one node, with its clock and its paths to other sites. A life has a worker for each machine
 * and channels of mail between them; a connection is a pipe. What is to come is an event inside one of these. An event that
 * comes due while it cannot happen (a paused site, a cut path) is parked with what holds it up, and let go when that ends. */
#ifndef SHERD_SIM_INSIDE_H
#define SHERD_SIM_INSIDE_H

#include <stddef.h>

#include "base/map.h"
#include "base/vec.h"
#include "lease/book.h"
#include "sim/clock.h"
#include "sim/disk_backend.h"
#include "sim/events.h"
#include "sim/net.h"
#include "sim/verdict.h"
#include "sim/world.h"

#define NO_INDEX UINT32_MAX

/* name; the event is the first member of, or in, what is named; what happens */
enum event_kind {
    EVENT_TURN,   /* worker: its turn */
    EVENT_MAIL,   /* channel: its first mail arrives */
    EVENT_STORED, /* site: what is back from the store is given to its machines */
    EVENT_STORE,  /* a store of the world: it has something to do */
    EVENT_PIPE,   /* pipe.there: something arrives at the other end: a call, a piece, the end */
    EVENT_BACK,   /* aside.back: something arrives at the writer: an answer to the call, a reset */
    EVENT_WAITED, /* aside.waited: the writer waits no longer */
    EVENT_ACK,    /* aside.ack: parked: what arrived is told to the writer when the way back is free */
    EVENT_PATH,   /* path.opens: it is clogged no more */
    EVENT_CALL,   /* call: world_at */
    EVENT_LEASED, /* site: its request is at the keeper of leases, or back */
    EVENT_JOB,    /* labour: its job runs, and is back */
    EVENT_DURABLE, /* durable disk: its request is done */
    EVENT_FOUND,  /* site: its seed nodes are looked up */
};

struct pipe;
struct site;
struct labour;

struct piece {
    struct piece *next;
    uint64_t at;
    uint32_t size; /* 0: the end */
    uint8_t bytes[];
};

/* All that goes from one site to another. Made when something is done to it, as most never are. */
struct path {
    struct event opens;   /* waits as long as it is clogged */
    uint64_t min, mean;   /* of the delay, with mean 0 the world's */
    uint8_t cut;          /* enum net_streams */
    uint64_t slowed;      /* that had this delay, not the world's */
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

/* One machine of a life. */
struct worker {
    struct event event; /* its next turn */
    struct site *site;
    struct machine *machine;
    uint32_t number;
    uint32_t inputs;     /* pieces and mail since its last turn */
    uint64_t busy_to;    /* it does nothing before */
    VEC(struct pipe *) links; /* by the machine's numbers of them; null: not open */
    VEC(uint64_t) writing;    /* links with something to write */
};

struct site {
    struct world_node face;
    struct address address;
    uint32_t index;
    uint32_t machines;
    struct worker *workers;   /* of this life, as the next two */
    struct channel *channels; /* from * machines + to */
    VEC(struct journal_request *) answers; /* back from the store */
    struct event stored;
    struct lease_request *lease; /* on its way to the keeper or back; null: none */
    struct event leased;
    struct rng lease_rng;
    struct event found; /* the seed nodes that it looks for */
    struct rng found_rng;
    VEC(struct labour *) labours; /* jobs of this life that have not run */
    struct rng job_rng; /* of their times */
    struct durable_disk *durable; /* of durable keys; null: never used */
    struct clock clock;
    struct rng mail_rng, life_rng, fate_rng;
    struct rng way_rng;       /* of the delays of what it sends */
    VEC(struct path *) paths; /* by the other site's index; null: not made yet */
    VEC(struct pipe *) out;   /* connections that it opened and still has to do with */
    VEC(struct pipe *) in;    /* connections that it accepted, as long as it knows of them */
    struct event_list parked; /* what waits while it is paused */
    struct event_list calls;  /* connections that nobody answers */
    uint32_t slow;            /* times its turns' usual cost; 0: they cost nothing */
    uint64_t accept_delay;
    bool refuses;
    bool is_hole;
    bool is_dark; /* the machine died with the process: it does not even refuse */
    struct world_harm harm; /* but for what the lists of parked events count */
    struct sherd_status status; /* being summed by world_status */
};

/* What a pipe has while it is opened or something is done to it; most have none. */
struct aside {
    struct pipe *pipe;
    struct event back;
    struct event waited;
    struct event ack;
    struct path *path, *way_back; /* null: nothing was ever done to it */
    struct buf peeked; /* bytes before the reader's machine is known */
};

/* One connection, from the node that opened it. Both sites list it until it is over at both ends. There are hundreds of thousands: what
 * is asked for ahead of each piece stands in the first of two cache lines, and what else it needs in the second. */
struct pipe {
    struct event there;
    struct piece *first; /* on their way; null: none */
    struct worker *reader; /* null: no machine has it yet, or any more */
    union {
        uint64_t accept_at; /* without a reader: nothing is read before */
        struct inlet_slot *place; /* in the reader's machine */
    };
    struct site *from, *to;  /* to: null: nobody has that address */
    uint32_t in_flight;      /* bytes that the writer has no answer for: at most pipe_size */
    uint32_t under_way;      /* bytes that were written and no machine has been given */
    struct piece *last;
    struct worker *writer;   /* null: its end is closed */
    struct aside *aside;     /* null: nothing in it is needed */
    uint64_t last_at;        /* when the youngest piece arrives */
    uint64_t number;         /* counts pipes; the reader's machine knows it by that */
    uint32_t unanswered;     /* bytes that have arrived, and the writer does not know */
    uint32_t link;
    uint32_t to_life;
    uint8_t stream;          /* enum net_streams */
    bool wants_write : 1;
    bool is_called : 1;      /* the call has arrived at the other end's kernel */
    bool is_refused : 1;     /* the answer to the call */
    bool is_connected : 1;   /* the writer knows that it is */
    bool is_known : 1;       /* the reader's end is open, in its kernel at least */
    bool is_lost : 1;        /* no byte arrives any more */
    bool is_silent : 1;      /* and nothing tells anybody */
    bool is_broken : 1;      /* by what lies between: both are told, whatever is cut */
    bool was_reset : 1;      /* `back` says so */
    bool is_handled : 1;     /* it is looked at further up: not freed now */
    bool has_ended : 1;      /* the observers were told */
    uint32_t out_at, in_at;  /* in the sites' lists */
};

_Static_assert(sizeof(struct pipe) <= 2 * 64, "two cache lines");

struct call {
    struct event event;
    world_call *function;
    void *arg;
};

struct world_line {
    uint32_t node;
    char *text; /* "module: text" */
};

/* The store of those nodes whose number has the same rest. */
struct world_backend {
    struct event event; /* it has something to do */
    struct disk_backend *store;
};

struct world {
    struct world_settings settings;
    struct verdict *verdict;
    struct events events;
    struct rng rng; /* short waits */
    uint64_t now;
    struct world_place *place; /* the settings', or: */
    struct world_place own_place;
    uint64_t digest;
    uint64_t events_done;
    uint64_t told_event; /* world_tells_event; 0: none */
    uint64_t *told_at;
    uint64_t pipes; /* made so far */
    uint32_t paused; /* nodes that are */
    struct worker *ready; /* its turn follows the input that is being given; null: nobody's */
    VEC(struct site *) sites;
    struct map by_address;
    VEC(struct world_observer) observers;
    bool steps_watched; /* one of them has `step` */
    VEC(struct world_line) lines;
    struct world_backend *stores; /* settings.stores of them */
    struct lease_book leases;
    world_find *find; /* null: nobody knows where nodes are */
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

/* The same of what a machine does, from here on or to here; mostly nobody looks at it. */
#define observe_step(world, measured, begins)                                  \
    do {                                                                       \
        if ((world)->steps_watched)                                            \
            observe(world, step, measured, begins);                            \
    } while (0)

/* world.c */
void digest_add(struct world *world, uint32_t node, uint32_t kind,
                uint64_t hash);
struct site *world_site(struct world *world, uint32_t index); /* made when it is new */
/* What a node's clock shows to its machine, which runs from here on. */
static inline uint64_t site_runs(struct world *world, const struct site *site)
{
    *world->place = (struct world_place){ world->now, world->events_done,
                                          site->index };
    return clock_now(&site->clock, world->now);
}

/* A short time from now, for what happens at once. */
uint64_t world_soon(struct world *world);
void world_release(struct world *world, struct event_list *list); /* all of it happens soon */
void worker_touched(struct world *world, struct worker *worker); /* it has an input: a turn with it, or soon */
void worker_turn_at(struct world *world, struct worker *worker, uint64_t at); /* at the latest */
void worker_carry_out(struct world *world, struct worker *worker); /* what the machine wants */

/* life.c */
void life_start(struct world *world, struct site *site);
enum life_end {
    LIFE_ENDED,   /* by itself */
    LIFE_KILLED,  /* the process is gone; its kernel sends what was written */
    LIFE_RESET,   /* as that, but what was on its way is lost */
    LIFE_DARK,    /* the machine is gone: nobody is told, what was on its way ends anywhere */
};
void life_end(struct world *world, struct site *site, enum life_end end);
void life_facts(struct world *world, struct worker *worker); /* gives lines and probes to the observers */

/* pipe.c */
struct path *pipe_path(struct site *from, struct site *to); /* made when it is new */
void pipe_open(struct world *world, struct worker *writer,
               const struct want *want);
void pipe_write(struct world *world, struct pipe *pipe); /* as much as it takes of what waits */
void pipe_close(struct world *world, struct pipe *pipe); /* by the writer: what was written arrives, and then the end */
void pipe_refuse(struct world *world, struct pipe *pipe); /* by the reader: the writer is told */
/* Before one of these, if a machine wants it: tells the observers, unless something else has ended the other side. */
void pipe_tell_close(struct world *world, const struct pipe *pipe,
                     bool by_reader);
void pipe_vanish(struct world *world, struct pipe *pipe, bool known); /* no byte arrives, nobody is told; known: the reader's kernel keeps its end */
void pipe_break(struct world *world, struct pipe *pipe); /* both are told, what is on its way is lost */
void pipe_abort(struct world *world, struct pipe *pipe); /* by the writer, who is gone: what is on its way is lost, the reader is told */
void pipe_leave(struct world *world, struct pipe *pipe, uint64_t draw); /* the writer is gone: a drawn part still arrives, and no end */
void pipe_unknown(struct world *world, struct pipe *pipe); /* the reader's machine is back and does not know it */
void pipe_event(struct world *world, struct event *event);
void pipe_healed(struct world *world, struct event_list *parked,
                 struct path *path); /* lets go what a path or a hole held up; path may be null */
void pipe_free(struct pipe *pipe); /* when the world ends */

/* store.c */
void backend_arm(struct world *world); /* after calls of any store */
void backend_event(struct world *world, struct event *event); /* of an EVENT_STORE */
void backend_take(struct world *world, struct site *site,
                struct journal_request *request);
void backend_answer(struct world *world, struct site *site);
void backend_end(struct world *world, struct site *site, bool crashes);

/* leases.c */
void leases_take(struct world *world, struct site *site,
                 struct lease_request *request); /* given */
void leases_event(struct world *world, struct site *site);
void leases_end(struct world *world, struct site *site);

/* seeds.c */
void seeds_take(struct world *world, struct site *site);
void seeds_event(struct world *world, struct site *site);
void seeds_end(struct world *world, struct site *site);

/* jobs.c */
void jobs_take(struct world *world, struct site *site, struct job *job); /* given */
struct site *jobs_site(const struct event *event); /* of an EVENT_JOB */
void jobs_event(struct world *world, struct event *event); /* its node runs */
void jobs_end(struct world *world, struct site *site);

/* durable.c */
void durable_take(struct world *world, struct site *site,
                  struct durable_request *request); /* given */
void durable_event(struct world *world, struct event *event);
struct site *durable_site(const struct event *event);
void durable_end(struct world *world, struct site *site, bool crashes,
                 bool is_dark); /* a life ends; the disk stays */
void durable_free(struct site *site);

/* world_use.c */
void status_add(struct site *site, struct status_part *part);

#endif
