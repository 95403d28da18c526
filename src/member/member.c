/* Creates the membership core, dispatches its messages and runs its steps. */
#include "member/inside.h"

#include <stdio.h>

#include "base/check.h"
#include "base/fetch.h"
#include "base/limits.h"
#include "member/version.h"

static struct profile *make_self(const struct identity *identity,
                                 const struct member_settings *settings)
{
    const char *roles[MEMBER_ROLES_MAX];
    char center[MEMBER_ROLE_SIZE_MAX + 1];
    uint32_t count = settings->role_count;

    for (uint32_t i = 0; i < count; i++)
        roles[i] = settings->roles[i];
    (void)snprintf(center, sizeof center, "dc-%s",
                   settings->data_center); /* fits: see member_settings_valid */
    roles[count++] = center;
    return profile_new(identity, &identity->node, roles, count,
                       settings->app_version);
}

static void put_quoted(struct buf *text, const char *value)
{
    buf_put_u8(text, '"');
    for (; *value; value++) {
        if (*value == '"' || *value == '\\')
            buf_put_u8(text, '\\');
        buf_put_u8(text, (uint8_t)*value);
    }
    buf_put_u8(text, '"');
}

/* Adds the store to a JSON object. A JVM does not look at the key. */
static void put_store(struct buf *text, const struct member_settings *settings)
{
    while (text->size && text->data[text->size - 1] != '}')
        text->size--;
    text->size--; /* the object's end; member_settings_valid has read it */
    buf_put_text(text, ",\"sherd\":{\"journal\":{\"store-id\":");
    put_quoted(text, settings->store);
    buf_put_text(text, ",\"data-center\":");
    put_quoted(text, settings->data_center ? settings->data_center : "default");
    buf_put_text(text, "}}}");
}

static void take_config(struct member *member,
                        const struct member_settings *settings)
{
    struct buf text = { 0 };

    if (settings->config) {
        buf_put_text(&text, settings->config);
    } else {
        buf_put_text(&text, "{\"");
        buf_put_text(&text, member->identity->protocol);
        buf_put_text(&text,
                     "\":{\"cluster\":{\"downing-provider-class\":\"\"}}}");
    }
    if (settings->store)
        put_store(&text, settings);
    check(compat_parse(&member->config, buf_slice(&text)));
    buf_fini(&text);
}

struct member *member_new(const struct identity *identity,
                          const struct member_settings *settings, uint64_t seed,
                          struct trace *trace)
{
    struct member *member = mem_alloc(sizeof *member);
    uint32_t seeds;
    char text[128];

    check(identity->node.uid != 0);
    check(member_settings_valid(settings, text, sizeof text));
    member->identity = identity;
    member->trace = trace;
    member->info_level = settings->log_info_off ? TRACE_DEBUG : TRACE_INFO;
    rng_init(&member->rng, seed);
    member_settings_take(member, settings);
    member->self = make_self(identity, &member->settings);
    take_config(member, settings);
    seeds = settings->finds_seeds ? MEMBER_SEEDS_MAX : settings->seed_count;
    member->seeding.refused = mem_alloc(seeds);
    member->seeding.heard = mem_alloc(seeds);
    member->finding.look_at = NEVER;
    member->finding.is_settled = !settings->finds_seeds;
    member->heart.next_at = NEVER;
    member->gossip_at = member->extra_at = member->leader_at = NEVER;
    member->reaper_at = member->retry_at = member->give_up_at = NEVER;
    member->stats_at = NEVER;
    /* Only lent, and already in the profile or in the parsed settings. */
    member->settings.roles = NULL;
    member->settings.role_count = 0;
    member->settings.config = member->settings.store = NULL;
    member->settings.data_center = member->self->traits->data_center;
    member->settings.app_version = member->self->traits->app_version;
    return member;
}

