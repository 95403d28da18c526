/* Decides when a side of a partition acts: stability, instability, the deciding node, the wait for
 * a lease. */
#include "resolver/resolver.h"

#include <stdio.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"
#include "base/timers.h"
#include "base/vec.h"

#define TICK SECOND /* between two looks */

enum phase {
    PHASE_WATCHING,
    PHASE_DELAYED, /* has decided; the other side may take the lease first */
    PHASE_ASKING   /* has asked for the lease */
};

/* When the lease is released. */
enum release {
    RELEASE_NOTHING, /* this core does not hold it */
    RELEASE_REMOVED, /* some time after all that were downed are removed */
    RELEASE_TIME     /* at release_at */
};

struct resolver {
    struct node_id self;
    struct resolver_settings settings;
    struct trace *trace;
    uint64_t started_at; /* ticks count from here, so that nodes do not tick together */
    uint64_t tick_at;    /* NEVER: nothing to look at */
    VEC(struct kept_member) members; /* of the last view, by node */
    VEC(struct side_record) records;
    bool is_leader;
    bool is_added; /* this node has been up or weakly up */
    bool holds_lease;
    bool was_too_many; /* static-quorum: already reported */
    uint64_t stable_at; /* from then on nothing has changed for long enough */
    uint64_t changes;   /* of reachability since first_at; 0: none matters any more */
    uint64_t first_at;
    uint64_t latest_at;
    bool is_suspected; /* a member observed this node as unreachable since first_at */
    enum phase phase;
    enum decision waiting; /* PHASE_DELAYED, PHASE_ASKING: the decision that needs the lease */
    uint64_t acquire_at;   /* PHASE_DELAYED */
    enum release release;
    uint64_t release_at; /* RELEASE_TIME */
    bool is_releasing; /* asked, not answered */
    VEC(struct node_id) removing; /* RELEASE_REMOVED: members whose removal it awaits */
    VEC(struct resolver_news) news;
    uint32_t news_head;
    struct resolver_counters counters;
};

struct resolver *resolver_new(const struct node_id *self,
                              const struct resolver_settings *settings,
                              struct trace *trace, uint64_t now)
{
    struct resolver *resolver = mem_alloc(sizeof *resolver);

    resolver->self = *self;
    resolver->settings = *settings;
    resolver->trace = trace;
    resolver->started_at = now;
    resolver->tick_at = NEVER;
    resolver->stable_at = now + settings->stable_after;
    trace_put(trace, TRACE_INFO, "resolver",
              "split brain resolver is on strategy=%s stable_after_ms=%llu "
              "down_all_when_unstable_ms=%llu",
              strategy_text(settings->strategy.kind),
              (unsigned long long)(settings->stable_after / MS),
              (unsigned long long)(settings->unstable_after / MS));
    return resolver;
}

void resolver_free(struct resolver *resolver)
{
    if (!resolver)
        return;
    vec_fini(&resolver->members);
    vec_fini(&resolver->records);
    vec_fini(&resolver->removing);
    vec_fini(&resolver->news);
    mem_free(resolver);
}

struct side resolver_side(const struct resolver *resolver)
{
    return (struct side){
        .members = resolver->members.items,
        .member_count = resolver->members.count,
        .records = resolver->records.items,
        .record_count = resolver->records.count,
    };
}

static void put_news(struct resolver *resolver, enum resolver_news_kind kind,
                     const struct node_id *node)
{
    struct resolver_news news = { .kind = kind };

    if (node)
        news.node = *node;
    vec_push(&resolver->news, news);
}

bool resolver_next_news(struct resolver *resolver, struct resolver_news *news)
{
    if (resolver->news_head == resolver->news.count) {
        resolver->news_head = resolver->news.count = 0;
        return false;
    }
    *news = resolver->news.items[resolver->news_head++];
    return true;
}

/* ---- log of a decision's inputs, all at the level of the decision ---- */

#define LEVEL TRACE_WARNING

/* A list of words in as many log lines as it needs. */
struct words {
    struct trace *trace;
    const char *start; /* of each line */
    char text[TRACE_TEXT_MAX - 256]; /* leaves room for the start */
    size_t size;
};

