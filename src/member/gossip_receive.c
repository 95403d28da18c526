/* Receives gossips: checks them against our version, applies or merges them, and answers. */
#include "member/inside.h"

#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"

/* The count in the clock and the observations of this node must be those that it made. A newer
 * version has all of them, an older or concurrent one at most these. */
static bool misquotes(const struct member *member, const struct gossip *remote,
                      enum clock_order order)
{
    const struct profile *self = member->self;
    const struct observer *own =
        reachability_observer(&member->gossip.reachability,
                              &member->identity->node);
    const struct observer *reported =
        reachability_observer(&remote->reachability, &member->identity->node);
    int64_t own_version = own ? own->version : 0;
    int64_t reported_version = reported ? reported->version : 0;

    if (clock_get(&remote->clock, &self->key) >
            clock_get(&member->gossip.clock, &self->key) ||
        reported_version > own_version)
        return true;
    if (order == CLOCK_AFTER && reported_version != own_version)
        return true;
    if (!reported || reported_version != own_version)
        return false;
    for (uint32_t i = 0; i < reported->rows.count; i++) {
        const struct observation *row = &reported->rows.items[i];
        const struct node_id *subject = PROFILE_NODE(row->subject);

        /* Rows about members that were removed here were deleted without a new version. */
        if (gossip_find(&member->gossip, subject) &&
            reachability_by(&member->gossip.reachability,
                            &member->identity->node,
                            subject) != row->status)
            return true;
    }
    return false;
}

/* A newer version continues ours: no status goes back, no removed incarnation returns. */
static bool goes_back(const struct gossip *local, const struct gossip *remote)
{
    for (uint32_t i = 0, at = 0; i < remote->members.count; i++) {
        const struct gossip_member *theirs = &remote->members.items[i];
        const struct gossip_member *ours;

        /* Both lists have one order. Usually the same profile is at the same place. */
        if (at < local->members.count &&
            local->members.items[at].profile == theirs->profile)
            ours = &local->members.items[at];
        else
            ours = gossip_find_profile(local, theirs->profile);
        if (ours)
            at = (uint32_t)(ours - local->members.items) + 1;
        if (ours ? !member_status_may_follow(ours->status, theirs->status)
                 : gossip_is_tombstoned(local, PROFILE_NODE(theirs->profile)))
            return true;
    }
    return false;
}

static void put_version(struct buf *versions, const struct clock *clock)
{
    for (uint32_t i = 0; i < clock->entries.count; i++) {
        const struct clock_entry *entry = &clock->entries.items[i];
        struct probe_version version = { .count = (uint64_t)entry->count };

        memcpy(&version.key, entry->key.bytes, sizeof version.key);
        buf_put(versions, &version, sizeof version);
    }
}

static void probe_versions(const struct member *member,
                           const struct gossip *with)
{
    struct probe probe = { .kind = PROBE_VERSION_TAKEN,
                           .type = PROBE_TYPE_NONE,
                           .node = profile_node(member->self),
                           .first = member->gossip.clock.entries.count };
    struct buf versions = { 0 };

    if (!member->settings.probes)
        return;
    put_version(&versions, &member->gossip.clock);
    put_version(&versions, &with->clock);
    probe.bytes = buf_slice(&versions);
    probes_put(member->settings.probes, &probe);
    buf_fini(&versions);
}

/* Freeing a large one takes a third of the time of applying it, so it has a step of its own. */
static void let_go(struct member *member, struct gossip *gossip)
{
    if (gossip->members.count < GOSSIP_CACHE_MEMBERS_MIN ||
        member->over.count == MEMBER_OVER_MAX) {
        gossip_fini(gossip);
        return;
    }
    vec_push(&member->over, *gossip);
    BOUNDED("gossips that wait to be freed", member->over.count,
            MEMBER_OVER_MAX);
    *gossip = (struct gossip){ 0 };
}

/* Under a constant stream of gossips, all other work still gets every third step at least. */
bool gossip_receive_let_go_step(struct member *member)
{
    if (!member->over.count || member->let_go_count == MEMBER_OVER_MAX) {
        member->let_go_count = 0;
        return false;
    }
    member->let_go_count++;
    gossip_fini(&member->over.items[--member->over.count]);
    return true;
}

static void replace_gossip(struct member *member, struct gossip *with)
{
    probe_versions(member, with);
    with->forgotten += member->gossip.forgotten;
    let_go(member, &member->gossip);
    member->gossip = *with;
    *with = (struct gossip){ 0 };
    member_gossip_replaced(member);
}

