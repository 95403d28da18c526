/* Implements a node's leases at one provider: its session, and the batches of bound leases. */
#include "lease/group.h"

#include <stdio.h>
#include <string.h>

#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/mark.h"
#include "base/text.h"
#include "base/timers.h"
#include "base/vec.h"

#define RETRY SECOND /* until an unknown release is repeated */

enum stage {
    STAGE_REST,
    STAGE_QUEUED,
    STAGE_SENT /* in the batch that is away */
};

/* One lease. It exists while it is wanted, or the provider may consider it held here. */
struct one {
    uint64_t key;
    uint32_t ticket;
    enum stage stage;
    bool is_wanted;
    bool is_held;
    bool may_be_there; /* the provider may have it for this session */
    bool is_told;      /* RELEASED was told; the release is repeated until it is certain */
    size_t size;
    char name[]; /* size bytes, zero-terminated */
};

struct lease_group {
    struct lease *session;
    struct lease_options options; /* its texts are the session's, see name and owner */
    char name[LEASE_TEXT_MAX];
    char owner[LEASE_TEXT_MAX];
    struct map ones;      /* key -> struct one */
    VEC(uint64_t) queue;  /* keys, from queue_head on */
    uint32_t queue_head;
    uint64_t sent[LEASE_BIND_MAX]; /* keys of the batch that is away */
    bool is_batch_away;
    bool has_ended;
    uint64_t retry_at; /* of unknown releases; NEVER: none */
    uint64_t told_until; /* of the last EXTENDED or GRANTED */
    uint32_t held;
    struct lease_request *batch; /* waits for lease_group_next_request */
    VEC(struct lease_group_news) news;
    uint32_t news_head;
};

struct lease_group *lease_group_new(const struct lease_options *session)
{
    struct lease_group *group = mem_alloc(sizeof *group);
    struct lease_options options = *session;

    options.is_session = true;
    (void)snprintf(group->name, sizeof group->name, "%s", session->name); /* cut, as in lease_new */
    (void)snprintf(group->owner, sizeof group->owner, "%s", session->owner);
    group->options = options;
    group->options.name = group->name;
    group->options.owner = group->owner;
    group->session = lease_new(&options);
    group->retry_at = NEVER;
    return group;
}

void lease_group_free(struct lease_group *group)
{
    struct map_entry entry;
    uint32_t at = 0;

    if (!group)
        return;
    while (map_next(&group->ones, &at, &entry))
        mem_free(entry.value);
    map_fini(&group->ones);
    lease_free(group->session);
    mem_free(group->batch);
    vec_fini(&group->queue);
    vec_fini(&group->news);
    mem_free(group);
}

static void tell(struct lease_group *group, enum lease_group_news_kind kind, const struct one *one,
                 bool is_unknown)
{
    vec_push(&group->news,
             ((struct lease_group_news){ .kind = kind,
                                         .is_unknown = is_unknown,
                                         .key = one ? one->key : 0,
                                         .ticket = one ? one->ticket : 0,
                                         .until = lease_until(group->session) }));
}

/* ---- one lease ---- */

static struct one *find(const struct lease_group *group, uint64_t key)
{
    return map_get(&group->ones, map_u64(&key));
}

static void set_held(struct lease_group *group, struct one *one, bool is_held)
{
    group->held += (uint32_t)is_held - (uint32_t)one->is_held;
    one->is_held = is_held;
}

static void drop(struct lease_group *group, struct one *one)
{
    check(one->stage != STAGE_SENT && !one->is_held);
    (void)map_take(&group->ones, map_u64(&one->key)); /* this one */
    mem_free(one);
}

static void enqueue(struct lease_group *group, struct one *one)
{
    if (one->stage != STAGE_REST)
        return;
    one->stage = STAGE_QUEUED;
    vec_push(&group->queue, one->key);
}

static void denied(struct lease_group *group, struct one *one, bool is_unknown)
{
    tell(group, LEASE_GROUP_DENIED, one, is_unknown);
    one->is_wanted = false;
    if (one->may_be_there)
        return; /* until the caller takes it again, or gives it up */
    one->stage = STAGE_REST;
    drop(group, one);
}

