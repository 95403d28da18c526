/* Keeps the short list of peers whose first response is awaited, empty except in the first second
 * of a peer. */
#include "member/first_heartbeat.h"

#include "base/timers.h"

void expect_fini(struct expect *expect)
{
    vec_fini(&expect->list);
}

static uint32_t find(const struct expect *expect, const struct profile *profile)
{
    uint32_t at = 0;

    while (at < expect->list.count && expect->list.items[at].profile != profile)
        at++;
    return at;
}

void expect_first(struct expect *expect, const struct profile *profile,
                  uint64_t at)
{
    const struct expected expected = { profile, at };

    if (find(expect, profile) == expect->list.count)
        vec_push(&expect->list, expected);
}

void expect_later(struct expect *expect, uint64_t length)
{
    for (uint32_t i = 0; i < expect->list.count; i++)
        expect->list.items[i].at += length;
}

void expect_forget(struct expect *expect, const struct profile *profile)
{
    uint32_t at = find(expect, profile);

    if (at < expect->list.count)
        vec_remove(&expect->list, at);
}

const struct profile *expect_due(struct expect *expect, uint64_t now)
{
    const struct profile *profile = NULL;

    if (expect_deadline(expect) <= now) {
        profile = expect->list.items[0].profile;
        vec_remove(&expect->list, 0);
    }
    return profile;
}

uint64_t expect_deadline(const struct expect *expect)
{
    return expect->list.count ? expect->list.items[0].at : NEVER;
}