/* The same version: only the seen set may differ. */
static void unite_seen(struct member *member, const struct gossip *remote)
{
    for (uint32_t i = 0; i < remote->members.count; i++) {
        const struct gossip_member *theirs = &remote->members.items[i];
        struct gossip_member *ours =
            gossip_find_profile(&member->gossip, theirs->profile);

        if (!ours || ours->seen || !theirs->seen)
            continue;
        ours->seen = true;
        member_seen_changed(member);
    }
}

static uint64_t row_count(const struct reachability *table)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < table->observers.count; i++)
        count += table->observers.items[i].rows.count;
    return count;
}

static void merge(const struct member *member, const struct gossip *remote,
                  struct merged *merged)
{
    struct gossip *gossip = &merged->gossip;

    merged->removes =
        gossip_merge(gossip, &member->gossip, remote, member->wall_ms);
    merged->is_good = gossip->members.count <= GOSSIP_MEMBERS_MAX &&
                      row_count(&gossip->reachability) <= MEMBER_ROWS_MAX &&
                      gossip_find(gossip, &member->identity->node) &&
                      gossip_valid(gossip);
}

/* Uses up the merge. False, with nothing changed: it would pass a limit or omit this node. */
static bool take_merged(struct member *member, struct merged *merged)
{
    bool good = merged->is_good;

    SOMETIMES("concurrent gossips are merged", good);
    SOMETIMES("a merge would leave this node out or break a rule", !good);
    if (good) {
        member->counters.merged++;
        replace_gossip(member, &merged->gossip);
        if (merged->removes)
            member_gossip_changed(member);
        hurry_replaced(member, true);
    }
    gossip_fini(&merged->gossip);
    return good;
}

/* The effect of a received gossip on ours. */
enum outcome {
    OUTCOME_REFUSED,    /* breaks a rule or a limit */
    OUTCOME_WITHOUT_US, /* its cluster has removed this node: ignored */
    /* taken: its version is ours now, and its sender does not know that we have seen it */
    OUTCOME_TAKEN,
    OUTCOME_SEEN,
    OUTCOME_TALK_BACK
};

static enum outcome take_in(struct member *member, struct waiting *waiting)
{
    struct gossip *remote = &waiting->gossip;
    enum clock_order order =
        clock_compare(&remote->clock, &member->gossip.clock);
    const struct gossip_member *own = gossip_find(remote, &member->identity->node);
    bool must_answer = own && !own->seen && !member->is_exiting;

    if (!own) {
        REACHED("a gossip does not contain this node");
        return OUTCOME_WITHOUT_US;
    }
    if (misquotes(member, remote, order)) {
        trace_put(member->trace, TRACE_DEBUG, "member",
                  "gossip refused: it shows this node in a state that it never had");
        REACHED("a gossip is refused: it shows this node in a wrong state");
        return OUTCOME_REFUSED;
    }
    if (order == CLOCK_AFTER && goes_back(&member->gossip, remote)) {
        trace_put(member->trace, TRACE_DEBUG, "member",
                  "gossip refused: a member's status would go backwards");
        REACHED("a gossip is refused: a status would go backwards");
        return OUTCOME_REFUSED;
    }
    switch (order) {
    case CLOCK_SAME:
        unite_seen(member, remote);
        break;
    case CLOCK_BEFORE:
        return OUTCOME_TALK_BACK;
    case CLOCK_AFTER:
        replace_gossip(member, remote);
        hurry_replaced(member, false);
        break;
    case CLOCK_CONCURRENT:
        if (!waiting->is_merged)
            merge(member, remote, &waiting->merged);
        waiting->is_merged = false;
        return take_merged(member, &waiting->merged) ? OUTCOME_TALK_BACK
                                                     : OUTCOME_REFUSED;
    }
    return must_answer ? OUTCOME_SEEN : OUTCOME_TAKEN;
}

/* Marks the version as seen by this node, and follows what it says about this node. */
static void follow_up(struct member *member, enum member_status before,
                      struct outbox *outbox)
{
    struct gossip_member *own = member_own_entry(member);

    check(own != NULL);
    if (!member->is_exiting && !own->seen) {
        own->seen = true;
        member_seen_changed(member);
    }
    if (own->status == MEMBER_EXITING && !member->is_exiting)
        leave_begin_exiting(member);
    else if (own->status == MEMBER_DOWN && before != MEMBER_DOWN) {
        REACHED("a node reads that it is down");
        SOMETIMES("the leader reads that it is down", member_is_leader(member));
        leave_check_down(member, outbox);
    }
    if (member->phase == PHASE_INSIDE)
        leave_down_other_lives(member);
}

