/* Who has seen a mark of pruning: addresses in order, each once.
 *
 * They are kept as they stand on the wire, where each is a field of its mark: written, compared and copied they are one piece of
 * memory. A thousand members that have seen a thousand marks are 15 MB then, and not 115. */
#ifndef SHERD_DDATA_SEEN_H
#define SHERD_DDATA_SEEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/address.h"
#include "base/bytes.h"

#define SEEN_FIELD 4 /* of a mark, and one for each address */

/* Zero is none. */
struct seen {
    struct buf bytes; /* the fields */
    size_t last;      /* where the last one begins */
    uint32_t count;
};

void seen_fini(struct seen *seen); /* empty and usable again */
void seen_copy(struct seen *to, const struct seen *from); /* to is empty before */
bool seen_equal(const struct seen *left, const struct seen *right);
bool seen_has(const struct seen *seen, const struct address *address);
bool seen_add(struct seen *seen, const struct address *address); /* false: it was there */
/* Puts one behind the others; false when it is none, or does not follow the last one. */
bool seen_append(struct seen *seen, struct slice host, uint64_t port);
void seen_merge(struct seen *seen, const struct seen *other);

#endif
