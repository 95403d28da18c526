/* Makes nodes, profiles and gossips for tests. */
#ifndef TESTS_MEMBER_VALUES_H
#define TESTS_MEMBER_VALUES_H

#include "base/check.h"
#include "member/gossip.h"

static const struct identity test_identity = {
    .protocol = "akka",
    .system = "sys",
    .node = { { "a", 2552 }, 1 },
};

static inline struct node_id test_node(const char *host, uint32_t port,
                                       uint64_t uid)
{
    struct node_id node = { .uid = uid };

    check(address_set(&node.address, host, strlen(host), port));
    return node;
}

static inline struct profile *test_profile(const char *host, uint32_t port,
                                           uint64_t uid, const char *role)
{
    struct node_id node = test_node(host, port, uid);
    const char *roles[1] = { role };

    return profile_new(&test_identity, &node, roles, role ? 1 : 0, "0.0.0");
}

/* Adds a member named by a letter: node "a:2552" with uid 1, "b:2552" with uid 2 and so on. */
static inline struct profile *test_add(struct gossip *gossip, char content,
                                       enum member_status status,
                                       int32_t up_number, bool seen)
{
    char host[2] = { content, 0 };
    struct profile *profile =
        test_profile(host, 2552, (uint64_t)(content - 'a' + 1), NULL);
    struct gossip_member *member =
        gossip_add(gossip, profile, status, up_number);

    member->seen = seen;
    profile_drop(profile);
    return member->profile;
}

static inline struct node_id test_mail(char content)
{
    char host[2] = { content, 0 };

    return test_node(host, 2552, (uint64_t)(content - 'a' + 1));
}

#endif