static void end_words(struct words *words)
{
    if (words->size)
        trace_put_all(words->trace, LEVEL, "resolver", "%s%s", words->start,
                      words->text);
    words->size = 0;
}

static void add_word(struct words *words, const char *text)
{
    size_t size = strlen(text);

    if (words->size + size + 2 > sizeof words->text)
        end_words(words);
    if (words->size)
        words->text[words->size++] = ',';
    memcpy(words->text + words->size, text, size + 1);
    words->size += size;
}

/* Adds the address, one letter for the status (in the order of MEMBER_STATUSES), the up number, and
 * what else the strategies read. */
static void add_member(struct words *words, const struct kept_member *member)
{
    static const char letters[] = "julxdrwpR";
    char address[ADDRESS_TEXT_MAX];
    char text[ADDRESS_TEXT_MAX + 56], number[16] = "";

    if (member->up_number != INT32_MAX)
        (void)snprintf(number, sizeof number, "%d", (int)member->up_number);
    (void)snprintf(text, sizeof text, "%s/%c%s%s%s%s",
                   kept_address_text(member->address, address, sizeof address),
                   letters[member->status], number,
                   member->reachable ? "" : "-unreachable",
                   member->seen ? "-seen" : "",
                   member->has_role ? "" : "-norole"); /* fits */
    add_word(words, text);
}

static void trace_inputs(const struct resolver *resolver)
{
    struct words words = { .trace = resolver->trace };
    char observer[ADDRESS_TEXT_MAX], subject[ADDRESS_TEXT_MAX];
    char text[2 * ADDRESS_TEXT_MAX + 2];

    if (!trace_on(resolver->trace, LEVEL))
        return;
    words.start = "it was decided from members=";
    for (uint32_t i = 0; i < resolver->members.count; i++)
        add_member(&words, &resolver->members.items[i]);
    end_words(&words);
    words.start = "it was decided from observations=";
    for (uint32_t i = 0; i < resolver->records.count; i++) {
        const struct side_record *record = &resolver->records.items[i];
        const struct kept_member *members = resolver->members.items;

        (void)snprintf(
            text, sizeof text, "%s>%s",
            kept_address_text(members[record->observer].address, observer,
                              sizeof observer),
            kept_address_text(members[record->subject].address, subject,
                              sizeof subject)); /* fits */
        add_word(&words, text);
    }
    end_words(&words);
}

/* reason: a word after a space; empty if the strategy decided alone. */
static void trace_decision(const struct resolver *resolver, uint64_t now,
                           enum decision decision, const char *reason,
                           const bool *down)
{
    const struct strategy *strategy = &resolver->settings.strategy;
    const struct side side = resolver_side(resolver);
    bool *indirect = mem_alloc(side.member_count + 1);
    struct words words = { .trace = resolver->trace };
    char start[240], address[ADDRESS_TEXT_MAX];
    char option[32] = "";
    uint32_t unreachable = 0;

    if (strategy->kind == STRATEGY_STATIC_QUORUM)
        (void)snprintf(option, sizeof option, " quorum=%u",
                       (unsigned)strategy->quorum_size);
    else if (strategy->kind == STRATEGY_KEEP_OLDEST)
        (void)snprintf(option, sizeof option, " alone=%s",
                       strategy->keeps_alone ? "stays" : "ends");
    else if (strategy->joining_breaks_tie)
        (void)snprintf(option, sizeof option, " joining=breaks-tie");
    for (uint32_t i = 0; i < side.member_count; i++)
        unreachable += !side.members[i].reachable;
    (void)snprintf(start, sizeof start,
                   "decides decision=%s strategy=%s%s%s "
                   "members=%u counted=%u unreachable=%u "
                   "indirect=%u changes=%llu since_ms=%llu downs=",
                   decision_text(decision), strategy_text(strategy->kind),
                   option, reason,
                   (unsigned)side.member_count,
                   (unsigned)strategy_size(&side), (unsigned)unreachable,
                   (unsigned)strategy_indirect(&side, indirect),
                   (unsigned long long)resolver->changes,
                   (unsigned long long)(resolver->changes
                                            ? (now - resolver->first_at) / MS
                                            : 0)); /* fits */
    words.start = start;
    for (uint32_t i = 0; i < side.member_count; i++)
        if (down[i])
            add_word(&words, kept_address_text(side.members[i].address, address, sizeof address));
    end_words(&words);
    mem_free(indirect);
    trace_inputs(resolver);
}

