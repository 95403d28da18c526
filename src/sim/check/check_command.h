/* Checks commands of clients (workload_commands.h) by what is durable in a journal, and by replies.
 *
 *   command-once  a command and its effect become durable together, once within the window in which
 *                 its entity keeps commands; each reply is the one that is stored with an effect
 *
 * check_delivery.h reads the journal for it. */
#ifndef SHERD_SIM_CHECK_COMMAND_H
#define SHERD_SIM_CHECK_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct check_command;
struct verdict;

/* The event of a command's effect. */
struct command_effect {
    uint64_t command; /* its number, which is also its id */
    uint64_t result;  /* its reply; differs with each execution */
};

/* The event by which the library remembers a command. */
struct command_fact {
    uint64_t account;
    uint64_t command;
    uint64_t at; /* ms since 1970 */
    bool has_reply;
    uint64_t result; /* has_reply */
};

/* Whether the account replies in the call that carries the command out. */
bool check_command_replies(uint64_t command);

struct check_command *check_command_new(struct verdict *verdict); /* lent for life */
void check_command_free(struct check_command *check); /* null is fine */
/* The window: an entity keeps its latest `max` commands, for `age_ms`. */
void check_command_window(struct check_command *check, uint32_t max, uint64_t age_ms);
/* Events of a commit, in the order of each account, and then its end. */
void check_command_effect(struct check_command *check, uint64_t account,
                          const struct command_effect *effect);
void check_command_stored(struct check_command *check, const struct command_fact *fact);
void check_command_committed(struct check_command *check);
/* A server lost an execution with that result. Its reply may be on its way. */
void check_command_lost(struct check_command *check, const struct command_effect *effect);
/* Forgets all commits. Those that were not lost follow again. */
void check_command_forget(struct check_command *check);
/* A client has a reply. */
void check_command_answered(struct check_command *check, uint64_t command, uint64_t result);
/* A client has heard that the command was carried out before and that no reply is stored. */
void check_command_seen(struct check_command *check, uint64_t command);

struct check_command_counts {
    uint64_t stored;
    uint64_t again;    /* of them carried out again after the window */
    uint64_t answered; /* replies */
    uint64_t seen;
};
struct check_command_counts check_command_counts(const struct check_command *check);

#endif
