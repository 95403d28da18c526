/* Implements metrics.h: turns figures into families. */
#include "mgmt/metrics.h"

#include <stdio.h>

#include "base/limits.h"
#include "mgmt/akka.h"
#include "mgmt/metrics_write.h"

#define NO_LABEL ((struct metric_label){ .name = NULL })
#define WORD_SIZE 48
#define TYPE_SERIES 37 /* samples of a type */
#define SAMPLE_BYTES 100 /* of a sample of a type, without the type's name */
#define REST_BYTES (48 * 1024) /* of all samples without a type */

/* ---- formats ---- */

enum metrics_format metrics_format_of(struct slice accept)
{
    static const char wanted[] = "application/openmetrics-text";
    size_t size = sizeof wanted - 1;

    for (size_t i = 0; i + size <= accept.size; i++)
        if (!memcmp(accept.data + i, wanted, size))
            return METRICS_OPEN;
    return METRICS_TEXT;
}

const char *metrics_content_type(enum metrics_format format)
{
    return format == METRICS_OPEN ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                  : "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- words ---- */

/* Writes the rest of a constant's name behind the prefix, in lower case. */
static struct metric_label word(char room[WORD_SIZE], const char *label, const char *name, const char *prefix)
{
    size_t i = 0;

    for (name += strlen(prefix); name[i] && i + 1 < WORD_SIZE; i++)
        room[i] = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] + 32) : name[i];
    room[i] = '\0';
    return (struct metric_label){ label, room };
}

static const char *const reasons[SHERD_REASON_COUNT] = {
#define X(name, text) [name] = #name,
    SHERD_REASONS(X)
#undef X
};

static const char *const counters[SHERD_COUNTER_COUNT] = {
#define X(name, text) [name] = #name,
    SHERD_COUNTERS(X)
#undef X
};

static const char *const stages[SHERD_STAGE_COUNT] = {
#define X(name, text) [name] = #name,
    SHERD_STAGES(X)
#undef X
};

static const char *const events[FIGURES_EVENT_COUNT] = {
#define X(name, text) [name] = text,
    FIGURES_MEMBER_EVENTS(X)
#undef X
};

static const char *const stops[FIGURES_STOP_COUNT] = {
#define X(name, text) [name] = text,
    FIGURES_STOPS(X)
#undef X
};

static const char *const states[FIGURES_SHARD_STATE_COUNT] = {
#define X(name, text) [name] = text,
    FIGURES_SHARD_STATES(X)
#undef X
};

/* ---- types ---- */

/* One value of a type's label: a type, or the sum of those beyond the limit. */
struct row {
    const char *type;
    uint64_t entities;
    struct type_figures figures;
};

struct rows {
    struct row items[METRICS_TYPES_MAX + 1];
    uint32_t count;
};

static void add_figures(struct type_figures *to, const struct type_figures *from, bool is_first)
{
    for (int i = 0; i < FIGURES_SHARD_STATE_COUNT; i++)
        to->shards[i] += from->shards[i];
    to->starts += from->starts;
    for (int i = 0; i < FIGURES_STOP_COUNT; i++)
        to->stops[i] += from->stops[i];
    histogram_join(&to->handlers, &from->handlers);
    to->unplaced += from->unplaced;
    to->handoffs += from->handoffs;
    to->coordinates += from->coordinates;
    to->registered = is_first || from->registered < to->registered ? from->registered : to->registered;
    to->buffer_ratio = from->buffer_ratio > to->buffer_ratio ? from->buffer_ratio : to->buffer_ratio;
}

/* Returns the bytes of all samples of a type, at most. */
static size_t label_bytes(const char *type)
{
    size_t size = strlen(type);

    for (const char *at = type; *at; at++)
        size += *at == '"' || *at == '\\' || *at == '\n';
    return TYPE_SERIES * (size + SAMPLE_BYTES);
}

