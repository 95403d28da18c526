/* Converts users' items to the JVM's types and back. */
#include "ddata/item.h"

#include "ddata/element.h"

/* Akka's serializers. */
enum {
    SERIALIZER_BYTES = 4,
    SERIALIZER_LONG = 18,
    SERIALIZER_INT = 19,
    SERIALIZER_TEXT = 20
};

/* Every replica must accept the text, or it would stay here alone. */
static bool is_text(struct slice text)
{
    return text_is_valid(text) &&
           (!text.size || !memchr(text.data, 0, text.size));
}

bool item_to_element(const struct sherd_item *item, struct dd_element *element)
{
    *element = (struct dd_element){
        .number = item->number,
        .text = slice_of(item->text.data, item->text.size),
    };
    switch (item->kind) {
    case SHERD_ITEM_TEXT:
        element->kind = DD_TEXT;
        element->number = 0;
        return is_text(element->text);
    case SHERD_ITEM_INT:
        element->kind = DD_INT;
        return item->number >= INT32_MIN && item->number <= INT32_MAX;
    case SHERD_ITEM_LONG:
        element->kind = DD_LONG;
        return true;
    case SHERD_ITEM_BYTES:
    case SHERD_ITEM_OTHER:
        break;
    }
    return false;
}

bool item_to_key(const struct sherd_item *item, struct dd_element *element)
{
    if (item->kind != SHERD_ITEM_OTHER)
        return item_to_element(item, element);
    *element = (struct dd_element){
        .kind = item->serializer ? DD_OTHER : DD_REF,
        .text = slice_of(item->text.data, item->text.size),
        .serializer = item->serializer,
        .manifest = slice_of(item->manifest.data, item->manifest.size),
    };
    return true;
}

bool item_to_other(const struct sherd_item *item, uint8_t room[8],
                   struct dd_other *other)
{
    size_t size = item->kind == SHERD_ITEM_INT ? 4 : 8;

    *other = (struct dd_other){
        .bytes = slice_of(item->text.data, item->text.size)
    };
    switch (item->kind) {
    case SHERD_ITEM_TEXT:
        other->serializer = SERIALIZER_TEXT;
        return is_text(other->bytes);
    case SHERD_ITEM_BYTES:
        other->serializer = SERIALIZER_BYTES;
        return true;
    case SHERD_ITEM_INT:
    case SHERD_ITEM_LONG:
        other->serializer =
            size == 4 ? SERIALIZER_INT : SERIALIZER_LONG;
        for (size_t i = 0; i < size; i++)
            room[i] = (uint8_t)((uint64_t)item->number >> 8 * i);
        other->bytes = slice_of(room, size);
        return size == 8 || (item->number >= INT32_MIN &&
                             item->number <= INT32_MAX);
    case SHERD_ITEM_OTHER:
        break;
    }
    return false;
}

struct sherd_item item_of_element(const struct dd_element *element)
{
    struct sherd_item item = {
        .kind = SHERD_ITEM_OTHER,
        .number = element->number,
        .text = { element->text.data, element->text.size },
        .serializer = element->serializer,
        .manifest = { element->manifest.data, element->manifest.size },
    };

    if (element->kind == DD_TEXT)
        item.kind = SHERD_ITEM_TEXT;
    else if (element->kind == DD_INT)
        item.kind = SHERD_ITEM_INT;
    else if (element->kind == DD_LONG)
        item.kind = SHERD_ITEM_LONG;
    return item;
}

struct sherd_item item_of_other(struct dd_other other)
{
    struct sherd_item item = { .kind = SHERD_ITEM_OTHER,
                               .text = { other.bytes.data,
                                         other.bytes.size },
                               .serializer = other.serializer,
                               .manifest = { other.manifest.data,
                                             other.manifest.size } };
    size_t size = other.serializer == SERIALIZER_INT ? 4 : 8;
    uint64_t number = 0;

    if (other.manifest.size)
        return item;
    if (other.serializer == SERIALIZER_TEXT)
        item.kind = SHERD_ITEM_TEXT;
    else if (other.serializer == SERIALIZER_BYTES)
        item.kind = SHERD_ITEM_BYTES;
    else if ((other.serializer == SERIALIZER_LONG || other.serializer == SERIALIZER_INT) &&
             other.bytes.size == size) {
        for (size_t i = 0; i < size; i++)
            number |= (uint64_t)other.bytes.data[i] << 8 * i;
        item.kind = size == 4 ? SHERD_ITEM_INT : SHERD_ITEM_LONG;
        item.number = size == 4 ? (int32_t)(uint32_t)number : (int64_t)number;
        item.text = (struct sherd_bytes){ NULL, 0 };
    }
    return item;
}
