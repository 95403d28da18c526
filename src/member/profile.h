/* What never changes about one incarnation of a member: its node, roles, application version, and its key in vector clocks.
 *
 * Gossips share profiles: a value that is merged from two others points to the same ones. A profile is counted by its holders and
 * never written after profile_new and profile_share, so sharing cannot be seen. */
#ifndef SHERD_MEMBER_PROFILE_H
#define SHERD_MEMBER_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/outbox.h"

#define CLOCK_KEY_SIZE 16 /* bytes of an MD5; as hex text in the same order on the wire */

struct clock_key {
    uint8_t bytes[CLOCK_KEY_SIZE];
};

/* What most members have in common. */
struct traits {
    const char *app_version;
    const char *data_center; /* without the "dc-" */
    const char *const *roles; /* sorted as bytes, each once, with the data center's */
    uint32_t role_count;
    uint32_t holders; /* profiles */
};

/* A node keeps a thousand: its name takes no more room than its text. */
struct profile {
    uint64_t uid;
    const struct kept_address *address; /* behind it, in the same memory */
    struct clock_key key;
    struct traits *traits;
    uint32_t holders;
};

/* With one holder, the caller. Texts are copied. A role "dc-default" is added when there is no "dc-" role. */
struct profile *profile_new(const struct identity *identity,
                            const struct node_id *node,
                            const char *const *roles, uint32_t role_count,
                            const char *app_version);
/* Takes the traits of another one in place of its own, if they are the same: so a thousand members have them once. The profile has no
 * other holder yet. */
void profile_share(struct profile *profile, const struct profile *other);
struct profile *profile_hold(struct profile *profile); /* one more holder; returns it */
void profile_drop(struct profile *profile); /* the last holder frees; null is fine */

struct node_id profile_node(const struct profile *profile);
/* The same as what is pointed to, until the block ends that it is written in. */
#define PROFILE_NODE(profile) ((const struct node_id[]){ profile_node(profile) })
int profile_order(const struct profile *profile,
                  const struct node_id *node); /* as node_compare, like the next */
int profile_compare(const struct profile *left, const struct profile *right);
bool profile_same(const struct profile *left,
                  const struct profile *right); /* of one incarnation */

static inline bool profile_is(const struct profile *profile,
                              const struct node_id *node)
{
    return profile->uid == node->uid &&
           kept_address_equal(profile->address, &node->address);
}

bool profile_has_role(const struct profile *profile, const char *role);
bool profile_same_center(const struct profile *left,
                         const struct profile *right);

/* MD5 of "protocol://system@host:port-uid", uid signed: the member's key in a clock (wire 5.4). */
struct clock_key clock_key_of(const struct identity *identity,
                              const struct node_id *node);

#endif
