/* Asks the node for looks, and answers the requests that wait for them.
 *
 * Looks end on a thread of the node. It copies a page into the job's facts and wakes the HTTP thread, which
 * asks for the next page, for further looks, or answers. */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "httpd/inside.h"
#include "mgmt/facts.h"

#define TIMEOUT_MS 5000
#define TIMEOUT_MS_MIN 100
#define GRACE_MS 1500 /* the node ends a look within a second after its time */
#define STATUS_MS 1000 /* an answer serves all viewers for so long */

enum slot_state {
    SLOT_WANTED, /* to be begun */
    SLOT_OPEN,
    SLOT_CAME,
    SLOT_SENDING, /* rows wait for the peer */
    SLOT_DONE
};

struct slot {
    struct look_job *job;
    uint64_t look; /* its number */
    int result;
    enum slot_state state; /* under the mutex, with the facts and the result while it is open */
};

struct look_job {
    struct look_job *next;
    struct httpd *httpd;
    struct api_request request;
    uint64_t until; /* ms */
    uint32_t users; /* connections that wait for it */
    uint32_t count; /* slots in use */
    bool has_begun; /* lines were sent */
    struct api_ask asks[API_ASKS_ROOM];
    struct slot slots[API_ASKS_ROOM];
    struct facts facts[API_ASKS_ROOM];
};

/* ---- the node's thread ---- */

static void came(void *user, int result, const struct sherd_look_page *page)
{
    struct slot *slot = user;
    struct look_job *job = slot->job;
    struct httpd *httpd = job->httpd;

    check(pthread_mutex_lock(&httpd->mutex) == 0);
    slot->result = result;
    if (page)
        facts_add(&job->facts[slot - job->slots], page);
    slot->state = SLOT_CAME;
    check(pthread_mutex_unlock(&httpd->mutex) == 0);
    httpd_wake(httpd);
}

/* ---- jobs ---- */

static enum slot_state state_of(struct look_job *job, uint32_t index)
{
    enum slot_state state;

    check(pthread_mutex_lock(&job->httpd->mutex) == 0);
    state = job->slots[index].state;
    check(pthread_mutex_unlock(&job->httpd->mutex) == 0);
    return state;
}

static void set_state(struct look_job *job, uint32_t index, enum slot_state state)
{
    check(pthread_mutex_lock(&job->httpd->mutex) == 0);
    job->slots[index].state = state;
    check(pthread_mutex_unlock(&job->httpd->mutex) == 0);
}

static bool has_open(struct look_job *job)
{
    for (uint32_t i = 0; i < job->count; i++)
        if (state_of(job, i) == SLOT_OPEN)
            return true;
    return false;
}

static void free_job(struct look_job *job)
{
    struct look_job **at = &job->httpd->looks;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    job->httpd->look_count--;
    if (job->httpd->status_job == job)
        job->httpd->status_job = NULL;
    for (uint32_t i = 0; i < API_ASKS_ROOM; i++)
        facts_free(&job->facts[i]);
    api_request_fini(&job->request);
    mem_free(job);
}

void native_looks_fini(struct httpd *httpd)
{
    while (httpd->looks)
        free_job(httpd->looks);
    buf_fini(&httpd->status);
}

/* The node ends its looks; the job is freed after that. */
static void abandon(struct look_job *job)
{
    if (job->httpd->status_job == job)
        job->httpd->status_job = NULL;
    for (uint32_t i = 0; i < job->count; i++)
        if (state_of(job, i) == SLOT_OPEN)
            sherd_look_cancel(job->httpd->access->system, job->slots[i].look);
}

static void leave(struct connection *connection)
{
    struct look_job *job = connection->looks;

    connection->looks = NULL;
    if (--job->users == 0)
        abandon(job);
}

void native_looks_forget(struct connection *connection)
{
    if (connection->looks)
        leave(connection);
}

/* Plans further looks. False: there are none. */
static bool plan(struct look_job *job)
{
    uint32_t more = api_plan(&job->request, job->facts, job->count, &job->asks[job->count]);

    check(job->count + more <= API_ASKS_ROOM);
    for (uint32_t i = job->count; i < job->count + more; i++)
        job->slots[i] = (struct slot){ .job = job, .state = SLOT_WANTED };
    job->count += more;
    return more > 0;
}

/* ---- answers ---- */

/* The next connection that waits for the job. */
static struct connection *user_of(const struct look_job *job)
{
    struct connection *at = job->httpd->connections;

