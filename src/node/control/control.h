/* Declares the control machine: membership, associations, and for each entity type the region, the
 * singleton manager and, on the oldest node, the coordinator. Declares also the functions that its
 * files call in each other, grouped by the file that defines them. Private to node/. */
#ifndef SHERD_NODE_CONTROL_H
#define SHERD_NODE_CONTROL_H

#include <sherd/shutdown.h>

#include "artery/association.h"
#include "base/rng.h"
#include "look/timeline.h"
#include "member/member.h"
#include "node/control/allocation.h"
#include "node/control/control_calls.h"
#include "node/control/data.h"
#include "node/control/decisions.h"
#include "node/control/leases.h"
#include "node/control/looks.h"
#include "node/control/operations.h"
#include "node/machine/machine.h"
#include "node/control/queries.h"
#include "node/control/relays.h"
#include "node/control/remember_data.h"
#include "node/control/remember_events.h"
#include "node/control/shard_data.h"
#include "node/control/shard_locations.h"
#include "node/control/turn.h"
#include "node/control/user_singletons.h"
#include "node/peers/actor_names.h"
#include "resolver/resolver.h"
#include "shard/coordinator.h"
#include "shard/region.h"
#include "singleton/singleton.h"

struct control_type {
    struct region *region;
    struct singleton *singleton; /* null if this node lacks the type's role or only has a proxy */
    struct coordinator *coordinator; /* null unless this node is the oldest */
    struct state_calls state_store;
    uint64_t coordinators; /* of this node, so far */
    struct timed_strategy strategy; /* of the program; else all zero */
    struct type_remembering remembering;
    struct active_limit active_limit; /* of this node's region */
    uint32_t active_limit_shards; /* among which the lanes divide it; 0: not sent yet */
    uint32_t lease_ticket; /* of the singleton's last request about its lease */
    bool is_limit_told; /* a limit below the number of shards is logged */
    bool coordinator_reported; /* as in the last MAIL_COORDINATOR */
    bool refused; /* the coordinator does not accept this region */
    bool region_stopped;
    bool exit_done;
};

#define CONTROL_SERVICES 8

enum shutdown_step {
    SHUTDOWN_NOT,
    SHUTDOWN_TASKS,
    SHUTDOWN_FAILED,   /* a task was late in a fatal phase: the node stays a member */
    SHUTDOWN_REGIONS,
    SHUTDOWN_LEAVING,  /* waits until the node is seen as exiting */
    SHUTDOWN_HANDING,
    SHUTDOWN_GIVING_UP, /* no node takes the singletons over: they end here */
    SHUTDOWN_REMOVAL,  /* waits for the node's own removal */
    SHUTDOWN_OUT,
    SHUTDOWN_LAST_TASKS,
    SHUTDOWN_LANES,    /* actors stop */
    SHUTDOWN_LINKS,    /* the last frames leave */
    SHUTDOWN_DONE
};

/* A node that left gracefully. */
struct departed {
    struct node_id node;
    uint64_t until; /* frames from it are accepted until then */
};

/* Calls about types of a node that runs. */
struct type_calls {
    VEC(struct type_part *) adding;   /* the first one is at the lanes */
    uint64_t lanes_left;              /* a bit for each lane that has not answered for it */
    bool is_opening;                  /* every lane has it, and they open it */
    VEC(struct type_part *) stopping; /* their regions shut down */
};

