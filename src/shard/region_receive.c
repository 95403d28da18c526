/* Handles the coordinator's directives and the lanes' answers to them.
 *
 * A registered region obeys its coordinator only. Before that, unless a newer one has asked, it
 * obeys any member that may be the coordinator. A fence belongs to an allocation and may be older
 * than the coordinator, so terms are not compared: a directive is stale if the shard's newest fence
 * is higher. */
#include "base/limits.h"
#include "base/mark.h"
#include "shard/region_inside.h"

#define HOMES_INDEXED_MIN 16 /* shorter lists are searched */
#define REPORT_AGAIN (10 * SECOND) /* longer than an answer; the coordinator may wait 32 s */

static void tell(struct region *region, enum region_news_kind kind,
                 const struct entry *entry)
{
    region_tell(region,
                (struct region_news){ .kind = kind,
                                      .shard = entry_shard(region, entry),
                                      .lane = LANE_ALL,
                                      .fence = entry->fence,
                                      .proof = region->proof },
                slice_of(NULL, 0), NULL);
}

static void probe(struct region *region, enum probe_kind kind,
                  const struct entry *entry, struct attempt attempt,
                  uint64_t second)
{
    struct probe probe = { .kind = kind,
                           .type = region->type_index,
                           .fence = attempt.fence,
                           .node = region->coordinator.node,
                           .first = attempt.number,
                           .second = second };

    if (!region->probes)
        return;
    probe.shard = entry ? entry_shard(region, entry) : INT32_MIN;
    probes_put(region->probes, &probe);
}

static void taken(struct region *region, const struct entry *entry,
                  struct attempt attempt, enum probe_directive directive)
{
    probe(region, PROBE_DIRECTIVE_TAKEN, entry, attempt, directive);
}

static void answer(struct region *region, enum shard_message_kind kind,
                   const struct entry *entry, const struct party *party,
                   struct attempt attempt, const char *reason)
{
    char text[SHARD_TEXT_MAX];
    struct shard_message message = {
        .kind = kind,
        .shard = shard_name(region->names, entry_shard(region, entry), text),
        .fence = attempt.fence,
        .attempt = attempt.number,
        .reason = slice_text(reason),
    };
    if (kind == SHARD_HOST_STOPPED)
        probe(region, PROBE_SHARD_SAID_STOPPED, entry, attempt, 0);
    region_send(region, &party->node, buf_slice(&party->path), &message);
}

/* Counts and returns null if it is no shard of the type. */
static struct entry *entry_of(struct region *region, struct slice text)
{
    int32_t shard;
    int64_t index = -1;
    if (shard_number(region->names, text, &shard))
        index = shard_index(shard, region->shard_count);
    if (index < 0) {
        region->counters.malformed++;
        return NULL;
    }
    return &region->entries[index];
}

static bool stale(struct region *region, const struct entry *entry,
                  const char *what)
{
    region->counters.stale++;
    REACHED("a region refuses a stale directive");
    probe(region, PROBE_DIRECTIVE_STALE, entry,
          (struct attempt){ { 0, 0 }, 0 }, 0);
    trace_put(region->trace, TRACE_DEBUG, "region",
              "stale %s type=%s shard=%d", what, region->type,
              entry ? (int)entry_shard(region, entry) : 0);
    return false;
}

/* A new coordinator knows what was reported. Fences of the former one's last allocations may be
 * higher, and directives of the new one would be stale for ever. */
static void forget_fences(struct region *region)
{
    for (uint32_t i = 0; i < region->entry_count; i++) {
        struct entry *entry = &region->entries[i];
        entry->fence = entry->hosting ? entry->hosting->fence
                                      : (struct fence){ 0, 0 };
    }
}

