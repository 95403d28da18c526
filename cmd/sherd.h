/* Declares the program sherd: one table of commands, from which its options, help texts, manual page and
 * completion are made. */
#ifndef SHERD_CMD_SHERD_H
#define SHERD_CMD_SHERD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define CMD_OPTIONS_MAX 8
#define CMD_NODE_OPTIONS_MAX 10
#define CMD_ARGUMENTS_MAX 64

/* Exit status of every command. */
enum cmd_exit {
    CMD_GOOD = 0,
    CMD_FINDINGS = 1,    /* the command worked and found damage, or not what was asked for */
    CMD_USAGE = 2,       /* wrong arguments */
    CMD_UNREACHABLE = 3, /* the store cannot be opened, read or written */
    CMD_REFUSED = 4,     /* nodes use the store, or it has other content than the command needs; the node refuses */
    CMD_TIMEOUT = 5,     /* no answer in time */
    CMD_PARTIAL = 6,     /* the answer was printed, and members are missing from it */
    CMD_CRITICAL = 7,    /* the cluster cannot do its work */
};

struct cmd_option {
    const char *name;  /* without "--" */
    const char *value; /* name of its value; null: it has none */
    const char *help;  /* one line, without a full stop */
    char letter;       /* of the short form; 0: none */
};

struct cmd_call;

struct cmd_command {
    const char *group; /* "journal"; null: `sherd NAME` */
    const char *name;
    const char *arguments; /* as "JOURNAL ID" */
    uint32_t least, most;  /* number of arguments */
    const char *summary;   /* one line, without a full stop */
    const char *text;      /* sentences */
    struct cmd_option options[CMD_OPTIONS_MAX];
    enum cmd_exit (*run)(const struct cmd_call *call);
    bool asks_node; /* it has the options of cmd_node_options, too */
};

/* A command with its arguments. Texts are lent. */
struct cmd_call {
    const struct cmd_command *command;
    const char *arguments[CMD_ARGUMENTS_MAX];
    uint32_t count;
    const char *values[CMD_OPTIONS_MAX + CMD_NODE_OPTIONS_MAX]; /* as the options; null: not given */
};

/* A group of commands, for help texts. */
struct cmd_group {
    const char *name;
    const char *summary;
    const char *text; /* describes its arguments */
};

/* sherd-table.c; both end with a null name */
extern const struct cmd_group cmd_groups[];
extern const struct cmd_command cmd_commands[];
extern const struct cmd_option cmd_node_options[CMD_NODE_OPTIONS_MAX];
/* The command's option of an index; null: there are no more. The node's options follow at CMD_OPTIONS_MAX. */
const struct cmd_option *cmd_option_at(const struct cmd_command *command, uint32_t index);
const struct cmd_command *cmd_find(const char *group, const char *name);
const struct cmd_group *cmd_find_group(const char *name);

/* sherd.c */
/* The value of an option ("" without one); null: not given. */
const char *cmd_value(const struct cmd_call *call, const char *option);
/* Reads a number from 1 to INT64_MAX. False, with a line on standard error: it is none. */
bool cmd_number(const struct cmd_call *call, const char *option, uint64_t *number);
/* Writes a line to standard error and returns `exit`. */
enum cmd_exit cmd_fail(enum cmd_exit exit, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* sherd-help.c */
void cmd_print_help(FILE *out, const char *group); /* null: of the program */
void cmd_print_usage(FILE *out, const struct cmd_command *command, bool is_short);
enum cmd_exit cmd_man(const struct cmd_call *call);
enum cmd_exit cmd_completion(const struct cmd_call *call);

/* sherd-journal-open.c: false, with a line on standard error: the first argument is neither a file nor a URL of
 * PostgreSQL. It may have a password, so it is not printed. */
bool cmd_place_is_readable(const struct cmd_call *call);
/* sherd-journal-*.c */
enum cmd_exit cmd_journal_info(const struct cmd_call *call);
enum cmd_exit cmd_journal_ids(const struct cmd_call *call);
enum cmd_exit cmd_journal_cat(const struct cmd_call *call);
enum cmd_exit cmd_journal_tail(const struct cmd_call *call);
enum cmd_exit cmd_journal_state_at(const struct cmd_call *call);
enum cmd_exit cmd_journal_schema(const struct cmd_call *call);
enum cmd_exit cmd_journal_snapshots(const struct cmd_call *call);
enum cmd_exit cmd_journal_drop_snapshots(const struct cmd_call *call);
enum cmd_exit cmd_journal_make_snapshot(const struct cmd_call *call);
enum cmd_exit cmd_journal_upcast(const struct cmd_call *call);
enum cmd_exit cmd_journal_verify(const struct cmd_call *call);
enum cmd_exit cmd_journal_accept_loss(const struct cmd_call *call);
enum cmd_exit cmd_journal_export(const struct cmd_call *call);
enum cmd_exit cmd_journal_import(const struct cmd_call *call);
enum cmd_exit cmd_journal_move(const struct cmd_call *call);
enum cmd_exit cmd_journal_remove_sharding(const struct cmd_call *call);
enum cmd_exit cmd_journal_remove_durable(const struct cmd_call *call);

/* sherd-show.c, sherd-list.c: looks at a cluster */
enum cmd_exit cmd_status(const struct cmd_call *call);
enum cmd_exit cmd_health(const struct cmd_call *call);
enum cmd_exit cmd_node_show(const struct cmd_call *call);
enum cmd_exit cmd_type_show(const struct cmd_call *call);
enum cmd_exit cmd_shard_show(const struct cmd_call *call);
enum cmd_exit cmd_entity_show(const struct cmd_call *call);
enum cmd_exit cmd_entity_where(const struct cmd_call *call);
enum cmd_exit cmd_node_ls(const struct cmd_call *call);
enum cmd_exit cmd_type_ls(const struct cmd_call *call);
enum cmd_exit cmd_shard_ls(const struct cmd_call *call);
enum cmd_exit cmd_entity_ls(const struct cmd_call *call);
enum cmd_exit cmd_hot(const struct cmd_call *call);
enum cmd_exit cmd_undelivered(const struct cmd_call *call);
enum cmd_exit cmd_events(const struct cmd_call *call);
enum cmd_exit cmd_config_show(const struct cmd_call *call);
enum cmd_exit cmd_config_diff(const struct cmd_call *call);

/* sherd-explain.c */
enum cmd_exit cmd_explain_node(const struct cmd_call *call);
enum cmd_exit cmd_explain_shard(const struct cmd_call *call);
enum cmd_exit cmd_explain_entity(const struct cmd_call *call);

/* sherd-operate.c */
enum cmd_exit cmd_node_operate(const struct cmd_call *call);
enum cmd_exit cmd_shard_move(const struct cmd_call *call);
enum cmd_exit cmd_rebalance(const struct cmd_call *call);
enum cmd_exit cmd_op_ls(const struct cmd_call *call);
enum cmd_exit cmd_op_show(const struct cmd_call *call);

/* sherd-act.c */
enum cmd_exit cmd_node_join(const struct cmd_call *call);
enum cmd_exit cmd_node_leave(const struct cmd_call *call);
enum cmd_exit cmd_node_down(const struct cmd_call *call);
enum cmd_exit cmd_log_level(const struct cmd_call *call);
enum cmd_exit cmd_get(const struct cmd_call *call);
enum cmd_exit cmd_token_new(const struct cmd_call *call);
enum cmd_exit cmd_version(const struct cmd_call *call);

#endif