static void take_rows(const struct sherd_figures *figures, struct rows *rows)
{
    const struct sherd_status *status = &figures->status;
    size_t left = METRICS_BYTES_MAX - REST_BYTES - label_bytes("other");
    uint32_t own = 0; /* rows with labels of their own */
    bool has_room = true;

    rows->count = 0;
    for (uint32_t i = 0; i < status->type_count && i < figures->sums.type_count; i++) {
        size_t bytes = label_bytes(status->types[i].name);
        struct row *row;
        bool is_first;

        has_room = has_room && own < METRICS_TYPES_MAX && bytes <= left;
        row = &rows->items[own];
        is_first = has_room || rows->count == own;
        if (has_room) {
            left -= bytes;
            own++;
        }
        if (is_first) {
            *row = (struct row){ .type = has_room ? status->types[i].name : "other" };
            rows->count++;
        }
        row->entities += status->types[i].entities_here;
        add_figures(&row->figures, &figures->sums.types[i], is_first);
    }
}

/* Returns a family's value of a type. */
static double type_value(const struct row *row, enum metric metric)
{
    switch (metric) {
    case METRIC_ENTITIES:
        return (double)row->entities;
    case METRIC_STARTS:
        return (double)row->figures.starts;
    case METRIC_REGISTERED:
        return row->figures.registered;
    case METRIC_BUFFER:
        return row->figures.buffer_ratio;
    case METRIC_COORDINATOR:
        return row->figures.coordinates;
    case METRIC_UNPLACED:
        return (double)row->figures.unplaced;
    default:
        return (double)row->figures.handoffs;
    }
}

static void put_types(struct metrics_writer *writer, const struct rows *rows, enum metric metric)
{
    if (!rows->count)
        return;
    metrics_begin(writer, metric);
    for (uint32_t i = 0; i < rows->count; i++)
        metrics_sample(writer, (struct metric_label){ "type", rows->items[i].type }, NO_LABEL,
                       type_value(&rows->items[i], metric));
}

static void put_handlers(struct metrics_writer *writer, const struct rows *rows)
{
    if (!rows->count)
        return;
    metrics_begin(writer, METRIC_HANDLERS);
    for (uint32_t i = 0; i < rows->count; i++)
        metrics_histogram(writer, (struct metric_label){ "type", rows->items[i].type },
                          &rows->items[i].figures.handlers);
}

static void put_stops(struct metrics_writer *writer, const struct rows *rows)
{
    if (!rows->count)
        return;
    metrics_begin(writer, METRIC_STOPS);
    for (uint32_t i = 0; i < rows->count; i++)
        for (int stop = 0; stop < FIGURES_STOP_COUNT; stop++)
            metrics_sample(writer, (struct metric_label){ "type", rows->items[i].type },
                           (struct metric_label){ "cause", stops[stop] }, (double)rows->items[i].figures.stops[stop]);
}

static void put_shards(struct metrics_writer *writer, const struct rows *rows)
{
    if (!rows->count)
        return;
    metrics_begin(writer, METRIC_SHARDS);
    for (uint32_t i = 0; i < rows->count; i++)
        for (int state = 0; state < FIGURES_SHARD_STATE_COUNT; state++)
            metrics_sample(writer, (struct metric_label){ "type", rows->items[i].type },
                           (struct metric_label){ "state", states[state] },
                           (double)rows->items[i].figures.shards[state]);
}

/* ---- the process and the node ---- */

static void put_process(struct metrics_writer *writer, const struct process_figures *process)
{
    if (process->has_cpu)
        metrics_one(writer, METRIC_CPU, process->cpu_seconds);
    if (process->has_memory)
        metrics_one(writer, METRIC_RSS, (double)process->memory);
    if (process->has_start)
        metrics_one(writer, METRIC_START, process->start_seconds);
    if (process->has_fds)
        metrics_one(writer, METRIC_FDS, (double)process->fds);
    if (process->has_fds_max)
        metrics_one(writer, METRIC_FDS_MAX, (double)process->fds_max);
}

static void put_node(struct metrics_writer *writer, const struct metrics_of *of)
{
    static const char *const codes[METRICS_CODES] = { "", "1xx", "2xx", "3xx", "4xx", "5xx" };

    metrics_begin(writer, METRIC_BUILD);
    metrics_sample(writer, (struct metric_label){ "version", of->version }, NO_LABEL, 1);
    put_process(writer, of->process);
    metrics_one(writer, METRIC_UP, of->is_up);
    metrics_one(writer, METRIC_READY, of->is_ready);
    metrics_begin(writer, METRIC_REQUESTS);
    for (int i = 1; i < METRICS_CODES; i++)
        metrics_sample(writer, (struct metric_label){ "code", codes[i] }, NO_LABEL, (double)of->answers[i]);
}

