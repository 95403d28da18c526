/* Grants, renews and releases leases in a table. */
#include "lease/book.h"

#include <string.h>

#include "base/check.h"
#include "base/limits.h"

static void free_all(struct map *map)
{
    struct map_entry entry;
    uint32_t at = 0;

    while (map_next(map, &at, &entry))
        mem_free(entry.value);
    map_fini(map);
}

void lease_book_fini(struct lease_book *book)
{
    free_all(&book->entries);
    free_all(&book->bound);
}

/* ---- leases with a time ---- */

static bool is_free(const struct lease_entry *entry, uint64_t now)
{
    return !entry->owner[0] || entry->until <= now;
}

static bool is_own(const struct lease_entry *entry, const struct lease_request *request)
{
    return strcmp(entry->owner, request->owner) == 0 &&
           (!request->token || request->verb == LEASE_BEGIN || request->token == entry->token);
}

static bool give_up(struct lease_entry *entry, struct lease_request *request)
{
    request->answer = LEASE_GRANTED;
    if (!is_own(entry, request))
        return false;
    entry->owner[0] = 0;
    return true;
}

bool lease_entry_do(struct lease_entry *entry, uint64_t now,
                    struct lease_request *request)
{
    bool has_none = is_free(entry, now);
    bool has_it = !has_none && is_own(entry, request);
    bool renews = request->verb == LEASE_TAKE && request->token;

    if (request->verb == LEASE_GIVE_UP)
        return give_up(entry, request);
    if (!has_it && (renews || !has_none)) {
        request->answer = LEASE_REFUSED;
        return false;
    }
    /* The same owner gets the lease again with the same token, unless it begins a session. After a
     * time without an owner it counts as another holder. */
    if (!has_it || request->verb == LEASE_BEGIN)
        entry->token++;
    memcpy(entry->owner, request->owner, sizeof entry->owner);
    entry->until = now + request->ttl;
    request->answer = LEASE_GRANTED;
    request->token = entry->token;
    return true;
}

bool lease_session_lives(const struct lease_entry *session, uint64_t now, uint64_t token)
{
    return !is_free(session, now) && session->token == token;
}

/* ---- bound leases ---- */

static bool is_bound_to(const struct lease_binding *binding, const struct lease_request *request)
{
    return binding->token == request->token && strcmp(binding->session, request->name) == 0;
}

bool lease_binding_do(struct lease_binding *binding, bool lives,
                      const struct lease_request *request, struct lease_bound *bound)
{
    bool is_own_binding = is_bound_to(binding, request);

    bound->answer = LEASE_GRANTED;
    if (bound->is_given_up) {
        if (!is_own_binding)
            return false;
        binding->session[0] = 0;
        return true;
    }
    if (is_own_binding)
        return false;
    if (binding->session[0] && lives) {
        bound->answer = LEASE_REFUSED;
        return false;
    }
    memcpy(binding->session, request->name, sizeof binding->session);
    binding->token = request->token;
    return true;
}

static bool lives(const struct lease_book *book, uint64_t now,
                  const struct lease_binding *binding)
{
    const struct lease_entry *session = map_get(&book->entries, slice_text(binding->session));

    return session && lease_session_lives(session, now, binding->token);
}

static void bind_one(struct lease_book *book, uint64_t now, const struct lease_request *request,
                     struct lease_bound *bound)
{
    struct slice name = slice_text(bound->name);
    struct lease_binding *binding = map_get(&book->bound, name);

    if (!binding && bound->is_given_up) {
        bound->answer = LEASE_GRANTED;
        return;
    }
    if (!binding && book->bound.count >= LEASES_BOUND_MAX) {
        bound->answer = LEASE_REFUSED;
        return;
    }
    if (!binding) {
        binding = mem_alloc(sizeof *binding);
        (void)map_put(&book->bound, name, binding); /* it replaces no other */
    }
    (void)lease_binding_do(binding, lives(book, now, binding), request, bound);
    if (!binding->session[0])
        mem_free(map_take(&book->bound, name));
}

const char *lease_book_holder(const struct lease_book *book, uint64_t now, struct slice name)
{
    const struct lease_binding *binding = map_get(&book->bound, name);

    return binding && lives(book, now, binding) ? binding->session : NULL;
}

void lease_book_do(struct lease_book *book, uint64_t now,
                   struct lease_request *request)
{
    struct slice name = slice_text(request->name);
    struct lease_entry *entry = map_get(&book->entries, name);

    if (request->verb == LEASE_BIND) {
        request->answer = LEASE_GRANTED;
        for (uint32_t i = 0; i < request->count; i++)
            bind_one(book, now, request, &request->bound[i]);
        return;
    }
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
