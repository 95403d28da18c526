/* Makes references to entities, writes them as text and reads them (sherd/entity_ref.h). */
#include "actor/entity_ref.h"

#include <string.h>

static const char digits[] = "0123456789ABCDEF";

/* Whether a text has min to max bytes of UTF-8. */
static bool is_name(const char *text, size_t min, size_t max)
{
    const char *end = memchr(text, 0, max + 1);
    size_t size = end ? (size_t)(end - text) : 0;

    return end && size >= min && text_is_valid(slice_of(text, size));
}

bool entity_ref_is_valid(const struct sherd_entity_ref *ref)
{
    return is_name(ref->type, 1, SHERD_TYPE_MAX) && !strchr(ref->type, '|') &&
           ref->id[0] && memchr(ref->id, 0, sizeof ref->id) &&
           is_name(ref->data_center, 0, SHERD_TYPE_MAX);
}

/* Copies a text of fewer than size bytes; the rest of `to` is zero already. */
static bool set(char *to, size_t size, const char *text)
{
    size_t length = text ? strlen(text) : 0;

    if (length >= size)
        return false;
    bytes_copy((uint8_t *)to, (const uint8_t *)text, length);
    return true;
}

int sherd_entity_ref_make(struct sherd_entity_ref *ref, const char *type,
                          const char *id, const char *data_center)
{
    if (!ref)
        return SHERD_EINVAL;
    memset(ref, 0, sizeof *ref);
    if (set(ref->type, sizeof ref->type, type) &&
        set(ref->id, sizeof ref->id, id) &&
        set(ref->data_center, sizeof ref->data_center, data_center) &&
        entity_ref_is_valid(ref))
        return 0;
    memset(ref, 0, sizeof *ref);
    return SHERD_EINVAL;
}

/* ---- text ---- */

/* A sign that stands for itself: RFC 3986, unreserved. */
static bool stays(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' ||
           byte == '_' || byte == '~';
}

/* Room for the text, and what it has used; above `size` it did not fit. */
struct room {
    char *text;
    size_t size;
    size_t used;
};

static void put_byte(struct room *room, char byte)
{
    if (room->used < room->size)
        room->text[room->used] = byte;
    room->used++;
}

static void put(struct room *room, const char *text)
{
    for (; *text; text++) {
        uint8_t byte = (uint8_t)*text;

        if (stays(byte)) {
            put_byte(room, *text);
        } else {
            put_byte(room, '%');
            put_byte(room, digits[byte >> 4]);
            put_byte(room, digits[byte & 15]);
        }
    }
}

int sherd_entity_ref_text(const struct sherd_entity_ref *ref, char *text,
                          size_t size)
{
    struct room room = { text, size, 0 };

    if (ref && text && entity_ref_is_valid(ref)) {
        put(&room, ref->type);
        if (ref->data_center[0])
            put_byte(&room, '@');
        put(&room, ref->data_center);
        put_byte(&room, '/');
        put(&room, ref->id);
        put_byte(&room, 0);
        if (room.used <= size)
            return (int)room.used - 1;
    }
    if (text && size)
        text[0] = 0;
    return SHERD_EINVAL;
}

/* Reads a capital hexadecimal digit; -1: it is none. */
static int digit(struct cursor *cursor)
{
    uint8_t byte = cursor_u8(cursor);
    const char *at = byte ? strchr(digits, byte) : NULL;

    return at ? (int)(at - digits) : -1;
}

/* Reads a part up to one of the ends or the end of the text; the end is read, too, into *end (0: the
 * text's). False: a sign or a code that is never written, or a part of `size` bytes or more. */
static bool take(struct cursor *cursor, char *to, size_t size, const char *ends,
                 char *end)
{
    size_t used = 0;

    *end = 0;
    while (cursor_left(cursor)) {
        uint8_t byte = cursor_u8(cursor);

        if (byte && strchr(ends, byte)) {
            *end = (char)byte;
            return true;
        }
        if (byte == '%') {
            int high = digit(cursor);
            int low = digit(cursor);

            if (high < 0 || low < 0)
                return false;
            byte = (uint8_t)(high << 4 | low);
            if (!byte || stays(byte))
                return false;
        } else if (!stays(byte)) {
            return false;
        }
        if (used + 1 >= size)
            return false;
        to[used++] = (char)byte;
    }
    return true;
}

static bool read(struct sherd_entity_ref *ref, struct sherd_bytes text)
{
    struct cursor cursor = cursor_of(slice_of(text.data, text.size));
    char end;

    if (!take(&cursor, ref->type, sizeof ref->type, "@/", &end))
        return false;
    if (end == '@' && (!take(&cursor, ref->data_center,
                             sizeof ref->data_center, "/", &end) ||
                       !ref->data_center[0]))
        return false;
    return end == '/' && take(&cursor, ref->id, sizeof ref->id, "", &end) &&
           entity_ref_is_valid(ref);
}

int sherd_entity_ref_parse(struct sherd_entity_ref *ref,
                           struct sherd_bytes text)
{
    if (!ref)
        return SHERD_EINVAL;
    memset(ref, 0, sizeof *ref);
    if (read(ref, text))
        return 0;
    memset(ref, 0, sizeof *ref);
    return SHERD_EINVAL;
}
