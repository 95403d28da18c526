/* Queries members, registers regions, and judges reported shards: the higher fence wins. */
#include <stdio.h>

#define OUTBID_WAIT (10 * SECOND)

#include "base/limits.h"
#include "base/mark.h"
#include "shard/coordinator_state.h"
#include "shard/handoff.h"

static void query(struct coordinator *coordinator,
                  struct coordinator_member *member, struct outbox *outbox)
{
    struct node_id node = kept_member_node(&member->kept);

    member->is_question_due = false;
    announce_charge(coordinator, 1);
    shard_message_send(outbox, &node, buf_slice(&coordinator->guardian),
                       buf_slice(&coordinator->path),
                       &(struct shard_message){
                           .kind = SHARD_QUERY,
                           .type = slice_text(coordinator->type),
                           .fence.term = coordinator->term },
                       coordinator->identity);
}

void registration_ask(struct coordinator *coordinator,
                      struct coordinator_member *member, struct outbox *outbox)
{
    if (!coordinator->has_questions && announce_room(coordinator)) {
        query(coordinator, member, outbox);
        return;
    }
    member->is_question_due = true;
    coordinator->has_questions = true;
}

void registration_ask_all(struct coordinator *coordinator, bool is_again,
                          struct outbox *outbox)
{
    for (uint32_t i = 0; i < coordinator->members.count; i++) {
        struct coordinator_member *member = coordinator->members.items[i];

        if (!coordinator_member_is_asked(member))
            continue;
        member->questions += is_again && member->kept.reachable;
        registration_ask(coordinator, member, outbox);
    }
}

/* Its own registration may have come before this coordinator was there, and is repeated much later. A far
 * node would answer for the region of its own data center. */
void registration_ask_proxies(struct coordinator *coordinator, struct outbox *outbox)
{
    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        struct coordinator_member *member =
            coordinator_awaited_proxy(coordinator, coordinator->regions.items[i]);

        if (member && !member->is_far && !coordinator_member_is_asked(member))
            registration_ask(coordinator, member, outbox);
    }
}

void registration_ask_on(struct coordinator *coordinator,
                         struct outbox *outbox)
{
    for (uint32_t i = 0; i < coordinator->members.count; i++) {
        struct coordinator_member *member = coordinator->members.items[i];

        if (!member->is_question_due)
            continue;
        if (!coordinator_member_is_asked(member))
            member->is_question_due = false;
        else if (announce_room(coordinator))
            query(coordinator, member, outbox);
        else
            return;
    }
    coordinator->has_questions = false;
}

static void lose_shards(struct coordinator *coordinator,
                        struct registrant *region, enum probe_home why)
{
    for (uint32_t i = 0; i < region->shards.count; i++) {
        struct shard *shard = region->shards.items[i];

        shard_lose_home(coordinator, shard, why);
        shard->is_pushed = true;
        shard_needs_home(coordinator, shard);
    }
    region->shards.count = 0;
}

void registrant_remove(struct coordinator *coordinator, uint64_t now,
                   struct registrant *region, enum probe_home why,
                   struct outbox *outbox)
{
    bool is_own = !region->is_proxy &&
                  node_equal(&region->node, &coordinator->identity->node);

    trace_put(coordinator->trace, TRACE_INFO, "coordinator",
              "region removed type=%s region=%.*s shards=%u", coordinator->type,
              (int)region->ref.size, region->ref.data, region->shards.count);
    for (uint32_t i = 0; i < coordinator->regions.count; i++) {
        if (coordinator->regions.items[i] == region) {
            vec_remove(&coordinator->regions, i);
            keep_regions(coordinator, i);
            break;
        }
    }
    handoff_region_gone(coordinator, now, region, outbox);
    cluster_stats_forget(coordinator, region, outbox);
    lose_shards(coordinator, region, why);
    for (uint32_t i = 0; i < coordinator->shards.count; i++) {
        struct shard *shard = coordinator->shards.items[i];

        for (uint32_t j = shard->waiting.count; j-- > 0;)
            if (shard->waiting.items[j] == region)
                vec_remove(&shard->waiting, j);
    }
    registrant_drop(region);
    if (is_own && coordinator->is_stopping)
        coordinator->is_ending = true;
}

/* Its lanes' messages may still travel to moving shards. So a region of this library stays as a
 * proxy, which buffers and sends markers, until its node is removed. */
