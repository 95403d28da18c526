/* Opens a journal by its place, and reads ids and events page by page. */
#include "sherd-journal.h"

#include <string.h>
#include <unistd.h>

#include "base/check.h"
#include "base/vec.h"

const char *journal_url(const char *place)
{
    if (strncmp(place, "postgres:", 9) == 0 && strncmp(place, "postgres://", 11) != 0)
        return place + 9;
    if (strncmp(place, "postgres://", 11) == 0 || strncmp(place, "postgresql://", 13) == 0)
        return place;
    return NULL;
}

const char *journal_schema(const struct cmd_call *call)
{
    const char *schema = cmd_value(call, "schema");

    return schema ? schema : "sherd";
}

bool journal_is_remote(const struct cmd_call *call)
{
    return journal_url(call->arguments[0]) != NULL;
}

bool cmd_place_is_readable(const struct cmd_call *call)
{
    if (!call->count || journal_is_remote(call) || !strstr(call->arguments[0], "://"))
        return true;
    (void)cmd_fail(CMD_USAGE, "the journal is neither a file nor a URL of PostgreSQL; write postgres:URL");
    return false;
}

struct journal *journal_open_old(const struct cmd_call *call)
{
    char error[BACKEND_ERROR_MAX] = "";
    const char *url = journal_url(call->arguments[0]);
    struct journal *journal = url ? journal_open_postgres(url, journal_schema(call), error)
                                  : journal_open_sqlite(call->arguments[0], error);

    if (!journal)
        (void)cmd_fail(CMD_UNREACHABLE, "%s", error);
    return journal;
}

struct journal *journal_open(const struct cmd_call *call)
{
    struct journal *journal = journal_open_old(call);

    if (!journal || !journal->must_migrate)
        return journal;
    (void)cmd_fail(CMD_UNREACHABLE, "the journal's tables are older than this program: start a node of it, or run "
                   "sherd journal schema --migrate");
    journal->ops->close(journal);
    return NULL;
}

enum cmd_exit journal_failed(const struct journal *journal)
{
    return cmd_fail(journal->is_used ? CMD_REFUSED : CMD_UNREACHABLE, "%s", journal->error);
}

bool journal_has_file(const char *folder, const char *name)
{
    struct buf path = { 0 };
    bool has;

    buf_put_text(&path, folder);
    buf_put_u8(&path, '/');
    buf_put(&path, name, strlen(name) + 1);
    has = access((const char *)path.data, F_OK) == 0;
    buf_fini(&path);
    return has;
}

void journal_delete_beside(const char *path, const char *end)
{
    struct buf name = { 0 };

    buf_put_text(&name, path);
    buf_put(&name, end, strlen(end) + 1);
    (void)unlink((const char *)name.data); /* it may not be there */
    buf_fini(&name);
}

/* ---- events ---- */

struct events {
    bool (*found)(void *context, uint64_t seq, struct slice record);
    void *context;
    uint64_t to, next;
    uint32_t count; /* of the page */
    bool is_over;
};

static void take_event(void *context, uint64_t seq, struct slice record)
{
    struct events *events = context;

    events->count++;
    events->next = seq + 1;
    if (events->is_over || seq > events->to || !events->found(events->context, seq, record))
        events->is_over = true;
}

bool journal_each_event(struct journal *journal, struct slice id, uint64_t from, uint64_t to,
                        bool (*found)(void *context, uint64_t seq, struct slice record), void *context)
{
    struct events events = { .found = found, .context = context, .to = to, .next = from };

    do {
        events.count = 0;
        if (!journal->ops->events(journal, id, events.next, take_event, &events))
            return false;
    } while (events.count && !events.is_over && events.next <= to);
    return true;
}

bool journal_each_snapshot(struct journal *journal, struct slice id, uint64_t from, uint64_t to,
                           bool (*found)(void *context, uint64_t seq, struct slice record), void *context)
{
    struct events snapshots = { .found = found, .context = context, .to = to, .next = from };

    do {
        snapshots.count = 0;
        if (!journal->ops->snapshot(journal, id, snapshots.next, take_event, &snapshots))
            return false;
    } while (snapshots.count && !snapshots.is_over && snapshots.next <= to);
    return true;
}

/* ---- ids ---- */

struct holding {
    struct journal_id *id;
};

static void take_held(void *context, const struct journal_id *found)
{
    struct holding *holding = context;

    if (!slice_equal(found->id, holding->id->id))
        return;
    holding->id->first = found->first;
    holding->id->last = found->last;
    holding->id->snapshots = found->snapshots;
}

bool journal_hold(struct journal *journal, struct journal_id *id)
{
    struct holding holding = { .id = id };

    return journal->ops->hold(journal, true) &&
           journal->ops->ids(journal, id->id, (struct slice){ 0 }, 1, take_held, &holding);
}

struct slice journal_type_of(struct slice id)
{
    size_t start = journal_is_stream(id) ? 1 : 0;
    const uint8_t *end = id.size > start ? memchr(id.data + start, '|', id.size - start) : NULL;

    return end ? slice_of(id.data + start, (size_t)(end - id.data) - start) : (struct slice){ 0 };
}

struct ids {
    VEC(struct journal_id) page; /* with ids on the heap */
};

static void take_id(void *context, const struct journal_id *found)
{
    struct ids *ids = context;
    struct journal_id copy = *found;

    copy.id = slice_of(mem_copy(found->id.data, found->id.size), found->id.size);
    vec_push(&ids->page, copy);
}

bool journal_each_id(struct journal *journal, struct slice prefix, struct slice after,
                     bool (*found)(void *context, const struct journal_id *id), void *context)
{
    struct buf last = { 0 };
    bool good, goes_on = true;

    buf_put_slice(&last, after);
    do {
        struct ids ids = { .page = { 0 } };

        good = journal->ops->ids(journal, prefix, buf_slice(&last), JOURNAL_PAGE, take_id, &ids);
        goes_on = goes_on && ids.page.count;
        for (uint32_t i = 0; i < ids.page.count; i++) {
            const struct journal_id *at = &ids.page.items[i];

            goes_on = goes_on && good && found(context, at);
            buf_clear(&last);
            buf_put_slice(&last, at->id);
            mem_free((void *)(uintptr_t)at->id.data);
        }
        vec_fini(&ids.page);
    } while (good && goes_on);
    buf_fini(&last);
    return good;
}