static void receive_ack(struct region *region, uint64_t now,
                        const struct inbound *inbound,
                        const struct shard_message *message)
{
    struct address address;
    struct slice path;
    if (!ref_parse(region->self, message->ref, &address, &path) ||
        !address_equal(&address, &inbound->from.address)) {
        region->counters.malformed++;
        return;
    }
    uint64_t term = message->fence.term;
    if (term != 0 && (term < region->term || term < region->asked_term)) {
        (void)stale(region, NULL, "registration");
        return;
    }
    bool same = region->registered && term == region->term &&
                node_equal(&region->coordinator.node, &inbound->from) &&
                slice_equal(buf_slice(&region->coordinator.path), path);
    region->register_at = NEVER;
    if (same) {
        region_cordon_heard(region, now, message);
        if (region->stopped) /* a coordinator that ends waits for this */
            region_say_stopped(region);
        return;
    }
    struct inbound found = *inbound;
    found.sender = path;
    region_party_set(&region->coordinator, &found);
    region->registered = true;
    region_cordon_heard(region, now, message);
    SOMETIMES("a region registers with a newer coordinator",
              region->term && term > region->term);
    SOMETIMES("a new coordinator finds a shard that is held for a hand-off",
              region->wanted_count > 0);
    if (term > region->term)
        forget_fences(region);
    region->term = term;
    region->proof = message->proof;
    probe(region, PROBE_REGISTERED, NULL,
          (struct attempt){ { 0, 0 }, term }, 0);
    region_tell(region,
                (struct region_news){ .kind = REGION_COORDINATOR,
                                      .node = inbound->from },
                path, NULL);
    region->silent_retries = 0;
    region_ask_all(region);
    region_is_busy(region);
    if (region->shutting_down && !region->stopped)
        region_ask_shutdown(region);
    if (region->wanted_count || (region->shutting_down && !region->stopped))
        region_repeat(region, now);
    region_settle(region, now);
}

/* from null: no ShardStarted is expected. */
static void host(struct region *region, struct entry *entry,
                 const struct inbound *from, struct fence fence)
{
    struct hosting *hosting = entry->hosting;
    if (region->is_proxy) {
        region->counters.malformed++;
        return;
    }
    if (region->stopped) {
        REACHED("a stopped region receives a shard");
        region_say_stopped(region);
        return;
    }
    if (region->forced)
        return; /* its stop is reported when complete */
    if (region->shutting_down) {
        REACHED("a region that shuts down receives a shard");
        region_is_busy(region);
        region_ask_shutdown(region);
        /* Other nodes already send here. Akka refuses the shard; then its messages could only be
         * forwarded, and later ones could overtake them. So the shard starts, and is handed off
         * with markers. */
        if (fence_is_none(fence) || region->preparing)
            return;
    }
    if (!fence_is_none(fence) &&
        (fence_compare(fence, entry->fence) < 0 ||
         fence_compare(fence, entry->lost) <= 0)) {
        (void)stale(region, entry, "host-shard");
        if (!hosting && fence_compare(fence, entry->lost) <= 0)
            region->is_misjudged = true;
        return;
    }
    if (hosting && fence_is_none(fence)) {
        /* Without fences a late repeat looks the same. */
        if (hosting->state == HOSTING_STOPPING) {
            (void)stale(region, entry, "host-shard");
            return;
        }
        fence = hosting->fence;
    }
    taken(region, entry, (struct attempt){ fence, 0 }, PROBE_HOST);
    if (!hosting) {
        hosting = entry->hosting = mem_alloc(sizeof *hosting);
        region->hosted_count++;
    } else if (fence_compare(fence, hosting->fence) == 0 &&
               hosting->state != HOSTING_STOPPING) {
        hosting->start_asked |= from != NULL;
        if (from)
            region_party_set(&hosting->start_from, from);
        goto here;
    }
    hosting->state = HOSTING_STARTING;
    hosting->fence = fence;
    hosting->start_asked = from != NULL;
    if (from)
        region_party_set(&hosting->start_from, from);
    entry->fence = fence;
    tell(region, REGION_HOST, entry);
here:
    region_set_home(region, entry,
                    region_home_of(region, buf_slice(&region->ref)), fence);
    if (hosting->state == HOSTING_RUNNING && hosting->start_asked) {
        hosting->start_asked = false;
        answer(region, SHARD_HOST_STARTED, entry, &hosting->start_from,
               (struct attempt){ hosting->fence, 0 }, NULL);
    }
}

