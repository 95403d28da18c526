/* Follows the pages of lists, and repeats for --watch. */
#define _GNU_SOURCE
#include "sherd-ask.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAGE 1000
#define LIMIT 200

enum form { FORM_TABLE, FORM_JSON, FORM_LINES, FORM_WRONG };

static enum form form_of(const struct cmd_call *call, const struct ask *ask)
{
    const char *form = cmd_value(call, "output");

    if (!form || strcmp(form, "table") == 0)
        return FORM_TABLE;
    if (strcmp(form, "json") == 0)
        return FORM_JSON;
    if (strcmp(form, "ndjson") == 0 && ask->is_list)
        return FORM_LINES;
    (void)cmd_fail(CMD_USAGE, "--output is table or json%s, not \"%.40s\"", ask->is_list ? " or ndjson" : "",
                   form);
    return FORM_WRONG;
}

/* The rows of all pages up to `limit`, as one answer. */
static enum cmd_exit ask_pages(struct client *client, const struct ask *ask, uint64_t limit,
                               json_t **answer)
{
    enum cmd_exit exit = client_ask(client, "GET", ask->path, NULL, answer);
    json_t *items = exit == CMD_GOOD ? json_object_get(*answer, "items") : NULL;
    while (items && json_array_size(items) < limit) {
        const char *next = json_string_value(json_object_get(*answer, "next"));
        json_t *page = NULL;
        char *path;

        if (!next)
            break;
        path = client_path_add(strdup(ask->path), "cursor", next);
        exit = client_ask(client, "GET", path, NULL, &page);
        free(path);
        if (exit != CMD_GOOD)
            break;
        (void)json_array_extend(items, json_object_get(page, "items"));
        (void)json_object_set(*answer, "next", json_object_get(page, "next"));
        if (json_is_true(json_object_get(page, "partial"))) {
            (void)json_object_set(*answer, "partial", json_true());
            (void)json_object_set(*answer, "nodes", json_object_get(page, "nodes"));
        }
        json_decref(page);
    }
    return exit;
}

static enum cmd_exit print_table(const struct ask *ask, const json_t *answer)
{
    rows_print(ask->columns, json_object_get(answer, "items"));
    if (json_is_string(json_object_get(answer, "next")))
        (void)fprintf(stderr, "there are more; --limit N shows more of them, -o ndjson all\n");
    return CMD_GOOD;
}

static enum cmd_exit run_once(const struct cmd_call *call, struct client *client, const struct ask *ask,
                              enum form form, uint64_t limit)
{
    json_t *answer = NULL;
    enum cmd_exit exit, missing;

    if (form == FORM_LINES)
        return client_copy_lines(client, ask->path);
    exit = ask->is_list && form == FORM_TABLE ? ask_pages(client, ask, limit, &answer)
                                              : client_ask(client, "GET", ask->path, NULL, &answer);
    if (exit == CMD_GOOD) {
        if (form == FORM_JSON)
            (void)puts(client_text(client));
        else
            exit = ask->print ? ask->print(call, client, answer) : print_table(ask, answer);
        (void)fflush(stdout);
        missing = rows_missing(answer);
        exit = exit == CMD_GOOD ? missing : exit;
    }
    json_decref(answer);
    return exit;
}

static void rest(uint64_t seconds)
{
    struct timespec left = { .tv_sec = (time_t)seconds };

    (void)nanosleep(&left, NULL); /* a signal ends the program */
}

enum cmd_exit ask_run(const struct cmd_call *call, struct ask ask)
{
    enum form form = form_of(call, &ask);
    uint64_t seconds = 0, limit = LIMIT;
    struct client *client = NULL;
    enum cmd_exit exit = CMD_USAGE;

    if (form != FORM_WRONG && cmd_number(call, "watch", &seconds) && cmd_number(call, "limit", &limit))
        exit = client_open(call, &client);
    if (exit == CMD_GOOD && ask.is_list && form != FORM_LINES) {
        char number[24];

        (void)snprintf(number, sizeof number, "%u", (unsigned)(limit < PAGE ? limit : PAGE));
        ask.path = client_path_add(ask.path, "limit", number);
    }
    while (exit != CMD_USAGE && client) {
        if (seconds && form == FORM_TABLE && isatty(STDOUT_FILENO))
            (void)fputs("\033[H\033[2J", stdout);
        exit = run_once(call, client, &ask, form, limit);
        if (!seconds)
            break;
        (void)fflush(stdout);
        rest(seconds);
    }
    client_close(client);
    free(ask.path);
    return exit;
}
