/* Runs the sessions of the simulated server: statements, locks and transactions. */
#include "sim/world/database_inside.h"

#define LOCK_TIME (10 * SECOND) /* lock_timeout */
#define IDLE_TIME (10 * SECOND) /* idle_in_transaction_session_timeout */
#define PATIENCE (3 * SECOND)   /* of a claim, before the holder's session is ended */

void database_message_free(struct database_message *message)
{
    for (uint32_t i = 0; i < message->count; i++)
        database_result_free(message->results[i]);
    buf_fini(&message->bytes);
    mem_free(message);
}

/* ---- sessions ---- */

static struct database_session *session_at(const struct database *database, uint64_t number)
{
    return map_get(&database->sessions, map_u64(&number));
}

uint64_t database_session_open(struct database *database, uint64_t client)
{
    struct database_session *session;

    if (!database->is_up)
        return 0;
    session = mem_alloc(sizeof *session);
    session->number = ++database->last_number;
    session->client = client;
    (void)map_put(&database->sessions, map_u64(&session->number), session); /* was absent */
    return session->number;
}

static void free_slice(struct slice *slice)
{
    mem_free((void *)(uintptr_t)slice->data);
    *slice = (struct slice){ 0 };
}

/* Ends the transaction's locks, and wakes the sessions that wait for one. */
static void release(struct database *database, struct database_session *session)
{
    struct map_entry entry;

    if (!session->locks.count)
        return;
    for (uint32_t i = 0; i < session->locks.count; i++) {
        (void)map_take(&database->locks, session->locks.items[i]);
        free_slice(&session->locks.items[i]);
    }
    vec_fini(&session->locks);
    for (uint32_t at = 0; map_next(&database->sessions, &at, &entry);) {
        const struct database_session *other = entry.value;

        if (other->waits.size)
            database_event(database, database->now, DATABASE_WOKEN, other->number, 0);
    }
}

static void undo(struct database *database, struct database_session *session)
{
    database_writes_fini(&session->writes);
    session->writes = (struct database_writes){ 0 };
    session->is_explicit = session->has_failed = false;
    release(database, session);
}

static void free_session(struct database *database, struct database_session *session)
{
    undo(database, session);
    free_slice(&session->waits);
    if (session->message)
        database_message_free(session->message);
    (void)map_take(&database->sessions, map_u64(&session->number));
    mem_free(session);
}

void database_session_end(struct database *database, struct database_session *session)
{
    database_event(database, database->now + database_way(database), DATABASE_BROKEN,
                   session->client, (uint32_t)session->number);
    session->is_gone = true;
    if (!session->is_committing)
        free_session(database, session);
}

void database_session_left(struct database *database, uint64_t number)
{
    database_event(database, database->now + database_way(database), DATABASE_LEFT, number, 0);
}

/* ---- locks ---- */

struct asking {
    struct database *database;
    struct database_session *session;
};

static bool take_lock(void *user, struct slice key)
{
    const struct asking *asking = user;
    struct database_session *session = asking->session;
    const struct database_session *holder = map_get(&asking->database->locks, key);
    struct slice own;

    if (holder == session)
        return true;
    if (holder) {
        free_slice(&session->waits);
        session->waits = slice_of(mem_copy(key.data, key.size), key.size);
        return false;
    }
    own = slice_of(mem_copy(key.data, key.size), key.size);
    vec_push(&session->locks, own);
    (void)map_put(&asking->database->locks, own, session); /* was absent */
    return true;
}

/* ---- messages ---- */

static void answer(struct database *database, struct database_session *session)
{
    struct database_message *message = session->message;
    const struct database_client *client;

    session->message = NULL;
    session->at = 0;
    client = map_get(&database->clients, map_u64(&message->client));
    if (session->is_gone || !client) {
        database_message_free(message);
        free_session(database, session);
        return;
    }
    if (database_odds(database, 200)) { /* the answer is lost */
        database_message_free(message);
        database_session_end(database, session);
        return;
    }
    session->wait++;
    if (session->is_explicit)
        database_event(database, database->now + IDLE_TIME, DATABASE_IDLE, session->number,
                       session->wait);
    message->session = session->number;
    (void)map_put(&database->messages, map_u64(&message->number), message); /* on its way back */
    database_event(database, database->now + database_way(database), DATABASE_ARRIVED,
                   message->number, 1);
}

static void commit(struct database *database, struct database_session *session)
{
    struct database_commit *commit = mem_alloc(sizeof *commit);

    commit->number = ++database->last_number;
    commit->session = session->number;
    commit->writes = session->writes;
    session->writes = (struct database_writes){ 0 };
    session->is_committing = true;
    session->is_explicit = false;
    database_commit_times(database, commit);
    vec_push(&database->pending, commit);
}

/* The end of a statement that ends a transaction. True: it is written first. */
static bool settle(struct database *database, struct database_session *session)
{
    if (session->has_failed || (!session->writes.changes.count && !session->locks.count)) {
        undo(database, session);
        return false;
    }
    commit(database, session);
    return true;
}

static void fail(struct database_message *message, uint32_t at, const char *sqlstate)
{
    message->states[at] = sqlstate;
    message->classes[at] = sqlstate ? pg_classify(sqlstate, PG_ANSWERED) : PG_TRANSIENT;
}

static enum database_ran run_statement(struct database *database, struct database_session *session)
{
    struct database_message *message = session->message;
    struct asking asking = { database, session };
    struct database_run run = { .rows = &database->rows, .writes = &session->writes,
                                .lock = take_lock, .user = &asking,
                                .next_shard = &database->next_shard,
                                .next_entity = &database->next_entity };
    const char *sqlstate = NULL;
    enum database_ran ran;

