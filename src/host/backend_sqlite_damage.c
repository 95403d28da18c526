/* Finds out which part of a journal a damaged page belongs to, so that a group runs again without it.
 *
 * The part is what the group worked on. It need not own the page: an event that does not fit into its
 * page moves others. */
#include <stdio.h>

#include "host/backend_sqlite_inside.h"

bool sqlite_is_damaged(const struct sqlite_store *store)
{
    int code = sqlite3_extended_errcode(store->db);

    return code == SQLITE_IOERR_DATA || (code & 0xff) == SQLITE_CORRUPT;
}

static void name_shard(char name[BACKEND_PART_SIZE],
                       const struct journal_request *request,
                       struct backend_span type, struct backend_span shard)
{
    backend_damage_shard(name, backend_slice(request, type),
                         backend_slice(request, shard));
}

static void name_terms(char name[BACKEND_PART_SIZE],
                       const struct journal_request *request)
{
    struct slice type = backend_slice(request, request->type);

    (void)snprintf(name, BACKEND_PART_SIZE, "terms of type %.*s",
                   (int)type.size, (const char *)type.data); /* may be cut */
}

bool sqlite_blame(struct sqlite_store *store, const char *why)
{
    const struct blamed *blamed = &store->blamed;
    const struct journal_request *request = blamed->request;
    char error[BACKEND_ERROR_MAX];
    char name[BACKEND_PART_SIZE];
    struct slice part;

    if (!request || !store->damage)
        return false;
    if (!blamed->entity && blamed->shard)
        name_shard(name, request, blamed->shard->type, blamed->shard->shard);
    else if (request->verb == BACKEND_CLAIM)
        name_shard(name, request, request->type, request->shard);
    else if (request->verb == BACKEND_SAVE || request->verb == BACKEND_DROP)
        backend_damage_snapshots(name, backend_slice(request, request->id));
    else
        name_terms(name, request);
    part = slice_text(name);
    if (blamed->entity)
        part = backend_slice(request, blamed->entity->id);
    else if (request->verb == BACKEND_TRIM)
        part = backend_slice(request, request->id);
    backend_damage_add(store->damage, part, why);
    return backend_damage_find(store->damage, part, error);
}

bool sqlite_refuses_entity(struct sqlite_store *store,
                           struct journal_request *request,
                           const struct backend_entity *entity)
{
    return backend_damage_find(store->damage, backend_slice(request, entity->id),
                               request->error);
}

bool sqlite_refuses_owner(struct sqlite_store *store, struct journal_request *request)
{
    struct slice id = backend_slice(request, request->id);
    char name[BACKEND_PART_SIZE];

    if (sqlite_refuses_shard(store, request, request->type, request->shard) ||
        backend_damage_find(store->damage, id, request->error))
        return true;
    backend_damage_snapshots(name, id);
    return request->verb != BACKEND_TRIM &&
           backend_damage_find(store->damage, slice_text(name), request->error);
}

bool sqlite_refuses_shard(struct sqlite_store *store,
                          struct journal_request *request,
                          struct backend_span type, struct backend_span shard)
{
    char name[BACKEND_PART_SIZE];

    name_shard(name, request, type, shard);
    return backend_damage_find(store->damage, slice_text(name), request->error);
}

bool sqlite_refuses_terms(struct sqlite_store *store,
                          struct journal_request *request)
{
    char name[BACKEND_PART_SIZE];

    name_terms(name, request);
    return backend_damage_find(store->damage, slice_text(name), request->error);
}
