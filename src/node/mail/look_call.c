/* Implements look_call.h. */
#include "node/mail/look_call.h"

#include "base/address_text.h"
#include "base/limits.h"
#include "base/timers.h"
#include "node/mail/mail.h"

#define ROWS 200 /* sherd_look_options.count */
#define TIMEOUT_MS 5000
#define TIMEOUT_MS_MIN 100

void look_call_free(struct look_call *call)
{
    if (!call)
        return;
    gather_free(call->gather);
    buf_fini(&call->type);
    buf_fini(&call->shard);
    buf_fini(&call->entity);
    buf_fini(&call->cursor);
    mem_free(call);
}

/* False: too long. */
static bool copy_name(struct buf *to, const char *text)
{
    if (text)
        buf_put_text(to, text);
    return to->size <= LOOK_NAME_MAX;
}

static bool set_numbers(struct look_call *call, const struct sherd_look_options *options)
{
    uint32_t ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS;

    call->count = options->count ? options->count : ROWS;
    call->since_ms = options->since_ms;
    call->within = ms * MS;
    call->order = options->order ? look_order_of(call->kind, options->order)
                                 : look_kind_order(call->kind);
    return call->count <= SHERD_LOOK_ROWS_MAX && ms >= TIMEOUT_MS_MIN &&
           ms <= LOOK_WITHIN_MAX_MS && !(options->order && call->order == LOOK_NO_ORDER);
}

static bool fill(struct look_call *call, const struct sherd_look_options *options)
{
    bool names_shard = options->shard && *options->shard;
    bool names_type = options->type && *options->type;

    if (options->cursor.size > SHERD_LOOK_CURSOR_MAX ||
        (names_shard && !names_type) ||
        (call->kind == SHERD_LOOK_ENTITY && !(options->entity && *options->entity)))
        return false;
    buf_put(&call->cursor, options->cursor.data, options->cursor.size);
    return copy_name(&call->type, options->type) && copy_name(&call->shard, options->shard) &&
           copy_name(&call->entity, options->entity) && set_numbers(call, options) &&
           (!options->node || address_read(slice_text(options->node), &call->node));
}

int look_call_new(enum sherd_look_kind kind, const struct sherd_look_options *options,
                  struct look_call **call)
{
    static const struct sherd_look_options defaults = { .count = 0 };

    if (!look_kind_is((uint64_t)kind))
        return SHERD_EINVAL;
    *call = mem_alloc(sizeof **call);
    (*call)->kind = kind;
    if (fill(*call, options ? options : &defaults))
        return 0;
    look_call_free(*call);
    *call = NULL;
    return SHERD_EINVAL;
}

struct mail node_mail_look(struct look_call *call)
{
    struct mail_content content = MAIL(look_call, .own = { call });

    return mail_seal(&content);
}

struct mail node_mail_look_cancel(uint64_t number)
{
    struct mail_content content = MAIL(look_cancel, .number = number);

    return mail_seal(&content);
}
