/* Holds the state of the membership core, and declares what its files call in each other. Private
 * to src/member/.
 *
 * member.c dispatches, discovery.c uses lists of seed nodes from outside, seeds.c looks for a
 * cluster, join.c enters it, joiners.c keeps nodes that cannot yet enter. gossip_send.c runs gossip rounds, gossip_receive.c receives gossips,
 * gossip_digest.c has the short forms among nodes of this library. centers.c serves other data
 * centers, leader.c does leader actions, hurry.c hurries changes, leave.c leaves and downs, news.c
 * reports changes, fact.c reports versions to checkers. */
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
    PHASE_OUTSIDE, /* in no cluster; does nothing */
    PHASE_SEEDING, /* asks the seed nodes for a cluster */
    PHASE_JOINING, /* has asked a member; waits for its Welcome */
    PHASE_INSIDE,  /* a member, or about to be one; only a cluster of one can go back */
    PHASE_STOPPED  /* downed or removed: sends nothing more */
};

/* One search for a cluster through the seed nodes. */
struct seeding {
    bool is_first;      /* this node is the first seed node: it may found a cluster */
    bool *refused;      /* for each seed node: it is in no cluster */
    bool *heard;        /* for each seed node: it has answered */
    uint64_t began_at;
    uint64_t next_at;   /* next round of questions */
    uint64_t found_at;  /* when the first seed node founds a cluster */
    uint32_t attempt;   /* rounds so far */
    uint32_t number;    /* of this search; part of its path */
};

/* Lists of seed nodes from outside. */
struct finding {
    uint64_t look_at;   /* when the next list is due; NEVER: under way, or none is */
    uint64_t listed_at; /* when the list last changed */
    uint32_t failures;  /* failed look-ups in a row */
    bool is_wanted;     /* a request to report */
    bool is_settled;    /* a cluster may be founded on the list */
};

/* The last news of a member. */
struct reported_member {
    struct member_view view; /* as reported; holds its profile */
    enum member_status last; /* status in the last version that has it, reported or not */
    bool leaves_well;        /* there: exiting and reachable */
};

enum news_step { /* in the order of reports */
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
    struct node_id node; /* zero: none */
    struct node_id reported;
};

/* Another data center that is unreachable, or was last reported so. */
struct center {
    char *name; /* own copy */
    bool is_unreachable;
    bool is_reported; /* reported as unreachable */
};

struct news {
    VEC(struct reported_member) members; /* by node */
    VEC(struct center) centers; /* by name */
    VEC(struct role_leader) roles; /* by role */
    bool tells_roles; /* the caller asked for them */
    enum news_step step;
    uint32_t at; /* index in the step */
    struct node_id leader; /* as reported; zero: none */
    struct buf refusal; /* reasons not yet reported */
    bool welcome; /* reported, as the next two */
    bool up;
    bool exiting;
    bool refused; /* to be reported */
    bool gave_up; /* it is the end of a search, not a cluster's answer */
    bool stopped;
};

/* A reply to a gossip or a join, sent in the next step. */
struct reply {
    struct node_id to;
    struct buf path; /* as gossip_send_message; empty: its daemon */
    bool only_seen;  /* as gossip_send_seen; otherwise the gossip */
    bool is_welcome;
    bool is_urgent;  /* as gossip_send_message */
};

/* A gossip as received. */
struct brought {
    struct buf packed; /* empty: none */
    struct gossip_cache_opened opened;
};

/* The merge of a received gossip with ours. */
struct merged {
    struct gossip gossip;
    bool is_good; /* otherwise nothing changes */
    bool removes; /* removes a member, as gossip_merge says */
};

/* A large gossip that is unpacked, and that later steps read and apply; outside a cluster, a
 * newcomer's Welcome or gossip. */
struct waiting {
    struct node_id from;
    struct buf path; /* of the sender */
    struct buf bytes; /* outside: inflated bytes, until they are read */
    bool is_welcome;  /* outside: otherwise a gossip */
    bool is_read;
    struct gossip gossip; /* once read */
    struct brought brought;
    struct merged merged; /* with ours, once done */
    bool is_merged;       /* with ours as it is now */
    /* with ours as it once was: if ours has changed, it is merged again when applied */
    bool was_merged;
};