void member_free(struct member *member)
{
    if (!member)
        return;
    member_settings_fini(&member->settings);
    mem_free(member->seeding.refused);
    mem_free(member->seeding.heard);
    compat_fini(&member->config);
    member_fini_news(member);
    vec_fini(&member->confirmed);
    vec_fini(&member->refusers);
    join_wait_forget(member);
    vec_fini(&member->joins);
    gossip_send_forget_replies(member);
    vec_fini(&member->replies);
    gossip_receive_forget(member);
    vec_fini(&member->waiting);
    while (gossip_receive_let_go_step(member))
        ;
    vec_fini(&member->over);
    buf_fini(&member->packed);
    gossip_cache_fini(&member->head);
    gossip_receive_forget_brought(member);
    joiners_forget(member);
    vec_fini(&member->joiners);
    buf_fini(&member->status);
    buf_fini(&member->version_digest);
    heart_fini(&member->heart);
    cross_dc_fini(&member->cross);
    gossip_fini(&member->gossip);
    profile_drop(member->self);
    mem_free(member);
}

static void settle(struct member *member, uint64_t now)
{
    member_settle(member, now);
    hurry_look(member);
}

void member_start(struct member *member, uint64_t now, uint64_t wall_ms,
                  struct outbox *outbox)
{
    member->wall_ms = wall_ms;
    if (member->phase != PHASE_OUTSIDE ||
        !(member->settings.seed_count || member->settings.finds_seeds))
        return;
    if (member->settings.finds_seeds)
        member->finding.look_at = now;
    if (member->settings.join_give_up_ms)
        member->give_up_at = now + member->settings.join_give_up_ms * MS;
    seeds_start(member, now, outbox);
    settle(member, now);
}

bool member_join(struct member *member, uint64_t now, uint64_t wall_ms,
                 const struct address *address, struct outbox *outbox)
{
    member->wall_ms = wall_ms;
    if (member->phase == PHASE_STOPPED || (member->phase == PHASE_INSIDE &&
                                           !join_may_move(member, address)))
        return false;
    join_address(member, now, address, false, outbox);
    settle(member, now);
    return true;
}

bool member_leave(struct member *member, uint64_t now,
                  const struct address *address, struct outbox *outbox)
{
    bool done =
        member->phase == PHASE_INSIDE && leave_address(member, address, outbox);

    settle(member, now);
    return done;
}

bool member_down(struct member *member, uint64_t now,
                 const struct address *address, struct outbox *outbox)
{
    bool done = member->phase == PHASE_INSIDE &&
                leave_down_address(member, address, PROBE_DOWN_COMMAND,
                                   outbox);

    settle(member, now);
    return done;
}

uint32_t member_down_decided(struct member *member, uint64_t now,
                             const struct node_id *nodes, uint32_t count,
                             struct outbox *outbox)
{
    uint32_t done = member->phase == PHASE_INSIDE
                        ? leave_down_all(member, nodes, count, outbox)
                        : 0;

    settle(member, now);
    return done;
}

bool member_prepare_shutdown(struct member *member, uint64_t now,
                             struct outbox *outbox)
{
    bool done =
        member->phase == PHASE_INSIDE && leave_prepare_shutdown(member, outbox);

    settle(member, now);
    return done;
}

bool member_is_preparing(const struct member *member)
{
    return member->phase == PHASE_INSIDE && member->is_preparing;
}

void member_quarantined(struct member *member, uint64_t now,
                        const struct node_id *node)
{
    const struct gossip_member *found = gossip_find(&member->gossip, node);
    const struct gossip_member *own = member_own_entry(member);

    if (member->phase != PHASE_INSIDE || !found || !own || found == own)
        return;
    if (reachability_change(&member->gossip.reachability, own->profile,
                            found->profile, TERMINATED))
        member_gossip_changed(member);
    settle(member, now);
}

static void receive_address_command(struct member *member,
                                    const struct inbound *inbound,
                                    struct outbox *outbox)
{
    struct address address;

    if (wire_get_address(member->identity, inbound->payload, &address) !=
        WIRE_OK) {
        member->counters.dropped_malformed++;
        return;
    }
    /* Unknown addresses and unexpected statuses are ignored. Members alone may end members. */
    if (!gossip_find(&member->gossip, &inbound->from))
        member->counters.dropped_no_member++;
    else if (slice_is(inbound->manifest, "L"))
        (void)leave_address(member, &address, outbox);
    else
        (void)leave_down_address(member, &address, PROBE_DOWN_REMOTE, outbox);
}

