/* Updates, reads, deletes and subscribes to distributed data, as command lines say. The commands
 * are those of the JVM's program; jvm/src/sherd/interop/Data.java describes them. The actor uses
 * sherd/ddata.h. It also prints a hash of a value's bytes, which ddata/face.h puts into the
 * message's body. */
#include "data.h"

#include <sherd/ddata.h>

#include <inttypes.h>
#include <sha1.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

#define SHOWN 100u      /* entries of the largest value whose content is printed */
#define CHANGES_MAX 64u /* changes in one line */
#define LINE_WORDS 7

static struct sherd_ref replica;
static atomic_int replica_ready;

static const char *const type_names[] = {
    [SHERD_FLAG] = "flag",
    [SHERD_G_COUNTER] = "gcounter",
    [SHERD_PN_COUNTER] = "pncounter",
    [SHERD_G_SET] = "gset",
    [SHERD_OR_SET] = "orset",
    [SHERD_LWW_REGISTER] = "register",
    [SHERD_LWW_MAP] = "lwwmap",
    [SHERD_PN_COUNTER_MAP] = "countermap",
    [SHERD_OR_MULTIMAP] = "multimap",
    [SHERD_OR_MULTIMAP_DELTAS] = "multimapdeltas",
    [SHERD_OR_MAP] = "ormap",
    [SHERD_CUSTOM] = "custom",
};

static const char *const verb_names[] = {
    [SHERD_SWITCH_ON] = "on",        [SHERD_COUNT] = "count",
    [SHERD_ADD] = "add",             [SHERD_REMOVE] = "remove",
    [SHERD_REMOVE_VALUE] = "removevalue", [SHERD_CLEAR] = "clear",
    [SHERD_PUT] = "put",
};

static const char *const answers[] = {
    [SHERD_DATA_FOUND] = "found",       [SHERD_DATA_NOT_FOUND] = "none",
    [SHERD_DATA_UPDATED] = "updated",   [SHERD_DATA_DELETED] = "deleted",
    [SHERD_DATA_TIMEOUT] = "timeout",   [SHERD_DATA_MISMATCH] = "mismatch",
    [SHERD_DATA_NOT_STORED] = "not-stored",
    [SHERD_DATA_REFUSED] = "refused",   [SHERD_DATA_CHANGED] = "changed",
    [SHERD_DATA_EXPIRED] = "expired",
    [SHERD_DATA_HELD] = "held",       [SHERD_DATA_TOO_LARGE] = "too-large",
};

#define COUNT_OF(names) (sizeof(names) / sizeof *(names))

/* Returns the number of a name, or 0 if there is no such name. */
static int number_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 1; i < count; i++)
        if (names[i] && name && !strcmp(names[i], name))
            return (int)i;
    return 0;
}

/* ---- printing values ---- */

static void put_text(struct buf *text, struct sherd_bytes bytes)
{
    buf_put(text, bytes.data, bytes.size);
}

static void put_item(struct buf *text, const struct sherd_item *item)
{
    char number[32];

    switch (item->kind) {
    case SHERD_ITEM_TEXT:
        buf_put_text(text, "t:");
        put_text(text, item->text);
        return;
    case SHERD_ITEM_INT:
    case SHERD_ITEM_LONG:
        snprintf(number, sizeof number, "%c:%" PRId64,
                 item->kind == SHERD_ITEM_INT ? 'i' : 'l', item->number);
        buf_put_text(text, number);
        return;
    case SHERD_ITEM_BYTES:
    case SHERD_ITEM_OTHER:
        break;
    }
    buf_put_text(text, "other");
}

static void put_number(struct buf *text, int64_t number)
{
    char digits[32];

    snprintf(digits, sizeof digits, "%" PRId64, number);
    buf_put_text(text, digits);
}

static void put_content(struct buf *text, const struct sherd_value *value,
                        const char *between);

static void put_set_of(struct buf *text, const struct sherd_value *map,
                       const struct sherd_item *key)
{
    struct sherd_item item;
    uint32_t count = 0;

    for (uint32_t at = 0; sherd_value_next_of(map, key, &at, &item); count++) {
        if (count)
            buf_put_text(text, "+");
        put_item(text, &item);
    }
    if (!count)
        buf_put_text(text, "empty");
}

/* Writes the value of a map's key. */
static void put_value(struct buf *text, const struct sherd_value *map,
                      const struct sherd_item *key)
{
    struct sherd_value *inside;
    struct sherd_item item;

    buf_put_text(text, "=");
    switch (sherd_value_type(map)) {
    case SHERD_LWW_MAP:
        if (sherd_value_get(map, key, &item))
            put_item(text, &item);
        return;
    case SHERD_PN_COUNTER_MAP:
        put_number(text, sherd_value_count(map, key));
        return;
    case SHERD_OR_MULTIMAP:
    case SHERD_OR_MULTIMAP_DELTAS:
        put_set_of(text, map, key);
        return;
    default:
        break;
    }
    inside = sherd_value_inside(map, key);
    if (inside)
        put_content(text, inside, "+");
    sherd_value_free(inside);
}

