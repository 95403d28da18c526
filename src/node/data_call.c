/* Writes and reads calls of distributed data as bytes. */
#include "node/data_call.h"

#include "base/check.h"
#include "base/limits.h"

#define TIMEOUT_MS_MAX 3600000

static bool is_level(const struct sherd_consistency *consistency)
{
    switch (consistency->level) {
    case SHERD_LOCAL:
        return true;
    case SHERD_MEMBERS:
        if (consistency->members < 2)
            return false;
        break;
    case SHERD_MAJORITY:
    case SHERD_MAJORITY_PLUS:
    case SHERD_ALL:
        break;
    default:
        return false;
    }
    return consistency->timeout_ms && consistency->timeout_ms <= TIMEOUT_MS_MAX;
}

/* Writes a type, a verb or a kind. The lowest eight bits of an invalid code may be a valid one, so
 * it is kept invalid. */
static void put_code(struct buf *bytes, unsigned code)
{
    buf_put_u8(bytes, code < UINT8_MAX ? (uint8_t)code : UINT8_MAX);
}

static void put_item(struct buf *bytes, const struct sherd_item *item)
{
    put_code(bytes, item->kind);
    buf_put_u64(bytes, (uint64_t)item->number);
    buf_put_u32(bytes, (uint32_t)item->text.size);
    buf_put(bytes, item->text.data, item->text.size);
}

bool data_call_put(struct buf *bytes, const char *key,
                   const struct sherd_consistency *consistency,
                   enum sherd_data_type type,
                   const struct sherd_change *changes, uint32_t count)
{
    static const struct sherd_consistency local = { .level = SHERD_LOCAL };
    size_t size = key ? strlen(key) : 0;

    if (!consistency)
        consistency = &local;
    if (!size || size > SHERD_DATA_KEY_MAX ||
        !text_is_valid(slice_of(key, size)) || !is_level(consistency) ||
        count > DATA_CHANGES_MAX)
        return false;
    buf_put_u8(bytes, (uint8_t)consistency->level);
    buf_put_u32(bytes, consistency->members);
    buf_put_u64(bytes, consistency->timeout_ms);
    buf_put_u8(bytes, (uint8_t)size);
    buf_put(bytes, key, size);
    put_code(bytes, type);
    buf_put_u16(bytes, (uint16_t)count);
    for (uint32_t i = 0; i < count; i++) {
        put_code(bytes, changes[i].verb);
        buf_put_u64(bytes, (uint64_t)changes[i].amount);
        put_code(bytes, changes[i].inside);
        put_item(bytes, &changes[i].item);
        put_item(bytes, &changes[i].value);
        if (bytes->size > SHERD_BODY_MAX)
            return false;
    }
    return true;
}

static struct sherd_item read_item(struct cursor *cursor)
{
    struct sherd_item item = {
        .kind = (enum sherd_item_kind)cursor_u8(cursor),
        .number = (int64_t)cursor_u64(cursor),
    };
    struct slice text;

    item.text.size = cursor_u32(cursor);
    text = cursor_slice(cursor, item.text.size);
    item.text.data = text.data;
    return item;
}

void data_call_read(struct data_call *call, enum data_verb verb,
                    struct slice bytes)
{
    static const enum consistency_level levels[] = {
        [SHERD_LOCAL] = CONSISTENCY_LOCAL,
        [SHERD_MEMBERS] = CONSISTENCY_COUNT,
        [SHERD_MAJORITY] = CONSISTENCY_MAJORITY,
        [SHERD_MAJORITY_PLUS] = CONSISTENCY_MAJORITY_PLUS,
        [SHERD_ALL] = CONSISTENCY_ALL,
    };
    struct cursor cursor = cursor_of(bytes);
    enum sherd_level level;
    uint32_t members;

    *call = (struct data_call){ .consistency = { .level = CONSISTENCY_LOCAL } };
    if (verb == DATA_KEYS) {
        call->from = cursor_u32(&cursor);
        return;
    }
    level = (enum sherd_level)cursor_u8(&cursor);
    members = cursor_u32(&cursor);
    call->consistency.level = levels[level];
    if (level == SHERD_MAJORITY)
        call->consistency.cap_min = members;
    else
        call->consistency.count = members;
    call->consistency.timeout_ms = cursor_u64(&cursor);
    call->key = cursor_slice(&cursor, cursor_u8(&cursor));
    call->type = (enum sherd_data_type)cursor_u8(&cursor);
    call->count = cursor_u16(&cursor);
    call->changes = mem_alloc(call->count * sizeof *call->changes);
    for (uint32_t i = 0; i < call->count; i++) {
        call->changes[i].verb = (enum sherd_verb)cursor_u8(&cursor);
        call->changes[i].amount = (int64_t)cursor_u64(&cursor);
        call->changes[i].inside = (enum sherd_data_type)cursor_u8(&cursor);
        call->changes[i].item = read_item(&cursor);
        call->changes[i].value = read_item(&cursor);
    }
    check(!cursor.failed); /* written here */
}

void data_call_fini(struct data_call *call)
{
    mem_free(call->changes);
}