/* The lease is not wanted, and certainly not held for this session. */
static void released(struct lease_group *group, struct one *one)
{
    if (!one->is_told)
        tell(group, LEASE_GROUP_RELEASED, one, false);
    one->stage = STAGE_REST;
    drop(group, one);
}

/* ---- batches ---- */

/* Returns the next lease of the queue; null if none is left. Skips those that were dropped. */
static struct one *next_queued(struct lease_group *group)
{
    while (group->queue_head < group->queue.count) {
        struct one *one = find(group, group->queue.items[group->queue_head++]);

        if (one && one->stage == STAGE_QUEUED)
            return one;
    }
    group->queue_head = group->queue.count = 0;
    return NULL;
}

static uint32_t batch_size(const struct lease_group *group)
{
    uint32_t count = group->queue.count - group->queue_head;

    return count < LEASE_BIND_MAX ? count : LEASE_BIND_MAX;
}

static void put(struct lease_group *group, struct lease_request *batch, struct one *one)
{
    struct lease_bound *bound = &batch->bound[batch->count];

    group->sent[batch->count++] = one->key;
    memcpy(bound->name, one->name, one->size);
    bound->is_given_up = !one->is_wanted;
    one->may_be_there = true; /* an answer corrects this */
    one->stage = STAGE_SENT;
}

/* Sends what is queued, one batch at a time, while the session is held. */
static void send_batch(struct lease_group *group, uint64_t now)
{
    struct lease_request *batch;
    struct one *one;
    uint32_t room = batch_size(group);

    if (group->is_batch_away || !room || !lease_is_held(group->session, now))
        return;
    batch = lease_request_new(room);
    batch->count = 0;
    while (batch->count < room && (one = next_queued(group)))
        put(group, batch, one);
    if (!batch->count) {
        mem_free(batch);
        return;
    }
    BOUNDED("bound leases of a request", batch->count, LEASE_BIND_MAX);
    batch->verb = LEASE_BIND;
    batch->provider = group->options.provider;
    batch->use = group->options.use;
    memcpy(batch->name, group->name, sizeof batch->name);
    memcpy(batch->owner, group->owner, sizeof batch->owner);
    batch->token = lease_token(group->session);
    batch->sent_at = now;
    group->batch = batch;
    group->is_batch_away = true;
}

/* The batch was for a session that has ended, and its leases with it. */
static void outdated(struct lease_group *group, struct one *one)
{
    REACHED("the answer about a bound lease is of an earlier session");
    one->may_be_there = false;
    if (!one->is_wanted)
        released(group, one);
    else if (group->has_ended)
        denied(group, one, true);
    else
        enqueue(group, one);
}

static void taken(struct lease_group *group, struct one *one, enum lease_answer answer)
{
    switch (answer) {
    case LEASE_GRANTED:
        if (!one->is_wanted) {
            REACHED("a bound lease is granted that is not wanted any more");
            enqueue(group, one);
            return;
        }
        set_held(group, one, true);
        tell(group, LEASE_GROUP_GRANTED, one, false);
        return;
    case LEASE_REFUSED:
        one->may_be_there = false;
        if (one->is_wanted)
            denied(group, one, false);
        else
            released(group, one);
        return;
    case LEASE_UNKNOWN:
    case LEASE_UNANSWERED:
        REACHED("the answer about a bound lease is unknown");
        if (one->is_wanted)
            denied(group, one, true);
        else
            enqueue(group, one);
        return;
    }
}

/* Without a certain answer the other nodes may find it taken as long as the session lives: the
 * release is repeated. */
static void given_up(struct lease_group *group, uint64_t now, struct one *one,
                     enum lease_answer answer)
{
    bool is_certain = answer == LEASE_GRANTED || answer == LEASE_REFUSED;

