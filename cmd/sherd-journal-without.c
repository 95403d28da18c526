/* Stands in for the files that need libpq, in a program that was built without it. */
#include "sherd-journal-target.h"

static const char reason[] = "this program was built without libpq: it knows no journals in PostgreSQL";

struct journal *journal_open_postgres(const char *url, const char *schema, char *error)
{
    (void)url, (void)schema;
    (void)snprintf(error, BACKEND_ERROR_MAX, "%s", reason); /* fits */
    return NULL;
}

struct target *target_open(const char *url, const char *schema, uint32_t shards)
{
    (void)url, (void)schema, (void)shards;
    return NULL;
}

bool target_begin(struct target *target, struct slice cluster)
{
    (void)target, (void)cluster;
    return false;
}

bool target_entity(struct target *target, struct slice id, size_t type_size)
{
    (void)target, (void)id, (void)type_size;
    return false;
}

bool target_event(struct target *target, uint64_t seq, struct slice record)
{
    (void)target, (void)seq, (void)record;
    return false;
}

bool target_snapshot(struct target *target, uint64_t seq, struct slice record)
{
    (void)target, (void)seq, (void)record;
    return false;
}

bool target_term(struct target *target, struct slice type, uint64_t term)
{
    (void)target, (void)type, (void)term;
    return false;
}

bool target_fence(struct target *target, struct slice type, struct slice shard, struct fence fence)
{
    (void)target, (void)type, (void)shard, (void)fence;
    return false;
}

bool target_commit(struct target *target)
{
    (void)target;
    return false;
}

const char *target_error(const struct target *target)
{
    (void)target;
    return reason;
}

bool target_refuses(const struct target *target)
{
    (void)target;
    return false;
}

void target_close(struct target *target)
{
    (void)target;
}
