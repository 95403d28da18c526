/* Declares the leases of this node's shards, coordinators and singletons: a group for each provider
 * (lease/group.h). Lanes ask by MAIL_LEASE, singletons by their news. Private to node/. */
#ifndef SHERD_NODE_CONTROL_LEASES_H
#define SHERD_NODE_CONTROL_LEASES_H

#include "lease/group.h"

#define LEASE_KEY_SINGLETON (UINT64_C(1) << 62) /* in a key, with the number of a singleton of actors */

struct control;
struct mail_content;

struct leases {
    bool is_used;
    struct lease_group *groups[LEASE_PROVIDER_COUNT]; /* null: not used */
    uint64_t probed[LEASE_PROVIDER_COUNT];            /* `until` of the last probe */
};

void control_leases_add(struct control *control, uint32_t type); /* a new type */
void control_leases_fini(struct control *control);
/* Wires the groups' news and requests. True: there was any news. */
bool control_leases_wire(struct control *control);
void control_leases_mail(struct control *control, const struct mail_content *content); /* MAIL_LEASE */
void control_leases_answered(struct control *control, struct lease_request *request);  /* given */
void control_leases_forgotten(struct control *control, enum lease_provider_kind provider); /* lost there */
/* SINGLETON_NEWS_LEASE, or SINGLETON_NEWS_RELEASE. */
void control_leases_ask(struct control *control, uint32_t type);
void control_leases_give_up(struct control *control, uint32_t type);
/* The same for the singleton of actors with that number; opening it makes the group. name: lent. */
void control_leases_open(struct control *control, enum lease_provider_kind provider);
void control_leases_ask_for(struct control *control, enum lease_provider_kind provider,
                            uint32_t singleton, uint32_t ticket, struct slice name);
void control_leases_give_up_of(struct control *control, enum lease_provider_kind provider,
                               uint32_t singleton, uint32_t ticket);
/* All lanes have ended: gives up all leases. control_leases_end_waits: until the providers have answered. */
void control_leases_end(struct control *control);
bool control_leases_end_waits(const struct control *control);
uint64_t control_leases_deadline(const struct control *control);

#endif
