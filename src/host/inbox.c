/* Implements a thread's inbox as two arrays, exchanged under a mutex. */
#define _GNU_SOURCE
#include "host/inbox.h"

#include <unistd.h>

#include "actor/job.h"
#include "base/limits.h"
#include "ddata/durable.h"
#include "host/tls.h"
#include "journal/backend.h"

void inbox_init(struct inbox *inbox)
{
    memset(inbox, 0, sizeof *inbox);
    check(uv_mutex_init(&inbox->mutex) == 0);
}

static void free_item(struct inbox_item *item)
{
    switch (item->kind) {
    case INBOX_MAIL:
        mail_free(&item->is.mail);
        break;
    case INBOX_ACCEPTED:
        accepted_free(item->is.accepted);
        break;
    case INBOX_STORED:
        journal_request_free(item->is.request);
        break;
    case INBOX_LEASED:
        mem_free(item->is.lease);
        break;
    case INBOX_DURABLE:
        durable_request_free(item->is.durable);
        break;
    case INBOX_FOUND:
        mem_free(item->is.seeds);
        break;
    case INBOX_JOB:
        job_free(item->is.job);
        break;
    }
}

void inbox_fini(struct inbox *inbox)
{
    struct inbox_item item;

    while (inbox_next(inbox, &item) || inbox_next(inbox, &item))
        free_item(&item);
    vec_fini(&inbox->items);
    vec_fini(&inbox->taken);
    uv_mutex_destroy(&inbox->mutex);
}

void inbox_close(struct inbox *inbox)
{
    uv_mutex_lock(&inbox->mutex);
    inbox->closed = true;
    uv_mutex_unlock(&inbox->mutex);
}

/* Under the mutex. */
static void put(struct inbox *inbox, const struct inbox_item *item)
{
    vec_push(&inbox->items, *item);
    atomic_store_explicit(&inbox->count, inbox->items.count,
                          memory_order_seq_cst);
}

bool inbox_put_mail(struct inbox *inbox, uint32_t machine,
                    const struct mail *mail, size_t size)
{
    struct inbox_item item = { .kind = INBOX_MAIL,
                               .machine = machine,
                               .size = size,
                               .is.mail = *mail };
    bool fits;

    uv_mutex_lock(&inbox->mutex);
    fits = !inbox->closed && inbox->mail_count < INBOX_MAIL_MAX &&
           size <= INBOX_BYTES_MAX - inbox->mail_bytes;
    if (fits) {
        inbox->mail_count++;
        inbox->mail_bytes += size;
        put(inbox, &item);
    } else {
        inbox->refused++;
    }
    uv_mutex_unlock(&inbox->mutex);
    return fits;
}

void inbox_put_command(struct inbox *inbox, uint32_t machine,
                       const struct mail *mail)
{
    struct inbox_item item = { .kind = INBOX_MAIL,
                               .machine = machine,
                               .is.mail = *mail };

    uv_mutex_lock(&inbox->mutex);
    put(inbox, &item);
    uv_mutex_unlock(&inbox->mutex);
}

void inbox_put_accepted(struct inbox *inbox, uint32_t machine,
                        struct accepted *accepted)
{
    struct inbox_item item = { .kind = INBOX_ACCEPTED,
                               .machine = machine,
                               .is.accepted = accepted };

    uv_mutex_lock(&inbox->mutex);
    put(inbox, &item);
    uv_mutex_unlock(&inbox->mutex);
}

void inbox_put_stored(struct inbox *inbox, struct journal_request *request)
{
    struct inbox_item item = { .kind = INBOX_STORED,
                               .machine = request->machine,
                               .is.request = request };

    uv_mutex_lock(&inbox->mutex);
    put(inbox, &item);
    uv_mutex_unlock(&inbox->mutex);
}

void inbox_put_leased(struct inbox *inbox, struct lease_request *request)
{
    struct inbox_item item = { .kind = INBOX_LEASED, .is.lease = request };

    uv_mutex_lock(&inbox->mutex);
    put(inbox, &item);
    uv_mutex_unlock(&inbox->mutex);
}

void inbox_put_durable(struct inbox *inbox, struct durable_request *request)
{
    struct inbox_item item = { .kind = INBOX_DURABLE, .is.durable = request };

    uv_mutex_lock(&inbox->mutex);
    put(inbox, &item);
    uv_mutex_unlock(&inbox->mutex);
}

void inbox_put_found(struct inbox *inbox, struct seed_list *list)
{
    struct inbox_item item = { .kind = INBOX_FOUND, .is.seeds = list };

    uv_mutex_lock(&inbox->mutex);
    put(inbox, &item);
    uv_mutex_unlock(&inbox->mutex);
}

void inbox_put_job(struct inbox *inbox, struct job *job)
{
    struct inbox_item item = { .kind = INBOX_JOB,
                               .machine = job->machine,
                               .is.job = job };

    uv_mutex_lock(&inbox->mutex);
    put(inbox, &item);
    uv_mutex_unlock(&inbox->mutex);
}

/* The owner walks one array while other threads fill the other. */
static void exchange(struct inbox *inbox)
{
    struct inbox_item *items;
    uint32_t capacity;

    uv_mutex_lock(&inbox->mutex);
    items = inbox->taken.items;
    capacity = inbox->taken.capacity;
    inbox->taken.items = inbox->items.items;
    inbox->taken.count = inbox->items.count;
    inbox->taken.capacity = inbox->items.capacity;
    inbox->items.items = items;
    inbox->items.count = 0;
    inbox->items.capacity = capacity;
    inbox->mail_count = 0;
    inbox->mail_bytes = 0;
    atomic_store_explicit(&inbox->count, 0, memory_order_seq_cst);
    uv_mutex_unlock(&inbox->mutex);
}

bool inbox_next(struct inbox *inbox, struct inbox_item *item)
{
    if (inbox->taken_at == inbox->taken.count) {
        bool finished = inbox->taken.count > 0;

        inbox->taken.count = 0;
        inbox->taken_at = 0;
        if (finished || inbox_is_empty(inbox))
            return false;
        exchange(inbox);
        if (inbox->taken.count == 0)
            return false;
    }
    *item = inbox->taken.items[inbox->taken_at++];
    return true;
}

void accepted_free(struct accepted *accepted)
{
    if (!accepted)
        return;
    if (accepted->fd >= 0)
        (void)close(accepted->fd); /* nothing was written to it */
    tls_end_free(accepted->tls);
    buf_fini(&accepted->first);
    mem_free(accepted);
}