/* A request to join whose sender's address has not answered this node's handshake. */
struct waiting_join {
    struct node_id from;
    struct buf path; /* of the sender */
    struct buf payload;
    uint64_t until;
};

/* Long work has steps of its own. At most one of each kind runs, in this order, with two more to
 * merge and apply what was read, and PACK_STEPS_MAX to pack. Then one step does all else that is
 * due, so that nothing is late under constant load. */
enum step_kind {
    STEP_OF_ALL,
    STEP_TAKES_IN,
    STEP_PACKS,
    STEP_REPLIES,
    STEP_LEADS
};

/* A change of this node that is spread at once. */
enum hurry {
    HURRY_NOT,
    HURRY_SPREAD, /* to be sent */
    HURRY_AWAIT,  /* sent; some have not been heard to see it */
    HURRY_TELL    /* the leader must hear which members have seen it */
};

#define HURRIED_COUNT 15 /* members that get such a change at once: all, in a cluster of sixteen */

/* A node that waits until the member at its address is removed. */
struct joiner {
    struct profile *profile; /* held; null: none */
    struct buf path;         /* of the sender */
    uint64_t replaces_at; /* then an exiting member there is downed */
    uint64_t until;       /* then it asks again by itself */
};

#define PACK_STEPS_MAX 3 /* the received cache, names, the rest */

struct member {
    const struct identity *identity;
    struct trace *trace;
    enum trace_level info_level; /* level of expected events */
    struct rng rng;
    struct member_settings settings; /* with all defaults; owns what it points to */
    struct heart_settings heart_settings;
    struct cross_dc_settings cross_dc_settings;
    struct compat config;
    struct profile *self;
    enum phase phase;
    uint64_t wall_ms; /* of the last call */

    struct seeding seeding;
    struct finding finding;
    struct address join_peer; /* asked for a Welcome; port 0: none */
    bool is_by_seeds;    /* join_peer is a seed node, or was named by one */
    uint64_t retry_at;   /* without a Welcome, or unknown to the members: try again */
    bool is_heard;       /* a member that knows this node has sent something since then */
    uint64_t give_up_at; /* NEVER: never */

    VEC(struct waiting_join) joins; /* in order of arrival, each incarnation once */
    size_t joins_size; /* bytes of their texts */
    uint64_t joiner;   /* the incarnation that has just answered; 0: none */

    struct gossip gossip;
    uint32_t own_at;   /* index of this node among the members when last looked for */
    bool is_exiting;   /* hands over: marks no version as seen */
    bool is_preparing; /* full shutdown: no joins, no member becomes up */
    VEC(struct node_id) confirmed; /* exiting members that handed over */
    uint32_t unconverged; /* leader intervals without convergence */
    VEC(struct node_id) refusers; /* members that say that this node was removed */
    uint32_t down_checks; /* leader intervals since this node is down */
    enum member_status last_status; /* of this node when it stopped */
    uint64_t gossip_at;
    uint64_t extra_at;  /* next extra round in the interval; NEVER: none */
    uint32_t extra_count; /* extra rounds left */
    VEC(struct reply) replies; /* each node once */
    uint64_t leader_at;
    uint64_t reaper_at;
    uint64_t stats_at; /* NEVER: never */
    struct heart heart;
    struct cross cross;

    enum hurry hurry;
    bool leads_early;  /* the leader has work: it does not wait for its interval */
    bool is_seen_news; /* the seen set or the confirmed members changed since hurry_look */
    VEC(struct joiner) joiners; /* in order of arrival */