/* Writes all entries of a set or a map. */
static void put_all(struct buf *text, const struct sherd_value *value,
                    const char *between)
{
    enum sherd_data_type type = sherd_value_type(value);
    uint32_t size = sherd_value_size(value);
    struct sherd_item item;
    bool is_first = true;

    if (!size || size > SHOWN) {
        buf_put_text(text, size ? "many" : "empty");
        return;
    }
    for (uint32_t at = 0; sherd_value_next(value, &at, &item);) {
        if (!is_first)
            buf_put_text(text, between);
        is_first = false;
        put_item(text, &item);
        if (type != SHERD_G_SET && type != SHERD_OR_SET)
            put_value(text, value, &item);
    }
}

/* Writes a custom value as the JVM's program shows it: its bytes are names, one in each line. */
static void put_names(struct buf *text, const struct sherd_value *value,
                      const char *between)
{
    struct sherd_item item;
    const char *name, *end;

    if (!sherd_value_custom(value, &item) || !item.text.size) {
        buf_put_text(text, "empty");
        return;
    }
    name = item.text.data;
    end = name + item.text.size;
    while (name < end) {
        const char *line = memchr(name, '\n', (size_t)(end - name));

        if (name != item.text.data)
            buf_put_text(text, between);
        buf_put_text(text, "t:");
        buf_put(text, name, (size_t)((line ? line : end) - name));
        name = line ? line + 1 : end;
    }
}

static void put_content(struct buf *text, const struct sherd_value *value,
                        const char *between)
{
    struct sherd_item item;

    switch (sherd_value_type(value)) {
    case SHERD_FLAG:
        buf_put_text(text, sherd_value_flag(value) ? "on" : "off");
        break;
    case SHERD_G_COUNTER:
    case SHERD_PN_COUNTER:
        put_number(text, sherd_value_count(value, NULL));
        break;
    case SHERD_LWW_REGISTER:
        if (sherd_value_get(value, NULL, &item))
            put_item(text, &item);
        break;
    case SHERD_CUSTOM:
        put_names(text, value, between);
        break;
    default:
        put_all(text, value, between);
        break;
    }
}

/* Writes KEY MANIFEST SIZE SHA1 none CONTENT. The content of several values has a bar between
 * them. */
static void put_line(struct buf *text, const struct sherd_msg *msg)
{
    const char *key = sherd_data_key(msg);
    struct sherd_value *value;
    uint32_t at = 0, count = 0;
    struct cursor cursor = cursor_of(slice_of(msg->body.data, msg->body.size));
    char hex[SHA1_DIGEST_STRING_LENGTH];
    char number[32];
    struct slice bytes;
    uint16_t manifest_size;
    uint32_t size;

    (void)cursor_slice(&cursor, strlen(key) + 1);
    (void)cursor_u32(&cursor);
    buf_put_text(text, key);
    buf_put_text(text, " ");
    manifest_size = cursor_u16(&cursor);
    size = cursor_u32(&cursor);
    buf_put_slice(text, cursor_slice(&cursor, manifest_size));
    bytes = cursor_slice(&cursor, size);
    snprintf(number, sizeof number, " %zu ", bytes.size);
    buf_put_text(text, number);
    buf_put_text(text, SHA1Data(bytes.data, bytes.size, hex));
    buf_put_text(text, " none ");
    for (; (value = sherd_data_next_value(msg, &at)); count++) {
        if (count)
            buf_put_text(text, "|");
        put_content(text, value, ",");
        sherd_value_free(value);
    }
    if (!count)
        buf_put_text(text, "unknown");
}

static void tell(const struct sherd_msg *msg)
{
    struct buf text = { 0 };

    if (msg->msg == SHERD_DATA_FOUND || msg->msg == SHERD_DATA_CHANGED)
        put_line(&text, msg);
    buf_put_u8(&text, 0);
    printf("data %" PRIu32 " %s %s\n", msg->tag, answers[msg->msg],
           (const char *)text.data);
    buf_fini(&text);
}

/* ---- reading lines ---- */

static struct sherd_item item_of(const char *word)
{
    struct sherd_item item = { .kind = SHERD_ITEM_OTHER };

    switch (word[0]) {
    case 't':
        return sherd_text(word + 2);
    case 'i':
    case 'l':
        item.kind = word[0] == 'i' ? SHERD_ITEM_INT : SHERD_ITEM_LONG;
        item.number = strtoll(word + 2, NULL, 10);
        break;
    default:
        break;
    }
    return item;
}

