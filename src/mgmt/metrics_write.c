/* Implements metrics_write.h. */
#include "mgmt/metrics_write.h"

#include <stdio.h>

struct family {
    const char *name, *unit, *help;
    enum metric_type type;
};

static const struct family families[METRIC_COUNT] = {
#define X(id, name, type, unit, labels, panel, alert, help) [id] = { name, unit, help, METRIC_##type },
    METRICS(X)
#undef X
};

static const char *suffix(const struct family *family)
{
    return family->type == METRIC_COUNTER ? "_total" : family->type == METRIC_INFO ? "_info" : "";
}

/* The older format has no infos, and names a counter as its sample. */
static void put_line(struct metrics_writer *writer, const char *what, const char *text)
{
    const struct family *family = &families[writer->metric];

    buf_put_text(writer->to, "# ");
    buf_put_text(writer->to, what);
    buf_put_u8(writer->to, ' ');
    buf_put_text(writer->to, family->name);
    if (writer->format == METRICS_TEXT)
        buf_put_text(writer->to, suffix(family));
    buf_put_u8(writer->to, ' ');
    buf_put_text(writer->to, text);
    buf_put_u8(writer->to, '\n');
}

void metrics_begin(struct metrics_writer *writer, enum metric metric)
{
    static const char *const types[] = { "gauge", "counter", "info", "histogram" };
    const struct family *family = &families[metric];
    bool is_open = writer->format == METRICS_OPEN;

    writer->metric = metric;
    put_line(writer, "TYPE", is_open || family->type != METRIC_INFO ? types[family->type] : "gauge");
    if (is_open && *family->unit)
        put_line(writer, "UNIT", family->unit);
    put_line(writer, "HELP", family->help);
}

/* Returns the size of the UTF-8 character at the text's begin; 0: there is none. */
static size_t utf8_size(const uint8_t *text)
{
    size_t size = *text < 0x80 ? 1 : *text >= 0xc2 && *text < 0xe0 ? 2 : *text >= 0xe0 && *text < 0xf0 ? 3
                                                            : *text >= 0xf0 && *text < 0xf5    ? 4
                                                                                               : 0;

    for (size_t i = 1; i < size; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    if ((*text == 0xe0 && text[1] < 0xa0) || (*text == 0xed && text[1] > 0x9f) ||
        (*text == 0xf0 && text[1] < 0x90) || (*text == 0xf4 && text[1] > 0x8f))
        return 0;
    return size;
}

/* Bytes that are no UTF-8 become question marks: a scrape with them would fail as a whole. */
static void put_label(struct buf *to, struct metric_label label)
{
    const uint8_t *at = (const uint8_t *)label.value;

    buf_put_text(to, label.name);
    buf_put_text(to, "=\"");
    while (*at) {
        size_t size = utf8_size(at);

        if (*at == '\n')
            buf_put_text(to, "\\n");
        else if (*at == '"' || *at == '\\')
            buf_put(to, (uint8_t[]){ '\\', *at }, 2);
        else if (size)
            buf_put(to, at, size);
        else
            buf_put_u8(to, '?');
        at += size ? size : 1;
    }
    buf_put_u8(to, '"');
}

static void put_sample(struct metrics_writer *writer, const char *suffix, struct metric_label first,
                       struct metric_label second, double value)
{
    char text[40];

    buf_put_text(writer->to, families[writer->metric].name);
    buf_put_text(writer->to, suffix);
    if (first.name) {
        buf_put_u8(writer->to, '{');
        put_label(writer->to, first);
        if (second.name) {
            buf_put_u8(writer->to, ',');
            put_label(writer->to, second);
        }
        buf_put_u8(writer->to, '}');
    }
    (void)snprintf(text, sizeof text, " %.17g\n", value);
    buf_put_text(writer->to, text);
}

void metrics_sample(struct metrics_writer *writer, struct metric_label first, struct metric_label second, double value)
{
    put_sample(writer, suffix(&families[writer->metric]), first, second, value);
}

void metrics_histogram(struct metrics_writer *writer, struct metric_label label, const struct histogram *histogram)
{
    static const char *const bounds[HISTOGRAM_RANGES] = {
#define X(bound, text) text,
        HISTOGRAM_BOUNDS(X)
#undef X
        "+Inf"
    };
    uint64_t count = 0;

    for (uint32_t i = 0; i < HISTOGRAM_RANGES; i++) {
        struct metric_label bound = { "le", bounds[i] };

        count += histogram->counts[i];
        put_sample(writer, "_bucket", label.name ? label : bound, label.name ? bound : label, (double)count);
    }
    put_sample(writer, "_sum", label, (struct metric_label){ .name = NULL }, (double)histogram->sum_ns / 1e9);
    put_sample(writer, "_count", label, (struct metric_label){ .name = NULL }, (double)count);
}

void metrics_one(struct metrics_writer *writer, enum metric metric, double value)
{
    metrics_begin(writer, metric);
    metrics_sample(writer, (struct metric_label){ .name = NULL }, (struct metric_label){ .name = NULL }, value);
}

void metrics_end(struct metrics_writer *writer)
{
    if (writer->format == METRICS_OPEN)
        buf_put_text(writer->to, "# EOF\n");
}
