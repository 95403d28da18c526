/* Declares the singletons of actors (sherd/singleton.h) on control: for each one the manager, which
 * decides when this node runs it, and the proxy, which finds the node that does. Their keepers are
 * actors (services/keeper.h). */
#ifndef SHERD_NODE_CONTROL_USER_SINGLETONS_H
#define SHERD_NODE_CONTROL_USER_SINGLETONS_H

#include "base/outbox.h"
#include "base/vec.h"
#include "member/member.h"
#include "node/mail/mail.h"

struct control;
struct user_singleton;
struct lease_group_news;

/* Zero has none. */
struct user_singletons {
    VEC(struct user_singleton *) items; /* at most USER_SINGLETONS_MAX */
};

void user_singletons_fini(struct control *control);
/* A call of a keeper (DATA_SINGLETON). All member events have been wired, also for receive. */
void user_singletons_call(struct control *control, uint32_t lane,
                          const struct mail_data_call *call);

/* A member is new or has changed; was removed; the members so far are one view. */
void user_singletons_peer(struct control *control, const struct member_view *view);
void user_singletons_peer_removed(struct control *control, const struct node_id *node,
                                  bool has_left);
void user_singletons_peers_done(struct control *control);
/* Whether it is a manager's message, or the answer to a proxy's Identify, for receive. */
bool user_singletons_take(const struct control *control, const struct inbound *inbound);
void user_singletons_receive(struct control *control, const struct inbound *inbound);
/* Returns the path that answers Identify about an instance here; empty: none. Lent. */
struct slice user_singletons_identified(const struct control *control, struct slice path);
void user_singletons_step(struct control *control);
uint64_t user_singletons_deadline(const struct control *control);
void user_singletons_wire(struct control *control);

/* Answers about the lease of a singleton, by its place in `items`. */
void user_singletons_leased(struct control *control, uint32_t index,
                            const struct lease_group_news *news);
void user_singletons_leases_lost(struct control *control, enum lease_provider_kind provider);

/* This node leaves (phase cluster-exiting): hands all over. */
void user_singletons_exit(struct control *control);
bool user_singletons_exited(const struct control *control);
/* The time for that is over: logs those that are late, and ends them. */
void user_singletons_give_up(struct control *control);
/* This node was downed: every instance ends without waiting for the program. */
void user_singletons_end(struct control *control);

#endif
