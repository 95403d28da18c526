/* Implements operation_wire.h. */
#include "shard/operation_wire.h"

#include "base/address_text.h"
#include "base/fields.h"
#include "base/hash.h"
#include "shard/wire.h"

enum request_field {
    REQUEST_ID = 1,
    REQUEST_VERB, /* the kind + 1 */
    REQUEST_TYPE,
    REQUEST_SHARD,
    REQUEST_NODE,
    REQUEST_BY,
    REQUEST_REASON,
    REQUEST_WITHIN = 10,
    REQUEST_HOLD = 13,
    REQUEST_DRY_RUN
};

enum progress_field {
    PROGRESS_ID = 1,
    PROGRESS_STATE,
    PROGRESS_CODE,
    PROGRESS_TEXT,
    PROGRESS_TERM = 9,
    PROGRESS_STALL = 11
};

static const char *const kinds[] = {
#define X(name, text) text,
    SHERD_OPERATIONS(X)
#undef X
};

static const char *const states[] = {
#define X(name, text) text,
    SHERD_OPERATION_STATES(X)
#undef X
};

static const char *const codes[] = {
#define X(name, text) text,
    SHERD_OPERATION_CODES(X)
#undef X
};

const char *sherd_operation_kind_text(enum sherd_operation_kind kind)
{
    return kind < SHERD_OPERATION_KIND_COUNT ? kinds[kind] : "unknown";
}

const char *sherd_operation_state_text(enum sherd_operation_state state)
{
    return state < SHERD_OPERATION_STATE_COUNT ? states[state] : "unknown";
}

const char *sherd_operation_code_text(enum sherd_operation_code code)
{
    return code < SHERD_OPERATION_CODE_COUNT ? codes[code] : "unknown";
}

void operation_ids_add(struct operation_ids *ids, struct slice id)
{
    if (!operation_ids_have(ids, id))
        ids->hashes[ids->count++ % OPERATIONS_OF_CORDON_MAX] = hash_bytes(id);
}

bool operation_ids_have(const struct operation_ids *ids, struct slice id)
{
    uint64_t hash = hash_bytes(id);

    for (uint32_t i = 0; i < OPERATIONS_OF_CORDON_MAX; i++)
        if (ids->hashes[i] == hash)
            return true;
    return false;
}

bool operation_ids_end_with(const struct operation_ids *ids, struct slice id)
{
    return ids->count &&
           ids->hashes[(ids->count - 1) % OPERATIONS_OF_CORDON_MAX] == hash_bytes(id);
}

