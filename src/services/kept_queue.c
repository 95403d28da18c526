/* Keeps messages until an actor passes them on or ends them. */
#include "services/kept_queue.h"

#include "base/limits.h"
#include "base/mark.h"

static struct message *take(struct kept_queue *queue)
{
    struct message *message;

    if (queue->head == queue->items.count)
        return NULL;
    message = queue->items.items[queue->head++];
    queue->bytes -= actors_kept_size(message);
    if (queue->head == queue->items.count) {
        queue->head = 0;
        vec_empty(&queue->items, 64);
    }
    return message;
}

static uint32_t waiting(const struct kept_queue *queue)
{
    return queue->items.count - queue->head;
}

/* Frees the places of those that are gone, once they are half of all. */
static void tidy(struct kept_queue *queue)
{
    if (queue->head < 64 || queue->head < queue->items.count / 2)
        return;
    memmove(queue->items.items, queue->items.items + queue->head,
            waiting(queue) * sizeof *queue->items.items);
    queue->items.count -= queue->head;
    queue->head = 0;
}

void kept_queue_put(struct kept_queue *queue, struct sherd_ctx *ctx)
{
    struct message *message = actors_keep(ctx);

    if (!message)
        return;
    queue->actors = actors_of(ctx);
    tidy(queue);
    vec_push(&queue->items, message);
    queue->bytes += actors_kept_size(message);
    while (waiting(queue) > queue->max ||
           (queue->bytes > KEPT_QUEUE_BYTES_MAX && waiting(queue) > 1)) {
        REACHED("the buffer of a singleton's proxy is full");
        actors_kept_end(ctx, take(queue), SHERD_REASON_BUFFER_FULL);
    }
}

void kept_queue_send(struct kept_queue *queue, struct sherd_ctx *ctx, struct sherd_ref to)
{
    struct message *message;

    while ((message = take(queue)))
        actors_kept_send(ctx, message, to);
}

void kept_queue_end(struct kept_queue *queue, struct sherd_ctx *ctx, enum sherd_reason reason)
{
    struct message *message;

    while ((message = take(queue)))
        actors_kept_end(ctx, message, reason);
}

void kept_queue_fini(struct kept_queue *queue)
{
    struct message *message;

    while ((message = take(queue)))
        actors_kept_free(queue->actors, message);
    vec_fini(&queue->items);
}
