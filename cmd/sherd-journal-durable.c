/* Runs the command remove-durable: deletes what sharding stored in a node's durable keys. */
#include "sherd-journal.h"

#include <inttypes.h>
#include <string.h>

#include "base/check.h"
#include "base/map.h"
#include "host/durable_files.h"

#define MAP_SIZE (64 * 1024 * 1024) /* the database grows beyond it */
#define MARK 0xff                   /* around the role in a key of sharding */

struct clearing {
    const struct cmd_call *call;
    struct durable_request *loaded;
    struct map changes; /* key -> struct durable_change */
};

static bool begins(struct slice text, const char *first, const char *then, const char *last)
{
    struct buf prefix = { 0 };
    bool is;

    buf_put_text(&prefix, first);
    buf_put_text(&prefix, then);
    buf_put_text(&prefix, last);
    is = text.size >= prefix.size && slice_equal(slice_of(text.data, prefix.size), buf_slice(&prefix));
    buf_fini(&prefix);
    return is;
}

static bool equals(struct slice text, const char *first, const char *then, const char *last)
{
    return text.size == strlen(first) + strlen(then) + strlen(last) && begins(text, first, then, last);
}

/* The name of a key of sharding, behind its role; empty: a user's key. */
static struct slice name_of(struct slice key)
{
    const uint8_t *end = key.size > 1 && key.data[0] == MARK ? memchr(key.data + 1, MARK, key.size - 1) : NULL;

    return end ? slice_of(end + 1, key.size - (size_t)(end + 1 - key.data)) : (struct slice){ 0 };
}

/* shard-TYPE-SHARD-N may be of a type with a longer name, which has a key shard-LONGER-all then. */
static bool is_longer(const struct clearing *clearing, struct slice name, size_t size)
{
    for (uint32_t i = 0; i < clearing->loaded->entries.count; i++) {
        struct slice other = name_of(durable_slice(clearing->loaded, clearing->loaded->entries.items[i].key));
        size_t prefix = other.size > 3 ? other.size - 3 : 0;

        if (prefix > size && prefix <= name.size && memcmp(other.data + prefix, "all", 3) == 0 &&
            other.data[prefix - 1] == '-' && memcmp(other.data, name.data, prefix) == 0)
            return true;
    }
    return false;
}

static bool is_wanted(const struct clearing *clearing, struct slice name, const char *type)
{
    if (equals(name, "shard-", type, "-all") || equals(name, type, "CoordinatorState", "") ||
        equals(name, type, "Fences", ""))
        return true;
    return begins(name, "shard-", type, "-") && name.size > 2 && name.data[name.size - 2] == '-' &&
           !is_longer(clearing, name, strlen("shard--") + strlen(type));
}

static void note_key(struct clearing *clearing, struct slice key, struct slice name)
{
    struct durable_change *change;
    bool is_json = cmd_value(clearing->call, "json") != NULL;

    if (map_get(&clearing->changes, key))
        return;
    change = mem_alloc(sizeof *change);
    change->key = mem_copy(key.data, key.size);
    change->key_size = (uint32_t)key.size;
    change->erases = true;
    (void)map_put(&clearing->changes, key, change); /* was absent */
    if (is_json)
        (void)putchar('{');
    if (is_json)
        journal_print_json("key", name, true);
    else
        journal_print_text(name, name.size);
    printf("%s\n", is_json ? "}" : "");
}

static enum cmd_exit clear_files(struct clearing *clearing, struct durable_files *files)
{
    char error[DURABLE_ERROR_MAX] = "";
    const struct cmd_call *call = clearing->call;

    durable_files_load(files, clearing->loaded);
    if (clearing->loaded->result != DURABLE_DONE)
        return cmd_fail(CMD_UNREACHABLE, "%s", clearing->loaded->error);
    for (uint32_t i = 0; i < clearing->loaded->entries.count; i++) {
        struct slice key = durable_slice(clearing->loaded, clearing->loaded->entries.items[i].key);
        struct slice name = name_of(key);

        for (uint32_t k = 1; k < call->count && name.size; k++)
            if (is_wanted(clearing, name, call->arguments[k]))
                note_key(clearing, key, name);
    }
    if (cmd_value(call, "dry-run") || !clearing->changes.count)
        return CMD_GOOD;
    return durable_files_write(files, &clearing->changes, error) == 0 ? CMD_GOOD
                                                                      : cmd_fail(CMD_UNREACHABLE, "%s", error);
}

static void clearing_fini(struct clearing *clearing)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(&clearing->changes, &at, &entry);) {
        struct durable_change *change = entry.value;

        mem_free(change->key);
        mem_free(change);
    }
    map_fini(&clearing->changes);
    durable_request_free(clearing->loaded);
}

enum cmd_exit cmd_journal_remove_durable(const struct cmd_call *call)
{
    struct clearing clearing = { .call = call, .loaded = durable_request_new(DURABLE_LOAD) };
    const char *cluster = cmd_value(call, "cluster");
    bool is_dry = cmd_value(call, "dry-run") != NULL;
    char error[DURABLE_ERROR_MAX] = "";
    struct durable_files *files = NULL;
    enum cmd_exit exit;

    if (!journal_has_file(call->arguments[0], "values.mdb"))
        exit = cmd_fail(CMD_UNREACHABLE, "%s has no file values.mdb: name the node's folder in lmdb.dir",
                        call->arguments[0]);
    else if (durable_files_open(&files, call->arguments[0], cluster ? cluster : "ClusterSystem", MAP_SIZE, error) != 0)
        exit = cmd_fail(CMD_REFUSED, "%s", error); /* as a rule a node has it open */
    else
        exit = clear_files(&clearing, files);
    if (exit == CMD_GOOD && cmd_value(call, "json"))
        printf("{\"keys\":%" PRIu32 ",\"removed\":%s}\n", clearing.changes.count, is_dry ? "false" : "true");
    else if (exit == CMD_GOOD)
        printf("%" PRIu32 " keys %s\n", clearing.changes.count, is_dry ? "would be removed" : "removed");
    durable_files_close(files);
    clearing_fini(&clearing);
    return exit;
}
