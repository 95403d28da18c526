/* Moves requests between nodes and their connections to the simulated database. */
#include "sim/world/database_inside.h"

struct database *database_new(const struct database_settings *settings)
{
    struct database *database = mem_alloc(sizeof *database);

    database->settings = *settings;
    database->rng = stream_rng(settings->seed, STREAM_DATABASE, 2 * settings->index);
    database->fault_rng = stream_rng(settings->seed, STREAM_DATABASE, 2 * settings->index + 1);
    database_rows_init(&database->rows, "World");
    database->is_up = true;
    database->timeline = 1;
    database->next_entity = 1;
    return database;
}

static void free_all(struct map *map, void (*end)(void *value))
{
    struct map_entry entry;

    for (uint32_t at = 0; map_next(map, &at, &entry);)
        end(entry.value);
    map_fini(map);
}

static void free_message(void *value)
{
    database_message_free(value);
}

static void free_session(void *value)
{
    struct database_session *session = value;

    if (session->message)
        database_message_free(session->message);
    mem_free((void *)(uintptr_t)session->waits.data);
    for (uint32_t i = 0; i < session->locks.count; i++)
        mem_free((void *)(uintptr_t)session->locks.items[i].data);
    vec_fini(&session->locks);
    database_writes_fini(&session->writes);
    mem_free(session);
}

static void end_node(struct database_node *node)
{
    for (uint32_t i = 0; i < DATABASE_CONNECTIONS; i++) {
        if (node->clients[i])
            database_client_free(node->clients[i]);
        node->clients[i] = NULL;
    }
    vec_fini(&node->parked);
    node->is_paused = false;
}

void database_free(struct database *database)
{
    if (!database)
        return;
    for (uint32_t i = 0; i < database->nodes.count; i++) {
        end_node(database->nodes.items[i]);
        mem_free(database->nodes.items[i]);
    }
    free_all(&database->messages, free_message);
    free_all(&database->sessions, free_session);
    map_fini(&database->locks);
    map_fini(&database->clients);
    for (uint32_t i = 0; i < database->pending.count; i++)
        database_commit_free(database->pending.items[i]);
    for (uint32_t i = 0; i < database->log.count; i++)
        database_commit_free(database->log.items[i]);
    for (uint32_t i = 0; i < database->done.count; i++)
        journal_request_free(database->done.items[i].request);
    vec_fini(&database->pending);
    vec_fini(&database->log);
    vec_fini(&database->done);
    vec_fini(&database->nodes);
    timers_fini(&database->events);
    database_rows_fini(&database->rows);
    mem_free(database);
}

void database_observe(struct database *database, const struct disk_backend_observer *observer)
{
    check(database->observer_count < DISK_STORE_OBSERVERS_MAX);
    database->observers[database->observer_count++] = *observer;
}

const struct database_counters *database_counters(const struct database *database)
{
    return &database->counters;
}

/* ---- time ---- */

static struct database_node *node_of(struct database *database, uint32_t node)
{
    while (database->nodes.count <= node) {
        struct database_node *made = mem_alloc(sizeof *made);

        vec_push(&database->nodes, made);
    }
    return database->nodes.items[node];
}

static void handle(struct database *database, const struct timer *event)
{
    struct database_client *client;

    if (event->kind > DATABASE_BROKEN) {
        if (event->kind >= DATABASE_FLUSHED)
            database_fault_event(database, event);
        else
            database_server_event(database, event);
        return;
    }
    client = map_get(&database->clients, map_u64(&event->id));
    if (!client)
        return; /* its process has ended */
    if (node_of(database, client->node)->is_paused)
        vec_push(&node_of(database, client->node)->parked, *event);
    else
        database_client_event(client, event);
}

static void advance(struct database *database, uint64_t now)
{
    struct timer event;

    while (timers_take(&database->events, now, &event)) {
        if (event.at > database->now)
            database->now = event.at;
        handle(database, &event);
    }
    if (now > database->now)
        database->now = now;
}

uint64_t database_deadline(const struct database *database)
{
    return database->done.count ? 0 : timers_deadline(&database->events);
}

/* ---- requests ---- */

void database_submit(struct database *database, uint64_t now, uint32_t node,
                     struct journal_request *request)
{
    struct database_node *of = node_of(database, node);
    bool writes = !journal_request_reads(request);
    uint32_t index = 0;
    struct database_client *client;

    advance(database, now);
    DATABASE_TELL(database, asked, node, request);
    for (uint32_t i = 0; i < DATABASE_CONNECTIONS && !of->clients[0]; i++)
        of->clients[DATABASE_CONNECTIONS - 1 - i] =
            database_client_new(database, node, i + 1 == DATABASE_CONNECTIONS);
    for (uint32_t i = 1; !writes && i < DATABASE_CONNECTIONS; i++)
        if (!index || of->clients[i]->waits.count + of->clients[i]->group.count <
                          of->clients[index]->waits.count + of->clients[index]->group.count)
            index = i;
    client = of->clients[index];
    vec_push(&client->waits, request);
    if (!client->works)
        database_event(database, now, DATABASE_BEGIN, client->number, 0);
}

struct journal_request *database_next_done(struct database *database, uint64_t now,
                                           uint32_t *node)
{
    struct journal_request *request;

    advance(database, now);
    if (!database->done.count)
        return NULL;
    request = database->done.items[0].request;
    *node = database->done.items[0].node;
    vec_remove(&database->done, 0);
    DATABASE_TELL(database, answered, *node, request);
    return request;
}

void database_drop(struct database *database, uint64_t now, uint32_t node)
{
    advance(database, now);
    for (uint32_t i = 0; i < database->done.count;)
        if (database->done.items[i].node == node) {
            journal_request_free(database->done.items[i].request);
            vec_remove(&database->done, i);
        } else {
            i++;
        }
    end_node(node_of(database, node));
    DATABASE_TELL(database, node_gone, node);
}

void database_pause(struct database *database, uint64_t now, uint32_t node, bool on)
{
    struct database_node *of = node_of(database, node);

    advance(database, now);
    of->is_paused = on;
    for (uint32_t i = 0; !on && i < of->parked.count; i++) {
        const struct timer *event = &of->parked.items[i];

        database_event(database, now, (enum database_event)event->kind, event->id,
                       event->generation);
    }
    if (!on)
        vec_fini(&of->parked);
}