static void become_proxy(struct coordinator *coordinator,
                         struct registrant *region, struct outbox *outbox)
{
    trace_put(coordinator->trace, TRACE_INFO, "coordinator",
              "region stopped type=%s region=%.*s shards=%u",
              coordinator->type, (int)region->ref.size, region->ref.data,
              region->shards.count);
    region->is_proxy = true;
    region->is_shutting_down = false;
    keep_region(coordinator, region);
    handoff_home_gone(coordinator, region);
    cluster_stats_forget(coordinator, region, outbox);
    lose_shards(coordinator, region, PROBE_HOME_REGION_STOPPED);
    if (node_equal(&region->node, &coordinator->identity->node) &&
        coordinator->is_stopping)
        coordinator->is_ending = true;
}

void registrant_stopped(struct coordinator *coordinator, uint64_t now,
                        struct registrant *region, struct outbox *outbox)
{
    if (!region->lanes || coordinator->is_cluster_stopping)
        registrant_remove(coordinator, now, region, PROBE_HOME_REGION_STOPPED,
                          outbox);
    else if (!region->is_proxy) /* else it repeats that */
        become_proxy(coordinator, region, outbox);
}

void registration_welcome(struct coordinator *coordinator,
                          struct registrant *region, bool is_known,
                          struct outbox *outbox)
{
    region->is_known = is_known;
    announce_welcome(coordinator, region, outbox);
}

static void lose(struct coordinator *coordinator, struct shard *shard,
                 struct registrant *loser, struct outbox *outbox)
{
    coordinator->counters.lost_claims++;
    trace_put(coordinator->trace, TRACE_WARNING, "coordinator",
              "region lost a shard, another one has the higher fence type=%s "
              "shard=%.*s region=%.*s winner=%.*s "
              "hint=\"check whether that region's process was suspended\"",
              coordinator->type, (int)shard->id.size, shard->id.data,
              (int)loser->ref.size, loser->ref.data,
              (int)shard->home->ref.size, shard->home->ref.data);
    shard_tell_home(coordinator, shard, loser, outbox);
}

static void contest(struct coordinator *coordinator, uint64_t now,
                    struct shard *shard, struct registrant *region,
                    struct fence fence, struct outbox *outbox)
{
    struct registrant *loser = shard->home;
    int order = fence_compare(fence, shard->fence);

    coordinator->counters.conflicts++;
    REACHED("a region reports a shard that another region holds");
    SOMETIMES("the report has the higher fence", order > 0);
    if (order < 0) {
        lose(coordinator, shard, region, outbox);
    } else if (order > 0) {
        handoff_cancel(coordinator, shard);
        shard_unlink(coordinator, shard, PROBE_HOME_CONTESTED);
        shard_link(coordinator, shard, region, fence, PROBE_HOME_REPORTED);
        shard->is_started = true;
        lose(coordinator, shard, loser, outbox);
        shard_announce(coordinator, now, shard, AUDIENCE_ALL, outbox);
    } else if (!shard->is_disputed) {
        REACHED("two regions hold a shard under the same fence");
        shard->is_disputed = true;
        coordinator->disputed++;
    }
}

static void claim(struct coordinator *coordinator, uint64_t now,
                  struct shard *shard, struct registrant *region,
                  struct fence fence, struct outbox *outbox)
{
    int order = fence_compare(fence, shard->fence);

    if (shard->home && shard->home != region) {
        contest(coordinator, now, shard, region, fence, outbox);
    } else if (shard->home && order > 0) {
        handoff_cancel(coordinator, shard);
        shard_raise(coordinator, shard, fence);
        shard->is_started = true;
        shard->is_refused = false;
    } else if (shard->home) {
        shard->is_started = order == 0;
        if (shard->is_started)
            shard->is_refused = false; /* the timer only asks whether it has started */
    } else if (order > 0 || (order == 0 && fence_compare(fence, shard->ended) > 0)) {
        SOMETIMES("a region reports a shard with a stored fence and no home", order == 0);
        shard_link(coordinator, shard, region, fence, PROBE_HOME_REPORTED);
        shard->is_started = true;
        coordinator->counters.adopted++;
        shard_announce(coordinator, now, shard,
                       shard->is_pushed ? AUDIENCE_ALL : AUDIENCE_ASKED,
                       outbox);
        shard->is_pushed = false;
    } else {
        /* It was stopped since. Its new home, with a higher fence, is announced to this region. */
        REACHED("a region reports a shard that has stopped meanwhile");
        coordinator->counters.conflicts++;
        shard_wait(shard, region);
        shard_needs_home(coordinator, shard);
    }
}

