/* Stores the addresses that have seen a pruning marker, sorted. They are kept as fields of the
 * marker in wire format, and written, compared and copied as one block. A thousand members that saw
 * a thousand markers take 15 MB, not 115. */
#ifndef SHERD_DDATA_SEEN_H
#define SHERD_DDATA_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"

#define SEEN_FIELD 4 /* of a marker, one for each address */

/* Zero is empty. */
struct seen {
    struct buf bytes; /* the fields */
    size_t last;      /* where the last field begins */
    uint32_t count;
};

void seen_fini(struct seen *seen); /* empty, and usable again */
void seen_copy(struct seen *to, const struct seen *from); /* `to` must be empty */
bool seen_equal(const struct seen *left, const struct seen *right);
bool seen_has(const struct seen *seen, const struct address *address);
bool seen_add(struct seen *seen, const struct address *address); /* false: already present */
/* Appends one after the others; false: it is invalid or not in order. */
bool seen_append(struct seen *seen, struct slice host, uint64_t port);
void seen_merge(struct seen *seen, const struct seen *other);

#endif