static struct sherd_consistency level_of(const char *text)
{
    struct sherd_consistency level = { .level = SHERD_LOCAL,
                                       .timeout_ms = 30000 };
    const char *time = strchr(text, ':');

    if (time)
        level.timeout_ms = strtoull(time + 1, NULL, 10);
    if (text[0] >= '0' && text[0] <= '9') {
        level.level = SHERD_MEMBERS;
        level.members = (uint32_t)strtoul(text, NULL, 10);
    } else if (!strncmp(text, "plus", 4)) {
        level.level = SHERD_MAJORITY_PLUS;
        level.members = (uint32_t)strtoul(text + 4, NULL, 10);
    } else if (!strncmp(text, "majority", 8)) {
        level.level = SHERD_MAJORITY;
    } else if (!strncmp(text, "all", 3)) {
        level.level = SHERD_ALL;
    }
    return level;
}

/* Reads VERB ITEM VALUE AMOUNT [TYPE]. */
static bool read_change(char *text, struct sherd_change *change)
{
    char *words[5] = { NULL };
    char *rest = text;

    for (uint32_t i = 0; i < 5; i++)
        words[i] = strtok_r(rest, " ", &rest);
    if (!words[3])
        return false;
    change->verb = (enum sherd_verb)number_of(verb_names, COUNT_OF(verb_names),
                                              words[0]);
    change->item = item_of(words[1]);
    change->value = item_of(words[2]);
    change->amount = strtoll(words[3], NULL, 10);
    change->inside = (enum sherd_data_type)number_of(
        type_names, COUNT_OF(type_names), words[4]);
    return change->verb && (change->inside || !words[4]);
}

static bool update(struct sherd_ctx *ctx, char *const *words, char *rest)
{
    struct sherd_consistency level = level_of(words[5]);
    struct sherd_change changes[CHANGES_MAX];
    int type = number_of(type_names, COUNT_OF(type_names), words[4]);
    uint32_t count = 0;

    memset(changes, 0, sizeof changes);
    for (char *one; type && (one = strtok_r(rest, ";", &rest)); count++)
        if (count == CHANGES_MAX || !read_change(one, &changes[count]))
            return false;
    sherd_data_update(ctx, words[3], (enum sherd_data_type)type, changes,
                      count, &level, (uint32_t)strtoul(words[1], NULL, 10));
    return type != 0;
}

static bool obey(struct sherd_ctx *ctx, char *line)
{
    char *words[LINE_WORDS] = { NULL };
    struct sherd_consistency level;
    char *rest = line;
    uint32_t tag;

    for (uint32_t i = 0; i < 4; i++)
        words[i] = strtok_r(rest, " ", &rest);
    if (!words[3])
        return false;
    tag = (uint32_t)strtoul(words[1], NULL, 10);
    if (!strcmp(words[2], "subscribe"))
        return sherd_data_subscribe(ctx, words[3], tag) == 0;
    words[4] = strtok_r(rest, " ", &rest);
    if (!words[4])
        return false;
    level = level_of(words[4]);
    if (!strcmp(words[2], "get")) {
        sherd_data_get(ctx, words[3], &level, tag);
        return true;
    }
    if (!strcmp(words[2], "delete")) {
        sherd_data_delete(ctx, words[3], &level, tag);
        return true;
    }
    words[5] = strtok_r(rest, " ", &rest);
    return words[5] && !strcmp(words[2], "update") && update(ctx, words, rest);
}

/* ---- the actor ---- */

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    char *line;

    (void)self;
    switch (msg->kind) {
    case SHERD_STARTED:
        replica = sherd_self(ctx);
        atomic_store(&replica_ready, 1);
        break;
    case SHERD_MESSAGE:
        line = strndup(msg->body.data, msg->body.size);
        line[strcspn(line, "\n")] = '\0';
        if (!obey(ctx, line))
            printf("error: %.*s", (int)msg->body.size,
                   (const char *)msg->body.data);
        free(line);
        break;
    case SHERD_DATA:
        tell(msg);
        break;
    default:
        break;
    }
    return SHERD_CONTINUE;
}

int data_spawn(struct sherd_system *system)
{
    const struct sherd_behavior behavior = { .name = "replica",
                                             .receive = receive };

    return sherd_system_spawn(system, &behavior,
                              (struct sherd_bytes){ NULL, 0 }, NULL);
}

int data_order(struct sherd_system *system, const char *line)
{
    if (!atomic_load(&replica_ready))
        return SHERD_EINVAL;
    return sherd_system_tell(system, replica, 0,
                             (struct sherd_bytes){ line, strlen(line) });
}
