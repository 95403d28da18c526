/* Queues mail, and frees mail without a reader. */
#include "node/mail.h"

#include "actor/message.h"
#include "artery/control.h"
#include "node/machine.h"

void mail_post(struct mail_queue *queue, const struct letter *letter)
{
    struct mail mail;

    memcpy(&mail, letter, sizeof mail);
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
    struct letter letter = mail_open(mail);

    letter_free(&letter);
}

static void free_chain(struct message *message)
{
    while (message) {
        struct message *next = message->next;

        message_free_foreign(message);
        message = next;
    }
}

static void free_buf(void *object)
{
    if (object)
        buf_fini(object);
    mem_free(object);
}

void letter_free(struct letter *letter)
{
    struct carried *carried;
    struct watching *watching;
    struct identifying *identifying;
    struct naming *naming;
    struct spawning *spawning;
    struct telling *telling;

    switch ((enum letter_kind)letter->kind) {
    case LETTER_MESSAGES:
    case LETTER_RETURNS:
        free_chain(letter->body);
        break;
    case LETTER_FRAME:
        carried = letter->body;
        buf_fini(&carried->frame);
        mem_free(carried);
        break;
    case LETTER_WATCH:
    case LETTER_WATCHED:
        watching = letter->body;
        buf_fini(&watching->watchee_text);
        buf_fini(&watching->watcher_text);
        mem_free(watching);
        break;
    case LETTER_IDENTIFY:
        identifying = letter->body;
        buf_fini(&identifying->path);
        buf_fini(&identifying->sender);
        buf_fini(&identifying->payload);
        mem_free(identifying);
        break;
    case LETTER_NAMED:
        naming = letter->body;
        buf_fini(&naming->path);
        mem_free(naming);
        break;
    case LETTER_SPAWN:
        spawning = letter->body;
        buf_fini(&spawning->init);
        mem_free(spawning);
        break;
    case LETTER_TELL:
        telling = letter->body;
        buf_fini(&telling->id);
        buf_fini(&telling->body);
        mem_free(telling);
        break;
    case LETTER_TABLE:
        free_buf(letter->more);
        mem_free(letter->body);
        break;
    case LETTER_OWN_TABLE:
    case LETTER_DATA_CALL:
    case LETTER_DATA_FOLLOW:
    case LETTER_DATA_ANSWER:
    case LETTER_DATA_CHANGED:
    case LETTER_REMEMBER:
    case LETTER_REMEMBERED: /* its other text is a literal */
    case LETTER_DATA_REFUSED:
        free_buf(letter->body);
        break;
    default:
        mem_free(letter->body); /* null, or one plain object */
    }
    letter->body = letter->more = NULL;
}
