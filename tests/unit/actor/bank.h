/* Provides accounts that deliver money to each other on one lane, with a journal that commits when a
 * test says so, and a network that loses what a test says. */
#ifndef SHERD_TEST_ACTOR_BANK_H
#define SHERD_TEST_ACTOR_BANK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "actor/actors.h"
#include "actor/delivery/format.h"
#include "base/limits.h"
#include "base/rng.h"

#define BANK_ACCOUNTS 6 /* a0 to a5 */
#define BANK_FIRST 1000 /* cents of each at first */
#define BANK_NUMBERS 64 /* of deliveries that are counted by their numbers */

/* Messages of an account. */
enum {
    BANK_PAY = 1, /* struct bank_pay: takes the money and delivers it */
    BANK_MONEY,   /* int64_t: a delivery */
    BANK_FAIL,    /* its handler fails */
    BANK_FAIL_AFTER, /* its handler stores an event of 1 and fails */
    BANK_LATER,   /* a delivery that is confirmed by BANK_CONFIRM, the oldest first */
    BANK_CONFIRM,
    BANK_ONCE,    /* int64_t amount, then the command's id: adds it once */
    BANK_PASSIVATE,
    BANK_DELIVER, /* struct bank_pay: delivers msg and nothing else */
    BANK_SLOW,      /* its handler takes two seconds; needs has_clock */
    BANK_PAY_ASKED, /* as BANK_PAY, and replies */
};

/* Events that account a1 stores last in a call, and that are refused. */
enum bank_refusal { BANK_REFUSES_NOTHING, BANK_TOO_LARGE, BANK_RESERVED, BANK_REJECTED };

struct bank_pay {
    int64_t amount;
    uint32_t msg;
    uint32_t ttl_ms;
    char to[8];
};

struct bank {
    struct actors *actors;
    struct trace *trace;
    struct rng rng;
    uint64_t node; /* of the present life */
    uint64_t now;  /* ns */
    int64_t wall;  /* ms */
    uint32_t lives;
    bool drops_all;      /* messages to entities are lost */
    uint32_t drop, twice; /* of 100 messages to entities */
    bool commits;        /* at the end of each turn */
    bool has_clock;      /* lanes read it */
    bool snapshots;      /* accounts have snapshots */
    enum bank_refusal refusal; /* in each message that account a1 handles */
    struct delivery_settings settings;

    /* seen by accounts */
    uint32_t received;   /* BANK_MONEY, BANK_LATER */
    uint32_t ends[SHERD_DELIVERY_GIVEN_UP + 1];
    uint64_t last_number; /* result of sherd_deliver */
    uint32_t failures;
    uint64_t handled[BANK_NUMBERS]; /* numbers of the first ones received, in order */
    uint32_t ended[BANK_NUMBERS]; /* by number */
    struct sherd_delivery described; /* of the last delivery */
    int once;            /* the last result of sherd_once */
    uint32_t replies;    /* at the asker */
    uint32_t reply_msg;
    uint32_t unanswered; /* asks that ended without an answer */
    enum sherd_reason reason; /* of the last one */
    uint32_t refusals;   /* events that were refused */
    uint32_t open;       /* sherd_deliveries_open in the last call */
    uint32_t transmitted; /* deliveries that left for the network */
};

extern struct bank bank;

void bank_open(void);
void bank_close(void);
/* Runs until nothing is to do. */
void bank_run(void);
void bank_advance(uint64_t ms); /* both clocks */
/* All events so far become durable; effects leave. */
void bank_commit(void);
/* The journal refuses the account's events that are not durable. */
void bank_fail(const char *id, enum sherd_reason reason);
/* The process dies: events that are not durable are lost. Another one begins. */
void bank_crash(void);
void bank_send(const char *id, uint32_t msg, struct slice body);
void bank_pay(const char *from, const char *to, int64_t amount, uint32_t msg, uint32_t ttl_ms);
/* Asks account `id` with BANK_PAY_ASKED. */
void bank_pay_asked(const char *id, const char *to, int64_t amount);
/* Asks account `id` with BANK_ONCE. */
void bank_once(const char *id, int64_t amount, const char *command);
/* Starts all accounts that have events, as remembered ones. */
void bank_start_all(void);
int64_t bank_balance(const char *id); /* by its durable events */
int64_t bank_in_transit(void);        /* of open deliveries, by durable events */
uint64_t bank_events(const char *id);
struct actors_status bank_status(void);
bool bank_traced(const char *part);

#endif
