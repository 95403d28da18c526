/* Follows the durable events of accounts, and compares each delivery with its effects. */
#include "sim/check/check_delivery.h"

#include <inttypes.h>
#include <stdio.h>

#include "actor/delivery/format.h"
#include "base/check.h"
#include "base/map.h"
#include "base/vec.h"
#include "journal/record.h"
#include "sim/world/verdict.h"

#define PREFIX DELIVERY_TYPE "|"

/* One delivery. */
struct sent {
    uint64_t sender, receiver, number;
    bool is_stored;
    uint32_t taken, given, returned; /* effects */
    enum sherd_delivery_end mark, end; /* 0: none yet */
    bool is_touched;
};

struct account {
    uint64_t number;
    uint64_t key;
    uint64_t last; /* number of the last event that was read */
    VEC(struct slice) records; /* those that were read; own copies */
};

/* Delivery of which a server lost events. */
struct lost_delivery {
    bool has_ended; /* the end that its sender stored is lost, and the sender may know it */
};

struct check_delivery {
    struct verdict *verdict;
    struct check_command *commands;
    struct map accounts; /* persistence id -> struct account */
    struct map sent;     /* sender and number -> struct sent */
    struct map lost;     /* the same key -> struct lost_delivery */
    VEC(struct sent *) touched; /* by the present group */
    uint64_t open;
    struct check_delivery_counts counts;
};

struct check_delivery *check_delivery_new(struct verdict *verdict)
{
    struct check_delivery *check = mem_alloc(sizeof *check);

    check->verdict = verdict;
    check->commands = check_command_new(verdict);
    return check;
}

static void free_all(struct map *map)
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(map, &at, &entry);)
        mem_free(entry.value);
    map_fini(map);
}

static void drop_records(struct account *account, uint64_t kept)
{
    while (account->records.count > kept)
        mem_free((void *)(uintptr_t)account->records.items[--account->records.count].data);
}

void check_delivery_free(struct check_delivery *check)
{
    struct map_entry entry;

    if (!check)
        return;
    check_command_free(check->commands);
    for (uint32_t at = 0; map_next(&check->accounts, &at, &entry);) {
        struct account *account = entry.value;

        drop_records(account, 0);
        vec_fini(&account->records);
    }
    free_all(&check->accounts);
    free_all(&check->sent);
    free_all(&check->lost);
    vec_fini(&check->touched);
    mem_free(check);
}

struct check_command *check_delivery_commands(const struct check_delivery *check)
{
    return check->commands;
}

bool check_delivery_account(struct slice id, uint64_t *number)
{
    *number = 0;
    if (id.size < 2 || id.size > 6 || id.data[0] != 'b')
        return false;
    for (size_t i = 1; i < id.size; i++) {
        if (id.data[i] < '0' || id.data[i] > '9')
            return false;
        *number = *number * 10 + (uint64_t)(id.data[i] - '0');
    }
    return true;
}

static struct account *account_of(struct check_delivery *check, struct slice id)
{
    struct account *account = map_get(&check->accounts, id);
    size_t size = sizeof PREFIX - 1;
    uint64_t number;

    if (account || id.size <= size || memcmp(id.data, PREFIX, size) != 0 ||
        !check_delivery_account(slice_of(id.data + size, id.size - size), &number))
        return account;
    account = mem_alloc(sizeof *account);
    account->number = number;
    account->key = record_key(id);
    (void)map_put(&check->accounts, id, account);
    return account;
}

static struct sent *sent_of(struct check_delivery *check, uint64_t sender, uint64_t number)
{
    uint64_t key[2] = { sender, number };
    struct sent *sent = map_get(&check->sent, slice_of(key, sizeof key));

    if (!sent) {
        sent = mem_alloc(sizeof *sent);
        sent->sender = sender;
        sent->number = number;
        (void)map_put(&check->sent, slice_of(key, sizeof key), sent);
    }
    if (!sent->is_touched)
        vec_push(&check->touched, sent);
    sent->is_touched = true;
    return sent;
}