static void receive_heartbeat(struct member *member,
                              const struct inbound *inbound,
                              struct outbox *outbox)
{
    struct heartbeat heartbeat;
    struct buf payload = { 0 };
    struct outbound message = { .to = inbound->from,
                                .recipient = inbound->sender,
                                .sender = slice_text(MEMBER_HEARTBEAT_PATH),
                                .manifest = slice_text("HBR"),
                                .serializer = MEMBER_SERIALIZER,
                                .stream = STREAM_CONTROL };

    if (!inbound->sender.size ||
        wire_get_heartbeat(member->identity, inbound->payload, &heartbeat) !=
            WIRE_OK) {
        member->counters.dropped_malformed++;
        return;
    }
    member->counters.heartbeat_received++;
    heartbeat.from = profile_node(member->self);
    wire_put_response(member->identity, &payload, &heartbeat);
    message.payload = buf_slice(&payload);
    outbox_put(outbox, &message);
    buf_fini(&payload);
}

static void receive_response(struct member *member, uint64_t now,
                             const struct inbound *inbound)
{
    struct heartbeat heartbeat;

    if (wire_get_response(member->identity, inbound->payload, &heartbeat) !=
        WIRE_OK)
        member->counters.dropped_malformed++;
    else if (!node_equal(&heartbeat.from, &inbound->from))
        member->counters.dropped_hostile++;
    else if (heart_response(&member->heart, &member->heart_settings,
                            &heartbeat.from, member->trace, now) ||
             cross_dc_response(&member->cross, &heartbeat.from, now))
        member_take_response(member, &heartbeat.from);
    else
        member->counters.dropped_no_member++;
}

/* Handles messages that need a member here. */
static bool receive_inside(struct member *member, uint64_t now,
                           const struct inbound *inbound, struct outbox *outbox)
{
    if (slice_is(inbound->manifest, "GS"))
        gossip_send_receive_status(member, inbound, outbox);
    else if (slice_is(inbound->manifest, "GE"))
        gossip_receive(member, now, inbound, outbox);
    else if (slice_is(inbound->manifest, "J"))
        join_receive(member, now, inbound, outbox);
    else if (slice_is(inbound->manifest, "EC"))
        leave_receive_confirmed(member, inbound);
    else if (slice_is(inbound->manifest, "L") ||
             slice_is(inbound->manifest, "D"))
        receive_address_command(member, inbound, outbox);
    else
        return false;
    return true;
}

static bool needs_inside(struct slice manifest)
{
    return slice_is(manifest, "GS") || slice_is(manifest, "GE") ||
           slice_is(manifest, "J") || slice_is(manifest, "EC") ||
           slice_is(manifest, "L") || slice_is(manifest, "D");
}

static bool is_joinable(const struct member *member,
                        const struct inbound *inbound)
{
    return member->phase == PHASE_INSIDE || join_crosses(member, inbound);
}

static void take_in(struct member *member, uint64_t now,
                    const struct inbound *inbound, struct outbox *outbox)
{
    struct slice manifest = inbound->manifest;
    bool is_asking =
        member->join_peer.port &&
        (member->phase == PHASE_JOINING || member->phase == PHASE_SEEDING);

    if (is_asking && slice_is(manifest, "GE")) {
        join_receive_gossip(member, now, inbound, outbox);
        settle(member, now);
        return;
    }
    if (slice_is(manifest, "J") && is_joinable(member, inbound) &&
        join_must_wait(member, &inbound->from)) {
        join_wait(member, now, inbound);
        return;
    }
    if (slice_is(manifest, "J") && join_crosses(member, inbound)) {
        join_receive_crossing(member, now, inbound, outbox);
        settle(member, now);
        return;
    }
    if (member->phase == PHASE_STOPPED ||
        (member->phase != PHASE_INSIDE && needs_inside(manifest))) {
        member->counters.dropped_state++;
        return;
    }
    if (inbound->serializer == GOSSIP_DIGEST_SERIALIZER)
        gossip_digest_receive(member, now, inbound, outbox);
    else if (slice_is(manifest, "HB"))
        receive_heartbeat(member, inbound, outbox);
    else if (slice_is(manifest, "HBR"))
        receive_response(member, now, inbound);
    else if (slice_is(manifest, "IJ"))
        seeds_receive_question(member, inbound, outbox);
    else if (slice_is(manifest, "IJA"))
        seeds_receive_ack(member, now, inbound, outbox);
    else if (slice_is(manifest, "IJN"))
        seeds_receive_nack(member, now, inbound, outbox);
    else if (slice_is(manifest, "W"))
        welcome_receive(member, now, inbound, outbox);
    else if (!receive_inside(member, now, inbound, outbox))
        member->counters.unknown_manifest++;
    settle(member, now);
}

