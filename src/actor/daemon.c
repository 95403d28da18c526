/* Decides what becomes of messages to entities that are sharded daemons: a change of their count ends
 * them, without starting absent ones. */
#include "actor/inside.h"

#include "base/daemon_id.h"
#include "base/mark.h"

/* Turns the request into its answer. It was handled here, and the answer is a new message. */
static void make_answer(struct actors *actors, struct message *message, uint32_t what)
{
    struct sherd_ref asker = message->sender;

    actors->counts.delivered++;
    actors->counts.sent++;
    message->kind = MESSAGE_ANSWER;
    message->type = TYPE_NONE;
    message->msg = what;
    message->to = asker;
    message->sender = (struct sherd_ref){ 0, 0 };
    message->body_size = 0;
    message->id_size = 0;
}

static void end(struct actors *actors, uint32_t index, struct slot *slot)
{
    if (slot->status != SLOT_ALIVE || slot_is_leaving(slot))
        return; /* it ends, or is asked again when it has recovered */
    slot->leaving = LEAVES_FOR_GOOD;
    if (!(slot->flags & FLAG_MARKED))
        mailbox_mark(actors, index, slot);
}

enum daemon_fate daemon_take(struct actors *actors, struct message *message, uint32_t index)
{
    struct type *type = &actors->types[message->type];
    struct daemon_id id;

    if (!daemon_id_parse(message_id(message), &id))
        return DAEMON_DELIVERS;
    if (message->kind == MESSAGE_TELL && message->msg == DAEMON_END && message->ask) {
        if (type->daemon_revision <= id.revision)
            type->daemon_revision = id.revision + 1;
        if (index)
            end(actors, index, slot_at(actors, index));
        make_answer(actors, message, index ? DAEMON_ENDS : DAEMON_ENDED);
        return DAEMON_ANSWERS;
    }
    if (index || id.revision >= type->daemon_revision)
        return DAEMON_DELIVERS;
    REACHED("a daemon of a former count is not started");
    return DAEMON_DROPS;
}
