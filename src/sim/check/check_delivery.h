/* Checks deliveries between accounts (workload_delivery.h) by what is durable in a journal.
 *
 *   delivery-once  a delivery and its cause become durable together; its receiver stores its effect
 *                  once, together with the mark and after the delivery; its sender learns the end that
 *                  is stored
 *
 * A delivery of which a server lost an event is no longer judged: its accounts may know what is not
 * stored, and its number may be given again.
 *
 * The journal calls it as its observer. */
#ifndef SHERD_SIM_CHECK_DELIVERY_H
#define SHERD_SIM_CHECK_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "sim/check/check_command.h"
#include "sim/world/disk_backend.h"

struct check_delivery;
struct verdict;

#define DELIVERY_TYPE "account"

/* Events of an account, the first three with struct delivery_effect. */
enum delivery_effect_kind {
    EFFECT_TAKEN = 1, /* of a delivery that it sends */
    EFFECT_GIVEN,     /* of a delivery that it got */
    EFFECT_RETURNED,  /* of one that it sent and that expired */
    EFFECT_COMMAND    /* of a command, with struct command_effect */
};

struct delivery_effect {
    uint64_t number; /* of the sender's delivery */
    uint64_t sender; /* number of the account that sent it */
};

struct check_delivery_counts {
    uint64_t deliveries; /* durable */
    uint64_t handled;    /* ended so, and known to the sender; so the next two */
    uint64_t expired;
    uint64_t given_up;
    uint64_t lost;       /* a server lost events of so many */
};

struct check_delivery *check_delivery_new(struct verdict *verdict); /* lent for life */
void check_delivery_free(struct check_delivery *check); /* null is fine */
struct disk_backend_observer check_delivery_observer(struct check_delivery *check);
/* The checker of the accounts' commands; lent. */
struct check_command *check_delivery_commands(const struct check_delivery *check);
/* The number of an account's id; false: it is none. */
bool check_delivery_account(struct slice id, uint64_t *number);
/* Whether the end of each delivery is stored; else the text says which not. */
bool check_delivery_has_ended(const struct check_delivery *check, char *text, size_t size);
struct check_delivery_counts check_delivery_counts(const struct check_delivery *check);

#endif