static void take_home(struct region *region, struct entry *entry,
                      struct slice ref, struct fence fence)
{
    struct home *home = region_home_of(region, ref);
    char text[SHARD_TEXT_MAX];
    if (!home) {
        region->counters.malformed++;
        return;
    }
    home->users++;
    if (!fence_is_none(fence) && fence_compare(fence, entry->fence) < 0) {
        (void)stale(region, entry, "shard-home");
    } else if (home->is_self) {
        host(region, entry, NULL, fence);
    } else if (address_equal(&home->node.address,
                             &region->self->node.address) &&
               slice_equal(path_plain(home->path),
                           path_plain(slice_text(region->path)))) {
        (void)stale(region, entry, "shard-home"); /* an earlier incarnation */
    } else if (!home->is_self && region_is_dead(region, &home->node)) {
        /* The coordinator has not seen the removal: asks again. */
        REACHED("a home is announced on a removed node");
        (void)stale(region, entry, "shard-home");
    } else if (entry->hosting && !fence_is_none(fence) &&
               fence_compare(fence, entry->hosting->fence) <= 0) {
        (void)stale(region, entry, "shard-home");
    } else {
        taken(region, entry, (struct attempt){ fence, 0 }, PROBE_HOME);
        if (entry->hosting) {
            REACHED("a region lost a shard that it hosts");
            trace_put(region->trace, TRACE_WARNING, "region",
                      "shard lost, another region has it type=%s shard=%s "
                      "hint=\"check whether this process was suspended or cut off\"",
                      region->type,
                      shard_label(region->names, entry_shard(region, entry), text));
            region_tell(region,
                        (struct region_news){
                            .kind = REGION_LOST,
                            .shard = entry_shard(region, entry),
                            .fence = fence },
                        slice_of(NULL, 0), NULL);
        }
        region_set_home(region, entry, home, fence);
    }
    home->users--;
    region_drop_home(region, home);
}

static void take_homes(struct region *region,
                       const struct shard_message *message)
{
    if (message->home_count >= HOMES_INDEXED_MIN)
        region_index_members(region);
    for (uint32_t i = 0; i < message->home_count; i++) {
        struct entry *entry = entry_of(region, message->homes[i].shard);

        if (entry)
            take_home(region, entry, message->homes[i].region,
                      message->homes[i].fence);
    }
    region_drop_index(region);
}

/* A coordinator without fences names no attempt, so this region counts for its own lanes. */
static struct attempt attempt_of(const struct entry *entry,
                                 const struct shard_message *message)
{
    if (!fence_is_none(message->fence))
        return (struct attempt){ message->fence, message->attempt };
    return (struct attempt){
        entry->hosting ? entry->hosting->fence : (struct fence){ 0, 0 },
        entry->attempt.number + 1
    };
}

static void acknowledge(struct region *region, const struct entry *entry,
                        const struct party *to, bool fenced)
{
    struct attempt none = { { 0, 0 }, 0 };
    answer(region, SHARD_BEGIN_HAND_OFF_ACK, entry, to,
           fenced ? entry->attempt : none, NULL);
}

/* Port 0: no markers are owed. */
static struct node_id marker_target(struct region *region,
                                    const struct entry *entry,
                                    const struct shard_message *message)
{
    struct node_id nobody = { 0 };
    struct address address;
    struct slice path;
    if (entry->hosting)
        return region->self->node;
    if (fence_is_none(message->fence))
        return nobody;
    if (message->ref.size &&
        ref_parse(region->self, message->ref, &address, &path))
        return entry->home && address_equal(&entry->home->node.address,
                                            &address)
                   ? entry->home->node
                   : region_node_at(region, &address);
    return entry->home ? entry->home->node : nobody;
}

/* The marker follows the lane's earlier messages. */
static void tell_hold(struct region *region, const struct entry *entry,
                      struct node_id owner)
{
    region_tell(region,
                (struct region_news){ .kind = REGION_HOLD,
                                      .shard = entry_shard(region, entry),
                                      .lane = LANE_ALL,
                                      .fence = entry->fence,
                                      .attempt = entry->attempt,
                                      .node = owner },
                slice_of(NULL, 0), NULL);
}