    bool is_dirty; /* the gossip changed since member_settle */
    VEC(struct member_view) views; /* of the gossip's members, by index; hold their profiles */
    uint32_t far_count; /* views in other data centers */
    struct node_id leader; /* zero: none */
    bool is_seen_dirty; /* only the seen set changed */
    struct gossip_cache head;
    struct brought brought; /* became our gossip: head may be taken over from it */
    VEC(struct waiting) waiting; /* gossips in order of arrival */
    VEC(struct gossip) over; /* replaced large gossips; later steps free them */
    uint32_t let_go_count; /* freed since another kind of step */
    enum step_kind last_step;
    uint32_t pack_steps; /* in a row */
    struct buf packed; /* compressed gossip; empty: to be made */
    struct buf status; /* payload of the status; empty: to be made */
    struct buf version_digest;  /* the same for gossip_digest_send_version */
    struct gossip_digest_version version; /* of the gossip */
    bool has_version; /* false: to be made */
    uint8_t digest[SEEN_DIGEST_SIZE]; /* of the seen set */
    bool has_digest; /* false: to be made */
    struct news news;
    struct member_counters counters;
};

/* news.c. Updates views, leader, heartbeats and news after anything that may have changed the
 * gossip. */
void member_settle(struct member *member, uint64_t now);
void member_fini_news(struct member *member); /* Frees the views, too. */

/* member.c. Counts a message that cannot be read. Logs an error if it passes a limit, because its
 * sender will repeat it. what: the message's name. */
void member_cannot_read(struct member *member, enum verdict verdict,
                        const char *what, const struct node_id *from);
/* Leaves a probe about a node. */
void member_probe(struct member *member, enum probe_kind kind,
                  const struct node_id *node, uint64_t first);
/* Counts a response to a heartbeat that was accepted, and leaves a probe. */
void member_take_response(struct member *member, const struct node_id *from);
/* The gossip was replaced, not by a version of our own. */
void member_gossip_replaced(struct member *member);
/* Only the seen set changed. */
void member_seen_changed(struct member *member);
/* Makes the last change a version of our own: counts in the clock and clears the seen set. */
void member_gossip_changed(struct member *member);
struct gossip_member *member_own_entry(const struct member *member); /* Null before the Welcome. */
/* Our profile is in the gossip: starts all intervals. */
void member_become_inside(struct member *member, uint64_t now);
/* Sends to the actor at path, which wrote before; path empty: to the node's daemon, through a
 * selection. */
void member_send(struct member *member, const struct node_id *to,
                 struct slice path, const char *manifest,
                 const struct buf *payload, struct outbox *outbox);
/* The same for repeated messages: replaces the one that waits for that node. */
void member_repeat(struct member *member, const struct node_id *to,
                   struct slice path, enum stream stream,
                   const char *manifest, const struct buf *payload,
                   struct outbox *outbox);

/* fact.c. A hash of a version, as in probes. */
uint64_t fact_hash_version(const struct clock *clock);
/* Leaves a probe that the gossip has that version now. */
void fact_version_held(const struct member *member);

/* settings.c. Copies the settings with their defaults. Texts are lent. */
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

/* discovery.c */
void finding_step(struct member *member, uint64_t now);
uint64_t finding_deadline(const struct member *member); /* NEVER unless lists come from outside. */

/* join.c */
void join_address(struct member *member, uint64_t now,
                  const struct address *address, bool by_seeds,
                  struct outbox *outbox);
/* Asks a member for a Welcome again while members drop the gossip of this joining node: the one that
 * welcomed it may have ended before it told them. Akka's node stays joining. */
void join_again_step(struct member *member, uint64_t now,
                     struct outbox *outbox);
/* True if this is a cluster of one, which may join another. Akka has no such move. */
bool join_may_move(const struct member *member, const struct address *address);
/* True if both clusters of one join each other and would wait for each other. The one with the
 * lower address returns to its cluster and accepts the other. */
bool join_crosses(const struct member *member, const struct inbound *inbound);
void join_receive_crossing(struct member *member, uint64_t now,
                           const struct inbound *inbound,
                           struct outbox *outbox);
void join_step(struct member *member, uint64_t now, struct outbox *outbox);
/* Outside: enters by a large gossip that was read in an earlier step. */
void join_enter_step(struct member *member, uint64_t now,
                     struct outbox *outbox);