struct control {
    struct machine *machine;
    struct associations *associations;
    struct member *member;
    uint64_t events[FIGURES_EVENT_COUNT]; /* of members, for metrics */
    struct resolver *resolver; /* null: the resolver is off */
    struct lease *lease; /* for the resolver's decisions, or null */
    uint64_t lease_until; /* as in the last probe */
    struct leases leases; /* of shards and coordinators */
    VEC(struct kept_member) side_members; /* the resolver's input */
    VEC(struct side_record) side_records;
    /* member -> index in side_members; UINT32_MAX: in another data center */
    VEC(uint32_t) side_places;
    VEC(struct node_id) decided; /* nodes to down, until the decision is carried out */
    struct data data;
    struct shard_data shard_data;
    struct remember_data remember_data;
    struct relay relays[RELAY_COUNT];
    struct queries queries;
    struct looks looks;
    struct operations operations;
    enum cordon_level cordon_before; /* the last drain, which may be refused */
    struct operation_ids cordons;
    enum cordon_level cordon; /* by an operation; until this incarnation ends */
    struct timeline timeline;       /* decisions.c */
    struct timeline shard_timeline; /* those about shards */
    uint64_t decisions;             /* the number of the last one */
    uint64_t stalled[LANES_MAX];    /* begin of the turn that does not end, by lane; 0: none */
    struct type_calls type_calls;
    struct user_singletons singletons;
    struct control_type *types;
    struct buf guardian_path; /* of the actor above all regions */
    uint32_t type_count;
    struct coordinator_room room;
    struct replicator_room data_room;
    struct turn turn;
    uint64_t followers; /* a bit for each lane that subscribes, the first lane the lowest */
    struct map removed;  /* uid -> struct removed_life: downed incarnations */
    VEC(uint64_t) removed_at_once; /* those since all events were last wired */
    VEC(struct departed) departed; /* ordered by `until` */
    uint64_t removed_forgotten; /* entries of `removed` dropped at REMOVED_MAX */
    uint64_t notified_at;    /* when the last Quarantined was sent */
    uint64_t strangers_unlogged;  /* forgotten since the last log line */
    uint64_t strangers_logged_at; /* time of the next line, at the earliest */
    bool is_ready; /* as in the last DRIVER_READY */
    struct node_readiness readiness; /* likewise */
    bool was_healthy; /* the configured types were registered, or are not awaited any more */
    uint64_t up_at;   /* the node's first look at its health while it was up; 0: none */
    enum shutdown_step shutdown;
    uint64_t shutdown_deadline; /* of the current step */
    VEC(struct task) tasks; /* in order of arrival */
    uint32_t phase; /* tasks of earlier phases come too late */
    uint32_t late;  /* tasks and steps that took too long */
    bool is_out; /* it has left, or no longer waits for its removal */
    bool is_exiting; /* it hands over after the tasks of the leave phase */
    uint64_t leave_again_at; /* time to repeat the leave, while the whole cluster shuts down */
    uint64_t lanes_ended; /* one bit for each lane */
    bool lanes_reported;
    int error;
    int refusal;         /* error of an end that began gracefully */
    bool has_jvm_peer;  /* a JVM node has shaken hands */
    VEC(struct node_id) other_stores; /* nodes of this data center with another journal */
    struct rng proofs; /* random numbers that the journal stores with terms */
    uint64_t unknown;    /* messages that cannot be read */
    uint64_t ignored[CONTROL_SERVICES]; /* messages for services that are not here: unclaimed.c */
    bool is_asked_over;  /* a JVM has asked this node for a singleton or coordinator: it is logged */
    struct actor_names names; /* of this node's actors */
    uint64_t names_refused;
};

/* cluster_events.c: subscribes a lane (from 0). It gets the state, then each event. Wire all member
 * events before: none that is earlier than the state may follow. */
void control_follow(struct control *control, uint32_t lane);
bool control_follows(const struct control *control, uint32_t lane);
/* The node ends, even if it never was a member. A second call does nothing. */
void control_follow_end(struct control *control);
/* control_figures.c */
void control_count_news(struct control *control, enum member_news_kind kind);
void control_follow_news(struct control *control,
                         const struct member_news *news);
enum sherd_member_status control_status_of(enum member_status status);

/* control_new.c */
void control_make_type(struct control *control, uint32_t index);

/* type_calls.c */
void control_type_call(struct control *control, struct mail_content *content); /* MAIL_TYPE_CALL */
void control_type_added(struct control *control, uint32_t lane); /* MAIL_TYPE_ADDED, _OPENED */
void control_region_stopped(struct control *control, uint32_t index);
void control_type_calls_fini(struct control *control);