/* Repeated: a connection lost the answer or the markers. */
static void begin_again(struct region *region, struct entry *entry,
                        const struct inbound *inbound,
                        const struct shard_message *message)
{
    struct party from = { 0 };

    REACHED("a hand-off begins again under the same number");
    if (entry->hold && entry->hold->lanes_left) {
        region_party_set(&entry->hold->from, inbound);
        return;
    }
    region_party_set(&from, inbound);
    acknowledge(region, entry, &from, true); /* even if a home came since */
    region_party_fini(&from);
    if (entry->hold)
        tell_hold(region, entry, marker_target(region, entry, message));
}

static void begin_hand_off(struct region *region, struct entry *entry,
                           const struct inbound *inbound,
                           const struct shard_message *message)
{
    bool fenced = !fence_is_none(message->fence);
    struct attempt attempt = attempt_of(entry, message);
    int order =
        entry->attempted ? attempt_compare(attempt, entry->attempt) : 1;
    if (region->preparing)
        return; /* full shutdown: no hand-off */
    if (fenced &&
        (fence_compare(message->fence, entry->fence) < 0 || order < 0)) {
        (void)stale(region, entry, "begin-hand-off");
        return;
    }
    if (fenced && order == 0) {
        begin_again(region, entry, inbound, message);
        return;
    }
    taken(region, entry, attempt, PROBE_BEGIN_HAND_OFF);
    struct node_id target = marker_target(region, entry, message);
    entry->attempt = attempt;
    entry->attempted = true;
    if (fenced)
        entry->fence = message->fence;
    region_forget_home(region, entry);
    if (!entry->hold)
        entry->hold = mem_alloc(sizeof *entry->hold);
    region_party_set(&entry->hold->from, inbound);
    entry->hold->fenced = fenced;
    entry->hold->lanes_left = region->lanes == 64
                                  ? UINT64_MAX
                                  : (UINT64_C(1) << region->lanes) - 1;
    tell_hold(region, entry, target);
}

void region_lane_held(struct region *region, uint64_t now, uint32_t lane,
                      int32_t shard, struct attempt attempt)
{
    (void)now;
    int64_t index = shard_index(shard, region->shard_count);
    check(index >= 0 && lane < region->lanes);
    struct entry *entry = &region->entries[index];
    if (!entry->hold || !entry->hold->lanes_left ||
        attempt_compare(attempt, entry->attempt) != 0) {
        REACHED("a lane reports a hold of a shard that has a home again");
        return; /* a home came meanwhile */
    }
    entry->hold->lanes_left &= ~(UINT64_C(1) << lane);
    if (!entry->hold->lanes_left && !region_is_silent(region))
        acknowledge(region, entry, &entry->hold->from,
                    entry->hold->fenced);
}

/* The home may be a former coordinator's, unknown to others. A new one may have announced this node
 * before its HostShard came here. Its answer follows that order. */
void region_suspect_home(struct region *region, uint64_t now, uint32_t lane,
                         int32_t shard)
{
    int64_t index = shard_index(shard, region->shard_count);
    check(index >= 0 && lane < region->lanes);
    struct entry *entry = &region->entries[index];
    bool is_old = region->term &&
                  (!region->registered || fence_is_none(entry->fence));
    if (entry->home && !entry->home->is_self && is_old) {
        REACHED("a message uses a home that no coordinator has confirmed");
        region_forget_home(region, entry);
        tell(region, REGION_FORGET, entry);
    }
    region_request_home(region, now, lane, shard);
}

