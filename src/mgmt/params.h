/* Splits a request's target into segments and parameters, and reads forms. */
#ifndef SHERD_MGMT_PARAMS_H
#define SHERD_MGMT_PARAMS_H

#include "base/bytes.h"
#include "base/limits.h"

struct param {
    struct slice name, value; /* decoded; lent by the params */
};

/* Zero is an empty one. */
struct params {
    struct buf text;
    struct param items[MGMT_PARAMS_MAX];
    uint32_t count;
};

void params_fini(struct params *params);
/* Reads `name=value&...`, where a plus is a space. False: malformed, or above a limit. */
bool params_read(struct params *params, struct slice query);
/* Reads a body of the media type: a form, or multipart/form-data with one field. False likewise; a
 * body of another type has no parameters. */
bool params_read_form(struct params *params, struct slice type, struct slice body);
/* The value of the first one with that name; data is null if there is none. */
struct slice params_find(const struct params *params, const char *name);

/* Zero is an empty one. */
struct target {
    struct buf text;
    struct slice path; /* as it came */
    struct slice segments[MGMT_SEGMENTS_MAX]; /* decoded; an empty path has one empty segment */
    size_t starts[MGMT_SEGMENTS_MAX]; /* where they begin in `path` */
    uint32_t count;
    struct params query;
};

void target_fini(struct target *target);
/* Reads `/a/b?query`. Each segment is decoded by itself, so an encoded slash separates nothing.
 * False: malformed, or above a limit. text: lent while the target is used. */
bool target_read(struct target *target, struct slice text);
/* Appends the decoded segments from an index on, with slashes between them. */
void target_put_rest(const struct target *target, uint32_t from, struct buf *rest);
/* The path from a segment on, as it came. */
struct slice target_raw_rest(const struct target *target, uint32_t from);

#endif
