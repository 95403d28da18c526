/* Provides a lane for the journal's tests: a journal on a memory store, whose requests run
 * immediately, and its news as text. */
#ifndef SHERD_TESTS_LANE_H
#define SHERD_TESTS_LANE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/check.h"
#include "base/timers.h"
#include "host/backend_memory.h"
#include "journal/journal.h"

struct lane {
    struct journal *journal;
    void *store;
    uint64_t now;
    uint64_t durable;
    char log[4096]; /* one word for each piece of news except DURABLE */
};

static inline void lane_open(struct lane *lane, const char *name)
{
    char error[BACKEND_ERROR_MAX];

    *lane = (struct lane){ .now = 1 };
    lane->journal = journal_new(&(struct journal_options){ .seed = 1 });
    lane->store = backend_memory.open(
        &(struct backend_options){ .path = name, .cluster = "test" },
        BACKEND_WRITER, error);
    assert_non_null(lane->store);
}

static inline void lane_close(struct lane *lane)
{
    journal_free(lane->journal);
    backend_memory.close(lane->store);
}

static inline void lane_note(struct lane *lane, const struct journal_news *news)
{
    size_t used = strlen(lane->log);
    char *at = lane->log + used;
    size_t left = sizeof lane->log - used;

    switch (news->kind) {
    case JOURNAL_DURABLE:
        assert_true(news->position > lane->durable);
        lane->durable = news->position;
        break;
    case JOURNAL_FAILED:
        snprintf(at, left, "failed(%llu,%s) ",
                 (unsigned long long)news->handle,
                 journal_reason_text(news->reason));
        break;
    case JOURNAL_CLAIMED:
        snprintf(at, left, "claimed(%.*s,%llu.%llu) ", (int)news->shard.size,
                 (const char *)news->shard.data,
                 (unsigned long long)news->fence.term,
                 (unsigned long long)news->fence.epoch);
        break;
    case JOURNAL_OTHER_STORE:
    case JOURNAL_SHARD_FENCED:
        snprintf(at, left, "%s(%.*s,%llu.%llu) ",
                 news->kind == JOURNAL_OTHER_STORE ? "other-store" : "fenced",
                 (int)news->shard.size,
                 (const char *)news->shard.data,
                 (unsigned long long)news->fence.term,
                 (unsigned long long)news->fence.epoch);
        break;
    case JOURNAL_EVENT:
        snprintf(at, left, "event(%llu,%llu,%.*s) ",
                 (unsigned long long)news->handle,
                 (unsigned long long)news->seq, (int)news->event.payload.size,
                 (const char *)news->event.payload.data);
        break;
    case JOURNAL_SNAPSHOT:
        snprintf(at, left, "snapshot(%llu,%llu,%.*s) ",
                 (unsigned long long)news->handle,
                 (unsigned long long)news->seq, (int)news->event.payload.size,
                 (const char *)news->event.payload.data);
        break;
    case JOURNAL_SAVED:
        snprintf(at, left, "saved(%llu,%llu) ",
                 (unsigned long long)news->handle,
                 (unsigned long long)news->seq);
        break;
    case JOURNAL_RECOVERED:
        snprintf(at, left, "recovered(%llu,%llu) ",
                 (unsigned long long)news->handle,
                 (unsigned long long)news->seq);
        break;
    }
}

static inline void lane_drain(struct lane *lane)
{
    struct journal_news news;

    while (journal_next_news(lane->journal, &news))
        lane_note(lane, &news);
}

static inline void lane_run(struct lane *lane, struct journal_request *request)
{
    if (journal_request_reads(request))
        backend_memory.read(lane->store, &request, 1);
    else
        backend_memory.write(lane->store, &request, 1);
}

/* Runs the request and replies with it. */
static inline void lane_answer(struct lane *lane, struct journal_request *request)
{
    lane_run(lane, request);
    journal_reply(lane->journal, lane->now, request);
}

/* Runs requests until there are none. */
static inline void lane_settle(struct lane *lane)
{
    struct journal_request *request;

    lane_drain(lane);
    while ((request = journal_take_request(lane->journal, lane->now))) {
        lane_answer(lane, request);
        lane_drain(lane);
    }
}

/* Compares the news since the last call, and clears them. */
#define lane_said(lane, words)                    \
    do {                                          \
        assert_string_equal((lane)->log, words);  \
        (lane)->log[0] = 0;                       \
    } while (0)

static inline void lane_claim(struct lane *lane, const char *shard,
                              uint64_t term, uint64_t epoch)
{
    journal_claim(lane->journal, slice_text("T"), slice_text(shard),
                  (struct fence){ term, epoch }, (struct proof){ 0 });
}

static inline void lane_replay(struct lane *lane, uint64_t handle,
                               const char *shard, const char *id)
{
    journal_replay(lane->journal, handle, slice_text("T"), slice_text(shard),
                   slice_text(id));
}

static inline uint64_t lane_append(struct lane *lane, uint64_t handle,
                                   const char *event)
{
    return journal_append(lane->journal, handle,
                        (struct entity_event){ .type = 1, .payload = slice_text(event) });
}

/* Claims a shard and recovers an entity; the log is empty afterwards. */
static inline void lane_ready(struct lane *lane, uint64_t handle,
                              const char *shard, const char *id)
{
    lane_claim(lane, shard, 1, 1);
    lane_replay(lane, handle, shard, id);
    lane_settle(lane);
    lane->log[0] = 0;
}

#endif