/* values: by lane. */
static void put_by_lane(struct metrics_writer *writer, enum metric metric, const uint64_t *values, uint32_t count,
                        double unit)
{
    metrics_begin(writer, metric);
    for (uint32_t i = 0; i < count; i++) {
        char lane[16];

        (void)snprintf(lane, sizeof lane, "%u", (unsigned)i);
        metrics_sample(writer, (struct metric_label){ "lane", lane }, NO_LABEL, (double)values[i] / unit);
    }
}

/* ---- control's figures ---- */

static void put_decisions(struct metrics_writer *writer, const struct machine_figures *sums)
{
    if (!sums->has_resolver)
        return;
    metrics_begin(writer, METRIC_DECISIONS);
    metrics_sample(writer, (struct metric_label){ "outcome", "downed" }, NO_LABEL, (double)sums->decided);
    metrics_sample(writer, (struct metric_label){ "outcome", "unstable" }, NO_LABEL, (double)sums->unstable);
    metrics_sample(writer, (struct metric_label){ "outcome", "reversed" }, NO_LABEL, (double)sums->reversed);
}

static void put_members(struct metrics_writer *writer, const struct sherd_figures *figures)
{
    const struct sherd_status *status = &figures->status;
    uint64_t counts[SHERD_READY_FOR_SHUTDOWN + 1] = { 0 };
    uint64_t unreachable = 0, disagreeing = 0;

    for (uint32_t i = 0; i < status->member_count; i++) {
        counts[status->members[i].status]++;
        unreachable += !status->members[i].reachable;
        disagreeing += !status->members[i].seen;
    }
    metrics_begin(writer, METRIC_MEMBERS);
    for (int i = 0; i <= SHERD_READY_FOR_SHUTDOWN; i++)
        metrics_sample(writer, (struct metric_label){ "status", akka_status((enum sherd_member_status)i) }, NO_LABEL,
                       (double)counts[i]);
    metrics_one(writer, METRIC_UNREACHABLE, (double)unreachable);
    metrics_one(writer, METRIC_DISAGREEING, (double)disagreeing);
    metrics_one(writer, METRIC_LEADER, (double)figures->sums.is_leader);
    metrics_one(writer, METRIC_PHI, figures->sums.phi);
    metrics_begin(writer, METRIC_EVENTS_TOLD);
    for (int i = 0; i < FIGURES_EVENT_COUNT; i++)
        metrics_sample(writer, (struct metric_label){ "event", events[i] }, NO_LABEL, (double)figures->sums.events[i]);
    put_decisions(writer, &figures->sums);
}

static void put_control(struct metrics_writer *writer, const struct sherd_figures *figures, const struct rows *rows)
{
    static const enum metric of_types[] = { METRIC_REGISTERED, METRIC_COORDINATOR, METRIC_UNPLACED, METRIC_HANDOFFS };
    uint64_t bytes = 0;

    put_members(writer, figures);
    metrics_begin(writer, METRIC_TURNS);
    metrics_histogram(writer, NO_LABEL, &figures->sums.turns);
    for (size_t i = 0; i < sizeof of_types / sizeof of_types[0]; i++)
        put_types(writer, rows, of_types[i]);
    for (uint32_t i = 0; i < figures->status.replica_count; i++)
        bytes += figures->status.replicas[i].bytes;
    metrics_one(writer, METRIC_DDATA, (double)bytes);
}

/* ---- the lanes' figures ---- */