static uint64_t unreadable(const struct member *member)
{
    return member->counters.dropped_malformed + member->counters.dropped_hostile;
}

void member_receive(struct member *member, uint64_t now, uint64_t wall_ms,
                    const struct inbound *inbound, struct outbox *outbox)
{
    uint64_t before = unreadable(member);
    uint64_t count;
    char text[ADDRESS_TEXT_MAX];

    member->wall_ms = wall_ms;
    take_in(member, now, inbound, outbox);
    count = unreadable(member);
    /* Logged at each power of two, because the sender repeats such a message every second. */
    if (count != before && !(count & (count - 1)))
        trace_put(member->trace, TRACE_WARNING, "member",
                  "membership message dropped: unreadable or against the "
                  "protocol peer=%s manifest=%.*s dropped=%llu "
                  "hint=\"run a compatible version there\"",
                  address_text(&inbound->from.address, text, sizeof text),
                  (int)inbound->manifest.size,
                  (const char *)inbound->manifest.data,
                  (unsigned long long)count);
}

bool member_awaits_answer(const struct member *member,
                          const struct node_id *node)
{
    return join_waits(member, node);
}

void member_answered(struct member *member, uint64_t now, uint64_t wall_ms,
                     const struct node_id *node, struct outbox *outbox)
{
    struct waiting_join join;
    struct inbound inbound = { .from = *node,
                               .recipient = slice_text(MEMBER_DAEMON_PATH),
                               .manifest = slice_text("J"),
                               .serializer = MEMBER_SERIALIZER };

    member->joiner = node->uid;
    if (join_must_wait(member, node) || !join_wait_take(member, node, &join)) {
        member->joiner = 0;
        return;
    }
    inbound.sender = buf_slice(&join.path);
    inbound.payload = buf_slice(&join.payload);
    member_receive(member, now, wall_ms, &inbound, outbox);
    member->joiner = 0;
    buf_fini(&join.path);
    buf_fini(&join.payload);
}

/* Before its interval the leader acts only when earlier changes were reported. */
static bool leads_early(const struct member *member)
{
    return member->leads_early && !member_has_news(member);
}

/* If the caller wants each change, an unreachable member is reported before its removal: the leader
 * acts in the next step. */
static bool leads_now(const struct member *member, uint64_t now)
{
    return leads_early(member) ||
           (member->leader_at <= now &&
            !(member->news.tells_roles && member_has_news(member)));
}

/* Leader actions for many members are long work. */
static bool leads_many(const struct member *member)
{
    return member->gossip.members.count >= GOSSIP_CACHE_MEMBERS_MIN &&
           member_is_leader(member);
}

/* Returns what it did; STEP_OF_ALL: nothing. */
static enum step_kind much_work(struct member *member, uint64_t now,
                                struct outbox *outbox)
{
    if ((member->last_step == STEP_OF_ALL || gossip_receive_goes_on(member)) &&
        gossip_receive_step(member, outbox))
        return STEP_TAKES_IN;
    if (member->last_step <= STEP_PACKS &&
        member->pack_steps < PACK_STEPS_MAX && gossip_send_pack_step(member))
        return STEP_PACKS;
    if (member->last_step < STEP_REPLIES && gossip_send_replies(member, outbox))
        return STEP_REPLIES;
    if (!leads_many(member) || !leads_now(member, now))
        return STEP_OF_ALL;
    leader_step(member, now, outbox);
    return STEP_LEADS;
}