/* departed.c */
/* The node left gracefully. */
void control_departs(struct control *control, const struct node_id *node);
/* The node is a member, so frames of a departed incarnation at its address are refused. */
void control_replaces_departed(struct control *control,
                             const struct node_id *node);
void control_departed_step(struct control *control);
uint64_t control_departed_deadline(const struct control *control);

/* active_limit.c: the limit of active entities. Call init for each type at the start, divide when the
 * number of owned shards may have changed. */
void control_limit_init(struct control *control, uint32_t index);
void control_divide_limit(struct control *control, uint32_t index);
void control_set_limit(struct control *control, uint32_t index, struct active_limit limit);

/* coordinators.c. The last call ends it at once, if it runs, and informs the singleton. */
void control_start_coordinator(struct control *control, uint32_t index);
void control_tell_coordinator(struct control *control, struct coordinator *coordinator,
                              const struct member_view *view, const struct member_info *peer);
void control_end_coordinator(struct control *control, uint32_t index);

/* wiring.c: carries all events until none is left. */
void control_wire(struct control *control);
/* Wires all member events now, for an action that must see all of them. */
void control_tell_all(struct control *control);
/* Wires a turn's share of member events. Called before anything that may change the membership,
 * because changes that wait would be merged or lost. */
void control_tell_changes(struct control *control);
/* Passes a member to the region of a type. */
void control_tell_region(struct control *control,
                         const struct member_view *view, uint32_t type);
/* Passes the shards that came with a term to the type's coordinator. */
void control_listed(struct control *control, uint32_t type,
                    const struct journal_request *request);
/* Tells the type's region of a member. */
void control_tell_region(struct control *control, const struct member_view *view, uint32_t type);
/* Returns the path, with "#uid", that answers Identify here; empty: none. Lent. */
struct slice control_identified(struct control *control, struct slice path);

/* association_wiring.c */
void control_wire_associations(struct control *control);

/* one_store.c */
/* Sends the identity of this node's journal. */
void control_store_tell(struct control *control, const struct node_id *peer);
bool control_is_store(const struct inbound *inbound); /* such a message */
void control_store_heard(struct control *control, const struct inbound *inbound);
/* Leaves if an older member has another journal. */
void control_check_stores(struct control *control);
/* A claim did not find the coordinator's proof: leaves. */
void control_other_store(struct control *control, uint32_t type);

/* The ids of a type's shards; null: decimal texts. */
static inline struct shard_names *shard_names_of(const struct control *control, uint32_t type)
{
    return control->machine->node->names[type].rule.names;
}

/* peer_view.c: describes a member as far as all types agree; the second adds has_role. */
struct member_info control_peer_of_all(const struct control *control,
                                       const struct member_view *view);
struct member_info control_peer(const struct control *control,
                                const struct member_view *view, uint32_t type);
/* Likewise, that it may run the type's coordinator. */
bool control_may_coordinate(const struct control *control, const struct member_view *view,
                            uint32_t type);
bool control_has_role(const struct control *control,
                      const struct member_view *view, uint32_t type);

/* remembered_shards.c: passes a shard with remembered entities to the coordinator, or to lanes if the
 * type no longer has it; the second call logs the counts. term: from the journal, or 0. */
struct remembered_shards {
    uint32_t orphans;  /* shards above the number of shards */
    uint32_t unknown; /* no numbers, or texts beyond the number of shards */
};
void control_remembered(struct control *control, uint32_t type,
                        struct slice id, uint64_t term,
                        struct remembered_shards *counts);
void control_remembered_all(struct control *control, uint32_t type,
                            const struct remembered_shards *counts);
void control_orphan_shards_end(struct control *control, uint32_t type);

/* health.c */
void control_health_begin(struct control *control); /* logs configured types that do not exist */
bool control_is_healthy(struct control *control);

/* status.c */
void control_tell_ready(struct control *control);
/* view.c: what a management module sees. The view has memory of its own. */
void control_view(const struct control *control, struct sherd_cluster_view *view);

