/* The control machine: membership, associations, and for each entity type the region, the singleton manager and, on the
 * oldest node, the coordinator. Private to node/.
 *
 * making.c puts its cores together; control.c takes in what arrives and runs the turn; wiring.c is the edges between the
 * cores, one function for each core's news; downing.c shows the split brain resolver what membership sees; following.c is what lanes hear of the cluster;
 * foreign.c looks for members of other kinds; removed.c tells who was downed; ending.c is the way out: regions, leave, hand over, stop. */
#ifndef SHERD_NODE_CONTROL_H
#define SHERD_NODE_CONTROL_H

#include <sherd/shutdown.h>

#include "artery/association.h"
#include "lease/lease.h"
#include "member/member.h"
#include "node/data.h"
#include "node/machine.h"
#include "node/remember_data.h"
#include "node/remember_events.h"
#include "node/shard_data.h"
#include "resolver/resolver.h"
#include "shard/coordinator.h"
#include "shard/region.h"
#include "singleton/singleton.h"

/* One entity type on control. */
struct control_type {
    struct region *region;
    struct singleton *singleton;     /* null when this node lacks the type's role or is told to be a proxy */
    struct coordinator *coordinator; /* null unless this node is the oldest */
    struct type_keeping state_store; /* of the coordinator's state */
    struct type_remembering remembering; /* of entities, in distributed data */
    bool coordinator_told; /* the lanes were told that one is known */
    bool refused; /* the coordinator does not take this region */
    bool region_stopped;
    bool exit_done;
};

enum ending {
    ENDING_NOT,
    ENDING_TASKS,    /* phases of actors' tasks */
    ENDING_FAILED,   /* a task was late in a phase that nothing follows then: the node stays what it is */
    ENDING_REGIONS,  /* shards are handed off */
    ENDING_LEAVING,  /* waiting to be seen exiting */
    ENDING_HANDING,  /* singletons are handed over */
    ENDING_GIVING_UP, /* nobody takes them over: they end here */
    ENDING_REMOVAL,  /* waiting for the own removal */
    ENDING_OUT,      /* tasks of a node that has left */
    ENDING_LAST_TASKS, /* those of the last phases */
    ENDING_LANES,    /* actors stop */
    ENDING_LINKS,    /* the last frames leave */
    ENDING_DONE
};

/* A node that left by itself. */
struct parted {
    struct node_id node;
    uint64_t until; /* it is heard */
};

struct control {
    struct machine *machine;
    struct associations *associations;
    struct member *member;
    struct resolver *resolver; /* null when it is off */
    struct lease *lease; /* that the resolver decides by; null: it does not */
    uint64_t lease_until; /* as the last probe said */
    VEC(struct side_member) side_members; /* room for what it is shown */
    VEC(struct side_record) side_records;
    VEC(uint32_t) side_places; /* of members among them; UINT32_MAX: of another data center */
    struct data data; /* distributed data */
    struct shard_data shard_data; /* and what sharding keeps there */
    struct remember_data remember_data; /* and lanes of what they remember */
    struct control_type *types;
    uint32_t type_count;
    bool stirred;        /* a type's core had an input, or was due, since its news were wired */
    struct coordinator_room room; /* of all coordinators, in each turn */
    struct replicator_room data_room; /* the same of all replicators */
    uint64_t types_due;  /* no type's core is due before, unless one is stirred */
    uint32_t walked;     /* members, for coordinators that have started, read or written in this turn */
    bool has_walks;      /* that may wait for the next turn */
    bool walks_turn;     /* this turn is theirs: nobody is told of members, membership and types do not step */
    uint64_t crowd_until; /* what coordinators write waits until a crowd of members is told, but not after this; 0: there is none */
    bool has_writes;     /* that wait for it */
    uint32_t news_told;  /* of members, since the last turn's end; a removal counts as several where they are many */
    uint32_t told_count; /* of members, when all were told last */
    bool step_waited;    /* membership's, as much was told in its turn: the next one has it */
    bool turn_ended;     /* news_told is of the last turn still */
    bool is_told;        /* the next two: since all were told last */
    bool is_changed;     /* who is a member, or how */
    uint64_t followers; /* lanes that hear of the cluster: a bit each, the first lane's the lowest */
    struct map removed;  /* uid -> struct removed_life: incarnations that were downed: they are told when they come back */
    VEC(uint64_t) removed_at_once; /* of those, since all were told last */
    VEC(struct parted) parted; /* in the order of their ends */
    uint64_t removed_forgotten; /* of those, the oldest at the limit */
    uint64_t told_at;    /* when one was told last */
    bool is_ready; /* as the last WANT_READY said */
    enum ending ending;
    uint64_t ending_deadline; /* of the present step */
    VEC(struct task) tasks; /* not done; in the order of being given */
    uint32_t phase; /* tasks of phases before this one come too late */
    uint32_t late;  /* tasks and steps that were not done in time */
    bool is_out; /* it has left, or waits for that no longer */
    bool is_exiting; /* and hands over when the tasks of leaving are done */
    uint64_t leave_again_at; /* while a cluster that ends as a whole may forget that this node leaves */
    uint64_t lanes_ended; /* a bit each */
    bool lanes_told;
    int error;           /* what WANT_END will say */
    int refusal;         /* and what of an end that began gracefully */
    bool meets_foreign;  /* a node that is not of this library has shaken hands */
    uint64_t unknown;    /* messages for nobody */
};

