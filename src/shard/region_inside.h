/* Declares the inside of a region for its own files: region.c (homes, shutdown, views),
 * region_members.c (members, registration) and region_receive.c (the coordinator's directives and
 * the lanes' answers). */
#ifndef SHERD_SHARD_REGION_INSIDE_H
#define SHERD_SHARD_REGION_INSIDE_H

#include "base/kept.h"
#include "base/map.h"
#include "base/probe.h"
#include "base/timers.h"
#include "base/vec.h"
#include "shard/region.h"
#include "shard/wire.h"

/* The actor that sent a directive and gets the answer. */
struct party {
    struct node_id node;
    struct buf path; /* with "#uid" */
};

/* A region that is the home of shards; one entry for each ref. */
struct home {
    struct slice ref;    /* owned; the key in region.homes */
    struct slice path;   /* part of ref */
    struct node_id node; /* uid 0: its address had no member when the home was first named */
    uint32_t users;      /* shards that have this home */
    bool is_self;
};

/* A hand-off for which this region holds messages. The next home ends it. */
struct hold {
    struct party from;
    uint64_t lanes_left; /* lanes without an answer; 0: acknowledged */
    bool fenced;
};

enum hosting_state { HOSTING_STARTING, HOSTING_RUNNING, HOSTING_STOPPING };

/* A shard that a lane of this node owns. */
struct hosting {
    enum hosting_state state;
    bool start_asked;   /* a ShardStarted is owed to start_from */
    bool stop_fenced;   /* the order to hand off had a fence */
    uint64_t stop_term; /* the coordinator's term at that time */
    struct fence fence;
    struct attempt stop; /* STOPPING: the lane's order */
    struct party start_from;
    struct party stop_from;
};

struct entry {
    struct fence fence;     /* the newest known */
    struct fence lost;      /* the newest that the store refused here */
    struct attempt attempt; /* the newest hand-off begun */
    bool attempted;
    bool wanted; /* a lane waits for the home */
    struct home *home;       /* null = unknown */
    struct hold *hold;       /* null = no hand-off */
    struct hosting *hosting; /* null = not here */
};

#define MARK_ROLE 1 /* mark of a member: it has the role of the type */

struct news_item {
    struct region_news news;
    char *text; /* owned; holds news.path and news.text */
    struct owing *owing;
};

struct address_index;

struct region {
    const struct identity *self;
    struct outbox *outbox;
    struct trace *trace;
    struct probes *probes;
    uint16_t type_index;
    char *type;
    char *path;
    char *coordinator_path;
    struct buf ref; /* this region's ref, as registered */
    uint32_t shard_count;
    uint32_t lanes;
    uint64_t retry_interval;
    uint64_t handoff_timeout;
    bool is_proxy;
    bool persists;

    struct entry *entries; /* by shard_index */
    uint32_t entry_count;
    uint32_t wanted_count;
    uint32_t hosted_count;
    struct map homes;   /* ref -> struct home */
    struct kept members; /* each uid once */
    struct address_index *by_address; /* members by address while a list is read; else null */
    VEC(struct kept_peer) gone; /* removed nodes, a ring of GONE_MAX */
    uint32_t gone_next;

    struct node_id oldest; /* oldest of those that may run the coordinator; uid 0: none */
    struct party coordinator;
    bool registered;
    uint64_t term; /* the coordinator's; 0: it has none */
    /* highest term of a coordinator that asked for a report; older ones get no registration */
    uint64_t asked_term;
    uint64_t stored_term; /* highest term with which the store refused a fence here */
    uint64_t report;
    uint64_t reported_at;    /* ns; last report of a lost shard */
    bool is_misjudged;       /* the coordinator considers it the home of such a shard */
    uint64_t register_at;    /* NEVER: registered, or no candidate */
    uint64_t register_delay; /* ns to the try after the next */
    uint32_t register_tries; /* failed tries since the coordinator was lost */
    uint64_t retry_at;       /* NEVER: nothing to repeat */
    /* repetitions since the coordinator's last directive; each asks for half as many homes */
    uint32_t silent_retries;
    uint32_t retry_next;     /* entry at which the next repetition begins */