/* ---- acting ---- */

static bool is_self(const struct resolver *resolver, uint32_t member)
{
    return kept_member_is(&resolver->members.items[member], &resolver->self);
}

static uint32_t find_targets(const struct resolver *resolver,
                             enum decision decision, bool *down)
{
    const struct side side = resolver_side(resolver);
    uint32_t found = 0;

    if (decision != DECISION_SELF)
        return strategy_targets(&resolver->settings.strategy, &side, decision,
                                down);
    for (uint32_t i = 0; i < side.member_count; i++) {
        down[i] = is_self(resolver, i) &&
                  side.members[i].status != MEMBER_EXITING &&
                  side.members[i].status != MEMBER_DOWN; /* is already leaving */
        found += down[i];
    }
    return found;
}

static void forget_changes(struct resolver *resolver)
{
    resolver->changes = 0;
    resolver->is_suspected = false;
}

static void put_down(struct resolver *resolver,
                     const struct kept_member *member)
{
    const struct node_id node = kept_member_node(member);

    put_news(resolver, RESOLVER_NEWS_DOWN, &node);
}

/* Downs the members of a decision. Returns their count, and flags of all members, which the caller
 * frees. */
static uint32_t act(struct resolver *resolver, uint64_t now,
                    enum decision decision, const char *reason, bool **flags)
{
    const struct side side = resolver_side(resolver);
    bool *down = mem_alloc((side.member_count + 1) * sizeof *down);
    uint32_t count = find_targets(resolver, decision, down);
    bool downs_self = false;

    *flags = down;
    if (!count)
        return 0;
    trace_decision(resolver, now, decision, reason, down);
    for (uint32_t i = 0; i < side.member_count; i++) {
        if (!down[i])
            continue;
        if (is_self(resolver, i))
            downs_self = true;
        else
            put_down(resolver, &side.members[i]);
    }
    if (downs_self) /* last: it may stop this node at once */
        put_news(resolver, RESOLVER_NEWS_DOWN, &resolver->self);
    forget_changes(resolver);
    resolver->stable_at = now + resolver->settings.stable_after;
    resolver->counters.decisions++;
    resolver->counters.downed += count;
    return count;
}

static void act_plainly(struct resolver *resolver, uint64_t now,
                        enum decision decision, const char *reason)
{
    bool *down;

    (void)act(resolver, now, decision, reason, &down);
    mem_free(down);
}

/* ---- observing ---- */

static void reset_stability(struct resolver *resolver, uint64_t now)
{
    resolver->stable_at = now + resolver->settings.stable_after;
}

static void count_change(struct resolver *resolver, uint64_t now)
{
    if (!resolver->changes++)
        resolver->first_at = now;
    resolver->latest_at = now;
    reset_stability(resolver, now);
}

/* before: null for a new member. Only the status counts for this node itself. */
static void compare(struct resolver *resolver, uint64_t now,
                    const struct kept_member *before,
                    const struct kept_member *after)
{
    bool is_self = kept_member_is(after, &resolver->self);
    bool changed = !before || before->status != after->status;

    if (is_self && (after->status == MEMBER_UP ||
                    after->status == MEMBER_WEAKLY_UP))
        resolver->is_added = true;
    if (changed &&
        (after->status == MEMBER_UP || after->status == MEMBER_EXITING))
        reset_stability(resolver, now);
    if (is_self)
        return;
    /* A downed member counts as unreachable, whatever its reachability. */
    if (before ? before->reachable != after->reachable ||
                     (changed && after->status == MEMBER_DOWN)
               : !after->reachable)
        count_change(resolver, now);
}

