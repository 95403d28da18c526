/* Implements operate_call.h. */
#include "node/mail/operate_call.h"

#include "base/address_text.h"
#include "base/limits.h"
#include "base/timers.h"
#include "node/mail/mail.h"

#define TIMEOUT_MS 30000
#define TIMEOUT_MS_MIN 100
#define HOLD_MS 600000

void operate_call_free(struct operate_call *call)
{
    if (!call)
        return;
    buf_fini(&call->id);
    buf_fini(&call->type);
    buf_fini(&call->shard);
    buf_fini(&call->by);
    buf_fini(&call->reason);
    buf_fini(&call->text);
    mem_free(call);
}

/* False: too long. */
static bool copy(struct buf *to, const char *text, size_t max)
{
    if (text)
        buf_put_text(to, text);
    return to->size <= max;
}

static bool set_times(struct operate_call *call, const struct sherd_operation_options *options)
{
    uint32_t ms = options->timeout_ms ? options->timeout_ms : TIMEOUT_MS;

    call->within = ms * MS;
    call->hold_ms = options->hold_ms ? options->hold_ms : HOLD_MS;
    if (options->hold_ms == SHERD_NO_HOLD)
        call->hold_ms = 0;
    return ms >= TIMEOUT_MS_MIN && ms <= OPERATION_WITHIN_MAX_MS &&
           call->hold_ms <= OPERATION_HOLD_MAX_MS;
}

static bool fill(struct operate_call *call, const struct sherd_operation_options *options)
{
    bool is_move = call->kind == SHERD_MOVE_SHARD;
    bool is_of_type = !operation_is_of_node(call->kind);

    call->is_dry_run = options->dry_run != 0;
    if (options->node && !address_read(slice_text(options->node), &call->node))
        return false;
    if ((is_of_type && !(options->type && *options->type)) ||
        (is_move && !(options->node && options->shard && *options->shard)))
        return false;
    return copy(&call->id, options->id, SHERD_OPERATION_ID_MAX) &&
           (!options->id || operation_id_is(buf_slice(&call->id))) &&
           copy(&call->type, is_of_type ? options->type : NULL, OPERATION_NAME_MAX) &&
           copy(&call->shard, is_move ? options->shard : NULL, OPERATION_NAME_MAX) &&
           copy(&call->by, options->by, OPERATION_BY_MAX) &&
           copy(&call->reason, options->reason, OPERATION_REASON_MAX) && set_times(call, options);
}

int operate_call_new(enum sherd_operation_kind kind,
                     const struct sherd_operation_options *options, struct operate_call **call)
{
    static const struct sherd_operation_options defaults = { .dry_run = 0 };

    if (kind >= SHERD_OPERATION_KIND_COUNT)
        return SHERD_EINVAL;
    *call = mem_alloc(sizeof **call);
    (*call)->kind = kind;
    if (fill(*call, options ? options : &defaults))
        return 0;
    operate_call_free(*call);
    *call = NULL;
    return SHERD_EINVAL;
}

struct mail node_mail_operate(struct operate_call *call)
{
    struct mail_content content = MAIL(operate_call, .own = { call });

    return mail_seal(&content);
}