/* Null: no server lost an event of it. */
static const struct lost_delivery *lost_of(const struct check_delivery *check, const struct sent *sent)
{
    uint64_t key[2] = { sent->sender, sent->number };

    return map_get(&check->lost, slice_of(key, sizeof key));
}

static void wrong(struct check_delivery *check, const struct sent *sent, const char *why)
{
    if (lost_of(check, sent))
        return;
    violation(check->verdict, "delivery-once", VERDICT_NO_NODE,
              "delivery %" PRIu64 " of account b%" PRIu64 " to b%" PRIu64 ": %s", sent->number,
              sent->sender, sent->receiver, why);
}

/* ---- events ---- */

static void take_parcel(struct check_delivery *check, const struct account *account,
                        struct slice payload)
{
    struct parcel parcel;
    struct sent *sent;
    uint64_t receiver;

    check(parcel_read(payload, &parcel) && check_delivery_account(parcel.id, &receiver));
    sent = sent_of(check, account->number, parcel.number);
    if (sent->is_stored)
        wrong(check, sent, "it is stored twice");
    sent->receiver = receiver;
    sent->is_stored = true;
    check->open++;
    check->counts.deliveries++;
}

static void take_mark(struct check_delivery *check, const struct account *account,
                      struct slice payload)
{
    struct receipt mark;
    struct sent *sent;
    uint64_t sender;

    check(receipt_read(payload, &mark) && check_delivery_account(mark.id, &sender));
    sent = sent_of(check, sender, mark.number);
    if (!sent->is_stored)
        wrong(check, sent, "its receiver has handled it, and its sender has not stored it");
    else if (sent->receiver != account->number)
        wrong(check, sent, "another account has handled it");
    if (sent->mark)
        wrong(check, sent, "its receiver has marked it twice");
    sent->mark = mark.end;
}

static void take_outcome(struct check_delivery *check, const struct account *account,
                         struct slice payload)
{
    struct outcome outcome;
    struct sent *sent;

    check(outcome_read(payload, &outcome));
    sent = sent_of(check, account->number, outcome.number);
    if (outcome.end != SHERD_DELIVERY_GIVEN_UP && outcome.end != sent->mark)
        wrong(check, sent, "its sender has heard an end that its receiver has not stored");
    if (sent->end)
        wrong(check, sent, "it ends twice");
    sent->end = outcome.end;
    check->open -= check->open > 0;
    check->counts.handled += outcome.end == SHERD_DELIVERY_HANDLED;
    check->counts.expired += outcome.end == SHERD_DELIVERY_EXPIRED;
    check->counts.given_up += outcome.end == SHERD_DELIVERY_GIVEN_UP;
}

static void take_command_effect(struct check_delivery *check, const struct account *account,
                                struct slice payload)
{
    struct command_effect effect;

    check(payload.size == sizeof effect);
    memcpy(&effect, payload.data, sizeof effect);
    check_command_effect(check->commands, account->number, &effect);
}

static void take_command(struct check_delivery *check, const struct account *account,
                         struct slice payload)
{
    struct command_fact fact = { .account = account->number };
    struct command command;

    check(command_read(payload, &command) && command.id.size == sizeof fact.command);
    memcpy(&fact.command, command.id.data, sizeof fact.command);
    fact.at = command.at;
    fact.has_reply = command.has_reply && command.body.size == sizeof fact.result;
    if (fact.has_reply)
        memcpy(&fact.result, command.body.data, sizeof fact.result);
    check_command_stored(check->commands, &fact);
}

static void take_effect(struct check_delivery *check, uint32_t type, struct slice payload)
{
    struct delivery_effect effect;
    struct sent *sent;

    check(payload.size == sizeof effect);
    memcpy(&effect, payload.data, sizeof effect);
    sent = sent_of(check, effect.sender, effect.number);
    sent->taken += type == EFFECT_TAKEN;
    sent->given += type == EFFECT_GIVEN;
    sent->returned += type == EFFECT_RETURNED;
}

