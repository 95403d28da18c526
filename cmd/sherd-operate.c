/* Starts operations at a node, and waits for their end. */
#define _GNU_SOURCE
#include "sherd-ask.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define POLL_NS 100000000 /* between two questions for the end */

static const char *text_of(const json_t *operation, const char *field)
{
    const char *text = json_string_value(json_object_get(operation, field));

    return text ? text : "";
}

static bool has_ended(const json_t *operation)
{
    return json_is_true(json_object_get(operation, "ended"));
}

static enum cmd_exit exit_of(const json_t *operation)
{
    if (!has_ended(operation) || strcmp(text_of(operation, "state"), "done") == 0)
        return CMD_GOOD;
    return strcmp(text_of(operation, "code"), "timeout") == 0 ? CMD_TIMEOUT : CMD_REFUSED;
}

static void print_operation(const json_t *operation)
{
    char text[600];
    json_int_t stall = json_integer_value(json_object_get(operation, "stallUs"));

    rows_clean(text_of(operation, "text"), text, sizeof text);
    (void)printf("%s %s: %s", text_of(operation, "kind"), text_of(operation, "id"), text_of(operation, "state"));
    if (has_ended(operation) && strcmp(text_of(operation, "code"), "ok") != 0)
        (void)printf(" (%s)", text_of(operation, "code"));
    if (*text)
        (void)printf(", %s", text);
    if (stall)
        (void)printf(", messages waited for %lld us", (long long)stall);
    (void)putchar('\n');
}

/* Asks until the operation has ended. The node ends it at its time-out. */
static enum cmd_exit await_end(struct client *client, json_t **operation)
{
    char *path = client_path("/api/v1/operations/%s", text_of(*operation, "id"));
    enum cmd_exit exit = CMD_GOOD;

    while (exit == CMD_GOOD && !has_ended(*operation)) {
        const struct timespec pause = { .tv_nsec = POLL_NS };

        (void)nanosleep(&pause, NULL);
        json_decref(*operation);
        exit = client_ask(client, "GET", path, NULL, operation);
    }
    free(path);
    return exit;
}

/* The fields of the call's options. Null: one is wrong, and that was said. */
static json_t *body_of(const struct cmd_call *call)
{
    json_t *body = json_object();
    uint64_t within = 0, hold = 0;

    if (!cmd_number(call, "within", &within) || !cmd_number(call, "hold", &hold)) {
        json_decref(body);
        return NULL;
    }
    if (within)
        (void)json_object_set_new(body, "timeoutMs", json_integer((json_int_t)within * 1000));
    if (hold)
        (void)json_object_set_new(body, "holdMs", json_integer((json_int_t)hold * 1000));
    if (cmd_value(call, "reason"))
        (void)json_object_set_new(body, "reason", json_string(cmd_value(call, "reason")));
    if (cmd_value(call, "id"))
        (void)json_object_set_new(body, "id", json_string(cmd_value(call, "id")));
    if (cmd_value(call, "to"))
        (void)json_object_set_new(body, "to", json_string(cmd_value(call, "to")));
    if (cmd_value(call, "dry-run"))
        (void)json_object_set_new(body, "dryRun", json_true());
    return body;
}

/* Takes the path over. */
static enum cmd_exit operate(const struct cmd_call *call, const char *what, char *path)
{
    json_t *body = body_of(call), *operation = NULL;
    struct client *client = NULL;
    enum cmd_exit exit = body ? CMD_GOOD : CMD_USAGE;

    if (exit == CMD_GOOD && !cmd_value(call, "dry-run"))
        exit = act_confirm(call, what);
    if (exit == CMD_GOOD)
        exit = client_open(call, &client);
    if (exit == CMD_GOOD)
        exit = client_ask(client, "POST", path, body, &operation);
    else
        json_decref(body);
    if (exit == CMD_GOOD && !cmd_value(call, "no-wait"))
        exit = await_end(client, &operation);
    if (exit == CMD_GOOD) {
        if (cmd_value(call, "output") && strcmp(cmd_value(call, "output"), "json") == 0)
            (void)puts(client_text(client));
        else
            print_operation(operation);
        exit = exit_of(operation);
    }
    json_decref(operation);
    client_close(client);
    free(path);
    return exit;
}

enum cmd_exit cmd_node_operate(const struct cmd_call *call)
{
    const char *name = call->command->name;
    char what[400];

    (void)snprintf(what, sizeof what, "%s %.300s", name, call->arguments[0]);
    if (strcmp(name, "cordon") == 0)
        return operate(call, what, client_path("/api/v1/members/%s/cordon", call->arguments[0]));
    if (strcmp(name, "uncordon") == 0)
        return operate(call, what, client_path("/api/v1/members/%s/uncordon", call->arguments[0]));
    return operate(call, what, client_path("/api/v1/members/%s/drain", call->arguments[0]));
}

enum cmd_exit cmd_shard_move(const struct cmd_call *call)
{
    char what[700];

    if (!cmd_value(call, "to"))
        return cmd_fail(CMD_USAGE, "--to HOST:PORT is needed: the member that gets the shard");
    (void)snprintf(what, sizeof what, "shard %.255s of %.255s moves to %.100s", call->arguments[1],
                   call->arguments[0], cmd_value(call, "to"));
    return operate(call, what, client_path("/api/v1/types/%s/shards/%s/move", call->arguments[0],
                                           call->arguments[1]));
}

enum cmd_exit cmd_rebalance(const struct cmd_call *call)
{
    bool pauses = strcmp(call->command->name, "pause") == 0;
    char what[400];

    (void)snprintf(what, sizeof what, "%s rebalances of %.255s", call->command->name, call->arguments[0]);
    return operate(call, what, pauses ? client_path("/api/v1/types/%s/rebalance/pause", call->arguments[0])
                                      : client_path("/api/v1/types/%s/rebalance/resume", call->arguments[0]));
}

enum cmd_exit cmd_op_ls(const struct cmd_call *call)
{
    static const struct rows_column columns[] = {
        { "ID", "id", ROWS_TEXT },       { "KIND", "kind", ROWS_TEXT },   { "STATE", "state", ROWS_TEXT },
        { "CODE", "code", ROWS_TEXT },   { "TYPE", "type", ROWS_TEXT },   { "SHARD", "shard", ROWS_TEXT },
        { "NODE", "node", ROWS_TEXT },   { "SINCE", "since", ROWS_TIME }, { "BY", "by", ROWS_TEXT },
        { 0 },
    };

    return ask_run(call, (struct ask){ .path = client_path("/api/v1/operations"), .columns = columns });
}

static enum cmd_exit print_one(const struct cmd_call *call, struct client *client, const json_t *answer)
{
    (void)call;
    (void)client;
    rows_print_object(answer);
    return exit_of(answer);
}

enum cmd_exit cmd_op_show(const struct cmd_call *call)
{
    return ask_run(call, (struct ask){ .path = client_path("/api/v1/operations/%s", call->arguments[0]),
                                       .print = print_one });
}