static void take_another_term(struct coordinator *coordinator)
{
    if (!coordinator->is_active ||
        coordinator->term_seen <= coordinator->term)
        return;
    REACHED("a higher term reaches an active coordinator");
    coordinator->is_active = false;
    coordinator_probe(coordinator, PROBE_COORDINATOR_ENDED);
    trace_put(coordinator->trace, TRACE_WARNING, "coordinator",
              "a region reported a higher term type=%s own=%llu seen=%llu "
              "hint=\"check for a partition or a suspended member\"",
              coordinator->type, (unsigned long long)coordinator->term,
              (unsigned long long)coordinator->term_seen);
    coordinator_news_put(coordinator, COORDINATOR_NEWS_NEEDS_TERM,
                         coordinator->term_seen);
}

/* Another coordinator, unknown here, has a higher term in the journal, which would refuse this
 * one's fences. If both live, they take higher terms in turn. So each wait doubles, and the number
 * of times is limited until the members change. A term that comes during a wait is kept, because it
 * may not come again. */
void coordinator_outbid(struct coordinator *coordinator, uint64_t now,
                        uint64_t stored_term)
{
    uint32_t times = coordinator->outbid_times;

    if (!coordinator->is_active || stored_term <= coordinator->term)
        return;
    if (stored_term > FENCE_PART_MAX) {
        coordinator->counters.malformed++;
        return;
    }
    if (times >= COORDINATOR_OUTBIDS_MAX) {
        coordinator->outbid_term = stored_term; /* until the members change */
        if (!coordinator->counters.outbids_left++)
            trace_put(coordinator->trace, TRACE_ERROR, "coordinator",
                      "coordinator refuses more higher terms; journal refuses "
                      "its shards' events type=%s own=%llu stored=%llu "
                      "times=%d hint=\"restart; check whether another cluster "
                      "uses this journal\"",
                      coordinator->type,
                      (unsigned long long)coordinator->term,
                      (unsigned long long)stored_term,
                      COORDINATOR_OUTBIDS_MAX);
        return;
    }
    if (now < coordinator->outbid_at) {
        REACHED("a higher term arrives soon after another and is outbid later");
        if (!coordinator->outbid_term)
            timers_put(&coordinator->timers, coordinator->outbid_at,
                       TIMER_OUTBID, 0, 0);
        if (stored_term > coordinator->outbid_term)
            coordinator->outbid_term = stored_term;
        return;
    }
    coordinator->outbid_at = now + (OUTBID_WAIT << times);
    coordinator->outbid_times++;
    coordinator->counters.outbids++;
    coordinator->term_seen = stored_term;
    take_another_term(coordinator);
}

void coordinator_outbid_due(struct coordinator *coordinator, uint64_t now)
{
    uint64_t term = coordinator->outbid_term;

    coordinator->outbid_term = 0;
    if (coordinator->is_active)
        coordinator_outbid(coordinator, now, term);
    else if (term > coordinator->term_seen)
        coordinator->term_seen = term;
}

void coordinator_outbid_anew(struct coordinator *coordinator, uint64_t now)
{
    coordinator->outbid_times = 0;
    if (coordinator->outbid_at > now)
        coordinator->outbid_at = now;
    if (coordinator->outbid_term)
        timers_put(&coordinator->timers, now, TIMER_OUTBID, 0, 0);
}

/* A report between two terms lacks shards and may be the region's last. The next term hosts them
 * again. */
static void remember_lacking(struct registrant *region, uint64_t mark)
{
    for (uint32_t i = 0; i < region->shards.count; i++) {
        struct shard *shard = region->shards.items[i];

        if (shard->handoff || shard->mark == mark)
            continue;
        REACHED("a report lacks a shard while the coordinator has no term");
        shard->is_started = false;
        shard->is_refused = true;
    }
}

