/* Uses lists of seed nodes that are looked up repeatedly outside, in a file or by DNS.
 *
 * A cluster is founded only on a list that was the same for a margin and has enough nodes, by its
 * first node, and after the others were asked once more. So nodes that see the same list found one
 * cluster, and a growing list founds none. */
#include "member/inside.h"

#include "base/check.h"
#include "base/limits.h"

/* Searches through seed nodes, not after member_join. */
static bool is_searching(const struct member *member)
{
    return member->phase == PHASE_SEEDING ||
           (member->phase == PHASE_JOINING && member->is_by_seeds);
}

uint64_t finding_deadline(const struct member *member)
{
    return is_searching(member) ? member->finding.look_at : NEVER;
}

void finding_step(struct member *member, uint64_t now)
{
    struct finding *finding = &member->finding;

    if (!is_searching(member) || finding->look_at > now)
        return;
    finding->look_at = NEVER; /* until the answer */
    finding->is_wanted = true;
}

bool member_wants_seeds(struct member *member)
{
    bool wanted = member->finding.is_wanted;

    member->finding.is_wanted = false;
    return wanted;
}

/* Adds up to a fifth at random, so that nodes that start together do not always ask together. */
static void look_later(struct member *member, uint64_t now)
{
    const struct member_settings *settings = &member->settings;
    struct finding *finding = &member->finding;
    uint64_t wait = settings->find_interval_ms * MS;
    uint64_t most = settings->find_backoff_ms * MS;

    for (uint32_t i = 0; i < finding->failures && wait < most; i++)
        wait *= 2;
    if (wait > most && finding->failures)
        wait = most;
    finding->look_at = now + wait + rng_below(&member->rng, wait / 5 + 1);
}

static bool is_known(const struct member *member, const struct address *seeds,
                     uint32_t count)
{
    if (count != member->settings.seed_count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!address_equal(&seeds[i], &member->settings.seeds[i]))
            return false;
    return true;
}

static void take_list(struct member *member, uint64_t now,
                      const struct address *seeds, uint32_t count)
{
    struct member_settings *settings = &member->settings;
    char first[ADDRESS_TEXT_MAX];
    bool is_among = false;

    mem_free((void *)(uintptr_t)settings->seeds);
    settings->seeds = mem_copy(seeds, count * sizeof *seeds);
    settings->seed_count = count;
    member->finding.listed_at = now;
    member->finding.is_settled = false;
    for (uint32_t i = 0; i < count; i++)
        is_among |= address_equal(&seeds[i], &member->identity->node.address);
    trace_put(member->trace, member->info_level, "member",
              "found seed nodes count=%u first=%s self=%s", count,
              address_text(&seeds[0], first, sizeof first),
              is_among ? "yes" : "no");
}

/* True if the list has just become one to found a cluster on. */
static bool settles(struct member *member, uint64_t now)
{
    const struct member_settings *settings = &member->settings;
    struct finding *finding = &member->finding;

    if (finding->is_settled || settings->founds_never ||
        settings->seed_count < settings->required_seeds ||
        now < finding->listed_at + settings->stable_margin_ms * MS)
        return false;
    finding->is_settled = true;
    return true;
}

void member_found(struct member *member, uint64_t now,
                  const struct address *seeds, uint32_t count,
                  struct outbox *outbox)
{
    struct finding *finding = &member->finding;
    bool is_new;

    check(member->settings.finds_seeds);
    check(count <= MEMBER_SEEDS_MAX);
    finding->failures = count ? 0 : finding->failures + 1;
    look_later(member, now);
    if (!is_searching(member) || !count)
        return;
    is_new = !is_known(member, seeds, count);
    if (is_new)
        take_list(member, now, seeds, count);
    if ((settles(member, now) || is_new) && member->phase == PHASE_SEEDING)
        seeds_start(member, now, outbox);
    member_settle(member, now);
}
