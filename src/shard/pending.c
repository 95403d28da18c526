/* Implements the queues of waiting messages and their common limit. */
#include "shard/pending.h"

#include "base/bound.h"
#include "base/check.h"
#include "base/limits.h"
#include "base/mark.h"

void pending_budget_init(struct pending_budget *budget, uint64_t count_max,
                      uint64_t bytes_max, uint32_t lanes)
{
    check(lanes > 0);
    *budget = (struct pending_budget){ 0 };
    budget->count_max = (count_max ? count_max : PENDING_COUNT_MAX) / lanes;
    budget->bytes_max = (bytes_max ? bytes_max : PENDING_BYTES_MAX) / lanes;
    if (budget->count_max == 0)
        budget->count_max = 1;
    if (budget->bytes_max == 0)
        budget->bytes_max = 1;
}

static void append(struct pending_queue *queue, struct pending_item *held)
{
    held->next = NULL;
    if (queue->last)
        queue->last->next = held;
    else
        queue->first = held;
    queue->last = held;
    queue->count++;
}

bool pending_put(struct pending_queue *queue, struct pending_budget *budget,
              uint64_t now, struct pending_item *held)
{
    if (budget->count >= budget->count_max ||
        held->size > budget->bytes_max - budget->bytes) {
        REACHED("a buffer of waiting messages is full");
        budget->refused++;
        return false;
    }
    held->since = now;
    append(queue, held);
    budget->count++;
    budget->bytes += held->size;
    BOUNDED("messages that wait in a region", budget->count, budget->count_max);
    BOUNDED("bytes that wait in a region", budget->bytes, budget->bytes_max);
    if (budget->count > budget->count_peak)
        budget->count_peak = budget->count;
    return true;
}

struct pending_item *pending_take(struct pending_queue *queue, struct pending_budget *budget)
{
    struct pending_item *held = queue->first;
    if (!held)
        return NULL;
    queue->first = held->next;
    if (!queue->first)
        queue->last = NULL;
    queue->count--;
    held->next = NULL;
    check(budget->count > 0 && budget->bytes >= held->size);
    budget->count--;
    budget->bytes -= held->size;
    return held;
}

void pending_move_if(struct pending_queue *queue, struct pending_budget *budget,
                     pending_test *test, const void *user, struct pending_queue *out)
{
    struct pending_queue kept = { 0 };
    struct pending_item *next;

    for (struct pending_item *held = queue->first; held; held = next) {
        next = held->next;
        if (!test(held, user)) {
            append(&kept, held);
            continue;
        }
        append(out, held);
        budget->count--;
        budget->bytes -= held->size;
    }
    *queue = kept;
}

void pending_append(struct pending_queue *queue, struct pending_queue *from)
{
    if (!from->first)
        return;
    if (queue->last)
        queue->last->next = from->first;
    else
        queue->first = from->first;
    queue->last = from->last;
    queue->count += from->count;
    *from = (struct pending_queue){ 0 };
}

void pending_prepend(struct pending_queue *queue, struct pending_queue *from)
{
    SOMETIMES("older messages return ahead of the waiting ones",
              from->count && queue->count);
    pending_append(from, queue);
    *queue = *from;
    *from = (struct pending_queue){ 0 };
}
