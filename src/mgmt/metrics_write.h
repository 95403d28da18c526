/* Writes families and samples of metrics in one of two formats. */
#ifndef SHERD_MGMT_METRICS_WRITE_H
#define SHERD_MGMT_METRICS_WRITE_H

#include "mgmt/metrics.h"

struct metrics_writer {
    struct buf *to;
    enum metrics_format format;
    enum metric metric; /* of the samples that follow */
};

/* A label of a sample. name null: none. */
struct metric_label {
    const char *name, *value;
};

/* Begins a family: its type, its unit and its help. */
void metrics_begin(struct metrics_writer *writer, enum metric metric);
void metrics_sample(struct metrics_writer *writer, struct metric_label first, struct metric_label second, double value);
/* Writes the samples of a histogram. label: of all of them, or none. */
void metrics_histogram(struct metrics_writer *writer, struct metric_label label, const struct histogram *histogram);
void metrics_one(struct metrics_writer *writer, enum metric metric, double value);
void metrics_end(struct metrics_writer *writer);

#endif
