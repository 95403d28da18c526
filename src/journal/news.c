/* Queues news and refs, and has what all other files of the journal use. */
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

static void free_news(struct journal_news *news)
{
    if (news->kind == JOURNAL_EVENT || news->kind == JOURNAL_SNAPSHOT)
        return; /* lent from its chunk */
    mem_free((void *)(uintptr_t)news->type.data);
    mem_free((void *)(uintptr_t)news->shard.data);
    mem_free((void *)(uintptr_t)news->text);
}

void news_fini(struct journal *journal)
{
    if (journal->has_last_news)
        free_news(&journal->last_news);
    for (uint32_t i = journal->news_head; i < journal->news.count; i++)
        free_news(&journal->news.items[i]);
    vec_fini(&journal->news);
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

bool news_take(struct journal *journal, struct journal_news *news)
{
    if (journal->has_last_news) {
        free_news(&journal->last_news);
        journal->has_last_news = false;
    }
    if (journal->news_head == journal->news.count) {
        journal->news.count = journal->news_head = 0;
        return false;
    }
    journal->last_news = journal->news.items[journal->news_head++];
    journal->has_last_news = true;
    *news = journal->last_news;
    if (!news->text)
        news->text = "";
    return true;
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