static void take_report(struct coordinator *coordinator, uint64_t now,
                        struct registrant *region,
                        const struct shard_message *message,
                        bool is_cordon_new, struct outbox *outbox)
{
    uint64_t mark = ++coordinator->mark;
    uint64_t adopted = coordinator->counters.adopted;

    for (uint32_t i = 0; i < message->hosted_count; i++) {
        const struct shard_hosted *hosted = &message->hosted[i];
        struct shard *shard;

        if (hosted->fence.term > FENCE_PART_MAX ||
            hosted->fence.epoch > FENCE_PART_MAX) {
            coordinator->counters.malformed++;
            continue;
        }
        shard = shard_get(coordinator, hosted->shard);
        if (!shard)
            continue;
        if (hosted->fence.term > coordinator->term_seen)
            coordinator->term_seen = hosted->fence.term;
        shard->mark = mark;
        claim(coordinator, now, shard, region, hosted->fence, outbox);
    }
    take_another_term(coordinator);
    if (!region->lanes)
        return;
    if (!coordinator->is_active) {
        remember_lacking(region, mark);
        return;
    }
    for (uint32_t i = 0;
         adopted != coordinator->counters.adopted &&
         i < coordinator->regions.count;
         i++) {
        struct registrant *other = coordinator->regions.items[i];

        /* It may know older homes of the adopted shards. */
        if (other != region && other->has_old_homes && !other->is_terminating)
            (void)registration_send_homes(coordinator, other, region, outbox);
    }
    for (uint32_t i = 0; i < region->shards.count; i++) {
        struct shard *shard = region->shards.items[i];

        if (shard->handoff || (shard->mark == mark && shard->is_started))
            continue;
        if (is_cordon_new && shard->mark != mark && !shard->is_started)
            continue; /* the report may have crossed HostShard */
        if (shard->mark == mark) {
            shard_host(coordinator, now, shard, outbox); /* it runs under an older fence there */
            continue;
        }
        shard_rehost(coordinator, now, shard, outbox);
    }
    coordinator_outbid(coordinator, now, message->stored_term);
}

/* Returns why the registration is refused, or null. */
static const char *mismatch(struct coordinator *coordinator,
                            const struct shard_message *message, char *text,
                            size_t size)
{
    if (!message->number_of_shards)
        return NULL;
    if (!coordinator->settings.number_of_shards)
        coordinator->settings.number_of_shards = message->number_of_shards;
    if (coordinator->settings.number_of_shards == message->number_of_shards)
        return NULL;
    (void)snprintf(text, size,
                   "number-of-shards is %u in the cluster and %u on the node",
                   coordinator->settings.number_of_shards,
                   message->number_of_shards);
    return text;
}

static bool may_register(const struct coordinator_member *member,
                         const struct shard_message *message)
{
    if (!member ||
        (message->kind == SHARD_REGISTER && !member->kept.has_role))
        return false;
    if (member->kept.status == MEMBER_UP)
        return true;
    /* The next coordinator must know the shards of a leaving region. A JVM's registration reports
     * none. */
    return message->lanes && member->kept.status != MEMBER_JOINING &&
           member->kept.status != MEMBER_WEAKLY_UP &&
           member->kept.status != MEMBER_DOWN;
}

static struct registrant *registrant_new(struct coordinator *coordinator, uint64_t now,
                                 const struct inbound *inbound,
                                 const struct shard_message *message,
                                 struct slice path, struct outbox *outbox)
{
    struct registrant *region =
        registrant_of(coordinator, &inbound->from, path_plain(path));
    size_t offset = (size_t)(path.data - message->ref.data);

    SOMETIMES("a region registers anew under another name", region != NULL);
    if (region) /* a new incarnation of the actor on the same node */
        registrant_remove(coordinator, now, region, PROBE_HOME_REGION_RENEWED,
                          outbox);
    if (coordinator->regions.count >= COORDINATOR_REGIONS_MAX) {
        coordinator->counters.dropped_full++;
        return NULL;
    }
    region = mem_alloc(sizeof *region);
    region->node = inbound->from;
    region->ref = slice_of(mem_copy(message->ref.data, message->ref.size),
                           message->ref.size);
    region->path = slice_of(region->ref.data + offset,
                            region->ref.size - offset);
    region->number = ++coordinator->region_number;
    region->is_proxy = message->kind == SHARD_REGISTER_PROXY;
    vec_push(&coordinator->regions, region);
    keep_region(coordinator, region);
    trace_put(coordinator->trace, TRACE_INFO, "coordinator",
              "%s registered type=%s region=%.*s lanes=%u hosted=%u",
              region->is_proxy ? "proxy" : "region", coordinator->type,
              (int)region->ref.size, region->ref.data, message->lanes,
              message->hosted_count);
    return region;
}

static void refuse(struct coordinator *coordinator, struct coordinator_member *member,
                   struct slice path, const char *reason,
                   struct outbox *outbox)
{
    struct node_id node = kept_member_node(&member->kept);

