/* Carries the steps of a node's store out on a simulated connection. */
#include "sim/world/database_inside.h"

#include <stdio.h>

#define GROUP_MS 10000
#define CONNECT_TIME (5 * SECOND)

static struct database_client *client_of(struct pg_link *link)
{
    return (struct database_client *)(void *)link;
}

/* ---- the link ---- */

static void close_link(struct pg_link *link)
{
    struct database_client *client = client_of(link);

    if (client->session)
        database_session_left(client->database, client->session);
    client->session = 0;
    client->is_broken = false;
}

static uint32_t rows_of(const struct pg_call *call)
{
    return database_result_rows(call->result);
}

static bool read_row(const struct pg_call *call, uint32_t row, struct pg_cell *cells, uint32_t count)
{
    return database_result_row(call->result, row, cells, count);
}

static void clear_calls(struct pg_call *calls, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        database_result_free(calls[i].result);
        calls[i].result = NULL;
    }
}

static const char *label_of(const struct pg_link *link)
{
    (void)link;
    return "host=world";
}

static const struct pg_link_ops link_ops = { close_link, rows_of, read_row, clear_calls, label_of };

/* Losses are the only errors that a store logs. */
static void count_line(void *user, enum sherd_backend_level level, const char *line)
{
    struct database *database = user;

    (void)line;
    database->counters.reported += level == SHERD_BACKEND_ERROR;
}

struct database_client *database_client_new(struct database *database, uint32_t node, bool writes)
{
    struct database_client *client = mem_alloc(sizeof *client);
    struct pg_settings settings = { .is_writer = writes, .group_ms = GROUP_MS, .log = count_line,
                                    .log_user = database };

    (void)snprintf(settings.owner, sizeof settings.owner, "n%u", node); /* fits */
    settings.claim = 1 + rng_below(&database->rng, INT64_MAX);
    client->link.ops = &link_ops;
    client->database = database;
    client->node = node;
    client->number = ++database->last_number;
    pg_store_init(&client->store, &client->link, &settings);
    (void)map_put(&database->clients, map_u64(&client->number), client); /* was absent */
    return client;
}

static void drop_reply(struct database_client *client)
{
    if (client->reply)
        database_message_free(client->reply);
    client->reply = NULL;
}

void database_client_free(struct database_client *client)
{
    close_link(&client->link);
    drop_reply(client);
    pg_store_fini(&client->store);
    for (uint32_t i = 0; i < client->group.count; i++) {
        journal_lent_fini(&client->lent[i]);
        journal_request_free(client->group.items[i]);
    }
    for (uint32_t i = 0; i < client->waits.count; i++)
        journal_request_free(client->waits.items[i]);
    vec_fini(&client->group);
    vec_fini(&client->waits);
    mem_free(client->lent);
    mem_free(client->requests);
    (void)map_take(&client->database->clients, map_u64(&client->number));
    mem_free(client);
}

/* ---- steps ---- */

static void send_run(struct database_client *client, const struct pg_step *step)
{
    struct database *database = client->database;
    struct database_message *message = mem_alloc(sizeof *message);
    uint64_t at = database->now + database_way(database);

    message->number = ++database->last_number;
    message->session = client->session;
    message->client = client->number;
    message->step = client->step;
    message->count = step->count;
    message->each = step->each;
    message->claims = step->claims;
    for (uint32_t i = 0; i < step->count; i++) {
        const struct pg_call *call = &step->calls[i];

        message->calls[i].which = call->which;
        message->calls[i].count = call->count;
        for (uint32_t j = 0; j < call->count; j++) {
            message->calls[i].parameters[j].size = call->parameters[j].size;
            buf_put_slice(&message->bytes, call->parameters[j]);
        }
    }
    for (uint32_t i = 0, from = 0; i < step->count; i++)
        for (uint32_t j = 0; j < message->calls[i].count; j++) {
            struct slice *parameter = &message->calls[i].parameters[j];

            parameter->data = message->bytes.data + from;
            from += (uint32_t)parameter->size;
        }
    (void)map_put(&database->messages, map_u64(&message->number), message); /* was absent */
    database_event(database, at, DATABASE_ARRIVED, message->number, 0);
}

static void carry_out(struct database_client *client, const struct pg_step *step)
{
    struct database *database = client->database;
    uint64_t until = step->deadline * MS;

    client->running = step;
    client->step++;
    switch (step->kind) {
    case PG_STEP_CONNECT:
        if (until > database->now + CONNECT_TIME)
            until = database->now + CONNECT_TIME;
        database_event(database, database->now + database_way(database), DATABASE_CALLED,
                       client->number, client->step);
        break;
    case PG_STEP_RUN:
        for (uint32_t i = 0; i < step->count; i++) {
            step->calls[i].class = PG_UNKNOWN;
            step->calls[i].result = NULL;
        }
        if (!client->is_broken)
            send_run(client, step);
        else
            until = 0;
        break;
    case PG_STEP_PAUSE:
        break;
    }
    database_event(database, until > database->now ? until : database->now, DATABASE_LATE,
                   client->number, client->step);
}