static void fini_brought(struct brought *brought)
{
    buf_fini(&brought->packed);
    gossip_cache_opened_fini(&brought->opened);
}

void gossip_receive_forget_brought(struct member *member)
{
    fini_brought(&member->brought);
}

void gossip_receive_take_head(struct member *member)
{
    if (!member->brought.packed.size)
        return;
    gossip_cache_take(member->identity, buf_slice(&member->brought.packed),
              &member->brought.opened, &member->gossip, &member->head);
    gossip_receive_forget_brought(member);
}

/* In a large cluster: recognizes a gossip of our version by its cached bytes. It can only add to
 * the seen set. */
static bool take_same(struct member *member, struct slice packed,
                      enum outcome *outcome)
{
    uint32_t count = member->gossip.members.count;
    bool changed = false;
    bool own_seen;
    bool *seen;

    gossip_receive_take_head(member);
    if (!member->head.bytes.size)
        return false;
    seen = mem_alloc(count * sizeof *seen);
    if (!gossip_cache_get_seen(packed, &member->gossip, &member->head, seen)) {
        mem_free(seen);
        return false;
    }
    own_seen = seen[member_own_entry(member) - member->gossip.members.items];
    for (uint32_t i = 0; i < count; i++) {
        struct gossip_member *ours = &member->gossip.members.items[i];

        changed = changed || (seen[i] && !ours->seen);
        ours->seen = ours->seen || seen[i];
    }
    mem_free(seen);
    if (changed)
        member_seen_changed(member);
    *outcome = own_seen || member->is_exiting ? OUTCOME_TAKEN : OUTCOME_SEEN;
    return true;
}

static void finish(struct member *member, const struct node_id *from,
                   struct slice path, enum member_status before,
                   enum outcome outcome, struct outbox *outbox)
{
    if (outcome == OUTCOME_REFUSED) {
        member->counters.dropped_hostile++;
    } else if (outcome == OUTCOME_WITHOUT_US) {
        member->counters.dropped_state++;
    } else {
        member->counters.gossip_received++;
        follow_up(member, before, outbox);
        if (member->phase != PHASE_INSIDE)
            return;
        if (outcome == OUTCOME_SEEN)
            hurry_seen(member, from);
        if (outcome == OUTCOME_SEEN || outcome == OUTCOME_TALK_BACK)
            gossip_send_reply(member, from, path, outcome == OUTCOME_SEEN, outbox);
    }
}

static void take_waiting(struct member *member, struct waiting *waiting,
                         struct outbox *outbox)
{
    enum member_status before = member_own_entry(member)->status;
    bool is_newer = clock_compare(&waiting->gossip.clock,
                                  &member->gossip.clock) == CLOCK_AFTER;
    enum outcome outcome = take_in(member, waiting);

    if (is_newer && (outcome == OUTCOME_TAKEN || outcome == OUTCOME_SEEN) &&
        member->gossip.members.count >= GOSSIP_CACHE_MEMBERS_MIN) {
        member->brought = waiting->brought;
        waiting->brought = (struct brought){ .packed = { 0 } };
    }
    finish(member, &waiting->from, buf_slice(&waiting->path), before, outcome,
           outbox);
}

static void fini_waiting(struct waiting *waiting)
{
    buf_fini(&waiting->path);
    buf_fini(&waiting->bytes);
    gossip_fini(&waiting->gossip);
    fini_brought(&waiting->brought);
    gossip_fini(&waiting->merged.gossip);
}

bool gossip_receive_goes_on(const struct member *member)
{
    return member->waiting.count && member->waiting.items[0].is_read;
}

bool gossip_receive_has_merged(const struct member *member)
{
    return member->waiting.count && member->waiting.items[0].is_merged;
}

void gossip_receive_forget_merged(struct member *member)
{
    if (!gossip_receive_has_merged(member))
        return;
    let_go(member, &member->waiting.items[0].merged.gossip);
    member->waiting.items[0].merged = (struct merged){ .is_good = false }; /* it is merged again */
    member->waiting.items[0].is_merged = false;
}

/* False: cannot be read. */
static bool read_gossip(struct member *member, struct waiting *waiting)
{
    enum verdict verdict =
        gossip_cache_get_gossip(member->identity, buf_slice(&waiting->brought.packed),
                        &member->gossip, &member->head, &waiting->gossip,
                        &waiting->brought.opened);

    waiting->is_read = verdict == WIRE_OK;
    if (!waiting->is_read)
        member_cannot_read(member, verdict, "gossip", &waiting->from);
    return waiting->is_read;
}

