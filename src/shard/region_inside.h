/* The inside of a region: its table of shards, shared by region.c (homes, shutdown, views), region_members.c (members,
 * registration) and region_receive.c (the coordinator's directives and the lanes' answers). Private to these three. */
#ifndef SHERD_SHARD_REGION_INSIDE_H
#define SHERD_SHARD_REGION_INSIDE_H

#include "base/kept.h"
#include "base/map.h"
#include "base/probe.h"
#include "base/timers.h"
#include "base/vec.h"
#include "shard/region.h"
#include "shard/wire.h"

/* Whom to answer: the actor that sent a directive. */
struct party {
    struct node_id node;
    struct buf path; /* with "#uid" */
};

/* A region that is the home of shards: one for each ref that any of them has. */
struct home {
    struct slice ref;    /* owned; the key in region.homes */
    struct slice path;   /* part of ref */
    struct node_id node; /* uid 0: no member at that address when it was first heard of */
    uint32_t users;      /* shards */
    bool is_self;
};

/* A hand-off that this region holds messages for. It ends when a home is heard of. */
struct hold {
    struct party from;
    uint64_t lanes_left; /* that have not yet answered; 0: acknowledged */
    bool fenced;
};

enum hosting_state { HOSTING_STARTING, HOSTING_RUNNING, HOSTING_STOPPING };

/* A shard that a lane of this node owns. */
struct hosting {
    enum hosting_state state;
    bool start_asked;   /* start_from waits for ShardStarted */
    bool stop_fenced;   /* the order to hand off had a fence */
    uint64_t stop_term; /* of the coordinator at that time */
    struct fence fence;
    struct attempt stop; /* STOPPING: the order given to the lane */
    struct party start_from;
    struct party stop_from;
};

struct entry {
    struct fence fence;     /* the newest heard of */
    struct fence lost;      /* the newest that the store refused here */
    struct attempt attempt; /* the newest hand-off begun */
    bool attempted;
    bool wanted; /* some lane waits for the home */
    struct home *home;       /* null: unknown */
    struct hold *hold;       /* null: no hand-off */
    struct hosting *hosting; /* null: not here */
};

#define MARK_ROLE 1 /* of a member: it has the role of the type */

struct news_item {
    struct region_news news;
    char *text; /* owned; what news.path and news.text point to */
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
    struct buf ref; /* of this region, as registered */
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
    struct address_index *by_address; /* of the members, while a list is read; else null */
    VEC(struct kept_peer) gone; /* removed nodes, a ring of GONE_MAX */
    uint32_t gone_next;

    struct node_id oldest; /* of those that may run the coordinator; uid 0: none */
    struct party coordinator;
    bool registered;
    uint64_t term; /* of the coordinator; 0: it has none */
    uint64_t asked_term; /* the highest of a coordinator that asked what is hosted here; no older one is registered with */
    uint64_t stored_term; /* the highest by which the store refused a fence here */
    uint64_t report;
    uint64_t reported_at;    /* that a shard was lost; ns */
    bool is_misjudged;       /* the coordinator takes it for the home of such a shard */
    uint64_t register_at;    /* NEVER: registered, or nobody to register with */
    uint64_t register_delay; /* ns until the try after the next */
    uint32_t register_tries; /* repeated in vain since the coordinator was lost */
    uint64_t retry_at;       /* NEVER: nothing to repeat */
    uint32_t silent_retries; /* since the coordinator has said anything of homes: each asks for half as many */
    uint32_t retry_next;     /* entry to begin the next repetition with */

    bool shutting_down;
    bool preparing;
    bool forced; /* the time to shut down is over: the shards that are left end at once */
    bool had_shards; /* with forced: there were some */
    bool stopped; /* hosts nothing any more */
    bool holds_on; /* stopped, but still holds shards for hand-offs, as a proxy does, until its node is gone */
    uint64_t shutdown_at;
    uint64_t idle_count; /* questions whether anything is on its way here */
    uint64_t idle;       /* the last one, while nothing is left; else 0 */
    bool dismissed;      /* the coordinator's answer to it: nothing is */
    uint64_t idle_until; /* it is not waited for any longer; NEVER while something is left */
    uint64_t lanes_reported; /* a bit for each */
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

/* Has it ended for the coordinator, too? */
static inline bool region_is_silent(const struct region *region)
{
    return region->stopped && (!region->holds_on || region->preparing);
}

void region_party_set(struct party *party, const struct inbound *message);
void region_party_fini(struct party *party);

/* Queues a message to an actor at a node. */
void region_send(struct region *region, const struct node_id *to,
                 struct slice recipient, const struct shard_message *message);
/* Queues news; text is copied, owing is given (may be null). */
void region_tell(struct region *region, struct region_news news,
                 struct slice text, struct owing *owing);

void region_free_members(struct region *region);
/* Members that may run the coordinator, one after the other; `at` is zero at first. The members must not change meanwhile. */
struct candidates {
    const struct kept_peer *first_up;
    uint32_t next;
};
bool region_next_candidate(const struct region *region, struct candidates *at,
                           struct node_id *node);
bool region_is_candidate(const struct region *region,
                         const struct node_id *node);
bool region_is_gone(const struct region *region, uint64_t uid);
/* A home there is one of before the removal: that incarnation was removed, or nobody is a member at its address any more. */
bool region_is_dead(const struct region *region, const struct node_id *node);
/* From here to region_drop_index, between which no member comes or goes, looking for one by its address takes no walk. */
void region_index_members(struct region *region);
void region_drop_index(struct region *region); /* if there is one */
/* The incarnation of the member at an address; uid 0 when there is none. */
struct node_id region_node_at(const struct region *region,
                              const struct address *address);
void region_coordinator_lost(struct region *region, uint64_t now);
void region_register(struct region *region, const struct node_id *to,
                     struct slice path);
/* Once more with all that may be it, unless it has answered; the next time is later. */
void region_register_again(struct region *region, uint64_t now);
void region_ask_shutdown(struct region *region);
/* Tells the coordinator that this region has stopped. */
void region_say_stopped(struct region *region);
/* Ends the shutdown when nothing is left, and nothing on its way. */
void region_settle(struct region *region, uint64_t now);
/* Something came: what the coordinator answers to the last question is void. */
void region_is_busy(struct region *region);
/* The coordinator's answer to one. */
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
