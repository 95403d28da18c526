/* Converts the ids of sharded daemon processes. */
#include "base/daemon_id.h"

#include <stdio.h>
#include <string.h>

bool daemon_type_is(const char *type)
{
    return strncmp(type, DAEMON_TYPE, sizeof DAEMON_TYPE - 1) == 0;
}

void daemon_id_put(char text[DAEMON_ID_MAX], const struct daemon_id *id)
{
    if (id->revision)
        (void)snprintf(text, DAEMON_ID_MAX, "%u|%u|%u", id->revision, id->count, id->number);
    else
        (void)snprintf(text, DAEMON_ID_MAX, "%u", id->number);
}

/* Takes a number without leading zeros. */
static bool take(struct slice *text, uint32_t *number)
{
    uint64_t value = 0;
    size_t size = 0;

    while (size < text->size && text->data[size] >= '0' && text->data[size] <= '9' && size < 10)
        value = value * 10 + (text->data[size++] - '0');
    if (!size || (size > 1 && text->data[0] == '0') || value > UINT32_MAX)
        return false;
    *text = slice_of(text->data + size, text->size - size);
    *number = (uint32_t)value;
    return true;
}

static bool take_bar(struct slice *text)
{
    if (!text->size || text->data[0] != '|')
        return false;
    *text = slice_of(text->data + 1, text->size - 1);
    return true;
}

bool daemon_id_parse(struct slice text, struct daemon_id *id)
{
    uint32_t first;

    *id = (struct daemon_id){ 0, 0, 0 };
    if (!take(&text, &first))
        return false;
    id->number = first;
    if (!text.size)
        return true;
    id->revision = first;
    return take_bar(&text) && take(&text, &id->count) && take_bar(&text) &&
           take(&text, &id->number) && !text.size && id->revision && id->number < id->count;
}
