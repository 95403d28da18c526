/* Grants, renews and releases leases in a table. */
#include "lease/book.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"

void lease_book_fini(struct lease_book *book)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(&book->entries, &at, &entry))
        mem_free(entry.value);
    map_fini(&book->entries);
}

bool lease_entry_do(struct lease_entry *entry, uint64_t now,
                    struct lease_request *request)
{
    bool is_free = !entry->owner[0] || entry->until <= now;
    bool is_own = strcmp(entry->owner, request->owner) == 0;

    request->answer = LEASE_GRANTED;
    if (request->verb == LEASE_GIVE_UP) {
        if (!is_own)
            return false;
        entry->owner[0] = 0;
        return true;
    }
    if (!is_free && !is_own) {
        request->answer = LEASE_REFUSED;
        return false;
    }
    /* The same owner gets the lease again with the same token. After a time without an owner it
     * counts as another holder. */
    if (is_free || !is_own)
        entry->token++;
    memcpy(entry->owner, request->owner, sizeof entry->owner);
    entry->until = now + request->ttl;
    request->token = entry->token;
    return true;
}

void lease_book_do(struct lease_book *book, uint64_t now,
                   struct lease_request *request)
{
    struct slice name = slice_text(request->name);
    struct lease_entry *entry = map_get(&book->entries, name);

    if (!entry && book->entries.count >= LEASES_MAX) {
        request->answer = LEASE_REFUSED;
        return;
    }
    if (!entry) {
        entry = mem_alloc(sizeof *entry);
        map_put(&book->entries, name, entry);
    }
    (void)lease_entry_do(entry, now, request);
}
