/* Reads the JSON object of a request's body. */
#ifndef SHERD_MGMT_BODY_H
#define SHERD_MGMT_BODY_H

#include "base/bytes.h"

struct body;

/* Null: it is no object, or has a field twice. */
struct body *body_new(struct slice text);
void body_free(struct body *body); /* accepts null */
/* The text of a field, lent by the body; null: there is none, or it is no text without a NUL. */
const char *body_text(const struct body *body, const char *name);
/* False: there is no such field, or it is no whole number of at least 0. */
bool body_number(const struct body *body, const char *name, uint64_t *number);
bool body_has(const struct body *body, const char *name);
/* False: it is no flag. */
bool body_flag(const struct body *body, const char *name, bool *flag);
/* Whether the body has only these fields, with spaces between them. */
bool body_has_only(const struct body *body, const char *names);

#endif