bool member_step(struct member *member, uint64_t now, uint64_t wall_ms,
                 struct outbox *outbox)
{
    member->wall_ms = wall_ms;
    join_wait_step(member, now);
    if (gossip_receive_let_go_step(member))
        return true;
    finding_step(member, now);
    if (member->phase != PHASE_INSIDE && member->waiting.count) {
        join_enter_step(member, now, outbox);
        settle(member, now);
        return true;
    }
    if (member->phase == PHASE_SEEDING)
        seeds_step(member, now, outbox);
    else if (member->phase == PHASE_JOINING)
        join_step(member, now, outbox);
    if (member->phase != PHASE_INSIDE) {
        gossip_send_forget_replies(member); /* it moves to another cluster */
        settle(member, now);
        return false;
    }
    if (joiners_deadline(member) <= now) {
        join_accept_step(member, now, outbox);
        settle(member, now);
    }
    member->last_step = much_work(member, now, outbox);
    member->pack_steps =
        member->last_step == STEP_PACKS ? member->pack_steps + 1 : 0;
    if (member->last_step != STEP_OF_ALL) {
        settle(member, now);
        return true;
    }
    gossip_receive_take_head(member);
    member->counters.heartbeat_sent +=
        heart_step(&member->heart, &member->heart_settings, member->identity,
                   member->trace, now, outbox);
    member->counters.heartbeat_sent +=
        cross_dc_step(&member->cross, &member->cross_dc_settings, member->identity,
                   now, outbox);
    if (member->gossip_at <= now || member->extra_at <= now)
        gossip_send_step(member, now, outbox);
    if (member->reaper_at <= now)
        reaper_step(member, now);
    join_again_step(member, now, outbox);
    gossip_send_tell_stats(member, now);
    settle(member, now);
    if (!leads_many(member) && leads_now(member, now)) {
        leader_step(member, now, outbox);
        settle(member, now);
    }
    hurry_step(member, outbox);
    return false;
}

static uint64_t earlier(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* The constant members come first. */
void member_fetch(const struct member *member, uint32_t step)
{
    if (step == 0)
        fetch_memory(&member->self,
                     sizeof *member - offsetof(struct member, self));
    else
        heart_fetch(&member->heart);
}

uint64_t member_deadline(const struct member *member)
{
    uint64_t at = NEVER;

    if (member->waiting.count || member->over.count)
        return 0;
    switch (member->phase) {
    case PHASE_OUTSIDE:
    case PHASE_STOPPED:
        return join_wait_deadline(member);
    case PHASE_SEEDING:
        at = earlier(seeds_deadline(member), finding_deadline(member));
        at = earlier(at, join_wait_deadline(member));
        return earlier(at, member->give_up_at);
    case PHASE_JOINING:
        at = earlier(member->retry_at, finding_deadline(member));
        at = earlier(at, join_wait_deadline(member));
        return earlier(at, member->give_up_at);
    case PHASE_INSIDE:
        if (member->replies.count || member->brought.packed.size ||
            hurry_is_due(member) || leads_early(member))
            return 0;
        at = earlier(member->gossip_at, member->extra_at);
        at = earlier(at, joiners_deadline(member));
        at = earlier(at, earlier(member->leader_at, member->reaper_at));
        at = earlier(at, earlier(member->stats_at, join_wait_deadline(member)));
        at = earlier(at, cross_dc_deadline(&member->cross));
        at = earlier(at, member->retry_at);
        return earlier(at, heart_deadline(&member->heart));
    }
    return at;
}

double member_phi(const struct member *member, uint64_t now,
                  const struct node_id *node)
{
    const struct heartbeat_peer *peer = heart_peer(&member->heart, node);

    if (!peer || !peer->phi.is_monitoring)
        return -1;
    return phi_value(&peer->phi, &member->heart_settings.phi, now);
}

const struct member_counters *member_counters(const struct member *member)
{
    return &member->counters;
}
