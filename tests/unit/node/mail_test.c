/* Checks that mail of every kind can be made, read and freed, and that copies own their node. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "actor/cluster.h"
#include "actor/message.h"
#include "artery/control.h"
#include "node/mail/look_call.h"
#include "node/mail/operate_call.h"
#include "node/mail/outputs.h"
#include "shard/owned_shards.h"

static const struct node_id node = { { "a", 1 }, 7 };

static struct buf *text(const char *characters)
{
    struct buf *buf = mem_alloc(sizeof *buf);

    buf_put_text(buf, characters);
    return buf;
}

static struct message *chain(void)
{
    struct message *first = message_new_heap(0, slice_text("e"), slice_text("1"));

    first->next = message_new_heap(0, slice_text("e"), slice_text("2"));
    return first;
}

static struct naming *naming(void)
{
    struct naming *naming = mem_alloc(sizeof *naming);

    buf_put_text(&naming->path, "/user/x");
    return naming;
}

static struct watching *watching(void)
{
    struct watching *watching = mem_alloc(sizeof *watching);

    buf_put_text(&watching->watchee_text, "watchee");
    buf_put_text(&watching->watcher_text, "watcher");
    return watching;
}

static struct identifying *identifying(void)
{
    struct identifying *identifying = mem_alloc(sizeof *identifying);

    buf_put_text(&identifying->path, "path");
    buf_put_text(&identifying->sender, "sender");
    buf_put_text(&identifying->payload, "payload");
    return identifying;
}

static struct spawning *spawning(void)
{
    struct spawning *spawning = mem_alloc(sizeof *spawning);

    buf_put_text(&spawning->init, "init");
    return spawning;
}

static struct tell_content *telling(void)
{
    struct tell_content *telling = mem_alloc(sizeof *telling);

    buf_put_text(&telling->id, "id");
    buf_put_text(&telling->body, "body");
    return telling;
}

/* Makes mail of the kind, with everything that it can own. The compiler refuses a kind that has no
 * line here. */
static struct look_call *a_look(void)
{
    struct look_call *call;

    assert_int_equal(look_call_new(SHERD_LOOK_NODES, NULL, &call), 0);
    return call;
}

static struct operate_call *an_operation(void)
{
    struct operate_call *call;

    assert_int_equal(operate_call_new(SHERD_CORDON, NULL, &call), 0);
    return call;
}