    while (at && at->looks != job)
        at = at->next;
    return at;
}

static void refuse(struct look_job *job, enum mgmt_error error)
{
    struct connection *user;

    while ((user = user_of(job))) {
        leave(user);
        answer_error(user, error);
    }
}

static void answer(struct look_job *job, uint64_t now)
{
    struct buf body = { 0 };
    enum mgmt_error error = api_answer(&job->request, job->facts, job->count, &body);
    struct connection *user;

    if (error != ERROR_NONE) {
        refuse(job, error);
    } else {
        while ((user = user_of(job))) {
            leave(user);
            answer_send(user, 200, BODY_JSON, &body);
        }
        if (job->request.route == API_STATUS_ROUTE) {
            buf_clear(&job->httpd->status);
            buf_put_slice(&job->httpd->status, buf_slice(&body));
            job->httpd->status_at = now;
        }
    }
    buf_fini(&body);
}

/* ---- lines ---- */

static void drained(struct evhttp_connection *http, void *httpd)
{
    (void)http;
    httpd_wake(httpd);
}

static void send_chunk(struct connection *connection, const struct buf *lines)
{
    struct evbuffer *bytes = evbuffer_new();

    check(bytes && evbuffer_add(bytes, lines->data, lines->size) == 0);
    evhttp_send_reply_chunk_with_cb(connection->request, bytes, drained, connection->door->httpd);
    evbuffer_free(bytes);
}

static void begin_lines(struct connection *connection)
{
    answer_headers(connection, "no-store");
    check(evhttp_add_header(evhttp_request_get_output_headers(connection->request), "Content-Type",
                            "application/x-ndjson") == 0);
    evhttp_send_reply_start(connection->request, 200, "OK");
}

/* Sends the rows of a page. True: it was the last one. */
static bool send_lines(struct look_job *job)
{
    struct connection *connection = user_of(job);
    struct evhttp_request *request = connection->request;
    bool is_last = job->slots[0].result != 0 || !job->facts[0].next.size;
    struct buf lines = { 0 };

    if (!job->has_begun)
        begin_lines(connection);
    job->has_begun = true;
    job->facts[0].is_partial |= job->slots[0].result != 0;
    api_lines(&job->facts[0], &lines);
    facts_drop_rows(&job->facts[0]);
    if (is_last)
        api_last_line(&job->facts[0], &lines);
    if (lines.size)
        send_chunk(connection, &lines);
    buf_fini(&lines);
    if (is_last) {
        leave(connection);
        connection->request = NULL; /* the library frees it */
        evhttp_send_reply_end(request);
    }
    return is_last;
}

/* ---- steps ---- */

static enum mgmt_error error_of(const struct look_job *job, int result)
{
    if (result == SHERD_EINVAL)
        return job->request.cursor.size ? ERROR_CURSOR : ERROR_BAD_PARAMETER;
    return ERROR_BUSY;
}

/* Begins a look. An error: the request is refused. */
static enum mgmt_error begin(struct look_job *job, uint32_t index, uint64_t now)
{
    struct slot *slot = &job->slots[index];
    struct sherd_look_options *options = &job->asks[index].options;
    struct buf *next = &job->facts[index].next;
    uint64_t left = job->until > now + TIMEOUT_MS_MIN ? job->until - now : TIMEOUT_MS_MIN;
    int result;

    if (next->size)
        options->cursor = (struct sherd_bytes){ next->data, next->size };
    if (!job->request.is_lines)
        options->timeout_ms = (uint32_t)left;
    set_state(job, index, SLOT_OPEN);
    result = sherd_look(job->httpd->access->system, job->asks[index].kind, options, came, slot, &slot->look);
    if (result == 0)
        return ERROR_NONE;
    slot->result = result;
    set_state(job, index, job->has_begun && result != SHERD_EFULL ? SLOT_CAME : SLOT_WANTED);
    return job->has_begun || result == SHERD_EFULL ? ERROR_NONE : error_of(job, result);
}

/* Looks at a page that came. */
static enum mgmt_error take(struct look_job *job, uint32_t index, uint64_t now)
{
    struct slot *slot = &job->slots[index];
    struct facts *facts = &job->facts[index];
    bool has_more = facts->next.size != 0;