    one->may_be_there = !is_certain;
    if (one->is_wanted) {
        enqueue(group, one);
    } else if (is_certain) {
        released(group, one);
    } else {
        if (!one->is_told)
            tell(group, LEASE_GROUP_RELEASED, one, true);
        one->is_told = true;
        if (group->retry_at == NEVER)
            group->retry_at = now + RETRY;
    }
}

static void batch_answered(struct lease_group *group, uint64_t now,
                           const struct lease_request *batch)
{
    bool is_of_session = lease_is_held(group->session, now) &&
                         batch->token == lease_token(group->session);

    group->is_batch_away = false;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct lease_bound *bound = &batch->bound[i];
        struct one *one = find(group, group->sent[i]);

        check(one != NULL && one->stage == STAGE_SENT);
        one->stage = STAGE_REST;
        if (!is_of_session)
            outdated(group, one);
        else if (bound->is_given_up)
            given_up(group, now, one, bound->answer);
        else
            taken(group, one, bound->answer);
    }
}

/* ---- the session ---- */

/* Denied leases leave their places in the queue. Nothing else takes these away while no session can
 * be had, possibly for days. */
static void tidy_queue(struct lease_group *group)
{
    uint32_t kept = 0;

    for (uint32_t i = group->queue_head; i < group->queue.count; i++) {
        const struct one *one = find(group, group->queue.items[i]);

        if (one && one->stage == STAGE_QUEUED)
            group->queue.items[kept++] = one->key;
    }
    group->queue.count = kept;
    group->queue_head = 0;
}

/* Leases wait for a session that cannot be had now. */
static void deny_waiting(struct lease_group *group)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&group->ones, &at, &entry)) {
        struct one *one = entry.value;

        if (one->is_wanted && one->stage == STAGE_QUEUED)
            denied(group, one, true);
    }
    tidy_queue(group);
}

/* All leases ended with the session. Those that wait begin with the next one. */
static void session_ended(struct lease_group *group, uint64_t now)
{
    struct map_entry entry;
    uint32_t at = 0;
    bool waits = false;

    tell(group, LEASE_GROUP_LOST, NULL, false);
    group->told_until = 0;
    while (map_next(&group->ones, &at, &entry)) {
        struct one *one = entry.value;
        bool was_held = one->is_held;

        set_held(group, one, false);
        if (one->stage == STAGE_SENT) {
            waits |= one->is_wanted;
            continue;
        }
        one->may_be_there = false;
        if (was_held) {
            one->is_wanted = false; /* LOST tells it */
            drop(group, one);
        } else if (one->is_wanted) {
            waits = true;
        } else {
            released(group, one);
        }
    }
    if (waits && !group->has_ended)
        lease_acquire(group->session, now);
}

static void take_session_news(struct lease_group *group, uint64_t now)
{
    enum lease_news news;

    while (lease_next_news(group->session, &news)) {
        switch (news) {
        case LEASE_NEWS_ACQUIRED:
            group->told_until = lease_until(group->session);
            break;
        case LEASE_NEWS_NOT_ACQUIRED:
            deny_waiting(group);
            break;
        case LEASE_NEWS_LOST:
            session_ended(group, now);
            break;
        case LEASE_NEWS_RELEASED:
        case LEASE_NEWS_NOT_RELEASED:
            break;
        }
    }
}

static void tell_extended(struct lease_group *group)
{
    uint64_t until = lease_until(group->session);

    if (!until || until <= group->told_until)
        return;
    group->told_until = until;
    tell(group, LEASE_GROUP_EXTENDED, NULL, false);
}

static void settle(struct lease_group *group, uint64_t now)
{
    take_session_news(group, now);
    tell_extended(group);
    send_batch(group, now);
}

/* ---- calls ---- */

static struct one *make(struct lease_group *group, uint64_t key, struct slice name)
{
    size_t size = name.size < LEASE_TEXT_MAX ? name.size : LEASE_TEXT_MAX - 1;
    struct one *one = mem_alloc(sizeof *one + size + 1);

    one->key = key;
    one->size = size + 1;
    memcpy(one->name, name.data, size);
    (void)map_put(&group->ones, map_u64(&key), one); /* it replaces no other */
    return one;
}

