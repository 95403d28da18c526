/* Holds many leases of one node at one provider, by few requests.
 *
 * A pure machine: calls and time in; requests to the provider and news out. The node has a session
 * there (request.h), which is renewed as any lease (lease.h). The leases of the group are bound to
 * it: they are certain as long as the session is, and all are lost together. Takes and releases go
 * in batches, one batch at a time. docs/protocol/leases.md describes it.
 *
 * The caller names each lease by a key, and each of its calls by a ticket: news carry the ticket of
 * the key's last call. After each call drain lease_group_next_request and lease_group_next_news, and
 * read lease_group_deadline. Pass each request that returns to lease_group_answered. */
#ifndef SHERD_LEASE_GROUP_H
#define SHERD_LEASE_GROUP_H

#include "base/bytes.h"
#include "lease/lease.h"

enum lease_group_news_kind {
    LEASE_GROUP_GRANTED,  /* key, ticket; until */
    LEASE_GROUP_DENIED,   /* key, ticket; is_unknown */
    LEASE_GROUP_RELEASED, /* key, ticket; is_unknown: it ends with the session at the latest */
    LEASE_GROUP_EXTENDED, /* until: all leases that are held */
    LEASE_GROUP_LOST      /* all leases that were held */
};

struct lease_group_news {
    enum lease_group_news_kind kind;
    bool is_unknown; /* the provider gave no certain answer; else another node has the lease */
    uint32_t ticket;
    uint64_t key;
    uint64_t until; /* end of the certain time, see lease_is_held */
};

struct lease_group;

/* session: name, owner and times of the node's session. Its is_session need not be set; `use` is also
 * that of the batches. */
struct lease_group *lease_group_new(const struct lease_options *session);
void lease_group_free(struct lease_group *group); /* null is allowed */

/* GRANTED or DENIED follows, unless lease_group_give_up comes first. name: copied, cut at
 * LEASE_TEXT_MAX. */
void lease_group_take(struct lease_group *group, uint64_t now, uint64_t key, uint32_t ticket,
                      struct slice name);
/* RELEASED follows: at once, if the lease was not asked for. It counts as not held from this call
 * on. */
void lease_group_give_up(struct lease_group *group, uint64_t now, uint64_t key, uint32_t ticket);
/* The node ends: releases the session, and with it all leases. Takes are denied from now on. */
void lease_group_end(struct lease_group *group, uint64_t now);
/* True until the provider has answered that, or its time is over. */
bool lease_group_ends(const struct lease_group *group);
/* The provider has lost the session: LOST follows, if it was held. */
void lease_group_forgotten(struct lease_group *group, uint64_t now);
void lease_group_answered(struct lease_group *group, uint64_t now,
                          struct lease_request *request); /* request: given. */

void lease_group_step(struct lease_group *group, uint64_t now);
uint64_t lease_group_deadline(const struct lease_group *group); /* NEVER: nothing is due. */
/* The request is given; at most two are under way, one of the session and one batch. */
bool lease_group_next_request(struct lease_group *group, struct lease_request **request);
bool lease_group_next_news(struct lease_group *group, struct lease_group_news *news);

/* End of the time in which the session, and so each granted lease, is certain; 0: not held. */
uint64_t lease_group_until(const struct lease_group *group);
enum lease_state lease_group_state(const struct lease_group *group); /* of the session */
uint64_t lease_group_token(const struct lease_group *group); /* likewise */
uint32_t lease_group_queued(const struct lease_group *group); /* places in the queue of the batches */
uint32_t lease_group_held(const struct lease_group *group); /* leases that are held */

#endif
