/* Writes fields of JSON objects: `"name":value`, with a comma before it unless it is the first one. */
#ifndef SHERD_MGMT_FIELDS_H
#define SHERD_MGMT_FIELDS_H

#include "base/bytes.h"

void field_name(struct buf *buf, const char *name);
/* Data is null: null. Bytes that are no UTF-8, as at the end of a text that was cut, are left out. */
void field_slice(struct buf *buf, const char *name, struct slice text);
void field_text(struct buf *buf, const char *name, const char *text);
void field_count(struct buf *buf, const char *name, uint64_t number);
void field_decimal(struct buf *buf, const char *name, uint64_t number); /* as text */
void field_flag(struct buf *buf, const char *name, bool flag);
void field_null(struct buf *buf, const char *name);
#define DATE_SIZE 48
/* RFC 3339 in UTC with milliseconds. */
void date_text(char text[DATE_SIZE], uint64_t wall_ms);
/* The same as a field; 0: null. */
void field_time(struct buf *buf, const char *name, uint64_t wall_ms);
void field_hex(struct buf *buf, const char *name, struct slice bytes);
void value_text(struct buf *buf, struct slice text); /* as field_slice */

#endif