/* The parts of a group, in this order: what a part needs was durable before. */
enum pass { PASS_OUTCOMES, PASS_MARKS, PASS_PARCELS, PASSES };

static void take(struct check_delivery *check, const struct account *account, enum pass pass,
                 struct slice bytes, uint64_t seq)
{
    struct record record;

    check(!record_decode(bytes, account->key, seq, &record));
    if (pass == PASS_OUTCOMES && record.event_type == EVENT_OUTCOME)
        take_outcome(check, account, record.payload);
    else if (pass == PASS_MARKS && record.event_type == EVENT_RECEIPT)
        take_mark(check, account, record.payload);
    else if (pass == PASS_MARKS && record.event_type == EVENT_COMMAND)
        take_command(check, account, record.payload);
    else if (pass == PASS_MARKS && record.event_type == EFFECT_COMMAND)
        take_command_effect(check, account, record.payload);
    else if (pass == PASS_MARKS && record.event_type < LIBRARY_NUMBERS)
        take_effect(check, record.event_type, record.payload);
    else if (pass == PASS_PARCELS && record.event_type == EVENT_PARCEL)
        take_parcel(check, account, record.payload);
}

static void read_on(struct check_delivery *check, const struct book *book, struct slice id,
                    enum pass pass, bool is_last)
{
    struct account *account = account_of(check, id);
    uint64_t last = book_last(book, id);

    if (!account)
        return;
    for (uint64_t seq = account->last + 1; seq <= last; seq++) {
        struct slice bytes = book_record(book, id, seq);

        take(check, account, pass, bytes, seq);
        if (is_last)
            vec_push(&account->records, slice_of(mem_copy(bytes.data, bytes.size), bytes.size));
    }
    if (is_last && last > account->last)
        account->last = last;
}

/* Each effect is in the commit of what it belongs to. */
static void judge(struct check_delivery *check)
{
    for (uint32_t i = 0; i < check->touched.count; i++) {
        struct sent *sent = check->touched.items[i];

        sent->is_touched = false;
        if (sent->taken != sent->is_stored)
            wrong(check, sent, "it is not stored with its cause, once each");
        if (sent->given != (sent->mark == SHERD_DELIVERY_HANDLED))
            wrong(check, sent, sent->given > 1 ? "it has its effect twice"
                                               : "its effect is not stored with its mark");
        if (sent->returned != (sent->end == SHERD_DELIVERY_EXPIRED))
            wrong(check, sent, "the effect of its end is not stored with it, once");
    }
    check->touched.count = 0;
    check_command_committed(check->commands);
}

/* ---- the observer ---- */

static void committed(void *user, const struct book *book, struct journal_request *const *requests,
                      uint32_t count)
{
    struct check_delivery *check = user;

    for (int pass = 0; pass < PASSES; pass++)
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t j = 0; requests[i]->verb == BACKEND_APPEND && j < requests[i]->entities.count; j++)
                read_on(check, book,
                        backend_slice(requests[i], requests[i]->entities.items[j].id),
                        (enum pass)pass, false);
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; requests[i]->verb == BACKEND_APPEND && j < requests[i]->entities.count; j++)
            read_on(check, book, backend_slice(requests[i], requests[i]->entities.items[j].id),
                    PASSES, true);
    judge(check);
}

/* Several groups may have become durable: the order between accounts is unknown. */
static void opened(void *user, const struct book *book)
{
    struct check_delivery *check = user;
    struct slice id;
    uint64_t last;

    for (int pass = PASSES; pass >= 0; pass--)
        for (uint32_t at = 0; book_next(book, &at, &id, &last);)
            if (pass > 0)
                read_on(check, book, id, (enum pass)(pass - 1), false);
            else
                read_on(check, book, id, PASSES, true);
    judge(check);
}

/* ---- lost commits ---- */

static void lose_delivery(struct check_delivery *check, uint64_t sender, uint64_t number,
                          bool has_ended)
{
    uint64_t key[2] = { sender, number };
    struct lost_delivery *lost = map_get(&check->lost, slice_of(key, sizeof key));

    if (!lost) {
        lost = mem_alloc(sizeof *lost);
        (void)map_put(&check->lost, slice_of(key, sizeof key), lost); /* was absent */
    }
    lost->has_ended |= has_ended;
}

