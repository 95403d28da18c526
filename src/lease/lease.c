/* Implements the holder's side of a lease: its states, requests and news. */
#include "lease/lease.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "base/timers.h"
#include "base/vec.h"

#define TTL (120 * SECOND)
#define INTERVAL (12 * SECOND)
#define PATIENCE (5 * SECOND)
#define RETRY SECOND /* after an unknown answer */

struct lease {
    char name[LEASE_TEXT_MAX];
    char owner[LEASE_TEXT_MAX];
    uint64_t ttl, interval, patience;
    enum lease_provider_kind provider;
    enum lease_use use;
    bool is_session;
    struct trace *trace;
    enum lease_state state;
    uint64_t asked_at;    /* ACQUIRING, RELEASING: when it began */
    /* when the state's next request is due; NEVER: it is under way, or none is due */
    uint64_t send_at;
    uint64_t valid_until; /* HELD */
    uint64_t token;
    uint64_t left_until; /* the lease was left and stays taken until then; 0: it was not left */
    bool is_away;  /* a request is with the provider */
    bool is_owing; /* the provider may consider it held here, although it is not */
    struct lease_request *request; /* waits for lease_next_request */
    VEC(enum lease_news) news;
    uint32_t news_head;
};

bool lease_name(char *name, const char *given, const char *system)
{
    bool is_given = given && given[strspn(given, " \t")];

    (void)snprintf(name, LEASE_TEXT_MAX, is_given ? "%s" : "%s-akka-sbr",
                   is_given ? given : system);
    return is_given;
}

struct lease *lease_new(const struct lease_options *options)
{
    struct lease *lease = mem_alloc(sizeof *lease);

    (void)snprintf(lease->name, sizeof lease->name, "%s",
                   options->name); /* cut, as the header says */
    (void)snprintf(lease->owner, sizeof lease->owner, "%s", options->owner);
    lease->ttl = options->ttl ? options->ttl : TTL;
    lease->interval = options->interval ? options->interval : INTERVAL;
    if (lease->interval > lease->ttl / 2)
        lease->interval = lease->ttl / 2;
    lease->patience = options->patience ? options->patience : PATIENCE;
    lease->provider = options->provider;
    lease->use = options->use;
    lease->is_session = options->is_session;
    lease->trace = options->trace;
    lease->send_at = NEVER;
    return lease;
}

void lease_free(struct lease *lease)
{
    if (!lease)
        return;
    mem_free(lease->request);
    vec_fini(&lease->news);
    mem_free(lease);
}

const char *lease_state_text(enum lease_state state)
{
    switch (state) {
        LEASE_STATES(TEXT_CASE)
    }
    return "?";
}

static void tell(struct lease *lease, enum lease_news news)
{
    vec_push(&lease->news, news);
}

static void enter(struct lease *lease, enum lease_state state,
                  uint64_t send_at)
{
    if (state != lease->state)
        trace_put(lease->trace, TRACE_INFO, "lease",
                  "lease is %s name=%s owner=%s", lease_state_text(state),
                  lease->name, lease->owner);
    lease->state = state;
    lease->send_at = send_at;
}

/* Adds an eighth, because clocks differ in speed. */
static uint64_t left_ttl(const struct lease *lease, uint64_t now)
{
    uint64_t left = lease->left_until - now;

    return left + left / 8;
}

/* A session begins anew with each acquire, and ends with its token. */
static void choose_verb(const struct lease *lease, struct lease_request *request)
{
    if (!lease->is_session)
        return;
    if (lease->state == LEASE_ACQUIRING)
        request->verb = LEASE_BEGIN;
    else
        request->token = lease->token;
}

/* Sends what is due, one request at a time. A holder that leaves releases nothing: its last lease
 * expires. */
static void settle(struct lease *lease, uint64_t now)
{
    bool is_due = lease->send_at <= now;
    bool is_leaving = lease->left_until > now;
    bool is_wanted = lease->state == LEASE_ACQUIRING ||
                     lease->state == LEASE_HELD;
    struct lease_request *request;

    if (lease->is_away ||
        (!is_due && (!lease->is_owing || lease->left_until ||
                     lease->state != LEASE_FREE)))
        return;
    request = mem_alloc(sizeof *request);
    request->verb = is_wanted || is_leaving ? LEASE_TAKE : LEASE_GIVE_UP;
    memcpy(request->name, lease->name, sizeof request->name);
    memcpy(request->owner, lease->owner, sizeof request->owner);
    request->ttl = is_leaving ? left_ttl(lease, now) : lease->ttl;
    request->provider = lease->provider;
    request->use = lease->use;
    request->sent_at = now;
    choose_verb(lease, request);
    lease->send_at = NEVER;
    lease->is_away = true;
    /* From here on the provider may consider it held. A refusal corrects this. */
    lease->is_owing = is_wanted;
    lease->request = request;
}

bool lease_is_held(const struct lease *lease, uint64_t now)
{
    return lease->state == LEASE_HELD && now < lease->valid_until;
}

void lease_acquire(struct lease *lease, uint64_t now)
{
    if (lease_is_held(lease, now)) {
        tell(lease, LEASE_NEWS_ACQUIRED);
        return;
    }
    lease->asked_at = now;
    enter(lease, LEASE_ACQUIRING, now);
    settle(lease, now);
}

void lease_release(struct lease *lease, uint64_t now)
{
    if (lease->state == LEASE_ACQUIRING)
        tell(lease, LEASE_NEWS_NOT_ACQUIRED);
    lease->asked_at = now;
    enter(lease, LEASE_RELEASING, now);
    settle(lease, now);
}

