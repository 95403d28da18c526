/* The state of the membership core, and what its files ask of each other. Private to src/member/.
 *
 * The files by duty: member.c verbs and dispatch, finding.c seeds that are found from outside, seeds.c finding a cluster,
 * join.c entering it, spread.c gossip rounds, intake.c arriving gossip, brief.c the short forms of the own library, centers.c
 * other data centers, leader.c the leader's actions, leave.c leaving and downing, news.c what is told, fact.c what checkers are told of
 * versions. */
#ifndef SHERD_MEMBER_INSIDE_H
#define SHERD_MEMBER_INSIDE_H

#include "base/rng.h"
#include "base/timers.h"
#include "member/gossip_digest.h"
#include "member/compat.h"
#include "member/cross_dc.h"
#include "member/gossip_cache.h"
#include "member/heartbeat.h"
#include "member/member.h"
#include "member/state.h"
#include "member/wire.h"

enum phase {
    PHASE_OUTSIDE, /* in no cluster, trying nothing */
    PHASE_SEEDING, /* asking the seeds for a cluster */
    PHASE_JOINING, /* asked a member, waiting for its welcome */
    PHASE_INSIDE,  /* a member, or about to be one; no way back but for one that is alone */
    PHASE_STOPPED  /* downed or removed: says nothing more */
};

/* One search for a cluster through the seeds. */
struct seeding {
    bool is_first;      /* this node is the first seed: it may found a cluster */
    bool *refused;      /* for each seed: it is in no cluster itself */
    bool *heard;        /* for each seed: it has said something */
    uint64_t began_at;
    uint64_t next_at;   /* the next round of questions */
    uint64_t found_at;  /* the first seed founds a cluster */
    uint32_t attempt;   /* rounds so far */
    uint32_t number;    /* of this search; a part of its path */
};

/* Lists of seeds that come from outside. */
struct finding {
    uint64_t look_at;   /* the next list is wanted; NEVER: it is on its way, or none is */
    uint64_t listed_at; /* the list became what it is */
    uint32_t failures;  /* looks in a row that gave no list */
    bool is_wanted;     /* to be told to whoever finds */
    bool is_settled;    /* the list is one to found a cluster on */
};

/* What was last told of a member. */
struct told {
    struct profile *profile; /* held */
    int32_t up_number;
    enum member_status status;
    bool is_unreachable;
};

enum news_step { /* in the order of telling */
    TELL_WELCOME,
    TELL_REMOVED,
    TELL_MEMBER,
    TELL_UNREACHABLE,
    TELL_REACHABLE,
    TELL_CENTER_UNREACHABLE,
    TELL_CENTER_REACHABLE,
    TELL_LEADER,
    TELL_ROLE_LEADERS,
    TELL_SELF,
    TELL_NOTHING
};

/* The leader among the members with a role. */
struct role_leader {
    const char *role; /* own copy */
    struct node_id node; /* zero = none */
    struct node_id told;
};

/* Another data center that is not reached from this one, or that was last told so. */
struct center {
    char *name; /* own copy */
    bool is_unreachable;
    bool is_told; /* that it is unreachable */
};

struct news {
    VEC(struct told) members; /* by node */
    VEC(struct center) centers; /* by name */
    VEC(struct role_leader) roles; /* by role */
    bool tells_roles; /* somebody wants to hear of them */
    enum news_step step;
    uint32_t at; /* index within the step */
    struct node_id leader; /* told; zero = none */
    struct buf refusal; /* reasons not yet told */
    bool welcome; /* told, as the following */
    bool up;
    bool exiting;
    bool refused; /* to be told */
    bool stopped;
};

/* What is said in the next step, to whom a gossip or a request to join came from. */
struct reply {
    struct node_id to;
    struct buf path; /* as gossip_send_message; empty = its daemon */
    bool only_seen;  /* as gossip_send_seen, else the gossip */
    bool is_welcome;
    bool is_urgent;  /* as gossip_send_message */
};

/* A gossip as it came. */
struct brought {
    struct buf packed; /* empty = none */
    struct gossip_cache_opened opened;
};

/* What a gossip that came and ours give together. */
struct merged {
    struct gossip gossip;
    bool is_good; /* else nothing is to be changed */
    bool removes; /* somebody, as gossip_merge says */
};

