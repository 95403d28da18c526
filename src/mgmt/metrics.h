/* Writes the metrics of a node in Prometheus' text format 0.0.4, or in OpenMetrics 1.0.0. */
#ifndef SHERD_MGMT_METRICS_H
#define SHERD_MGMT_METRICS_H

#include "base/bytes.h"
#include "base/figures.h"
#include "mgmt/metrics_table.h"

/* Figures of the process. Each is known if its flag is set. */
struct process_figures {
    bool has_cpu, has_memory, has_start, has_fds, has_fds_max;
    double cpu_seconds, start_seconds;
    uint64_t memory, fds, fds_max;
};

#define METRICS_CODES 6 /* classes of statuses: 1xx to 5xx; 0 is not used */

/* All that is known. A family without its figures is left out. */
struct metrics_of {
    const char *version;
    const struct process_figures *process;
    const struct sherd_figures *figures; /* or null */
    bool is_up, is_ready;
    uint64_t answers[METRICS_CODES];
};

enum metrics_format { METRICS_TEXT, METRICS_OPEN };

/* The format for a header Accept; null data: there is none. */
enum metrics_format metrics_format_of(struct slice accept);
const char *metrics_content_type(enum metrics_format format);
/* Appends all families, METRICS_BYTES_MAX bytes at most. */
void metrics_put(struct buf *to, enum metrics_format format, const struct metrics_of *of);

#endif
