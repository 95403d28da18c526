/* Writes rows of looks as JSON. A field has the name of its column. */
#ifndef SHERD_MGMT_ROWS_H
#define SHERD_MGMT_ROWS_H

#include "mgmt/facts.h"

/* The type of a column, as API_SCHEMAS writes it. */
const char *row_type(const struct sherd_look_column *column);
/* Appends `,"enum":["mailbox",...]`: the columns by which rows of the kind can be ordered. */
void put_orders(struct buf *buf, enum sherd_look_kind kind);
/* Appends an object: the node that told the row, and its columns. */
void put_row(struct buf *buf, const struct facts *facts, uint32_t row);
/* Looks name a member's status in lower case; management names it as Akka does. Other columns stay. */
struct slice status_name(enum sherd_look_kind kind, const char *column, struct slice text);
/* Appends the field of one column. */
void put_column(struct buf *buf, const struct facts *facts, uint32_t row, uint32_t column);
/* Appends `"partial":...,"nodes":[...]` for all looks of an answer. A member has one state: the first that is
 * not "ok". */
void put_parts(struct buf *buf, const struct facts *facts, uint32_t count);

#endif