static struct mail_content make(enum mail_kind kind)
{
    switch (kind) {
#define NONE(kind, name) \
    case kind:           \
        return mail_##name##_new();
#define LENT(kind, name) \
    case kind:           \
        return mail_##name##_new((struct mail_##name){ 0 });
#define OWNS(kind, name)
        MAIL_KINDS(NONE, LENT, OWNS)
#undef NONE
#undef LENT
#undef OWNS
    case MAIL_MESSAGES:
        return MAIL(messages, .own = { chain() });
    case MAIL_RETURNS:
        return MAIL(returns, .own = { chain() });
    case MAIL_NAMED:
        return MAIL(named, .own = { naming() });
    case MAIL_FRAME:
        return MAIL(frame, .own = { envelope_keep(&(struct envelope){ 0 }) });
    case MAIL_HANDSHAKE:
        return MAIL(handshake, .own = { mem_alloc(sizeof(struct handshake)) });
    case MAIL_WATCH:
        return MAIL(watch, .own = { watching() });
    case MAIL_NAME:
        return MAIL(name, .own = { text("name") });
    case MAIL_NAME_KNOWN:
        return MAIL(name_known, .own = { text("name") });
    case MAIL_TASK:
        return MAIL(task, .own = { mem_text("task") });
    case MAIL_DATA_CALL:
        return MAIL(data_call, .own = { text("call") });
    case MAIL_DATA_FOLLOW:
        return MAIL(data_follow, .own = { text("key") });
    case MAIL_REMEMBER:
        return MAIL(remember, .own = { text("records") });
    case MAIL_SUSPECT:
        return MAIL(suspect, .own = { mail_node(&node) });
    case MAIL_PEER:
        return MAIL(peer, .own = { mail_node(&node) });
    case MAIL_REACH:
        return MAIL(reach, .own = { mail_node(&node) });
    case MAIL_LEAVES:
        return MAIL(leaves, .own = { mail_node(&node) });
    case MAIL_GONE:
        return MAIL(gone, .own = { mail_node(&node) });
    case MAIL_OVER:
        return MAIL(over, .own = { mail_node(&node) });
    case MAIL_STRANGER:
        return MAIL(stranger, .own = { mail_node(&node) });
    case MAIL_NO_MEMBER:
        return MAIL(no_member, .own = { mail_node(&node) });
    case MAIL_ANSWERED:
        return MAIL(answered, .own = { mail_node(&node) });
    case MAIL_TABLE:
        return MAIL(table, .own = { mail_node(&node), text("table") });
    case MAIL_ROUTE:
        return MAIL(route, .own = { mail_node(&node) });
    case MAIL_HOLD:
        return MAIL(hold, .own = { mail_node(&node) });
    case MAIL_DRAIN:
        return MAIL(drain, .own = { mem_alloc(2 * sizeof(struct owing)) });
    case MAIL_WATCHED:
        return MAIL(watched, .own = { watching() });
    case MAIL_IDENTIFY:
        return MAIL(identify, .own = { identifying() });
    case MAIL_CLUSTER:
        return MAIL(cluster, .own = { mem_alloc(sizeof(struct cluster_change)) });
    case MAIL_DATA_ANSWER:
        return MAIL(data_answer, .own = { text("body") });
    case MAIL_DATA_CHANGED:
        return MAIL(data_changed, .own = { text("body") });
    case MAIL_DATA_REFUSED:
        return MAIL(data_refused, .own = { text("body") });
    case MAIL_REMEMBERED:
        return MAIL(remembered, .own = { text("record") });
    case MAIL_REMEMBER_CHANGED:
        return MAIL(remember_changed, .own = { text("ids") });
    case MAIL_SPAWN:
        return MAIL(spawn, .own = { spawning() });
    case MAIL_TELL:
        return MAIL(tell, .own = { telling() });
    case MAIL_COMMAND:
        return MAIL(command, .own = { mem_copy(&node.address, sizeof node.address) });
    case MAIL_ALLOCATION:
        return MAIL(allocation, .own = { text("answer") });
    case MAIL_LOOKED:
        return MAIL(looked, .own = { text("records") });
    case MAIL_LOOK_REPLY:
        return MAIL(look_reply, .own = { text("part") });
    case MAIL_LOOK_ASKED:
        return MAIL(look_asked, .own = { mem_alloc(sizeof(struct look_asked)) });
    case MAIL_LOOK_CALL:
        return MAIL(look_call, .own = { a_look() });
    case MAIL_OPERATE_CALL:
        return MAIL(operate_call, .own = { an_operation() });
    case MAIL_QUERY:
        return MAIL(query, .own = { mem_alloc(sizeof(struct query_part)) });
    case MAIL_TYPE_CALL:
        return MAIL(type_call, .own = { mem_alloc(sizeof(struct type_part)) });
    case MAIL_STATUS:
        return MAIL(status, .own = { mem_alloc(sizeof(struct status_part)) });
    }
    fail();
    return mail_ended_new();
}

/* In a build with an address sanitizer, mail that is freed in part is a leak. */
static void mail_of_every_kind_is_freed(void **state)
{
    static const enum mail_kind kinds[] = {
#define KIND(kind, name) kind,
        MAIL_KINDS(KIND, KIND, KIND)
#undef KIND
    };
    (void)state;

    for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct mail_content content = make(kinds[i]);
        struct mail mail = mail_seal(&content);

        assert_int_equal(content.kind, kinds[i]);
        assert_int_equal(mail_open(&mail).kind, kinds[i]);
        mail_free(&mail);
    }
}

static void taken_content_belongs_to_the_taker(void **state)
{
    struct mail_content content = MAIL(task, .actor = 5, .own = { mem_text("x") });
    struct mail_task task = mail_task_take(&content);
    (void)state;

    assert_int_equal(task.actor, 5);
    assert_null(mail_task_of(&content)->own.name);
    mail_content_free(&content);
    assert_string_equal(task.own.name, "x");
    mem_free(task.own.name);
}

static void every_lane_gets_a_node_of_its_own(void **state)
{
    struct mail_content content =
        mail_for_type(3, MAIL(gone, .is_heard = true, .own = { mail_node(&node) }));
    struct outputs outputs;
    (void)state;

    outputs_init(&outputs, 0, 4);
    outputs_post_lanes(&outputs, &content);
    for (uint32_t lane = 1; lane < 4; lane++) {
        const struct mail *mail;

        assert_int_equal(outputs_mail(&outputs, lane, &mail), 1);
        content = mail_open(mail);
        assert_int_equal(content.type, 3);
        assert_true(mail_gone_of(&content)->is_heard);
        assert_true(node_equal(mail_gone_of(&content)->own.node, &node));
        mail_queue_fini(&outputs.mail[lane]);
    }
    outputs_fini(&outputs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mail_of_every_kind_is_freed),
        cmocka_unit_test(taken_content_belongs_to_the_taker),
        cmocka_unit_test(every_lane_gets_a_node_of_its_own),
    };

    return cmocka_run_group_tests_name("node_mail", tests, NULL, NULL);
}