    coordinator->counters.refused++;
    member->has_answered = true;
    shard_message_send(outbox, &node, path,
                       buf_slice(&coordinator->path),
                       &(struct shard_message){ .kind = SHARD_REFUSED,
                                                .reason = slice_text(reason) },
                       coordinator->identity);
    if (!member->is_refused) {
        char text[ADDRESS_TEXT_MAX];

        trace_put(coordinator->trace, TRACE_ERROR, "coordinator",
                  "registration refused type=%s member=%s reason=\"%s\" "
                  "hint=\"give the type equal settings on all nodes\"",
                  coordinator->type,
                  kept_address_text(member->kept.address, text, sizeof text),
                  reason);
    }
    member->is_refused = true;
}

static void set_cordon(struct coordinator *coordinator,
                       struct registrant *region, enum cordon_level cordon)
{
    static const char *const texts[CORDON_LEVELS] = {
        [CORDON_NOT] = "region is cordoned no more",
        [CORDON_ON] = "region is cordoned, it gets no more shards",
        [CORDON_DRAINING] = "region is drained, its shards are handed off",
    };

    if (region->cordon == cordon)
        return;
    region->cordon = cordon;
    region->drain_at = 0;
    coordinator->may_fill |= cordon == CORDON_DRAINING;
    trace_put(coordinator->trace, TRACE_INFO, "coordinator",
              "%s type=%s region=%.*s shards=%u",
              texts[cordon], coordinator->type, (int)region->ref.size, region->ref.data,
              region->shards.count);
}

/* Takes over what a region says of itself. */
static void take_registration(struct coordinator *coordinator, uint64_t now, struct registrant *region,
                              struct coordinator_member *member, const struct shard_message *message,
                              bool is_known, struct outbox *outbox)
{
    bool is_proxy = message->kind == SHARD_REGISTER_PROXY;
    bool is_new_here = !region->is_registered;
    enum cordon_level before = region->cordon;

    set_cordon(coordinator, region, message->cordon);
    region->is_registered = true;
    region->lanes = message->lanes;
    if (is_proxy && !region->is_proxy)
        become_proxy(coordinator, region, outbox); /* the message that it stopped was lost */
    if (!message->lanes ||
        (message->fence.term && message->fence.term != coordinator->term))
        region->has_old_homes = true;
    if (!is_proxy) {
        if (region->is_proxy)
            keep_region(coordinator, region);
        region->is_proxy = false; /* a region that reports may host */
        member->has_answered = true;
        take_report(coordinator, now, region, message,
                    !is_new_here && region->cordon != before, outbox);
    }
    if (coordinator->is_active)
        registration_welcome(coordinator, region, is_known, outbox);
    /* a JVM does not report it */
    for (uint32_t i = 0; !region->lanes && is_new_here && i < region->shards.count; i++)
        if (coordinator->is_active && !region->shards.items[i]->handoff)
            shard_host(coordinator, now, region->shards.items[i], outbox);
}

void registration_receive(struct coordinator *coordinator, uint64_t now,
                          const struct inbound *inbound,
                          const struct shard_message *message,
                          struct outbox *outbox)
{
    bool is_proxy = message->kind == SHARD_REGISTER_PROXY;
    struct coordinator_member *member = coordinator_member_of(coordinator, &inbound->from);
    struct registrant *region;
    uint64_t *report;
    struct address address;
    struct slice path;
    char text[80];
    const char *reason;
    bool is_known;

    if (!may_register(member, message)) {
        coordinator->counters.ignored_register++;
        if (member && message->lanes)
            member->is_early = true;
        return;
    }
    if (!ref_parse(coordinator->identity, message->ref, &address, &path) ||
        !address_equal(&address, &inbound->from.address)) {
        coordinator->counters.malformed++;
        return;
    }
    reason = mismatch(coordinator, message, text, sizeof text);
    if (reason) {
        refuse(coordinator, member, path, reason, outbox);
        return;
    }
    region = registrant_of(coordinator, &inbound->from, path);
    is_known = region != NULL;
    if (member->is_jvm && !is_proxy && !is_known) {
        /* its node has the role by mistake; a stored region already has shards */
        coordinator->counters.ignored_register++;
        return;
    }
    report = is_proxy ? &member->proxy_report : &member->report;
    if (message->report && message->report <= *report) {
        REACHED("an older report came after a newer one");
        coordinator->counters.stale++; /* delayed or repeated, so its report is outdated */
        if (region && coordinator->is_active)
            registration_welcome(coordinator, region, true, outbox);
        return;
    }
    *report = message->report;
    if (!region)
        region = registrant_new(coordinator, now, inbound, message, path, outbox);
    if (region)
        take_registration(coordinator, now, region, member, message, is_known, outbox);
}
