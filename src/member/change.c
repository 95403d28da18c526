/* Notes what changed in the membership, so that packed gossip, digests and news are made anew, and
 * whether others wait for the change. */
#include "member/inside.h"

#include "base/limits.h"
#include "member/version.h"

void member_probe(struct member *member, enum probe_kind kind,
                  const struct node_id *node, uint64_t first)
{
    struct probe probe = { .kind = kind,
                           .type = PROBE_TYPE_NONE,
                           .node = *node,
                           .first = first };

    probes_put(member->settings.probes, &probe);
}

void member_seen_changed(struct member *member)
{
    member->is_seen_dirty = member->is_seen_news = true;
    buf_clear(&member->packed);
    buf_clear(&member->status);
    buf_clear(&member->version_digest);
    member->has_digest = false;
}

void member_gossip_replaced(struct member *member)
{
    member_seen_changed(member);
    member->is_dirty = true;
    member->has_version = false;
    gossip_cache_clear(&member->head);
    gossip_receive_forget_brought(member);
    gossip_receive_forget_merged(member);
    fact_version_held(member);
}

struct gossip_member *member_own_entry(const struct member *member)
{
    uint32_t *at = &((struct member *)(uintptr_t)member)->own_at; /* only a hint for the search */

    return gossip_find_near(&member->gossip, member->self, at);
}

void member_gossip_changed(struct member *member)
{
    struct gossip_member *own = member_own_entry(member);

    clock_increment(&member->gossip.clock, &member->self->key);
    gossip_clear_seen(&member->gossip);
    if (own && !member->is_exiting)
        own->seen = true;
    member_gossip_replaced(member);
}

/* Akka's periodic-tasks-initial-delay, but at least the interval. */
static uint64_t first_round(const struct member *member, uint64_t now, uint32_t interval)
{
    uint32_t delay = member->settings.initial_delay_ms;

    return now + (delay > interval ? delay : interval) * MS;
}

void member_become_inside(struct member *member, uint64_t now)
{
    const struct member_settings *settings = &member->settings;

    member->phase = PHASE_INSIDE;
    member->hurry = HURRY_NOT;
    member->leads_early = false;
    member->retry_at = member->give_up_at = NEVER;
    member->gossip_at = first_round(member, now, settings->gossip_interval_ms);
    member->leader_at = first_round(member, now, settings->leader_interval_ms);
    member->reaper_at = first_round(member, now, settings->reaper_interval_ms);
    member->stats_at = settings->stats_interval_ms ? first_round(member, now, settings->stats_interval_ms) : NEVER;
    member->heart.next_at = first_round(member, now, settings->heartbeat_interval_ms);
    member->cross.next_at = first_round(member, now, settings->cross_heartbeat_interval_ms);
    member->heart.last_at = 0; /* no round was due outside */
}

void member_take_response(struct member *member, const struct node_id *from)
{
    member->counters.response_received++;
    member_probe(member, PROBE_TAKEN, from, PROBE_TAKEN_HEARTBEAT);
}

void member_cannot_read(struct member *member, enum verdict verdict,
                        const char *what, const struct node_id *from)
{
    char text[ADDRESS_TEXT_MAX];

    if (verdict == WIRE_MALFORMED)
        member->counters.dropped_malformed++;
    else
        member->counters.dropped_hostile++;
    if (verdict == WIRE_BEYOND)
        trace_put(member->trace, TRACE_ERROR, "member",
                  "%s dropped: it exceeds a limit of this node from=%s "
                  "host_bytes_max=%d roles_max=%d role_bytes_max=%d "
                  "version_bytes_max=%d members_max=%d "
                  "hint=\"use fewer or shorter names, or fewer members\"",
                  what, address_text(&from->address, text, sizeof text),
                  HOST_MAX, MEMBER_ROLES_MAX, MEMBER_ROLE_SIZE_MAX,
                  VERSION_SIZE_MAX, GOSSIP_MEMBERS_MAX);
}

bool hurry_is_small(const struct member *member)
{
    return member->gossip.members.count < GOSSIP_CACHE_MEMBERS_MIN &&
           !member->settings.waits_for_rounds;
}

void hurry_change(struct member *member)
{
    if (hurry_is_small(member))
        member->hurry = HURRY_SPREAD;
}

void hurry_replaced(struct member *member, bool is_merged)
{
    if (member->hurry != HURRY_NOT)
        member->hurry = is_merged ? HURRY_SPREAD : HURRY_NOT;
}

void hurry_seen(struct member *member, const struct node_id *from)
{
    const struct gossip_member *sender = gossip_find(&member->gossip, from);

    if (hurry_is_small(member) && member->hurry == HURRY_NOT && sender &&
        sender->status == MEMBER_EXITING)
        member->hurry = HURRY_TELL;
}
