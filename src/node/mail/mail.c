/* Queues mail, and frees mail without a reader. */
#include "node/mail/mail.h"

#include "actor/message.h"
#include "artery/control.h"
#include "node/mail/look_call.h"
#include "node/mail/operate_call.h"

void mail_post(struct mail_queue *queue, const struct mail_content *content)
{
    if (queue->head == queue->mail.count)
        queue->head = queue->mail.count = 0;
    vec_grow(&queue->mail);
    memcpy(&queue->mail.items[queue->mail.count++], content, sizeof *content);
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

static void free_buf(struct buf *buf)
{
    if (buf)
        buf_fini(buf);
    mem_free(buf);
}

static void free_named(struct naming *naming)
{
    buf_fini(&naming->path);
    mem_free(naming);
}

static void free_watching(struct watching *watching)
{
    buf_fini(&watching->watchee_text);
    buf_fini(&watching->watcher_text);
    mem_free(watching);
}

static void free_identify(struct identifying *identifying)
{
    buf_fini(&identifying->path);
    buf_fini(&identifying->sender);
    buf_fini(&identifying->payload);
    mem_free(identifying);
}

static void free_spawn(struct spawning *spawning)
{
    if (spawning->unstarted)
        spawning->unstarted(
            (struct sherd_bytes){ spawning->init.data, spawning->init.size });
    buf_fini(&spawning->name);
    buf_fini(&spawning->init);
    mem_free(spawning);
}

static void free_tell(struct tell_content *tell)
{
    buf_fini(&tell->id);
    buf_fini(&tell->body);
    mem_free(tell);
}

void look_asked_free(struct look_asked *asked)
{
    if (asked)
        buf_fini(&asked->payload);
    mem_free(asked);
}

#define CASE(kind, name) case kind:
#define NO_CASE(kind, name)

/* flat: without a default, so that the compiler refuses a kind that owns something and has no
 * line here */
void mail_content_free(struct mail_content *content)
{
    switch ((enum mail_kind)content->kind) {
    MAIL_KINDS(CASE, CASE, NO_CASE)
        break;
    case MAIL_MESSAGES:
        free_chain(content->messages.own.first);
        break;
    case MAIL_RETURNS:
        free_chain(content->returns.own.first);
        break;
    case MAIL_NAMED:
        free_named(content->named.own.naming);
        break;
    case MAIL_FRAME:
        mem_free(content->frame.own.envelope);
        break;
    case MAIL_HANDSHAKE:
        mem_free(content->handshake.own.handshake);
        break;
    case MAIL_WATCH:
        free_watching(content->watch.own.watching);
        break;
    case MAIL_TASK:
        mem_free(content->task.own.name);
        break;
    case MAIL_DATA_CALL:
        free_buf(content->data_call.own.bytes);
        break;
    case MAIL_DATA_FOLLOW:
        free_buf(content->data_follow.own.key);
        break;
    case MAIL_REMEMBER:
        free_buf(content->remember.own.records);
        break;
    case MAIL_SUSPECT:
        mem_free(content->suspect.own.node);
        break;
    case MAIL_LOOKED:
        free_buf(content->looked.own.records);
        break;
    case MAIL_LOOK_REPLY:
        free_buf(content->look_reply.own.payload);
        break;
    case MAIL_LOOK_ASKED:
        look_asked_free(content->look_asked.own.asked);
        break;
    case MAIL_LOOK_CALL:
        look_call_free(content->look_call.own.call);
        break;
    case MAIL_OPERATE_CALL:
        operate_call_free(content->operate_call.own.call);
        break;
    case MAIL_PEER:
        mem_free(content->peer.own.node);
        break;
    case MAIL_LEAVES:
        mem_free(content->leaves.own.node);
        break;
    case MAIL_REACH:
        mem_free(content->reach.own.node);
        break;
    case MAIL_GONE:
        mem_free(content->gone.own.node);
        break;
    case MAIL_OVER:
        mem_free(content->over.own.node);
        break;
    case MAIL_STRANGER:
        mem_free(content->stranger.own.node);
        break;
    case MAIL_NO_MEMBER:
        mem_free(content->no_member.own.node);
        break;
    case MAIL_ANSWERED:
        mem_free(content->answered.own.node);
        break;
    case MAIL_TABLE:
        mem_free(content->table.own.node);
        free_buf(content->table.own.payload);
        break;
    case MAIL_ROUTE:
        mem_free(content->route.own.home);
        break;
    case MAIL_HOLD:
        mem_free(content->hold.own.owner);
        break;
    case MAIL_DRAIN:
        mem_free(content->drain.own.owing);
        break;
    case MAIL_WATCHED:
        free_watching(content->watched.own.watching);
        break;
    case MAIL_IDENTIFY:
        free_identify(content->identify.own.identifying);
        break;
    case MAIL_CLUSTER:
        mem_free(content->cluster.own.change);
        break;
    case MAIL_DATA_ANSWER:
        free_buf(content->data_answer.own.body);
        break;
    case MAIL_DATA_CHANGED:
        free_buf(content->data_changed.own.body);
        break;
    case MAIL_DATA_REFUSED:
        free_buf(content->data_refused.own.body);
        break;
    case MAIL_REMEMBERED:
        free_buf(content->remembered.own.record);
        break;
    case MAIL_REMEMBER_CHANGED:
        free_buf(content->remember_changed.own.ids);
        break;
    case MAIL_NAME:
        free_buf(content->name.own.text);
        break;
    case MAIL_NAME_KNOWN:
        free_buf(content->name_known.own.text);
        break;
    case MAIL_SPAWN:
        free_spawn(content->spawn.own.spawning);
        break;
    case MAIL_TELL:
        free_tell(content->tell.own.content);
        break;
    case MAIL_COMMAND:
        mem_free(content->command.own.address);
        break;
    case MAIL_ALLOCATION:
        free_buf(content->allocation.own.bytes);
        break;
    case MAIL_QUERY:
        mem_free(content->query.own.part);
        break;
    case MAIL_TYPE_CALL:
        mem_free(content->type_call.own.part);
        break;
    case MAIL_STATUS:
        mem_free(content->status.own.part);
        break;
    }
}

struct node_id *mail_node(const struct node_id *node)
{
    return node ? mem_copy(node, sizeof *node) : NULL;
}

static struct buf *copy_buf(const struct buf *buf)
{
    struct buf *copy = mem_alloc(sizeof *copy);

    buf_put_slice(copy, buf_slice(buf));
    return copy;
}

struct mail_content mail_copy(const struct mail_content *content)
{
    struct mail_content copy = *content;

    switch ((enum mail_kind)content->kind) {
    MAIL_KINDS(CASE, CASE, NO_CASE)
        break;
    case MAIL_SUSPECT:
        copy.suspect.own.node = mail_node(content->suspect.own.node);
        break;
    case MAIL_PEER:
        copy.peer.own.node = mail_node(content->peer.own.node);
        break;
    case MAIL_LEAVES:
        copy.leaves.own.node = mail_node(content->leaves.own.node);
        break;
    case MAIL_REACH:
        copy.reach.own.node = mail_node(content->reach.own.node);
        break;
    case MAIL_GONE:
        copy.gone.own.node = mail_node(content->gone.own.node);
        break;
    case MAIL_OVER:
        copy.over.own.node = mail_node(content->over.own.node);
        break;
    case MAIL_STRANGER:
        copy.stranger.own.node = mail_node(content->stranger.own.node);
        break;
    case MAIL_NO_MEMBER:
        copy.no_member.own.node = mail_node(content->no_member.own.node);
        break;
    case MAIL_ANSWERED:
        copy.answered.own.node = mail_node(content->answered.own.node);
        break;
    case MAIL_NAME_KNOWN:
        copy.name_known.own.text = copy_buf(content->name_known.own.text);
        break;
    case MAIL_ROUTE:
        copy.route.own.home = mail_node(content->route.own.home);
        break;
    case MAIL_HOLD:
        copy.hold.own.owner = mail_node(content->hold.own.owner);
        break;
    default:
        check_failed(__FILE__, __LINE__, "mail of this kind has one receiver");
    }
    return copy;
}