static void take_first(struct member *member, struct outbox *outbox)
{
    struct waiting first = member->waiting.items[0];

    vec_remove(&member->waiting, 0);
    if (gossip_send_is_from_member(member, &first.from) &&
        (first.is_read || read_gossip(member, &first)))
        take_waiting(member, &first, outbox);
    let_go(member, &first.gossip);
    fini_waiting(&first);
}

/* Merging takes about as long as applying the result. Done once: if ours changes again, it is
 * applied without a step between. */
static bool merge_first(struct member *member)
{
    struct waiting *first = &member->waiting.items[0];

    if (first->was_merged ||
        clock_compare(&first->gossip.clock, &member->gossip.clock) !=
            CLOCK_CONCURRENT)
        return false;
    merge(member, &first->gossip, &first->merged);
    first->is_merged = first->was_merged = true;
    return true;
}

bool gossip_receive_step(struct member *member, struct outbox *outbox)
{
    struct waiting *first = member->waiting.items;

    if (!member->waiting.count)
        return false;
    if (!first->is_read) {
        if (read_gossip(member, first))
            return true;
        fini_waiting(first);
        vec_remove(&member->waiting, 0);
    } else if (!merge_first(member)) {
        take_first(member, outbox);
    }
    return true;
}

void gossip_receive_forget(struct member *member)
{
    for (uint32_t i = 0; i < member->waiting.count; i++)
        fini_waiting(&member->waiting.items[i]);
    member->waiting.count = 0;
    member->let_go_count = 0;
}

/* came: given if true. False: this node is in no cluster any more. */
static bool wait(struct member *member, const struct waiting *came,
                 struct outbox *outbox)
{
    if (member->waiting.count == MEMBER_WAITING_MAX)
        take_first(member, outbox);
    if (member->phase != PHASE_INSIDE)
        return false;
    vec_push(&member->waiting, *came);
    BOUNDED("gossips that wait to be merged in", member->waiting.count,
            MEMBER_WAITING_MAX);
    return true;
}

/* packed: given. */
static void open_gossip(struct member *member, const struct inbound *inbound,
                        struct buf *packed, struct outbox *outbox)
{
    struct waiting came = { .from = inbound->from,
                            .brought = { .packed = *packed } };

    *packed = (struct buf){ 0 };
    buf_put_slice(&came.path, inbound->sender);
    if (member->gossip.members.count >= GOSSIP_CACHE_MEMBERS_MIN) {
        gossip_cache_open(buf_slice(&came.brought.packed), &member->head,
                  &came.brought.opened);
        if (wait(member, &came, outbox))
            return;
    } else if (read_gossip(member, &came)) {
        take_waiting(member, &came, outbox);
    }
    fini_waiting(&came);
}

static void take_envelope(struct member *member, const struct inbound *inbound,
                          struct buf *packed, struct outbox *outbox)
{
    enum member_status before = member_own_entry(member)->status;
    enum outcome outcome;

    /* Reported for the sender as known now: its incarnation may have ended when a waiting gossip is
     * merged. */
    member_probe(member, PROBE_TAKEN, &inbound->from, PROBE_TAKEN_GOSSIP);
    if (take_same(member, buf_slice(packed), &outcome))
        finish(member, &inbound->from, inbound->sender, before, outcome,
               outbox);
    else
        open_gossip(member, inbound, packed, outbox);
}

/* now: unused. Akka drops gossips that waited too long in a mailbox; here no queue precedes this
 * call. */
void gossip_receive(struct member *member, uint64_t now,
                    const struct inbound *inbound, struct outbox *outbox)
{
    struct buf packed = { 0 };
    struct node_id from;
    struct node_id to;
    enum verdict verdict = wire_get_envelope(member->identity, inbound->payload,
                                             &from, &to, &packed);

    (void)now;
    if (verdict == WIRE_FOREIGN)
        member->counters.dropped_hostile++;
    else if (verdict != WIRE_OK)
        member->counters.dropped_malformed++;
    else if (!node_equal(&to, &member->identity->node))
        member->counters.dropped_misdirected++;
    else if (!node_equal(&from, &inbound->from))
        member->counters.dropped_hostile++;
    else if (gossip_send_is_from_member(member, &from))
        take_envelope(member, inbound, &packed, outbox);
    buf_fini(&packed);
}