/* A large gossip that was opened, and is read and taken in by later steps; outside, what came for a newcomer. */
struct waiting {
    struct node_id from;
    struct buf path; /* of who sent it */
    struct buf bytes; /* outside: what was inflated, until it is read */
    bool is_welcome;  /* outside: else a gossip */
    bool is_read;
    struct gossip gossip; /* once it is read */
    struct brought brought;
    struct merged merged; /* with ours, once it was */
    bool is_merged;       /* with ours as it is now */
    bool was_merged;      /* once: if ours changed since, it is merged when it is taken in */
};

/* What is much work has a step of its own. After at most one of each, in this order, two more to merge and to take in what was read, and as
 * many as PACK_STEPS_MAX to pack, comes one for all else that is due, so that nothing is late where that does not end. */
enum step_kind {
    STEP_OF_ALL,
    STEP_TAKES_IN,
    STEP_PACKS,
    STEP_REPLIES,
    STEP_LEADS
};

#define PACK_STEPS_MAX 3 /* the head of what came is looked at, names, the rest */

struct member {
    const struct identity *identity;
    struct trace *trace;
    enum trace_level info_level; /* of what goes as it should */
    struct rng rng;
    struct member_settings settings; /* with all defaults; what it points to is ours */
    struct heart_settings heart_settings;
    struct cross_dc_settings cross_dc_settings;
    struct compat config;
    struct profile *self;
    enum phase phase;
    uint64_t wall_ms; /* as last told */

    struct seeding seeding;
    struct finding finding;
    struct address contact; /* the node asked to let us join; port 0 = none */
    bool is_by_seeds;       /* the contact was found through the seeds */
    uint64_t retry_at;      /* no welcome by then: try again */
    uint64_t give_up_at;    /* NEVER = never */

    struct gossip gossip;
    uint32_t own_at;   /* this node's index among its members, when it was last looked for */
    bool is_exiting;   /* hand-over under way: this node does not mark versions as seen (behaviour 6.2) */
    bool is_preparing; /* for full shutdown: no joins, nobody moves to up */
    VEC(struct node_id) confirmed; /* exiting members that have handed over */
    uint32_t unconverged; /* leader ticks without convergence */
    VEC(struct node_id) refusers; /* members that take this node for dead */
    uint32_t down_checks; /* leader ticks since this node is down */
    enum member_status last_status; /* of this node when it stopped */
    uint64_t gossip_at;
    uint64_t extra_at;  /* a further gossip within the interval; NEVER = none */
    uint32_t extra_count; /* of them still to come */
    VEC(struct reply) replies; /* each node once */
    uint64_t leader_at;
    uint64_t reaper_at;
    uint64_t stats_at; /* NEVER = never */
    struct heart heart;
    struct cross cross;

    bool is_dirty; /* the gossip changed since settle */
    VEC(struct member_view) views; /* of the gossip's members, by index; their profiles are held */
    uint32_t far_count; /* of those, in other data centers */
    struct node_id leader; /* zero = none */
    bool is_seen_dirty; /* only who has seen it changed */
    struct gossip_cache head;
    struct brought brought; /* what became our gossip: the head may be taken over from it */
    VEC(struct waiting) waiting; /* gossips, the first to come first */
    VEC(struct gossip) over; /* large ones that were replaced: freed by later steps */
    uint32_t let_go_count; /* of those freed since something else had a step */
    enum step_kind last_step;
    uint32_t pack_steps; /* in a row */
    struct buf packed; /* the gossip compressed; empty = to be made */
    struct buf status; /* the status payload; empty = to be made */
    struct buf brief;  /* the same for gossip_digest_send_version */
    struct gossip_digest_version version; /* of the gossip */
    bool has_version; /* else it is to be made */
    uint8_t digest[SEEN_DIGEST_SIZE]; /* of the seen set */
    bool has_digest; /* else it is to be made */
    struct news news;
    struct member_counters counters;
};

/* news.c. After anything that may have changed the gossip: brings views, leader, heartbeats and news up to it. */
void member_settle(struct member *member, uint64_t now);
void member_fini_news(struct member *member); /* the views too */

/* member.c. A message that could not be read: counted, and an error is logged where it passes a limit, as whoever said it will go on
 * to. what: its name. */
void member_cannot_read(struct member *member, enum verdict verdict,
                        const char *what, const struct node_id *from);
/* Leaves a fact about a node. */
void member_probe(struct member *member, enum probe_kind kind,
                  const struct node_id *node, uint64_t first);