void lease_leave(struct lease *lease, uint64_t now, uint64_t at)
{
    if (!lease_is_held(lease, now))
        return;
    if (at > now) {
        lease->left_until = at;
        trace_put(lease->trace, TRACE_INFO, "lease",
                  "lease not released, it expires in ms=%llu name=%s",
                  (unsigned long long)((at - now) / MS), lease->name);
    }
    lease_release(lease, now);
}

/* ---- answers ---- */

static void granted(struct lease *lease, uint64_t now,
                    const struct lease_request *request)
{
    bool is_new = lease->state == LEASE_ACQUIRING;
    /* Subtracts an eighth, because clocks differ in speed. */
    uint64_t until = request->sent_at + lease->ttl - lease->ttl / 8;

    if (lease->is_session)
        lease->token = request->token; /* a session that is not wanted is given up by it */
    if ((lease->state != LEASE_HELD && !is_new) || until <= now)
        return; /* not wanted any more, or too late */
    lease->valid_until = until;
    lease->token = request->token;
    enter(lease, LEASE_HELD, request->sent_at + lease->interval);
    if (is_new)
        tell(lease, LEASE_NEWS_ACQUIRED);
}

static void refused(struct lease *lease)
{
    lease->is_owing = false;
    if (lease->state == LEASE_ACQUIRING)
        tell(lease, LEASE_NEWS_NOT_ACQUIRED);
    else if (lease->state == LEASE_HELD)
        tell(lease, LEASE_NEWS_LOST);
    if (lease->state != LEASE_RELEASING)
        enter(lease, LEASE_FREE, NEVER);
}

void lease_forgotten(struct lease *lease, uint64_t now)
{
    if (lease->state == LEASE_HELD) {
        refused(lease);
        /* The renewal under way may be granted anew. A session's token prevents that. */
        lease->is_owing = lease->is_away && !lease->is_session;
    }
    settle(lease, now);
}

/* Whether it is about a session that was lost. Its grant must not begin the next one. */
static bool is_outdated(const struct lease *lease, const struct lease_request *request)
{
    return lease->is_session && lease->state == LEASE_ACQUIRING && request->verb != LEASE_BEGIN;
}

static void took(struct lease *lease, uint64_t now,
                 const struct lease_request *request)
{
    if (is_outdated(lease, request))
        return;
    switch (request->answer) {
    case LEASE_GRANTED:
        granted(lease, now, request);
        break;
    case LEASE_REFUSED:
        refused(lease);
        break;
    case LEASE_UNKNOWN:
    case LEASE_UNANSWERED:
        /* A renewal may fail. It is repeated until the lease is not certain any more. */
        if (lease->state == LEASE_HELD) {
            lease->send_at = now + RETRY;
        } else if (lease->state == LEASE_ACQUIRING) {
            tell(lease, LEASE_NEWS_NOT_ACQUIRED);
            enter(lease, LEASE_FREE, NEVER);
        }
        break;
    }
}

static void gave_up(struct lease *lease,
                    const struct lease_request *request)
{
    bool is_done = request->answer == LEASE_GRANTED;

    lease->is_owing = false; /* otherwise the lease expires */
    if (lease->state != LEASE_RELEASING || lease->send_at != NEVER)
        return;
    tell(lease, is_done ? LEASE_NEWS_RELEASED : LEASE_NEWS_NOT_RELEASED);
    enter(lease, LEASE_FREE, NEVER);
}

void lease_answered(struct lease *lease, uint64_t now,
                    struct lease_request *request)
{
    check(lease->is_away);
    lease->is_away = false;
    if (request->verb != LEASE_GIVE_UP && !lease->left_until)
        took(lease, now, request);
    else
        gave_up(lease, request);
    mem_free(request);
    lease_step(lease, now);
}

/* ---- time ---- */

void lease_step(struct lease *lease, uint64_t now)
{
    bool is_late = now >= lease->asked_at + lease->patience;

    if (lease->state == LEASE_HELD && now >= lease->valid_until) {
        /* Bound leases may need the margin until a session expires: nobody gets them before. */
        lease->is_owing &= !lease->is_session;
        tell(lease, LEASE_NEWS_LOST);
        enter(lease, LEASE_FREE, NEVER);
    } else if (lease->state == LEASE_ACQUIRING && is_late) {
        tell(lease, LEASE_NEWS_NOT_ACQUIRED);
        enter(lease, LEASE_FREE, NEVER);
    } else if (lease->state == LEASE_RELEASING && is_late) {
        tell(lease, LEASE_NEWS_NOT_RELEASED);
        enter(lease, LEASE_FREE, NEVER);
    }
    settle(lease, now);
}

uint64_t lease_deadline(const struct lease *lease)
{
    uint64_t at = lease->is_away ? NEVER : lease->send_at;
    uint64_t end = NEVER;

    if (lease->state == LEASE_HELD)
        end = lease->valid_until;
    else if (lease->state != LEASE_FREE)
        end = lease->asked_at + lease->patience;
    return at < end ? at : end;
}

bool lease_next_request(struct lease *lease, struct lease_request **request)
{
    *request = lease->request;
    lease->request = NULL;
    return *request != NULL;
}

bool lease_next_news(struct lease *lease, enum lease_news *news)
{
    if (lease->news_head == lease->news.count) {
        lease->news_head = lease->news.count = 0;
        return false;
    }
    *news = lease->news.items[lease->news_head++];
    return true;
}

enum lease_state lease_state(const struct lease *lease)
{
    return lease->state;
}

uint64_t lease_until(const struct lease *lease)
{
    return lease->state == LEASE_HELD ? lease->valid_until : 0;
}

uint64_t lease_token(const struct lease *lease)
{
    return lease->token;
}