/* An event that a server lost. All of these could be read when they were stored. */
static void lose(struct check_delivery *check, const struct account *account, struct slice bytes,
                 uint64_t seq)
{
    struct record record;
    struct parcel parcel;
    struct receipt mark;
    struct outcome outcome;
    struct delivery_effect effect;
    struct command_effect command;
    uint64_t sender;

    check(!record_decode(bytes, account->key, seq, &record));
    if (record.event_type == EVENT_PARCEL && parcel_read(record.payload, &parcel)) {
        lose_delivery(check, account->number, parcel.number, false);
    } else if (record.event_type == EVENT_RECEIPT && receipt_read(record.payload, &mark) &&
               check_delivery_account(mark.id, &sender)) {
        lose_delivery(check, sender, mark.number, false);
    } else if (record.event_type == EVENT_OUTCOME && outcome_read(record.payload, &outcome)) {
        lose_delivery(check, account->number, outcome.number, true);
    } else if (record.event_type == EFFECT_COMMAND) {
        memcpy(&command, record.payload.data, sizeof command);
        check_command_lost(check->commands, &command);
    } else if (record.event_type < LIBRARY_NUMBERS) {
        memcpy(&effect, record.payload.data, sizeof effect);
        lose_delivery(check, effect.sender, effect.number, false);
    }
}

static bool lose_tail(struct check_delivery *check, struct account *account, uint64_t kept)
{
    if (account->last <= kept)
        return false;
    for (uint64_t seq = kept + 1; seq <= account->last; seq++)
        lose(check, account, account->records.items[seq - 1], seq);
    drop_records(account, kept);
    account->last = kept;
    return true;
}

/* Reads what is left again, from the beginning: it is the content after an earlier commit. */
static void read_again(struct check_delivery *check)
{
    struct map_entry entry;

    free_all(&check->sent);
    check->touched.count = 0;
    check->open = 0;
    check->counts = (struct check_delivery_counts){ 0 };
    check_command_forget(check->commands);
    for (int pass = PASSES; pass-- > 0;)
        for (uint32_t at = 0; map_next(&check->accounts, &at, &entry);) {
            const struct account *account = entry.value;

            for (uint32_t i = 0; i < account->records.count; i++)
                take(check, account, (enum pass)pass, account->records.items[i], i + 1);
        }
    check->counts.lost = check->lost.count;
    judge(check);
}

/* A server took over that lacks the last commits. */
static void rewound(void *user, const struct book *book)
{
    struct check_delivery *check = user;
    struct map_entry entry;
    bool is_changed = false;

    for (uint32_t at = 0; map_next(&check->accounts, &at, &entry);)
        is_changed |= lose_tail(check, entry.value, book_last(book, entry.key));
    if (is_changed)
        read_again(check);
}

struct disk_backend_observer check_delivery_observer(struct check_delivery *check)
{
    return (struct disk_backend_observer){ .user = check, .committed = committed, .opened = opened,
                                          .rewound = rewound };
}

/* ---- results ---- */

bool check_delivery_has_ended(const struct check_delivery *check, char *text, size_t size)
{
    struct map_entry entry;

    if (!check->open && !check->lost.count)
        return true;
    for (uint32_t at = 0; map_next(&check->sent, &at, &entry);) {
        const struct sent *sent = entry.value;
        const struct lost_delivery *lost = lost_of(check, sent);

        if (!sent->is_stored || sent->end || (lost && lost->has_ended))
            continue;
        (void)snprintf(text, size, "%" PRIu64 " are open, the first is number %" PRIu64
                       " of b%" PRIu64 " to b%" PRIu64 "%s", check->open, sent->number,
                       sent->sender, sent->receiver, sent->mark ? ", which has its effect" : "");
        return false;
    }
    return true;
}

struct check_delivery_counts check_delivery_counts(const struct check_delivery *check)
{
    return check->counts;
}
