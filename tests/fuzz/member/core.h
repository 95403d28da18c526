/* Creates the membership core of a:2552 in a cluster with b:2552, for the fuzz targets. */
#ifndef TESTS_FUZZ_MEMBER_CORE_H
#define TESTS_FUZZ_MEMBER_CORE_H

#include "base/check.h"
#include "base/timers.h"
#include "member/wire.h"

static const struct identity core_identity = {
    .protocol = "akka",
    .system = "sys",
    .node = { { "a", 2552 }, 1 },
};

static const struct node_id core_peer = { { "b", 2552 }, 2 };

static inline void core_put(struct member *member, const char *manifest,
                            struct slice payload, struct outbox *outbox)
{
    struct inbound inbound = {
        .from = core_peer,
        .sender = slice_text(MEMBER_DAEMON_PATH "#1"),
        .recipient = slice_text(MEMBER_DAEMON_PATH),
        .manifest = slice_text(manifest),
        .payload = payload,
        .serializer = MEMBER_SERIALIZER,
    };

    if (*manifest >= 'a') { /* a message of the digest serializer has no sender and recipient */
        inbound.serializer = GOSSIP_DIGEST_SERIALIZER;
        inbound.sender = inbound.recipient = slice_text("");
    }
    member_receive(member, SECOND, 1700000000000, &inbound, outbox);
}

static inline struct member *core_new(struct outbox *outbox)
{
    struct member_settings settings = { 0 };
    struct member *member = member_new(&core_identity, &settings, 1, NULL);
    struct profile *profile =
        profile_new(&core_identity, &core_peer, NULL, 0, "0.0.0");
    struct buf payload = { 0 };

    (void)member_join(member, SECOND, 1700000000000,
                      &core_identity.node.address, outbox);
    wire_put_join(&core_identity, &payload, profile);
    core_put(member, "J", buf_slice(&payload), outbox);
    check(member_count(member) == 2);
    buf_fini(&payload);
    profile_drop(profile);
    return member;
}

/* Checks the core after any messages: its own status changed only by allowed steps, members are
 * sorted, and news and gossip can be produced. */
static inline void core_check(struct member *member, enum member_status before,
                              struct outbox *outbox)
{
    const struct member_view *self = member_self(member);
    struct member_news news;

    check(self != NULL);
    check(profile_is(self->profile, &core_identity.node));
    check(member_status_may_follow(before, self->status));
    for (uint32_t i = 1; i < member_count(member); i++)
        check(profile_compare(member_at(member, i - 1)->profile,
                              member_at(member, i)->profile) < 0);
    while (member_next_news(member, &news))
        ;
    for (uint64_t now = 2 * SECOND; now < 12 * SECOND; now += SECOND / 3)
        member_step(member, now, 1700000000000, outbox);
    while (member_next_news(member, &news))
        ;
}

#endif