    database_result_free(message->results[session->at]);
    message->results[session->at] = run.result = mem_alloc(sizeof *run.result);
    ran = database_statement(&message->calls[session->at], &run, &sqlstate);
    if (ran == DATABASE_WAITS && session->is_refused) {
        ran = DATABASE_ERROR;
        sqlstate = "55P03";
    }
    if (ran != DATABASE_WAITS) {
        free_slice(&session->waits);
        session->wait++;
    }
    session->is_refused = false;
    if (ran == DATABASE_ERROR) {
        fail(message, session->at, sqlstate);
        session->has_failed = true;
    }
    return ran;
}

static void begin_wait(struct database *database, struct database_session *session)
{
    database->counters.waits++;
    database_event(database, database->now + LOCK_TIME, DATABASE_WAITED, session->number,
                   session->wait);
    if (session->message->claims)
        database_event(database, database->now + PATIENCE, DATABASE_IMPATIENT, session->number,
                       session->wait);
}

/* Runs the message's statements until one waits. */
static void go_on(struct database *database, struct database_session *session, bool is_woken)
{
    struct database_message *message = session->message;

    while (session->at < message->count) {
        uint32_t at = session->at;
        bool is_sync = message->each || at + 1 == message->count;
        enum pg_statement which = message->calls[at].which;
        bool ends = which == PG_COMMIT || which == PG_ROLLBACK;

        message->classes[at] = PG_NONE;
        if (which == PG_ROLLBACK)
            session->has_failed = true;
        if (session->has_failed && which != PG_ROLLBACK) {
            fail(message, at, NULL);
        } else if (which == PG_BEGIN) {
            session->is_explicit = true;
        } else if (!ends && run_statement(database, session) == DATABASE_WAITS) {
            if (!is_woken)
                begin_wait(database, session);
            return;
        }
        if (!message->results[at])
            message->results[at] = mem_alloc(sizeof *message->results[at]);
        is_woken = false;
        session->at++;
        if ((ends || (is_sync && !session->is_explicit)) && settle(database, session))
            return;
    }
    answer(database, session);
}

static void arrived(struct database *database, struct database_message *message)
{
    struct database_session *session = session_at(database, message->session);

    database->counters.runs++;
    if (!session || session->message || session->is_gone || database_odds(database, 300)) {
        database_message_free(message); /* the connection is lost before it */
        if (session)
            database_session_end(database, session);
        return;
    }
    session->message = message;
    session->at = 0;
    go_on(database, session, false);
}

/* A commit of the session is done. */
static void committed(struct database *database, struct database_session *session)
{
    session->is_committing = false;
    release(database, session);
    if (!session->message)
        free_session(database, session); /* it was ended meanwhile */
    else
        go_on(database, session, false);
}

/* ---- events ---- */

static void end_holder(struct database *database, const struct database_session *session)
{
    struct database_session *holder = map_get(&database->locks, session->waits);

    if (!holder || holder == session || holder->is_committing)
        return;
    database->counters.ended++;
    database_session_end(database, holder);
}

static void message_event(struct database *database, const struct timer *event)
{
    struct database_message *message = map_take(&database->messages, map_u64(&event->id));
    struct database_client *client;

    if (!message)
        return;
    if (!event->generation) {
        arrived(database, message);
        return;
    }
    client = map_get(&database->clients, map_u64(&message->client));
    if (!client || client->session != message->session || client->step != message->step) {
        database_message_free(message);
        return;
    }
    client->reply = message;
    database_event(database, database->now, DATABASE_ANSWERED, client->number, message->step);
}

static void called(struct database *database, const struct timer *event)
{
    struct database_client *client = map_get(&database->clients, map_u64(&event->id));

    if (!client || client->step != event->generation)
        return;
    client->session = database_session_open(database, client->number);
    client->is_broken = false;
    database_event(database, database->now + database_way(database), DATABASE_ANSWERED,
                   client->number, client->step);
}

void database_server_event(struct database *database, const struct timer *event)
{
    struct database_session *session;

    if (event->kind == DATABASE_CALLED || event->kind == DATABASE_ARRIVED) {
        if (event->kind == DATABASE_CALLED)
            called(database, event);
        else
            message_event(database, event);
        return;
    }
    session = session_at(database, event->id);
    if (!session)
        return;
    if (event->kind == DATABASE_LEFT) {
        session->is_gone = true;
        if (!session->message && !session->is_committing)
            free_session(database, session);
    } else if (event->kind == DATABASE_WOKEN) {
        if (session->waits.size)
            go_on(database, session, true);
    } else if (event->kind == DATABASE_IDLE) {
        if (!session->message && session->is_explicit && session->wait == event->generation)
            database_session_end(database, session);
    } else if (session->waits.size && session->wait == event->generation) {
        if (event->kind == DATABASE_IMPATIENT) {
            end_holder(database, session);
        } else {
            session->is_refused = true;
            go_on(database, session, true);
        }
    }
}

void database_commit_apply(struct database *database, struct database_commit *commit)
{
    struct database_session *session = session_at(database, commit->session);

    database_apply(&database->rows, &commit->writes);
    database->counters.commits++;
    if (commit->writes.requests.count)
        DATABASE_TELL(database, committed, database->rows.book, commit->writes.requests.items,
                      commit->writes.requests.count);
    book_keep(database->rows.book);
    if (session && session->is_committing)
        committed(database, session);
}
