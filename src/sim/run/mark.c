/* Reads the program's marks from their linker section, and keeps lists of them. */
#ifndef SHERD_MARKS
#define SHERD_MARKS /* defines struct mark; programs that link this may have cores with marks */
#endif
#include "sim/run/mark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mark.h"
#include "sim/run/lines.h"

/* The linker's symbols for the ends of the section; null in a program without marks. */
extern struct mark *const __start_sherd_marks[] __attribute__((weak));
extern struct mark *const __stop_sherd_marks[] __attribute__((weak));

static int compare(const struct mark_total *left, const char *file,
                   uint32_t line, const char *text)
{
    int order = strcmp(left->file, file);

    if (!order)
        order = (left->line > line) - (left->line < line);
    return order ? order : strcmp(left->text, text);
}

static struct mark_total *find_or_add(struct mark_list *list,
                                      const char *file, uint32_t line,
                                      const char *text)
{
    uint32_t low = 0;
    uint32_t high = list->marks.count;
    struct mark_total *at;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        int order = compare(&list->marks.items[middle], file, line, text);

        if (!order)
            return &list->marks.items[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    vec_grow(&list->marks);
    at = &list->marks.items[low];
    memmove(at + 1, at, (list->marks.count - low) * sizeof *at);
    list->marks.count++;
    *at = (struct mark_total){ mem_text(file), mem_text(text), line, false, 0 };
    return at;
}

/* __FILE__ contains the path of the build. */
static const char *below_src(const char *file)
{
    const char *found = NULL;

    for (const char *at = file; (at = strstr(at, "src/")); at += 4)
        found = at + 4;
    return found ? found : file;
}

void mark_take(struct mark_list *list)
{
    for (struct mark *const *at = __start_sherd_marks;
         at != __stop_sherd_marks; at++) {
        struct mark_total *total = find_or_add(list, below_src((*at)->file),
                                               (*at)->line, (*at)->text);

        total->is_condition = (*at)->is_condition;
        total->count += (*at)->count;
        (*at)->count = 0;
    }
}

void mark_write(const struct mark_list *list, struct buf *out)
{
    for (uint32_t i = 0; i < list->marks.count; i++) {
        const struct mark_total *total = &list->marks.items[i];
        char head[64];

        (void)snprintf(head, sizeof head, "%" PRIu64 " %c ", total->count,
                       total->is_condition ? 'S' : 'R');
        buf_put_text(out, head);
        buf_put_text(out, total->file);
        (void)snprintf(head, sizeof head, ":%" PRIu32 " ", total->line);
        buf_put_text(out, head);
        buf_put_text(out, total->text);
        buf_put_u8(out, '\n');
    }
}

static bool merge_line(void *arg, char *line)
{
    struct mark_list *list = arg;
    char *end;
    char *file;
    uint64_t count;
    uint64_t number;
    char kind;
    struct mark_total *total;

    if (*line < '0' || *line > '9')
        return false;
    count = strtoull(line, &end, 10);
    if (end[0] != ' ' || (end[1] != 'R' && end[1] != 'S') || end[2] != ' ')
        return false;
    kind = end[1];
    file = end + 3;
    end = strchr(file, ':');
    if (!end || end == file || end[1] < '0' || end[1] > '9')
        return false;
    *end = 0;
    number = strtoull(end + 1, &end, 10);
    if (*end != ' ' || number > UINT32_MAX)
        return false;
    total = find_or_add(list, file, (uint32_t)number, end + 1);
    total->is_condition = kind == 'S';
    total->count += count;
    return true;
}

bool mark_merge(struct mark_list *list, struct slice lines)
{
    return lines_read(lines, merge_line, list);
}

void mark_fini(struct mark_list *list)
{
    for (uint32_t i = 0; i < list->marks.count; i++) {
        mem_free(list->marks.items[i].file);
        mem_free(list->marks.items[i].text);
    }
    vec_fini(&list->marks);
}