    bool shutting_down;
    bool preparing;
    bool forced; /* the time of the shutdown is over: the remaining shards end at once */
    bool had_shards; /* with forced: some remained */
    bool stopped; /* hosts nothing any more */
    /* stopped, but holds shards for hand-offs like a proxy until its node is removed */
    bool holds_on;
    uint64_t shutdown_at;
    uint64_t idle_count; /* questions whether a shard is on its way here */
    uint64_t idle;       /* the last of these while nothing is left; else 0 */
    bool dismissed;      /* the coordinator's answer: none is */
    uint64_t idle_until; /* end of the wait for the answer; NEVER while something is left */
    uint64_t lanes_reported; /* one bit for each */
    uint64_t waiting[LANES_MAX];

    VEC(struct news_item) news;
    uint32_t news_first;
    struct news_item current; /* lent by the last region_next_news */
    struct region_counters counters;
};

static inline int32_t entry_shard(const struct region *region,
                                  const struct entry *entry)
{
    return (int32_t)(entry - region->entries) -
           (int32_t)(region->shard_count - 1);
}

/* True if it has ended for the coordinator, too. */
static inline bool region_is_silent(const struct region *region)
{
    return region->stopped && (!region->holds_on || region->preparing);
}

void region_party_set(struct party *party, const struct inbound *message);
void region_party_fini(struct party *party);

/* Queues a message to an actor at a node. */
void region_send(struct region *region, const struct node_id *to,
                 struct slice recipient, const struct shard_message *message);
/* Queues news. Copies text; owing is given (may be null). */
void region_tell(struct region *region, struct region_news news,
                 struct slice text, struct owing *owing);

void region_free_members(struct region *region);
/* Iterates over the members that may run the coordinator; `at` is zero at first. The members must
 * not change meanwhile. */
struct candidates {
    const struct kept_peer *first_up;
    uint32_t next;
};
bool region_next_candidate(const struct region *region, struct candidates *at,
                           struct node_id *node);
bool region_is_candidate(const struct region *region,
                         const struct node_id *node);
bool region_is_gone(const struct region *region, uint64_t uid);
/* True if the node cannot be a home: that incarnation was removed, or its address has no member any
 * more. */
bool region_is_dead(const struct region *region, const struct node_id *node);
/* Makes searches by address fast until region_drop_index. No member may come or go meanwhile. */
void region_index_members(struct region *region);
void region_drop_index(struct region *region); /* does nothing without one */
/* The member's incarnation at an address; uid 0 if there is none. */
struct node_id region_node_at(const struct region *region,
                              const struct address *address);
void region_coordinator_lost(struct region *region, uint64_t now);
void region_register(struct region *region, const struct node_id *to,
                     struct slice path);
/* Repeats the registration to all candidates without an answer; the next repetition waits
 * longer. */
void region_register_again(struct region *region, uint64_t now);
void region_ask_shutdown(struct region *region);
/* Sends to the coordinator that this region has stopped. */
void region_say_stopped(struct region *region);
/* Ends the shutdown when nothing is left or on its way. */
void region_settle(struct region *region, uint64_t now);
/* A shard came: voids the coordinator's answer to the last question. */
void region_is_busy(struct region *region);
/* Takes the coordinator's answer. */
void region_dismiss(struct region *region, uint64_t now, uint64_t term,
                    uint64_t idle);

void region_ask_home(struct region *region, uint64_t now,
                     struct entry *entry);
void region_ask_all(struct region *region);
void region_repeat(struct region *region, uint64_t now);

struct home *region_home_of(struct region *region, struct slice ref);
void region_set_home(struct region *region, struct entry *entry,
                     struct home *home, struct fence fence);
void region_forget_home(struct region *region, struct entry *entry);
/* Does nothing while a shard has it. */
void region_drop_home(struct region *region, struct home *home);
void region_drop_hold(struct entry *entry);
void region_drop_hosting(struct region *region, struct entry *entry);

#endif
