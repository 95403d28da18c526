/* Creates the journal, and routes its requests, replies and news. */
#include "journal/journal.h"

#include "base/check.h"
#include "base/limits.h"
#include "journal/state.h"

struct journal *journal_new(const struct journal_options *options)
{
    struct journal *journal = mem_alloc(sizeof *journal);

    journal->options = *options;
    if (!options->replays_max || options->replays_max > JOURNAL_REPLAYS_MAX)
        journal->options.replays_max = JOURNAL_REPLAYS_MAX;
    rng_init(&journal->rng, options->seed);
    return journal;
}

void journal_free(struct journal *journal)
{
    if (!journal)
        return;
    news_fini(journal);
    write_fini(journal);
    saving_fini(journal);
    replay_fini(journal);
    entities_fini(journal);
    shards_fini(journal);
    timers_fini(&journal->timers);
    buf_fini(&journal->scratch);
    mem_free(journal);
}

struct journal_request *journal_take_request(struct journal *journal,
                                           uint64_t now)
{
    struct journal_request *request;
    struct timer timer;

    while (timers_take(&journal->timers, now, &timer)) {
        if (timer.kind == TIMER_CLAIM)
            shards_timer(journal, timer.id);
        else if (timer.kind == TIMER_REPEAT && journal->repeat)
            journal->repeat_due = true;
    }
    request = shards_take_request(journal);
    if (!request)
        request = write_take_request(journal);
    if (!request)
        request = replay_take_request(journal, now);
    if (!request)
        request = saving_take_request(journal, now);
    return request;
}

void journal_reply(struct journal *journal, uint64_t now,
                   struct journal_request *reply)
{
    if (saving_owns(reply)) {
        saving_reply(journal, now, reply);
    } else if (reply->verb == BACKEND_APPEND) {
        write_reply(journal, now, reply);
    } else if (reply->verb == BACKEND_CLAIM) {
        shards_reply(journal, now, reply);
    } else if (reply->verb == BACKEND_REPLAY || reply->verb == BACKEND_LOAD ||
               reply->verb == BACKEND_DROP) {
        replay_reply(journal, now, reply);
    } else {
        journal->status.ignored++;
        journal_request_free(reply);
    }
}

uint64_t journal_deadline(const struct journal *journal)
{
    return timers_deadline(&journal->timers);
}

bool journal_next_news(struct journal *journal, struct journal_news *news)
{
    if (news_take(journal, news))
        return true;
    if (journal->durable_reported < journal->status.durable) {
        journal->durable_reported = journal->status.durable;
        *news = (struct journal_news){ .kind = JOURNAL_DURABLE,
                                       .position = journal->durable_reported,
                                       .text = "" };
        return true;
    }
    if (!replay_next(journal, news))
        return false;
    if (!news->text)
        news->text = "";
    return true;
}

void journal_status(const struct journal *journal,
                    struct journal_status *status)
{
    *status = journal->status;
}

uint32_t journal_work(const struct journal *journal)
{
    uint32_t work = 0;

    if (journal->repeat || journal->repeat_attempt)
        work |= JOURNAL_REPEATING;
    else if (journal->in_flight)
        work |= JOURNAL_WRITING;
    if (journal->group)
        work |= JOURNAL_COLLECTING;
    if (journal->raising)
        work |= JOURNAL_RAISING;
    if (journal->status.replays_running)
        work |= JOURNAL_REPLAYING;
    return work;
}

uint64_t journal_seq(const struct journal *journal, uint64_t handle)
{
    const struct entity *entity = entity_find(journal, handle);

    return entity ? entity->seq : 0;
}
