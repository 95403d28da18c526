/* The work of runs: added up and told. */
#include "sim/run.h"

#include <stdarg.h>
#include <stdio.h>

#include "sim/report.h"

/* Both are structs of counters of 64 bits and of nothing else. */
static void add_all(void *sum, const void *more, size_t size)
{
    uint64_t *to = sum;
    const uint64_t *from = more;

    for (size_t i = 0; i < size / sizeof *to; i++)
        to[i] += from[i];
}

_Static_assert(sizeof(struct run_work) % sizeof(uint64_t) == 0, "counters");

void run_work_add(struct run_work *sum, const struct run_work *work)
{
    add_all(sum, work, sizeof *sum);
}

static void put(struct buf *text, const char *name, uint64_t number)
{
    char digits[NUMBER_TEXT_MAX];

    buf_put_text(text, "  ");
    buf_put_text(text, name);
    buf_put_text(text, " ");
    buf_put_text(text, number_text(number, digits, sizeof digits));
}

/* One line for each reason that was met. */
static void put_reasons(struct buf *text, const uint64_t *undelivered)
{
    for (int i = 0; i < SHERD_REASON_COUNT; i++) {
        if (!undelivered[i])
            continue;
        buf_put_text(text, "\n        ");
        put(text, sherd_reason_text((enum sherd_reason)i), undelivered[i]);
    }
}

void run_work_put(const struct run_work *work, struct buf *text)
{
    const struct check_message_counts *messages = &work->messages;
    const struct workload_counts *load = &work->load;
    uint64_t undelivered = 0;

    for (int i = 0; i < SHERD_REASON_COUNT; i++)
        undelivered += messages->undelivered[i];
    buf_put_text(text, "messages");
    put(text, "sent", messages->sent);
    put(text, "delivered", messages->delivered);
    put(text, "undelivered", undelivered);
    put(text, "lost with a node", messages->lost_with_node);
    put(text, "lost in a connection", messages->lost_in_connection);
    put(text, "open", messages->open);
    put_reasons(text, messages->undelivered);
    buf_put_text(text, "\nwork    ");
    put(text, "asks", load->asks);
    put(text, "answers", load->answers);
    put(text, "acknowledged events", load->acknowledged);
    put(text, "entities started", load->started);
    put(text, "watches", load->watches);
    put(text, "timers", load->timers);
    buf_put_text(text, "\n");
}
