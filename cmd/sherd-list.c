/* Lists what members have: members, types, shards, entities, and the last things that happened. */
#define _GNU_SOURCE
#include "sherd-ask.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static enum cmd_exit list(const struct cmd_call *call, char *path, const struct rows_column *columns)
{
    return ask_run(call, (struct ask){ .path = path, .is_list = true, .columns = columns });
}

/* Adds the options of the call that the list takes. */
static char *with(const struct cmd_call *call, char *path, const char *const *options)
{
    for (; *options; options++)
        path = client_path_add(path, *options, cmd_value(call, *options));
    return path;
}

enum cmd_exit cmd_node_ls(const struct cmd_call *call)
{
    static const struct rows_column columns[] = {
        { "NODE", "node", ROWS_TEXT },       { "STATUS", "status", ROWS_TEXT },
        { "READY", "says.ready", ROWS_TEXT }, { "REACHABLE", "reachable", ROWS_TEXT },
        { "AGREES", "seen", ROWS_TEXT },     { "ROLES", "roles", ROWS_TEXT },
        { "VERSION", "appVersion", ROWS_TEXT }, { "UPTIME", "says.uptimeMs", ROWS_SPAN },
        { "ANSWER", "state", ROWS_TEXT },    { 0 },
    };
    static const char *const options[] = { "view", NULL };

    return ask_run(call, (struct ask){ .path = with(call, client_path("/api/v1/members"), options),
                                       .columns = columns });
}

enum cmd_exit cmd_type_ls(const struct cmd_call *call)
{
    static const struct rows_column columns[] = {
        { "TYPE", "type", ROWS_TEXT },           { "SHARDS", "numberOfShards", ROWS_NUMBER },
        { "RUNNING", "hosted", ROWS_NUMBER },    { "ENTITIES", "entities", ROWS_NUMBER },
        { "WAITING", "waiting", ROWS_NUMBER },   { "NO HOME", "wanted", ROWS_NUMBER },
        { "COORDINATOR", "coordinator", ROWS_TEXT }, { "TERM", "term", ROWS_TEXT },
        { 0 },
    };

    return ask_run(call, (struct ask){ .path = client_path("/api/v1/types"), .columns = columns });
}

enum cmd_exit cmd_shard_ls(const struct cmd_call *call)
{
    static const struct rows_column columns[] = {
        { "SHARD", "shard", ROWS_TEXT },       { "NODE", "node", ROWS_TEXT },
        { "LANE", "lane", ROWS_NUMBER },       { "STATE", "state", ROWS_TEXT },
        { "ENTITIES", "entities", ROWS_NUMBER }, { "TERM", "term", ROWS_TEXT },
        { "EPOCH", "epoch", ROWS_TEXT },       { 0 },
    };
    static const char *const options[] = { "order", "node", NULL };

    return list(call, with(call, client_path("/api/v1/types/%s/shards", call->arguments[0]), options), columns);
}

enum cmd_exit cmd_entity_ls(const struct cmd_call *call)
{
    static const struct rows_column columns[] = {
        { "ID", "id", ROWS_ID },               { "SHARD", "shard", ROWS_TEXT },
        { "NODE", "node", ROWS_TEXT },         { "STATUS", "status", ROWS_TEXT },
        { "MAILBOX", "mailbox", ROWS_NUMBER }, { "IDLE", "idleMs", ROWS_SPAN },
        { "SEQUENCE", "sequence", ROWS_NUMBER }, { 0 },
    };
    static const char *const options[] = { "order", "shard", "node", NULL };

    return list(call, with(call, client_path("/api/v1/types/%s/entities", call->arguments[0]), options),
                columns);
}

enum cmd_exit cmd_hot(const struct cmd_call *call)
{
    static const struct rows_column columns[] = {
        { "TYPE", "type", ROWS_TEXT },           { "ID", "id", ROWS_ID },
        { "SHARD", "shard", ROWS_TEXT },         { "NODE", "node", ROWS_TEXT },
        { "MESSAGES", "messages", ROWS_NUMBER }, { "ERROR", "error", ROWS_NUMBER },
        { "OF LANE", "of", ROWS_NUMBER },        { "WITHIN", "windowMs", ROWS_SPAN },
        { 0 },
    };
    static const char *const options[] = { "type", "node", NULL };