/* downing.c: only downing_init does anything if the resolver is off. */
void downing_init(struct control *control);
void downing_see(struct control *control);
void downing_step(struct control *control);
/* Wires the resolver's events. True: it has decided to down members. Then wire the member events
 * that wait, and carry the decision out. */
bool downing_wire(struct control *control);
void downing_carry_out(struct control *control);
/* Wires the lease's events. False: there is no lease. The lease's answer may cause an event of the
 * resolver: wire it again, then probe the lease. */
bool downing_wire_lease(struct control *control);
void downing_probe_lease(struct control *control);
void downing_leave(struct control *control); /* the node has left: no longer keeps the lease */
bool downing_leaves(const struct control *control); /* and waits for the lease provider */
uint64_t downing_deadline(const struct control *control);
void downing_fini(struct control *control);
void downing_leased(struct control *control, struct lease_request *request); /* given */
void downing_lease_forgotten(struct control *control);

/* jvm_peers.c: whether a handshake has shown that the member is no Sherd node. */
bool control_is_jvm_peer(struct control *control,
                        const struct member_view *view);
/* Logs JVM members that share a type's role; leaves if one is older. */
void control_check_jvm_peer(struct control *control);
/* True if the other member has been up for longer. */
bool control_is_younger(const struct member_view *self,
                        const struct member_view *other);
/* Leaves with SHERD_EJOIN, because an older member rules this node out. */
void control_give_way(struct control *control);

/* tasks.c */
void control_task(struct control *control, struct mail_content *content);
void control_task_done(struct control *control, const struct mail_content *content);
/* False: the phase has none. */
bool control_tasks_begin(struct control *control, enum sherd_phase phase);
bool control_tasks_open(struct control *control, uint32_t phase);
/* Logs and drops the tasks that are not done. */
void control_tasks_late(struct control *control, uint32_t phase);
void control_tasks_fini(struct control *control);

/* shutdown.c */
void control_leave(struct control *control,
                   enum sherd_phase from); /* begins a graceful shutdown with that phase, once */
/* The node was downed or refused, so it does not leave gracefully. */
void control_stop(struct control *control, int error);
void control_exiting(struct control *control);
void control_removed(struct control *control, enum member_status previous);
void control_shutdown_step(struct control *control);
uint64_t control_shutdown_deadline(const struct control *control);

/* removed_notice.c */
/* The incarnation was downed and is removed. At REMOVED_MAX the oldest entry goes. */
void control_remember(struct control *control, uint64_t uid);
/* This node's resolver downs the incarnation, by the lease. */
void control_condemn(struct control *control, uint64_t uid);
/* All removals are wired: decides which side was the larger one. */
void control_judge_removed(struct control *control);
void control_tell_removed(struct control *control,
                          const struct envelope *envelope);
/* The frame's connection is refused: that incarnation is over, and was never met. */
void control_tell_refused(struct control *control,
                          const struct envelope *envelope);
void control_removed_fini(struct control *control);

/* names.c */
void control_name(struct control *control, uint32_t lane,
                  const struct mail_name *request); /* MAIL_NAME */
void control_name_seen(struct control *control, uint32_t lane,
                       uint64_t actor); /* MAIL_NAME_SEEN */
void control_name_end(struct control *control, uint64_t actor); /* MAIL_NAME_END */
/* Returns the actor of a path of this node, by number or by name, if it has a lane; else 0. */
uint64_t control_actor_at(const struct control *control, struct slice path);
/* Answers Identify: an actor's lane knows whether the actor exists; control answers for the node
 * itself. */
void control_identify(struct control *control, const struct inbound *inbound);

/* unclaimed.c: counts a message that no part of the node takes. */
void control_unclaimed(struct control *control, const struct inbound *inbound);
/* Nothing is at the path of an Identify: warns if a singleton's proxy asks. */
void control_unidentified(struct control *control, const struct inbound *inbound);
void control_unclaimed_status(const struct control *control, uint64_t *counters);

/* control.c */
void control_dispatch(struct control *control, const struct inbound *inbound);

#endif
