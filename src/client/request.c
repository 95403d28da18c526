/* Makes requests, and turns them into completions. */
#include "client/request.h"

#include "base/check.h"

#define SHRINK_FROM 1024 /* bytes of a sent message that are worth a call to free them */

struct client_request *client_request_new(const struct client_message *message)
{
    size_t id_size = message->type ? strlen(message->id) : 0;
    size_t room = message->body.size + id_size + 1;
    struct client_request *request = mem_alloc(sizeof *request + room);

    request->user = message->user;
    request->type = message->type;
    request->to = message->to;
    request->msg = message->msg;
    request->body_size = (uint32_t)message->body.size;
    request->room = (uint32_t)room;
    request->way = (uint8_t)message->way;
    request->may_fail = message->may_fail;
    bytes_copy(request->data, message->body.data, message->body.size);
    if (message->type)
        bytes_copy(request->data + message->body.size,
                   (const uint8_t *)message->id, id_size);
    return request;
}

struct sherd_bytes client_request_body(const struct client_request *request)
{
    return (struct sherd_bytes){ request->data, request->body_size };
}

const char *client_request_entity(const struct client_request *request)
{
    return (const char *)request->data + request->body_size;
}

static struct client_request *need_room(struct client_request *request,
                                        size_t room)
{
    if (room <= request->room &&
        (request->room < SHRINK_FROM || request->room <= 2 * room))
        return request;
    request = mem_resize(request, sizeof *request + room);
    request->room = (uint32_t)room;
    return request;
}

struct client_request *client_request_end(struct client_request *request,
                                          enum sherd_client_status status,
                                          const struct sherd_msg *msg)
{
    struct slice body = { 0 };
    struct slice where = { 0 };

    if (msg)
        body = slice_of(msg->body.data, msg->body.size);
    if (msg && msg->where && status != SHERD_CLIENT_ANSWERED)
        where = slice_text(msg->where);
    request = need_room(request, body.size + where.size + 1);
    bytes_copy(request->data, body.data, body.size);
    bytes_copy(request->data + body.size, where.data, where.size);
    request->data[body.size + where.size] = 0;
    request->body_size = (uint32_t)body.size;
    request->status = (uint8_t)status;
    request->msg = msg ? msg->msg : 0;
    request->reason = msg ? (uint8_t)msg->reason : SHERD_REASON_NONE;
    request->stage = msg ? (uint8_t)msg->stage : SHERD_STAGE_NONE;
    return request;
}

enum sherd_client_status client_status_of(const struct sherd_msg *msg)
{
    if (msg->reason == SHERD_REASON_TIMEOUT)
        return SHERD_CLIENT_TIMED_OUT;
    return msg->stage == SHERD_STAGE_NONE ? SHERD_CLIENT_REFUSED
                                          : SHERD_CLIENT_UNDELIVERED;
}

struct sherd_completion client_completion(struct client_request *request)
{
    struct sherd_completion completion = {
        .request = request->id,
        .user = request->user,
        .status = (enum sherd_client_status)request->status,
        .msg = request->msg,
        .reason = (enum sherd_reason)request->reason,
        .stage = (enum sherd_stage)request->stage,
        .body = client_request_body(request),
        .where = (const char *)request->data + request->body_size,
        .memory = request,
    };

    return completion;
}

#define X(name, text) text,
static const char *const status_texts[] = { SHERD_CLIENT_STATUSES(X) };
#undef X

const char *sherd_client_status_text(enum sherd_client_status status)
{
    return (unsigned)status < SHERD_CLIENT_STATUS_COUNT ? status_texts[status]
                                                        : "unknown";
}

void sherd_completions_free(struct sherd_completion *completions,
                            uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        mem_free(completions[i].memory);
        completions[i].memory = NULL;
        completions[i].body = (struct sherd_bytes){ NULL, 0 };
        completions[i].where = "";
    }
}