    return list(call, with(call, client_path("/api/v1/hot"), options), columns);
}

enum cmd_exit cmd_undelivered(const struct cmd_call *call)
{
    static const struct rows_column columns[] = {
        { "TIME", "time", ROWS_TIME },     { "NODE", "node", ROWS_TEXT },
        { "REASON", "reason", ROWS_TEXT }, { "TYPE", "type", ROWS_TEXT },
        { "BYTES", "size", ROWS_NUMBER },  { 0 },
    };
    static const char *const options[] = { "node", NULL };

    return list(call, with(call, client_path("/api/v1/undelivered"), options), columns);
}

enum cmd_exit cmd_config_show(const struct cmd_call *call)
{
    static const struct rows_column columns[] = {
        { "KEY", "key", ROWS_TEXT },       { "VALUE", "value", ROWS_TEXT },
        { "SOURCE", "source", ROWS_TEXT }, { "NODE", "node", ROWS_TEXT },
        { 0 },
    };
    static const char *const options[] = { "node", NULL };

    return list(call, with(call, client_path("/api/v1/config"), options), columns);
}

/* One line for each node's value of a key. */
static enum cmd_exit print_differences(const struct cmd_call *call, struct client *client,
                                       const json_t *answer)
{
    static const struct rows_column columns[] = {
        { "NODE", "node", ROWS_TEXT }, { "VALUE", "value", ROWS_TEXT }, { "SOURCE", "source", ROWS_TEXT }, { 0 },
    };
    const json_t *items = json_object_get(answer, "items");
    size_t index;
    const json_t *item;

    (void)call;
    (void)client;
    json_array_foreach(items, index, item) {
        (void)printf("%s%s\n", index ? "\n" : "", json_string_value(json_object_get(item, "key")));
        rows_print(columns, json_object_get(item, "values"));
    }
    if (json_array_size(items) == 0)
        (void)puts("no key differs");
    return json_array_size(items) ? CMD_FINDINGS : CMD_GOOD;
}

enum cmd_exit cmd_config_diff(const struct cmd_call *call)
{
    return ask_run(call, (struct ask){ .path = client_path("/api/v1/config/diff"), .print = print_differences });
}

/* ---- decisions ---- */

static const struct rows_column event_columns[] = {
    { "TIME", "time", ROWS_TIME },   { "NODE", "node", ROWS_TEXT },     { "EVENT", "event", ROWS_TEXT },
    { "TYPE", "type", ROWS_TEXT },   { "SHARD", "shard", ROWS_TEXT },   { "MEMBER", "member", ROWS_TEXT },
    { "TEXT", "text", ROWS_TEXT },   { 0 },
};

/* The oldest first, as people read a log. */
static enum cmd_exit print_events(const struct cmd_call *call, struct client *client, const json_t *answer)
{
    const json_t *items = json_object_get(answer, "items");
    json_t *turned = json_array();

    (void)call;
    (void)client;
    for (size_t i = json_array_size(items); i-- > 0;)
        (void)json_array_append(turned, json_array_get(items, i));
    rows_print(event_columns, turned);
    json_decref(turned);
    return CMD_GOOD;
}

enum cmd_exit cmd_events(const struct cmd_call *call)
{
    static const char *const options[] = { "type", "node", NULL };
    char *path = with(call, client_path("/api/v1/timeline"), options);
    uint64_t seconds = 0;
    char since[24];

    if (!cmd_number(call, "since", &seconds)) {
        free(path);
        return CMD_USAGE;
    }
    if (seconds) {
        uint64_t now = (uint64_t)time(NULL);

        (void)snprintf(since, sizeof since, "%llu000", (unsigned long long)(now > seconds ? now - seconds : 0));
        path = client_path_add(path, "since", since);
    }
    return ask_run(call, (struct ask){ .path = path, .is_list = true, .print = print_events });
}