    if (job->request.is_lines && (job->has_begun || !slot->result)) {
        set_state(job, index, send_lines(job) ? SLOT_DONE : SLOT_SENDING);
        return ERROR_NONE;
    }
    if (slot->result)
        return error_of(job, slot->result);
    if (job->asks[index].is_whole && facts_want_more(facts) && now < job->until) {
        set_state(job, index, SLOT_WANTED);
        return ERROR_NONE;
    }
    facts->is_partial |= job->asks[index].is_whole && has_more;
    set_state(job, index, SLOT_DONE);
    return ERROR_NONE;
}

/* A step of one look. False: nothing has changed. */
static bool step_slot(struct look_job *job, uint32_t index, uint64_t now, enum mgmt_error *error)
{
    enum slot_state state = state_of(job, index);

    if (state == SLOT_SENDING &&
        evbuffer_get_length(bufferevent_get_output(user_of(job)->bev)) < HTTPD_STREAM_BYTES) {
        set_state(job, index, SLOT_WANTED);
        state = SLOT_WANTED;
    }
    if (state == SLOT_WANTED) {
        *error = begin(job, index, now);
        return state_of(job, index) != SLOT_WANTED;
    }
    if (state != SLOT_CAME)
        return false;
    *error = take(job, index, now);
    return true;
}

static bool is_done(struct look_job *job)
{
    for (uint32_t i = 0; i < job->count; i++)
        if (state_of(job, i) != SLOT_DONE)
            return false;
    return true;
}

static void step_job(struct look_job *job, uint64_t now)
{
    enum mgmt_error error = ERROR_NONE;
    bool goes_on = true;

    while (job->users && error == ERROR_NONE && goes_on) {
        goes_on = false;
        for (uint32_t i = 0; i < job->count && job->users && error == ERROR_NONE; i++)
            goes_on |= step_slot(job, i, now, &error);
        if (job->users && error == ERROR_NONE && is_done(job)) {
            goes_on = plan(job);
            if (!goes_on)
                answer(job, now);
        }
    }
    if (job->users && error == ERROR_NONE && now > job->until + GRACE_MS && !job->request.is_lines)
        error = ERROR_LATE;
    if (job->users && error != ERROR_NONE)
        refuse(job, error);
}

void native_looks_step(struct httpd *httpd, uint64_t now)
{
    struct look_job *next;

    for (struct look_job *job = httpd->looks; job; job = next) {
        next = job->next;
        step_job(job, now);
        if (!job->users && !has_open(job))
            free_job(job);
    }
}

/* ---- requests ---- */

static uint64_t wall_ms(void)
{
    struct timespec now;

    check(clock_gettime(CLOCK_REALTIME, &now) == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Null: the cursor is malformed. */
static struct look_job *new_job(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;
    struct look_job *job = mem_alloc(sizeof *job);
    enum api_route route = (enum api_route)connection->decision.native;
    struct api_args args;
    uint64_t ms;

    (void)api_read(route, &connection->decision.target, connection->decision.first, &args); /* it was right before */
    job->httpd = httpd;
    job->next = httpd->looks;
    httpd->looks = job;
    httpd->look_count++;
    job->request.route = route;
    job->request.self = httpd->self;
    job->request.system = httpd->access->system_name;
    job->request.wall_ms = wall_ms();
    httpd->access->health(httpd->access->node, httpd->settings.ready_statuses, &job->request.health);
    job->request.health.unready &= httpd->settings.checks;
    job->request.is_lines = connection->takes_lines && api_row(route)->kind != API_NO_KIND;
    if (!api_request_set(&job->request, &args)) {
        free_job(job);
        return NULL;
    }
    ms = job->request.numbers[API_TIMEOUT];
    job->until = httpd_now() + (ms ? ms : TIMEOUT_MS);
    (void)plan(job);
    return job;
}

static void join(struct connection *connection, struct look_job *job)
{
    connection->looks = job;
    job->users++;
}

bool native_looks_ask(struct connection *connection)
{
    struct httpd *httpd = connection->door->httpd;
    bool is_status = connection->decision.native == API_STATUS_ROUTE;
    struct look_job *job = is_status ? httpd->status_job : NULL;

    if (is_status && httpd->status.size && httpd_now() < httpd->status_at + STATUS_MS) {
        answer_send(connection, 200, BODY_JSON, &httpd->status);
        return true;
    }
    if (!job && httpd->look_count >= HTTPD_LOOKS_MAX)
        return false;
    if (!job)
        job = new_job(connection);
    if (!job) {
        answer_error(connection, ERROR_CURSOR);
        return true;
    }
    if (is_status)
        httpd->status_job = job;
    join(connection, job);
    httpd_wake(httpd); /* begins it */
    return true;
}