void lease_group_take(struct lease_group *group, uint64_t now, uint64_t key, uint32_t ticket,
                      struct slice name)
{
    struct one *one;

    if (lease_deadline(group->session) <= now)
        lease_group_step(group, now); /* a loss is told before this call's answer */
    one = find(group, key);
    if (!one)
        one = make(group, key, name);
    one->ticket = ticket;
    one->is_wanted = true;
    one->is_told = false;
    if (group->has_ended) {
        if (one->stage != STAGE_SENT)
            denied(group, one, true);
        return;
    }
    if (one->is_held) {
        tell(group, LEASE_GROUP_GRANTED, one, false);
        return;
    }
    enqueue(group, one);
    if (lease_state(group->session) == LEASE_FREE)
        lease_acquire(group->session, now);
    settle(group, now);
}

void lease_group_give_up(struct lease_group *group, uint64_t now, uint64_t key, uint32_t ticket)
{
    struct one *one = find(group, key);

    if (!one) {
        const struct one none = { .key = key, .ticket = ticket };

        tell(group, LEASE_GROUP_RELEASED, &none, false);
        return;
    }
    one->ticket = ticket;
    one->is_wanted = false;
    one->is_told = false;
    set_held(group, one, false);
    if (one->stage == STAGE_SENT)
        return; /* its answer comes first */
    if (one->may_be_there && lease_is_held(group->session, now))
        enqueue(group, one);
    else
        released(group, one);
    settle(group, now);
}

void lease_group_end(struct lease_group *group, uint64_t now)
{
    if (group->has_ended)
        return;
    group->has_ended = true;
    if (lease_state(group->session) != LEASE_FREE) {
        lease_release(group->session, now);
        session_ended(group, now);
    }
    deny_waiting(group);
    settle(group, now);
}

void lease_group_forgotten(struct lease_group *group, uint64_t now)
{
    lease_forgotten(group->session, now);
    settle(group, now);
}

bool lease_group_ends(const struct lease_group *group)
{
    return group->has_ended && lease_state(group->session) == LEASE_RELEASING;
}

void lease_group_answered(struct lease_group *group, uint64_t now,
                          struct lease_request *request)
{
    if (request->verb == LEASE_BIND) {
        batch_answered(group, now, request);
        mem_free(request);
    } else {
        lease_answered(group->session, now, request);
    }
    settle(group, now);
}

/* ---- time ---- */

static void retry(struct lease_group *group)
{
    struct map_entry entry;
    uint32_t at = 0;

    group->retry_at = NEVER;
    while (map_next(&group->ones, &at, &entry)) {
        struct one *one = entry.value;

        if (one->is_told && one->stage == STAGE_REST)
            enqueue(group, one);
    }
}

void lease_group_step(struct lease_group *group, uint64_t now)
{
    lease_step(group->session, now);
    if (group->retry_at <= now)
        retry(group);
    settle(group, now);
}

uint64_t lease_group_deadline(const struct lease_group *group)
{
    uint64_t session = lease_deadline(group->session);

    return session < group->retry_at ? session : group->retry_at;
}

bool lease_group_next_request(struct lease_group *group, struct lease_request **request)
{
    if (lease_next_request(group->session, request))
        return true;
    *request = group->batch;
    group->batch = NULL;
    return *request != NULL;
}

bool lease_group_next_news(struct lease_group *group, struct lease_group_news *news)
{
    if (group->news_head == group->news.count) {
        group->news_head = group->news.count = 0;
        return false;
    }
    *news = group->news.items[group->news_head++];
    return true;
}

uint64_t lease_group_until(const struct lease_group *group)
{
    return lease_until(group->session);
}

enum lease_state lease_group_state(const struct lease_group *group)
{
    return lease_state(group->session);
}

uint64_t lease_group_token(const struct lease_group *group)
{
    return lease_token(group->session);
}

uint32_t lease_group_queued(const struct lease_group *group)
{
    return group->queue.count;
}

uint32_t lease_group_held(const struct lease_group *group)
{
    return group->held;
}
