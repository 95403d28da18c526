/* Keeps the snapshots that wait for their events or the backend, within limits. */
#include "base/limits.h"
#include "base/mark.h"
#include "journal/state.h"

void saving_empty(struct journal *journal, struct saving *saving)
{
    journal->savings_size -= saving->bytes.size;
    buf_fini(&saving->bytes);
}

static void saving_free(struct journal *journal, struct saving *saving)
{
    saving_empty(journal, saving);
    mem_free((void *)(uintptr_t)saving->type.data);
    mem_free((void *)(uintptr_t)saving->shard.data);
    mem_free((void *)(uintptr_t)saving->id.data);
    mem_free(saving);
}

void saving_remove(struct journal *journal, uint32_t at)
{
    saving_free(journal, journal->savings.items[at]);
    vec_remove(&journal->savings, at);
}

/* Removes the oldest ones that are not at the backend, until there is room for one more. */
static void make_room(struct journal *journal)
{
    uint32_t first = journal->savings.count && journal->savings.items[0]->step != SAVING_WAITS;

    while (journal->savings.count > first &&
           (journal->savings_size > JOURNAL_SNAPSHOTS_SIZE_MAX ||
            journal->savings.count >= JOURNAL_SNAPSHOTS_MAX)) {
        REACHED("a snapshot is dropped because many wait");
        journal->status.snapshots_failed++;
        saving_remove(journal, first);
    }
}

void saving_put(struct journal *journal, struct saving *saving)
{
    journal->savings_size += saving->bytes.size;
    make_room(journal);
    vec_push(&journal->savings, saving);
}

void saving_drop(struct journal *journal, uint64_t entity)
{
    for (uint32_t i = journal->savings.count; i-- > 0;)
        if (journal->savings.items[i]->entity == entity &&
            journal->savings.items[i]->step == SAVING_WAITS) {
            journal->status.snapshots_failed++;
            saving_remove(journal, i);
        }
}

void saving_fini(struct journal *journal)
{
    while (journal->savings.count)
        saving_remove(journal, journal->savings.count - 1);
    vec_fini(&journal->savings);
}