/* An answer to a heartbeat counts: counted, and a fact. */
void member_take_response(struct member *member, const struct node_id *from);
/* The gossip is another value than it was; no version of our own. */
void member_gossip_replaced(struct member *member);
/* The same, when only who has seen it changed. */
void member_seen_changed(struct member *member);
/* Makes a version of our own of what was just changed: clock, seen set (behaviour 2.3). */
void member_gossip_changed(struct member *member);
struct gossip_member *member_own_entry(const struct member *member); /* null before the welcome */
/* Our profile is in the gossip and all is started. */
void member_become_inside(struct member *member, uint64_t now);
/* The end: nothing is sent or taken in any more. */
void member_stop(struct member *member);
/* Sends to a daemon. path empty = its own, through a selection; else straight to the actor that wrote. */
void member_send(struct member *member, const struct node_id *to,
                 struct slice path, const char *manifest,
                 const struct buf *payload, struct outbox *outbox);
/* The same, of what comes again: not behind one that waits for the same node. */
void member_repeat(struct member *member, const struct node_id *to,
                   struct slice path, enum stream stream,
                   const char *manifest, const struct buf *payload,
                   struct outbox *outbox);

/* fact.c. A hash of a version, as probes name it. */
uint64_t fact_hash_version(const struct clock *clock);
/* Leaves the fact that the gossip is that version from here on. */
void fact_version_held(const struct member *member);

/* settings.c. Copied, with a default for each that is zero; the texts are lent. */
void member_settings_take(struct member *member,
                          const struct member_settings *settings);
void member_settings_fini(struct member_settings *settings);

/* seeds.c */
void seeds_start(struct member *member, uint64_t now, struct outbox *outbox);
void seeds_step(struct member *member, uint64_t now, struct outbox *outbox);
uint64_t seeds_deadline(const struct member *member);
void seeds_receive_question(struct member *member,
                            const struct inbound *inbound,
                            struct outbox *outbox);
void seeds_receive_ack(struct member *member, uint64_t now,
                       const struct inbound *inbound, struct outbox *outbox);
void seeds_receive_nack(struct member *member, uint64_t now,
                        const struct inbound *inbound, struct outbox *outbox);

/* finding.c */
void finding_step(struct member *member, uint64_t now);
uint64_t finding_deadline(const struct member *member); /* NEVER unless lists come from outside */

/* join.c */
void join_address(struct member *member, uint64_t now,
                  const struct address *address, bool by_seeds,
                  struct outbox *outbox);
/* A cluster of one may join another one (the first of the library's specifications has it, the reference has not). */
bool join_may_move(const struct member *member, const struct address *address);
/* Two clusters of one that were told to join each other would wait for each other's welcome. The one with the lower address goes
 * back to its own cluster, and takes the other one in. */
bool join_crosses(const struct member *member, const struct inbound *inbound);
void join_receive_crossing(struct member *member, uint64_t now,
                           const struct inbound *inbound,
                           struct outbox *outbox);
void join_step(struct member *member, uint64_t now, struct outbox *outbox);
/* Outside, where one waits: enters by the large gossip that was read in a step before. */
void join_enter_step(struct member *member, uint64_t now,
                     struct outbox *outbox);
void join_refuse(struct member *member, const char *reason); /* gives up, and says why */
void join_receive(struct member *member, uint64_t now,
                  const struct inbound *inbound, struct outbox *outbox);
void welcome_receive(struct member *member, uint64_t now,
                     const struct inbound *inbound, struct outbox *outbox);
/* A gossip for exactly this incarnation, which asked to join, is as good as the welcome that was lost: the sender's cluster has taken
 * it in, and cannot converge without it. The reference waits for a second welcome, for ever when the seeds are gone. */
void join_receive_gossip(struct member *member, uint64_t now,
                         const struct inbound *inbound, struct outbox *outbox);

/* spread.c */
void gossip_send_step(struct member *member, uint64_t now, struct outbox *outbox);
void gossip_send_message(struct member *member, const struct node_id *to,
                 struct slice path, struct outbox *outbox); /* the gossip, whatever waits for that node */
void gossip_send_to_one(struct member *member, struct outbox *outbox); /* a round now */
void gossip_send_to_some(struct member *member, uint32_t count,
                    struct outbox *outbox); /* full gossip to random members */
void gossip_send_receive_status(struct member *member, const struct inbound *inbound,
                           struct outbox *outbox);