/* following.c: what lanes hear of the cluster. The lane (from 0) gets the state, then each of the news. */
void control_follow(struct control *control, uint32_t lane);
void control_follow_end(struct control *control); /* the node ends, also one that was no member; told twice it is told once */
void control_follow_news(struct control *control,
                         const struct member_news *news);
enum sherd_member_status control_status_of(enum member_status status);

/* parted.c */
void control_departs(struct control *control, const struct node_id *node); /* it left by itself */
void control_replaces_departed(struct control *control,
                             const struct node_id *node); /* it is a member: of another at its address nothing is heard any more */
void control_departed_step(struct control *control);
uint64_t control_departed_deadline(const struct control *control);

/* wiring.c: carries all news of all cores to where they belong, until none is left. */
void control_wire(struct control *control);
/* Is there room in this turn to walk the members for a coordinator? Not beside much else. Else the next one follows at once, and is for that. */
bool control_may_walk(struct control *control);
/* Are many members being told? Then what a coordinator writes waits until all are: each of them changes it, and would have it packed
 * and sent again. */
bool control_tells_crowd(struct control *control);
/* All news of members that wait for the next turn: for what must not be done by a part of them. */
void control_tell_all(struct control *control);
/* Before anything that may change the membership: followers hear of each change, and what is not told yet would be told together with the
 * next one, or not at all where that takes it back. Of a crowd's news so many as a turn tells. */
void control_tell_changes(struct control *control);
/* The shards that came with a term, to the type's coordinator, if it is there. */
void control_listed(struct control *control, uint32_t type,
                    const struct journal_request *request);
/* The path with "#uid" of what answers Identify here; empty for nothing. Lent. */
struct slice control_identified(struct control *control, struct slice path);
/* The node as a member of a type's cluster. */
struct peer control_peer(const struct control *control,
                         const struct member_view *view, uint32_t type);

/* strays.c: shards with remembered entities, to the type's coordinator, and those that it cannot have to this node's lanes; then what is
 * said of them. term: the coordinator's, from the journal, or 0. */
struct remembered_shards {
    uint32_t strays;  /* above the number of shards */
    uint32_t unknown; /* no numbers */
};
void control_remembered(struct control *control, uint32_t type,
                        struct slice id, uint64_t term,
                        struct remembered_shards *counts);
void control_remembered_all(struct control *control, uint32_t type,
                            const struct remembered_shards *counts);
void control_orphan_shards_end(struct control *control, uint32_t type); /* the coordinator is gone */

/* status.c. Tells the driver whether the node is ready, when that is another than before. */
void control_tell_ready(struct control *control);

/* downing.c. All but the first do nothing when the resolver is off. */
void downing_init(struct control *control);
void downing_see(struct control *control);  /* membership has changed */
void downing_step(struct control *control); /* does what is due */
void downing_wire(struct control *control); /* carries its news */
void downing_leave(struct control *control); /* it has left: the lease is kept no longer than it would have kept it */
bool downing_leaves(const struct control *control); /* and waits for the keeper's answer */
uint64_t downing_deadline(const struct control *control);
void downing_fini(struct control *control);

/* foreign.c. A handshake with that member has told that it is no node of this library. */
bool control_is_jvm_peer(struct control *control,
                        const struct member_view *view);
/* Says which members share a type's role and are no nodes of this library; leaves if one of them is older. */
void control_check_jvm_peer(struct control *control);

/* tasks.c: of actors, in the node's end */
void control_task(struct control *control, struct letter *letter);
void control_task_done(struct control *control, const struct letter *letter);
bool control_tasks_begin(struct control *control, uint32_t phase); /* false: there are none */
bool control_tasks_open(struct control *control, uint32_t phase);
void control_tasks_late(struct control *control, uint32_t phase); /* those not done are named, and given up */
void control_tasks_fini(struct control *control);

/* ending.c */
void control_leave(struct control *control,
                   enum sherd_phase from); /* begins a graceful end with that phase; harmless when it has begun */
void control_stop(struct control *control, int error); /* downed, refused: no more leaving */
void control_exiting(struct control *control); /* this node is seen exiting */
void control_removed(struct control *control, enum member_status previous);
void control_shutdown_step(struct control *control);
uint64_t control_shutdown_deadline(const struct control *control);

/* removed.c: who was downed, and is told so when it goes on */
void control_remember(struct control *control, uint64_t uid); /* it was downed, and is removed; the oldest of REMOVED_MAX goes */
void control_condemn(struct control *control, uint64_t uid); /* this node's resolver downs it, with the lease */
void control_judge_removed(struct control *control); /* all removals are told: whose side was the larger one? */
void control_tell_removed(struct control *control,
                          const struct envelope *envelope); /* a frame has come */
void control_removed_fini(struct control *control);

/* control.c */
void control_dispatch(struct control *control, const struct inbound *inbound);

#endif