static void forget_removing(struct resolver *resolver, uint64_t now,
                            const struct kept_member *member)
{
    if (resolver->release != RELEASE_REMOVED)
        return;
    for (uint32_t i = 0; i < resolver->removing.count; i++)
        if (kept_member_is(member, &resolver->removing.items[i])) {
            vec_remove(&resolver->removing, i);
            break;
        }
    if (resolver->removing.count)
        return;
    resolver->release = RELEASE_TIME;
    resolver->release_at = now + resolver->settings.release_after;
}

static void compare_all(struct resolver *resolver, uint64_t now,
                        const struct side *side)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < side->member_count; i++) {
        const struct kept_member *before = NULL;

        for (; at < resolver->members.count; at++) {
            int order = kept_member_compare(&resolver->members.items[at],
                                            &side->members[i]);

            if (order == 0)
                before = &resolver->members.items[at];
            if (order >= 0)
                break;
            forget_removing(resolver, now, &resolver->members.items[at]);
        }
        compare(resolver, now, before, &side->members[i]);
        at += before != NULL;
    }
    for (; at < resolver->members.count; at++)
        forget_removing(resolver, now, &resolver->members.items[at]);
}

static void keep_side(struct resolver *resolver, const struct side *side)
{
    resolver->members.count = 0;
    for (uint32_t i = 0; i < side->member_count; i++)
        vec_push(&resolver->members, side->members[i]);
    resolver->records.count = 0;
    for (uint32_t i = 0; i < side->record_count; i++)
        vec_push(&resolver->records, side->records[i]);
}

/* True if only members that leave, or have never been up, are unreachable. Changes do not matter
 * then. Akka's unreachable members exclude joining and weakly up ones, too. */
static bool is_calm(const struct resolver *resolver)
{
    for (uint32_t i = 0; i < resolver->members.count; i++) {
        const struct kept_member *member = &resolver->members.items[i];

        if (!member->reachable && member->status != MEMBER_DOWN &&
            member->status != MEMBER_EXITING &&
            member->status != MEMBER_JOINING &&
            member->status != MEMBER_WEAKLY_UP)
            return false;
    }
    return true;
}

static bool is_observed(const struct resolver *resolver)
{
    for (uint32_t i = 0; i < resolver->records.count; i++)
        if (is_self(resolver, resolver->records.items[i].subject))
            return true;
    return false;
}

static bool sees_unreachable(const struct resolver *resolver)
{
    for (uint32_t i = 0; i < resolver->members.count; i++)
        if (!resolver->members.items[i].reachable)
            return true;
    return false;
}

/* Ticks run while there is something to look at. */
static void set_tick(struct resolver *resolver, uint64_t now)
{
    if (!resolver->changes && resolver->release != RELEASE_TIME &&
        !sees_unreachable(resolver))
        resolver->tick_at = NEVER;
    else if (resolver->tick_at == NEVER)
        resolver->tick_at =
            now + TICK - (now - resolver->started_at) % TICK;
}

static void warn_too_many(struct resolver *resolver)
{
    const struct side side = resolver_side(resolver);
    bool is_too_many =
        strategy_too_many(&resolver->settings.strategy, &side);

    if (is_too_many && !resolver->was_too_many)
        trace_put(resolver->trace, TRACE_WARNING, "resolver",
                  "more members than 2 * quorum-size - 1: a partition would "
                  "down them all members=%u quorum_size=%u hint=\"raise "
                  "static-quorum.quorum-size\"",
                  (unsigned)strategy_size(&side),
                  (unsigned)resolver->settings.strategy.quorum_size);
    resolver->was_too_many = is_too_many;
}

void resolver_see(struct resolver *resolver, uint64_t now,
                  const struct resolver_view *view)
{
    resolver->is_leader = view->is_leader;
    resolver->holds_lease = view->holds_lease;
    if (resolver->phase != PHASE_WATCHING)
        return;
    compare_all(resolver, now, &view->side);
    keep_side(resolver, &view->side);
    if (is_calm(resolver))
        forget_changes(resolver);
    else if (resolver->changes && is_observed(resolver))
        resolver->is_suspected = true;
    warn_too_many(resolver);
    set_tick(resolver, now);
}