/* Whether a message of the gossip protocol is from a member that this node can reach; counted when not. */
bool gossip_send_is_from_member(struct member *member, const struct node_id *from);
/* Tells who has that version who has seen it here: the gossip, or briefly. path: as gossip_send_message. */
void gossip_send_seen(struct member *member, const struct node_id *to,
                      struct slice path, struct outbox *outbox);

/* Answers with the gossip, or with who has seen it. Of a large gossip that is done in the next step: whoever has just
 * taken in one has worked enough for one step, and of several that come in between only the last version is packed. */
void gossip_send_reply(struct member *member, const struct node_id *to,
                  struct slice path, bool only_seen, struct outbox *outbox);
/* As gossip_send_message; of a large gossip that is done in a next step: of several that are told together only the last version is packed. */
void gossip_send_later(struct member *member, const struct node_id *to,
                  struct outbox *outbox);
/* The same of a welcome, so that those who join together are told one version, which is packed once. */
void gossip_send_welcome(struct member *member, const struct node_id *to,
                    struct slice path, struct outbox *outbox);
/* Packs a part of the gossip if one of those that wait is to be told it; false: all that takes long is done, or not needed. */
bool gossip_send_pack_step(struct member *member);
/* Those that wait, as many as one step has room for; false: none waits. */
bool gossip_send_replies(struct member *member, struct outbox *outbox);
void gossip_send_forget_replies(struct member *member);
void gossip_send_tell_stats(struct member *member, uint64_t now); /* a line of the log when it is due */

/* intake.c. A gossip of many members takes steps of their own: it is inflated, read, merged if it is concurrent, taken in, and then what is
 * packed of it is taken over. */
void gossip_receive(struct member *member, uint64_t now,
                    const struct inbound *inbound, struct outbox *outbox);
/* Reads one that waits, merges it, or takes it in; false: none waits. */
bool gossip_receive_step(struct member *member, struct outbox *outbox);
bool gossip_receive_goes_on(const struct member *member); /* one that waits was read */
bool gossip_receive_has_merged(const struct member *member); /* one waits only to be taken in */
void gossip_receive_forget_merged(struct member *member); /* ours has changed */
bool gossip_receive_let_go_step(struct member *member); /* frees one that was replaced; false: there is none, or something else has its turn */
void gossip_receive_forget(struct member *member); /* those that wait */
/* Takes the head over from the gossip that became ours, if that came and this was not done yet. */
void gossip_receive_take_head(struct member *member);
void gossip_receive_forget_brought(struct member *member);

/* brief.c */
enum peer_form gossip_digest_form(const struct member *member,
                          const struct node_id *node);
void gossip_digest_send_version(struct member *member, const struct node_id *to,
                        struct outbox *outbox);
void gossip_digest_receive(struct member *member, uint64_t now,
                   const struct inbound *inbound, struct outbox *outbox);

/* centers.c */
bool centers_are_several(const struct member *member); /* members of more than one data center are known */
/* Whom in another data center this round's gossip goes to; null: it stays in the own one. */
const struct gossip_member *centers_round_target(struct member *member);
/* Whom in another data center an urgent gossip goes to; null when this node is none that talks to others, or reaches none. */
const struct gossip_member *centers_urgent_target(struct member *member);
void centers_settle(struct member *member, const uint8_t *reach); /* reach: see state_reach */
void centers_fini(struct news *news);

/* leader.c */
void leader_step(struct member *member, uint64_t now, struct outbox *outbox);
void leader_act(struct member *member, uint64_t now, struct outbox *outbox); /* on convergence */
void reaper_step(struct member *member, uint64_t now);

/* leave.c */
bool leave_address(struct member *member, const struct address *address,
                   struct outbox *outbox);
bool leave_down_address(struct member *member, const struct address *address,
                        enum probe_down why, struct outbox *outbox);
void leave_down_other_lives(struct member *member); /* at this node's address, which it has */
/* Those that the resolver has decided on, as one change; how many are members. */
uint32_t leave_down_all(struct member *member, const struct node_id *nodes,
                        uint32_t count, struct outbox *outbox);
void leave_begin_exiting(struct member *member);
void leave_check_down(struct member *member, struct outbox *outbox);
/* A full shutdown that another member began is joined in. */
void leave_follow_preparation(struct member *member, struct outbox *outbox);
void leave_check_refused(struct member *member);
bool leave_prepare_shutdown(struct member *member, struct outbox *outbox);
void leave_receive_confirmed(struct member *member,
                             const struct inbound *inbound);

#endif
