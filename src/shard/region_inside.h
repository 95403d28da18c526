/* Declares the inside of a region for region.c (homes, shutdown, views), region_members.c (members,
 * registration) and region_receive.c (directives, lanes' answers). */
#ifndef SHERD_SHARD_REGION_INSIDE_H
#define SHERD_SHARD_REGION_INSIDE_H

#include "base/kept_members.h"
#include "base/map.h"
#include "base/probe.h"
#include "base/timers.h"
#include "base/vec.h"
#include "shard/region.h"
#include "shard/wire.h"

/* Actor that sent a directive and gets the answer. */
struct party {
    struct node_id node;
    struct buf path; /* with "#uid" */
};

/* A region that is the home of shards, one for each ref. */
struct home {
    struct slice ref;    /* owned; the key in region.homes */
    struct slice path;   /* part of ref */
    struct node_id node; /* uid 0: its address had no member */
    uint32_t users;
    bool is_self;
};

/* A hand-off in progress; the next home ends it. */
struct hold {
    struct party from;
    uint64_t lanes_left; /* have not answered; 0: acknowledged */
    bool fenced;
};

enum hosting_state { HOSTING_STARTING, HOSTING_RUNNING, HOSTING_STOPPING };

/* A shard that a lane of this node owns. */
struct hosting {
    enum hosting_state state;
    bool start_asked;   /* start_from waits for ShardStarted */
    bool stop_fenced;   /* the order had a fence */
    uint64_t stop_term; /* the coordinator's term at that time */
    struct fence fence;
    struct attempt stop; /* STOPPING: the lane's order */
    struct party start_from;
    struct party stop_from;
};

struct entry {
    struct fence fence;     /* the newest known */
    struct fence lost;      /* newest that the journal refused here */
    struct attempt attempt; /* newest hand-off begun */
    bool attempted;
    bool wanted; /* a lane waits for the home */
    struct home *home;
    struct hold *hold;
    struct hosting *hosting;
};

/* Bits that describe a member. */
#define MARK_ROLE 1        /* it has the role of the type */
#define MARK_UNREACHABLE 2
#define MARK_HEARD 4       /* a message about the type came from there: it has the type */

struct news_item {
    struct region_news news;
    char *text; /* owned, for path and text */
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
    struct shard_names *names;
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
    struct kept_members members; /* each uid once */
    struct address_index *by_address; /* while a list is read; else null */
    VEC(struct kept_member) gone; /* ring of GONE_MAX */
    uint32_t gone_next;

    struct node_id oldest; /* oldest that may run the coordinator; uid 0: none */
    struct party coordinator;
    bool registered;
    uint64_t term; /* the coordinator's; 0 = none */
    struct proof proof; /* of the last HostShard or registration */
    uint64_t asked_term; /* highest term in a query; no registration with older coordinators */
    uint64_t stored_term; /* highest term with which the journal refused a fence */
    uint64_t report;
    uint64_t reported_at;    /* ns; last report of a lost shard */
    bool is_misjudged;       /* the coordinator takes it as the home of a lost shard */
    uint64_t register_at;    /* NEVER: registered, or no candidate */
    uint64_t silent_since;   /* with register_at: no coordinator answers since then */
    uint64_t register_delay; /* ns to the try after the next */
    uint32_t register_tries; /* failed tries since the coordinator was lost */
    enum cordon_level cordon;
    enum cordon_level told_cordon; /* as its coordinator has confirmed it */
    bool is_alone;                 /* likewise: no other region takes shards */
    uint64_t retry_at;       /* NEVER: nothing to repeat */
    uint32_t silent_retries; /* repetitions without a directive; each asks for half as many homes */
    uint32_t retry_next;     /* entry that begins the next repetition */

    bool shutting_down;
    bool preparing;
    bool forced; /* the shutdown's time is over; remaining shards end at once */
    bool had_shards; /* with forced: some shards remained */
    bool stopped; /* hosts nothing */
    bool holds_on; /* stopped, but buffers in hand-offs as a proxy until its node is gone */
    uint64_t shutdown_at;
    uint64_t idle_count; /* questions whether a shard is on its way */
    uint64_t idle;       /* the last question, while nothing is left; else 0 */
    bool dismissed;      /* the coordinator's answer: no shard is */
    uint64_t idle_until; /* end of the wait for that answer; NEVER while something is left */
    uint64_t lanes_reported;
    uint64_t waiting[LANES_MAX];

    VEC(struct news_item) news;
    uint32_t news_first;
    struct news_item current; /* of the last region_next_news */
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

void region_send(struct region *region, const struct node_id *to,
                 struct slice recipient, const struct shard_message *message);
/* Copies text; owing is given (may be null). */
void region_tell(struct region *region, struct region_news news,
                 struct slice text, struct owing *owing);

void region_free_members(struct region *region);
/* A message about the type came from that node. */
void region_heard(struct region *region, const struct node_id *node);
/* Iterates over members that may run the coordinator; `at` is zero at first. Members must not
 * change meanwhile. */
struct candidates {
    const struct kept_member *first_up;
    uint32_t next;
};
bool region_next_candidate(const struct region *region, struct candidates *at,
                           struct node_id *node);
bool region_is_candidate(const struct region *region,
                         const struct node_id *node);
bool region_is_gone(const struct region *region, uint64_t uid);
/* The node's incarnation was removed, or its address has no member any more. */
bool region_is_dead(const struct region *region, const struct node_id *node);
/* Speeds up searches by address until region_drop_index; members must not change meanwhile. */
void region_index_members(struct region *region);
void region_drop_index(struct region *region);
/* Returns the member's incarnation there; uid 0 if none. */
struct node_id region_node_at(const struct region *region,
                              const struct address *address);
void region_coordinator_lost(struct region *region, uint64_t now);
/* The coordinator's acknowledgement: repeats the registration if that had another cordon. */
void region_cordon_heard(struct region *region, uint64_t now,
                         const struct shard_message *ack);
void region_register(struct region *region, const struct node_id *to,
                     struct slice path);
/* Repeats to all candidates without an answer; the next time is later. */
void region_register_again(struct region *region, uint64_t now);
void region_ask_shutdown(struct region *region);
void region_say_stopped(struct region *region);
/* Ends the shutdown if nothing is left or on its way. */
void region_settle(struct region *region, uint64_t now);
/* A shard came, which voids the answer to the last question. */
void region_is_busy(struct region *region);
/* Takes the coordinator's answer to the last question. */
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
void region_drop_home(struct region *region, struct home *home); /* unless a shard has it */
void region_drop_hold(struct entry *entry);
void region_drop_hosting(struct region *region, struct entry *entry);

#endif
