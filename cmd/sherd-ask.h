/* Runs a command that looks at a cluster: asks, prints in the wanted form, and again if it watches. */
#ifndef SHERD_CMD_ASK_H
#define SHERD_CMD_ASK_H

#include "sherd-rows.h"

struct ask {
    char *path;  /* of GET; freed */
    bool is_list; /* it has pages: -o ndjson, and --limit */
    /* Prints an answer for people. Its exit is the command's, unless members are missing. */
    enum cmd_exit (*print)(const struct cmd_call *call, struct client *client, const json_t *answer);
    const struct rows_column *columns; /* without print: a table of these */
};

/* sherd-act.c: asks on a terminal whether it is wanted; elsewhere --yes is needed. CMD_GOOD: it is. */
enum cmd_exit act_confirm(const struct cmd_call *call, const char *what);

enum cmd_exit ask_run(const struct cmd_call *call, struct ask ask);

#endif
