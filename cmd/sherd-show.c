/* Shows the whole cluster on one screen, and one thing in full. */
#define _GNU_SOURCE
#include "sherd-ask.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *field)
{
    const char *text = json_string_value(json_object_get(object, field));

    return text ? text : "-";
}

static long long number_of(const json_t *object, const char *field)
{
    return (long long)json_integer_value(json_object_get(object, field));
}

/* ---- status ---- */

static enum cmd_exit exit_of_health(const char *health)
{
    if (strcmp(health, "ok") == 0)
        return CMD_GOOD;
    return strcmp(health, "warning") == 0 ? CMD_FINDINGS : CMD_CRITICAL;
}

static void print_versions(const json_t *versions)
{
    const char *version;
    const json_t *count;
    const char *before = "versions ";

    json_object_foreach((json_t *)(uintptr_t)versions, version, count) {
        (void)printf("%s%s on %lld", before, version, (long long)json_integer_value(count));
        before = ", ";
    }
    if (json_object_size(versions))
        (void)putchar('\n');
}

static enum cmd_exit print_status(const struct cmd_call *call, struct client *client, const json_t *answer)
{
    static const struct rows_column nodes[] = {
        { "NODE", "node", ROWS_TEXT },           { "STATUS", "status", ROWS_TEXT },
        { "READY", "ready", ROWS_TEXT },         { "REACHABLE", "reachable", ROWS_TEXT },
        { "LANES", "lanes", ROWS_NUMBER },       { "ENTITIES", "entities", ROWS_NUMBER },
        { "WAITING", "waiting", ROWS_NUMBER },   { "UNDELIVERED", "undelivered", ROWS_NUMBER },
        { "UPTIME", "uptimeMs", ROWS_SPAN },     { "ANSWER", "state", ROWS_TEXT },
        { 0 },
    };
    static const struct rows_column types[] = {
        { "TYPE", "type", ROWS_TEXT },         { "SHARDS", "numberOfShards", ROWS_NUMBER },
        { "RUNNING", "hosted", ROWS_NUMBER },  { "MOVING", "moving", ROWS_NUMBER },
        { "NO HOME", "wanted", ROWS_NUMBER },  { "ENTITIES", "entities", ROWS_NUMBER },
        { "WAITING", "waiting", ROWS_NUMBER }, { "COORDINATOR", "coordinator", ROWS_TEXT },
        { 0 },
    };
    const json_t *members = json_object_get(answer, "members");
    const char *health = text_of(answer, "health"), *time = text_of(answer, "asOf");
    char name[80];

    (void)call;
    (void)client;
    rows_clean(text_of(answer, "cluster"), name, sizeof name);
    (void)printf("cluster %s is %s: %lld up, %lld joining, %lld leaving, %lld unreachable, members %s\n", name,
                 health, number_of(members, "up"), number_of(members, "joining"), number_of(members, "leaving"),
                 number_of(members, "unreachable"),
                 json_is_true(json_object_get(members, "agree")) ? "agree" : "do not agree");
    (void)printf("asked %s at %s, leader %s\n", text_of(answer, "self"), time, text_of(answer, "leader"));
    print_versions(json_object_get(answer, "versions"));
    (void)putchar('\n');
    rows_print(nodes, json_object_get(answer, "nodes"));
    if (json_array_size(json_object_get(answer, "types"))) {
        (void)putchar('\n');
        rows_print(types, json_object_get(answer, "types"));
    }
    return exit_of_health(health);
}

enum cmd_exit cmd_status(const struct cmd_call *call)
{
    return ask_run(call, (struct ask){ .path = client_path("/api/v1/status"), .print = print_status });
}

/* ---- health ---- */

enum cmd_exit cmd_health(const struct cmd_call *call)
{
    const char *which = cmd_value(call, "startup") ? "startup" : cmd_value(call, "live") ? "live" : "ready";
    char *path = client_path("/api/v1/health/%s", which);
    struct client *client;
    json_t *answer = NULL;
    size_t index;
    const json_t *check;
    enum cmd_exit exit = client_open(call, &client);

    if (exit == CMD_GOOD && !client_probe(client, path, &answer))
        exit = cmd_fail(CMD_UNREACHABLE, "%s does not answer", client_address(client));
    if (exit == CMD_GOOD) {
        bool is_good = json_is_true(json_object_get(answer, "ok"));

        exit = is_good ? CMD_GOOD : CMD_FINDINGS;
        (void)printf("%s: %s", which, is_good ? "yes" : "no");
        json_array_foreach(json_object_get(answer, "checks"), index, check)
            if (!json_is_true(json_object_get(check, "ok")))
                (void)printf(", %s: %s", text_of(check, "name"), text_of(check, "why"));
        (void)putchar('\n');
    }
    json_decref(answer);
    client_close(client);
    free(path);
    return exit;
}

/* ---- one thing ---- */

static enum cmd_exit print_object(const struct cmd_call *call, struct client *client, const json_t *answer)
{
    (void)call;
    (void)client;
    rows_print_object(answer);
    return CMD_GOOD;
}

static enum cmd_exit show(const struct cmd_call *call, char *path)
{
    return ask_run(call, (struct ask){ .path = path, .print = print_object });
}

enum cmd_exit cmd_node_show(const struct cmd_call *call)
{
    return show(call, client_path("/api/v1/members/%s", call->arguments[0]));
}

enum cmd_exit cmd_type_show(const struct cmd_call *call)
{
    return show(call, client_path("/api/v1/types/%s", call->arguments[0]));
}

enum cmd_exit cmd_shard_show(const struct cmd_call *call)
{
    return show(call, client_path("/api/v1/types/%s/shards/%s", call->arguments[0], call->arguments[1]));
}

/* An entity that does not run is not what was asked for. */
static enum cmd_exit print_entity(const struct cmd_call *call, struct client *client, const json_t *answer)
{
    const json_t *entity = json_object_get(answer, "entity");

    (void)client;
    if (json_is_null(entity)) {
        (void)printf("%s of %s does not run\n", call->arguments[1], call->arguments[0]);
        return CMD_FINDINGS;
    }
    rows_print_object(entity);
    return CMD_GOOD;
}

enum cmd_exit cmd_entity_show(const struct cmd_call *call)
{
    return ask_run(call, (struct ask){
        .path = client_path("/api/v1/types/%s/entities/%s", call->arguments[0], call->arguments[1]),
        .print = print_entity });
}

static enum cmd_exit print_where(const struct cmd_call *call, struct client *client, const json_t *answer)
{
    const json_t *entity = json_object_get(answer, "entity"), *fence = json_object_get(answer, "fence");

    (void)client;
    (void)printf("%s/%s  shard %s  node %s", call->arguments[0], call->arguments[1], text_of(answer, "shard"),
                 text_of(answer, "node"));
    if (json_is_object(fence))
        (void)printf("  fence %s.%s", text_of(fence, "term"), text_of(fence, "epoch"));
    if (json_is_object(entity))
        (void)printf("  %s  mailbox %lld\n", text_of(entity, "status"), number_of(entity, "mailbox"));
    else
        (void)printf("  does not run\n");
    return json_is_string(json_object_get(answer, "node")) ? CMD_GOOD : CMD_FINDINGS;
}

enum cmd_exit cmd_entity_where(const struct cmd_call *call)
{
    return ask_run(call, (struct ask){
        .path = client_path("/api/v1/types/%s/entities/%s/where", call->arguments[0], call->arguments[1]),
        .print = print_where });
}
