/* Changes a cluster: members join, leave and count as failed; the level of a log. */
#define _GNU_SOURCE
#include "sherd-ask.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <sherd/sherd.h>

enum cmd_exit act_confirm(const struct cmd_call *call, const char *what)
{
    char answer[8] = "";

    if (cmd_value(call, "yes"))
        return CMD_GOOD;
    if (!isatty(STDIN_FILENO))
        return cmd_fail(CMD_USAGE, "%s: give --yes, as nobody can be asked", what);
    (void)fprintf(stderr, "%s? [y/N] ", what);
    if (fgets(answer, sizeof answer, stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return CMD_GOOD;
    return cmd_fail(CMD_FINDINGS, "nothing is changed");
}

/* Sends a change and says what has begun. Takes path and body over. */
static enum cmd_exit change(const struct cmd_call *call, const char *what, char *path, json_t *body)
{
    struct client *client = NULL;
    json_t *answer = NULL;
    enum cmd_exit exit = act_confirm(call, what);

    if (exit == CMD_GOOD)
        exit = client_open(call, &client);
    if (exit == CMD_GOOD)
        exit = client_ask(client, "POST", path, body, &answer);
    else
        json_decref(body);
    if (exit == CMD_GOOD && cmd_value(call, "output") && strcmp(cmd_value(call, "output"), "json") == 0) {
        (void)puts(client_text(client));
    } else if (exit == CMD_GOOD) {
        const char *before = json_string_value(json_object_get(json_object_get(answer, "before"), "status"));

        (void)printf("%s: begun%s%s\n", what, before ? ", it was " : "", before ? before : "");
    }
    json_decref(answer);
    client_close(client);
    free(path);
    return exit;
}

enum cmd_exit cmd_node_join(const struct cmd_call *call)
{
    char what[400];

    (void)snprintf(what, sizeof what, "the node joins the cluster of %.300s", call->arguments[0]);
    return change(call, what, client_path("/api/v1/members/join"),
                  json_pack("{s:s}", "address", call->arguments[0]));
}

enum cmd_exit cmd_node_leave(const struct cmd_call *call)
{
    char what[400];

    (void)snprintf(what, sizeof what, "%.300s leaves the cluster", call->arguments[0]);
    return change(call, what, client_path("/api/v1/members/%s/leave", call->arguments[0]), NULL);
}

enum cmd_exit cmd_node_down(const struct cmd_call *call)
{
    char what[400];

    (void)snprintf(what, sizeof what, "%.300s counts as failed, and its shards get other homes",
                   call->arguments[0]);
    return change(call, what, client_path("/api/v1/members/%s/down", call->arguments[0]), NULL);
}

enum cmd_exit cmd_log_level(const struct cmd_call *call)
{
    uint64_t seconds = 0;
    struct client *client = NULL;
    json_t *answer = NULL, *body = NULL;
    enum cmd_exit exit = CMD_USAGE;

    if (cmd_number(call, "for", &seconds))
        exit = client_open(call, &client);
    if (exit == CMD_GOOD && call->count)
        body = json_pack("{s:s}", "level", call->arguments[0]);
    if (body && seconds)
        (void)json_object_set_new(body, "forMs", json_integer((json_int_t)(seconds * 1000)));
    if (exit == CMD_GOOD)
        exit = client_ask(client, call->count ? "PUT" : "GET", "/api/v1/log", body, &answer);
    if (exit == CMD_GOOD)
        rows_print_object(answer);
    json_decref(answer);
    client_close(client);
    return exit;
}

enum cmd_exit cmd_get(const struct cmd_call *call)
{
    struct client *client;
    const char *path = call->arguments[0];
    enum cmd_exit exit;

    if (*path != '/')
        return cmd_fail(CMD_USAGE, "a path begins with /, as /api/v1/status");
    exit = client_open(call, &client);
    if (exit == CMD_GOOD)
        exit = client_send(client, "GET", path, NULL);
    if (exit == CMD_GOOD)
        (void)puts(client_text(client));
    client_close(client);
    return exit;
}

/* ---- without a node ---- */

enum cmd_exit cmd_token_new(const struct cmd_call *call)
{
    const char *role = call->arguments[0], *name = call->arguments[1];
    unsigned char random[24], digest[EVP_MAX_MD_SIZE];
    char token[2 * sizeof random + 1];
    unsigned size = 0;

    if (strcmp(role, "read") != 0 && strcmp(role, "operate") != 0 && strcmp(role, "admin") != 0)
        return cmd_fail(CMD_USAGE, "a role is read, operate or admin, not \"%.40s\"", role);
    if (!*name || strpbrk(name, " \t\r\n"))
        return cmd_fail(CMD_USAGE, "a name has no blanks");
    if (RAND_bytes(random, sizeof random) != 1)
        return cmd_fail(CMD_UNREACHABLE, "there are no random bytes");
    for (size_t i = 0; i < sizeof random; i++)
        (void)snprintf(token + 2 * i, 3, "%02x", random[i]);
    if (EVP_Digest(token, sizeof token - 1, digest, &size, EVP_sha256(), NULL) != 1)
        return cmd_fail(CMD_UNREACHABLE, "SHA-256 cannot be used");
    (void)fprintf(stderr, "the token, which is shown only here:\n%s\nthe line for management.http.tokens-file:\n",
                  token);
    (void)printf("%s ", role);
    for (unsigned i = 0; i < size; i++)
        (void)printf("%02x", digest[i]);
    (void)printf(" %s\n", name);
    return CMD_GOOD;
}

enum cmd_exit cmd_version(const struct cmd_call *call)
{
    (void)call;
    (void)printf("sherd %s\n", sherd_version());
    return CMD_GOOD;
}
