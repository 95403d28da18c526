/* Compares paths with the entries of large destinations. */
#include "node/machine/large.h"

#include <string.h>

#include "base/limits.h"
#include "base/outbox.h"

/* Takes the element after a "/". */
static struct slice take_element(struct slice *path)
{
    struct slice element = slice_of(path->data + 1, 0);

    while (element.size + 1 < path->size && element.data[element.size] != '/')
        element.size++;
    *path = slice_of(element.data + element.size,
                     path->size - element.size - 1);
    return element;
}

static bool ends_with_star(struct slice element)
{
    return element.size && element.data[element.size - 1] == '*';
}

bool large_entry_good(const char *entry)
{
    struct slice left = slice_text(entry);

    if (!left.size || left.data[0] != '/')
        return false;
    while (left.size) {
        struct slice element = take_element(&left);
        bool is_all = slice_is(element, "**");

        if (!element.size || (is_all && left.size))
            return false;
        if (ends_with_star(element) && !is_all)
            element.size--;
        if (!is_all && element.size &&
            memchr(element.data, '*', element.size))
            return false;
    }
    return true;
}

static bool element_matches(struct slice wanted, struct slice element)
{
    if (!ends_with_star(wanted))
        return slice_equal(wanted, element);
    return element.size >= wanted.size - 1 &&
           !memcmp(element.data, wanted.data, wanted.size - 1);
}

static bool matches(struct slice entry, struct slice path)
{
    while (entry.size && path.size) {
        struct slice wanted = take_element(&entry);

        if (slice_is(wanted, "**"))
            return true;
        if (!element_matches(wanted, take_element(&path)))
            return false;
    }
    return !entry.size && !path.size;
}

bool large_path(const struct node_settings *settings, struct slice path)
{
    uint32_t count = settings->large_destination_count;

    if (!count || !path.size || path.data[0] != '/')
        return false;
    path = path_plain(path);
    for (uint32_t i = 0; i < count; i++)
        if (matches(slice_text(settings->large_destinations[i]), path))
            return true;
    return false;
}

enum stream large_stream(const struct node_settings *settings,
                         struct slice path)
{
    return large_path(settings, path) ? STREAM_LARGE : STREAM_ORDINARY;
}

uint32_t large_body_max(const struct node_settings *settings)
{
    uint32_t size = settings->large_frame_size;

    return (size ? size : FRAME_LARGE_SIZE) - FRAME_LARGE_HEAD_SIZE;
}

uint32_t large_any_max(const struct node_settings *settings)
{
    return settings->large_destination_count ? large_body_max(settings)
                                             : SHERD_BODY_MAX;
}