/* With the nodes that owe markers and still exist. */
static void tell_drain(struct region *region, uint64_t now,
                       const struct entry *entry,
                       const struct shard_message *message, bool own_only)
{
    uint32_t count = own_only ? 1 : message->owing_count;
    struct owing *owing = mem_alloc((count ? count : 1) * sizeof *owing);
    uint32_t used = 0;
    for (uint32_t i = 0; i < count && used < OWING_MAX; i++) {
        struct owing owes =
            own_only ? (struct owing){ region->self->node.uid, region->lanes }
                     : (struct owing){ message->owing[i].uid,
                                       message->owing[i].lanes };
        if (owes.lanes == 0 || region_is_gone(region, owes.uid))
            continue;
        if (owes.lanes > LANES_MAX) {
            region->counters.malformed++;
            owes.lanes = LANES_MAX;
        }
        owing[used++] = owes;
    }
    if (used == OWING_MAX && used < count)
        region->counters.limited++;
    region_tell(region,
                (struct region_news){ .kind = REGION_DRAIN,
                                      .shard = entry_shard(region, entry),
                                      .fence = entry->hosting->fence,
                                      .attempt = entry->hosting->stop,
                                      .owing_count = used,
                                      /* The rest is for the stop: owned_options.stop_timeout. */
                                      .deadline =
                                          now + region->handoff_timeout / 2 },
                slice_of(NULL, 0), owing);
}

static void hand_off(struct region *region, uint64_t now, struct entry *entry,
                     const struct inbound *inbound,
                     const struct shard_message *message)
{
    bool fenced = !fence_is_none(message->fence);
    struct hosting *hosting = entry->hosting;
    struct attempt attempt =
        fenced || !entry->hold ? attempt_of(entry, message) : entry->attempt;
    if (fenced && (fence_compare(message->fence, entry->fence) < 0 ||
                   (entry->attempted &&
                    attempt_compare(attempt, entry->attempt) < 0))) {
        (void)stale(region, entry, "hand-off");
        return;
    }
    taken(region, entry, attempt, PROBE_HAND_OFF);
    if (!fenced) {
        /* As in Akka: these messages could overtake others that were forwarded late. */
        tell(region, REGION_DROP, entry);
    }
    if (!hosting) {
        struct party from = { 0 };
        REACHED("a region must stop a shard that it does not host");
        region_party_set(&from, inbound);
        answer(region, SHARD_HOST_STOPPED, entry, &from,
               (struct attempt){ message->fence, message->attempt }, NULL);
        region_party_fini(&from);
        return;
    }
    bool repeated = hosting->state == HOSTING_STOPPING &&
                    (!fenced || attempt_compare(attempt, hosting->stop) == 0);
    region_party_set(&hosting->stop_from, inbound);
    SOMETIMES("the request to stop a shard arrives again", repeated);
    SOMETIMES("a shard must stop before it runs",
              hosting->state == HOSTING_STARTING);
    if (repeated)
        return;
    hosting->state = HOSTING_STOPPING;
    hosting->stop = attempt;
    hosting->stop_fenced = fenced;
    hosting->stop_term = region->term;
    entry->attempt = attempt;
    entry->attempted = true;
    if (fenced || entry->hold) {
        tell_drain(region, now, entry, message, !fenced);
        return;
    }
    struct shard_message none = { 0 };
    tell_drain(region, now, entry, &none, false);
}

/* Registers again, because a shard left without the coordinator's order. */
static void report(struct region *region)
{
    if (region->registered && !region->stopped)
        region_register(region, &region->coordinator.node,
                        buf_slice(&region->coordinator.path));
}

/* The coordinator may know, and wait before it asks the journal again. */
static void report_again(struct region *region, uint64_t now)
{
    region->is_misjudged = false;
    if (now < region->reported_at + REPORT_AGAIN)
        return;
    REACHED("a coordinator announces a home that has reported the shard lost");
    region->reported_at = now;
    report(region);
}

static void forget_own_home(struct region *region, struct entry *entry)
{
    if (!entry->home || !entry->home->is_self)
        return;
    region_forget_home(region, entry);
    tell(region, REGION_FORGET, entry);
}

static void answer_stopped(struct region *region, const struct entry *entry)
{
    const struct hosting *hosting = entry->hosting;
    struct attempt attempt = { { 0, 0 }, 0 };
    if (hosting->stop_fenced)
        attempt = hosting->stop;
    answer(region, SHARD_HOST_STOPPED, entry, &hosting->stop_from, attempt,
           NULL);
}

