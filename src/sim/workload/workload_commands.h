/* Sends commands with ids from clients on all nodes to accounts (workload_delivery.h), and repeats
 * them from any node: when no reply came, and also when one came. check_command.h judges.
 *
 *   commands-answered  in the quiet phase each open command is answered, in data centers with nodes */
#ifndef SHERD_SIM_WORKLOAD_COMMANDS_H
#define SHERD_SIM_WORKLOAD_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sherd/actor.h>

#include "sim/check/check_command.h"

struct commands_load;

/* Messages: to an account, and its replies. */
enum { COMMAND = 10, COMMAND_DONE, COMMAND_SEEN };

struct commands_load *commands_load_new(uint64_t seed);
void commands_load_free(struct commands_load *load); /* null is fine */
/* Adds a data center; its checker is lent for life. */
void commands_load_add(struct commands_load *load, struct check_command *check);
void commands_load_stop(struct commands_load *load, bool is_stopped); /* then only open ones are repeated */

/* A client in a data center asks one account. */
void commands_load_act(struct commands_load *load, struct sherd_ctx *ctx, uint32_t center,
                       uint64_t accounts);
/* A client has a SHERD_ANSWER. */
void commands_load_answered(struct commands_load *load, uint32_t center, const struct sherd_msg *msg);
/* An account handles COMMAND. */
enum sherd_next commands_load_take(struct commands_load *load, struct sherd_ctx *ctx,
                                   const struct sherd_msg *msg);
/* Whether none of the data center's latest commands is open; else the text says which. */
bool commands_load_is_idle(const struct commands_load *load, uint32_t center, char *text, size_t size);

#endif
