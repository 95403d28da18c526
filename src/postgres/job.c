/* Prepares a job's calls and reads their answers, and writes lines to the log. */
#include "postgres/store.h"

#include <stdarg.h>
#include <stdio.h>

#define LINE_SIZE 600

void pg_store_log(struct pg_store *store, enum sherd_backend_level level, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments); /* may be cut */
    va_end(arguments);
    store->settings.log(store->settings.log_user, level, line);
}

struct pg_call *pg_call_put(struct pg_store *store, uint32_t index, enum pg_statement which,
                            uint32_t parameters)
{
    struct pg_call *call = &store->calls[index];

    call->which = which;
    call->count = parameters;
    return call;
}

enum pg_next pg_run(struct pg_store *store, uint32_t count, bool each)
{
    store->step = (struct pg_step){ .kind = PG_STEP_RUN, .deadline = store->deadline,
                                    .calls = store->calls, .count = count, .each = each };
    store->phase = PG_RUNNING;
    return PG_NEXT_STEP;
}

uint32_t pg_rows(const struct pg_store *store, uint32_t index)
{
    const struct pg_call *call = &store->answers[index];

    return call->result ? store->link->ops->rows(call) : 0;
}

bool pg_row(const struct pg_store *store, uint32_t index, uint32_t row, struct pg_cell *cells,
            uint32_t count)
{
    return store->link->ops->row(&store->answers[index], row, cells, count);
}

bool pg_is_answered(const struct pg_store *store, uint32_t index)
{
    return store->answers[index].class == PG_NONE && store->answers[index].result;
}

void pg_ask_stored(struct pg_store *store, uint32_t index,
                   const struct sherd_backend_request *request)
{
    struct pg_call *call = pg_call_put(store, index, PG_SHARD, 2);

    call->parameters[0] = pg_slice(request->type);
    call->parameters[1] = pg_slice(request->shard);
}

bool pg_read_stored(const struct pg_store *store, uint32_t index, struct sherd_fence *stored)
{
    struct pg_cell cells[2];
    uint32_t rows = pg_rows(store, index);

    *stored = (struct sherd_fence){ 0, 0 };
    return rows == 0 || (rows == 1 && pg_row(store, index, 0, cells, 2) &&
                         pg_cell_number(cells[0], &stored->term) &&
                         pg_cell_number(cells[1], &stored->epoch));
}
