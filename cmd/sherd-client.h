/* Asks a node by its management API, over its Unix socket or TCP. */
#ifndef SHERD_CMD_CLIENT_H
#define SHERD_CMD_CLIENT_H

#include <jansson.h>

#include "sherd.h"

#define CLIENT_ANSWER_MAX (64u << 20) /* bytes of an answer */
#define CLIENT_ADDRESS_SIZE 300

struct client;

/* Opens by the options of the call, and the environment. On failure, a line on standard error, and its exit. */
enum cmd_exit client_open(const struct cmd_call *call, struct client **client);
void client_close(struct client *client); /* null is allowed */
/* The address that was found or given. */
const char *client_address(const struct client *client);

/* Builds a path from a format in which each %s is a segment, which is escaped. Free it with free. */
char *client_path(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Adds a parameter to a path that client_path made; a null value is none. */
char *client_path_add(char *path, const char *name, const char *value);

/* Sends a request, and takes the answer. A body is stolen; null: none. On failure, also an error of the
 * node, a line on standard error, and its exit. CMD_GOOD: client_text has the answer. */
enum cmd_exit client_send(struct client *client, const char *method, const char *path, json_t *body);
/* The last answer, as it came; lent until the next one. */
const char *client_text(const struct client *client);
/* Asks for JSON; *answer is the caller's. */
enum cmd_exit client_ask(struct client *client, const char *method, const char *path, json_t *body,
                         json_t **answer);
/* The same for GET, without a word about a failure. */
bool client_probe(struct client *client, const char *path, json_t **answer);
/* Asks for a list as one row a line, and copies it to standard output as it comes. */
enum cmd_exit client_copy_lines(struct client *client, const char *path);

/* sherd-find.c: the sockets of this user's nodes. Writes the path of the newest one; an error: a line on
 * standard error. */
enum cmd_exit client_find_socket(char path[CLIENT_ADDRESS_SIZE]);
/* The name of the cluster of the node at a socket, or an empty text. */
void client_cluster_at(const char *socket, char *name, size_t size);

#endif
