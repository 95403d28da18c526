/* Creates the journal, routes its requests and replies, and queues its news. */
#include "journal/journal.h"

#include "base/check.h"
#include "base/limits.h"
#include "journal/state.h"

void refs_push(struct refs *refs, uint64_t ref)
{
    /* Frees the taken front when it is the larger part. */
    if (refs->head > 64 && refs->head * 2 > refs->list.count) {
        memmove(refs->list.items, refs->list.items + refs->head,
                (refs->list.count - refs->head) * sizeof *refs->list.items);
        refs->list.count -= refs->head;
        refs->head = 0;
    }
    vec_push(&refs->list, ref);
}

bool refs_take(struct refs *refs, uint64_t *ref)
{
    if (refs->head == refs->list.count) {
        refs->head = refs->list.count = 0;
        return false;
    }
    *ref = refs->list.items[refs->head++];
    return true;
}

struct slice copy_slice(struct slice slice)
{
    return slice_of(mem_copy(slice.data, slice.size), slice.size);
}

struct journal *journal_new(const struct journal_options *options)
{
    struct journal *journal = mem_alloc(sizeof *journal);

    journal->options = *options;
    if (!options->replays_max || options->replays_max > JOURNAL_REPLAYS_MAX)
        journal->options.replays_max = JOURNAL_REPLAYS_MAX;
    rng_init(&journal->rng, options->seed);
    return journal;
}

static void free_news(struct journal_news *news)
{
    if (news->kind == JOURNAL_EVENT)
        return; /* lent from its chunk */
    mem_free((void *)(uintptr_t)news->type.data);
    mem_free((void *)(uintptr_t)news->shard.data);
    mem_free((void *)(uintptr_t)news->text);
}

void journal_free(struct journal *journal)
{
    if (!journal)
        return;
    if (journal->has_last_news)
        free_news(&journal->last_news);
    for (uint32_t i = journal->news_head; i < journal->news.count; i++)
        free_news(&journal->news.items[i]);
    vec_fini(&journal->news);
    write_fini(journal);
    replay_fini(journal);
    entities_fini(journal);
    shards_fini(journal);
    timers_fini(&journal->timers);
    buf_fini(&journal->scratch);
    mem_free(journal);
}

uint64_t retry_at(struct journal *journal, uint64_t now, uint32_t attempt)
{
    uint64_t delay = JOURNAL_RETRY_MS_MIN * MS;

    while (attempt-- && delay < JOURNAL_RETRY_MS_MAX * MS)
        delay *= 2;
    if (delay > JOURNAL_RETRY_MS_MAX * MS)
        delay = JOURNAL_RETRY_MS_MAX * MS;
    return now + delay / 2 + rng_below(&journal->rng, delay / 2);
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
    return request;
}

void journal_reply(struct journal *journal, uint64_t now,
                   struct journal_request *reply)
{
    if (reply->verb == BACKEND_APPEND) {
        write_reply(journal, now, reply);
    } else if (reply->verb == BACKEND_CLAIM) {
        shards_reply(journal, now, reply);
    } else if (reply->verb == BACKEND_REPLAY) {
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

void put_news(struct journal *journal, const struct journal_news *news,
              const char *text)
{
    struct journal_news own = *news;

    if (news->type.data)
        own.type = copy_slice(news->type);
    if (news->shard.data)
        own.shard = copy_slice(news->shard);
    own.text = mem_text(text);
    vec_push(&journal->news, own);
}

bool journal_next_news(struct journal *journal, struct journal_news *news)
{
    if (journal->has_last_news) {
        free_news(&journal->last_news);
        journal->has_last_news = false;
    }
    if (journal->news_head < journal->news.count) {
        journal->last_news = journal->news.items[journal->news_head++];
        journal->has_last_news = true;
        *news = journal->last_news;
        if (!news->text)
            news->text = "";
        return true;
    }
    journal->news.count = journal->news_head = 0;
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

const char *journal_reason_text(enum journal_reason reason)
{
    switch (reason) {
    case JOURNAL_OK:
        return "ok";
    case JOURNAL_FENCED:
        return "fenced";
    case JOURNAL_NOT_STORED:
        return "not stored";
    case JOURNAL_CONFLICT:
        return "sequence number taken by another writer";
    case JOURNAL_TOO_LARGE:
        return "event too large";
    case JOURNAL_DAMAGED:
        return "damaged record";
    case JOURNAL_UNREADABLE:
        return "journal not readable";
    }
    return "unknown";
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
