/* Writes JSON as spray-json's compactPrint does: no spaces, and text outside ASCII as it is. */
#ifndef SHERD_MGMT_JSON_H
#define SHERD_MGMT_JSON_H

#include "base/bytes.h"

void json_text(struct buf *buf, const char *text);
void json_slice(struct buf *buf, struct slice text);
/* The same with a name before it: `"name":"text"`; `,` before that unless the buffer ends with `{`. */
void json_field(struct buf *buf, const char *name, const char *text);
void json_number(struct buf *buf, uint64_t number);
/* Writes a comma unless the buffer ends with an opening bracket or a colon. */
void json_next(struct buf *buf);

#endif