/* ---- the lease ---- */

static void ask(struct resolver *resolver)
{
    resolver->phase = PHASE_ASKING;
    resolver->is_releasing = false; /* its answer may never come */
    put_news(resolver, RESOLVER_NEWS_ACQUIRE, NULL);
}

static void wait_for_lease(struct resolver *resolver, uint64_t now,
                           enum decision decision)
{
    const struct side side = resolver_side(resolver);
    uint64_t delay =
        strategy_lease_delay(&resolver->settings.strategy, &side);

    resolver->waiting = decision;
    trace_put(resolver->trace, TRACE_WARNING, "resolver",
              "the lease decides decision=%s delay_ms=%llu "
              "hint=\"if no decision follows, check the lease's provider\"",
              decision_text(decision), (unsigned long long)(delay / MS));
    if (!delay) {
        ask(resolver);
        return;
    }
    resolver->phase = PHASE_DELAYED;
    resolver->acquire_at = now + delay;
}

/* Searches the first `count`: those of former decisions. */
static bool is_awaited(const struct resolver *resolver, uint32_t count,
                       const struct kept_member *member)
{
    for (uint32_t i = 0; i < count; i++)
        if (kept_member_is(member, &resolver->removing.items[i]))
            return true;
    return false;
}

/* The lease was granted for a decision that downed these members. */
static void keep_lease(struct resolver *resolver, uint64_t now,
                       const bool *down, uint32_t count)
{
    uint32_t before = resolver->removing.count;

    if (!count && resolver->release != RELEASE_REMOVED) {
        resolver->release = RELEASE_TIME;
        resolver->release_at = now + resolver->settings.release_after;
        return;
    }
    resolver->release = RELEASE_REMOVED;
    for (uint32_t i = 0; i < resolver->members.count; i++)
        if (down[i] && !is_awaited(resolver, before, &resolver->members.items[i]))
            vec_push(&resolver->removing,
                     kept_member_node(&resolver->members.items[i]));
}

void resolver_acquired(struct resolver *resolver, uint64_t now, bool held)
{
    enum decision decision = resolver->waiting;
    uint32_t count;
    bool *down;

    if (resolver->phase != PHASE_ASKING)
        return;
    resolver->phase = PHASE_WATCHING;
    resolver->holds_lease = held;
    if (!held) {
        decision = decision_reverse(decision);
        resolver->counters.reversed++;
        resolver->release = RELEASE_NOTHING;
        resolver->removing.count = 0;
    }
    count = act(resolver, now, decision,
                held ? " lease=granted" : " lease=not-granted", &down);
    if (held)
        keep_lease(resolver, now, down, count);
    mem_free(down);
    resolver->tick_at = now; /* looks at what changed during the wait */
}

void resolver_released(struct resolver *resolver, uint64_t now, bool released)
{
    resolver->is_releasing = false;
    if (released && resolver->release == RELEASE_TIME &&
        now >= resolver->release_at)
        resolver->release = RELEASE_NOTHING;
    set_tick(resolver, now);
}

bool resolver_keeps_lease(const struct resolver *resolver, uint64_t *until)
{
    *until = resolver->release_at;
    return resolver->phase == PHASE_WATCHING &&
           resolver->release == RELEASE_TIME;
}

/* ---- the tick ---- */

/* A node that itself becomes unreachable again and again may not see that others are calm in
 * between. Akka's resolver downs all; this one downs itself alone. The others decide as if it had
 * crashed. */
static enum decision decide_unstable(const struct resolver *resolver)
{
    SOMETIMES("a suspected node downs only itself: nothing became stable",
              resolver->is_suspected);
    return resolver->is_suspected ? DECISION_SELF : DECISION_ALL;
}