void region_shard_started(struct region *region, uint64_t now, int32_t shard,
                          struct fence fence)
{
    (void)now;
    int64_t index = shard_index(shard, region->shard_count);
    check(index >= 0);
    struct entry *entry = &region->entries[index];
    struct hosting *hosting = entry->hosting;
    if (!hosting || fence_compare(fence, hosting->fence) != 0)
        return;
    if (hosting->state == HOSTING_STARTING)
        hosting->state = HOSTING_RUNNING;
    if (hosting->start_asked)
        answer(region, SHARD_HOST_STARTED, entry, &hosting->start_from,
               (struct attempt){ hosting->fence, 0 }, NULL);
    hosting->start_asked = false;
}

void region_shard_stopped(struct region *region, uint64_t now, int32_t shard,
                          struct attempt attempt, bool ok, const char *reason)
{
    int64_t index = shard_index(shard, region->shard_count);
    check(index >= 0);
    struct entry *entry = &region->entries[index];
    struct hosting *hosting = entry->hosting;
    if (!hosting || hosting->state != HOSTING_STOPPING ||
        attempt_compare(attempt, hosting->stop) != 0) {
        REACHED("a shard stopped for a hand-off that was given up");
        return;
    }
    if (!ok) {
        REACHED("a hand-off failed: markers are missing");
        region->counters.handoffs_failed++;
        hosting->state = HOSTING_RUNNING;
        if (hosting->stop_fenced)
            answer(region, SHARD_HAND_OFF_FAILED, entry, &hosting->stop_from,
                   hosting->stop, reason);
        return;
    }
    region->counters.handoffs++;
    bool same = region->registered && hosting->stop_term == region->term &&
                node_equal(&hosting->stop_from.node, &region->coordinator.node);
    SOMETIMES("the coordinator changed while a shard stopped", !same);
    answer_stopped(region, entry);
    region_drop_hosting(region, entry);
    forget_own_home(region, entry);
    if (!same)
        report(region);
    region_settle(region, now);
}

void region_store_has(struct region *region, uint64_t term)
{
    if (term > region->stored_term)
        region->stored_term = term;
}

void region_shard_fenced(struct region *region, uint64_t now, int32_t shard,
                         struct fence fence)
{
    int64_t index = shard_index(shard, region->shard_count);
    check(index >= 0);
    struct entry *entry = &region->entries[index];
    struct hosting *hosting = entry->hosting;
    if (!hosting || fence_compare(fence, hosting->fence) != 0)
        return; /* it starts again under a newer fence */
    region->reported_at = now;
    region->counters.fenced++;
    REACHED("a shard was fenced off");
    if (fence_compare(fence, entry->lost) > 0)
        entry->lost = fence;
    if (hosting->state == HOSTING_STOPPING)
        answer_stopped(region, entry);
    region_drop_hosting(region, entry);
    forget_own_home(region, entry);
    if (!region->forced) {
        report(region);
        if (!entry->home)
            region_ask_home(region, now, entry);
    }
    region_settle(region, now);
}

/* A newer coordinator allocates what no region reports. The older one's late HostShard would name a
 * shard outside the report. */
static void leave_coordinator(struct region *region, uint64_t now,
                              const struct node_id *newer, uint64_t term)
{
    if (term <= region->term || term <= region->asked_term ||
        !region_is_candidate(region, newer))
        return;
    region->asked_term = term;
    region_is_busy(region);
    SOMETIMES("a newer coordinator asks before the older one is lost",
              region->registered);
    region->registered = false;
    if (region->register_at == NEVER) {
        region->register_delay = region->retry_interval;
        region->register_at = now + region->register_delay;
    }
}

void region_asked(struct region *region, uint64_t now,
                  const struct inbound *query, uint64_t term)
{
    if (region->is_proxy || region->stopped) {
        region_answer_unknown(region->self, region->outbox, query,
                              slice_text(region->type));
        if (region_is_silent(region))
            return;
    }
    leave_coordinator(region, now, &query->from, term);
    region_register(region, &query->from, query->sender);
}