void join_refuse(struct member *member, const char *reason); /* The cluster does not take this node. */
void join_give_up(struct member *member, const char *reason); /* No cluster answered in time. */
void join_receive(struct member *member, uint64_t now,
                  const struct inbound *inbound, struct outbox *outbox);
/* Accepts nodes that waited until the member at their address was removed. */
void join_accept_step(struct member *member, uint64_t now,
                      struct outbox *outbox);
void welcome_receive(struct member *member, uint64_t now,
                     const struct inbound *inbound, struct outbox *outbox);
/* A gossip for this incarnation replaces a lost Welcome: the sender's cluster has accepted this
 * node and cannot converge without it. Akka waits for a second Welcome, for ever if the seed nodes
 * are gone. */
void join_receive_gossip(struct member *member, uint64_t now,
                         const struct inbound *inbound, struct outbox *outbox);

/* join_wait.c */
/* True if nothing at that address has answered this node's handshake as that incarnation. A request
 * to join then waits: a stranger may claim an address where no node listens. True also if another
 * incarnation is a member with that address, until the joiner answers once more: a late request of a
 * former incarnation must not end its successor. */
bool join_must_wait(const struct member *member, const struct node_id *from);
/* Keeps the request for JOIN_WAIT_MS. Refuses the oldest ones beyond JOINS_WAITING_MAX. */
void join_wait(struct member *member, uint64_t now,
               const struct inbound *inbound);
bool join_waits(const struct member *member, const struct node_id *node);
/* Gives the request of that incarnation, with its texts. False: none waits. */
bool join_wait_take(struct member *member, const struct node_id *node,
                    struct waiting_join *join);
void join_wait_step(struct member *member, uint64_t now); /* Refuses late ones. */
uint64_t join_wait_deadline(const struct member *member);
void join_wait_forget(struct member *member);

/* gossip_send.c */
void gossip_send_step(struct member *member, uint64_t now, struct outbox *outbox);
/* Sends the gossip, whatever waits for that node. */
void gossip_send_message(struct member *member, const struct node_id *to,
                 struct slice path, struct outbox *outbox);
void gossip_send_to_one(struct member *member, struct outbox *outbox); /* Runs a round now. */
void gossip_send_to_some(struct member *member, uint32_t count,
                    struct outbox *outbox); /* Sends full gossip to random members. */
void gossip_send_receive_status(struct member *member, const struct inbound *inbound,
                           struct outbox *outbox);
/* True if a gossip message is from a member that this node reaches; otherwise counted. */
bool gossip_send_is_from_member(struct member *member, const struct node_id *from);
/* Sends the seen set of that version: as the gossip, or in short form. path: as
 * gossip_send_message. */
void gossip_send_seen(struct member *member, const struct node_id *to,
                      struct slice path, struct outbox *outbox);

/* Answers with the gossip or the seen set. A large gossip is sent in the next step: the step that
 * applied one has worked enough, and of several versions only the last is packed. */
void gossip_send_reply(struct member *member, const struct node_id *to,
                  struct slice path, bool only_seen, struct outbox *outbox);
/* As gossip_send_message, but a large gossip is sent in a later step. Several receivers get one
 * packed version. */
void gossip_send_later(struct member *member, const struct node_id *to,
                  struct outbox *outbox);
/* The same for a Welcome: nodes that join together get one version, packed once. */
void gossip_send_welcome(struct member *member, const struct node_id *to,
                    struct slice path, struct outbox *outbox);
/* Packs a part of the gossip if a waiting reply needs it. False: no long work is left or needed. */
bool gossip_send_pack_step(struct member *member);
/* Sends as many waiting replies as one step can. False: none waits. */
bool gossip_send_replies(struct member *member, struct outbox *outbox);
void gossip_send_forget_replies(struct member *member);
void gossip_send_tell_stats(struct member *member, uint64_t now); /* Logs a line if it is due. */

/* gossip_receive.c. A gossip of many members takes steps of its own: unpack, read, merge if
 * concurrent, apply, and take over its packed parts. */
