/* Queues mail, and frees mail without a reader. */
#include "node/mail/mail.h"

#include "actor/message.h"
#include "artery/control.h"

void mail_post(struct mail_queue *queue, const struct mail_content *content)
{
    struct mail mail;

    memcpy(&mail, content, sizeof mail);
    if (queue->head == queue->mail.count)
        queue->head = queue->mail.count = 0;
    vec_push(&queue->mail, mail);
}

void mail_queue_fini(struct mail_queue *queue)
{
    for (uint32_t i = queue->head; i < queue->mail.count; i++)
        mail_free(&queue->mail.items[i]);
    vec_fini(&queue->mail);
    queue->head = 0;
}

void mail_free(struct mail *mail)
{
    struct mail_content content = mail_open(mail);

    mail_content_free(&content);
}

static void free_chain(struct message *message)
{
    while (message) {
        struct message *next = message->next;

        message_free_heap(message);
        message = next;
    }
}

static void free_buf(void *object)
{
    if (object)
        buf_fini(object);
    mem_free(object);
}

void mail_content_free(struct mail_content *content)
{
    struct carried *carried;
    struct watching *watching;
    struct identifying *identifying;
    struct naming *naming;
    struct spawning *spawning;
    struct tell_content *tell;

    switch ((enum mail_kind)content->kind) {
    case MAIL_MESSAGES:
    case MAIL_RETURNS:
        free_chain(content->body);
        break;
    case MAIL_FRAME:
        carried = content->body;
        buf_fini(&carried->frame);
        mem_free(carried);
        break;
    case MAIL_WATCH:
    case MAIL_WATCHED:
        watching = content->body;
        buf_fini(&watching->watchee_text);
        buf_fini(&watching->watcher_text);
        mem_free(watching);
        break;
    case MAIL_IDENTIFY:
        identifying = content->body;
        buf_fini(&identifying->path);
        buf_fini(&identifying->sender);
        buf_fini(&identifying->payload);
        mem_free(identifying);
        break;
    case MAIL_NAMED:
        naming = content->body;
        buf_fini(&naming->path);
        mem_free(naming);
        break;
    case MAIL_SPAWN:
        spawning = content->body;
        buf_fini(&spawning->init);
        mem_free(spawning);
        break;
    case MAIL_TELL:
        tell = content->body;
        buf_fini(&tell->id);
        buf_fini(&tell->body);
        mem_free(tell);
        break;
    case MAIL_TABLE:
        free_buf(content->more);
        mem_free(content->body);
        break;
    case MAIL_OWN_TABLE:
    case MAIL_DATA_CALL:
    case MAIL_DATA_FOLLOW:
    case MAIL_DATA_ANSWER:
    case MAIL_DATA_CHANGED:
    case MAIL_REMEMBER:
    case MAIL_REMEMBERED: /* its other text is a literal */
    case MAIL_DATA_REFUSED:
        free_buf(content->body);
        break;
    default:
        mem_free(content->body); /* null, or one plain object */
    }
    content->body = content->more = NULL;
}