/* Each node judges this, not only the leader: without stability no node is sure of the leader. */
static void judge_stability(struct resolver *resolver, uint64_t now)
{
    const struct resolver_settings *settings = &resolver->settings;

    if (!resolver->changes)
        return;
    if (settings->unstable_after) {
        if (now - resolver->first_at <=
                settings->stable_after + settings->unstable_after)
            return;
        REACHED("nothing became stable in time: all members are downed");
        resolver->counters.unstable++;
        put_news(resolver, RESOLVER_NEWS_UNSTABLE, NULL);
        act_plainly(resolver, now, decide_unstable(resolver),
                    " reason=unstable");
        forget_changes(resolver);
    } else if (now - resolver->latest_at > 2 * settings->stable_after) {
        forget_changes(resolver);
    }
}

/* Keeps a lease that an earlier decision acquired. Akka releases it when the members of that
 * decision are removed. Then the other side, which may ask a little later, would get it. */
static void act_by_held(struct resolver *resolver, uint64_t now,
                        enum decision decision)
{
    bool *down;
    uint32_t count = act(resolver, now, decision, " lease=held", &down);

    if (count)
        keep_lease(resolver, now, down, count);
    mem_free(down);
}

static bool downs_anybody(const struct resolver *resolver,
                          enum decision decision)
{
    const struct side side = resolver_side(resolver);
    bool *down = mem_alloc((side.member_count + 1) * sizeof *down);
    uint32_t count = strategy_targets(&resolver->settings.strategy, &side,
                                      decision, down);

    mem_free(down);
    return count > 0;
}

/* Asks for no lease if all unreachable members are already down. Akka asks. If one of them had the
 * lease, the refusal would down all that are left. */
static void judge(struct resolver *resolver, uint64_t now)
{
    const struct side side = resolver_side(resolver);
    enum decision decision;

    if (!resolver->is_leader || !resolver->is_added ||
        now < resolver->stable_at || !sees_unreachable(resolver))
        return;
    decision = strategy_decide(&resolver->settings.strategy, &side);
    SOMETIMES("a resolver downs its own side",
              decision == DECISION_REACHABLE);
    SOMETIMES("a resolver downs the other side",
              decision == DECISION_UNREACHABLE);
    SOMETIMES("a resolver finds nodes that are indirectly connected",
              decision == DECISION_INDIRECT);
    if (!decision_needs_lease(decision))
        act_plainly(resolver, now, decision, "");
    else if (resolver->holds_lease)
        act_by_held(resolver, now, decision);
    else if (downs_anybody(resolver, decision))
        wait_for_lease(resolver, now, decision);
}

static void tick(struct resolver *resolver, uint64_t now)
{
    resolver->tick_at = NEVER;
    judge_stability(resolver, now);
    judge(resolver, now);
    if (resolver->phase == PHASE_WATCHING &&
        resolver->release == RELEASE_TIME && now >= resolver->release_at &&
        !resolver->is_releasing) {
        resolver->is_releasing = true;
        put_news(resolver, RESOLVER_NEWS_RELEASE, NULL);
    }
    set_tick(resolver, now);
}

void resolver_step(struct resolver *resolver, uint64_t now)
{
    if (resolver->phase == PHASE_DELAYED && resolver->acquire_at <= now)
        ask(resolver);
    if (resolver->phase == PHASE_WATCHING && resolver->tick_at <= now)
        tick(resolver, now);
}

uint64_t resolver_deadline(const struct resolver *resolver)
{
    switch (resolver->phase) {
    case PHASE_WATCHING:
        return resolver->tick_at;
    case PHASE_DELAYED:
        return resolver->acquire_at;
    case PHASE_ASKING:
        break;
    }
    return NEVER;
}

enum resolver_phase resolver_phase(const struct resolver *resolver)
{
    switch (resolver->phase) {
    case PHASE_WATCHING:
        break;
    case PHASE_DELAYED:
        return RESOLVER_DELAYED;
    case PHASE_ASKING:
        return RESOLVER_ASKING;
    }
    return resolver->tick_at == NEVER ? RESOLVER_CALM : RESOLVER_WATCHING;
}

const struct resolver_counters *
resolver_counters(const struct resolver *resolver)
{
    return &resolver->counters;
}