void gossip_receive(struct member *member, uint64_t now,
                    const struct inbound *inbound, struct outbox *outbox);
/* Reads, merges or applies a waiting gossip. False: none waits. */
bool gossip_receive_step(struct member *member, struct outbox *outbox);
bool gossip_receive_goes_on(const struct member *member); /* A waiting gossip was read. */
/* The first waiting gossip only has to be applied. */
bool gossip_receive_has_merged(const struct member *member);
void gossip_receive_forget_merged(struct member *member); /* Our gossip has changed. */
/* Frees a replaced gossip. False: there is none, or other work is next. */
bool gossip_receive_let_go_step(struct member *member);
void gossip_receive_forget(struct member *member); /* Drops waiting gossips. */
/* Takes the cache over from the gossip that became ours, if not yet done. */
void gossip_receive_take_head(struct member *member);
void gossip_receive_forget_brought(struct member *member);

/* gossip_digest.c */
enum peer_form gossip_digest_form(const struct member *member,
                          const struct node_id *node);
void gossip_digest_send_version(struct member *member, const struct node_id *to,
                        struct outbox *outbox);
void gossip_digest_receive(struct member *member, uint64_t now,
                   const struct inbound *inbound, struct outbox *outbox);

/* centers.c */
/* Members of more than one data center are known. */
bool centers_are_several(const struct member *member);
/* The receiver of this round's gossip in another data center; null: the round stays in this one. */
const struct gossip_member *centers_round_target(struct member *member);
/* The receiver of an urgent gossip in another data center; null: this node talks to none, or
 * reaches none. */
const struct gossip_member *centers_urgent_target(struct member *member);
void centers_settle(struct member *member, const uint8_t *reach); /* reach: as state_reach. */
void centers_fini(struct news *news);

/* change.c, hurry.c: the last three. */
bool hurry_is_small(const struct member *member); /* The cluster hurries changes. */
void hurry_change(struct member *member); /* The version is this node's change: others wait for it. */
/* Another version replaced it, or was merged with it. */
void hurry_replaced(struct member *member, bool is_merged);
/* This node saw the version of another one. If that one ends soon, it cannot tell the leader. */
void hurry_seen(struct member *member, const struct node_id *from);
void hurry_look(struct member *member); /* Call it after member_settle. */
bool hurry_is_due(const struct member *member);
void hurry_step(struct member *member, struct outbox *outbox);

/* joiners.c. Keeps a node that asked to join; path: of its request's sender. */
void joiners_keep(struct member *member, uint64_t now, struct profile *profile,
                  struct slice path);
/* Takes one that can be accepted, or whose time is over; the caller frees it. Profile null: none. */
struct joiner joiners_take(struct member *member, uint64_t now);
uint64_t joiners_deadline(const struct member *member);
void joiners_forget(struct member *member);

/* leader.c */
void leader_step(struct member *member, uint64_t now, struct outbox *outbox);
bool leader_has_work(const struct member *member); /* leader_act would change the gossip. */
/* Call on convergence. */
void leader_act(struct member *member, uint64_t now, struct outbox *outbox);
void reaper_step(struct member *member, uint64_t now);

/* leave.c */
bool leave_address(struct member *member, const struct address *address,
                   struct outbox *outbox);
bool leave_down_address(struct member *member, const struct address *address,
                        enum probe_down why, struct outbox *outbox);
void leave_down_other_lives(struct member *member); /* At this node's address. */
/* Downs the resolver's choice in one change. Returns how many are members. */
uint32_t leave_down_all(struct member *member, const struct node_id *nodes,
                        uint32_t count, struct outbox *outbox);
void leave_begin_exiting(struct member *member);
void leave_check_down(struct member *member, struct outbox *outbox);
/* Joins a full shutdown that another member began. */
void leave_follow_preparation(struct member *member, struct outbox *outbox);
void leave_check_refused(struct member *member);
bool leave_prepare_shutdown(struct member *member, struct outbox *outbox);
void leave_receive_confirmed(struct member *member,
                             const struct inbound *inbound);

#endif