void region_answer_unknown(const struct identity *self, struct outbox *outbox,
                           const struct inbound *query, struct slice type)
{
    struct shard_message message = { .kind = SHARD_NO_REGION, .type = type };
    shard_message_send(outbox, &query->from, query->sender,
                       query->recipient, &message, self);
}

static bool may_direct(struct region *region, const struct inbound *inbound)
{
    bool may = region->registered
                   ? node_equal(&inbound->from, &region->coordinator.node)
                   : region->asked_term <= region->term &&
                         region_is_candidate(region, &inbound->from);
    SOMETIMES("a directive from a node that is not the coordinator", !may);
    if (!may)
        region->counters.strangers++;
    return may;
}

static void dispatch(struct region *region, uint64_t now,
                     const struct inbound *inbound,
                     const struct shard_message *message)
{
    struct entry *entry;
    if (message->kind == SHARD_REGISTER_ACK) {
        if (region_is_candidate(region, &inbound->from))
            receive_ack(region, now, inbound, message);
        else
            region->counters.strangers++;
        return;
    }
    if (message->kind == SHARD_REFUSED) {
        if (region_is_candidate(region, &inbound->from))
            region_tell(region, (struct region_news){ .kind = REGION_REFUSED },
                        message->reason, NULL);
        else
            region->counters.strangers++;
        return;
    }
    if (!may_direct(region, inbound))
        return;
    region->counters.directives++;
    region->silent_retries = 0;
    if (message->kind == SHARD_DISMISSED) {
        region_dismiss(region, now, message->fence.term, message->idle);
        return;
    }
    if (message->kind == SHARD_HOMES) {
        take_homes(region, message);
        return;
    }
    entry = entry_of(region, message->shard);
    if (!entry)
        return;
    if (message->kind == SHARD_HOME)
        take_home(region, entry, message->ref, message->fence);
    else if (message->kind == SHARD_HOST) {
        region->proof = message->proof;
        host(region, entry, inbound, message->fence);
    } else if (message->kind == SHARD_BEGIN_HAND_OFF)
        begin_hand_off(region, entry, inbound, message);
    else
        hand_off(region, now, entry, inbound, message);
}

static bool is_ours(enum shard_message_kind kind)
{
    return kind == SHARD_REGISTER_ACK || kind == SHARD_HOME ||
           kind == SHARD_HOMES || kind == SHARD_HOST ||
           kind == SHARD_BEGIN_HAND_OFF || kind == SHARD_HAND_OFF ||
           kind == SHARD_REFUSED || kind == SHARD_DISMISSED;
}

bool region_receive(struct region *region, uint64_t now,
                    const struct inbound *inbound)
{
    bool akka = inbound->serializer == SHARDING_SERIALIZER;
    struct shard_message message;
    if (!(akka && inbound->manifest.size == 2 &&
          inbound->manifest.data[0] == 'B') &&
        !(inbound->serializer == SHARDING_OWN_SERIALIZER &&
          (slice_is(inbound->manifest, "R") ||
           slice_is(inbound->manifest, "D"))))
        return false;
    if (region_is_silent(region)) {
        REACHED("a directive reaches a region that has stopped");
        if (inbound->sender.size && region_is_candidate(region, &inbound->from))
            region_send(region, &inbound->from, inbound->sender,
                        &(struct shard_message){
                            .kind = SHARD_REGION_STOPPED,
                            .ref = buf_slice(&region->ref) });
        return true;
    }
    if (inbound->sender.size > SHARD_REF_MAX ||
        !shard_message_read(&message, inbound->serializer, inbound->manifest,
                            inbound->payload)) {
        region->counters.malformed++;
        return true;
    }
    region_heard(region, &inbound->from);
    if (is_ours(message.kind))
        dispatch(region, now, inbound, &message);
    else
        region->counters.unknown++;
    if (region->is_misjudged)
        report_again(region, now);
    shard_message_fini(&message);
    return true;
}