static void end_work(struct database_client *client)
{
    struct database *database = client->database;

    for (uint32_t i = 0; i < client->group.count; i++) {
        journal_take_back(&client->lent[i]);
        vec_push(&database->done,
                 ((struct database_ticket){ client->group.items[i], client->node }));
    }
    client->group.count = 0;
    mem_free(client->lent);
    mem_free(client->requests);
    client->lent = NULL;
    client->requests = NULL;
    client->works = false;
    if (client->waits.count)
        database_event(database, database->now, DATABASE_BEGIN, client->number, 0);
}

static void go_on(struct database_client *client, const struct pg_outcome *outcome)
{
    const struct pg_step *step;

    client->running = NULL;
    step = pg_store_next(&client->store, client->database->now / MS, outcome);
    if (step)
        carry_out(client, step);
    else
        end_work(client);
}

static void begin(struct database_client *client)
{
    uint32_t count = client->waits.count < DATABASE_GROUP_MAX ? client->waits.count
                                                              : DATABASE_GROUP_MAX;

    if (client->works || !count)
        return;
    client->works = true;
    client->lent = mem_alloc(count * sizeof *client->lent);
    client->requests = mem_alloc(count * sizeof *client->requests);
    for (uint32_t i = 0; i < count; i++) {
        vec_push(&client->group, client->waits.items[i]);
        journal_lend(&client->lent[i], client->waits.items[i]);
        client->requests[i] = &client->lent[i].request;
    }
    client->waits.count -= count;
    memmove(client->waits.items, client->waits.items + count,
            client->waits.count * sizeof *client->waits.items);
    pg_store_begin(&client->store, client->requests, count, client->database->now / MS);
    go_on(client, NULL);
}

/* ---- ends of steps ---- */

static void cut_off(struct database_client *client, const char *text)
{
    struct pg_outcome outcome = { .class = pg_classify("", PG_CUT_OFF), .text = text };

    if (client->running->kind == PG_STEP_CONNECT)
        outcome.class = pg_classify("", PG_NOT_SENT);
    close_link(&client->link);
    drop_reply(client);
    go_on(client, &outcome);
}

static void was_late(struct database_client *client)
{
    struct pg_outcome outcome = { .is_good = true };

    if (client->running->kind == PG_STEP_PAUSE) {
        go_on(client, &outcome);
        return;
    }
    client->database->counters.late += !client->is_broken;
    cut_off(client, "no answer in time");
}

static void connected(struct database_client *client)
{
    struct pg_outcome outcome = { .text = "the server starts", .class = pg_classify("57P03", PG_NOT_SENT) };
    char timeline[PG_TIMELINE_SIZE];

    (void)snprintf(timeline, sizeof timeline, "%08X", client->database->timeline); /* fits */
    outcome.timeline = timeline;
    outcome.is_good = outcome.is_open = client->session != 0 && !client->is_broken;
    if (outcome.is_good)
        outcome.class = PG_NONE;
    else
        close_link(&client->link);
    go_on(client, &outcome);
}

static void replied(struct database_client *client)
{
    struct database_message *reply = client->reply;
    struct pg_outcome outcome = { .is_good = true, .is_open = true, .text = "" };

    client->reply = NULL;
    for (uint32_t i = 0; i < reply->count; i++) {
        struct pg_call *call = &client->running->calls[i];

        call->class = reply->classes[i];
        call->result = reply->results[i];
        reply->results[i] = NULL;
        if (call->class == PG_NONE)
            continue;
        if (outcome.is_good) {
            outcome.class = call->class;
            outcome.text = reply->states[i] ? reply->states[i] : "it did not run";
        }
        outcome.is_good = false;
    }
    go_on(client, &outcome);
    database_message_free(reply);
}

void database_client_event(struct database_client *client, const struct timer *event)
{
    bool is_late = client->running && client->running->deadline <= client->database->now / MS;

    if (event->kind == DATABASE_BEGIN) {
        begin(client);
    } else if (event->kind == DATABASE_BROKEN) {
        if (event->generation != (uint32_t)client->session)
            return;
        client->is_broken = true;
        client->database->counters.cuts++;
        if (client->running && client->running->kind == PG_STEP_RUN)
            cut_off(client, "the connection was closed");
    } else if (!client->running || event->generation != client->step) {
        return; /* of a step that has ended */
    } else if (event->kind == DATABASE_LATE || is_late) {
        was_late(client);
    } else if (client->running->kind == PG_STEP_CONNECT) {
        connected(client);
    } else {
        replied(client);
    }
}