bool operation_id_is(struct slice id)
{
    for (size_t i = 0; i < id.size; i++) {
        uint8_t byte = id.data[i];

        if (!((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
              (byte >= '0' && byte <= '9') || byte == '_' || byte == '.' || byte == '-'))
            return false;
    }
    return id.size > 0 && id.size <= SHERD_OPERATION_ID_MAX;
}

static void put_node(struct buf *buf, const struct address *node)
{
    char text[ADDRESS_TEXT_MAX];

    if (node->port)
        field_put_bytes(buf, REQUEST_NODE, slice_text(address_text(node, text, sizeof text)));
}

void operation_request_put(struct buf *buf, const struct operation_request *request)
{
    field_put_bytes(buf, REQUEST_ID, request->id);
    field_put_number(buf, REQUEST_VERB, (uint64_t)request->kind + 1);
    field_put_bytes(buf, REQUEST_TYPE, request->type);
    field_put_bytes(buf, REQUEST_SHARD, request->shard);
    put_node(buf, &request->node);
    field_put_bytes(buf, REQUEST_BY, request->by);
    field_put_bytes(buf, REQUEST_REASON, request->reason);
    field_put_number(buf, REQUEST_WITHIN, request->within_ms);
    field_put_number(buf, REQUEST_HOLD, request->hold_ms);
    field_put_number(buf, REQUEST_DRY_RUN, request->is_dry_run);
}

static void take_request_field(struct operation_request *request, uint64_t *verb,
                               struct cursor *cursor, const struct field *field)
{
    switch (field->number) {
    case REQUEST_ID:
        request->id = field->bytes;
        break;
    case REQUEST_VERB:
        *verb = field->value;
        break;
    case REQUEST_TYPE:
        request->type = field->bytes;
        break;
    case REQUEST_SHARD:
        request->shard = field->bytes;
        break;
    case REQUEST_NODE:
        if (!address_read(field->bytes, &request->node))
            cursor->failed = true;
        break;
    case REQUEST_BY:
        request->by = field->bytes;
        break;
    case REQUEST_REASON:
        request->reason = field->bytes;
        break;
    case REQUEST_WITHIN:
        request->within_ms = field->value;
        break;
    case REQUEST_HOLD:
        request->hold_ms = field->value;
        break;
    case REQUEST_DRY_RUN:
        request->is_dry_run = field->value != 0;
        break;
    default:
        break;
    }
}

static bool has_its_fields(const struct operation_request *request)
{
    if (operation_is_of_node(request->kind))
        return true;
    return request->type.size &&
           (request->kind != SHERD_MOVE_SHARD || (request->shard.size && request->node.port));
}

bool operation_request_read(struct slice payload, struct operation_request *request)
{
    struct cursor cursor = cursor_of(payload);
    struct field field;
    uint64_t verb = 0;

    *request = (struct operation_request){ .within_ms = 0 };
    while (field_next(&cursor, &field))
        take_request_field(request, &verb, &cursor, &field);
    if (cursor.failed || !verb || verb > SHERD_OPERATION_KIND_COUNT)
        return false;
    request->kind = (enum sherd_operation_kind)(verb - 1);
    return operation_id_is(request->id) && request->type.size <= OPERATION_NAME_MAX &&
           request->shard.size <= OPERATION_NAME_MAX && request->by.size <= OPERATION_BY_MAX &&
           request->reason.size <= OPERATION_REASON_MAX &&
           request->within_ms <= OPERATION_WITHIN_MAX_MS &&
           request->hold_ms <= OPERATION_HOLD_MAX_MS && has_its_fields(request);
}

void operation_progress_put(struct buf *buf, const struct operation_progress *progress)
{
    field_put_bytes(buf, PROGRESS_ID, progress->id);
    field_put_number(buf, PROGRESS_STATE, (uint64_t)progress->state);
    field_put_number(buf, PROGRESS_CODE, (uint64_t)progress->code);
    field_put_bytes(buf, PROGRESS_TEXT, progress->text);
    field_put_number(buf, PROGRESS_TERM, progress->term);
    field_put_number(buf, PROGRESS_STALL, progress->stall_us);
}

bool operation_progress_read(struct slice payload, struct operation_progress *progress)
{
    struct cursor cursor = cursor_of(payload);
    struct field field;
    uint64_t state = 0, code = 0;

    *progress = (struct operation_progress){ .term = 0 };
    while (field_next(&cursor, &field)) {
        switch (field.number) {
        case PROGRESS_ID:
            progress->id = field.bytes;
            break;
        case PROGRESS_STATE:
            state = field.value;
            break;
        case PROGRESS_CODE:
            code = field.value;
            break;
        case PROGRESS_TEXT:
            progress->text = field.bytes;
            break;
        case PROGRESS_TERM:
            progress->term = field.value;
            break;
        case PROGRESS_STALL:
            progress->stall_us = field.value;
            break;
        default:
            break;
        }
    }
    progress->state = (enum sherd_operation_state)state;
    progress->code = code < SHERD_OPERATION_STRANGE ? (enum sherd_operation_code)code
                                                    : SHERD_OPERATION_STRANGE;
    return !cursor.failed && operation_id_is(progress->id) &&
           state < SHERD_OPERATION_STATE_COUNT && progress->text.size <= OPERATION_TEXT_MAX;
}

void operation_report(struct outbox *outbox, const struct node_id *to,
                      const struct operation_progress *progress)
{
    struct buf payload = { 0 };

    operation_progress_put(&payload, progress);
    outbox_put(outbox, &(struct outbound){ .to = *to,
                                           .manifest = slice_text("P"),
                                           .payload = buf_slice(&payload),
                                           .serializer = SHARDING_OWN_SERIALIZER,
                                           .stream = STREAM_CONTROL });
    buf_fini(&payload);
}