static void put_messages(struct metrics_writer *writer, const struct sherd_figures *figures)
{
    const struct machine_figures *sums = &figures->sums;
    uint64_t in_mailboxes = sums->waiting > sums->held ? sums->waiting - sums->held : 0;
    char room[WORD_SIZE];

    metrics_one(writer, METRIC_SENT, (double)sums->sent);
    metrics_one(writer, METRIC_DELIVERED, (double)figures->status.delivered);
    metrics_begin(writer, METRIC_WAITING);
    metrics_sample(writer, (struct metric_label){ "where", "mailbox" }, NO_LABEL, (double)in_mailboxes);
    metrics_sample(writer, (struct metric_label){ "where", "region" }, NO_LABEL, (double)sums->buffered);
    metrics_sample(writer, (struct metric_label){ "where", "durability" }, NO_LABEL, (double)sums->held);
    metrics_one(writer, METRIC_MESSAGE_BYTES, (double)sums->message_bytes);
    metrics_one(writer, METRIC_SLOW, (double)figures->status.counters[SHERD_HANDLERS_SLOW]);
    metrics_one(writer, METRIC_FAILED, (double)sums->handlers_failed);
    metrics_one(writer, METRIC_ASKS, (double)sums->asks);
    metrics_begin(writer, METRIC_ASKS_LATE);
    for (int i = 0; i < SHERD_STAGE_COUNT; i++)
        metrics_sample(writer, word(room, "stage", stages[i], "SHERD_STAGE_"), NO_LABEL, (double)sums->asks_late[i]);
    metrics_one(writer, METRIC_JOBS, (double)figures->status.jobs_open);
}

static void put_lanes(struct metrics_writer *writer, const struct sherd_figures *figures, const struct rows *rows)
{
    put_messages(writer, figures);
    put_handlers(writer, rows);
    put_types(writer, rows, METRIC_ENTITIES);
    put_types(writer, rows, METRIC_STARTS);
    put_stops(writer, rows);
    put_types(writer, rows, METRIC_BUFFER);
    put_shards(writer, rows);
    metrics_one(writer, METRIC_ENTITY_BYTES, (double)figures->sums.entity_bytes);
    metrics_one(writer, METRIC_RECOVERIES, (double)figures->status.recoveries.waiting);
    metrics_one(writer, METRIC_FENCED, (double)figures->status.fenced);
    metrics_one(writer, METRIC_EVENTS, (double)figures->status.events);
    metrics_begin(writer, METRIC_COMMITS);
    metrics_histogram(writer, NO_LABEL, &figures->sums.commits);
}

/* ---- sums of all machines ---- */

static void put_sums(struct metrics_writer *writer, const struct sherd_figures *figures)
{
    char room[WORD_SIZE];

    metrics_begin(writer, METRIC_UNDELIVERED);
    for (int i = SHERD_REASON_NONE + 1; i < SHERD_REASON_COUNT; i++)
        metrics_sample(writer, word(room, "reason", reasons[i], "SHERD_REASON_"), NO_LABEL,
                       (double)figures->status.undelivered[i]);
    metrics_begin(writer, METRIC_REFUSALS);
    for (int i = 0; i < SHERD_COUNTER_COUNT; i++)
        if (i != SHERD_HANDLERS_SLOW) /* has its own family */
            metrics_sample(writer, word(room, "what", counters[i], "SHERD_"), NO_LABEL,
                           (double)figures->status.counters[i]);
    metrics_sample(writer, (struct metric_label){ "what", "looks_refused" }, NO_LABEL,
                   (double)figures->sums.looks_refused);
}

void metrics_put(struct buf *to, enum metrics_format format, const struct metrics_of *of)
{
    struct metrics_writer writer = { .to = to, .format = format };
    const struct sherd_figures *figures = of->figures;
    struct rows rows = { .count = 0 };

    put_node(&writer, of);
    if (figures) {
        take_rows(figures, &rows);
        put_by_lane(&writer, METRIC_STALLED, figures->stalled_ms, figures->thread_count, 1e3);
        metrics_one(&writer, METRIC_DURABLE, figures->durable_fails);
        if (figures->certificate_expires)
            metrics_one(&writer, METRIC_CERTIFICATE, (double)figures->certificate_expires);
        if (figures->has_control)
            put_control(&writer, figures, &rows);
        if (figures->has_lanes)
            put_lanes(&writer, figures, &rows);
        if (figures->has_control && figures->has_lanes) {
            put_by_lane(&writer, METRIC_BUSY, figures->busy_ns, figures->machine_count, 1e9);
            put_sums(&writer, figures);
        }
    }
    metrics_end(&writer);
}
