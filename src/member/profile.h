/* Holds the constants of one incarnation of a member: its node, roles, application version and
 * clock key.
 *
 * Gossips share profiles; a merged value points to those of its sources. Holders are counted. A
 * profile is not written after profile_new and profile_share, so sharing is invisible. */
#ifndef SHERD_MEMBER_PROFILE_H
#define SHERD_MEMBER_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/outbox.h"

#define CLOCK_KEY_SIZE 16 /* bytes of an MD5; hex text in the same order on the wire */

struct clock_key {
    uint8_t bytes[CLOCK_KEY_SIZE];
};

/* The part that most members share. */
struct traits {
    const char *app_version;
    const char *data_center; /* without "dc-" */
    const char *const *roles; /* sorted as bytes, each once, with the data center's */
    uint32_t role_count;
    uint32_t holders; /* profiles */
};

/* A node keeps a thousand, so the name takes no more room than its text. */
struct profile {
    uint64_t uid;
    const struct kept_address *address; /* after the struct, in the same memory */
    struct clock_key key;
    struct traits *traits;
    uint32_t holders;
};

/* The caller is the only holder. Texts are copied. Adds a role "dc-default" if there is no "dc-"
 * role. */
struct profile *profile_new(const struct identity *identity,
                            const struct node_id *node,
                            const char *const *roles, uint32_t role_count,
                            const char *app_version);
/* Replaces the traits by those of another profile if they are equal, so that a thousand members
 * share them. The profile must have no other holder. */
void profile_share(struct profile *profile, const struct profile *other);
struct profile *profile_hold(struct profile *profile); /* Adds a holder; returns the profile. */
void profile_drop(struct profile *profile); /* The last holder frees it. Null is allowed. */

struct node_id profile_node(const struct profile *profile);
/* A pointer to profile_node, valid until the enclosing block ends. */
#define PROFILE_NODE(profile) ((const struct node_id[]){ profile_node(profile) })
int profile_order(const struct profile *profile,
                  const struct node_id *node); /* As node_compare; so is profile_compare. */
int profile_compare(const struct profile *left, const struct profile *right);
bool profile_same(const struct profile *left,
                  const struct profile *right); /* True for one incarnation. */

static inline bool profile_is(const struct profile *profile,
                              const struct node_id *node)
{
    return profile->uid == node->uid &&
           kept_address_equal(profile->address, &node->address);
}

bool profile_has_role(const struct profile *profile, const char *role);
bool profile_same_center(const struct profile *left,
                         const struct profile *right);

/* MD5 of "protocol://system@host:port-uid", uid signed: the member's clock key. */
struct clock_key clock_key_of(const struct identity *identity,
                              const struct node_id *node);

#endif
