/* Queues a machine's mail and requests until its driver takes them. */
#include "node/mail/outputs.h"

#include "base/check.h"
#include "ddata/durable.h"
#include "journal/backend.h"

#define MAIL_KEPT_MAX 64 /* for one machine */
#define REQUESTS_KEPT_MAX 32 /* nine heartbeats and the like */

void outputs_init(struct outputs *outputs, uint32_t own, uint32_t machine_count)
{
    *outputs = (struct outputs){ .own = own, .machine_count = machine_count };
    outputs->mail = mem_alloc(machine_count * sizeof *outputs->mail);
}

void outputs_fini(struct outputs *outputs)
{
    for (uint32_t i = outputs->request_head; i < outputs->requests.count; i++) {
        const struct driver_request *request = &outputs->requests.items[i];

        journal_request_free(request->kind == DRIVER_STORE ? request->journal : NULL);
        durable_request_free(request->kind == DRIVER_DURABLE ? request->durable : NULL);
    }
    vec_fini(&outputs->requests);
    mem_free(outputs->mail);
}

/* ---- mail ---- */

void outputs_post(struct outputs *outputs, uint32_t to,
                  const struct mail_content *content)
{
    check(to < outputs->machine_count && to != outputs->own);
    mail_post(&outputs->mail[to], content);
}

void outputs_post_lanes(struct outputs *outputs,
                        const struct mail_content *content)
{
    for (uint32_t i = 1; i + 1 < outputs->machine_count; i++) {
        struct mail_content copy = mail_copy(content);

        outputs_post(outputs, i, &copy);
    }
    outputs_post(outputs, outputs->machine_count - 1, content);
}

uint32_t outputs_mail(const struct outputs *outputs, uint32_t to,
                      const struct mail **mail)
{
    const struct mail_queue *queue = &outputs->mail[to];

    *mail = queue->mail.items ? queue->mail.items + queue->head : NULL;
    return queue->mail.count - queue->head;
}

void outputs_sent(struct outputs *outputs, uint32_t to, uint32_t count)
{
    struct mail_queue *queue = &outputs->mail[to];

    check(count <= queue->mail.count - queue->head);
    queue->head += count;
    if (queue->head < queue->mail.count)
        return;
    queue->head = 0;
    vec_empty(&queue->mail, MAIL_KEPT_MAX);
}

/* ---- requests ---- */

void outputs_request(struct outputs *outputs,
                     const struct driver_request *request)
{
    if (outputs->request_head == outputs->requests.count) {
        outputs->request_head = 0;
        vec_empty(&outputs->requests, REQUESTS_KEPT_MAX);
    }
    vec_push(&outputs->requests, *request);
}

/* Nearly all requests are of this kind, with the link alone. */
void outputs_request_write(struct outputs *outputs, uint64_t link)
{
    if (outputs->request_head == outputs->requests.count)
        outputs->request_head = outputs->requests.count = 0;
    vec_grow(&outputs->requests);
    outputs->requests.items[outputs->requests.count].kind = DRIVER_WRITE;
    outputs->requests.items[outputs->requests.count++].link = link;
}

bool outputs_next_request(struct outputs *outputs,
                          struct driver_request *request)
{
    const struct driver_request *next;

    if (outputs->request_head == outputs->requests.count)
        return false;
    next = &outputs->requests.items[outputs->request_head++];
    if (next->kind == DRIVER_WRITE) {
        request->kind = DRIVER_WRITE;
        request->link = next->link;
    } else {
        *request = *next;
    }
    return true;
}
