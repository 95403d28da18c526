/* Encodes and decodes one line of an exported journal: a JSON object with fixed names.
 *
 * Pure except for memory; fuzzed (tests/fuzz/host). Specification: docs/protocol/journal.md, "Export". */
#ifndef SHERD_HOST_EXPORT_LINE_H
#define SHERD_HOST_EXPORT_LINE_H

#include <stdint.h>

#include "base/bytes.h"

#define EXPORT_VERSION 2
/* bytes: a snapshot of 16 MiB in base64, an id, and the names */
#define EXPORT_LINE_MAX (24 * 1024 * 1024)

enum export_kind {
    EXPORT_JOURNAL,
    EXPORT_TERM,
    EXPORT_FENCE,
    EXPORT_EVENT,
    EXPORT_SNAPSHOT,
    EXPORT_END,
    EXPORT_KINDS
};
enum export_text { EXPORT_CLUSTER, EXPORT_STORE, EXPORT_TYPE, EXPORT_SHARD, EXPORT_ID, EXPORT_RECORD, EXPORT_TEXTS };
enum export_number {
    EXPORT_FORMAT, /* "version" */
    EXPORT_OF_TERM,
    EXPORT_OF_EPOCH,
    EXPORT_SEQ,
    EXPORT_ENTITIES,
    EXPORT_EVENTS,
    EXPORT_SNAPSHOTS,
    EXPORT_NUMBERS
};

/* Only the fields of its kind have a meaning. Zero at first. */
struct export_line {
    enum export_kind kind;
    struct slice texts[EXPORT_TEXTS];
    uint64_t numbers[EXPORT_NUMBERS]; /* at most INT64_MAX */
    struct buf owned[EXPORT_TEXTS];   /* of a decoded line */
};

/* Appends the line with its line feed. */
void export_encode(struct buf *buf, const struct export_line *line);
/* Reads a line without its line feed. Texts are valid until the next call, or export_fini. Returns null,
 * or the defect as a literal. */
const char *export_decode(struct slice bytes, struct export_line *line);
void export_fini(struct export_line *line);

/* Appends "name":"text", or "name_base64":"..." if the bytes are no UTF-8. */
void export_put_text(struct buf *buf, const char *name, struct slice text);

#endif
